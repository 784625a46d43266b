// SPDX-License-Identifier: Apache-2.0
#include "dump/reduced.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/json_values.h"
#include "dump/names.h"
#include "io/npy.h"
#include "io/zip.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::dump {
namespace {

using plumb::to_string;  // of shapes, beside that of slots

constexpr std::string_view kSchema = "plumb.reduced/1";
constexpr std::string_view kDetails = "plumb.json", kSketches = "plumb.sketch/";
constexpr int64_t kMaxNumbers = 1 << 20;   // tensors of one operator, times two
constexpr uint64_t kMaxMemberGrowth = 64;  // of a deflated member
constexpr const char* kAgain = "reduce the dump again, or leave this file out";

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// --- numbers

// What a row of the arrays has as its type.
DType row_dtype(const FullStatistics& s) {
  const auto dtype = dtype_from_name(s.dtype);
  return dtype ? info_of(*dtype).portable : DType::kFloat64;
}

bool is_signed(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 ||
         dtype == DType::kInt64;
}

DType signed_of(int bits) {
  return bits <= 8    ? DType::kInt8
         : bits <= 16 ? DType::kInt16
         : bits <= 32 ? DType::kInt32
         : bits <= 64 ? DType::kInt64
                      : DType::kFloat64;  // nothing holds both uint64 and int64
}

// The narrowest float that holds the type, as numpy has it: float64 for 64-bit integers.
DType float_of(DType dtype) {
  if (kind_of(dtype) == DKind::kFloat) return dtype;
  return bits_of(dtype) <= 8    ? DType::kFloat16
         : bits_of(dtype) <= 16 ? DType::kFloat32
                                : DType::kFloat64;
}

DType common_dtype(DType a, DType b) {
  if (a == b || kind_of(b) == DKind::kBool) return a;
  if (kind_of(a) == DKind::kBool) return b;
  if (kind_of(a) == DKind::kFloat || kind_of(b) == DKind::kFloat) {
    const DType x = float_of(a), y = float_of(b);
    return bits_of(x) >= bits_of(y) ? x : y;
  }
  const DType wide = bits_of(a) >= bits_of(b) ? a : b, narrow = wide == a ? b : a;
  if (is_signed(a) == is_signed(b)) return wide;
  if (bits_of(wide) > bits_of(narrow) && is_signed(wide)) return wide;
  return signed_of(2 * bits_of(wide));
}

void append(std::string& out, DType dtype, long double value) {
  const auto put = [&](auto number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  switch (dtype) {
    case DType::kBool: return put(static_cast<uint8_t>(value != 0));
    case DType::kInt8: return put(static_cast<int8_t>(value));
    case DType::kUint8: return put(static_cast<uint8_t>(value));
    case DType::kInt16: return put(static_cast<int16_t>(value));
    case DType::kUint16: return put(static_cast<uint16_t>(value));
    case DType::kInt32: return put(static_cast<int32_t>(value));
    case DType::kUint32: return put(static_cast<uint32_t>(value));
    case DType::kInt64: return put(static_cast<int64_t>(value));
    case DType::kUint64: return put(static_cast<uint64_t>(value));
    case DType::kFloat16: return put(half_from_float(static_cast<float>(value)));
    case DType::kFloat32: return put(static_cast<float>(value));
    default: return put(static_cast<double>(value));
  }
}

// --- plumb.json

Json number_json(long double value, bool is_integer) {
  const auto number = static_cast<double>(value);
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return value > 0 ? "inf" : "-inf";
  if (!is_integer) return number;
  return value < 0 ? Json(static_cast<int64_t>(value)) : Json(static_cast<uint64_t>(value));
}

Json json_of(const ReducedTensor& tensor) {
  const FullStatistics& s = *tensor.full;
  const auto dtype = dtype_from_name(s.dtype);
  const bool is_integer = dtype && kind_of(*dtype) == DKind::kInteger;
  const auto known = [&](long double value, bool integer) {
    return s.finite() > 0 && dtype != DType::kOpaque ? number_json(value, integer) : Json();
  };
  return {{"slot", to_string(tensor.slot)},
          {"dtype", s.dtype},
          {"shape", s.shape},
          {"count", s.count},
          {"min", known(s.min, is_integer)},
          {"max", known(s.max, is_integer)},
          {"mean", known(s.mean, false)},
          {"std", known(s.std, false)},
          {"l2", known(s.l2, false)},
          {"nan", s.nan},
          {"inf", s.positive_inf + s.negative_inf},
          {"negative_inf", s.negative_inf},
          {"zeros", s.zeros},
          {"crc32", fmt::format("{:08x}", s.crc32.value_or(0))}};
}

std::string details_of(const ReducedFile& file) {
  Json tensors = Json::array();
  for (const ReducedTensor& tensor : file.tensors) tensors.push_back(json_of(tensor));
  const Json json{{"schema", kSchema},
                  {"tool", tool_json()},
                  {"op_name", file.op_name},
                  {"source_bytes", file.source_bytes},
                  {"source_time_ns", file.source_time_ns},
                  {"tensors", std::move(tensors)}};
  return line_of_json(json) + "\n";
}

// Members of a JSON object, with types checked: the file may be anybody's.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  std::string text(const char* key) {
    const Json* value = find(key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : fail<std::string>();
  }
  int64_t integer(const char* key) {
    const Json* value = find(key);
    return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : fail<int64_t>();
  }
  int64_t count(const char* key) {
    const int64_t value = integer(key);
    return value >= 0 ? value : fail<int64_t>();
  }
  // null is a statistic of nothing.
  long double number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return fail<long double>();
    if (value->is_null()) return 0;
    if (value->is_number_unsigned()) return static_cast<long double>(value->get<uint64_t>());
    if (value->is_number_integer()) return static_cast<long double>(value->get<int64_t>());
    if (value->is_number()) return value->get<double>();
    if (*value == "nan") return kNan;
    if (*value == "inf") return kInf;
    if (*value == "-inf") return -kInf;
    return fail<long double>();
  }
  Shape shape(const char* key) {
    const Json* value = find(key);
    Shape found;
    if (value == nullptr || !value->is_array()) return fail<Shape>();
    for (const Json& size : *value) {
      if (!size.is_number_integer()) return fail<Shape>();
      found.push_back(size.get<int64_t>());
    }
    return element_count(found) ? found : fail<Shape>();
  }
  const std::string& failed() const { return failed_; }  // the key, empty if all is well

 private:
  const Json* find(const char* key) {
    last_ = key;
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  template <class T>
  T fail() {
    if (failed_.empty()) failed_ = last_;
    return T{};
  }

  const Json& object_;
  std::string last_, failed_;
};

Error damaged_details(std::string_view key) {
  return {"the statistics of a reduced file are damaged",
          fmt::format("member '{}': '{}' is missing or makes no sense", kDetails, key), kAgain};
}

Result<ReducedTensor> tensor_from(const Json& json) {
  Fields fields(json);
  ReducedTensor tensor;
  FullStatistics& s = tensor.full.emplace();
  const auto slot = slot_from_text(fields.text("slot"));
  s.dtype = fields.text("dtype");
  s.shape = fields.shape("shape");
  s.count = fields.count("count");
  s.min = fields.number("min");
  s.max = fields.number("max");
  s.mean = static_cast<double>(fields.number("mean"));
  s.std = static_cast<double>(fields.number("std"));
  s.l2 = static_cast<double>(fields.number("l2"));
  s.nan = fields.count("nan");
  const int64_t inf = fields.count("inf");
  s.negative_inf = fields.count("negative_inf");
  s.positive_inf = inf - s.negative_inf;
  s.zeros = fields.count("zeros");
  const std::string crc = fields.text("crc32");
  if (!fields.failed().empty()) return damaged_details(fields.failed());
  if (!slot) return damaged_details("slot");
  if (crc.size() != 8 || crc.find_first_not_of("0123456789abcdef") != std::string::npos)
    return damaged_details("crc32");
  const bool adds_up = s.positive_inf >= 0 && s.nan <= s.count && inf <= s.count - s.nan &&
                       element_count(s.shape) == s.count;
  if (!adds_up) return damaged_details("count");
  s.crc32 = static_cast<uint32_t>(std::stoul(crc, nullptr, 16));
  tensor.slot = *slot;
  return tensor;
}

Result<ReducedFile> details_from(Bytes text) {
  const Json json = Json::parse(as_text(text), nullptr, false);
  Fields fields(json);
  const std::string schema = fields.text("schema");
  if (schema != kSchema) return damaged_details("schema");
  ReducedFile file;
  file.is_ours = true;
  file.op_name = fields.text("op_name");
  file.source_bytes = static_cast<uint64_t>(fields.count("source_bytes"));
  file.source_time_ns = fields.integer("source_time_ns");
  if (!fields.failed().empty()) return damaged_details(fields.failed());
  const auto tensors = json.find("tensors");
  if (tensors == json.end() || !tensors->is_array()) return damaged_details("tensors");
  for (const Json& item : *tensors) {
    auto tensor = tensor_from(item);
    if (!tensor) return tensor.error();
    file.tensors.push_back(std::move(*tensor));
  }
  return file;
}

// --- arrays

Error not_pairs(const TensorInfo& info) {
  const bool is_only = info.name.empty();
  return {is_only ? "not a [min, max] pair" : "not a list of [min, max] pairs",
          fmt::format("{} is {} {}", is_only ? "the array" : "'" + info.name + "'",
                      dtype_text(info), to_string(info.shape)),
          kAgain};
}

// The numbers of an array of pairs.
Result<std::vector<double>> read_pairs(const io::TensorFile& file, const TensorInfo& info) {
  const DKind kind = kind_of(info.dtype);
  const auto count = element_count(info.shape);
  const bool is_pairs = count == 0 || (!info.shape.empty() && info.shape.back() == 2);
  if (!count || *count > kMaxNumbers || !is_pairs || kind == DKind::kComplex ||
      kind == DKind::kOpaque)
    return not_pairs(info);
  auto reader = io::TensorReader::open(*file.format, file.mapping.bytes(), info);
  if (!reader) return reader.error();
  auto bytes = reader->read(0, reader->count());
  if (!bytes) return bytes.error();
  std::vector<double> numbers(static_cast<size_t>(reader->count()));
  decode_double(reader->dtype(), bytes->data(), reader->count(), numbers.data());
  return numbers;
}

Result<std::vector<ReducedTensor>> read_arrays(const io::TensorFile& file) {
  std::vector<ReducedTensor> tensors;
  const bool is_npy = file.format->name == "npy";
  for (const TensorInfo& info : file.listing.tensors) {
    if (!is_npy && info.name != "inputs" && info.name != "outputs")
      return Error{std::string(kNotReduced), fmt::format("array '{}'", info.name), kAgain};
    if (info.error) return *info.error;
    if (info.shape.size() > (is_npy ? 1 : 2)) return not_pairs(info);
    auto numbers = read_pairs(file, info);
    if (!numbers) return numbers.error();
    if (is_npy && numbers->size() > 2) return not_pairs(info);
    if (!is_npy && info.shape.size() == 1 && !numbers->empty()) return not_pairs(info);
    if (is_npy && numbers->empty()) tensors.emplace_back();  // of an empty tensor
    for (size_t i = 0; i + 1 < numbers->size(); i += 2) {
      ReducedTensor& tensor = tensors.emplace_back();
      tensor.slot.kind = info.name == "inputs" ? SlotKind::kInput : SlotKind::kOutput;
      tensor.slot.index = static_cast<int64_t>(i / 2);
      tensor.min = (*numbers)[i];
      tensor.max = (*numbers)[i + 1];
    }
  }
  return tensors;
}

bool is_row(const Slot& slot) {
  return slot.kind == SlotKind::kInput || slot.kind == SlotKind::kOutput;
}

// Statistics and arrays must be of the same tensors; that of an npy file has its slot in its name.
Result<void> add_arrays(const std::vector<ReducedTensor>& arrays, bool is_npy, ReducedFile& file) {
  std::map<Slot, const ReducedTensor*> by_slot;
  for (const ReducedTensor& array : arrays) by_slot[is_npy ? Slot() : array.slot] = &array;
  size_t used = 0;
  for (ReducedTensor& tensor : file.tensors) {
    if (!is_row(tensor.slot) && !is_npy) continue;
    const auto found = by_slot.find(is_npy ? Slot() : tensor.slot);
    if (found == by_slot.end()) return damaged_details("tensors");
    ++used;
    tensor.min = found->second->min;
    tensor.max = found->second->max;
  }
  if (used != arrays.size()) return damaged_details("tensors");
  return {};
}

Result<ReducedFile> read_opened(const io::TensorFile& opened) {
  const Bytes bytes = opened.mapping.bytes();
  const bool is_npy = opened.format->name == "npy";
  if ((!is_npy && opened.format->name != "npz") || opened.listing.tensors.empty())
    return Error{
        std::string(kNotReduced),
        fmt::format("byte 0: {}, {} array(s)", opened.format->name, opened.listing.tensors.size()),
        kAgain};
  auto arrays = read_arrays(opened);
  if (!arrays) return arrays.error();
  const TensorInfo& first = opened.listing.tensors.front();
  const bool has_archive =
      !is_npy ||
      as_text(bytes.subspan(first.offset_bytes + first.size_bytes)).starts_with("PK\3\4");
  auto members = has_archive ? io::list_zip(bytes) : std::vector<io::ZipMember>();
  if (!members) return members.error();
  const auto details = std::find_if(members->begin(), members->end(),
                                    [](const io::ZipMember& m) { return m.name == kDetails; });
  if (details == members->end()) return ReducedFile{{}, 0, 0, std::move(*arrays), false};
  Buffer scratch;
  auto text = io::zip_member_data(bytes, *details, kMaxMemberGrowth, scratch);
  if (!text) return text.error();
  auto file = details_from(*text);
  if (!file) return file.error();
  if (auto added = add_arrays(*arrays, is_npy, *file); !added) return added.error();
  std::set<std::string_view> sketches;
  for (const io::ZipMember& member : *members)
    if (member.name.starts_with(kSketches)) sketches.insert(member.name.substr(kSketches.size()));
  for (ReducedTensor& tensor : file->tensors)
    tensor.has_sketch = sketches.contains(to_string(tensor.slot));
  return file;
}

}  // namespace

bool has_original(const Tree& tree, const TreeFile& file) {
  constexpr std::string_view kNpyEnd = "_min_max.npy", kNpzEnd = "_min_max.npz";
  std::string path = file.path;
  const bool is_npy = path.ends_with(kNpyEnd);
  if (!is_npy && !path.ends_with(kNpzEnd)) return false;
  path.resize(path.size() - kNpyEnd.size());
  if (is_npy) path += ".npy";
  const TreeFile* original = tree.find(path);
  return original != nullptr && original->size_bytes > 0;
}

// Nobody else counts zeros.
bool is_reduced(const Entry& entry) {
  return entry.parts.empty() && entry.statistics && !entry.statistics->checksum.empty() &&
         entry.statistics->zeros;
}

bool is_reduced_npy(Bytes head, uint64_t file_size) {
  constexpr std::string_view kArchive = "PK\3\4";
  if (!io::is_npy(head)) return false;
  const auto info = io::parse_npy_header(head, {});
  if (!info || info->offset_bytes + info->size_bytes + kArchive.size() > head.size()) return false;
  const Bytes behind = head.subspan(info->offset_bytes + info->size_bytes);
  return file_size > head.size() - behind.size() && as_text(behind).starts_with(kArchive);
}

std::optional<std::string> reduced_name(std::string_view name) {
  constexpr std::string_view kNpyEnd = ".npy";
  if (const auto fx = parse_fx_name(name); fx && !fx->is_reduced)
    return std::string(name.substr(0, name.size() - kNpyEnd.size())) + "_min_max.npy";
  if (const auto device = parse_device_name(name);
      device && device->stream && device->type != "Opdebug")
    return std::string(name) + "_min_max.npz";
  return {};
}

bool is_reduced_name(std::string_view name) {
  constexpr std::string_view kEnd = "_min_max.npz";
  if (const auto fx = parse_fx_name(name)) return fx->is_reduced;
  return name.ends_with(kEnd) && reduced_name(name.substr(0, name.size() - kEnd.size()));
}

DType common_dtype(std::span<const DType> dtypes) {
  if (dtypes.empty()) return DType::kFloat64;
  DType common = dtypes.front();
  for (DType dtype : dtypes) common = common_dtype(common, dtype);
  return common;
}

Result<void> write_reduced(FileSink& out, const ReducedFile& file, bool as_npy) {
  io::ZipWriter zip(out);
  if (as_npy) {
    const FullStatistics& s = *file.tensors.front().full;
    std::string values;
    for (long double value : {extremes_of(s).min, extremes_of(s).max})
      append(values, row_dtype(s), value);
    if (s.count == 0) values.clear();
    out.write(io::npy_header(row_dtype(s), {s.count == 0 ? 0 : 2}));
    out.write(values);
  }
  for (const SlotKind kind : {SlotKind::kInput, SlotKind::kOutput}) {
    if (as_npy) break;
    std::vector<const FullStatistics*> rows;
    std::vector<DType> dtypes;
    for (const ReducedTensor& tensor : file.tensors) {
      if (tensor.slot.kind != kind) continue;
      rows.push_back(&*tensor.full);
      dtypes.push_back(row_dtype(*tensor.full));
    }
    const DType dtype = common_dtype(dtypes);
    const auto count = std::ssize(rows);
    std::string member = io::npy_header(dtype, count == 0 ? Shape{0} : Shape{count, 2});
    for (const FullStatistics* s : rows)
      for (long double value : {extremes_of(*s).min, extremes_of(*s).max})
        append(member, dtype, value);
    auto begun = zip.begin(kind == SlotKind::kInput ? "inputs.npy" : "outputs.npy");
    if (!begun) return begun.error();
    zip.write(as_bytes(member));
  }
  if (auto begun = zip.begin(kDetails); !begun) return begun.error();
  zip.write(as_bytes(details_of(file)));
  for (const ReducedTensor& tensor : file.tensors) {
    if (tensor.sketch.empty()) continue;
    auto begun = zip.begin(std::string(kSketches) + to_string(tensor.slot));
    if (!begun) return begun.error();
    zip.write(tensor.sketch);
  }
  zip.finish();
  return {};
}

Result<ReducedFile> read_reduced(const std::filesystem::path& path) {
  io::ReadHints hints;
  hints.map = false;  // small
  auto opened = io::open_tensor_file(path, hints);
  if (!opened) return opened.error();
  auto file = read_opened(*opened);
  if (!file) return std::move(file.error()).in(path.string());
  return file;
}

Result<std::vector<std::byte>> read_sketch(const std::filesystem::path& path, const Slot& slot) {
  auto mapped = MappedFile::open(path, /*map=*/false);
  if (!mapped) return mapped.error();
  auto members = io::list_zip(mapped->bytes());
  if (!members) return std::move(members.error()).in(path.string());
  const std::string name = std::string(kSketches) + to_string(slot);
  for (const io::ZipMember& member : *members) {
    if (member.name != name) continue;
    Buffer scratch;
    auto data = io::zip_member_data(mapped->bytes(), member, kMaxMemberGrowth, scratch);
    if (!data) return std::move(data.error()).in(path.string());
    return std::vector<std::byte>(data->begin(), data->end());
  }
  return Error{"the reduced file holds no sketch of this tensor",
               fmt::format("{}: no member '{}'", path.string(), name),
               "reduce the dump again with --keep-sketch"};
}

Result<std::vector<Entry>> list_reduced(const std::filesystem::path& path, std::string_view record,
                                        const Entry& model) {
  auto file = read_reduced(path);
  if (!file) return file.error();
  std::vector<Entry> entries;
  const SharedText shared_record = record;
  for (const ReducedTensor& tensor : file->tensors) {
    Entry& entry = entries.emplace_back(model);
    entry.record = shared_record;
    if (!path.native().ends_with(".npy")) entry.slot = tensor.slot;
    if (!file->op_name.empty()) entry.operator_name = file->op_name;
    entry.statistics.emplace();
    if (tensor.full) {
      *entry.statistics = recorded_from(*tensor.full);
      entry.statistics->has_sketch = tensor.has_sketch;
    } else {
      entry.statistics->min = tensor.min;
      entry.statistics->max = tensor.max;
    }
  }
  return entries;
}

}  // namespace plumb::dump
