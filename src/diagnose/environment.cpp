// SPDX-License-Identifier: Apache-2.0
//
// The model was right, hardware or software were changed, and now it is not: what changed around it
// is the cause if both sides are the same platform and nothing in the data explains more. Whoever
// moves a model from one platform to another has other versions by design; then only packages that
// do not fit each other count.
#include <algorithm>

#include <fmt/format.h>

#include "diagnose/run_rule.h"

namespace plumb::diagnose {
namespace {

constexpr Threshold kEnvironmentTable[] = {
    {"misfit", 0.85, "confidence if packages do not name each other as compatible"},
    {"changed", 0.7, "... if driver, firmware, toolkit, converter or engine changed"},
    {"around", 0.35, "... if only processor, system or variables did"},
};
enum { kMisfit, kChanged, kAround };

bool is_software(const result::EnvironmentChange& change) {
  return !change.what.starts_with("machine.") && !change.what.starts_with("variable.");
}

// Of the many lines of a package the one that people know: "toolkit.version".
std::string_view role_of(std::string_view what) { return what.substr(0, what.find('.')); }
bool is_version(std::string_view what) {
  std::string key(what.substr(std::min(what.find('.') + 1, what.size())));
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return key == "version";
}

// A driver or toolkit that only one side has: a device against something else.
bool is_one_sided(const result::EnvironmentChange& change) {
  return (change.what.starts_with("driver.") || change.what.starts_with("toolkit.")) &&
         is_version(change.what) && (change.target.empty() || change.golden.empty());
}

bool is_same_platform(const result::Run& run) {
  const auto& changes = run.circumstances.changes;
  return run.scenario != "fusion-on-vs-off" && !run.target.convention.empty() &&
         run.target.convention == run.golden.convention &&
         std::none_of(changes.begin(), changes.end(), is_one_sided);
}

std::string change_text(const result::EnvironmentChange& change) {
  const auto value = [](const std::string& text) { return text.empty() ? "none" : text; };
  return fmt::format("{} {} instead of {}",
                     is_version(change.what) ? role_of(change.what) : change.what,
                     value(change.target), value(change.golden));
}

// The version of each package that has one, every line of what has none.
std::vector<const result::EnvironmentChange*> told(
    const std::vector<result::EnvironmentChange>& changes) {
  std::vector<const result::EnvironmentChange*> list;
  for (const result::EnvironmentChange& change : changes) {
    const bool is_told =
        std::any_of(changes.begin(), changes.end(), [&](const result::EnvironmentChange& other) {
          return role_of(other.what) == role_of(change.what) && is_version(other.what);
        });
    if (!is_told || is_version(change.what)) list.push_back(&change);
  }
  return list;
}

// Says what was done to the numbers, and not only where.
bool is_explained_by_data(const result::Finding& finding) {
  return finding.cause != "unknown" && finding.cause != "accumulated" &&
         (finding.cause != "operator" || !finding.detail.empty());
}

}  // namespace

extern const std::span<const Threshold> kEnvironmentThresholds;
const std::span<const Threshold> kEnvironmentThresholds = kEnvironmentTable;

std::optional<result::Finding> explain_environment(const RunCase& of) {
  const result::Circumstances& known = of.known();
  const auto misfits =
      std::count_if(known.fits.begin(), known.fits.end(),
                    [](const result::PackageFit& fit) { return fit.verdict == "does_not_fit"; });
  const bool is_same = is_same_platform(of.run);
  if (!of.differs || (misfits == 0 && (known.changes.empty() || !is_same))) return {};
  result::Finding finding;
  const bool has_software = std::any_of(known.changes.begin(), known.changes.end(), is_software);
  finding.confidence = kEnvironmentTable[misfits > 0    ? kMisfit
                                         : has_software ? kChanged
                                                        : kAround]
                           .value;
  if (!known.changes.empty()) {
    const auto list = told(known.changes);
    constexpr size_t kMost = 4;
    std::vector<std::string> texts;
    for (size_t i = 0; i < std::min(kMost, list.size()); ++i)
      texts.push_back(change_text(*list[i]));
    finding.evidence.push_back(
        {fmt::format("{} {} around the models: {}{}", list.size(),
                     list.size() == 1 ? "thing differs" : "things differ", fmt::join(texts, ", "),
                     list.size() > kMost ? ", ..." : ""),
         std::nullopt, "", static_cast<double>(list.size())});
  }
  for (const result::PackageFit& fit : known.fits)
    finding.evidence.push_back({fit.message, std::nullopt, "", static_cast<double>(misfits)});
  if (auto worst = worst_output(of.run)) finding.evidence.push_back(std::move(*worst));
  const auto best = std::find_if(of.found.begin(), of.found.end(), is_explained_by_data);
  const bool is_best = is_same && best == of.found.end();
  if (is_best && !of.found.empty() && of.found.front().cause != "unknown")
    finding.confidence = std::max(finding.confidence, of.found.front().confidence);
  if (!is_best && !of.found.empty())
    finding.confidence = std::min(finding.confidence, 0.6 * of.found.front().confidence);
  if (is_best && !of.found.empty() && !of.found.front().operator_name.empty())
    finding.evidence.push_back({fmt::format("it shows first in {}", of.found.front().operator_name),
                                std::nullopt, "", std::nullopt});
  finding.advice = misfits > 0
                       ? "Driver, firmware and toolkit of the target do not belong together: "
                         "install versions that name each other, then dump and compare again."
                       : "Run both sides in the same environment, or change one thing at a time: "
                         "what it is that changes the numbers shows then.";
  if (!is_best) finding.advice += " What the data show by themselves stands before this.";
  finding.next = "plumb env -o env.json";
  return finding;
}

}  // namespace plumb::diagnose
