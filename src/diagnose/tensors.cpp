// SPDX-License-Identifier: Apache-2.0
#include "diagnose/tensors.h"

namespace plumb::diagnose {

std::shared_ptr<const compare::PairValues> Tensors::pair(size_t row) {
  const RowId id = session_ == nullptr ? -1 : id_of(row);
  if (id < 0 || id >= session_->plan().size()) return nullptr;
  if (const auto known = read_.find(row); known != read_.end()) return known->second;
  constexpr size_t kKept = 8;
  if (read_.size() >= kKept) read_.clear();
  auto values = compare::values_of(session_->state(), id, kMost);
  return read_[row] =
             values ? std::make_shared<const compare::PairValues>(std::move(*values)) : nullptr;
}

bool Tensors::equals(const compare::PairValues& pair, size_t row) {
  const RowId id = session_ == nullptr ? -1 : id_of(row);
  if (id < 0 || id >= session_->plan().size()) return false;
  const SessionState& state = session_->state();
  const dump::Entry* entry = state.rows[static_cast<size_t>(id)].target;
  if (entry == nullptr || entry->parts.empty()) return false;
  const auto values = compare::target_values(state, *entry, kMost);
  return values && *values == pair.target;
}

}  // namespace plumb::diagnose
