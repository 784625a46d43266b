// SPDX-License-Identifier: Apache-2.0
//
// The precision of the network around a row: a float32 tensor that is computed from 16-bit ones can
// be no better than they are. Whether it is, a graph tells, or the order of execution that a dump
// records; the order of names tells nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compare/session_state.h"

namespace plumb::compare {

// What a target that is stored as float32 or float64 shows.
result::Shown shown_by_target(const metrics::PairFacts& facts);

// Sees all rows of a plan, then tells of each. Borrows the state.
class Precision {
 public:
  explicit Precision(const SessionState& state);

  void see(RowId id, const result::Row& row);

  // An operator that works in 16 bits.
  struct Narrow {
    std::string dtype, op;
  };
  enum class Known : uint8_t { kYes, kNo, kUnknown };
  struct Answer {
    Known is_behind = Known::kNo;
    Narrow narrow;  // of kYes: the one it is behind; of kUnknown: one of the target
  };
  // The 16-bit type that the target holds in wider files, if this row shows it and most tensors do.
  std::optional<DType> widened(const result::Row& row);
  // At least half of what the target's operators give, where golden has wider floats.
  bool is_mostly_bfloat16();
  // Whether the tensor of a row comes behind an operator that works in 16 bits.
  Answer behind(RowId id);

 private:
  using Time = std::pair<std::optional<int64_t>, int64_t>;  // step, timestamp

  void note(const dump::Entry& entry, std::string_view target, std::string_view golden);
  void look_at_hidden();
  void count(result::Shown shown);
  std::optional<Answer> by_graph(const dump::Entry& entry);
  std::optional<Answer> by_time(const dump::Entry& entry) const;
  const std::string* dtype_of(const graph::Operator& op);

  const SessionState& state_;
  std::vector<RowId> hidden_;     // rows the user did not ask for: they still tell the precision
  std::optional<Narrow> any_;     // that a row shows
  int64_t shown_narrow_[2] = {};  // tensors that show float16 or less, bfloat16 alone
  int64_t shown_any_ = 0;
  int64_t brains_ = 0, floats_ = 0;  // outputs stored as bfloat16, as any floats
  bool records_order_ = false;
  // The first by rank, and those that an operator reads itself.
  std::map<std::optional<int64_t>, std::pair<Time, Narrow>> first_;
  std::unordered_map<std::string_view, Narrow> reads_;
  std::unordered_map<const graph::Operator*, std::string> shown_;  // types, by what rows show
  std::unordered_map<std::string_view, const graph::Operator*> by_name_;
};

}  // namespace plumb::compare
