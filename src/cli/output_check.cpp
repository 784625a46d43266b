// SPDX-License-Identifier: Apache-2.0
#include "cli/output_check.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_sink.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code unknown;
  return fs::equivalent(a, b, unknown) ||
         fs::absolute(a, unknown).lexically_normal() == fs::absolute(b, unknown).lexically_normal();
}

// Links on the way are followed: the file must be there.
bool is_inside(const fs::path& file, const fs::path& directory) {
  std::error_code failed;
  const fs::path inner = fs::canonical(file, failed);
  if (failed) return false;
  const fs::path outer = fs::canonical(directory, failed);
  if (failed) return false;
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

Result<void> check_against_input(const NamedPath& output, const NamedPath& input) {
  std::error_code unknown;
  const fs::file_status status = fs::status(output.path, unknown);
  // What is written into, not replaced, may be read as well: a terminal, /dev/null.
  if (fs::exists(status) && !fs::is_regular_file(status)) return {};
  if (is_same(output.path, input.path))
    return Error{"the output would overwrite what is read",
                 fmt::format("{} {} and {} {} are the same file", output.option, output.path,
                             input.option, input.path),
                 "choose another name for " + output.option};
  if (fs::is_directory(input.path, unknown) && is_inside(output.path, input.path))
    return Error{
        "the output would overwrite a file of the directory that is read",
        fmt::format("{} {} is in {} {}", output.option, output.path, input.option, input.path),
        "name a file that is elsewhere, or not there yet"};
  return {};
}

}  // namespace

Result<void> check_outputs(std::span<const NamedPath> outputs, std::span<const NamedPath> inputs) {
  for (const NamedPath& output : outputs) {
    if (output.path.empty()) continue;
    for (const NamedPath& input : inputs)
      if (!input.path.empty())
        if (auto checked = check_against_input(output, input); !checked) return checked;
    if (auto writable = FileSink::check(output.path); !writable) return writable;
  }
  return {};
}

}  // namespace plumb::cli
