// SPDX-License-Identifier: Apache-2.0
//
// ONNX Runtime, opened by name: the symbols of its library carry a version, so that a program
// linked against one release does not start with the next. Tensors inside a model come out as
// further outputs of its graph; they are added to the file's bytes, which protobuf lets one do by
// appending.
#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>
#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>
#include <onnxruntime_session_options_config_keys.h>

#include "base/proto_wire.h"
#include "engine/engine.h"

namespace plumb::engine {
namespace {

constexpr const char* kName = "ONNX Runtime";

struct TypePair {
  ONNXTensorElementDataType type;
  DType dtype;
};
constexpr TypePair kTypes[] = {
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, DType::kFloat32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, DType::kUint8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, DType::kInt8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, DType::kUint16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, DType::kInt16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, DType::kInt32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, DType::kInt64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, DType::kBool},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, DType::kFloat16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, DType::kFloat64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, DType::kUint32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, DType::kUint64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64, DType::kComplex64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128, DType::kComplex128},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, DType::kBFloat16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, DType::kFloat8E4M3Fn},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, DType::kFloat8E5M2},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, DType::kInt4},
};

std::optional<DType> dtype_of(ONNXTensorElementDataType type) {
  for (const TypePair& pair : kTypes)
    if (pair.type == type) return pair.dtype;
  return std::nullopt;
}

std::optional<ONNXTensorElementDataType> type_of(DType dtype) {
  for (const TypePair& pair : kTypes)
    if (pair.dtype == dtype) return pair.type;
  return std::nullopt;
}

std::string kind_of_value(ONNXType type) {
  switch (type) {
    case ONNX_TYPE_SEQUENCE: return "a sequence";
    case ONNX_TYPE_MAP: return "a map";
    case ONNX_TYPE_OPTIONAL: return "an optional value";
    case ONNX_TYPE_SPARSETENSOR: return "a sparse tensor";
    default: return "no tensor";
  }
}

std::string kind_of_tensor(ONNXTensorElementDataType type) {
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return "text";
  return fmt::format("a tensor of ONNX type {}", static_cast<int>(type));
}

Port port_of(std::string name, const Ort::TypeInfo& type) {
  Port port;
  port.name = std::move(name);
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) {
    port.kind = kind_of_value(type.GetONNXType());
    return port;
  }
  const auto tensor = type.GetTensorTypeAndShapeInfo();
  port.dtype = dtype_of(tensor.GetElementType());
  if (!port.dtype) port.kind = kind_of_tensor(tensor.GetElementType());
  port.shape = tensor.GetShape();
  std::vector<const char*> axes(port.shape.size());
  if (!axes.empty()) tensor.GetSymbolicDimensions(axes.data(), axes.size());
  port.axes.assign(axes.begin(), axes.end());
  return port;
}

// The library's messages end in where in its own sources it noticed.
Error told_by(const std::exception& exception, std::string what) {
  std::string text = exception.what();
  for (char& c : text)
    if (c == '\n') c = ' ';
  const auto* own = dynamic_cast<const Ort::Exception*>(&exception);
  const bool cannot = own != nullptr && own->GetOrtErrorCode() == ORT_NOT_IMPLEMENTED;
  return {fmt::format("{} {}", kName, cannot ? "has no kernel for an operator of the model" : what),
          std::move(text),
          cannot ? "run this model by another engine, or use a newer ONNX Runtime "
                   "(PLUMB_ONNXRUNTIME names its library)"
                 : "check the model, its inputs and their shapes"};
}

// A model with further outputs: fields of a message that occurs twice are merged.
std::string expose(Bytes model, const std::vector<Capture>& captured,
                   const std::vector<std::string>& outputs) {
  ProtoWriter graph;
  for (const Capture& capture : captured) {
    if (std::find(outputs.begin(), outputs.end(), capture.tensor) != outputs.end()) continue;
    ProtoWriter value;
    value.text(1, capture.tensor);
    graph.message(12, value);
  }
  ProtoWriter appended;
  appended.message(7, graph);
  std::string text(as_text(model));
  return text += appended.bytes();
}

// Outputs and inputs of the main graph that the file lists.
std::vector<std::string> outputs_of(Bytes model) {
  std::vector<std::string> names;
  ProtoReader fields(model);
  ProtoField field;
  while (fields.next(field)) {
    if (field.number != 7 || field.type != WireType::kBytes) continue;
    ProtoReader graph(field);
    ProtoField part;
    while (graph.next(part)) {
      if (part.number != 12 || part.type != WireType::kBytes) continue;
      ProtoReader value(part);
      ProtoField name;
      while (value.next(name))
        if (name.number == 1 && name.type == WireType::kBytes)
          names.emplace_back(as_text(name.bytes));
    }
  }
  return names;
}

class OrtSession : public Session {
 public:
  OrtSession(Ort::Session session, const std::vector<Capture>& captured)
      : session_(std::move(session)) {
    Ort::AllocatorWithDefaultOptions allocator;
    for (size_t i = 0; i < session_.GetInputCount(); ++i)
      inputs_.push_back(port_of(session_.GetInputNameAllocated(i, allocator).get(),
                                session_.GetInputTypeInfo(i)));
    std::vector<Port> all;
    for (size_t i = 0; i < session_.GetOutputCount(); ++i)
      all.push_back(port_of(session_.GetOutputNameAllocated(i, allocator).get(),
                            session_.GetOutputTypeInfo(i)));
    if (captured.empty()) {
      outputs_ = std::move(all);
      return;
    }
    for (const Capture& capture : captured)
      for (const Port& port : all)
        if (port.name == capture.tensor) {
          outputs_.push_back(port);
          break;
        }
  }

  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }

  Result<void> run_on(const InputViews& inputs, const Take& take) override try {
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeCPU);
    std::vector<const char*> input_names, output_names;
    std::vector<Ort::Value> fed;
    for (const Port& port : inputs_) {
      const auto given = inputs.find(port.name);
      if (given == inputs.end())
        return Error{"an input of the model is missing", port.name, "name a file for it"};
      const TensorView& tensor = given->second;
      const auto type = type_of(tensor.dtype);
      if (!type || tensor.dtype != port.dtype)
        return Error{"an input has the wrong type",
                     fmt::format("{} is of another type than the model's input", port.name),
                     "convert it to the type of the input"};
      input_names.push_back(port.name.c_str());
      // The library does not write into inputs.
      fed.push_back(Ort::Value::CreateTensor(memory, const_cast<std::byte*>(tensor.bytes.data()),
                                             tensor.bytes.size(), tensor.shape.data(),
                                             tensor.shape.size(), *type));
    }
    for (const Port& port : outputs_) output_names.push_back(port.name.c_str());
    const std::vector<Ort::Value> values =
        session_.Run(Ort::RunOptions(), input_names.data(), fed.data(), fed.size(),
                     output_names.data(), output_names.size());
    for (size_t i = 0; i < values.size(); ++i)
      if (auto taken = take(output_of(outputs_[i], values[i])); !taken) return taken;
    return {};
  } catch (const std::exception& exception) {
    return told_by(exception, "could not run the model");
  }

 private:
  static Output output_of(const Port& port, const Ort::Value& value) {
    if (!value || !value.HasValue()) return {port, std::nullopt, "the model gave no value"};
    if (!value.IsTensor())
      return {port, std::nullopt, kind_of_value(value.GetTypeInfo().GetONNXType())};
    const auto info = value.GetTensorTypeAndShapeInfo();
    const auto dtype = dtype_of(info.GetElementType());
    if (!dtype) return {port, std::nullopt, kind_of_tensor(info.GetElementType())};
    const auto size = byte_count(*dtype, static_cast<int64_t>(info.GetElementCount()));
    return {port,
            TensorView{*dtype, info.GetShape(),
                       Bytes(static_cast<const std::byte*>(value.GetTensorRawData()),
                             static_cast<size_t>(size.value_or(0)))},
            {}};
  }

  Ort::Session session_;
  std::vector<Port> inputs_, outputs_;
};

GraphOptimizationLevel level_of(Optimization optimization) {
  switch (optimization) {
    case Optimization::kBasic: return ORT_ENABLE_BASIC;
    case Optimization::kExtended: return ORT_ENABLE_EXTENDED;
    case Optimization::kAll: return ORT_ENABLE_ALL;
    default: return ORT_DISABLE_ALL;
  }
}

class OrtEngine : public Engine {
 public:
  explicit OrtEngine(std::string version)
      : version_(std::move(version)), environment_(ORT_LOGGING_LEVEL_FATAL, "plumb") {}

  std::string version() const override { return fmt::format("{} {}", kName, version_); }

  Result<std::unique_ptr<Session>> open(const Model& model, const SessionOptions& wanted) override
      try {
    Ort::SessionOptions options;
    options.SetGraphOptimizationLevel(level_of(wanted.optimization));
    options.SetIntraOpNumThreads(wanted.threads);
    options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_FATAL);
    // Memory is given back after a run, and models that are run once need no plan for it.
    options.DisableCpuMemArena();
    options.DisableMemPattern();
    if (!wanted.saved_graph.empty()) options.SetOptimizedModelFilePath(wanted.saved_graph.c_str());
    if (!model.data.directory.empty())
      options.AddConfigEntry(kOrtSessionOptionsModelExternalInitializersFileFolderPath,
                             model.data.directory.c_str());
    const std::string exposed = wanted.captured.empty()
                                    ? ""
                                    : expose(model.graph, wanted.captured, outputs_of(model.graph));
    const Bytes file = wanted.captured.empty() ? model.graph : as_bytes(exposed);
    Ort::Session session(environment_, file.data(), file.size(), options);
    return std::unique_ptr<Session>(new OrtSession(std::move(session), wanted.captured));
  } catch (const std::exception& exception) {
    return told_by(exception, "cannot load the model");
  }

 private:
  std::string version_;
  Ort::Env environment_;
};

// Where the library may be: where the user says, beside this plug-in, and as the system finds
// libraries.
std::vector<std::string> places() {
  if (const char* named = std::getenv("PLUMB_ONNXRUNTIME")) return {named};
  std::vector<std::string> places;
  Dl_info module;
  if (::dladdr(reinterpret_cast<const void*>(&type_of), &module) != 0 &&
      module.dli_fname != nullptr)
    places.push_back(
        (std::filesystem::path(module.dli_fname).parent_path() / "libonnxruntime.so.1").string());
  places.emplace_back("libonnxruntime.so.1");
  places.emplace_back("libonnxruntime.so.1.21");  // Debian 13
  return places;
}

Result<Engine*> load() try {
  std::string failure;
  for (const std::string& place : places()) {
    void* library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      failure += fmt::format("{}{}", failure.empty() ? "" : "; ", ::dlerror());
      continue;
    }
    const auto base = reinterpret_cast<const OrtApiBase* (*)()>(::dlsym(library, "OrtGetApiBase"));
    const OrtApi* api = base == nullptr ? nullptr : base()->GetApi(ORT_API_VERSION);
    if (api == nullptr)
      return Error{
          fmt::format("{} is too old or no such library", kName),
          fmt::format("{} is version {}, at least 1.{} is needed", place,
                      base == nullptr ? "unknown" : base()->GetVersionString(), ORT_API_VERSION),
          "install a newer one, or name it by PLUMB_ONNXRUNTIME"};
    Ort::InitApi(api);
    static OrtEngine engine(base()->GetVersionString());
    return &engine;
  }
  return Error{
      fmt::format("{} is not installed", kName), failure,
      "run scripts/setup --with-onnxruntime, install libonnxruntime, or name the library by "
      "PLUMB_ONNXRUNTIME"};
} catch (const std::exception& exception) {
  return told_by(exception, "does not start");
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void plumb_engine_3(Result<Engine*>* result) {
  *result = load();
}

}  // namespace plumb::engine
