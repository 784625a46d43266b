// SPDX-License-Identifier: Apache-2.0
#include "quant/trial_journal.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/crc32.h"
#include "base/mapped_file.h"

namespace plumb::quant {
namespace {

using Json = nlohmann::ordered_json;

// "crc text\n"
std::string line_of(const std::string& text) {
  return fmt::format("{:08x} {}\n", crc32(0, as_bytes(text)), text);
}

// The text of a line that is whole.
std::optional<std::string> text_in(std::string_view line) {
  if (line.size() < 10 || line[8] != ' ') return std::nullopt;
  std::string text(line.substr(9));
  if (fmt::format("{:08x}", crc32(0, as_bytes(text))) != line.substr(0, 8)) return std::nullopt;
  return text;
}

Json json_of(const Score& score) {
  return {{"samples", score.samples},
          {"agree", score.agree},
          {"ties", score.ties},
          {"distance_sum", score.distance_sum},
          {"cosine_sum", score.cosine_sum},
          {"least_cosine", score.least_cosine}};
}

Score score_from(const Json& json) {
  Score score;
  score.samples = json.at("samples");
  score.agree = json.at("agree");
  score.ties = json.at("ties");
  score.distance_sum = json.at("distance_sum");
  score.cosine_sum = json.at("cosine_sum");
  score.least_cosine = json.at("least_cosine");
  return score;
}

}  // namespace

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
      const auto text = end == all.npos ? std::nullopt : text_in(all.substr(at, end - at));
      if (!text) break;
      if (is_first && *text != subject)
        return Error{"the journal is of another search", path.string(),
                     "use another directory, or --fresh to begin anew"};
      if (!is_first) try {
          const Json json = Json::parse(*text);
          journal->scores_[json.at("trial")] = score_from(json);
        } catch (const std::exception&) {
          break;
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
    if (auto done = journal->append(line_of(subject)); !done) return done.error();
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
  Json json;
  json["trial"] = trial;
  json.update(json_of(score));
  const std::lock_guard lock(mutex_);
  scores_[trial] = score;
  return append(line_of(json.dump(-1, ' ', false, Json::error_handler_t::replace)));
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
