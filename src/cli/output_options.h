// SPDX-License-Identifier: Apache-2.0
//
// What the commands that compare share: where the result goes (screen, files, exit status).
#pragma once

#include "cli/command.h"
#include "cli/output_check.h"
#include "judge/outcome.h"

namespace plumb::cli {

// Where the result goes.
struct OutputOptions {
  std::vector<std::string> outputs;
  std::string json, colour = "auto";
  bool all = false, hints = false, annotations = false;

  void declare(Options& options);
  Result<void> check() const;  // that there is a writer for each
  std::vector<NamedPath> paths() const;
  bool have_page() const;  // which shows the details of rows
};

// "a,b" "c" as "a" "b" "c".
std::vector<std::string> split_lists(const std::vector<std::string>& lists);

bool wants_colour(const OutputOptions& options);
bool print_json(const result::Run& run, const OutputOptions& options);   // if that is asked for
bool write_files(const result::Run& run, const OutputOptions& options);  // false if one failed
// The usual table, or JSON, then the files.
bool present(const result::Run& run, const OutputOptions& options,
             const std::vector<const metrics::Metric*>& wanted);

// `allowed` are words of --allow that have been checked.
int exit_status(const result::Run& run, const std::vector<std::string>& allowed);

}  // namespace plumb::cli
