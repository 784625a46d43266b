// SPDX-License-Identifier: Apache-2.0
//
// `plumb compare TARGET GOLDEN`: options, report, exit status. What happens between them starts at
// include/plumb/session.h; docs/architecture.md follows one tensor through it.
#include <fmt/format.h>

#include "base/run_command.h"
#include "cli/command_words.h"
#include "cli/compare_request.h"
#include "cli/plan_view.h"
#include "cli/progress.h"
#include "cli/share.h"
#include "compare/session_state.h"
#include "diagnose/explain.h"
#include "scan/inspect_model.h"

namespace plumb::cli {
namespace {

// What the plan says, without comparing anything.
int show_plan(const CompareRequest& request, const SessionState& state) {
  for (const auto* list : {&state.doubts, &state.warnings})  // no report will tell
    for (const std::string& warning : *list) print_warning(warning);
  if (!request.explain.empty())
    return explain(state.rows, state.matcher_or_null(), request.explain);
  print_plan(state.rows, state.matcher.has_value());
  return kAgreement;
}

// Models are run, or compared as they are; their tensors are in dumps.
Error why_not_opened(const Spec& spec, const Error& error) {
  const std::string &target = spec.target.path, &golden = spec.golden.path;
  if (error.where.find(target) == std::string::npos &&
      error.where.find(golden) == std::string::npos)
    return error;
  const Error of_target = scan::why_no_tensors(target, {}),
              of_golden = scan::why_no_tensors(golden, {});
  if (!of_target.what.empty() && !of_golden.what.empty())
    return {"models hold no dumped tensors", of_target.where,
            fmt::format("`plumb run {0} {1} --input FILE` runs both and compares what they "
                        "compute, `plumb diff {0} {1}` compares the models themselves",
                        shell_word(target), shell_word(golden))};
  return !of_target.what.empty() ? of_target : !of_golden.what.empty() ? of_golden : error;
}

}  // namespace

int finish_compare(const CompareRequest& request, const Session& session, result::Run& run,
                   RunContext& context) {
  const SessionState& state = session.state();
  const auto told = guide::circumstances_from(request.circumstances);
  if (!told) return fail_with(told.error());
  guide::add_circumstances(*told, run.circumstances);
  if (!request.no_diagnose && !context.cancelled) {
    ProgressBar bar(context, request.common, 0);
    diagnose::explain_comparison(run, session, context,
                                 {request.again, result_file(request.output)});
  }
  if (!request.spec.checksum && !request.common.quiet)
    for (const std::string& rule : state.rules->unused(run)) print_warning(rule);
  bool all_written = present(run, request.output, state.wanted);
  if (request.view.is_wanted() && !context.cancelled)
    all_written &= request.view.show(*state.sides, state.rows, run.rows, context);
  if (!all_written) return kTrouble;
  return exit_status(run, request.allowed);
}

int run_compare(int argc, char** argv, RunContext& context) {
  Options options(
      "compare", "Compare two sets of dumped tensors, operator by operator.",
      "examples\n"
      "  plumb compare npu_dump/ onnx_npy/ --graph resnet50.om\n"
      "  plumb compare after.npz before.npz --profile exact\n"
      "  plumb compare npu_dump/ onnx_npy/ -o result.csv -o result.junit.xml\n"
      "exit status: 0 all pairs within limits, 1 some pair is not or was not compared,\n"
      "2 nothing could be compared, 130 interrupted");
  CompareRequest request;
  request.declare(options);
  if (auto status = options.parse(argc, argv)) return *status;
  request.again = command_again(argc, argv, kNotAgain);
  if (auto completed = request.complete(); !completed) return fail_with(completed.error());
  context.jobs = request.common.jobs;
  if (auto told = guide::circumstances_from(request.circumstances); !told)
    return fail_with(told.error());
  const bool compares = !request.plan && request.explain.empty();
  if (compares && request.shard.empty() && compare::Ranks::are_launched())
    return compare_with_ranks(request, context);
  auto opened = open_compare(request, context);
  if (!opened) return fail_with(why_not_opened(request.spec, opened.error()));
  const SessionState& state = opened->session.state();
  if (!request.save_map.empty())
    if (auto saved = save_map(state.rows, request.save_map); !saved)
      return fail_with(saved.error());
  if (!compares) return show_plan(request, state);
  if (!request.shard.empty())
    return compare_shard(request, words_without(argc, argv, kNotInPart), *opened, context);
  auto run = make_run(request, *opened, context);
  if (!run) return fail_with(run.error());
  return finish_compare(request, opened->session, *run, context);
}

}  // namespace plumb::cli
