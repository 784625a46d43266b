// SPDX-License-Identifier: Apache-2.0
#include "cli/tolerance_options.h"

#include <fmt/format.h>

#include "base/number_from_text.h"

namespace plumb::cli {

void ToleranceOptions::declare(Options& options) {
  options.text("--atol", "X", atol,
               "every element within X + R |golden|, as numpy's allclose:\nin place of the "
               "profile, or beside the one named");
  options.text("--rtol", "R", rtol, "... (each is 0 if only the other is given)");
}

Result<void> ToleranceOptions::set(std::optional<double>& absolute,
                                   std::optional<double>& relative) const {
  for (const auto& [option, text, value] :
       {std::tuple{"--atol", &atol, &absolute}, {"--rtol", &rtol, &relative}}) {
    if (text->empty()) continue;
    *value = number_from_text<double>(*text);
    if (!*value)
      return Error{"a number was expected", fmt::format("{} {}", option, *text),
                   fmt::format("for example {} 0.01", option)};
  }
  return {};
}

}  // namespace plumb::cli
