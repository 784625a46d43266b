// SPDX-License-Identifier: Apache-2.0
#include "replay/replay.h"

#include <limits>

#include <fmt/format.h>

#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::replay {
namespace {

template <class T>
void store(double value, std::byte* out) {
  const T narrow = static_cast<T>(value);
  std::memcpy(out, &narrow, sizeof narrow);
}

bool encode_float(double value, DType dtype, std::byte* out) {
  switch (dtype) {
    case DType::kFloat64: store<double>(value, out); return true;
    case DType::kFloat32: store<float>(value, out); return true;
    case DType::kFloat16: {
      const uint16_t bits = half_from_float(static_cast<float>(value));
      std::memcpy(out, &bits, sizeof bits);
      return true;
    }
    case DType::kBFloat16: {
      const uint16_t bits = bfloat16_from_float(static_cast<float>(value));
      std::memcpy(out, &bits, sizeof bits);
      return true;
    }
    default: return false;
  }
}

template <class T>
bool store_integer(int64_t value, std::byte* out) {
  if (value < 0
          ? std::is_unsigned_v<T> || value < int64_t{std::numeric_limits<T>::min()}
          : static_cast<uint64_t>(value) > static_cast<uint64_t>(std::numeric_limits<T>::max()))
    return false;
  const T narrow = static_cast<T>(value);
  std::memcpy(out, &narrow, sizeof narrow);
  return true;
}

bool encode_integer(int64_t value, DType dtype, std::byte* out) {
  switch (dtype) {
    case DType::kBool: return (value == 0 || value == 1) && store_integer<uint8_t>(value, out);
    case DType::kInt8: return store_integer<int8_t>(value, out);
    case DType::kUint8: return store_integer<uint8_t>(value, out);
    case DType::kInt16: return store_integer<int16_t>(value, out);
    case DType::kUint16: return store_integer<uint16_t>(value, out);
    case DType::kInt32: return store_integer<int32_t>(value, out);
    case DType::kUint32: return store_integer<uint32_t>(value, out);
    case DType::kInt64: return store_integer<int64_t>(value, out);
    case DType::kUint64: return store_integer<uint64_t>(value, out);
    default: return false;
  }
}

bool is_whole(DType dtype) {
  return kind_of(dtype) == DKind::kInteger || kind_of(dtype) == DKind::kBool;
}

// All elements by way of double: exact for floats, and for integers of up to 53 bits.
bool convert(DType from, Bytes elements, int64_t count, DType to, std::byte* out) {
  const auto item = static_cast<size_t>(bits_of(to) / 8);
  std::vector<double> values(static_cast<size_t>(count));
  decode_double(from, elements.data(), count, values.data());
  constexpr double kExact = 9007199254740992.0;  // 2^53
  for (size_t i = 0; i < values.size(); ++i) {
    std::byte* at = out + i * item;
    if (is_whole(from)) {
      if (values[i] > kExact || values[i] < -kExact) return false;
      const double value = from == DType::kBool && values[i] != 0 ? 1 : values[i];
      if (!encode_integer(static_cast<int64_t>(value), to, at)) return false;
    } else if (!encode_float(values[i], to, at)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<Types> input_types(engine::Engine& engine, const engine::Model& model,
                          const graph::OnnxModel& source, std::span<const size_t> part) {
  Types known;
  const graph::OnnxGraph& graph = source.graph;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_infos})
    for (const graph::OnnxValue& value : *list)
      if (value.type.dtype) known.try_emplace(std::string(value.name), value.type);
  Types types;
  std::vector<std::string> asked;
  for (std::string& name : graph::boundary_of(source, part).inputs) {
    if (const auto found = known.find(name); found != known.end())
      types.insert(*found);
    else
      asked.push_back(std::move(name));
  }
  auto inferred = infer_types(engine, model, asked);
  if (!inferred) return inferred.error();
  for (auto& [name, type] : *inferred) type.shape.reset();  // as dumped, not as inferred
  types.merge(*inferred);
  return types;
}

Result<engine::Tensor> fitted(engine::Tensor tensor, DType dtype, const Shape& shape) {
  const auto count = element_count(shape);
  if (!count || squeezed(tensor.shape) != squeezed(shape))
    return Error{"a tensor has another shape than the model's input",
                 fmt::format("{} instead of {}", to_string(tensor.shape), to_string(shape)),
                 "dump both sides with inputs of the same shape"};
  const auto size = byte_count(dtype, *count);
  tensor.shape = shape;
  if (tensor.dtype == dtype) return tensor;
  const auto refuse = [&](std::string_view why) {
    return Error{"a tensor has another type than the model's input",
                 fmt::format("{} instead of {}: {}", name_of(tensor.dtype), name_of(dtype), why),
                 "dump the numbers themselves, not what stands for them"};
  };
  const bool same_kind = is_whole(tensor.dtype) == is_whole(dtype);
  const bool known = kind_of(tensor.dtype) != DKind::kOpaque && kind_of(dtype) != DKind::kOpaque &&
                     kind_of(tensor.dtype) != DKind::kComplex && kind_of(dtype) != DKind::kComplex;
  if (!same_kind || !known || !size) return refuse("no conversion is sure to be right");
  engine::Tensor out{dtype, shape, std::vector<std::byte>(static_cast<size_t>(*size))};
  if (!convert(tensor.dtype, tensor.bytes, *count, dtype, out.bytes.data()))
    return refuse("some numbers do not fit");
  return out;
}

Result<engine::Inputs> run_once(engine::Engine& engine, const engine::Model& model,
                                const engine::Inputs& inputs) {
  auto session = engine.open(model, {});
  if (!session) return session.error();
  engine::Inputs outputs;
  auto ran = (*session)->run(inputs, [&](const engine::Output& output) -> Result<void> {
    if (!output.tensor)
      return Error{"the model gives no tensor",
                   fmt::format("{}: {}", output.port.name, output.problem),
                   "choose other operators"};
    outputs[output.port.name] = {
        output.tensor->dtype, output.tensor->shape,
        std::vector<std::byte>(output.tensor->bytes.begin(), output.tensor->bytes.end())};
    return {};
  });
  if (!ran) return ran.error();
  return outputs;
}

}  // namespace plumb::replay
