// SPDX-License-Identifier: Apache-2.0
//
// What the layers of a Caffe network are told (see model_content.h): parameters in the prototxt,
// blobs in the .caffemodel, which is a NetParameter of caffe.proto with a layer for each name.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/number_from_text.h"
#include "base/proto_wire.h"
#include "graph/caffe_weights.h"
#include "graph/model_content.h"
#include "graph/proto_text.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

// Numbers of fields, of today's layers and of those before 2015.
namespace net_field {
enum : uint32_t { kOldLayer = 2, kLayer = 100 };
}
struct LayerFields {
  uint32_t name, blobs;
};
constexpr LayerFields kLayerFields{1, 7}, kOldLayerFields{4, 6};
namespace blob_field {
enum : uint32_t { kNum = 1, kWidth = 4, kData = 5, kShape = 7, kDoubleData = 8 };
}

struct CaffeDefault {
  std::string_view message, field, value;
};
constexpr CaffeDefault kCaffeDefaults[] = {
    {"batch_norm_param", "eps", "1e-5"},
    {"batch_norm_param", "use_global_stats", "true"},
    {"bias_param", "axis", "1"},
    {"bias_param", "num_axes", "1"},
    {"concat_param", "axis", "1"},
    {"convolution_param", "bias_term", "true"},
    {"convolution_param", "dilation", "1"},
    {"convolution_param", "group", "1"},
    {"convolution_param", "pad", "0"},
    {"convolution_param", "stride", "1"},
    {"crop_param", "axis", "2"},
    {"dropout_param", "dropout_ratio", "0.5"},
    {"dropout_param", "scale_train", "true"},
    {"eltwise_param", "operation", "SUM"},
    {"elu_param", "alpha", "1"},
    {"exp_param", "base", "-1"},
    {"exp_param", "scale", "1"},
    {"exp_param", "shift", "0"},
    {"flatten_param", "axis", "1"},
    {"flatten_param", "end_axis", "-1"},
    {"inner_product_param", "axis", "1"},
    {"inner_product_param", "bias_term", "true"},
    {"inner_product_param", "transpose", "false"},
    {"log_param", "base", "-1"},
    {"log_param", "scale", "1"},
    {"log_param", "shift", "0"},
    {"lrn_param", "alpha", "1"},
    {"lrn_param", "beta", "0.75"},
    {"lrn_param", "k", "1"},
    {"lrn_param", "local_size", "5"},
    {"lrn_param", "norm_region", "ACROSS_CHANNELS"},
    {"mvn_param", "across_channels", "false"},
    {"mvn_param", "eps", "1e-9"},
    {"mvn_param", "normalize_variance", "true"},
    {"norm_param", "across_spatial", "true"},
    {"norm_param", "channel_shared", "true"},
    {"norm_param", "eps", "1e-10"},
    {"pooling_param", "global_pooling", "false"},
    {"pooling_param", "pad", "0"},
    {"pooling_param", "pool", "MAX"},
    {"pooling_param", "round_mode", "CEIL"},
    {"pooling_param", "stride", "1"},
    {"power_param", "power", "1"},
    {"power_param", "scale", "1"},
    {"power_param", "shift", "0"},
    {"prelu_param", "channel_shared", "false"},
    {"relu_param", "negative_slope", "0"},
    {"reshape_param", "axis", "0"},
    {"reshape_param", "num_axes", "-1"},
    {"scale_param", "axis", "1"},
    {"scale_param", "bias_term", "false"},
    {"scale_param", "num_axes", "1"},
    {"shuffle_channel_param", "group", "1"},
    {"slice_param", "axis", "1"},
    {"softmax_param", "axis", "1"},
};

// Layers whose parameters have defaults even if the message is not written at all.
struct Owner {
  std::string_view type, message;
};
constexpr Owner kOwners[] = {{"BatchNorm", "batch_norm_param"},
                             {"Bias", "bias_param"},
                             {"Concat", "concat_param"},
                             {"Convolution", "convolution_param"},
                             {"ConvolutionDepthwise", "convolution_param"},
                             {"Crop", "crop_param"},
                             {"Deconvolution", "convolution_param"},
                             {"DepthwiseConvolution", "convolution_param"},
                             {"Dropout", "dropout_param"},
                             {"Eltwise", "eltwise_param"},
                             {"ELU", "elu_param"},
                             {"Exp", "exp_param"},
                             {"Flatten", "flatten_param"},
                             {"InnerProduct", "inner_product_param"},
                             {"Log", "log_param"},
                             {"LRN", "lrn_param"},
                             {"MVN", "mvn_param"},
                             {"Normalize", "norm_param"},
                             {"Pooling", "pooling_param"},
                             {"Power", "power_param"},
                             {"PReLU", "prelu_param"},
                             {"ReLU", "relu_param"},
                             {"Reshape", "reshape_param"},
                             {"Scale", "scale_param"},
                             {"ShuffleChannel", "shuffle_channel_param"},
                             {"Slice", "slice_param"},
                             {"Softmax", "softmax_param"}};

// About training, or about how something is computed.
bool is_idle(std::string_view field) {
  constexpr std::string_view kIdle[] = {"weight_filler",  "bias_filler", "scale_filler",
                                        "filler",         "engine",      "moving_average_fraction",
                                        "force_nd_im2col"};
  return std::find(std::begin(kIdle), std::end(kIdle), field) != std::end(kIdle);
}

using Words = std::map<std::string, std::vector<std::string>, std::less<>>;  // by field

AttributeValue value_from_words(const std::vector<std::string>& words) {
  std::vector<double> numbers;
  for (const std::string& word : words) {
    const auto number = number_from_text<float>(word);
    if (!number) break;
    numbers.push_back(static_cast<double>(*number));
  }
  if (numbers.size() != words.size()) return words.size() == 1 ? AttributeValue(words[0]) : words;
  if (numbers.size() == 1) return numbers[0];
  return numbers;
}

class ParameterReader {
 public:
  ParameterReader(std::string_view text, ModelContent& out) : reader_(text), out_(out) {
    for (size_t i = 0; i < out.graph.operators.size(); ++i)
      place_.try_emplace(out.graph.operators[i].name, i);
  }

  // False if the text is damaged, which the reader of the graph has found before.
  bool read() {
    ProtoTextField field;
    while (reader_.next(field))
      if ((field.name == "layer" || field.name == "layers") && reader_.is_message(field))
        read_layer();
    return reader_.ok();
  }

 private:
  void read_layer() {
    reader_.enter();
    ProtoTextField member;
    std::string name, top;
    std::map<std::string, Words, std::less<>> messages;
    while (reader_.next(member)) {
      if (member.name == "name") name = member.text();
      if (member.name == "top" && top.empty()) top = member.text();
      if (member.name.ends_with("_param") && reader_.is_message(member))
        read_words(messages[std::string(member.name)], "");
    }
    const auto found = place_.find(name.empty() ? top : name);
    if (found == place_.end()) return;
    const Operator& op = out_.graph.operators[found->second];
    for (const Owner& owner : kOwners)
      if (owner.type == op.type) messages.try_emplace(std::string(owner.message));
    for (auto& [message, words] : messages) {
      if (message == "input_param" || message == "transform_param") continue;
      unify(message, words);
      for (const auto& [field, values] : words)
        if (!is_idle(field.substr(0, field.find('.'))))
          out_.operators[found->second].attributes.insert_or_assign(field,
                                                                    value_from_words(values));
    }
  }

  // Fields of messages within as "shape.dim".
  void read_words(Words& words, const std::string& prefix) {
    reader_.enter();
    ProtoTextField field;
    while (reader_.next(field)) {
      const std::string name = prefix + std::string(field.name);
      if (field.kind == ProtoTextField::Kind::kMessage)
        read_words(words, name + ".");
      else
        words[name].push_back(field.text());
    }
  }

  // Sizes as height and width, whichever way they are written.
  static void unify(const std::string& message, Words& words) {
    for (const CaffeDefault& each : kCaffeDefaults)
      if (each.message == message) {
        const std::string field(each.field);
        const bool is_split = words.contains(field + "_h") || words.contains(field + "_w");
        if (!is_split) words.try_emplace(field, std::vector{std::string(each.value)});
      }
    constexpr std::pair<std::string_view, std::string_view> kSizes[] = {
        {"kernel_size", "kernel"}, {"pad", "pad"}, {"stride", "stride"}, {"dilation", "dilation"}};
    for (const auto& [name, stem] : kSizes) {
      const std::string high = std::string(stem) + "_h", wide = std::string(stem) + "_w";
      if (words.contains(high) || words.contains(wide)) {
        const auto one = [&](const std::string& key) {
          const auto found = words.find(key);
          if (found == words.end() || found->second.empty()) return std::string("0");
          return found->second.front();
        };
        const std::vector<std::string> both{one(high), one(wide)};
        words.erase(high);
        words.erase(wide);
        words.insert_or_assign(std::string(name), both);
      }
      if (const auto found = words.find(name); found != words.end() && found->second.size() == 1)
        found->second.push_back(found->second.front());
    }
  }

  ProtoTextReader reader_;
  ModelContent& out_;
  std::unordered_map<std::string_view, size_t> place_;
};

Error damaged_weights(std::string where) {
  return {"the Caffe weights are damaged", std::move(where), "copy the .caffemodel again"};
}

// The numbers of a BlobProto; null if there are not as many as its shape says.
Result<std::shared_ptr<const ConstantTensor>> read_blob(const ProtoField& message) {
  Shape shape, old_shape;
  Bytes data;
  DType dtype = DType::kFloat32;
  auto list = std::make_shared<std::vector<std::byte>>();
  size_t pieces = 0;
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.number >= blob_field::kNum && field.number <= blob_field::kWidth &&
        field.type == WireType::kVarint) {
      if (field.value > 0) old_shape.push_back(static_cast<int64_t>(field.value));
    } else if (field.number == blob_field::kShape) {
      ProtoReader dims(field);
      for (ProtoField dim; dims.next(dim);)
        if (dim.number == 1) dims.append_varints(dim, shape, 64);
      if (!dims.ok())
        return damaged_weights(fmt::format("byte {}: {}", dims.failed_at(), dims.problem()));
    } else if (field.number == blob_field::kData || field.number == blob_field::kDoubleData) {
      if (field.number == blob_field::kDoubleData) dtype = DType::kFloat64;
      const auto* number = reinterpret_cast<const std::byte*>(&field.value);
      const Bytes piece = field.type == WireType::kBytes
                              ? field.bytes
                              : Bytes(number, static_cast<size_t>(bits_of(dtype) / 8));
      // One packed piece is a view; else the pieces are put together.
      if (++pieces == 1 && field.type == WireType::kBytes) {
        data = field.bytes;
        continue;
      }
      if (pieces == 2) list->assign(data.begin(), data.end());
      list->insert(list->end(), piece.begin(), piece.end());
    }
  }
  if (!reader.ok())
    return damaged_weights(fmt::format("byte {}: {}", reader.failed_at(), reader.problem()));
  if (!list->empty()) data = *list;
  if (shape.empty()) shape = old_shape;
  const auto count = element_count(shape);
  const auto bytes = count ? byte_count(dtype, *count) : std::nullopt;
  if (!bytes || static_cast<size_t>(*bytes) != data.size())
    return damaged_weights(fmt::format("byte {}: a blob of {} has {} bytes", message.position,
                                       to_string(shape), data.size()));
  return std::make_shared<const ConstantTensor>(dtype, shape, data, list);
}

Result<void> read_weights(Bytes file, ModelContent& content) {
  std::unordered_map<std::string_view, size_t> place;
  for (size_t i = 0; i < content.graph.operators.size(); ++i)
    place.try_emplace(content.graph.operators[i].name, i);
  ProtoReader reader(file);
  for (ProtoField layer; reader.next(layer);) {
    if (layer.number != net_field::kLayer && layer.number != net_field::kOldLayer) continue;
    if (layer.type != WireType::kBytes) return damaged_weights("a layer is no message");
    const LayerFields& fields = layer.number == net_field::kLayer ? kLayerFields : kOldLayerFields;
    std::string_view name;
    std::vector<ProtoField> blobs;
    ProtoReader members(layer);
    for (ProtoField member; members.next(member);) {
      if (member.type != WireType::kBytes) continue;
      if (member.number == fields.name) name = as_text(member.bytes);
      if (member.number == fields.blobs) blobs.push_back(member);
    }
    if (!members.ok())
      return damaged_weights(fmt::format("byte {}: {}", members.failed_at(), members.problem()));
    const auto found = place.find(name);
    if (found == place.end()) continue;
    for (size_t i = 0; i < blobs.size(); ++i) {
      auto blob = read_blob(blobs[i]);
      if (!blob) return std::move(blob.error()).in(fmt::format("layer '{}'", name));
      content.operators[found->second].operands.push_back(
          {fmt::format("{}.blobs[{}]", name, i), *blob, false, false});
    }
  }
  if (!reader.ok())
    return damaged_weights(fmt::format("byte {}: {}", reader.failed_at(), reader.problem()));
  return {};
}

// Fields of a message with the bytes that they are stored in.
struct StoredField {
  ProtoField field;
  Bytes stored;
};
Result<std::vector<StoredField>> stored_fields(Bytes message) {
  std::vector<StoredField> fields;
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) fields.push_back({field, {}});
  if (!reader.ok())
    return damaged_weights(fmt::format("byte {}: {}", reader.failed_at(), reader.problem()));
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t begin = fields[i].field.position;
    const size_t end = i + 1 < fields.size() ? fields[i + 1].field.position : message.size();
    fields[i].stored = message.subspan(begin, end - begin);
  }
  return fields;
}

Result<ProtoWriter> blob_with(const ProtoField& blob, const std::vector<float>& values) {
  auto old = read_blob(blob);
  if (!old) return old.error();
  if ((*old)->elements() != std::ssize(values))
    return Error{"the blob has another size",
                 fmt::format("{} numbers for {}", values.size(), to_string((*old)->shape())),
                 "give the weights of this network"};
  auto fields = stored_fields(blob.bytes);
  if (!fields) return fields.error();
  ProtoWriter made;
  for (const auto& [field, stored] : *fields)
    if (field.number != blob_field::kData && field.number != blob_field::kDoubleData)
      made.append(stored);
  made.message(blob_field::kData, std::as_bytes(std::span(values)));
  return made;
}

// Takes what it has used out of `left`.
Result<ProtoWriter> layer_with(const ProtoField& layer, const LayerFields& numbers,
                               CaffeBlobValues& left) {
  auto fields = stored_fields(layer.bytes);
  if (!fields) return fields.error();
  std::string name;
  for (const auto& [field, stored] : *fields)
    if (field.number == numbers.name) name = as_text(field.bytes);
  ProtoWriter made;
  size_t place = 0;
  for (const auto& [field, stored] : *fields) {
    const auto found = field.number == numbers.blobs ? left.find({name, place++}) : left.end();
    if (found == left.end()) {
      made.append(stored);
      continue;
    }
    auto blob = blob_with(field, found->second);
    if (!blob) return std::move(blob.error()).in(fmt::format("layer '{}'", name));
    made.message(field.number, *blob);
    left.erase(found);
  }
  return made;
}

}  // namespace

Result<std::string> with_blobs(Bytes caffemodel, const CaffeBlobValues& values) {
  auto fields = stored_fields(caffemodel);
  if (!fields) return fields.error();
  CaffeBlobValues left = values;
  ProtoWriter net;
  for (const auto& [field, stored] : *fields) {
    if (field.type != WireType::kBytes ||
        (field.number != net_field::kLayer && field.number != net_field::kOldLayer)) {
      net.append(stored);
      continue;
    }
    auto layer =
        layer_with(field, field.number == net_field::kLayer ? kLayerFields : kOldLayerFields, left);
    if (!layer) return layer.error();
    net.message(field.number, *layer);
  }
  if (!left.empty())
    return Error{
        "the Caffe weights have no such blob",
        fmt::format("layer '{}', blob {}", left.begin()->first.first, left.begin()->first.second),
        "give the weights of this network"};
  return std::move(net).take();
}

Result<ModelContent> content_from_caffe(Bytes prototxt, Bytes weights) {
  auto graph = graph_from_prototxt(prototxt);
  if (!graph) return graph.error();
  ModelContent content;
  content.graph = std::move(*graph);
  content.graph.format = "prototxt";
  content.operators.resize(content.graph.operators.size());
  for (size_t i = 0; i < content.operators.size(); ++i) {
    const Operator& op = content.graph.operators[i];
    for (const Edge& edge : op.inputs)
      content.operators[i].operands.push_back({edge.producer, nullptr, false, false});
    if (op.type != "Input") continue;
    for (const Output& output : op.outputs)
      content.inputs.push_back({output.name, DType::kFloat32, output.shape});
  }
  const auto by_name = content.graph.by_name();
  for (const Edge& edge : content.graph.outputs) {
    const auto found = by_name.find(edge.producer);
    if (found == by_name.end() || edge.output >= std::ssize(found->second->outputs)) continue;
    const Output& output = found->second->outputs[static_cast<size_t>(edge.output)];
    content.outputs.push_back({output.name, DType::kFloat32, output.shape});
  }
  if (!ParameterReader(as_text(prototxt), content).read())
    return Error{"the prototxt is damaged", "its layers", "give the network's deploy.prototxt"};
  if (auto read = read_weights(weights, content); !read) return read.error();
  return content;
}

}  // namespace plumb::graph
