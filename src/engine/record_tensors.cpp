// SPDX-License-Identifier: Apache-2.0
#include "engine/record_tensors.h"

#include <algorithm>

#include "base/checked.h"

namespace plumb::engine {
namespace {

constexpr int64_t kMostAtOnce = int64_t{1} << 30;  // bytes
constexpr int64_t kMostKept = int64_t{1} << 31;

// Of what a run hands out; axes of any size count as one.
int64_t bytes_of(const std::vector<Port>& ports) {
  int64_t sum = 0;
  for (const Port& port : ports) {
    int64_t count = 1;
    for (const int64_t size : port.shape)
      if (size > 1) count = checked_mul(count, size).value_or(kMostAtOnce);
    const int64_t bytes = byte_count(port.dtype.value_or(DType::kFloat32), count).value_or(0);
    sum = checked_add(sum, bytes).value_or(kMostAtOnce + 1);
  }
  return sum;
}

SessionOptions options_for(std::span<const std::string> tensors) {
  SessionOptions options;
  for (const std::string& tensor : tensors) options.captured.push_back({{}, 0, tensor});
  return options;
}

}  // namespace

Result<InferredTypes> infer_types(Engine& engine, const Model& model,
                                  std::span<const std::string> tensors) {
  InferredTypes types;
  if (tensors.empty()) return types;
  auto session = engine.open(model, options_for(tensors));
  if (!session) return session.error();
  for (const Port& port : (*session)->outputs()) {
    // Engines tell no scalar from a tensor of unknown rank.
    if (port.dtype) types[port.name].dtype = port.dtype;
    if (port.dtype && !port.shape.empty()) types[port.name].shape = port.shape;
  }
  return types;
}

Result<Recorded> record_tensors(Engine& engine, const Model& model, const Inputs& inputs,
                                std::span<const std::string> tensors,
                                const std::function<bool(const std::string&)>& wants_value) {
  Recorded recorded;
  int64_t kept = 0;
  for (size_t count = tensors.size(); !tensors.empty();) {
    count = std::min(count, tensors.size());
    auto session = engine.open(model, options_for(tensors.first(count)));
    if (!session) return session.error();
    if (count > 1 && bytes_of((*session)->outputs()) > kMostAtOnce) {
      count /= 2;
      continue;
    }
    auto ran = (*session)->run(inputs, [&](const Output& output) -> Result<void> {
      if (!output.tensor) return {};
      RecordedTensor& tensor = recorded[output.port.name];
      tensor.dtype = output.tensor->dtype;
      tensor.shape = output.tensor->shape;
      if (!wants_value(output.port.name)) return {};
      kept += std::ssize(output.tensor->bytes);
      if (kept > kMostKept)
        return Error{"the values of the tensors take more than 2 GiB, as no ONNX model can",
                     output.port.name, "do without values, or with a smaller input"};
      tensor.value.emplace(output.tensor->bytes.begin(), output.tensor->bytes.end());
      return {};
    });
    if (!ran) return ran.error();
    tensors = tensors.subspan(count);
  }
  return recorded;
}

}  // namespace plumb::engine
