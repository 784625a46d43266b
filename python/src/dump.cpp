// SPDX-License-Identifier: Apache-2.0
//
// open_dump(): the tensors of a dump, read one by one when they are wanted.
#include "dump/dump.h"

#include <cstring>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "arrays.h"
#include "base/nearest.h"
#include "call.h"
#include "types.h"

namespace plumb::python {
namespace {

using dump::DumpSet;
using dump::Entry;

struct PyDump {
  std::shared_ptr<const DumpSet> set;
};

struct PyTensor {
  std::shared_ptr<const DumpSet> set;
  const Entry* entry = nullptr;
};

PyDump open_dump(const py::object& path) {
  const std::string file = path_from(path);
  RunContext context;
  return {std::make_shared<const DumpSet>(
      value_of(outside(context, [&] { return dump::open_dump(file); })))};
}

std::string name_of(const Entry& entry) {
  return fmt::format("{} {}", entry.operator_name, to_string(entry.slot));
}

std::vector<PyTensor> select(const PyDump& dump, const std::optional<std::string>& op,
                             const std::optional<std::string>& slot, std::optional<int64_t> step,
                             std::optional<int64_t> rank) {
  std::vector<PyTensor> found;
  for (const Entry& entry : dump.set->entries)
    if ((!op || entry.operator_name == *op) && (!slot || to_string(entry.slot) == *slot) &&
        (!step || entry.step() == step) && (!rank || entry.rank() == rank))
      found.push_back({dump.set, &entry});
  return found;
}

PyTensor only_one(const PyDump& dump, const std::string& op,
                  const std::optional<std::string>& slot) {
  const std::vector<PyTensor> found = select(dump, op, slot, {}, {});
  if (found.size() == 1) return found.front();
  const std::string name = slot ? op + " " + *slot : op;
  const std::string where = dump.set->root.string();
  if (found.empty()) {
    const bool is_known = !select(dump, op, {}, {}, {}).empty();  // and the slot is not
    std::vector<std::string> names;
    for (const Entry& entry : dump.set->entries)
      names.push_back(is_known ? name_of(entry) : entry.operator_name.str());
    throw Raised{{fmt::format("the dump has no tensor '{}'", name), where,
                  did_you_mean(is_known ? name : op, names) + "list(dump) shows all of them"}};
  }
  throw Raised{{fmt::format("the dump has {} tensors '{}'", found.size(), name), where,
                "choose among them by dump.select(operator, slot, step, rank)"}};
}

// Reading a header needs the file; what it says is kept nowhere.
Result<dump::EntryReader> reader_of(const PyTensor& tensor, bool portable) {
  io::ReadOrder order;
  order.portable = portable;
  return dump::EntryReader::open(*tensor.set, *tensor.entry, {}, order);
}

py::object numpy_of(const PyTensor& tensor) {
  RunContext context;
  auto opened = value_of(outside(context, [&] { return reader_of(tensor, true); }));
  io::TensorReader& reader = opened.reader();
  py::object array = new_array(reader.dtype(), reader.shape());
  auto* to = static_cast<std::byte*>(array.cast<py::array>().mutable_data());
  const auto item = static_cast<size_t>(bits_of(reader.dtype()) / 8);
  value_of(outside(context, [&]() -> Result<void> {
    for (int64_t first = 0; first < reader.count();) {
      if (context.cancelled) return {};
      const int64_t count = std::min<int64_t>(1 << 20, reader.count() - first);
      auto piece = reader.read(first, count);
      if (!piece) return piece.error();
      std::memcpy(to + static_cast<size_t>(first) * item, piece->data(), piece->size());
      first += count;
    }
    return opened.check_intact();
  }));
  return array;
}

template <class Use>
auto info_of_tensor(Use&& use) {
  return [use](const PyTensor& tensor) {
    RunContext context;
    const auto opened = value_of(outside(context, [&] { return reader_of(tensor, false); }));
    return use(opened.info());
  };
}

}  // namespace

void add_dump(py::module_& module) {
  py::class_<PyTensor>(module, "Tensor", "A tensor of a dump, not read yet.")
      .def_property_readonly("operator",
                             [](const PyTensor& self) { return self.entry->operator_name.str(); })
      .def_property_readonly("type", [](const PyTensor& self) { return self.entry->type.str(); })
      .def_property_readonly("slot",
                             [](const PyTensor& self) { return to_string(self.entry->slot); })
      .def_property_readonly("step", [](const PyTensor& self) { return self.entry->step(); })
      .def_property_readonly("rank", [](const PyTensor& self) { return self.entry->rank(); })
      .def_property_readonly("file", [](const PyTensor& self) { return self.entry->file(); })
      .def_property_readonly("dtype", info_of_tensor([](const TensorInfo& info) {
                               return std::string(plumb::name_of(info.dtype));
                             }))
      .def_property_readonly("shape", info_of_tensor([](const TensorInfo& info) {
                               return py::tuple(py::cast(info.shape));
                             }))
      .def("numpy", numpy_of,
           "Its values in plain order, as a new array; types that numpy does not have are widened.")
      .def(
          "__array__",
          [](const PyTensor& self, const py::object& dtype, const py::object& copy) {
            if (!copy.is_none() && !copy.cast<bool>())
              throw py::value_error("a tensor of a dump is read: there is nothing but a copy");
            py::object array = numpy_of(self);
            return dtype.is_none() ? array : array.attr("astype")(dtype);
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def("__repr__",
           [](const PyTensor& self) { return fmt::format("<Tensor {}>", name_of(*self.entry)); });

  py::class_<PyDump>(module, "Dump", "The tensors of a dump, by operator and slot.")
      .def_property_readonly("path", [](const PyDump& self) { return self.set->root.string(); })
      .def("__fspath__", [](const PyDump& self) { return self.set->root.string(); })
      .def_property_readonly("convention", [](const PyDump& self) { return self.set->convention; })
      .def_property_readonly("warnings", [](const PyDump& self) { return self.set->warnings; })
      .def_property_readonly("skipped",
                             [](const PyDump& self) {
                               std::vector<std::pair<std::string, std::string>> files;
                               for (const dump::Skipped& skipped : self.set->skipped)
                                 files.emplace_back(skipped.file, skipped.reason);
                               return files;
                             })
      .def("__len__", [](const PyDump& self) { return self.set->entries.size(); })
      .def("__iter__",
           [](const PyDump& self) {
             py::list keys;
             for (const Entry& entry : self.set->entries)
               keys.append(py::make_tuple(entry.operator_name.str(), to_string(entry.slot)));
             return py::iter(keys);
           })
      .def("__contains__",
           [](const PyDump& self, const std::pair<std::string, std::string>& key) {
             return !select(self, key.first, key.second, {}, {}).empty();
           })
      .def("__contains__",
           [](const PyDump& self, const std::string& op) {
             return !select(self, op, {}, {}, {}).empty();
           })
      .def("__getitem__",
           [](const PyDump& self, const std::pair<std::string, std::string>& key) {
             return only_one(self, key.first, key.second);
           })
      .def("__getitem__",
           [](const PyDump& self, const std::string& op) { return only_one(self, op, {}); })
      .def("select", select, py::arg("operator") = py::none(), py::arg("slot") = py::none(),
           py::arg("step") = py::none(), py::arg("rank") = py::none(),
           "The tensors of these; what is not given may be anything.")
      .def("__repr__", [](const PyDump& self) {
        return fmt::format("<Dump {}: {}, {} tensors>", self.set->root.string(),
                           self.set->convention, self.set->entries.size());
      });
  module.def("open_dump", open_dump, py::arg("path"));
}

}  // namespace plumb::python
