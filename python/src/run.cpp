// SPDX-License-Identifier: Apache-2.0
//
// run(), diagnose() and reduce(): the jobs of `plumb run`, `plumb diagnose` and `plumb reduce`.
#include "replay/run.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "arrays.h"
#include "call.h"
#include "replay/diagnosis.h"
#include "scan/reduce_tree.h"
#include "types.h"

namespace plumb::python {
namespace {

using Text = std::optional<std::string>;

// Paths as after --input, arrays by the names of inputs, or a list of either: sample after sample.
void take_inputs(const py::object& inputs, const std::string& name, input::SampleOptions& options) {
  if (inputs.is_none()) return;
  if (is_path(inputs)) {
    const std::string path = path_from(inputs);
    options.inputs.push_back(name.empty() ? path : name + "=" + path);
  } else if (py::isinstance<py::list>(inputs) || py::isinstance<py::tuple>(inputs)) {
    for (const py::handle each : inputs)
      take_inputs(py::reinterpret_borrow<py::object>(each), name, options);
  } else if (py::hasattr(inputs, "items")) {
    for (const py::handle item : inputs.attr("items")()) {
      const auto [key, value] = item.cast<std::pair<std::string, py::object>>();
      take_inputs(value, key, options);
    }
  } else {
    options.tensors.push_back(tensor_from(inputs, name));
  }
}

void add_warnings(const input::Samples* samples, std::vector<std::string>& warnings) {
  if (samples == nullptr) return;
  for (const auto* list : {&samples->warnings(), &samples->notes()})
    for (const std::string& text : *list)
      if (std::find(warnings.begin(), warnings.end(), text) == warnings.end())
        warnings.push_back(text);
}

PyResult run(replay::RunOptions options, int jobs, const py::object& progress) {
  PyResult made;
  RunContext context;
  context.jobs = jobs_from(jobs);
  context.warn = [&](std::string_view text) { made.warnings.emplace_back(text); };
  options.limits.cancelled = &context.cancelled;
  auto job = value_of(outside(context, [&] { return replay::ModelRun::open(std::move(options)); }));
  add_warnings(job.samples(), made.warnings);
  add_warnings(job.other_samples(), made.warnings);
  const size_t samples = job.samples() == nullptr ? 0 : job.samples()->size();
  const py::object shown =
      progress.is_none() ? progress
                         : py::module_::import("functools").attr("partial")(progress, samples);
  replay::Ran ran = outside(
      context, [&] { return job.run(context); }, shown);
  made.run = std::make_shared<const result::Run>(std::move(ran.run));
  if (ran.problem)
    throw Raised{*ran.problem, made.run->rows.empty() ? py::object(py::none()) : py::cast(made)};
  return made;
}

engine::Optimization optimization_from(const std::string& text) {
  const auto level = engine::optimization_from_text(text);
  if (!level)
    throw Raised{{fmt::format("unknown optimization '{}'", text), "run()",
                  "write disabled, basic, extended or all"}};
  return *level;
}

PyResult diagnose(const PyResult& result, const Text& target, const Text& golden,
                  const Text& target_model, const Text& golden_model, int jobs) {
  PyResult made = result;
  result::Run run = *result.run;
  RunContext context;
  context.jobs = jobs_from(jobs);
  replay::DiagnosisOptions options{result.file};
  options.moved = {target.value_or(""), golden.value_or("")};
  options.models.target = target_model.value_or("");
  options.models.golden = golden_model.value_or("");
  options.limits.cancelled = &context.cancelled;
  auto lost =
      value_of(outside(context, [&] { return replay::diagnose_again(run, options, context); }));
  made.warnings.insert(made.warnings.end(), lost.begin(), lost.end());
  made.run = std::make_shared<const result::Run>(std::move(run));
  return made;
}

py::dict reduce(const py::object& path, bool keep, bool sketch, int jobs) {
  const std::string directory = path_from(path);
  scan::ReduceTreeOptions options;
  options.file.keep = keep;
  options.file.sketch = sketch;
  RunContext context;
  context.jobs = jobs_from(jobs);
  const auto report = value_of(outside(context, [&] {
    return scan::reduce_tree(
        directory, options, context,
        [](const auto&, const scan::ReduceOutcome&, const scan::ReduceProgress&) {});
  }));
  py::dict made;
  made["files"] = report.totals.files;
  made["bytes_before"] = report.totals.bytes_before;
  made["bytes_after"] = report.totals.bytes_after;
  std::vector<std::string> left;
  for (const Error& error : report.left) left.push_back(error.where + ": " + error.what);
  made["left"] = left;
  return made;
}

}  // namespace

void add_run(py::module_& module) {
  module.def(
      "run",
      [](const py::object& target, const py::object& golden, const py::object& inputs,
         const std::string& layers, const std::vector<std::string>& op, const Text& profile,
         std::optional<double> atol, std::optional<double> rtol, const Text& precision,
         const Text& config, std::optional<uint64_t> seed, const Text& labels, const Text& keep,
         const std::string& target_optimization, const std::string& golden_optimization,
         int threads, int jobs, const py::object& progress, bool details) {
        replay::RunOptions options;
        options.target.path = path_from(target);
        options.golden.path = path_from(golden);
        take_inputs(inputs, "", options.inputs);
        options.inputs.config = config.value_or("");
        if (seed) options.inputs.seed = std::to_string(*seed);
        options.layers = layers;
        options.ops = op;
        options.profile = profile.value_or("");
        options.atol = atol;
        options.rtol = rtol;
        options.precision = precision.value_or("");
        options.labels = labels.value_or("");
        options.keep = keep.value_or("");
        options.target.optimization = optimization_from(target_optimization);
        options.golden.optimization = optimization_from(golden_optimization);
        options.threads = threads;
        options.details = details;
        return run(std::move(options), jobs, progress);
      },
      py::arg("target"), py::arg("golden"), py::kw_only(), py::arg("inputs"), py::arg("layers"),
      py::arg("op"), py::arg("profile"), py::arg("atol"), py::arg("rtol"), py::arg("precision"),
      py::arg("config"), py::arg("seed"), py::arg("labels"), py::arg("keep"),
      py::arg("target_optimization"), py::arg("golden_optimization"), py::arg("threads"),
      py::arg("jobs"), py::arg("progress"), py::arg("details"));
  module.def("diagnose", diagnose, py::arg("result"), py::kw_only(), py::arg("target"),
             py::arg("golden"), py::arg("target_model"), py::arg("golden_model"), py::arg("jobs"));
  module.def("reduce", reduce, py::arg("path"), py::kw_only(), py::arg("keep"), py::arg("sketch"),
             py::arg("jobs"));
}

}  // namespace plumb::python
