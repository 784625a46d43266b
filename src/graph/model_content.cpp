// SPDX-License-Identifier: Apache-2.0
#include "graph/model_content.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "graph/data_place.h"
#include "graph/importers.h"

namespace plumb::graph {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeights = ".caffemodel";

struct Files {
  MappedFile model, weights;
  std::shared_ptr<const void> inner;  // what the content itself keeps
};

struct ToText {
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  // Attributes are 32-bit floats: 0.1 is to read as 0.1.
  std::string operator()(double value) const {
    return static_cast<double>(static_cast<float>(value)) == value
               ? fmt::format("{}", static_cast<float>(value))
               : fmt::format("{}", value);
  }
  std::string operator()(const std::string& value) const { return value; }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text;
    for (const T& value : values) text += (text.empty() ? "" : ", ") + (*this)(value);
    return "[" + text + "]";
  }
};

struct ToNumbers {
  using Numbers = std::optional<std::vector<double>>;
  Numbers operator()(int64_t value) const { return {{static_cast<double>(value)}}; }
  Numbers operator()(double value) const { return {{value}}; }
  Numbers operator()(const std::vector<int64_t>& values) const {
    return std::vector<double>(values.begin(), values.end());
  }
  Numbers operator()(const std::vector<double>& values) const { return values; }
  Numbers operator()(const std::string&) const { return {}; }
  Numbers operator()(const std::vector<std::string>&) const { return {}; }
};

}  // namespace

std::string to_text(const AttributeValue& value) { return std::visit(ToText(), value); }

std::optional<std::vector<double>> numbers_of(const AttributeValue& value) {
  return std::visit(ToNumbers(), value);
}

Result<fs::path> find_caffe_weights(const fs::path& prototxt) {
  std::error_code ignored;
  if (fs::path twin = fs::path(prototxt).replace_extension(kWeights); fs::exists(twin, ignored))
    return twin;
  const fs::path directory = prototxt.has_parent_path() ? prototxt.parent_path() : ".";
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == kWeights) found.push_back(at->path());
  if (found.size() == 1) return found.front();
  std::sort(found.begin(), found.end());
  std::string names;
  for (const fs::path& path : found)
    names += (names.empty() ? "" : ", ") + path.filename().string();
  return Error{found.empty() ? "the weights of the Caffe network are not beside it"
                             : "which weights belong to the Caffe network is not clear",
               prototxt.string() + (names.empty() ? "" : ": beside it are " + names),
               "name them with --weights FILE"};
}

Result<ModelContent> load_content(const fs::path& model, const fs::path& weights) {
  auto files = std::make_shared<Files>();
  auto file = MappedFile::open(model.string());
  if (!file) return file.error();
  files->model = std::move(*file);
  const Importer* importer = importer_of(files->model.bytes());
  const std::string_view format = importer == nullptr ? "no model" : importer->name;
  if (format != "onnx" && format != "prototxt")
    return Error{"this is no model whose weights could be compared",
                 fmt::format("{} is {}", model.string(), format),
                 "name an .onnx, or the .prototxt of a Caffe network"};
  if (format == "onnx" && !weights.empty())
    return Error{"an ONNX model brings its own weights", weights.string(), "leave it out"};
  Result<ModelContent> content = ModelContent{};
  if (format == "onnx") {
    content = content_from_onnx(files->model.bytes(), data_place_of(model));
  } else {
    const auto path = weights.empty() ? find_caffe_weights(model) : weights;
    if (!path) return path.error();
    auto mapped = MappedFile::open(path->string());
    if (!mapped) return mapped.error();
    files->weights = std::move(*mapped);
    content = content_from_caffe(files->model.bytes(), files->weights.bytes());
  }
  if (!content) return std::move(content.error()).in(model.string());
  files->inner = std::move(content->owner);
  content->owner = std::move(files);
  return content;
}

}  // namespace plumb::graph
