// SPDX-License-Identifier: Apache-2.0
//
// Rows outside memory: each as its length and its bytes (result/row_bytes.h), in the order in which
// they came. A row that changes is written again at the end. If the disk is full, what follows
// stays in memory.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include <unistd.h>

#include "base/unnamed_file.h"
#include "plumb/row.h"
#include "result/row_bytes.h"

namespace plumb::result {
namespace {

constexpr size_t kMostPendingBytes = 1 << 20;  // until they are written
constexpr size_t kReadAhead = 1 << 17;         // bytes: of whoever reads all rows
constexpr size_t kOneRow = 2048;               // bytes: more than most have
constexpr uint64_t kNowhere = UINT64_MAX;

using RowLength = uint32_t;

// PLUMB_ROWS_IN_MEMORY: for tests, which have few rows.
size_t most_in_memory() {
  constexpr size_t kMost = 10'000;
  static const size_t most = [] {
    const char* told = std::getenv("PLUMB_ROWS_IN_MEMORY");
    return told == nullptr ? kMost : static_cast<size_t>(std::strtoull(told, nullptr, 10));
  }();
  return most;
}

Row unreadable(const std::string& why) {
  Row row;
  row.target.emplace();
  row.reasons = {"interrupted"};
  row.message = "the row cannot be read back from the temporary file: " + why;
  return row;
}

}  // namespace

// Bytes of a file, from `offset` on.
struct RowWindow {
  uint64_t offset = 0;
  std::string bytes;

  bool has(uint64_t first, size_t count) const {
    return first >= offset && first + count <= offset + bytes.size();
  }
  std::string_view at(uint64_t first) const {
    return std::string_view(bytes).substr(static_cast<size_t>(first - offset));
  }
};

struct Rows::Stored {
  std::optional<UnnamedFile> file;
  uint64_t written = 0;
  std::string pending;  // behind what is written
  bool is_full = false;
  std::vector<uint64_t> offsets;  // by place
  std::unordered_map<size_t, std::shared_ptr<const Details>> details;
  std::string scratch;
  RowWindow own;  // of `set`

  // Rows that somebody refers to. They are what counts, whatever is written.
  mutable std::mutex guard;
  mutable std::atomic<bool> keeps_any = false;
  mutable std::unordered_map<size_t, std::unique_ptr<Row>> kept;

  Stored() {
    if (auto made = UnnamedFile::on_disk()) file.emplace(std::move(*made));
    is_full = !file;
  }

  Row* find_kept(size_t place) const {
    if (!keeps_any) return nullptr;
    const std::lock_guard lock(guard);
    const auto found = kept.find(place);
    return found == kept.end() ? nullptr : found->second.get();
  }

  Row& keep(size_t place) const {
    const std::lock_guard lock(guard);
    std::unique_ptr<Row>& row = kept[place];
    if (row != nullptr) return *row;
    row = std::make_unique<Row>();
    RowWindow window;
    read(place, window, kOneRow, *row);
    keeps_any = true;
    return *row;
  }

  // From `first` on; empty if that cannot be read.
  bool fill(RowWindow& window, uint64_t first, size_t count) const {
    window.offset = first;
    window.bytes.resize(static_cast<size_t>(std::min<uint64_t>(count, written - first)));
    for (size_t at = 0; at < window.bytes.size();) {
      const ssize_t got = ::pread(file->descriptor(), window.bytes.data() + at,
                                  window.bytes.size() - at, static_cast<off_t>(first + at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return window.bytes.clear(), false;
      at += static_cast<size_t>(got);
    }
    return true;
  }

  // The bytes of the row at `offset`; nothing if they cannot be read.
  std::optional<std::string_view> bytes_at(uint64_t offset, RowWindow& window, size_t ahead) const {
    std::string_view from;
    RowLength length = 0;
    if (offset >= written) {
      from = std::string_view(pending).substr(static_cast<size_t>(offset - written));
      std::memcpy(&length, from.data(), sizeof length);
    } else {
      if (!window.has(offset, sizeof length) && !fill(window, offset, ahead)) return {};
      std::memcpy(&length, window.at(offset).data(), sizeof length);
      if (!window.has(offset, sizeof length + length) &&
          !fill(window, offset, std::max(ahead, sizeof length + length)))
        return {};
      from = window.at(offset);
    }
    return from.substr(sizeof length, length);
  }

  void read(size_t place, RowWindow& window, size_t ahead, Row& row) const {
    if (offsets[place] == kNowhere) {
      row = Row();
      return;
    }
    const auto bytes = bytes_at(offsets[place], window, ahead);
    if (!bytes)
      row = unreadable(std::strerror(errno));
    else if (!read_row_bytes(*bytes, row))
      row = unreadable("its bytes have changed");
    const auto found = details.empty() ? details.end() : details.find(place);
    row.details = found == details.end() ? nullptr : found->second;
  }

  void set(size_t place, const Row& row) {
    if (row.details)
      details[place] = row.details;
    else if (!details.empty())
      details.erase(place);
    scratch.assign(sizeof(RowLength), '\0');
    append_row_bytes(scratch, row);
    const auto length = static_cast<RowLength>(scratch.size() - sizeof(RowLength));
    std::memcpy(scratch.data(), &length, sizeof length);
    uint64_t& offset = offsets[place];
    if (offset != kNowhere)
      if (const auto same = bytes_at(offset, own, kReadAhead);
          same && *same == std::string_view(scratch).substr(sizeof length))
        return;
    offset = written + pending.size();
    pending += scratch;
    if (pending.size() < kMostPendingBytes || is_full) return;
    if (file->append(as_bytes(pending))) {
      written += pending.size();
      pending.clear();
    } else {
      is_full = true;
    }
  }
};

struct Rows::const_iterator::Cursor {
  const Stored& stored;
  RowWindow window = {};
  Row row = {};
  size_t place = SIZE_MAX;  // of `row`
};

const Row& Rows::const_iterator::read() const {
  if (const Row* kept = cursor_->stored.find_kept(place_)) return *kept;
  if (cursor_->place != place_) {
    cursor_->stored.read(place_, cursor_->window, kReadAhead, cursor_->row);
    cursor_->place = place_;
  }
  return cursor_->row;
}

Rows::Rows() = default;
Rows::Rows(std::vector<Row> rows) : rows_(std::move(rows)) {
  if (rows_.size() > most_in_memory()) store();
}
Rows::Rows(const Rows& other) {
  for (const Row& row : other) push_back(row);
}
Rows::Rows(Rows&&) noexcept = default;
Rows& Rows::operator=(const Rows& other) {
  if (this != &other) *this = Rows(other);
  return *this;
}
Rows& Rows::operator=(Rows&&) noexcept = default;
Rows::~Rows() = default;

size_t Rows::size() const { return stored_ != nullptr ? stored_->offsets.size() : rows_.size(); }

Rows::const_iterator Rows::begin() const {
  const_iterator at;
  if (stored_ != nullptr)
    at.cursor_ = std::make_shared<const_iterator::Cursor>(const_iterator::Cursor{*stored_});
  else
    at.row_ = rows_.data();
  return at;
}

Rows::const_iterator Rows::end() const {
  const_iterator at;
  if (stored_ != nullptr)
    at.place_ = size();
  else
    at.row_ = rows_.data() + rows_.size();
  return at;
}

const Row& Rows::operator[](size_t place) const {
  return stored_ != nullptr ? stored_->keep(place) : rows_[place];
}

Row& Rows::operator[](size_t place) {
  return stored_ != nullptr ? stored_->keep(place) : rows_[place];
}

const std::vector<Row>& Rows::all() const {
  if (stored_ == nullptr) return rows_;
  std::vector<Row> rows;
  rows.reserve(size());
  for (const Row& row : *this) rows.push_back(row);
  rows_ = std::move(rows);
  retired_ = std::move(stored_);
  return rows_;
}

std::vector<Row>& Rows::all() {
  static_cast<const Rows&>(*this).all();
  return rows_;
}

// Nothing refers to rows that somebody adds to.
void Rows::store() {
  auto stored = std::make_unique<Stored>();
  stored->offsets.resize(rows_.size(), kNowhere);
  for (size_t i = 0; i < rows_.size(); ++i) stored->set(i, rows_[i]);
  rows_ = {};
  stored_ = std::move(stored);
}

void Rows::push_back(Row row) {
  if (stored_ == nullptr && rows_.size() >= most_in_memory()) store();
  if (stored_ == nullptr) return rows_.push_back(std::move(row));
  stored_->offsets.push_back(kNowhere);
  stored_->set(size() - 1, row);
}

Row& Rows::emplace_back() {
  push_back({});
  return back();
}

void Rows::pop_back() {
  if (stored_ == nullptr) return rows_.pop_back();
  stored_->offsets.pop_back();
  stored_->kept.erase(size());
}

void Rows::resize(size_t size) {
  if (stored_ == nullptr && size > most_in_memory()) store();
  if (stored_ == nullptr) return rows_.resize(size);
  stored_->offsets.resize(size, kNowhere);
  std::erase_if(stored_->kept, [&](const auto& row) { return row.first >= size; });
}

void Rows::clear() { *this = Rows(); }

void Rows::set(size_t place, Row&& row) {
  Row* own = stored_ == nullptr ? &rows_[place] : stored_->find_kept(place);
  if (own == nullptr)
    stored_->set(place, row);
  else if (own != &row)
    *own = std::move(row);
}

void Rows::change_each(const std::function<bool(size_t place, Row& row)>& change) {
  if (stored_ == nullptr) {
    for (size_t i = 0; i < rows_.size(); ++i) change(i, rows_[i]);
    return;
  }
  RowWindow window;
  Row row;
  for (size_t i = 0; i < size(); ++i) {
    if (Row* kept = stored_->find_kept(i)) {
      change(i, *kept);
      continue;
    }
    stored_->read(i, window, kReadAhead, row);
    if (change(i, row)) stored_->set(i, row);
  }
}

}  // namespace plumb::result
