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
#include "pair/modules.h"
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
  for (const std::string& file : pairs->models.files)
    state.graph_files.push_back((state.target.root / file).string());
  state.torchair = std::move(*pairs);
  return {};
}

// Where a graph says how the device keeps what a tensor of the original model was, entries know it.
template <class Find>
void tell_layouts(const graph::Graph& graph, const Find& find, dump::DumpSet& set) {
  const auto by_name = graph.by_name();
  const auto output_of = [&](const graph::Operator& op,
                             const dump::Slot& slot) -> const graph::Output* {
    const auto index = static_cast<size_t>(slot.index);
    if (slot.index < 0) return nullptr;
    if (slot.kind == dump::SlotKind::kOutput)
      return index < op.outputs.size() ? &op.outputs[index] : nullptr;
    if (slot.kind != dump::SlotKind::kInput || index >= op.inputs.size()) return nullptr;
    const auto producer = by_name.find(op.inputs[index].producer);
    const auto output = static_cast<size_t>(op.inputs[index].output);
    return producer != by_name.end() && output < producer->second->outputs.size()
               ? &producer->second->outputs[output]
               : nullptr;
  };
  for (dump::Entry& entry : set.entries) {
    const graph::Operator* op = find(entry.operator_name);
    const graph::Output* output = op != nullptr ? output_of(*op, entry.slot) : nullptr;
    if (output == nullptr) continue;
    const auto layout = layout_from_name(output->layout);
    const auto& logical = output->origin_shape ? output->origin_shape : output->shape;
    if (logical && !(layout && is_plain(*layout)))
      entry.stored_as = dump::StoredAs{layout, *logical};
  }
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

Result<dump::DumpSet> open_side(const SideSpec& side, const Spec& spec,
                                const io::ReadHints& hints) {
  if (side.dump != nullptr) return *side.dump;
  if (side.path.empty()) return dump::dump_of_tensors(side.tensors);
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
  const auto or_null = [](const auto& graph) { return graph ? &*graph : nullptr; };
  const graph::Graph *target = or_null(state.graphs.target), *golden = or_null(state.graphs.golden);
  if (pair::is_modules_against_model(target, golden)) {
    state.torchair.emplace();  // told in the same way, tensor by tensor
    state.torchair->pairings = pair::pair_modules(state.target, state.golden, *target, *golden);
  }
  if (!pair::is_of_modules(target) && !pair::is_of_modules(golden))
    state.matcher = pair::make_matcher(state.graphs);
  if (!state.matcher) return {};
  const pair::Matcher& matcher = *state.matcher;
  if (target != nullptr)
    tell_layouts(
        *target, [&](std::string_view name) { return matcher.find(name); }, state.target);
  if (golden != nullptr)
    tell_layouts(
        *golden, [&](std::string_view name) { return matcher.find_golden(name); }, state.golden);
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
