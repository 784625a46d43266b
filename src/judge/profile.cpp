// SPDX-License-Identifier: Apache-2.0
#include "judge/profile.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/name_pattern.h"
#include "base/nearest.h"
#include "base/toml_text.h"
#include "judge/steps.h"
#include "metrics/bulk_sums.h"
#include "metrics/decoded_pairs.h"
#include "metrics/resolution.h"
#include "metrics/slice_sums.h"

namespace plumb::judge {
namespace {

struct Operator {
  std::string_view word;
  Comparison comparison;
};
constexpr std::array kOperators{
    Operator{">=", Comparison::kAtLeast},    Operator{">", Comparison::kAbove},
    Operator{"<=", Comparison::kAtMost},     Operator{"<", Comparison::kBelow},
    Operator{"within", Comparison::kWithin},
};

std::string_view word_of(Comparison comparison) {
  return std::find_if(kOperators.begin(), kOperators.end(),
                      [&](const Operator& o) { return o.comparison == comparison; })
      ->word;
}

template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& line : table) names.emplace_back(line.name);
  return names;
}

// Limits for classes of types: [limits.NAME].
struct Class {
  std::string_view name;
  std::optional<Limits> Profile::*limits;
};
constexpr std::array kClasses{
    Class{"float32", &Profile::float32}, Class{"float16", &Profile::float16},
    Class{"bfloat16", &Profile::bfloat16}, Class{"integer", &Profile::integer}};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Reads tables and remembers the first complaint, so that the code follows the form of the file.
class TableReader {
 public:
  const std::optional<Error>& error() const { return error_; }

  void fail(const toml::source_region& source, std::string what, std::string remedy) {
    if (!error_) error_ = Error{std::move(what), place(source), std::move(remedy)};
  }
  void fail(const toml::source_region& source, Error inner) {
    if (!error_) error_ = std::move(inner).in(place(source));
  }

  struct Item {
    const toml::key* key;
    const toml::node* value;

    std::string_view name() const { return key->str(); }
    const toml::source_region& key_source() const { return key->source(); }
    const toml::source_region& value_source() const { return value->source(); }
  };
  // In the order of the file, which decides the order of the reasons in a verdict.
  static std::vector<Item> items_of(const toml::table& table) {
    std::vector<Item> items;
    for (auto&& [key, value] : table) items.push_back({&key, &value});
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return a.key_source().begin < b.key_source().begin;
    });
    return items;
  }

  std::string text(const Item& item) {
    if (const auto* value = item.value->as_string()) return value->get();
    fail(item.value_source(), fmt::format("'{}' is not a text", item.name()),
         fmt::format("write it in quotes: {} = \"...\"", item.name()));
    return {};
  }

  bool flag(const Item& item) {
    if (const auto* value = item.value->as_boolean()) return value->get();
    fail(item.value_source(), fmt::format("'{}' is not true or false", item.name()),
         fmt::format("write {} = true", item.name()));
    return false;
  }

  // True if it was one of the keys that profiles and rules share.
  bool read_limits(const Item& item, Profile& profile) {
    if (item.name() == "same_bytes") {
      profile.any.same_bytes = flag(item);
    } else if (item.name() == "recompute") {
      profile.recompute = flag(item);
    } else if (item.name() == "warnings") {
      profile.any.warnings = limits_of(item, &profile, &TableReader::read_warnings);
    } else if (item.name() == "limits") {
      profile.any.limits = limits_of(item, &profile, &TableReader::read_class);
    } else {
      return false;
    }
    return true;
  }

  void unknown_key(const Item& item, std::vector<std::string> known) {
    if (item.name() == "rule")
      return fail(item.key_source(), "this is a rule file, not a profile", "pass it with --rules");
    fail(item.key_source(), fmt::format("unknown key '{}'", item.name()),
         fmt::format("{}known here: {}", did_you_mean(item.name(), known), fmt::join(known, ", ")));
  }

 private:
  // With `profile`, tables for classes of types may be inside.
  using ReadClass = void (TableReader::*)(const Item&, Profile&);
  std::vector<Limit> limits_of(const Item& item, Profile* profile = nullptr,
                               ReadClass read = nullptr) {
    std::vector<Limit> limits;
    const toml::table* table = item.value->as_table();
    if (table == nullptr) {
      fail(item.value_source(), fmt::format("'{}' is not a table", item.name()),
           fmt::format("write [{}] and below it cosine = \">= 0.999\"", item.name()));
      return limits;
    }
    for (const Item& entry : items_of(*table)) {
      if (profile != nullptr && entry.value->is_table())
        (this->*read)(entry, *profile);
      else if (auto limit = limit_of(entry))
        limits.push_back(*limit);
    }
    if (limits.empty())
      fail(item.key_source(), fmt::format("'{}' has no limits", item.name()),
           "a profile without limits would pass everything: add one, e.g. cosine = \">= 0.999\"");
    return limits;
  }

  void read_class(const Item& item, Profile& profile) {
    for (const Class& one : kClasses)
      if (item.name() == one.name) {
        (profile.*one.limits).emplace().limits = limits_of(item);
        return;
      }
    if (item.name() == "output") {
      profile.output = limits_of(item);
      return;
    }
    std::vector<std::string> known = names_in(kClasses);
    known.emplace_back("output");
    unknown_key(item, std::move(known));
  }

  void read_warnings(const Item& item, Profile& profile) {
    for (const Class& one : kClasses) {
      if (item.name() != one.name) continue;
      if (!(profile.*one.limits))
        return fail(item.key_source(), fmt::format("warnings for {}, but no limits", one.name),
                    fmt::format("write [limits.{}] before them", one.name));
      (profile.*one.limits)->warnings = limits_of(item);
      return;
    }
    unknown_key(item, names_in(kClasses));
  }

  std::optional<Limit> limit_of(const Item& item) {
    const std::string name(item.name());
    const metrics::Metric* metric = metrics::metric_by_name(name);
    if (metric == nullptr) {
      fail(item.key_source(), fmt::format("unknown metric '{}'", name),
           did_you_mean(name, names_in(metrics::metrics())) + "`plumb metrics` lists all of them");
      return std::nullopt;
    }
    const toml::source_region& source = item.value_source();
    const auto* value = item.value->as_string();
    if (value == nullptr) {
      fail(source, fmt::format("limit of '{}' is not a text", name),
           "write the comparison too, in quotes: cosine = \">= 0.999\"");
      return std::nullopt;
    }
    const std::string_view text = trimmed(value->get());
    const size_t symbols = std::min(text.find_first_not_of("<>=!~"), text.size());
    const size_t letters =
        std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), text.size());
    const std::string_view word = text.substr(0, std::max(symbols, letters));
    const std::string_view number = trimmed(text.substr(word.size()));

    const auto known = std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](const Operator& o) { return o.word == word; });
    if (known == kOperators.end()) {
      std::vector<std::string> words;
      for (const Operator& o : kOperators) words.emplace_back(o.word);
      fail(source, fmt::format("unknown comparison '{}' in the limit of '{}'", word, name),
           fmt::format("{}known are {}", did_you_mean(word, words), fmt::join(words, ", ")));
      return std::nullopt;
    }
    double bound = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), bound);
    if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size() ||
        !std::isfinite(bound)) {
      fail(source, fmt::format("'{}' in the limit of '{}' is not a finite number", number, name),
           fmt::format("write it as in \"{} 0.01\"", word));
      return std::nullopt;
    }
    const Limit limit{metric, known->comparison, bound};
    if (const char* remedy = contradiction(limit)) {
      fail(source, fmt::format("limit '{}' makes no sense", to_string(limit)), remedy);
      return std::nullopt;
    }
    return limit;
  }

  // A limit on the wrong side would pass what is broken and fail what is good.
  static const char* contradiction(const Limit& limit) {
    using metrics::Better;
    const bool from_below =
        limit.comparison == Comparison::kAtLeast || limit.comparison == Comparison::kAbove;
    const bool within = limit.comparison == Comparison::kWithin;
    if (within && limit.metric->better != Better::kNearOne)
      return "'within' is a distance from 1, for ratios such as norm_ratio; use >= or <=";
    if (within && limit.bound < 0) return "a distance is not negative";
    if (limit.metric->better == Better::kHigher && !from_below)
      return "this metric is good when it is high: use >= or >";
    if (limit.metric->better == Better::kLower && from_below)
      return "this metric is good when it is low: use <= or <";
    return nullptr;
  }

  std::optional<Error> error_;
};

template <class AnyProfile>
auto sets_of(AnyProfile& profile) {
  std::vector<decltype(&profile.any)> sets{&profile.any};
  for (const Class& one : kClasses)
    if (auto& set = profile.*one.limits) sets.push_back(&*set);
  return sets;
}

// What holds for all classes of types, unless they have their own.
void spread(Profile& profile) {
  for (Limits* set : profile.sets()) {
    if (set->warnings.empty()) set->warnings = profile.any.warnings;
    set->same_bytes = profile.any.same_bytes;
  }
}

LimitRule read_rule(TableReader& reader, const toml::table& table, const std::string& folder) {
  LimitRule rule;
  std::optional<TableReader::Item> profile;
  for (const TableReader::Item& item : TableReader::items_of(table)) {
    if (item.name() == "op")
      rule.op = reader.text(item);
    else if (item.name() == "slot")
      rule.slot = reader.text(item);
    else if (item.name() == "profile")
      profile.emplace(item);
    else if (!reader.read_limits(item, rule.profile))
      reader.unknown_key(
          item, {"op", "slot", "profile", "limits", "warnings", "same_bytes", "recompute"});
  }
  const toml::source_region& here = table.source();
  const bool has_limits = table.contains("limits");
  if (rule.op.empty())
    reader.fail(here, "rule does not say which operators it is for",
                "add op = \"conv*\", or op = \"*\" for all");
  if (!profile && !has_limits)
    reader.fail(here, "rule has neither limits nor a profile",
                "add profile = \"standard\", or limits of its own");
  if (profile && (has_limits || table.contains("warnings") || table.contains("same_bytes")))
    reader.fail(here, "rule has limits of its own and a profile",
                "leave one out: it is not obvious which should win");
  if (!profile) {
    rule.profile.name = rule.op + (rule.slot.empty() ? "" : " " + rule.slot);
    spread(rule.profile);
    return rule;
  }
  std::string name = reader.text(*profile);
  if (reader.error()) return rule;
  if (name.ends_with(".toml")) name = (std::filesystem::path(folder) / name).string();
  auto loaded = load_profile(name);
  if (loaded)
    rule.profile = std::move(*loaded);
  else
    reader.fail(profile->value_source(), std::move(loaded.error()));
  return rule;
}

bool is_catch_all(const LimitRule& rule) { return rule.op == "*" && rule.slot.empty(); }

bool is_wide_float(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

bool is_index(DType dtype) { return kind_of(dtype) == DKind::kInteger && bits_of(dtype) >= 32; }

bool is_whole(DType dtype) {
  return kind_of(dtype) == DKind::kInteger || kind_of(dtype) == DKind::kBool;
}

// Whole numbers that only happen to be whole: too large for the type to be anything else.
bool happen_to_be_whole(DType dtype, bool fits_half, double min, double max) {
  const double largest = std::max(std::abs(min), std::abs(max));
  const bool all_large = std::min(std::abs(min), std::abs(max)) >= 0x1p10 && (min > 0) == (max > 0);
  return largest >= metrics::only_whole_from(dtype) || (fits_half && all_large);
}

bool may_be_off_by_one(const metrics::PairSums& s) {
  return s.finite > 0 && s.abs_max <= 1 &&
         std::abs(s.t_sum - s.g_sum) < static_cast<double>(s.finite);
}

// Those of floats may have had a mean taken away.
bool are_pixels(const metrics::PairFacts& facts) {
  const metrics::PairSums& s = facts.sums;
  const bool are_floats =
      kind_of(facts.target_dtype) == DKind::kFloat && kind_of(facts.golden_dtype) == DKind::kFloat;
  const double range = s.g_max - s.g_min;
  return facts.has_shape_of_picture && (s.g_min >= 0 || are_floats) && s.g_max <= 255 &&
         s.g_min >= -255 && range >= 32 && range <= 255;
}

// Ids, indices, counts, masks: whole on both sides. Pixels may be rounded the other way.
bool are_ids(const metrics::PairFacts& facts) {
  const metrics::PairSums& s = facts.sums;
  const DType target = facts.target_dtype, golden = facts.golden_dtype;
  if (facts.are_ids) return *facts.are_ids;
  if (facts.target_is_dequantized()) return false;
  if (are_exact(target, golden)) return true;
  if (kind_of(target) == DKind::kComplex || s.finite == 0) return false;
  if (steps_of(facts) != Steps::kNone) return false;
  if (is_whole(target) || is_whole(golden)) return true;
  return s.t_whole && s.g_whole && !s.t_all_zero() && !s.g_all_zero() &&
         !happen_to_be_whole(target, s.t_fits_half, s.t_min, s.t_max) &&
         !happen_to_be_whole(golden, s.g_fits_half, s.g_min, s.g_max);
}

}  // namespace

bool are_exact(DType target, DType golden) {
  const bool both_bool = target == DType::kBool && golden == DType::kBool;
  return both_bool || (is_index(target) && is_index(golden));
}

Steps steps_of(const metrics::PairFacts& facts) {
  const metrics::PairSums& s = facts.sums;
  const DType target = facts.target_dtype, golden = facts.golden_dtype;
  const bool are_integers = kind_of(target) == DKind::kInteger && target == golden;
  // Known by a graph: a step may be any number, deep in a network.
  if (facts.are_ids == false && are_integers) return Steps::kOfCodes;
  if (facts.are_ids.value_or(false) || !may_be_off_by_one(s)) return Steps::kNone;
  if (are_pixels(facts)) return Steps::kOfPixels;
  // Ids are not negative: these are codes of a quantized tensor.
  const bool are_codes = are_integers && bits_of(target) <= 8 && s.g_min < 0 &&
                         static_cast<double>(s.equal) >= 0.8 * static_cast<double>(s.count);
  return are_codes ? Steps::kOfCodes : Steps::kNone;
}

bool Limit::holds(double value) const {
  switch (comparison) {
    case Comparison::kAtLeast: return value >= bound;
    case Comparison::kAbove: return value > bound;
    case Comparison::kAtMost: return value <= bound;
    case Comparison::kBelow: return value < bound;
    case Comparison::kWithin: return std::abs(value - 1) <= bound;
  }
  return false;
}

std::vector<result::AppliedLimit> LimitRules::applied() const {
  std::vector<result::AppliedLimit> applied;
  const auto add = [&](const Limits& limits, std::string_view dtype) {
    for (const Limit& limit : limits.limits)
      applied.push_back({std::string(limit.metric->name), std::string(word_of(limit.comparison)),
                         limit.bound, std::string(dtype)});
  };
  const Profile& profile = rules.back().profile;
  add(profile.any, "");
  for (const Class& one : kClasses)
    if (const std::optional<Limits>& limits = profile.*one.limits) add(*limits, one.name);
  add({profile.output, {}}, "output");
  return applied;
}

std::string to_string(const Limit& limit) {
  return fmt::format("{} {} {}", limit.metric->name, word_of(limit.comparison), limit.bound);
}

std::vector<Limits*> Profile::sets() { return sets_of(*this); }
std::vector<const Limits*> Profile::sets() const { return sets_of(*this); }

const Limits& Profile::for_pair(const metrics::PairFacts& facts,
                                std::optional<DType> computed) const {
  if (integer && are_ids(facts)) return *integer;
  // An integer of eight bits is no finer for having been read as float32, nor is a pixel.
  const bool are_whole = facts.sums.t_whole && facts.sums.g_whole;
  if (facts.target_is_dequantized() || (are_whole && steps_of(facts) != Steps::kNone)) return any;
  if (!computed)
    return for_floats(metrics::shown_target_dtype(facts.target_dtype, facts.sums),
                      metrics::shown_golden_dtype(facts.golden_dtype, facts.sums));
  // What values happen to show is no excuse for more than that.
  const DType target = metrics::part_of(facts.target_dtype);
  const bool is_float = kind_of(target) == DKind::kFloat;
  return for_floats(is_float ? metrics::coarser_of(target, *computed) : target,
                    metrics::part_of(facts.golden_dtype));
}

const Limits& Profile::for_floats(DType target, DType golden) const {
  if (kind_of(target) != DKind::kFloat || kind_of(golden) != DKind::kFloat) return any;
  const DType coarser = metrics::coarser_of(target, golden);
  const std::optional<Limits>* own = nullptr;
  if (is_wide_float(coarser)) own = &float32;
  if (coarser == DType::kFloat16) own = &float16;
  if (coarser == DType::kBFloat16) own = &bfloat16;
  return own != nullptr && *own ? **own : any;
}

// Records do not show whether what is stored as float32 was narrower once.
const Limits& Profile::for_types(std::optional<DType> target, std::optional<DType> golden) const {
  if (!target || !golden) return any;
  if (are_exact(*target, *golden)) return integer ? *integer : any;
  return is_wide_float(*target) && is_wide_float(*golden) ? any : for_floats(*target, *golden);
}

std::vector<std::string> LimitRules::unused(const result::Run& run) const {
  if (rules.size() < 2) return {};  // the last one takes what is left
  std::vector<bool> used(rules.size());
  for (const result::Row& row : run.rows)
    used[index_for(row.any_side().operator_name, row.any_side().slot)] = true;
  std::vector<std::string> sentences;
  for (size_t i = 0; i + 1 < used.size(); ++i)
    if (!used[i])
      sentences.push_back(fmt::format("rule {} ('{}') matches no operator", i + 1, rules[i].op));
  return sentences;
}

bool LimitRules::ask_for_same_bytes() const {
  return std::any_of(rules.begin(), rules.end(),
                     [](const LimitRule& rule) { return rule.profile.any.same_bytes; });
}

bool LimitRules::are_tighter_than_bounds() const {
  const auto is_tight = [](const Limit& limit) {
    const double usual = limit.metric->slices                ? metrics::kSmallRatio
                         : limit.metric->name == "off_share" ? 0.2
                                                             : 0.1;
    return limit.metric->needs == &metrics::kBulkSums && limit.bound < usual;
  };
  const auto any_tight = [&](const Limits& limits) {
    return std::any_of(limits.limits.begin(), limits.limits.end(), is_tight) ||
           std::any_of(limits.warnings.begin(), limits.warnings.end(), is_tight);
  };
  return std::any_of(rules.begin(), rules.end(), [&](const LimitRule& rule) {
    const auto sets = rule.profile.sets();
    return std::any_of(sets.begin(), sets.end(),
                       [&](const Limits* set) { return any_tight(*set); });
  });
}

size_t LimitRules::index_for(const std::string& op, const std::string& slot) const {
  for (size_t i = 0; i < rules.size(); ++i)
    if (operator_matches(rules[i].op, op) &&
        (rules[i].slot.empty() || slot_matches(rules[i].slot, slot)))
      return i;
  return rules.size() - 1;
}

std::vector<const metrics::Metric*> LimitRules::metrics() const {
  std::vector<const metrics::Metric*> wanted;
  const auto add = [&](const Limits& set) {
    for (const Limit& limit : set.limits) wanted.push_back(limit.metric);
    for (const Limit& limit : set.warnings) wanted.push_back(limit.metric);
    if (!set.same_bytes) return;
    for (const char* metric : {"equal_share", "target_crc32", "golden_crc32"})
      wanted.push_back(metrics::metric_by_name(metric));
  };
  for (const LimitRule& rule : rules) {
    add(rule.profile.any);
    for (const Class& one : kClasses)
      if (rule.profile.*one.limits) add(*(rule.profile.*one.limits));
    add({rule.profile.output, {}, false});
  }
  std::vector<const metrics::Metric*> ordered;
  for (const metrics::Metric& metric : metrics::metrics())
    if (std::find(wanted.begin(), wanted.end(), &metric) != wanted.end())
      ordered.push_back(&metric);
  return ordered;
}

Result<Profile> parse_profile(std::string_view text, std::string name) {
  auto table = parse_toml(text);
  if (!table) return table.error();
  Profile profile;
  profile.name = std::move(name);
  TableReader reader;
  for (const TableReader::Item& item : TableReader::items_of(*table)) {
    if (item.name() == "summary")
      profile.summary = reader.text(item);
    else if (item.name() == "origin")
      profile.origin = reader.text(item);
    else if (!reader.read_limits(item, profile))
      reader.unknown_key(item,
                         {"summary", "origin", "same_bytes", "recompute", "limits", "warnings"});
  }
  if (!table->contains("limits"))
    reader.fail(table->source(), "profile has no limits",
                "add [limits] and below it, for example, cosine = \">= 0.999\"");
  if (reader.error()) return *reader.error();
  spread(profile);
  return profile;
}

Result<std::vector<LimitRule>> parse_rules(std::string_view text, const std::string& folder) {
  auto table = parse_toml(text);
  if (!table) return table.error();
  TableReader reader;
  std::vector<LimitRule> rules;
  const toml::array* tables = nullptr;
  for (const TableReader::Item& item : TableReader::items_of(*table)) {
    if (item.name() == "rule")
      tables = item.value->as_array();
    else if (item.name() == "limits")
      reader.fail(item.key_source(), "this is a profile, not a rule file",
                  "pass it with --profile");
    else
      reader.unknown_key(item, {"rule"});
  }
  if (tables == nullptr || tables->empty() || !tables->is_homogeneous<toml::table>())
    reader.fail(table->source(), "file has no rules",
                "write a table [[rule]] for each, the last with op = \"*\"");
  for (size_t i = 0; !reader.error() && i < tables->size(); ++i) {
    const toml::table& rule = *(*tables)[i].as_table();
    const bool last = i + 1 == tables->size();
    rules.push_back(read_rule(reader, rule, folder));
    if (is_catch_all(rules.back()) && !last)
      reader.fail(rule.source(), "rule matches everything, so the rules below it are never used",
                  "put it last");
    if (!is_catch_all(rules.back()) && last)
      reader.fail(rule.source(), "the last rule does not match everything",
                  "end with a [[rule]] that has op = \"*\", no slot, and profile = \"standard\"");
  }
  if (reader.error()) return *reader.error();
  return rules;
}

Result<Profile> load_profile(const std::string& name_or_file) {
  for (const BuiltInProfile& built_in : built_in_profiles())
    if (built_in.name == name_or_file)
      return parse_profile(built_in.toml, std::string(built_in.name));
  if (!name_or_file.ends_with(".toml"))
    return Error{fmt::format("unknown profile '{}'", name_or_file), "",
                 did_you_mean(name_or_file, names_in(built_in_profiles())) +
                     "`plumb profiles` lists them; a file of your own ends in .toml"};
  auto file = MappedFile::open(name_or_file, /*map=*/false);
  if (!file) return file.error();
  auto profile = parse_profile(as_text(file->bytes()), name_or_file);
  if (!profile) return std::move(profile.error()).in(name_or_file);
  return profile;
}

Result<LimitRules> load_rules(const std::string& profile, const std::string& rule_file) {
  if (rule_file.empty()) {
    auto loaded = load_profile(profile);
    if (!loaded) return loaded.error();
    return LimitRules{profile, {LimitRule{"*", "", std::move(*loaded)}}};
  }
  auto file = MappedFile::open(rule_file, /*map=*/false);
  if (!file) return file.error();
  auto rules =
      parse_rules(as_text(file->bytes()), std::filesystem::path(rule_file).parent_path().string());
  if (!rules) return std::move(rules.error()).in(rule_file);
  return LimitRules{rule_file, std::move(*rules)};
}

}  // namespace plumb::judge
