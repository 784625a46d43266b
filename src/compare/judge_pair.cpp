// SPDX-License-Identifier: Apache-2.0
#include "compare/judge_pair.h"

#include <algorithm>

#include <fmt/format.h>

#include "compare/common_offset.h"
#include "compare/elements.h"
#include "compare/inherited.h"
#include "compare/precision.h"
#include "compare/whole_slices.h"
#include "judge/steps.h"
#include "judge/tolerance.h"
#include "judge/verdict.h"
#include "metrics/decoded_pairs.h"
#include "metrics/resolution.h"
#include "pair/operator_kinds.h"

namespace plumb::compare {

using dump::Entry;
using dump::EntryReader;
using result::Row;
using result::Verdict;

void leave_out(Row& row, std::string_view reason, std::string message) {
  row.verdict = Verdict::kNotCompared;
  row.reasons = {std::string(reason)};
  row.message = std::move(message);
}

void fail(Row& row, std::string_view reason, std::string message) {
  row.verdict = Verdict::kFail;
  row.reasons = {std::string(reason)};
  row.message = std::move(message);
}

std::string in_words(const Error& error) {
  return error.where.empty() ? error.what : error.what + ": " + error.where;
}

std::optional<Obstacle> obstacle_of(EntryReader& target, EntryReader& golden, bool is_flat) {
  for (EntryReader* side : {&target, &golden})
    if (side->reader().dtype() == DType::kOpaque)
      return Obstacle{"dtype_unsupported",
                      fmt::format("type {} cannot be decoded", dtype_text(side->info()))};
  const Shape& ts = target.reader().shape();
  const Shape& gs = golden.reader().shape();
  const bool same_size = target.reader().count() == golden.reader().count();
  if (is_flat ? !same_size : ts != gs && squeezed(ts) != squeezed(gs)) {
    return Obstacle{
        same_size ? "shape_mismatch" : "size_mismatch",
        fmt::format("target is {}, golden is {}", plumb::to_string(ts), plumb::to_string(gs)),
        true};
  }
  const DType t = target.reader().dtype(), g = golden.reader().dtype();
  if ((kind_of(t) == DKind::kComplex) != (kind_of(g) == DKind::kComplex))
    return Obstacle{"dtype_unsupported",
                    fmt::format("{} against {}: only one side is complex", name_of(t), name_of(g))};
  return std::nullopt;
}

void doubt(Row& row, std::string_view reason, std::string message) {
  if (row.verdict != Verdict::kPass) return;
  row.verdict = Verdict::kInconclusive;
  row.suspicious = false;
  row.reasons = {std::string(reason)};
  row.message = std::move(message);
  row.hint.clear();
}

bool is_same_tensor(const dump::DumpSet& a_set, const Entry& a, const dump::DumpSet& b_set,
                    const Entry& b) {
  if (a.memory != nullptr || b.memory != nullptr) return false;
  const auto tensor_of = [](const Entry& entry) {
    return entry.parts.empty() ? to_string(entry.slot) : entry.parts.front().tensor.str();
  };
  namespace fs = std::filesystem;
  const std::string a_path = a_set.absolute(a.file()), b_path = b_set.absolute(b.file());
  if (tensor_of(a) != tensor_of(b) || a.file().empty() || b.file().empty()) return false;
  if (a_path == b_path) return true;
  std::error_code unknown;
  if (!fs::equivalent(a_path, b_path, unknown) || unknown) return false;
  return fs::canonical(a_path, unknown) == fs::canonical(b_path, unknown) && !unknown;
}

namespace {

constexpr double kLargestNoise = 0.25;  // rel_euclid of two golden runs

// Another run would not give the very same errors, element by element.
bool has_same_errors(const metrics::PairSums& a, const metrics::PairSums& b) {
  constexpr int64_t kNoChance = 8;
  return a.count - a.equal >= kNoChance && a.equal == b.equal && a.dd == b.dd &&
         a.exponent == b.exponent && a.abs_max == b.abs_max && a.abs_sum == b.abs_sum;
}

bool is_wide_float(DType dtype) {
  const DType part = metrics::part_of(dtype);
  return part == DType::kFloat32 || part == DType::kFloat64;
}

class PairJudge {
 public:
  explicit PairJudge(const Judging& with)
      : sides_(with.sides),
        options_(with.options),
        floor_of_(with.floor_of),
        files_(with.files),
        context_(with.context) {}

  void judge(const pair::PlannedRow& planned, const metrics::PairFacts& facts,
             const metrics::Closeness* closeness, EntryReader& target, EntryReader& golden,
             Row& row) {
    const judge::Profile& profile =
        options_.rules.for_tensor(row.target->operator_name, row.target->slot);
    bool by_profile = sides_.floor == nullptr;
    if (by_profile) {
      judge_by_profile(profile, facts, row);
      if (!closeness)
        excuse_inherited({sides_, options_, floor_of_, files_, context_}, profile, planned, facts,
                         target, golden, row);
    } else {
      by_profile =
          judge_by_floor(profile.for_pair(facts, options_.computed), planned, golden, facts, row);
    }
    if (closeness)
      judge::explain(*closeness, facts.sums, options_.rules.name == judge::kToleranceRules, row);
    if (by_profile) judge_whole_numbers(profile, planned, facts, target, golden, row);
    show_difference(facts.sums, target, golden, row);
    if (facts.sums.count > 0 && facts.sums.same_nan == facts.sums.count)
      doubt(row, "all_nan", "every value is NaN on both sides");
  }

 private:
  // What is right or wrong, or off by a step, where the limits for floats are no measure.
  void judge_whole_numbers(const judge::Profile& profile, const pair::PlannedRow& planned,
                           const metrics::PairFacts& facts, const EntryReader& target,
                           const EntryReader& golden, Row& row) const {
    if ((row.verdict == Verdict::kFail && !row.in_16_bits) || !profile.integer ||
        facts.sums.equal == facts.sums.count)
      return;
    const judge::Steps steps = judge::steps_of(facts);
    const bool are_pixels =
        steps == judge::Steps::kOfPixels && facts.sums.t_whole && facts.sums.g_whole;
    if (are_pixels || steps == judge::Steps::kOfCodes) {
      const auto found = find_common_offset(target, golden, are_pixels, context_);
      if (was_read(found, row) && *found) return fail_as_ids(row, text_of(**found));
      if (steps == judge::Steps::kOfCodes) judge_share_of_codes(planned, facts, row);
    } else if (may_hold_ids(facts)) {
      const auto found = ids_inside(facts, target, golden);
      if (was_read(found, row) && *found) fail_as_ids(row, text_of(**found, *row.golden->shape));
    }
  }

  // Codes of the same numbers differ where these lie between two codes, and nowhere else.
  void judge_share_of_codes(const pair::PlannedRow& planned, const metrics::PairFacts& facts,
                            Row& row) const {
    constexpr double kMostCodesOff = 0.2, kSameInput = 1e-4;  // a share, and rel_euclid
    const int64_t off = facts.sums.count - facts.sums.equal;
    if (static_cast<double>(off) <= kMostCodesOff * static_cast<double>(facts.sums.count) ||
        !options_.input_of || row.verdict != Verdict::kPass)
      return;
    const pair::PlannedRow* input = options_.input_of(planned);
    if (input == nullptr) return;
    const auto distance = distance_of(*input);
    if (distance && *distance <= kSameInput)
      fail_as_ids(row, fmt::format("{} of {} codes differ, though both sides quantize the same "
                                   "numbers ({}, rel_euclid {:.3g})",
                                   off, facts.sums.count, input->target->operator_name, *distance));
  }

  // rel_euclid of two tensors of floats; nullopt if they are none, or have no such distance.
  std::optional<double> distance_of(const pair::PlannedRow& pair) const {
    if (pair.target->parts.empty() || pair.golden->parts.empty()) return std::nullopt;
    auto target = EntryReader::open(sides_.target, *pair.target, sides_.target_hints, {}, &files_);
    auto golden =
        EntryReader::open(sides_.golden_of(pair), *pair.golden, sides_.golden_hints, {}, &files_);
    if (!target || !golden) return std::nullopt;  // its own row says so
    const auto is_float = [](EntryReader& side) {
      return kind_of(side.reader().dtype()) == DKind::kFloat;
    };
    if (!is_float(*target) || !is_float(*golden) || obstacle_of(*target, *golden, pair.is_flat))
      return std::nullopt;
    const auto facts = gather(*target, *golden, {}, context_);
    if (!facts || !*facts) return std::nullopt;
    const auto distance = metrics::metric_by_name("rel_euclid")->finish(**facts);
    return distance.is_defined() ? std::optional(distance.number()) : std::nullopt;
  }

  // What could not be looked at is no pass.
  template <class T>
  bool was_read(const Result<T>& found, Row& row) const {
    if (!found) leave_out(row, "damaged_file", in_words(found.error()));
    if (found && context_.cancelled) leave_out(row, "interrupted", "");
    return found && !context_.cancelled;
  }

  static bool may_hold_ids(const metrics::PairFacts& facts) {
    constexpr double kLeast = 0x1p-4;
    const auto is_float = [](DType dtype) { return kind_of(dtype) == DKind::kFloat; };
    return facts.sums.abs_max > kLeast && facts.are_ids.value_or(true) &&
           is_float(facts.target_stored) && is_float(facts.golden_stored);
  }

  // Classes among boxes and scores, say: where something is off by more than rounding.
  Result<std::optional<WholeSlice>> ids_inside(const metrics::PairFacts& facts,
                                               const EntryReader& target,
                                               const EntryReader& golden) const {
    ShownTypes shown{metrics::shown_target_dtype(facts.target_dtype, facts.sums),
                     metrics::shown_golden_dtype(facts.golden_dtype, facts.sums)};
    // Small whole numbers fit every type. Beside a target of more digits golden has its own.
    if (is_wide_float(shown.target)) shown.golden = facts.golden_dtype;
    return find_whole_slice(target, golden, shown, facts.marks_from, context_);
  }

  static void fail_as_ids(Row& row, std::string message) {
    fail(row, "limit:equal_share", std::move(message));
    row.suspicious = false;
    row.hint.clear();
    row.in_16_bits.reset();
    row.if_inner.reset();
  }

  // Of what has to be equal, the first element that is not: a number of bits is no help.
  void show_difference(const metrics::PairSums& sums, const EntryReader& target,
                       EntryReader& golden, Row& row) const {
    const bool is_asked =
        row.verdict == Verdict::kFail &&
        std::find(row.reasons.begin(), row.reasons.end(), "limit:equal_share") != row.reasons.end();
    const int64_t off = sums.count - sums.equal;
    if (!is_asked || off == 0) return;
    const auto first = first_difference(target, golden, context_);
    if (!first || !*first) return;
    // Of a complex number each part was counted.
    const bool is_complex = kind_of(golden.reader().dtype()) == DKind::kComplex;
    const std::string clause =
        difference_text(**first, golden.reader().shape(), is_complex ? 0 : off, sums.count);
    const size_t begin = row.message.find("equal_share ");
    const size_t end = std::min(row.message.find("; ", begin), row.message.size());
    if (begin != std::string::npos) row.message.insert(end, " (" + clause + ")");
  }

  // What fails the limits for float32 may still be all that can be had where the operators before
  // it work in 16 bits, or where the target holds 16 bits in wider files. That is known when all
  // rows are.
  void judge_by_profile(const judge::Profile& profile, const metrics::PairFacts& facts, Row& row) {
    row.target_shows = shown_by_target(facts);
    const judge::Limits* limits = &profile.for_pair(facts, options_.computed);
    const bool are_ids = profile.integer && limits == &*profile.integer;
    const bool are_wide = !facts.target_is_dequantized() && is_wide_float(facts.target_dtype) &&
                          is_wide_float(facts.golden_dtype);
    const bool are_pixels = facts.sums.t_whole && facts.sums.g_whole &&
                            judge::steps_of(facts) == judge::Steps::kOfPixels;
    if (are_wide && !are_ids && !are_pixels && profile.float32 && !options_.computed)
      limits = &*profile.float32;
    judge::judge(*limits, facts, options_.columns, row);
    if (profile.float32 && limits == &*profile.float32 && pair::gives_shares(row.target->type) &&
        pair::gives_shares(row.golden->type))
      judge::excuse_rounding_of_shares(facts, row);
    if (!profile.output.empty() && row.verdict == Verdict::kPass)
      judge_as_output(profile, *limits, facts, row);
    if (!profile.integer) judge::remark_on_ids(facts, row);
    if (are_ids && row.verdict == Verdict::kFail && kind_of(facts.target_dtype) == DKind::kFloat)
      row.message += "; whole numbers on both sides are compared as ids";
    if (!profile.float32 || limits != &*profile.float32 || row.verdict != Verdict::kFail) return;
    // What shows no narrower type may still lie behind an operator of one, in a network of several
    // types: that is what the general limits are for.
    using result::Shown;
    const bool is_brain =
        row.target_shows == Shown::kBFloat16 || row.target_shows == Shown::kBFloat16Grid;
    const bool is_narrow =
        is_brain || row.target_shows == Shown::kFloat16 || row.target_shows == Shown::kFloat16Grid;
    result::In16Bits in;
    in.float16 = passing(
        is_narrow ? profile.for_floats(DType::kFloat16, DType::kFloat16) : profile.any, facts, row);
    // A network of bfloat16 is coarser than the general limits; that it is one is told later.
    if (is_brain || (!is_narrow && !in.float16))
      in.bfloat16 = passing(profile.for_floats(DType::kBFloat16, DType::kBFloat16), facts, row);
    if (in.float16 || in.bfloat16)
      row.in_16_bits = std::make_shared<const result::In16Bits>(std::move(in));
  }

  // By other limits; nullopt unless the row passes.
  std::optional<result::Judgement> passing(const judge::Limits& limits,
                                           const metrics::PairFacts& facts, const Row& row) {
    Row relaxed = row;
    judge::judge(limits, facts, options_.columns, relaxed);
    if (relaxed.verdict != Verdict::kPass) return std::nullopt;
    return result::Judgement{relaxed.verdict, std::move(relaxed.reasons),
                             std::move(relaxed.message), std::move(relaxed.hint),
                             relaxed.suspicious};
  }

  // Whether it is one is known when all rows are.
  void judge_as_output(const judge::Profile& profile, const judge::Limits& limits,
                       const metrics::PairFacts& facts, Row& row) {
    Row inner = row;
    judge::Limits all = limits;
    all.limits.insert(all.limits.end(), profile.output.begin(), profile.output.end());
    judge::judge(all, facts, options_.columns, row);
    if (row.verdict != Verdict::kFail) return;
    for (const judge::Limit& limit : profile.output)
      inner.reasons.push_back(fmt::format("warning:{}", limit.metric->name));
    inner.message = row.message;
    row.if_inner = std::make_shared<const result::Judgement>(
        result::Judgement{inner.verdict, std::move(inner.reasons), std::move(inner.message),
                          std::move(inner.hint), true});
  }

  // Whether the limits were the profile's own.
  bool judge_by_floor(const judge::Limits& limits, const pair::PlannedRow& planned,
                      EntryReader& golden, const metrics::PairFacts& facts, Row& row) {
    const auto found = floor_of_.find(planned.golden);
    if (found == floor_of_.end()) {  // no noise to allow for
      judge::judge(limits, facts, options_.columns, row);
      row.message += row.message.empty() ? "" : "; ";
      row.message += "the second golden run has no such tensor: judged by the profile";
      return true;
    }
    auto other = EntryReader::open(*sides_.floor, *found->second, sides_.golden_hints, {}, &files_);
    const auto without = [&](std::string_view reason, std::string message) {
      leave_out(row, reason, std::move(message));
      return false;
    };
    if (!other) return without("damaged_file", in_words(other.error()));
    auto again = golden.again();
    if (!again) return without("damaged_file", in_words(again.error()));
    if (const auto obstacle = obstacle_of(*other, *again, planned.is_flat))
      return without(obstacle->reason,
                     "the second golden run against the first: " + obstacle->message);
    auto noise = gather(*other, *again, options_.request, context_);
    if (!noise) return without("damaged_file", in_words(noise.error()));
    if (!*noise) return without("interrupted", "");
    const auto floor = judge::floor_limits(facts, **noise);
    judge::judge(floor ? *floor : limits, facts, options_.columns, row);
    const auto distance = metrics::metric_by_name("rel_euclid")->finish(**noise);
    if (distance.is_defined() && distance.number() > kLargestNoise)
      doubt(row, "noise_floor",
            fmt::format("the second golden run differs from the first by rel_euclid {:.3g}; more "
                        "than {} says nothing about the target",
                        distance.number(), kLargestNoise));
    if (is_same_tensor(sides_.target, *planned.target, *sides_.floor, *found->second) ||
        has_same_errors(facts.sums, (*noise)->sums))
      doubt(row, "same_path", "the second golden run is the target itself");
    return !floor;
  }

  const Sides& sides_;
  const StreamOptions& options_;
  const FloorOf& floor_of_;
  dump::FileCache& files_;
  const RunContext& context_;
};

}  // namespace

void judge_pair(const Judging& with, const pair::PlannedRow& planned,
                const metrics::PairFacts& facts, const metrics::Closeness* closeness,
                EntryReader& target, EntryReader& golden, Row& row) {
  PairJudge(with).judge(planned, facts, closeness, target, golden, row);
}

}  // namespace plumb::compare
