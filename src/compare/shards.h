// SPDX-License-Identifier: Apache-2.0
//
// One comparison by several processes: who compares which rows, and the file that a share of them
// leaves behind. Every process makes the same shares of the same plan.
//
// A part holds the rows as they were streamed, and the command that made them. What needs all rows
// is not in it: `plumb merge` opens the session again, as that command did, and finishes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compare/row_store.h"

namespace plumb::compare {

struct Shard {
  int64_t number = 1, of = 1;  // from 1
  bool operator==(const Shard&) const = default;
};
// "2/7"
Result<Shard> shard_from_text(const std::string& text);

// The rows of one of several shares, in order of ids: by bytes, the largest first, each to the
// share that has least. Rows that read the same tensor stay together, so that it is read once.
std::vector<RowId> rows_of_shard(const SessionState& state, std::span<const Stamp> stamps,
                                 const Shard& shard);

struct PartHead {
  Identity comparison;
  Shard shard;
  std::vector<std::string> command;  // that compares: "compare", its options and paths
  std::string directory;             // where it was run
};

// `rows`: those of a share, see `rows_of_shard`. One that the store does not have is an error.
Result<void> write_part(const std::filesystem::path& path, const PartHead& head, RowStore& store,
                        std::span<const RowId> rows);

// A part, whose rows are handed out line by line. Errors name the path.
class Part {
 public:
  static Result<Part> open(const std::filesystem::path& path);
  const PartHead& head() const { return head_; }
  const std::string& path() const { return path_; }
  // The whole file is checked before the first line is handed out.
  Result<void> each(const std::function<Result<void>(std::string_view line)>& use) const;

 private:
  std::string path_;
  MappedFile file_;
  PartHead head_;
  size_t rows_at_ = 0;
};

// From the text itself, for tests and the fuzzer: calls `use` for each row.
Result<PartHead> read_part(std::string_view text,
                           const std::function<Result<void>(std::string_view line)>& use);

// That the parts are all there are of one comparison, each once.
Result<void> check_parts(std::span<const Part> parts);

}  // namespace plumb::compare
