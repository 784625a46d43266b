// SPDX-License-Identifier: Apache-2.0
//
// `plumb run TARGET GOLDEN`: feeds two models the same bytes and compares what they give, or every
// layer. A directory of results can stand for either model.
#include "replay/run.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/circumstance_options.h"
#include "cli/engine_options.h"
#include "cli/expect.h"
#include "cli/input_options.h"
#include "cli/output_options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/tolerance_options.h"
#include "engine/engine.h"
#include "judge/profile.h"
#include "report/score_table.h"

namespace plumb::cli {
namespace {

struct RunRequest {
  std::vector<std::string> paths, allowed;
  replay::RunOptions run;
  std::string target_optimization = "disabled", golden_optimization = "disabled";
  InputOptions inputs;
  EngineOptions limits;
  ToleranceOptions tolerance;
  CircumstanceOptions circumstances;
  bool expect = false;
  OutputOptions output;
  CommonOptions common;
};

void declare_run_options(Options& options, RunRequest& request) {
  replay::RunOptions& run = request.run;
  options.arguments("TARGET GOLDEN", request.paths,
                    "models (.onnx, .prototxt) or directories of results: a\ngt folder, a dump, "
                    "the .bin files of a board");
  request.inputs.declare(options);
  options.text("--target-config", "FILE", run.target.config,
               "--config of the target alone, where the two are fed\ndifferently: uint8 NHWC "
               "against float NCHW");
  options.text("--golden-config", "FILE", run.golden.config, "... and of golden");
  options.group("running");
  options.text("--layers", "WHICH", run.layers, "outputs (default) or all");
  options.suggest([] { return std::vector<std::string>{"outputs", "all"}; });
  options.texts("--op,--ops", "PATTERN", run.ops,
                "only layers of operators whose name matches: 'conv*'");
  options.choice("--target-optimization,--target-opt", "LEVEL", request.target_optimization,
                 {"disabled", "basic", "extended", "all"}, "what the target's engine may fuse");
  options.choice("--golden-optimization,--golden-opt", "LEVEL", request.golden_optimization,
                 {"disabled", "basic", "extended", "all"}, "... and golden's (default: disabled)");
  options.text("--target-engine", "NAME", run.target.engine, "onnxruntime or opencv");
  options.suggest([] { return names_in(engine::engines()); });
  options.text("--golden-engine", "NAME", run.golden.engine, "onnxruntime or opencv");
  options.suggest([] { return names_in(engine::engines()); });
  options.text("--target-weights", "FILE", run.target.weights, "of a Caffe network");
  options.text("--golden-weights", "FILE", run.golden.weights, "of a Caffe network");
  options.count("--threads", "N", run.threads, "threads of the engines (default: 1)");
  options.count("--batch-outputs", "N", run.batch_outputs, "tensors held in memory at a time");
  request.limits.declare(options);
  options.flag("--expect", request.expect,
               "TARGET holds ONNX test cases: run each and compare with\nwhat its data expect");
  options.group("judging");
  options.text("--profile", "NAME", run.profile,
               "limits that decide pass or fail (see `plumb profiles`;\ndefault: by what is "
               "compared)");
  options.suggest([] { return names_in(judge::built_in_profiles()); });
  request.tolerance.declare(options);
  options.text("--precision", "TYPE", run.precision,
               "what the target computes in, if that is coarser than it\nstores: tf32, float16 or "
               "bfloat16");
  options.suggest([] { return std::vector<std::string>{"tf32", "float16", "bfloat16"}; });
  options.text(
      "--labels", "FILE", run.labels,
      "right classes of the samples: lines of CLASS or of\nFILE,CLASS, or labels of MNIST");
  options.texts("--allow", "WHAT", request.allowed,
                "'inconclusive' or 'missing' rows are no failure");
  options.suggest([] { return std::vector<std::string>{"inconclusive", "missing"}; });
  request.circumstances.declare(options);
  request.output.declare(options);
  options.flag("--details", run.details,
               "keep histograms, errors by channel, heat maps and worst\nelements in the result "
               "(always if a page is written)");
  options.text("--gt", "NAME", run.gt,
               "which results of a gt folder: joint (default against a\nboard, bit for bit), onnx "
               "(default against a model)");
  options.suggest([] { return std::vector<std::string>{"joint", "onnx"}; });
  options.text("--output-gt", "DIR", run.output_gt,
               "write inputs and outputs as a gt folder of Pulsar");
  options.text("--keep", "DIR", run.keep, "keep the tensors of both sides, as dumps");
  request.common.declare(options);
}

// Test cases bring their own inputs and outputs: most options have nothing to say there.
Result<void> check_expect(const std::vector<std::string>& given) {
  constexpr std::string_view kKnown[] = {
      "--expect",        "--target-engine",  "--target-optimization",
      "--engine-memory", "--engine-timeout", "--profile",
      "--all",           "--color",          "--jobs",
      "--quiet",         "--no-progress"};
  for (const std::string& option : given)
    if (std::find(std::begin(kKnown), std::end(kKnown), option) == std::end(kKnown))
      return Error{fmt::format("{} does not apply to test cases", option), "plumb run --expect",
                   "leave it out; --target-engine, --target-optimization, --profile and --all do"};
  return {};
}

Result<void> check_run_request(const RunRequest& request, const std::vector<std::string>& given) {
  const size_t needed = request.expect ? 1 : 2;
  if (request.paths.size() != needed)
    return request.expect ? wrong_paths("one path is", request.paths, "plumb run --expect",
                                        "name the directory of the test cases")
                          : wrong_paths("two paths are", request.paths, "plumb run",
                                        "name the target and the golden side");
  if (request.expect) return check_expect(given);
  if (auto checked = request.output.check(); !checked) return checked;
  if (auto allowed = judge::allowance_from(request.allowed); !allowed) return allowed.error();
  std::vector<NamedPath> inputs = request.circumstances.paths();
  for (const std::string& path : request.paths) inputs.push_back({"TARGET or GOLDEN", path});
  return check_outputs(request.output.paths(), inputs);
}

int run_cases(const RunRequest& request, RunContext& context) {
  replay::ExpectOptions options;
  if (!request.run.target.engine.empty()) options.engine = request.run.target.engine;
  if (!request.run.profile.empty()) options.profile = request.run.profile;
  options.optimization = request.run.target.optimization;
  options.limits = request.run.limits;
  return run_expect(request.paths[0], options, request.output.all, request.common, context);
}

// A report on the screen and in files.
int present_ran(const replay::Ran& ran, const RunRequest& request, const RunContext& context) {
  if (!print_json(ran.run, request.output))
    fmt::print("{}", report::score_table(ran.run, {terminal_width(), wants_colour(request.output),
                                                   request.output.all, request.output.hints}));
  if (const bool all_written = write_files(ran.run, request.output); !all_written || ran.problem)
    return context.cancelled ? kInterrupted : kTrouble;
  return exit_status(ran.run, request.allowed);
}

int run_models(RunRequest& request, RunContext& context) {
  request.run.target.path = request.paths[0];
  request.run.golden.path = request.paths[1];
  request.run.inputs = request.inputs;
  auto job = replay::ModelRun::open(request.run);
  if (!job) return fail_with(job.error());
  if (job->samples() != nullptr) print_warnings(*job->samples(), request.common);
  if (job->other_samples() != nullptr) {
    const auto& told = job->samples()->warnings();
    for (const std::string& warning : job->other_samples()->warnings())
      if (std::find(told.begin(), told.end(), warning) == told.end()) print_warning(warning);
  }
  std::optional<replay::Ran> ran;
  {
    const auto samples = job->samples() != nullptr ? std::ssize(*job->samples()) : 0;
    ProgressBar bar(context, request.common, samples, samples > 0 ? "samples" : "");
    ran = job->run(context);
  }
  if (ran->problem && ran->run.rows.empty()) {
    print_error(*ran->problem);
    return context.cancelled ? kInterrupted : kTrouble;
  }
  if (ran->problem && !context.cancelled) print_error(*ran->problem);  // what was compared is told
  return present_ran(*ran, request, context);
}

}  // namespace

int run_run(int argc, char** argv, RunContext& context) {
  Options options(
      "run", "Run two models on the same input and compare what they compute.",
      "examples\n"
      "  plumb run quantized.onnx float.onnx --input photo.jpg --config config.prototxt\n"
      "  plumb run model.onnx model.onnx --target-optimization all --layers all --seed 1\n"
      "  plumb run board_out/ gt/            (files of run_joint against a gt folder)\n"
      "  plumb run deploy.prototxt model.onnx --input photos/ --labels labels.csv\n"
      "exit status: 0 all within limits, 1 some tensor is not or was not compared, 2 trouble,\n"
      "130 interrupted");
  RunRequest request;
  declare_run_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  request.allowed = split_lists(request.allowed);
  request.run.target.optimization = *engine::optimization_from_text(request.target_optimization);
  request.run.golden.optimization = *engine::optimization_from_text(request.golden_optimization);
  if (auto checked = check_run_request(request, options.given()); !checked)
    return fail_with(checked.error());
  if (auto set = request.tolerance.set(request.run.atol, request.run.rtol); !set)
    return fail_with(set.error());
  request.run.details |= request.output.have_page();
  context.jobs = request.common.jobs;
  auto limits = request.limits.limits(context);
  if (!limits) return fail_with(limits.error());
  request.run.limits = *limits;
  request.run.invocation = {command_again(argc, argv, {"--json", "-o", "--layers", "--keep"}),
                            result_file(request.output)};
  auto told = guide::circumstances_from(request.circumstances);
  if (!told) return fail_with(told.error());
  request.run.circumstances = std::move(*told);
  return request.expect ? run_cases(request, context) : run_models(request, context);
}

}  // namespace plumb::cli
