// SPDX-License-Identifier: Apache-2.0
//
// What the operators of an ONNX model are told (see model_content.h). Constants are followed back
// through what a converter may put between them and who reads them: Identity, Cast, Transpose,
// shapes, DequantizeLinear and QuantizeLinear.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "base/number_from_text.h"
#include "graph/model_content.h"
#include "graph/onnx_build.h"
#include "graph/onnx_defaults.h"
#include "graph/onnx_external.h"
#include "graph/onnx_fields.h"
#include "graph/onnx_wire.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

constexpr int kMostConstantSteps = 64;            // from a constant to who reads it
constexpr int64_t kFewElements = 64;              // that an attribute may have
constexpr int64_t kMostScaledChannels = 1 << 20;  // with a scale of their own

using SharedConstant = std::shared_ptr<const ConstantTensor>;

// The file, and what other files and lists of numbers became: bytes that constants are views of.
struct Kept {
  Kept(const OnnxModel& read, const DataPlace& place) : model(read), external(place) {}
  OnnxModel model;
  ExternalData external;
};

// Which tensor comes from where, in one graph and those around it.
struct ConstantScope {
  const ConstantScope* outer = nullptr;
  std::unordered_map<std::string_view, const OnnxWeight*> weights;
  std::unordered_map<std::string_view, std::pair<const OnnxNode*, size_t>> nodes;

  ConstantScope(const OnnxGraph& graph, const ConstantScope* around) : outer(around) {
    for (const OnnxWeight& weight : graph.initializers) weights.try_emplace(weight.name, &weight);
    for (const OnnxNode& node : graph.nodes)
      for (size_t i = 0; i < node.outputs.size(); ++i)
        if (!node.outputs[i].empty()) nodes.try_emplace(node.outputs[i], &node, i);
  }
};

uint32_t list_field_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return 4;
    case DType::kInt64: return 7;
    case DType::kFloat64: return 10;
    case DType::kUint32:
    case DType::kUint64: return 11;
    default: return 5;
  }
}

// The numbers of a TensorProto that are not raw: floats side by side are views, others are unpacked
// into `out`. False if there are not as many as the shape says.
bool read_list(Bytes tensor, DType dtype, int64_t count, std::vector<std::byte>& out) {
  const uint32_t wanted = list_field_of(dtype);
  const auto size = static_cast<size_t>(bits_of(dtype) / 8);
  std::vector<int64_t> integers;
  ProtoReader reader(tensor);
  const auto add = [&](uint64_t value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), bytes, bytes + size);
  };
  for (ProtoField field; reader.next(field);) {
    if (field.number != wanted) continue;
    if (wanted == 4 || wanted == 10) {
      if (field.type == WireType::kBytes)
        out.insert(out.end(), field.bytes.begin(), field.bytes.end());
      else
        add(field.value);
    } else if (!reader.append_varints(field, integers, static_cast<size_t>(count))) {
      return false;
    }
  }
  for (const int64_t integer : integers) add(static_cast<uint64_t>(integer));
  return reader.ok() && out.size() == static_cast<size_t>(count) * size;
}

// Null if the numbers are of no type that we read, or not as many as the shape says.
Result<SharedConstant> constant_from(Bytes tensor, ExternalData& external) {
  Shape shape;
  std::optional<DType> dtype;
  Bytes raw, floats;  // floats in one piece lie there as raw ones do
  bool has_raw = false, is_external = false;
  size_t pieces = 0;
  ProtoReader reader(tensor);
  for (ProtoField field; reader.next(field);) switch (field.number) {
      case tensor_field::kDims: reader.append_varints(field, shape, 64); break;
      case tensor_field::kDataType: dtype = dtype_from_onnx(field.value); break;
      case tensor_field::kRawData:
        raw = field.bytes;
        has_raw = true;
        break;
      case tensor_field::kDataLocation: is_external = field.value == 1; break;
      case 4:
      case 10:
        floats = field.bytes;
        ++pieces;
        break;
      default: break;
    }
  const auto count = element_count(shape);
  if (!reader.ok() || !dtype || !count || kind_of(*dtype) == DKind::kComplex ||
      kind_of(*dtype) == DKind::kOpaque)
    return SharedConstant();
  const auto bytes = byte_count(*dtype, *count);
  if (!bytes) return SharedConstant();
  if (is_external) {
    auto data = external.data_of(tensor);
    if (!data) return data.error();
    raw = *data;
    has_raw = true;
  }
  if (!has_raw && pieces == 1 && floats.size() == static_cast<size_t>(*bytes) &&
      (*dtype == DType::kFloat32 || *dtype == DType::kFloat64)) {
    raw = floats;
    has_raw = true;
  }
  if (has_raw) {
    if (raw.size() != static_cast<size_t>(*bytes)) return SharedConstant();
    return std::make_shared<const ConstantTensor>(*dtype, shape, raw);
  }
  if (bits_of(*dtype) < 8 || static_cast<uint64_t>(*count) > 4 * tensor.size())
    return SharedConstant();
  auto list = std::make_shared<std::vector<std::byte>>();
  if (!read_list(tensor, *dtype, *count, *list)) return SharedConstant();
  const Bytes view(*list);
  return std::make_shared<const ConstantTensor>(*dtype, shape, view, list);
}

AttributeValue value_from(const OnnxAttribute::Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* real = std::get_if<float>(&value)) return static_cast<double>(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) return *list;
  if (const auto* list = std::get_if<std::vector<float>>(&value))
    return std::vector<double>(list->begin(), list->end());
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return *list;
  return std::string();
}

// The text in a table: a whole number, another number, or a word.
AttributeValue value_from(std::string_view text) {
  if (const auto whole = number_from_text<int64_t>(text)) return *whole;
  if (const auto real = number_from_text<float>(text)) return static_cast<double>(*real);
  return std::string(text);
}

AttributeValue value_from(const ConstantTensor& tensor) {
  const std::vector<double> numbers = tensor.all();
  if (kind_of(tensor.dtype()) == DKind::kFloat) {
    if (tensor.shape().empty()) return numbers[0];
    return numbers;
  }
  std::vector<int64_t> integers;
  for (const double number : numbers)  // the largest of 64 bits, "to the end", is no double
    integers.push_back(number >= 0x1p63    ? std::numeric_limits<int64_t>::max()
                       : number <= -0x1p63 ? std::numeric_limits<int64_t>::min()
                                           : static_cast<int64_t>(number));
  if (tensor.shape().empty()) return integers[0];
  return integers;
}

class ContentMaker {
 public:
  ContentMaker(Kept& kept, ModelContent& out) : kept_(kept), out_(out) {
    for (const OnnxOpset& opset : opsets_of(kept.model))
      out_.opsets.push_back(
          {opset.domain == "ai.onnx" ? std::string() : std::string(opset.domain), opset.version});
  }

  Result<void> make(const std::vector<const OnnxNode*>& nodes) {
    add_ports();
    add_scopes(kept_.model.graph, nullptr);
    out_.operators.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i] != nullptr) fill(*nodes[i], out_.operators[i]);
    if (error_) return std::move(*error_);
    return {};
  }

 private:
  void add_ports() {
    const OnnxGraph& graph = kept_.model.graph;
    std::unordered_map<std::string_view, bool> weights;
    for (const OnnxWeight& weight : graph.initializers) weights[weight.name] = true;
    const auto port = [](const OnnxValue& value) {
      return ModelPort{std::string(value.name), value.type.dtype, value.type.shape};
    };
    for (const OnnxValue& input : graph.inputs)
      if (!weights.contains(input.name)) out_.inputs.push_back(port(input));
    for (const OnnxValue& output : graph.outputs) out_.outputs.push_back(port(output));
  }

  void add_scopes(const OnnxGraph& graph, const ConstantScope* outer) {
    scopes_.push_back(std::make_unique<ConstantScope>(graph, outer));
    const ConstantScope* scope = scopes_.back().get();
    for (const OnnxNode& node : graph.nodes) {
      scope_of_[&node] = scope;
      for (const OnnxBody& body : node.bodies) add_scopes(body.graph, scope);
    }
  }

  int64_t opset_of(std::string_view domain) const {
    for (const ModelOpset& opset : out_.opsets)
      if (opset.domain == (domain == "ai.onnx" ? "" : domain)) return opset.version;
    return 1;
  }

  void fill(const OnnxNode& node, OperatorContent& content) {
    const ConstantScope& scope = *scope_of_[&node];
    for (const std::string_view name : node.inputs) {
      Operand& operand = content.operands.emplace_back();
      operand.name = name;
      if (name.empty()) continue;
      operand.constant = resolve(scope, name, 0);
      operand.is_stored = !operand.constant && is_stored(scope, name);
    }
    for (const Bytes attribute : attributes_of(node)) add_attribute(node, attribute, content);
    // Names of other domains are told apart by type; a FusedConv is told what a Conv is.
    for (const OnnxMoved& moved : onnx_moved())
      if (moved.type == node.type && node.is_standard()) move(moved, content);
    if (node.is_standard() || node.type == "FusedConv") add_defaults(node, content);
    drop_neutral(node, content);
  }

  static void move(const OnnxMoved& moved, OperatorContent& content) {
    const auto slot = static_cast<size_t>(moved.input);
    if (slot >= content.operands.size()) return;
    Operand& operand = content.operands[slot];
    if (operand.name.empty()) return;
    if (!operand.constant) content.computed.emplace_back(moved.attribute);
    if (!operand.constant || operand.constant->elements() > kFewElements) return;
    operand.is_attribute = true;
    if (operand.constant->elements() > 0)
      content.attributes.insert_or_assign(std::string(moved.attribute),
                                          value_from(*operand.constant));
  }

  void add_attribute(const OnnxNode& node, Bytes attribute, OperatorContent& content) {
    std::string name(text_in(attribute, attribute_field::kName));
    if (is_idle_attribute(node.type, name)) return;
    if (const auto value = attribute_of(node, name)) {
      content.attributes.insert_or_assign(std::move(name), value_from(*value));
      return;
    }
    each_field(attribute, [&](const ProtoField& field, Bytes) {
      if (field.number != attribute_field::kTensor) return;
      const SharedConstant constant = take(constant_from(field.bytes, kept_.external));
      if (constant && constant->elements() > 0 && constant->elements() <= kFewElements)
        content.attributes.insert_or_assign(name, value_from(*constant));
      else
        content.operands.push_back({name, constant, !constant, false});
    });
  }

  void add_defaults(const OnnxNode& node, OperatorContent& content) const {
    const int64_t version = opset_of(node.is_standard() ? node.domain : "");
    std::map<std::string_view, std::string_view> defaults;
    const std::string_view type = node.type == "FusedConv" ? "Conv" : node.type;
    for (const OnnxDefault& each : onnx_defaults_of(type))
      if (each.since <= version) defaults[each.attribute] = each.value;
    for (const auto& [name, value] : defaults)
      if (!value.empty()) content.attributes.try_emplace(std::string(name), value_from(value));
  }

  // Lists that say what is so without them.
  static void drop_neutral(const OnnxNode& node, OperatorContent& content) {
    const auto drop_all = [&](std::string_view name, double neutral) {
      const auto found = content.attributes.find(name);
      if (found == content.attributes.end()) return;
      const auto numbers = numbers_of(found->second);
      if (numbers && std::all_of(numbers->begin(), numbers->end(),
                                 [&](double number) { return number == neutral; }))
        content.attributes.erase(found);
    };
    drop_all("strides", 1);
    drop_all("dilations", 1);
    drop_all("steps", 1);
    drop_all("output_padding", 0);
    if (node.type != "Pad") drop_all("pads", 0);
    if (node.type == "Upsample" || node.type == "Resize") content.attributes.erase("roi");
    if (node.type == "Cast") content.attributes.erase("saturate");
    const auto kernel = content.attributes.find("kernel_shape");
    if (kernel != content.attributes.end() && content.operands.size() > 1 &&
        content.operands[1].constant) {
      const Shape& shape = content.operands[1].constant->shape();
      const auto* sizes = std::get_if<std::vector<int64_t>>(&kernel->second);
      if (sizes != nullptr && shape.size() == sizes->size() + 2 &&
          std::equal(sizes->begin(), sizes->end(), shape.begin() + 2))
        content.attributes.erase(kernel);
    }
  }

  SharedConstant take(Result<SharedConstant> constant) {
    if (constant) return *constant;
    if (!error_) error_ = constant.error();
    return {};
  }

  static bool is_stored(const ConstantScope& from, std::string_view name) {
    for (const ConstantScope* scope = &from; scope != nullptr; scope = scope->outer)
      if (scope->weights.contains(name)) return true;
    return false;
  }

  SharedConstant resolve(const ConstantScope& from, std::string_view name, int depth) {
    if (depth > kMostConstantSteps) return {};
    for (const ConstantScope* scope = &from; scope != nullptr; scope = scope->outer) {
      if (const auto weight = scope->weights.find(name); weight != scope->weights.end()) {
        if (weight->second->is_sparse) return {};
        const auto [known, is_new] = read_.try_emplace(weight->second);
        if (is_new) known->second = take(constant_from(weight->second->bytes, kept_.external));
        return known->second;
      }
      if (const auto node = scope->nodes.find(name); node != scope->nodes.end())
        return node->second.second == 0 ? resolve(*scope, *node->second.first, depth)
                                        : SharedConstant();
    }
    return {};
  }

  SharedConstant resolve(const ConstantScope& scope, const OnnxNode& node, int depth) {
    if (!node.is_standard() && node.type != "DequantizeLinear" && node.type != "QuantizeLinear")
      return {};
    if (node.type == "Constant") return constant_node(node);
    if (node.inputs.empty() || node.inputs[0].empty()) return {};
    const auto input = [&](size_t slot) -> SharedConstant {
      if (slot >= node.inputs.size() || node.inputs[slot].empty()) return {};
      return resolve(scope, node.inputs[slot], depth + 1);
    };
    constexpr std::string_view kFollowed[] = {
        "Identity",  "Cast",    "Transpose", "Reshape",          "Squeeze",
        "Unsqueeze", "Flatten", "Dropout",   "DequantizeLinear", "QuantizeLinear"};
    if (std::find(std::begin(kFollowed), std::end(kFollowed), node.type) == std::end(kFollowed))
      return {};
    const SharedConstant x = input(0);
    if (!x || node.type == "Identity" || node.type == "Dropout") return x;
    if (node.type == "Cast") return cast(node, *x);
    if (node.type == "Transpose") return transposed(node, *x);
    if (node.type == "DequantizeLinear" || node.type == "QuantizeLinear")
      return quantizing(node, *x, input(1), input(2));
    return reshaped(node, *x, input(1));
  }

  SharedConstant constant_node(const OnnxNode& node) {
    const auto [known, is_new] = read_.try_emplace(&node);
    SharedConstant& constant = known->second;
    if (!is_new) return constant;
    for (const Bytes attribute : attributes_of(node)) {
      each_field(attribute, [&](const ProtoField& field, Bytes) {
        if (field.number == attribute_field::kTensor)
          constant = take(constant_from(field.bytes, kept_.external));
      });
      const auto value = attribute_of(node, text_in(attribute, attribute_field::kName));
      if (value && !constant) constant = of_numbers(*value);
    }
    return constant;
  }

  static SharedConstant of_numbers(const OnnxAttribute::Value& value) {
    const auto list = [](const auto& numbers, DType dtype, Shape shape) {
      using List = std::decay_t<decltype(numbers)>;
      auto owner = std::make_shared<List>(numbers);
      const Bytes bytes = std::as_bytes(std::span(*owner));
      return std::make_shared<const ConstantTensor>(dtype, std::move(shape), bytes, owner);
    };
    if (const auto* one = std::get_if<int64_t>(&value))
      return list(std::vector<int64_t>{*one}, DType::kInt64, {});
    if (const auto* one = std::get_if<float>(&value))
      return list(std::vector<float>{*one}, DType::kFloat32, {});
    if (const auto* many = std::get_if<std::vector<int64_t>>(&value))
      return list(*many, DType::kInt64, {std::ssize(*many)});
    if (const auto* many = std::get_if<std::vector<float>>(&value))
      return list(*many, DType::kFloat32, {std::ssize(*many)});
    return {};
  }

  static SharedConstant cast(const OnnxNode& node, const ConstantTensor& x) {
    const auto to = attribute_of(node, "to");
    const int64_t* code = to ? std::get_if<int64_t>(&*to) : nullptr;
    const auto dtype =
        code == nullptr ? std::nullopt : dtype_from_onnx(static_cast<uint64_t>(*code));
    if (!dtype || kind_of(*dtype) == DKind::kComplex || kind_of(*dtype) == DKind::kOpaque ||
        kind_of(*dtype) == DKind::kBool)
      return {};
    return std::make_shared<const ConstantTensor>(x.cast(*dtype));
  }

  static SharedConstant transposed(const OnnxNode& node, const ConstantTensor& x) {
    std::vector<int64_t> order(x.shape().size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = std::ssize(order) - 1 - static_cast<int64_t>(i);
    if (const auto perm = attribute_of(node, "perm"))
      if (const auto* list = std::get_if<std::vector<int64_t>>(&*perm)) order = *list;
    std::vector<int64_t> sorted = order, all(x.shape().size());
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all) return {};
    return std::make_shared<const ConstantTensor>(x.permuted(order));
  }

  // Only where the new shape is told without a rule: by itself, or by taking ones in or out.
  static SharedConstant reshaped(const OnnxNode& node, const ConstantTensor& x,
                                 const SharedConstant& shape) {
    Shape wanted;
    if (node.type == "Reshape") {
      if (!shape || shape->elements() > kFewElements) return {};
      int64_t known = 1, open = -1;
      for (const double size : shape->all()) {
        if (!(std::abs(size) < 0x1p62)) return {};
        const size_t place = wanted.size();
        wanted.push_back(size == 0 && place < x.shape().size() ? x.shape()[place]
                                                               : static_cast<int64_t>(size));
        if (wanted.back() == -1)
          open = static_cast<int64_t>(place);
        else
          known = checked_mul(known, wanted.back()).value_or(0);
      }
      if (open >= 0 && known > 0) wanted[static_cast<size_t>(open)] = x.elements() / known;
    } else if (node.type == "Squeeze") {
      wanted = squeezed(x.shape());
    } else {
      return {};
    }
    auto view = x.reshaped(std::move(wanted));
    return view ? std::make_shared<const ConstantTensor>(std::move(*view)) : SharedConstant();
  }

  static SharedConstant quantizing(const OnnxNode& node, const ConstantTensor& x,
                                   const SharedConstant& scale, const SharedConstant& zero) {
    if (!scale || scale->elements() == 0 || scale->elements() > kMostScaledChannels) return {};
    if (zero && zero->elements() != scale->elements()) return {};
    int64_t axis = 1;
    if (const auto given = attribute_of(node, "axis"))
      if (const auto* number = std::get_if<int64_t>(&*given)) axis = *number;
    if (axis < 0) axis += std::ssize(x.shape());
    if (scale->elements() > 1 && (axis < 0 || axis >= std::ssize(x.shape()) ||
                                  x.shape()[static_cast<size_t>(axis)] != scale->elements()))
      return {};
    std::vector<double> zeros = zero ? zero->all() : std::vector<double>();
    if (node.type == "DequantizeLinear")
      return std::make_shared<const ConstantTensor>(
          x.dequantized(scale->all(), std::move(zeros), axis, scale->dtype()));
    return std::make_shared<const ConstantTensor>(
        x.quantized(scale->all(), std::move(zeros), axis, zero ? zero->dtype() : DType::kUint8));
  }

  Kept& kept_;
  ModelContent& out_;
  std::vector<std::unique_ptr<ConstantScope>> scopes_;
  std::unordered_map<const OnnxNode*, const ConstantScope*> scope_of_;
  std::unordered_map<const void*, SharedConstant> read_;  // by OnnxWeight or OnnxNode
  std::optional<Error> error_;
};

}  // namespace

Result<ModelContent> content_from_onnx(Bytes file, const DataPlace& place) {
  auto model = read_onnx(file);
  if (!model) return model.error();
  auto kept = std::make_shared<Kept>(*model, place);
  auto operators = operators_of(kept->model, file);
  if (!operators) return operators.error();
  ModelContent content;
  content.graph = std::move(operators->graph);
  content.graph.format = "onnx";
  ContentMaker maker(*kept, content);
  if (auto made = maker.make(operators->nodes); !made) return made.error();
  content.owner = std::move(kept);
  return content;
}

}  // namespace plumb::graph
