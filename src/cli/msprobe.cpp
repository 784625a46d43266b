// SPDX-License-Identifier: Apache-2.0
//
// `plumb msprobe`: the comparison of msprobe behind its own options, and `merge_result` for results
// of several ranks. The mode decides what is compared: `auto` for general dumps, `torchair`, or
// `offline_data`, which is another name for `plumb msaccucmp compare`.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/msaccucmp.h"
#include "cli/terminal.h"
#include "dialect/msaccucmp/arguments.h"
#include "dialect/msaccucmp/output.h"
#include "dialect/msprobe/general.h"
#include "dialect/msprobe/merge_result.h"
#include "dialect/msprobe/torchair.h"
#include "dump/names.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::cli {

using namespace msaccucmp;

namespace {

constexpr std::array kOptions{
    OptionSpec{"-m", "--mode", "MODE", "auto (default), torchair or offline_data"},
    OptionSpec{"-tp", "--target_path", "PATH", "dump of the model on the device", true},
    OptionSpec{"-gp", "--golden_path", "PATH", "golden data; for torchair FX, or GE without fusion",
               true},
    OptionSpec{"-o", "--output_path", "DIR", "for the results (default: here)"},
    OptionSpec{"", "--rank", "LIST", "torchair: only these ranks, e.g. 0,3"},
    OptionSpec{"", "--graph", "LIST", "torchair: only these graphs"},
    OptionSpec{"", "--token", "LIST", "torchair: only these tokens"},
    OptionSpec{"", "--fx-token-base", "BASE", "torchair: 0, or 1 if FX directories count from 1"},
    OptionSpec{"", "--columns", "WHICH", "full (default) or documented"},
    OptionSpec{"", "--xlsx", "", "a spreadsheet with coloured rows instead of csv"},
    OptionSpec{"", "--compat", "msprobe", "torchair: the columns and formulas msprobe itself has"},
    OptionSpec{"-fm", "--fuzzy_match", "", "auto: whatever the number of the call, in order"},
    OptionSpec{"-cm", "--cell_mapping", "[YAML]", "auto: Cell is Module; names of cells", false,
               false, false, true},
    OptionSpec{"-am", "--api_mapping", "[YAML]", "auto: APIs of MindSpore and PyTorch", false,
               false, false, true},
    OptionSpec{"-lm", "--layer_mapping", "[YAML]", "auto: parts of modules, by construct.json",
               false, false, false, true},
    OptionSpec{"-dm", "--data_mapping", "YAML", "auto: rows of the result"},
    OptionSpec{"-da", "--diff_analyze", "", "auto: only the calls of each rank that first differ"},
    OptionSpec{"", "--stat-magnitude", "X",
               "auto: warn of statistics that differ by X of their size"},
    OptionSpec{"", "--highlight", "legacy", "auto: colours of --xlsx as earlier releases had them"},
    OptionSpec{"-fr", "--fusion_rule_file", "FILE",
               "offline_data: json of the model (atc --mode=1)"},
    OptionSpec{"-qfr", "--quant_fusion_rule_file", "FILE", "offline_data: json written by AMCT"},
    OptionSpec{"-cfr", "--close_fusion_rule_file", "FILE",
               "offline_data: json of the model without fusion"},
};
constexpr std::array kMergeOptions{
    OptionSpec{"-i", "--input_dir", "DIR", "results of several ranks, csv or xlsx", true},
    OptionSpec{"-o", "--output_dir", "DIR", "for the merged result", true},
    OptionSpec{"-config", "--config-path", "YAML", "lists: api, and compare_index (default: all)",
               true},
};
constexpr std::string_view kTorchairOnly[] = {"--rank", "--graph", "--token", "--fx-token-base",
                                              "--compat"};
constexpr std::string_view kAutoOnly[] = {
    "-fm", "-cm", "-am", "-lm", "-dm", "-da", "--stat-magnitude", "--highlight"};
constexpr std::string_view kOfflineOnly[] = {"-fr", "-qfr", "-cfr"};
constexpr std::string_view kNotOffline[] = {"--columns", "--xlsx"};

Error usage(std::string what, std::string remedy) {
  return {std::move(what), "plumb msprobe compare", std::move(remedy)};
}

Result<std::vector<int64_t>> numbers(const Arguments& arguments, std::string_view option) {
  std::vector<int64_t> found;
  if (!arguments.has(option)) return found;
  const std::string text = arguments.text(option);
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const auto number = dump::number_from(std::string_view(text).substr(at, end - at));
    if (!number)
      return usage(fmt::format("'{}' is no list of numbers", text),
                   fmt::format("write {} 0,3", option));
    found.push_back(*number);
    at = end + 1;
  }
  return found;
}

Result<bool> documented_only(const Arguments& arguments) {
  const std::string columns = arguments.text("--columns", "full");
  if (columns != "full" && columns != "documented")
    return usage(fmt::format("unknown columns '{}'", columns), "use full or documented");
  return columns == "documented";
}

int run_offline_data(const Arguments& arguments, RunContext& context) {
  NetworkRun run;
  run.target = arguments.text("-tp");
  run.golden = arguments.text("-gp");
  run.rules = {arguments.text("-fr"), arguments.text("-qfr"), arguments.text("-cfr")};
  run.output = arguments.text("-o", ".");
  for (const Algorithm& each : algorithms()) run.options.algorithms.push_back(&each);
  if (auto failure = make_output_directory(run.output)) {
    print_error(failure->error);
    return static_cast<int>(failure->code);
  }
  return run_network(run, context);
}

Result<msprobe::TorchairRun> torchair_run(const Arguments& arguments) {
  msprobe::TorchairRun run;
  run.target = arguments.text("-tp");
  run.golden = arguments.text("-gp");
  run.output = arguments.text("-o", ".");
  const std::pair<std::string_view, std::vector<int64_t>*> lists[] = {
      {"--rank", &run.ranks}, {"--graph", &run.graphs}, {"--token", &run.tokens}};
  for (const auto& [option, list] : lists) {
    auto given = numbers(arguments, option);
    if (!given) return given.error();
    *list = std::move(*given);
  }
  if (const std::string base = arguments.text("--fx-token-base", "auto"); base != "auto") {
    if (base != "0" && base != "1")
      return usage(fmt::format("--fx-token-base '{}' is neither 0 nor 1", base),
                   "leave it out: the directories tell it");
    run.fx_token_base = base == "1" ? 1 : 0;
  }
  if (arguments.has("--compat") && arguments.text("--compat") != "msprobe")
    return usage(fmt::format("--compat '{}' is not known", arguments.text("--compat")),
                 "write --compat msprobe");
  run.as_original = arguments.has("--compat");
  run.as_xlsx = arguments.has("--xlsx");
  auto documented = documented_only(arguments);
  if (!documented) return documented.error();
  run.documented_only = *documented;
  return run;
}

std::string number_cell(std::string_view metric, std::optional<double> number) {
  if (!number) return "";
  return plumb::report::rounded_text(*metrics::metric_by_name(metric), metrics::Value::of(*number));
}

// The worst of the rows that are not all right.
std::string table_of(const msprobe::Written& written, bool has_colour) {
  const std::vector<msprobe::Notable>& rows = written.notable;
  const auto varies = [&](auto member) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return row.*member != rows.front().*member; });
  };
  const bool ranks = varies(&msprobe::Notable::rank), tokens = varies(&msprobe::Notable::token);
  plumb::report::Table table;
  table.columns = {{"Result"},
                   {"API Name", false, 9, true, 20},
                   {"IO", false, 6},
                   {"Rank ID", true, 5},
                   {"Token ID", true, 5},
                   {"Cosine", true, 8},
                   {"MaxRelativeErr", true, 7},
                   {"Err_message", false, 9, true, 20}};
  const auto text = [](bool is_shown, std::optional<int64_t> n) {
    return is_shown && n ? fmt::to_string(*n) : "";
  };
  for (const msprobe::Notable& row : rows) {
    const bool is_red = fill_of(row.judged) == plumb::report::Fill::kRed;
    const std::string_view mark = is_red ? "✗" : row.judged.result == "N/A" ? "-" : "~";
    table.rows.push_back({fmt::format("{} {}", mark, row.judged.result),
                          plumb::report::printable(row.api), std::string(row.io),
                          text(ranks, row.rank), text(tokens, row.token),
                          number_cell("cosine", row.cosine), number_cell("max_rel", row.max_rel),
                          plumb::report::printable(row.judged.message)});
    if (has_colour) table.colours.push_back(is_red ? "31" : "33");
  }
  std::string shown = table.render(terminal_width());
  if (const auto more = written.all_notable - std::ssize(rows); more > 0)
    shown +=
        fmt::format("... and {} more in the file{}\n", more, written.files.size() == 1 ? "" : "s");
  return shown + "\n";
}

int report_first(const msprobe::FirstDifferences& first) {
  for (const auto& file : first.files) fmt::print("{}\n", file.string());
  for (const auto& [rank, call] : first.calls)
    fmt::print("first difference{}: {}\n", rank ? fmt::format(" of rank {}", *rank) : "",
               plumb::report::printable(call));
  if (first.calls.empty()) fmt::print("no call differs\n");
  return kAgreement;
}

int report(const Result<msprobe::Written>& written) {
  if (!written) return fail_with(written.error());
  for (const std::string& warning : written->warnings) print_warning(warning);
  if (written->first) return report_first(*written->first);
  const bool has_colour = colour_is_wanted();
  if (!written->notable.empty()) fmt::print("{}", table_of(*written, has_colour));
  for (const auto& file : written->files) fmt::print("{}\n", file.string());
  const auto coloured = [&](int64_t count, std::string_view words, const char* colour) {
    const std::string text = fmt::format("{} {}", count, words);
    return has_colour && count > 0 ? fmt::format("\033[{}m{}\033[0m", colour, text) : text;
  };
  if (written->compared > 0)
    fmt::print("{} compared, {} not\n", written->compared, written->not_compared);
  else
    fmt::print("{}, {}, {}\n", coloured(written->pass, "PASS", "32"),
               coloured(written->fail, "FAIL", "31"),
               coloured(written->not_compared, "not compared", "33"));
  return kAgreement;
}

int run_torchair(const Arguments& arguments, RunContext& context) {
  auto run = torchair_run(arguments);
  if (!run) return fail_with(run.error());
  return report(msprobe::compare_torchair(*run, context));
}

// One file at most; -fm goes with what renames calls, not with what pairs rows.
Result<msprobe::Mapping> mapping_of(const Arguments& arguments) {
  msprobe::Mapping mapping;
  mapping.is_fuzzy = arguments.has("-fm");
  std::string_view before = mapping.is_fuzzy ? "-fm" : "";
  const std::pair<std::string_view, std::optional<std::string>*> files[] = {{"-lm", &mapping.layer},
                                                                            {"-dm", &mapping.data},
                                                                            {"-cm", &mapping.cell},
                                                                            {"-am", &mapping.api}};
  for (const auto& [option, file] : files) {
    if (!arguments.has(option)) continue;
    if (before == "-fm" && (option == "-cm" || option == "-am")) before = "";
    if (!before.empty())
      return usage(fmt::format("{} and {} both say what belongs together", before, option),
                   "give one of them");
    before = option;
    *file = arguments.text(option);
  }
  return mapping;
}

// Records take several times the room of their files, in small pieces. The system would need a
// quarter of the run to hand out their pages one by one, so they are asked for in one call; and
// what the text of one file took is used again for what comes after it, instead of being given
// back.
void prepare_heap(std::initializer_list<std::string> files) {
  constexpr uintmax_t kMost = 256 << 20,
                      kGrowth = 3;  // of what is asked for at once; it may be less
  constexpr int kNever = 1 << 30, kStep = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kNever);
  ::mallopt(M_TRIM_THRESHOLD, kNever);
  uintmax_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code unknown;
    if (const auto size = std::filesystem::file_size(file, unknown); !unknown)
      bytes += std::min(size, kMost);
  }
  bytes = std::min(kGrowth * bytes, kMost);
  ::mallopt(M_TOP_PAD, std::max(static_cast<int>(bytes), kStep));
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(::sbrk(0)) + page - 1) / page * page;
  void* volatile piece = std::malloc(kStep);  // more than there is: the heap grows
  std::free(piece);
  ::mallopt(M_TOP_PAD, kStep);
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
  // An older system says no, and the pages come one by one.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
}

int run_general(const Arguments& arguments, RunContext& context) {
  prepare_heap({arguments.text("-tp"), arguments.text("-gp")});
  msprobe::GeneralRun run;
  run.target = arguments.text("-tp");
  run.golden = arguments.text("-gp");
  run.output = arguments.text("-o", ".");
  run.as_xlsx = arguments.has("--xlsx");
  run.finds_first = arguments.has("-da");
  auto documented = documented_only(arguments);
  if (!documented) return fail_with(documented.error());
  run.documented_only = *documented;
  auto mapping = mapping_of(arguments);
  if (!mapping) return fail_with(mapping.error());
  run.mapping = std::move(*mapping);
  if (arguments.has("--stat-magnitude")) {
    const std::string text = arguments.text("--stat-magnitude");
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || end != text.data() + text.size() || !(number >= 0))
      return fail_with(
          usage(fmt::format("--stat-magnitude '{}' is no share", text), "0.5 is usual"));
    run.most_magnitude = number;
  }
  if (arguments.has("--highlight")) {
    if (arguments.text("--highlight") != "legacy")
      return fail_with(
          usage(fmt::format("--highlight '{}' is not known", arguments.text("--highlight")),
                "write --highlight legacy, or leave it out"));
    if (!run.as_xlsx)
      return fail_with(usage("--highlight colours rows of a spreadsheet", "add --xlsx"));
    run.legacy_colours = true;
  }
  return report(msprobe::compare_general(run, context));
}

int run_merge(std::span<const std::string_view> words) {
  auto arguments = Arguments::parse(kMergeOptions, words);
  if (!arguments) return fail_with(std::move(arguments.error()).in("plumb msprobe merge_result"));
  const auto merged = msprobe::merge_results(
      {arguments->text("-i"), arguments->text("-o"), arguments->text("-config")});
  if (!merged) return fail_with(merged.error());
  for (const std::string& warning : merged->warnings) print_warning(warning);
  fmt::print("{}\n{} rows of {} ranks on {} sheets\n", merged->file.string(), merged->rows,
             merged->ranks.size(), merged->sheets);
  return kAgreement;
}

Result<void> check_options(const Arguments& arguments, std::string_view mode) {
  const auto refuse = [&](std::span<const std::string_view> options) -> Result<void> {
    for (std::string_view option : options)
      if (arguments.has(option))
        return usage(fmt::format("mode {} knows no option {}", mode, option), "leave it out");
    return {};
  };
  if (mode != "torchair" && mode != "auto" && mode != "offline_data")
    return usage(fmt::format("mode '{}' is not available", mode),
                 "auto, torchair and offline_data are; `plumb compare` reads the dumps of others");
  if (mode != "offline_data")
    if (auto checked = refuse(kOfflineOnly); !checked) return checked;
  if (mode != "torchair")
    if (auto checked = refuse(kTorchairOnly); !checked) return checked;
  if (mode != "auto")
    if (auto checked = refuse(kAutoOnly); !checked) return checked;
  if (mode == "offline_data") return refuse(kNotOffline);
  return {};
}

}  // namespace

int run_msprobe(int argc, char** argv, RunContext& context) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto is_help = [](std::string_view word) { return word == "-h" || word == "--help"; };
  if (std::any_of(words.begin(), words.end(), is_help)) {
    fmt::print(
        "Compare dumps as msprobe does: the same options, the result columns of its manual.\n\n"
        "usage: plumb msprobe compare [-m MODE] -tp PATH -gp PATH [options]\n{}\n"
        "usage: plumb msprobe merge_result -i DIR -o DIR -config YAML\n{}\n"
        "examples\n"
        "  plumb msprobe compare -m torchair -tp msprobe_ge_dump -gp msprobe_fx_dump\n"
        "  plumb msprobe compare -tp npu/step0/rank0/dump.json -gp gpu/step0/rank0/dump.json\n"
        "  plumb msprobe compare -tp mindspore/step0 -gp pytorch/step0 -cm cells.yaml\n"
        "  plumb msprobe compare -m offline_data -tp npu_dump -gp onnx_npy -fr resnet50.json\n"
        "  plumb msprobe merge_result -i results -o merged -config apis.yaml\n"
        "exit status: 0 when the comparison ran, 2 when it could not\n",
        help_of(kOptions), help_of(kMergeOptions));
    return 0;
  }
  if (!words.empty() && words[0] == "merge_result") return run_merge(std::span(words).subspan(1));
  if (words.empty() || words[0] != "compare")
    return fail_with({words.empty()
                          ? "which command?"
                          : fmt::format("command '{}' of msprobe is not available", words[0]),
                      "plumb msprobe", "compare and merge_result are"});
  auto arguments = Arguments::parse(kOptions, std::span(words).subspan(1));
  if (!arguments) return fail_with(std::move(arguments.error()).in("plumb msprobe compare"));
  const std::string mode = arguments->text("-m", "auto");
  if (auto checked = check_options(*arguments, mode); !checked) return fail_with(checked.error());
  return mode == "torchair"       ? run_torchair(*arguments, context)
         : mode == "offline_data" ? run_offline_data(*arguments, context)
                                  : run_general(*arguments, context);
}

}  // namespace plumb::cli
