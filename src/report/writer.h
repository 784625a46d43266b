// SPDX-License-Identifier: Apache-2.0
//
// The one interface every output file implements: a run is written piece by piece, so that a result
// of many thousand rows never stands in memory as a document.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file_sink.h"
#include "plumb/result.h"
#include "result/json_write.h"

namespace plumb::report {

using result::Put;

struct Writer {
  std::string_view extension;  // of the files it writes: ".junit.xml"
  std::string_view name;
  std::string_view summary;  // one line for `plumb formats`
  // One of the two: text goes anywhere, an archive goes back to fill in its sizes.
  void (*write)(const result::Run& run, const Put& put) = nullptr;
  void (*pack)(const result::Run& run, FileSink& sink) = nullptr;
};
std::span<const Writer> writers();

// By the end of the path, whatever its case; the longest extension wins.
Result<const Writer*> writer_for(const std::filesystem::path& path);

// Whole or not at all, see base/file_sink.h.
Result<void> write_file(const result::Run& run, const std::filesystem::path& path);
Result<void> write_file(const result::Run& run, const Writer& writer,
                        const std::filesystem::path& path);

}  // namespace plumb::report
