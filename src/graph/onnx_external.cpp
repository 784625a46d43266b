// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_external.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "graph/onnx_edit.h"
#include "graph/onnx_fields.h"
#include "graph/onnx_wire.h"

namespace plumb::graph {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 31;  // what protobuf takes

constexpr const char* kExport = "export the model again";

// Where a tensor says that its data are.
struct Place {
  std::string_view tensor, location, offset, length;
  bool is_external = false;
  std::optional<int64_t> needed;  // bytes, by type and shape
};

Place place_of(Bytes message) {
  Place place;
  Shape dims;
  std::optional<DType> dtype;
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) switch (field.number) {
      case tensor_field::kDims: reader.append_varints(field, dims, 64); break;
      case tensor_field::kDataType: dtype = dtype_from_onnx(field.value); break;
      case tensor_field::kName: place.tensor = as_text(field.bytes); break;
      case tensor_field::kDataLocation: place.is_external = field.value == 1; break;
      case tensor_field::kExternalData: {
        std::string_view key, value;
        ProtoReader entry(field);
        for (ProtoField part; entry.next(part);)
          (part.number == 1 ? key : value) = as_text(part.bytes);
        if (key == "location") place.location = value;
        if (key == "offset") place.offset = value;
        if (key == "length") place.length = value;
        break;
      }
      default: break;
    }
  if (const auto count = element_count(dims); dtype && count && reader.ok())
    place.needed = byte_count(*dtype, *count);
  return place;
}

// The other files, opened once each.
class ExternalFiles {
 public:
  explicit ExternalFiles(const std::filesystem::path& directory) : directory_(directory) {}

  Result<Bytes> data_at(const Place& place) {
    auto file = open(place.location);
    if (!file) return file.error();
    const Bytes bytes = *file;
    uint64_t offset = 0, length = 0;
    if (!number(place.offset, offset) || !number(place.length, length))
      return Error{"external data have no sensible place",
                   fmt::format("offset '{}', length '{}'", place.offset, place.length), kExport};
    if (place.length.empty()) {
      if (!place.needed)
        return Error{"external data have no length", std::string(place.location), kExport};
      length = static_cast<uint64_t>(*place.needed);
    }
    if (place.needed && static_cast<uint64_t>(*place.needed) != length)
      return Error{
          "external data and the tensor's shape do not fit each other",
          fmt::format("{} bytes are recorded, type and shape need {}", length, *place.needed),
          kExport};
    if (offset > bytes.size() || length > bytes.size() - offset)
      return Error{"external data end before the tensor does",
                   fmt::format("{}, byte {}: {} bytes are needed, the file has {}", place.location,
                               offset, length, bytes.size()),
                   "copy the file again"};
    total_ += length;
    if (total_ > kMostBytes)
      return Error{"the model would be larger than 2 GiB with its data inside",
                   std::string(place.location),
                   "cut a smaller part out, or keep the model beside its data"};
    return bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(length));
  }

 private:
  Result<Bytes> open(std::string_view location) {
    if (const auto known = files_.find(location); known != files_.end())
      return known->second.bytes();
    namespace fs = std::filesystem;
    const auto escapes = [&] {
      return Error{"external data lie outside the model's directory", std::string(location),
                   "put the data beside the model"};
    };
    const fs::path relative(location);
    if (location.empty() || location.find('\0') != std::string_view::npos ||
        relative.is_absolute() || *relative.lexically_normal().begin() == "..")
      return escapes();
    std::error_code code;
    const fs::path root = fs::canonical(directory_.empty() ? "." : directory_, code);
    const fs::path path = code ? fs::path() : fs::canonical(root / relative, code);
    if (code || !fs::is_regular_file(path, code))
      return Error{"external data are missing", (directory_ / relative).string(),
                   "put the file beside the model"};
    // Links count as well.
    if (std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first != root.end())
      return escapes();
    auto file = MappedFile::open(path.string());
    if (!file) return file.error();
    return files_.emplace(location, std::move(*file)).first->second.bytes();
  }

  // An empty text is 0.
  static bool number(std::string_view text, uint64_t& value) {
    const char* end = text.data() + text.size();
    if (text.empty()) return true;
    const auto read = std::from_chars(text.data(), end, value);
    return read.ec == std::errc() && read.ptr == end;
  }

  std::filesystem::path directory_;
  std::map<std::string, MappedFile, std::less<>> files_;
  uint64_t total_ = 0;
};

// Messages in which tensors are.
enum class Kind : uint8_t { kNode, kAttribute, kGraph, kSparse, kTensor };

std::optional<Kind> kind_within(Kind kind, uint32_t field) {
  switch (kind) {
    case Kind::kNode:
      if (field == node_field::kAttribute) return Kind::kAttribute;
      break;
    case Kind::kAttribute:
      if (field == attribute_field::kTensor || field == attribute_field::kTensors)
        return Kind::kTensor;
      if (field == attribute_field::kSparseTensor || field == attribute_field::kSparseTensors)
        return Kind::kSparse;
      if (field == attribute_field::kGraph || field == attribute_field::kGraphs)
        return Kind::kGraph;
      break;
    case Kind::kGraph:
      if (field == graph_field::kNode) return Kind::kNode;
      if (field == graph_field::kInitializer) return Kind::kTensor;
      if (field == graph_field::kSparseInitializer) return Kind::kSparse;
      break;
    case Kind::kSparse:
      if (field == sparse_field::kValues || field == sparse_field::kIndices) return Kind::kTensor;
      break;
    case Kind::kTensor: break;
  }
  return std::nullopt;
}

class Inliner {
 public:
  explicit Inliner(const std::filesystem::path& directory) : files_(directory) {}

  std::string inlined(Kind kind, Bytes message) {
    if (kind == Kind::kTensor) return tensor(message);
    return rewritten(message, [&](const ProtoField& field, ProtoWriter& out) {
      const auto inner = kind_within(kind, field.number);
      if (inner) out.message(field.number, as_bytes(inlined(*inner, field.bytes)));
      return inner.has_value();
    });
  }

  std::optional<Error> error;  // the first

 private:
  std::string tensor(Bytes message) {
    const Place place = place_of(message);
    if (!place.is_external || error) return std::string(as_text(message));
    auto data = files_.data_at(place);
    if (!data) {
      error = std::move(data.error()).in(fmt::format("tensor '{}'", place.tensor));
      return {};
    }
    ProtoWriter raw;
    raw.message(tensor_field::kRawData, *data);
    return rewritten(message,
                     [](const ProtoField& field, ProtoWriter&) {
                       return field.number == tensor_field::kExternalData ||
                              field.number == tensor_field::kDataLocation ||
                              field.number == tensor_field::kRawData;
                     }) +
           raw.bytes();
  }

  ExternalFiles files_;
};

}  // namespace

Result<void> inline_external(OnnxModel& model, const std::filesystem::path& directory) {
  Inliner inliner(directory);
  OnnxModel changed = model;
  for (OnnxWeight& weight : changed.graph.initializers) {
    if (!weight.is_external) continue;
    const Kind kind = weight.is_sparse ? Kind::kSparse : Kind::kTensor;
    weight.bytes = as_bytes(changed.keep(inliner.inlined(kind, weight.bytes)));
    weight.is_external = false;
    if (inliner.error) return std::move(*inliner.error);
  }
  for (size_t i = 0; i < changed.graph.nodes.size(); ++i) {
    if (!changed.graph.nodes[i].is_external) continue;
    std::string node = inliner.inlined(Kind::kNode, changed.graph.nodes[i].bytes);
    if (inliner.error) return std::move(*inliner.error);
    if (auto changed_one = rewrite_node(changed, i, std::move(node)); !changed_one)
      return changed_one;
  }
  model = std::move(changed);
  return {};
}

}  // namespace plumb::graph
