// SPDX-License-Identifier: Apache-2.0
//
// `plumb compare TARGET GOLDEN`: plan, stream, judge, report. A new reader starts here and follows
// compare/plan.h, compare/stream.cpp, metrics/pair_sums.h, result/row.h and report/csv.cpp.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/element_view.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "compare/name_map.h"
#include "compare/stream.h"
#include "report/table.h"
#include "report/terminal.h"
#include "report/writer.h"

namespace plumb::cli {
namespace {

using metrics::Metric;

// What the user asked for, in words.
struct Wishes {
  std::vector<std::string> paths, outputs, metrics, allowed;
  std::string profile, rules, floor, map, json, colour = "auto";
  bool checksum = false, all = false, plan = false;
};

// "a,b" "c" as "a" "b" "c".
std::vector<std::string> split_lists(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (size_t at = 0; at <= list.size();) {
      const size_t end = std::min(list.find(',', at), list.size());
      words.push_back(list.substr(at, end - at));
      at = end + 1;
    }
  }
  return words;
}

// The metrics of --metrics, in the order given; "all" for every one.
Result<std::vector<const Metric*>> named_metrics(const std::vector<std::string>& words) {
  std::vector<const Metric*> found;
  std::vector<std::string> names;
  for (const Metric& metric : metrics::metrics()) names.emplace_back(metric.name);
  for (const std::string& name : words) {
    const Metric* metric = metrics::metric_by_name(name);
    if (name == "all") {
      for (const Metric& each : metrics::metrics()) found.push_back(&each);
    } else if (metric != nullptr) {
      found.push_back(metric);
    } else {
      return Error{"unknown metric '" + name + "'", "--metrics " + name,
                   did_you_mean(name, names) + "`plumb metrics` lists all of them"};
    }
  }
  return found;
}

// What is computed: what the user and the limits want, and everything that costs no extra pass. In
// the order of the table, each once.
std::vector<const Metric*> columns_for(const std::vector<const Metric*>& wanted,
                                       const compare::Rules& rules) {
  std::vector<const Metric*> columns;
  const std::vector<const Metric*> judged = rules.metrics();
  const auto contains = [](const std::vector<const Metric*>& list, const Metric* metric) {
    return std::find(list.begin(), list.end(), metric) != list.end();
  };
  for (const Metric& metric : metrics::metrics()) {
    const bool is_free = wanted.empty() && metric.needs == metrics::Needs::kSums;
    if (is_free || contains(wanted, &metric) || contains(judged, &metric))
      columns.push_back(&metric);
  }
  return columns;
}

result::InputSide input_side(const std::string& path, const dump::DumpSet& set) {
  result::InputSide side{path, set.convention, set.warnings, 0};
  for (const dump::Skipped& skipped : set.skipped) side.files_left_out += !skipped.error;
  return side;
}

// What the progress bar counts. Asking for the size of every file is not free: only if it is shown.
int64_t bytes_of(const compare::Sides& sides, const std::vector<compare::PlannedRow>& plan) {
  int64_t total = 0;
  const auto add = [&](const dump::DumpSet& set, const dump::Entry& entry) {
    std::error_code unknown;
    for (const dump::TensorRef& part : entry.parts) {
      const uintmax_t size = file_size(set.root / part.file, unknown);
      if (!unknown)
        total += static_cast<int64_t>(entry.info ? std::min(size, entry.info->size_bytes) : size);
    }
  };
  for (const compare::PlannedRow& row : plan) {
    if (!row.reason.empty()) continue;
    add(sides.target, *row.target);
    add(sides.golden, *row.golden);
  }
  return total;
}

void print_plan(const std::vector<compare::PlannedRow>& plan) {
  report::Table table;
  table.columns = {
      {"target", false, 9, true}, {"golden", false, 9, true}, {"paired by"}, {"why not"}};
  const auto name = [](const dump::Entry* entry) {
    return entry == nullptr
               ? std::string("-")
               : report::printable(entry->operator_name + " " + to_string(entry->slot));
  };
  for (const compare::PlannedRow& row : plan) {
    if (row.reason == "filtered") continue;
    std::string why(row.reason);
    if (!row.message.empty()) why += ": " + report::printable(row.message);
    std::string rule(row.rule);
    if (!row.evidence.empty()) rule += ", " + row.evidence;
    table.rows.push_back({name(row.target), name(row.golden), rule, why});
  }
  fmt::print("{}", table.render(terminal_width()));
}

int exit_status(const result::Summary& summary, const std::vector<result::Row>& rows,
                const std::vector<std::string>& allowed) {
  if (summary.pass + summary.fail + summary.inconclusive == 0) return kTrouble;
  const auto allows = [&](std::string_view word) {
    return std::find(allowed.begin(), allowed.end(), word) != allowed.end();
  };
  const auto is_missing = [](const result::Row& row) {
    return std::all_of(row.reasons.begin(), row.reasons.end(), [](const std::string& reason) {
      return reason == "no_golden" || reason == "no_target" || reason == "filtered";
    });
  };
  for (const result::Row& row : rows) {
    const bool fine = row.verdict == result::Verdict::kPass ||
                      (row.verdict == result::Verdict::kInconclusive && allows("inconclusive")) ||
                      (row.verdict == result::Verdict::kNotCompared &&
                       (row.is_filtered() || (allows("missing") && is_missing(row))));
    if (!fine) return kDifference;
  }
  return kAgreement;
}

void declare(Options& options, Wishes& wishes, Selection& selection, ElementView& view,
             CommonOptions& common) {
  options.arguments("TARGET GOLDEN", wishes.paths,
                    "dump of the converted model, the side being checked,\n"
                    "and dump of the reference model: directories or files");
  selection.declare(options);
  options.group("pairing");
  options.text("--map", "FILE", wishes.map,
               "pairs that only you know: CSV of target,golden or TOML");
  options.flag("--plan", wishes.plan, "show the pairs, compare nothing");
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
  view.declare(options);
  options.group("output");
  options.texts("-o", "FILE", wishes.outputs, "write .csv, .json, .md or .junit.xml; repeatable");
  options.text("--json", "FILE", wishes.json,
               "write the result as JSON; '-' prints it instead of the\ntable");
  options.flag("--all", wishes.all, "show passing rows too");
  options.choice("--color", "WHEN", wishes.colour, {"auto", "always", "never"},
                 "auto, always or never");
  common.declare(options);
}

// A typing error in a pattern would leave its operators to a laxer rule.
void warn_of_unused_rules(const compare::Rules& rules, const std::vector<result::Row>& rows) {
  std::vector<bool> used(rules.rules.size());
  for (const result::Row& row : rows)
    used[rules.index_for(row.any_side().operator_name, row.any_side().slot)] = true;
  for (size_t i = 0; i + 1 < used.size(); ++i)
    if (!used[i])
      print_warning(fmt::format("rule {} ('{}') matches no operator", i + 1, rules.rules[i].op));
}

int fail_with(const Error& error) {
  print_error(error);
  return kTrouble;
}

}  // namespace

int run_compare(int argc, char** argv, RunContext& context) {
  Options options(
      "compare", "Compare two sets of dumped tensors, operator by operator.",
      "examples\n"
      "  plumb compare npu_dump/ onnx_npy/\n"
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
  if (wishes.paths.size() != 2)
    return fail_with({fmt::format("two paths are needed, {} given", wishes.paths.size()),
                      "plumb compare", "name the target and the golden side"});
  const auto start = std::chrono::steady_clock::now();
  auto hints = selection.hints();
  if (!hints) return fail_with(hints.error());
  if (!wishes.rules.empty() && !wishes.profile.empty())
    return fail_with({"a rule file names its own profiles", "--profile with --rules",
                      "write profile = \"" + wishes.profile + "\" into its last rule"});
  auto rules =
      compare::load_rules(wishes.profile.empty() ? "standard" : wishes.profile, wishes.rules);
  if (!rules) return fail_with(rules.error());
  if (!wishes.floor.empty() &&
      std::any_of(rules->rules.begin(), rules->rules.end(),
                  [](const compare::Rule& rule) { return rule.profile.any.same_bytes; }))
    return fail_with({"a noise floor allows what this profile forbids",
                      "--floor with --profile " + rules->name, "leave one of them out"});
  auto wanted = named_metrics(split_lists(wishes.metrics));
  if (!wanted) return fail_with(wanted.error());
  wishes.allowed = split_lists(wishes.allowed);
  for (const std::string& word : wishes.allowed)
    if (word != "inconclusive" && word != "missing")
      return fail_with(
          {"unknown word '" + word + "'", "--allow " + word, "use inconclusive or missing"});
  for (const std::string& output : wishes.outputs)
    if (auto writer = report::writer_for(output); !writer) return fail_with(writer.error());
  if (auto checked = view.check(); !checked) return fail_with(checked.error());
  if (wishes.checksum && (!wishes.profile.empty() || !wishes.rules.empty() ||
                          !wishes.floor.empty() || !wishes.metrics.empty() || view.is_wanted()))
    return fail_with({"checksums know no limits, metrics or elements",
                      "--checksum with --profile, --rules, --floor, --metrics, --top, --axis or "
                      "--save-diff",
                      "use --checksum alone, or --profile exact"});
  std::optional<tbb::global_control> limit;
  if (common.jobs > 0)
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(common.jobs));

  const auto open = [&](const std::string& path) {
    return dump::open_dump(path, *hints, selection.convention());
  };
  std::optional<Result<dump::DumpSet>> opened_target, opened_golden;
  tbb::parallel_invoke([&] { opened_target = open(wishes.paths[0]); },
                       [&] { opened_golden = open(wishes.paths[1]); });
  auto& target = *opened_target;
  auto& golden = *opened_golden;
  if (!target) return fail_with(target.error());
  if (!golden) return fail_with(golden.error());
  std::optional<dump::DumpSet> floor;
  if (!wishes.floor.empty()) {
    auto opened = open(wishes.floor);
    if (!opened) return fail_with(opened.error());
    floor = std::move(*opened);
  }

  compare::PlanOptions plan_options;
  plan_options.wants = [&](const dump::Entry& entry) { return selection.wants(entry); };
  if (!wishes.map.empty()) {
    auto map = compare::load_name_map(wishes.map);
    if (!map) return fail_with(map.error());
    if (auto checked = compare::check_name_map(*map, *target, *golden); !checked)
      return fail_with(std::move(checked.error()).in(wishes.map));
    plan_options.map = std::move(*map);
  }
  const std::vector<compare::PlannedRow> plan = compare::make_plan(*target, *golden, plan_options);
  if (wishes.plan) {
    print_plan(plan);
    return kAgreement;
  }

  const compare::Sides sides{*target, *golden, floor ? &*floor : nullptr, *hints, *hints};
  result::Run run;
  run.command = "compare";
  run.scenario = target->is_single_file && golden->is_single_file ? "file-vs-file" : "dump-vs-dump";
  run.profile = wishes.checksum ? "checksum" : rules->name;
  if (floor) run.profile += ", noise floor " + wishes.floor;
  run.target = input_side(wishes.paths[0], *target);
  run.golden = input_side(wishes.paths[1], *golden);
  if (!wishes.checksum) run.metrics = columns_for(*wanted, *rules);
  compare::StreamOptions stream_options{*rules, run.metrics,
                                        compare::Passes::for_metrics(run.metrics), wishes.checksum};
  stream_options.passes.bulk_exactly =
      rules->are_tighter_than_bounds() ||
      std::any_of(wanted->begin(), wanted->end(),
                  [](const Metric* metric) { return metric->needs == metrics::Needs::kBulk; });
  {
    const bool shown = ProgressBar::is_wanted(common);
    ProgressBar bar(context, common, shown ? bytes_of(sides, plan) : 0);
    compare::Streamed streamed = compare::stream(sides, plan, stream_options, context);
    run.rows = std::move(streamed.rows);
    run.bytes = streamed.bytes;
  }
  run.interrupted = context.cancelled;
  run.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  if (!wishes.checksum && !common.quiet) warn_of_unused_rules(*rules, run.rows);
  const report::Writer& json = *report::writer_for("result.json").value();
  const bool prints_json = wishes.json == "-";
  report::TerminalStyle style;
  style.width = terminal_width();
  style.colour = wishes.colour == "always" || (wishes.colour == "auto" && colour_is_wanted());
  style.all = wishes.all;
  if (!wanted->empty()) {
    style.metrics.clear();
    for (const Metric* metric : *wanted) style.metrics.emplace_back(metric->name);
  }
  if (prints_json) {
    json.write(run, [](std::string_view text) { fmt::print("{}", text); });
  } else {
    fmt::print("{}", report::render(run, style));
  }
  // What was found is on the screen before anything can go wrong with a file.
  std::vector<std::pair<const report::Writer*, std::string>> files;
  for (const std::string& output : wishes.outputs)
    files.emplace_back(*report::writer_for(output), output);
  if (!wishes.json.empty() && !prints_json) files.emplace_back(&json, wishes.json);
  std::vector<Result<void>> written(files.size());
  tbb::parallel_for(size_t{0}, files.size(), [&](size_t i) {
    written[i] = report::write_file(run, *files[i].first, files[i].second);
  });
  bool all_written = true;
  for (const Result<void>& file : written) {
    if (!file) print_error(file.error());
    all_written &= file.ok();
  }
  if (view.is_wanted() && !context.cancelled)
    all_written &= view.show(sides, plan, run.rows, context);
  if (!all_written) return kTrouble;
  return exit_status(run.summary(), run.rows, wishes.allowed);
}

}  // namespace plumb::cli
