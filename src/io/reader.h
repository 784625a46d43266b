// SPDX-License-Identifier: Apache-2.0
//
// The elements of one tensor in plain order, in pieces, however the file stores them: layouts,
// strides, byte order, deflate and sub-byte types end here. Comparison, statistics and writers read
// nothing else.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "base/mapped_file.h"
#include "io/format.h"
#include "tensor/piece_source.h"

namespace plumb::io {

// Integers that stand for numbers: integer = round(number * scale + offset).
struct Dequantize {
  double scale = 1;
  double offset = 0;
};

// What was brought into another order, for all readers of a tensor and whoever reads it twice. The
// pieces that are kept are the multiples of kPiece and the last one.
struct Kept {
  static constexpr int64_t kElements = 1 << 22;  // larger tensors are not kept
  static constexpr int64_t kPiece = 1 << 16;
  Buffer elements;
  std::array<std::atomic<bool>, kElements / kPiece> has{};  // a piece: set once it is complete

  void forget() {
    for (auto& piece : has) piece = false;
  }
};

// In which order and shape a tensor is wanted.
struct ReadOrder {
  bool stored = false;           // exactly as it lies in the file, device shape and all
  std::string axes;              // e.g. "NHWC"; empty = the logical shape's own order
  std::optional<Shape> logical;  // instead of the one the file records
  bool portable = false;         // as DTypeInfo::portable: bfloat16 and 8-bit floats widened
  std::optional<Dequantize> dequantize =
      {};  // integers of up to 16 bits as the float32 they stand for
  // This order of the stored elements, instead of what layout and shapes say. It must fit the
  // stored shape; not for tensors with strides.
  std::optional<IndexMap> map = {};
  std::shared_ptr<Kept> kept = {};  // where what `map` gave is kept, if it is
  bool as_float32 = false;          // real numbers that float32 cannot hold are rounded to it
  int64_t at_most = 0;              // only the first elements of that order; 0: all
};

class TensorReader {
 public:
  // `file` must stay alive and is the whole file `info` was listed from. If `mapping` is given it
  // is the mapping behind `file`; pages already handed out are then released as reading moves on.
  static Result<TensorReader> open(const Format& format, Bytes file, const TensorInfo& info,
                                   const ReadOrder& order = {},
                                   const MappedFile* mapping = nullptr);
  // A tensor that is already in memory in plain order; takes the bytes over.
  static TensorReader from_memory(DType dtype, Shape shape, std::vector<std::byte> elements);
  TensorReader(TensorReader&&) noexcept;
  TensorReader& operator=(TensorReader&&) noexcept;
  ~TensorReader();

  DType dtype() const;  // as handed out: one element per whole byte(s), little-endian
  const Shape& shape() const;
  int64_t count() const;

  // Elements [first, first + count), valid until the next call. Front to back is always cheap; a
  // deflated tensor starts over when read backwards. The read that reaches the last element also
  // checks the file's checksum, if it has one and everything was read in order.
  Result<Bytes> read(int64_t first, int64_t count);

  // Bytes that fill the caches take half as long to check while somebody else works on them. With
  // kLater the caller tells how far of the piece it has come, as often as it likes, and calls
  // check_rest() when it is done: what it made of the piece counts for nothing before.
  enum class Check : uint8_t { kNow, kLater };
  Result<Bytes> read(int64_t first, int64_t count, Check check);
  void check_until(int64_t element_of_piece);
  Result<void> check_rest();

  // True if several readers of this tensor may each read a part without doing the work twice.
  bool is_random_access() const;

 private:
  struct State;
  explicit TensorReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// For whoever knows no files. Borrows the reader; the source has no other ones.
PieceSource pieces_of(TensorReader& reader);

// Calls `use(bytes, first, count)` for consecutive pieces of the whole tensor, about `piece_bytes`
// each, and stops at the first error.
template <class Use>
Result<void> for_each_piece(TensorReader& reader, Use&& use, int64_t piece_bytes = 1 << 20) {
  const int64_t item = bits_of(reader.dtype()) / 8;
  const int64_t step = std::max<int64_t>(1, piece_bytes / item);
  for (int64_t first = 0; first < reader.count(); first += step) {
    const int64_t count = std::min(step, reader.count() - first);
    Result<Bytes> piece = reader.read(first, count);
    if (!piece) return piece.error();
    use(*piece, first, count);
  }
  return {};
}

}  // namespace plumb::io
