// SPDX-License-Identifier: Apache-2.0
#include "replay/shrink.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include "graph/onnx_wiring.h"

namespace plumb::replay {
namespace {

using graph::OnnxModel;
using graph::OnnxNode;
using graph::OnnxValue;
using Names = std::unordered_set<std::string_view>;

Names read_by(const std::vector<OnnxNode>& nodes) {
  Names names;
  for (const OnnxNode& node : nodes)
    graph::each_read(node, [&](std::string_view name) { names.insert(name); });
  return names;
}

Names names_of(const std::vector<OnnxValue>& values) {
  Names names;
  for (const OnnxValue& value : values) names.insert(value.name);
  return names;
}

bool any_of(const OnnxNode& node, const Names& names) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](std::string_view name) { return names.contains(name); });
}

// `cut` makes an output of all that is read outside. Here a node's results are outputs only if they
// are so in the model, or if nothing else is left of what the node is for.
std::vector<OnnxValue> outputs_of(const OnnxModel& part, const OnnxModel& model,
                                  const std::set<std::string, std::less<>>& dropped) {
  const Names inside = read_by(part.graph.nodes), before = read_by(model.graph.nodes);
  const Names given = names_of(model.graph.outputs);
  std::unordered_map<std::string_view, const OnnxValue*> possible;
  for (const OnnxValue& value : part.graph.outputs) possible.emplace(value.name, &value);
  std::vector<OnnxValue> outputs;
  for (const OnnxNode& node : part.graph.nodes) {
    std::vector<const OnnxValue*> own, wanted, used, all;
    for (std::string_view name : node.outputs) {
      const auto value = possible.find(name);
      if (value == possible.end()) continue;
      all.push_back(value->second);
      if (given.contains(name) || before.contains(name)) used.push_back(value->second);
      if (dropped.contains(name)) continue;
      if (given.contains(name)) own.push_back(value->second);
      if (given.contains(name) || before.contains(name)) wanted.push_back(value->second);
    }
    const bool is_live = !own.empty() || any_of(node, inside);
    const auto& chosen = is_live ? own : !wanted.empty() ? wanted : !used.empty() ? used : all;
    for (const OnnxValue* value : chosen) outputs.push_back(*value);
  }
  return outputs;
}

// Has a type, and a shape if it is a tensor: a model is valid only if all its inputs and outputs
// have, although some engines take others. Types may be bytes that we do not understand.
bool is_complete(const OnnxValue& value) {
  return value.type.dtype ? value.type.shape.has_value() : graph::is_typed(value);
}

// The first value that is not, unless the model has it like that.
const OnnxValue* incomplete(const std::vector<OnnxValue>& values,
                            const std::vector<OnnxValue>& before) {
  const Names known = names_of(before);
  for (const OnnxValue& value : values)
    if (!is_complete(value) && !known.contains(value.name)) return &value;
  return nullptr;
}

class Shrinker {
 public:
  Shrinker(const OnnxModel& model, const Known& known, const ShrinkWishes& wishes)
      : model_(model), known_(known), wishes_(wishes), wiring_(model.graph) {
    shrunk_.part = whole(model);
    shrunk_.model = model;
  }

  Shrunk run() && {
    take_one_output();
    leave_out_with_constants();
    // What is left is small: everything else is tried until nothing helps any more.
    do leave_out_nodes();
    while (drop_the_rest() && !over_);
    shrunk_.is_minimal = !over_;
    return std::move(shrunk_);
  }

 private:
  using Units = std::vector<size_t>;
  using Expand = std::function<Units(const Units&)>;

  // Builds and checks a part; one that fails is the best from now on.
  bool fails(Part part) {
    if (over_ || part == shrunk_.part || !tried_.insert(part).second) return false;
    if (wishes_.is_over && wishes_.is_over()) {
      over_ = true;
      return false;
    }
    const auto start = std::chrono::steady_clock::now();
    ShrinkStep step;
    auto candidate = build(model_, part, known_);
    if (candidate) {
      step.nodes = candidate->graph.nodes.size();
      step.checked = wishes_.check(*candidate);
    }
    step.part = part;
    step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool is_better = step.checked.verdict == Verdict::kFails;
    shrunk_.steps.push_back(std::move(step));
    if (is_better) {
      shrunk_.part = std::move(part);
      shrunk_.model = std::move(*candidate);
      if (wishes_.improved) wishes_.improved(shrunk_.model);
    }
    return is_better;
  }

  Part with_nodes(Units nodes) const {
    Part part = shrunk_.part;
    part.nodes = std::move(nodes);
    return part;
  }

  // A model of several outputs may fail in one of them: the one that needs the fewest nodes.
  void take_one_output() {
    const auto& outputs = model_.graph.outputs;
    if (outputs.size() < 2) return;
    std::vector<Part> parts;
    for (const OnnxValue& output : outputs) {
      Part& part = parts.emplace_back();
      part.nodes = without_constants(nodes_behind(output.name));
      for (const OnnxValue& other : outputs)
        if (other.name != output.name) part.dropped.emplace(other.name);
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.nodes.size() < b.nodes.size(); });
    for (Part& part : parts)
      if (!part.nodes.empty() && fails(std::move(part))) return;
  }

  Units nodes_behind(std::string_view tensor) const {
    std::vector<bool> needed(model_.graph.nodes.size());
    Units open;
    const auto need = [&](std::string_view name) {
      const auto producer = wiring_.producer_of(name);
      if (!producer || needed[*producer]) return;
      needed[*producer] = true;
      open.push_back(*producer);
    };
    need(tensor);
    while (!open.empty()) {
      const size_t node = open.back();
      open.pop_back();
      graph::each_read(model_.graph.nodes[node], need);
    }
    Units nodes;
    for (size_t i = 0; i < needed.size(); ++i)
      if (needed[i]) nodes.push_back(i);
    return nodes;
  }

  Units without_constants(Units nodes) const {
    const Part all = whole(model_);
    std::erase_if(nodes, [&](size_t node) {
      return !std::binary_search(all.nodes.begin(), all.nodes.end(), node);
    });
    return nodes;
  }

  // First what computes on inputs; what only prepares weights goes with its readers.
  void leave_out_with_constants() {
    const std::vector<bool> constant = graph::constant_nodes(model_);
    Units units;
    for (size_t node : shrunk_.part.nodes)
      if (!constant[node]) units.push_back(node);
    if (units.empty() || units.size() == shrunk_.part.nodes.size()) return;
    const Expand expand = [&](const Units& nodes) {
      return without_constants(graph::with_constant_sources(model_, nodes));
    };
    if (const Units all = expand(units); all != shrunk_.part.nodes && !fails(with_nodes(all)))
      return;  // the fault has to do with constants that nobody reads
    minimise(std::move(units), expand);
  }

  void leave_out_nodes() {
    minimise(shrunk_.part.nodes, [](const Units& nodes) { return nodes; });
  }

  // Looks for the fault in a half, or a quarter, alone: that is how a fault of one node, or of
  // neighbours, is found in a few steps. Then chunks are left out of what is left, ever smaller
  // ones, down to single nodes. The end of a model goes first: what is computed before stays what
  // it was.
  void minimise(Units units, const Expand& expand) {
    const auto try_units = [&](Units some) {
      if (some.empty() || !fails(with_nodes(expand(some)))) return false;
      units = std::move(some);
      return true;
    };
    const auto isolate = [&] {
      for (const size_t chunks : {size_t{2}, size_t{4}})
        for (size_t i = 0; i < chunks && units.size() >= chunks; ++i)
          if (try_units({at(units, units.size() * i / chunks),
                         at(units, units.size() * (i + 1) / chunks)}))
            return true;
      return false;
    };
    while (isolate()) {
    }
    for (size_t size = std::max<size_t>(units.size() / 2, 1);;
         size = std::max<size_t>(size / 2, 1)) {
      bool any = false;
      for (size_t end = units.size(); end > 0;) {
        const size_t begin = end > size ? end - size : 0;
        Units rest(at(units, 0), at(units, begin));
        rest.insert(rest.end(), at(units, end), at(units, units.size()));
        any |= try_units(std::move(rest));
        end = begin;
      }
      if (over_ || (size == 1 && !any)) break;
    }
  }

  static Units::const_iterator at(const Units& units, size_t place) {
    return units.begin() + static_cast<ptrdiff_t>(place);
  }

  // What is no node: outputs, constants as nodes, types of inner tensors. True if something went.
  bool drop_the_rest() {
    bool any = false;
    std::vector<std::string> outputs;
    for (const OnnxValue& output : shrunk_.model.graph.outputs) outputs.emplace_back(output.name);
    for (auto name = outputs.rbegin(); name != outputs.rend(); ++name) {
      Part part = shrunk_.part;
      part.dropped.insert(*name);
      const auto fewer = build(model_, part, known_);
      if (fewer && !fewer->graph.outputs.empty() &&
          fewer->graph.outputs.size() < shrunk_.model.graph.outputs.size())
        any |= fails(std::move(part));
    }
    if (!known_.constants.empty() && !shrunk_.part.folds_constants) {
      Part part = shrunk_.part;
      part.folds_constants = true;
      if (const auto folded = build(model_, part, known_);
          folded && folded->graph.nodes.size() < shrunk_.model.graph.nodes.size())
        any |= fails(std::move(part));
    }
    if (!shrunk_.model.graph.value_infos.empty()) {
      Part part = shrunk_.part;
      part.drops_value_infos = true;
      any |= fails(std::move(part));
    }
    return any;
  }

  const OnnxModel& model_;
  const Known& known_;
  const ShrinkWishes& wishes_;
  const graph::Wiring wiring_;
  std::set<Part> tried_;
  Shrunk shrunk_;
  bool over_ = false;
};

}  // namespace

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFails: return "fails";
    case Verdict::kPasses: return "passes";
    default: return "unresolved";
  }
}

Part whole(const OnnxModel& model) {
  const Names read = read_by(model.graph.nodes), given = names_of(model.graph.outputs);
  Part part;
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const OnnxNode& node = model.graph.nodes[i];
    if (node.type == "Constant" && any_of(node, read) && !any_of(node, given)) continue;
    part.nodes.push_back(i);
  }
  return part;
}

Result<OnnxModel> build(const OnnxModel& model, const Part& part, const Known& known) {
  graph::Outside folded;
  if (part.folds_constants) {
    folded = known.outside;
    folded.values.insert(known.constants.begin(), known.constants.end());
  }
  auto built = graph::cut(model, part.nodes, part.folds_constants ? folded : known.outside);
  if (!built) return built;
  built->graph.outputs = outputs_of(*built, model, part.dropped);
  const OnnxValue* value = incomplete(built->graph.inputs, model.graph.inputs);
  if (value == nullptr) value = incomplete(built->graph.outputs, model.graph.outputs);
  if (value != nullptr)
    return Error{"the type or the shape of a tensor is not known", std::string(value->name),
                 "record the types in the model (onnx.shape_inference.infer_shapes)"};
  if (part.drops_value_infos) built->graph.value_infos.clear();
  return built;
}

Shrunk shrink(const OnnxModel& model, const Known& known, const ShrinkWishes& wishes) {
  return Shrinker(model, known, wishes).run();
}

}  // namespace plumb::replay
