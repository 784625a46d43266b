// SPDX-License-Identifier: Apache-2.0
//
// `plumb run TARGET GOLDEN`: feeds two models the same bytes and compares what they give, or every
// layer. A directory of results can stand for either model.
#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "base/name_pattern.h"
#include "base/temporary_directory.h"
#include "cli/comparison.h"
#include "cli/expect.h"
#include "cli/input_options.h"
#include "cli/progress.h"
#include "cli/score_table.h"
#include "engine/dump_model.h"
#include "graph/importers.h"
#include "pair/graph_fit.h"
#include "pair/scenario.h"
#include "replay/gt_folder.h"

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
  options.text(
      "--labels", "FILE", wishes.labels,
      "right classes of the samples: lines of CLASS or of\nFILE,CLASS, or labels of MNIST");
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
    if (!wishes_.labels.empty()) {
      auto labels = input::read_labels(wishes_.labels);
      if (!labels) return fail_with(labels.error());
      scores_ = Scores(std::move(*labels));
    }
    auto done = golden_.model || target_.model ? run_models() : compare_directories();
    if (!done && run_.rows.empty())
      return context_.cancelled ? kInterrupted : fail_with(done.error());
    if (!done && !context_.cancelled) print_error(done.error());  // what was compared is told
    if (!wishes_.labels.empty())
      if (auto doubt = scores_.labels_doubt())
        run_.warnings.push_back(wishes_.labels + ": " + *doubt);
    run_.interrupted = context_.cancelled;
    run_.elapsed_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!print_json(run_, wishes_.output))
      fmt::print("{}",
                 score_table(run_, scores_, wants_colour(wishes_.output), wishes_.output.all));
    if (const bool all_written = write_files(run_, wishes_.output); !all_written || !done)
      return context_.cancelled ? kInterrupted : kTrouble;
    return exit_status(run_.summary(), run_, wishes_.allowed);
  }

 private:
  struct Model {
    Side& side;
    engine::ModelDumper dumper;
  };

  // Runs whatever side is a model and compares, sample by sample: what is on the disk does not grow
  // with their number, unless it is kept.
  Result<void> run_models() {
    InputOptions options = input_options_;
    if (options.inputs.empty()) options.inputs = inputs_in_gt();
    auto samples =
        input::open_samples(options, (golden_.model ? golden_ : target_).model->inputs());
    if (!samples) return samples.error();
    print_warnings(*samples, common_);
    const bool has_many = samples->size() > 1;
    std::optional<replay::GtFolder> gt;
    if (!wishes_.output_gt.empty()) {
      auto made = replay::GtFolder::make(wishes_.output_gt);
      if (!made) return made.error();
      gt = std::move(*made);
    }
    std::vector<Model> models;
    if (target_.model)
      models.push_back({target_, {*target_.model, dump_wishes(wishes_, wishes_.target)}});
    if (golden_.model)
      models.push_back({golden_, {*golden_.model, dump_wishes(wishes_, wishes_.golden)}});
    ProgressBar bar(context_, common_, static_cast<int64_t>(samples->size()), "samples");
    const auto progress = std::exchange(context_.progress, nullptr);  // samples count, not tensors
    for (size_t i = 0; i < samples->size() && !context_.cancelled; ++i) {
      auto done = run_sample(*samples, i, models, gt ? &*gt : nullptr);
      // One that cannot be run costs itself; of one sample there is nothing else to tell.
      if (!done && (!has_many || context_.cancelled)) return done;
      if (!done)
        run_.doubts.push_back(fmt::format("sample {} was not compared: {}: {}", samples->name(i),
                                          done.error().what, done.error().where));
      if (progress) progress(1);
    }
    return {};
  }

  Result<void> run_sample(input::Samples& samples, size_t i, std::vector<Model>& models,
                          replay::GtFolder* gt) {
    const bool has_many = samples.size() > 1;
    const std::string numbered = has_many ? fmt::format("sample_{}", i) : "";
    const std::string named = has_many ? samples.name(i) : "";
    auto sample = samples.load(i);
    scores_.add_sample(samples.name(i), samples.files(i));
    if (!sample) return sample.error();
    std::error_code ignored;
    for (Side* side : {&target_, &golden_}) {
      const fs::path given = side->path;
      side->results = side->model ? work_ / (side == &target_ ? "target" : "golden") / numbered
                      : fs::is_directory(given / numbered, ignored) ? given / numbered
                                                                    : given / named;
    }
    for (Model& model : models) {
      auto inputs = inputs_for(*model.side.model, samples.ports(), sample->inputs);
      if (!inputs) return inputs.error();
      auto dump = model.dumper.dump(*inputs, model.side.results, context_);
      if (!dump) return dump.error();
      for (const std::string& doubt : dump->doubts)
        run_.doubts.push_back(has_many ? fmt::format("sample {}: {}", samples.name(i), doubt)
                                       : doubt);
      model.side.tensors = std::move(dump->tensors);
      if (gt != nullptr)
        if (auto written = gt->add(named, &model.side == &target_, dump->graph, model.side.tensors,
                                   model.side.results);
            !written)
          return written;
    }
    if (gt != nullptr)
      if (auto written = gt->add_inputs(named, sample->inputs, samples.files(i)); !written)
        return written;
    auto compared = compare_sides(has_many ? std::optional(static_cast<int64_t>(i)) : std::nullopt);
    if (wishes_.keep.empty())
      for (const char* name : {"target", "golden", "target_bins", "golden_bins"})
        fs::remove_all(work_ / name, ignored);
    return compared;
  }

  Result<void> compare_directories() {
    if (!input_options_.inputs.empty())
      return Error{"there is no model to be fed", "--input", "leave it out"};
    const std::set<std::string> samples = replay::gt_samples(target_.path),
                                others = replay::gt_samples(golden_.path);
    if (samples.empty() && others.empty()) return compare_sides(std::nullopt);
    // A gt folder for each sample, as --output-gt writes them.
    std::set<std::string> all = samples;
    all.insert(others.begin(), others.end());
    int64_t step = 0;
    for (const std::string& name : all) {
      if (context_.cancelled) break;
      scores_.add_sample(name, {});
      target_.results = fs::path(target_.path) / name;
      golden_.results = fs::path(golden_.path) / name;
      if (auto compared = compare_sides(step++); !compared)
        run_.doubts.push_back(fmt::format("sample {} was not compared: {}: {}", name,
                                          compared.error().what, compared.error().where));
    }
    if (run_.rows.empty())
      return Error{"no sample is on both sides", target_.path + " and " + golden_.path,
                   "name gt folders of the same samples"};
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
      auto found = replay::results_in(side->results, side == &target_,
                                      other.model ? fs::path() : other.results, other.tensors,
                                      work_ / (side == &target_ ? "target_bins" : "golden_bins"));
      if (!found) return found.error();
      side->results = *found;
    }
    return {};
  }

  Result<dump::DumpSet> open_results(const Side& side, const Side& other) {
    auto set = dump::open_dump(side.results);
    if (!set || !side.model) return set;
    // Results of other tools are called by tensor, not by operator.
    std::error_code ignored;
    if (other.model || fs::exists(other.results / "dump.json", ignored) ||
        fs::exists(other.results / "sample_0", ignored))
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

  // Adds the rows of one sample to the result.
  Result<void> compare_sides(std::optional<int64_t> step) {
    if (auto found = find_results(); !found) return found;
    auto target = open_results(target_, golden_);
    if (!target) return target.error();
    auto golden = open_results(golden_, target_);
    if (!golden) return golden.error();
    pair::Graphs graphs;
    graphs.target = graph_of(*target);
    graphs.golden = graph_of(*golden);
    if (!graphs.target || !graphs.golden) graphs = {};
    if (!rules_)
      if (auto judged = begin(*target, *golden, graphs); !judged) return judged;
    std::optional<pair::Matcher> matcher = pair::make_matcher(graphs);
    pair::PlanOptions options;
    options.matcher = matcher ? &*matcher : nullptr;
    if (matcher) options.map = pair::output_pairs(*matcher, *graphs.target, *graphs.golden);
    const auto plan = pair::make_plan(*target, *golden, options);
    const compare::Sides sides{*target, *golden, nullptr, {}, {}};
    const compare::StreamOptions stream_options{
        *rules_, run_.metrics, compare::Passes::for_metrics(run_.metrics), false, nullptr};
    compare::Streamed streamed = compare::stream(sides, plan, stream_options, context_);
    if (matcher) {
      const auto wants = [&](const dump::Entry& entry) { return is_asked_for(entry); };
      note_missing(pair::outputs_not_compared(*matcher, streamed.rows, wants));
      note_missing(pair::golden_outputs_not_compared(*graphs.golden, streamed.rows, wants));
      pair::mark_model_outputs(*matcher, streamed.rows);
    } else if (wishes_.layers == "outputs") {
      for (result::Row& row : streamed.rows) {
        row.is_model_output = row.target && row.golden;
        if (row.verdict == result::Verdict::kNotCompared && !row.is_excused())
          note_missing({row.any_side().operator_name});
      }
    }
    for (result::Row& row : streamed.rows)
      if (step) row.step = step;
    scores_.judge_classes(sides, plan, streamed.rows);
    run_.is_ordered = matcher.has_value();
    run_.bytes += streamed.bytes;
    std::move(streamed.rows.begin(), streamed.rows.end(), std::back_inserter(run_.rows));
    return {};
  }

  void note_missing(const std::vector<std::string>& outputs) {
    for (const std::string& name : outputs)
      if (std::find(run_.outputs_not_compared.begin(), run_.outputs_not_compared.end(), name) ==
          run_.outputs_not_compared.end())
        run_.outputs_not_compared.push_back(name);
  }

  // What the first sample tells about all of them.
  Result<void> begin(const dump::DumpSet& target, const dump::DumpSet& golden,
                     const pair::Graphs& graphs) {
    const auto scenario = pair::find_scenario(target, golden, graphs, "");
    const std::string_view natural = scenario ? (*scenario)->profile : "standard";
    auto rules =
        judge::load_rules(wishes_.profile.empty() ? std::string(natural) : wishes_.profile, "");
    if (!rules) return rules.error();
    rules_ = std::move(*rules);
    run_.command = "run";
    run_.scenario = scenario ? (*scenario)->name : "dump-vs-dump";
    run_.profile = rules_->name;
    run_.target = input_side(target_.path, target);
    run_.golden = input_side(golden_.path, golden);
    for (const auto& [side, shown] : {std::pair{&target_, &run_.target}, {&golden_, &run_.golden}})
      if (side->model) shown->convention = side->model->engine().version();
    std::vector<const metrics::Metric*> wanted;
    for (const metrics::Metric& metric : metrics::metrics())
      if (metric.needs == metrics::Needs::kSums || metric.name == "pearson")
        wanted.push_back(&metric);
    run_.metrics = columns_for(wanted, *rules_);
    if (graphs.target)
      for (const graph::Edge& output : graphs.target->outputs)
        if (dump::Entry entry; (entry.operator_name = output.producer, !is_asked_for(entry)))
          run_.warnings.push_back(fmt::format(
              "{}, an output of the model, does not match --layers '{}' and was not compared",
              output.producer, wishes_.layers));
    return {};
  }

  bool is_asked_for(const dump::Entry& entry) const {
    return wishes_.layers == "outputs" || wishes_.layers == "all" ||
           operator_matches(wishes_.layers, entry.operator_name);
  }

  const Wishes& wishes_;
  const InputOptions& input_options_;
  const CommonOptions& common_;
  RunContext& context_;
  Side target_, golden_;
  fs::path work_;
  std::optional<judge::Rules> rules_;
  result::Run run_;
  Scores scores_;
};

// Test cases bring their own inputs and outputs: most options have nothing to say there.
Result<void> check_expect(const std::vector<std::string>& given) {
  constexpr std::string_view kKnown[] = {"--expect",  "--target-engine", "--target-opt",
                                         "--profile", "--all",           "--color",
                                         "--jobs",    "--quiet",         "--no-progress"};
  for (const std::string& option : given)
    if (std::find(std::begin(kKnown), std::end(kKnown), option) == std::end(kKnown))
      return Error{fmt::format("{} does not apply to test cases", option), "plumb run --expect",
                   "leave it out; --target-engine, --target-opt, --profile and --all do"};
  return {};
}

Result<void> check(const Wishes& wishes, const std::vector<std::string>& given) {
  const size_t needed = wishes.expect ? 1 : 2;
  if (wishes.paths.size() != needed)
    return Error{fmt::format("{} needed, {} given", needed == 1 ? "one path is" : "two paths are",
                             wishes.paths.size()),
                 wishes.expect ? "plumb run --expect" : "plumb run",
                 needed == 1 ? "name the directory of the test cases"
                             : "name the target and the golden side"};
  if (wishes.expect) return check_expect(given);
  if (auto checked = wishes.output.check(); !checked) return checked;
  if (auto checked = check_allowed(wishes.allowed); !checked) return checked;
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
  if (auto checked = check(wishes, options.given()); !checked) return fail_with(checked.error());
  if (wishes.expect)
    return run_expect({wishes.paths[0], wishes.target.engine, wishes.target.optimization,
                       wishes.profile, wishes.output.all},
                      common, context);
  return Runner(wishes, inputs, common, context).run();
}

}  // namespace plumb::cli
