// SPDX-License-Identifier: Apache-2.0
//
// The options of `plumb compare`, which `plumb merge` reads again: a part keeps the command that
// made it.
#pragma once

#include "cli/circumstance_options.h"
#include "cli/element_view.h"
#include "cli/output_options.h"
#include "cli/selection.h"
#include "cli/tolerance_options.h"
#include "plumb/session.h"

namespace plumb::cli {

// What the user asks for. What the comparison itself needs is in the spec.
struct CompareRequest {
  Spec spec;
  std::vector<std::string> paths, allowed;
  std::string save_map, explain;
  std::string again;  // the command itself
  std::string shard, journal, plan_file;
  bool plan = false, no_diagnose = false;
  SelectionOptions selecting;
  ElementView view;
  ToleranceOptions tolerance;
  CircumstanceOptions circumstances;
  OutputOptions output;
  CommonOptions common;

  void declare(Options& options);
  // What the words say, once they are parsed: fills the spec. Nothing is read yet.
  Result<void> complete();
};

// Explains a run whose rows are all there, shows and writes it; the exit status.
int finish_compare(const CompareRequest& request, const Session& session, result::Run& run,
                   RunContext& context);

}  // namespace plumb::cli
