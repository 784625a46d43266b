// SPDX-License-Identifier: Apache-2.0
//
// `plumb isolate RESULT.json --op NAME --model MODEL`: cuts an operator out of the original model
// and replays it with the inputs that golden had and with those that the target really had. What
// comes out tells an error that the operator made from one that it was handed.
#include <algorithm>

#include <fmt/format.h>
#include <tbb/global_control.h>

#include "base/file_sink.h"
#include "base/mapped_file.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "cli/terminal.h"
#include "compare/gather.h"
#include "graph/onnx_bodies.h"
#include "graph/onnx_cut.h"
#include "graph/onnx_external.h"
#include "graph/onnx_wiring.h"
#include "graph/readers.h"
#include "judge/profile.h"
#include "judge/verdict.h"
#include "replay/isolate_pack.h"
#include "replay/isolate_sources.h"
#include "replay/replay.h"
#include "report/replayed.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;
using metrics::Metric;
using result::Row;
using result::Verdict;

constexpr size_t kMostFused = 64;  // operators in a row that one fusion may span

struct Wishes {
  std::vector<std::string> paths, inputs;
  std::string op, to, model, target, golden, profile, engine = "onnxruntime", output, json;
  int step = -1;
  bool quiet = false;
};

class Isolation {
 public:
  Isolation(const Wishes& wishes, const result::Saved& saved, RunContext& context)
      : wishes_(wishes), saved_(saved), context_(context) {}

  Result<void> open() {
    auto rules = load_rules();
    if (!rules) return rules.error();
    rules_ = std::move(*rules);
    std::vector<const Metric*>& columns = replayed_.columns;
    columns = rules_.metrics();
    for (std::string_view name : {"cosine", "rel_euclid", "max_abs"})
      if (const Metric* metric = metrics::metric_by_name(name);
          std::find(columns.begin(), columns.end(), metric) == columns.end())
        columns.push_back(metric);
    auto file = MappedFile::open(wishes_.model);
    if (!file) return file.error();
    file_ = std::move(*file);
    if (!graph::is_onnx(file_.bytes()))
      return Error{"the original model is no ONNX file", wishes_.model,
                   "name the ONNX file that the golden dump was made with: --model FILE"};
    auto model = graph::read_onnx(file_.bytes());
    if (!model) return std::move(model.error()).in(wishes_.model);
    model_ = std::move(*model);
    auto sources = replay::Sources::open(
        saved_.run, dump_path(wishes_.target, saved_.run.target),
        dump_path(wishes_.golden, saved_.run.golden),
        wishes_.step < 0 ? std::nullopt : std::optional<int64_t>(wishes_.step));
    if (!sources) return sources.error();
    sources_ = std::move(*sources);
    sources_->bind(model_);
    for (const std::string& input : wishes_.inputs) {
      const size_t end = input.find('=');
      if (end == std::string::npos)
        return Error{"an input has no name", "--input " + input, "write --input NAME=FILE"};
      files_[input.substr(0, end)].parts.push_back({input.substr(end + 1), ""});
    }
    describe();
    return {};
  }

  // Which operators, and what they read and give. Where the model has branches and the dump is of
  // what was run, they may be in one of them.
  Result<void> choose() {
    auto chosen = choose_at_surface();
    if (chosen) return chosen;
    if (auto opened = open_branches(); !opened) return opened.error();
    if (edited_.empty()) return chosen;
    return choose_at_surface();
  }

  Result<void> replay() {
    auto engine = engine::load_engine(wishes_.engine);
    if (!engine) return engine.error();
    engine_ = *engine;
    replayed_.engine = engine_->version();
    auto made = replay::Reproduction::create();
    if (!made) return made.error();
    reproduction_.emplace(std::move(*made));
    const fs::path directory = fs::path(wishes_.model).parent_path();
    const engine::Model view{edited_.empty() ? file_.bytes() : as_bytes(edited_),
                             {},
                             directory.empty() ? "." : directory,
                             {}};
    auto types = replay::input_types(*engine_, view, model_, part_);
    if (!types) return std::move(types.error()).in(wishes_.model);
    graph::Outside outside;
    if (auto loaded = load_inputs(*types, outside); !loaded) return loaded;
    auto part = graph::cut(model_, part_, outside);
    if (!part) return std::move(part.error()).in(wishes_.model);
    if (part->is_external())
      if (auto inlined = graph::inline_external(*part, view.directory); !inlined)
        return std::move(inlined.error()).in(wishes_.model);
    const std::string bytes = graph::write_onnx(*part);
    if (auto added = reproduction_->add("model.onnx", bytes); !added) return added;
    const engine::Model alone{as_bytes(bytes), {}, {}, {}};
    for (const bool is_target : {false, true}) {
      auto given = replay::run_once(*engine_, alone, is_target ? target_inputs_ : golden_inputs_);
      if (!given) return std::move(given.error()).in("the operators alone");
      (is_target ? target_again_ : golden_again_) = std::move(*given);
    }
    return {};
  }

  Result<void> compare() {
    for (const result::ReplayPort& input : replayed_.inputs)
      if (auto done = add("input", input.place, input.target_file, input.golden_file); !done)
        return done;
    for (result::ReplayPort& output : replayed_.outputs) {
      const replay::TensorSources sources = sources_->of_output(output.name);
      auto target = replay::load(sources.target), golden = replay::load(sources.golden);
      if (!target) return target.error();
      if (!golden) return golden.error();
      output.dtype = name_of(golden->dtype);
      output.shape = golden->shape;
      const engine::Tensor& again = golden_again_[output.name];
      replayed_.is_exact &= again.dtype == golden->dtype && again.bytes == golden->bytes;
      const std::pair<const char*, const engine::Tensor&> tensors[] = {
          {"expected", *golden},
          {"target", *target},
          {"replayed_golden", again},
          {"replayed_target", target_again_[output.name]}};
      std::string files[4];
      for (size_t i = 0; i < 4; ++i) {
        auto file = reproduction_->add(tensors[i].first, output.name, tensors[i].second);
        if (!file) return file.error();
        files[i] = *file;
      }
      const auto& [expected, own, with_golden, with_target] = files;
      output.golden_file = expected;
      output.target_file = own;
      rule_operator_ = sources.operator_name;
      rule_slot_ = sources.slot;
      if (auto done = check_replay(output, with_golden, expected); !done) return done;
      if (auto done = add("total", output.place, own, expected); !done) return done;
      if (auto done = add("inherited", output.place, with_target, expected); !done) return done;
      if (auto done = add("own", output.place, own, with_target); !done) return done;
    }
    return {};
  }

  const result::Replayed& replayed() const { return replayed_; }

  Result<uint64_t> pack() const {
    if (auto added = reproduction_->add("README.md", report::readme_of(replayed_)); !added)
      return added.error();
    if (auto added = reproduction_->add("versions.json", report::json_of(replayed_)); !added)
      return added.error();
    return reproduction_->pack(wishes_.output);
  }

 private:
  void describe() {
    const result::Run& run = saved_.run;
    replayed_.model = fs::path(wishes_.model).filename().string();
    replayed_.ir_version = model_.ir_version.value_or(0);
    for (const graph::OnnxOpset& opset : graph::opsets_of(model_))
      replayed_.opsets.emplace_back(opset.domain, opset.version);
    replayed_.profile = rules_.name;
    replayed_.target = wishes_.target.empty() ? run.target.path : wishes_.target;
    replayed_.golden = wishes_.golden.empty() ? run.golden.path : wishes_.golden;
    replayed_.target_convention = run.target.convention;
    replayed_.golden_convention = run.golden.convention;
    replayed_.result_version = saved_.version;
  }

  // The profile of the comparison, unless the user names another.
  Result<judge::Rules> load_rules() const {
    if (!wishes_.profile.empty()) return judge::load_rules(wishes_.profile, "");
    if (auto rules = judge::load_rules(saved_.run.profile, ""); rules) return rules;
    if (!wishes_.quiet)
      print_warning(fmt::format("profile '{}' of the result is not at hand: judged by standard",
                                saved_.run.profile));
    return judge::load_rules("standard", "");
  }

  // Where a dump is: paths in a result are as they were typed, maybe beside the result.
  std::string dump_path(const std::string& named, const result::InputSide& side) const {
    if (!named.empty()) return named;
    std::error_code ignored;
    const fs::path beside = fs::path(wishes_.paths[0]).parent_path() / side.path;
    return !fs::exists(side.path, ignored) && fs::exists(beside, ignored) ? beside.string()
                                                                          : side.path;
  }

  // Operators that the target fused with those chosen: it has no tensors between them.
  void add_fused() {
    for (size_t i = 0; i < kMostFused; ++i) {
      const graph::Boundary boundary =
          graph::boundary_of(model_, graph::with_constant_sources(model_, nodes_));
      const size_t before = nodes_.size();
      for (const std::string& input : boundary.inputs)
        if (const replay::TensorSources sources = sources_->of_input(input, nodes_);
            sources.is_fused && sources.target.entry == nullptr)
          if (const auto producer = sources_->producer(input)) nodes_.push_back(*producer);
      for (const std::string& output : boundary.outputs)
        if (const replay::TensorSources sources = sources_->of_output(output);
            sources.is_fused && sources.target.entry == nullptr)
          for (size_t reader : sources_->readers(output)) nodes_.push_back(reader);
      std::sort(nodes_.begin(), nodes_.end());
      nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
      if (nodes_.size() == before) return;
    }
  }

  Result<void> choose_at_surface() {
    nodes_.clear();
    inputs_.clear();
    replayed_.operators.clear();
    replayed_.outputs.clear();
    replayed_.left_out.clear();
    auto first = sources_->find_node(wishes_.op);
    if (!first) return std::move(first.error()).in(wishes_.model);
    nodes_ = {*first};
    if (!wishes_.to.empty()) {
      auto last = sources_->find_node(wishes_.to);
      if (!last) return std::move(last.error()).in(wishes_.model);
      nodes_ = graph::nodes_between(model_, *first, *last);
      if (nodes_.empty())
        return Error{fmt::format("'{}' does not depend on '{}'", wishes_.to, wishes_.op),
                     wishes_.model, "name the earlier operator with --op, the later with --to"};
    }
    const std::vector<size_t> chosen = nodes_;
    add_fused();
    for (size_t node : nodes_)
      replayed_.operators.push_back({model_.graph.nodes[node].name,
                                     std::string(model_.graph.nodes[node].type),
                                     std::binary_search(chosen.begin(), chosen.end(), node)});
    part_ = graph::with_constant_sources(model_, nodes_);
    const graph::Boundary boundary = graph::boundary_of(model_, part_);
    if (auto found = find_outputs(boundary.outputs); !found) return found;
    return find_inputs(boundary.inputs);
  }

  // Every If becomes the branch that golden took, as `plumb dump` does it: names that clash get the
  // same new ones.
  Result<void> open_branches() {
    auto inlined = graph::inline_branches(
        file_.bytes(), [&](const graph::Branching& now) -> Result<graph::Conditions> {
          sources_->bind(now.model);
          graph::Conditions values;
          for (const std::string& condition : now.conditions) {
            const replay::Source source = sources_->of_output(condition).golden;
            if (source.entry == nullptr) continue;
            auto value = replay::load(source);
            if (!value) return value.error();
            if (value->bytes.size() == 1) values[condition] = value->bytes[0] != std::byte{0};
          }
          return values;
        });
    if (!inlined) return inlined.error();
    if (inlined->branches > 0) {
      edited_ = std::move(inlined->file);
      auto model = graph::read_onnx(as_bytes(edited_));
      if (!model) return std::move(model.error()).in(wishes_.model);
      model_ = std::move(*model);
    }
    sources_->bind(model_);
    return {};
  }

  // What hinders the use of a tensor, for a list; empty if both sides have it.
  static std::string missing(const replay::TensorSources& sources) {
    if (sources.golden.entry != nullptr && sources.target.entry != nullptr) return {};
    return fmt::format("{} ({})", sources.place,
                       sources.golden.entry != nullptr   ? "not in the target's dump"
                       : sources.target.entry != nullptr ? "not in the golden dump"
                                                         : "in neither dump");
  }

  Result<void> find_outputs(const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs) {
      const replay::TensorSources sources = sources_->of_output(output);
      if (std::string why = missing(sources); !why.empty())
        replayed_.left_out.push_back(std::move(why));
      else
        replayed_.outputs.push_back({output, sources.place, {}, {}, {}, {}});
    }
    if (!replayed_.outputs.empty()) return {};
    return Error{"no output of the operator was dumped on both sides",
                 fmt::format("{}", fmt::join(replayed_.left_out, ", ")),
                 "dump this operator too, or end at a later one with --to"};
  }

  Result<void> find_inputs(const std::vector<std::string>& inputs) {
    std::string problems, earlier;
    for (const std::string& name : inputs) {
      replay::TensorSources sources = sources_->of_input(name, part_);
      if (const auto file = files_.find(name); file != files_.end()) {
        const replay::Source given{&files_root_, &file->second};
        if (sources.golden.entry == nullptr) sources.golden = given;
        if (sources.target.entry == nullptr) sources.target = given;
      }
      if (const std::string why = missing(sources); !why.empty()) {
        problems += (problems.empty() ? "" : ", ") + why;
        const auto producer = sources_->producer(name);
        earlier = producer ? fmt::format("; or begin earlier: --op {} --to {}",
                                         model_.graph.nodes[*producer].name,
                                         wishes_.to.empty() ? wishes_.op : wishes_.to)
                           : fmt::format("; or say what was fed: --input {}=FILE", name);
      }
      inputs_.emplace_back(name, std::move(sources));
    }
    if (problems.empty()) return {};
    return Error{"inputs of the operator were not dumped", problems,
                 "dump them: `plumb dump` saves every tensor of a model, a device those of the "
                 "operators it is told to" +
                     earlier};
  }

  Result<void> load_inputs(const replay::Types& types, graph::Outside& outside) {
    for (const auto& [name, sources] : inputs_) {
      auto golden = replay::load(sources.golden), target = replay::load(sources.target);
      if (!golden) return golden.error();
      if (!target) return target.error();
      const auto type = types.find(name);
      const DType dtype =
          type != types.end() && type->second.dtype ? *type->second.dtype : golden->dtype;
      result::ReplayPort port{name, sources.place, std::string(name_of(dtype)), golden->shape, {},
                              {}};
      auto fits = replay::fitted(std::move(*golden), dtype, port.shape);
      if (!fits) return std::move(fits.error()).in("golden " + sources.place);
      golden_inputs_[name] = std::move(*fits);
      fits = replay::fitted(std::move(*target), dtype, port.shape);
      if (!fits) return std::move(fits.error()).in("target " + sources.place);
      target_inputs_[name] = std::move(*fits);
      for (const bool is_target : {false, true}) {
        auto file = reproduction_->add(is_target ? "target_inputs" : "golden_inputs", name,
                                       (is_target ? target_inputs_ : golden_inputs_)[name]);
        if (!file) return file.error();
        (is_target ? port.target_file : port.golden_file) = *file;
      }
      outside.types[name] = {dtype, port.shape};
      replayed_.inputs.push_back(std::move(port));
    }
    return {};
  }

  Result<Row> judge(const std::string& target, const std::string& golden) {
    dump::DumpSet set;
    set.root = reproduction_->path();
    const auto open_file = [&](const std::string& file) {
      dump::Entry entry;
      entry.parts.push_back({file, ""});
      return dump::EntryReader::open(set, entry);
    };
    auto t = open_file(target), g = open_file(golden);
    if (!t) return t.error();
    if (!g) return g.error();
    const Shape& t_shape = t->reader().shape();
    const Shape& g_shape = g->reader().shape();
    if (squeezed(t_shape) != squeezed(g_shape))
      return Error{"shapes differ",
                   fmt::format("{} against {}", to_string(t_shape), to_string(g_shape)),
                   "`plumb compare` tells more about such tensors"};
    auto facts = compare::gather(*t, *g, metrics::request_for(replayed_.columns), context_);
    if (!facts) return facts.error();
    if (!*facts) return Error{"interrupted", wishes_.op, "run the command again"};
    Row row;
    for (const Metric* metric : replayed_.columns) row.values.push_back(metric->finish(**facts));
    judge::judge(rules_.for_tensor(rule_operator_, rule_slot_).for_pair(**facts), **facts,
                 replayed_.columns, row);
    return row;
  }

  Result<void> add(std::string title, const std::string& tensor, const std::string& target,
                   const std::string& golden) {
    auto row = judge(target, golden);
    if (!row) return std::move(row.error()).in(tensor);
    replayed_.errors.push_back({std::move(title), tensor, std::move(*row)});
    return {};
  }

  // The cut-out model must be the model that golden was made with: else its answers mean nothing.
  Result<void> check_replay(const result::ReplayPort& output, const std::string& replayed,
                            const std::string& expected) {
    auto row = judge(replayed, expected);
    if (!row) return std::move(row.error()).in(output.place);
    const result::ReplayError error{"again", output.place, std::move(*row)};
    if (error.row.verdict != Verdict::kPass)
      return Error{"the model does not reproduce the golden tensor from the golden inputs",
                   fmt::format("{}: {}", output.place, error.row.message),
                   "name the model that the golden dump was made with, by --model"};
    replayed_.again.push_back(error);
    return {};
  }

  const Wishes& wishes_;
  const result::Saved& saved_;
  RunContext& context_;
  judge::Rules rules_;
  MappedFile file_;
  graph::OnnxModel model_;  // borrows from file_
  std::string edited_;      // the model with its branches laid open, if that was done
  std::optional<replay::Sources> sources_;
  std::vector<size_t> nodes_;  // what the user means, with what the target fused with it
  std::vector<size_t> part_;   // ... and with what makes their weights
  std::vector<std::pair<std::string, replay::TensorSources>> inputs_;
  dump::DumpSet files_root_;                               // of --input
  std::map<std::string, dump::Entry, std::less<>> files_;  // by tensor
  engine::Engine* engine_ = nullptr;
  engine::Inputs golden_inputs_, target_inputs_, golden_again_, target_again_;
  std::optional<replay::Reproduction> reproduction_;
  std::string rule_operator_, rule_slot_;  // whose limits judge
  result::Replayed replayed_;
};

Result<void> write_text(const std::string& path, const std::string& text) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit();
}

Result<void> check(const Wishes& wishes) {
  if (wishes.paths.size() != 1)
    return Error{fmt::format("one result is needed, {} given", wishes.paths.size()),
                 "plumb isolate", "name the .json that `plumb compare --json` wrote"};
  if (wishes.op.empty()) return Error{"which operator?", "plumb isolate", "name it: --op NAME"};
  if (wishes.model.empty())
    return Error{"where is the original model?", "plumb isolate",
                 "name the ONNX file that the golden dump was made with: --model FILE"};
  if (!wishes.output.empty() && fs::path(wishes.output).extension() != ".zip")
    return Error{"a reproduction is a .zip file", "-o " + wishes.output, "name it so: -o pack.zip"};
  const NamedPath outputs[] = {{"-o", wishes.output},
                               {"--json", wishes.json == "-" ? "" : wishes.json}};
  const NamedPath inputs[] = {{"RESULT.json", wishes.paths[0]}, {"--model", wishes.model}};
  return check_outputs(outputs, inputs);
}

}  // namespace

int run_isolate(int argc, char** argv, RunContext& context) {
  Options options(
      "isolate", "Replay one operator with the target's real inputs: did it make the error?",
      "The operator is cut out of the original model and run twice, with golden's inputs and with\n"
      "those of the target. What comes out splits the error into what was inherited and its "
      "own.\n\n"
      "examples\n"
      "  plumb isolate result.json --op conv5_3 --model model.onnx\n"
      "  plumb isolate result.json --op conv1 --to relu1 --model model.onnx -o pack.zip\n"
      "exit status: 0 the operator introduces no error, 1 it does, 2 trouble");
  Wishes wishes;
  CommonOptions common;
  options.arguments("RESULT.json", wishes.paths, "what `plumb compare --json` wrote");
  options.group("operator");
  options.text("--op", "NAME", wishes.op, "operator of the model, or of the target");
  options.text("--to", "NAME", wishes.to, "the last one of a range that begins at --op");
  options.count("--step", "N", wishes.step, "this step or token (default: the first)");
  options.group("files");
  options.text("--model", "FILE", wishes.model, "the original ONNX model");
  options.text("--target", "DIR", wishes.target,
               "where the target's dump is now (default: as the result\nsays)");
  options.text("--golden", "DIR", wishes.golden, "likewise, the golden dump");
  options.texts("-i,--input", "NAME=FILE", wishes.inputs,
                "an input of the model that was not dumped; repeatable");
  options.group("judging");
  options.text("--profile", "NAME", wishes.profile, "limits (default: those of the result)");
  options.text("--engine", "NAME", wishes.engine, "what runs the operator (default: onnxruntime)");
  options.group("output");
  options.text("-o", "FILE", wishes.output, "pack a reproduction as .zip");
  options.text("--json", "FILE", wishes.json,
               "write verdict and numbers as JSON; '-' prints it instead\nof the table");
  common.declare(options);
  if (auto status = options.parse(argc, argv)) return *status;
  if (auto checked = check(wishes); !checked) return fail_with(checked.error());
  wishes.quiet = common.quiet;
  std::optional<tbb::global_control> limit;
  if (common.jobs > 0)
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(common.jobs));
  auto saved = result::load_result(wishes.paths[0]);
  if (!saved) return fail_with(saved.error());

  Isolation isolation(wishes, *saved, context);
  for (const auto step :
       {&Isolation::open, &Isolation::choose, &Isolation::replay, &Isolation::compare}) {
    auto done = (isolation.*step)();
    if (context.cancelled) return kInterrupted;
    if (!done) return fail_with(done.error());
  }
  const bool prints_json = wishes.json == "-";
  fmt::print("{}", prints_json ? report::json_of(isolation.replayed())
                               : report::render(isolation.replayed(), terminal_width()));
  if (!wishes.json.empty() && !prints_json)
    if (auto written = write_text(wishes.json, report::json_of(isolation.replayed())); !written)
      return fail_with(written.error());
  if (!wishes.output.empty()) {
    auto size = isolation.pack();
    if (!size) return fail_with(size.error());
    if (!prints_json)
      fmt::print("  pack      {} ({}): model, inputs, outputs; README.md says how to replay them\n",
                 report::printable(wishes.output), report::bytes_text(static_cast<double>(*size)));
  }
  return isolation.replayed().fails("own") ? kDifference : kAgreement;
}

}  // namespace plumb::cli
