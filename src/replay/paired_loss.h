// SPDX-License-Identifier: Apache-2.0
//
// Whether a model lost accuracy against another on the same samples, and whether that many samples
// can tell. Described in docs/eval.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace plumb::replay {

// Of samples that both models judged: right with golden and wrong now, and the other way round.
struct Flips {
  int64_t samples = 0, lost = 0, gained = 0;
};

struct PairedLoss {
  double delta = 0;          // share of right answers: target's minus golden's
  double low = 0, high = 0;  // its 95 % confidence interval, from the flips
  // The lower end with one more flip in each direction (Bonett and Price, 2012): a handful of
  // samples without any flip does not prove that there are none.
  double careful_low = 0;
  double p = 1;  // McNemar: how often chance alone makes flips as uneven; exact if there are few
};
PairedLoss paired_loss(const Flips& flips);  // of at least one sample

enum class LossVerdict : uint8_t { kPass, kInconclusive, kFail, kSevere };
std::string_view name_of(LossVerdict verdict);  // "pass", "inconclusive", "fail", "severe"

// As shares: 0.01 and 0.03.
struct LossLimits {
  double allowed = 0.01, severe = 0.03;
};
LossVerdict judge_loss(const PairedLoss& loss, const LossLimits& limits);

// How many samples could tell a loss of `allowed`, if as many of them flip as did.
int64_t samples_needed(const Flips& flips, double allowed);

}  // namespace plumb::replay
