// SPDX-License-Identifier: Apache-2.0
//
// `plumb run TARGET GOLDEN`: feeds two models the same bytes and compares what they give, or every
// layer. A directory of results can stand for either model.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/name_pattern.h"
#include "cli/comparison.h"
#include "cli/expect.h"
#include "cli/gt_folder.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/score_table.h"
#include "cli/temporary_directory.h"
#include "compare/graph_fit.h"
#include "compare/scenario.h"
#include "engine/dump_model.h"
#include "graph/importers.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

struct SideWishes {
  std::string weights, engine, optimization = "disabled";
};

struct Wishes {
  std::vector<std::string> paths, allowed;
  SideWishes target, golden;
  std::string layers = "outputs", profile, output_gt, keep, labels;
  int threads = 1, batch = 0;
  bool expect = false;
  OutputWishes output;
};

void declare(Options& options, Wishes& wishes, InputOptions& inputs, CommonOptions& common) {
  options.arguments("TARGET GOLDEN", wishes.paths,
                    "models (.onnx, .prototxt) or directories of results: a\ngt folder, a dump, "
                    "the .bin files of a board");
  inputs.declare(options);
  options.group("running");
  options.text("--layers", "WHICH", wishes.layers,
               "outputs (default), all, or a pattern such as 'conv*'");
  options.choice("--target-opt", "LEVEL", wishes.target.optimization,
                 {"disabled", "basic", "extended", "all"}, "what the target's engine may fuse");
  options.choice("--golden-opt", "LEVEL", wishes.golden.optimization,
                 {"disabled", "basic", "extended", "all"}, "... and golden's (default: disabled)");
  options.text("--target-engine", "NAME", wishes.target.engine, "onnxruntime or opencv");
  options.text("--golden-engine", "NAME", wishes.golden.engine, "onnxruntime or opencv");
  options.text("--target-weights", "FILE", wishes.target.weights, "of a Caffe network");
  options.text("--golden-weights", "FILE", wishes.golden.weights, "of a Caffe network");
  options.count("--threads", "N", wishes.threads, "threads of the engines (default: 1)");
  options.count("--batch-outputs", "N", wishes.batch, "tensors held in memory at a time");
  options.flag("--expect", wishes.expect,
               "TARGET holds ONNX test cases: run each and compare with\nwhat its data expect");
  options.group("judging");
  options.text("--profile", "NAME", wishes.profile,
               "limits that decide pass or fail (see `plumb profiles`;\ndefault: by what is "
               "compared)");
  options.text("--labels", "FILE", wishes.labels,
               "right classes of the samples: lines of CLASS, or of\nFILE,CLASS");
  options.texts("--allow", "WHAT", wishes.allowed,
                "'inconclusive' or 'missing' rows are no failure");
  wishes.output.declare(options);
  options.text("--output-gt", "DIR", wishes.output_gt,
               "write inputs and outputs as a gt folder of Pulsar");
  options.text("--keep", "DIR", wishes.keep, "keep the tensors of both sides, as dumps");
  common.declare(options);
}

// One side: a model that is run, or results that are there.
struct Side {
  std::string path;
  std::optional<engine::LoadedModel> model;
  fs::path results;
  std::vector<engine::DumpedTensor> tensors;  // of a model, of its latest run
};

Result<Side> open_side(const std::string& path, const SideWishes& wishes) {
  Side side;
  side.path = path;
  if (!engine::is_model(path)) {
    side.results = path;
    return side;
  }
  auto model = engine::LoadedModel::open({path, wishes.weights, wishes.engine});
  if (!model) return model.error();
  side.model = std::move(*model);
  return side;
}

engine::DumpWishes dump_wishes(const Wishes& wishes, const SideWishes& side) {
  engine::DumpWishes dump;
  dump.optimization = *engine::optimization_from_text(side.optimization);
  dump.threads = wishes.threads;
  dump.batch_outputs = wishes.batch;
  dump.synced = !wishes.keep.empty();
  dump.outputs_only = wishes.layers == "outputs";
  if (wishes.layers != "outputs" && wishes.layers != "all")
    dump.wants = [pattern = wishes.layers](const std::string& op) {
      return operator_matches(pattern, op);
    };
  return dump;
}

// The inputs of one model for another: by name, else by place.
Result<engine::Inputs> inputs_for(const engine::LoadedModel& model,
                                  const std::vector<engine::Port>& ports,
                                  const engine::Inputs& loaded) {
  const std::vector<engine::Port> own = model.inputs();
  if (own.size() != ports.size())
    return Error{"the two models do not have the same inputs",
                 fmt::format("{} has {}, the other {}", model.path(), counted(own.size(), "input"),
                             ports.size()),
                 "dump each with `plumb dump`, then use `plumb compare`"};
  engine::Inputs inputs;
  for (size_t i = 0; i < own.size(); ++i) {
    const auto same = loaded.find(own[i].name);
    const auto& tensor = same != loaded.end() ? same->second : loaded.find(ports[i].name)->second;
    if (own[i].dtype && tensor.dtype != *own[i].dtype)
      return Error{"the two models take different types",
                   fmt::format("{} of {} is {}, fed is {}", own[i].name, model.path(),
                               name_of(*own[i].dtype), name_of(tensor.dtype)),
                   "dump each with its own input, then use `plumb compare`"};
    inputs.emplace(own[i].name, tensor);
  }
  return inputs;
}

class Runner {
 public:
  Runner(const Wishes& wishes, const InputOptions& inputs, const CommonOptions& common,
         RunContext& context)
      : wishes_(wishes), input_options_(inputs), common_(common), context_(context) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    auto target = open_side(wishes_.paths[0], wishes_.target);
    if (!target) return fail_with(target.error());
    auto golden = open_side(wishes_.paths[1], wishes_.golden);
    if (!golden) return fail_with(golden.error());
    target_ = std::move(*target);
    golden_ = std::move(*golden);
    auto work = TemporaryDirectory::make(wishes_.keep);
    if (!work) return fail_with(work.error());
    work_ = work->path();
    if (auto done = run_models(); !done)
      return context_.cancelled ? kInterrupted : fail_with(done.error());
    if (auto found = find_results(); !found) return fail_with(found.error());
    auto run = compare_sides();
    if (!run) return fail_with(run.error());
    run->interrupted = context_.cancelled;
    run->elapsed_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!print_json(*run, wishes_.output))
      fmt::print("{}",
                 score_table(*run, *scores_, wants_colour(wishes_.output), wishes_.output.all));
    bool all_written = write_files(*run, wishes_.output);
    return !all_written ? kTrouble : exit_status(run->summary(), *run, wishes_.allowed);
  }

 private:
  // Runs whatever side is a model, sample by sample.
  Result<void> run_models() {
    const Side* const first = golden_.model ? &golden_ : target_.model ? &target_ : nullptr;
    if (first == nullptr) {
      if (!input_options_.inputs.empty())
        return Error{"there is no model to be fed", "--input", "leave it out"};
      return {};
    }
    InputOptions options = input_options_;
    if (options.inputs.empty()) options.inputs = inputs_in_gt();
    auto samples = open_samples(options, first->model->inputs(), common_);
    if (!samples) return samples.error();
    const bool has_many = samples->size() > 1;
    if (has_many && !(golden_.model && target_.model))
      if (const fs::path& results = golden_.model ? target_.results : golden_.results;
          !fs::exists(results / "sample_0"))
        return Error{
            "several samples need results of each",
            fmt::format("{} samples, but {} has no sample_0", samples->size(), results.string()),
            "feed one sample, or name a dump of all of them"};
    std::optional<GtFolder> gt;
    if (!wishes_.output_gt.empty()) {
      auto made = GtFolder::make(wishes_.output_gt);
      if (!made) return made.error();
      gt = std::move(*made);
    }
    struct Model {
      Side& side;
      engine::ModelDumper dumper;
      fs::path directory;
    };
    std::vector<Model> models;
    const std::pair<Side&, const SideWishes&> sides[] = {{target_, wishes_.target},
                                                         {golden_, wishes_.golden}};
    for (const auto& [side, own] : sides) {
      if (!side.model) continue;
      side.results = work_ / (&side == &target_ ? "target" : "golden");
      models.push_back(
          {side, engine::ModelDumper(*side.model, dump_wishes(wishes_, own)), side.results});
    }
    ProgressBar bar(context_, common_, static_cast<int64_t>(samples->size() * models.size()),
                    "runs");
    const RunContext quiet;
    for (size_t i = 0; i < samples->size(); ++i) {
      auto sample = samples->load(i);
      if (!sample) return sample.error();
      names_.push_back(samples->name(i));
      files_.push_back(samples->files(i));
      for (Model& model : models) {
        if (context_.cancelled) return Error{"interrupted", "", ""};
        auto inputs = inputs_for(*model.side.model, samples->ports(), sample->inputs);
        if (!inputs) return inputs.error();
        const fs::path directory =
            has_many ? model.directory / fmt::format("sample_{}", i) : model.directory;
        auto dump = model.dumper.dump(*inputs, directory, quiet);
        if (!dump) return dump.error();
        if (i == 0)
          for (const std::string& warning : dump->warnings) warnings_.push_back(warning);
        model.side.tensors = std::move(dump->tensors);
        if (gt)
          if (auto written = gt->add(has_many ? samples->name(i) : "", &model.side == &target_,
                                     model.side.model->graph(), model.side.tensors, directory);
              !written)
            return written;
        context_.advance(1);
      }
      if (gt)
        if (auto written =
                gt->add_inputs(has_many ? samples->name(i) : "", sample->inputs, samples->files(i));
            !written)
          return written;
    }
    return {};
  }

  // A gt folder knows what the model was fed.
  std::vector<std::string> inputs_in_gt() const {
    std::vector<std::string> inputs;
    const Side& results = golden_.model ? target_ : golden_;
    const Side& model = golden_.model ? golden_ : target_;
    if (results.model) return inputs;
    for (const engine::Port& port : model.model->inputs())
      for (const char* extension : {".npy", ".bin"}) {
        const fs::path file =
            results.results / "input" / (input::file_name_of(port.name) + extension);
        std::error_code ignored;
        if (!fs::exists(file, ignored)) continue;
        inputs.push_back(port.name + "=" + file.string());
        break;
      }
    return inputs;
  }

  // Which directory holds the results of a side, and what its files without a header are.
  Result<void> find_results() {
    for (Side* side : {&target_, &golden_}) {
      if (side->model) continue;
      const Side& other = side == &target_ ? golden_ : target_;
      auto found =
          results_in(side->results, side == &target_, other.model ? fs::path() : other.results,
                     other.tensors, work_ / (side == &target_ ? "target_bins" : "golden_bins"));
      if (!found) return found.error();
      side->results = *found;
    }
    return {};
  }

  Result<dump::DumpSet> open_results(const Side& side, const Side& other) {
    auto set = dump::open_dump(side.results);
    if (!set || !side.model) return set;
    // Results of other tools are called by tensor, not by operator.
    if (other.model || fs::exists(other.results / "dump.json") ||
        fs::exists(other.results / "sample_0"))
      return set;
    std::map<std::string, std::string> tensors;  // by file
    for (const engine::DumpedTensor& tensor : side.tensors) tensors[tensor.file] = tensor.tensor;
    for (dump::Entry& entry : set->entries) {
      const auto found = tensors.find(entry.parts.front().file);
      if (found == tensors.end()) continue;
      entry.operator_name = input::file_name_of(found->second);
      entry.slot = {dump::SlotKind::kOutput, 0, {}};
      entry.timestamp = 0;
    }
    set->convention = "plain";
    return set;
  }

  static std::optional<graph::Graph> graph_of(const dump::DumpSet& set) {
    if (set.convention != "plumb-dump" || set.entries.empty()) return std::nullopt;
    const std::string& file = set.entries.front().parts.front().file;
    auto graph = graph::load_graph(set.absolute(file.substr(0, file.rfind('/') + 1) + "dump.json"));
    if (!graph) return std::nullopt;
    return std::move(*graph);
  }

  Result<result::Run> compare_sides() {
    auto target = open_results(target_, golden_);
    if (!target) return target.error();
    auto golden = open_results(golden_, target_);
    if (!golden) return golden.error();
    compare::Graphs graphs;
    graphs.target = graph_of(*target);
    graphs.golden = graph_of(*golden);
    if (!graphs.target || !graphs.golden) graphs = {};
    auto scenario = compare::find_scenario(*target, *golden, graphs, "");
    const std::string_view profile = scenario ? (*scenario)->profile : "standard";
    auto rules =
        compare::load_rules(wishes_.profile.empty() ? std::string(profile) : wishes_.profile, "");
    if (!rules) return rules.error();
    std::optional<match::Matcher> matcher = compare::make_matcher(graphs);
    compare::PlanOptions options;
    options.matcher = matcher ? &*matcher : nullptr;
    if (matcher) options.map = outputs_by_place(*matcher, *graphs.target, *graphs.golden);
    const auto plan = compare::make_plan(*target, *golden, options);
    const compare::Sides sides{*target, *golden, nullptr, {}, {}};
    result::Run run;
    run.command = "run";
    run.scenario = scenario ? (*scenario)->name : "dump-vs-dump";
    run.profile = rules->name;
    run.target = input_side(target_.path, *target);
    run.golden = input_side(golden_.path, *golden);
    for (const auto& [side, shown] : {std::pair{&target_, &run.target}, {&golden_, &run.golden}})
      if (side->model) shown->convention = side->model->engine().version();
    run.is_ordered = matcher.has_value();
    run.warnings = warnings_;
    std::vector<const metrics::Metric*> wanted;
    for (const metrics::Metric& metric : metrics::metrics())
      if (metric.needs == metrics::Needs::kSums || metric.name == "pearson")
        wanted.push_back(&metric);
    run.metrics = columns_for(wanted, *rules);
    const compare::StreamOptions stream_options{
        *rules, run.metrics, compare::Passes::for_metrics(run.metrics), false, nullptr};
    compare::Streamed streamed = compare::stream(sides, plan, stream_options, context_);
    run.rows = std::move(streamed.rows);
    run.bytes = streamed.bytes;
    if (matcher) {
      run.outputs_not_compared = compare::outputs_not_compared(
          *matcher, run.rows, [&](const dump::Entry& entry) { return is_asked_for(entry); });
      compare::mark_model_outputs(*matcher, run.rows);
    }
    scores_ = Scores{names_, files_, {}};
    if (auto judged = scores_->judge_classes(sides, plan, run, wishes_.labels); !judged)
      return judged.error();
    return run;
  }

  bool is_asked_for(const dump::Entry& entry) const {
    return wishes_.layers == "outputs" || wishes_.layers == "all" ||
           operator_matches(wishes_.layers, entry.operator_name);
  }

  // Outputs that neither name nor structure pairs: models with as many of them give them in the
  // same order.
  static compare::NameMap outputs_by_place(const match::Matcher& matcher,
                                           const graph::Graph& target, const graph::Graph& golden) {
    compare::NameMap map;
    if (target.outputs.size() != golden.outputs.size()) return map;
    for (size_t i = 0; i < target.outputs.size(); ++i) {
      const graph::Edge &own = target.outputs[i], &theirs = golden.outputs[i];
      const graph::Operator* op = matcher.find(own.producer);
      if (op == nullptr || matcher.output(*op, own.output).golden) continue;
      const dump::Slot slot{dump::SlotKind::kOutput, own.output, {}};
      map.tensors[compare::tensor_text(own.producer, slot)] = {
          theirs.producer, {dump::SlotKind::kOutput, theirs.output, {}}};
      map.tensor_operators.insert(own.producer);
    }
    return map;
  }

  const Wishes& wishes_;
  const InputOptions& input_options_;
  const CommonOptions& common_;
  RunContext& context_;
  Side target_, golden_;
  fs::path work_;
  std::vector<std::string> names_;               // of samples
  std::vector<std::vector<std::string>> files_;  // ... and what they were read from
  std::vector<std::string> warnings_;
  std::optional<Scores> scores_;
};

Result<void> check(const Wishes& wishes) {
  const size_t needed = wishes.expect ? 1 : 2;
  if (wishes.paths.size() != needed)
    return Error{fmt::format("{} needed, {} given", needed == 1 ? "one path is" : "two paths are",
                             wishes.paths.size()),
                 wishes.expect ? "plumb run --expect" : "plumb run",
                 needed == 1 ? "name the directory of the test cases"
                             : "name the target and the golden side"};
  if (auto checked = wishes.output.check(); !checked) return checked;
  std::vector<NamedPath> inputs;
  for (const std::string& path : wishes.paths) inputs.push_back({"TARGET or GOLDEN", path});
  return check_outputs(wishes.output.paths(), inputs);
}

}  // namespace

int run_run(int argc, char** argv, RunContext& context) {
  Options options(
      "run", "Run two models on the same input and compare what they compute.",
      "examples\n"
      "  plumb run quantized.onnx float.onnx --input photo.jpg --config config.prototxt\n"
      "  plumb run model.onnx model.onnx --target-opt all --layers all --seed 1\n"
      "  plumb run board_out/ gt/            (files of run_joint against a gt folder)\n"
      "  plumb run deploy.prototxt model.onnx --input photos/ --labels labels.csv\n"
      "exit status: 0 all within limits, 1 some tensor is not or was not compared, 2 trouble,\n"
      "130 interrupted");
  Wishes wishes;
  InputOptions inputs;
  CommonOptions common;
  declare(options, wishes, inputs, common);
  if (auto status = options.parse(argc, argv)) return *status;
  wishes.allowed = split_lists(wishes.allowed);
  if (auto checked = check(wishes); !checked) return fail_with(checked.error());
  if (wishes.expect)
    return run_expect({wishes.paths[0], wishes.target.engine, wishes.target.optimization,
                       wishes.profile, wishes.output.all},
                      common, context);
  return Runner(wishes, inputs, common, context).run();
}

}  // namespace plumb::cli
