// SPDX-License-Identifier: Apache-2.0
//
// DLPack is described at https://dmlc.github.io/dlpack/latest/; the structures below are its ABI as
// far as it is needed.
#include "arrays.h"

#include <algorithm>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "call.h"

namespace plumb::python {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string what, std::string where,
                         std::string remedy) {
  throw Raised{{std::move(what), fmt::format("'{}': {}", name, where), std::move(remedy)}};
}

// Lets go of a Python object from any thread.
std::shared_ptr<const void> owner_of(py::object object) {
  if (!object) return nullptr;
  return {object.release().ptr(), [](const void* held) {
            if (Py_IsInitialized() == 0) return;
            const py::gil_scoped_acquire acquired;
            Py_DECREF(static_cast<PyObject*>(const_cast<void*>(held)));
          }};
}

// `data` is where element (0, 0, ...) lies. Strides are in elements.
NamedTensor strided(const std::string& name, DType dtype, Shape shape, Shape strides,
                    const void* data) {
  NamedTensor tensor;
  tensor.op = name;
  tensor.dtype = dtype;
  int64_t lowest = 0, highest = 0;
  bool is_empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    is_empty |= shape[i] == 0;
    const int64_t reach = strides[i] * (shape[i] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  const int64_t item = bits_of(dtype) / 8;
  if (!is_empty)
    tensor.bytes = {static_cast<const std::byte*>(data) + lowest * item,
                    static_cast<size_t>((highest - lowest + 1) * item)};
  int64_t plain = 1;
  bool is_plain = true;
  for (size_t i = shape.size(); i-- > 0; plain *= shape[i])
    is_plain &= shape[i] <= 1 || strides[i] == plain;
  tensor.shape = std::move(shape);
  if (is_empty || is_plain) return tensor;
  tensor.strides = std::move(strides);
  tensor.first_element = -lowest;
  return tensor;
}

std::optional<DType> known_dtype(const std::string& name) {
  if (name.starts_with("float8_e4m3fnuz") || name.starts_with("float8_e5m2fnuz")) return {};
  const auto dtype = dtype_from_name(name);
  // Packed types lie otherwise in memory than in files.
  return dtype && bits_of(*dtype) >= 8 && *dtype != DType::kOpaque ? dtype : std::nullopt;
}

NamedTensor from_numpy(py::array array, const std::string& name) {
  if (py::hasattr(array, "mask"))  // which would be forgotten
    refuse(name, "masked arrays cannot be compared", "numpy.ma.MaskedArray",
           "pass array.filled(0), or array.compressed(), of both sides");
  if (array.dtype().attr("isnative").cast<bool>() == false)
    array = array.attr("astype")(array.dtype().attr("newbyteorder")("="));
  const auto type = py::str(array.dtype().attr("name")).cast<std::string>();
  const auto dtype = known_dtype(type);
  if (!dtype)
    refuse(name, "this is no array of numbers", "numpy array of " + type,
           "pass an array of floats, integers or booleans");
  const py::ssize_t item = array.itemsize();
  const auto fits = [&](py::ssize_t stride) { return stride % item == 0; };
  if (!std::all_of(array.strides(), array.strides() + array.ndim(), fits))
    array = array.attr("copy")();  // fields of a record: elements do not lie on multiples
  Shape shape(array.shape(), array.shape() + array.ndim()), strides;
  for (py::ssize_t i = 0; i < array.ndim(); ++i) strides.push_back(array.strides(i) / item);
  NamedTensor tensor = strided(name, *dtype, std::move(shape), std::move(strides), array.data());
  tensor.owner = owner_of(std::move(array));
  return tensor;
}

bool is_torch(const py::handle& object) {
  return py::hasattr(object, "data_ptr") && py::hasattr(object, "storage_offset") &&
         py::hasattr(object, "is_sparse");
}

NamedTensor from_torch(py::object tensor, const std::string& name) {
  tensor = tensor.attr("detach")();
  const auto device = py::str(tensor.attr("device")).cast<std::string>();
  if (!device.starts_with("cpu"))
    refuse(name, "the tensor is not in this machine's memory", "it is on " + device,
           "copy it first: tensor.cpu()");
  const auto layout = py::str(tensor.attr("layout")).cast<std::string>();
  if (layout != "torch.strided" || tensor.attr("is_quantized").cast<bool>())
    refuse(name, "only dense tensors can be compared",
           layout == "torch.strided" ? "it is quantized" : "its layout is " + layout,
           "pass tensor.dequantize() or tensor.to_dense()");
  for (const auto& [is_lazy, resolve] :
       {std::pair("is_conj", "resolve_conj"), std::pair("is_neg", "resolve_neg")})
    if (tensor.attr(is_lazy)().cast<bool>()) tensor = tensor.attr(resolve)();
  auto type = py::str(tensor.attr("dtype")).cast<std::string>();
  type.erase(0, type.rfind('.') + 1);
  const auto dtype = known_dtype(type);
  if (!dtype) refuse(name, "this type of element is not known", type, "pass tensor.float()");
  NamedTensor made =
      strided(name, *dtype, py::tuple(tensor.attr("shape")).cast<Shape>(),
              tensor.attr("stride")().cast<Shape>(),
              reinterpret_cast<const void*>(tensor.attr("data_ptr")().cast<uintptr_t>()));
  made.owner = owner_of(std::move(tensor));
  return made;
}

struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // null: row-major
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* manager;
  void (*deleter)(DLManagedTensor* self);
};

std::optional<DType> dtype_of(const DLDataType& type) {
  if (type.lanes != 1) return std::nullopt;
  constexpr std::string_view kNames[] = {"int", "uint", "float", "", "bfloat", "complex"};
  constexpr uint8_t kBool = 6;
  if (type.code == kBool && type.bits == 8) return DType::kBool;
  if (type.code >= std::size(kNames) || kNames[type.code].empty()) return std::nullopt;
  return known_dtype(fmt::format("{}{}", kNames[type.code], type.bits));
}

NamedTensor from_dlpack(const py::object& array, const std::string& name) {
  constexpr int32_t kCpu = 1, kPinned = 3;
  if (py::hasattr(array, "__dlpack_device__")) {
    const auto device = array.attr("__dlpack_device__")().cast<std::pair<int32_t, int32_t>>();
    if (device.first != kCpu && device.first != kPinned)
      refuse(name, "the tensor is not in this machine's memory",
             fmt::format("DLPack device {}", device.first), "copy it to the CPU first");
  }
  py::object capsule = array.attr("__dlpack__")();
  const char* kind = "dltensor";
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kind));
  if (managed == nullptr) throw py::error_already_set();
  const DLTensor& given = managed->tensor;
  const auto dtype = dtype_of(given.dtype);
  if (!dtype || given.ndim < 0)
    refuse(name, "this type of element is not known",
           fmt::format("DLPack type {}, {} bits", given.dtype.code, given.dtype.bits),
           "pass an array of floats, integers or booleans");
  Shape shape(given.shape, given.shape + given.ndim), strides;
  if (given.strides != nullptr) {
    strides.assign(given.strides, given.strides + given.ndim);
  } else {
    strides.assign(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  }
  NamedTensor tensor = strided(name, *dtype, std::move(shape), std::move(strides),
                               static_cast<const std::byte*>(given.data) + given.byte_offset);
  tensor.owner = owner_of(std::move(capsule));  // which frees the tensor with itself
  return tensor;
}

std::pair<std::string, std::string> operator_and_slot(const py::object& key) {
  const auto words = py::reinterpret_borrow<py::tuple>(key);
  if (words.size() != 2 || !py::isinstance<py::str>(words[0]) || !py::isinstance<py::str>(words[1]))
    refuse(py::repr(key).cast<std::string>(), "this does not name a tensor",
           "a key is a name, or an operator and a slot", "write (\"conv1\", \"output:0\")");
  return key.cast<std::pair<std::string, std::string>>();
}

}  // namespace

NamedTensor tensor_from(const py::handle& array, const std::string& name) {
  py::object object = py::reinterpret_borrow<py::object>(array);
  if (py::isinstance<py::array>(object)) return from_numpy(object, name);
  if (is_torch(object)) return from_torch(std::move(object), name);
  if (py::hasattr(object, "__dlpack__")) return from_dlpack(object, name);
  if (object.is_none() || PyCallable_Check(object.ptr()) != 0)
    refuse(name, "this is no array", py::str(py::type::of(object)).cast<std::string>(),
           "pass a numpy array, a torch tensor, or a path");
  return from_numpy(py::module_::import("numpy").attr("asarray")(object), name);
}

std::vector<NamedTensor> tensors_from(const py::handle& arrays, const std::string& alone) {
  std::vector<NamedTensor> tensors;
  const py::object mapping = py::module_::import("collections.abc").attr("Mapping");
  if (!py::isinstance(arrays, mapping)) {
    tensors.push_back(tensor_from(arrays, alone));
    return tensors;
  }
  for (const py::handle item : arrays.attr("items")()) {
    const auto [key, array] = item.cast<std::pair<py::object, py::object>>();
    if (py::isinstance<py::tuple>(key)) {
      auto [op, slot] = operator_and_slot(key);
      tensors.push_back(tensor_from(array, op));
      tensors.back().slot = std::move(slot);
    } else {
      tensors.push_back(tensor_from(array, py::str(key).cast<std::string>()));
    }
  }
  return tensors;
}

bool is_path(const py::handle& object) {
  return py::isinstance<py::str>(object) || py::hasattr(object, "__fspath__");
}

std::string path_from(const py::handle& object) {
  return py::module_::import("os").attr("fspath")(object).cast<std::string>();
}

SideSpec side_from(const py::handle& side) {
  SideSpec spec;
  if (is_path(side))
    spec.path = path_from(side);
  else
    spec.tensors = tensors_from(side, "array");
  return spec;
}

py::object new_array(DType dtype, const Shape& shape) {
  return py::array(py::dtype(std::string(name_of(dtype))), shape);
}

}  // namespace plumb::python
