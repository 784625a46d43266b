// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/rule_file.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "dump/names.h"
#include "graph/importers.h"

namespace plumb::msaccucmp {
namespace {

std::vector<OriginTensor> origin_tensors(const graph::Operator& op) {
  std::vector<OriginTensor> outputs;
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const graph::Output& output = op.outputs[i];
    if (!output.has_attributes) continue;
    outputs.push_back({output.origin,
                       output.origin_output.value_or(static_cast<int64_t>(i)),
                       {output.origin_layout, output.origin_shape.value_or(Shape{})}});
  }
  return outputs;
}

void name_unnamed(std::vector<OriginTensor>& outputs, const std::string& name) {
  if (outputs.empty()) outputs.push_back({name, std::nullopt, {}});
  for (OriginTensor& output : outputs)
    if (output.name.empty()) output.name = name;
}

RuleOperator rule_from(const graph::Operator& op) {
  RuleOperator rule;
  rule.name = op.name;
  rule.type = op.type;
  rule.id = op.id.value_or(0);
  rule.inputs = op.inputs;
  rule.outputs = origin_tensors(op);
  for (const graph::Output& output : op.outputs) rule.output_types.push_back(output.dtype);
  rule.is_multi_op = op.is_multi_op;
  rule.l1_group = op.l1_group;
  if (!op.origins) {
    rule.origins = {op.name};
    name_unnamed(rule.outputs, op.name);
  } else {
    rule.origins = op.origins->empty() ? std::vector<std::string>{""} : *op.origins;
  }
  return rule;
}

std::string operator_key(const RuleOperator& op, bool by_l1_group) {
  if (by_l1_group && !op.l1_group.empty()) return op.l1_group;
  if (op.origins.empty() || (op.origins.size() == 1 && op.origins[0].empty())) return op.name;
  if (op.origins.size() == 1) return op.origins[0];
  // Several originals: a key that no name can be.
  std::string key;
  for (const std::string& origin : op.origins) key += '\n' + origin;
  return key;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

bool RuleOperator::is_inner_node() const {
  return is_multi_op && std::all_of(outputs.begin(), outputs.end(),
                                    [](const OriginTensor& output) { return output.name.empty(); });
}

bool RuleOperator::is_dequantizer() const {
  return type == "AscendDequant" || name.ends_with("_dequant_layer") ||
         name.ends_with("AscendDequant") || name.ends_with("_dequant");
}

RuleFile::RuleFile(const graph::Graph& graph) {
  operators_.reserve(graph.operators.size());
  for (const graph::Operator& op : graph.operators) operators_.push_back(rule_from(op));
  make_groups(true);
  // A renamed node is the only one made from its original.
  for (const RuleGroup& group : groups_) {
    if (group.members.size() != 1) continue;
    RuleOperator& op = operators_[group.members[0]];
    if (op.origins.size() == 1 && op.origins[0] == op.group_key)
      name_unnamed(op.outputs, op.origins[0]);
  }
  filter_quantized(operators_);
}

Outcome<RuleFile> RuleFile::load(const std::filesystem::path& path) {
  if (std::error_code ignored; !std::filesystem::is_regular_file(path, ignored))
    return {Code::kInvalidPath, Error{"no such rule file", path.string(), "check the path"}};
  auto graph = graph::load_graph(path);
  if (!graph) return {Code::kRuleJson, std::move(graph.error())};
  return RuleFile(*graph);
}

void RuleFile::make_groups(bool by_l1_group) {
  groups_.clear();
  std::unordered_map<std::string, size_t> group_of_key;
  std::vector<std::set<std::string_view>> names;
  for (size_t i = 0; i < operators_.size(); ++i) {
    RuleOperator& op = operators_[i];
    op.group_key = operator_key(op, by_l1_group);
    const auto [at, is_new] = group_of_key.try_emplace(op.group_key, groups_.size());
    if (is_new) {
      groups_.push_back({static_cast<int64_t>(groups_.size()), {}});
      names.emplace_back();
    }
    if (names[at->second].insert(op.name).second) groups_[at->second].members.push_back(i);
  }
  index_names();
}

std::vector<std::string> RuleFile::input_nodes() const {
  std::vector<std::string> names;
  for (const RuleOperator& op : operators_)
    if (op.type == "Data") names.push_back(op.name);
  return names;
}

void RuleFile::index_names() {
  operator_by_name_.clear();
  group_by_name_.clear();
  for (size_t group = 0; group < groups_.size(); ++group)
    for (size_t member : groups_[group].members) {
      const RuleOperator& op = operators_[member];
      group_by_name_.try_emplace(op.name, group);
      if (op.can_be_found) operator_by_name_.try_emplace(op.name, member);
    }
}

const RuleOperator* RuleFile::find(const std::string& name) const {
  const auto found = operator_by_name_.find(name);
  return found == operator_by_name_.end() ? nullptr : &operators_[found->second];
}

const RuleGroup* RuleFile::group_of(const std::string& name) const {
  const auto found = group_by_name_.find(name);
  return found == group_by_name_.end() ? nullptr : &groups_[found->second];
}

void RuleFile::merge_quantization(const RuleFile& quant) {
  for (RuleOperator& op : operators_) {
    std::vector<std::string> origins;
    for (const std::string& origin : op.origins)
      if (const RuleGroup* group = quant.group_of(origin))
        for (size_t member : group->members)
          for (const std::string& name : quant.operators_[member].origins) add_once(origins, name);
    if (!origins.empty()) op.origins = std::move(origins);

    std::vector<OriginTensor> outputs;
    for (const OriginTensor& output : op.outputs) {
      const RuleGroup* group = output.name.empty() ? nullptr : quant.group_of(output.name);
      if (group == nullptr) continue;
      for (size_t member : group->members) {
        const RuleOperator& source = quant.operators_[member];
        const auto add = [&](OriginTensor found) {
          if (!output.description.format.empty()) found.description = output.description;
          outputs.push_back(std::move(found));
        };
        if (!output.index) {
          for (const OriginTensor& found : source.outputs) add(found);
        } else if (source.name == output.name) {
          if (*output.index >= 0 && static_cast<size_t>(*output.index) < source.outputs.size())
            add(source.outputs[static_cast<size_t>(*output.index)]);
          else
            outputs.emplace_back();
        }
      }
    }
    if (!outputs.empty()) op.outputs = std::move(outputs);
  }
  // Groups come in the order of those before the merge.
  std::vector<RuleOperator> ordered;
  for (const RuleGroup& group : groups_)
    for (size_t member : group.members) ordered.push_back(std::move(operators_[member]));
  operators_ = std::move(ordered);
  make_groups(false);
}

// Walks backwards and takes one entry for each group; what shares its first original with an entry
// taken before is dropped. All operators that the compiler inserted share the empty one, so that
// only the last of them stays.
void RuleFile::merge_unfused(const RuleFile& unfused) {
  std::unordered_map<std::string, const RuleOperator*> made_from;
  for (const RuleOperator& op : unfused.operators_)
    for (const std::string& origin : op.origins) made_from[origin] = &op;
  const auto unfused_of = [&](const std::string& origin) -> const RuleOperator* {
    const auto found = made_from.find(origin);
    return found == made_from.end() ? nullptr : found->second;
  };

  std::set<std::string> groups_seen, origins_seen, unfused_seen;
  std::set<size_t> kept;
  std::unordered_map<std::string, const RuleGroup*> group_by_key;
  for (const RuleGroup& group : groups_)
    group_by_key[operators_[group.members[0]].group_key] = &group;
  for (size_t i = operators_.size(); i-- > 0;) {
    if (!groups_seen.insert(operators_[i].group_key).second) continue;
    for (size_t member : group_by_key[operators_[i].group_key]->members) {
      RuleOperator& op = operators_[member];
      op.can_be_found = op.name == operators_[i].name;
      const std::string first = op.origins.empty() ? "" : op.origins[0];
      if (!origins_seen.insert(first).second) continue;
      const RuleOperator* counterpart = unfused_of(first);
      if (counterpart != nullptr && !unfused_seen.insert(counterpart->name).second) continue;
      kept.insert(member);
    }
  }
  for (size_t member : kept) {
    RuleOperator& op = operators_[member];
    if (!(op.origins.size() == 1 && op.origins[0].empty())) {
      std::vector<std::string> origins;
      for (const std::string& origin : op.origins)
        if (const RuleOperator* found = unfused_of(origin)) add_once(origins, found->name);
      op.origins = std::move(origins);
    }
    for (OriginTensor& output : op.outputs)
      if (const RuleOperator* found = output.name.empty() ? nullptr : unfused_of(output.name)) {
        output.index = unfused.output_index(found->name, output);
        output.name = found->name;
      }
  }
  keep_only(kept);
}

// By which output a group gives a tensor of the original; as the original does if nothing tells.
std::optional<int64_t> RuleFile::output_index(const std::string& member,
                                              const OriginTensor& output) const {
  for (const size_t other : group_of(member)->members) {
    const std::vector<OriginTensor>& outputs = operators_[other].outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].name == output.name && outputs[i].index == output.index)
        return static_cast<int64_t>(i);
  }
  return output.index;
}

void RuleFile::keep_only(const std::set<size_t>& kept) {
  std::vector<size_t> new_place(operators_.size(), operators_.size());
  std::vector<RuleOperator> operators;
  for (size_t member : kept) {
    new_place[member] = operators.size();
    operators.push_back(std::move(operators_[member]));
  }
  for (RuleGroup& group : groups_) {
    std::vector<size_t> members;
    for (size_t member : group.members)
      if (kept.contains(member)) members.push_back(new_place[member]);
    group.members = std::move(members);
  }
  std::erase_if(groups_, [](const RuleGroup& group) { return group.members.empty(); });
  operators_ = std::move(operators);
  index_names();
}

GroupNames names_of(const RuleFile& rules, const RuleGroup& group) {
  std::vector<std::string> lists;
  for (size_t member : group.members)
    add_once(lists, fmt::format("{}", fmt::join(rules.operators()[member].origins, ",")));
  GroupNames names;
  std::vector<std::string> targets;
  for (const std::string& list : lists)
    for (size_t member : group.members) {
      const RuleOperator& op = rules.operators()[member];
      if (fmt::format("{}", fmt::join(op.origins, ",")) == list) targets.push_back(op.name);
    }
  names.target = fmt::format("{}", fmt::join(targets, ","));
  names.golden = fmt::format("{}", fmt::join(lists, ","));
  if (names.golden.empty()) names.golden = '*';
  return names;
}

namespace {

// Numbers of operators, and the last of them.
struct OperatorIds {
  std::set<int64_t> all;
  int64_t last = 0;

  std::string range_text() const { return fmt::format("operators have the numbers 1 to {}", last); }
};

// Between commas, without the blanks around.
std::vector<std::string_view> fields_between_commas(std::string_view text) {
  std::vector<std::string_view> fields;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    std::string_view field = text.substr(at, comma - at);
    while (field.starts_with(' ')) field.remove_prefix(1);
    while (field.ends_with(' ')) field.remove_suffix(1);
    fields.push_back(field);
    at = comma + 1;
  }
  return fields;
}

Outcome<std::vector<int64_t>> selected_ids(const std::string& text, const OperatorIds& ids,
                                           std::vector<std::string>& warnings) {
  std::vector<int64_t> chosen;
  for (std::string_view field : fields_between_commas(text)) {
    if (!dump::is_digits(field))
      return {Code::kInvalidParameter, Error{"-s takes numbers with commas between",
                                             fmt::format("-s {}", text), "for example -s 1,2,5"}};
    const int64_t id = dump::number_from(field).value_or(INT64_MAX);
    if (id > ids.last)
      warnings.push_back(
          fmt::format("-s: there is no operator {}, the last is {}", field, ids.last));
    else
      chosen.push_back(id);
  }
  if (chosen.empty())
    return {Code::kInvalidParameter,
            Error{"-s leaves no operator", fmt::format("-s {}", text), ids.range_text()}};
  return chosen;
}

Outcome<std::vector<int64_t>> ids_in_range(const std::string& text, const OperatorIds& ids) {
  const std::vector<std::string_view> fields = fields_between_commas(text);
  if (fields.size() != 3)
    return {Code::kInvalidParameter, Error{"-r takes start,end,step", fmt::format("-r {}", text),
                                           "for example -r 1,100,5; fields may be empty"}};
  const auto value = [](std::string_view field, int64_t otherwise) -> std::optional<int64_t> {
    if (field.empty()) return otherwise;
    if (field == "-1") return -1;
    return dump::number_from(field);
  };
  const auto start = value(fields[0], 1), end = value(fields[1], -1), step = value(fields[2], 1);
  if (!start || !end || !step)
    return {Code::kInvalidParameter,
            Error{"-r takes three numbers", fmt::format("-r {}", text), "for example -r 1,100,5"}};
  const int64_t last = *end == -1 ? ids.last : *end;
  const auto out_of_bounds = [&](const char* what, int64_t number, std::string range) {
    return Fault{Code::kOutOfBounds,
                 Error{fmt::format("the {} of -r is out of range", what),
                       fmt::format("{} is not in {}", number, range), ids.range_text()}};
  };
  if (*start < 1 || *start > ids.last)
    return out_of_bounds("start", *start, fmt::format("[1, {}]", ids.last));
  if (last < *start || last > ids.last)
    return out_of_bounds("end", last, fmt::format("[{}, {}]", *start, ids.last));
  if (*step < 1 || *step >= ids.last)
    return out_of_bounds("step", *step, fmt::format("[1, {})", ids.last));
  std::vector<int64_t> chosen;
  for (int64_t id : ids.all)
    if (id >= *start && id <= last && (id == last || (id - *start) % *step == 0))
      chosen.push_back(id);
  return chosen;
}

}  // namespace

Outcome<std::vector<int64_t>> chosen_ids(const RuleFile& rules, const Choice& choice,
                                         std::vector<std::string>& warnings) {
  OperatorIds ids;
  for (const RuleOperator& op : rules.operators()) {
    ids.last = std::max(ids.last, op.id);
    ids.all.insert(op.id);
  }
  return choice.select.empty() ? ids_in_range(choice.range, ids)
                               : selected_ids(choice.select, ids, warnings);
}

}  // namespace plumb::msaccucmp
