// SPDX-License-Identifier: Apache-2.0
#include "compare/row_store.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "compare/planned_row.h"
#include "result/details.h"

namespace plumb::compare {
namespace {

constexpr size_t kMostPending = 1 << 20;  // bytes
constexpr std::string_view kJournalSchema = "plumb.journal/1";

std::string journal_head(const Identity& identity) {
  return fmt::format("{{\"schema\": \"{}\", \"comparison\": {}}}", kJournalSchema,
                     to_json(identity));
}

// The identity in the first line of a journal of this schema.
std::optional<Identity> identity_in_head(std::string_view line) {
  const std::string start = fmt::format("{{\"schema\": \"{}\", \"comparison\": ", kJournalSchema);
  if (!line.starts_with(start) || !line.ends_with('}')) return std::nullopt;
  return identity_from_json(line.substr(start.size(), line.size() - start.size() - 1));
}

Result<void> check_head(std::string_view line, const Identity& own, const std::string& path) {
  const auto found = identity_in_head(line);
  if (!found) return Error{"this is no journal of a comparison", path, "name another file"};
  const std::string why = difference(own, *found);
  if (why.empty()) return {};
  return Error{"the journal is of another comparison", path + ": " + why,
               "use another journal, or delete this one and start anew"};
}

}  // namespace

RowStore::RowStore(const SessionState& state, std::vector<uint64_t> stamps)
    : state_(state),
      stamps_(std::move(stamps)),
      offsets_(state.rows.size()),
      sizes_(state.rows.size()),
      reader_(state.stream_options->columns) {}

Result<std::unique_ptr<RowStore>> RowStore::temporary(const SessionState& state,
                                                      std::vector<uint64_t> stamps) {
  std::unique_ptr<RowStore> store(new RowStore(state, std::move(stamps)));
  auto file = UnnamedFile::on_disk();
  if (!file) return file.error();
  store->file_.emplace(std::move(*file));
  return store;
}

Result<std::unique_ptr<RowStore>> RowStore::journal(const SessionState& state,
                                                    std::vector<uint64_t> stamps,
                                                    const std::filesystem::path& path) {
  std::unique_ptr<RowStore> store(new RowStore(state, std::move(stamps)));
  const Identity identity = identity_of(state);
  bool has_head = false;
  auto opened = Journal::open(path, [&](std::string_view line, uint64_t offset) -> Result<void> {
    if (!std::exchange(has_head, true)) return check_head(line, identity, path.string());
    const auto key = store->reader_.key(line);
    if (!key || key->id < 0 || key->id >= std::ssize(store->sizes_))
      return Error{"the journal is damaged",
                   fmt::format("{}, byte {}: no row of the plan", path.string(), offset),
                   "delete it and start anew"};
    // A file that changed since is compared anew; a later line counts.
    if (key->stamp == store->stamps_[static_cast<size_t>(key->id)])
      store->place(key->id, offset, line.size());
    return {};
  });
  if (!opened) return opened.error();
  store->journal_.emplace(std::move(*opened));
  if (!has_head)
    if (auto added = store->journal_->add(journal_head(identity)); !added) return added.error();
  return store;
}

std::vector<RowId> RowStore::missing(std::span<const RowId> rows) const {
  std::vector<RowId> ids;
  for (const RowId id : rows)
    if (!has(id) && state_.rows[static_cast<size_t>(id)].reason.empty()) ids.push_back(id);
  return ids;
}

void RowStore::place(RowId id, uint64_t offset, size_t size) {
  offsets_[static_cast<size_t>(id)] = offset;
  sizes_[static_cast<size_t>(id)] = static_cast<uint32_t>(size);
}

void RowStore::row(RowId id, result::Row&& row) {
  const bool is_interrupted = !row.reasons.empty() && row.reasons.front() == "interrupted";
  if (is_interrupted || !state_.rows[static_cast<size_t>(id)].reason.empty()) return;
  std::string line;
  append_row_line(line, {id, stamps_[static_cast<size_t>(id)]}, row);
  const std::lock_guard lock(guard_);
  if (problem_) return;
  auto kept = keep(id, line);
  if (kept) return;
  problem_ = std::move(kept.error());
  if (context_ != nullptr) context_->cancelled = true;
}

Result<void> RowStore::check(const result::RowKey& key) const {
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    return Error{std::string(what), fmt::format("row {} of {}", key.id, state_.rows.size()),
                 std::string(remedy)};
  };
  if (key.id < 0 || key.id >= std::ssize(state_.rows) ||
      !state_.rows[static_cast<size_t>(key.id)].reason.empty())
    return refuse("there is no such row to compare", "compare again");
  if (has(key.id)) return refuse("a row is there twice", "name each part once");
  if (key.stamp != stamps_[static_cast<size_t>(key.id)]) {
    const dump::Entry& target = *state_.rows[static_cast<size_t>(key.id)].target;
    return refuse(fmt::format("the files of {} {} changed after they were compared",
                              target.operator_name, to_string(target.slot)),
                  "compare this part again");
  }
  return {};
}

Result<void> RowStore::add(std::string_view line) {
  const std::lock_guard lock(guard_);
  auto key = reader_.key(line);
  if (!key) return std::move(key.error());
  if (auto checked = check(*key); !checked) return checked;
  return keep(key->id, line);
}

Result<void> RowStore::keep(RowId id, std::string_view line) {
  if (journal_) {
    const uint64_t offset = journal_->next_offset();
    if (auto added = journal_->add(line); !added) return added;
    place(id, offset, line.size());
    return {};
  }
  place(id, written_ + pending_.size(), line.size());
  pending_ += line;
  return pending_.size() < kMostPending ? Result<void>() : flush();
}

Result<void> RowStore::flush() {
  if (journal_) return journal_->sync();
  if (auto written = file_->append(as_bytes(pending_)); !written) return written;
  written_ += pending_.size();
  pending_.clear();
  return {};
}

Result<void> RowStore::finish_writing() {
  if (problem_) return *problem_;
  return flush();
}

Result<std::string_view> RowStore::line(RowId id) {
  const size_t size = sizes_[static_cast<size_t>(id)];
  text_.resize(size);
  const int descriptor = journal_ ? journal_->descriptor() : file_->descriptor();
  for (size_t at = 0; at < size;) {
    const ssize_t count = ::pread(descriptor, text_.data() + at, size - at,
                                  static_cast<off_t>(offsets_[static_cast<size_t>(id)] + at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return Error{"a row cannot be read back",
                   count < 0 ? std::strerror(errno) : "the file became shorter", "compare again"};
    at += static_cast<size_t>(count);
  }
  return std::string_view(text_);
}

Result<void> RowStore::each(const Use& use) {
  for (RowId id = 0; id < std::ssize(state_.rows); ++id) {
    const pair::PlannedRow& planned = state_.rows[static_cast<size_t>(id)];
    result::Row row = planned_row(planned);
    if (has(id)) {
      const auto text = line(id);
      if (!text) return text.error();
      if (auto read = reader_.read(*text, row); !read)
        return std::move(read.error()).in(fmt::format("row {}", id));
    } else if (planned.reason.empty()) {
      row.reasons = {"interrupted"};
    }
    if (auto used = use(id, row); !used) return used;
  }
  return {};
}

Result<result::Run> finish_stored(const Session& session, RowStore& rows) {
  RunInMemory memory(session.plan());
  if (auto finished = session.finish(rows, memory); !finished) return finished.error();
  memory.run.words = rows.words();
  result::limit_details(memory.run);
  return std::move(memory.run);
}

}  // namespace plumb::compare
