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

bool is_wide(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

// What an operator read.
struct Input {
  pair::PlannedRow planned;
  Row row;
  metrics::PairFacts facts;
  ReadValues::Input target = {}, golden = {};

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
  bool decides_else = false;
};

class Excuse {
 public:
  explicit Excuse(const Judging& with) : with_(with) {}

  // What a tensor is computed from, if it is that and nothing else on both sides.
  std::optional<Inherited> inherited(const pair::PlannedRow& planned, EntryReader& target,
                                     EntryReader& golden) const {
    if (std::max(target.reader().count(), golden.reader().count()) > kMostElements)
      return std::nullopt;
    const auto reading = with_.options.reading_of(planned);
    if (!reading) return std::nullopt;
    Inherited found{reading->made, {}};
    ReadValues t, g;
    for (const pair::PlannedRow& each : reading->inputs) {
      auto input = look_at(each);
      if (!input) return std::nullopt;
      t.inputs.push_back(input->target);
      g.inputs.push_back(input->golden);
      found.inputs.push_back(std::move(*input));
    }
    if (!fill(target, reading->target_narrow, t) || !fill(golden, reading->golden_narrow, g))
      return std::nullopt;
    const auto recomputed = recompute(found.made, t, g);
    if (!recomputed) return std::nullopt;
    found.decides_else = recomputed->decides_else;
    return found;
  }

  // As good as what it was computed from. `broken`: the limits that the row breaks in a network of
  // the type.
  bool holds(const Inherited& from, DType dtype, const std::vector<std::string>& broken) const {
    if (from.decides_else) return false;
    const bool is_share = from.made != Made::kProduct && from.made != Made::kRectified;
    // Of others nothing but single slices: those of which one factor, the gate, is nearly zero, and
    // those that hardly ever rise above zero.
    if (!is_share && broken != std::vector<std::string>{"limit:slice_rel_euclid"}) return false;
    if (from.made != Made::kProduct) return is_rounded(from.inputs.front(), dtype);
    size_t least = std::numeric_limits<size_t>::max();
    for (const Input& input : from.inputs) least = std::min(least, input.target.values.size());
    return std::all_of(from.inputs.begin(), from.inputs.end(), [&](const Input& input) {
      const bool is_gate = input.target.values.size() == least;
      return is_gate ? is_rounded(input, dtype) || is_made_of_rounded(input, dtype)
                     : passes(input, dtype);
    });
  }

 private:
  Result<EntryReader> open(const dump::DumpSet& set, const dump::Entry& entry,
                           const io::ReadHints& hints) const {
    return EntryReader::open(set, entry, hints, {}, &with_.files);
  }
  Result<EntryReader> open_target(const pair::PlannedRow& planned) const {
    return open(with_.sides.target, *planned.target, with_.sides.target_hints);
  }
  Result<EntryReader> open_golden(const pair::PlannedRow& planned) const {
    return open(with_.sides.golden, *planned.golden, with_.sides.golden_hints);
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

  std::optional<Input> look_at(const pair::PlannedRow& planned) const {
    auto target = open_target(planned), golden = open_golden(planned);
    if (!target || !golden || obstacle_of(*target, *golden, false)) return std::nullopt;
    if (target->reader().count() > kMostElements) return std::nullopt;
    auto facts = gather(*target, *golden, with_.options.request, with_.context);
    if (!facts || !*facts || (*facts)->sums.finite != (*facts)->sums.count) return std::nullopt;
    auto t = values_of(*target), g = values_of(*golden);
    if (!t || !g) return std::nullopt;
    return Input{planned, planned_row(planned), std::move(**facts), std::move(*t), std::move(*g)};
  }

  // Without a word of doubt, in a network of this type.
  bool passes(const Input& input, DType dtype) const {
    Row row = input.row;
    const judge::Profile& profile =
        with_.options.rules.for_tensor(row.target->operator_name, row.target->slot);
    judge::judge(profile.for_floats(dtype, dtype), input.facts, {}, row);
    return row.verdict == Verdict::kPass && !row.suspicious;
  }

  bool is_rounded(const Input& input, DType dtype) const {
    return input.steps_of(dtype) <= kMostSteps && passes(input, dtype);
  }

  // A gate that is a share of what is rounded.
  bool is_made_of_rounded(const Input& input, DType dtype) const {
    auto target = open_target(input.planned), golden = open_golden(input.planned);
    if (!target || !golden) return false;
    const auto from = inherited(input.planned, *target, *golden);
    return from && from->inputs.size() == 1 && is_rounded(from->inputs.front(), dtype);
  }

  const Judging& with_;
};

std::string text_of(const Inherited& from, DType dtype, const std::string& message) {
  std::string text(kNothingAdded);
  for (const Input& input : from.inputs)
    text += fmt::format("{}{} is off by {:.2g} at most, {:.2g} steps of {} beside its largest",
                        &input == &from.inputs.front() ? "" : ", ", input.row.target->operator_name,
                        input.facts.sums.abs_max, input.steps_of(dtype), name_of(dtype));
  return text + "; " + message;
}

void excuse_by(const Excuse& excuse, const Inherited& from, const Judging& with,
               const judge::Profile& profile, const metrics::PairFacts& facts, Row& row) {
  const DType t = metrics::part_of(facts.target_dtype), g = metrics::part_of(facts.golden_dtype);
  const auto& computed = with.options.computed;
  const DType dtype = computed.value_or(metrics::coarser_of(t, g));
  if (excuse.holds(from, dtype, row.reasons)) {
    row.message = text_of(from, dtype, row.message);
    row.verdict = Verdict::kPass;
    row.suspicious = true;
    row.reasons.clear();
    row.hint.clear();
    row.in_16_bits.reset();
    row.if_inner.reset();
  } else if (is_wide(t) && is_wide(g) && !computed) {
    Row in_float16 = row;
    judge::judge(profile.for_floats(DType::kFloat16, DType::kFloat16), facts, with.options.columns,
                 in_float16);
    if (!excuse.holds(from, DType::kFloat16, in_float16.reasons)) return;
    result::In16Bits in = row.in_16_bits ? *row.in_16_bits : result::In16Bits();
    in.float16 = result::Judgement{
        Verdict::kPass, {}, text_of(from, DType::kFloat16, in_float16.message), "", true};
    row.in_16_bits = std::make_shared<const result::In16Bits>(std::move(in));
  }
}

}  // namespace

void excuse_inherited(const Judging& with, const judge::Profile& profile,
                      const pair::PlannedRow& planned, const metrics::PairFacts& facts,
                      EntryReader& target, EntryReader& golden, Row& row) {
  const auto is_limit = [](const std::string& reason) { return reason.starts_with("limit:"); };
  if (row.verdict != Verdict::kFail || !with.options.reading_of || !profile.float32 ||
      !std::all_of(row.reasons.begin(), row.reasons.end(), is_limit) ||
      facts.sums.finite != facts.sums.count || (row.in_16_bits && row.in_16_bits->float16))
    return;
  const Excuse excuse(with);
  const auto from = excuse.inherited(planned, target, golden);
  if (from) excuse_by(excuse, *from, with, profile, facts, row);
  if (with.context.cancelled) leave_out(row, "interrupted", "");  // who knows what was not read
}

}  // namespace plumb::compare
