// SPDX-License-Identifier: Apache-2.0
//
// Moving elements through an index map. A range of logical elements is cut into rectangles of two
// axes, and a rectangle is moved whole: a cache line of blocked storage holds neighbours of several
// logical rows, so going row by row would fetch it once for each of them.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "tensor/layout/layout_kind.h"

namespace plumb {
namespace {

// Elements of sizeof(T) bytes at any address, with strides in elements.
template <class T>
struct Rect {
  const std::byte* in;
  std::byte* out;
  int64_t in_row, in_column;
  int64_t out_row, out_column;
  int64_t rows, columns;
  // More of the kind, one after the other in the output.
  int64_t blocks = 1, in_block = 0;

  const std::byte* from(int64_t row, int64_t column) const {
    return in + (row * in_row + column * in_column) * int64_t{sizeof(T)};
  }
  // The same where nothing need be.
  uintptr_t place(int64_t row, int64_t column) const {
    return reinterpret_cast<uintptr_t>(in) +
           static_cast<uintptr_t>((row * in_row + column * in_column) * int64_t{sizeof(T)});
  }
  std::byte* to(int64_t row, int64_t column) const {
    return out + (row * out_row + column * out_column) * int64_t{sizeof(T)};
  }
  Rect part(int64_t row, int64_t column, int64_t row_count, int64_t column_count) const {
    return {from(row, column), to(row, column), in_row,    in_column,
            out_row,           out_column,      row_count, column_count};
  }
  Rect block(int64_t index) const {
    Rect one = *this;
    one.in += index * in_block * int64_t{sizeof(T)};
    one.out = to(0, index * columns);
    one.blocks = 1;
    return one;
  }
};

constexpr int64_t kCacheLine = 64;

// Harmless beyond the end of the data: these are places, which nothing is read from.
void prefetch(uintptr_t begin, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kCacheLine)
    __builtin_prefetch(reinterpret_cast<const void*>(begin + static_cast<uintptr_t>(at)), 0, 2);
}

template <class T>
void copy_strided(const Rect<T>& rect) {
  for (int64_t row = 0; row < rect.rows; ++row) {
    const std::byte* in = rect.from(row, 0);
    std::byte* out = rect.to(row, 0);
    const int64_t in_step = rect.in_column * int64_t{sizeof(T)};
    const int64_t out_step = rect.out_column * int64_t{sizeof(T)};
    for (int64_t i = 0; i < rect.columns; ++i)
      std::memcpy(out + i * out_step, in + i * in_step, sizeof(T));
  }
}

// Row by row, so that a cache line of the output is complete before another one takes its place:
// rows of a power of two all go to the same few.
template <size_t kBytes, class T>
void copy_short_runs(const Rect<T>& rect) {
  const int64_t in_step = rect.in_block * int64_t{sizeof(T)};
  // More streams than a processor follows by itself: the rows after these are wanted soon.
  if (rect.in_row * int64_t{sizeof(T)} == kBytes)
    for (int64_t block = 0; block < rect.blocks; ++block)
      prefetch(rect.place(rect.rows, 0) + static_cast<uintptr_t>(block * in_step),
               rect.rows * int64_t{kBytes});
  for (int64_t row = 0; row < rect.rows; ++row) {
    const std::byte* in = rect.from(row, 0);
    std::byte* out = rect.to(row, 0);
    for (int64_t block = 0; block < rect.blocks; ++block)
      std::memcpy(out + block * int64_t{kBytes}, in + block * in_step, kBytes);
  }
}

// Both sides are contiguous along the columns.
template <class T>
void copy_runs(const Rect<T>& rect) {
  const size_t bytes = static_cast<size_t>(rect.columns) * sizeof(T);
  switch (bytes) {  // the usual blocks of 8, 16 and 32 elements
    case 16: return copy_short_runs<16>(rect);
    case 32: return copy_short_runs<32>(rect);
    case 64: return copy_short_runs<64>(rect);
    default: break;
  }
  for (int64_t block = 0; block < rect.blocks; ++block) {
    const Rect<T> one = rect.block(block);
    if (bytes < 32) {
      copy_strided(one);
    } else {
      for (int64_t row = 0; row < one.rows; ++row)
        std::memcpy(one.to(row, 0), one.from(row, 0), bytes);
    }
  }
}

// A vector register. Every instruction set can interleave two of them from its first version on, so
// the compiler's own vectors do and nothing needs to be chosen at run time.
template <class T>
struct Vector {
  typedef T Lanes __attribute__((vector_size(16)));
  Lanes lanes;
};

// The lower (or upper) halves of `a` and `b`, element by element in turn.
template <bool kUpper, class T, size_t... kIndex>
Vector<T> interleave(Vector<T> a, Vector<T> b, std::index_sequence<kIndex...>) {
  constexpr size_t kSide = sizeof...(kIndex);
  return {__builtin_shufflevector(a.lanes, b.lanes,
                                  (kIndex / 2 + kIndex % 2 * kSide + kUpper * kSide / 2)...)};
}

// Interleaving the first half of the vectors with the second, once per bit of the index, transposes
// them. Written out for each vector, so that they stay in registers.
template <class T, size_t... kIndex>
std::array<Vector<T>, sizeof...(kIndex)> interleaved(
    const std::array<Vector<T>, sizeof...(kIndex)>& v, std::index_sequence<kIndex...> all) {
  constexpr size_t kHalf = sizeof...(kIndex) / 2;
  return {interleave<kIndex % 2 != 0>(v[kIndex / 2], v[kIndex / 2 + kHalf], all)...};
}
template <class T, size_t... kIndex>
std::array<Vector<T>, sizeof...(kIndex)> loaded(const Rect<T>& rect,
                                                std::index_sequence<kIndex...>) {
  std::array<Vector<T>, sizeof...(kIndex)> v;
  (std::memcpy(&v[kIndex], rect.from(0, kIndex), 16), ...);
  return v;
}
template <bool kAllRows, class T, size_t... kIndex>
void store(const std::array<Vector<T>, sizeof...(kIndex)>& v, const Rect<T>& rect,
           std::index_sequence<kIndex...>) {
  const auto store_row = [&](size_t row) {
    if (kAllRows || static_cast<int64_t>(row) < rect.rows)
      std::memcpy(rect.to(static_cast<int64_t>(row), 0), &v[row], 16);
  };
  (store_row(kIndex), ...);
}

// The first `rows` rows of a square of 16 by 16 bytes; all of it is read.
template <bool kAllRows, class T>
void transpose_square(const Rect<T>& rect) {
  constexpr size_t kSide = 16 / sizeof(T);
  constexpr std::make_index_sequence<kSide> kAll;
  auto v = loaded(rect, kAll);
  static_assert(kSide == 4 || kSide == 8 || kSide == 16);
  v = interleaved(interleaved(v, kAll), kAll);
  if constexpr (kSide >= 8) v = interleaved(v, kAll);
  if constexpr (kSide == 16) v = interleaved(v, kAll);
  store<kAllRows>(v, rect, kAll);
}

// The input is contiguous along the rows, the output along the columns.
template <class T>
void transpose(const Rect<T>& rect) {
  constexpr int64_t kSide = 16 / sizeof(T);
  constexpr int64_t kBand = kCacheLine / sizeof(T);  // of each output row at a time
  constexpr int64_t kAhead = 4 * kBand;              // a file comes from memory that far ahead
  const int64_t squares_end = rect.columns / kSide * kSide;
  // A square that reaches beyond the rows reads on towards the next column, so there must be one.
  const int64_t low_rows = rect.rows % kSide;
  const int64_t low_end =
      low_rows > 1 && rect.in_column >= kSide ? (rect.columns - 1) / kSide * kSide : 0;
  const int64_t row_end = rect.rows - low_rows;
  const bool is_dense = rect.in_column > 0 && rect.in_column * int64_t{sizeof(T)} <= kCacheLine;
  for (int64_t band = 0; band < squares_end; band += kBand) {
    const int64_t band_end = std::min(band + kBand, squares_end);
    if (is_dense)
      prefetch(rect.place(0, band + kAhead), kBand * rect.in_column * int64_t{sizeof(T)});
    for (int64_t row = 0; row < row_end; row += kSide)
      for (int64_t column = band; column < band_end; column += kSide)
        transpose_square<true>(rect.part(row, column, kSide, kSide));
    for (int64_t column = band; column < std::min(band_end, low_end); column += kSide)
      transpose_square<false>(rect.part(row_end, column, low_rows, kSide));
  }
  copy_strided(rect.part(0, squares_end, row_end, rect.columns - squares_end));
  copy_strided(rect.part(row_end, low_end, low_rows, rect.columns - low_end));
}

template <class T>
void copy(const Rect<T>& rect) {
  if (rect.in_column == 1 && rect.out_column == 1) return copy_runs(rect);
  if constexpr (sizeof(T) <= 4) {  // else a square is too small to be worth it
    if (rect.in_row == 1 && rect.out_column == 1) return transpose(rect);
    if (rect.in_column == 1 && rect.out_row == 1)
      return transpose(Rect<T>{rect.in, rect.out, rect.in_column, rect.in_row, rect.out_column,
                               rect.out_row, rect.columns, rect.rows});
  }
  copy_strided(rect);
}

// The axes that matter, at least two; neighbours that lie evenly one after the other are one axis.
std::vector<AxisMap> merged_axes(const IndexMap& map) {
  std::vector<AxisMap> axes(2, whole_axis(1, 0));
  for (const AxisMap& given : map.axes) {
    if (given.size == 1) continue;
    const AxisMap axis = split_axis(given.size, given.block, given.outer, given.inner);
    AxisMap& last = axes.back();
    if (axis.block == 1 && last.block == 1 && last.size > 1 &&
        checked_mul(axis.size, axis.outer) == last.outer)
      last = whole_axis(last.size * axis.size, axis.outer);
    else
      axes.push_back(axis);
  }
  return axes;
}

// A stretch of storage with one stride.
struct Run {
  int64_t offset;
  int64_t length;
  int64_t stride;
};
Run run_at(const AxisMap& axis, int64_t at) {
  if (axis.block == 1) return {at * axis.outer, axis.size - at, axis.outer};
  const int64_t block = at / axis.block, within = at % axis.block;
  return {block * axis.outer + within * axis.inner, std::min(axis.size - at, axis.block - within),
          axis.inner};
}
// The same for a position counted over several axes.
Run run_at(std::span<const AxisMap> axes, int64_t at) {
  if (axes.size() == 1) return run_at(axes[0], at);
  Run run = run_at(axes.back(), at % axes.back().size);
  at /= axes.back().size;
  for (size_t i = axes.size() - 1; i-- > 0; at /= axes[i].size)
    run.offset += axes[i].at(at % axes[i].size);
  return run;
}

// Which axis counts the rows of the rectangles: the one before the last, unless one further out
// lies contiguously in storage where the last does not; then that one is worth walking along.
size_t row_axis_of(std::span<const AxisMap> axes) {
  const auto stride = [](const AxisMap& axis) { return axis.block == 1 ? axis.outer : axis.inner; };
  const size_t usual = axes.size() - 2;
  if (stride(axes.back()) == 1 || stride(axes[usual]) == 1 || axes.back().size < 8) return usual;
  for (size_t i = 0; i < usual; ++i)
    if (stride(axes[i]) == 1) return i;
  return usual;
}

struct Blocks {
  int64_t count = 1, stride = 0;
};

// Calls `move(stored_at, row_stride, column_stride, plain_at, plain_row, rows, columns, blocks)`
// for rectangles that together are the logical elements [first, first + count). The strides are
// those of the storage; on the plain side positions count from `first` and rows are `plain_row`
// apart. Of several blocks, each is that large, and `columns` behind the last on the plain side.
template <class Move>
void for_each_rect(std::span<const AxisMap> axes, int64_t base, int64_t first, int64_t count,
                   Move&& move) {
  const size_t row_axis = row_axis_of(axes);
  const std::span<const AxisMap> row_axes = axes.subspan(row_axis + 1);
  int64_t row_length = 1;
  for (const AxisMap& axis : row_axes) row_length *= axis.size;
  // Where a row is put together from many runs, more rows would push each other out of the cache.
  const int64_t rows_at_once = axes.back().block == 1 ? INT64_MAX : 8;
  constexpr int64_t kBlocksAtOnce = 4;
  const AxisMap& last = axes.back();
  const bool is_blocked = row_axes.size() == 1 && last.block > 1 && last.inner == 1;

  std::vector<int64_t> index(row_axis + 1);
  int64_t column = first % row_length;
  for (int64_t i = std::ssize(index) - 1, rest = first / row_length; i >= 0; --i) {
    index[i] = rest % axes[i].size;
    rest /= axes[i].size;
  }

  int64_t done = 0;  // elements moved so far, that is the plain position
  while (done < count) {
    const Run rows = run_at(axes[row_axis], index.back());
    int64_t origin = base + rows.offset;
    for (size_t i = 0; i < row_axis; ++i) origin += axes[i].at(index[i]);

    // The range begins at `column` of the first row and ends before `end_column` of row `end_row`.
    const int64_t taken = std::min(count - done, rows.length * row_length - column);
    const int64_t end_row = (column + taken) / row_length;
    const int64_t end_column = (column + taken) % row_length;
    const auto band = [&](int64_t row, int64_t row_end, int64_t from, int64_t to) {
      if (from == to) return;
      for (int64_t at_row = row, height; at_row < row_end; at_row += height) {
        height = std::min(rows_at_once, row_end - at_row);
        for (int64_t at = from, width; at < to; at += width) {
          const Run columns = run_at(row_axes, at);
          width = std::min(columns.length, to - at);
          Blocks blocks;
          if (is_blocked && width == last.block)
            blocks = {std::min(kBlocksAtOnce, (to - at) / width), last.outer};
          move(origin + at_row * rows.stride + columns.offset, rows.stride, columns.stride,
               done - column + at_row * row_length + at, row_length, height, width, blocks);
          width *= blocks.count;
        }
      }
    };
    // Columns left of both ends, between them, and right of both belong to different rows.
    const int64_t low = std::min(column, end_column), high = std::max(column, end_column);
    band(1, end_row + 1, 0, low);
    if (column < end_column)
      band(0, end_row + 1, low, high);
    else
      band(1, end_row, low, high);
    band(0, end_row, high, row_length);

    done += taken;
    column = end_column;
    index.back() += end_row;
    for (size_t i = index.size(); i-- > 0 && index[i] == axes[i].size;) {
      index[i] = 0;
      if (i > 0) ++index[i - 1];
    }
  }
}

// Grouped weights, whose axes depend on each other: only a row of neither axis is moved at once.
template <class Move>
void for_each_grouped_row(const IndexMap& map, int64_t first, int64_t count, Move&& move) {
  const size_t rank = map.axes.size();
  const bool by_row = map.groups->n_axis + 1 != rank && map.groups->c_axis + 1 != rank;
  std::vector<int64_t> index(rank);
  for (size_t i = rank; i-- > 0;) {
    index[i] = first % map.axes[i].size;
    first /= map.axes[i].size;
  }
  for (int64_t done = 0; done < count;) {
    const AxisMap& last = map.axes.back();
    const int64_t length = by_row ? std::min(last.size - index.back(), count - done) : 1;
    move(map.offset(index), 0, last.outer, done, 0, 1, length, Blocks());
    done += length;
    index.back() += length;
    for (size_t i = rank; i-- > 0 && index[i] == map.axes[i].size;) {
      index[i] = 0;
      if (i > 0) ++index[i - 1];
    }
  }
}

template <class Move>
void for_each_part(const IndexMap& map, int64_t first, int64_t count, Move&& move) {
  if (count == 0) return;
  if (map.groups)
    for_each_grouped_row(map, first, count, move);
  else
    for_each_rect(merged_axes(map), map.first, first, count, move);
}

struct Sixteen {
  std::byte bytes[16];
};

// Calls `use` with a value of a type that has the size of an element.
template <class Use>
void with_item(size_t item_bytes, Use&& use) {
  switch (item_bytes) {
    case 1: return use(uint8_t{});
    case 2: return use(uint16_t{});
    case 4: return use(uint32_t{});
    case 8: return use(uint64_t{});
    case 16: return use(Sixteen{});
    default: assert(false && "no element has this size");
  }
}

}  // namespace

void gather(const IndexMap& map, size_t item_bytes, const std::byte* stored, int64_t first,
            int64_t count, std::byte* out) {
  with_item(item_bytes, [&](auto item) {
    constexpr int64_t kBytes = sizeof item;
    for_each_part(map, first, count,
                  [&](int64_t stored_at, int64_t row, int64_t column, int64_t plain_at,
                      int64_t plain_row, int64_t rows, int64_t columns, Blocks blocks) {
                    copy(Rect<decltype(item)>{stored + stored_at * kBytes, out + plain_at * kBytes,
                                              row, column, plain_row, 1, rows, columns,
                                              blocks.count, blocks.stride});
                  });
  });
}

void scatter(const IndexMap& map, size_t item_bytes, const std::byte* plain, std::byte* stored) {
  with_item(item_bytes, [&](auto item) {
    constexpr int64_t kBytes = sizeof item;
    for_each_part(map, 0, element_count(map.shape()).value_or(0),
                  [&](int64_t stored_at, int64_t row, int64_t column, int64_t plain_at,
                      int64_t plain_row, int64_t rows, int64_t columns, Blocks blocks) {
                    for (int64_t i = 0; i < blocks.count; ++i)
                      copy(Rect<decltype(item)>{plain + (plain_at + i * columns) * kBytes,
                                                stored + (stored_at + i * blocks.stride) * kBytes,
                                                plain_row, 1, row, column, rows, columns});
                  });
  });
}

}  // namespace plumb
