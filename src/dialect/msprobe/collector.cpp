// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/collector.h"

namespace plumb::msprobe {

std::vector<const metrics::Metric*> Collector::columns() const {
  std::vector<const metrics::Metric*> columns;
  for (const char* name :
       {"cosine", "euclid", "max_abs", "max_rel", "rel_below_1e3", "rel_below_5e3"})
    columns.push_back(metrics::metric_by_name(name));
  return columns;
}

Result<Session> open_comparison(const CompareRun& run, Collector& policy, RunContext& context) {
  Spec spec;
  spec.target.path = run.target;
  spec.golden.path = run.golden;
  spec.profile = "torchair";
  auto session = compare::open_session(std::move(spec), policy, context);
  if (!session) return session;
  if (auto made = make_directory(run.output); !made) return made.error();
  return session;
}

std::vector<std::string> warnings_about(const CompareRun& run, const SessionState& state) {
  std::vector<std::string> told = run.notes;
  std::error_code ignored;
  if (std::filesystem::equivalent(run.target, run.golden, ignored))
    told.emplace_back("target and golden are the same dump: that they agree proves nothing");
  for (const dump::DumpSet* side : {&state.target, &state.golden})
    told.insert(told.end(), side->warnings.begin(), side->warnings.end());
  return told;
}

}  // namespace plumb::msprobe
