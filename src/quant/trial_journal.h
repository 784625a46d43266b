// SPDX-License-Identifier: Apache-2.0
//
// What trials have shown, kept in a file as they end: a line each. The first line says of what; a
// journal of something else is refused.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "base/journal.h"
#include "quant/trial.h"

namespace plumb::quant {

// A line of the journal; nullopt if it says no score.
struct TrialLine {
  std::string trial;
  Score score;
};
std::string line_of(const TrialLine& line);
std::optional<TrialLine> trial_from(std::string_view line);

class TrialJournal {
 public:
  // `subject` tells all that decides a score but the trial itself.
  static Result<std::unique_ptr<TrialJournal>> open(const std::filesystem::path& path,
                                                    const std::string& subject, bool is_fresh);

  // From any thread.
  std::optional<Score> find(const std::string& trial) const;
  // True if an earlier search measured it.
  bool was_there(const std::string& trial) const { return read_.contains(trial); }
  Result<void> add(const std::string& trial, const Score& score);

 private:
  explicit TrialJournal(Journal file) : file_(std::move(file)) {}

  mutable std::mutex mutex_;
  Journal file_;
  std::map<std::string, Score, std::less<>> scores_;
  std::set<std::string, std::less<>> read_;  // as it was opened
};

}  // namespace plumb::quant
