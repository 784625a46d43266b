// SPDX-License-Identifier: Apache-2.0
//
// `plumb convert PATH... -o DIR`: decodes tensors to npy, npz, bin or safetensors, in plain order.
// `plumb convert NET.prototxt -o FILE.onnx`: a Caffe network as an ONNX model.
#include "scan/convert.h"

#include <set>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "graph/caffe_onnx.h"
#include "tensor/layout/layout.h"

namespace plumb::cli {
namespace {

void print_convert_report(const scan::ConvertReport& report, const std::string& output,
                          bool quiet) {
  // What hinders every file, such as a directory that cannot be made, is said once.
  std::set<std::pair<std::string_view, std::string_view>> told;
  for (const Error& error : report.failures)
    if (told.insert({error.what, error.where}).second) print_error(error);
  if (quiet || report.written == 0) return;
  fmt::print("{} written to {} ({})", counted(static_cast<size_t>(report.written), "tensor"),
             output, bytes_text(static_cast<double>(report.bytes)));
  if (!report.failures.empty()) fmt::print(", {} failed", report.failures.size());
  if (report.left_out > 0)
    fmt::print(", {} left out (`plumb inspect --json` says why)", counted(report.left_out, "file"));
  fmt::print("\n");
}

struct ConvertRequest {
  std::vector<std::string> paths;
  scan::ConvertOptions convert;
  SelectionOptions selecting;
  CommonOptions common;
  std::string weights;
  bool every_blob = false;
};

void declare_convert_options(Options& options, ConvertRequest& request) {
  options.arguments("PATH...", request.paths,
                    "files or directories, or the .prototxt of a Caffe network");
  options.group("output");
  options.text("-o,--output", "DIR", request.convert.output,
               "directory for the results; of a network FILE.onnx");
  options.text("--format", "NAME", request.convert.format,
               "npy (default), npz, bin or safetensors");
  options.suggest([] { return std::vector<std::string>{"npy", "npz", "bin", "safetensors"}; });
  options.text("--layout", "NAME", request.convert.layout,
               "plain (default: row-major, logical shape), stored (as\n"
               "in the file), or a layout such as NCHW or FRACTAL_Z");
  options.suggest([] {
    std::vector<std::string> names = layout_names();
    names.insert(names.begin(), {"plain", "stored"});
    return names;
  });
  options.text("--weights", "FILE", request.weights,
               ".caffemodel of the network (default: beside it)");
  options.flag("--every-blob", request.every_blob,
               "a BatchNorm of it and the Scale behind stay apart");
  request.selecting.declare(options);
  request.common.declare(options);
}

int convert_network(const std::string& path, const std::string& weights,
                    const graph::CaffeTranslation& how, const std::string& output, bool quiet) {
  if (!output.ends_with(".onnx"))
    return fail_with({"a Caffe network becomes one ONNX file", "-o " + output, "-o model.onnx"});
  const NamedPath outputs[] = {{"-o", output}};
  const NamedPath inputs[] = {{"PATH", path}, {"--weights", weights}};
  if (auto fine = check_outputs(outputs, inputs); !fine) return fail_with(fine.error());
  const auto model = graph::translate_caffe(path, weights, how);
  if (!model) return fail_with(model.error());
  const std::string text = graph::write_onnx(*model);
  if (auto written = write_file(output, text); !written) return fail_with(written.error());
  if (!quiet)
    fmt::print("{} and {} written to {} ({})\n", counted(model->graph.nodes.size(), "node"),
               counted(model->graph.initializers.size(), "constant"), output,
               bytes_text(static_cast<double>(text.size())));
  return kAgreement;
}

}  // namespace

int run_convert(int argc, char** argv, RunContext& context) {
  Options options(
      "convert",
      "Decode tensor files and dumps to npy, npz, bin or safetensors; translate a Caffe network\n"
      "to ONNX.",
      "Dumps become F.input.K.npy and F.output.K.npy, containers F.KEY.npy, overflow records\n"
      "F.output.K.json. Names that are too long are shortened and listed in mapping.csv.\n\n"
      "examples\n"
      "  plumb convert npu_dump/ -o npy/\n"
      "  plumb convert Conv2D.conv1.3.17.1682931245 -o npy/ --slot output:0 --layout NHWC\n"
      "  plumb convert checkpoint.pt -o out/ --format safetensors\n"
      "  plumb convert deploy.prototxt -o model.onnx\n"
      "exit status: 0 all converted, 1 some tensor failed, 2 nothing converted or a path is "
      "unreadable");
  ConvertRequest request;
  declare_convert_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  scan::ConvertOptions& wanted = request.convert;
  const bool quiet = request.common.quiet;
  if (wanted.output.empty())
    return fail_with({"where should the results go?", "plumb convert", "name a directory: -o DIR"});
  if (request.paths.size() == 1 && graph::is_caffe_network(request.paths[0]))
    return convert_network(request.paths[0], request.weights, {!request.every_blob}, wanted.output,
                           quiet);
  if (!request.weights.empty())
    return fail_with({"weights are not converted by themselves", "--weights " + request.weights,
                      "name its prototxt: plumb convert deploy.prototxt --weights FILE"});
  auto read = request.selecting.request();
  if (!read) return fail_with(read.error());
  wanted.read = std::move(*read);
  context.jobs = request.common.jobs;
  auto conversion = scan::Conversion::plan(request.paths, wanted, context);
  if (!conversion) return fail_with(conversion.error());
  if (!quiet)
    for (const std::string& warning : conversion->warnings()) print_warning(warning);
  if (auto any = conversion->check(); !any) return fail_with(any.error());
  scan::ConvertReport report;
  {
    ProgressBar bar(context, request.common, conversion->source_bytes());
    report = conversion->run(context);
  }
  print_convert_report(report, wanted.output, quiet);
  if (wanted.format == "bin" && report.written > 0 && !quiet)
    print_warning(
        "bin keeps neither types nor shapes: `plumb compare` needs --dtype and --shape to read it; "
        "npy, npz and safetensors it reads as they are");
  if (report.written == 0 || report.is_path_unreadable) return kTrouble;
  return report.failures.empty() ? kAgreement : kDifference;
}

}  // namespace plumb::cli
