// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/tensors.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "tensor/decode.h"

namespace plumb::msaccucmp {
namespace {

constexpr int64_t kPiece = 1 << 14;

// Elements lie in the file one after the other as they are wanted.
bool is_plain_view(const TensorInfo& info) {
  return info.packing == Packing::kPlain && !info.big_endian && info.strides.empty() &&
         !info.crc32 && info_of(info.dtype).unpacked == info.dtype;
}

std::string place_of(const io::TensorFile& file, const TensorInfo& info) {
  return file.path + (info.name.empty() ? "" : ", tensor '" + info.name + "'");
}

uint64_t address_of(const io::TensorFile& file, const TensorInfo& info) {
  uint64_t address = 0;
  for (const auto& [key, value] : file.listing.properties)
    if (key == info.name + ".address")
      std::from_chars(value.data(), value.data() + value.size(), address);
  return address;
}

template <class T>
void cast(const std::byte* from, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(load_le<T>(from + static_cast<size_t>(i) * sizeof(T)));
}

void cast_to_float(DType dtype, const std::byte* from, int64_t count, float* out) {
  switch (dtype) {
    case DType::kFloat32:
      if (count > 0) std::memcpy(out, from, static_cast<size_t>(count) * sizeof(float));
      return;
    case DType::kInt32: return cast<int32_t>(from, count, out);
    case DType::kUint32: return cast<uint32_t>(from, count, out);
    case DType::kInt64: return cast<int64_t>(from, count, out);
    case DType::kUint64: return cast<uint64_t>(from, count, out);
    case DType::kFloat64: return cast<double>(from, count, out);
    default: return decode_float(dtype, from, count, out);
  }
}

size_t item_bytes(const View& view) { return static_cast<size_t>(bits_of(view.tensor.dtype) / 8); }

// Where the elements lie, or a copy of them in the view's order.
const std::byte* in_order(const View& view, int64_t first, int64_t count, Buffer& scratch) {
  const size_t item = item_bytes(view);
  if (!view.map) return view.tensor.elements.data() + static_cast<size_t>(first) * item;
  std::byte* copy = scratch.reserve(static_cast<size_t>(count) * item + 1);
  gather(*view.map, item, view.tensor.elements.data(), first, count, copy);
  return copy;
}

}  // namespace

Outcome<SharedFile> open_file(const std::filesystem::path& path) {
  auto file = io::open_tensor_file(path);
  if (!file) return Fault{Code::kInvalidDumpData, std::move(file.error())};
  return SharedFile(std::make_shared<const io::TensorFile>(std::move(*file)));
}

Outcome<Tensor> load_comparable(const SharedFile& file, const TensorInfo& info) {
  if (!info.error && kind_of(info.dtype) == DKind::kComplex)
    return {Code::kDataType,
            Error{fmt::format("elements of type {} are not compared", dtype_text(info)),
                  place_of(*file, info), "leave this operator out"}};
  return load_tensor(file, info);
}

Outcome<Tensor> load_tensor(const SharedFile& file, const TensorInfo& info) {
  if (info.error) return {Code::kInvalidDumpData, Error(*info.error).in(file->path)};
  if (info.dtype == DType::kOpaque)
    return {Code::kDataType,
            Error{fmt::format("elements of type {} cannot be decoded", dtype_text(info)),
                  place_of(*file, info), "leave this operator out"}};
  Tensor tensor;
  tensor.file = file;
  tensor.stored_dtype = info.dtype;
  tensor.layout = info.layout;
  tensor.shape = info.shape;
  tensor.original = info.logical_shape.value_or(Shape{});
  tensor.address = address_of(*file, info);
  const auto count = element_count(info.shape);
  if (count && is_plain_view(info)) {
    const auto bytes = byte_count(info.dtype, *count);
    const Bytes all = file->mapping.bytes();
    if (bytes && info.offset_bytes <= all.size() &&
        static_cast<uint64_t>(*bytes) <=
            std::min(info.size_bytes, all.size() - info.offset_bytes)) {
      tensor.dtype = info.dtype;
      tensor.count = *count;
      tensor.elements =
          all.subspan(static_cast<size_t>(info.offset_bytes), static_cast<size_t>(*bytes));
      return tensor;
    }
  }
  io::ReadOrder order;
  order.stored = true;
  auto reader = file->open(info, order);
  if (!reader) return {Code::kInvalidDumpData, std::move(reader.error())};
  auto elements = reader->read(0, reader->count());
  if (!elements)
    return {Code::kInvalidDumpData, std::move(elements.error()).in(place_of(*file, info))};
  tensor.dtype = reader->dtype();
  tensor.count = reader->count();
  tensor.owned = std::make_shared<std::vector<std::byte>>(elements->begin(), elements->end());
  tensor.elements = *tensor.owned;
  return tensor;
}

Outcome<Tensor> load_only_tensor(const std::filesystem::path& path) {
  auto file = open_file(path);
  if (!file) return file.fault();
  const auto& tensors = (*file)->listing.tensors;
  if (tensors.size() != 1)
    return {
        Code::kInvalidDumpData,
        Error{"one tensor was expected",
              fmt::format("{}: {} are there", path.string(), tensors.size()), "name an .npy file"}};
  return load_comparable(*file, tensors.front());
}

std::string decoded_type_name(const Tensor& tensor) {
  if (tensor.is_empty()) return "float64";
  switch (tensor.dtype) {
    case DType::kFloat8E4M3Fn:
    case DType::kFloat8E5M2:
    case DType::kHiFloat8: return "float64";
    case DType::kBFloat16: return "float32";
    default: return std::string(name_of(tensor.dtype));
  }
}

std::string stored_type_name(const Tensor& tensor) {
  return std::string(name_of(tensor.stored_dtype));
}

View whole_view(Tensor tensor, Shape shape) {
  const int64_t count = tensor.count;
  return {std::move(tensor), std::nullopt, std::move(shape), count};
}

View flat_view(Tensor tensor) {
  Shape shape{tensor.count};
  return whole_view(std::move(tensor), std::move(shape));
}

void read_floats(const View& view, int64_t first, int64_t count, Buffer& scratch, float* out) {
  cast_to_float(view.tensor.dtype, in_order(view, first, count, scratch), count, out);
}

std::vector<std::byte> read_elements(const View& view) {
  Buffer scratch;
  const std::byte* all = in_order(view, 0, view.count, scratch);
  return {all, all + static_cast<size_t>(view.count) * item_bytes(view)};
}

Pairs pairs_of(const View& target, const View& golden, int64_t limit) {
  const int64_t count = limit > 0 ? std::min(limit, target.count) : target.count;
  return [&target, &golden, count](const UsePairs& use) -> Result<void> {
    Buffer scratch;
    std::vector<float> floats(static_cast<size_t>(2 * std::min(count, kPiece)));
    float* const t = floats.data();
    float* const g = t + std::min(count, kPiece);
    for (int64_t first = 0; first < count; first += kPiece) {
      const int64_t n = std::min(kPiece, count - first);
      read_floats(target, first, n, scratch, t);
      read_floats(golden, first, n, scratch, g);
      use(t, g, n);
    }
    for (const View* view : {&target, &golden})
      if (!view->tensor.owned)
        if (auto checked = view->tensor.file->mapping.check(view->tensor.file->path); !checked)
          return checked;
    return {};
  };
}

std::string overflow_cell(const Tensor& tensor) {
  if (tensor.stored_dtype != DType::kFloat16) return "NaN";
  constexpr uint16_t kMagnitude = 0x7fff, kLargest = 0x7bff, kInfinity = 0x7c00;
  bool overflows = false;
  for (int64_t i = 0; i < tensor.count; ++i) {
    const auto bits =
        static_cast<uint16_t>(load_le<uint16_t>(tensor.elements.data() + 2 * i) & kMagnitude);
    if (bits > kInfinity) return "NO";  // the largest of values with a NaN among them is NaN
    overflows |= bits >= kLargest;
  }
  return overflows ? "YES" : "NO";
}

}  // namespace plumb::msaccucmp
