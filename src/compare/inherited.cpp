// SPDX-License-Identifier: Apache-2.0
#include "compare/inherited.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "compare/numbers.h"
#include "compare/planned_row.h"
#include "compare/recompute.h"
#include "judge/verdict.h"
#include "metrics/decoded_pairs.h"
#include "metrics/resolution.h"

namespace plumb::compare {
namespace {

using dump::EntryReader;
using result::Row;
using result::Verdict;

constexpr int64_t kMostElements = int64_t{1} << 20;  // of a tensor that is computed anew
// What rounding leaves of a tensor, in steps of its type beside the largest value. Of scores and
// what gates are made of, in trained networks in float16 and TF32, at most 6.4 were seen.
constexpr double kMostSteps = 8;
constexpr double kFewSteps = 2;  // a value is rounded, and the bias of all of them

DType coarser_of(const metrics::PairFacts& facts) {
  return metrics::coarser_of(metrics::part_of(facts.target_dtype),
                             metrics::part_of(facts.golden_dtype));
}

// Rounding goes up about as often as down (of PP-OCR's scores the sum of errors is half of that of
// their sizes, since a bias is rounded for all); a fault that lifts all values does not.
bool has_direction(const metrics::PairSums& sums) {
  constexpr int64_t kEnough = 20;
  constexpr double kMost = 0.8;
  return sums.finite >= kEnough && std::abs(sums.t_sum - sums.g_sum) > kMost * sums.abs_sum;
}

// What an operator read.
struct Input {
  pair::PlannedRow planned;
  metrics::PairFacts facts;
  size_t elements = 0;

  const std::string& name() const { return planned.target->operator_name; }
  double steps_of(DType dtype) const {
    const metrics::PairSums& sums = facts.sums;
    const double largest = std::max(std::abs(sums.g_min), std::abs(sums.g_max));
    const double step = largest * metrics::resolution_of(dtype).relative;
    return sums.abs_max == 0 ? 0 : sums.abs_max / step;
  }
};

struct Inherited {
  Made made;
  std::vector<Input> inputs;
  bool changes_decision = false;

  // Equal inputs are no excuse.
  bool is_any() const {
    return std::any_of(inputs.begin(), inputs.end(),
                       [](const Input& input) { return input.facts.sums.abs_max > 0; });
  }
};

class Excuse {
 public:
  // `computed`: the type that the network works in, if its tensors need not show it.
  Excuse(const Judging& with, std::optional<DType> computed) : with_(with), options_(with.options) {
    options_.reading_of = {};
    options_.computed = computed;
  }

  // The words that excuse a row which breaks these limits; none: nothing does.
  std::optional<std::string> of(const Reading& reading, const std::vector<std::string>& broken,
                                EntryReader& target, EntryReader& golden) const {
    const bool is_share = reading.made != Made::kProduct && reading.made != Made::kRectified;
    // Of others nothing but single slices: those of which one factor, the gate, is nearly zero, and
    // those that hardly ever rise above zero.
    if (!is_share && broken != std::vector<std::string>{"limit:slice_rel_euclid"}) return {};
    const auto from = inherited(reading, target, golden);
    if (!from || from->changes_decision || !from->is_any()) return {};
    size_t least = from->inputs.front().elements;
    for (const Input& input : from->inputs) least = std::min(least, input.elements);
    for (const Input& input : from->inputs) {
      const bool is_gate = input.elements == least;
      const bool is_good = reading.made != Made::kProduct ? is_rounded(input)
                           : is_gate ? is_rounded(input) || is_made_of_rounded(input)
                                     : passes(input);
      if (!is_good) return {};
    }
    return text_of(*from);
  }

 private:
  Result<EntryReader> open_target(const pair::PlannedRow& planned) const {
    return EntryReader::open(with_.sides.target, *planned.target, with_.sides.target_hints, {},
                             &with_.files);
  }
  Result<EntryReader> open_golden(const pair::PlannedRow& planned) const {
    return EntryReader::open(with_.sides.golden, *planned.golden, with_.sides.golden_hints, {},
                             &with_.files);
  }

  static std::optional<ReadValues::Input> values_of(EntryReader& tensor) {
    auto again = tensor.again();
    if (!again) return std::nullopt;
    auto values = numbers_of(*again, kMostElements);
    if (!values) return std::nullopt;
    return ReadValues::Input{std::move(*values), again->reader().shape(), again->reader().dtype()};
  }

  static bool fill(EntryReader& tensor, std::optional<DType> narrow, ReadValues& side) {
    auto values = values_of(tensor);
    if (!values) return false;
    side.given = std::move(values->values);
    side.shape = std::move(values->shape);
    side.dtype = narrow.value_or(values->dtype);
    return true;
  }

  // What a tensor is computed from, if it is that and nothing else on both sides.
  std::optional<Inherited> inherited(const Reading& reading, EntryReader& target,
                                     EntryReader& golden) const {
    if (std::max(target.reader().count(), golden.reader().count()) > kMostElements)
      return std::nullopt;
    Inherited found{reading.made, {}};
    ReadValues t, g;
    for (const pair::PlannedRow& each : reading.inputs) {
      auto input = look_at(each, t, g);
      if (!input) return std::nullopt;
      found.inputs.push_back(std::move(*input));
    }
    if (!fill(target, reading.target_narrow, t) || !fill(golden, reading.golden_narrow, g))
      return std::nullopt;
    const auto recomputed = recompute(found.made, t, g);
    if (!recomputed) return std::nullopt;
    found.changes_decision = recomputed->changes_decision;
    return found;
  }

  // Its values go to the two sides.
  std::optional<Input> look_at(const pair::PlannedRow& planned, ReadValues& t,
                               ReadValues& g) const {
    auto target = open_target(planned), golden = open_golden(planned);
    if (!target || !golden || obstacle_of(*target, *golden, false)) return std::nullopt;
    if (target->reader().count() > kMostElements) return std::nullopt;
    auto facts = gather(*target, *golden, options_.request, with_.context);
    if (!facts || !*facts || (*facts)->sums.finite != (*facts)->sums.count) return std::nullopt;
    auto in_target = values_of(*target), in_golden = values_of(*golden);
    if (!in_target || !in_golden) return std::nullopt;
    Input input{planned, std::move(**facts), in_target->values.size()};
    t.inputs.push_back(std::move(*in_target));
    g.inputs.push_back(std::move(*in_golden));
    return input;
  }

  DType type_of(const Input& input) const {
    return options_.computed.value_or(coarser_of(input.facts));
  }

  // As a row of its own, without a remark but that a slice is off by a little.
  bool passes(const Input& input) const {
    Row row = planned_row(input.planned);
    auto target = open_target(input.planned), golden = open_golden(input.planned);
    if (!target || !golden) return false;
    judge_pair({with_.sides, options_, with_.floor_of, with_.files, with_.context}, input.planned,
               input.facts, nullptr, *target, *golden, row);
    const bool is_small = row.reasons == std::vector<std::string>{"warning:slice_rel_euclid"};
    return row.verdict == Verdict::kPass && (!row.suspicious || is_small);
  }

  // Of bfloat16 nobody has measured yet how many steps are usual.
  bool is_rounded(const Input& input) const {
    const DType dtype = type_of(input);
    const double steps = input.steps_of(dtype);
    return dtype != DType::kBFloat16 && steps <= kMostSteps &&
           (steps <= kFewSteps || !has_direction(input.facts.sums)) && passes(input);
  }

  // A gate that is a share of what is rounded.
  bool is_made_of_rounded(const Input& input) const {
    const auto reading = with_.options.reading_of(input.planned);
    auto target = open_target(input.planned), golden = open_golden(input.planned);
    if (!reading || !target || !golden) return false;
    const auto from = inherited(*reading, *target, *golden);
    return from && from->inputs.size() == 1 && is_rounded(from->inputs.front());
  }

  std::string text_of(const Inherited& from) const {
    std::string text = "nothing was added to what was read: ";
    for (const Input& input : from.inputs)
      text += fmt::format("{}{} is off by {:.2g} at most, {:.2g} steps of {} beside its largest",
                          &input == &from.inputs.front() ? "" : ", ", input.name(),
                          input.facts.sums.abs_max, input.steps_of(type_of(input)),
                          name_of(type_of(input)));
    return text;
  }

  const Judging& with_;
  StreamOptions options_;  // for what was read: nothing further is computed anew
};

}  // namespace

void excuse_inherited(const Judging& with, const judge::Profile& profile,
                      const pair::PlannedRow& planned, const metrics::PairFacts& facts,
                      EntryReader& target, EntryReader& golden, Row& row) {
  const auto is_limit = [](const std::string& reason) { return reason.starts_with("limit:"); };
  if (row.verdict != Verdict::kFail || !with.options.reading_of || !profile.recompute ||
      !std::all_of(row.reasons.begin(), row.reasons.end(), is_limit) ||
      facts.sums.finite != facts.sums.count || (row.in_16_bits && row.in_16_bits->float16))
    return;
  const auto reading = with.options.reading_of(planned);
  if (!reading) return;
  const auto& computed = with.options.computed;
  if (const auto why = Excuse(with, computed).of(*reading, row.reasons, target, golden)) {
    row.message = *why + "; " + row.message;
    row.verdict = Verdict::kPass;
    row.suspicious = true;
    row.reasons = {std::string(kInherited)};
    row.hint.clear();
    row.in_16_bits.reset();
    row.if_inner.reset();
  } else if (coarser_of(facts) != DType::kBFloat16 && !computed) {
    // Where the network turns out to work in 16 bits, whatever its inputs are stored in.
    Row narrow = row;
    judge::judge(profile.for_floats(DType::kFloat16, DType::kFloat16), facts, with.options.columns,
                 narrow);
    const auto words = Excuse(with, DType::kFloat16).of(*reading, narrow.reasons, target, golden);
    if (words) {
      result::In16Bits in = row.in_16_bits ? *row.in_16_bits : result::In16Bits();
      in.float16 = result::Judgement{
          Verdict::kPass, {std::string(kInherited)}, *words + "; " + narrow.message, "", true};
      row.in_16_bits = std::make_shared<const result::In16Bits>(std::move(in));
    }
  }
  if (with.context.cancelled) leave_out(row, "interrupted", "");  // who knows what was not read
}

}  // namespace plumb::compare
