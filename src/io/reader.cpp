// SPDX-License-Identifier: Apache-2.0
#include "io/reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <libdeflate.h>

#include "io/inflate.h"
#include "tensor/decode.h"

namespace plumb::io {

struct TensorReader::State {
  DType stored_dtype;
  DType dtype;
  int64_t item_bytes;
  bool swap;
  Shape shape;
  int64_t count;
  std::optional<IndexMap> map;  // nullopt: storage order is the wanted order

  Bytes stored;                       // all stored elements; empty while `inflater` is in use
  std::optional<Inflater> inflater;   // deflated, read front to back
  Bytes packed;                       // ... from here
  uint64_t skip_bytes = 0;            // ... after this many unpacked bytes
  const MappedFile* mapping = nullptr;
  Bytes last_piece;  // handed out from the mapping, to be released

  std::optional<uint32_t> expected_crc;
  Bytes crc_head;  // bytes under the checksum that lie before the elements (kPlain)
  Bytes crc_tail;  // ... and after them
  uint32_t crc = 0;
  int64_t crc_next = 0;  // next element the running checksum needs; -1 = read out of order

  Buffer unpacked;  // owns `stored` when it is not part of the file
  std::vector<std::byte> owned;
  Buffer piece;
};

namespace {

Error too_short(const TensorInfo& info, uint64_t needed) {
  return {"tensor data is shorter than its shape needs",
          fmt::format("byte {}: {} {} needs {} bytes, {} are there", info.offset_bytes,
                      dtype_text(info), to_string(info.shape), needed, info.size_bytes),
          "copy or write the file again; it is truncated or its header is wrong"};
}

// Unpacks all of a deflated tensor. Deflate grows data at most 1032-fold, so a header that promises
// more than that is lying and gets no memory.
Result<Bytes> inflate_all(Bytes packed, uint64_t skip, uint64_t size, Buffer& into) {
  if (size / 1032 > packed.size())
    return Error{"compressed tensor promises more data than it can hold",
                 fmt::format("{} packed bytes cannot unpack to {}", packed.size(), size),
                 "write the file again"};
  Inflater inflater(packed);
  std::byte* out = into.reserve(static_cast<size_t>(std::max(size, skip)) + 1);
  if (auto head = inflater.read(out, static_cast<size_t>(skip)); !head) return head.error();
  if (auto body = inflater.read(out, static_cast<size_t>(size)); !body) return body.error();
  return Bytes(out, static_cast<size_t>(size));
}

Result<std::optional<IndexMap>> wanted_map(const TensorInfo& info, const ReadOrder& order,
                                           int64_t stored_count) {
  if (!info.strides.empty()) {
    auto map = strided_map(info.shape, info.strides, info.first_element, stored_count);
    if (!map) return map.error();
    return std::optional(*map);
  }
  if (order.stored) return std::optional<IndexMap>();
  const std::optional<Shape>& logical = order.logical ? order.logical : info.logical_shape;
  // A device layout without a recorded shape stays as it is: its padding cannot be told from data.
  if (!logical && order.axes.empty()) return std::optional<IndexMap>();
  auto map = plain_map(info.layout, info.shape, logical, order.axes);
  if (map) return std::optional(*map);
  // Plain data is what it is; a recorded shape that does not fit belongs to something else (FFTS+
  // slices carry the whole operator's shape). An explicit wish must not be ignored, though.
  if (is_plain(info.layout) && !order.logical && order.axes.empty())
    return std::optional<IndexMap>();
  return map.error();
}

}  // namespace

TensorReader::TensorReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TensorReader::TensorReader(TensorReader&&) noexcept = default;
TensorReader& TensorReader::operator=(TensorReader&&) noexcept = default;
TensorReader::~TensorReader() = default;

DType TensorReader::dtype() const { return state_->dtype; }
const Shape& TensorReader::shape() const { return state_->shape; }
int64_t TensorReader::count() const { return state_->count; }
bool TensorReader::is_random_access() const { return !state_->inflater && !state_->expected_crc; }

TensorReader TensorReader::from_memory(DType dtype, Shape shape, std::vector<std::byte> elements) {
  auto state = std::make_unique<State>();
  state->stored_dtype = state->dtype = dtype;
  state->item_bytes = bits_of(dtype) / 8;
  state->swap = false;
  state->count = static_cast<int64_t>(elements.size()) / state->item_bytes;
  state->shape = std::move(shape);
  state->owned = std::move(elements);
  state->stored = state->owned;
  return TensorReader(std::move(state));
}

Result<TensorReader> TensorReader::open(const Format& format, Bytes file, const TensorInfo& info,
                                        const ReadOrder& order, const MappedFile* mapping) {
  if (info.error) return *info.error;
  auto state = std::make_unique<State>();
  State& s = *state;
  s.stored_dtype = info.dtype;
  s.dtype = info_of(info.dtype).unpacked;
  s.item_bytes = bits_of(s.dtype) / 8;
  s.swap = info.big_endian;
  s.mapping = mapping;

  const auto stored_count = element_count(info.shape);
  if (!stored_count || !byte_count(info.dtype, *stored_count))
    return Error{"tensor is impossibly large", "shape " + to_string(info.shape),
                 "write the file again; its header is damaged"};
  // With strides the shape is a view: how much is stored follows from the bytes.
  const int64_t available =
      info.strides.empty() ? *stored_count
                           : static_cast<int64_t>(info.size_bytes * 8 / uint64_t(bits_of(info.dtype)));
  auto map = wanted_map(info, order, available);
  if (!map) return map.error();
  s.map = std::move(*map);
  if (s.map && s.map->is_identity()) {
    s.shape = s.map->shape();
    s.map.reset();
  } else {
    s.shape = s.map ? s.map->shape() : info.shape;
  }
  s.count = *element_count(s.shape);

  const auto needed = static_cast<uint64_t>(*byte_count(info.dtype, available));
  const auto whole = checked_add(info.offset_bytes, info.size_bytes);
  if (info.packing != Packing::kFormat && (!whole || *whole > file.size()))
    return Error{"tensor lies outside its file",
                 fmt::format("byte {}: {} bytes wanted, the file has {}", info.offset_bytes,
                             info.size_bytes, file.size()),
                 "copy the file again; it is truncated"};

  switch (info.packing) {
    case Packing::kPlain:
      if (info.size_bytes < needed) return too_short(info, needed);
      s.stored = file.subspan(info.offset_bytes, needed);
      if (info.crc32) {
        const uint64_t end = info.crc_offset_bytes + info.crc_size_bytes;
        if (end > file.size() || info.crc_offset_bytes > info.offset_bytes ||
            end < info.offset_bytes + needed)
          return Error{"checksummed range does not hold the tensor", "", "report this as a bug"};
        s.expected_crc = info.crc32;
        s.crc_head = file.subspan(info.crc_offset_bytes, info.offset_bytes - info.crc_offset_bytes);
        s.crc_tail = file.subspan(info.offset_bytes + needed, end - info.offset_bytes - needed);
        s.crc = libdeflate_crc32(0, s.crc_head.data(), s.crc_head.size());
      }
      break;
    case Packing::kDeflated:
      s.packed = file.subspan(info.offset_bytes, info.size_bytes);
      s.skip_bytes = info.skip_bytes;
      if (!s.map && s.dtype == info.dtype) {
        s.inflater.emplace(s.packed);
        if (info.crc32) s.expected_crc = info.crc32;
      } else {
        auto all = inflate_all(s.packed, s.skip_bytes, needed, s.unpacked);
        if (!all) return all.error();
        s.stored = *all;
      }
      break;
    case Packing::kFormat: {
      auto loaded = format.load(file, info, s.unpacked);
      if (!loaded) return loaded.error();
      if (loaded->size() < needed) return too_short(info, needed);
      s.stored = loaded->first(needed);
      break;
    }
  }
  if (s.map && s.dtype != s.stored_dtype) {  // gather moves whole bytes: unpack nibbles and bits first
    s.owned.resize(static_cast<size_t>(available));
    unpack(s.stored_dtype, s.stored.data(), 0, available, s.owned.data());
    s.stored = s.owned;
    s.stored_dtype = s.dtype;
  }
  if (s.map) {  // the pieces come out of order: check the checksum now
    if (s.expected_crc) {
      uint32_t crc = libdeflate_crc32(s.crc, s.stored.data(), s.stored.size());
      crc = libdeflate_crc32(crc, s.crc_tail.data(), s.crc_tail.size());
      if (crc != *s.expected_crc)
        return Error{"checksum does not match",
                     fmt::format("CRC-32 is {:08x}, the archive says {:08x}", crc, *s.expected_crc),
                     "copy or write the file again; it is damaged"};
      s.expected_crc.reset();
    }
  }
  return TensorReader(std::move(state));
}

Result<Bytes> TensorReader::read(int64_t first, int64_t count) {
  State& s = *state_;
  assert(first >= 0 && count >= 0 && first <= s.count && count <= s.count - first);
  const auto bytes = static_cast<size_t>(count * s.item_bytes);
  Bytes result;
  if (s.inflater) {
    const uint64_t wanted = s.skip_bytes + static_cast<uint64_t>(first * s.item_bytes);
    if (s.inflater->position() > wanted) {
      s.inflater.emplace(s.packed);
      s.crc = 0;
      s.crc_next = 0;
    }
    std::byte* out = s.piece.reserve(std::max<size_t>(bytes, 64 * 1024));
    while (s.inflater->position() < wanted) {
      const auto step =
          static_cast<size_t>(std::min<uint64_t>(wanted - s.inflater->position(), 64 * 1024));
      if (auto skipped = s.inflater->read(out, step); !skipped) return skipped.error();
      s.crc = libdeflate_crc32(s.crc, out, step);
      s.crc_next = first;
    }
    if (auto got = s.inflater->read(out, bytes); !got) return got.error();
    result = {out, bytes};
  } else if (s.map) {
    std::byte* out = s.piece.reserve(bytes);
    gather(*s.map, static_cast<size_t>(s.item_bytes), s.stored.data(), first, count, out);
    result = {out, bytes};
  } else if (s.dtype != s.stored_dtype) {
    std::byte* out = s.piece.reserve(bytes);
    unpack(s.stored_dtype, s.stored.data(), first, count, out);
    result = {out, bytes};
  } else {
    result = s.stored.subspan(static_cast<size_t>(first * s.item_bytes), bytes);
    if (s.mapping != nullptr) {
      if (!s.last_piece.empty()) s.mapping->release(s.last_piece);
      s.last_piece = result;
    }
  }

  if (s.expected_crc && s.crc_next >= 0) {
    if (first == s.crc_next) {
      s.crc = libdeflate_crc32(s.crc, result.data(), result.size());
      s.crc_next = first + count;
      if (s.crc_next == s.count) {
        const uint32_t crc = libdeflate_crc32(s.crc, s.crc_tail.data(), s.crc_tail.size());
        if (crc != *s.expected_crc)
          return Error{"checksum does not match",
                       fmt::format("CRC-32 is {:08x}, the archive says {:08x}", crc,
                                   *s.expected_crc),
                       "copy or write the file again; it is damaged"};
      }
    } else {
      s.crc_next = -1;
    }
  }
  if (s.swap && count > 0) {
    if (result.data() != s.piece.reserve(0)) {
      std::byte* out = s.piece.reserve(bytes);
      std::memcpy(out, result.data(), bytes);
      result = {out, bytes};
    }
    swap_bytes(s.dtype, const_cast<std::byte*>(result.data()), count);
  }
  if (s.mapping != nullptr && !s.mapping->intact())
    return Error{"the file shrank while it was being read", "", "wait until its writer has finished"};
  return result;
}

}  // namespace plumb::io
