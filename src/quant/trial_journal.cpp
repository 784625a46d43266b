// SPDX-License-Identifier: Apache-2.0
#include "quant/trial_journal.h"

#include "base/json_values.h"

namespace plumb::quant {

std::string line_of(const TrialLine& line) {
  const Json json{{"trial", line.trial},
                  {"samples", line.score.samples},
                  {"agree", line.score.agree},
                  {"ties", line.score.ties},
                  {"labelled", line.score.labelled},
                  {"right", line.score.right},
                  {"golden_right", line.score.golden_right},
                  {"distance_sum", line.score.distance_sum},
                  {"cosine_sum", line.score.cosine_sum},
                  {"least_cosine", line.score.least_cosine}};
  return line_of_json(json);
}

std::optional<TrialLine> trial_from(std::string_view line) try {
  const Json json = parse_json(line);
  TrialLine made;
  made.trial = json.at("trial");
  made.score.samples = json.at("samples");
  made.score.agree = json.at("agree");
  made.score.ties = json.at("ties");
  made.score.labelled = json.at("labelled");
  made.score.right = json.at("right");
  made.score.golden_right = json.at("golden_right");
  made.score.distance_sum = json.at("distance_sum");
  made.score.cosine_sum = json.at("cosine_sum");
  made.score.least_cosine = json.at("least_cosine");
  return made;
} catch (const std::exception&) {
  return std::nullopt;
}

Result<std::unique_ptr<TrialJournal>> TrialJournal::open(const std::filesystem::path& path,
                                                         const std::string& subject,
                                                         bool is_fresh) {
  std::error_code ignored;
  if (is_fresh) std::filesystem::remove(path, ignored);
  std::vector<std::string> lines;
  auto file = Journal::open(path, [&](std::string_view line, uint64_t) -> Result<void> {
    lines.emplace_back(line);
    return {};
  });
  if (!file) return file.error();
  if (!lines.empty() && lines[0] != subject) {
    if (lines.size() > 1)
      return Error{"the journal is of another search", path.string(),
                   "use another directory, or --fresh to begin anew"};
    // Of a search that ended before its first trial nothing is lost.
    file = Error{};
    return open(path, subject, true);
  }
  std::unique_ptr<TrialJournal> journal(new TrialJournal(std::move(*file)));
  if (lines.empty())
    if (auto added = journal->file_.add(subject); !added) return added.error();
  for (const std::string& line : lines)
    if (auto known = trial_from(line)) {
      journal->read_.insert(known->trial);
      journal->scores_[std::move(known->trial)] = known->score;
    }
  return journal;
}

std::optional<Score> TrialJournal::find(const std::string& trial) const {
  const std::lock_guard lock(mutex_);
  const auto found = scores_.find(trial);
  return found == scores_.end() ? std::nullopt : std::optional(found->second);
}

Result<void> TrialJournal::add(const std::string& trial, const Score& score) {
  const std::lock_guard lock(mutex_);
  scores_[trial] = score;
  return file_.add(line_of(TrialLine{trial, score}));
}

}  // namespace plumb::quant
