// SPDX-License-Identifier: Apache-2.0
#include "quant/trial_journal.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/json_values.h"
#include "base/mapped_file.h"

namespace plumb::quant {
namespace {

// "crc text\n"
std::string checked_line(const std::string& text) {
  return fmt::format("{:08x} {}\n", crc32(0, as_bytes(text)), text);
}

// The text of a line that is whole.
std::optional<std::string> text_in(std::string_view line) {
  if (line.size() < 10 || line[8] != ' ') return std::nullopt;
  std::string text(line.substr(9));
  if (fmt::format("{:08x}", crc32(0, as_bytes(text))) != line.substr(0, 8)) return std::nullopt;
  return text;
}

}  // namespace

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
  return checked_line(line_of_json(json));
}

std::optional<TrialLine> trial_from(std::string_view line) try {
  const auto text = text_in(line);
  if (!text) return std::nullopt;
  const Json json = parse_json(*text);
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
  std::unique_ptr<TrialJournal> journal(new TrialJournal);
  journal->path_ = path;
  std::error_code ignored;
  const bool is_there = !is_fresh && std::filesystem::exists(path, ignored);
  size_t good = 0;  // bytes that are whole lines
  if (is_there) {
    auto file = MappedFile::open(path.string());
    if (!file) return file.error();
    const std::string_view all = as_text(file->bytes());
    bool is_first = true;
    for (size_t at = 0; at < all.size();) {
      const size_t end = all.find('\n', at);
      if (end == all.npos) break;
      const std::string_view line = all.substr(at, end - at);
      if (is_first) {
        const auto text = text_in(line);
        if (!text) break;
        // Of a search that ended before its first trial nothing is lost.
        if (*text != subject && end + 1 == all.size()) break;
        if (*text != subject)
          return Error{"the journal is of another search", path.string(),
                       "use another directory, or --fresh to begin anew"};
      } else {
        auto known = trial_from(line);
        if (!known) break;
        journal->read_.insert(known->trial);
        journal->scores_[std::move(known->trial)] = known->score;
      }
      is_first = false;
      good = at = end + 1;
    }
  }
  journal->descriptor_ =
      ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | (is_there ? 0 : O_TRUNC), 0666);
  if (journal->descriptor_ < 0 ||
      ::ftruncate(journal->descriptor_, static_cast<off_t>(good)) != 0 ||
      ::lseek(journal->descriptor_, 0, SEEK_END) < 0)
    return Error{"the journal cannot be written", path.string() + ": " + std::strerror(errno),
                 "check the directory after -o"};
  if (good == 0)
    if (auto done = journal->append(checked_line(subject)); !done) return done.error();
  return journal;
}

TrialJournal::~TrialJournal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<Score> TrialJournal::find(const std::string& trial) const {
  const std::lock_guard lock(mutex_);
  const auto found = scores_.find(trial);
  return found == scores_.end() ? std::nullopt : std::optional(found->second);
}

Result<void> TrialJournal::add(const std::string& trial, const Score& score) {
  const std::lock_guard lock(mutex_);
  scores_[trial] = score;
  return append(line_of(TrialLine{trial, score}));
}

Result<void> TrialJournal::append(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(descriptor_, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return Error{"the journal cannot be written", path_.string() + ": " + std::strerror(errno),
                   "free some space; the search goes on where it stopped"};
    at += static_cast<size_t>(written);
  }
  ::fdatasync(descriptor_);
  return {};
}

}  // namespace plumb::quant
