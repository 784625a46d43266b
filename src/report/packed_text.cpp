// SPDX-License-Identifier: Apache-2.0
#include "report/packed_text.h"

#include <span>

#include "base/base64.h"
#include "base/crc32.h"

namespace plumb::report {
namespace {

constexpr int kLevel = 6;
// Deflated, no name, no time: the same run gives the same bytes. The system is not told.
constexpr unsigned char kHeader[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};

}  // namespace

PackedText::PackedText(const Put& put)
    : put_(put), deflater_([this](Bytes packed) { append(packed); }, kLevel) {
  append(std::as_bytes(std::span(kHeader)));
}

void PackedText::write(Bytes bytes) {
  crc_ = crc32(crc_, bytes);
  size_ += static_cast<uint32_t>(bytes.size());  // by definition modulo 2^32
  deflater_.write(bytes);
}

void PackedText::finish() {
  deflater_.finish();
  const uint32_t trailer[] = {crc_, size_};
  append(std::as_bytes(std::span(trailer)));
  std::string text;
  append_base64(text, as_bytes(held_));
  put_(text);
}

void PackedText::append(Bytes packed) {
  held_ += as_text(packed);
  const size_t whole = held_.size() / 3 * 3;
  std::string text;
  append_base64(text, as_bytes(held_).first(whole));
  held_.erase(0, whole);
  put_(text);
}

}  // namespace plumb::report
