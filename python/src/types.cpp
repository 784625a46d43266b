// SPDX-License-Identifier: Apache-2.0
#include "types.h"

#include <cmath>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "arrays.h"
#include "call.h"
#include "judge/outcome.h"
#include "report/findings_text.h"
#include "report/headline.h"
#include "report/ranking.h"
#include "report/terminal.h"
#include "report/writer.h"
#include "result/json_read.h"
#include "result/json_write.h"
#include "result/value_text.h"

namespace plumb::python {
namespace {

using result::Finding;
using result::Row;
using result::Run;
using result::Side;

struct PyRow {
  std::shared_ptr<const Run> run;
  size_t place = 0;
  const Row& row() const { return run->rows[place]; }
};

struct PySide {
  std::shared_ptr<const Run> run;
  const Side* side = nullptr;
};

struct PyFinding {
  std::shared_ptr<const Run> run;
  const Finding* finding = nullptr;
};

struct PyRows {
  std::shared_ptr<const Run> run;
};

PyRow row_at(const PyRows& rows, py::ssize_t place) {
  const auto size = static_cast<py::ssize_t>(rows.run->rows.size());
  if (place < 0) place += size;
  if (place < 0 || place >= size) throw py::index_error(fmt::format("there are {} rows", size));
  return {rows.run, static_cast<size_t>(place)};
}

py::list rows_in(const PyRows& rows, const py::slice& slice) {
  size_t start = 0, stop = 0, step = 0, length = 0;
  if (!slice.compute(rows.run->rows.size(), &start, &stop, &step, &length))
    throw py::error_already_set();
  py::list list;
  for (size_t i = 0; i < length; ++i, start += step) list.append(PyRow{rows.run, start});
  return list;
}

py::object number_of(const metrics::Metric& metric, double number) {
  if (metric.print == metrics::Print::kNumber || !std::isfinite(number)) return py::float_(number);
  // Distances between float64 do not fit into 64 bits.
  return py::reinterpret_steal<py::object>(PyLong_FromDouble(number));
}

py::dict metrics_of(const PyRow& of) {
  py::dict values;
  const Row& row = of.row();
  for (size_t i = 0; i < row.values.size(); ++i) {
    const metrics::Metric& metric = *of.run->metrics[i];
    const metrics::Value& value = row.values[i];
    values[py::str(std::string(metric.name))] =
        value.is_defined() ? number_of(metric, value.number()) : py::object(py::none());
  }
  return values;
}

py::dict undefined_of(const PyRow& of) {
  py::dict reasons;
  const Row& row = of.row();
  for (size_t i = 0; i < row.values.size(); ++i)
    if (!row.values[i].is_defined())
      reasons[py::str(std::string(of.run->metrics[i]->name))] =
          result::undefined_text(row.values[i]);
  return reasons;
}

py::object side_of(const PyRow& row, const std::optional<Side>& side) {
  return side ? py::cast(PySide{row.run, &*side}) : py::object(py::none());
}

std::string row_text(const PyRow& of) {
  const Row& row = of.row();
  const Side& side = row.any_side();
  return fmt::format("<Row {} {} {}{}{}>", side.operator_name, side.slot, name_of(row.verdict),
                     row.message.empty() ? "" : ": ", row.message);
}

// A member of what stands before the rows of the document, by its own names.
py::object head_member(const Run& run, const char* name) {
  const std::string text = "{" + result::head_members(run, run.summary()) + "}";
  const py::dict head = py::module_::import("json").attr("loads")(text);
  return head[name];
}

std::string table_of(const Run& run, bool all, size_t width) {
  report::TerminalStyle style;
  style.width = width;
  style.all = all;
  return report::render(run, style);
}

py::list shown_rows(const PyResult& self, size_t most) {
  py::list rows;
  for (const size_t place : report::rows_to_show(*self.run, self.run->summary(), most).places)
    rows.append(PyRow{self.run, place});
  return rows;
}

void save(PyResult& self, const py::object& path) {
  const std::string file = path_from(path);
  RunContext context;
  value_of(outside(context, [&] { return report::write_file(*self.run, file); }));
  if (file.ends_with(".json")) self.file = file;
}

std::string json_of(const PyResult& self) {
  std::string text;
  result::write_json(*self.run, [&](std::string_view piece) { text += piece; });
  return text;
}

PyResult load_result(const py::object& path) {
  const std::string file = path_from(path);
  RunContext context;
  auto saved = value_of(outside(context, [&] { return result::load_result(file); }));
  return {std::make_shared<const Run>(std::move(saved.run)), file, std::move(saved.notes)};
}

// For pickle: what the JSON of a result says is all that there is of it.
PyResult result_from(const std::string& json, std::string file, std::vector<std::string> warnings) {
  auto saved = value_of(result::read_result(as_bytes(json)));
  return {std::make_shared<const Run>(std::move(saved.run)), std::move(file), std::move(warnings)};
}

py::object in_python(const char* function, const py::object& self) {
  return py::module_::import("plumbline._notebook").attr(function)(self);
}

void add_side(py::module_& module) {
  const auto text = [](std::string Side::*member) {
    return [member](const PySide& self) { return self.side->*member; };
  };
  py::class_<PySide>(module, "Side", "One side of a row: a tensor of the target or of golden.")
      .def_property_readonly("operator", text(&Side::operator_name))
      .def_property_readonly("type", text(&Side::type))
      .def_property_readonly("slot", text(&Side::slot))
      .def_property_readonly("dtype", text(&Side::dtype))
      .def_property_readonly("layout", text(&Side::layout))
      .def_property_readonly("file", text(&Side::file))
      .def_property_readonly("shape",
                             [](const PySide& self) -> py::object {
                               if (!self.side->shape) return py::none();
                               return py::tuple(py::cast(*self.side->shape));
                             })
      .def("__repr__", [](const PySide& self) {
        return fmt::format("<Side {} {} {}>", self.side->operator_name, self.side->slot,
                           self.side->dtype);
      });
}

void add_row(py::module_& module) {
  const auto member = [](auto Row::*which) {
    return [which](const PyRow& self) { return self.row().*which; };
  };
  py::class_<PyRow>(module, "Row", "A tensor of either side: compared, or left out with a reason.")
      .def_property_readonly("id", [](const PyRow& self) { return self.place; })
      .def_property_readonly("index", member(&Row::index))
      .def_property_readonly("step", member(&Row::step))
      .def_property_readonly("rank", member(&Row::rank))
      .def_property_readonly("graph", member(&Row::graph))
      .def_property_readonly("operator",
                             [](const PyRow& self) { return self.row().any_side().operator_name; })
      .def_property_readonly("slot", [](const PyRow& self) { return self.row().any_side().slot; })
      .def_property_readonly("target",
                             [](const PyRow& self) { return side_of(self, self.row().target); })
      .def_property_readonly("golden",
                             [](const PyRow& self) { return side_of(self, self.row().golden); })
      .def_property_readonly("pairing_rule",
                             [](const PyRow& self) { return std::string(self.row().pairing_rule); })
      .def_property_readonly("pairing_evidence", member(&Row::pairing_evidence))
      .def_property_readonly("is_model_output", member(&Row::is_model_output))
      .def_property_readonly("metrics", metrics_of)
      .def_property_readonly("undefined", undefined_of)
      .def_property_readonly(
          "verdict", [](const PyRow& self) { return std::string(name_of(self.row().verdict)); })
      .def_property_readonly("suspicious", member(&Row::suspicious))
      .def_property_readonly("reasons", member(&Row::reasons))
      .def_property_readonly("message", member(&Row::message))
      .def_property_readonly("hint", member(&Row::hint))
      .def_property_readonly("own_error",
                             [](const PyRow& self) -> py::object {
                               const auto& own = self.row().own_error;
                               return own ? py::object(py::float_(own->value)) : py::none();
                             })
      .def_property_readonly(
          "sample", [](const PyRow& self) { return std::string(self.run->sample_of(self.row())); })
      .def("__repr__", row_text);

  py::class_<PyRows>(module, "Rows", "The rows of a result, in order of execution.")
      .def("__len__", [](const PyRows& self) { return self.run->rows.size(); })
      .def("__getitem__", row_at)
      .def("__getitem__", rows_in)
      .def("__repr__",
           [](const PyRows& self) { return fmt::format("<Rows: {}>", self.run->rows.size()); });
}

void add_finding(py::module_& module) {
  const auto member = [](auto Finding::*which) {
    return [which](const PyFinding& self) { return self.finding->*which; };
  };
  py::class_<PyFinding>(module, "Finding", "A cause with the numbers that prove it.")
      .def_property_readonly("rule", member(&Finding::rule))
      .def_property_readonly("cause", member(&Finding::cause))
      .def_property_readonly("operator", member(&Finding::operator_name))
      .def_property_readonly("detail", member(&Finding::detail))
      .def_property_readonly("confidence", member(&Finding::confidence))
      .def_property_readonly("evidence",
                             [](const PyFinding& self) {
                               std::vector<std::string> texts;
                               for (const result::Evidence& piece : self.finding->evidence)
                                 texts.push_back(piece.text);
                               return texts;
                             })
      .def_property_readonly("advice", member(&Finding::advice))
      .def_property_readonly("next", member(&Finding::next))
      .def_property_readonly("consequences", member(&Finding::consequences))
      .def("__repr__", [](const PyFinding& self) {
        const Finding& finding = *self.finding;
        return fmt::format("<Finding {}{}{}: {}>", finding.cause,
                           finding.operator_name.empty() ? "" : " at ", finding.operator_name,
                           finding.evidence.empty() ? finding.advice : finding.evidence[0].text);
      });
}

}  // namespace

void add_types(py::module_& module) {
  add_side(module);
  add_row(module);
  add_finding(module);
  py::class_<PyResult>(module, "Result", "What a comparison found.")
      .def_property_readonly(
          "verdict",
          [](const PyResult& self) { return std::string(name_of(self.run->summary().verdict)); })
      .def_property_readonly("summary",
                             [](const PyResult& self) { return head_member(*self.run, "summary"); })
      .def_property_readonly("run",
                             [](const PyResult& self) { return head_member(*self.run, "run"); })
      .def_property_readonly("rows", [](const PyResult& self) { return PyRows{self.run}; })
      .def_property_readonly("findings",
                             [](const PyResult& self) {
                               std::vector<PyFinding> findings;
                               for (const Finding& finding : self.run->findings)
                                 findings.push_back({self.run, &finding});
                               return findings;
                             })
      .def_property_readonly("warnings",
                             [](const PyResult& self) {
                               std::vector<std::string> warnings = self.warnings;
                               for (const auto* list : {&self.run->doubts, &self.run->warnings})
                                 warnings.insert(warnings.end(), list->begin(), list->end());
                               return warnings;
                             })
      .def("save", save, py::arg("path"),
           "Write .json, .html, .csv, .xlsx, .md, .svg or .junit.xml, by the extension.")
      .def("to_json", json_of, "The document that save('x.json') writes, as text.")
      .def(
          "to_pandas", [](const py::object& self) { return in_python("to_pandas", self); },
          "A pandas.DataFrame with a line for each row.")
      .def(
          "table",
          [](const PyResult& self, bool all, size_t width) {
            return table_of(*self.run, all, width);
          },
          py::arg("all") = false, py::arg("width") = 0,
          "The report that `plumb compare` prints; all=True shows passing rows, too.")
      .def("_agrees",
           [](const PyResult& self) {
             return judge::outcome_of(*self.run) == judge::Outcome::kAgreement;
           })
      .def("_headline",
           [](const PyResult& self) {
             const result::Summary summary = self.run->summary();
             return std::pair(report::headline(*self.run, summary), report::totals_text(summary));
           })
      .def("_rows_to_show", shown_rows)
      .def(py::pickle(
          [](const PyResult& self) {
            return py::make_tuple(json_of(self), self.file, self.warnings);
          },
          [](const py::tuple& state) {
            return result_from(state[0].cast<std::string>(), state[1].cast<std::string>(),
                               state[2].cast<std::vector<std::string>>());
          }))
      .def("_repr_html_", [](const py::object& self) { return in_python("html", self); })
      .def("__repr__", [](const PyResult& self) { return table_of(*self.run, false, 100); });
  module.def("load_result", load_result, py::arg("path"),
             "A result that was saved as JSON, by this module or by `plumb compare --json`.");
}

}  // namespace plumb::python
