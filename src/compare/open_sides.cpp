// SPDX-License-Identifier: Apache-2.0
//
// From paths to a plan: opens both sides and what describes their models, tells what kind of
// comparison it is, checks that it makes sense, and pairs the tensors.
#include <set>

#include <fmt/format.h>
#include <tbb/parallel_invoke.h>

#include "compare/session_state.h"
#include "dump/memory.h"
#include "graph/importers.h"
#include "pair/graph_fit.h"
#include "pair/name_map.h"

namespace plumb::compare {
namespace {

// What the user names comes first, then what a dump brings along.
Result<void> open_graphs(SessionState& state, const RunContext& context) {
  const auto load = [&](const std::string& path,
                        std::optional<graph::Graph>& graph) -> Result<void> {
    if (path.empty()) return {};
    auto loaded = graph::load_graph(path, state.hints.map);
    if (!loaded) return loaded.error();
    for (const std::string& warning : loaded->warnings) context.tell(path + ": " + warning);
    graph = std::move(*loaded);
    state.graph_files.push_back(path);
    return {};
  };
  const Spec& spec = state.spec;
  if (auto done = load(spec.target.graph, state.graphs.target); !done) return done;
  if (auto done = load(spec.golden.graph, state.graphs.golden); !done) return done;
  if (auto done = load(spec.quant, state.graphs.quant); !done) return done;
  const auto own = [&](const SideSpec& side, const dump::DumpSet& set,
                       std::optional<graph::Graph>& graph) {
    if (graph) return;
    if (side.model != nullptr) graph = *side.model;
    const auto index = set.own_graph();
    if (graph || !index) return;
    if (auto loaded = graph::load_graph(*index, state.hints.map); loaded) {
      graph = std::move(*loaded);
      state.graph_files.push_back(*index);
    }
  };
  own(spec.target, state.target, state.graphs.target);
  own(spec.golden, state.golden, state.graphs.golden);
  return {};
}

// Of several steps or ranks on one side, and none on the other, nobody can tell which is meant.
Result<void> check_one(std::string_view what, const std::set<int64_t>& own, bool own_is_complete,
                       const std::set<int64_t>& other, std::string_view side,
                       std::string_view other_side) {
  if (own.size() < 2 || !own_is_complete || !other.empty()) return {};
  return Error{fmt::format("{} has several {}s, {} has none", side, what, other_side),
               fmt::format("{} has {}s {}", side, what, dump::list_of(own)),
               fmt::format("choose one with --{}, e.g. --{} {}", what, what, *own.begin())};
}

Result<void> check_steps(const SessionState& state) {
  const dump::Selection& selection = state.selection;
  const dump::DumpSet* const sets[] = {&state.target, &state.golden};
  if (auto known = selection.check(sets); !known) return known;
  if (state.scenario->name == "torchair") return {};  // knows better which belong together
  const dump::StepsAndRanks target = steps_and_ranks(state.target);
  const dump::StepsAndRanks golden = steps_and_ranks(state.golden);
  const auto check = [&](const dump::StepsAndRanks& own, const dump::StepsAndRanks& other,
                         std::string_view side, std::string_view other_side) -> Result<void> {
    if (selection.steps.empty())
      if (auto fine =
              check_one("step", own.steps, own.all_have_steps, other.steps, side, other_side);
          !fine)
        return fine;
    if (!selection.ranks.empty()) return {};
    return check_one("rank", own.ranks, own.all_have_ranks, other.ranks, side, other_side);
  };
  if (auto fine = check(target, golden, "target", "golden"); !fine) return fine;
  return check(golden, target, "golden", "target");
}

// What is odd about the run as a whole, though not wrong.
void note_oddities(SessionState& state) {
  const Spec& spec = state.spec;
  std::error_code unknown;
  if (!spec.target.path.empty() && !spec.golden.path.empty() &&
      equivalent(std::filesystem::path(spec.target.path), spec.golden.path, unknown))
    state.warnings.push_back(fmt::format("target and golden are the same {}",
                                         state.target.is_single_file ? "file" : "directory"));
  if (!state.doubts.empty() || state.scenario->name == "torchair") return;
  for (std::string& note :
       pair::graph_notes(state.target, state.graphs, spec.mode,
                         [&](const dump::Entry& entry) { return state.selection.wants(entry); }))
    state.warnings.push_back(std::move(note));
}

// The graphs beside the dump tell all that a matcher could.
Result<void> pair_torchair(SessionState& state, const RunContext& context) {
  pair::TorchairOptions options;
  options.ranks = state.selection.ranks;
  if (state.graphs.target) options.graph = &*state.graphs.target;
  auto pairs = pair::pair_torchair(state.target, state.golden, options);
  if (!pairs) return pairs.error();
  for (const std::string& warning : pairs->warnings) context.tell(warning);
  for (const std::string& file : pairs->graph_files)
    state.graph_files.push_back((state.target.root / file).string());
  state.torchair = std::move(*pairs);
  return {};
}

// The user's map, or what the graphs of two models that were run say of their outputs.
Result<pair::NameMap> name_map_of(const SessionState& state) {
  const std::string& path = state.spec.name_map;
  if (path.empty()) {
    if (!state.matcher || !state.graphs.target || !state.graphs.golden) return pair::NameMap();
    return pair::output_pairs(*state.matcher, *state.graphs.target, *state.graphs.golden);
  }
  auto map = pair::load_name_map(path);
  if (!map) return map;
  if (auto checked = pair::check_name_map(*map, state.target, state.golden); !checked)
    return std::move(checked.error()).in(path);
  return map;
}

Result<dump::DumpSet> in_memory(const std::vector<NamedTensor>& tensors) {
  std::vector<dump::MemoryTensor> entries;
  for (const NamedTensor& tensor : tensors) {
    const auto slot = dump::slot_from_text(tensor.slot);
    if (!slot)
      return Error{"unknown slot '" + tensor.slot + "'", tensor.op + " (in memory)",
                   "write output:0, input:1, ..."};
    dump::MemoryTensor& entry = entries.emplace_back();
    entry.op = tensor.op;
    entry.slot = *slot;
    entry.dtype = tensor.dtype;
    entry.shape = tensor.shape;
    entry.strides = tensor.strides;
    entry.first_element = tensor.first_element;
    entry.bytes = tensor.bytes;
    entry.owner = tensor.owner;
    entry.step = tensor.step;
  }
  return dump::dump_of_tensors(std::move(entries));
}

Result<dump::DumpSet> open_side(const SideSpec& side, const Spec& spec,
                                const io::ReadHints& hints) {
  if (side.dump != nullptr) return *side.dump;
  if (side.path.empty()) return in_memory(side.tensors);
  return dump::open_dump(side.path, hints, spec.convention);
}

}  // namespace

Result<dump::DumpSet> Policy::open(const SideSpec& side, const Spec& spec,
                                   const io::ReadHints& hints) const {
  return open_side(side, spec, hints);
}

Result<void> open_dumps(SessionState& state) {
  const Spec& spec = state.spec;
  const auto open = [&](const SideSpec& side) {
    return state.policy != nullptr ? state.policy->open(side, spec, state.hints)
                                   : open_side(side, spec, state.hints);
  };
  std::optional<Result<dump::DumpSet>> target, golden;
  tbb::parallel_invoke([&] { target = open(spec.target); }, [&] { golden = open(spec.golden); });
  if (!*target) return target->error();
  if (!*golden) return golden->error();
  state.target = std::move(**target);
  state.golden = std::move(**golden);
  if (spec.floor.empty()) return {};
  SideSpec second;
  second.path = spec.floor;
  auto floor = open(second);
  if (!floor) return floor.error();
  state.floor = std::move(*floor);
  return {};
}

Result<void> understand(SessionState& state, RunContext& context) {
  const Spec& spec = state.spec;
  if (auto opened = open_graphs(state, context); !opened) return opened;
  auto scenario = pair::find_scenario(state.target, state.golden, state.graphs, spec.mode);
  if (!scenario) return scenario.error();
  state.scenario = *scenario;
  state.doubts = pair::graph_doubts(state.target, state.golden, state.graphs,
                                    {spec.target.graph, spec.golden.graph, spec.quant}, spec.mode);
  if (auto checked = check_steps(state); !checked) return checked;
  note_oddities(state);
  if (state.scenario->name == "torchair") return pair_torchair(state, context);
  state.matcher = pair::make_matcher(state.graphs);
  return {};
}

// Steps and ranks decide what can be partners at all, names and slots only what is shown: a row is
// the same row, whatever else the user looks at.
Result<void> make_plan(SessionState& state, RunContext& context) {
  if (state.policy != nullptr) {
    auto rows = state.policy->plan(state.target, state.golden, context);
    if (!rows) return rows.error();
    state.rows = std::move(*rows);
    return {};
  }
  pair::PlanOptions options;
  const dump::Selection runs = state.selection.of_runs(), tensors = state.selection.of_tensors();
  if (!runs.is_everything())
    options.wants = [&](const dump::Entry& entry) { return runs.wants(entry); };
  if (!tensors.is_everything())
    options.shows = [&](const dump::Entry& entry) { return tensors.wants(entry); };
  options.matcher = state.matcher_or_null();
  if (state.torchair) {
    options.told = &state.torchair->pairings;
    options.told_all = true;
  }
  auto map = name_map_of(state);
  if (!map) return map.error();
  options.map = std::move(*map);
  state.rows = pair::make_plan(state.target, state.golden, options);
  return {};
}

}  // namespace plumb::compare
