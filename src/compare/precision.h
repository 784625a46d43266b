// SPDX-License-Identifier: Apache-2.0
//
// The precision of the network around a row: a float32 tensor that is computed from 16-bit ones can
// be no better than they are, on either side. Whether it is, a graph tells, or the order of
// execution that a dump records; the order of names tells nothing.
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
    Narrow narrow;  // of kYes: the one it is behind; of kUnknown: one of its side
  };
  // The 16-bit type that the target holds in wider files, if this row shows it and most tensors do.
  std::optional<DType> widened(const result::Row& row);
  // At least half of what the target's operators give, where golden has wider floats.
  bool is_mostly_bfloat16();
  // Whether the tensor of a row comes behind an operator that works in 16 bits.
  Answer behind(RowId id);

 private:
  using Time = std::pair<std::optional<int64_t>, int64_t>;  // step, timestamp

  // What is known of one side, where the other has wider floats.
  struct Half {
    const dump::DumpSet* set = nullptr;
    bool is_target = true;
    bool records_order = false;
    std::optional<Narrow> any = {};  // that a row shows
    // The first by rank, and those that an operator reads itself.
    std::map<std::optional<int64_t>, std::pair<Time, Narrow>> first = {};
    std::unordered_map<std::string_view, Narrow> reads = {};
    std::unordered_map<const graph::Operator*, std::string> shown = {};  // types, by what rows show
    std::unordered_map<std::string_view, const graph::Operator*> by_name = {};
    // Edges to the nearest operator before it that works in 16 bits; which one that is.
    std::optional<std::unordered_map<const graph::Operator*, int64_t>> distances = {};
    std::unordered_map<const graph::Operator*, const graph::Operator*> nearest = {};
  };

  void note(const pair::PlannedRow& planned, std::string_view target, std::string_view golden);
  void note(Half& half, const dump::Entry& entry, std::string_view own, std::string_view other);
  void look_at_hidden();
  void count(result::Shown shown);
  Answer behind(Half& half, const dump::Entry& entry);
  std::optional<Answer> by_graph(Half& half, const dump::Entry& entry);
  static std::optional<Answer> by_time(const Half& half, const dump::Entry& entry);
  static void measure_distances(Half& half);
  static const graph::Operator* nearest(Half& half, const graph::Operator& op);
  static const std::string* dtype_of(Half& half, const graph::Operator& op);
  const graph::Operator* operator_of(const Half& half, const dump::Entry& entry) const;

  const SessionState& state_;
  std::vector<RowId> hidden_;     // rows the user did not ask for: they still tell the precision
  int64_t shown_narrow_[2] = {};  // tensors that show float16 or less, bfloat16 alone
  int64_t shown_any_ = 0;
  int64_t brains_ = 0, floats_ = 0;  // outputs stored as bfloat16, as any floats
  Half target_, golden_;
};

}  // namespace plumb::compare
