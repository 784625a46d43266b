// SPDX-License-Identifier: Apache-2.0
//
// `plumb msprobe compare -m offline_data`: another name for `plumb msaccucmp compare`, as newer
// tool chains call it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/msaccucmp.h"
#include "msaccucmp/arguments.h"
#include "msaccucmp/output.h"

namespace plumb::cli {

using namespace msaccucmp;

namespace {

constexpr std::array kOptions{
    OptionSpec{"-m", "--mode", "MODE", "offline_data", true},
    OptionSpec{"-tp", "--target_path", "PATH", "dump of the model on the device", true},
    OptionSpec{"-gp", "--golden_path", "PATH", "golden data", true},
    OptionSpec{"-fr", "--fusion_rule_file", "FILE", "json of the model (atc --mode=1)"},
    OptionSpec{"-qfr", "--quant_fusion_rule_file", "FILE", "json written by AMCT"},
    OptionSpec{"-cfr", "--close_fusion_rule_file", "FILE", "json of the model without fusion"},
    OptionSpec{"-o", "--output_path", "DIR", "for the results (default: here)"},
};

constexpr std::string_view kOtherModes =
    "offline_data is available; `plumb compare` reads the dumps of other modes";

}  // namespace

int run_msprobe(int argc, char** argv, RunContext& context) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto is_help = [](std::string_view word) { return word == "-h" || word == "--help"; };
  if (std::any_of(words.begin(), words.end(), is_help)) {
    fmt::print(
        "Compare an offline model's dump with golden data, as msprobe does.\n\n"
        "usage: plumb msprobe compare -m offline_data [options]\n{}",
        help_of(kOptions));
    return 0;
  }
  if (words.empty() || words[0] != "compare") {
    print_error({words.empty() ? "which command?"
                               : fmt::format("command '{}' of msprobe is not available", words[0]),
                 "plumb msprobe", "compare -m offline_data is"});
    return kTrouble;
  }
  auto arguments = Arguments::parse(kOptions, std::span(words).subspan(1));
  if (!arguments) {
    print_error(std::move(arguments.error()).in("plumb msprobe compare"));
    return kTrouble;
  }
  if (arguments->text("-m") != "offline_data") {
    print_error({fmt::format("mode '{}' is not available", arguments->text("-m")),
                 "plumb msprobe compare", std::string(kOtherModes)});
    return kTrouble;
  }
  NetworkRun run;
  run.target = arguments->text("-tp");
  run.golden = arguments->text("-gp");
  run.rules = {arguments->text("-fr"), arguments->text("-qfr"), arguments->text("-cfr")};
  run.output = arguments->text("-o", ".");
  for (const Algorithm& each : algorithms()) run.options.algorithms.push_back(&each);
  if (auto failure = make_output_directory(run.output)) {
    print_error(failure->error);
    return static_cast<int>(failure->code);
  }
  return run_network(run, context);
}

}  // namespace plumb::cli
