// SPDX-License-Identifier: Apache-2.0
//
// ONNX tensors in files of their own: one TensorProto message, as in the test data beside a model
// (input_0.pb). Described in onnx.proto of the ONNX project. The elements are either raw bytes or a
// list in the field that suits their type; whatever lies in one piece is read in place.
#include "io/onnx_tensor.h"

#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/proto_wire.h"
#include "io/npy.h"

namespace plumb::io {
namespace {

constexpr const char* kSaveTensorAgain =
    "save the tensor again, e.g. with onnx.numpy_helper.from_array";

// Fields of TensorProto.
enum : uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDocString = 12,
  kExternalData = 13,
  kDataLocation = 14,
  kMetadata = 16,
  kFields = 17,
};

struct OnnxElementType {
  uint64_t code;
  std::string_view name;
  DType dtype;
  int bits;
  uint32_t list;  // the field for elements that are not raw
};
constexpr OnnxElementType kOnnxTypes[] = {
    {1, "FLOAT", DType::kFloat32, 32, kFloatData},
    {2, "UINT8", DType::kUint8, 8, kInt32Data},
    {3, "INT8", DType::kInt8, 8, kInt32Data},
    {4, "UINT16", DType::kUint16, 16, kInt32Data},
    {5, "INT16", DType::kInt16, 16, kInt32Data},
    {6, "INT32", DType::kInt32, 32, kInt32Data},
    {7, "INT64", DType::kInt64, 64, kInt64Data},
    {8, "STRING", DType::kOpaque, 8, kStringData},
    {9, "BOOL", DType::kBool, 8, kInt32Data},
    {10, "FLOAT16", DType::kFloat16, 16, kInt32Data},
    {11, "DOUBLE", DType::kFloat64, 64, kDoubleData},
    {12, "UINT32", DType::kUint32, 32, kUint64Data},
    {13, "UINT64", DType::kUint64, 64, kUint64Data},
    {14, "COMPLEX64", DType::kComplex64, 64, kFloatData},
    {15, "COMPLEX128", DType::kComplex128, 128, kDoubleData},
    {16, "BFLOAT16", DType::kBFloat16, 16, kInt32Data},
    {17, "FLOAT8E4M3FN", DType::kFloat8E4M3Fn, 8, kInt32Data},
    {18, "FLOAT8E4M3FNUZ", DType::kOpaque, 8, kInt32Data},
    {19, "FLOAT8E5M2", DType::kFloat8E5M2, 8, kInt32Data},
    {20, "FLOAT8E5M2FNUZ", DType::kOpaque, 8, kInt32Data},
    {21, "UINT4", DType::kOpaque, 4, kInt32Data},
    {22, "INT4", DType::kInt4, 4, kInt32Data},
    {23, "FLOAT4E2M1", DType::kOpaque, 4, kInt32Data},
    {24, "FLOAT8E8M0", DType::kOpaque, 8, kInt32Data},
    {25, "UINT2", DType::kOpaque, 2, kInt32Data},
    {26, "INT2", DType::kOpaque, 2, kInt32Data},
};

const OnnxElementType* type_from_code(uint64_t code) {
  for (const OnnxElementType& type : kOnnxTypes)
    if (type.code == code) return &type;
  return nullptr;
}

// Bytes of one number of a list: half a complex one, a pair of four-bit ones.
uint64_t item_bytes(const OnnxElementType& type) {
  if (type.list == kFloatData) return 4;
  if (type.list == kDoubleData) return 8;
  return static_cast<uint64_t>(std::max(type.bits / 8, 1));
}

bool is_list_of_floats(uint32_t field) { return field == kFloatData || field == kDoubleData; }

// What can stand in a TensorProto; a message with anything else is another message.
bool belongs(const ProtoField& field) {
  const bool is_bytes = field.type == WireType::kBytes;
  switch (field.number) {
    case kDims:
    case kInt32Data:
    case kInt64Data:
    case kUint64Data: return is_bytes || field.type == WireType::kVarint;
    case kDataType:
    case kDataLocation: return field.type == WireType::kVarint;
    case kFloatData: return is_bytes || field.type == WireType::kFixed32;
    case kDoubleData: return is_bytes || field.type == WireType::kFixed64;
    case kStringData:
    case kName:
    case kRawData:
    case kDocString:
    case kExternalData:
    case kMetadata: return is_bytes;
    default: return false;
  }
}

// The elements in one field, which may come in any number of pieces.
struct Pieces {
  uint64_t count = 0;
  uint64_t bytes = 0;    // in the file, tags and lengths not counted
  uint64_t content = 0;  // where the last piece starts
  bool plain = true;     // stored as the elements are
};

struct TensorMessage {
  Shape dims;
  std::optional<uint64_t> type_code;
  uint64_t type_position = 0;
  std::string name;
  std::string doc;
  std::array<Pieces, kFields> data;
  std::string location;  // of external data
  std::optional<uint64_t> external_position;

  bool has_data() const {
    for (uint32_t field : {kFloatData, kInt32Data, kStringData, kInt64Data, kRawData, kDoubleData,
                           kUint64Data, kExternalData})
      if (data[field].count > 0) return true;
    return false;
  }
};

// One entry of external_data is a key and a value.
void read_external(const ProtoField& entry, TensorMessage& message) {
  std::string_view key, value;
  ProtoReader reader(entry);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1) key = as_text(field.bytes);
    if (field.number == 2) value = as_text(field.bytes);
  }
  if (key == "location") message.location = value;
}

void add_field(ProtoReader& reader, const ProtoField& field, TensorMessage& message) {
  if (!belongs(field))
    return reader.fail(field.position,
                       fmt::format("field {} of wire type {} is not part of a tensor", field.number,
                                   static_cast<int>(field.type)));
  Pieces& pieces = message.data[field.number];
  ++pieces.count;
  switch (field.number) {
    case kDims: reader.append_varints(field, message.dims, kMaxAxes); return;
    case kDataType:
      message.type_code = field.value;
      message.type_position = field.position;
      return;
    case kName: message.name = as_text(field.bytes); return;
    case kDocString: message.doc = as_text(field.bytes); return;
    case kExternalData:
      read_external(field, message);
      message.external_position = field.position;
      return;
    case kDataLocation:
      if (field.value == 1 && !message.external_position)
        message.external_position = field.position;
      return;
    case kRawData:  // not a list: the last one counts
      pieces = {1, field.bytes.size(), field.content, true};
      return;
    default: break;
  }
  switch (field.type) {
    case WireType::kBytes: pieces.bytes += field.bytes.size(); break;
    case WireType::kVarint: pieces.bytes += 1; break;  // at least
    case WireType::kFixed32: pieces.bytes += 4; break;
    case WireType::kFixed64: pieces.bytes += 8; break;
  }
  pieces.content = field.content;
  pieces.plain = is_list_of_floats(field.number) && pieces.count == 1;
  if (is_list_of_floats(field.number) &&
      field.bytes.size() % (field.number == kFloatData ? 4 : 8) != 0)
    reader.fail(field.position, fmt::format("field {} has {} bytes, not a whole number of elements",
                                            field.number, field.bytes.size()));
}

Error damaged_message(const ProtoReader& reader) {
  return {"ONNX tensor is damaged or cut off",
          fmt::format("byte {}: {}", reader.failed_at(), reader.problem()), kSaveTensorAgain};
}

Result<TensorMessage> read_tensor_message(Bytes file) {
  TensorMessage message;
  ProtoReader reader(file);
  for (ProtoField field; reader.next(field);) add_field(reader, field, message);
  if (!reader.ok()) return damaged_message(reader);
  return message;
}

// Bytes that the elements take when stored plainly; nullopt if type or shape make no sense.
std::optional<uint64_t> plain_bytes(const TensorMessage& message) {
  const OnnxElementType* type = message.type_code ? type_from_code(*message.type_code) : nullptr;
  const auto count = element_count(message.dims);
  const auto bits = type != nullptr && count ? checked_mul(*count, type->bits) : std::nullopt;
  if (!bits) return std::nullopt;
  return static_cast<uint64_t>(ceil_div(*bits, 8));
}

// Protobuf has no signature: walks the head and takes nothing that a tensor would not hold.
bool probe_onnx_tensor(Bytes head, uint64_t file_size) {
  TensorMessage message;
  ProtoReader reader(head);
  ProtoField field;
  while (reader.next(field)) add_field(reader, field, message);
  const auto needed = plain_bytes(message);
  if (!needed) return false;
  if (!reader.ok()) {  // the last field may go on behind the head
    const uint64_t missing = reader.missing();
    if (missing == 0 || (field.number != 0 && !belongs(field))) return false;  // 0: cut in its tag
    // ... but not behind the file, unless it is clear that elements were cut off.
    const bool cut_off = field.number == kRawData && field.bytes.size() + missing == *needed;
    if (missing > file_size - head.size() && !cut_off) return false;
    if (field.type == WireType::kBytes) ++message.data[field.number].count;
  }
  // ONNX's OptionalProto passes so far: a name for dims, a sequence for integers, but far too few.
  for (uint32_t list : {kInt32Data, kInt64Data, kUint64Data})
    if (reader.ok() && message.data[list].count > 0 && message.data[list].bytes < *needed / 8)
      return false;
  return message.has_data() || *needed == 0;
}

Error refuse_shape(const TensorMessage& message, const OnnxElementType& type,
                   std::string_view problem) {
  return {"ONNX tensor's data and shape do not fit each other",
          fmt::format("byte {}: {} {} {}", message.type_position, type.name,
                      to_string(message.dims), problem),
          kSaveTensorAgain};
}

// Where the elements are. `packing` is kFormat if they have to be put together.
Result<void> place_elements(const TensorMessage& message, const OnnxElementType& type,
                            TensorInfo& info) {
  const uint64_t needed = info.size_bytes;
  uint32_t found = 0;
  for (uint32_t field : {kFloatData, kInt32Data, kInt64Data, kRawData, kDoubleData, kUint64Data}) {
    if (message.data[field].bytes == 0) continue;
    if (found != 0)
      return refuse_shape(message, type, fmt::format("has data in fields {} and {}", found, field));
    found = field;
  }
  if (found == 0 && needed == 0) return {};
  if (found != kRawData && found != type.list)
    return refuse_shape(
        message, type,
        found == 0 ? "has no data"
                   : fmt::format("has data in field {}, which is not for its type", found));
  const Pieces& pieces = message.data[found];
  info.offset_bytes = pieces.content;
  info.size_bytes = pieces.bytes;
  if (!pieces.plain) info.packing = Packing::kFormat;
  // A list of integers is counted when it is read; each takes a byte at least.
  const bool exact = found == kRawData || is_list_of_floats(found);
  if (exact ? pieces.bytes == needed : pieces.bytes >= needed / item_bytes(type)) return {};
  return refuse_shape(message, type,
                      fmt::format("needs {} bytes, field {} has {}", needed, found, pieces.bytes));
}

struct Described {
  const OnnxElementType* type;
  TensorInfo info;
  uint64_t unpacked_bytes;
};

Result<Described> describe_tensor(const TensorMessage& message) {
  const OnnxElementType* type = message.type_code ? type_from_code(*message.type_code) : nullptr;
  if (type == nullptr)
    return Error{"ONNX tensor has no known element type",
                 fmt::format("byte {}: data_type {}", message.type_position,
                             message.type_code ? std::to_string(*message.type_code) : "is missing"),
                 "save the tensor again, as a plain number type"};
  if (type->list == kStringData)
    return Error{
        "ONNX tensor holds text, not numbers",
        fmt::format("byte {}: data_type {} ({})", message.type_position, type->code, type->name),
        "leave this file out"};
  if (message.external_position)
    return Error{
        "ONNX tensor keeps its data in another file",
        fmt::format("byte {}: the data are in '{}'", *message.external_position, message.location),
        "save it with its data inside (onnx.external_data_helper.load_external_data_for_tensor)"};

  Described result{type, {}, 0};
  TensorInfo& info = result.info;
  info.name = message.name;
  info.dtype = type->dtype;
  info.shape = message.dims;
  const auto needed = plain_bytes(message);
  if (!needed)
    return Error{
        "ONNX tensor's shape is impossible",
        fmt::format("byte {}: {} {}", message.type_position, type->name, to_string(message.dims)),
        kSaveTensorAgain};
  info.size_bytes = result.unpacked_bytes = *needed;
  if (type->dtype == DType::kOpaque) {
    info.dtype_name = type->name;
    if (type->bits < 8) {  // counted in bytes
      info.notes.push_back(
          fmt::format("{} {} is kept as its bytes", type->name, to_string(info.shape)));
      info.shape = {static_cast<int64_t>(info.size_bytes)};
    }
  }
  if (auto placed = place_elements(message, *type, info); !placed) return placed.error();
  return result;
}

Result<Listing> list_onnx_tensor(Bytes file, const ReadHints&) {
  auto message = read_tensor_message(file);
  if (!message) return message.error();
  auto described = describe_tensor(*message);
  if (!described) return described.error();
  Listing listing{{std::move(described->info)}, {}, {}};
  if (!message->doc.empty()) listing.properties.emplace_back("doc_string", std::move(message->doc));
  return listing;
}

// Writes the low `size` bytes of each value, having checked that nothing else is in it. Bit
// patterns (float16) may come signed or not.
bool narrow(std::span<const int64_t> values, uint64_t size, bool is_unsigned, std::byte* out) {
  const int64_t limit = size == 8 ? std::numeric_limits<int64_t>::max() : int64_t{1} << (8 * size);
  for (int64_t value : values) {
    if (size < 8 && (value >= limit || value < (is_unsigned ? 0 : -limit / 2))) return false;
    std::memcpy(out, &value, size);
    out += size;
  }
  return true;
}

// Lists of integers, and of floats in several pieces.
Result<Bytes> load_onnx_tensor(Bytes file, const TensorInfo&, Buffer& scratch) {
  auto message = read_tensor_message(file);
  if (!message) return message.error();
  auto described = describe_tensor(*message);
  if (!described) return described.error();
  const OnnxElementType& type = *described->type;
  const uint64_t needed = described->unpacked_bytes;
  const uint64_t size = item_bytes(type);
  std::byte* out = scratch.reserve(needed + 1);
  uint64_t filled = 0;
  std::vector<int64_t> numbers;
  ProtoReader reader(file);
  for (ProtoField field; reader.next(field);) {
    if (field.number != type.list) continue;
    if (!is_list_of_floats(type.list)) {
      if (!reader.append_varints(field, numbers, needed / size)) return damaged_message(reader);
      continue;
    }
    Bytes piece = field.bytes;
    if (field.type != WireType::kBytes)
      piece = std::as_bytes(std::span(&field.value, 1)).first(size);
    std::memcpy(out + filled, piece.data(), piece.size());  // `place_elements` has added them up
    filled += piece.size();
  }
  if (is_list_of_floats(type.list)) return Bytes(out, needed);
  if (numbers.size() != needed / size)
    return refuse_shape(
        *message, type,
        fmt::format("needs {} numbers, field {} has {}", needed / size, type.list, numbers.size()));
  if (!narrow(numbers, size, type.list == kUint64Data, out))
    return refuse_shape(*message, type,
                        fmt::format("holds a number of more than {} bits", 8 * size));
  return Bytes(out, needed);
}

// Types that are read as they are stored; the rest is widened before it comes here.
const OnnxElementType* type_to_write(DType dtype) {
  for (const OnnxElementType& type : kOnnxTypes)
    if (type.dtype == dtype && dtype != DType::kOpaque && info_of(dtype).unpacked == dtype)
      return &type;
  return nullptr;
}

bool writable_in_onnx_tensor(DType dtype) { return type_to_write(dtype) != nullptr; }

Result<void> write_onnx_tensor(FileSink& out, std::span<const WriteItem> items) {
  if (items.size() != 1)
    return Error{"an ONNX tensor file holds exactly one tensor",
                 fmt::format("{} were to be written", items.size()), "write npz or one file each"};
  const WriteItem& item = items[0];
  const auto count = element_count(item.shape);
  const auto bytes = count ? byte_count(item.dtype, *count) : std::nullopt;
  constexpr int64_t kMostBytes = (int64_t{1} << 31) - (1 << 16);  // messages end at 2 GiB
  if (!bytes || *bytes > kMostBytes)
    return Error{
        "tensor is too large for an ONNX file",
        fmt::format("{} {} is more than 2 GiB", name_of(item.dtype), to_string(item.shape)),
        "write npy instead"};
  ProtoWriter head;
  head.packed(kDims, item.shape);
  head.varint(kDataType, type_to_write(item.dtype)->code);
  head.text(kName, item.name);
  out.write(head.bytes());
  // The tag and length of raw_data; the elements follow as they come.
  std::string raw(1, static_cast<char>(kRawData << 3 | static_cast<uint32_t>(WireType::kBytes)));
  auto left = static_cast<uint64_t>(*bytes);
  for (; left >= 0x80; left >>= 7) raw += static_cast<char>(left | 0x80);
  out.write(raw + static_cast<char>(left));
  return write_elements(out, item);
}

// The fields of SequenceProto, and of OptionalProto, which has one value where the other has many.
constexpr uint32_t kSequenceName = 1, kSequenceType = 2, kSequenceLast = 7;

}  // namespace

bool is_onnx_sequence(Bytes head) {
  uint64_t type = 0;
  bool has_value = false, has_others = false;
  ProtoReader reader(head);
  ProtoField field;
  const auto belongs_here = [&] {
    if (field.number == kSequenceType) return field.type == WireType::kVarint && field.value <= 5;
    return field.type == WireType::kBytes && field.number >= kSequenceName &&
           field.number <= kSequenceLast;
  };
  const auto look = [&] {
    if (field.number == kSequenceType) type = field.value;
    // Field 3 holds the tensors, whose kind is 1, and so on; a tensor must also look like one.
    has_others |= field.number > kSequenceType;
    if (field.number == kSequenceType + type && type > 0)
      has_value |= type > 1 || probe_onnx_tensor(field.bytes, UINT64_MAX);
  };
  while (reader.next(field)) {
    if (!belongs_here()) return false;
    look();
  }
  if (!reader.ok()) {  // the last field may go on behind the head
    if (reader.missing() == 0 || field.number == 0 || !belongs_here()) return false;
    look();
  }
  return has_value || (type > 0 && !has_others && reader.ok());  // the latter is empty
}

extern constexpr Format kOnnxTensor{
    "onnx-tensor",    "ONNX TensorProto (.pb)", probe_onnx_tensor,       list_onnx_tensor,
    load_onnx_tensor, write_onnx_tensor,        writable_in_onnx_tensor,
};

}  // namespace plumb::io
