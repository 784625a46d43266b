// SPDX-License-Identifier: Apache-2.0
//
// The tensors behind a run, where they are still at hand: rules that want more than a row's numbers
// ask for them. What was read is kept, since several rules look at one suspect.
#pragma once

#include <map>
#include <memory>

#include "compare/values.h"
#include "plumb/session.h"

namespace plumb::diagnose {

class Tensors {
 public:
  // Null: there are none. Rows of the run are those of the plan, by id, unless `ids` says which.
  explicit Tensors(const Session* session, std::vector<RowId> ids = {})
      : session_(session), ids_(std::move(ids)) {}

  bool are_at_hand() const { return session_ != nullptr; }
  bool has(size_t row) const { return are_at_hand() && id_of(row) >= 0; }
  // The pair of a row; null if it cannot be read. Of large tensors the first kMost elements.
  std::shared_ptr<const compare::PairValues> pair(size_t row);
  // What only the target has, against the golden tensor of another row: as large, or null.
  std::shared_ptr<const compare::PairValues> pair(size_t target_row, size_t golden_row);
  // Whether a target tensor holds the very same values.
  bool equals(const compare::PairValues& pair, size_t row);

  // The first values of a pair, for whoever looks at many; not kept.
  std::shared_ptr<const compare::PairValues> glance(size_t row) const;

  static constexpr int64_t kMost = int64_t{1} << 19;

 private:
  std::shared_ptr<const compare::PairValues> read(size_t row, int64_t most) const;
  const dump::Entry* target_of(size_t row) const;  // null if it is not at hand
  RowId id_of(size_t row) const {
    return ids_.empty() ? static_cast<RowId>(row) : row < ids_.size() ? ids_[row] : -1;
  }
  const Session* session_;
  std::vector<RowId> ids_;
  std::map<size_t, std::shared_ptr<const compare::PairValues>> read_;  // by row
  int64_t kept_ = 0;                                                   // elements of these
};

}  // namespace plumb::diagnose
