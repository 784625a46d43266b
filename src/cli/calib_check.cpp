// SPDX-License-Identifier: Apache-2.0
//
// `plumb calib-check MODEL --calib SET --data SET`: does the calibration set represent the data?
#include "quant/calib_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/lab_options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "report/table.h"

namespace plumb::cli {
namespace {

struct CheckRequest {
  LabOptions lab;
  std::vector<std::string> data;
  std::string data_size = "32", json;
  CommonOptions common;
};

void declare_calib_check_options(Options& options, CheckRequest& request) {
  options.arguments("MODEL", request.lab.paths, "the float model, an .onnx or a Caffe .prototxt");
  request.lab.declare_samples(options);
  options.texts("--data", "[NAME=]SET", request.data,
                "what the model will see (default: what --config measures\nthe error with)");
  options.text("--data-size", "N", request.data_size, "so many of them (default: 32)");
  request.lab.declare_quantizing(options);
  request.lab.inputs.declare_pictures(options);
  request.lab.declare_running(options);
  options.group("output");
  options.text("--json", "FILE", request.json, "all numbers; '-' prints it");
  request.common.declare(options);
}

std::string table_of_measures(const quant::CalibrationCheck& check) {
  report::Table table;
  table.columns = {{"state", false, 9}, {"measure", false, 9}, {"", false, 9}};
  for (const quant::CheckedMeasure& measure : check.measures) {
    const std::string_view mark = measure.fitness == quant::Fitness::kPass      ? "✓"
                                  : measure.fitness == quant::Fitness::kWarning ? "!"
                                                                                : "✗";
    table.rows.push_back({fmt::format("{} {}", mark, quant::text_of(measure.fitness)),
                          std::string(measure.name), report::printable(measure.message)});
  }
  return table.render(terminal_width());
}

std::string tensors_of(const quant::CalibrationCheck& check) {
  constexpr size_t kMost = 5;
  report::Table table;
  table.columns = {{"tensor", false, 9, true}, {"calibrated", false, 8}, {"seen", false, 8},
                   {"outside", true, 9},       {"covered", true, 7},     {"drift", true, 6}};
  const auto range = [](const quant::Range& own) {
    return fmt::format("{:.4g} .. {:.4g}", own.lo, own.hi);
  };
  for (const quant::CheckedTensor& tensor : check.tensors) {
    if (table.rows.size() == kMost || tensor.excess == 0) break;
    table.rows.push_back({report::printable(tensor.tensor), range(tensor.calibrated),
                          range(tensor.seen), fmt::format("{:.3g}%", tensor.excess * 100),
                          fmt::format("{:.0f}%", tensor.coverage * 100),
                          fmt::format("{:.3g}", tensor.drift)});
  }
  return table.rows.empty() ? "" : "\n" + table.render(terminal_width());
}

}  // namespace

int run_calib_check(int argc, char** argv, RunContext& context) {
  Options options(
      "calib-check", "Does the calibration set represent the data that the model will see?",
      "examples\n"
      "  plumb calib-check model.onnx --calib calib/ --data test/ --mean 104,117,123\n"
      "  plumb calib-check model.onnx --config config.prototxt --data camera/\n"
      "exit status: 0 it does, 1 it does not or that is doubtful, 2 trouble, 130 interrupted");
  CheckRequest request;
  declare_calib_check_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  context.jobs = request.common.jobs;
  auto made = request.lab.options(context);
  if (!made) return fail_with(made.error());
  if (request.data.empty() && made->measurement) request.data = made->measurement->inputs;
  if (request.data.empty())
    return fail_with(Error{"what will the model see?", "--data",
                           "name samples that are not those of the calibration"});
  auto data = request.lab.set_of(request.data, request.data_size, "--data");
  if (!data) return fail_with(data.error());
  auto lab = quant::Lab::open(made->model, made->plan);
  if (!lab) return fail_with(lab.error());
  auto precisions = quant::apply_requests((*lab)->prepared(), (*lab)->plan(),
                                          made->settings.precision, made->requests);
  if (!precisions) return fail_with(precisions.error());
  const auto ports = (*lab)->model().inputs();
  auto calibration = input::open_samples(made->calibration, ports);
  if (!calibration) return fail_with(calibration.error());
  auto seen = input::open_samples(*data, ports);
  if (!seen) return fail_with(seen.error());
  print_warnings(*calibration, request.common);
  std::optional<Result<quant::CalibrationCheck>> check;
  {
    const auto samples = static_cast<int64_t>(3 * calibration->size() + 3 * seen->size());
    ProgressBar bar(context, request.common, samples, "samples");
    check = quant::check_calibration(**lab, *calibration, *seen,
                                     {made->settings, *precisions, made->threads}, context);
  }
  if (context.cancelled) return kInterrupted;
  if (!*check) return fail_with(check->error());
  const quant::CalibrationCheck& found = **check;
  const std::string json = quant::calibration_check_json(found, **lab);
  const int status = found.fitness() == quant::Fitness::kPass ? kAgreement : kDifference;
  if (request.json == "-") {
    fmt::print("{}", json);
    return status;
  }
  if (!request.json.empty())
    if (auto written = write_file(request.json, json); !written) return fail_with(written.error());
  if (request.common.quiet) return status;
  fmt::print("{}: {} of calibration against {} of data\n", made->model.path.string(),
             counted(found.calibration_samples, "sample"), counted(found.data_samples, "sample"));
  fmt::print("{}{}", table_of_measures(found), tensors_of(found));
  fmt::print("\n{}\n", found.fitness() == quant::Fitness::kPass
                           ? "FIT  the calibration set represents the data"
                       : found.fitness() == quant::Fitness::kWarning
                           ? "DOUBTFUL  add samples like those that the model will see"
                           : "UNFIT  calibrate with samples like those that the model will see, "
                             "prepared in the same way");
  return status;
}

}  // namespace plumb::cli
