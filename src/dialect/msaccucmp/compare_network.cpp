// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/compare_network.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/parallel.h"

namespace plumb::msaccucmp {
namespace {

constexpr int kMaxSteps = 10000;  // over TransData and Cast; more is a circle

std::string in_words(const Error& error) {
  return error.where.empty() ? error.what : error.what + ": " + error.where;
}

// The word for a fault in our column.
std::string word_of(Code code) {
  switch (code) {
    case Code::kNoDumpFile: return "NO_GOLDEN";
    case Code::kShape:
    case Code::kNzShape: return "SHAPE_MISMATCH";
    case Code::kFormat: return "FORMAT_UNSUPPORTED";
    case Code::kRuleContent: return "EDGE_INVALID";
    case Code::kInvalidParameter: return "PRODUCER_UNKNOWN";
    case Code::kOutOfBounds: return "INDEX_OUT_OF_RANGE";
    case Code::kDataType: return "DTYPE_UNSUPPORTED";
    default: return "GOLDEN_UNREADABLE";
  }
}

struct OriginOf {
  const OriginTensor* origin;
  int64_t index;
  std::string producer;
};

// Follows the edge to the producer of an input, and on over operators that change no value.
Outcome<OriginOf> find_origin(const RuleFile& rules, const RuleOperator& op, bool is_input,
                              size_t index) {
  const auto no_golden = [&] {
    return Fault{Code::kNoDumpFile, Error{fmt::format("[{}] no golden tensor for {}", op.name,
                                                      tensor_id(op.name, is_input, index)),
                                          "", ""}};
  };
  const RuleOperator* at = &op;
  auto k = static_cast<int64_t>(index);
  bool step = is_input;
  for (int steps = 0; step || at->type == "Cast" || at->type == "TransData"; step = false) {
    if (++steps > kMaxSteps) return no_golden();
    if (k < 0 || static_cast<size_t>(k) >= at->inputs.size()) return no_golden();
    const graph::Edge& edge = at->inputs[static_cast<size_t>(k)];
    if (edge.producer.empty())
      return {Code::kRuleContent,
              Error{fmt::format("[{}] input {} in the rule file is not name:index", at->name, k),
                    "", ""}};
    const RuleOperator* producer = rules.find(edge.producer);
    if (producer == nullptr)
      return {Code::kInvalidParameter,
              Error{fmt::format("'{}' is not in the rule file", edge.producer), "", ""}};
    at = producer;
    k = edge.output;
  }
  if (at->outputs.empty()) return no_golden();
  const bool is_listed = k >= 0 && static_cast<size_t>(k) < at->outputs.size();
  const OriginTensor& origin = at->outputs[is_listed ? static_cast<size_t>(k) : 0];
  if (origin.name.empty()) return no_golden();
  return OriginOf{&origin, origin.index.value_or(k),
                  tensor_id(at->name, false, static_cast<size_t>(k))};
}

// The operators of one group, and which tensors of them are compared.
class GroupPlan {
 public:
  GroupPlan(const Network& network, const NetworkOptions& options, const RunContext& context,
            const RuleGroup& group)
      : network_(network),
        rules_(*network.rules),
        options_(options),
        context_(context),
        group_(group),
        names_(names_of(rules_, group)) {}

  std::vector<Line> lines;
  Code code = Code::kNone;
  bool matched = false;

  void make() {
    if (group_.members.size() == 1)
      plan_one();
    else if (!member(0).l1_group.empty())
      plan_l1();
    else
      plan_many();
  }

 private:
  const RuleOperator& member(size_t i) const { return rules_.operators()[group_.members[i]]; }

  ResultRow new_row(const RuleOperator& op) const {
    ResultRow row;
    row.index = group_.index;
    row.sequence = op.id;
    row.type = op.type;
    row.target = names_.target;
    row.golden = names_.golden;
    return row;
  }

  void note(Code failure) {
    if (code == Code::kNone) code = failure;
  }

  void plan_one() {
    const RuleOperator& op = member(0);
    if (op.is_filtered) return;
    if (auto fault = plan_operator(op)) add_missing(op, {*fault});
  }

  // An operator that was not dumped has no row if another one of its group has; a group without any
  // has one, with all the reasons. What cannot be read always has one.
  void plan_many() {
    std::vector<Fault> missing;
    const RuleOperator* last = nullptr;
    for (size_t i = 0; i < group_.members.size(); ++i) {
      const RuleOperator& op = member(i);
      if (op.is_filtered || op.is_inner_node()) continue;
      last = &op;
      auto fault = plan_operator(op);
      if (fault && fault->code == Code::kNoDumpFile)
        missing.push_back(std::move(*fault));
      else if (fault)
        add_missing(op, {std::move(*fault)});
    }
    if (lines.empty() && !missing.empty()) return add_missing(*last, missing);
    if (!missing.empty()) note(Code::kNoDumpFile);
  }

  // Operators fused through the L1 buffer: the first and the last that ran.
  void plan_l1() {
    std::vector<std::pair<int64_t, const RuleOperator*>> dumped;
    for (size_t i = 0; i < group_.members.size(); ++i)
      if (const DumpFile* file = network_.target.find(member(i).name, 0))
        dumped.emplace_back(file->timestamp, &member(i));
    std::stable_sort(dumped.begin(), dumped.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (dumped.empty()) {
      std::vector<Fault> faults;
      for (size_t i = 0; i < group_.members.size(); ++i) faults.push_back(no_dump(member(i)));
      return add_missing(member(0), faults);
    }
    std::vector<const RuleOperator*> chosen{dumped.back().second};
    if (dumped.front().second->origins != dumped.back().second->origins)
      chosen.insert(chosen.begin(), dumped.front().second);
    for (const RuleOperator* op : chosen)
      if (auto fault = plan_operator(*op)) add_missing(*op, {*fault});
  }

  static Fault no_dump(const RuleOperator& op) {
    return {
        Code::kNoDumpFile,
        Error{fmt::format("[{}] no dump file for this operator, its type is {}", op.name, op.type),
              "", ""}};
  }

  void add_missing(const RuleOperator& op, const std::vector<Fault>& faults) {
    ResultRow row = new_row(op);
    for (const Fault& fault : faults) {
      row.reasons.push_back(in_words(fault.error));
      note(fault.code);
    }
    const bool expected = op.type == "Data" || op.type == "Const" || op.type == "NetOutput";
    row.codes.emplace_back(faults[0].code != Code::kNoDumpFile ? "LEFT_UNREADABLE"
                           : expected                          ? "NO_DUMP_EXPECTED"
                                                               : "NO_LEFT_DUMP");
    lines.push_back({std::move(row), std::nullopt});
  }

  // Adds rows; a fault if the operator's own dump is not there or cannot be read.
  std::optional<Fault> plan_operator(const RuleOperator& op) {
    const DumpFile* source = network_.target.find(op.name, 0);
    if (source == nullptr) return no_dump(op);
    auto dump = load_dump(network_.target, *source);
    if (!dump) return std::move(dump.fault());
    matched = true;
    if (!op.is_dequantizer())
      for (size_t k = 0; k < dump->inputs.size(); ++k) plan_tensor(op, *dump, true, k);
    if (op.type != "AscendQuant")
      for (size_t k = 0; k < dump->outputs.size(); ++k) plan_tensor(op, *dump, false, k);
    return std::nullopt;
  }

  void plan_tensor(const RuleOperator& op, const OperatorDump& dump, bool is_input, size_t k) {
    const Tensor& tensor = (is_input ? dump.inputs : dump.outputs)[k];
    Line& line = lines.emplace_back(Line{new_row(op), std::nullopt});
    ResultRow& row = line.row;
    row.tensor = tensor_id(op.name, is_input, k);
    row.shape = shape_cell(tensor.shape);
    row.target_address = address_cell(tensor.address);
    if (options_.overflow) row.overflow = overflow_cell(tensor, context_);
    auto golden = find_counterpart(network_, op, is_input, k);
    if (is_input && dump.is_joined && golden) row.scores_of = golden->producer;
    Outcome<Aligned> pair = golden ? align_with(tensor, *golden) : Outcome<Aligned>(golden.fault());
    if (!pair) {
      const Fault& fault = pair.fault();
      if (!fault.error.what.empty()) row.reasons.push_back(in_words(fault.error));
      row.codes.push_back(word_of(fault.code));
      return;
    }
    row.shape = shape_cell(pair->target.shape);
    row.target_dtype = decoded_type_name(pair->target.tensor);
    row.golden_dtype = decoded_type_name(pair->golden.tensor);
    ViewPair& views = line.pair.emplace();
    views.traits.is_scalar = counts_as_scalar(pair->target.shape);
    views.traits.both_bool = !tensor.is_empty() && tensor.dtype == DType::kBool &&
                             pair->golden.tensor.dtype == DType::kBool;
    views.traits.target_file = dump.source->path.string();
    views.traits.golden_file = golden->file->path.string();
    if (pair->truncated) views.codes.emplace_back("SIZE_TRUNCATED");
    // ND tensors are compared flat: that their shapes differ is worth a word.
    if (!pair->truncated && !network_.golden_is_device() &&
        squeezed(tensor.original.empty() ? tensor.shape : tensor.original) !=
            squeezed(golden->tensor.shape) &&
        row.shape == shape_cell({tensor.count}))
      views.codes.emplace_back("SHAPE_DIFFERS");
    views.target = std::move(pair->target);
    views.golden = std::move(pair->golden);
  }

  Outcome<Aligned> align_with(const Tensor& tensor, const Counterpart& golden) const {
    if (network_.target.kind == DumpKind::kQuant) return align_equal(tensor, golden.tensor);
    AlignOptions how;
    how.golden_is_dump = network_.golden_is_device();
    return align(tensor, golden.tensor, golden.description, how);
  }

  const Network& network_;
  const RuleFile& rules_;
  const NetworkOptions& options_;
  const RunContext& context_;
  const RuleGroup& group_;
  GroupNames names_;
};

}  // namespace

std::string tensor_id(std::string_view operator_name, bool is_input, size_t index) {
  return fmt::format("{}:{}:{}", operator_name, is_input ? "input" : "output", index);
}

Outcome<Network> open_network(const std::filesystem::path& target,
                              const std::filesystem::path& golden, const RulePaths& paths,
                              bool join_slices) {
  auto left = open_directory(target, join_slices);
  if (!left) return left.fault();
  auto right = open_directory(golden, join_slices);
  if (!right) return right.fault();
  if (auto fault = check_scenario(*left, *right, paths)) return *fault;
  Network network{std::move(*left), std::move(*right), std::nullopt};
  if (paths.rules.empty() && paths.quant.empty()) return network;
  auto rules = RuleFile::load(paths.rules.empty() ? paths.quant : paths.rules);
  if (!rules) return rules.fault();
  for (const std::string* other : {&paths.quant, &paths.unfused}) {
    if (other->empty() || paths.rules.empty()) continue;
    auto more = RuleFile::load(*other);
    if (!more) return more.fault();
    if (other == &paths.quant)
      rules->merge_quantization(*more);
    else
      rules->merge_unfused(*more);
  }
  network.rules = std::move(*rules);
  return network;
}

const DumpFile* counterpart_file(const Network& network, const RuleOperator& op, bool is_input,
                                 size_t index) {
  const auto origin = find_origin(*network.rules, op, is_input, index);
  return origin ? network.golden.find(origin->origin->name, origin->index) : nullptr;
}

Outcome<Counterpart> find_counterpart(const Network& network, const RuleOperator& op, bool is_input,
                                      size_t index) {
  auto origin = find_origin(*network.rules, op, is_input, index);
  if (!origin) return origin.fault();
  Counterpart found;
  found.description = origin->origin->description;
  found.file = network.golden.find(origin->origin->name, origin->index);
  if (found.file == nullptr)
    return {Code::kNoDumpFile, Error{fmt::format("[{}] no golden file of '{}' output {} for {}",
                                                 op.name, origin->origin->name, origin->index,
                                                 tensor_id(op.name, is_input, index)),
                                     "", ""}};
  found.producer = origin->producer;
  auto dump = load_dump(network.golden, *found.file);
  if (!dump) return std::move(dump.fault());
  const int64_t output = network.golden_is_device() ? origin->index : 0;
  if (output < 0 || static_cast<size_t>(output) >= dump->outputs.size())
    return {Code::kOutOfBounds, Error{fmt::format("[{}] output {} of '{}' is not in its dump",
                                                  op.name, output, origin->origin->name),
                                      fmt::format("{} outputs", dump->outputs.size()), ""}};
  found.tensor = std::move(dump->outputs[static_cast<size_t>(output)]);
  return found;
}

std::optional<Fault> fill_table(std::vector<Line> lines, const PairOptions& options,
                                ResultTable& table, RunContext& context) {
  if (auto done = compare_lines(lines, options, context); !done)
    return Fault{Code::kUnknown, std::move(done.error())};
  for (Line& line : lines) table.rows.push_back(std::move(line.row));
  return std::nullopt;
}

namespace {

// Inputs of an operator in slices are not whole; the tensor itself is, where it was produced.
void copy_scores_of_producers(std::vector<ResultRow>& rows) {
  std::map<std::string_view, const ResultRow*> by_tensor;
  for (const ResultRow& row : rows) by_tensor.emplace(row.tensor, &row);
  for (ResultRow& row : rows) {
    const auto producer = by_tensor.find(row.scores_of);
    if (row.scores_of.empty() || producer == by_tensor.end() || producer->second == &row) continue;
    row.scores = producer->second->scores;
    row.reasons = producer->second->reasons;
    row.is_compared = producer->second->is_compared;
    row.codes = producer->second->codes;
  }
}

}  // namespace

Outcome<ResultTable> compare_network(const Network& network, const NetworkOptions& options,
                                     RunContext& context) {
  ResultTable table;
  table.algorithms = options.algorithms;
  table.has_sequence = options.choice.is_given();
  table.has_target_address = !network.target.has_npy;
  table.has_golden_address = !network.golden.has_npy;
  table.has_overflow = options.overflow;

  std::vector<const RuleGroup*> groups;
  std::set<int64_t> wanted;
  if (options.choice.is_given()) {
    auto ids = chosen_ids(*network.rules, options.choice, table.warnings);
    if (!ids) return ids.fault();
    wanted.insert(ids->begin(), ids->end());
  }
  for (const RuleGroup& group : network.rules->groups())
    if (!options.choice.is_given() ||
        std::any_of(group.members.begin(), group.members.end(), [&](size_t member) {
          return wanted.contains(network.rules->operators()[member].id);
        }))
      groups.push_back(&group);

  std::vector<GroupPlan> plans;
  plans.reserve(groups.size());
  for (const RuleGroup* group : groups) plans.emplace_back(network, options, context, *group);
  for_each_index(plans.size(), [&](size_t i) {
    if (!context.cancelled) plans[i].make();
  });
  bool matched = false;
  std::vector<Line> lines;
  for (GroupPlan& plan : plans) {
    std::move(plan.lines.begin(), plan.lines.end(), std::back_inserter(lines));
    if (table.code == Code::kNone) table.code = plan.code;
    matched |= plan.matched;
  }
  if (!matched) table.code = Code::kNoDumpFile;
  if (auto fault = fill_table(std::move(lines), options, table, context)) return std::move(*fault);
  copy_scores_of_producers(table.rows);
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const ResultRow& a, const ResultRow& b) { return a.index < b.index; });
  return table;
}

}  // namespace plumb::msaccucmp
