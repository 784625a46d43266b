// SPDX-License-Identifier: Apache-2.0
//
// The closer look of `plumb compare`: the worst elements of a pair, its error along an axis, and
// the difference written as a tensor.
#pragma once

#include "cli/command.h"
#include "compare/stream.h"

namespace plumb::cli {

class ElementView {
 public:
  void declare(Options& options);
  Result<void> check() const;
  bool is_wanted() const { return top_ > 0 || !axes_.empty() || !directory_.empty(); }

  // Of every row that was compared element by element; `plan` and `rows` are parallel. A row that
  // cannot be shown costs itself; false if a difference could not be written.
  bool show(const compare::Sides& sides, const std::vector<pair::PlannedRow>& plan,
            const result::Rows& rows, const RunContext& context) const;

 private:
  Result<void> show_row(const compare::Sides& sides, const pair::PlannedRow& planned,
                        const result::Row& row, const std::string& file_name,
                        const RunContext& context) const;

  int top_ = 0;
  std::vector<int64_t> axes_;
  std::string directory_;
};

}  // namespace plumb::cli
