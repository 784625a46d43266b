// SPDX-License-Identifier: Apache-2.0
#include "compare/elements.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/counted.h"
#include "io/npy.h"
#include "metrics/decoded_pairs.h"
#include "tensor/decode.h"

namespace plumb::compare {
namespace {

using metrics::PairPiece;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kMostAxisIndices = 1 << 20;      // along an axis
constexpr int64_t kMostUnmergedIndices = 1 << 21;  // of all chunks together: 100 MB

bool is_complex(DType dtype) { return kind_of(dtype) == DKind::kComplex; }
bool is_wide_integer(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kUint64; }

// A block of both sides as doubles. Complex numbers by their parts in turn.
struct Block {
  static constexpr int64_t kSize = 1024;
  double target[kSize], golden[kSize], difference[kSize];
};

__extension__ using Int128 = __int128;
Int128 wide_integer(DType dtype, const std::byte* at) {
  if (dtype == DType::kInt64) return load_le<int64_t>(at);
  return load_le<uint64_t>(at);
}

// Calls visit(first, count, block) for consecutive values of a piece. Differences of 64-bit
// integers are taken before rounding.
template <class Visit>
void for_each_difference(const PairPiece& piece, Visit&& visit) {
  const DType t_type = metrics::part_of(piece.target_dtype);
  const DType g_type = metrics::part_of(piece.golden_dtype);
  const int64_t t_item = bits_of(t_type) / 8, g_item = bits_of(g_type) / 8;
  const int64_t values = is_complex(piece.target_dtype) ? 2 * piece.count : piece.count;
  const bool exact = is_wide_integer(t_type) && is_wide_integer(g_type);
  Block block;
  for (int64_t first = 0; first < values; first += Block::kSize) {
    const int64_t n = std::min(Block::kSize, values - first);
    const std::byte* t = piece.target + first * t_item;
    const std::byte* g = piece.golden + first * g_item;
    decode_double(t_type, t, n, block.target);
    decode_double(g_type, g, n, block.golden);
    for (int64_t i = 0; i < n; ++i)
      block.difference[i] = exact ? static_cast<double>(wide_integer(t_type, t + 8 * i) -
                                                        wide_integer(g_type, g + 8 * i))
                                  : block.target[i] - block.golden[i];
    visit(first, n, block);
  }
}

// |t - g|, 0 where NaN meets NaN or an infinity its like, infinite where only one is a number.
double error_of(double t, double g, double difference) {
  if (std::isfinite(t) && std::isfinite(g)) return std::fabs(difference);
  return t == g || (std::isnan(t) && std::isnan(g)) ? 0 : kInf;
}

std::string value_text(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kInt64: return fmt::format("{}", load_le<int64_t>(at));
    case DType::kUint64: return fmt::format("{}", load_le<uint64_t>(at));
    case DType::kFloat64: return fmt::format("{}", load_le<double>(at));
    case DType::kComplex64:
      return fmt::format("{}{:+}i", load_le<float>(at), load_le<float>(at + 4));
    case DType::kComplex128:
      return fmt::format("{}{:+}i", load_le<double>(at), load_le<double>(at + 8));
    default: break;
  }
  if (fits_float(dtype)) {
    float value;
    decode_float(dtype, at, 1, &value);
    return fmt::format("{}", value);
  }
  double value;
  decode_double(dtype, at, 1, &value);
  return fmt::format("{}", value);
}

Error interrupted(const dump::EntryReader& target) {
  return {"interrupted", target.path(), "run it again"};
}

bool is_worse(const Element& a, const Element& b) {
  if (a.error != b.error) return a.error > b.error;
  return a.position < b.position;
}

// The `limit` worst elements seen so far, as a heap with the best of them on top.
class Worst {
 public:
  explicit Worst(size_t limit) : limit_(limit) {}
  bool takes(double error) const {
    return limit_ > 0 && error > 0 && (heap_.size() < limit_ || error > heap_.front().error);
  }
  void add(Element element) {
    if (heap_.size() == limit_) {
      if (!is_worse(element, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), is_worse);
      heap_.pop_back();
    }
    heap_.push_back(std::move(element));
    std::push_heap(heap_.begin(), heap_.end(), is_worse);
  }
  std::vector<Element> take() { return std::move(heap_); }

 private:
  size_t limit_;
  std::vector<Element> heap_;
};

// Of the element at `i` of a block, which is a complex number if it has two parts.
double error_at(const Block& block, int64_t i, int64_t parts) {
  const auto error = [&](int64_t k) {
    return error_of(block.target[k], block.golden[k], block.difference[k]);
  };
  return parts == 1 ? error(i) : std::hypot(error(i), error(i + 1));
}

double relative_at(const Block& block, int64_t i, int64_t parts, double error) {
  const double size =
      parts == 1 ? std::fabs(block.golden[i]) : std::hypot(block.golden[i], block.golden[i + 1]);
  return std::isfinite(size) && size != 0 ? error / size : kInf;
}

void add_piece(int64_t first, const PairPiece& piece, Worst& worst) {
  const int64_t parts = is_complex(piece.target_dtype) ? 2 : 1;
  const int64_t t_item = bits_of(piece.target_dtype) / 8, g_item = bits_of(piece.golden_dtype) / 8;
  for_each_difference(piece, [&](int64_t begin, int64_t n, const Block& block) {
    for (int64_t i = 0; i < n; i += parts) {
      const double error = error_at(block, i, parts);
      if (!worst.takes(error)) continue;
      const int64_t at = (begin + i) / parts;
      worst.add({first + at, value_text(piece.target_dtype, piece.target + at * t_item),
                 value_text(piece.golden_dtype, piece.golden + at * g_item), error,
                 relative_at(block, i, parts, error)});
    }
  });
}

}  // namespace

Result<std::vector<Element>> worst_elements(dump::EntryReader& target, dump::EntryReader& golden,
                                            size_t count, const RunContext& context) {
  std::vector<Worst> parts(kWindow, Worst(count));
  Worst all(count);
  auto done = for_each_pair_piece(
      target, golden, context, false,
      [&](size_t chunk, int64_t first, const PairPiece& piece) {
        add_piece(first, piece, parts[chunk]);
      },
      [&](size_t chunk) {
        for (Element& element : parts[chunk].take()) all.add(std::move(element));
        parts[chunk] = Worst(count);
      });
  if (!done) return done.error();
  if (context.cancelled) return interrupted(target);
  std::vector<Element> worst = all.take();
  std::sort(worst.begin(), worst.end(), is_worse);
  return worst;
}

Result<std::optional<Element>> first_difference(const dump::EntryReader& target,
                                                const dump::EntryReader& golden,
                                                const RunContext& context) {
  constexpr int64_t kAtOnce = 4096;
  auto t = target.again(), g = golden.again();
  if (!t) return t.error();
  if (!g) return g.error();
  if (auto checked = check_pair(*t, *g); !checked) return checked.error();
  const int64_t count = t->reader().count();
  for (int64_t first = 0; first < count && !context.cancelled; first += kAtOnce) {
    const int64_t n = std::min(kAtOnce, count - first);
    const auto own = t->reader().read(first, n), other = g->reader().read(first, n);
    if (!own) return own.error();
    if (!other) return other.error();
    Worst any(static_cast<size_t>(n));
    add_piece(first,
              PairPiece{t->reader().dtype(), own->data(), g->reader().dtype(), other->data(), n},
              any);
    std::vector<Element> found = any.take();
    const auto by_place = [](const Element& a, const Element& b) {
      return a.position < b.position;
    };
    if (const auto least = std::min_element(found.begin(), found.end(), by_place);
        least != found.end())
      return std::optional(*least);
  }
  return std::optional<Element>();
}

std::string difference_text(const Element& first, const Shape& shape, int64_t off, int64_t count) {
  std::string text;
  if (off > 0)
    text = fmt::format("{} of {} {}, ", off, counted(static_cast<size_t>(count), "element"),
                       off == 1 ? "differs" : "differ");
  return text + fmt::format("{}{}: {} instead of {}", off == 1 ? "" : "the first ",
                            plumb::to_string(coordinates(first.position, shape)), first.target,
                            first.golden);
}

Shape coordinates(int64_t position, const Shape& shape) {
  Shape at(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    at[i] = position % shape[i];
    position /= shape[i];
  }
  return at;
}

double AxisError::rel_euclid() const { return dd == 0 ? 0 : std::sqrt(dd / gg); }

Result<std::vector<AxisError>> errors_along(dump::EntryReader& target, dump::EntryReader& golden,
                                            int64_t axis, const RunContext& context) {
  const Shape& shape = golden.reader().shape();
  const auto axes = std::ssize(shape);
  const int64_t chosen = axis < 0 ? axis + axes : axis;
  if (chosen < 0 || chosen >= axes)
    return Error{"the tensor has no such axis",
                 fmt::format("axis {} of shape {}", axis, plumb::to_string(shape)),
                 axes == 0 ? "it is a scalar" : fmt::format("axes go from 0 to {}", axes - 1)};
  const int64_t length = shape[static_cast<size_t>(chosen)];
  if (length > kMostAxisIndices)
    return Error{"the axis is too long",
                 fmt::format("axis {} of shape {}", axis, plumb::to_string(shape)),
                 fmt::format("choose one of at most {} positions", kMostAxisIndices)};
  int64_t inner = 1;
  for (auto i = static_cast<size_t>(chosen) + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t parts_of_value = is_complex(golden.reader().dtype()) ? 2 : 1;
  inner *= parts_of_value;

  const int64_t window =
      std::clamp<int64_t>(kMostUnmergedIndices / std::max<int64_t>(1, length), 1, kWindow);
  std::vector<std::vector<AxisError>> parts(static_cast<size_t>(window));
  std::vector<AxisError> all(static_cast<size_t>(length));
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].index = static_cast<int64_t>(i);
    all[i].count = golden.reader().count() / length;
  }
  auto done = for_each_pair_piece(
      target, golden, context, false,
      [&](size_t chunk, int64_t first, const PairPiece& piece) {
        parts[chunk].resize(all.size());
        for_each_difference(piece, [&](int64_t begin, int64_t n, const Block& block) {
          for (int64_t i = 0; i < n; ++i) {
            const int64_t value = first * parts_of_value + begin + i;
            AxisError& at = parts[chunk][static_cast<size_t>(value / inner % length)];
            const double t = block.target[i], g = block.golden[i], d = block.difference[i];
            if (!std::isfinite(t) || !std::isfinite(g)) {
              at.odd += error_of(t, g, d) > 0;
              continue;
            }
            at.dd += d * d;
            at.gg += g * g;
            at.max_abs = std::max(at.max_abs, std::fabs(d));
          }
        });
      },
      [&](size_t chunk) {
        for (size_t i = 0; i < parts[chunk].size(); ++i) {
          const AxisError& part = parts[chunk][i];
          all[i].odd += part.odd;
          all[i].dd += part.dd;
          all[i].gg += part.gg;
          all[i].max_abs = std::max(all[i].max_abs, part.max_abs);
        }
        parts[chunk].clear();
      },
      window);
  if (!done) return done.error();
  if (context.cancelled) return interrupted(target);
  return all;
}

Result<void> save_difference(dump::EntryReader& target, dump::EntryReader& golden,
                             const std::filesystem::path& path, const RunContext& context) {
  if (auto checked = check_pair(target, golden); !checked) return checked;
  const DType t_type = target.reader().dtype(), g_type = golden.reader().dtype();
  const bool wide = !(fits_float(t_type) || t_type == DType::kComplex64) ||
                    !(fits_float(g_type) || g_type == DType::kComplex64);
  const DType part = wide ? DType::kFloat64 : DType::kFloat32;
  const DType dtype = !is_complex(g_type) ? part : wide ? DType::kComplex128 : DType::kComplex64;
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(io::npy_header(dtype, golden.reader().shape()));
  const int64_t count = golden.reader().count();
  std::vector<float> floats;
  for (int64_t first = 0; first < count; first += metrics::kPairPiece) {
    if (context.cancelled) return interrupted(target);
    const int64_t n = std::min(metrics::kPairPiece, count - first);
    auto t = target.reader().read(first, n);
    if (!t) return std::move(t.error()).in(target.path());
    auto g = golden.reader().read(first, n);
    if (!g) return std::move(g.error()).in(golden.path());
    for_each_difference({t_type, t->data(), g_type, g->data(), n}, [&](int64_t, int64_t values,
                                                                       const Block& block) {
      const std::span<const double> all(block.difference, static_cast<size_t>(values));
      if (wide) return sink->write(std::as_bytes(all));
      floats.assign(all.begin(), all.end());
      sink->write(std::as_bytes(std::span(floats)));
    });
  }
  for (const dump::EntryReader* side : {&target, &golden})
    if (auto intact = side->check_intact(); !intact) return intact;
  return sink->commit();
}

}  // namespace plumb::compare
