// SPDX-License-Identifier: Apache-2.0
//
// The one interface every tensor file format implements.
// A format works on bytes that the caller keeps alive, usually a mapped file. It never opens files
// itself: tests and fuzzers pass plain memory, and the pipeline decides when a mapping is released.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/file_sink.h"
#include "plumb/result.h"
#include "tensor/tensor.h"

namespace plumb::io {

class TensorReader;

// What the caller knows beyond the bytes. Content decides which format a file has; the name only
// adds what some formats keep nowhere else (an FFTS+ slice's thread id).
struct ReadHints {
  std::string_view file_name;  // base name
  std::optional<DType> dtype;  // of headerless files
  std::optional<Shape> shape;  // of headerless files
  std::optional<DType> fp8;    // what npy's one-byte void type stands for
  bool map = true;             // large files; false: they are read into memory
};

struct Listing {
  std::vector<TensorInfo> tensors;
  std::vector<std::pair<std::string, std::string>> properties;  // op_name, version, ...
  std::vector<std::string> warnings;
};

// One tensor to be written; `open` is called when its turn comes, so that few are open at a time.
struct WriteItem {
  std::string name;
  DType dtype;  // as written
  Shape shape;
  std::function<Result<TensorReader>()> open;  // hands out elements of `dtype` in plain order
};

struct Format {
  std::string_view name;     // what the user types after --format
  std::string_view summary;  // one line for `plumb formats`
  // True if `head`, the first bytes of a file (up to kProbeBytes), looks like this format. Content
  // decides, never the file name: dumps get renamed all the time.
  bool (*probe)(Bytes head, uint64_t file_size);
  // What the file holds, without touching the data. Cheap on huge files.
  Result<Listing> (*list)(Bytes file, const ReadHints& hints);
  // The stored elements of a tensor whose packing is kFormat, unpacked into `scratch`; null if the
  // format has none. Valid until `scratch` is used again.
  Result<Bytes> (*load)(Bytes file, const TensorInfo& info, Buffer& scratch);
  // Writes the items as one file of this format; null if there is no writer. Types that the format
  // has no word for come in as DTypeInfo::portable (see `writable`).
  Result<void> (*write)(FileSink& out, std::span<const WriteItem> items);
  bool (*writable)(DType dtype);  // null: every portable type
  // True for names that only files of this format have. Used when no probe claims a file: a damaged
  // one then gets this format's error instead of "not a tensor file". Null: names tell nothing.
  bool (*owns_name)(std::string_view file_name) = nullptr;
};

inline constexpr size_t kProbeBytes = 4096;
inline constexpr size_t kMaxAxes = 64;  // of a tensor, as in numpy 2

// A file that is not as its writer wrote it.
inline constexpr const char* kCopyOrWriteAgain = "copy or write the file again; it is damaged";
inline Error damaged_file(std::string what, std::string where) {
  return {std::move(what), std::move(where), kCopyOrWriteAgain};
}

std::span<const Format> formats();  // every known format, most specific probe first
const Format* format_by_name(std::string_view name);

// The format of these bytes, or an error that says what was tried. `.bin` files without a header
// need hints.dtype and then read as "raw".
Result<const Format*> detect_format(Bytes file, const ReadHints& hints);

}  // namespace plumb::io
