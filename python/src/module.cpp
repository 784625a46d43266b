// SPDX-License-Identifier: Apache-2.0
//
// plumbline._core: the library under the same names. It adds no logic; what Python users see is in
// plumbline/__init__.py.
#include "call.h"
#include "types.h"

PYBIND11_MODULE(_core, module) {
  namespace python = plumb::python;
  module.doc() = "The core of Plumbline.";
  module.attr("__version__") = PLUMB_VERSION;
  python::register_errors();
  python::add_types(module);
  python::add_compare(module);
  python::add_dump(module);
  python::add_run(module);
}
