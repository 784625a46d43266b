// SPDX-License-Identifier: Apache-2.0
//
// Threshold profiles and rule files: the limits that turn numbers into verdicts. They are data:
// TOML files, some of them inside the binary, others written by users. docs/verdicts.md describes
// the form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric.h"
#include "plumb/result.h"
#include "plumb/row.h"

namespace plumb::judge {

enum class Comparison : uint8_t { kAtLeast, kAbove, kAtMost, kBelow, kWithin };  // within: of 1

struct Limit {
  const metrics::Metric* metric;
  Comparison comparison;
  double bound;  // finite

  bool holds(double value) const;  // never for NaN
  bool operator==(const Limit&) const = default;
};
std::string to_string(const Limit& limit);  // "cosine >= 0.999", "norm_ratio within 0.02"

struct Limits {
  std::vector<Limit> limits;    // in the order of the file
  std::vector<Limit> warnings;  // broken, they make a passing row suspicious
  bool same_bytes = false;      // the types have to be the same too, and every byte
};

struct Profile {
  std::string name, summary, origin;
  Limits any;
  std::optional<Limits> float32;  // both sides float32 or wider, as their values show
  // The coarser side is of that type, the other one is a float as well.
  std::optional<Limits> float16, bfloat16;
  std::optional<Limits> integer;  // ids, indices, masks: whole numbers on both sides
  // Beyond `any`, for outputs of the model and for tensors of which no graph says that they are
  // not.
  std::vector<Limit> output;
  // A row that breaks limits is computed anew from what its operator read, see compare/inherited.h.
  bool recompute = false;

  std::vector<Limits*> sets();  // `any` and those for classes of types that are there
  std::vector<const Limits*> sets() const;

  // `computed`: what the target computed in whatever it is stored as, if somebody said so.
  const Limits& for_pair(const metrics::PairFacts& facts,
                         std::optional<DType> computed = std::nullopt) const;
  const Limits& for_floats(DType target, DType golden) const;
  // Where the values are not there to show a narrower type; nullopt if the type is not known.
  const Limits& for_types(std::optional<DType> target, std::optional<DType> golden) const;
};

struct BuiltInProfile {
  std::string_view name;
  std::string_view toml;
};
std::span<const BuiltInProfile> built_in_profiles();  // by name

// Which profile judges which tensor. The first rule that matches decides; the last matches all.
struct LimitRule {
  std::string op;    // shell pattern, see base/name_pattern.h
  std::string slot;  // "output:0", "output"; empty for all
  Profile profile;
};

struct LimitRules {
  std::string name;              // of the profile, or of the file
  std::vector<LimitRule> rules;  // at least one

  size_t index_for(const std::string& op, const std::string& slot) const;
  const Profile& for_tensor(const std::string& op, const std::string& slot) const {
    return rules[index_for(op, slot)].profile;
  }
  bool ask_for_same_bytes() const;  // any of them
  // A sentence for each rule but the last that no row of the run was judged by: a mistake in its
  // pattern would leave its operators to a laxer one.
  std::vector<std::string> unused(const result::Run& run) const;
  // True if a limit on the bulk is closer than what the first pass settles by a bound.
  bool are_tighter_than_bounds() const;
  // The limits of the last rule, which matches all, as a result tells them.
  std::vector<result::AppliedLimit> applied() const;
  // All that any of the limits and warnings needs, in the order of metrics::metrics().
  std::vector<const metrics::Metric*> metrics() const;
};

// A built-in profile by its name, or a file that ends in .toml.
Result<Profile> load_profile(const std::string& name_or_file);
// The rules of a file, or one profile for all if `rule_file` is empty.
Result<LimitRules> load_rules(const std::string& profile, const std::string& rule_file);

// From the text itself. Errors start with "line N, column M".
Result<Profile> parse_profile(std::string_view toml, std::string name);
// `folder`: where files that a rule names as its profile are looked for.
Result<std::vector<LimitRule>> parse_rules(std::string_view toml, const std::string& folder);

}  // namespace plumb::judge
