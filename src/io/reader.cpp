// SPDX-License-Identifier: Apache-2.0
#include "io/reader.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/crc32.h"
#include "io/inflate.h"
#include "tensor/decode.h"

namespace plumb::io {

namespace {
constexpr size_t kReleaseBytes = 4 << 20;
constexpr size_t kMediumBytes = 8 << 20;  // up to this a tensor stays, for who reads it twice
constexpr size_t kSmallBytes = 256 << 10;
constexpr size_t kTinyBytes = 16 << 10;   // of a part somewhere
constexpr size_t kNeighbours = 64 << 10;  // a fault maps those around, too
constexpr size_t kFolio = 2 << 20;  // newer kernels: all that is kept together, at most so much
}  // namespace

struct TensorReader::State {
  DType stored_dtype;
  DType dtype;       // after unpacking nibbles and bits
  DType handed_out;  // after widening, if that was asked for
  std::optional<Dequantize> dequantize;
  int64_t item_bytes;  // of `dtype`
  bool swap;
  Shape shape;
  int64_t count;
  std::optional<IndexMap> map;  // nullopt: storage order is the wanted order

  Bytes stored;                      // all stored elements; empty while `inflater` is in use
  std::optional<Inflater> inflater;  // deflated, read front to back
  Bytes packed;                      // ... from here
  uint64_t skip_bytes = 0;           // ... after this many unpacked bytes
  uint64_t member_bytes = 0;         // ... of so many
  const MappedFile* mapping = nullptr;
  Bytes used;                 // of the mapping since it was last released
  size_t gathered_bytes = 0;  // ... by way of `map`

  // `part` is handed out from the mapping: everything before it may go, now and then.
  void use(Bytes part);
  void release_used();
  ~State() { release_used(); }

  std::optional<uint32_t> expected_crc;
  Bytes crc_tail;  // bytes under the checksum that lie after the elements (kPlain)
  uint32_t crc = 0;
  int64_t crc_next = 0;  // next element the running checksum needs; -1 = read out of order
  Bytes crc_piece;       // handed out last ...
  size_t crc_done = 0;   // ... and under the running checksum so far
  void check_bytes(size_t until);

  Buffer unpacked;  // owns `stored` when it is not part of the file ...
  std::shared_ptr<const std::vector<std::byte>> values;  // ... as this does
  std::vector<std::byte> owned;
  Buffer piece;
  Buffer widened;
  std::shared_ptr<Kept> kept;  // null: what was gathered is not

  Bytes gathered(int64_t first, int64_t count);

  // Completes the checksum with what lies behind the last element, and compares.
  Result<void> finish_crc();

  Result<void> hold(const Format& format, Bytes file, const TensorInfo& info, uint64_t needed);
  Result<void> hold_plain(Bytes file, const TensorInfo& info, uint64_t needed);
  Result<void> hold_deflated(Bytes file, const TensorInfo& info, uint64_t needed);
};

namespace {

Error too_short(const TensorInfo& info, uint64_t needed, uint64_t available) {
  return {"tensor data is shorter than its shape needs",
          fmt::format("byte {}: {} {} needs {} bytes, {} are there", info.offset_bytes,
                      dtype_text(info), to_string(info.shape), needed, available),
          "copy or write the file again; it is truncated or its header is wrong"};
}

// Unpacks up to `position` bytes that nobody wants, for the sake of the checksum.
Result<void> pass_over(Inflater& inflater, uint64_t position, uint32_t& crc) {
  std::array<std::byte, 16 * 1024> unwanted;
  while (inflater.position() < position) {
    const auto step =
        static_cast<size_t>(std::min<uint64_t>(unwanted.size(), position - inflater.position()));
    if (auto got = inflater.read(unwanted.data(), step); !got) return got.error();
    crc = crc32(crc, Bytes(unwanted).first(step));
  }
  return {};
}

Result<void> compare_crc(uint32_t crc, uint32_t expected) {
  if (crc == expected) return {};
  return Error{"checksum does not match",
               fmt::format("CRC-32 is {:08x}, the archive says {:08x}", crc, expected),
               "copy or write the file again; it is damaged"};
}

// Unpacks all of a deflated tensor. Deflate grows data at most 1032-fold, so a header that promises
// more than that is lying and gets no memory.
Result<Bytes> inflate_all(Bytes packed, const TensorInfo& info, uint64_t size, Buffer& into) {
  if (size / 1032 > packed.size())
    return Error{"compressed tensor promises more data than it can hold",
                 fmt::format("{} packed bytes cannot unpack to {}", packed.size(), size),
                 "write the file again"};
  Inflater inflater(packed);
  uint32_t crc = 0;
  if (auto head = pass_over(inflater, info.skip_bytes, crc); !head) return head.error();
  const Bytes all(into.reserve(static_cast<size_t>(size) + 1), static_cast<size_t>(size));
  auto body = inflater.read(const_cast<std::byte*>(all.data()), all.size());
  if (!body) return body.error();
  if (!info.crc32) return all;
  crc = crc32(crc, all);
  if (auto rest = pass_over(inflater, info.crc_size_bytes, crc); !rest) return rest.error();
  if (auto same = compare_crc(crc, *info.crc32); !same) return same.error();
  return all;
}

struct Wanted {
  std::optional<IndexMap> map;  // nullopt: storage order is the wanted order
  Shape shape;
};

Result<Wanted> wanted(const TensorInfo& info, const ReadOrder& order, int64_t stored_count) {
  Wanted wanted{std::nullopt, info.shape};
  if (!info.strides.empty()) {
    auto map = strided_map(info.shape, info.strides, info.first_element, stored_count);
    if (!map) return map.error();
    if (!map->is_identity()) wanted.map = std::move(*map);
  }
  if (order.map) {
    if (wanted.map)
      return Error{"tensor has strides and is wanted in an order of its own",
                   fmt::format("strides {}", to_string(info.strides)), "read it as stored"};
    return Wanted{order.map, order.map->shape()};
  }
  if (order.stored) return wanted;
  const std::optional<Shape>& logical = order.logical ? order.logical : info.logical_shape;
  // A device layout without a recorded shape stays as it is: its padding cannot be told from data.
  if (!logical && order.axes.empty()) return wanted;
  auto map = plain_map(info.layout, info.shape, logical, order.axes);
  // Plain data is what it is; a recorded shape that does not fit belongs to something else (FFTS+
  // slices carry the whole operator's shape). An explicit wish must not be ignored, though.
  if (!map && is_plain(info.layout) && !order.logical && order.axes.empty()) return wanted;
  if (!map) return map.error();
  wanted.shape = map->shape();
  if (map->is_identity()) return wanted;  // another shape for the same order
  if (wanted.map)
    return Error{
        "tensor has both strides and a device layout",
        fmt::format("strides {}, layout {}", to_string(info.strides), name_of(info.layout)),
        "read it as stored"};
  wanted.map = std::move(*map);
  return wanted;
}

// How many elements lie in the file. With strides the shape is a view, and the bytes tell.
Result<int64_t> stored_count(const TensorInfo& info) {
  const auto count = element_count(info.shape);
  if (!count || !byte_count(info.dtype, *count))
    return Error{"tensor is impossibly large", "shape " + to_string(info.shape),
                 "write the file again; its header is damaged"};
  if (info.shape.size() > kMaxAxes)
    return Error{"tensor has too many axes",
                 fmt::format("{} axes, at most {} are read", info.shape.size(), kMaxAxes),
                 "reshape it before saving"};
  if (info.strides.empty()) return *count;
  const uint64_t bytes = info.packing == Packing::kDeflated
                             ? info.crc_size_bytes - std::min(info.skip_bytes, info.crc_size_bytes)
                             : info.size_bytes;
  const auto stored = checked_mul(static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)), 8);
  return stored.value_or(INT64_MAX) / bits_of(info.dtype);
}

}  // namespace

void TensorReader::State::use(Bytes part) {
  if (stored.size() < kSmallBytes) return mapping->count_small_read(part.size());
  const std::byte* const used_end = used.data() + used.size();
  if (part.data() >= used.data() && part.data() + part.size() <= used_end) return;  // once more
  const bool goes_on = part.data() >= used.data() && part.data() <= used_end;
  // Looks here and there are not worth two calls each.
  if (!goes_on && part.size() <= kTinyBytes) return mapping->count_small_read(kFolio);
  if (!goes_on || (used.size() >= kReleaseBytes && stored.size() > kMediumBytes)) release_used();
  used = used.empty() ? part : Bytes(used.data(), part.data() + part.size());
}

void TensorReader::State::release_used() {
  if (mapping == nullptr || used.empty()) return;
  // Also the neighbours that other readers are done with.
  const std::byte* begin = mapping->bytes().data();
  const std::byte* end = begin + mapping->bytes().size();
  if (used.data() >= begin && used.data() < end) {  // not unpacked into memory of our own
    const auto before = std::min<int64_t>(used.data() - begin, kNeighbours);
    const auto behind = std::min<int64_t>(end - (used.data() + used.size()), kNeighbours);
    mapping->release({used.data() - before, used.data() + used.size() + behind});
  }
  used = {};
  gathered_bytes = 0;
}

Bytes TensorReader::State::gathered(int64_t first, int64_t wanted) {
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements * item_bytes); };
  const bool is_kept = kept != nullptr && first % Kept::kPiece == 0 &&
                       wanted == std::min(Kept::kPiece, count - first);
  std::byte* const out =
      is_kept ? kept->elements.reserve(0) + bytes(first) : piece.reserve(bytes(wanted));
  const auto at = static_cast<size_t>(first / Kept::kPiece);
  if (is_kept && kept->has[at]) return {out, bytes(wanted)};
  gather(*map, static_cast<size_t>(item_bytes), stored.data(), first, wanted, out);
  if (is_kept) kept->has[at] = true;
  // A layout is read from many places at once: now and then all of them may go.
  used = stored;
  gathered_bytes += bytes(wanted);
  if (gathered_bytes >= kReleaseBytes && stored.size() > kMediumBytes) release_used();
  return {out, bytes(wanted)};
}

void TensorReader::State::check_bytes(size_t until) {
  crc = crc32(crc, crc_piece.subspan(crc_done, until - crc_done));
  crc_done = until;
}

Result<void> TensorReader::State::finish_crc() {
  if (!inflater) return compare_crc(crc32(crc, crc_tail), *expected_crc);
  if (auto rest = pass_over(*inflater, member_bytes, crc); !rest) return rest.error();
  return compare_crc(crc, *expected_crc);
}

// The plain bytes of a tensor and what their checksum covers beside them.
Result<void> TensorReader::State::hold_plain(Bytes file, const TensorInfo& info, uint64_t needed) {
  if (info.size_bytes < needed) return too_short(info, needed, info.size_bytes);
  stored = file.subspan(info.offset_bytes, needed);
  if (!info.crc32) return {};
  const uint64_t begin = info.crc_offset_bytes, at = info.offset_bytes;
  const auto end = checked_add(begin, info.crc_size_bytes);
  if (!end || *end > file.size() || begin > at || *end < at + needed)
    return Error{"checksummed range does not hold the tensor",
                 fmt::format("byte {}: tensor, byte {}: {} bytes under the checksum", at, begin,
                             info.crc_size_bytes),
                 "report this as a bug"};
  expected_crc = info.crc32;
  crc = crc32(0, file.subspan(begin, at - begin));
  crc_tail = file.subspan(at + needed, *end - at - needed);
  return {};
}

// Unpacked piece by piece as it is read, or now if its elements are wanted in another order.
Result<void> TensorReader::State::hold_deflated(Bytes file, const TensorInfo& info,
                                                uint64_t needed) {
  const auto end = checked_add(info.skip_bytes, needed);
  if (!end || *end > info.crc_size_bytes)
    return too_short(info, needed,
                     info.crc_size_bytes - std::min(info.skip_bytes, info.crc_size_bytes));
  packed = file.subspan(info.offset_bytes, info.size_bytes);
  if (!map && dtype == info.dtype) {
    inflater.emplace(packed);
    skip_bytes = info.skip_bytes;
    member_bytes = info.crc_size_bytes;
    expected_crc = info.crc32;
    return {};
  }
  auto all = inflate_all(packed, info, needed, unpacked);
  if (!all) return all.error();
  stored = *all;
  return {};
}

// Where the bytes of the elements are, `needed` of them.
Result<void> TensorReader::State::hold(const Format& format, Bytes file, const TensorInfo& info,
                                       uint64_t needed) {
  switch (info.packing) {
    case Packing::kPlain: return hold_plain(file, info, needed);
    case Packing::kDeflated: return hold_deflated(file, info, needed);
    case Packing::kFormat: {
      auto loaded = format.load(file, info, unpacked);
      if (!loaded) return loaded.error();
      if (loaded->size() < needed) return too_short(info, needed, loaded->size());
      stored = loaded->first(needed);
      return {};
    }
    case Packing::kValues:
      if (info.values == nullptr || info.values->size() < needed)
        return too_short(info, needed, info.values == nullptr ? 0 : info.values->size());
      values = info.values;
      stored = Bytes(*values).first(needed);
      mapping = nullptr;
      return {};
  }
  return {};
}

TensorReader::TensorReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TensorReader::TensorReader(TensorReader&&) noexcept = default;
TensorReader& TensorReader::operator=(TensorReader&&) noexcept = default;
TensorReader::~TensorReader() = default;

DType TensorReader::dtype() const { return state_->handed_out; }
const Shape& TensorReader::shape() const { return state_->shape; }
int64_t TensorReader::count() const { return state_->count; }
bool TensorReader::is_random_access() const {
  const State& s = *state_;
  return !s.inflater && !s.expected_crc && s.owned.empty() && s.unpacked.capacity() == 0;
}

TensorReader TensorReader::from_memory(DType dtype, Shape shape, std::vector<std::byte> elements) {
  auto state = std::make_unique<State>();
  state->stored_dtype = state->dtype = state->handed_out = dtype;
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
  s.handed_out = order.portable ? info_of(s.dtype).portable : s.dtype;
  if (order.dequantize && kind_of(s.dtype) == DKind::kInteger && fits_float(s.dtype)) {
    s.dequantize = order.dequantize;
    s.handed_out = DType::kFloat32;
  }
  const bool is_real = kind_of(s.dtype) != DKind::kOpaque && kind_of(s.dtype) != DKind::kComplex;
  if (order.as_float32 && is_real && !fits_float(s.dtype)) s.handed_out = DType::kFloat32;
  s.item_bytes = bits_of(s.dtype) / 8;
  s.swap = info.big_endian;
  s.mapping = mapping;

  auto stored = stored_count(info);
  if (!stored) return stored.error();
  auto want = wanted(info, order, *stored);
  if (!want) return want.error();
  s.map = std::move(want->map);
  s.shape = std::move(want->shape);
  s.count = *element_count(s.shape);
  if (order.at_most > 0) s.count = std::min(s.count, order.at_most);
  const int64_t used = s.map ? *stored : s.count;
  if (order.kept && s.count <= Kept::kElements) {
    s.kept = order.kept;
    s.kept->elements.reserve(static_cast<size_t>(Kept::kElements * s.item_bytes));
  }

  const auto needed = static_cast<uint64_t>(*byte_count(info.dtype, used));
  const auto whole = checked_add(info.offset_bytes, info.size_bytes);
  const bool is_in_file = info.packing == Packing::kPlain || info.packing == Packing::kDeflated;
  if (is_in_file && (!whole || *whole > file.size()))
    return Error{"tensor lies outside its file",
                 fmt::format("byte {}: {} bytes wanted, the file has {}", info.offset_bytes,
                             info.size_bytes, file.size()),
                 "copy the file again; it is truncated"};

  if (auto held = s.hold(format, file, info, needed); !held) return held.error();
  // What is handed out is then not what is stored, or nothing: check now.
  if (s.expected_crc && (s.map || s.dtype != s.stored_dtype || s.count == 0)) {
    s.crc = crc32(s.crc, s.stored);
    if (auto checked = s.finish_crc(); !checked) return checked.error();
    s.expected_crc.reset();
  }
  if (s.map &&
      s.dtype != s.stored_dtype) {  // gather moves whole bytes: unpack nibbles and bits first
    s.owned.resize(static_cast<size_t>(used));
    unpack(s.stored_dtype, s.stored.data(), 0, used, s.owned.data());
    s.stored = s.owned;
    s.stored_dtype = s.dtype;
  }
  return TensorReader(std::move(state));
}

Result<Bytes> TensorReader::read(int64_t first, int64_t count) {
  return read(first, count, Check::kNow);
}

void TensorReader::check_until(int64_t element_of_piece) {
  constexpr size_t kWorthIt = 16 << 10;
  State& s = *state_;
  const auto until =
      std::min(s.crc_piece.size(), static_cast<size_t>(element_of_piece * s.item_bytes));
  if (until >= s.crc_done + kWorthIt) s.check_bytes(until);
}

Result<void> TensorReader::check_rest() {
  State& s = *state_;
  if (s.crc_piece.empty()) return {};
  s.check_bytes(s.crc_piece.size());
  s.crc_piece = {};
  return s.crc_next == s.count ? s.finish_crc() : Result<void>();
}

Result<Bytes> TensorReader::read(int64_t first, int64_t count, Check check) {
  State& s = *state_;
  assert(first >= 0 && count >= 0 && first <= s.count && count <= s.count - first);
  const auto bytes = static_cast<size_t>(count * s.item_bytes);
  Bytes result;
  if (s.inflater) {
    const uint64_t wanted = s.skip_bytes + static_cast<uint64_t>(first * s.item_bytes);
    if (s.inflater->position() > wanted) {
      s.inflater.emplace(s.packed);
      s.crc = 0;
    }
    if (auto passed = pass_over(*s.inflater, wanted, s.crc); !passed) return passed.error();
    s.crc_next = first;
    std::byte* out = s.piece.reserve(bytes);
    if (auto got = s.inflater->read(out, bytes); !got) return got.error();
    result = {out, bytes};
  } else if (s.map) {
    result = s.gathered(first, count);
  } else if (s.dtype != s.stored_dtype) {
    std::byte* out = s.piece.reserve(bytes);
    unpack(s.stored_dtype, s.stored.data(), first, count, out);
    result = {out, bytes};
  } else {
    result = s.stored.subspan(static_cast<size_t>(first * s.item_bytes), bytes);
    if (s.mapping != nullptr) s.use(result);
  }

  if (s.expected_crc && s.crc_next == first) {
    s.crc_piece = result;
    s.crc_done = 0;
    s.crc_next = first + count;
    // What was unpacked may be changed below.
    if (check == Check::kNow || s.inflater)
      if (auto checked = check_rest(); !checked) return checked.error();
  } else {
    s.crc_next = -1;
  }
  if (s.swap && count > 0) {
    if (result.data() != s.piece.reserve(0)) {
      std::byte* out = s.piece.reserve(bytes);
      std::memcpy(out, result.data(), bytes);
      result = {out, bytes};
    }
    swap_bytes(s.dtype, const_cast<std::byte*>(result.data()), count);
  }
  if (s.handed_out == DType::kFloat32 && s.dtype != DType::kFloat32) {
    const size_t size = static_cast<size_t>(count) * sizeof(float);
    auto* out = reinterpret_cast<float*>(s.widened.reserve(size));
    decode_float(s.dtype, result.data(), count, out);
    if (s.dequantize)
      for (int64_t i = 0; i < count; ++i)
        out[i] = static_cast<float>((static_cast<double>(out[i]) - s.dequantize->offset) /
                                    s.dequantize->scale);
    result = {reinterpret_cast<const std::byte*>(out), size};
  }
  if (s.mapping != nullptr && !s.mapping->intact())
    return Error{"the file changed while it was read", "it is shorter now",
                 "wait until its writer has finished"};
  return result;
}

PieceSource pieces_of(TensorReader& reader) {
  PieceSource source{reader.dtype(), reader.shape(), reader.count()};
  source.read = [&reader](int64_t first, int64_t count) { return reader.read(first, count); };
  return source;
}

}  // namespace plumb::io
