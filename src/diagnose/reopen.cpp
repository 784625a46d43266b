// SPDX-License-Identifier: Apache-2.0
#include "diagnose/reopen.h"

#include <unordered_map>

#include <fmt/format.h>

#include "compare/session_state.h"

namespace plumb::diagnose {
namespace {

namespace fs = std::filesystem;

struct Name {
  std::string_view op, slot;
};

std::string number_text(const std::optional<int64_t>& number) {
  return number ? fmt::to_string(*number) : std::string();
}

std::string key_of(const Name& target, const Name& golden, const std::string& step,
                   const std::string& rank) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", target.op, target.slot, golden.op, golden.slot, step,
                     rank);
}

std::string key_of(const result::Row& row, bool with_step) {
  const auto name = [](const std::optional<result::Side>& side) {
    return side ? Name{side->operator_name, side->slot} : Name{};
  };
  return key_of(name(row.target), name(row.golden), with_step ? number_text(row.step) : "",
                number_text(row.rank));
}

// Places in the plan by what is compared there, in order; a step that only one side of the two
// knows counts for nothing.
class PlanIndex {
 public:
  explicit PlanIndex(const Session& session) {
    const std::vector<pair::PlannedRow>& rows = session.state().rows;
    for (RowId id = 0; id < session.plan().size(); ++id) {
      const PlanRow row = session.plan().row(id);
      const pair::PlannedRow& planned = rows[static_cast<size_t>(id)];
      const dump::Entry* entry = planned.target != nullptr ? planned.target : planned.golden;
      const Name target{row.target, row.target_slot}, golden{row.golden, row.golden_slot};
      const std::string rank = entry == nullptr ? "" : number_text(entry->rank());
      const std::string step = entry == nullptr ? "" : number_text(entry->step());
      places_[key_of(target, golden, step, rank)].push_back(id);
      if (!step.empty()) places_[key_of(target, golden, "", rank)].push_back(id);
    }
  }

  RowId take(const result::Row& row) {
    for (const bool with_step : {true, false}) {
      const auto found = places_.find(key_of(row, with_step));
      if (found == places_.end()) continue;
      size_t& next = taken_[found->first];
      if (next < found->second.size()) return found->second[next++];
    }
    return -1;
  }

 private:
  std::unordered_map<std::string, std::vector<RowId>> places_;
  std::unordered_map<std::string_view, size_t> taken_;
};

Spec spec_of(const result::Run& run, const fs::path& directory, const Moved& moved) {
  const auto place = [&](const std::string& now, const result::InputSide& side) {
    return now.empty() ? path_now(side.kept.empty() ? side.path : side.kept, directory) : now;
  };
  Spec spec;
  spec.target.path = place(moved.target, run.target);
  spec.golden.path = place(moved.golden, run.golden);
  spec.target.graph = path_now(run.told.graph, directory);
  spec.golden.graph = path_now(run.told.golden_graph, directory);
  spec.quant = path_now(run.told.quant, directory);
  spec.name_map = path_now(run.told.name_map, directory);
  spec.mode = run.told.mode;
  spec.convention = run.told.convention;
  return spec;
}

}  // namespace

std::string path_now(const std::string& path, const fs::path& directory) {
  std::error_code ignored;
  if (path.empty() || fs::exists(path, ignored)) return path;
  const fs::path beside = directory / path;
  return fs::exists(beside, ignored) ? beside.string() : path;
}

std::optional<Reopened> reopen(const result::Run& run, const fs::path& directory,
                               const Moved& moved, RunContext& context, std::string& why) {
  const bool was_run = run.command == "run";
  for (const auto& [now, side] :
       {std::pair(&moved.target, &run.target), std::pair(&moved.golden, &run.golden)})
    if (was_run && now->empty() && side->kept.empty() &&
        fs::is_regular_file(path_now(side->path, directory))) {
      why = fmt::format("the run kept no tensors of {} (plumb run --keep DIR keeps them)",
                        side->path);
      return {};
    }
  Spec spec = spec_of(run, directory, moved);
  std::error_code ignored;
  for (const std::string& path : {spec.target.path, spec.golden.path})
    if (!fs::exists(path, ignored)) {
      why = path + " is not there any more";
      return {};
    }
  auto session = Session::open(spec, context);
  if (!session && was_run) {
    spec.mode = "dump-vs-dump";  // as `plumb run` does
    session = Session::open(spec, context);
  }
  if (!session) {
    why = session.error().what;
    return {};
  }
  Reopened reopened{std::move(*session), {}, 0};
  PlanIndex index(reopened.session);
  int64_t compared = 0;
  for (const result::Row& row : run.rows) {
    reopened.ids.push_back(index.take(row));
    if (!row.target || !row.golden || row.verdict == result::Verdict::kNotCompared) continue;
    ++compared;
    reopened.gone += reopened.ids.back() < 0;
  }
  if (compared > 0 && reopened.gone == compared) {
    why = "other tensors are there than those that were compared";
    return {};
  }
  return reopened;
}

}  // namespace plumb::diagnose
