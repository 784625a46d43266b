// SPDX-License-Identifier: Apache-2.0
//
// Environments held against each other, and packages against what they say that they work with:
// driver and toolkit name ranges of inner versions ("V100R001C18"), driver and firmware ranges of
// version numbers.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "scan/env.h"

namespace plumb::scan {
namespace {

constexpr std::string_view kVerdicts[] = {"fits", "does_not_fit", "unknown"};

// "V100R001C21SPC002B220" is a build of "V100R001C21"; others are as they are.
std::string_view base_of(std::string_view version) {
  const size_t c =
      version.rfind('C', version.find("SPC") == std::string_view::npos ? std::string_view::npos
                                                                       : version.find("SPC") - 1);
  if (!version.starts_with("V") || c == std::string_view::npos) return version;
  size_t end = c + 1;
  while (end < version.size() && std::isdigit(static_cast<unsigned char>(version[end]))) ++end;
  return version.substr(0, end);
}

// Digits as numbers, everything else as text: 24.1.rc3 < 24.1.rc10 < 24.2.
std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      uint64_t x = 0, y = 0;
      const auto read_a = std::from_chars(a.data(), a.data() + a.size(), x);
      const auto read_b = std::from_chars(b.data(), b.data() + b.size(), y);
      if (x != y) return x <=> y;
      a.remove_prefix(static_cast<size_t>(read_a.ptr - a.data()));
      b.remove_prefix(static_cast<size_t>(read_b.ptr - b.data()));
    } else {
      if (a.front() != b.front()) return a.front() <=> b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() <=> b.size();
}

std::string_view stripped(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<bool> names(const EnvPackage& who, std::string_view key, const std::string& version) {
  const std::string list = who.value(key);
  if (list.empty() || version.empty()) return std::nullopt;
  return names_version(list, version);
}

std::string words_for(std::optional<bool> named) {
  if (!named) return "has no list";
  return *named ? "names it" : "does not name it";
}

void tell(EnvFit& fit) {
  const char* verdict = fit.verdict == EnvFit::Verdict::kFits         ? "belong together"
                        : fit.verdict == EnvFit::Verdict::kDoesNotFit ? "do not belong together"
                                                                      : "may or may not fit";
  fit.message =
      fmt::format("{} {} and {} {} {}: the {} {}, the {} {}", fit.first, fit.first_version,
                  fit.second, fit.second_version, verdict, fit.first,
                  words_for(fit.first_names_second), fit.second, words_for(fit.second_names_first));
}

// The newer one knows the older one: either is enough.
EnvFit driver_and_toolkit(const EnvPackage& driver, const EnvPackage& toolkit) {
  EnvFit fit{"driver", toolkit.role, driver.version(), toolkit.version(), {}, {}, {}, {}};
  fit.first_names_second = names(driver, "compatible_version", toolkit.value("innerversion"));
  fit.second_names_first = names(toolkit, "compatible_version", driver.value("innerversion"));
  const auto is = [](std::optional<bool> named, bool what) { return named && *named == what; };
  if (is(fit.first_names_second, true) || is(fit.second_names_first, true))
    fit.verdict = EnvFit::Verdict::kFits;
  else if (is(fit.first_names_second, false) && is(fit.second_names_first, false))
    fit.verdict = EnvFit::Verdict::kDoesNotFit;
  else
    fit.verdict = EnvFit::Verdict::kUnknown;
  tell(fit);
  return fit;
}

// Each has to name the other.
EnvFit driver_and_firmware(const EnvPackage& driver, const EnvPackage& firmware) {
  EnvFit fit{"driver", "firmware", driver.version(), firmware.version(), {}, {}, {}, {}};
  fit.first_names_second = names(driver, "compatible_version_fw", firmware.value("version"));
  const std::string package = driver.value("package_version");
  fit.second_names_first =
      names(firmware, "compatible_version_drv", package.empty() ? driver.version() : package);
  const bool knows = fit.first_names_second || fit.second_names_first;
  fit.verdict = !knows ? EnvFit::Verdict::kUnknown
                : fit.first_names_second.value_or(true) && fit.second_names_first.value_or(true)
                    ? EnvFit::Verdict::kFits
                    : EnvFit::Verdict::kDoesNotFit;
  tell(fit);
  return fit;
}

// By name, with what is told of it.
using Facts = std::map<std::string, std::string>;

// Times and places say nothing about numbers.
bool is_idle(std::string_view key) {
  return key == "timestamp" || key == "path" || key.ends_with("_path") || key.ends_with("Path");
}

void add_package(const EnvPackage& package, Facts& facts) {
  for (const auto& [key, value] : package.values)
    if (!is_idle(key)) facts.insert_or_assign(package.role + "." + key, value);
}

Facts facts_of(const Environment& environment) {
  Facts facts;
  for (const EnvPackage& package : environment.packages)
    if (package.is_active) add_package(package, facts);
  for (const EnvEngine& engine : environment.engines)
    facts["engine." + engine.name] = engine.version;
  for (const auto& [key, value] : environment.machine) facts["machine." + key] = value;
  for (const auto& [key, value] : environment.variables) facts["variable." + key] = value;
  std::string devices;
  for (const std::string& device : environment.devices)
    devices += (devices.empty() ? "" : ", ") + device;
  if (!devices.empty()) facts["machine.devices"] = devices;
  if (!environment.device_tool.empty()) facts["machine.npu-smi"] = environment.device_tool;
  return facts;
}

size_t rank_of(const EnvChange& change) {
  constexpr std::array<std::string_view, 8> kOrder{"driver.", "firmware.", "toolkit.", "nnrt.",
                                                   "ops.",    "versions.", "engine.",  "variable."};
  for (size_t i = 0; i < kOrder.size(); ++i)
    if (change.what.starts_with(kOrder[i])) return i;
  return kOrder.size();
}

}  // namespace

std::string_view name_of(EnvFit::Verdict verdict) {
  return kVerdicts[static_cast<size_t>(verdict)];
}

bool names_version(std::string_view list, std::string_view version) {
  while (!list.empty()) {
    const size_t open = list.find('[');
    if (open == std::string_view::npos) return false;
    const size_t close = std::min(list.find(']', open), list.size());
    const std::string_view item = list.substr(open + 1, close - open - 1);
    list.remove_prefix(std::min(close + 1, list.size()));
    const size_t comma = item.find(',');
    const std::string_view low = stripped(item.substr(0, comma));
    if (low.empty()) continue;
    const std::string_view base = base_of(version);
    if (comma == std::string_view::npos) {
      if (base == low || version == low) return true;
      continue;
    }
    const std::string_view high = stripped(item.substr(comma + 1));
    // "[24.1,24.1.]" is 24.1 and all that begin with "24.1.".
    const bool is_prefix = high.ends_with('.') && high.substr(0, high.size() - 1) == low;
    if (is_prefix) {
      if (version == low || version.starts_with(high)) return true;
    } else if (compare_versions(base, low) >= 0 && compare_versions(base, high) <= 0) {
      return true;
    }
  }
  return false;
}

std::vector<EnvFit> fits_of(const Environment& environment) {
  std::vector<EnvFit> fits;
  const EnvPackage* driver = environment.active("driver");
  if (driver == nullptr) return fits;
  for (const std::string_view role : {"toolkit", "nnrt", "nnae"})
    if (const EnvPackage* package = environment.active(role))
      fits.push_back(driver_and_toolkit(*driver, *package));
  if (const EnvPackage* firmware = environment.active("firmware"))
    fits.push_back(driver_and_firmware(*driver, *firmware));
  return fits;
}

EnvDiff compare_environments(const Environment& target, const Environment& golden) {
  EnvDiff diff;
  const Facts own = facts_of(target), theirs = facts_of(golden);
  std::set<std::string> keys;
  for (const Facts* facts : {&own, &theirs})
    for (const auto& [key, value] : *facts) keys.insert(key);
  const auto value = [](const Facts& facts, const std::string& key) {
    const auto found = facts.find(key);
    return found == facts.end() ? std::string() : found->second;
  };
  for (const std::string& key : keys)
    if (value(own, key) != value(theirs, key))
      diff.changes.push_back({key, value(own, key), value(theirs, key)});
  std::stable_sort(diff.changes.begin(), diff.changes.end(),
                   [](const EnvChange& a, const EnvChange& b) { return rank_of(a) < rank_of(b); });
  diff.fits = fits_of(target);
  return diff;
}

}  // namespace plumb::scan
