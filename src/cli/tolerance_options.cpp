// SPDX-License-Identifier: Apache-2.0
#include "cli/tolerance_options.h"

#include <charconv>

#include <fmt/format.h>

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
    double number = 0;
    const char* end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, number);
    if (read.ec != std::errc() || read.ptr != end)
      return Error{"a number was expected", fmt::format("{} {}", option, *text),
                   fmt::format("for example {} 0.01", option)};
    *value = number;
  }
  return {};
}

}  // namespace plumb::cli
