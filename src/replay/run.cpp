// SPDX-License-Identifier: Apache-2.0
#include "replay/run.h"

#include <chrono>
#include <set>

#include <fmt/format.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>

#include "base/directory_lock.h"
#include "base/threads.h"
#include "replay/gt_folder.h"
#include "replay/inner_progress.h"
#include "replay/run_comparison.h"

namespace plumb::replay {

namespace fs = std::filesystem;

struct RunState {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  RunOptions options;
  RunSide target, golden;
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
  // Of a pattern, too, all is run: what is around a tensor tells its partner and its limits.
  dump.outputs_only = options.layers == "outputs";
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

// A sample on its way: loaded, run, compared.
struct Turn {
  size_t sample = 0;
  engine::Inputs inputs;
  std::optional<engine::Dump> target, golden;  // of sides that are models
  std::optional<Error> problem;
};
using TurnPtr = std::shared_ptr<Turn>;

// The samples, in order. While one is compared the next is run and the one after that is loaded, so
// tensors of three are in memory at most.
class Runner {
 public:
  Runner(RunState& state, RunContext& context)
      : options_(state.options),
        target_(state.target),
        golden_(state.golden),
        scores_(state.scores),
        context_(context),
        comparison_(state.options) {}

  // Runs whatever side is a model, and compares.
  Result<void> run_models(input::Samples& samples) {
    if (!options_.keep.empty()) {
      auto lock = DirectoryLock::make_empty(options_.keep, "--keep");
      if (!lock) return lock.error();
      keep_.emplace(std::move(*lock));
    }
    if (!options_.output_gt.empty()) {
      auto made = GtFolder::make(options_.output_gt);
      if (!made) return made.error();
      gt_.emplace(std::move(*made));
    }
    if (target_.model)
      target_dumper_.emplace(*target_.model, dump_options(options_, options_.target));
    if (golden_.model)
      golden_dumper_.emplace(*golden_.model, dump_options(options_, options_.golden));
    const InnerProgress samples_count(context_);
    std::optional<Error> problem;
    size_t next = 0;
    const auto load_next = [&](tbb::flow_control& flow) {
      if (next < samples.size() && !context_.cancelled) return load(samples, next++);
      flow.stop();
      return TurnPtr();
    };
    const auto run_turn = [&](const TurnPtr& turn) {
      run(samples, *turn);
      return turn;
    };
    const auto compare_turn = [&](const TurnPtr& turn) {
      if (context_.cancelled) return;
      auto done = compare(samples, *turn);
      // One that cannot be run costs itself; of one sample there is nothing else to tell.
      if (!done && samples.size() == 1)
        problem = std::move(done.error());
      else if (!done)
        doubt(samples.name(turn->sample), done.error());
      samples_count.advance();
    };
    on_threads_of(context_, [&] {
      constexpr auto kInOrder = tbb::filter_mode::serial_in_order;
      tbb::parallel_pipeline(3, tbb::make_filter<void, TurnPtr>(kInOrder, load_next) &
                                    tbb::make_filter<TurnPtr, TurnPtr>(kInOrder, run_turn) &
                                    tbb::make_filter<TurnPtr, void>(kInOrder, compare_turn));
    });
    if (context_.cancelled) return interrupted(samples.size());
    if (problem) return std::move(*problem);
    return {};
  }

  Result<void> compare_results() {
    if (!options_.inputs.inputs.empty())
      return Error{"there is no model to be fed", "--input", "leave it out"};
    std::set<std::string> names = gt_samples(target_.path);
    names.merge(gt_samples(golden_.path));
    if (names.empty()) return add_rows(std::nullopt);
    // A gt folder for each sample, as --output-gt writes them.
    int64_t step = 0;
    for (const std::string& name : names) {
      if (context_.cancelled) break;
      scores_.add_sample(name, {});
      target_.results = fs::path(target_.path) / name;
      golden_.results = fs::path(golden_.path) / name;
      if (auto compared = add_rows(step++); !compared) doubt(name, compared.error());
    }
    if (context_.cancelled) return interrupted(names.size());
    if (comparison_.run.rows.empty())
      return Error{"no sample is on both sides", target_.path + " and " + golden_.path,
                   "name gt folders of the same samples"};
    return {};
  }

  void explain() { comparison_.explain(golden_, context_); }
  result::Run& result() { return comparison_.run; }

 private:
  Error interrupted(size_t samples) const {
    return {"interrupted",
            fmt::format("{} of {} samples were compared", scores_.samples().size(), samples),
            "run the command again"};
  }

  static TurnPtr load(input::Samples& samples, size_t i) {
    auto turn = std::make_shared<Turn>();
    turn->sample = i;
    auto loaded = samples.load(i);
    if (loaded)
      turn->inputs = std::move(loaded->inputs);
    else
      turn->problem = std::move(loaded.error());
    return turn;
  }

  void run(const input::Samples& samples, Turn& turn) {
    if (turn.problem) return;
    std::optional<Error> golden_problem;
    tbb::parallel_invoke(
        [&] {
          if (target_dumper_)
            run_side(samples, turn, true, *target_dumper_, turn.target, turn.problem);
        },
        [&] {
          if (golden_dumper_)
            run_side(samples, turn, false, *golden_dumper_, turn.golden, golden_problem);
        });
    if (!turn.problem) turn.problem = std::move(golden_problem);
  }

  // Tensors that somebody wants to keep are files, too.
  void run_side(const input::Samples& samples, const Turn& turn, bool is_target,
                engine::ModelDumper& dumper, std::optional<engine::Dump>& into,
                std::optional<Error>& problem) {
    const RunSide& side = is_target ? target_ : golden_;
    const fs::path directory =
        options_.keep.empty()
            ? fs::path()
            : fs::path(options_.keep) / (is_target ? "target" : "golden") / numbered(samples, turn);
    auto inputs = inputs_for(*side.model, samples.ports(), turn.inputs);
    auto given = inputs ? dumper.keep(*inputs, directory, context_) : inputs.error();
    if (given)
      into = std::move(*given);
    else
      problem = std::move(given.error());
  }

  // What files call a sample of many, and what people do.
  static std::string numbered(const input::Samples& samples, const Turn& turn) {
    return samples.size() > 1 ? fmt::format("sample_{}", turn.sample) : "";
  }
  static std::string named(const input::Samples& samples, const Turn& turn) {
    return samples.size() > 1 ? samples.name(turn.sample) : "";
  }

  Result<void> compare(const input::Samples& samples, Turn& turn) {
    const size_t i = turn.sample;
    scores_.add_sample(samples.name(i), samples.files(i));
    if (turn.problem) return std::move(*turn.problem);
    const std::string sample = named(samples, turn);
    for (RunSide* side : {&target_, &golden_}) {
      if (!side->model) {
        std::error_code ignored;
        const fs::path by_number = fs::path(side->path) / numbered(samples, turn);
        side->results =
            fs::is_directory(by_number, ignored) ? by_number : fs::path(side->path) / sample;
        continue;
      }
      side->given = std::move(side == &target_ ? turn.target : turn.golden);
      for (const std::string& doubt : side->given->doubts)
        comparison_.run.doubts.push_back(
            sample.empty() ? doubt : fmt::format("sample {}: {}", sample, doubt));
      if (gt_)
        if (auto added = gt_->add(sample, side == &target_, *side->given); !added) return added;
    }
    if (gt_)
      if (auto added = gt_->add_inputs(sample, turn.inputs, samples.files(i)); !added) return added;
    return add_rows(samples.size() > 1 ? std::optional(static_cast<int64_t>(i)) : std::nullopt);
  }

  Result<void> add_rows(std::optional<int64_t> step) {
    return comparison_.add(target_, golden_, step, scores_, context_);
  }

  void doubt(const std::string& sample, const Error& error) {
    comparison_.run.doubts.push_back(
        fmt::format("sample {} was not compared: {}: {}", sample, error.what, error.where));
  }

  const RunOptions& options_;
  RunSide &target_, &golden_;
  Scores& scores_;
  RunContext& context_;
  RunComparison comparison_;
  std::optional<engine::ModelDumper> target_dumper_, golden_dumper_;
  std::optional<DirectoryLock> keep_;
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
  runner.explain();
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
