// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5_records.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/message.h"

namespace plumb::io::hdf5 {
namespace {

constexpr const char* kWriteAgain =
    "write the file again; `h5dump -H` shows what HDF5 itself makes of it";

struct DatasetAttribute {
  std::string name;
  std::vector<int64_t> values;
};

// Messages of the library, kept to one printable line.
std::string read_printable(ByteReader& in) {
  std::string text = read_text(in).substr(0, 200);
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

std::vector<DatasetAttribute> read_attributes(ByteReader& in) {
  std::vector<DatasetAttribute> all;
  for (int count = in.u8(); count > 0 && in.ok(); --count) {
    DatasetAttribute attribute{read_text(in), {}};
    for (int values = in.u8(); values > 0 && in.ok(); --values)
      attribute.values.push_back(in.i64());
    all.push_back(std::move(attribute));
  }
  return all;
}

const std::vector<int64_t>* find(const std::vector<DatasetAttribute>& all, std::string_view name) {
  for (const DatasetAttribute& attribute : all)
    if (attribute.name == name) return &attribute.values;
  return nullptr;
}

bool fits(const Shape& shape, const Shape& strides, int64_t count) {
  if (strides.size() != shape.size()) return false;
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto step = checked_mul(shape[i] - 1, strides[i]);
    const auto sum = step && strides[i] >= 0 ? checked_add(last, *step) : std::nullopt;
    if (!sum) return false;
    last = *sum;
  }
  return last < count;
}

// PyTorch dumps of CPU and GPU tensors hold the storage in its own order and say in `Stride` how
// the tensor lies in it; NPU tensors are stored in plain order whatever `Stride` says.
void apply_stride(const std::vector<DatasetAttribute>& attributes, int64_t count,
                  TensorInfo& info) {
  const auto* device = find(attributes, "DeviceType");
  const auto* stride = find(attributes, "Stride");
  if (device == nullptr || stride == nullptr || device->size() != 1 || count == 0) return;
  if ((*device)[0] != 0 && (*device)[0] != 1) return;
  if (*stride == row_major_strides(info.shape)) return;
  if (fits(info.shape, *stride, count))
    info.strides = *stride;
  else
    info.notes.push_back("its Stride " + to_string(*stride) + " does not fit and is ignored");
}

// Says where the elements are, or why they cannot be had.
void place_dataset(Storage storage, uint64_t offset, uint64_t stored, uint64_t file_size,
                   TensorInfo& info) {
  if (info.size_bytes == 0) return;
  info.packing = Packing::kFormat;
  const auto end = checked_add(offset, info.size_bytes);
  switch (storage) {
    case Storage::kPlain:
      if (!end || *end > file_size || stored < info.size_bytes) {
        info.error =
            Error{"dataset holds less data than its shape needs",
                  fmt::format("{}, byte {}: {} {} needs {} bytes, {} are stored in a file of {}",
                              info.name, offset, dtype_text(info), to_string(info.shape),
                              info.size_bytes, stored, file_size),
                  "copy or write the file again; it is truncated or damaged"};
        return;
      }
      info.packing = Packing::kPlain;
      info.offset_bytes = offset;
      return;
    case Storage::kPacked: info.error = implausible(info.size_bytes, stored, file_size); return;
    case Storage::kExternal:
      info.error = Error{"the dataset's data lie in other files, which are never opened", info.name,
                         "pack everything into one file: `h5repack in.h5 out.h5`"};
      return;
    case Storage::kVirtual:
      info.error = Error{"a virtual dataset is put together from other datasets", info.name,
                         "compare those, or save it as an ordinary dataset"};
      return;
    case Storage::kIndirect:
      info.error =
          Error{"the dataset holds no numbers", info.name + ": " + info.dtype_name, "leave it out"};
      return;
  }
}

Error garbled_answer(const ByteReader& in) {
  return {"the HDF5 plug-in gave an answer that makes no sense",
          fmt::format("byte {} of its answer", in.position()), kWriteAgain};
}

Result<void> read_dataset(ByteReader& in, uint64_t file_size, Listing& listing) {
  TensorInfo info;
  info.name = read_text(in);
  const uint8_t dtype = in.u8();
  const uint8_t big_endian = in.u8();
  const uint32_t item_bytes = in.u32();
  const std::string type_name = read_printable(in);
  const uint8_t storage = in.u8();
  const uint64_t offset = in.u64();
  const uint64_t stored = in.u64();
  const bool is_null = in.u8() != 0;
  const uint8_t rank = in.u8();
  bool sane = dtype < dtypes().size() && big_endian <= 1 && item_bytes > 0 && rank <= kMaxRank &&
              storage <= static_cast<uint8_t>(Storage::kIndirect);
  for (size_t i = 0; i < rank && sane && in.ok(); ++i) {
    info.shape.push_back(static_cast<int64_t>(in.u64()));  // beyond 2^63 is refused below
    sane = info.shape.back() >= 0;
  }
  const auto attributes = read_attributes(in);
  if (!sane || !in.ok()) return garbled_answer(in);

  info.dtype = static_cast<DType>(dtype);
  info.big_endian = big_endian != 0;
  if (is_null) {
    info.shape = {0};
    info.notes.push_back("null dataspace: the dataset has a type but no elements");
  }
  if (info.dtype == DType::kOpaque) {  // counted in bytes
    info.dtype_name = fmt::format("{} of {} bytes", type_name, item_bytes);
    if (item_bytes > 1) info.shape.push_back(item_bytes);
  } else if (static_cast<uint32_t>(bits_of(info.dtype)) != item_bytes * 8) {
    return garbled_answer(in);
  }
  const auto count = element_count(info.shape);
  const auto bytes = count ? byte_count(info.dtype, *count) : std::nullopt;
  if (!bytes) {
    listing.warnings.push_back(fmt::format("dataset '{}' is left out: shape {} is impossibly large",
                                           info.name, to_string(info.shape)));
    return {};
  }
  info.size_bytes = static_cast<uint64_t>(*bytes);
  place_dataset(static_cast<Storage>(storage), offset, stored, file_size, info);
  if (info.dtype != DType::kOpaque) apply_stride(attributes, *count, info);
  if (const auto* type = find(attributes, "Type"); type && type->size() == 1 && type->front() != 0)
    info.notes.push_back(fmt::format("not a tensor argument (Type {})", type->front()));
  for (const DatasetAttribute& attribute : attributes)
    listing.properties.emplace_back(info.name + "@" + attribute.name, join(attribute.values, ","));
  listing.tensors.push_back(std::move(info));
  return {};
}

Result<void> read_remark(ByteReader& in, Listing& listing) {
  const auto remark = static_cast<Remark>(in.u8());
  const std::string path = read_text(in);
  const std::string detail = read_printable(in);
  std::string_view what;
  switch (remark) {
    case Remark::kSoftLink: what = "is a soft link, which is not followed"; break;
    case Remark::kExternalLink: what = "is a link into another file, which is not opened"; break;
    case Remark::kAgain: what = "is another name of an object listed already"; break;
    case Remark::kTooDeep: what = "is nested too deep to be listed"; break;
    case Remark::kUnreadable: what = "cannot be read"; break;
  }
  if (!in.ok() || what.empty()) return garbled_answer(in);
  listing.warnings.push_back(
      fmt::format("'{}' {}{}{}", path, what, detail.empty() ? "" : ": ", detail));
  return {};
}

}  // namespace

std::optional<Error> implausible(uint64_t unpacked, uint64_t stored, uint64_t file_size) {
  // Deflate grows data at most 1032-fold. Chunks that were never written take no room at all, which
  // is fine as long as it stays small.
  constexpr uint64_t kUnwritten = 16 << 20;
  stored = std::min(stored, file_size);
  if (unpacked <= kUnwritten || unpacked / 1032 <= stored) return std::nullopt;
  return Error{"dataset promises more data than it can hold",
               fmt::format("{} stored bytes cannot unpack to {}", stored, unpacked),
               "write the file again, or repack it: `h5repack -f GZIP=1 in.h5 out.h5`"};
}

Error read_fault(ByteReader& in) {
  const auto fault = static_cast<Fault>(in.u8());
  const uint64_t number = in.u64();
  std::string message = read_printable(in);
  if (!in.ok()) return garbled_answer(in);
  message = "the library says: " + (message.empty() ? "nothing" : message);
  switch (fault) {
    case Fault::kOpen:
      return {"HDF5 file is damaged or cut off", "byte 0: " + message, kWriteAgain};
    case Fault::kDataset: return {"HDF5 dataset cannot be opened", message, kWriteAgain};
    case Fault::kFilter:
      return {"HDF5 dataset is packed by a filter that is not built in",
              fmt::format("filter {}{}", number, number == 32000 ? " (lzf)" : ""),
              "repack the file: `h5repack -f GZIP=1 in.h5 out.h5`, or save it with gzip"};
    case Fault::kRead: return {"HDF5 dataset cannot be read", message, kWriteAgain};
  }
  return garbled_answer(in);
}

Result<Listing> listing_from_records(Bytes records, uint64_t file_size) {
  Listing listing;
  ByteReader in(records);
  while (true) {
    const auto record = static_cast<Record>(in.u8());
    Result<void> done;
    if (record == Record::kDataset)
      done = read_dataset(in, file_size, listing);
    else if (record == Record::kRemark)
      done = read_remark(in, listing);
    else if (record == Record::kError)
      return read_fault(in);
    else if (record == Record::kEnd && in.at_end() && in.ok())
      return listing;
    else
      done = garbled_answer(in);
    if (!done) return done.error();
  }
}

}  // namespace plumb::io::hdf5
