// SPDX-License-Identifier: Apache-2.0
//
// The only code that uses libhdf5, in a library of its own: libhdf5 brings two dozen others with
// it, and is not made for hostile files. hdf5.cpp loads it when the first HDF5 file turns up and
// calls it in a sandbox. It says what it finds in the records of hdf5_records.h.
#define H5_USE_110_API  // newer libraries keep these under the same names
#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <hdf5.h>
#include <hdf5_hl.h>
#include <unistd.h>

#include "io/hdf5_records.h"

namespace plumb::io::hdf5 {
namespace {

constexpr size_t kPieceBytes = 8 << 20;

// Closes whatever kind of object it holds.
struct Id {
  hid_t value;
  explicit Id(hid_t id) : value(id) {}
  Id(const Id&) = delete;
  ~Id() {
    if (value >= 0) H5Idec_ref(value);
  }
  operator hid_t() const { return value; }
  bool ok() const { return value >= 0; }
};

class Answer {
 public:
  explicit Answer(int out) : out_(out) {}

  template <class T>
  void number(T value) {
    add(&value, sizeof value);
  }
  void record(Record kind) { number(kind); }
  void text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    add(text.data(), text.size());
  }
  void add(const void* data, size_t size) {
    pending_.append(static_cast<const char*>(data), size);
    if (pending_.size() >= 64 * 1024) flush();
  }
  void flush() {
    send(pending_.data(), pending_.size());
    pending_.clear();
  }
  void data(const void* data, size_t size) {
    record(Record::kData);
    number(uint64_t{size});
    flush();
    send(data, size);
  }
  void end() {
    record(Record::kEnd);
    flush();
  }
  void fail(Fault fault, uint64_t detail, std::string_view said) {
    record(Record::kError);
    number(fault);
    number(detail);
    text(said);
    flush();
  }

 private:
  void send(const char* data, size_t size) {
    while (size > 0) {
      const ssize_t done = ::write(out_, data, size);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) ::_exit(1);  // nobody listens
      data += done;
      size -= static_cast<size_t>(done);
    }
  }
  void send(const void* data, size_t size) { send(static_cast<const char*>(data), size); }

  int out_;
  std::string pending_;
};

// The innermost complaint of the last call that failed.
std::string complaint() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* data) -> herr_t {
        if (depth == 0 && error->desc != nullptr)
          static_cast<std::string*>(data)->assign(error->desc, ::strnlen(error->desc, 200));
        return 0;
      },
      &text);
  return text;
}

struct Type {
  DType dtype = DType::kOpaque;
  bool big_endian = false;
  const char* word = "unknown type";
  bool indirect = false;
};

bool set_order(hid_t type, Type& found) {
  const H5T_order_t order = H5Tget_order(type);
  found.big_endian = order == H5T_ORDER_BE && H5Tget_size(type) > 1;
  return order == H5T_ORDER_LE || order == H5T_ORDER_BE || H5Tget_size(type) == 1;
}

// Integers and floats that fill their bytes; anything narrower stays opaque.
bool fills_its_bytes(hid_t type) {
  return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

Type integer(hid_t type) {
  Type found{DType::kOpaque, false, "odd integer"};
  if (!fills_its_bytes(type) || !set_order(type, found)) return found;
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  switch (H5Tget_size(type)) {
    case 1: found.dtype = is_signed ? DType::kInt8 : DType::kUint8; break;
    case 2: found.dtype = is_signed ? DType::kInt16 : DType::kUint16; break;
    case 4: found.dtype = is_signed ? DType::kInt32 : DType::kUint32; break;
    case 8: found.dtype = is_signed ? DType::kInt64 : DType::kUint64; break;
    default: break;
  }
  return found;
}

struct FloatLayout {
  DType dtype;
  size_t bytes, exponent_bits, mantissa_bits, bias;
};
constexpr FloatLayout kFloats[] = {
    {DType::kFloat16, 2, 5, 10, 15},
    {DType::kBFloat16, 2, 8, 7, 127},
    {DType::kFloat32, 4, 8, 23, 127},
    {DType::kFloat64, 8, 11, 52, 1023},
};

Type floating(hid_t type) {
  Type found{DType::kOpaque, false, "odd float"};
  size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0 ||
      !fills_its_bytes(type) || !set_order(type, found) || H5Tget_norm(type) != H5T_NORM_IMPLIED)
    return found;
  for (const FloatLayout& known : kFloats)
    if (H5Tget_size(type) == known.bytes && sign == 8 * known.bytes - 1 &&
        exponent == known.mantissa_bits && exponent_bits == known.exponent_bits && mantissa == 0 &&
        mantissa_bits == known.mantissa_bits && H5Tget_ebias(type) == known.bias)
      found.dtype = known.dtype;
  return found;
}

std::string member_name(hid_t type, unsigned index) {
  char* name = H5Tget_member_name(type, index);
  std::string copy = name != nullptr ? name : "";
  H5free_memory(name);
  return copy;
}

// Enumerations are their integers, except numpy's bool: FALSE = 0, TRUE = 1 in one byte.
Type enumeration(hid_t type) {
  const Id base(H5Tget_super(type));
  Type found = integer(base);
  std::array<uint8_t, 2> values{};
  if (H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 && member_name(type, 0) == "FALSE" &&
      member_name(type, 1) == "TRUE" && H5Tget_member_value(type, 0, &values[0]) >= 0 &&
      H5Tget_member_value(type, 1, &values[1]) >= 0 && values[0] == 0 && values[1] == 1)
    found.dtype = DType::kBool;
  return found;
}

// numpy's complex numbers are pairs of floats named r and i.
Type compound(hid_t type) {
  Type found{DType::kOpaque, false, "compound"};
  if (H5Tget_nmembers(type) != 2 || member_name(type, 0) != "r" || member_name(type, 1) != "i")
    return found;
  const Id real(H5Tget_member_type(type, 0)), imaginary(H5Tget_member_type(type, 1));
  const size_t size = H5Tget_size(real);
  if (H5Tget_class(real) != H5T_FLOAT || H5Tequal(real, imaginary) <= 0 ||
      H5Tget_member_offset(type, 0) != 0 || H5Tget_member_offset(type, 1) != size ||
      H5Tget_size(type) != 2 * size)
    return found;
  const Type part = floating(real);
  if (part.dtype == DType::kFloat32) found.dtype = DType::kComplex64;
  if (part.dtype == DType::kFloat64) found.dtype = DType::kComplex128;
  found.big_endian = part.big_endian && found.dtype != DType::kOpaque;
  return found;
}

Type type_of(hid_t type) {
  Type found;
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: found = integer(type); break;
    case H5T_FLOAT: found = floating(type); break;
    case H5T_ENUM: found = enumeration(type); break;
    case H5T_COMPOUND: found = compound(type); break;
    case H5T_STRING: found.word = "text"; break;
    case H5T_BITFIELD: found.word = "bit field"; break;
    case H5T_OPAQUE: found.word = "opaque type"; break;
    case H5T_REFERENCE: found.word = "reference"; break;
    case H5T_VLEN: found.word = "list"; break;
    case H5T_ARRAY: found.word = "array"; break;
    default: break;
  }
  const bool nested = H5Tget_class(type) == H5T_COMPOUND || H5Tget_class(type) == H5T_ARRAY;
  found.indirect = H5Tdetect_class(type, H5T_VLEN) != 0 ||
                   H5Tdetect_class(type, H5T_REFERENCE) != 0 ||
                   // Inside a record, text of any length cannot be told from text of fixed length.
                   (nested && H5Tdetect_class(type, H5T_STRING) != 0) ||
                   (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) != 0);
  return found;
}

Storage storage_of(hid_t dataset, hid_t creation, const Type& type, uint64_t& offset) {
  const H5D_layout_t layout = H5Pget_layout(creation);
  if (layout == H5D_VIRTUAL) return Storage::kVirtual;
  if (H5Pget_external_count(creation) != 0) return Storage::kExternal;
  if (type.indirect) return Storage::kIndirect;
  if (layout != H5D_CONTIGUOUS || H5Pget_nfilters(creation) != 0) return Storage::kPacked;
  // Never written: the fill value. (H5Dget_offset is no help, it adds the user block to
  // "undefined".)
  if (H5Dget_storage_size(dataset) == 0) return Storage::kPacked;
  offset = H5Dget_offset(dataset);
  return Storage::kPlain;
}

// The integer attributes that PyTorch dumps put on every dataset.
void add_attributes(hid_t dataset, Answer& answer) {
  std::vector<std::pair<const char*, std::vector<int64_t>>> found;
  for (const char* name : {"Type", "DataType", "DeviceType", "FormatType", "Stride"}) {
    if (H5Aexists(dataset, name) <= 0) continue;
    const Id attribute(H5Aopen(dataset, name, H5P_DEFAULT));
    const Id type(H5Aget_type(attribute)), space(H5Aget_space(attribute));
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (H5Tget_class(type) != H5T_INTEGER || count < 0 || count > hssize_t{kMaxRank}) continue;
    std::vector<int64_t> values(static_cast<size_t>(count));
    if (count > 0 && H5Aread(attribute, H5T_NATIVE_INT64, values.data()) < 0) continue;
    found.emplace_back(name, std::move(values));
  }
  answer.number(static_cast<uint8_t>(found.size()));
  for (const auto& [name, values] : found) {
    answer.text(name);
    answer.number(static_cast<uint8_t>(values.size()));
    for (int64_t value : values) answer.number(value);
  }
}

void add_remark(Remark remark, const std::string& path, std::string_view detail, Answer& answer) {
  answer.record(Record::kRemark);
  answer.number(remark);
  answer.text(path);
  answer.text(detail);
}

void add_dataset(hid_t dataset, const std::string& path, Answer& answer) {
  const Id type(H5Dget_type(dataset)), space(H5Dget_space(dataset));
  const Id creation(H5Dget_create_plist(dataset));
  std::array<hsize_t, H5S_MAX_RANK> sizes{};
  const int rank = H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  const size_t item_bytes = H5Tget_size(type);
  if (!type.ok() || !space.ok() || !creation.ok() || rank < 0 || item_bytes == 0)
    return add_remark(Remark::kUnreadable, path, complaint(), answer);
  const Type found = type_of(type);
  uint64_t offset = 0;
  const Storage storage = storage_of(dataset, creation, found, offset);

  answer.record(Record::kDataset);
  answer.text(path);
  answer.number(found.dtype);
  answer.number(uint8_t{found.big_endian});
  answer.number(static_cast<uint32_t>(item_bytes));
  answer.text(found.word);
  answer.number(storage);
  answer.number(offset);
  answer.number(uint64_t{H5Dget_storage_size(dataset)});
  answer.number(uint8_t{H5Sget_simple_extent_type(space) == H5S_NULL});
  answer.number(static_cast<uint8_t>(rank));
  for (int i = 0; i < rank; ++i) answer.number(uint64_t{sizes[static_cast<size_t>(i)]});
  add_attributes(dataset, answer);
}

struct Link {
  std::string name;
  H5L_type_t type;
};

// Links in order of their names. Only hard links are followed: whatever else the file holds is
// reached by them too, and whatever is not in the file is none of our business.
class Walk {
 public:
  explicit Walk(Answer& answer) : answer_(answer) {}

  void everything(hid_t root) {
    H5O_info_t info;
    if (H5Oget_info(root, &info) >= 0) seen_.insert(info.addr);
    group(root, "", 0);
  }

 private:
  void group(hid_t group, const std::string& path, int depth) {
    std::vector<Link> links;
    const herr_t done = H5Literate(
        group, H5_INDEX_NAME, H5_ITER_INC, nullptr,
        [](hid_t, const char* name, const H5L_info_t* info, void* data) -> herr_t {
          static_cast<std::vector<Link>*>(data)->push_back({name, info->type});
          return 0;
        },
        &links);
    if (done < 0) add_remark(Remark::kUnreadable, path + "/", complaint(), answer_);
    for (const Link& link : links) {
      const std::string name = path + "/" + link.name;
      if (link.type == H5L_TYPE_HARD)
        object(group, link.name, name, depth);
      else
        add_remark(link.type == H5L_TYPE_SOFT ? Remark::kSoftLink : Remark::kExternalLink, name, "",
                   answer_);
    }
  }

  void object(hid_t group_id, const std::string& name, const std::string& path, int depth) {
    const Id object(H5Oopen(group_id, name.c_str(), H5P_DEFAULT));
    H5O_info_t info;
    if (!object.ok() || H5Oget_info(object, &info) < 0)
      return add_remark(Remark::kUnreadable, path, complaint(), answer_);
    if (!seen_.insert(info.addr).second) return add_remark(Remark::kAgain, path, "", answer_);
    if (info.type == H5O_TYPE_DATASET) return add_dataset(object, path, answer_);
    if (info.type != H5O_TYPE_GROUP) return;  // a named type holds no data
    if (depth == kMaxDepth) return add_remark(Remark::kTooDeep, path, "", answer_);
    group(object, path, depth + 1);
  }

  Answer& answer_;
  std::unordered_set<haddr_t> seen_;
};

void list(hid_t file, Answer& answer) {
  const Id root(H5Gopen2(file, "/", H5P_DEFAULT));
  if (!root.ok()) return answer.fail(Fault::kOpen, 0, complaint());
  Walk(answer).everything(root);
  answer.end();
}

// A filter of the dataset that the library cannot undo, if there is one.
std::optional<uint64_t> missing_filter(hid_t creation) {
  for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
    unsigned flags = 0, config = 0;
    size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, 0, nullptr, &config);
    if (H5Zfilter_avail(filter) <= 0) return static_cast<uint64_t>(filter);
  }
  return std::nullopt;
}

// Sends the elements, whole rows of the first axis at a time and, so that no chunk is unpacked
// twice, whole chunks.
void load(hid_t file, const char* path, Answer& answer) {
  const Id dataset(H5Dopen2(file, path, H5P_DEFAULT));
  if (!dataset.ok()) return answer.fail(Fault::kDataset, 0, complaint());
  const Id type(H5Dget_type(dataset)), space(H5Dget_space(dataset));
  const Id creation(H5Dget_create_plist(dataset));
  std::array<hsize_t, H5S_MAX_RANK> sizes{}, chunk{};
  const int rank = H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  const size_t item_bytes = H5Tget_size(type);
  if (rank < 0 || points < 0 || item_bytes == 0)
    return answer.fail(Fault::kDataset, 0, complaint());
  if (const auto filter = missing_filter(creation)) return answer.fail(Fault::kFilter, *filter, "");

  answer.record(Record::kSize);
  answer.number(uint64_t{H5Dget_storage_size(dataset)});
  answer.number(uint64_t{static_cast<hsize_t>(points) * item_bytes});
  if (points > 0) {
    const hsize_t rows = rank == 0 ? 1 : sizes[0];
    const hsize_t row_items = static_cast<hsize_t>(points) / rows;
    hsize_t step = std::max<hsize_t>(1, kPieceBytes / (row_items * item_bytes));
    if (H5Pget_layout(creation) == H5D_CHUNKED &&
        H5Pget_chunk(creation, rank, chunk.data()) == rank)
      step = (step + chunk[0] - 1) / chunk[0] * chunk[0];
    step = std::min(step, rows);
    std::vector<char> piece(step * row_items * item_bytes);
    std::array<hsize_t, H5S_MAX_RANK> start{}, part = sizes;
    for (hsize_t row = 0; row < rows; row += step) {
      start[0] = row;
      part[0] = std::min(step, rows - row);
      const hsize_t items = (rank == 0 ? 1 : part[0]) * row_items;
      if (rank > 0)
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, part.data(), nullptr);
      // Of the same shape, or the library copies row by row.
      const Id memory(H5Screate_simple(rank, part.data(), nullptr));
      if (H5Dread(dataset, type, memory, space, H5P_DEFAULT, piece.data()) < 0)
        return answer.fail(Fault::kRead, 0, complaint());
      answer.data(piece.data(), items * item_bytes);
    }
  }
  answer.end();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void plumb_hdf5_serve_1(const void* bytes,
                                                                          uint64_t size,
                                                                          const char* dataset,
                                                                          int out) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);  // no filters from elsewhere
  Answer answer(out);
  try {
    // Read in place: the library is told not to copy the bytes, and not to write to them.
    const hid_t file = H5LTopen_file_image(
        const_cast<void*>(bytes), size, H5LT_FILE_IMAGE_DONT_COPY | H5LT_FILE_IMAGE_DONT_RELEASE);
    if (file < 0)
      answer.fail(Fault::kOpen, 0, complaint());
    else if (dataset == nullptr)
      list(file, answer);
    else
      load(file, dataset, answer);
  } catch (const std::exception& failure) {  // out of memory, nothing else
    answer.fail(dataset == nullptr ? Fault::kOpen : Fault::kRead, 0, failure.what());
  }
}

}  // namespace plumb::io::hdf5
