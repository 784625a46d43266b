// SPDX-License-Identifier: Apache-2.0
#include "pair/modules.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/dump_schema.h"

namespace plumb::pair {
namespace {

using dump::Slot;
using dump::SlotKind;
using graph::Edge;
using graph::Graph;
using graph::Operator;

constexpr std::string_view kRule = "module-path";
constexpr std::string_view kWholeModel = "(model)";  // what a record calls the outermost module

struct SlotOfModel {
  std::string_view op;
  Slot slot;
  auto operator<=>(const SlotOfModel&) const = default;
};
SlotOfModel tensor_of(const Edge& edge) {
  return {edge.producer, {SlotKind::kOutput, edge.output, {}}};
}

// What an exported model holds of one module: its own operators and those of modules in it.
struct Part {
  std::vector<SlotOfModel> entering, leaving;  // edges across its border, each once, in order
  size_t operators = 0;
};

// The exported model, by module.
class Exported {
 public:
  explicit Exported(const Graph& graph) : graph_(graph) {
    for (const Operator& op : graph.operators) path_[op.name] = module_path(op.name);
  }

  bool is_inside(std::string_view op, std::string_view module) const {
    const auto found = path_.find(op);
    if (found == path_.end() || !found->second) return false;
    const std::string& path = *found->second;
    return module == kWholeModel || path == module ||
           (path.size() > module.size() && path.starts_with(module) && path[module.size()] == '.');
  }

  Part part(std::string_view module) const {
    Part part;
    const auto add = [](std::vector<SlotOfModel>& list, const SlotOfModel& tensor) {
      if (std::find(list.begin(), list.end(), tensor) == list.end()) list.push_back(tensor);
    };
    for (const Operator& op : graph_.operators) {
      const bool reads_inside = is_inside(op.name, module);
      part.operators += reads_inside;
      for (const Edge& edge : op.inputs) {
        const bool made_inside = is_inside(edge.producer, module);
        if (reads_inside && !made_inside && !edge.producer.empty())
          add(part.entering, tensor_of(edge));
        if (!reads_inside && made_inside) add(part.leaving, tensor_of(edge));
      }
    }
    for (const Edge& edge : graph_.outputs)
      if (is_inside(edge.producer, module)) add(part.leaving, tensor_of(edge));
    return part;
  }

  bool is_output(const SlotOfModel& tensor) const {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(),
                       [&](const Edge& edge) { return tensor_of(edge) == tensor; });
  }
  // The only operator of a part.
  const Operator* only_one(std::string_view module) const {
    const auto of_it = [&](const Operator& op) { return is_inside(op.name, module); };
    const auto found = std::find_if(graph_.operators.begin(), graph_.operators.end(), of_it);
    return found == graph_.operators.end() ? nullptr : &*found;
  }

 private:
  const Graph& graph_;
  std::map<std::string_view, std::optional<std::string>> path_;  // by operator
};

// Which tensors of the two models are the same.
class ModulePairer {
 public:
  ModulePairer(const Graph& modules, const Graph& model) : modules_(modules), exported_(model) {
    for (const Operator& module : modules.operators) parts_[module.name] = part_of(module);
    for (const Operator& module : modules.operators) find_folded(module);
    for (const Operator& module : modules.operators) pair_outputs(module);
    for (const Operator& module : modules.operators) pair_inputs(module);
  }

  // Module tensor and exported tensor, either way.
  std::map<SlotOfModel, SlotOfModel> of_module, of_model;

  std::string why_module_left(const SlotOfModel& tensor) const {
    const auto folded = folded_into_.find(tensor.op);
    if (folded != folded_into_.end() && tensor.slot.kind == SlotKind::kOutput)
      return fmt::format("the export folded {} into {}", folded->second, tensor.op);
    return {};
  }
  // The innermost module that holds the operator as a part of what it computes; empty: functions
  // between modules do.
  std::string_view module_around(std::string_view op) const {
    for (const Operator& module : modules_.operators)
      if (module.name != kWholeModel && exported_.is_inside(op, module.name) && is_leaf(module))
        return module.name;
    return {};
  }
  bool is_output(const SlotOfModel& tensor) const { return exported_.is_output(tensor); }

 private:
  // A record has no other module below it.
  bool is_leaf(const Operator& module) const {
    return std::none_of(
        modules_.operators.begin(), modules_.operators.end(), [&](const Operator& other) {
          return other.name.size() > module.name.size() && other.name.starts_with(module.name) &&
                 other.name[module.name.size()] == '.';
        });
  }

  Part part_of(const Operator& module) const { return exported_.part(module.name); }

  // Batch normalization behind a convolution or a product becomes a part of its weights.
  void find_folded(const Operator& module) {
    if (!module.type.starts_with("BatchNorm") || parts_[module.name].operators > 0) return;
    if (module.inputs.empty() || module.inputs[0].producer.empty()) return;
    const auto into = parts_.find(module.inputs[0].producer);
    if (into == parts_.end() || into->second.leaving.size() != 1) return;
    folded_into_[into->first] = module.name;
  }

  void pair(const SlotOfModel& module, const SlotOfModel& model) {
    if (of_model.contains(model) || of_module.contains(module)) return;
    of_module[module] = model;
    of_model[model] = module;
  }

  void pair_outputs(const Operator& module) {
    if (folded_into_.contains(module.name)) return;
    const Operator* holder = &module;
    for (const auto& [into, folded] : folded_into_)
      if (folded == module.name) holder = find(into);
    const Part& part = parts_[holder->name];
    if (part.leaving.size() != module.outputs.size()) return;
    // Of several, nobody but the model as a whole tells the order.
    if (part.leaving.size() > 1 && module.name != kWholeModel) return;
    for (size_t k = 0; k < part.leaving.size(); ++k)
      pair({module.name, {SlotKind::kOutput, static_cast<int64_t>(k), {}}}, part.leaving[k]);
  }

  void pair_inputs(const Operator& module) {
    const Part& part = parts_[module.name];
    std::vector<SlotOfModel> read = part.entering;
    if (part.operators == 1) {  // they stand in the order of its arguments
      read.clear();
      for (const Edge& edge : exported_.only_one(module.name)->inputs)
        read.push_back(tensor_of(edge));
    }
    if (read.size() != module.inputs.size() || (read.size() > 1 && part.operators != 1)) return;
    for (size_t k = 0; k < read.size(); ++k)
      if (module.inputs[k].producer.empty())  // else it is the output of another module
        pair({module.name, {SlotKind::kInput, static_cast<int64_t>(k), {}}}, read[k]);
  }

  const Operator* find(std::string_view name) const {
    const auto found = std::find_if(modules_.operators.begin(), modules_.operators.end(),
                                    [&](const Operator& op) { return op.name == name; });
    return &*found;
  }

  const Graph& modules_;
  const Exported exported_;
  std::map<std::string_view, Part> parts_;                    // by module
  std::map<std::string_view, std::string_view> folded_into_;  // by what it was folded into
};

Pairing left_out(const ModulePairer& pairer, const SlotOfModel& tensor, bool is_module,
                 std::string_view no_partner) {
  if (is_module) {
    const std::string why = pairer.why_module_left(tensor);
    if (!why.empty()) return Pairing::none("inside_fusion", why);
    return Pairing::none(no_partner);
  }
  if (pairer.is_output(tensor)) return Pairing::none(no_partner);
  if (const std::string_view module = pairer.module_around(tensor.op); !module.empty())
    return Pairing::none("inside_fusion", fmt::format("a part of what module {} computes", module));
  return Pairing::none("no_counterpart", "computed between modules, which hooks do not see");
}

}  // namespace

std::optional<std::string> module_path(std::string_view name) {
  if (!name.starts_with('/')) return std::nullopt;
  std::string path;
  std::string_view last;  // component that ends `path`
  for (size_t at = 1, end = name.find('/', at); end != name.npos; end = name.find('/', at)) {
    const std::string_view part = name.substr(at, end - at);
    // Members of a list are named in full: "/layer1/layer1.0".
    const bool is_member = !last.empty() && part.size() > last.size() && part.starts_with(last) &&
                           part[last.size()] == '.';
    if (is_member) path.resize(path.size() - last.size());
    if (!is_member && !path.empty()) path += '.';
    path += part;
    last = part;
    at = end + 1;
  }
  return path;
}

bool is_of_modules(const Graph* graph) {
  return graph != nullptr &&
         std::any_of(graph->properties.begin(), graph->properties.end(),
                     [](const auto& property) { return property.first == dump_schema::kRecorded; });
}

bool is_modules_against_model(const Graph* target, const Graph* golden) {
  if (target == nullptr || golden == nullptr || is_of_modules(target) == is_of_modules(golden))
    return false;
  const Graph& model = is_of_modules(target) ? *golden : *target;
  return std::any_of(model.operators.begin(), model.operators.end(), [](const Operator& op) {
    const auto path = module_path(op.name);
    return path && !path->empty();
  });
}

Pairings pair_modules(const dump::DumpSet& target, const dump::DumpSet& golden,
                      const Graph& target_graph, const Graph& golden_graph) {
  const bool target_is_modules = is_of_modules(&target_graph);
  const ModulePairer pairer(target_is_modules ? target_graph : golden_graph,
                            target_is_modules ? golden_graph : target_graph);
  Pairings pairings;
  const auto& of_target = target_is_modules ? pairer.of_module : pairer.of_model;
  const auto& of_golden = target_is_modules ? pairer.of_model : pairer.of_module;
  for (const dump::Entry& entry : target.entries) {
    const SlotOfModel tensor{entry.operator_name, entry.slot};
    const auto found = of_target.find(tensor);
    pairings.emplace(&entry, found == of_target.end()
                                 ? left_out(pairer, tensor, target_is_modules, "no_golden")
                                 : Pairing::with(found->second.op, found->second.slot, kRule));
  }
  for (const dump::Entry& entry : golden.entries)
    if (const SlotOfModel tensor{entry.operator_name, entry.slot}; !of_golden.contains(tensor))
      pairings.emplace(&entry, left_out(pairer, tensor, !target_is_modules, "no_target"));
  return pairings;
}

}  // namespace plumb::pair
