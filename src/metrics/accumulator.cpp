// SPDX-License-Identifier: Apache-2.0
#include "metrics/accumulator.h"

#include <algorithm>

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
  if (std::any_of(quantities_.begin(), quantities_.end(),
                  [](const auto& each) { return each->takes_blocks(); }))
    for_each_block(piece, [this](const double* t, const double* g, int64_t n) {
      for (const auto& each : quantities_) each->add(t, g, n);
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
