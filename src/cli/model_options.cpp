// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.h"

#include <fmt/format.h>

namespace plumb::cli {

Result<input::Samples> open_samples(InputOptions options, const std::vector<engine::Port>& ports,
                                    const CommonOptions& common) {
  const bool is_random = options.inputs.empty();
  if (is_random && options.seed.empty()) options.seed = "0";
  auto samples = options.samples(ports);
  if (!samples) return samples;
  for (const std::string& warning : samples->warnings()) print_warning(warning);
  if (is_random && !ports.empty() && !common.quiet)
    print_warning(fmt::format(
        "no --input: the model is fed random numbers (seed {}), which real data seldom look like",
        options.seed));
  return samples;
}

}  // namespace plumb::cli
