// SPDX-License-Identifier: Apache-2.0
#include "quant/tune.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/crc32.h"
#include "base/file_sink.h"
#include "base/parallel.h"
#include "base/threads.h"
#include "input/labels.h"
#include "quant/trial_journal.h"

namespace plumb::quant {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTargets[] = {"sqnr", "cos", "agree", "drop"};  // by Target::Kind

// Bytes of weights, and of what the layers give, for one sample.
class Costs {
 public:
  Costs(const Lab& lab, const Calibration& calibration) : plan_(lab.plan()) {
    for (const LayerValues& values : lab.values())
      weights_.push_back(static_cast<double>(values.weights.size()));
    for (const Observation& seen : calibration.seen)
      elements_.push_back(seen.samples == 0 ? 0
                                            : static_cast<double>(seen.count) /
                                                  static_cast<double>(seen.samples));
  }

  double of(std::span<const Precision> precisions) const {
    double bytes = 0;
    for (size_t i = 0; i < weights_.size(); ++i)
      bytes += weights_[i] * bits(precisions[i].weights) / 8;
    const auto types = activation_types(plan_, precisions);
    for (size_t i = 0; i < types.size(); ++i) bytes += elements_[i] * bits(types[i]) / 8;
    return bytes;
  }
  double weight_bits(std::span<const Precision> precisions) const {
    double sum = 0, count = 0;
    for (size_t i = 0; i < weights_.size(); ++i) {
      sum += weights_[i] * bits(precisions[i].weights);
      count += weights_[i];
    }
    return count == 0 ? 0 : sum / count;
  }

 private:
  static double bits(const std::optional<DType>& dtype) { return dtype ? bits_of(*dtype) : 32; }

  const Plan& plan_;
  std::vector<double> weights_, elements_;
};

// Where the search begins: layers that the user asked a precision for keep it.
struct Start {
  std::vector<Precision> precisions;
  std::vector<bool> is_asked;
};

Result<Start> start_of(const Lab& lab, const TuneOptions& options) {
  std::vector<LayerRequest> requests = options.quantize.requests;
  const auto with = [&](const Precision& otherwise) {
    return apply_requests(lab.prepared(), lab.plan(), otherwise, requests);
  };
  auto begun = with(options.precisions.front());
  if (!begun) return begun.error();
  // What is the same whatever the others are was asked for.
  const Precision first{DType::kUint8, DType::kInt8}, second{DType::kInt16, DType::kInt16};
  const auto one = with(first), other = with(second);
  Start made{std::move(*begun), {}};
  for (size_t i = 0; i < made.precisions.size(); ++i)
    made.is_asked.push_back((*one)[i] == (*other)[i]);
  return made;
}

class Search {
 public:
  Search(const Lab& lab, const Calibration& calibration, Trials& trials, TrialJournal& journal,
         const TuneOptions& options, Start start, RunContext& context)
      : lab_(lab),
        plan_(lab.plan()),
        calibration_(calibration),
        trials_(trials),
        journal_(journal),
        options_(options),
        context_(context),
        costs_(lab, calibration),
        settings_(options.quantize.settings),
        start_(std::move(start)),
        now_(start_.precisions) {
    base_cost_ = costs_.of(now_);
  }

  Result<Tuned> run() {
    if (auto done = try_methods(); !done) return done.error();
    if (options_.precisions.size() > 1 && !is_reached())
      if (auto done = widen_ends(); !done) return done.error();
    for (size_t wide = 1; wide < options_.precisions.size() && !is_reached(); ++wide)
      if (auto done = widen(options_.precisions[wide - 1], options_.precisions[wide]); !done)
        return done.error();
    if (is_reached())
      if (auto done = narrow(); !done) return done.error();
    made_.best = best_;
    made_.is_reached = is_reached();
    made_.precisions = best_precisions_;
    made_.method = settings_.observer;
    made_.per_channel = settings_.per_channel;
    return std::move(made_);
  }

 private:
  bool is_reached() const { return options_.target.is_met(made_.steps[best_].score); }

  std::string key_of(std::span<const Precision> precisions) const {
    std::string key = way_text();
    for (const Precision& precision : precisions) key += " " + text_of(precision);
    return key;
  }

  Result<Score> score_of(const std::vector<Precision>& precisions) {
    const std::string key = key_of(precisions);
    if (auto known = journal_.find(key)) {
      remembered_ += journal_.was_there(key);
      context_.advance(1);
      return *known;
    }
    const Quantization made =
        quantize(plan_, calibration_.seen, lab_.values(), precisions, settings_);
    auto built = build_quantized(lab_.prepared(), plan_, made, Form::kFakeQuant);
    if (!built) return built.error();
    RunContext quiet;  // progress counts trials
    quiet.jobs = context_.jobs;
    if (context_.cancelled) return Error{"interrupted", "", "run the command again"};
    auto score = trials_.score(built->file, quiet);
    if (!score) return score.error();
    if (auto kept = journal_.add(key, *score); !kept) return kept.error();
    ++measured_;
    context_.advance(1);
    return score;
  }

  // A step of the search; true if it is the best so far.
  Result<bool> step(std::string change, const std::vector<Precision>& precisions) {
    auto score = score_of(precisions);
    if (!score) return score.error();
    Step& made = made_.steps.emplace_back();
    made.change = std::move(change);
    made.score = *score;
    made.cost = costs_.of(precisions) / base_cost_;
    made.weight_bits = costs_.weight_bits(precisions);
    made_.measured = measured_;
    made_.remembered = remembered_;
    const size_t place = made_.steps.size() - 1;
    const bool is_better =
        place == 0 || options_.target.of(*score) > options_.target.of(made_.steps[best_].score);
    if (!is_better) return false;
    made.is_best = true;
    best_ = place;
    best_precisions_ = precisions;
    return true;
  }

  // How ranges are found, and by what weights have their scales.
  std::string way_text() const {
    return fmt::format("{}, weights by {}", text_of(settings_.observer),
                       settings_.per_channel ? "channel" : "tensor");
  }

  Result<void> try_methods() {
    std::vector<Observer> methods = options_.methods;
    if (methods.empty()) methods.push_back(settings_.observer);
    Settings best = settings_;
    const auto try_all = [&](bool per_channel) -> Result<void> {
      for (const Observer& method : methods) {
        if (!made_.steps.empty() && is_reached()) break;
        settings_.observer = method;
        settings_.per_channel = per_channel;
        auto better = step(way_text(), now_);
        if (!better) return better.error();
        if (*better) best = settings_;
      }
      return {};
    };
    const bool first = settings_.per_channel;
    if (auto done = try_all(first); !done) return done;
    if (options_.tries_both)
      if (auto done = try_all(!first); !done) return done;
    settings_ = best;
    return {};
  }

  // What the vendors advise first: leave the layers at both ends of the model out.
  Result<void> widen_ends() {
    std::vector<size_t> layers;
    for (size_t i = 0; i < plan_.layers.size(); ++i)
      if (plan_.layers[i].weight && !plan_.layers[i].is_tail) layers.push_back(i);
    if (layers.empty()) return {};
    std::vector<Precision> tried = now_;
    std::string names;
    for (const size_t i : std::set<size_t>{layers.front(), layers.back()}) {
      if (start_.is_asked[i]) continue;
      tried[i] = options_.precisions.back();
      names += (names.empty() ? "" : ", ") + plan_.layers[i].name;
    }
    if (names.empty() || !is_allowed(tried)) return {};
    auto better = step(fmt::format("{}: {}", text_of(options_.precisions.back()), names), tried);
    if (!better) return better.error();
    return {};
  }

  // Layers in the order of what they lose, alone, for what it costs to widen them.
  Result<std::vector<size_t>> ranking(const Precision& from, const Precision& to) {
    std::vector<size_t> layers;
    for (size_t i = 0; i < plan_.layers.size(); ++i)
      if (!plan_.layers[i].is_tail && !start_.is_asked[i] && now_[i] == from &&
          (from.activations != to.activations || plan_.layers[i].weight))
        layers.push_back(i);
    std::vector<double> gain(plan_.layers.size());
    std::vector<std::optional<Error>> problems(plan_.layers.size());
    std::atomic<size_t> next{0};
    const auto work = [&](size_t) {
      for (size_t k = next++; k < layers.size(); k = next++) {
        const size_t i = layers[k];
        std::vector<Precision> alone(plan_.layers.size(), {std::nullopt, std::nullopt});
        alone[i] = from;
        auto score = score_of(alone);
        if (!score) {
          problems[i] = std::move(score.error());
          return;
        }
        std::vector<Precision> widened = now_;
        widened[i] = to;
        const double more = std::max(costs_.of(widened) - costs_.of(now_), 1.0);
        gain[i] = score->distance() * score->distance() / more;
      }
    };
    on_threads_of(context_, [&] {
      for_each_index(static_cast<size_t>(std::max(options_.engines, 1)), work);
    });
    for (std::optional<Error>& problem : problems)
      if (problem) return std::move(*problem);
    std::stable_sort(layers.begin(), layers.end(),
                     [&](size_t a, size_t b) { return gain[a] > gain[b]; });
    return layers;
  }

  bool is_allowed(const std::vector<Precision>& precisions) const {
    int64_t wider = 0;
    for (size_t i = 0; i < precisions.size(); ++i) wider += precisions[i] != start_.precisions[i];
    if (options_.most_layers && wider > *options_.most_layers) return false;
    return !options_.most_cost || costs_.of(precisions) <= *options_.most_cost * base_cost_;
  }

  // The whole model is measured at each step: the loss does not fall with every layer.
  Result<void> widen(const Precision& from, const Precision& to) {
    auto layers = ranking(from, to);
    if (!layers) return layers.error();
    const size_t most = options_.most_layers
                            ? std::min(layers->size(), static_cast<size_t>(*options_.most_layers))
                            : layers->size();
    const size_t chunk = std::max<size_t>(1, (most + 7) / 8);
    for (size_t first = 0; first < layers->size() && !is_reached(); first += chunk) {
      std::string change;
      for (size_t k = first; k < std::min(first + chunk, layers->size()); ++k) {
        std::vector<Precision> tried = now_;
        tried[(*layers)[k]] = to;
        if (!is_allowed(tried)) continue;
        now_ = std::move(tried);
        change += fmt::format("{}{}", change.empty() ? "" : ", ", plan_.layers[(*layers)[k]].name);
      }
      if (change.empty()) break;
      if (auto done = step(fmt::format("{}: {}", text_of(to), change), now_); !done)
        return done.error();
    }
    return {};
  }

  // Each widened layer back to the narrowest precision with which the target stays reached, the
  // most expensive first.
  Result<void> narrow() {
    std::vector<size_t> wide;
    for (size_t i = 0; i < best_precisions_.size(); ++i)
      if (best_precisions_[i] != start_.precisions[i]) wide.push_back(i);
    std::vector<Precision> own = best_precisions_;
    const auto saved = [&](size_t i) {
      std::vector<Precision> tried = own;
      tried[i] = options_.precisions.front();
      return costs_.of(own) - costs_.of(tried);
    };
    std::stable_sort(wide.begin(), wide.end(),
                     [&](size_t a, size_t b) { return saved(a) > saved(b); });
    for (const size_t layer : wide)
      for (const Precision& narrower : options_.precisions) {
        if (narrower == own[layer]) break;
        std::vector<Precision> tried = own;
        tried[layer] = narrower;
        if (auto done = step(
                fmt::format("back to {}: {}", text_of(narrower), plan_.layers[layer].name), tried);
            !done)
          return done.error();
        if (!options_.target.is_met(made_.steps.back().score)) continue;
        own = tried;
        best_ = made_.steps.size() - 1;
        best_precisions_ = std::move(tried);
        made_.steps.back().is_best = true;
        break;
      }
    return {};
  }

  const Lab& lab_;
  const Plan& plan_;
  const Calibration& calibration_;
  Trials& trials_;
  TrialJournal& journal_;
  const TuneOptions& options_;
  RunContext& context_;
  const Costs costs_;
  Settings settings_;
  const Start start_;
  std::vector<Precision> now_, best_precisions_;
  double base_cost_ = 1;
  size_t best_ = 0;
  std::atomic<int64_t> measured_{0}, remembered_{0};
  Tuned made_;
};

// Empty if no target needs them.
Result<std::vector<std::optional<int64_t>>> labels_of_samples(const input::Samples& data,
                                                              const TuneOptions& options,
                                                              const RunContext& context) {
  if (options.labels.empty()) return std::vector<std::optional<int64_t>>();
  std::vector<std::string> files;
  for (size_t i = 0; i < data.size(); ++i) {
    const std::vector<std::string> own = data.files(i);
    files.push_back(own.empty() ? data.name(i) : own[0]);
  }
  auto found = input::labels_of(files, options.labels, options.classes);
  if (!found) return found.error();
  const auto missing = std::count(found->labels.begin(), found->labels.end(), std::nullopt);
  if (missing > 0)
    context.tell(fmt::format("{} of {} samples have no label: they count for no point of top-1",
                             missing, files.size()));
  return std::move(found->labels);
}

// All that decides a score but the trial itself.
std::string subject_of(const Lab& lab, const input::Samples& calibration,
                       const input::Samples& data, std::span<const std::optional<int64_t>> labels,
                       const TuneOptions& options) {
  std::string names;
  for (const input::Samples* set : {&calibration, &data})
    for (size_t i = 0; i < set->size(); ++i)
      for (const std::string& file : set->files(i)) names += file + "\n";
  for (const auto& label : labels) names += label ? std::to_string(*label) + "\n" : "\n";
  return fmt::format("plumb.tune/2 model {:08x} samples {:08x} settings {:08x}",
                     crc32(0, as_bytes(lab.prepared().file)), crc32(0, as_bytes(names)),
                     crc32(0, as_bytes(expanded_config_json(options.quantize, lab))));
}

}  // namespace

double Target::of(const Score& score) const {
  switch (kind) {
    case Kind::kCosine: return score.cosine();
    case Kind::kAgreement: return score.agreement();
    case Kind::kDrop: return -score.drop();
    case Kind::kSqnr: break;
  }
  return score.sqnr_db();
}

bool Target::is_met(const Score& score) const {
  return of(score) >= (kind == Kind::kDrop ? -limit : limit);
}

Result<Target> target_from_text(const std::string& text) {
  const size_t colon = text.find(':');
  for (size_t i = 0; i < std::size(kTargets); ++i) {
    if (text.substr(0, colon) != kTargets[i] || colon == text.npos) continue;
    Target target{static_cast<Target::Kind>(i), 0};
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + colon + 1, end, target.limit);
    const bool is_share =
        target.kind == Target::Kind::kCosine || target.kind == Target::Kind::kAgreement;
    if (read.ec == std::errc() && read.ptr == end && (!is_share || target.limit <= 1))
      return target;
  }
  return Error{"a target was expected", "--target " + text,
               "for example --target sqnr:30, cos:0.999, agree:0.98 or drop:1"};
}

std::string text_of(const Target& target) {
  return fmt::format("{}:{}", kTargets[static_cast<size_t>(target.kind)], target.limit);
}

Result<Tuned> tune(const Lab& lab, input::Samples& calibration, input::Samples& data,
                   const TuneOptions& options, RunContext& context) {
  auto start = start_of(lab, options);
  if (!start) return start.error();
  auto labels = labels_of_samples(data, options, context);
  if (!labels) return labels.error();
  auto journal =
      TrialJournal::open(options.quantize.directory / "journal.jsonl",
                         subject_of(lab, calibration, data, *labels, options), options.is_fresh);
  if (!journal) return journal.error();
  RunContext quiet;
  quiet.jobs = context.jobs;
  auto calibrated = lab.calibrate(calibration, {true, options.quantize.threads}, quiet);
  if (!calibrated) return calibrated.error();
  auto trials = Trials::open(lab, data, options.quantize.threads, quiet);
  if (!trials) return trials.error();
  if (!labels->empty())
    if (auto fit = (*trials)->set_labels(std::move(*labels)); !fit) return fit.error();
  return Search(lab, *calibrated, **trials, **journal, options, std::move(*start), context).run();
}

}  // namespace plumb::quant
