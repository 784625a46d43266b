// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp compare`: networks, single operators, files, and the table of operators.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/free_path.h"
#include "dialect/msaccucmp/batch.h"
#include "dialect/msaccucmp/command.h"
#include "dialect/msaccucmp/mapping_table.h"
#include "dialect/msaccucmp/output.h"
#include "dialect/msaccucmp/pytorch_h5.h"
#include "dialect/msaccucmp/single_op.h"
#include "dump/names.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;

// Half a result would look like a whole one.
Fault interruption() {
  return {Code::kInterrupted,
          {"interrupted", "the comparison is not complete, nothing is written", "run it again"}};
}

void warn(const std::vector<std::string>& warnings, const Console& console) {
  for (const std::string& warning : warnings) console.warn(warning);
}

Outcome<int> write_result(const ResultTable& table, const std::string& stem, const NetworkRun& run,
                          const std::vector<std::string>& input_nodes, const Console& console,
                          const RunContext& context) {
  if (context.cancelled) return interruption();
  warn(table.warnings, console);
  const std::string csv = to_csv(table);
  const fs::path path = free_path(run.output, stem, ".csv");
  if (auto failure = write_text(path, csv)) return *failure;
  const auto compared = std::count_if(table.rows.begin(), table.rows.end(),
                                      [](const ResultRow& row) { return row.is_compared; });
  console.print(fmt::format("{}, {} compared, {} not\n", counted(table.rows.size(), "row"),
                            compared, std::ssize(table.rows) - compared));
  say_written(console, path);
  if (run.advisor)
    if (auto failure = write_advice(csv, input_nodes, run.output, console)) return *failure;
  return static_cast<int>(table.code);
}

Outcome<int> compare_directories(const NetworkRun& run, const std::string& prefix,
                                 const Console& console, RunContext& context) {
  auto network = open_network(run.target, run.golden, run.rules, run.join_slices);
  if (!network) return network.fault();
  warn(network->target.warnings, console);
  warn(network->golden.warnings, console);
  NetworkOptions options = run.options;
  if (options.overflow && network->target.has_npy) {
    console.warn("-overflow_detection is for device dumps; there is no column OverFlow");
    options.overflow = false;
  }
  const std::string stem = fmt::format("{}result_{}", prefix, local_time_stamp());
  auto table = network->rules ? compare_network(*network, options, context)
                              : compare_by_name(*network, options, context);
  if (!table) return table.fault();
  const auto inputs = network->rules ? network->rules->input_nodes() : std::vector<std::string>();
  return write_result(*table, stem, run, inputs, console, context);
}

constexpr std::array kCompareOptions{
    OptionSpec{"-m", "--my_dump_path", "PATH", "dump of the model on the device", true},
    OptionSpec{"-g", "--golden_dump_path", "PATH", "golden data", true},
    OptionSpec{"-f", "--fusion_rule_file", "FILE",
               "json of the model (atc --mode=1), or directory"},
    OptionSpec{"-q", "--quant_fusion_rule_file", "FILE", "json written by AMCT"},
    OptionSpec{"-cf", "--close_fusion_rule_file", "FILE", "json of the model without fusion"},
    OptionSpec{"-out", "--output", "DIR", "for the results (default: here)"},
    OptionSpec{"-c", "--custom_script_path", "DIR", "plug-ins in Python are not run"},
    OptionSpec{"-alg", "--algorithm", "LIST", "0..9 or names (default: all)", false, false, true},
    OptionSpec{"-a", "--algorithm_options", "TEXT", "for plug-ins; not used"},
    OptionSpec{"-map", "--mapping", "", "only the table of operators and files"},
    OptionSpec{"-overflow_detection", "", "", "add the column OverFlow"},
    OptionSpec{"-advisor", "", "", "add advisor_summary.txt"},
    OptionSpec{"-r", "--range", "START,END,STEP", "only operators with these numbers; needs -f"},
    OptionSpec{"-s", "--select", "I,J,K", "only these operators; needs -f"},
    OptionSpec{"-p", "--post_process", "0|1", ".h5: also write the suspicious rows", false, true},
    OptionSpec{"-max", "--max_cmp_size", "N", "only the first N elements", false, true},
    OptionSpec{"-v", "--version", "1|2", "historic, no effect", false, true},
    OptionSpec{"-op", "--op_name", "NAME", "one operator, element by element"},
    OptionSpec{"-o", "--output_tensor", "K", "its output K (default: 0)"},
    OptionSpec{"-i", "--input_tensor", "K", "its input K"},
    OptionSpec{"", "--ignore_single_op_result", "", "no file of all elements"},
    OptionSpec{"-n", "--topn", "N", "largest errors, 1..10000 (default: 20)", false, true},
    OptionSpec{"-ml", "--max_line", "N", "lines in a file (default: 1000000)", false, true},
    OptionSpec{"-ffts", "", "", "do not join FFTS+ slices; the newest counts"},
};

// A run whose result depends on Python code is refused rather than done without it.
std::optional<Fault> refuse_plugins(const std::string& directory, std::string_view algorithm_text,
                                    const Selection& selection, const Console& console) {
  if (directory.empty()) return std::nullopt;
  std::error_code ignored;
  const auto refuse_file = [](const fs::path& file) {
    return refusal("plug-ins in Python are not run", file.string(),
                   "leave out -c and the plug-in's name, or run msaccucmp.py itself");
  };
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(directory) / "format_convert", ignored))
    if (entry.path().extension() == ".py" && entry.path().filename() != "__init__.py")
      return refuse_file(entry.path());
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(directory) / "algorithm", ignored)) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() != ".py" || !stem.starts_with("alg_")) continue;
    const std::string name = stem.substr(4);
    const bool replaces = std::any_of(selection.begin(), selection.end(),
                                      [&](const Algorithm* each) { return each->name == name; });
    const bool is_named =
        fmt::format(",{},", algorithm_text).find("," + name + ",") != std::string::npos;
    if (replaces || is_named) return refuse_file(entry.path());
  }
  console.warn("-c: plug-ins in Python are not run; this comparison uses none of them");
  return std::nullopt;
}

bool is_h5(const std::string& path) {
  std::error_code ignored;
  return path.ends_with(".h5") && fs::is_regular_file(path, ignored);
}

Outcome<int> compare_h5_files(const Arguments& arguments, const NetworkRun& run,
                              const Console& console, RunContext& context) {
  for (const char* option : {"-f", "-q", "-c", "-op", "-map"})
    if (arguments.has(option))
      return refusal(fmt::format("{} is not used with .h5 files", option), "compare",
                     "leave it out");
  if (arguments.integer("-v", 2) != 2)
    return refusal("-v 1 is not used with .h5 files", "compare", "leave it out");
  auto result = compare_h5(run.target, run.golden, run.options, context);
  if (!result) return result.fault();
  if (context.cancelled) return interruption();
  const fs::path output = run.output;
  const fs::path path = free_path(output, "result_" + local_time_stamp(), ".csv");
  const std::string csv = result->csv(false);
  if (auto failure = write_text(path, csv)) return *failure;
  say_written(console, path);
  if (arguments.integer("-p", 0) == 1) {
    const fs::path filtered = output / (path.stem().string() + "_filtered");
    if (auto failure = make_output_directory(filtered)) return *failure;
    if (auto failure = write_text(filtered / "filtered_result.csv", result->csv(true)))
      return *failure;
    for (const H5Row& row : result->rows) {
      if (!row.is_suspicious) continue;
      for (const auto& [side, file, dataset] :
           {std::tuple("my_dump", &run.target, &row.target),
            std::tuple("gold_dump", &run.golden, &row.golden)}) {
        auto array = h5_array(*file, *dataset);
        if (!array) continue;  // an operator without counterpart has no dataset
        std::string name = side + *dataset + ".npy";
        std::replace(name.begin(), name.end(), '/', '_');
        if (auto failure = write_npy(filtered / name, *array)) return *failure;
      }
    }
    say_written(console, filtered);
  }
  if (run.advisor)
    if (auto failure = write_advice(csv, {}, output, console)) return *failure;
  return 0;
}

// Only printed.
Outcome<int> compare_files(const NetworkRun& run, const Console& console, RunContext& context) {
  auto target = load_only_tensor(run.target);
  if (!target) return target.fault();
  auto golden = load_only_tensor(run.golden);
  if (!golden) return golden.fault();
  if (target->count != golden->count)
    return refusal("the tensors differ in length",
                   fmt::format("target {}, golden {}", target->count, golden->count),
                   "compare tensors of one size", Code::kShape);
  PairTraits traits;
  traits.is_scalar = counts_as_scalar(target->shape);
  traits.both_bool = target->dtype == DType::kBool && golden->dtype == DType::kBool;
  traits.target_file = run.target;
  traits.golden_file = run.golden;
  auto row = compare_two({flat_view(*target), flat_view(*golden), std::move(traits), {}},
                         run.options, context);
  if (!row) return row.fault();
  std::string names, values;
  for (size_t i = 0; i < row->scores.size(); ++i) {
    const std::string_view name = run.options.algorithms[i]->name;
    const size_t width = std::max(name.size(), row->scores[i].size());
    const bool last = i + 1 == row->scores.size();
    names += last ? std::string(name) : fmt::format("{:<{}} ", name, width);
    values += last ? row->scores[i] : fmt::format("{:<{}} ", row->scores[i], width);
  }
  console.print(fmt::format("{}\n{}\n", names, values));
  for (const std::string& reason : row->reasons) console.print(reason + "\n");
  return 0;
}

Outcome<int> compare_one_operator(const Arguments& arguments, const NetworkRun& run,
                                  const Console& console) {
  SingleOp wanted;
  wanted.name = arguments.text("-op");
  wanted.is_input = arguments.has("-i");
  const std::string index = arguments.text(wanted.is_input ? "-i" : "-o", "0");
  if (!dump::number_from(index))
    return refusal("the index of a tensor is a number", index, "for example -o 0");
  wanted.index = *dump::number_from(index);
  wanted.top = arguments.integer("-n", 20);
  wanted.max_lines = arguments.integer("-ml", 1000000);
  wanted.only_summary = arguments.has("--ignore_single_op_result");
  if (wanted.top < 1 || wanted.top > 10000)
    return refusal("-n is out of range", fmt::format("-n {}", wanted.top),
                   "1 to 10000 are possible", Code::kOutOfBounds);
  if (wanted.max_lines < 10000 || wanted.max_lines > 1000000)
    return refusal("-ml is out of range", fmt::format("-ml {}", wanted.max_lines),
                   "10000 to 1000000 are possible");
  auto network = open_network(run.target, run.golden, run.rules, run.join_slices);
  if (!network) return network.fault();
  auto files = compare_single_op(*network, wanted, run.output);
  if (!files) return files.fault();
  console.print(files->summary);
  for (const std::string& name : files->written) say_written(console, fs::path(run.output) / name);
  return 0;
}

Outcome<int> write_mapping(const NetworkRun& run, const Console& console) {
  auto network = open_network(run.target, run.golden, run.rules, run.join_slices);
  if (!network) return network.fault();
  std::vector<std::string> warnings;
  auto csv = mapping_csv(*network, run.options.choice, warnings);
  if (!csv) return csv.fault();
  warn(warnings, console);
  const fs::path path = free_path(run.output, "mapping_" + local_time_stamp(), ".csv");
  if (auto failure = write_text(path, *csv)) return *failure;
  say_written(console, path);
  return 0;
}

// What the options forbid each other.
std::optional<Fault> check_options(const Arguments& arguments) {
  struct Rule {
    const char* option;
    const char* other;
    bool needs;  // else it excludes it
  };
  constexpr std::array kRules{
      Rule{"-map", "-op", false}, Rule{"-map", "-i", false},
      Rule{"-map", "-o", false},  Rule{"-r", "-f", true},
      Rule{"-s", "-f", true},     Rule{"-r", "-op", false},
      Rule{"-s", "-op", false},   Rule{"-r", "-s", false},
      Rule{"-i", "-o", false},    Rule{"-i", "-op", true},
      Rule{"-o", "-op", true},    Rule{"-n", "-op", true},
      Rule{"-ml", "-op", true},   Rule{"--ignore_single_op_result", "-op", true},
  };
  for (const Rule& rule : kRules)
    if (arguments.has(rule.option) && arguments.has(rule.other) != rule.needs)
      return refusal(fmt::format("{} {} {}", rule.option,
                                 rule.needs ? "needs" : "cannot be used with", rule.other),
                     "compare", rule.needs ? "give both" : "give one of them");
  if (arguments.has("-map") && !arguments.has("-f") && !arguments.has("-q"))
    return refusal("-map needs -f or -q", "compare", "give a rule file");
  if (arguments.integer("-max", 0) < 0)
    return refusal("-max is below 0", fmt::format("-max {}", arguments.text("-max")),
                   "0 compares all elements");
  return std::nullopt;
}

Outcome<int> run_compare(const Arguments& arguments, const Console& console, RunContext& context) {
  const int64_t version = arguments.integer("-v", 2);
  if (version != 1 && version != 2)
    return refusal("-v is 1 or 2", arguments.text("-v"), "leave it out", Code::kUsage);
  if (version == 1) console.warn("-v 1 is historic and read as 2");
  if (auto failure = check_options(arguments)) return *failure;

  NetworkRun run;
  run.target = arguments.text("-m");
  run.golden = arguments.text("-g");
  run.rules = {arguments.text("-f"), arguments.text("-q"), arguments.text("-cf")};
  run.output = arguments.text("-out", ".");
  run.options.max_elements = arguments.integer("-max", 0);
  run.options.choice = {arguments.text("-r"), arguments.text("-s")};
  run.options.overflow = arguments.has("-overflow_detection");
  run.advisor = arguments.has("-advisor");
  run.join_slices = !arguments.has("-ffts");
  std::vector<std::string> warnings;
  const std::string algorithms = arguments.text("-alg", "all");
  auto selection = select_algorithms(algorithms, warnings);
  if (auto failure = refuse_plugins(arguments.text("-c"), algorithms,
                                    selection ? *selection : Selection{}, console))
    return *failure;
  warn(warnings, console);
  if (!selection) return selection.fault();
  run.options.algorithms = std::move(*selection);
  if (auto failure = make_output_directory(run.output)) return *failure;

  std::error_code ignored;
  if (arguments.has("-map")) return write_mapping(run, console);
  if (is_h5(run.target) && is_h5(run.golden))
    return compare_h5_files(arguments, run, console, context);
  if (arguments.has("-p"))
    return refusal("-p is only used with .h5 files", "compare", "leave it out");
  if (fs::is_regular_file(run.target, ignored) && fs::is_regular_file(run.golden, ignored))
    return compare_files(run, console, context);
  if (!run.rules.rules.empty() && fs::is_directory(run.rules.rules, ignored)) {
    if (arguments.has("-op"))
      return refusal("-op is not used with a directory of rule files", "compare", "name one file");
    return run_network(run, console, context);
  }
  if (run.advisor && (run.options.choice.is_given() || arguments.has("-op"))) {
    console.warn("-advisor looks at whole networks; it is not used with -r, -s and -op");
    run.advisor = false;
  }
  if (run.advisor) run.options.overflow = true;
  if (arguments.has("-op")) return compare_one_operator(arguments, run, console);
  return run_network(run, console, context);
}

}  // namespace

Outcome<int> run_network(const NetworkRun& run, const Console& console, RunContext& context) {
  std::error_code ignored;
  if (run.rules.rules.empty() || !fs::is_directory(run.rules.rules, ignored))
    return compare_directories(run, "", console, context);
  auto jobs = plan_batch(run.target, run.rules.rules);
  if (!jobs) return jobs.fault();
  int status = 0;
  for (const BatchJob& job : *jobs) {
    NetworkRun one = run;
    one.target = job.target.string();
    one.rules.rules = job.rules.string();
    if (context.cancelled) break;
    const auto last = compare_directories(one, job.prefix + "_", console, context);
    if (!last) console.complain(last.fault().error);
    if (status == 0) status = last ? *last : static_cast<int>(last.fault().code);
  }
  return status;
}

const Command kCompareCommand{"compare", "compare dumps of two models, operator by operator",
                              kCompareOptions, run_compare};

}  // namespace plumb::msaccucmp
