// SPDX-License-Identifier: Apache-2.0
#include "diagnose/reopen.h"

#include <fmt/format.h>

namespace plumb::diagnose {
namespace {

namespace fs = std::filesystem;

// Paths in a result are as they were typed, maybe beside the result.
std::string found(const std::string& path, const fs::path& directory) {
  std::error_code ignored;
  if (path.empty() || fs::exists(path, ignored)) return path;
  const fs::path beside = directory / path;
  return fs::exists(beside, ignored) ? beside.string() : path;
}

// The plan is the one that the rows were made from.
bool is_same_plan(const result::Run& run, const Plan& plan) {
  if (plan.size() != std::ssize(run.rows)) return false;
  for (RowId id = 0; id < plan.size(); ++id) {
    const PlanRow planned = plan.row(id);
    const result::Row& row = run.rows[static_cast<size_t>(id)];
    if (row.target && !planned.target.empty() &&
        (planned.target != row.target->operator_name || planned.target_slot != row.target->slot))
      return false;
  }
  return true;
}

}  // namespace

std::optional<Session> reopen(const result::Run& run, const fs::path& directory, const Moved& moved,
                              RunContext& context, std::string& why) {
  if (run.command != "compare") {
    why = "tensors of a run are not kept";
    return {};
  }
  Spec spec;
  spec.target.path = moved.target.empty() ? found(run.target.path, directory) : moved.target;
  spec.golden.path = moved.golden.empty() ? found(run.golden.path, directory) : moved.golden;
  std::error_code ignored;
  for (const std::string& path : {spec.target.path, spec.golden.path})
    if (!fs::exists(path, ignored)) {
      why = path + " is not there any more";
      return {};
    }
  spec.target.graph = found(run.told.graph, directory);
  spec.golden.graph = found(run.told.golden_graph, directory);
  spec.quant = found(run.told.quant, directory);
  spec.name_map = found(run.told.name_map, directory);
  spec.mode = run.told.mode;
  spec.convention = run.told.convention;
  auto session = Session::open(spec, context);
  if (!session) {
    why = session.error().what;
    return {};
  }
  if (!is_same_plan(run, session->plan())) {
    why = "the dumps have changed since they were compared";
    return {};
  }
  return std::move(*session);
}

}  // namespace plumb::diagnose
