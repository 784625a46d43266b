// SPDX-License-Identifier: Apache-2.0
//
// `plumb rules`: what a diagnosis knows, in the order in which it is tried, with its thresholds.
#include <fmt/format.h>

#include "cli/command.h"
#include "diagnose/run_rule.h"

namespace plumb::cli {

int run_rules(int argc, char** argv, RunContext&) {
  Options options("rules", "List the rules that explain a difference, and their thresholds.",
                  "Of an operator that introduced an error, the first rule that fits gives the "
                  "cause. The last\n"
                  "ones are about the run as a whole.\n\n"
                  "examples\n"
                  "  plumb rules\n"
                  "exit status: 0");
  if (auto status = options.parse(argc, argv)) return *status;
  fmt::print("{:<22}{:<22}{}\n", "rule", "cause", "when");
  const auto print = [](const auto& rule) {
    fmt::print("{:<22}{:<22}{}\n", rule.name, rule.cause, rule.summary);
    for (const diagnose::Threshold& threshold : rule.thresholds)
      fmt::print("{:<22}{:<22}{} = {:g}: {}\n", "", "", threshold.name, threshold.value,
                 threshold.meaning);
  };
  for (const diagnose::Rule& rule : diagnose::rules()) print(rule);
  for (const diagnose::RunRule& rule : diagnose::run_rules()) print(rule);
  fmt::print("{:<22}{:<22}{}\n", "accumulated", "accumulated",
             "errors grow from operator to operator, and none makes a step of its own");
  fmt::print("{:<22}{:<22}{}\n", "unknown", "unknown", "nothing of the above");
  return kAgreement;
}

}  // namespace plumb::cli
