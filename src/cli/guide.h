// SPDX-License-Identifier: Apache-2.0
//
// `plumb diagnose --guide`: walks the troubleshooting paths, asks on stdin or takes answers from a
// file.
#pragma once

#include "cli/circumstance_options.h"
#include "cli/output_options.h"

namespace plumb::cli {

struct GuideOptions {
  bool guide = false, ask = false, no_weights = false;
  std::string answers, bundle, keep;

  void declare(Options& options);
};

int run_guide(const GuideOptions& options, const CircumstanceOptions& circumstances,
              const OutputOptions& output, const CommonOptions& common, RunContext& context);

}  // namespace plumb::cli
