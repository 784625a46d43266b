// SPDX-License-Identifier: Apache-2.0
#include "io/pt_view.h"

#include <utility>

#include <fmt/format.h>

#include "base/checked.h"

namespace plumb::io {
namespace {

using Kind = Pickle::Kind;

constexpr size_t kMaxKeyBytes = 64;  // of storages: a number in decimal

struct TypeName {
  std::string_view name;     // of the torch.dtype
  std::string_view storage;  // the class of storages typed so, or empty
  DType dtype;
  int item_bytes;
};
constexpr TypeName kTorchTypes[] = {
    {"float32", "FloatStorage", DType::kFloat32, 4},
    {"float64", "DoubleStorage", DType::kFloat64, 8},
    {"float16", "HalfStorage", DType::kFloat16, 2},
    {"bfloat16", "BFloat16Storage", DType::kBFloat16, 2},
    {"int64", "LongStorage", DType::kInt64, 8},
    {"int32", "IntStorage", DType::kInt32, 4},
    {"int16", "ShortStorage", DType::kInt16, 2},
    {"int8", "CharStorage", DType::kInt8, 1},
    {"uint8", "ByteStorage", DType::kUint8, 1},
    {"bool", "BoolStorage", DType::kBool, 1},
    {"complex64", "ComplexFloatStorage", DType::kComplex64, 8},
    {"complex128", "ComplexDoubleStorage", DType::kComplex128, 16},
    {"uint16", "", DType::kUint16, 2},
    {"uint32", "", DType::kUint32, 4},
    {"uint64", "", DType::kUint64, 8},
    {"float8_e4m3fn", "", DType::kFloat8E4M3Fn, 1},
    {"float8_e5m2", "", DType::kFloat8E5M2, 1},
    // Bytes that we keep and count, but cannot decode.
    {"float8_e4m3fnuz", "", DType::kOpaque, 1},
    {"float8_e5m2fnuz", "", DType::kOpaque, 1},
    {"float8_e8m0fnu", "", DType::kOpaque, 1},
    {"float4_e2m1fn_x2", "", DType::kOpaque, 1},
    {"qint8", "QInt8Storage", DType::kOpaque, 1},
    {"quint8", "QUInt8Storage", DType::kOpaque, 1},
    {"quint4x2", "QUInt4x2Storage", DType::kOpaque, 1},
    {"quint2x4", "QUInt2x4Storage", DType::kOpaque, 1},
    {"qint32", "QInt32Storage", DType::kOpaque, 4},
    {"complex32", "ComplexHalfStorage", DType::kOpaque, 4},
    {"bytes", "UntypedStorage", DType::kUint8, 1},
};

// One past the last element that the view touches; nullopt if that overflows.
std::optional<int64_t> view_end(const Shape& shape, const Shape& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    const auto reach = checked_mul(shape[i] - 1, strides[i]);
    const auto sum = reach ? checked_add(last, *reach) : std::nullopt;
    if (!sum) return std::nullopt;
    last = *sum;
  }
  return checked_add(last, int64_t{1});
}

bool is_row_major(const Shape& shape, const Shape& strides) {
  const Shape plain = row_major_strides(shape);
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1 && strides[i] != plain[i]) return false;
  return true;
}

}  // namespace

TorchType torch_type(std::string_view name) {
  for (const TypeName& type : kTorchTypes)
    if (!name.empty() && (name == type.name || name == type.storage))
      return {type.dtype, type.name, type.item_bytes};
  return {DType::kOpaque, name, 0};
}

std::optional<PtStorage> read_pt_storage(const Pickle& pickle, Pickle::Ref ref) {
  if (pickle.kind(ref) != Kind::kPersistent) return std::nullopt;
  const auto id = pickle.items(pickle.items(ref)[0]);
  if (id.size() < 5 || pickle.text(id[0]) != "storage" || pickle.kind(id[1]) != Kind::kGlobal ||
      pickle.kind(id[2]) != Kind::kText || pickle.kind(id[4]) != Kind::kInt)
    return std::nullopt;
  PtStorage storage{torch_type(pickle.global(id[1]).name), pickle.text(id[2]), 0,
                    pickle.integer(id[4])};
  if (id.size() > 5) {  // the older form may use a part of another storage: (key, first, count)
    if (const auto view = pickle.items(id[5]); view.size() == 3) {
      storage.first = pickle.integer(view[1]);
      storage.count = pickle.integer(view[2]);
    }
  }
  if (storage.first < 0 || storage.count < 0 || storage.key.size() > kMaxKeyBytes)
    return std::nullopt;
  return storage;
}

std::optional<Shape> read_pickled_shape(const Pickle& pickle, Pickle::Ref ref) {
  if (pickle.kind(ref) == Kind::kObject) {  // torch.Size
    const auto args = pickle.items(pickle.object(ref).args);
    if (args.size() != 1) return std::nullopt;
    ref = args[0];
  }
  if (pickle.kind(ref) != Kind::kTuple && pickle.kind(ref) != Kind::kList) return std::nullopt;
  if (pickle.items(ref).size() > kMaxAxes) return std::nullopt;
  Shape shape;
  for (const Pickle::Ref item : pickle.items(ref)) {
    if (pickle.kind(item) != Kind::kInt || pickle.integer(item) < 0) return std::nullopt;
    shape.push_back(pickle.integer(item));
  }
  return shape;
}

std::optional<PtView> read_pt_view(const Pickle& pickle, std::span<const Pickle::Ref> args) {
  if (args.size() < 4 || pickle.kind(args[1]) != Kind::kInt) return std::nullopt;
  auto storage = read_pt_storage(pickle, args[0]);
  auto shape = read_pickled_shape(pickle, args[2]), strides = read_pickled_shape(pickle, args[3]);
  const int64_t first = pickle.integer(args[1]);
  if (!storage || !shape || !strides || shape->size() != strides->size() || first < 0)
    return std::nullopt;
  return PtView{std::move(*storage), first, std::move(*shape), std::move(*strides)};
}

TensorInfo tensor_of_view(const PtView& view, const StoragePlaces& places, bool big_endian) {
  TensorInfo info;
  info.dtype = view.storage.type.dtype;
  if (info.dtype == DType::kOpaque) info.dtype_name = view.storage.type.name;
  const auto refuse = [&](std::string what, std::string where, std::string remedy) {
    info.error = Error{std::move(what), fmt::format("storage '{}': {}", view.storage.key, where),
                       std::move(remedy)};
    return info;
  };
  const int64_t item = view.storage.type.item_bytes;
  const auto count = element_count(view.shape);
  const auto bytes = count && item > 0 ? checked_mul(*count, item) : std::nullopt;
  info.shape = view.shape;
  if (item == 0 || (item > 1 && info.dtype == DType::kOpaque))
    return refuse("tensor's type is not known", fmt::format("type '{}'", view.storage.type.name),
                  "convert it to a type such as float32 before saving");
  if (!bytes)
    return refuse("tensor is impossibly large", "shape " + to_string(view.shape), kCopyPtAgain);

  const auto place = places.find(view.storage.key);
  if (place == places.end())
    return refuse("tensor's data is missing", "the file has no such storage", kCopyPtAgain);
  if (place->second.error) {
    info.error = *place->second.error;
    return info;
  }
  const StoragePlace& data = place->second;
  const auto end = view_end(view.shape, view.strides);
  const auto stored_end =
      end ? checked_add(checked_add(view.storage.first, view.first).value_or(INT64_MAX), *end)
          : std::nullopt;
  const auto used = checked_add(view.first, end.value_or(INT64_MAX));
  if (*count > 0 && (!stored_end || !used || *used > view.storage.count ||
                     *stored_end > static_cast<int64_t>(data.size_bytes) / item))
    return refuse("tensor lies outside its storage",
                  fmt::format("shape {}, strides {}, first element {} of {}, {} bytes stored",
                              to_string(view.shape), to_string(view.strides), view.first,
                              view.storage.count, data.size_bytes),
                  kCopyPtAgain);

  const bool plain = *count == 0 || is_row_major(view.shape, view.strides);
  const uint64_t start =
      *count == 0 ? 0 : static_cast<uint64_t>((view.storage.first + view.first) * item);
  const uint64_t size = static_cast<uint64_t>((plain ? *count : *end) * item);
  if (!plain) info.strides = view.strides;
  info.big_endian = big_endian && item > 1;
  info.packing = data.packing;
  info.crc_size_bytes = data.size_bytes;
  if (data.packing == Packing::kDeflated) {
    info.offset_bytes = data.offset_bytes;
    info.size_bytes = data.packed_bytes;
    info.skip_bytes = start;
  } else {
    info.offset_bytes = data.offset_bytes + start;
    info.size_bytes = size;
    info.crc_offset_bytes = data.offset_bytes;
  }
  // The checksum covers the whole storage. To read all of it for each of many small views would
  // take forever; damage shows in the values, too.
  if (size >= data.size_bytes / 4) info.crc32 = data.crc32;
  return info;
}

std::unordered_map<std::string_view, int64_t> storage_item_bytes(const Pickle& objects) {
  std::unordered_map<std::string_view, int64_t> item_bytes;
  for (Pickle::Ref ref = 0; ref < objects.node_count(); ++ref)
    if (auto storage = read_pt_storage(objects, ref))
      item_bytes.emplace(storage->key, storage->type.item_bytes);
  return item_bytes;
}

}  // namespace plumb::io
