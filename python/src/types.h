// SPDX-License-Identifier: Apache-2.0
//
// A result and its parts as Python sees them. Rows, sides and findings are views that keep the run
// alive.
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

#include "plumb/row.h"

namespace plumb::python {

namespace py = pybind11;

struct PyResult {
  std::shared_ptr<const result::Run> run;
  std::string file = {};                   // that it was loaded from or saved to as JSON
  std::vector<std::string> warnings = {};  // what was told on the way
};

// One function for each idea; module.cpp calls them.
void add_types(py::module_& module);
void add_compare(py::module_& module);
void add_dump(py::module_& module);
void add_run(py::module_& module);

}  // namespace plumb::python
