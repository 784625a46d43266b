// SPDX-License-Identifier: Apache-2.0
//
// `plumb metrics`: prints the table the comparison works from.
#include <fmt/format.h>

#include "cli/command.h"
#include "metrics/metric.h"

namespace plumb::cli {
namespace {

using metrics::Better;

std::string_view word_for_better(Better better) {
  switch (better) {
    case Better::kHigher: return "higher";
    case Better::kLower: return "lower";
    case Better::kNearOne: return "near 1";
    case Better::kNeither: break;
  }
  return "";
}

std::string_view cost_of(const metrics::Metric& metric) {
  if (metric.is_free()) return "";
  if (metric.relative) return "division";
  return metric.slices || metric.needs != nullptr ? "2nd pass" : "counting";
}

}  // namespace

int run_metrics(int argc, char** argv, RunContext&) {
  Options options("metrics", "List the numbers a comparison can compute.",
                  "examples\n  plumb metrics");
  if (auto status = options.parse(argc, argv)) return *status;

  const auto print_line = [](auto name, auto better, auto cost, auto summary) {
    fmt::print("{:<18}{:<8}{:<10}{}\n", name, better, cost, summary);
  };
  print_line("metric", "better", "cost", "what it is");
  for (const metrics::Metric& metric : metrics::metrics())
    print_line(metric.name, word_for_better(metric.better), cost_of(metric), metric.summary);
  return kAgreement;
}

}  // namespace plumb::cli
