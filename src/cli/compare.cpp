// SPDX-License-Identifier: Apache-2.0
//
// `plumb compare TARGET GOLDEN`: plan, stream, judge, report. A new reader starts here and follows
// compare/plan.h, compare/stream.cpp, metrics/pair_sums.h, result/row.h and report/csv.cpp.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <malloc.h>
#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>

#include "cli/comparison.h"
#include "cli/element_view.h"
#include "cli/plan_view.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "graph/importers.h"
#include "judge/baseline.h"
#include "pair/graph_fit.h"
#include "pair/name_map.h"
#include "pair/scenario.h"
#include "pair/torchair.h"

namespace plumb::cli {
namespace {

using metrics::Metric;

// What the user asked for, in words.
struct Wishes {
  std::vector<std::string> paths, metrics, allowed;
  std::string graph, golden_graph, quant, mode, map, save_map, explain;
  std::string profile, rules, floor, baseline;
  bool checksum = false, plan = false;
  OutputWishes output;
};

// To the metrics the user named, those that a baseline is held by.
void add_tracked(std::vector<const Metric*>& wanted) {
  if (wanted.empty()) return;  // all that one pass gives
  for (const std::string_view name : judge::kTrackedMetrics)
    if (std::none_of(wanted.begin(), wanted.end(),
                     [&](const Metric* metric) { return metric->name == name; }))
      wanted.push_back(metrics::metric_by_name(name));
}

void declare(Options& options, Wishes& wishes, Selection& selection, ElementView& view,
             CommonOptions& common) {
  options.arguments("TARGET GOLDEN", wishes.paths,
                    "dump of the converted model, the side being checked,\n"
                    "and dump of the reference model: directories or files");
  selection.declare(options);
  options.group("pairing");
  options.text("--graph", "FILE", wishes.graph,
               "graph of the converted model; tells which original\noperators were fused: json of "
               "atc, GE text, ONNX");
  options.text("--golden-graph", "FILE", wishes.golden_graph,
               "graph of the golden side, e.g. converted without fusion");
  options.text("--quant", "FILE", wishes.quant, "json that the quantization tool (AMCT) wrote");
  options.text("--mode", "NAME", wishes.mode, "kind of comparison, if it is not told rightly");
  options.text("--map", "FILE", wishes.map,
               "pairs that only you know: CSV of target,golden or TOML");
  options.text("--save-map", "FILE", wishes.save_map, "write the pairs as such a CSV");
  options.flag("--plan", wishes.plan, "show the pairs, compare nothing");
  options.text("--explain", "OPERATOR", wishes.explain,
               "how its tensors were paired, compare nothing");
  options.group("judging");
  options.text("--profile", "NAME", wishes.profile,
               "limits that decide pass or fail: a name of\n`plumb profiles` or a .toml file "
               "(default: standard)");
  options.text("--rules", "FILE", wishes.rules, "limits by operator, an ordered list (TOML)");
  options.text("--floor", "DIR", wishes.floor, "a second golden run; its noise sets the limits");
  options.texts("--metrics", "LIST", wishes.metrics,
                "numbers to compute: names or 'all' (see `plumb\nmetrics`; default: all that one "
                "pass gives)");
  options.flag("--checksum", wishes.checksum, "compare CRC-32 only: equal or not");
  options.texts("--allow", "WHAT", wishes.allowed,
                "'inconclusive' or 'missing' rows are no failure");
  options.text("--baseline", "FILE", wishes.baseline,
               "an earlier result (.json): no output may be worse");
  view.declare(options);
  wishes.output.declare(options);
  common.declare(options);
}

// A typing error in a pattern would leave its operators to a laxer rule.
void warn_of_unused_rules(const judge::Rules& rules, const std::vector<result::Row>& rows) {
  std::vector<bool> used(rules.rules.size());
  for (const result::Row& row : rows)
    used[rules.index_for(row.any_side().operator_name, row.any_side().slot)] = true;
  for (size_t i = 0; i + 1 < used.size(); ++i)
    if (!used[i])
      print_warning(fmt::format("rule {} ('{}') matches no operator", i + 1, rules.rules[i].op));
}

// The baseline is an input, too: a worse result would be the baseline of the next run.
Result<void> check_outputs(const Wishes& wishes) {
  std::vector<NamedPath> outputs = wishes.output.paths();
  outputs.push_back({"--save-map", wishes.save_map});
  const NamedPath inputs[] = {
      {"TARGET", wishes.paths[0]},   {"GOLDEN", wishes.paths[1]},
      {"--graph", wishes.graph},     {"--golden-graph", wishes.golden_graph},
      {"--quant", wishes.quant},     {"--map", wishes.map},
      {"--profile", wishes.profile}, {"--rules", wishes.rules},
      {"--floor", wishes.floor},     {"--baseline", wishes.baseline}};
  return cli::check_outputs(outputs, inputs);
}

// What can be said of the wishes before anything is read.
Result<void> check(const Wishes& wishes, const ElementView& view) {
  if (wishes.paths.size() != 2)
    return Error{fmt::format("two paths are needed, {} given", wishes.paths.size()),
                 "plumb compare", "name the target and the golden side"};
  if (!wishes.rules.empty() && !wishes.profile.empty())
    return Error{"a rule file names its own profiles", "--profile with --rules",
                 "write profile = \"" + wishes.profile + "\" into its last rule"};
  if (auto checked = check_allowed(wishes.allowed); !checked) return checked;
  if (auto checked = wishes.output.check(); !checked) return checked;
  if (wishes.checksum && (!wishes.profile.empty() || !wishes.rules.empty() ||
                          !wishes.floor.empty() || !wishes.metrics.empty() || view.is_wanted()))
    return Error{"checksums know no limits, metrics or elements",
                 "--checksum with --profile, --rules, --floor, --metrics, --top, --axis or "
                 "--save-diff",
                 "use --checksum alone, or --profile exact"};
  if (wishes.checksum && !wishes.baseline.empty())
    return Error{"checksums do not tell better from worse", "--checksum with --baseline",
                 "leave one of them out"};
  if (auto checked = view.check(); !checked) return checked;
  return check_outputs(wishes);
}

// Everything that is read before the tensors themselves.
struct Inputs {
  dump::DumpSet target, golden;
  std::optional<dump::DumpSet> floor;
  pair::Graphs graphs;
  std::vector<std::string> graph_files, doubts, warnings;
  std::optional<pair::Matcher> matcher;  // borrows from the graphs
  const pair::Scenario* scenario = nullptr;
  std::optional<pair::Torchair> torchair;  // borrows from target and golden
};

Result<void> open_graphs(const Wishes& wishes, Inputs& inputs) {
  const std::pair<const std::string&, std::optional<graph::Graph>&> wanted[] = {
      {wishes.graph, inputs.graphs.target},
      {wishes.golden_graph, inputs.graphs.golden},
      {wishes.quant, inputs.graphs.quant}};
  for (const auto& [path, graph] : wanted) {
    if (path.empty()) continue;
    auto loaded = graph::load_graph(path);
    if (!loaded) return loaded.error();
    for (const std::string& warning : loaded->warnings) print_warning(path + ": " + warning);
    graph = std::move(*loaded);
    inputs.graph_files.push_back(path);
  }
  return {};
}

// Dumps of `plumb dump` bring their graph; what the user names comes first.
void open_own_graphs(Inputs& inputs) {
  const std::pair<const dump::DumpSet&, std::optional<graph::Graph>&> sides[] = {
      {inputs.target, inputs.graphs.target}, {inputs.golden, inputs.graphs.golden}};
  for (const auto& [set, graph] : sides) {
    if (graph || set.convention != "plumb-dump") continue;
    if (set.entries.empty() || set.entries.front().parts.empty()) continue;
    const std::string& file = set.entries.front().parts.front().file;
    const std::string index = set.absolute(file.substr(0, file.rfind('/') + 1) + "dump.json");
    if (auto loaded = graph::load_graph(index); loaded) {
      graph = std::move(*loaded);
      inputs.graph_files.push_back(index);
    }
  }
}

// Steps and ranks that cannot be paired, or are not there at all.
Result<void> check_steps(const Selection& selection, const Inputs& inputs) {
  if (auto known = selection.check({&inputs.target, &inputs.golden}); !known) return known;
  if (inputs.scenario->name == "torchair") return {};  // knows better which belong together
  const StepsAndRanks target = steps_and_ranks(inputs.target);
  const StepsAndRanks golden = steps_and_ranks(inputs.golden);
  const auto check = [](std::string_view what, const std::set<int64_t>& own, bool own_is_complete,
                        const std::set<int64_t>& other, std::string_view side,
                        std::string_view other_side) -> Result<void> {
    if (own.size() < 2 || !own_is_complete || !other.empty()) return {};
    return Error{fmt::format("{} has several {}s, {} has none", side, what, other_side),
                 fmt::format("{} has {}s {}", side, what, list_of(own)),
                 fmt::format("choose one with --{}, e.g. --{} {}", what, what, *own.begin())};
  };
  const auto both = [&](const StepsAndRanks& own, const StepsAndRanks& other, std::string_view side,
                        std::string_view other_side) -> Result<void> {
    if (selection.steps().empty())
      if (auto fine = check("step", own.steps, own.all_have_steps, other.steps, side, other_side);
          !fine)
        return fine;
    if (!selection.ranks().empty()) return {};
    return check("rank", own.ranks, own.all_have_ranks, other.ranks, side, other_side);
  };
  if (auto fine = both(target, golden, "target", "golden"); !fine) return fine;
  return both(golden, target, "golden", "target");
}

// What is odd about the run as a whole, though not wrong.
void note_oddities(const Wishes& wishes, const Selection& selection, Inputs& inputs) {
  std::error_code unknown;
  if (equivalent(std::filesystem::path(wishes.paths[0]), wishes.paths[1], unknown))
    inputs.warnings.push_back(fmt::format("target and golden are the same {}",
                                          inputs.target.is_single_file ? "file" : "directory"));
  if (!inputs.doubts.empty() || inputs.scenario->name == "torchair") return;
  for (std::string& note :
       pair::graph_notes(inputs.target, inputs.graphs, wishes.mode,
                         [&](const dump::Entry& entry) { return selection.wants(entry); }))
    inputs.warnings.push_back(std::move(note));
}

// The graphs beside the dump tell all that a matcher could.
Result<void> pair_torchair(const Selection& selection, Inputs& inputs) {
  pair::TorchairOptions options;
  options.ranks = selection.ranks();
  if (inputs.graphs.target) options.graph = &*inputs.graphs.target;
  auto pairs = pair::pair_torchair(inputs.target, inputs.golden, options);
  if (!pairs) return pairs.error();
  for (const std::string& warning : pairs->warnings) print_warning(warning);
  for (const std::string& file : pairs->graph_files)
    inputs.graph_files.push_back((inputs.target.root / file).string());
  inputs.torchair = std::move(*pairs);
  return {};
}

Result<void> open_inputs(const Wishes& wishes, const Selection& selection,
                         const io::ReadHints& hints, Inputs& inputs) {
  const auto open = [&](const std::string& path) {
    return dump::open_dump(path, hints, selection.convention());
  };
  std::optional<Result<dump::DumpSet>> target, golden;
  tbb::parallel_invoke([&] { target = open(wishes.paths[0]); },
                       [&] { golden = open(wishes.paths[1]); });
  if (!*target) return target->error();
  if (!*golden) return golden->error();
  inputs.target = std::move(**target);
  inputs.golden = std::move(**golden);
  if (!wishes.floor.empty()) {
    auto opened = open(wishes.floor);
    if (!opened) return opened.error();
    inputs.floor = std::move(*opened);
  }
  if (auto opened = open_graphs(wishes, inputs); !opened) return opened;
  open_own_graphs(inputs);
  auto scenario = pair::find_scenario(inputs.target, inputs.golden, inputs.graphs, wishes.mode);
  if (!scenario) return scenario.error();
  inputs.scenario = *scenario;
  inputs.doubts =
      pair::graph_doubts(inputs.target, inputs.golden, inputs.graphs,
                         {wishes.graph, wishes.golden_graph, wishes.quant}, wishes.mode);
  if (auto checked = check_steps(selection, inputs); !checked) return checked;
  note_oddities(wishes, selection, inputs);
  if (inputs.scenario->name == "torchair") return pair_torchair(selection, inputs);
  inputs.matcher = pair::make_matcher(inputs.graphs);
  return {};
}

Result<std::vector<pair::PlannedRow>> make_plan(const Wishes& wishes, const Selection& selection,
                                                const Inputs& inputs) {
  pair::PlanOptions options;
  options.wants = [&](const dump::Entry& entry) { return selection.wants(entry); };
  options.matcher = inputs.matcher ? &*inputs.matcher : nullptr;
  if (inputs.matcher && inputs.graphs.target && inputs.graphs.golden && wishes.map.empty())
    options.map = pair::output_pairs(*inputs.matcher, *inputs.graphs.target, *inputs.graphs.golden);
  options.decisions = inputs.torchair ? &inputs.torchair->decisions : nullptr;
  if (!wishes.map.empty()) {
    auto map = pair::load_name_map(wishes.map);
    if (!map) return map.error();
    if (auto checked = pair::check_name_map(*map, inputs.target, inputs.golden); !checked)
      return std::move(checked.error()).in(wishes.map);
    options.map = std::move(*map);
  }
  return pair::make_plan(inputs.target, inputs.golden, options);
}

}  // namespace

int run_compare(int argc, char** argv, RunContext& context) {
  Options options(
      "compare", "Compare two sets of dumped tensors, operator by operator.",
      "examples\n"
      "  plumb compare npu_dump/ onnx_npy/ --graph resnet50.json\n"
      "  plumb compare after.npz before.npz --profile exact\n"
      "  plumb compare npu_dump/ onnx_npy/ -o result.csv -o result.junit.xml\n"
      "exit status: 0 all pairs within limits, 1 some pair is not or was not compared,\n"
      "2 nothing could be compared, 130 interrupted");
  Wishes wishes;
  Selection selection;
  ElementView view;
  CommonOptions common;
  declare(options, wishes, selection, view, common);
  if (auto status = options.parse(argc, argv)) return *status;
  wishes.allowed = split_lists(wishes.allowed);
  const auto start = std::chrono::steady_clock::now();
  if (auto checked = check(wishes, view); !checked) return fail_with(checked.error());
  auto hints = selection.hints();
  if (!hints) return fail_with(hints.error());
  auto wanted = named_metrics(split_lists(wishes.metrics));
  if (!wanted) return fail_with(wanted.error());
  std::optional<tbb::global_control> limit;
  if (common.jobs > 0)
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(common.jobs));
  // A mistake in a profile is told before much is read.
  std::optional<Result<judge::Rules>> rules;
  if (!wishes.profile.empty() || !wishes.rules.empty()) {
    rules = judge::load_rules(wishes.profile, wishes.rules);
    if (!*rules) return fail_with(rules->error());
  }

  std::optional<Result<result::Saved>> baseline;
  if (!wishes.baseline.empty()) {
    baseline = judge::load_baseline(wishes.baseline);
    if (!*baseline) return fail_with(baseline->error());
    add_tracked(*wanted);
  }

  Inputs inputs;
  if (auto opened = open_inputs(wishes, selection, *hints, inputs); !opened)
    return fail_with(opened.error());
  if (!rules) rules = judge::load_rules(std::string(inputs.scenario->profile), "");
  if (!*rules) return fail_with(rules->error());
  if (inputs.floor && (*rules)->ask_for_same_bytes())
    return fail_with({"a noise floor allows what this profile forbids",
                      "--floor with --profile " + (*rules)->name, "leave one of them out"});
  auto plan = make_plan(wishes, selection, inputs);
  if (!plan) return fail_with(plan.error());
  if (!wishes.save_map.empty())
    if (auto saved = save_map(*plan, wishes.save_map); !saved) return fail_with(saved.error());
  if (wishes.plan || !wishes.explain.empty())  // no report will tell
    for (const auto* list : {&inputs.doubts, &inputs.warnings})
      for (const std::string& warning : *list) print_warning(warning);
  if (!wishes.explain.empty())
    return explain(*plan, inputs.matcher ? &*inputs.matcher : nullptr, wishes.explain);
  if (wishes.plan) {
    print_plan(*plan, inputs.matcher.has_value());
    return kAgreement;
  }

  ::malloc_trim(0);  // what listing and pairing needed is not to count while tensors are read
  const compare::Sides sides{inputs.target, inputs.golden, inputs.floor ? &*inputs.floor : nullptr,
                             *hints, *hints};
  result::Run run;
  run.command = "compare";
  run.scenario = inputs.scenario->name;
  run.profile = wishes.checksum ? "checksum" : (*rules)->name;
  if (inputs.floor) run.profile += ", noise floor " + wishes.floor;
  run.target = input_side(wishes.paths[0], inputs.target);
  run.golden = input_side(wishes.paths[1], inputs.golden);
  run.graphs = inputs.graph_files;
  run.is_ordered = is_ordered(inputs.target);
  run.doubts = inputs.doubts;
  run.warnings = inputs.warnings;
  if (!wishes.checksum) run.metrics = columns_for(*wanted, **rules);
  const auto& exactly = (*rules)->are_tighter_than_bounds() ? run.metrics : *wanted;
  const compare::StreamOptions stream_options{
      **rules, run.metrics, metrics::request_for(run.metrics, exactly), wishes.checksum, nullptr};
  {
    const bool shown = ProgressBar::is_wanted(common);
    ProgressBar bar(context, common, shown ? bytes_of(sides, *plan) : 0);
    compare::Streamed streamed = compare::stream(sides, *plan, stream_options, context);
    run.rows = std::move(streamed.rows);
    run.bytes = streamed.bytes;
  }
  if (inputs.matcher) {
    const auto wants = [&](const dump::Entry& entry) { return selection.wants(entry); };
    run.outputs_not_compared = pair::outputs_not_compared(*inputs.matcher, run.rows, wants);
    if (inputs.graphs.golden)
      for (std::string& name :
           pair::golden_outputs_not_compared(*inputs.graphs.golden, run.rows, wants))
        run.outputs_not_compared.push_back(std::move(name));
    pair::mark_model_outputs(*inputs.matcher, run.rows);
  }
  if (baseline) run.baseline = judge::hold_against(run, **baseline, wishes.baseline);
  run.interrupted = context.cancelled;
  run.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  if (!wishes.checksum && !common.quiet) warn_of_unused_rules(**rules, run.rows);
  bool all_written = present(run, wishes.output, *wanted);
  if (view.is_wanted() && !context.cancelled)
    all_written &= view.show(sides, *plan, run.rows, context);
  if (!all_written) return kTrouble;
  return exit_status(run.summary(), run, wishes.allowed);
}

}  // namespace plumb::cli
