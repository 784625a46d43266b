// SPDX-License-Identifier: Apache-2.0
//
// `plumb diff TARGET GOLDEN`: two models without running them.
#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/number_from_text.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "cli/terminal.h"
#include "graph/caffe_onnx.h"
#include "pair/model_alignment.h"
#include "report/model_diff_text.h"

namespace plumb::cli {
namespace {

using graph::DiffGrade;
using graph::ModelDiff;

struct DiffRequest {
  std::vector<std::string> models;
  std::string target_weights, golden_weights, tolerance, json;
  std::vector<std::string> allow;
  bool all = false;
};

Result<double> tolerance_from(const std::string& text) {
  if (text.empty()) return 0.0;
  const auto value = number_from_text<double>(text);
  if (!value || !(*value >= 0))
    return Error{"the tolerance is no number of 0 or more", "--tolerance " + text,
                 "--tolerance 1e-6"};
  return *value;
}

// Of a Caffe network and an ONNX model the network is translated.
Result<void> make_alike(graph::ModelContent& target, graph::ModelContent& golden,
                        const DiffRequest& request) {
  if (target.graph.format == golden.graph.format) return {};
  const bool is_target = target.graph.format == "prototxt";
  auto translated = is_target
                        ? graph::translated_content(request.models[0], request.target_weights)
                        : graph::translated_content(request.models[1], request.golden_weights);
  if (!translated) return translated.error();
  (is_target ? target : golden) = std::move(*translated);
  return {};
}

}  // namespace

int run_diff(int argc, char** argv, RunContext&) {
  Options options(
      "diff", "Compare two models without running them: operators, attributes, weights.",
      "examples\n"
      "  plumb diff converted.onnx original.onnx\n"
      "  plumb diff new.prototxt old.prototxt --golden-weights old/v2.caffemodel\n"
      "  plumb diff converted.onnx deploy.prototxt\n"
      "  plumb diff optimised.onnx original.onnx --all --json diff.json\n"
      "exit status: 0 the same, 1 different or only a run can tell, 2 a model is unreadable");
  DiffRequest request;
  options.arguments("TARGET GOLDEN", request.models, "models: .onnx, or .prototxt of Caffe", false);
  options.text("--target-weights", "FILE", request.target_weights,
               ".caffemodel of the target (default: beside it)");
  options.text("--golden-weights", "FILE", request.golden_weights, "likewise");
  options.text(
      "--tolerance", "X", request.tolerance,
      "weights whose difference has a relative norm of at most\nX are the same (default: 0)");
  options.texts("--allow", "WORD", request.allow,
                "unverified: what only a run can tell is no difference");
  options.suggest([] { return std::vector<std::string>{"unverified"}; });
  options.group("output");
  options.flag("--all", request.all, "also what changes nothing, and lists of any length");
  options.text("--json", "FILE", request.json, "write it as JSON; - for stdout");
  if (auto status = options.parse(argc, argv)) return *status;
  if (request.models.size() != 2)
    return fail_with({"two models are compared", fmt::format("{} given", request.models.size()),
                      "plumb diff converted.onnx original.onnx"});
  for (const std::string& word : request.allow)
    if (word != "unverified")
      return fail_with({"unknown word '" + word + "'", "--allow " + word, "--allow unverified"});
  const auto tolerance = tolerance_from(request.tolerance);
  if (!tolerance) return fail_with(tolerance.error());
  const NamedPath outputs[] = {{"--json", request.json == "-" ? "" : request.json}};
  const NamedPath inputs[] = {{"TARGET", request.models[0]},
                              {"GOLDEN", request.models[1]},
                              {"--target-weights", request.target_weights},
                              {"--golden-weights", request.golden_weights}};
  if (auto fine = check_outputs(outputs, inputs); !fine) return fail_with(fine.error());

  auto target = graph::load_content(request.models[0], request.target_weights);
  if (!target) return fail_with(target.error());
  auto golden = graph::load_content(request.models[1], request.golden_weights);
  if (!golden) return fail_with(golden.error());
  if (auto alike = make_alike(*target, *golden, request); !alike) return fail_with(alike.error());
  const auto alignment = pair::align_models(target->graph, golden->graph);
  const ModelDiff diff = graph::diff_models(*target, *golden, alignment, {*tolerance});
  const std::string json = to_json(diff, {request.models[0], request.models[1]});
  if (request.json == "-")
    fmt::print("{}", json);
  else
    fmt::print("{}", report::model_diff_text(diff, {request.models[0], request.models[1]},
                                             request.all, colour_is_wanted()));
  if (!request.json.empty() && request.json != "-")
    if (auto written = write_file(request.json, json); !written) return fail_with(written.error());
  const bool is_fine =
      request.allow.empty() ? diff.is_same() : diff.count(DiffGrade::kDifferent) == 0;
  return is_fine ? kAgreement : kDifference;
}

}  // namespace plumb::cli
