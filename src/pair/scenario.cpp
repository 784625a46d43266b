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

constexpr const char* kFusionOff =
    "convert with --fusion_switch_file=fusion_switch.cfg, which holds "
    R"({"Switch":{"GraphFusion":{"ALL":"off"},"UBFusion":{"ALL":"off"}}}, and dump again)";

const Scenario* scenario_named(std::string_view name) {
  const auto found = std::find_if(std::begin(kScenarios), std::end(kScenarios),
                                  [&](const Scenario& s) { return s.name == name; });
  return found == std::end(kScenarios) ? nullptr : found;
}

bool is_device(const DumpSet& set) { return set.traits.is_device; }

const graph::Graph* get(const std::optional<graph::Graph>& graph) {
  return graph ? &*graph : nullptr;
}

bool are_exchanged(const DumpSet& target, const DumpSet& golden, const Graphs& graphs) {
  if (!graphs.golden) return false;
  const auto fits = [](const graph::Graph& graph, const DumpSet& set) {
    return !fit_of(graph, set).is_poor();
  };
  return !fits(*graphs.golden, golden) && fits(*graphs.golden, target) &&
         (!graphs.target || (!fits(*graphs.target, target) && fits(*graphs.target, golden)));
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
  if (f.graph != nullptr && f.golden_graph != nullptr && is_converted(*f.golden_graph) &&
      count_fused(*f.graph) != count_fused(*f.golden_graph))
    return "fusion-on-vs-off";
  if (f.target_is_device && f.golden_is_device) return "npu-vs-npu";
  if (f.target_is_device)
    return !f.target_is_quantized  ? "offline-vs-original"
           : f.golden_is_quantized ? "quantized-offline-vs-quantized-original"
                                   : "quantized-offline-vs-original";
  if ((f.graph == nullptr || !is_converted(*f.graph)) && f.target_is_quantized &&
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
  if (f.graphs_are_exchanged && f.graph == nullptr)
    return Error{"--golden-graph seems to be the graph of the target",
                 "it describes the dump of the target, and not that of golden",
                 "give it as --graph"};
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
      ((f.graph != nullptr && count_fused(*f.graph) > 0) ||
       (f.golden_graph != nullptr && count_fused(*f.golden_graph) > 0)))
    return Error{"operators are fused differently on another processor",
                 "--mode processor-switch with the graph of a fused model", kFusionOff};
  return std::nullopt;
}

}  // namespace

std::span<const Scenario> scenarios() { return kScenarios; }

Result<const Scenario*> find_scenario(const DumpSet& target, const DumpSet& golden,
                                      const Graphs& graphs, std::string_view mode) {
  if (!mode.empty() && scenario_named(mode) == nullptr) {
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
  Facts facts{is_device(target) || (graphs.target && is_converted(*graphs.target)),
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
  return scenario_named(name);
}

std::optional<Matcher> make_matcher(Graphs& graphs) {
  const auto is_run = [](const std::optional<graph::Graph>& graph) {
    return graph && graph->is_of_a_run();
  };
  // An engine knows of tensors that kept their names, a converter of every operator.
  const bool are_runs = is_run(graphs.target) && is_run(graphs.golden);
  if (graphs.target && graphs.golden && (are_runs || !is_converted(*graphs.target)))
    align_graphs(*graphs.target, *graphs.golden);
  const graph::Graph* const quant = get(graphs.quant);
  const graph::Graph* const golden = get(graphs.golden);
  // Without the graph of the converted model, that of the quantized one is the next best.
  if (!graphs.target && quant == nullptr) return std::nullopt;
  return std::optional<Matcher>(std::in_place, graphs.target ? *graphs.target : *quant, golden,
                                graphs.target ? quant : nullptr);
}

NameMap output_pairs(const Matcher& matcher, const graph::Graph& target,
                     const graph::Graph& golden) {
  NameMap map;
  if (!target.is_of_a_run() || !golden.is_of_a_run()) return map;
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

}  // namespace plumb::pair
