// SPDX-License-Identifier: Apache-2.0
//
// An operator that works or stores in a narrower type than the network around it.
#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

constexpr double kRoundings = 6;
constexpr Threshold kPrecisionTable[] = {
    {"roundings", kRoundings, "how many times one rounding to that type the error may be"},
};

struct Narrow {
  std::string_view name;
  int bits;         // of the significand, the leading one left out
  double rounding;  // relative error of one
};
constexpr Narrow kNarrow[] = {{"bfloat16", 7, 1.7e-3}, {"float16", 10, 2.1e-4}};

bool fits_in_bits(double value, int bits) {
  const auto word = std::bit_cast<uint64_t>(value);
  return (word & ((uint64_t{1} << (52 - bits)) - 1)) == 0;
}

// The narrowest type that holds all values of the target, though they are no round numbers.
const Narrow* shown_by(const std::vector<double>& values) {
  for (const Narrow& narrow : kNarrow) {
    const bool all = std::all_of(values.begin(), values.end(),
                                 [&](double value) { return fits_in_bits(value, narrow.bits); });
    // Whole numbers, halves and powers of two fit everything.
    const auto fine = std::count_if(values.begin(), values.end(), [&](double value) {
      return !fits_in_bits(value, narrow.bits - 3);
    });
    if (all && fine * 4 > std::ssize(values)) return &narrow;
  }
  return nullptr;
}

std::string_view usual_type(const Net& net) {
  std::string_view usual;
  int64_t most = 0;
  for (const auto& [dtype, count] : net.output_types)
    if (usual.empty() || count > most) usual = dtype, most = count;
  return usual;
}

const Narrow* narrow_by_name(std::string_view name) {
  for (const Narrow& narrow : kNarrow)
    if (narrow.name == name) return &narrow;
  return nullptr;
}

}  // namespace

extern const std::span<const Threshold> kPrecisionThresholds;
const std::span<const Threshold> kPrecisionThresholds = kPrecisionTable;

std::optional<result::Finding> explain_precision(const Suspect& suspect) {
  const std::string& own = suspect.its_row().target->dtype;
  const std::string_view usual = usual_type(suspect.of.net);
  const Narrow* narrow = narrow_by_name(own);
  const bool is_stored = narrow != nullptr && own != usual;
  // bfloat16 has fewer digits than float16.
  const bool is_wide = own == "float32" || own == "float64" || own == "float16";
  if (!is_stored && is_wide && suspect.values != nullptr) narrow = shown_by(suspect.values->target);
  if (narrow == nullptr || (!is_stored && !is_wide)) return {};
  const Narrow* around = narrow_by_name(usual);
  if (around != nullptr && around->bits <= narrow->bits) return {};  // the network is no better
  if (suspect.root.out > kRoundings * narrow->rounding + 2 * suspect.root.in) return {};
  result::Finding finding = finding_about(suspect, suspect.root.is_behind ? 0.5 : 0.9);
  finding.detail = narrow->name;
  finding.evidence.push_back(evidence_of(
      suspect,
      fmt::format("its output {} {}, the network works in {}; one rounding to it costs {}",
                  is_stored ? "is stored as" : "holds only values of", narrow->name, usual,
                  short_text(narrow->rounding)),
      "", narrow->rounding));
  finding.advice = fmt::format(
      "{} works in {}. Keep it in {} (atc: --keep_dtype=FILE with its name, --modify_mixlist=FILE, "
      "or "
      "--precision_mode_v2=origin for all).",
      suspect.accused, narrow->name, usual);
  finding.next = convert_command(suspect);
  return finding;
}

}  // namespace plumb::diagnose
