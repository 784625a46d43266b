// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/tensors.h"

#include <charconv>

#include <fmt/format.h>

#include "metrics/measure.h"
#include "metrics/type_limits.h"

namespace plumb::msaccucmp {
namespace {

io::ReadOrder as_stored() {
  io::ReadOrder order;
  order.stored = true;
  return order;
}

Fault unsupported(const TensorInfo& info, const char* what, const std::string& path) {
  return {Code::kDataType, Error{fmt::format("elements of type {} {}", dtype_text(info), what),
                                 path + (info.name.empty() ? "" : ", tensor '" + info.name + "'"),
                                 "leave this operator out"}};
}

uint64_t address_of(const io::Listing& listing, const std::string& name) {
  uint64_t address = 0;
  for (const auto& [key, value] : listing.properties)
    if (key == name + ".address")
      std::from_chars(value.data(), value.data() + value.size(), address);
  return address;
}

Tensor described(dump::Entry entry, const TensorInfo& info, const io::TensorReader& reader) {
  Tensor tensor;
  tensor.entry = std::make_shared<const dump::Entry>(std::move(entry));
  tensor.dtype = reader.dtype();
  tensor.stored_dtype = info.dtype;
  tensor.layout = info.layout;
  tensor.shape = info.shape;
  tensor.original = info.logical_shape.value_or(Shape{});
  tensor.count = reader.count();
  return tensor;
}

}  // namespace

const dump::DumpSet& anywhere() {
  static const dump::DumpSet set;
  return set;
}

Outcome<io::TensorFile> open_file(const std::filesystem::path& path) {
  auto file = io::open_tensor_file(path);
  if (!file) return Fault{Code::kInvalidDumpData, std::move(file.error())};
  return std::move(*file);
}

Outcome<Tensor> load_comparable(const io::TensorFile& file, const TensorInfo& info) {
  if (!info.error && kind_of(info.dtype) == DKind::kComplex)
    return unsupported(info, "are not compared", file.path);
  return load_tensor(file, info);
}

Outcome<Tensor> load_tensor(const io::TensorFile& file, const TensorInfo& info) {
  if (info.error) return {Code::kInvalidDumpData, Error(*info.error).in(file.path)};
  if (info.dtype == DType::kOpaque) return unsupported(info, "cannot be decoded", file.path);
  auto reader = file.open(info, as_stored());
  if (!reader) return {Code::kInvalidDumpData, std::move(reader.error())};
  dump::Entry entry;
  entry.parts.push_back({file.path, info.name});
  entry.info = info;
  Tensor tensor = described(std::move(entry), info, *reader);
  tensor.address = address_of(file.listing, info.name);
  return tensor;
}

Outcome<Tensor> load_joined(const dump::DumpSet& set, const dump::Entry& entry) {
  auto joined = dump::EntryReader::open(set, entry, {}, as_stored());
  if (!joined) return Fault{Code::kInvalidDumpData, std::move(joined.error())};
  const DKind kind = kind_of(joined->reader().dtype());
  if (kind == DKind::kOpaque || kind == DKind::kComplex)
    return {Code::kDataType, Error{fmt::format("elements of type {} cannot be compared",
                                               name_of(joined->reader().dtype())),
                                   joined->path(), "leave this operator out"}};
  dump::Entry whole = entry;
  for (dump::TensorRef& part : whole.parts) part.file = set.absolute(part.file);
  return described(std::move(whole), joined->info(), joined->reader());
}

Outcome<Tensor> load_only_tensor(const std::filesystem::path& path) {
  auto file = open_file(path);
  if (!file) return file.fault();
  const auto& tensors = file->listing.tensors;
  if (tensors.size() != 1)
    return {
        Code::kInvalidDumpData,
        Error{"one tensor was expected",
              fmt::format("{}: {} are there", path.string(), tensors.size()), "name an .npy file"}};
  return load_comparable(*file, tensors.front());
}

std::string decoded_type_name(const Tensor& tensor) {
  if (tensor.is_empty()) return "float64";
  if (tensor.dtype == DType::kBFloat16) return "float32";
  if (kind_of(tensor.dtype) == DKind::kFloat && bits_of(tensor.dtype) == 8) return "float64";
  return std::string(name_of(tensor.dtype));
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

Outcome<std::vector<std::byte>> read_elements(const View& view) {
  auto opened = dump::EntryReader::open(anywhere(), *view.tensor.entry, {}, as_stored());
  if (!opened) return Fault{Code::kInvalidDumpData, std::move(opened.error())};
  auto stored = opened->reader().read(0, opened->reader().count());
  if (!stored) return {Code::kInvalidDumpData, std::move(stored.error()).in(opened->path())};
  if (!view.map) return std::vector<std::byte>(stored->begin(), stored->end());
  const auto item = static_cast<size_t>(bits_of(view.tensor.dtype) / 8);
  std::vector<std::byte> elements(static_cast<size_t>(view.count) * item);
  gather(*view.map, item, stored->data(), 0, view.count, elements.data());
  return elements;
}

std::string overflow_cell(const Tensor& tensor, const RunContext& context) {
  if (tensor.stored_dtype != DType::kFloat16) return "NaN";
  auto opened = dump::EntryReader::open(anywhere(), *tensor.entry, {}, as_stored());
  if (!opened) return "NaN";
  auto measured = metrics::measure(opened->pieces(), {}, context);
  if (!measured || !*measured) return "NaN";
  const metrics::TensorStats& stats = (*measured)->stats;
  if (stats.nan > 0) return "NO";  // the largest of values with a NaN among them is NaN
  const metrics::Limits limits = *metrics::limits_of(DType::kFloat16);
  const bool is_within = limits.hold(static_cast<double>(stats.min)) &&
                         limits.hold(static_cast<double>(stats.max)) &&
                         stats.positive_inf + stats.negative_inf == 0;
  return is_within ? "NO" : "YES";
}

}  // namespace plumb::msaccucmp
