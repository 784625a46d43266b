// SPDX-License-Identifier: Apache-2.0
//
// `plumb compare TARGET GOLDEN`: options, report, exit status. What happens between them starts at
// include/plumb/session.h; docs/architecture.md follows one tensor through it.
#include <fmt/format.h>

#include "cli/circumstance_options.h"
#include "cli/element_view.h"
#include "cli/output_options.h"
#include "cli/plan_view.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/tolerance_options.h"
#include "compare/session_state.h"
#include "diagnose/explain.h"

namespace plumb::cli {
namespace {

// What the user asks for. What the comparison itself needs is in the spec.
struct Request {
  Spec spec;
  std::vector<std::string> paths, allowed;
  std::string save_map, explain;
  bool plan = false, no_diagnose = false;
  SelectionOptions selecting;
  ElementView view;
  ToleranceOptions tolerance;
  CircumstanceOptions circumstances;
  OutputOptions output;
  CommonOptions common;
};

void declare(Options& options, Request& request) {
  Spec& spec = request.spec;
  options.arguments("TARGET GOLDEN", request.paths,
                    "dump of the converted model, the side being checked,\n"
                    "and dump of the reference model: directories or files");
  request.selecting.declare(options);
  options.group("pairing");
  options.text(
      "--graph", "FILE", spec.target.graph,
      "graph of the converted model; tells which original\noperators were fused: .om, json "
      "of atc, GE text, ONNX");
  options.text("--golden-graph", "FILE", spec.golden.graph,
               "graph of the golden side, e.g. converted without fusion");
  options.text("--quant", "FILE", spec.quant, "json that the quantization tool (AMCT) wrote");
  options.text("--mode", "NAME", spec.mode, "kind of comparison, if it is not told rightly");
  options.text("--map", "FILE", spec.name_map,
               "pairs that only you know: CSV of target,golden or TOML");
  options.text("--save-map", "FILE", request.save_map, "write the pairs as such a CSV");
  options.flag("--plan", request.plan, "show the pairs, compare nothing");
  options.text("--explain", "OPERATOR", request.explain,
               "how its tensors were paired, compare nothing");
  options.group("judging");
  options.text("--profile", "NAME", spec.profile,
               "limits that decide pass or fail: a name of\n`plumb profiles` or a .toml file "
               "(default: standard)");
  request.tolerance.declare(options);
  options.text("--precision", "TYPE", spec.precision,
               "what the target computes in, if that is coarser than it\nstores: tf32, float16 or "
               "bfloat16");
  options.text("--rules", "FILE", spec.rules, "limits by operator, an ordered list (TOML)");
  options.text("--floor", "DIR", spec.floor, "a second golden run; its noise sets the limits");
  options.texts("--metrics", "LIST", spec.metrics,
                "numbers to compute: names or 'all' (see `plumb\nmetrics`; default: all that one "
                "pass gives)");
  options.flag("--details", spec.details,
               "keep histograms, errors by channel, heat maps and worst\nelements in the result "
               "(always if a page is written)");
  options.flag("--checksum", spec.checksum, "compare CRC-32 only: equal or not");
  options.texts("--allow", "WHAT", request.allowed,
                "'inconclusive' or 'missing' rows are no failure");
  options.text("--baseline", "FILE", spec.baseline,
               "an earlier result (.json): no output may be worse");
  options.flag("--no-diagnose", request.no_diagnose, "do not look for causes");
  request.circumstances.declare(options);
  request.view.declare(options);
  request.output.declare(options);
  request.common.declare(options);
}

// The baseline is an input, too: a worse result would be the baseline of the next run.
Result<void> check_outputs(const Request& request) {
  const Spec& spec = request.spec;
  std::vector<NamedPath> outputs = request.output.paths();
  outputs.push_back({"--save-map", request.save_map});
  std::vector<NamedPath> inputs = {
      {"TARGET", request.paths[0]},   {"GOLDEN", request.paths[1]},
      {"--graph", spec.target.graph}, {"--golden-graph", spec.golden.graph},
      {"--quant", spec.quant},        {"--map", spec.name_map},
      {"--profile", spec.profile},    {"--rules", spec.rules},
      {"--floor", spec.floor},        {"--baseline", spec.baseline}};
  for (NamedPath& path : request.circumstances.paths()) inputs.push_back(std::move(path));
  return cli::check_outputs(outputs, inputs);
}

// What can be said of a request before anything is read.
Result<void> check(const Request& request) {
  const Spec& spec = request.spec;
  if (request.paths.size() != 2)
    return Error{fmt::format("two paths are needed, {} given", request.paths.size()),
                 "plumb compare", "name the target and the golden side"};
  if (!spec.rules.empty() && !spec.profile.empty())
    return Error{"a rule file names its own profiles", "--profile with --rules",
                 "write profile = \"" + spec.profile + "\" into its last rule"};
  if (auto allowed = judge::allowance_from(request.allowed); !allowed) return allowed.error();
  if (auto checked = request.output.check(); !checked) return checked;
  if (spec.checksum &&
      (!spec.profile.empty() || !spec.rules.empty() || !spec.floor.empty() ||
       !spec.metrics.empty() || spec.atol || spec.rtol || request.view.is_wanted()))
    return Error{
        "checksums know no limits, metrics or elements",
        "--checksum with --profile, --atol, --rtol, --rules, --floor, --metrics, --top, --axis or "
        "--save-diff",
        "use --checksum alone, or --profile exact"};
  if (spec.checksum && !spec.baseline.empty())
    return Error{"checksums do not tell better from worse", "--checksum with --baseline",
                 "leave one of them out"};
  if (spec.checksum && !spec.precision.empty())
    return Error{"checksums know no precision", "--checksum with --precision",
                 "leave one of them out"};
  if (auto checked = request.view.check(); !checked) return checked;
  return check_outputs(request);
}

// What the plan says, without comparing anything.
int show_plan(const Request& request, const SessionState& state) {
  for (const auto* list : {&state.doubts, &state.warnings})  // no report will tell
    for (const std::string& warning : *list) print_warning(warning);
  if (!request.explain.empty())
    return explain(state.rows, state.matcher_or_null(), request.explain);
  print_plan(state.rows, state.matcher.has_value());
  return kAgreement;
}

int compare(const Request& request, const result::Circumstances& told, const Session& session,
            RunContext& context) {
  const SessionState& state = session.state();
  std::optional<Result<result::Run>> run;
  {
    const bool is_shown = ProgressBar::is_wanted(request.common);
    ProgressBar bar(context, request.common, is_shown ? session.plan().bytes() : 0);
    run = compare_all(session, context);
  }
  if (!*run) return fail_with(run->error());
  guide::add_circumstances(told, (*run)->circumstances);
  if (!request.no_diagnose && !context.cancelled)
    diagnose::explain(**run, diagnose::Tensors(&session), context);
  if (!request.spec.checksum && !request.common.quiet)
    for (const std::string& rule : state.rules->unused(**run)) print_warning(rule);
  bool all_written = present(**run, request.output, state.wanted);
  if (request.view.is_wanted() && !context.cancelled)
    all_written &= request.view.show(*state.sides, state.rows, (*run)->rows, context);
  if (!all_written) return kTrouble;
  return exit_status(**run, request.allowed);
}

}  // namespace

int run_compare(int argc, char** argv, RunContext& context) {
  Options options(
      "compare", "Compare two sets of dumped tensors, operator by operator.",
      "examples\n"
      "  plumb compare npu_dump/ onnx_npy/ --graph resnet50.om\n"
      "  plumb compare after.npz before.npz --profile exact\n"
      "  plumb compare npu_dump/ onnx_npy/ -o result.csv -o result.junit.xml\n"
      "exit status: 0 all pairs within limits, 1 some pair is not or was not compared,\n"
      "2 nothing could be compared, 130 interrupted");
  Request request;
  declare(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  Spec& spec = request.spec;
  request.allowed = split_lists(request.allowed);
  spec.metrics = split_lists(spec.metrics);
  if (auto set = request.tolerance.set(spec.atol, spec.rtol); !set) return fail_with(set.error());
  if (auto checked = check(request); !checked) return fail_with(checked.error());
  spec.target.path = request.paths[0];
  spec.golden.path = request.paths[1];
  spec.selection = request.selecting.selection;
  spec.hints = request.selecting.words;
  spec.convention = request.selecting.convention;
  spec.details |= request.output.have_page();
  context.jobs = request.common.jobs;
  const auto told = guide::circumstances_from(request.circumstances);
  if (!told) return fail_with(told.error());
  auto session = Session::open(spec, context);
  if (!session) return fail_with(session.error());
  const SessionState& state = session->state();
  if (!request.save_map.empty())
    if (auto saved = save_map(state.rows, request.save_map); !saved)
      return fail_with(saved.error());
  if (request.plan || !request.explain.empty()) return show_plan(request, state);
  return compare(request, *told, *session, context);
}

}  // namespace plumb::cli
