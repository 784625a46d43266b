// SPDX-License-Identifier: Apache-2.0
#include "replay/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "base/directory_lock.h"
#include "base/side_thread.h"
#include "base/threads.h"
#include "pair/matcher.h"
#include "replay/feed.h"
#include "replay/gt_folder.h"
#include "replay/inner_progress.h"
#include "replay/quantized_outputs.h"
#include "replay/run_comparison.h"

namespace plumb::replay {

namespace fs = std::filesystem;

struct RunState {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  RunOptions options;
  RunSide target, golden;
  std::optional<input::Samples> samples;        // of model_side()
  std::optional<input::Samples> other_samples;  // of the other model, if it needs its own
  bool other_samples_are_wanted = false;
  Scores scores;

  // A side with a model, golden's if both have one.
  RunSide& model_side() { return golden.model ? golden : target; }
  RunSide& other_side() { return golden.model ? target : golden; }
};

namespace {

Result<RunSide> open_run_side(const RunSideOptions& options, const WorkerLimits& limits) {
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

// Files or tensors; without them a model is fed random numbers.
bool has_data(const input::SampleOptions& options) {
  return !options.inputs.empty() || !options.tensors.empty();
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

// Where a quantized model is judged against the float one. Optimised models have no such tensors.
bool shows_scores(const RunOptions& options, const RunSide& target, const RunSide& golden) {
  if (!target.model || !golden.model ||
      options.target.optimization != engine::Optimization::kDisabled ||
      options.golden.optimization != engine::Optimization::kDisabled)
    return false;
  const graph::Graph &checked = target.model->graph(), &plain = golden.model->graph();
  const bool is_quantized =
      options.profile.empty() && pair::is_quantized(checked) && !pair::is_quantized(plain);
  return (is_quantized || options.profile == kQuantizedProfile) &&
         scores_behind_outputs(checked).size() == scores_behind_outputs(plain).size();
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

// A sample on its way: loaded, run, compared.
struct RunTurn {
  size_t sample = 0;
  engine::Inputs inputs;
  std::optional<engine::Inputs> other_inputs;          // of the other model, if it has its own
  std::optional<Result<engine::Dump>> target, golden;  // of sides that are models
  std::optional<Error> problem;

  size_t input_bytes() const {
    size_t sum = 0;
    for (const auto& [name, tensor] : inputs) sum += tensor.bytes.size();
    return sum;
  }
};

// The samples, in order, by groups: while one is compared the next is run and that after it loaded.
// Mostly a group is one sample. Where a model takes no longer than to wake a thread it is a few,
// the tensors of which take little memory.
class SampleRunner {
 public:
  SampleRunner(RunState& state, RunContext& context)
      : options_(state.options),
        target_(state.target),
        golden_(state.golden),
        other_side_(state.other_side()),
        other_samples_(state.other_samples ? &*state.other_samples : nullptr),
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
    for (auto [side, asked, dumper] : {std::tuple{&target_, &options_.target, &target_dumper_},
                                       {&golden_, &options_.golden, &golden_dumper_}}) {
      if (!side->model) continue;
      engine::DumpWishes dump = dump_options(options_, *asked);
      dump.scores = shows_scores(options_, target_, golden_);
      dumper->emplace(*side->model, std::move(dump));
    }
    const InnerProgress samples_count(context_);
    std::optional<Error> problem;
    size_t next = 0;
    const auto load_group = [&] {
      std::vector<RunTurn> group;
      for (size_t bytes = 0; next < samples.size() && group.size() < most_in_group_ &&
                             bytes < kGroupBytes && !context_.cancelled;) {
        group.push_back(load(samples, next++));
        bytes += group.back().input_bytes();
      }
      return group;
    };
    const auto compare_turn = [&](RunTurn& turn) {
      if (context_.cancelled) return;
      ++compared_;
      auto done = compare(samples, turn);
      // One that cannot be run costs itself; of one sample there is nothing else to tell.
      if (!done && samples.size() == 1)
        problem = std::move(done.error());
      else if (!done)
        doubt(samples.name(turn.sample), done.error());
      samples_count.advance();
    };
    on_threads_of(context_, [&] {
      std::vector<RunTurn> loaded = load_group(), coming, ran;
      SideThread loader, target_engine, golden_engine;
      while (!loaded.empty() || !ran.empty()) {
        if (!loaded.empty()) loader.start([&] { coming = load_group(); });
        if (target_dumper_) target_engine.start([&] { run_side(samples, true, loaded); });
        if (golden_dumper_) golden_engine.start([&] { run_side(samples, false, loaded); });
        std::for_each(ran.begin(), ran.end(), compare_turn);
        ran.clear();
        for (SideThread* thread : {&target_engine, &golden_engine, &loader}) thread->wait();
        ran = std::exchange(loaded, std::exchange(coming, {}));
      }
    });
    if (context_.cancelled) {
      const size_t compared = compared_;
      for (size_t i = compared; i < samples.size(); ++i)
        add_unreached(samples.name(i), static_cast<int64_t>(i));
      return interrupted(compared, samples.size());
    }
    if (problem) return std::move(*problem);
    return {};
  }

  Result<void> compare_results() {
    if (has_data(options_.inputs))
      return Error{"there is no model to be fed", "--input", "leave it out"};
    std::set<std::string> names = gt_samples(target_.path);
    names.merge(gt_samples(golden_.path));
    if (names.empty()) return add_rows(std::nullopt);
    // A gt folder for each sample, as --output-gt writes them.
    int64_t step = 0;
    for (const std::string& name : names) {
      if (context_.cancelled) {
        add_unreached(name, step++);
        continue;
      }
      ++compared_;
      scores_.add_sample(name, {});
      target_.results = fs::path(target_.path) / name;
      golden_.results = fs::path(golden_.path) / name;
      if (auto compared = add_rows(step++); !compared) doubt(name, compared.error());
    }
    if (context_.cancelled) return interrupted(compared_, names.size());
    if (comparison_.run.rows.empty())
      return Error{"no sample is on both sides", target_.path + " and " + golden_.path,
                   "name gt folders of the same samples"};
    return {};
  }

  void explain() {
    if (result().profile == kQuantizedProfile)
      judge_quantized_outputs(
          golden_.model ? scores_behind_outputs(golden_.model->graph()) : ScoresBehind(),
          scores_.counts(), result());
    comparison_.explain(target_, golden_, context_);
  }
  result::Run& result() { return comparison_.run; }

 private:
  static Error interrupted(size_t compared, size_t samples) {
    return {"interrupted", fmt::format("{} of {} samples were compared", compared, samples),
            "run the command again"};
  }

  // A sample that nobody came to is in the result, too.
  void add_unreached(const std::string& name, int64_t step) {
    if (comparison_.run.rows.empty()) return;  // nor is known what it would have been
    scores_.add_unreached(name);
    comparison_.add_unreached(step);
  }

  RunTurn load(input::Samples& samples, size_t i) const {
    RunTurn turn;
    turn.sample = i;
    auto loaded = samples.load(i);
    if (loaded)
      turn.inputs = std::move(loaded->inputs);
    else
      turn.problem = std::move(loaded.error());
    if (turn.problem || other_samples_ == nullptr) return turn;
    auto other = load_other(samples, turn);
    if (other)
      turn.other_inputs = std::move(*other);
    else
      turn.problem = std::move(other.error()).in(other_side_.path);
    return turn;
  }

  // Random numbers are the same for both.
  Result<engine::Inputs> load_other(const input::Samples& samples, const RunTurn& turn) const {
    auto loaded = other_samples_->load(turn.sample);
    if (!loaded) return loaded.error();
    const std::vector<engine::Port>& own = other_samples_->ports();
    for (size_t i = 0; i < own.size(); ++i) {
      if (!other_samples_->is_random(i)) continue;
      const engine::Tensor& same = turn.inputs.find(samples.ports()[i].name)->second;
      if (own[i].dtype && same.dtype != *own[i].dtype)
        return other_type_needed(*other_side_.model, own[i], same.dtype);
      loaded->inputs.insert_or_assign(own[i].name, same);
    }
    return std::move(loaded->inputs);
  }

  // Tensors that somebody wants to keep are files, too.
  void run_side(const input::Samples& samples, bool is_target, std::vector<RunTurn>& group) {
    const RunSide& side = is_target ? target_ : golden_;
    for (RunTurn& turn : group) {
      if (context_.cancelled) return;
      if (turn.problem) continue;
      const fs::path directory = options_.keep.empty()
                                     ? fs::path()
                                     : fs::path(options_.keep) / (is_target ? "target" : "golden") /
                                           numbered(samples, turn);
      const bool has_own = &side == &other_side_ && turn.other_inputs;
      auto inputs = has_own ? Result<engine::Inputs>(*turn.other_inputs)
                            : inputs_for(*side.model, samples.ports(), turn.inputs);
      engine::ModelDumper& dumper = is_target ? *target_dumper_ : *golden_dumper_;
      (is_target ? turn.target : turn.golden) =
          inputs ? dumper.keep(*inputs, directory, context_) : inputs.error();
    }
  }

  // What files call a sample of many, and what people do.
  static std::string numbered(const input::Samples& samples, const RunTurn& turn) {
    return samples.size() > 1 ? fmt::format("sample_{}", turn.sample) : "";
  }
  static std::string named(const input::Samples& samples, const RunTurn& turn) {
    return samples.size() > 1 ? samples.name(turn.sample) : "";
  }

  Result<void> compare(const input::Samples& samples, RunTurn& turn) {
    const size_t i = turn.sample;
    scores_.add_sample(samples.name(i), samples.files(i));
    if (turn.problem) return std::move(*turn.problem);
    for (auto* given : {&turn.target, &turn.golden})
      if (*given && !**given) return std::move((**given).error());
    const std::string sample = named(samples, turn);
    size_t bytes = 1;
    for (RunSide* side : {&target_, &golden_}) {
      if (!side->model) {
        std::error_code ignored;
        const fs::path by_number = fs::path(side->path) / numbered(samples, turn);
        side->results =
            fs::is_directory(by_number, ignored) ? by_number : fs::path(side->path) / sample;
        continue;
      }
      std::optional<Result<engine::Dump>>& given = side == &target_ ? turn.target : turn.golden;
      side->given = std::move(**given);
      bytes += static_cast<size_t>(side->given->bytes);
      for (const std::string& doubt : side->given->doubts)
        comparison_.run.doubts.push_back(
            sample.empty() ? doubt : fmt::format("sample {}: {}", sample, doubt));
      if (gt_)
        if (auto added =
                gt_->add(sample, side == &target_, *side->given, options_.layers != "outputs");
            !added)
          return added;
    }
    largest_bytes_ = std::max(largest_bytes_, bytes);
    most_in_group_ = std::clamp<size_t>(kGroupBytes / largest_bytes_, 1, kMostInGroup);
    // What the board will be fed is what the target was.
    const bool has_own = turn.other_inputs && &other_side_ == &target_;
    if (gt_)
      if (auto added =
              gt_->add_inputs(sample, has_own ? *turn.other_inputs : turn.inputs, samples.files(i));
          !added)
        return added;
    return add_rows(samples.size() > 1 ? std::optional(static_cast<int64_t>(i)) : std::nullopt);
  }

  Result<void> add_rows(std::optional<int64_t> step) {
    return comparison_.add(target_, golden_, step, scores_, context_);
  }

  void doubt(const std::string& sample, const Error& error) {
    comparison_.run.doubts.push_back(
        fmt::format("sample {} was not compared: {}: {}", sample, error.what, error.where));
  }

  static constexpr size_t kMostInGroup = 16, kGroupBytes = size_t{1} << 20;

  const RunOptions& options_;
  RunSide &target_, &golden_, &other_side_;
  input::Samples* other_samples_;
  size_t largest_bytes_ = 1;               // of the tensors of a sample that was compared
  std::atomic<size_t> most_in_group_ = 1;  // as many as are not larger together than kGroupBytes
  size_t compared_ = 0;                    // samples
  Scores& scores_;
  RunContext& context_;
  RunComparison comparison_;
  std::optional<engine::ModelDumper> target_dumper_, golden_dumper_;
  std::optional<DirectoryLock> keep_;
  std::optional<GtFolder> gt_;
};

input::SampleOptions inputs_of(const RunState& state, const RunSide& side) {
  const RunOptions& options = state.options;
  input::SampleOptions inputs = options.inputs;
  const bool is_target = &side == &state.target;
  if (const auto& own = is_target ? options.target.config : options.golden.config; !own.empty())
    inputs.config = own;
  if (!inputs.dump_directory.empty() && state.other_samples_are_wanted)
    inputs.dump_directory += is_target ? "/target" : "/golden";
  return inputs;
}

// True if the models cannot be fed the same tensors, or are not meant to be.
bool need_their_own(const RunState& state, const RunSide& model, const RunSide& other) {
  const RunOptions& options = state.options;
  if (!other.model || !has_data(options.inputs)) return false;
  const auto own = model.model->inputs(), others = other.model->inputs();
  if (own.size() != others.size()) return false;
  if (!options.target.config.empty() || !options.golden.config.empty()) return true;
  return takes_others(own, others);
}

Result<void> open_inputs(RunState& state) {
  const RunOptions& options = state.options;
  for (const auto& [option, config, side] :
       {std::tuple{"--target-config", &options.target.config, &state.target},
        {"--golden-config", &options.golden.config, &state.golden}})
    if (!config->empty() && !side->model)
      return Error{"there is no model to be fed on this side",
                   fmt::format("{} {}: {} is a directory of results", option, *config, side->path),
                   fmt::format("leave out {}", option)};
  RunSide &model = state.model_side(), &other = state.other_side();
  if (!model.model) return {};
  state.other_samples_are_wanted = need_their_own(state, model, other);
  input::SampleOptions inputs = inputs_of(state, model);
  if (!has_data(inputs)) inputs.inputs = inputs_in_gt(model, other);
  const std::vector<engine::Port> ports = model.model->inputs();
  auto samples = input::open_samples(std::move(inputs), ports);
  if (!samples) return samples.error();
  state.samples.emplace(std::move(*samples));
  if (!state.other_samples_are_wanted) return {};
  const std::vector<engine::Port> other_ports = other.model->inputs();
  input::SampleOptions again = inputs_of(state, other);
  again.inputs = renamed(again.inputs, '=', ports, other_ports);
  again.shapes = renamed(again.shapes, ':', ports, other_ports);
  auto others = input::open_samples(std::move(again), other_ports);
  if (!others) return std::move(others.error()).in(other.path);
  if (others->size() != state.samples->size())
    return Error{"the two models do not get the same samples",
                 fmt::format("{} for {}, {} for {}", state.samples->size(), model.path,
                             others->size(), other.path),
                 "name the files of each input: --input NAME=FILE"};
  state.other_samples.emplace(std::move(*others));
  return {};
}

}  // namespace

ModelRun::ModelRun(std::unique_ptr<RunState> state) : state_(std::move(state)) {}
ModelRun::ModelRun(ModelRun&&) noexcept = default;
ModelRun::~ModelRun() = default;

Result<ModelRun> ModelRun::open(RunOptions given) {
  auto state = std::make_unique<RunState>();
  state->options = std::move(given);
  RunOptions& asked = state->options;
  const bool by_name = asked.layers != "outputs" && asked.layers != "all";
  if (!by_name && !asked.ops.empty()) asked.layers = "all";
  if (by_name) asked.ops.push_back(asked.layers);
  const RunOptions& options = asked;
  auto target = open_run_side(options.target, options.limits);
  if (!target) return target.error();
  auto golden = open_run_side(options.golden, options.limits);
  if (!golden) return golden.error();
  state->target = std::move(*target);
  state->golden = std::move(*golden);
  if (!options.labels.empty()) {
    auto labels = input::read_labels(options.labels);
    if (!labels) return labels.error();
    state->scores = Scores(std::move(*labels));
  }
  if (auto opened = open_inputs(*state); !opened) return opened.error();
  return ModelRun(std::move(state));
}

const input::Samples* ModelRun::samples() const {
  return state_->samples ? &*state_->samples : nullptr;
}

const input::Samples* ModelRun::other_samples() const {
  return state_->other_samples ? &*state_->other_samples : nullptr;
}

Ran ModelRun::run(RunContext& context) {
  SampleRunner runner(*state_, context);
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
