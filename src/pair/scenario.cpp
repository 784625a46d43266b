// SPDX-License-Identifier: Apache-2.0
#include "pair/scenario.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/nearest.h"
#include "pair/graph_fit.h"
#include "pair/structure.h"
#include "pair/torchair.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;

constexpr Scenario kScenarios[] = {
    {"offline-vs-original", "converted model against the original", "standard"},
    {"quantized-original-vs-original", "quantized original against the original", "quantized"},
    {"quantized-offline-vs-quantized-original",
     "converted quantized model against the quantized original", "standard"},
    {"quantized-offline-vs-original", "converted quantized model against the original",
     "quantized"},
    {"npu-vs-npu", "two runs on the device, before and after a change of version", "standard"},
    {"processor-switch", "two runs on different processors, fusion off on both", "standard"},
    {"fusion-on-vs-off", "converted with fusion against converted without", "standard"},
    {"torchair", "TorchAir: GE graph against FX, or against GE without fusion", "torchair"},
    {"dump-vs-dump", "operators of the same name", "standard"},
    {"file-vs-file", "two files", "standard"},
};

constexpr std::string_view kPlumbDump = "plumb-dump";

constexpr const char* kFusionOff =
    "convert with --fusion_switch_file=fusion_switch.cfg, which holds "
    R"({"Switch":{"GraphFusion":{"ALL":"off"},"UBFusion":{"ALL":"off"}}}, and dump again)";

const Scenario* by_name(std::string_view name) {
  const auto found = std::find_if(std::begin(kScenarios), std::end(kScenarios),
                                  [&](const Scenario& s) { return s.name == name; });
  return found == std::end(kScenarios) ? nullptr : found;
}

bool is_device(const DumpSet& set) { return set.traits.is_device; }

const graph::Graph* get(const std::optional<graph::Graph>& graph) {
  return graph ? &*graph : nullptr;
}

bool are_exchanged(const DumpSet& target, const DumpSet& golden, const Graphs& graphs) {
  if (!graphs.target || !graphs.golden) return false;
  const auto fits = [](const graph::Graph& graph, const DumpSet& set) {
    return !fit_of(graph, set).is_poor();
  };
  return !fits(*graphs.target, target) && !fits(*graphs.golden, golden) &&
         fits(*graphs.target, golden) && fits(*graphs.golden, target);
}

// What each side is.
struct Facts {
  bool target_is_device, golden_is_device;
  bool target_is_quantized, golden_is_quantized;
  bool is_swapped;
  bool graphs_are_exchanged;
  bool torchair_is_swapped;
  const graph::Graph *graph, *golden_graph, *quant;
};

std::string_view told_by(const Facts& f, const DumpSet& target, const DumpSet& golden) {
  if (target.is_single_file && golden.is_single_file && f.graph == nullptr) return "file-vs-file";
  if (is_torchair(target, golden)) return "torchair";
  // Two graphs with as much fusion in either are those of two versions.
  if (f.graph != nullptr && f.golden_graph != nullptr && pair::is_converted(*f.golden_graph) &&
      pair::count_fused(*f.graph) != pair::count_fused(*f.golden_graph))
    return "fusion-on-vs-off";
  if (f.target_is_device && f.golden_is_device) return "npu-vs-npu";
  if (f.target_is_device)
    return !f.target_is_quantized  ? "offline-vs-original"
           : f.golden_is_quantized ? "quantized-offline-vs-quantized-original"
                                   : "quantized-offline-vs-original";
  if ((f.graph == nullptr || !pair::is_converted(*f.graph)) && f.target_is_quantized &&
      !f.golden_is_quantized)
    return "quantized-original-vs-original";
  return "dump-vs-dump";
}

std::optional<Error> refusal(std::string_view scenario, const Facts& f) {
  const bool on_device = f.target_is_device && f.golden_is_device;
  if (f.torchair_is_swapped)
    return Error{"target and golden seem to be swapped", "target is an FX dump, golden one of GE",
                 "name the GE dump first, what it is checked against second"};
  if (f.is_swapped)
    return Error{"target and golden seem to be swapped",
                 f.golden_is_device ? "golden is a dump of the device, target is not"
                                    : "golden holds quantizing operators, target does not",
                 "name the model being checked first, the original second"};
  if (f.graphs_are_exchanged)
    return Error{"--graph and --golden-graph seem to be exchanged",
                 "each describes the dump of the other side, and not its own",
                 "give the graph of the target as --graph, that of golden as --golden-graph"};
  if (on_device && f.target_is_quantized != f.golden_is_quantized)
    return Error{"a quantized model is compared with one that is not",
                 f.target_is_quantized ? "target is quantized, golden is not"
                                       : "golden is quantized, target is not",
                 "compare two quantized or two plain models on the device; a quantized one against "
                 "its original needs the original's npy dump as golden, with --graph and --quant"};
  if (on_device && (f.graph != nullptr) != (f.golden_graph != nullptr))
    return Error{
        "only one of two converted models has its graph",
        f.graph != nullptr ? "--graph without --golden-graph" : "--golden-graph without --graph",
        "give both (fusion on against off, or two versions), or neither (pairs by name)"};
  if (f.target_is_device && !f.golden_is_device && !f.target_is_quantized && f.golden_is_quantized)
    return Error{"the golden side is quantized, the converted model is not",
                 "golden holds quantizing operators",
                 "dump the original model that was not quantized as golden, or convert the "
                 "quantized one"};
  if (f.quant != nullptr && f.golden_is_quantized)
    return Error{
        "--quant leads to the original model, but golden is quantized itself",
        "--quant, and golden holds quantizing operators",
        fmt::format("{}; or name the dump of the original that was not quantized as golden",
                    f.graph != nullptr || !f.target_is_device || on_device
                        ? "leave out --quant"
                        : "give --graph FILE, the json of atc, instead of --quant")};
  if (scenario == "processor-switch" &&
      ((f.graph != nullptr && pair::count_fused(*f.graph) > 0) ||
       (f.golden_graph != nullptr && pair::count_fused(*f.golden_graph) > 0)))
    return Error{"operators are fused differently on another processor",
                 "--mode processor-switch with the graph of a fused model", kFusionOff};
  return std::nullopt;
}

// A tensor of the target model: who makes it, and as which of its outputs.
using Tensor = std::pair<std::string_view, int64_t>;
using Tensors = std::set<Tensor>;

// What the rows compared: outputs where they are made or where they are read.
Tensors compared_tensors(const pair::Matcher& matcher, const std::vector<result::Row>& rows) {
  Tensors compared;
  for (const result::Row& row : rows) {
    if (row.verdict == result::Verdict::kNotCompared || !row.target) continue;
    const graph::Operator* op = matcher.find(row.target->operator_name);
    const auto slot = dump::slot_from_text(row.target->slot);
    if (op == nullptr || !slot || !slot->path.empty()) continue;
    if (slot->kind == dump::SlotKind::kOutput) compared.emplace(op->name, slot->index);
    if (slot->kind != dump::SlotKind::kInput || slot->index < 0 ||
        slot->index >= std::ssize(op->inputs))
      continue;
    const graph::Edge& edge = op->inputs[static_cast<size_t>(slot->index)];
    compared.emplace(edge.producer, edge.output);
  }
  return compared;
}

// Where an output of the model may be seen: what only changes how values are stored need not be
// dumped itself. The output first, then what it was made from.
std::vector<graph::Edge> places_of(const pair::Matcher& matcher, const graph::Edge& output) {
  std::vector<graph::Edge> places{output};
  if (matcher.target().format == kPlumbDump) return places;  // its casts are the model's own
  // Counted, because a damaged graph may lead in a circle.
  for (size_t left = matcher.target().operators.size(); left > 0; --left) {
    const graph::Operator* op = matcher.find(places.back().producer);
    if (op == nullptr || !pair::keeps_values(op->type) || op->inputs.empty()) break;
    places.push_back(op->inputs.front());
  }
  return places;
}

bool is_in(const Tensors& tensors, const graph::Edge& edge) {
  return tensors.contains({edge.producer, edge.output});
}

}  // namespace

std::span<const Scenario> scenarios() { return kScenarios; }

Result<const Scenario*> find_scenario(const DumpSet& target, const DumpSet& golden,
                                      const Graphs& graphs, std::string_view mode) {
  if (!mode.empty() && by_name(mode) == nullptr) {
    std::vector<std::string> names;
    std::string list;
    for (const Scenario& scenario : kScenarios) {
      names.emplace_back(scenario.name);
      list += (list.empty() ? "" : ", ") + names.back();
    }
    return Error{"unknown mode '" + std::string(mode) + "'", "--mode " + std::string(mode),
                 did_you_mean(std::string(mode), names) + "modes are " + list};
  }
  const graph::Graph* const own = graphs.target ? &*graphs.target : get(graphs.quant);
  Facts facts{is_device(target) || (graphs.target && pair::is_converted(*graphs.target)),
              is_device(golden),
              is_quantized(target, own),
              is_quantized(golden, get(graphs.golden)),
              false,
              are_exchanged(target, golden, graphs),
              is_torchair(golden, target) && !is_torchair(target, golden),
              get(graphs.target),
              get(graphs.golden),
              get(graphs.quant)};
  // The graphs of one model, which is not the one that was named first.
  if (graphs.golden == std::nullopt && own != nullptr && !is_device(target))
    facts.is_swapped = is_device(golden) || (!graphs.target && facts.golden_is_quantized &&
                                             !is_quantized(target, nullptr));
  const std::string_view name = mode.empty() ? told_by(facts, target, golden) : mode;
  // Whoever asks for plain names gets them.
  if (mode != "dump-vs-dump")
    if (auto error = refusal(name, facts)) return *error;
  return by_name(name);
}

std::optional<pair::Matcher> make_matcher(Graphs& graphs) {
  if (graphs.target && graphs.golden && !pair::is_converted(*graphs.target))
    graphs.target = pair::with_origins(std::move(*graphs.target), *graphs.golden);
  const graph::Graph* const quant = get(graphs.quant);
  const graph::Graph* const golden = get(graphs.golden);
  // Without the graph of the converted model, that of the quantized one is the next best.
  if (!graphs.target && quant == nullptr) return std::nullopt;
  return std::optional<pair::Matcher>(std::in_place, graphs.target ? *graphs.target : *quant,
                                      golden, graphs.target ? quant : nullptr);
}

std::vector<std::string> outputs_not_compared(
    const pair::Matcher& matcher, const std::vector<result::Row>& rows,
    const std::function<bool(const dump::Entry&)>& wants) {
  std::vector<std::string> missing;
  const Tensors compared = compared_tensors(matcher, rows);
  const auto is_wanted = [&](const graph::Edge& place) {
    dump::Entry entry;
    entry.operator_name = place.producer;
    entry.slot = {dump::SlotKind::kOutput, place.output, {}};
    return !wants || wants(entry);
  };
  for (const graph::Edge& edge : matcher.target().outputs) {
    const std::vector<graph::Edge> places = places_of(matcher, edge);
    const graph::Operator* source = matcher.find(places.back().producer);
    const bool is_shown = std::any_of(places.begin(), places.end(), [&](const graph::Edge& place) {
      return is_in(compared, place);
    });
    // What ran the model to dump it gives out whatever the model does.
    const bool is_complete = matcher.target().format == kPlumbDump;
    if (!is_shown && std::any_of(places.begin(), places.end(), is_wanted) &&
        (is_complete || source == nullptr || !pair::is_never_dumped(*source)))
      missing.push_back(edge.producer);
  }
  return missing;
}

std::vector<std::string> golden_outputs_not_compared(
    const graph::Graph& golden, const std::vector<result::Row>& rows,
    const std::function<bool(const dump::Entry&)>& wants) {
  std::vector<std::string> missing;
  if (golden.format != kPlumbDump) return missing;
  std::set<std::pair<std::string_view, std::string_view>> compared;  // operator and slot
  for (const result::Row& row : rows)
    if (row.verdict != result::Verdict::kNotCompared && row.golden)
      compared.emplace(row.golden->operator_name, row.golden->slot);
  for (const graph::Edge& edge : golden.outputs) {
    dump::Entry entry;
    entry.operator_name = edge.producer;
    entry.slot = {dump::SlotKind::kOutput, edge.output, {}};
    if (!compared.contains({edge.producer, to_string(entry.slot)}) && (!wants || wants(entry)))
      missing.push_back(edge.producer);
  }
  return missing;
}

NameMap output_pairs(const pair::Matcher& matcher, const graph::Graph& target,
                     const graph::Graph& golden) {
  NameMap map;
  if (target.format != kPlumbDump || golden.format != kPlumbDump) return map;
  const auto tensor_of = [](const graph::Graph& graph, const graph::Edge& edge) -> std::string {
    for (const graph::Operator& op : graph.operators)
      if (op.name == edge.producer && edge.output < std::ssize(op.outputs))
        return op.outputs[static_cast<size_t>(edge.output)].name;
    return {};
  };
  std::unordered_map<std::string, const graph::Edge*> by_name;
  for (const graph::Edge& output : golden.outputs)
    by_name.try_emplace(tensor_of(golden, output), &output);
  for (size_t i = 0; i < target.outputs.size(); ++i) {
    const graph::Edge& own = target.outputs[i];
    const graph::Operator* op = matcher.find(own.producer);
    if (op == nullptr) continue;
    const auto told = matcher.output(*op, own.output).golden;
    const auto is_told = [&](const graph::Edge& output) {
      return told && output.producer == told->op && output.output == told->output;
    };
    const graph::Edge* theirs = nullptr;
    if (const auto same = by_name.find(tensor_of(target, own)); same != by_name.end())
      theirs = same->second;
    else if (target.outputs.size() == golden.outputs.size() &&
             std::none_of(golden.outputs.begin(), golden.outputs.end(), is_told))
      theirs = &golden.outputs[i];
    if (theirs == nullptr || is_told(*theirs)) continue;
    const dump::Slot slot{dump::SlotKind::kOutput, own.output, {}};
    map.tensors[tensor_text(own.producer, slot)] = {theirs->producer,
                                                    {dump::SlotKind::kOutput, theirs->output, {}}};
    map.tensor_operators.insert(own.producer);
  }
  return map;
}

void mark_model_outputs(const pair::Matcher& matcher, std::vector<result::Row>& rows) {
  std::set<std::pair<const graph::Operator*, std::string>> outputs;  // with slot
  const Tensors compared = compared_tensors(matcher, rows);
  for (const graph::Edge& edge : matcher.target().outputs) {
    const std::vector<graph::Edge> places = places_of(matcher, edge);
    const auto shown = std::find_if(places.begin(), places.end(), [&](const graph::Edge& place) {
      return is_in(compared, place);
    });
    const graph::Edge& place = shown == places.end() ? edge : *shown;
    outputs.emplace(matcher.find(place.producer), fmt::format("output:{}", place.output));
  }
  for (result::Row& row : rows) {
    if (!row.target) continue;
    const graph::Operator* op = matcher.find(row.target->operator_name);
    row.is_model_output = op != nullptr && outputs.contains({op, row.target->slot});
  }
}

}  // namespace plumb::pair
