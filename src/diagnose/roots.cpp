// SPDX-License-Identifier: Apache-2.0
#include "diagnose/roots.h"

#include <algorithm>
#include <map>

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
    is_measured_ = find_usual_own();
    for (const int64_t at : net_.order) is_measured_ ? add_measured(at) : add_candidate(at);
    if (is_measured_ && !found_.roots.empty()) {
      rank();
      for (size_t i = 0; i < found_.roots.size(); ++i) follow(i);
      return std::move(found_);
    }
    if (explains_growth()) return std::move(found_);
    rank();
    for (size_t i = 0; i < found_.roots.size(); ++i) follow(i);
    return std::move(found_);
  }

 private:
  const Node& node(int64_t at) const { return net_.nodes[static_cast<size_t>(at)]; }

  // What most outputs of the target are stored as tells how exact the network can be. What is
  // stored in 32 bits may be computed from 16, which the quietest half of the operators shows.
  double usual_noise() const {
    std::map<std::string_view, int64_t> counts;
    for (const Node& each : net_.nodes)
      for (const size_t row : each.outputs) ++counts[net_.run.rows[row].target->dtype];
    double noise = noise_of("float32");
    int64_t most = 0;
    for (const auto& [dtype, count] : counts)
      if (count > most) most = count, noise = noise_of(dtype);
    return noise;
  }

  // A step can be judged if there is an output to see and something finite to hold it against.
  void add_candidate(int64_t at) {
    const Node& each = node(at);
    if (each.outputs.empty() || !each.out.is_known() || !each.knows_inputs) return;
    const double in = each.in.is_known() && !each.is_source ? each.in.relative : 0;
    if (std::isinf(in)) return;
    const double normal = std::hypot(in, found_.noise);
    const double ratio = each.out.relative / normal;
    if (ratio < kStep || (each.is_source && !each.is_odd)) return;
    found_.roots.push_back({at, in, each.out.relative, ratio, false, {}});
  }

  // What replaying the operators showed, if most were: the usual own error of one.
  bool find_usual_own() {
    std::vector<double> own;
    int64_t seen = 0;
    for (const Node& each : net_.nodes) {
      seen += !each.outputs.empty() && !each.is_source;
      if (!std::isnan(each.own)) own.push_back(each.own);
    }
    if (own.empty() || 2 * std::ssize(own) < seen) return false;
    std::nth_element(own.begin(), own.begin() + std::ssize(own) / 2, own.end());
    found_.noise = std::max(found_.noise, own[own.size() / 2]);
    return true;
  }

  // Of what was not replayed only what is not finite, or no operator, is judged by its step.
  void add_measured(int64_t at) {
    const Node& each = node(at);
    if (std::isnan(each.own) || std::isinf(each.out.relative)) {
      if (each.is_source || std::isinf(each.out.relative)) add_candidate(at);
      return;
    }
    const double ratio = each.own / found_.noise;
    if (ratio < kOwnStep) return;
    const double in = each.in.is_known() ? each.in.relative : 0;
    found_.roots.push_back({at, in, each.out.relative, ratio, false, {}});
  }

  // Behind a fault errors stay as they are, but for gains near one. Where every operator adds as
  // much as the first did, they grow by the root of the sum of squares: that shows in the operators
  // whose inputs are not much worse than that. Which of the two fits the steps better?
  bool explains_growth() {
    if (found_.roots.empty()) return gradual();
    const Root& biggest =
        *std::max_element(found_.roots.begin(), found_.roots.end(),
                          [](const Root& a, const Root& b) { return a.ratio < b.ratio; });
    if (!(biggest.out <= kMostNoise) || node(biggest.node).is_source) return false;
    const std::vector<bool> behind = net_.downstream_of(biggest.node);
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
    if (seen < kEnough || misfit_growing >= 0.8 * misfit_constant) return false;
    found_.roots.clear();
    return gradual();
  }

  static bool keeps_error(const Node& each) {
    return each.in.is_known() &&
           std::abs(each.out.relative - each.in.relative) <= 1e-3 * each.in.relative;
  }

  // Nobody made a step of its own: who added most.
  bool gradual() {
    std::vector<std::pair<double, int64_t>> own;
    for (const int64_t at : net_.order) {
      const Node& each = node(at);
      if (each.outputs.empty() || !each.out.is_known() || std::isinf(each.out.relative)) continue;
      const double in = each.in.is_known() && !each.is_source ? each.in.relative : 0;
      if (found_.first == 0) found_.first = each.out.relative;
      if (each.is_output || each.consumers.empty())
        found_.last = std::max(found_.last, each.out.relative);
      if (each.out.relative > in)
        own.emplace_back(each.out.relative * each.out.relative - in * in, at);
    }
    std::sort(own.begin(), own.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr size_t kMost = 5;
    for (size_t i = 0; i < std::min(kMost, own.size()); ++i)
      found_.contributors.push_back(own[i].second);
    return found_.is_accumulated = true;
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
  bool is_measured_ = false;
};

}  // namespace

Roots find_roots(const Net& net) { return Finder(net).find(); }

}  // namespace plumb::diagnose
