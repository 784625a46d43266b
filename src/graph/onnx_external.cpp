// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_external.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/number_from_text.h"
#include "graph/onnx_edit.h"
#include "graph/onnx_fields.h"
#include "graph/onnx_wire.h"

namespace plumb::graph {
namespace {

namespace fs = std::filesystem;

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
          if (part.number == 1 || part.number == 2)
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

// The file that `location` names in `directory`, without links. Not to be read unless below `root`.
Result<fs::path> find_file(std::string_view location, const fs::path& directory,
                           const fs::path& root) {
  const auto escapes = [&](const std::string& to) {
    return Error{"external data lie outside the model's directory",
                 std::string(location) + (to.empty() ? "" : ", which is " + to),
                 "put the data beside the model"};
  };
  const fs::path relative(location);
  if (directory.empty() || location.empty() || location.find('\0') != std::string_view::npos ||
      relative.is_absolute() || *relative.lexically_normal().begin() == "..")
    return escapes("");
  std::error_code code;
  const fs::path top = fs::canonical(root.empty() ? directory : root, code);
  const fs::path path = code ? fs::path() : fs::canonical(directory / relative, code);
  // Links count as well.
  if (!code && std::mismatch(top.begin(), top.end(), path.begin(), path.end()).first != top.end())
    return escapes(path.string());
  if (code || !fs::is_regular_file(path, code))
    return Error{"external data are missing", (directory / relative).string(),
                 "put the file beside the model"};
  return path;
}

}  // namespace

// The other files, opened once each.
class ExternalFiles {
 public:
  explicit ExternalFiles(const DataPlace& place) : place_(place) {}

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
    return bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(length));
  }

 private:
  Result<Bytes> open(std::string_view location) {
    if (const auto known = files_.find(location); known != files_.end())
      return known->second.bytes();
    auto path = find_file(location, place_.directory, place_.root);
    if (!path && place_.root != place_.directory)
      if (auto beside = find_file(location, place_.root, place_.root); beside) path = beside;
    if (!path) return path.error();
    auto file = MappedFile::open(path->string());
    if (!file) return file.error();
    return files_.emplace(location, std::move(*file)).first->second.bytes();
  }

  // An empty text is 0.
  static bool number(std::string_view text, uint64_t& value) {
    const auto read = number_from_text<uint64_t>(text);
    if (read) value = *read;
    return read || text.empty();
  }

  DataPlace place_;
  std::map<std::string, MappedFile, std::less<>> files_;
};

namespace {

// Messages in which tensors are.
enum class Kind : uint8_t {
  kModel,
  kFunction,
  kTraining,
  kNode,
  kAttribute,
  kGraph,
  kSparse,
  kTensor
};

std::optional<Kind> kind_within(Kind kind, uint32_t field) {
  switch (kind) {
    case Kind::kModel:
      if (field == model_field::kGraph) return Kind::kGraph;
      if (field == model_field::kFunctions) return Kind::kFunction;
      if (field == model_field::kTraining) return Kind::kTraining;
      break;
    case Kind::kFunction:
      if (field == function_field::kNode) return Kind::kNode;
      break;
    case Kind::kTraining:
      if (field == training_field::kInitialization || field == training_field::kAlgorithm)
        return Kind::kGraph;
      break;
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
  explicit Inliner(const DataPlace& place) : files_(place) {}

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
    total_ += data->size();
    if (total_ > kMostBytes) {
      error = Error{"the model would be larger than 2 GiB with its data inside",
                    std::string(place.location),
                    "cut a smaller part out, or keep the model beside its data"};
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
  uint64_t total_ = 0;
};

// Every location that the model names, whether its tensor says so or not: messages that occur twice
// are merged by who reads them after us.
class Locations {
 public:
  // False if the model is damaged.
  bool collect(Kind kind, Bytes message, int depth = 0) {
    if (depth > 4 * kMaxOnnxDepth) return false;
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
      if (kind == Kind::kTensor) {
        if (field.number == tensor_field::kExternalData) add(field);
        continue;
      }
      const auto inner = kind_within(kind, field.number);
      if (inner && field.type == WireType::kBytes && !collect(*inner, field.bytes, depth + 1))
        return false;
    }
    return reader.ok();
  }

  std::set<std::string_view> found;

 private:
  void add(const ProtoField& entry) {
    std::string_view value;
    bool is_location = false;
    ProtoReader reader(entry);
    for (ProtoField part; reader.next(part);) {
      if (part.number == 1) is_location |= as_text(part.bytes) == "location";
      if (part.number == 2) value = as_text(part.bytes);
    }
    if (is_location) found.insert(value);
  }
};

}  // namespace

struct ExternalData::Files : ExternalFiles {
  using ExternalFiles::ExternalFiles;
};

ExternalData::ExternalData(const DataPlace& place) : files_(std::make_unique<Files>(place)) {}
ExternalData::~ExternalData() = default;

Result<Bytes> ExternalData::data_of(Bytes tensor) {
  const Place place = place_of(tensor);
  auto data = files_->data_at(place);
  if (!data) return std::move(data.error()).in(fmt::format("tensor '{}'", place.tensor));
  return data;
}

DataPlace data_place_of(const fs::path& model) {
  std::error_code code;
  DataPlace place;
  place.directory = fs::absolute(model, code).parent_path();
  const fs::path file = fs::canonical(model, code);
  place.root = code ? place.directory : file.parent_path();
  return place;
}

Result<fs::path> check_external(Bytes model, const DataPlace& place) {
  Locations locations;
  if (!locations.collect(Kind::kModel, model))
    return Error{"the model is damaged", "its messages do not add up", kExport};
  const auto check_in = [&](const fs::path& directory) -> Result<fs::path> {
    for (const std::string_view location : locations.found)
      if (auto file = find_file(location, directory, place.root); !file) return file.error();
    return directory;
  };
  auto found = check_in(place.directory);
  if (found || place.root.empty()) return found;
  if (auto beside = check_in(place.root); beside) return beside;
  return found;
}

Result<std::vector<fs::path>> external_files(Bytes model, const DataPlace& place) {
  const auto directory = check_external(model, place);
  if (!directory) return directory.error();
  Locations locations;
  locations.collect(Kind::kModel, model);
  std::set<fs::path> files;
  for (const std::string_view location : locations.found) {
    auto file = find_file(location, *directory, place.root);
    if (!file) return file.error();
    files.insert(std::move(*file));
  }
  return std::vector<fs::path>(files.begin(), files.end());
}

Result<void> inline_external(OnnxModel& model, const DataPlace& place) {
  Inliner inliner(place);
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
