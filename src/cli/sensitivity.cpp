// SPDX-License-Identifier: Apache-2.0
//
// `plumb sensitivity MODEL --calib SET --data SET`: which layers lose most when they are quantized.
#include "quant/sensitivity.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <tbb/info.h>

#include "base/file_sink.h"
#include "cli/lab_options.h"
#include "cli/output_check.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "report/plot.h"

namespace plumb::cli {
namespace {

struct SensitivityRequest {
  LabOptions lab;
  std::vector<std::string> data;
  std::string data_size = "16", mode = "one", what = "both", json, output;
  int top = 20;
  CommonOptions common;
};

void declare_sensitivity_options(Options& options, SensitivityRequest& request) {
  options.arguments("MODEL", request.lab.paths, "the float model, an .onnx or a Caffe .prototxt");
  request.lab.declare_samples(options);
  options.texts("--data", "[NAME=]SET", request.data,
                "what the loss is measured with (default: the samples of\nthe calibration)");
  options.text("--data-size", "N", request.data_size,
               "so many of them, kept in memory, or 'all' (default: 16)");
  options.group("measuring");
  options.choice("--mode", "NAME", request.mode, {"one", "iso", "cum", "leave-one-out"},
                 "one: each layer alone, at the outputs (default); iso: at\nits own output, with "
                 "float inputs; cum: all of them, at\neach layer; leave-one-out: all but one");
  options.choice("--what", "PART", request.what, {"both", "weights", "acts"},
                 "of --mode one: both (default), weights or acts");
  request.lab.declare_quantizing(options);
  request.lab.inputs.declare_pictures(options);
  request.lab.declare_running(options);
  options.group("output");
  options.text("-o", "FILE", request.output, "a plot: .svg, or .html with a table of all layers");
  options.text("--json", "FILE", request.json, "all numbers, worst layer first; '-' prints it");
  options.count("--top", "N", request.top, "layers on the screen (default: 20; 0: all)");
  request.common.declare(options);
}

std::string db_text(const std::optional<double>& value) {
  if (!value) return "-";
  return std::isinf(*value) ? "inf" : fmt::format("{:.1f}", *value);
}

std::string share_text(double share) { return fmt::format("{:.3g}%", share * 100); }

// The longer, the more is lost: the noise of 60 dB and more is none.
double noise_share(const std::optional<double>& db, double worst) {
  constexpr double kQuiet = 60;
  if (!db || !(*db < kQuiet)) return 0;
  return (kQuiet - std::max(*db, worst)) / (kQuiet - worst);
}

std::string bar_of(double share) {
  constexpr int kLong = 20;
  std::string bar;
  if (share > 0)
    for (int i = 0; i < std::max(1, static_cast<int>(std::lround(share * kLong))); ++i) bar += "█";
  return bar;
}

double worst_of(const quant::Sensitivity& made, quant::Mode mode) {
  double worst = 59;
  for (const quant::LayerSensitivity& row : made.layers)
    if (const auto db = row.by(mode); db && *db < worst) worst = *db;
  return worst;
}

constexpr int kBarColumn = 4;

report::Table table_of_layers(const quant::Sensitivity& made, quant::Mode mode) {
  report::Table table;
  table.columns = {{"layer", false, 9, true}, {"op", false, 5},     {"precision", false, 4},
                   {"SQNR dB", true, 9},      {"", false, 6},       {"isolated", true, 7},
                   {"weights", true, 6},      {"acts", true, 6},    {"cumulative", true, 7},
                   {"agree", true, 5},        {"clipped", true, 3}, {"outliers", true, 2},
                   {"suggestion", false, 8}};
  const double worst = worst_of(made, mode);
  for (const quant::LayerSensitivity& row : made.layers) {
    const std::string ties =
        row.ties > 0 ? fmt::format(" ({})", counted(static_cast<size_t>(row.ties), "tie")) : "";
    table.rows.push_back({report::printable(row.layer), row.type, row.precision,
                          db_text(row.by(mode)), bar_of(noise_share(row.by(mode), worst)),
                          db_text(row.isolated), db_text(row.isolated_weights),
                          db_text(row.isolated_activations), db_text(row.cumulative),
                          row.agreement ? share_text(*row.agreement) : "-", share_text(row.clipped),
                          share_text(row.outlier_channels), row.suggestion + ties});
  }
  return table;
}

Result<void> write_plot(const quant::Sensitivity& made, quant::Mode mode, const std::string& title,
                        const std::string& path) {
  const double worst = worst_of(made, mode);
  std::vector<report::Bar> bars;
  for (const quant::LayerSensitivity& row : made.layers)
    bars.push_back({row.layer, db_text(row.by(mode)) + " dB", noise_share(row.by(mode), worst)});
  const std::string plot = report::bar_plot(
      "What each layer loses",
      fmt::format("signal to noise ratio, --mode {}: the longer, the more is lost", text_of(mode)),
      bars);
  if (path.ends_with(".svg")) return write_file(path, plot);
  report::Table table = table_of_layers(made, mode);
  table.columns.erase(table.columns.begin() + kBarColumn);
  for (auto& row : table.rows) row.erase(row.begin() + kBarColumn);
  return write_file(path, report::plot_page(title, std::span(&plot, 1), table));
}

Result<void> check_sensitivity_request(const SensitivityRequest& request) {
  std::vector<NamedPath> inputs;
  for (const std::string& path : request.lab.paths) inputs.push_back({"MODEL", path});
  const std::string& plot = request.output;
  if (!plot.empty() && !plot.ends_with(".svg") && !plot.ends_with(".html"))
    return Error{"unknown kind of plot", "-o " + plot, "use a name that ends in .svg or .html"};
  const NamedPath outputs[] = {{"-o", plot}, {"--json", request.json == "-" ? "" : request.json}};
  return check_outputs(outputs, inputs);
}

Result<quant::SensitivityOptions> wanted_of(const SensitivityRequest& request,
                                            quant::QuantizeOptions& made, const quant::Lab& lab) {
  quant::SensitivityOptions wanted;
  wanted.mode = *quant::mode_from_text(request.mode);
  wanted.part = request.what == "weights" ? quant::Part::kWeights
                : request.what == "acts"  ? quant::Part::kActivations
                                          : quant::Part::kBoth;
  wanted.settings = made.settings;
  constexpr int kMostEngines = 4;
  const int jobs = request.common.jobs;
  wanted.engines = std::min(jobs > 0 ? jobs : tbb::info::default_concurrency(), kMostEngines);
  auto precisions =
      quant::apply_requests(lab.prepared(), lab.plan(), made.settings.precision, made.requests);
  if (!precisions) return precisions.error();
  wanted.precisions = std::move(*precisions);
  return wanted;
}

Result<quant::Sensitivity> measure_layers(const SensitivityRequest& request,
                                          const quant::QuantizeOptions& made,
                                          const quant::SensitivityOptions& wanted,
                                          const quant::Lab& lab, const input::SampleOptions& data,
                                          RunContext& context) {
  auto calibration_set = input::open_samples(made.calibration, lab.model().inputs());
  if (!calibration_set) return calibration_set.error();
  auto data_set = input::open_samples(data, lab.model().inputs());
  if (!data_set) return data_set.error();
  print_warnings(*calibration_set, request.common);
  const auto samples = static_cast<int64_t>(data_set->size());
  ProgressBar bar(context, request.common,
                  static_cast<int64_t>(calibration_set->size()) +
                      samples * (1 + quant::runs_of(lab.plan(), wanted)),
                  "samples");
  auto calibration = lab.calibrate(*calibration_set, {true, made.threads}, context);
  if (!calibration) return calibration.error();
  auto trials = quant::Trials::open(lab, *data_set, made.threads, context);
  if (!trials) return trials.error();
  return quant::measure_sensitivity(lab, *calibration, **trials, wanted, context);
}

std::string headline_of(const quant::Sensitivity& sensitivity, const quant::QuantizeOptions& made,
                        const quant::Lab& lab) {
  return fmt::format(
      "{}: {} on {}; all of them quantized: {} dB at the outputs, top-1 agrees on {}",
      made.model.path.string(), counted(lab.plan().layers.size(), "layer"),
      counted(sensitivity.samples, "sample"), db_text(sensitivity.all_db),
      share_text(sensitivity.all_agreement));
}

void print_layers(const quant::Sensitivity& sensitivity, quant::Mode mode,
                  const std::string& headline, int top) {
  report::Table table = table_of_layers(sensitivity, mode);
  const size_t all = table.rows.size();
  if (top > 0) table.rows.resize(std::min(all, static_cast<size_t>(top)));
  fmt::print("{}\n{}", headline, table.render(terminal_width()));
  if (table.rows.size() < all)
    fmt::print("and {} more, --top 0 shows them\n", all - table.rows.size());
}

}  // namespace

int run_sensitivity(int argc, char** argv, RunContext& context) {
  Options options(
      "sensitivity", "Which layers lose most when they are quantized.",
      "examples\n"
      "  plumb sensitivity model.onnx --calib photos/ --data test/ --mean 104,117,123\n"
      "  plumb sensitivity model.onnx --config config.prototxt --mode iso --json layers.json\n"
      "  plumb sensitivity model.onnx --calib data/ --weight s4 --what weights\n"
      "exit status: 0, 2 trouble, 130 interrupted");
  SensitivityRequest request;
  declare_sensitivity_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  context.jobs = request.common.jobs;
  auto made = request.lab.options(context);
  if (!made) return fail_with(made.error());
  if (auto checked = check_sensitivity_request(request); !checked)
    return fail_with(checked.error());
  auto data = request.lab.set_of(request.data.empty() ? made->calibration.inputs : request.data,
                                 request.data_size, "--data");
  if (!data) return fail_with(data.error());
  auto lab = quant::Lab::open(made->model, made->plan);
  if (!lab) return fail_with(lab.error());
  const auto wanted = wanted_of(request, *made, **lab);
  if (!wanted) return fail_with(wanted.error());
  const auto sensitivity = measure_layers(request, *made, *wanted, **lab, *data, context);
  if (context.cancelled) return kInterrupted;
  if (!sensitivity) return fail_with(sensitivity.error());
  const std::string headline = headline_of(*sensitivity, *made, **lab);
  if (!request.output.empty())
    if (auto written = write_plot(*sensitivity, wanted->mode, headline, request.output); !written)
      return fail_with(written.error());
  const std::string json = quant::sensitivity_json(*sensitivity, *wanted, **lab);
  if (request.json == "-") {
    fmt::print("{}", json);
    return kAgreement;
  }
  if (!request.json.empty())
    if (auto written = write_file(request.json, json); !written) return fail_with(written.error());
  if (!request.common.quiet) print_layers(*sensitivity, wanted->mode, headline, request.top);
  return kAgreement;
}

}  // namespace plumb::cli
