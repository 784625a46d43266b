// SPDX-License-Identifier: Apache-2.0
#include "replay/eval.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>

#include "base/crc32.h"
#include "base/directory_lock.h"
#include "base/file_sink.h"
#include "base/journal.h"
#include "base/json_values.h"
#include "base/threads.h"
#include "replay/eval_outcome.h"
#include "replay/eval_side.h"
#include "replay/feed.h"
#include "replay/inner_progress.h"

namespace plumb::replay {

namespace fs = std::filesystem;

struct EvalState {
  EvalOptions options;
  std::vector<EvalSide> sides;
  // Samples as the models take them: most share the first; results take none.
  std::vector<input::Samples> feeds;
  std::vector<std::optional<size_t>> feed_of;  // by side
  std::vector<std::string> names, files;       // by sample
  std::vector<std::optional<int64_t>> labels;  // likewise
  int64_t words = 0;                           // see input::PathLabels
  std::vector<std::string> warnings;
  // What is known.
  EvalFacts facts;  // no outputs: nothing yet
  std::vector<Outcome> outcomes;
  int64_t resumed = 0;
  std::optional<DirectoryLock> lock;
  std::optional<Journal> journal;
};

namespace {

constexpr const char* kEvalSchema = "plumb.eval/1";
constexpr const char* kJournal = "eval.journal";

std::optional<double> if_known(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

Result<void> open_feeds(EvalState& state) {
  const bool any_model = std::any_of(state.sides.begin(), state.sides.end(),
                                     [](const EvalSide& side) { return side.model() != nullptr; });
  if (any_model && state.options.inputs.inputs.empty())
    return Error{"what should the models be fed?", "no --data",
                 "--data DIR, a directory of pictures or tensors"};
  for (const EvalSide& side : state.sides) {
    state.feed_of.emplace_back();
    if (side.model() == nullptr) continue;
    const std::vector<engine::Port> ports = side.model()->inputs();
    for (size_t i = 0; i < state.feeds.size() && !state.feed_of.back(); ++i)
      if (!takes_others(ports, state.feeds[i].ports())) state.feed_of.back() = i;
    if (state.feed_of.back()) continue;
    input::SampleOptions options = state.options.inputs;
    if (!state.feeds.empty()) {
      options.inputs = renamed(options.inputs, '=', state.feeds[0].ports(), ports);
      options.shapes = renamed(options.shapes, ':', state.feeds[0].ports(), ports);
    }
    auto samples = input::open_samples(std::move(options), ports);
    if (!samples) return std::move(samples.error()).in(side.path());
    if (!state.feeds.empty() && samples->size() != state.feeds[0].size())
      return Error{"the models do not get the same samples",
                   fmt::format("{} for {}, {} for the others", samples->size(), side.path(),
                               state.feeds[0].size()),
                   "name the files of each input: --data NAME=FILE"};
    state.feed_of.back() = state.feeds.size();
    state.feeds.push_back(std::move(*samples));
  }
  return {};
}

Result<void> list_samples(EvalState& state) {
  if (state.feeds.empty()) {
    if (!state.options.inputs.inputs.empty())
      return Error{"there is no model to be fed", "--data " + state.options.inputs.inputs[0],
                   "leave it out: samples are the folders of the results"};
    state.names = state.sides[state.options.golden].samples();
    state.files = state.names;
  } else {
    for (size_t i = 0; i < state.feeds[0].size(); ++i) {
      state.names.push_back(state.feeds[0].name(i));
      const std::vector<std::string> files = state.feeds[0].files(i);
      state.files.push_back(files.empty() ? state.names.back() : files[0]);
    }
  }
  return {};
}

Result<void> label_samples(EvalState& state) {
  state.labels.resize(state.names.size());
  if (state.options.labels.empty()) return {};
  auto found = input::labels_of(state.files, state.options.labels, state.options.classes);
  if (!found) return found.error();
  state.labels = std::move(found->labels);
  state.words = found->words;
  if (found->missing.empty()) return {};
  std::string warning =
      fmt::format("sample '{}' has no label", state.names[found->missing.front()]);
  if (const size_t others = found->missing.size() - 1; others > 0)
    warning += fmt::format(", nor have {} others; they count only for the agreement", others);
  state.warnings.push_back(std::move(warning));
  return {};
}

void limit_samples(EvalState& state) {
  const auto most = static_cast<size_t>(state.options.most_samples);
  if (most == 0 || most >= state.names.size()) return;
  state.names.resize(most);
  state.files.resize(most);
  state.labels.resize(most);
}

// Of all that decides what a sample comes out as.
uint32_t print_of_samples(const EvalState& state) {
  uint32_t crc = 0;
  const auto add = [&](const std::string& text) {
    crc = crc32(crc, as_bytes(text));
    crc = crc32(crc, as_bytes(std::string_view("\0", 1)));
  };
  for (size_t i = 0; i < state.names.size(); ++i) {
    std::error_code ignored;
    const fs::path file = input::source_from_text(state.files[i]).path;
    add(state.names[i]);
    add(state.files[i]);
    if (!state.feeds.empty() && fs::is_regular_file(file, ignored))
      add(fmt::format("{} {}", fs::file_size(file, ignored),
                      fs::last_write_time(file, ignored).time_since_epoch().count()));
    add(state.labels[i] ? std::to_string(*state.labels[i]) : "");
  }
  return crc;
}

uint32_t print_of_options(const input::SampleOptions& of) {
  uint32_t crc = 0;
  const auto add = [&](std::string_view text) {
    crc = crc32(crc, as_bytes(text));
    crc = crc32(crc, as_bytes(std::string_view("\0", 1)));
  };
  for (const auto* words : {&of.inputs, &of.shapes})
    for (const std::string& word : *words) add(word);
  for (const std::string* text :
       {&of.seed, &of.config, &of.color, &of.source_color, &of.source_size, &of.color_standard,
        &of.resize, &of.crop, &of.interpolation, &of.mean, &of.std, &of.scale, &of.layout})
    add(*text);
  add(of.align_corners ? "1" : "0");
  add(of.cast ? "1" : "0");
  if (!of.config.empty())
    if (const auto file = MappedFile::open(of.config)) add(as_text(file->bytes()));
  return crc;
}

// What a journal is of. One with another first line is of another evaluation.
Result<Json> identity_of(const EvalState& state) {
  Json identity{{"schema", kEvalSchema}, {"samples", state.names.size()}};
  for (const EvalSide& side : state.sides) {
    auto print = side.print();
    if (!print) return print.error();
    identity["models"].push_back(*print);
  }
  identity["golden"] = state.options.golden;
  identity["scores"] = state.options.scores;
  identity["data and labels"] = fmt::format("{:08x}", print_of_samples(state));
  identity["input options"] = fmt::format("{:08x}", print_of_options(state.options.inputs));
  return identity;
}

Result<void> check_identity(const EvalState& state, const Json& own, const fs::path& path) {
  const Json there = parse_json(state.journal->lines()[0]);
  if (there == own) return {};
  std::string other = "everything";
  for (const auto& [key, value] : own.items())
    if (!there.is_object() || !there.contains(key) || there[key] != value) {
      other = key;
      break;
    }
  return Error{"the journal is of another evaluation",
               fmt::format("{}: what differs first is '{}'", path.string(), other),
               "--fresh starts anew; or name another directory after -o"};
}

// Takes what an earlier run has found out.
Result<void> resume(EvalState& state) {
  const EvalOptions& options = state.options;
  if (options.output.empty()) return {};
  std::error_code ignored;
  for (const EvalSide& side : state.sides) {
    const fs::path inside = fs::weakly_canonical(options.output, ignored)
                                .lexically_relative(fs::weakly_canonical(side.path(), ignored));
    if (side.model() == nullptr && !inside.empty() && *inside.begin() != "..")
      return Error{"the results that are evaluated would be written into", "-o " + options.output,
                   "name a directory outside of " + side.path()};
  }
  auto lock = DirectoryLock::make(options.output);
  if (!lock) return lock.error();
  state.lock.emplace(std::move(*lock));
  const fs::path path = fs::path(options.output) / kJournal;
  if (options.fresh) fs::remove(path, ignored);
  auto journal = Journal::open(path);
  if (!journal) return journal.error();
  state.journal.emplace(std::move(*journal));
  auto identity = identity_of(state);
  if (!identity) return identity.error();
  const std::vector<std::string>& lines = state.journal->lines();
  if (lines.empty()) return state.journal->add(line_of_json(*identity));
  if (auto same = check_identity(state, *identity, path); !same) return same;
  if (lines.size() < 2) return {};
  auto facts = facts_from(lines[1], state.sides.size());
  if (!facts)
    return Error{"the journal is damaged", path.string() + ": line 2", "--fresh starts anew"};
  state.facts = std::move(*facts);
  std::set<size_t> seen;
  for (size_t i = 2; i < lines.size(); ++i) {
    auto outcome = outcome_from(lines[i], state.names.size(), state.sides.size());
    if (outcome && seen.insert(outcome->sample).second)
      state.outcomes.push_back(std::move(*outcome));
  }
  state.resumed = std::ssize(state.outcomes);
  return {};
}

// A sample on its way: loaded, run, recorded.
struct EvalTurn {
  size_t sample = 0;
  std::vector<engine::Inputs> inputs;             // by feed
  std::vector<std::optional<GivenScores>> given;  // by side
  std::optional<Error> problem;
  bool is_of_models = false;  // the problem: the sample could be loaded
};
using EvalTurnPtr = std::shared_ptr<EvalTurn>;

// In order. While one is recorded the next is run and the one after that is loaded.
class Evaluator {
 public:
  Evaluator(EvalState& state, RunContext& context, EvalResult& result)
      : state_(state), context_(context), result_(result) {
    done_.resize(state.names.size());
    for (const Outcome& outcome : state.outcomes) done_[outcome.sample] = true;
  }

  Result<void> run() {
    const InnerProgress progress(context_);
    size_t next = 0;
    const auto load_next = [&](tbb::flow_control& flow) {
      while (next < done_.size() && done_[next]) ++next;
      if (next < done_.size() && !context_.cancelled && !fatal_) return load(next++);
      flow.stop();
      return EvalTurnPtr();
    };
    const auto run_turn = [&](const EvalTurnPtr& turn) {
      run_models(*turn);
      return turn;
    };
    const auto record_turn = [&](const EvalTurnPtr& turn) {
      if (context_.cancelled || fatal_) return;
      if (auto recorded = record(*turn); !recorded) {
        problem_ = std::move(recorded.error());
        fatal_ = true;
      }
      progress.advance();
    };
    on_threads_of(context_, [&] {
      constexpr auto kInOrder = tbb::filter_mode::serial_in_order;
      tbb::parallel_pipeline(3, tbb::make_filter<void, EvalTurnPtr>(kInOrder, load_next) &
                                    tbb::make_filter<EvalTurnPtr, EvalTurnPtr>(kInOrder, run_turn) &
                                    tbb::make_filter<EvalTurnPtr, void>(kInOrder, record_turn));
    });
    if (state_.journal)
      if (auto synced = state_.journal->sync(); !synced && !problem_) problem_ = synced.error();
    return ended();
  }

 private:
  Result<void> ended() {
    std::sort(state_.outcomes.begin(), state_.outcomes.end(),
              [](const Outcome& a, const Outcome& b) { return a.sample < b.sample; });
    if (problem_) return std::move(*problem_);
    if (context_.cancelled)
      return Error{"interrupted",
                   fmt::format("{} of {} samples were evaluated", state_.outcomes.size(),
                               state_.names.size()),
                   state_.journal ? "run the command again: it goes on where it stopped"
                                  : "with -o DIR the command goes on where it stopped"};
    if (state_.outcomes.empty() && !result_.failures.empty()) return result_.failures[0].error;
    return {};
  }

  EvalTurnPtr load(size_t sample) {
    auto turn = std::make_shared<EvalTurn>();
    turn->sample = sample;
    for (input::Samples& feed : state_.feeds) {
      auto loaded = feed.load(sample);
      if (!loaded) {
        turn->problem = std::move(loaded.error());
        break;
      }
      turn->inputs.push_back(std::move(loaded->inputs));
    }
    return turn;
  }

  void run_models(EvalTurn& turn) {
    const size_t count = state_.sides.size();
    turn.given.resize(count);
    if (turn.problem || fatal_) return;
    std::vector<std::optional<Error>> problems(count);
    const auto take = [&](size_t i, Result<GivenScores> given) {
      if (given)
        turn.given[i] = std::move(*given);
      else
        problems[i] = std::move(given.error());
    };
    tbb::parallel_for(size_t{0}, count, [&](size_t i) {
      EvalSide& side = state_.sides[i];
      if (side.model() == nullptr) return;
      const size_t feed = *state_.feed_of[i];
      auto inputs = inputs_for(*side.model(), state_.feeds[feed].ports(), turn.inputs[feed]);
      take(i, inputs ? side.run(*inputs, context_) : inputs.error());
    });
    // Files without a header are read as what a model gave, golden if it is one.
    std::vector<engine::DumpedTensor> like;
    for (size_t i = 0; i < count; ++i)
      if (turn.given[i] && (like.empty() || i == state_.options.golden))
        like = turn.given[i]->tensors;
    for (size_t i = 0; i < count; ++i)
      if (state_.sides[i].model() == nullptr)
        take(i, state_.sides[i].read(state_.names[turn.sample], turn.sample,
                                     i == state_.options.golden, like));
    for (std::optional<Error>& problem : problems)
      if (problem && !turn.problem) turn.problem = std::move(problem);
    turn.is_of_models = turn.problem.has_value();
  }

  // One that cannot be evaluated costs itself; a model that runs none of the first ones will not
  // run the others.
  Result<void> record(EvalTurn& turn) {
    constexpr size_t kHopeless = 3;
    if (turn.problem) {
      refused_ += turn.is_of_models;
      if (refused_ == kHopeless && state_.outcomes.empty()) return std::move(*turn.problem);
      result_.failures.push_back({turn.sample, std::move(*turn.problem)});
      return {};
    }
    if (state_.facts.outputs.empty())
      if (auto settled = settle_classes(turn); !settled) return settled;
    const ClassScores& golden = turn.given[state_.options.golden]->scores;
    Outcome outcome{turn.sample, {}};
    for (size_t i = 0; i < turn.given.size(); ++i) {
      const ClassScores& scores = turn.given[i]->scores;
      if (std::ssize(scores) != state_.facts.classes) return other_classes(i, scores.size());
      outcome.models.push_back(
          outcome_of(scores, golden, state_.labels[turn.sample], i == state_.options.golden));
    }
    if (state_.journal)
      if (auto added = state_.journal->add(line_of(outcome)); !added) return added;
    state_.outcomes.push_back(std::move(outcome));
    return {};
  }

  static ModelOutcome outcome_of(const ClassScores& scores, const ClassScores& golden,
                                 const std::optional<int64_t>& label, bool is_golden) {
    ModelOutcome made;
    if (has_nan(scores)) {
      if (label) made.rank = std::ssize(scores);
      return made;
    }
    made.first = first_class(scores);
    made.is_tied = is_tied(scores);
    if (label) made.rank = rank_of(*label, scores);
    if (is_golden || has_nan(golden)) return made;
    made.pearson = if_known(pearson_of(scores, golden));
    made.sqnr_db = if_known(sqnr_db_of(scores, golden));
    return made;
  }

  // The first sample tells how many classes there are; the labels must be of them.
  Result<void> settle_classes(const EvalTurn& turn) {
    state_.facts.classes = std::ssize(turn.given[state_.options.golden]->scores);
    if (state_.words > 0 && state_.words != state_.facts.classes)
      return Error{"the labels do not fit the model",
                   fmt::format("--labels {}: {} different words, the model has {} classes",
                               state_.options.labels, state_.words, state_.facts.classes),
                   "name the classes in their order: --classes FILE"};
    for (size_t i = 0; i < state_.labels.size(); ++i)
      if (state_.labels[i] && (*state_.labels[i] < 0 || *state_.labels[i] >= state_.facts.classes))
        return Error{"the labels do not fit the model",
                     fmt::format("'{}' is of class {}, the model has classes 0 to {}",
                                 state_.names[i], *state_.labels[i], state_.facts.classes - 1),
                     "classes are counted from 0; check the file after --labels"};
    for (size_t i = 0; i < turn.given.size(); ++i)
      if (std::ssize(turn.given[i]->scores) != state_.facts.classes)
        return other_classes(i, turn.given[i]->scores.size());
    for (const auto& given : turn.given) state_.facts.outputs.push_back(given->output);
    if (!state_.journal) return {};
    return state_.journal->add(line_of(state_.facts));
  }

  Error other_classes(size_t side, size_t classes) const {
    return {"the models do not tell the same classes",
            fmt::format("{} gives {} scores, golden {}", state_.sides[side].path(), classes,
                        state_.facts.classes),
            "name the output that tells the class: --scores NAME"};
  }

  EvalState& state_;
  RunContext& context_;
  EvalResult& result_;
  std::vector<bool> done_;  // by sample
  size_t refused_ = 0;      // samples, by a model
  std::optional<Error> problem_;
  std::atomic<bool> fatal_ = false;
};

constexpr int64_t kLeastSamples = 10'000;

void warn_about_size(EvalResult& result) {
  if (result.models.size() < 2 || result.evaluated >= kLeastSamples) return;
  result.warnings.push_back(
      fmt::format("{} samples are fewer than the {} to 100000 that the limits of 1 % and 3 % are "
                  "meant for: believe the interval, not the difference",
                  result.evaluated, kLeastSamples));
}

Result<void> write_results(const EvalState& state, const EvalResult& result) {
  if (state.options.output.empty()) return {};
  const fs::path directory = state.options.output;
  if (auto written =
          write_file(directory / "samples.csv", samples_csv(state.outcomes, state.labels, result));
      !written)
    return written;
  return write_file(directory / "eval.json", to_json(result, state.options));
}

}  // namespace

Evaluation::Evaluation(std::unique_ptr<EvalState> state) : state_(std::move(state)) {}
Evaluation::Evaluation(Evaluation&&) noexcept = default;
Evaluation::~Evaluation() = default;

Result<Evaluation> Evaluation::open(EvalOptions options) {
  auto state = std::make_unique<EvalState>();
  state->options = std::move(options);
  for (const RunSideOptions& each : state->options.models) {
    auto side = EvalSide::open(each, state->options);
    if (!side) return side.error();
    state->sides.push_back(std::move(*side));
  }
  for (const auto& step : {open_feeds, list_samples, label_samples})
    if (auto done = step(*state); !done) return done.error();
  limit_samples(*state);
  if (auto resumed = resume(*state); !resumed) return resumed.error();
  return Evaluation(std::move(state));
}

const input::Samples* Evaluation::samples() const {
  return state_->feeds.empty() ? nullptr : &state_->feeds[0];
}

int64_t Evaluation::remaining() const {
  return std::ssize(state_->names) - std::ssize(state_->outcomes);
}

const std::vector<std::string>& Evaluation::warnings() const { return state_->warnings; }

Evaluated Evaluation::run(RunContext& context) {
  Evaluated made;
  EvalResult& result = made.result;
  result.names = state_->names;
  result.files = state_->files;
  result.resumed = state_->resumed;
  result.warnings = state_->warnings;
  auto done = Evaluator(*state_, context, result).run();
  result.classes = state_->facts.classes;
  for (size_t i = 0; i < state_->sides.size(); ++i) {
    EvalModel& model = result.models.emplace_back();
    model.path = state_->sides[i].path();
    model.engine = state_->sides[i].engine();
    if (i < state_->facts.outputs.size()) model.output = state_->facts.outputs[i];
    model.is_golden = i == state_->options.golden;
  }
  summarize(state_->outcomes, state_->labels, state_->options, result);
  warn_about_size(result);
  if (done) done = write_results(*state_, result);
  if (!done) made.problem = std::move(done.error());
  return made;
}

}  // namespace plumb::replay
