// SPDX-License-Identifier: Apache-2.0
#include "graph/caffe_onnx.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/proto_wire.h"
#include "graph/caffe_layer.h"
#include "graph/data_place.h"
#include "graph/importers.h"
#include "graph/onnx_fields.h"

namespace plumb::graph {
namespace {

constexpr int64_t kOpset = 13, kIrVersion = 7;

// Layers that people meet and that are not ONNX's: why, and what to do.
struct Refusal {
  std::string_view type, problem, remedy;
};
constexpr std::string_view kOutside =
    "end the network before it and compute that part outside; `plumb run` and `plumb dump` take "
    "the prototxt as it is";
constexpr std::string_view kDeploy = "give the network's deploy.prototxt, not that of training";
constexpr Refusal kRefusals[] = {
    {"Accuracy", "it measures during training", kDeploy},
    {"AnnotatedData", "it reads a data set", kDeploy},
    {"ContrastiveLoss", "it is a loss", kDeploy},
    {"Data", "it reads a data set", kDeploy},
    {"DetectionOutput", "it decodes and sorts boxes, which no ONNX operator does", kOutside},
    {"EuclideanLoss", "it is a loss", kDeploy},
    {"HDF5Data", "it reads a data set", kDeploy},
    {"ImageData", "it reads a data set", kDeploy},
    {"LSTM", "it is unrolled over time by Caffe", kOutside},
    {"MemoryData", "it reads memory of the program that trains", kDeploy},
    {"MultiBoxLoss", "it is a loss", kDeploy},
    {"PriorBox", "it makes boxes from sizes, which no ONNX operator does", kOutside},
    {"Proposal", "it decodes and sorts boxes, which no ONNX operator does", kOutside},
    {"Python", "it is a program of its own", kOutside},
    {"RNN", "it is unrolled over time by Caffe", kOutside},
    {"ROIPooling", "it pools regions with Caffe's own rounding", kOutside},
    {"SigmoidCrossEntropyLoss", "it is a loss", kDeploy},
    {"SoftmaxWithLoss", "it is a loss", kDeploy},
};

Error refused_layer(const Operator& op) {
  const std::string what =
      fmt::format("the Caffe layer '{}' cannot be translated to ONNX", op.name);
  for (const Refusal& each : kRefusals)
    if (each.type == op.type)
      return {what, fmt::format("{} '{}': {}", op.type, op.name, each.problem),
              std::string(each.remedy)};
  std::vector<std::string> known;
  for (const CaffeLayerKind& kind : caffe_layer_kinds()) known.emplace_back(kind.type);
  return {what, fmt::format("{} '{}': layers of this type have no translation", op.type, op.name),
          did_you_mean(op.type, known) + std::string(kOutside)};
}

Error unusable(std::string where) {
  return {"the Caffe network cannot be translated to ONNX", std::move(where), "check the prototxt"};
}

class Translator {
 public:
  explicit Translator(const ModelContent& content) : content_(content) {}

  Result<OnnxModel> run(const CaffeTranslation& how) {
    begin();
    if (auto named = name_blobs(); !named) return named.error();
    if (how.merges_scale) find_scaled();
    const auto& operators = content_.graph.operators;
    for (size_t i = 0; i < operators.size(); ++i)
      if (auto added = operators[i].type == "Input" ? add_input(i) : add_layer(i); !added)
        return added.error();
    if (auto ended = add_outputs(); !ended) return ended.error();
    return std::move(model_);
  }

 private:
  void begin() {
    model_.ir_version = kIrVersion;
    ProtoWriter producer;
    producer.text(model_field::kProducer, "plumbline");
    model_.other_fields.push_back(as_bytes(model_.keep(std::move(producer).take())));
    import_opset(model_, "", kOpset);
    const std::string& name = content_.graph.name;
    model_.graph.name = model_.keep(name.empty() ? "caffe" : name);
  }

  // The last layer that writes a blob gives it its name; an input keeps its own.
  Result<void> name_blobs() {
    const auto& operators = content_.graph.operators;
    std::unordered_map<std::string_view, std::pair<size_t, size_t>> owners;
    tensors_.resize(operators.size());
    shapes_.resize(operators.size());
    for (size_t i = 0; i < operators.size(); ++i) {
      const Operator& op = operators[i];
      if (!places_.try_emplace(op.name, i).second)
        return unusable(fmt::format("two layers are called '{}'", op.name));
      names_.add(op.name);
      for (size_t k = 0; k < op.outputs.size(); ++k) {
        names_.add(op.outputs[k].name);
        const auto [owner, is_new] = owners.try_emplace(op.outputs[k].name, i, k);
        if (is_new || operators[owner->second.first].type != "Input") owner->second = {i, k};
      }
    }
    for (size_t i = 0; i < operators.size(); ++i)
      for (size_t k = 0; k < operators[i].outputs.size(); ++k) {
        const std::string& blob = operators[i].outputs[k].name;
        const bool is_owner = owners.at(blob) == std::pair(i, k);
        tensors_[i].push_back(
            is_owner ? blob : names_.claim(fmt::format("{}/{}", operators[i].name, blob)));
      }
    return {};
  }

  Result<void> add_input(size_t i) {
    const Operator& op = content_.graph.operators[i];
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const std::optional<Shape>& shape = op.outputs[k].shape;
      if (!shape || !is_blob_shape(*shape))
        return unusable(fmt::format("input '{}': {}", op.outputs[k].name,
                                    shape ? to_string(*shape) : "its shape is not told"));
      auto value = make_value(model_, tensors_[i][k], {DType::kFloat32, shape});
      if (!value) return value.error();
      model_.graph.inputs.push_back(std::move(*value));
      shapes_[i].push_back(*shape);
    }
    return {};
  }

  // Each BatchNorm that only a Scale of its channels reads.
  void find_scaled() {
    const auto& operators = content_.graph.operators;
    std::unordered_map<std::string_view, std::vector<size_t>> readers;
    for (size_t i = 0; i < operators.size(); ++i)
      for (const Edge& edge : operators[i].inputs) readers[edge.producer].push_back(i);
    const auto is_one = [&](size_t op, std::string_view field) {
      const auto found = content_.operators[op].attributes.find(field);
      return found != content_.operators[op].attributes.end() && to_text(found->second) == "1";
    };
    for (size_t i = 0; i < operators.size(); ++i) {
      if (operators[i].type != "BatchNorm" || readers[operators[i].name].size() != 1) continue;
      const size_t reader = readers[operators[i].name][0];
      const auto& operands = content_.operators[i].operands;
      const auto blobs = std::count_if(operands.begin(), operands.end(), [](const Operand& each) {
        return each.constant != nullptr;
      });
      if (operators[reader].type != "Scale" || operators[reader].inputs.size() != 1 ||
          !is_one(reader, "axis") || !is_one(reader, "num_axes") ||
          blobs != static_cast<std::ptrdiff_t>(caffe_layers::kBatchNormBlobs))
        continue;
      scaled_by_[i] = reader;
      normalizes_[reader] = i;
    }
  }

  // What both were told.
  OperatorContent content_of_both(size_t norm, size_t scale) const {
    OperatorContent both = content_.operators[norm];
    const OperatorContent& behind = content_.operators[scale];
    both.attributes.insert(behind.attributes.begin(), behind.attributes.end());
    both.operands.insert(both.operands.end(), behind.operands.begin(), behind.operands.end());
    return both;
  }

  Result<void> add_layer(size_t i) {
    const Operator& op = content_.graph.operators[i];
    const auto kinds = caffe_layer_kinds();
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const CaffeLayerKind& each) {
      return each.type == op.type;
    });
    if (kind == kinds.end()) return refused_layer(op);
    std::vector<CaffeBlob> bottoms;
    for (const Edge& edge : op.inputs) {
      const auto found = places_.find(edge.producer);
      const auto output = static_cast<size_t>(edge.output);
      if (found == places_.end() || output >= shapes_[found->second].size())
        return unusable(fmt::format("layer '{}' reads a blob that no layer above writes", op.name));
      bottoms.push_back({tensors_[found->second][output], shapes_[found->second][output]});
    }
    if (scaled_by_.contains(i) && bottoms.size() == 1 && tensors_[i].size() == 1) {
      tensors_[i] = {bottoms[0].tensor};  // the Scale reads what this one would
      shapes_[i] = {bottoms[0].shape};
      return {};
    }
    const auto norm = normalizes_.find(i);
    const bool is_both = norm != normalizes_.end();
    const OperatorContent both = is_both ? content_of_both(norm->second, i) : OperatorContent{};
    CaffeLayer layer(model_, names_, op, is_both ? both : content_.operators[i], std::move(bottoms),
                     tensors_[i]);
    is_both ? caffe_layers::scaled_batch_norm(layer) : kind->translate(layer);
    if (!layer.ok()) return layer.take_error();
    shapes_[i] = layer.given();
    return {};
  }

  Result<void> add_outputs() {
    std::unordered_set<std::string_view> names;
    for (const Edge& edge : content_.graph.outputs) {
      const auto found = places_.find(edge.producer);
      if (found == places_.end()) continue;
      const size_t i = found->second, k = static_cast<size_t>(edge.output);
      if (content_.graph.operators[i].type == "Input" || k >= shapes_[i].size()) continue;
      auto value = make_value(model_, tensors_[i][k], {DType::kFloat32, shapes_[i][k]});
      if (!value) return value.error();
      names.insert(value->name);
      model_.graph.outputs.push_back(std::move(*value));
    }
    if (names.empty()) return unusable("every blob is read by a layer: nothing is given out");
    std::erase_if(model_.graph.value_infos,
                  [&](const OnnxValue& info) { return names.contains(info.name); });
    return {};
  }

  const ModelContent& content_;
  OnnxModel model_;
  UniqueNames names_;                                          // of tensors, nodes and layers
  std::unordered_map<std::string_view, size_t> places_;        // of layers, by name
  std::vector<std::vector<std::string>> tensors_;              // by layer and top
  std::unordered_map<size_t, size_t> scaled_by_, normalizes_;  // BatchNorm: Scale, and back
  std::vector<std::vector<Shape>> shapes_;                     // likewise; of layers so far
};

}  // namespace

bool is_caffe_network(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path.string());
  const Importer* importer = file ? importer_of(file->bytes()) : nullptr;
  return importer != nullptr && importer->name == "prototxt";
}

Result<OnnxModel> translate_caffe(const ModelContent& content, const CaffeTranslation& how) {
  return Translator(content).run(how);
}

Result<OnnxModel> translate_caffe(const std::filesystem::path& prototxt,
                                  const std::filesystem::path& weights,
                                  const CaffeTranslation& how) {
  const auto content = load_content(prototxt, weights);
  if (!content) return content.error();
  if (content->graph.format != "prototxt")
    return Error{"this is no Caffe network",
                 fmt::format("{} is {}", prototxt.string(), content->graph.format),
                 "name the .prototxt"};
  auto model = translate_caffe(*content, how);
  return model ? std::move(model) : std::move(model.error()).in(prototxt.string());
}

Result<ModelContent> translated_content(const std::filesystem::path& prototxt,
                                        const std::filesystem::path& weights) {
  const auto model = translate_caffe(prototxt, weights);
  if (!model) return model.error();
  auto text = std::make_shared<const std::string>(write_onnx(*model));
  auto content = content_from_onnx(as_bytes(*text), data_place_of(prototxt));
  if (!content) return std::move(content.error()).in(prototxt.string());
  struct Kept {
    std::shared_ptr<const void> text, inner;
  };
  content->owner = std::make_shared<const Kept>(Kept{std::move(text), std::move(content->owner)});
  return content;
}

}  // namespace plumb::graph
