// SPDX-License-Identifier: Apache-2.0
//
// Arrays of Python as tensors of ours, where they lie: numpy's, PyTorch's, and whatever speaks
// DLPack or turns itself into a numpy array.
#pragma once

#include <pybind11/pybind11.h>

#include "plumb/session.h"

namespace plumb::python {

namespace py = pybind11;

// `name` is for messages. Nothing is copied unless the bytes have to be turned round or are not
// aligned to elements. The tensor keeps the array alive, and lets it go with the interpreter's
// lock.
NamedTensor tensor_from(const py::handle& array, const std::string& name);

// {name: array}, {(operator, slot): array}, or an array alone, which is called `alone`.
std::vector<NamedTensor> tensors_from(const py::handle& arrays, const std::string& alone);

bool is_path(const py::handle& object);
std::string path_from(const py::handle& object);

// A path or arrays.
SideSpec side_from(const py::handle& side);

// A new numpy array without elements yet, of a type that numpy has.
py::object new_array(DType dtype, const Shape& shape);

}  // namespace plumb::python
