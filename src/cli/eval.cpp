// SPDX-License-Identifier: Apache-2.0
//
// `plumb eval MODEL...`: how often models name the right class, side by side.
#include "replay/eval.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/number_from_text.h"
#include "cli/engine_options.h"
#include "cli/input_options.h"
#include "cli/output_check.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "report/table.h"

namespace plumb::cli {
namespace {

using replay::EvalModel;
using replay::EvalResult;
using replay::EvalTop;
using replay::LossVerdict;
using report::printable;

struct EvalRequest {
  std::vector<std::string> models, weights, data;
  std::string golden, engine, optimization = "disabled", max_drop, json;
  int samples = 0;
  replay::EvalOptions eval;
  InputOptions inputs;
  EngineOptions limits;
  CommonOptions common;
};

void declare_eval_options(Options& options, EvalRequest& request) {
  options.arguments("MODEL...", request.models,
                    "models (.onnx, .prototxt) or directories of results, one\nfolder for each "
                    "sample; the last is golden");
  options.texts("--data", "[NAME=]SET", request.data,
                "samples, as -i: a directory (folders of classes, too),\n@list.txt, MNIST's file");
  options.text("--labels", "FILE", request.eval.labels,
               "right classes: lines of FILE,CLASS (comma, tab, space) or\nof CLASS, MNIST's file; "
               "'folder' or 'name': in the paths");
  options.suggest([] { return std::vector<std::string>{"folder", "name"}; });
  options.text("--classes", "FILE", request.eval.classes,
               "a line for each class, if labels are words");
  options.group("judging");
  options.text("--golden", "MODEL", request.golden, "the reference, if it is not the last model");
  options.integers("--top", "N", request.eval.tops,
                   "the right class among the first N (default: 1,5)");
  options.text("--max-drop", "PERCENT", request.max_drop,
               "loss that is allowed (default: 1; three times that is\nsevere)");
  options.text("--scores", "NAME", request.eval.scores,
               "output with the scores of the classes (default: the\nfirst that looks like it)");
  options.count("--samples", "N", request.samples, "only the first N");
  request.inputs.declare(options);
  options.group("running");
  options.text("--engine", "NAME", request.engine, "onnxruntime or opencv, for all models");
  options.suggest([] { return names_in(engine::engines()); });
  options.choice("--optimization,--opt", "LEVEL", request.optimization,
                 {"disabled", "basic", "extended", "all"}, "what engines may fuse");
  options.texts("--weights", "FILE", request.weights, "of Caffe networks, in their order");
  options.count("--threads", "N", request.eval.threads, "threads of each engine (default: 1)");
  request.limits.declare(options);
  options.group("output");
  options.text(
      "-o,--output", "DIR", request.eval.output,
      "keep eval.json, samples.csv and a journal there: the same\ncommand goes on where it "
      "was stopped");
  options.flag("--fresh", request.eval.fresh, "start anew, whatever is there");
  options.text("--json", "FILE", request.json, "write the result as JSON; - for stdout");
  request.common.declare(options);
}

// The last model, or the one that is named; it need not stand among the others.
size_t golden_of(EvalRequest& request) {
  if (request.golden.empty()) return request.models.size() - 1;
  const auto found = std::find(request.models.begin(), request.models.end(), request.golden);
  const auto place = static_cast<size_t>(found - request.models.begin());
  if (found == request.models.end()) request.models.push_back(request.golden);
  return place;
}

Result<void> set_models(EvalRequest& request) {
  size_t used = 0;
  for (const std::string& path : request.models) {
    replay::RunSideOptions side;
    side.path = path;
    side.engine = request.engine;
    side.optimization = *engine::optimization_from_text(request.optimization);
    if (path.ends_with(".prototxt") && used < request.weights.size())
      side.weights = request.weights[used++];
    request.eval.models.push_back(std::move(side));
  }
  if (used < request.weights.size())
    return Error{"these weights are of no model", "--weights " + request.weights[used],
                 "give one for each .prototxt, in their order"};
  return {};
}

Result<void> set_limits(EvalRequest& request) {
  for (const int64_t n : request.eval.tops)
    if (n < 1) return Error{"the first how many?", fmt::format("--top {}", n), "--top 1,5"};
  std::sort(request.eval.tops.begin(), request.eval.tops.end());
  request.eval.tops.erase(std::unique(request.eval.tops.begin(), request.eval.tops.end()),
                          request.eval.tops.end());
  if (request.max_drop.empty()) return {};
  const auto percent = number_from_text<double>(request.max_drop);
  if (!percent || !(*percent > 0 && *percent < 100))
    return Error{"the loss is no number of percent", "--max-drop " + request.max_drop,
                 "--max-drop 1"};
  request.eval.limits = {*percent / 100, 3 * *percent / 100};
  return {};
}

Result<void> settle(EvalRequest& request, const RunContext& context) {
  request.eval.golden = golden_of(request);
  if (auto set = set_models(request); !set) return set;
  if (auto set = set_limits(request); !set) return set;
  auto limits = request.limits.limits(context);
  if (!limits) return limits.error();
  request.eval.engine_limits = *limits;
  request.eval.most_samples = request.samples;
  request.eval.inputs = request.inputs;
  if (request.inputs.inputs.empty()) request.eval.inputs.option = "--data";
  for (const std::string& set : request.data) request.eval.inputs.inputs.push_back(set);
  const NamedPath outputs[] = {{"--json", request.json == "-" ? "" : request.json}};
  std::vector<NamedPath> inputs{{"--labels", request.eval.labels}};
  for (const std::string& model : request.models) inputs.push_back({"MODEL", model});
  return check_outputs(outputs, inputs);
}

std::string percent(int64_t part, int64_t all) {
  return all == 0
             ? "-"
             : fmt::format("{:.2f}", 100.0 * static_cast<double>(part) / static_cast<double>(all));
}

std::string_view colour_of_model(const EvalModel& model) {
  if (model.is_golden) return "";
  return model.verdict == LossVerdict::kPass           ? "32"
         : model.verdict == LossVerdict::kInconclusive ? "33"
                                                       : "31";
}

void print_table(const EvalResult& result) {
  report::Table table;
  table.columns = {{"model", false, 9, true}};
  for (const EvalTop& top : result.models[0].tops) {
    table.columns.push_back({fmt::format("top-{} %", top.n), true, 9});
    table.columns.push_back({"delta", true, 8});
    table.columns.push_back({"95 % interval", true, 7});
  }
  for (const auto& [title, importance] : {std::pair{"agree %", 8}, {"ties", 5}, {"verdict", 9}})
    table.columns.push_back({title, std::string_view(title) != "verdict", importance});
  for (const EvalModel& model : result.models) {
    std::vector<std::string> cells{printable(model.path)};
    for (const EvalTop& top : model.tops) {
      const bool is_paired = !model.is_golden && model.labelled > 0;
      cells.push_back(percent(top.right, model.labelled));
      cells.push_back(is_paired ? fmt::format("{:+.2f}", top.loss.delta * 100) : "");
      cells.push_back(
          is_paired ? fmt::format("[{:+.2f}, {:+.2f}]", top.loss.low * 100, top.loss.high * 100)
                    : "");
    }
    cells.push_back(percent(model.agree, model.samples));
    cells.push_back(std::to_string(model.ties));
    cells.push_back(model.is_golden ? "golden" : std::string(name_of(model.verdict)));
    table.rows.push_back(std::move(cells));
    if (colour_is_wanted()) table.colours.push_back(colour_of_model(model));
  }
  fmt::print("{}", table.render(terminal_width()));
}

// What a person should know of a model beside its line.
void print_details(const EvalModel& model, const EvalResult& result) {
  constexpr size_t kShown = 5;
  fmt::print("\n{}: {}\n", printable(model.path), printable(model.reason));
  if (model.labelled > 0 && !model.tops.empty()) {
    const EvalTop& top = model.tops[0];
    fmt::print("  flips in top-{}: right to wrong {}, wrong to right {} (McNemar p = {:.2g})\n",
               top.n, top.flips.lost, top.flips.gained, top.loss.p);
  }
  if (model.pearson && model.sqnr_db)
    fmt::print("  scores against golden's: mean Pearson {:.5f}, mean SQNR {:.1f} dB\n",
               *model.pearson, *model.sqnr_db);
  if (model.nan > 0)
    fmt::print("  {} with NaN among the scores\n",
               counted(static_cast<size_t>(model.nan), "sample"));
  for (size_t i = 0; i < std::min(kShown, model.worst_classes.size()); ++i) {
    const auto& loss = model.worst_classes[i];
    fmt::print("{}{} ({} of {} lost)", i == 0 ? "  worst classes: " : ", ", loss.label,
               loss.flips.lost, loss.flips.samples);
  }
  if (!model.worst_classes.empty()) fmt::print("\n");
  for (size_t i = 0; i < std::min(kShown, model.bad_cases.size()); ++i) {
    const auto& bad = model.bad_cases[i];
    fmt::print("{}{} ({} instead of {})", i == 0 ? "  bad cases: " : ", ",
               printable(result.names[bad.sample]), bad.first, bad.golden_first);
  }
  if (model.bad_cases.size() > kShown) fmt::print(", and {} more", model.bad_cases.size() - kShown);
  if (!model.bad_cases.empty()) fmt::print("\n");
}

void print_evaluation(const EvalResult& result, bool has_labels) {
  fmt::print("{}, {} classes{}\n\n", counted(static_cast<size_t>(result.evaluated), "sample"),
             result.classes, has_labels ? "" : ", no labels");
  print_table(result);
  for (const EvalModel& model : result.models)
    if (!model.is_golden) print_details(model, result);
  if (!result.failures.empty()) {
    fmt::print("\n{} could not be evaluated:\n", counted(result.failures.size(), "sample"));
    constexpr size_t kShown = 10;
    for (size_t i = 0; i < std::min(kShown, result.failures.size()); ++i) {
      const auto& failure = result.failures[i];
      fmt::print("  {}: {}: {}\n", printable(result.names[failure.sample]),
                 printable(failure.error.what), printable(failure.error.where));
    }
    if (result.failures.size() > kShown)
      fmt::print("  ... and {} more (--json lists them)\n", result.failures.size() - kShown);
  }
  if (result.models.size() > 1) fmt::print("\nverdict: {}\n", name_of(result.verdict));
}

int present_evaluated(const replay::Evaluated& made, const EvalRequest& request) {
  const EvalResult& result = made.result;
  if (!request.common.quiet)
    for (const std::string& warning : result.warnings) print_warning(warning);
  const std::string json = to_json(result, request.eval);
  if (request.json == "-")
    fmt::print("{}", json);
  else
    print_evaluation(result, !request.eval.labels.empty());
  if (!request.json.empty() && request.json != "-")
    if (auto written = write_file(request.json, json); !written) return fail_with(written.error());
  const bool is_single = result.models.size() == 1 && result.failures.empty();
  return is_single || (result.models.size() > 1 && result.verdict == LossVerdict::kPass)
             ? kAgreement
             : kDifference;
}

}  // namespace

int run_eval(int argc, char** argv, RunContext& context) {
  Options options(
      "eval", "How often models name the right class, side by side on the same samples.",
      "examples\n"
      "  plumb eval int8.onnx float.onnx --data photos/ --labels labels.csv --config config.json\n"
      "  plumb eval board_out/ float.onnx --data val/ --labels folder --classes synsets.txt\n"
      "  plumb eval a.onnx b.onnx c.onnx --data val/ --labels val.txt -o eval/ --json eval.json\n"
      "exit status: 0 no model lost more than --max-drop, 1 one did or it cannot be told, 2 "
      "trouble,\n"
      "130 interrupted");
  EvalRequest request;
  declare_eval_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  context.jobs = request.common.jobs;
  if (auto settled = settle(request, context); !settled) return fail_with(settled.error());
  auto job = replay::Evaluation::open(request.eval);
  if (!job) return fail_with(job.error());
  if (job->samples() != nullptr) print_warnings(*job->samples(), request.common);
  std::optional<replay::Evaluated> made;
  {
    ProgressBar bar(context, request.common, job->remaining(), "samples");
    made = job->run(context);
  }
  if (made->problem) {
    if (context.cancelled && made->result.evaluated > 0)  // what is known so far
      print_evaluation(made->result, !request.eval.labels.empty());
    print_error(*made->problem);
    return context.cancelled ? kInterrupted : kTrouble;
  }
  return present_evaluated(*made, request);
}

}  // namespace plumb::cli
