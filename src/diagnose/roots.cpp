// SPDX-License-Identifier: Apache-2.0
#include "diagnose/roots.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace plumb::diagnose {
namespace {

// Relative error of one rounding, root of the mean square, of values that are spread evenly between
// two powers of two: 2^-bits / sqrt(12) times 1.3 or so. Operators round more than once.
double noise_of(std::string_view dtype) {
  if (dtype == "float16") return 3e-4;
  if (dtype == "bfloat16") return 2.4e-3;
  if (dtype == "float64") return 1e-12;
  if (dtype.starts_with("int8") || dtype.starts_with("uint8")) return 5e-3;
  if (dtype.starts_with("float8") || dtype.starts_with("hifloat8")) return 3e-2;
  return 2e-7;
}

// No arithmetic that is normal somewhere is worse for one operator.
constexpr double kMostNoise = 0.05;

class Finder {
 public:
  explicit Finder(const Net& net) : net_(net) {}

  Roots find() {
    found_.noise = usual_noise();
    // Nothing tells what rounds its operands to 16 bits, so anything may.
    if (!net_.has_edges) found_.noise = std::max(found_.noise, noise_of("float16"));
    for (int kind = 0; kind < kKinds; ++kind)
      usual_[kind] = std::max(found_.noise, usual_own(found_.noise, kind));
    usual_[kProduct] = std::max(usual_[kProduct], usual_product());
    found_.noise = usual_[kOther];
    add_candidates();
    if (const auto grown = growth()) {  // that is the noise of this network: who is beyond it?
      std::fill(std::begin(usual_), std::end(usual_), *grown);
      found_.noise = *grown;
      add_candidates();
    }
    if (found_.roots.empty()) return gradual();
    rank();
    for (size_t i = 0; i < found_.roots.size(); ++i) follow(i);
    return std::move(found_);
  }

 private:
  const Node& node(int64_t at) const { return net_.nodes[static_cast<size_t>(at)]; }

  // What most outputs of the target are stored as tells how exact the network can be. What is
  // stored in 32 bits may be computed from 16, which the quietest half of the operators shows.
  double usual_noise() const {
    double noise = noise_of("float32");
    int64_t most = 0;
    for (const auto& [dtype, count] : net_.output_types)
      if (count > most) most = count, noise = noise_of(dtype);
    return noise;
  }

  void add_candidates() {
    found_.roots.clear();
    for (const int64_t at : net_.order) add_candidate(at);
  }

  // A step can be judged if there is an output to see and something finite to hold it against. What
  // an operator was measured to add tells more than a step: gains are anything.
  void add_candidate(int64_t at) {
    const Node& each = node(at);
    if (!each.arguments.empty() && shows_arguments(each)) {
      constexpr double kAnything = std::numeric_limits<double>::infinity();
      found_.roots.push_back({at, 0, kAnything, found_.noise, kAnything, false, {}});
      return;
    }
    const bool after_unseen = each.unseen > 0 && std::isnan(each.own);
    if (!is_seen(each) || !each.out.is_known() || (!each.knows_inputs && !after_unseen)) return;
    const double in = each.in.is_known() && !each.is_source ? each.in.relative : 0;
    if (std::isinf(in)) return;
    const bool is_measured = !std::isnan(each.own) && !std::isinf(each.out.relative);
    const double unseen = after_unseen ? static_cast<double>(each.unseen) : 0;
    // What was not compared may be of any kind.
    const double usual = after_unseen ? *std::max_element(std::begin(usual_), std::end(usual_))
                                      : usual_[kind_of(each)];
    const double noise =
        std::max({usual, each.grain, reads_quantized_weights(each) ? kWeights : 0}) *
        std::sqrt(1 + unseen);
    double ratio = is_measured ? each.own / std::hypot(noise, each.own_doubt)
                               : each.out.relative / std::hypot(in, noise);
    const double hidden = each.hidden / usual_[kind_of(each)];
    constexpr double kHandedOn =
        0.05;  // of its error: an activation's output is on its input's grid
    const bool is_hidden =
        hidden >= kOwnStep && !(each.own <= kHandedOn * each.out.relative) && comes_to_light(each);
    if (is_hidden) ratio = std::max(ratio, hidden);
    const bool has_tail = each.grain == 0 || each.stands_for;
    if (is_measured && !is_hidden && has_tail && each.own < kTailStep * tail_[kind_of(each)])
      return;
    if (!(ratio >= (is_measured ? kOwnStep : kStep)) || (each.is_source && !each.is_odd)) return;
    // What a conversion left behind and nobody reads does no harm.
    if (each.is_constant && net_.has_edges && each.consumers.empty()) return;
    // Of a step from good inputs all is its own, and has to be as large as what is measured.
    if (!is_measured && in < noise && each.out.relative < kOwnStep * noise) return;
    found_.roots.push_back(
        {at, in, each.out.relative, noise, ratio, false, {}, is_hidden, after_unseen});
  }

  // A product with weights on 8 bits adds so much.
  static constexpr double kWeights = 5e-3;
  bool reads_quantized_weights(const Node& each) const {
    return is_product(each.type) &&
           std::any_of(each.producers.begin(), each.producers.end(), [&](int64_t at) {
             return only_quantizes(node(at).type) && node(at).producers.empty();
           });
  }

  // Whether somebody behind it, who adds little, shows many times its error: what one large channel
  // hides. Activations and the like may stand between. What adds nobody knows how much may show as
  // much as is hidden. Where nothing tells who reads what, it has to do that it may be so.
  bool comes_to_light(const Node& each) const {
    if (!net_.has_edges) return true;
    constexpr double kManyTimes = 2, kLittle = 0.5, kAtMost = 1.5;
    std::set<int64_t> at(each.consumers.begin(), each.consumers.end());
    for (int hops = 0; hops < kMostBetween && !at.empty(); ++hops) {
      std::set<int64_t> next;
      for (const int64_t place : at) {
        const Node& reader = node(place);
        const double out = reader.out.relative;
        if (!std::isfinite(out)) continue;
        const bool adds_little = reader.own <= kLittle * out;
        if (out >= kManyTimes * each.out.relative) {
          if (adds_little || (std::isnan(reader.own) && out <= kAtMost * each.hidden)) return true;
        } else if (adds_little) {
          next.insert(reader.consumers.begin(), reader.consumers.end());
        }
      }
      at = std::move(next);
    }
    return false;
  }
  static constexpr int kMostBetween = 4;

  // Whether another argument made a difference; within limits its output may be all the same, and
  // what comes of it is not.
  bool shows_arguments(const Node& each) const {
    if (each.is_odd || each.outputs.empty()) return true;
    const double in = each.in.is_known() ? each.in.relative : 0;
    const double rounding = noise_of(net_.run.rows[each.outputs.front()].target->dtype);
    return each.out.relative >= kStep * std::hypot(in, rounding);
  }

  static bool is_seen(const Node& each) { return !each.outputs.empty() || each.stands_for; }

  // Operators whose usual errors differ: products round operands or weights besides.
  enum { kOther, kProduct, kQuantizer, kKinds };
  static int kind_of(const Node& each) {
    return only_quantizes(each.type) ? kQuantizer : is_product(each.type) ? kProduct : kOther;
  }

  // The usual own error of an operator, where enough are known to tell: measured; or plain steps
  // from inputs that are as good as the type allows; or no error to speak of at all. What only
  // moves values adds nothing and tells nothing. Of a kind that is rare all operators have to tell.
  double usual_own(double noise, int kind) {
    std::vector<double> own, all;
    int64_t measured = 0, noisy = 0;
    for (const Node& each : net_.nodes) {
      if (each.is_source || !is_seen(each) || std::isinf(each.out.relative)) continue;
      const double in = each.in.is_known() ? each.in.relative : 0;
      const bool is_step = std::isnan(each.own) && each.knows_inputs && each.unseen == 0 &&
                           in <= kStep * noise &&
                           each.out.relative >= kStep * std::hypot(in, noise);
      if (!(each.own > 0) && !is_step && !(each.out.relative <= kStep * noise)) continue;
      measured += each.own > 0;
      noisy += each.own > 0 || is_step;
      all.push_back(each.own > 0 ? each.own : each.out.relative);
      if (kind_of(each) == kind) own.push_back(all.back());
    }
    constexpr int64_t kEnough = 4, kFewest = 3;
    has_measured_ = measured >= kEnough;
    if (std::ssize(own) < kFewest) own = std::move(all);
    if (std::ssize(own) < kFewest || noisy < kFewest) return 0;
    const auto middle = own.begin() + (std::ssize(own) - 1) / 2;
    std::nth_element(own.begin(), middle, own.end());
    const double usual = std::min(*middle, kMostNoise);
    tail_[kind] = tail_of(own, usual);
    return usual;
  }

  // What the worst tenth has at least, where that is many operators and they round to 16 bits or
  // fewer.
  static double tail_of(std::vector<double>& own, double usual) {
    constexpr int64_t kMany = 24;
    constexpr double kSixteenBits = 1e-4;
    if (std::ssize(own) < kMany || usual < kSixteenBits) return 0;
    const auto tenth = own.end() - std::ssize(own) / 10 - 1;
    std::nth_element(own.begin(), tenth, own.end());
    return *tenth;
  }

  // Products may round their operands to 11 bits (TF32) while everything else is exact: all of them
  // then add about as much, and none adds far less. Products that were not compared show behind.
  double usual_product() const {
    constexpr double kLeast = 1e-4, kMost = 1.2e-3, kExact = 3e-5;
    std::vector<double> alike;
    int64_t exact = 0;
    for (const Node& each : net_.nodes) {
      if (!is_product(each.type) && each.unseen == 0) continue;
      if (each.outputs.empty() || !each.out.is_known()) continue;
      const double in = each.in.is_known() ? each.in.relative : 0;
      constexpr double kVisible = 1.15;
      const double own = !std::isnan(each.own) ? each.own
                         : each.out.relative > kVisible * in
                             ? std::sqrt((each.out.relative * each.out.relative - in * in) /
                                         (1 + static_cast<double>(each.unseen)))
                             : kUnknown;
      if (own >= kLeast && own <= kMost) alike.push_back(own);
      exact += each.out.relative < kExact || own < kExact;
    }
    constexpr int64_t kEnough = 2;
    if (std::ssize(alike) < kEnough || std::ssize(alike) <= exact) return 0;
    const auto middle = alike.begin() + std::ssize(alike) / 2;
    std::nth_element(alike.begin(), middle, alike.end());
    return *middle;
  }

  // Behind a fault errors stay as they are, but for gains near one. Where every operator adds as
  // much as the first did, they grow by the root of the sum of squares: that shows in the operators
  // whose inputs are not much worse than that. Which of the two fits the steps better?
  std::optional<double> growth() const {
    if (found_.roots.empty() || has_measured_) return {};
    const Root& biggest =
        *std::max_element(found_.roots.begin(), found_.roots.end(),
                          [](const Root& a, const Root& b) { return a.ratio < b.ratio; });
    if (!(biggest.out <= kMostNoise) || node(biggest.node).is_source) return {};
    const std::vector<bool> behind = net_.downstream_of(biggest.node);
    if (are_others_exact(biggest, behind)) return {};
    double misfit_constant = 0, misfit_growing = 0;
    int64_t seen = 0;
    for (const int64_t at : net_.order) {
      const Node& each = node(at);
      if (at == biggest.node || !behind[static_cast<size_t>(at)] || each.outputs.empty()) continue;
      const double in = each.in.relative, out = each.out.relative;
      if (!(in > 0) || !(out > 0) || std::isinf(out) || in > 3 * biggest.out || keeps_error(each))
        continue;
      // No operator counts for more than a few: gains are anything.
      constexpr double kMostMisfit = 0.4;
      misfit_constant += std::min(kMostMisfit, std::abs(std::log(out / in)));
      misfit_growing +=
          std::min(kMostMisfit, std::abs(std::log(out / std::hypot(in, biggest.out))));
      ++seen;
    }
    constexpr int64_t kEnough = 4;  // operators behind it
    if (seen < kEnough || misfit_growing >= 0.8 * misfit_constant) return {};
    return biggest.out;
  }

  // Who does not read of it computes far more exactly: then not everybody adds as much.
  bool are_others_exact(const Root& biggest, const std::vector<bool>& behind) const {
    constexpr double kFarMore = 0.05;
    constexpr int64_t kEnough = 4;
    int64_t exact = 0;
    for (const int64_t at : net_.order) {
      const Node& each = node(at);
      if (behind[static_cast<size_t>(at)] || each.is_source || each.outputs.empty()) continue;
      if (only_moves_values(each.type) || !each.out.is_known()) continue;
      if (each.out.relative > kFarMore * biggest.out) return false;
      ++exact;
    }
    return exact >= kEnough;
  }

  static bool keeps_error(const Node& each) {
    return each.in.is_known() &&
           std::abs(each.out.relative - each.in.relative) <= 1e-3 * each.in.relative;
  }

  // Nobody made a step of its own: who added most.
  Roots gradual() {
    std::vector<std::pair<double, int64_t>> own;
    int64_t seen = 0;
    for (const int64_t at : net_.order) {
      const Node& each = node(at);
      if (each.outputs.empty() || !each.out.is_known() || std::isinf(each.out.relative)) continue;
      const double in = each.in.is_known() && !each.is_source ? each.in.relative : 0;
      seen += each.knows_inputs && !each.is_source;
      if (found_.first == 0) found_.first = each.out.relative;
      if (each.is_output || each.consumers.empty())
        found_.last = std::max(found_.last, each.out.relative);
      if (!std::isnan(each.own))
        own.emplace_back(each.own * each.own, at);
      else if (each.out.relative > in)
        own.emplace_back(each.out.relative * each.out.relative - in * in, at);
    }
    std::sort(own.begin(), own.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr size_t kMost = 5;
    for (size_t i = 0; i < std::min(kMost, own.size()); ++i)
      found_.contributors.push_back(own[i].second);
    // Of an output alone nobody can tell how its error came about.
    constexpr int64_t kFewest = 3;
    found_.is_accumulated = seen >= kFewest;
    return std::move(found_);
  }

  // Operators whose error is odd behind a root inherit it. A root behind a larger one may only make
  // that error more visible: a difference of large numbers does.
  void follow(size_t place) {
    Root& root = found_.roots[place];
    const std::vector<bool> behind = net_.downstream_of(root.node);
    for (const int64_t at : net_.order) {
      if (at == root.node || !behind[static_cast<size_t>(at)]) continue;
      if (node(at).is_odd) root.consequences.push_back(at);
      for (size_t i = place + 1; i < found_.roots.size(); ++i)
        if (found_.roots[i].node == at) found_.roots[i].is_behind = true;
    }
  }

  // Not finite is never noise; then whose step is larger; then who came first.
  void rank() {
    std::stable_sort(found_.roots.begin(), found_.roots.end(), [](const Root& a, const Root& b) {
      if (std::isinf(a.out) != std::isinf(b.out)) return std::isinf(a.out);
      return a.ratio > b.ratio;
    });
    if (found_.roots.size() > kMostRoots) found_.roots.resize(kMostRoots);
  }

  const Net& net_;
  Roots found_;
  double usual_[kKinds] = {};  // own errors, by kind
  double tail_[kKinds] = {};   // ... and of the worst; 0 where that is not known
  bool has_measured_ = false;  // enough operators to know what is normal
};

}  // namespace

Roots find_roots(const Net& net) { return Finder(net).find(); }

}  // namespace plumb::diagnose
