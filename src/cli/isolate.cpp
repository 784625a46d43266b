// SPDX-License-Identifier: Apache-2.0
//
// `plumb isolate RESULT.json --op NAME --model MODEL`: cuts an operator out of the original model
// and replays it with the inputs that golden had and with those that the target really had. What
// comes out tells an error that the operator made from one that it was handed.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "cli/command.h"
#include "cli/isolate_pack.h"
#include "cli/isolate_sources.h"
#include "cli/output_check.h"
#include "cli/terminal.h"
#include "compare/gather.h"
#include "compare/profile.h"
#include "compare/verdict.h"
#include "engine/model.h"
#include "engine/replay.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;
using metrics::Metric;
using report::counted;
using report::printable;
using result::Row;
using result::Verdict;
using Json = nlohmann::ordered_json;

constexpr std::string_view kShown[] = {"cosine", "rel_euclid", "max_abs"};
constexpr size_t kMostFused = 64;  // operators that one fusion may span

struct Wishes {
  std::vector<std::string> paths;
  std::string op, to, model, target, golden, profile, engine = "onnxruntime", output;
  int step = -1;
};

// Two tensors compared and judged.
struct Compared {
  std::string title;   // "total"
  std::string tensor;  // "conv1 output:0"
  Row row;             // verdict, reasons and values, parallel to the columns
};

struct Port {
  std::string name;   // of the tensor in the model
  std::string place;  // in the dumps
  std::string dtype;
  Shape shape;
  std::string golden_file, target_file;  // in the reproduction
};

enum class Blame : uint8_t { kNobody, kOperator, kInputs, kBoth, kSum };

struct Told {
  std::string_view word;     // for programs
  std::string_view heading;  // for people
  std::string_view sentence;
};
Told tell(Blame blame) {
  switch (blame) {
    case Blame::kNobody:
      return {"none", "NO ERROR",
              "with the target's inputs and with golden's, all is within limits"};
    case Blame::kOperator:
      return {"introduced", "INTRODUCED HERE",
              "its inputs are good, what the target made of them is not"};
    case Blame::kInputs:
      return {"inherited", "INHERITED",
              "the target computes what the model computes from the same, bad inputs"};
    case Blame::kBoth:
      return {"both", "BOTH",
              "its inputs are bad already, and the target makes something else of them than the "
              "model"};
    case Blame::kSum: break;
  }
  return {"sum", "ADDS UP",
          "its own error and the inherited one are within limits, together they are not"};
}

class Isolation {
 public:
  Isolation(const Wishes& wishes, const result::Saved& saved, RunContext& context)
      : wishes_(wishes), saved_(saved), context_(context) {}

  Result<void> open() {
    auto rules = load_rules();
    if (!rules) return rules.error();
    rules_ = std::move(*rules);
    columns_ = rules_.metrics();
    for (std::string_view name : kShown)
      if (const Metric* metric = metrics::metric_by_name(name);
          std::find(columns_.begin(), columns_.end(), metric) == columns_.end())
        columns_.push_back(metric);
    auto engine = engine::load_engine(wishes_.engine);
    if (!engine) return engine.error();
    engine_ = *engine;
    auto file = MappedFile::open(wishes_.model);
    if (!file) return file.error();
    file_ = std::move(*file);
    auto model = graph::read_onnx(file_.bytes());
    if (!model) return std::move(model.error()).in(wishes_.model);
    model_ = std::move(*model);
    auto sources = Sources::open(
        saved_.run, dump_path(wishes_.target, saved_.run.target),
        dump_path(wishes_.golden, saved_.run.golden),
        wishes_.step < 0 ? std::nullopt : std::optional<int64_t>(wishes_.step), model_);
    if (!sources) return sources.error();
    sources_ = std::move(*sources);
    auto made = Reproduction::create();
    if (!made) return made.error();
    reproduction_.emplace(std::move(*made));
    return {};
  }

  // Which operators, and what they read and give.
  Result<void> choose() {
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
    add_fused();
    part_ = graph::with_constant_sources(model_, nodes_);
    boundary_ = graph::boundary_of(model_, part_);
    for (const std::string& output : boundary_.outputs) {
      const TensorSources sources = sources_->of_output(output);
      if (sources.golden.entry != nullptr && sources.target.entry != nullptr)
        outputs_.push_back({output, sources.place, {}, {}, {}, {}});
    }
    if (outputs_.empty()) return missing_outputs();
    return {};
  }

  Result<void> replay() {
    const engine::Model view{file_.bytes(), {}, fs::path(wishes_.model).parent_path(), {}};
    auto types = engine::input_types(*engine_, view, model_, part_);
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
      auto given = engine::run_once(*engine_, alone, is_target ? target_inputs_ : golden_inputs_);
      if (!given) return std::move(given.error()).in("the operators alone");
      (is_target ? replayed_target_ : replayed_golden_) = std::move(*given);
    }
    return {};
  }

  Result<void> compare() {
    for (const Port& input : inputs_)
      if (auto done = add("input", input.place, input.target_file, input.golden_file); !done)
        return done;
    for (Port& output : outputs_) {
      const TensorSources sources = sources_->of_output(output.name);
      auto target = load(sources.target), golden = load(sources.golden);
      if (!target) return target.error();
      if (!golden) return golden.error();
      output.dtype = name_of(golden->dtype);
      output.shape = golden->shape;
      const engine::Tensor& again = replayed_golden_[output.name];
      is_exact_ &= again.dtype == golden->dtype && again.bytes == golden->bytes;
      const std::pair<const char*, const engine::Tensor&> tensors[] = {
          {"expected", *golden},
          {"target", *target},
          {"replayed_golden", again},
          {"replayed_target", replayed_target_[output.name]}};
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

  Blame blame() const {
    const bool total = fails("total"), inherited = fails("inherited"), own = fails("own");
    if (own) return inherited ? Blame::kBoth : Blame::kOperator;
    if (inherited) return Blame::kInputs;
    return total ? Blame::kSum : Blame::kNobody;
  }

  void print(Blame blame) const {
    const Told told = tell(blame);
    fmt::print("{}", table().render(terminal_width()));
    fmt::print("\n{}  {}: {}\n", told.heading, printable(operators_text()), told.sentence);
    fmt::print("  cut out   {}, with {}\n", printable(operators_text()),
               counted(boundary_.weights.size(), "weight"));
    fmt::print("  replay    {}; {}\n", engine_->version(), replay_text());
    fmt::print("  sides     {} against {}, profile {}\n", printable(saved_.run.target.path),
               printable(saved_.run.golden.path), printable(rules_.name));
    fmt::print(
        "  own       what the target gave, against the model fed with the target's inputs\n");
    fmt::print("  inherited the model fed with the target's inputs, against golden\n");
  }

  Result<void> pack(Blame blame) const {
    if (auto added = reproduction_->add("README.md", readme(blame)); !added) return added;
    if (auto added = reproduction_->add("versions.json", versions(blame)); !added) return added;
    auto size = reproduction_->pack(wishes_.output);
    if (!size) return size.error();
    fmt::print(
        "  pack      {} ({}): model, inputs, outputs, versions; README.md says how to replay it\n",
        printable(wishes_.output), report::bytes_text(static_cast<double>(*size)));
    return {};
  }

 private:
  // The profile of the comparison, unless the user names another.
  Result<compare::Rules> load_rules() const {
    if (!wishes_.profile.empty()) return compare::load_rules(wishes_.profile, "");
    if (auto rules = compare::load_rules(saved_.run.profile, ""); rules) return rules;
    print_warning(fmt::format("profile '{}' of the result is not at hand: judged by standard",
                              saved_.run.profile));
    return compare::load_rules("standard", "");
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
        if (const TensorSources sources = sources_->of_input(input, nodes_);
            sources.is_fused && sources.target.entry == nullptr)
          if (const auto producer = sources_->producer(input)) nodes_.push_back(*producer);
      for (const std::string& output : boundary.outputs)
        if (const TensorSources sources = sources_->of_output(output);
            sources.is_fused && sources.target.entry == nullptr)
          for (size_t reader : sources_->readers(output)) nodes_.push_back(reader);
      std::sort(nodes_.begin(), nodes_.end());
      nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
      if (nodes_.size() == before) return;
    }
  }

  Error missing_outputs() const {
    std::string names;
    for (const std::string& output : boundary_.outputs) {
      const TensorSources sources = sources_->of_output(output);
      names += fmt::format(
          "{}{} ({})", names.empty() ? "" : ", ", sources.place,
          sources.golden.entry == nullptr ? "not in the golden dump" : "not in the target's dump");
    }
    return {"no output of the operator was dumped on both sides", names,
            "dump this operator too, or end at a later one with --to"};
  }

  Result<void> load_inputs(const engine::Types& types, graph::Outside& outside) {
    std::string missing;
    for (const std::string& name : boundary_.inputs) {
      const TensorSources sources = sources_->of_input(name, part_);
      if (sources.golden.entry == nullptr || sources.target.entry == nullptr) {
        missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", sources.place,
                               sources.golden.entry != nullptr   ? "not in the target's dump"
                               : sources.target.entry != nullptr ? "not in the golden dump"
                                                                 : "in neither dump");
        continue;
      }
      auto golden = load(sources.golden), target = load(sources.target);
      if (!golden) return golden.error();
      if (!target) return target.error();
      const auto type = types.find(name);
      const DType dtype =
          type != types.end() && type->second.dtype ? *type->second.dtype : golden->dtype;
      Port port{name, sources.place, std::string(name_of(dtype)), golden->shape, {}, {}};
      auto fits = engine::fitted(std::move(*golden), dtype, port.shape);
      if (!fits) return std::move(fits.error()).in("golden " + sources.place);
      golden_inputs_[name] = std::move(*fits);
      fits = engine::fitted(std::move(*target), dtype, port.shape);
      if (!fits) return std::move(fits.error()).in("target " + sources.place);
      target_inputs_[name] = std::move(*fits);
      for (const bool is_target : {false, true}) {
        auto file = reproduction_->add(is_target ? "target_inputs" : "golden_inputs", name,
                                       (is_target ? target_inputs_ : golden_inputs_)[name]);
        if (!file) return file.error();
        (is_target ? port.target_file : port.golden_file) = *file;
      }
      outside.types[name] = {dtype, port.shape};
      inputs_.push_back(std::move(port));
    }
    if (missing.empty()) return {};
    return Error{
        "inputs of the operator were not dumped", missing,
        "dump them: on the golden side `plumb dump` saves every tensor, on a device turn on "
        "the dump of inputs; or begin at an earlier operator: --op EARLIER --to " +
            (wishes_.to.empty() ? wishes_.op : wishes_.to)};
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
    auto facts = compare::gather(*t, *g, compare::Passes::for_metrics(columns_), context_);
    if (!facts) return facts.error();
    if (!*facts) return Error{"interrupted", wishes_.op, "run the command again"};
    Row row;
    for (const Metric* metric : columns_) row.values.push_back(metric->finish(**facts));
    compare::judge(rules_.for_tensor(rule_operator_, rule_slot_).for_pair(**facts), **facts,
                   columns_, row);
    return row;
  }

  Result<void> add(std::string title, const std::string& tensor, const std::string& target,
                   const std::string& golden) {
    auto row = judge(target, golden);
    if (!row) return std::move(row.error()).in(tensor);
    compared_.push_back({std::move(title), tensor, std::move(*row)});
    return {};
  }

  // The cut-out model must be the model that golden was made with: else its answers mean nothing.
  Result<void> check_replay(const Port& output, const std::string& replayed,
                            const std::string& expected) {
    auto row = judge(replayed, expected);
    if (!row) return std::move(row.error()).in(output.place);
    const Compared compared{"replay", output.place, std::move(*row)};
    if (compared.row.verdict != Verdict::kPass)
      return Error{"the model does not reproduce the golden tensor from the golden inputs",
                   fmt::format("{}: rel_euclid {}, {}", output.place,
                               value_text(compared, "rel_euclid"), compared.row.message),
                   "name the model that the golden dump was made with, by --model"};
    replay_.push_back(compared);
    return {};
  }

  bool fails(std::string_view title) const {
    return std::any_of(compared_.begin(), compared_.end(), [&](const Compared& each) {
      return each.title == title && each.row.verdict != Verdict::kPass;
    });
  }

  std::string value_text(const Compared& compared, std::string_view name) const {
    for (size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i]->name == name)
        return report::rounded_text(*columns_[i], compared.row.values[i]);
    return "-";
  }

  report::Table table() const {
    report::Table table;
    table.columns = {{"error"}, {"tensor", false, 9, true}};
    for (std::string_view name : kShown) table.columns.push_back({std::string(name), true});
    table.columns.push_back({"verdict"});
    table.columns.push_back({"what", false, 1});
    for (const Compared& each : compared_) {
      std::vector<std::string> cells{each.title, printable(each.tensor)};
      for (std::string_view name : kShown) cells.push_back(value_text(each, name));
      cells.emplace_back(name_of(each.row.verdict));
      cells.push_back(printable(each.row.message));
      table.rows.push_back(std::move(cells));
    }
    return table;
  }

  // "conv1 (Conv), relu1 (Relu)"; those that only make weights are not told.
  std::string operators_text() const {
    constexpr size_t kMost = 4;
    std::string text;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const graph::OnnxNode& node = model_.graph.nodes[nodes_[i]];
      if (i == kMost) return fmt::format("{} and {} more", text, nodes_.size() - i);
      text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", node.name, node.type);
    }
    return text;
  }

  std::string replay_text() const {
    if (is_exact_) return "golden inputs reproduce the golden output bit for bit";
    double worst = 0;
    std::string text;
    for (const Compared& each : replay_)
      for (size_t i = 0; i < columns_.size(); ++i)
        if (const metrics::Value& value = each.row.values[i];
            columns_[i]->name == "max_abs" && value.number() >= worst) {
          worst = value.number();
          text = fmt::format("rel_euclid {}, max_abs {}", value_text(each, "rel_euclid"),
                             value_text(each, "max_abs"));
        }
    return "golden inputs reproduce the golden output up to " + text;
  }

  std::string readme(Blame blame) const {
    const Told told = tell(blame);
    std::string text = fmt::format(
        "# {}\n\n{}: {}.\n\n| error | tensor | cosine | rel_euclid | max_abs | verdict |\n"
        "|---|---|---|---|---|---|\n",
        printable(operators_text()), told.heading, told.sentence);
    for (const Compared& each : compared_)
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", each.title, printable(each.tensor),
                          value_text(each, "cosine"), value_text(each, "rel_euclid"),
                          value_text(each, "max_abs"), name_of(each.row.verdict));
    text += fmt::format(
        "\n`own` is what the target gave against the model fed with the target's inputs, "
        "`inherited` "
        "the model fed\nwith the target's inputs against golden, `total` the target against "
        "golden. "
        "Replayed with {}:\n{}.\n\n",
        engine_->version(), replay_text());
    text +=
        "## Files\n\n"
        "| file | what |\n|---|---|\n"
        "| `model.onnx` | the operators alone, with their weights |\n"
        "| `golden_inputs/`, `target_inputs/` | what they were fed on either side |\n"
        "| `expected/` | what golden gave |\n"
        "| `target/` | what the target gave |\n"
        "| `replayed_golden/`, `replayed_target/` | what `model.onnx` gives for these inputs |\n"
        "| `versions.json` | versions, types, shapes and numbers |\n\n";
    text += "## Replay it\n\n```sh\nplumb dump model.onnx -o again";
    for (const Port& input : inputs_)
      text += fmt::format(" --input {}={}", shell_text(input.name), input.target_file);
    text +=
        "\n```\n\nor, in Python:\n\n```python\nimport numpy, onnxruntime\n"
        "session = onnxruntime.InferenceSession(\"model.onnx\")\n"
        "outputs = session.run(None, {\n";
    for (const Port& input : inputs_)
      text += fmt::format("    {}: numpy.load(\"{}\"),\n",
                          Json(input.name).dump(-1, ' ', true, kReplace), input.target_file);
    text +=
        "})\n```\n\nCompare `outputs` with `target/` (the operator's own error) or `expected/`.\n";
    return text;
  }

  static constexpr auto kReplace = Json::error_handler_t::replace;

  static std::string shell_text(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
  }

  std::string versions(Blame blame) const {
    Json opsets = Json::object();
    for (const graph::OnnxOpset& opset : graph::opsets_of(model_))
      opsets[std::string(opset.domain)] = opset.version;
    Json document{{"schema", "plumb.isolate/1"},
                  {"tool", {{"name", "plumb"}, {"version", PLUMB_VERSION}}},
                  {"engine", engine_->version()},
                  {"model",
                   {{"file", fs::path(wishes_.model).filename().string()},
                    {"ir_version", model_.ir_version.value_or(0)},
                    {"opsets", opsets}}},
                  {"result",
                   {{"version", saved_.version},
                    {"profile", rules_.name},
                    {"target", saved_.run.target.convention},
                    {"golden", saved_.run.golden.convention}}},
                  {"verdict", tell(blame).word},
                  {"replay_is_exact", is_exact_}};
    for (size_t node : nodes_)
      document["operators"].push_back({{"name", model_.graph.nodes[node].name},
                                       {"type", std::string(model_.graph.nodes[node].type)}});
    const auto list = [](const std::vector<Port>& ports) {
      Json items = Json::array();
      for (const Port& port : ports)
        items.push_back({{"name", port.name},
                         {"dtype", port.dtype},
                         {"shape", port.shape},
                         {"golden", port.golden_file},
                         {"target", port.target_file}});
      return items;
    };
    document["inputs"] = list(inputs_);
    document["outputs"] = list(outputs_);
    document["errors"] = Json::array();
    for (const Compared& each : compared_) {
      Json item{
          {"error", each.title}, {"tensor", each.tensor}, {"verdict", name_of(each.row.verdict)}};
      for (size_t i = 0; i < columns_.size(); ++i) {
        const metrics::Value& value = each.row.values[i];
        item[std::string(columns_[i]->name)] =
            value.is_defined() && std::isfinite(value.number()) ? Json(value.number()) : Json();
      }
      document["errors"].push_back(std::move(item));
    }
    return document.dump(2, ' ', false, kReplace) + "\n";
  }

  const Wishes& wishes_;
  const result::Saved& saved_;
  RunContext& context_;
  compare::Rules rules_;
  std::vector<const Metric*> columns_;
  engine::Engine* engine_ = nullptr;
  MappedFile file_;
  graph::OnnxModel model_;  // borrows from file_
  std::optional<Sources> sources_;
  std::optional<Reproduction> reproduction_;
  std::vector<size_t> nodes_;  // what the user means, and what was fused with it
  std::vector<size_t> part_;   // ... and what makes their weights
  graph::Boundary boundary_;
  std::vector<Port> inputs_, outputs_;
  engine::Inputs golden_inputs_, target_inputs_, replayed_golden_, replayed_target_;
  std::string rule_operator_, rule_slot_;  // whose limits judge
  std::vector<Compared> compared_, replay_;
  bool is_exact_ = true;
};

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
  const NamedPath outputs[] = {{"-o", wishes.output}};
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
  options.text("--target", "DIR", wishes.target, "the dumps, if they are no longer where the");
  options.text("--golden", "DIR", wishes.golden, "result says");
  options.group("judging");
  options.text("--profile", "NAME", wishes.profile, "limits (default: those of the result)");
  options.text("--engine", "NAME", wishes.engine, "what runs the operator (default: onnxruntime)");
  options.group("output");
  options.text("-o", "FILE", wishes.output, "pack a reproduction as .zip");
  common.declare(options);
  if (auto status = options.parse(argc, argv)) return *status;
  if (auto checked = check(wishes); !checked) return fail_with(checked.error());
  auto saved = result::load_result(wishes.paths[0]);
  if (!saved) return fail_with(saved.error());

  Isolation isolation(wishes, *saved, context);
  for (const auto step :
       {&Isolation::open, &Isolation::choose, &Isolation::replay, &Isolation::compare}) {
    if (auto done = (isolation.*step)(); !done) return fail_with(done.error());
    if (context.cancelled) return kInterrupted;
  }
  const Blame blame = isolation.blame();
  isolation.print(blame);
  if (!wishes.output.empty())
    if (auto packed = isolation.pack(blame); !packed) return fail_with(packed.error());
  return blame == Blame::kOperator || blame == Blame::kBoth ? kDifference : kAgreement;
}

}  // namespace plumb::cli
