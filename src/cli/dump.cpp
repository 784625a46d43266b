// SPDX-License-Identifier: Apache-2.0
//
// `plumb dump MODEL`: runs a model and saves what its operators computed, as golden data or to be
// looked at.
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/directory_lock.h"
#include "base/name_pattern.h"
#include "cli/engine_options.h"
#include "cli/input_options.h"
#include "cli/progress.h"
#include "dump/operator_patterns.h"
#include "engine/dump_model.h"
#include "engine/engine.h"

namespace plumb::cli {
namespace {

struct Wishes {
  std::vector<std::string> paths, ops;
  std::string weights, engine, optimization = "disabled", format = "npy", directory;
  int batch = 0, threads = 1;
  bool inputs = false;
  EngineOptions limits;
};

void declare_dump_options(Options& options, Wishes& wishes, InputOptions& inputs,
                          CommonOptions& common) {
  options.arguments("MODEL", wishes.paths, "an .onnx file, or the .prototxt of a Caffe network");
  options.text("-o", "DIR", wishes.directory, "where the tensors go; new or empty");
  inputs.declare(options);
  options.group("running");
  options.text("--weights", "FILE", wishes.weights,
               "weights of a Caffe network (default: the .caffemodel\nbeside it)");
  options.text("--engine", "NAME", wishes.engine,
               "onnxruntime or opencv (default: by the kind of model)");
  options.suggest([] { return names_in(engine::engines()); });
  options.choice("--optimization", "LEVEL", wishes.optimization,
                 {"disabled", "basic", "extended", "all"},
                 "what the engine may fuse: disabled, basic, extended or\nall (default: disabled)");
  options.count("--threads", "N", wishes.threads,
                "threads of the engine (default: 1, the same bits each\ntime)");
  wishes.limits.declare(options);
  options.group("choosing");
  options.texts("--op,--ops", "PATTERN", wishes.ops,
                "only operators whose name matches, e.g. 'conv*'");
  options.flag("--inputs", wishes.inputs, "also what each operator reads");
  options.choice("--format", "NAME", wishes.format, {"npy", "npz"},
                 "a file for each tensor, or one archive: npy or npz");
  options.count("--batch-outputs", "N", wishes.batch,
                "tensors held in memory at a time; the model runs once\nfor each batch (default: "
                "as many as memory allows)");
  common.declare(options);
}

// What could not be dumped, by reason: totals have to add up.
void tell_left_out(const engine::Dump& dump) {
  struct Group {
    int64_t count = 0;
    std::string first;
  };
  std::map<std::string, Group> groups;
  for (const engine::DumpedTensor& tensor : dump.tensors) {
    if (tensor.problem.empty()) continue;
    Group& group = groups[tensor.problem];
    if (group.count++ == 0) group.first = tensor.op;
  }
  for (const auto& [problem, group] : groups)
    fmt::print("  left out  {} ({}{}): {}\n", counted(static_cast<size_t>(group.count), "tensor"),
               report::printable(group.first), group.count == 1 ? "" : ", ...",
               report::printable(problem));
}

int64_t count_files(const engine::Dump& dump) {
  int64_t unasked = 0;
  for (const engine::DumpedTensor& tensor : dump.tensors)
    unasked += tensor.file.empty() && tensor.problem.empty();
  return unasked;
}

void tell_dumped(const engine::Dump& dump, const engine::LoadedModel& model, const Wishes& wishes,
                 const std::string& directory) {
  fmt::print("{}: {} of {} operators, {} in {} by {}, optimization {}\n", directory,
             counted(static_cast<size_t>(dump.written), "tensor"), dump.graph->operators.size(),
             bytes_text(static_cast<double>(dump.bytes)),
             counted(static_cast<size_t>(dump.runs), "run"), model.engine().version(),
             wishes.optimization);
  for (const std::string& note : dump.notes) fmt::print("  {}\n", note);
  tell_left_out(dump);
  if (const int64_t unasked = count_files(dump); unasked > 0)
    fmt::print("  not asked for  {}\n", counted(static_cast<size_t>(unasked), "tensor"));
}

Result<void> check_dump_wishes(const Wishes& wishes) {
  if (wishes.paths.size() != 1)
    return wrong_paths("one model is", wishes.paths, "plumb dump",
                       "name the .onnx or .prototxt file");
  if (wishes.directory.empty())
    return Error{"nobody said where the tensors go", "plumb dump", "name a directory with -o DIR"};
  return {};
}

// Nothing is known of what is inside the bodies of loops and branches before they are run.
Result<void> check_operators(const Wishes& wishes, const graph::Graph& graph) {
  std::set<std::string> names;
  for (const graph::Operator& op : graph.operators) {
    if (!op.subgraph.empty()) return {};
    names.insert(op.name);
  }
  return dump::check_patterns(wishes.ops, names);
}

engine::DumpWishes dump_wishes_of(const Wishes& wishes) {
  engine::DumpWishes made;
  made.optimization = *engine::optimization_from_text(wishes.optimization);
  made.threads = wishes.threads;
  made.inputs = wishes.inputs;
  made.as_npz = wishes.format == "npz";
  made.batch_outputs = wishes.batch;
  if (!wishes.ops.empty())
    made.wants = [ops = wishes.ops](const std::string& op) {
      return std::any_of(ops.begin(), ops.end(),
                         [&](const std::string& pattern) { return operator_matches(pattern, op); });
    };
  return made;
}

// Every sample; one that cannot be run costs itself. The exit status.
int dump_samples(engine::LoadedModel& model, input::Samples& samples, const Wishes& wishes,
                 const CommonOptions& common, RunContext& context) {
  bool all_saved = true;
  size_t failed = 0;
  engine::ModelDumper dumper(model, dump_wishes_of(wishes));
  for (size_t i = 0; i < samples.size(); ++i) {
    auto sample = samples.load(i);
    if (!sample) return fail_with(sample.error());
    std::filesystem::path directory = wishes.directory;
    if (samples.size() > 1) directory /= fmt::format("sample_{}", i);
    std::optional<Result<engine::Dump>> dump;
    {
      ProgressBar bar(context, common, engine::count_tensors(model), "tensors");
      dump = dumper.dump(sample->inputs, directory, context);
    }
    if (context.cancelled) return kInterrupted;
    if (!*dump) {
      all_saved = false;
      ++failed;
      print_error(dump->error());
      continue;
    }
    for (const std::string& warning : (*dump)->doubts) print_warning(warning);
    if (!common.quiet) tell_dumped(**dump, model, wishes, directory.string());
    for (const engine::DumpedTensor& tensor : (*dump)->tensors) all_saved &= tensor.problem.empty();
  }
  if (failed == samples.size()) return kTrouble;
  return all_saved ? kAgreement : kDifference;
}

}  // namespace

int run_dump(int argc, char** argv, RunContext& context) {
  Options options(
      "dump", "Run a model and save what every operator computes.",
      "examples\n"
      "  plumb dump model.onnx --input photo.jpg --config config.prototxt -o golden/\n"
      "  plumb dump deploy.prototxt --input data=input.npy -o golden/\n"
      "  plumb dump model.onnx --shape x:1,3,320,320 --seed 1 --op 'conv*' -o golden/\n"
      "exit status: 0 everything asked for was saved, 1 some tensors could not be, 2 the\n"
      "model could not be run, 130 interrupted");
  Wishes wishes;
  InputOptions inputs;
  CommonOptions common;
  declare_dump_options(options, wishes, inputs, common);
  if (auto status = options.parse(argc, argv)) return *status;
  if (auto checked = check_dump_wishes(wishes); !checked) return fail_with(checked.error());
  const auto lock = DirectoryLock::make_empty(wishes.directory, "-o");
  if (!lock) return fail_with(lock.error());
  auto limits = wishes.limits.limits(context);
  if (!limits) return fail_with(limits.error());
  auto model = engine::LoadedModel::open({wishes.paths[0], wishes.weights, wishes.engine, *limits});
  if (!model) return fail_with(model.error());
  if (auto found = check_operators(wishes, model->graph()); !found) return fail_with(found.error());
  auto samples = input::open_samples(inputs, model->inputs());
  if (!samples) return fail_with(samples.error());
  print_warnings(*samples, common);
  return dump_samples(*model, *samples, wishes, common, context);
}

}  // namespace plumb::cli
