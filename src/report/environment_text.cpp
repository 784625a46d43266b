// SPDX-License-Identifier: Apache-2.0
#include "report/environment_text.h"

#include <fmt/format.h>

#include "report/text.h"

namespace plumb::report {
namespace {

std::string fits_text(const std::vector<scan::EnvFit>& fits) {
  std::string text;
  for (const scan::EnvFit& fit : fits) text += printable(fit.message) + "\n";
  return text;
}

std::string titled(std::string_view title, std::string_view value) {
  return fmt::format("{:<12} {}\n", title, value);
}

}  // namespace

std::string environment_text(const scan::Environment& environment) {
  std::string text;
  if (environment.packages.empty())
    text = fmt::format("no Ascend software{}\n",
                       environment.root.empty() ? "" : " below " + printable(environment.root));
  for (const scan::EnvPackage& package : environment.packages)
    text +=
        fmt::format("{:<12} {:<24} {}{}\n", printable(package.role), printable(package.version()),
                    printable(package.path), package.is_active ? "" : " (not the one in use)");
  text += fits_text(scan::fits_of(environment));
  for (const std::string& device : environment.devices) text += titled("device", printable(device));
  for (const scan::EnvEngine& engine : environment.engines)
    text +=
        titled(engine.name, engine.version.empty() ? "not installed" : printable(engine.version));
  for (const auto& [key, value] : environment.machine)
    text += titled(printable(key), printable(value));
  for (const auto& [key, value] : environment.variables)
    text += fmt::format("{}={}\n", printable(key), printable(value));
  return text;
}

std::string environment_diff_text(const scan::EnvDiff& diff) {
  const auto shown = [](const std::string& value) {
    return value.empty() ? std::string("not there") : printable(value);
  };
  std::string text;
  for (const scan::EnvChange& change : diff.changes)
    text += fmt::format("{}: {} instead of {}\n", printable(change.what), shown(change.target),
                        shown(change.golden));
  text += fits_text(diff.fits);
  return text + (diff.is_same() ? "the same environment" : counted(diff.changes.size(), "change")) +
         "\n";
}

}  // namespace plumb::report
