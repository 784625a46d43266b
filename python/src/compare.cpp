// SPDX-License-Identifier: Apache-2.0
//
// compare(): a Spec from arguments, then the same session as `plumb compare`.
#include <pybind11/stl.h>

#include "arrays.h"
#include "call.h"
#include "diagnose/explain.h"
#include "types.h"

namespace plumb::python {
namespace {

using Text = std::optional<std::string>;
using Texts = std::vector<std::string>;

PyResult compare(const py::object& target, const py::object& golden, const Spec& options, int jobs,
                 const py::object& progress) {
  Spec spec = options;
  const auto take = [](SideSpec made, SideSpec& side) {
    made.graph = side.graph;
    side = std::move(made);
  };
  take(side_from(target), spec.target);
  take(side_from(golden), spec.golden);
  PyResult made;
  RunContext context;
  context.jobs = jobs_from(jobs);
  context.warn = [&](std::string_view text) { made.warnings.emplace_back(text); };
  auto session = value_of(outside(context, [&] { return Session::open(spec, context); }));
  const int64_t bytes = progress.is_none() ? 0 : session.plan().bytes();
  const py::object shown = progress.is_none()
                               ? progress
                               : py::module_::import("functools").attr("partial")(progress, bytes);
  auto run = value_of(outside(
      context,
      [&] {
        auto compared = compare_all(session, context);
        if (compared && !context.cancelled)
          diagnose::explain_comparison(*compared, session, context, diagnose::invocation_of(spec));
        return compared;
      },
      shown));
  made.run = std::make_shared<const result::Run>(std::move(run));
  return made;
}

}  // namespace

void add_compare(py::module_& module) {
  module.def(
      "compare",
      [](const py::object& target, const py::object& golden, const Text& graph,
         const Text& golden_graph, const Text& quant, const Text& map, const Text& mode,
         const Texts& op, const Text& profile, const Texts& metrics, const Text& floor,
         const Text& baseline, std::optional<double> atol, std::optional<double> rtol, int jobs,
         const py::object& progress, bool details, const Text& precision) {
        Spec spec;
        spec.target.graph = graph.value_or("");
        spec.golden.graph = golden_graph.value_or("");
        spec.quant = quant.value_or("");
        spec.name_map = map.value_or("");
        spec.mode = mode.value_or("");
        spec.selection.ops = op;
        spec.profile = profile.value_or("");
        spec.metrics = metrics;
        spec.floor = floor.value_or("");
        spec.baseline = baseline.value_or("");
        spec.atol = atol;
        spec.rtol = rtol;
        spec.details = details;
        spec.precision = precision.value_or("");
        return compare(target, golden, spec, jobs, progress);
      },
      py::arg("target"), py::arg("golden"), py::kw_only(), py::arg("graph"),
      py::arg("golden_graph"), py::arg("quant"), py::arg("map"), py::arg("mode"), py::arg("op"),
      py::arg("profile"), py::arg("metrics"), py::arg("floor"), py::arg("baseline"),
      py::arg("atol"), py::arg("rtol"), py::arg("jobs"), py::arg("progress"), py::arg("details"),
      py::arg("precision"));
}

}  // namespace plumb::python
