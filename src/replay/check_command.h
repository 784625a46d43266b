// SPDX-License-Identifier: Apache-2.0
//
// The command of the user's that tells whether a model still has its fault.
#pragma once

#include "base/directory_lock.h"
#include "base/temporary_directory.h"
#include "engine/engine.h"
#include "plumb/run_context.h"
#include "replay/shrink.h"

namespace plumb::replay {

inline constexpr const char* kCandidate = "candidate.onnx";

struct CheckOptions {
  std::string command;  // the model's path for {}
  int timeout_s = 60;
  std::optional<int> expect_status;  // only this one is the fault
  std::filesystem::path directory;   // of candidates and the log; empty: one that is removed
};

// Exit status 0: the fault is gone. 125, 126, 127: nobody can tell. Any other: it is there.
Verdict verdict_of(int status, std::optional<int> expected);

class CheckCommand {
 public:
  static Result<CheckCommand> open(CheckOptions options, const RunContext& context);

  // What the engine cannot load is no model: the command is not asked about it.
  void validate_with(std::shared_ptr<engine::Engine> engine) { engine_ = std::move(engine); }

  Checked check(std::string_view onnx);
  // What the last run told: "CMD: exit status 3 (its last line)".
  std::string told(const Checked& checked) const;
  const CheckOptions& options() const { return options_; }
  int64_t runs() const { return runs_; }
  int64_t invalid() const { return invalid_; }
  const std::optional<Error>& trouble() const { return trouble_; }  // no candidate could be checked

 private:
  std::string last_words() const;  // the last line that the last run printed, or ""
  CheckCommand(CheckOptions options, const RunContext& context)
      : options_(std::move(options)), context_(context) {}

  CheckOptions options_;
  const RunContext& context_;
  std::optional<TemporaryDirectory> temporary_;
  std::optional<DirectoryLock> lock_;  // of a directory that is kept
  std::shared_ptr<engine::Engine> engine_;
  int64_t runs_ = 0, invalid_ = 0;
  uint64_t log_start_ = 0;  // where the output of the last run begins
  bool timed_out_ = false;
  std::optional<Error> trouble_;
};

}  // namespace plumb::replay
