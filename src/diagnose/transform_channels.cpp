// SPDX-License-Identifier: Apache-2.0
//
// A scale and an offset for each channel: mean and standard deviation of pictures, scales of
// quantized channels, a batch norm or bias that was not applied.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "diagnose/channel_axis.h"
#include "diagnose/round_number.h"
#include "diagnose/transform_families.h"

namespace plumb::diagnose {
namespace {

constexpr int64_t kLeastOfChannel = 16;  // elements for two parameters
// Another epsilon changes channels by their own factors, too, but most of them only a little.
constexpr double kLeastChange = 0.05;

struct Channel {
  double count = 0, target = 0, golden = 0;
  double target2 = 0, golden2 = 0, products = 0;  // centred
  double change2 = 0;                             // of target - golden
  double scale = 0, offset = 0;

  void finish() {
    scale = golden2 > 0 ? products / golden2 : 0;
    offset = target - scale * golden;
  }
  double golden_norm2() const { return golden2 + count * golden * golden; }
};

// Calls visit(channel, place) for all places, in order.
template <class Visit>
void for_each_place(const Problem& problem, int64_t channels, int64_t inner, Visit&& visit) {
  int64_t channel = 0;
  for (int64_t first = 0; first < problem.count(); first += inner) {
    const int64_t end = std::min(problem.count(), first + inner);
    for (int64_t place = first; place < end; ++place)
      visit(static_cast<size_t>(channel), static_cast<size_t>(place));
    if (++channel == channels) channel = 0;
  }
}

std::vector<Channel> fit(const Problem& problem, int64_t channels, int64_t inner) {
  std::vector<Channel> all(static_cast<size_t>(channels));
  for_each_place(problem, channels, inner, [&](size_t c, size_t i) {
    all[c].count += 1;
    all[c].target += problem.target[i];
    all[c].golden += problem.golden[i];
  });
  for (Channel& c : all) {
    c.target /= std::max(1.0, c.count);
    c.golden /= std::max(1.0, c.count);
  }
  for_each_place(problem, channels, inner, [&](size_t channel, size_t i) {
    Channel& c = all[channel];
    const double t = problem.target[i] - c.target, g = problem.golden[i] - c.golden;
    const double change = problem.target[i] - problem.golden[i];
    c.target2 += t * t;
    c.golden2 += g * g;
    c.products += t * g;
    c.change2 += change * change;
  });
  for (Channel& c : all) c.finish();
  return all;
}

// A few wrong channels are something else than a step that is missing in all of them, and so is a
// channel that was lost.
bool is_in_most(const std::vector<Channel>& channels, double noise) {
  int64_t changed = 0, varying = 0;
  for (const Channel& c : channels) {
    if (!(c.golden2 > 0)) continue;
    ++varying;
    const double least = std::max(4 * noise, kLeastChange);
    if (c.products != 0 && c.change2 > least * least * c.golden_norm2()) ++changed;
  }
  return 2 * changed > varying && 2 * varying > std::ssize(channels);
}

std::string channels_text(const std::vector<Channel>& channels, int64_t axis) {
  std::string text =
      fmt::format("each of the {} channels along axis {} has a scale and an offset of its own",
                  channels.size(), axis);
  if (std::ssize(channels) > kMostColours) return text;
  const char* before = ": ";
  for (const Channel& c : channels) {
    text += fmt::format("{}{:.4g} · golden {} {:.4g}", before, c.scale, c.offset < 0 ? "-" : "+",
                        std::fabs(c.offset));
    before = ", ";
  }
  return text;
}

void try_axis(const Problem& problem, size_t axis, std::vector<Claim>& claims) {
  const int64_t channels = problem.shape[axis];
  int64_t inner = 1;
  for (size_t k = axis + 1; k < problem.shape.size(); ++k) inner *= problem.shape[k];
  if (channels < 2 || problem.count() / channels < kLeastOfChannel) return;
  const std::vector<Channel> fitted = fit(problem, channels, inner);
  if (!is_in_most(fitted, problem.noise)) return;
  double centred2 = 0;
  for (const Channel& c : fitted) centred2 += c.target2;
  const auto channel_of = [&](int64_t place) { return place / inner % channels; };
  const auto predict = [&](int64_t place) {
    const Channel& c = fitted[static_cast<size_t>(channel_of(place))];
    return c.scale * problem.golden[static_cast<size_t>(place)] + c.offset;
  };
  const auto left = remaining_after(
      problem, predict,
      {.parameters = 2 * static_cast<double>(channels), .centred = std::sqrt(centred2)});
  const auto standard = [&](int64_t place) {
    const Channel& c = fitted[static_cast<size_t>(channel_of(place))];
    return c.golden2 > 0 ? (problem.golden[static_cast<size_t>(place)] - c.golden) /
                               std::sqrt(c.golden2 / c.count)
                         : 0;
  };
  if (left && !is_curved(problem, predict, standard, channel_of, channels))
    claims.push_back(
        {"affine_per_channel", channels_text(fitted, static_cast<int64_t>(axis)), *left});
}

}  // namespace

void find_affine_per_channel(const Problem& problem, std::vector<Claim>& claims) {
  // The fewest channels first: that explains most.
  std::vector<size_t> axes;
  for (size_t axis = problem.shape.size() == 3 ? 0 : 1; axis < problem.shape.size(); ++axis)
    axes.push_back(axis);
  std::stable_sort(axes.begin(), axes.end(),
                   [&](size_t a, size_t b) { return problem.shape[a] < problem.shape[b]; });
  for (const size_t axis : axes) {
    try_axis(problem, axis, claims);
    if (leaves_only_noise(problem, claims)) return;
  }
}

}  // namespace plumb::diagnose
