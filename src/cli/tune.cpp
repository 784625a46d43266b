// SPDX-License-Identifier: Apache-2.0
//
// `plumb tune MODEL --calib SET --data SET --target sqnr:30`: the cheapest mixed precision that
// reaches a target.
#include "quant/tune.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <tbb/info.h>

#include "base/directory_lock.h"
#include "base/file_sink.h"
#include "base/number_from_text.h"
#include "cli/lab_options.h"
#include "cli/output_options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "report/plot.h"

namespace plumb::cli {
namespace {

struct TuneRequest {
  LabOptions lab;
  std::vector<std::string> data;
  std::string data_size = "16", target = "sqnr:30", precisions = "a8w8,a16w8,a16w16,float",
              methods = "minmax,average,mse,pct:99.99,kl", most_cost, directory, labels, classes;
  int most_layers = 0;
  bool fresh = false;
  CommonOptions common;
};

void declare_tune_options(Options& options, TuneRequest& request) {
  options.arguments("MODEL", request.lab.paths, "the float model, an .onnx or a Caffe .prototxt");
  options.text("-o", "DIR", request.directory,
               "where the best model and the search go; if it holds the\njournal of the same "
               "search, that goes on (default: tuned)");
  request.lab.declare_samples(options);
  options.texts("--data", "[NAME=]SET", request.data,
                "what trials are measured with (default: the samples of the\ncalibration)");
  options.text("--data-size", "N", request.data_size, "so many of them (default: 16)");
  options.group("searching");
  options.text("--target", "WHAT:N", request.target,
               "sqnr:30 (default, dB), cos:0.999 or agree:0.98, at the\noutputs; drop:1, points of "
               "top-1 with --labels");
  options.text(
      "--labels", "FILE", request.labels,
      "right classes of the data, as `plumb eval` takes them:\nlines of FILE,CLASS; 'folder' "
      "or 'name': in the paths");
  options.suggest([] { return std::vector<std::string>{"folder", "name"}; });
  options.text("--classes", "FILE", request.classes, "a line for each class, if labels are words");
  options.text("--precisions", "LIST", request.precisions,
               "narrowest first (default: a8w8,a16w8,a16w16,float)");
  options.suggest([] { return std::vector<std::string>{"a8w8", "a16w8", "a16w16", "float"}; });
  options.text(
      "--methods", "LIST", request.methods,
      "ways to find ranges that are tried first, with weights by\ntensor and by channel unless one "
      "of these is asked for\n(default: minmax,average,mse,pct:99.99,kl)");
  options.suggest([] { return std::vector<std::string>{"minmax", "average", "mse", "kl"}; });
  options.count("--max-layers", "N", request.most_layers, "that may be widened (default: all)");
  options.text("--max-cost", "N", request.most_cost,
               "bytes of weights and activations, relative to all layers\nin the first precision: "
               "1.2");
  options.flag("--fresh", request.fresh, "do not go on with a journal that is there");
  request.lab.declare_quantizing(options);
  request.lab.inputs.declare_pictures(options);
  request.lab.declare_running(options);
  options.group("output");
  request.common.declare(options);
}

Result<quant::TuneOptions> options_of(const TuneRequest& request, const RunContext& context) {
  quant::TuneOptions made;
  auto quantize = request.lab.options(context);
  if (!quantize) return quantize.error();
  made.quantize = std::move(*quantize);
  made.quantize.directory = request.directory.empty() ? "tuned" : request.directory;
  auto data =
      request.lab.set_of(request.data.empty() ? made.quantize.calibration.inputs : request.data,
                         request.data_size, "--data");
  if (!data) return data.error();
  made.data = std::move(*data);
  auto target = quant::target_from_text(request.target);
  if (!target) return target.error();
  made.target = *target;
  made.labels = request.labels;
  made.classes = request.classes;
  if (made.target.kind == quant::Target::Kind::kDrop && made.labels.empty())
    return Error{"a loss of top-1 needs the right classes", "--target " + request.target,
                 "--labels FILE, as `plumb eval` takes it"};
  for (const std::string& word : split_lists({request.precisions})) {
    const auto precision = quant::precision_from_text(word, made.quantize.settings.precision);
    if (!precision)
      return Error{fmt::format("'{}' is no precision of a layer", word),
                   "--precisions " + request.precisions,
                   "use some of a8w4, a8w8, a16w8, a16w16 and float"};
    made.precisions.push_back(*precision);
  }
  made.quantize.settings.precision = made.precisions.front();
  for (const std::string& word : split_lists({request.methods})) {
    auto method = quant::observer_from_text(word, "--methods");
    if (!method) return method.error();
    made.methods.push_back(*method);
  }
  made.tries_both = !request.lab.per_tensor && !request.lab.per_channel && !request.lab.weight_only;
  if (!request.lab.method.empty()) made.methods = {made.quantize.settings.observer};
  if (request.most_layers > 0) made.most_layers = request.most_layers;
  if (!request.most_cost.empty()) {
    made.most_cost = number_from_text<double>(request.most_cost);
    if (!made.most_cost || !(*made.most_cost >= 1))
      return Error{"a factor from 1 on was expected", "--max-cost " + request.most_cost,
                   "for example --max-cost 1.2"};
  }
  const int cores = tbb::info::default_concurrency();
  made.engines = std::min(request.common.jobs > 0 ? request.common.jobs : cores, 4);
  made.is_fresh = request.fresh;
  return made;
}

// The cheapest of each quality: no other step is better and costs less.
bool is_beaten(const quant::Tuned& tuned, const quant::Target& target, const quant::Step& step) {
  const double value = target.of(step.score);
  return std::any_of(tuned.steps.begin(), tuned.steps.end(), [&](const quant::Step& other) {
    const double better = target.of(other.score);
    return &other != &step && better >= value && other.cost <= step.cost &&
           (better > value || other.cost < step.cost);
  });
}

report::Table table_of_steps(const quant::Tuned& tuned, const quant::Target& target, bool all) {
  report::Table table;
  table.columns = {{"step", true, 9},         {"SQNR dB", true, 9}, {"cosine", true, 8},
                   {"agree", true, 8},        {"cost", true, 9},    {"weight bits", true, 6},
                   {"change", false, 9, true}};
  const bool has_drop = tuned.steps[tuned.best].score.labelled > 0;
  if (has_drop) table.columns.insert(table.columns.begin() + 4, {"top-1 lost", true, 9});
  for (size_t i = 0; i < tuned.steps.size(); ++i) {
    const quant::Step& step = tuned.steps[i];
    if (!all && is_beaten(tuned, target, step) && i != tuned.best) continue;
    auto& row = table.rows.emplace_back(std::vector<std::string>{
        fmt::format("{}{}", i, i == tuned.best ? " *" : ""),
        fmt::format("{:.2f}", step.score.sqnr_db()), fmt::format("{:.6f}", step.score.cosine()),
        fmt::format("{:.1f}%", step.score.agreement() * 100), fmt::format("{:.3f}", step.cost),
        fmt::format("{:.2f}", step.weight_bits), report::printable(step.change)});
    if (has_drop) row.insert(row.begin() + 4, fmt::format("{:.2f}%", step.score.drop()));
  }
  return table;
}

// Every step, and those that no other beats joined by a line.
std::string trials_page(const quant::Tuned& tuned, const quant::TuneOptions& options) {
  constexpr std::string_view kTitles[] = {"SQNR in dB", "cosine", "agreement",
                                          "points of top-1 (0: none is lost)"};  // by Kind
  std::vector<report::PlotPoint> points;
  for (size_t i = 0; i < tuned.steps.size(); ++i) {
    const quant::Step& step = tuned.steps[i];
    points.push_back({step.cost, options.target.of(step.score),
                      fmt::format("{}: {}", i, step.change),
                      !is_beaten(tuned, options.target, step), i == tuned.best});
  }
  const double goal = options.target.kind == quant::Target::Kind::kDrop ? -options.target.limit
                                                                        : options.target.limit;
  const std::string title =
      fmt::format("{}: {}", options.quantize.model.path.string(), text_of(options.target));
  const std::string plot = report::point_plot(
      title, {"bytes, relative to all layers in the first precision", {}},
      {kTitles[static_cast<size_t>(options.target.kind)], goal}, std::move(points));
  return report::plot_page(title, std::span(&plot, 1), table_of_steps(tuned, options.target, true));
}

std::string drop_text(const quant::Score& score) {
  return score.labelled == 0 ? ""
                             : fmt::format("top-1 down by {:.1f} points on {}, ", score.drop(),
                                           counted(static_cast<size_t>(score.labelled), "sample"));
}

// The best as `plumb quantize` writes it.
Result<quant::Quantized> write_best(quant::TuneOptions& options, const quant::Tuned& tuned,
                                    const quant::Lab& lab, RunContext& context) {
  quant::QuantizeOptions best = options.quantize;
  best.settings.observer = tuned.method;
  best.settings.per_channel = tuned.per_channel;
  best.measurement = options.data;
  best.requests.clear();
  for (size_t i = 0; i < lab.plan().layers.size(); ++i)
    if (tuned.precisions[i] != best.settings.precision)
      best.requests.push_back({"tune", lab.plan().layers[i].name, quant::LayerRequest::Kind::kName,
                               false, tuned.precisions[i], 0});
  auto job = quant::QuantizeJob::open(std::move(best));
  if (!job) return job.error();
  return (*job)->run(context);
}

void print_tuned(const quant::Tuned& found, const quant::TuneOptions& made, const quant::Lab& lab) {
  const quant::Step& step = found.steps[found.best];
  const quant::Precision narrowest = made.precisions.front();
  const auto wider =
      found.precisions.size() -
      static_cast<size_t>(std::count(found.precisions.begin(), found.precisions.end(), narrowest));
  fmt::print(
      "{}: {} {} with {}, weights by {}, {} wider than {}: {:.2f} dB, cosine {:.6f}, agreement "
      "{:.1f}%, {}cost {:.3f}\n",
      made.quantize.model.path.string(), quant::text_of(made.target),
      found.is_reached ? "is reached" : "is not reached", quant::text_of(found.method),
      found.per_channel ? "channel" : "tensor", counted(wider, "layer"), quant::text_of(narrowest),
      step.score.sqnr_db(), step.score.cosine(), step.score.agreement() * 100,
      drop_text(step.score), step.cost);
  if (found.remembered > 0)
    fmt::print("  {} of {} trials were in the journal\n", found.remembered,
               found.remembered + found.measured);
  for (size_t i = 0; i < found.precisions.size(); ++i)
    if (found.precisions[i] != narrowest)
      fmt::print("  {}: {}\n", report::printable(lab.plan().layers[i].name),
                 quant::text_of(found.precisions[i]));
  fmt::print("{}", table_of_steps(found, made.target, false).render(terminal_width()));
  fmt::print(
      "{}: the model, mixed.json and trials.html; for a vendor's configuration "
      "operator_conf_items.prototxt "
      "(Pulsar),\nlayer_configs.json (pulsar2), amct_skip_layers.json, qtable.txt, "
      "nodes_to_exclude.json (ONNX Runtime)\n",
      made.quantize.directory.string());
}

// What the search found, beside what it writes anyway: the best model and how all trials did.
Result<void> write_found(quant::TuneOptions& made, const quant::Tuned& found, const quant::Lab& lab,
                         RunContext& context) {
  if (auto written = quant::write_tuned(found, lab, made); !written) return written;
  if (auto written = write_file(made.quantize.directory / "trials.html", trials_page(found, made));
      !written)
    return written;
  if (auto best = write_best(made, found, lab, context); !best) return best.error();
  return {};
}

}  // namespace

int run_tune(int argc, char** argv, RunContext& context) {
  Options options(
      "tune", "Search the cheapest mixed precision that reaches a target.",
      "examples\n"
      "  plumb tune model.onnx --calib photos/ --data test/ --target sqnr:30 -o tuned/\n"
      "  plumb tune model.onnx --config config.prototxt --precisions a8w4,a8w8 --target sqnr:16\n"
      "exit status: 0 the target is reached, 1 it is not (the best is written), 2 trouble, 130\n"
      "interrupted: the same command goes on");
  TuneRequest request;
  declare_tune_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  context.jobs = request.common.jobs;
  auto made = options_of(request, context);
  if (!made) return fail_with(made.error());
  const auto lock = DirectoryLock::make(made->quantize.directory);
  if (!lock) return fail_with(lock.error());
  auto lab = quant::Lab::open(made->quantize.model, made->quantize.plan);
  if (!lab) return fail_with(lab.error());
  auto calibration = input::open_samples(made->quantize.calibration, (*lab)->model().inputs());
  if (!calibration) return fail_with(calibration.error());
  auto data = input::open_samples(made->data, (*lab)->model().inputs());
  if (!data) return fail_with(data.error());
  print_warnings(*calibration, request.common);
  std::optional<Result<quant::Tuned>> tuned;
  {
    const auto layers = static_cast<int64_t>((*lab)->plan().layers.size());
    ProgressBar bar(context, request.common, layers + 16, "trials");
    tuned = quant::tune(**lab, *calibration, *data, *made, context);
  }
  if (context.cancelled) return kInterrupted;
  if (!*tuned) return fail_with(tuned->error());
  const quant::Tuned& found = **tuned;
  auto written = write_found(*made, found, **lab, context);
  if (context.cancelled) return kInterrupted;
  if (!written) return fail_with(written.error());
  if (!request.common.quiet) print_tuned(found, *made, **lab);
  return found.is_reached ? kAgreement : kDifference;
}

}  // namespace plumb::cli
