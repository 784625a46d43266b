// SPDX-License-Identifier: Apache-2.0
#include "diagnose/tensors.h"

namespace plumb::diagnose {

std::shared_ptr<const compare::PairValues> Tensors::pair(size_t row) {
  if (const auto known = read_.find(row); known != read_.end()) return known->second;
  auto values = read(row, kMost);
  const int64_t elements = values ? std::ssize(values->golden) : 0;
  if ((kept_ += elements) > kMost) {
    read_.clear();
    kept_ = elements;
  }
  return read_[row] = std::move(values);
}

std::shared_ptr<const compare::PairValues> Tensors::glance(size_t row) const {
  return read(row, int64_t{1} << 15);
}

std::shared_ptr<const compare::PairValues> Tensors::read(size_t row, int64_t most) const {
  const RowId id = session_ == nullptr ? -1 : id_of(row);
  if (id < 0 || id >= session_->plan().size()) return nullptr;
  auto values = compare::values_of(session_->state(), id, most);
  return values ? std::make_shared<const compare::PairValues>(std::move(*values)) : nullptr;
}

const dump::Entry* Tensors::target_of(size_t row) const {
  const RowId id = session_ == nullptr ? -1 : id_of(row);
  if (id < 0 || id >= session_->plan().size()) return nullptr;
  const dump::Entry* entry = session_->state().rows[static_cast<size_t>(id)].target;
  return entry == nullptr || entry->parts.empty() ? nullptr : entry;
}

std::shared_ptr<const compare::PairValues> Tensors::pair(size_t target_row, size_t golden_row) {
  const dump::Entry* entry = target_of(target_row);
  const auto golden = entry != nullptr ? pair(golden_row) : nullptr;
  if (golden == nullptr) return nullptr;
  auto values = compare::target_values(session_->state(), *entry, kMost);
  if (!values || values->size() != golden->golden.size()) return nullptr;
  auto both = std::make_shared<compare::PairValues>(*golden);
  both->target = std::move(*values);
  both->target_shape = both->golden_shape;
  return both;
}

bool Tensors::equals(const compare::PairValues& pair, size_t row) {
  const dump::Entry* entry = target_of(row);
  if (entry == nullptr) return false;
  const auto values = compare::target_values(session_->state(), *entry, kMost);
  return values && *values == pair.target;
}

}  // namespace plumb::diagnose
