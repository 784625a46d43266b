// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/command.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "dump/names.h"

namespace plumb::msprobe {
namespace {

using msaccucmp::Arguments;
using msaccucmp::OptionSpec;

constexpr std::array kOptions{
    OptionSpec{"-m", "--mode", "MODE", "auto (default), torchair or offline_data"},
    OptionSpec{"-tp", "--target_path", "PATH", "dump of the model on the device", true},
    OptionSpec{"-gp", "--golden_path", "PATH", "golden data; for torchair FX, or GE without fusion",
               true},
    OptionSpec{"-o", "--output_path", "[DIR]",
               "for the results (default: ./output; torchair: here)", false, false, false, true},
    OptionSpec{"", "--rank", "LIST", "torchair: only these ranks, e.g. 0,3"},
    OptionSpec{"", "--graph", "LIST", "torchair: only these graphs"},
    OptionSpec{"", "--token", "LIST", "torchair: only these tokens"},
    OptionSpec{"", "--fx-token-base", "BASE", "torchair: 0, or 1 if FX directories count from 1"},
    OptionSpec{"", "--columns", "WHICH", "full (default) or documented"},
    OptionSpec{"", "--xlsx", "", "a spreadsheet with coloured rows instead of csv"},
    OptionSpec{"", "--compat", "msprobe", "the columns and formulas msprobe itself has"},
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
// Which change no result.
constexpr std::array kAccepted{
    OptionSpec{"-tensor_log", "--is_print_compare_log", "", "all rows are in the result anyway"},
    OptionSpec{"-s", "--stack_mode", "", "stacks are in the result if there is a stack.json"},
    OptionSpec{"-c", "--compare_only", "", "it is never analysed further"},
    OptionSpec{"", "--backend", "NAME", "it counts with --consistent_check only"},
};
constexpr std::array kOverflowOptions{
    OptionSpec{"-i", "--input_path", "DIR", "dump, one step of it", true},
    OptionSpec{"-o", "--output_path", "DIR", "for the findings (default: ./output)"},
};
constexpr std::array kParseOptions{
    OptionSpec{"-d", "--dump_path", "PATH", "a dump file, or a directory of them", true},
    OptionSpec{"-t", "--type", "TYPE", "npy"},
    OptionSpec{"-o", "--output_path", "[DIR]", "for the tensors (default: ./output)", false, false,
               false, true},
};
constexpr std::array kMergeOptions{
    OptionSpec{"-i", "--input_dir", "DIR", "results of several ranks, csv or xlsx", true},
    OptionSpec{"-o", "--output_dir", "DIR", "for the merged result", true},
    OptionSpec{"-config", "--config-path", "YAML", "lists: api, and compare_index (default: all)",
               true},
};
constexpr std::string_view kDefaultOutput = "./output";
constexpr std::string_view kTorchairOnly[] = {"--rank", "--graph", "--token", "--fx-token-base"};
constexpr std::string_view kAutoOnly[] = {
    "-fm", "-cm", "-am", "-lm", "-dm", "-da", "--stat-magnitude", "--highlight"};
constexpr std::string_view kOfflineOnly[] = {"-fr", "-qfr", "-cfr"};
constexpr std::string_view kNotOffline[] = {"--columns", "--xlsx", "--compat"};

Error usage(std::string what, std::string remedy) {
  return {std::move(what), "plumb msprobe compare", std::move(remedy)};
}

Result<std::vector<int64_t>> numbers_of_option(const Arguments& arguments,
                                               std::string_view option) {
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

std::string output_of(const Arguments& arguments, std::string_view otherwise = kDefaultOutput) {
  if (!arguments.has("-o")) return std::string(otherwise);
  const std::string output = arguments.text("-o");
  return output.empty() ? std::string(kDefaultOutput) : output;
}

Result<bool> is_original(const Arguments& arguments) {
  if (!arguments.has("--compat")) return false;
  if (arguments.text("--compat") == "msprobe") return true;
  return usage(fmt::format("--compat '{}' is not known", arguments.text("--compat")),
               "write --compat msprobe");
}

Result<void> read_common(const Arguments& arguments, std::string_view output, CompareRun& run) {
  run.target = arguments.text("-tp");
  run.golden = arguments.text("-gp");
  run.output = output_of(arguments, output);
  for (const OptionSpec& option : kAccepted) {
    const std::string_view name = option.short_name.empty() ? option.long_name : option.short_name;
    if (arguments.has(name))
      run.notes.push_back(fmt::format("{} changes nothing: {}", option.long_name, option.help));
  }
  run.as_xlsx = arguments.has("--xlsx");
  const std::string columns = arguments.text("--columns", "full");
  if (columns != "full" && columns != "documented")
    return usage(fmt::format("unknown columns '{}'", columns), "use full or documented");
  run.documented_only = columns == "documented";
  return {};
}

Result<TorchairRun> torchair_run(const Arguments& arguments) {
  TorchairRun run;
  const std::pair<std::string_view, std::vector<int64_t>*> lists[] = {
      {"--rank", &run.ranks}, {"--graph", &run.graphs}, {"--token", &run.tokens}};
  for (const auto& [option, list] : lists) {
    auto given = numbers_of_option(arguments, option);
    if (!given) return given.error();
    *list = std::move(*given);
  }
  if (const std::string base = arguments.text("--fx-token-base", "auto"); base != "auto") {
    if (base != "0" && base != "1")
      return usage(fmt::format("--fx-token-base '{}' is neither 0 nor 1", base),
                   "leave it out: the directories tell it");
    run.fx_token_base = base == "1" ? 1 : 0;
  }
  auto original = is_original(arguments);
  if (!original) return original.error();
  run.as_original = *original;
  if (auto read = read_common(arguments, ".", run); !read) return read.error();
  return run;
}

// Cells and APIs may both have other names; else one file at most. -fm goes with what renames
// calls, not with what pairs rows.
Result<Mapping> mapping_of(const Arguments& arguments) {
  Mapping mapping;
  mapping.is_fuzzy = arguments.has("-fm");
  std::string_view before = mapping.is_fuzzy ? "-fm" : "";
  const std::pair<std::string_view, std::optional<std::string>*> files[] = {{"-lm", &mapping.layer},
                                                                            {"-dm", &mapping.data},
                                                                            {"-cm", &mapping.cell},
                                                                            {"-am", &mapping.api}};
  for (const auto& [option, file] : files) {
    if (!arguments.has(option)) continue;
    if ((before == "-fm" || before == "-cm") && (option == "-cm" || option == "-am")) before = "";
    if (!before.empty())
      return usage(fmt::format("{} and {} both say what belongs together", before, option),
                   "give one of them");
    before = option;
    *file = arguments.text(option);
  }
  return mapping;
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

Result<GeneralRun> general_run(const Arguments& arguments) {
  GeneralRun run;
  if (auto read = read_common(arguments, kDefaultOutput, run); !read) return read.error();
  auto original = is_original(arguments);
  if (!original) return original.error();
  run.as_original = *original;
  run.finds_first = arguments.has("-da");
  auto mapping = mapping_of(arguments);
  if (!mapping) return mapping.error();
  run.mapping = std::move(*mapping);
  if (arguments.has("--stat-magnitude")) {
    const std::string text = arguments.text("--stat-magnitude");
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || end != text.data() + text.size() || !(number >= 0))
      return usage(fmt::format("--stat-magnitude '{}' is no share", text), "0.5 is usual");
    run.most_magnitude = number;
  }
  if (!arguments.has("--highlight")) return run;
  if (arguments.text("--highlight") != "legacy")
    return usage(fmt::format("--highlight '{}' is not known", arguments.text("--highlight")),
                 "write --highlight legacy, or leave it out");
  if (!run.as_xlsx) return usage("--highlight colours rows of a spreadsheet", "add --xlsx");
  run.legacy_colours = true;
  return run;
}

msaccucmp::NetworkRun offline_run(const Arguments& arguments) {
  msaccucmp::NetworkRun run;
  run.target = arguments.text("-tp");
  run.golden = arguments.text("-gp");
  run.rules = {arguments.text("-fr"), arguments.text("-qfr"), arguments.text("-cfr")};
  run.output = output_of(arguments);
  for (const msaccucmp::Algorithm& each : msaccucmp::algorithms())
    run.options.algorithms.push_back(&each);
  return run;
}

Result<Request> overflow_request(std::span<const std::string_view> words) {
  auto arguments = Arguments::parse(kOverflowOptions, words);
  if (!arguments) return std::move(arguments.error()).in("plumb msprobe overflow_check");
  const std::filesystem::path output = output_of(*arguments);
  const auto file = output / fmt::format("anomaly_analyze_{}.json", local_time_stamp());
  return Request(OwnCommand{
      {"overflow", arguments->text("-i"), "--all", "--json", file.string()}, output, {}});
}

Result<Request> parse_request(std::span<const std::string_view> words) {
  auto arguments = Arguments::parse(kParseOptions, words);
  if (!arguments) return std::move(arguments.error()).in("plumb msprobe parse");
  if (const std::string type = arguments->text("-t", "npy"); type != "npy")
    return Error{
        fmt::format("type '{}' is not written", type), "plumb msprobe parse",
        type == "pt" ? "use -t npy, which torch.from_numpy(numpy.load(...)) takes" : "npy is"};
  OwnCommand own{{"convert", arguments->text("-d"), "-o", output_of(*arguments)}, {}, {}};
  if (!arguments->has("-t")) own.notes.push_back("tensors are written as npy; pt is not available");
  return Request(std::move(own));
}

Result<Request> merge_request(std::span<const std::string_view> words) {
  auto arguments = Arguments::parse(kMergeOptions, words);
  if (!arguments) return std::move(arguments.error()).in("plumb msprobe merge_result");
  return Request(
      MergeRun{arguments->text("-i"), arguments->text("-o"), arguments->text("-config")});
}

template <class Run>
Result<Request> as_request(Result<Run> run) {
  if (!run) return run.error();
  return Request(std::move(*run));
}

Result<Request> compare_request(std::span<const std::string_view> words) {
  for (const std::string_view word : words)
    if (word == "--step" || word.starts_with("--step="))
      return usage("steps are chosen by their directories, not by --step",
                   "name one step on both sides: -tp TARGET/step0 -gp GOLDEN/step0");
  std::vector<OptionSpec> options(kOptions.begin(), kOptions.end());
  options.insert(options.end(), kAccepted.begin(), kAccepted.end());
  auto arguments = Arguments::parse(options, words);
  if (!arguments) return std::move(arguments.error()).in("plumb msprobe compare");
  const std::string mode = arguments->text("-m", "auto");
  if (auto checked = check_options(*arguments, mode); !checked) return checked.error();
  if (mode == "torchair") return as_request(torchair_run(*arguments));
  if (mode == "offline_data") return Request(offline_run(*arguments));
  return as_request(general_run(*arguments));
}

}  // namespace

std::string help() {
  std::string accepted;
  for (const OptionSpec& option : kAccepted)
    (accepted += accepted.empty() ? "" : ", ") += option.long_name;
  return fmt::format(
      "Compare dumps as msprobe does: the same options, the result columns of its manual.\n\n"
      "usage: plumb msprobe compare [-m MODE] -tp PATH -gp PATH [options]\n{}\n"
      "Taken and without effect: {}.\n\n"
      "usage: plumb msprobe merge_result -i DIR -o DIR -config YAML\n{}\n"
      "usage: plumb msprobe overflow_check -i DIR [-o DIR]      (`plumb overflow`)\n{}\n"
      "usage: plumb msprobe parse -d PATH [-t npy] [-o [DIR]]   (`plumb convert`)\n{}\n"
      "examples\n"
      "  plumb msprobe compare -m torchair -tp msprobe_ge_dump -gp msprobe_fx_dump\n"
      "  plumb msprobe compare -tp npu/step0/rank0/dump.json -gp gpu/step0/rank0/dump.json\n"
      "  plumb msprobe compare -tp mindspore/step0 -gp pytorch/step0 -cm cells.yaml\n"
      "  plumb msprobe compare -m offline_data -tp npu_dump -gp onnx_npy -fr resnet50.json\n"
      "  plumb msprobe merge_result -i results -o merged -config apis.yaml\n"
      "exit status: 0 when the comparison ran, 2 when it could not\n",
      msaccucmp::help_of(kOptions), accepted, msaccucmp::help_of(kMergeOptions),
      msaccucmp::help_of(kOverflowOptions), msaccucmp::help_of(kParseOptions));
}

std::span<const Subcommand> subcommands() {
  static constexpr std::array kSubcommands{
      Subcommand{"compare", "compare dumps", kOptions},
      Subcommand{"merge_result", "one table from the results of several ranks", kMergeOptions},
      Subcommand{"overflow_check", "which operator overflowed first", kOverflowOptions},
      Subcommand{"parse", "decode dump files to npy", kParseOptions},
  };
  return kSubcommands;
}

Result<Request> request_from(std::span<const std::string_view> words) {
  // Earlier releases were told the framework first; the dumps say it.
  if (words.size() > 2 && (words[0] == "-f" || words[0] == "--framework")) words = words.subspan(2);
  if (!words.empty() && words[0] == "overflow_check") return overflow_request(words.subspan(1));
  if (!words.empty() && words[0] == "parse") return parse_request(words.subspan(1));
  if (!words.empty() && words[0] == "merge_result") return merge_request(words.subspan(1));
  if (!words.empty() && words[0] == "compare") return compare_request(words.subspan(1));
  return Error{words.empty() ? "which command?"
                             : fmt::format("command '{}' of msprobe is not available", words[0]),
               "plumb msprobe", "compare, merge_result, overflow_check and parse are"};
}

}  // namespace plumb::msprobe
