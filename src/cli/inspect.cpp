// SPDX-License-Identifier: Apache-2.0
//
// `plumb inspect PATH`: what is in this file or directory. Headers only, unless --stats. A model is
// shown as one (inspect_model.cpp).
#include "scan/inspect.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "report/inspection_text.h"
#include "report/model_text.h"
#include "scan/inspect_model.h"

namespace plumb::cli {
namespace {

using scan::InspectedTensor;
using scan::Inspection;

// `--json FILE` is how all commands spell it, and `--json PATH` what fingers type. The word after
// --json is the output if it ends in .json and the path to inspect is named as well.
std::string take_json_file(int argc, char** argv, std::vector<std::string>& paths) {
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string word = argv[i + 1];
    const auto found = std::find(paths.begin(), paths.end(), word);
    if (std::string_view(argv[i]) != "--json" || paths.size() < 2 || !word.ends_with(".json") ||
        found == paths.end())
      continue;
    paths.erase(found);
    return word;
  }
  return "";
}

struct InspectRequest {
  std::vector<std::string> paths;
  std::string output;
  bool stats = false, tree = false, json = false, command_line = false;
  SelectionOptions selecting;
  CommonOptions common;
};

void declare_inspect_options(Options& options, InspectRequest& request) {
  options.arguments("PATH", request.paths, "file or directory");
  request.selecting.declare(options);
  options.group("output");
  options.flag("--stats", request.stats,
               "read the data: min, max, mean, std, l2, zeros,\nNaN, infinities, histogram");
  options.flag("--tree", request.tree, "a tree instead of a table");
  options.flag("--json", request.json, "JSON on stdout, or into the FILE.json that follows");
  options.text("-o", "FILE", request.output, "write the JSON to FILE");
  options.flag("--command-line", request.command_line,
               "of an offline model: the command that made it,\nwhich names files of that machine");
  request.common.declare(options);
}

Result<void> check_inspect_request(const InspectRequest& request) {
  if (request.paths.size() != 1)
    return Error{"one path at a time",
                 fmt::format("plumb inspect {}", fmt::join(request.paths, " ")),
                 "call it once for each"};
  const NamedPath outputs[] = {{request.json ? "--json" : "-o", request.output}},
                  inputs[] = {{"PATH", request.paths[0]}};
  return check_outputs(outputs, inputs);
}

void print_inspect_complaints(const Inspection& found, bool quiet) {
  if (!quiet)
    for (const std::string& warning : found.set->warnings) print_warning(warning);
  for (const InspectedTensor& tensor : found.tensors)
    if (tensor.error) print_error(*tensor.error);
  for (const dump::Skipped& skipped : found.set->skipped)
    if (skipped.error) print_error(*skipped.error);
}

// What `found` or the model is, where the user wants it.
template <class Show>
Result<void> hand_over(const InspectRequest& request, const std::string& json, Show show) {
  if (!request.output.empty()) return write_file(request.output, json);
  if (request.json) {
    fmt::print("{}", json);
  } else {
    show();
  }
  return {};
}

// A file without tensors may be a model; 0 tensors is not worth an answer of its own then.
std::optional<int> show_model(const InspectRequest& request) {
  const dump::Selection& selection = request.selecting.selection;
  const auto model = scan::inspect_model(request.paths[0], selection.ops);
  if (!model) return fail_with(model.error());
  if (*model == nullptr) return std::nullopt;
  if (request.stats || !selection.slots.empty() || !selection.steps.empty() ||
      !selection.ranks.empty())
    print_warning("--stats, --slot, --step and --rank are for tensors: a model has none to read");
  const auto shown = hand_over(request, to_json(**model, request.command_line), [&] {
    fmt::print("{}", report::model_text(**model, terminal_width(), request.command_line));
  });
  if (!shown) return fail_with(shown.error());
  if (!request.common.quiet)
    for (const std::string& warning : (*model)->graph.warnings) print_warning(warning);
  return kAgreement;
}

}  // namespace

int run_inspect(int argc, char** argv, RunContext& context) {
  Options options("inspect", "Show what is in a tensor file, a dump directory or a model.",
                  "examples\n"
                  "  plumb inspect npu_dump/\n"
                  "  plumb inspect model.safetensors --stats --op '*.weight'\n"
                  "  plumb inspect output.bin --dtype float32 --shape 1,1000 --stats\n"
                  "  plumb inspect model.om\n"
                  "exit status: 0 all readable, 1 some tensor is damaged, 2 nothing could be read");
  InspectRequest request;
  declare_inspect_options(options, request);
  if (auto status = options.parse(argc, argv)) return *status;
  if (std::string file = take_json_file(argc, argv, request.paths); !file.empty())
    request.output = file;
  if (auto checked = check_inspect_request(request); !checked) return fail_with(checked.error());
  auto wanted = request.selecting.request();
  if (!wanted) return fail_with(wanted.error());
  context.jobs = request.common.jobs;
  auto found = scan::inspect(request.paths[0], *wanted, context);
  if (!found) {
    const auto status = show_model(request);
    return status ? *status : fail_with(found.error());
  }
  if (request.stats) {
    ProgressBar bar(context, request.common, found->stored_bytes());
    scan::measure(*found, wanted->hints, context);
  }
  if (context.cancelled) print_warning("interrupted: statistics are missing where none are shown");

  const auto shown = hand_over(request, to_json(*found), [&] {
    fmt::print("{}", report::inspection_text(request.paths[0], *found,
                                             {terminal_width(), request.stats, request.tree}));
  });
  if (!shown) return fail_with(shown.error());
  print_inspect_complaints(*found, request.common.quiet);
  if (found->damaged() == 0) return kAgreement;
  const bool anything = std::any_of(found->tensors.begin(), found->tensors.end(),
                                    [](const InspectedTensor& tensor) { return !tensor.error; });
  return anything ? kDifference : kTrouble;
}

}  // namespace plumb::cli
