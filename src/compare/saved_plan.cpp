// SPDX-License-Identifier: Apache-2.0
//
// "plumb.plan/1", the identity of the comparison, directories with the times at which something was
// last added to or removed from them, stamps of the rows, both listings, CRC-32.
#include "compare/saved_plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/crc32.h"
#include "base/mapped_file.h"
#include "dump/saved_listing.h"

namespace plumb::compare {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "plumb.plan/1\n";
constexpr const char* kAnew = "delete the plan file and start anew";

void append(std::string& text, uint64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void append(std::string& text, std::string_view part) {
  append(text, part.size());
  text += part;
}

std::optional<int64_t> written_ns(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
}

// The side itself and all directories below it: a file that comes or goes changes the time of one.
std::vector<std::string> directories_of(const std::string& side) {
  std::vector<std::string> paths{side};
  std::error_code failed;
  fs::recursive_directory_iterator walk(side, fs::directory_options::skip_permission_denied,
                                        failed);
  for (const auto end = fs::recursive_directory_iterator(); !failed && walk != end;
       walk.increment(failed))
    if (std::error_code unknown; walk->is_directory(unknown) && !walk->is_symlink(unknown))
      paths.push_back(walk->path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Error damaged(std::string_view where) {
  return {"the plan file is damaged", std::string(where), kAnew};
}

std::string_view take_text(ByteReader& reader) { return as_text(reader.take(reader.u64())); }

Result<void> check_directories(ByteReader& reader, bool is_trusted) {
  const uint64_t count = reader.u64();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const std::string path(take_text(reader));
    const int64_t time = reader.i64();
    if (!reader.ok() || is_trusted || written_ns(path) == time) continue;
    return Error{"a dump changed since its plan was made", path + ": files came or went", kAnew};
  }
  return reader.ok() ? Result<void>() : damaged("its directories");
}

}  // namespace

std::string plan_text(const SessionState& state, std::span<const Stamp> stamps) {
  std::string text(kMagic);
  append(text, to_json(identity_of(state)));
  std::vector<std::string> paths = directories_of(state.spec.target.path);
  for (std::string& path : directories_of(state.spec.golden.path)) paths.push_back(std::move(path));
  append(text, paths.size());
  for (const std::string& path : paths) {
    append(text, path);
    append(text, static_cast<uint64_t>(written_ns(path).value_or(-1)));
  }
  append(text, stamps.size());
  for (const Stamp& stamp : stamps) {
    append(text, stamp.digest);
    append(text, static_cast<uint64_t>(stamp.bytes));
  }
  save_listing(state.target, text);
  save_listing(state.golden, text);
  append(text, crc32(0, as_bytes(text)));
  return text;
}

Result<SavedPlan> plan_from_text(std::string_view text, const io::ReadHints& hints,
                                 bool is_trusted) {
  if (!text.starts_with(kMagic))
    return Error{"this is no plan of a comparison", "byte 0", "name another file"};
  const size_t end = text.size() - std::min(text.size(), sizeof(uint64_t));
  ByteReader sum(as_bytes(text.substr(end)));
  if (sum.u64() != crc32(0, as_bytes(text.substr(0, end))) || !sum.ok())
    return damaged(fmt::format("byte {}: its checksum", end));
  ByteReader reader(as_bytes(text.substr(kMagic.size(), end - kMagic.size())));
  SavedPlan plan;
  auto identity = identity_from_json(take_text(reader));
  if (!identity) return damaged("its head");
  plan.comparison = std::move(*identity);
  if (auto checked = check_directories(reader, is_trusted); !checked) return checked.error();
  const uint64_t rows = reader.u64();
  if (rows > reader.left() / (2 * sizeof(uint64_t))) return damaged("its rows");
  plan.stamps.resize(rows);
  for (Stamp& stamp : plan.stamps) {
    stamp.digest = reader.u64();
    stamp.bytes = std::clamp<int64_t>(reader.i64(), 0, int64_t{1} << 50);
  }
  Bytes rest = reader.take(reader.left());
  for (auto* side : {&plan.target, &plan.golden}) {
    auto listed = dump::read_listing(rest, hints);
    if (!listed) return listed.error();
    *side = std::make_shared<const dump::DumpSet>(std::move(*listed));
  }
  return plan;
}

Result<SavedPlan> load_plan(const fs::path& path, const io::ReadHints& hints) {
  const auto file = MappedFile::open(path.string());
  if (!file) return file.error();
  auto plan = plan_from_text(as_text(file->bytes()), hints, false);
  if (!plan) return std::move(plan.error()).in(path.string());
  return plan;
}

Result<void> check_plan(const SavedPlan& plan, const SessionState& state) {
  const std::string why = difference(identity_of(state), plan.comparison);
  if (why.empty() && plan.stamps.size() == state.rows.size()) return {};
  return Error{"the plan file is of another comparison", why.empty() ? "its rows are others" : why,
               "name another file, or delete this one"};
}

Result<void> check_files(const SessionState& state, std::span<const Stamp> planned,
                         std::span<const RowId> rows) {
  const std::vector<Stamp> now = stamps_of(state, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<size_t>(rows[i]);
    if (now[i].digest == planned[row].digest) continue;
    const dump::Entry& entry = *state.rows[row].target;
    return Error{"a dump changed since its plan was made",
                 fmt::format("row {}: the files of {} {}, or of its partner", row,
                             entry.operator_name, to_string(entry.slot)),
                 kAnew};
  }
  return {};
}

}  // namespace plumb::compare
