// SPDX-License-Identifier: Apache-2.0
#include "metrics/accumulator.h"

#include <algorithm>

#include "metrics/bulk_candidates.h"
#include "metrics/decoded_pairs.h"

namespace plumb::metrics {

SecondPass::SecondPass(const Request& request, const PairFacts& first) {
  for (const auto& [accumulator, exactly] : request.second_pass)
    if (auto quantity = accumulator->start(first, exactly)) hold(std::move(quantity));
}

SecondPass::SecondPass(const SecondPass& other) {
  for (const auto& each : other.quantities_) hold(each->copy());
}

SecondPass& SecondPass::operator=(SecondPass other) noexcept {
  quantities_.swap(other.quantities_);
  return *this;
}

void SecondPass::add(const PairPiece& piece, const PairPiece& stored) {
  const bool are_floats =
      fits_float(part_of(piece.target_dtype)) && fits_float(part_of(piece.golden_dtype));
  std::vector<Accumulated*> in_floats, in_doubles;
  for (const auto& each : quantities_)
    if (each->takes_blocks())
      (are_floats && each->takes_floats() ? in_floats : in_doubles).push_back(each.get());
  if (!in_floats.empty())
    for_each_float_block<kDetailBlock>(piece, [&](const float* t, const float* g, int64_t n) {
      for (Accumulated* each : in_floats) each->add(t, g, n);
    });
  if (!in_doubles.empty())
    for_each_block(piece, [&](const double* t, const double* g, int64_t n) {
      for (Accumulated* each : in_doubles) each->add(t, g, n);
    });
  for (const auto& each : quantities_) each->add(each->takes_stored() ? stored : piece);
}

void SecondPass::append(const SecondPass& later) {
  for (size_t i = 0; i < quantities_.size(); ++i) quantities_[i]->append(*later.quantities_[i]);
}

bool SecondPass::expects() const {
  return std::any_of(quantities_.begin(), quantities_.end(),
                     [](const auto& each) { return each->expects(); });
}

void SecondPass::expect(std::span<const double> golden) {
  for (const auto& each : quantities_) each->expect(golden);
}

SecondPass SecondPass::take_settled(std::span<const BulkCandidates> chunks) {
  SecondPass settled;
  for (auto& each : quantities_)
    if (each->settle(chunks)) settled.hold(std::move(each));
  std::erase(quantities_, nullptr);
  return settled;
}

SecondPass SecondPass::take_unsettled() {
  SecondPass unsettled;
  for (auto& each : quantities_) {
    if (each->is_settled()) continue;
    each->restart();
    unsettled.hold(std::move(each));
  }
  std::erase(quantities_, nullptr);
  return unsettled;
}

void SecondPass::hold(SecondPass other) {
  for (auto& each : other.quantities_) hold(std::move(each));
}

}  // namespace plumb::metrics
