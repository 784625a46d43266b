// SPDX-License-Identifier: Apache-2.0
#include "replay/run_part.h"

#include <fmt/format.h>

#include "tensor/convert.h"

namespace plumb::replay {
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
  const auto is_float = [](DType type) { return kind_of(type) == DKind::kFloat; };
  if (is_float(tensor.dtype) != is_float(dtype) || !can_convert(tensor.dtype, dtype) || !size)
    return refuse("no conversion is sure to be right");
  engine::Tensor out{dtype, shape, std::vector<std::byte>(static_cast<size_t>(*size))};
  if (convert(tensor.dtype, tensor.bytes, dtype, true, out.bytes))
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
