// SPDX-License-Identifier: Apache-2.0
//
// Zip archives as npz and pt use them: where each member's bytes lie, so that stored ones are read
// in place, and a writer. Described in PKWARE's APPNOTE.TXT.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/file_sink.h"
#include "io/deflate.h"
#include "plumb/result.h"

namespace plumb::io {

struct ZipMember {
  std::string_view name;  // borrowed from the archive; any bytes but NUL
  bool deflated = false;
  uint64_t offset_bytes = 0;  // of the data, behind the local header
  uint64_t packed_bytes = 0;
  uint64_t size_bytes = 0;        // unpacked; of deflated members only a claim, but a possible one
  std::optional<uint32_t> crc32;  // of the unpacked data
  std::optional<Error> error;     // why its data cannot be had; says which member, too
};

// The members in the order of the central directory, which alone is believed: local headers only
// say where the data starts. Fails if the directory itself is damaged; what is wrong with one
// member (encrypted, outside the file, overlapping another, of the same name as another) is its
// `error`.
Result<std::vector<ZipMember>> list_zip(Bytes file);

// All data of a member, checksum verified: in place, or unpacked into `scratch`. For metadata,
// which packs less well than tensors may: more than `max_growth` times its packed size is refused.
Result<Bytes> zip_member_data(Bytes file, const ZipMember& member, uint64_t max_growth,
                              Buffer& scratch);

// Writes an archive front to back: sizes and checksums are filled in as they become known.
class ZipWriter {
 public:
  enum class Packing : uint8_t {
    kStored,    // data aligned to 64 bytes
    kDeflated,  // in the plain way that every reader of documents takes; below 4 GiB for a member
  };
  explicit ZipWriter(FileSink& out, Packing packing = Packing::kStored)
      : out_(out), packing_(packing) {}
  ZipWriter(const ZipWriter&) = delete;

  // Starts the next member and ends the one before.
  Result<void> begin(std::string_view name);
  void write(Bytes data);
  // Ends the last member and writes the directory.
  void finish();

 private:
  struct Entry {
    std::string name;
    uint64_t header = 0;
    uint64_t size = 0;
    uint64_t packed = 0;
    uint32_t crc = 0;
  };
  std::string local_header(const Entry& entry) const;
  uint16_t method() const { return packing_ == Packing::kDeflated ? 8 : 0; }
  void end_member();

  FileSink& out_;
  const Packing packing_;
  std::vector<Entry> entries_;
  std::unique_ptr<Deflater> deflater_;  // of the open member
  bool open_ = false;
};

}  // namespace plumb::io
