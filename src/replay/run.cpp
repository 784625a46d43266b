// SPDX-License-Identifier: Apache-2.0
#include "replay/run.h"

#include <chrono>
#include <set>

#include <fmt/format.h>

#include "base/name_pattern.h"
#include "base/temporary_directory.h"
#include "replay/gt_folder.h"
#include "replay/inner_progress.h"
#include "replay/run_comparison.h"

namespace plumb::replay {

namespace fs = std::filesystem;

struct RunState {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  RunOptions options;
  RunSide target, golden;
  std::optional<TemporaryDirectory> work;
  std::optional<input::Samples> samples;
  Scores scores;

  // A side with a model, golden's if both have one.
  RunSide& model_side() { return golden.model ? golden : target; }
};

namespace {

Result<RunSide> open_side(const RunSideOptions& options, const WorkerLimits& limits) {
  RunSide side;
  side.path = options.path;
  if (!engine::is_model(options.path)) {
    side.results = options.path;
    return side;
  }
  auto model = engine::LoadedModel::open({options.path, options.weights, options.engine, limits});
  if (!model) return model.error();
  side.model = std::move(*model);
  return side;
}

// A gt folder knows what the model was fed.
std::vector<std::string> inputs_in_gt(const RunSide& model, const RunSide& results) {
  std::vector<std::string> inputs;
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

engine::DumpWishes dump_options(const RunOptions& options, const RunSideOptions& side) {
  engine::DumpWishes dump;
  dump.optimization = side.optimization;
  dump.threads = options.threads;
  dump.batch_outputs = options.batch_outputs;
  dump.synced = !options.keep.empty();
  dump.outputs_only = options.layers == "outputs";
  if (options.layers != "outputs" && options.layers != "all")
    dump.wants = [pattern = options.layers](const std::string& op) {
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
                 fmt::format("{} has {} input{}, the other {}", model.path(), own.size(),
                             own.size() == 1 ? "" : "s", ports.size()),
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

// The samples, one after the other: what is on the disk does not grow with their number, unless it
// is kept.
class Runner {
 public:
  Runner(RunState& state, RunContext& context)
      : options_(state.options),
        target_(state.target),
        golden_(state.golden),
        work_(state.work->path()),
        scores_(state.scores),
        context_(context),
        comparison_(state.options, work_) {}

  // Runs whatever side is a model, and compares.
  Result<void> run_models(input::Samples& samples) {
    if (!options_.output_gt.empty()) {
      auto made = GtFolder::make(options_.output_gt);
      if (!made) return made.error();
      gt_ = std::move(*made);
    }
    if (target_.model)
      models_.push_back({target_, {*target_.model, dump_options(options_, options_.target)}});
    if (golden_.model)
      models_.push_back({golden_, {*golden_.model, dump_options(options_, options_.golden)}});
    const InnerProgress samples_count(context_);
    for (size_t i = 0; i < samples.size() && !context_.cancelled; ++i) {
      auto done = run_sample(samples, i);
      // One that cannot be run costs itself; of one sample there is nothing else to tell.
      if (!done && (samples.size() == 1 || context_.cancelled)) return done;
      if (!done) doubt(samples.name(i), done.error());
      samples_count.advance();
    }
    return {};
  }

  Result<void> compare_results() {
    if (!options_.inputs.inputs.empty())
      return Error{"there is no model to be fed", "--input", "leave it out"};
    std::set<std::string> names = gt_samples(target_.path);
    names.merge(gt_samples(golden_.path));
    if (names.empty()) return compare(std::nullopt);
    // A gt folder for each sample, as --output-gt writes them.
    int64_t step = 0;
    for (const std::string& name : names) {
      if (context_.cancelled) break;
      scores_.add_sample(name, {});
      target_.results = fs::path(target_.path) / name;
      golden_.results = fs::path(golden_.path) / name;
      if (auto compared = compare(step++); !compared) doubt(name, compared.error());
    }
    if (comparison_.run.rows.empty())
      return Error{"no sample is on both sides", target_.path + " and " + golden_.path,
                   "name gt folders of the same samples"};
    return {};
  }

  result::Run& result() { return comparison_.run; }

 private:
  struct Model {
    RunSide& side;
    engine::ModelDumper dumper;
  };

  Result<void> run_sample(input::Samples& samples, size_t i) {
    const bool has_many = samples.size() > 1;
    auto sample = samples.load(i);
    scores_.add_sample(samples.name(i), samples.files(i));
    if (!sample) return sample.error();
    choose_directories(has_many ? fmt::format("sample_{}", i) : "",
                       has_many ? samples.name(i) : "");
    const std::string folder = has_many ? samples.name(i) : "";  // of the gt folder
    for (Model& model : models_) {
      auto inputs = inputs_for(*model.side.model, samples.ports(), sample->inputs);
      if (!inputs) return inputs.error();
      if (auto ran = run_model(model, *inputs, folder); !ran) return ran;
    }
    if (gt_)
      if (auto written = gt_->add_inputs(folder, sample->inputs, samples.files(i)); !written)
        return written;
    auto compared = compare(has_many ? std::optional(static_cast<int64_t>(i)) : std::nullopt);
    std::error_code ignored;
    if (options_.keep.empty())
      for (const char* name : {"target", "golden", "target_bins", "golden_bins"})
        fs::remove_all(work_ / name, ignored);
    return compared;
  }

  // Where the tensors of a sample go, or are: results that are there call it by number or by name.
  void choose_directories(const std::string& numbered, const std::string& named) {
    for (RunSide* side : {&target_, &golden_}) {
      std::error_code ignored;
      const fs::path given = side->path;
      side->results = side->model ? work_ / (side == &target_ ? "target" : "golden") / numbered
                      : fs::is_directory(given / numbered, ignored) ? given / numbered
                                                                    : given / named;
    }
  }

  // Tensors that somebody wants to have are files.
  Result<void> run_model(Model& model, const engine::Inputs& inputs, const std::string& sample) {
    RunSide& side = model.side;
    side.is_in_memory = options_.keep.empty() && !gt_;
    auto given = side.is_in_memory ? model.dumper.keep(inputs, side.results, context_)
                                   : model.dumper.dump(inputs, side.results, context_);
    if (!given) return given.error();
    for (const std::string& doubt : given->doubts)
      comparison_.run.doubts.push_back(
          sample.empty() ? doubt : fmt::format("sample {}: {}", sample, doubt));
    side.given = std::move(*given);
    if (!gt_) return {};
    return gt_->add(sample, &side == &target_, side.given->graph, side.given->tensors,
                    side.results);
  }

  Result<void> compare(std::optional<int64_t> step) {
    return comparison_.add(target_, golden_, step, scores_, context_);
  }

  void doubt(const std::string& sample, const Error& error) {
    comparison_.run.doubts.push_back(
        fmt::format("sample {} was not compared: {}: {}", sample, error.what, error.where));
  }

  const RunOptions& options_;
  RunSide &target_, &golden_;
  const fs::path work_;
  Scores& scores_;
  RunContext& context_;
  RunComparison comparison_;
  std::vector<Model> models_;
  std::optional<GtFolder> gt_;
};

}  // namespace

ModelRun::ModelRun(std::unique_ptr<RunState> state) : state_(std::move(state)) {}
ModelRun::ModelRun(ModelRun&&) noexcept = default;
ModelRun::~ModelRun() = default;

Result<ModelRun> ModelRun::open(RunOptions given) {
  auto state = std::make_unique<RunState>();
  state->options = std::move(given);
  const RunOptions& options = state->options;
  auto target = open_side(options.target, options.limits);
  if (!target) return target.error();
  auto golden = open_side(options.golden, options.limits);
  if (!golden) return golden.error();
  state->target = std::move(*target);
  state->golden = std::move(*golden);
  auto work = TemporaryDirectory::make(options.keep);
  if (!work) return work.error();
  state->work.emplace(std::move(*work));
  if (!options.labels.empty()) {
    auto labels = input::read_labels(options.labels);
    if (!labels) return labels.error();
    state->scores = Scores(std::move(*labels));
  }
  RunSide& model = state->model_side();
  if (!model.model) return ModelRun(std::move(state));
  input::SampleOptions inputs = options.inputs;
  if (inputs.inputs.empty())
    inputs.inputs = inputs_in_gt(model, &model == &state->golden ? state->target : state->golden);
  auto samples = input::open_samples(std::move(inputs), model.model->inputs());
  if (!samples) return samples.error();
  state->samples.emplace(std::move(*samples));
  return ModelRun(std::move(state));
}

const input::Samples* ModelRun::samples() const {
  return state_->samples ? &*state_->samples : nullptr;
}

Ran ModelRun::run(RunContext& context) {
  Runner runner(*state_, context);
  auto done = state_->samples ? runner.run_models(*state_->samples) : runner.compare_results();
  const Scores& scores = state_->scores;
  Ran ran{std::move(runner.result()), {}};
  ran.run.samples = scores.samples();
  ran.run.accuracy = scores.accuracy();
  if (!done) ran.problem = std::move(done.error());
  if (!state_->options.labels.empty())
    if (auto doubt = scores.labels_doubt())
      ran.run.warnings.push_back(state_->options.labels + ": " + *doubt);
  ran.run.interrupted = context.cancelled;
  ran.run.elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - state_->start).count();
  return ran;
}

}  // namespace plumb::replay
