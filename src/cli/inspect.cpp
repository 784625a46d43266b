// SPDX-License-Identifier: Apache-2.0
//
// `plumb inspect PATH`: what is in this file or directory. Headers only, unless --stats. A model is
// shown as one (inspect_model.cpp).
#include "scan/inspect.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/inspect_model.h"
#include "cli/output_check.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "report/table.h"

namespace plumb::cli {
namespace {

using report::printable;
using report::short_number;
using report::Table;
using scan::InspectedTensor;
using scan::Inspection;

std::string shape_text(const InspectedTensor& tensor) {
  return tensor.shape() != nullptr ? to_string(*tensor.shape()) : "";
}

// The layout, with the stored shape when that is not the logical one: "NC1HWC0 [1, 2, 3, 4, 16]".
std::string layout_of(const InspectedTensor& tensor) {
  if (!tensor.info || tensor.info->layout == kPlainLayout) return "";
  std::string text = name_of(tensor.info->layout);
  if (tensor.info->layout.groups > 1) text += fmt::format(":{}", tensor.info->layout.groups);
  if (tensor.shape() != nullptr && *tensor.shape() != tensor.info->shape)
    text += " " + to_string(tensor.info->shape);
  return text;
}

// Extremes of integers to the last digit, others to six.
std::string extreme(const scan::Measured& m, long double value) {
  return kind_of(m.dtype) == DKind::kFloat || kind_of(m.dtype) == DKind::kComplex
             ? short_number(value)
             : fmt::format("{:.0f}", value);
}

std::string sparkline(const metrics::Histogram& histogram) {
  constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int64_t most = *std::max_element(histogram.bins.begin(), histogram.bins.end());
  if (most == 0) return "";
  std::string line;
  for (int64_t n : histogram.bins) line += kBars[n == 0 ? 0 : 1 + n * 7 / most];
  return line;
}

std::string count_text(int64_t n) { return n == 0 ? "" : std::to_string(n); }

constexpr const char* kStatistics[] = {"min ",   "max ", "mean ", "std ", "l2 ",
                                       "zeros ", "nan ", "inf ",  ""};

// What is known of each of these, measured or recorded. Last comes a histogram, or a recorded text.
std::vector<std::string> statistics_of(const InspectedTensor& tensor) {
  const auto known = [](const std::optional<double>& v) { return v ? short_number(*v) : ""; };
  if (!tensor.measured || tensor.measured->stats.count == 0 ||
      tensor.measured->dtype == DType::kOpaque) {
    const auto& e = *tensor.entry;
    const auto recorded = e.statistics ? *e.statistics : Statistics{};
    return {known(recorded.min),
            known(recorded.max),
            known(recorded.mean),
            known(recorded.std),
            known(recorded.l2),
            count_text(recorded.zeros.value_or(0)),
            count_text(recorded.nan_count.value_or(0)),
            count_text(recorded.inf_count.value_or(0)),
            printable(recorded.text)};
  }
  const scan::Measured& m = *tensor.measured;
  const bool any = m.stats.finite > 0;
  return {any ? extreme(m, m.stats.min) : "",
          any ? extreme(m, m.stats.max) : "",
          any ? short_number(m.stats.mean) : "",
          any ? short_number(m.stats.standard_deviation()) : "",
          any ? short_number(m.stats.l2()) : "",
          count_text(m.stats.zeros),
          count_text(m.stats.nan),
          count_text(m.stats.inf()),
          sparkline(m.histogram)};
}

Table table_of_tensors(const std::vector<InspectedTensor>& tensors, bool stats) {
  Table table;
  table.columns = {
      {"rank", true, 7},    {"step", true, 7},  {"graph", false, 2}, {"operator", false, 9, true},
      {"type", false, 3},   {"slot", false, 9}, {"dtype", false, 9}, {"shape", false, 8},
      {"layout", false, 4}, {"size", true, 5}};
  if (stats)
    table.columns.insert(table.columns.end(), {{"min", true, 8},
                                               {"max", true, 8},
                                               {"mean", true, 7},
                                               {"std", true, 6},
                                               {"l2", true, 4},
                                               {"zeros", true, 5},
                                               {"nan", true, 9},
                                               {"inf", true, 9},
                                               {"histogram", false, 1}});
  table.columns.push_back({"problem", false, 9});
  for (const InspectedTensor& tensor : tensors) {
    const dump::Entry& e = *tensor.entry;
    std::vector<std::string> cells{
        e.rank() ? std::to_string(*e.rank()) : "",
        e.step() ? std::to_string(*e.step()) : "",
        printable(e.graph()),
        printable(e.operator_name),
        printable(e.type),
        printable(to_string(e.slot)),
        printable(tensor.dtype()),
        shape_text(tensor),
        layout_of(tensor),
        tensor.info ? bytes_text(static_cast<double>(tensor.stored_bytes())) : ""};
    if (stats)
      for (std::string& cell : statistics_of(tensor)) cells.push_back(std::move(cell));
    cells.push_back(tensor.error ? printable(tensor.error->what) : "");
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// rank > step > graph > operator > slots, as an indented tree.
std::string tree_of(const std::vector<InspectedTensor>& tensors, bool stats) {
  std::string text, place, name;
  for (const InspectedTensor& tensor : tensors) {
    const dump::Entry& e = *tensor.entry;
    std::string here;
    if (e.rank()) here += fmt::format("rank {}  ", *e.rank());
    if (e.step()) here += fmt::format("step {}  ", *e.step());
    here += printable(e.graph());
    here.erase(here.find_last_not_of(' ') + 1);
    if (here != place) {
      text += here + "\n";
      place = here;
      name.clear();
    }
    const std::string title =
        printable(e.operator_name) + (e.type.empty() ? "" : "  (" + printable(e.type) + ")");
    if (title != name) text += "  " + title + "\n";
    name = title;
    text += fmt::format("    {:<12} {} {}{}{}\n", printable(to_string(e.slot)),
                        printable(tensor.dtype()), shape_text(tensor),
                        layout_of(tensor).empty() ? "" : "  " + layout_of(tensor),
                        tensor.error ? "  PROBLEM: " + printable(tensor.error->what) : "");
    if (!stats) continue;
    std::string line;
    const auto cells = statistics_of(tensor);
    for (size_t i = 0; i < cells.size(); ++i)
      if (!cells[i].empty()) line += fmt::format("  {}{}", kStatistics[i], cells[i]);
    if (!line.empty()) text += fmt::format("{:15}{}\n", "", line);
  }
  return text;
}

// The one tensor asked for, in full.
std::string histogram_text(const scan::Measured& m) {
  constexpr double kWidth = 48;
  const metrics::Histogram& h = m.histogram;
  const int64_t most = *std::max_element(h.bins.begin(), h.bins.end());
  if (most == 0) return "";
  std::string text = h.counted < m.stats.finite
                         ? fmt::format("\nhistogram of {} values, evenly sampled\n", h.counted)
                         : "\nhistogram\n";
  const bool constant = !(h.high > h.low);
  const int bins = constant ? 1 : metrics::Histogram::kBins;
  for (int i = 0; i < bins; ++i) {
    const double low = h.low + (h.high - h.low) * i / metrics::Histogram::kBins;
    const int64_t n = h.bins[static_cast<size_t>(i)];
    std::string bar;
    for (double left = kWidth * static_cast<double>(n) / static_cast<double>(most); left > 0;
         --left)
      bar += left >= 1 ? "█" : "▌";
    text += fmt::format("  {:>12} {:>10} {}\n", short_number(low), n, bar);
  }
  return text;
}

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

void print_dump_summary(const std::string& path, const Inspection& found) {
  std::set<std::string_view> operators;
  for (const InspectedTensor& tensor : found.tensors) operators.insert(tensor.entry->operator_name);
  fmt::print("{}: {}, {}, {}, {}", path, found.set->convention,
             counted(operators.size(), "operator"), counted(found.tensors.size(), "tensor"),
             bytes_text(static_cast<double>(found.stored_bytes())));
  if (found.damaged() > 0) fmt::print(", {} damaged", found.damaged());
  const auto others = std::count_if(found.set->skipped.begin(), found.set->skipped.end(),
                                    [](const dump::Skipped& s) { return !s.error; });
  if (others > 0) fmt::print(", {}", counted(static_cast<size_t>(others), "other file"));
  fmt::print("\n");
}

// Why files are not in the list, most frequent reason first.
void print_left_out(const dump::DumpSet& set) {
  std::map<std::string, size_t> reasons;
  for (const dump::Skipped& skipped : set.skipped)
    if (!skipped.error) ++reasons[skipped.reason];
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto& [count, reason] : sorted)
    fmt::print("left out: {}, {}\n", counted(count, "file"), printable(reason));
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

void print_text(const InspectRequest& request, const Inspection& found) {
  const std::vector<InspectedTensor>& tensors = found.tensors;
  if (!tensors.empty()) {
    print_dump_summary(request.paths[0], found);
    fmt::print("{}", request.tree
                         ? tree_of(tensors, request.stats)
                         : table_of_tensors(tensors, request.stats).render(terminal_width()));
  }
  print_left_out(*found.set);
  if (tensors.size() != 1) return;
  if (tensors[0].measured) fmt::print("{}", histogram_text(*tensors[0].measured));
  if (tensors[0].info)
    for (const std::string& note : tensors[0].info->notes)
      fmt::print("note: {}\n", printable(note));
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
  const auto shown = hand_over(request, to_json(**model, request.command_line),
                               [&] { print_model(**model, request.command_line); });
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

  const auto shown = hand_over(request, to_json(*found), [&] { print_text(request, *found); });
  if (!shown) return fail_with(shown.error());
  print_inspect_complaints(*found, request.common.quiet);
  if (found->damaged() == 0) return kAgreement;
  const bool anything = std::any_of(found->tensors.begin(), found->tensors.end(),
                                    [](const InspectedTensor& tensor) { return !tensor.error; });
  return anything ? kDifference : kTrouble;
}

}  // namespace plumb::cli
