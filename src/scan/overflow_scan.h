// SPDX-License-Identifier: Apache-2.0
//
// Looks for overflow in the tensors of a dump: NaN, infinities, and values that stopped at the
// limit of their type. Tells the operators that brought them in from those that only passed them
// on.
#pragma once

#include "scan/measure.h"

namespace plumb::scan {

enum class Symptom : uint8_t { kNan, kInf, kLimit };  // worst first
inline constexpr Symptom kSymptoms[] = {Symptom::kNan, Symptom::kInf, Symptom::kLimit};

// One tensor of the dump, with what was measured or, where there is no data, recorded.
struct ScannedTensor {
  const dump::Entry* entry = nullptr;
  std::string dtype;           // as stored; the dump's own word where there is no data
  std::optional<Shape> shape;  // if known
  std::optional<metrics::TensorStats> stats;  // unset: recorded only, or damaged
  std::optional<Error> error;
  // Nothing could be seen: only a checksum was recorded, or nothing, or nobody can decode the type.
  bool is_blind = false;
  bool is_unsure = false;  // only extremes are recorded, and they do not tell
  int64_t nan = 0, positive_inf = 0, negative_inf = 0;  // if only recorded, 1 may stand for any
  int64_t at_limit = 0;    // finite values at the limit of a type that saturates
  bool saturates = false;  // these are enough to be counted as overflow

  bool has(Symptom symptom) const {
    if (symptom == Symptom::kNan) return nan > 0;
    return symptom == Symptom::kInf ? positive_inf + negative_inf > 0 : saturates;
  }
  bool is_finite() const { return !has(Symptom::kNan) && !has(Symptom::kInf); }
  bool is_clean() const { return is_finite() && !saturates; }
  std::string layout() const;  // the device's; empty if it is plain or not known
};

// Where an operator's overflow comes from.
enum class Origin : uint8_t {
  kIntroduced,  // its inputs are clean
  kReceived,  // it is in its inputs already, but in no earlier output: data, weights, or not dumped
  kUnknown,   // its inputs are not among the tensors, or not all could be seen
  kInherited,  // it is in its inputs and in an earlier output
};
std::string_view name_of(Origin origin);

// An execution of an operator with overflow in it, or, if received, at its inputs.
struct OverflowedOperator {
  Origin origin = Origin::kUnknown;
  std::vector<size_t> tensors;  // of OverflowScan that show it: outputs, or inputs if received
  std::vector<size_t> from;     // inputs that show it, if received or inherited
  bool is_finite = true;        // nothing worse than values at the limit
};

struct OverflowScan {
  std::vector<ScannedTensor> tensors;         // in order of execution
  std::vector<OverflowedOperator> operators;  // in order of execution
  bool is_ordered = false;                    // the dump tells an order; else it is that of names
  size_t executions = 0;
};

// `entries` as listed by the set. Order is by step, then time, then rank.
OverflowScan scan_overflow(const dump::DumpSet& set, std::vector<const dump::Entry*> entries,
                           const io::ReadHints& hints, const RunContext& context);

}  // namespace plumb::scan
