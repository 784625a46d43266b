// SPDX-License-Identifier: Apache-2.0
//
// What the commands that compare share: from opened dumps to a result on the screen, in files and
// as an exit status.
#pragma once

#include "cli/command.h"
#include "cli/output_check.h"
#include "compare/stream.h"
#include "judge/outcome.h"

namespace plumb::cli {

// Where the result goes.
struct OutputWishes {
  std::vector<std::string> outputs;
  std::string json, colour = "auto";
  bool all = false;

  void declare(Options& options);
  Result<void> check() const;  // that there is a writer for each
  std::vector<NamedPath> paths() const;
};

// "a,b" "c" as "a" "b" "c".
std::vector<std::string> split_lists(const std::vector<std::string>& lists);

// That --allow knows the words.
Result<void> check_allowed(const std::vector<std::string>& words);

// The metrics of --metrics, in the order given; "all" for every one.
Result<std::vector<const metrics::Metric*>> named_metrics(const std::vector<std::string>& words);

// What is computed: what the user and the limits want, and everything that costs no extra pass. In
// the order of the table, each once.
std::vector<const metrics::Metric*> columns_for(const std::vector<const metrics::Metric*>& wanted,
                                                const judge::Rules& rules);

result::InputSide input_side(const std::string& path, const dump::DumpSet& set);

// As `plumb overflow` tells it: by times that differ, or because there is one operator only.
bool is_ordered(const dump::DumpSet& set);

// What the progress bar counts. Asking for the size of every file is not free: only if it is shown.
int64_t bytes_of(const compare::Sides& sides, const std::vector<pair::PlannedRow>& plan);

bool wants_colour(const OutputWishes& wishes);
bool print_json(const result::Run& run, const OutputWishes& wishes);   // if that is wished for
bool write_files(const result::Run& run, const OutputWishes& wishes);  // false if one failed
// The usual table, or JSON, then the files.
bool present(const result::Run& run, const OutputWishes& wishes,
             const std::vector<const metrics::Metric*>& wanted);

// `allowed` are words of --allow that have been checked.
int exit_status(const result::Run& run, const std::vector<std::string>& allowed);

}  // namespace plumb::cli
