// SPDX-License-Identifier: Apache-2.0
#include "guide/circumstances.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_from_text.h"
#include "scan/env.h"

namespace plumb::guide {
namespace {

Result<void> add_environments(const CircumstanceOptions& options, result::Circumstances& known) {
  if (options.target_env.empty() && options.golden_env.empty()) return {};
  if (options.target_env.empty() || options.golden_env.empty())
    return Error{"one environment alone tells nothing",
                 fmt::format("{} is not given",
                             options.target_env.empty() ? "--target-env" : "--golden-env"),
                 "give both --target-env and --golden-env, as plumb env -o writes them"};
  scan::Environment sides[2];
  for (const bool is_golden : {false, true}) {
    const std::string& path = is_golden ? options.golden_env : options.target_env;
    const char* option = is_golden ? "--golden-env" : "--target-env";
    auto loaded = scan::load_environment(path);
    if (!loaded) return std::move(loaded.error()).in(option);
    sides[is_golden ? 1 : 0] = std::move(*loaded);
  }
  const scan::EnvDiff diff = scan::compare_environments(sides[0], sides[1]);
  for (const scan::EnvChange& change : diff.changes)
    known.changes.push_back({change.what, change.target, change.golden});
  for (const scan::EnvFit& fit : diff.fits)
    known.fits.push_back({std::string(scan::name_of(fit.verdict)), fit.message});
  return {};
}

Result<void> add_shares(const CircumstanceOptions& options, result::Circumstances& known) {
  struct Given {
    const char* name;
    const std::string& text;
    std::optional<double>& share;
  };
  const Given given[] = {{"--topn-float", options.topn_float, known.topn_float},
                         {"--topn-quant", options.topn_quant, known.topn_quant},
                         {"--topn-offline", options.topn_offline, known.topn_offline}};
  const Given* percent = nullptr;
  const Given* share = nullptr;
  for (const Given& each : given) {
    if (each.text.empty()) continue;
    bool is_percent = false;
    auto value = share_from(each.text, each.name, &is_percent);
    if (!value) return value.error();
    each.share = *value;
    // What has no sign is told by its size: 0.9 beside 76 may be either.
    if (!each.text.ends_with('%') && *value > 0 && *value < 1)
      (is_percent ? percent : share) = &each;
  }
  if (percent != nullptr && share != nullptr)
    return Error{
        "percent or share?",
        fmt::format("{} {} beside {} {}", share->name, share->text, percent->name, percent->text),
        "write both as percent (76.1%) or both as shares (0.761)"};
  return {};
}

}  // namespace

Result<double> share_from(const std::string& text, const std::string& name, bool* is_percent) {
  std::string_view digits = text;
  const bool has_sign = digits.ends_with('%');
  if (has_sign) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  const auto value = number_from_text<double>(digits);
  if (!value || !(*value >= 0) || *value > 100)
    return Error{fmt::format("'{}' is no share", text), fmt::format("{} {}", name, text),
                 "give percent or a share: 76.1, 76.1% or 0.761"};
  const bool percent = has_sign || *value > 1;
  if (is_percent != nullptr) *is_percent = percent;
  return percent ? *value / 100 : *value;
}

Result<int64_t> count_from(const std::string& text, const std::string& name, int64_t least) {
  const auto value = number_from_text<int64_t>(text);
  if (!value || *value < least)
    return Error{fmt::format("'{}' is no number of samples", text),
                 fmt::format("{} {}", name, text),
                 fmt::format("give a whole number, {} or more", least)};
  return *value;
}

Result<result::Circumstances> circumstances_from(const CircumstanceOptions& options) {
  result::Circumstances known;
  if (auto added = add_environments(options, known); !added) return added.error();
  if (auto added = add_shares(options, known); !added) return added.error();
  if (!options.topn_samples.empty()) {
    auto count = count_from(options.topn_samples, "--topn-samples", 1);
    if (!count) return count.error();
    known.topn_samples = *count;
  }
  if (!options.calibration_size.empty()) {
    auto count = count_from(options.calibration_size, "--calibration-size", 0);
    if (!count) return count.error();
    known.calibration_size = *count;
  }
  return known;
}

void add_circumstances(const result::Circumstances& told, result::Circumstances& known) {
  // The same line of both is told once: an environment that a result has already is the same one.
  for (const result::EnvironmentChange& change : told.changes)
    if (std::find(known.changes.begin(), known.changes.end(), change) == known.changes.end())
      known.changes.push_back(change);
  if (!told.fits.empty()) known.fits = told.fits;
  const auto take = [](const auto& from, auto& into) {
    if (from) into = from;
  };
  take(told.topn_float, known.topn_float);
  take(told.topn_quant, known.topn_quant);
  take(told.topn_offline, known.topn_offline);
  take(told.topn_samples, known.topn_samples);
  take(told.calibration_size, known.calibration_size);
}

}  // namespace plumb::guide
