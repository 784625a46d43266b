// SPDX-License-Identifier: Apache-2.0
//
// `plumb quantize MODEL --calib SET`: calibrates a float model, writes quantized ones, and measures
// what that costs.

#include <fmt/format.h>

#include "base/directory_lock.h"
#include "base/number_from_text.h"
#include "cli/lab_options.h"
#include "cli/output_check.h"
#include "cli/output_options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "judge/profile.h"
#include "report/score_table.h"

namespace plumb::cli {
namespace {

struct QuantizeRequest {
  LabOptions lab;
  std::vector<std::string> measure;
  std::string measure_size = "32", directory, layers = "outputs", profile = "quantized",
              colour = "auto", smooth, ranges_file;
  bool all = false, equalize = false, bias_correct = false;
  CommonOptions common;
};

void declare_quantize_options(Options& options, QuantizeRequest& request) {
  options.arguments("MODEL", request.lab.paths, "the float model, an .onnx or a Caffe .prototxt");
  options.text("-o", "DIR", request.directory,
               "where the models and what is known of them go; new or\nempty (default: quant)");
  request.lab.declare_samples(options);
  options.texts("--measure", "[NAME=]SET", request.measure,
                "what the error is measured with (default: the samples of\nthe calibration, which "
                "flatters)");
  options.text("--measure-size", "N", request.measure_size,
               "so many of them, or 'all' (default: 32)");
  request.lab.declare_quantizing(options);
  options.group("repairing: kept if the outputs get better on samples of the calibration");
  options.flag("--equalize", request.equalize,
               "balance the weights of layers that follow each other");
  options.text("--smooth", "STRENGTH", request.smooth,
               "move outliers of what MatMul and Gemm read into weights:\n0.5 is usual");
  options.flag("--bias-correct", request.bias_correct,
               "take mean errors of channels out of biases");
  request.lab.inputs.declare_pictures(options);
  request.lab.declare_running(options);
  options.group("judging");
  options.choice("--layers", "WHICH", request.layers, {"outputs", "all"},
                 "what is compared: outputs (default) or all");
  options.text("--profile", "NAME", request.profile,
               "limits that decide pass or fail (default: quantized)");
  options.suggest([] { return names_in(judge::built_in_profiles()); });
  options.group("output");
  options.text("--write-ranges", "FILE", request.ranges_file,
               "ranges of activations as ONNX Runtime keeps them, too:\n.json with both ends, or "
               ".cache with the larger magnitude");
  options.flag("--all", request.all, "show passing rows too");
  options.choice("--color", "WHEN", request.colour, {"auto", "always", "never"},
                 "auto, always or never");
  request.common.declare(options);
}

Result<quant::QuantizeOptions> options_of(const QuantizeRequest& request,
                                          const RunContext& context) {
  auto made = request.lab.options(context);
  if (!made) return made;
  if (!request.measure.empty()) {
    auto set = request.lab.set_of(request.measure, request.measure_size, "--measure");
    if (!set) return set.error();
    made->measurement = std::move(*set);
  }
  made->equalize = request.equalize;
  made->correct_bias = request.bias_correct;
  if (!request.smooth.empty()) {
    made->smooth = number_from_text<double>(request.smooth);
    if (!made->smooth || !(*made->smooth >= 0 && *made->smooth <= 1))
      return Error{"a strength from 0 to 1 was expected", "--smooth " + request.smooth,
                   "for example --smooth 0.5"};
  }
  if (made->plan.ranges && (made->equalize || made->smooth))
    return Error{"these repairs change the tensors that the table has ranges of",
                 fmt::format("--ranges {} {}", made->plan.ranges->path,
                             made->equalize ? "--equalize" : "--smooth"),
                 "leave one of them out"};
  made->layers = request.layers;
  made->profile = request.profile;
  made->directory = request.directory.empty() ? "quant" : request.directory;
  made->ranges_file = request.ranges_file;
  if (const auto& file = made->ranges_file;
      !file.empty() && file.extension() != ".json" && file.extension() != ".cache")
    return Error{"the extension tells the form of the table",
                 "--write-ranges " + request.ranges_file, "name it .json or .cache"};
  return made;
}

std::string how_text(const quant::QuantizeOptions& options) {
  const quant::Settings& settings = options.settings;
  if (settings.block)
    return fmt::format("weights of MatMul only, int4 in blocks of {}", *settings.block);
  return fmt::format("{}, weights by {}, {}", quant::text_of(settings.precision),
                     settings.per_channel ? "channel" : "tensor",
                     quant::text_of(settings.observer));
}

void tell_quantized(const quant::Quantized& done, const quant::QuantizeOptions& options,
                    const quant::QuantizeJob& job) {
  fmt::print("{}: {} and {} quantized ({}) on {} of {} samples\n", options.model.path.string(),
             counted(done.layers, "layer"), counted(done.tensors, "tensor"), how_text(options),
             done.calibration_samples.size(), done.calibration_found);
  if (const auto& table = options.plan.ranges)
    fmt::print("  {} ({}): ranges of {}\n", table->path, table->tool,
               counted(done.given, "tensor"));
  for (const quant::LayerRequest& request : options.requests) {
    const bool names_them = request.where.find(request.selector) != std::string::npos;
    fmt::print("  {}{}: {} for {}\n", request.where, names_them ? "" : ", " + request.selector,
               quant::text_of(request.precision), counted(request.layers, "layer"));
  }
  for (const quant::Repair& repair : done.repairs)
    fmt::print("  {}: {:.1f} dB at the outputs, {:.1f} before; {}\n", repair.name, repair.after_db,
               repair.before_db, repair.is_kept() ? "kept" : "not kept");
  const auto& left = job.lab().plan().left_float;
  if (!left.empty())
    fmt::print("  left in float: {}{}\n", left[0],
               left.size() > 1 ? fmt::format(" and {} more, see quant.json", left.size() - 1) : "");
}

void tell_blame(const quant::Blame& blame) {
  fmt::print(
      "advice   weights alone give {:.1f} dB at the outputs, activations alone {:.1f} dB{}{}; "
      "`plumb tune`\n         finds the layers that need it\n",
      blame.weights_db, blame.activations_db, blame.advice.empty() ? "" : ": ", blame.advice);
}

}  // namespace

int run_quantize(int argc, char** argv, RunContext& context) {
  Options options(
      "quantize",
      "Calibrate a float model, quantize it, and measure what that costs: writes\n"
      "model_fakequant.onnx (the simulation), model_qdq.onnx (integer weights), quant.json,\n"
      "quant_graph.json, config.expanded.json and result.json.",
      "examples\n"
      "  plumb quantize model.onnx --calib photos/ --mean 123.7,116.3,103.5 --std 58.4,57.1,57.4\n"
      "  plumb quantize model.onnx --config config.prototxt --measure test/ -o int8/\n"
      "  plumb quantize model.onnx --calib data/ --method mse --layer 'conv1=a16w8'\n"
      "exit status: 0 the error is within limits, 1 it is not, 2 trouble, 130 interrupted");
  QuantizeRequest request;
  declare_quantize_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  context.jobs = request.common.jobs;
  auto made = options_of(request, context);
  if (!made) return fail_with(made.error());
  const NamedPath outputs[] = {{"--write-ranges", request.ranges_file}};
  const NamedPath inputs[] = {
      {"MODEL", made->model.path.string()},
      {"--ranges", made->plan.ranges ? std::string(made->plan.ranges->path) : ""}};
  if (auto fine = check_outputs(outputs, inputs); !fine) return fail_with(fine.error());
  const auto lock = DirectoryLock::make_empty(made->directory, "-o");
  if (!lock) return fail_with(lock.error());
  auto job = quant::QuantizeJob::open(*made);
  if (!job) return fail_with(job.error());
  print_warnings((*job)->calibration_samples(), request.common);
  const input::Samples* measured = (*job)->measurement_samples();
  const size_t samples = (*job)->calibration_samples().size() +
                         (measured == nullptr ? (*job)->calibration_samples() : *measured).size();
  std::optional<Result<quant::Quantized>> done;
  {
    ProgressBar bar(context, request.common, static_cast<int64_t>(samples), "samples");
    done = (*job)->run(context);
  }
  if (context.cancelled) return kInterrupted;
  if (!*done) return fail_with(done->error());
  const quant::Quantized& quantized = **done;
  for (const std::string& warning : quantized.warnings) print_warning(warning);
  if (quantized.problem) return fail_with(*quantized.problem);
  if (!request.common.quiet) {
    tell_quantized(quantized, (*job)->options(), **job);
    OutputOptions style;
    style.colour = request.colour;
    fmt::print("{}", report::score_table(quantized.run,
                                         {terminal_width(), wants_colour(style), request.all}));
    if (quantized.blame) tell_blame(*quantized.blame);
  }
  return exit_status(quantized.run, {});
}

}  // namespace plumb::cli
