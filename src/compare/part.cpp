// SPDX-License-Identifier: Apache-2.0
//
// A part is a JSON document whose rows stand on lines of their own, so that it is read row by row:
//
//   {"schema": "plumb.part/1", "comparison": {...}, "shard": [2, 7], "command": [...], "rows": [
//   {"id": 3, ...},
//   {"id": 8, ...}
//   ], "crc32": "89abcdef"}
//
// The checksum is of everything before its line.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/crc32.h"
#include "base/file_sink.h"
#include "base/json_values.h"
#include "base/utf8.h"
#include "compare/shards.h"

namespace plumb::compare {
namespace {

using UseLine = std::function<Result<void>(std::string_view line)>;

constexpr std::string_view kSchema = "plumb.part/1";
constexpr std::string_view kRowsBegin = ", \"rows\": [\n", kEnd = "], \"crc32\": \"";
constexpr size_t kMostHead = 1 << 20;  // bytes

constexpr const char* kNameOne = "name files that `plumb compare --shard K/N -o FILE` wrote";
constexpr const char* kAgain = "copy the part again, or make it anew";

std::string head_text(const PartHead& head) {
  return fmt::format(
      "{{\"schema\": \"{}\", \"comparison\": {}, \"shard\": [{}, {}], \"command\": {}, "
      "\"directory\": {}{}",
      kSchema, to_json(head.comparison), head.shard.number, head.shard.of,
      line_of_json(Json(head.command)), json_text(head.directory), kRowsBegin);
}

Result<PartHead> head_from(std::string_view line) {
  const Json json = parse_json(std::string(line) + "]}");
  const auto schema = json.is_object() ? json.find("schema") : json.end();
  if (!json.is_object() || schema == json.end() || !schema->is_string() ||
      !std::string_view(schema->get_ref<const std::string&>()).starts_with("plumb.part/"))
    return Error{"this is no part of a comparison", "byte 0", kNameOne};
  if (*schema != kSchema)
    return Error{"the part is of another version of plumb",
                 fmt::format("byte 0: its schema is '{}', this program reads '{}'",
                             schema->get<std::string>(), kSchema),
                 "merge it with the version that wrote it"};
  try {
    PartHead head;
    head.shard.number = json.at("shard").at(0);
    head.shard.of = json.at("shard").at(1);
    head.command = json.at("command").get<std::vector<std::string>>();
    head.directory = json.at("directory");
    auto identity = identity_from_json(line_of_json(json.at("comparison")));
    if (identity && head.shard.number >= 1 && head.shard.number <= head.shard.of) {
      head.comparison = std::move(*identity);
      return head;
    }
  } catch (const std::exception&) {
  }
  return Error{"the part is not as it was written", "byte 0: its head", kAgain};
}

Error not_complete(size_t size) {
  return {"the part is not complete", fmt::format("byte {}: the file ends before it does", size),
          kAgain};
}

// What stands before the rows; `at` is where they begin.
Result<PartHead> read_head(std::string_view text, size_t& at) {
  const size_t end = text.substr(0, kMostHead).find('\n');
  if (end == text.npos || !text.substr(0, end + 1).ends_with(kRowsBegin))
    return text.starts_with(fmt::format("{{\"schema\": \"{}\"", kSchema))
               ? not_complete(text.size())
               : Error{"this is no part of a comparison", "byte 0", kNameOne};
  at = end + 1;
  return head_from(text.substr(0, end));
}

// Where the last line begins, once its checksum holds for all that is before it.
Result<size_t> check_end(std::string_view text) {
  const size_t end = text.rfind(kEnd);
  const std::string_view last = end == text.npos ? std::string_view() : text.substr(end);
  if (end == text.npos || end == 0 || text[end - 1] != '\n' || !last.ends_with("\"}\n"))
    return not_complete(text.size());
  const std::string sum = fmt::format("{:08x}", crc32(0, as_bytes(text.substr(0, end))));
  if (last.substr(kEnd.size(), last.size() - kEnd.size() - 3) != sum)
    return Error{"the part is damaged", fmt::format("byte {}: its checksum is {}", end, sum),
                 kAgain};
  return end;
}

Result<void> each_line(std::string_view text, size_t at, const UseLine& use) {
  const auto end = check_end(text);
  if (!end) return end.error();
  while (at < *end) {
    const size_t stop = text.find('\n', at);  // there is one before the end
    std::string_view line = text.substr(at, stop - at);
    if (line.ends_with(',')) line.remove_suffix(1);
    if (auto used = use(line); !used) return std::move(used.error()).in(fmt::format("byte {}", at));
    at = stop + 1;
  }
  return {};
}

}  // namespace

Result<void> write_part(const std::filesystem::path& path, const PartHead& head, RowStore& store,
                        std::span<const RowId> rows) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  uint32_t crc = 0;
  const auto put = [&](std::string_view text) {
    crc = crc32(crc, as_bytes(text));
    sink->write(text);
  };
  put(head_text(head));
  bool is_first = true;
  for (const RowId id : rows) {
    if (!store.has(id))
      return Error{"a row of this part is not there",
                   fmt::format("{}: row {} was not compared", path.string(), id), "run it again"};
    const auto line = store.line(id);
    if (!line) return line.error();
    put(std::exchange(is_first, false) ? "" : ",\n");
    put(*line);
  }
  put(is_first ? "" : "\n");
  sink->write(fmt::format("{}{:08x}\"}}\n", kEnd, crc));
  return sink->commit();
}

Result<PartHead> read_part(std::string_view text, const UseLine& use) {
  size_t at = 0;
  auto head = read_head(text, at);
  if (!head) return head;
  if (auto read = each_line(text, at, use); !read) return read.error();
  return head;
}

Result<Part> Part::open(const std::filesystem::path& path) {
  Part part;
  part.path_ = path.string();
  auto file = MappedFile::open(part.path_);
  if (!file) return file.error();
  part.file_ = std::move(*file);
  auto head = read_head(as_text(part.file_.bytes()), part.rows_at_);
  if (!head) return std::move(head.error()).in(part.path_);
  part.head_ = std::move(*head);
  return part;
}

Result<void> Part::each(const UseLine& use) const {
  auto read = each_line(as_text(file_.bytes()), rows_at_, use);
  file_.release(file_.bytes());
  if (!read) return std::move(read.error()).in(path_);
  return read;
}

Result<void> check_parts(std::span<const Part> parts) {
  const PartHead& first = parts.front().head();
  std::map<int64_t, const Part*> known;
  for (const Part& part : parts) {
    const PartHead& head = part.head();
    if (const std::string why = difference(first.comparison, head.comparison); !why.empty())
      return Error{"the parts are of different comparisons",
                   fmt::format("{} against {}: {}", part.path(), parts.front().path(), why),
                   "merge the parts of one comparison"};
    if (head.shard.of != first.shard.of)
      return Error{"the parts are of different divisions of the work",
                   fmt::format("{} is {}/{}, {} is {}/{}", parts.front().path(), first.shard.number,
                               first.shard.of, part.path(), head.shard.number, head.shard.of),
                   "merge the parts of one run"};
    if (head.command != first.command)
      return Error{"the parts were made by different commands",
                   fmt::format("{} and {}", parts.front().path(), part.path()),
                   "run all shards with the same options"};
    const auto [at, is_new] = known.try_emplace(head.shard.number, &part);
    if (!is_new)
      return Error{fmt::format("part {} of {} is there twice", head.shard.number, head.shard.of),
                   fmt::format("{} and {}", at->second->path(), part.path()),
                   "name each part once"};
  }
  for (int64_t i = 1; i <= first.shard.of; ++i)
    if (!known.contains(i))
      return Error{fmt::format("part {} of {} is missing", i, first.shard.of),
                   fmt::format("{} of {} parts are there", known.size(), first.shard.of),
                   fmt::format("run the command with --shard {}/{}", i, first.shard.of)};
  return {};
}

}  // namespace plumb::compare
