// SPDX-License-Identifier: Apache-2.0
//
// Streamed rows outside memory, as lines of a file (see result/row_line.h): a temporary one, or a
// journal that outlives the process. Memory holds twenty bytes a row. Rows with nothing to compare
// are in the plan and need no line; rows that never came are given out as interrupted.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/journal.h"
#include "base/unnamed_file.h"
#include "compare/identity.h"
#include "compare/session_state.h"
#include "result/row_line.h"

namespace plumb::compare {

class RowStore : public Sink, public RowSource {
 public:
  // Borrows the state. `stamps`: what the files of each row of the plan are now, by id.
  static Result<std::unique_ptr<RowStore>> temporary(const SessionState& state,
                                                     std::vector<uint64_t> stamps);
  // With the rows that the journal has; those whose files changed since are dropped. A journal of
  // another comparison is refused.
  static Result<std::unique_ptr<RowStore>> journal(const SessionState& state,
                                                   std::vector<uint64_t> stamps,
                                                   const std::filesystem::path& path);

  bool has(RowId id) const { return sizes_[static_cast<size_t>(id)] != 0; }
  // Those of `rows` that have something to compare and are not there.
  std::vector<RowId> missing(std::span<const RowId> rows) const;

  // Rows that were interrupted are not kept. An error is: see `finish_writing`.
  void row(RowId id, result::Row&& row) override;
  // A run whose rows cannot be kept, on a full disk say, is not worth going on: the first error
  // cancels it. Borrows the context.
  void cancel_on_error(RunContext& context) { context_ = &context; }
  // A row that another process made. The line must fit the plan and the stamps.
  Result<void> add(std::string_view line);
  // What went wrong while rows were written, if something did.
  Result<void> finish_writing();

  Result<void> each(const Use& use) override;
  // Valid until the next call.
  Result<std::string_view> line(RowId id);
  std::shared_ptr<const std::unordered_set<std::string>> words() const { return reader_.words(); }

 private:
  RowStore(const SessionState& state, std::vector<uint64_t> stamps);
  Result<void> check(const result::RowKey& key) const;
  Result<void> keep(RowId id, std::string_view line);
  Result<void> flush();
  void place(RowId id, uint64_t offset, size_t size);

  const SessionState& state_;
  std::vector<uint64_t> stamps_, offsets_;
  std::vector<uint32_t> sizes_;  // bytes; 0: not there
  std::optional<UnnamedFile> file_;
  std::optional<Journal> journal_;
  std::string pending_;  // the end of the temporary file, not yet written
  uint64_t written_ = 0;
  result::RowLineReader reader_;
  std::string text_;
  std::optional<Error> problem_;
  RunContext* context_ = nullptr;
  std::mutex guard_;
};

// The run of all rows, finished: for reports that want them in memory.
Result<result::Run> finish_stored(const Session& session, RowStore& rows);

}  // namespace plumb::compare
