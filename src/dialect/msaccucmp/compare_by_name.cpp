// SPDX-License-Identifier: Apache-2.0
//
// Two dumps from devices without rule files: another version of the software or another processor
// ran the same network. Operators of one name are compared tensor by tensor.
#include <algorithm>

#include <fmt/format.h>

#include "base/parallel.h"
#include "dialect/msaccucmp/compare_network.h"

namespace plumb::msaccucmp {
namespace {

struct Operator {
  std::string name;
  const DumpFile* target = nullptr;
  const DumpFile* golden = nullptr;
};

// In the order in which the target ran, then those it did not run in golden's.
std::vector<Operator> operators_of(const Network& network) {
  const auto by_time = [](const DumpDirectory& directory) {
    std::vector<std::pair<int64_t, std::string>> order;
    for (const auto& [key, files] : directory.files)
      order.emplace_back(files.back().timestamp, key);
    std::stable_sort(order.begin(), order.end());
    return order;
  };
  std::vector<Operator> operators;
  for (const auto& [time, key] : by_time(network.target))
    operators.push_back({key, network.target.find(key, 0), network.golden.find(key, 0)});
  for (const auto& [time, key] : by_time(network.golden))
    if (network.target.find(key, 0) == nullptr)
      operators.push_back({key, nullptr, network.golden.find(key, 0)});
  return operators;
}

struct Planned {
  std::vector<Line> lines;
  std::vector<std::string> warnings;
  Code code = Code::kNone;
};

class OperatorPlan {
 public:
  OperatorPlan(const Network& network, const Operator& op, const NetworkOptions& options,
               const RunContext& context, Planned& out)
      : network_(network), op_(op), options_(options), context_(context), out_(out) {}

  void make() {
    if (op_.target == nullptr)
      return add_missing(Code::kNoDumpFile, "ONLY_RIGHT",
                         fmt::format("[{}] only in the golden dump", op_.name));
    if (op_.golden == nullptr)
      return add_missing(Code::kNoDumpFile, "ONLY_LEFT",
                         fmt::format("[{}] only in the target's dump", op_.name));
    auto target = load_dump(network_.target, *op_.target);
    if (!target) return add_fault(target.fault(), "LEFT_UNREADABLE");
    auto golden = load_dump(network_.golden, *op_.golden);
    if (!golden) return add_fault(golden.fault(), "GOLDEN_UNREADABLE");
    const std::string inputs = difference(target->inputs, golden->inputs, true);
    const std::string outputs = difference(target->outputs, golden->outputs, false);
    if (!inputs.empty() && !outputs.empty())
      return add_missing(Code::kInvalidDumpData, "SHAPE_MISMATCH", inputs + "," + outputs);
    pair(target->inputs, golden->inputs, true, inputs);
    pair(target->outputs, golden->outputs, false, outputs);
  }

 private:
  ResultRow new_row() const {
    ResultRow row;
    row.target = op_.target != nullptr ? op_.name : "*";
    row.golden = op_.golden != nullptr ? op_.name : "*";
    return row;
  }

  void add_missing(Code code, const char* word, std::string reason) {
    ResultRow row = new_row();
    row.reasons.push_back(std::move(reason));
    row.codes.emplace_back(word);
    out_.lines.push_back({std::move(row), std::nullopt});
    out_.code = code;
  }
  void add_fault(const Fault& fault, const char* word) {
    add_missing(fault.code, word, fault.error.what + ": " + fault.error.where);
  }

  // Why the tensors of one kind cannot be paired; empty if they can.
  std::string difference(const std::vector<Tensor>& target, const std::vector<Tensor>& golden,
                         bool is_input) const {
    const char* kind = is_input ? "input" : "output";
    if (target.size() != golden.size())
      return fmt::format("[{}] the number of {}s differs: {} and {}", op_.name, kind, target.size(),
                         golden.size());
    if (target.empty()) return fmt::format("[{}] there is no {}", op_.name, kind);
    for (size_t k = 0; k < target.size(); ++k)
      if (target[k].shape != golden[k].shape)
        return fmt::format("[{}] the shapes of {} differ: {} and {}", op_.name,
                           tensor_id(op_.name, is_input, k), to_string(target[k].shape),
                           to_string(golden[k].shape));
    return {};
  }

  // The tool drops all inputs, or all outputs, if one differs in shape; here that costs its row.
  void pair(const std::vector<Tensor>& target, const std::vector<Tensor>& golden, bool is_input,
            const std::string& difference) {
    if (target.size() != golden.size()) {
      out_.warnings.push_back(difference + "; they have no rows");
      return;
    }
    for (size_t k = 0; k < target.size(); ++k) {
      Line& line = out_.lines.emplace_back(Line{new_row(), std::nullopt});
      ResultRow& row = line.row;
      row.type = type_in_name(op_.target->name);
      row.target_dtype = stored_type_name(target[k]);
      row.golden_dtype = stored_type_name(golden[k]);
      row.target_address = address_cell(target[k].address);
      row.golden_address = address_cell(golden[k].address);
      row.tensor = tensor_id(op_.name, is_input, k);
      row.shape = shape_cell(target[k].shape);
      if (options_.overflow) row.overflow = overflow_cell(target[k], context_);
      if (target[k].shape != golden[k].shape) {
        row.reasons.push_back(difference);
        row.codes.emplace_back("SHAPE_MISMATCH");
        continue;
      }
      View left = restored(target[k]), right = restored(golden[k]);
      if (left.count != right.count) {
        row.reasons.push_back(fmt::format("the original shapes differ: {} and {}",
                                          to_string(left.shape), to_string(right.shape)));
        row.codes.emplace_back("SHAPE_MISMATCH");
        out_.code = Code::kShape;
        continue;
      }
      line.pair = ViewPair{std::move(left), std::move(right), {}, {}};
      line.pair->traits.is_scalar = counts_as_scalar(target[k].shape);
      line.pair->traits.target_file = op_.target->path.string();
      line.pair->traits.golden_file = op_.golden->path.string();
    }
  }

  const Network& network_;
  const Operator& op_;
  const NetworkOptions& options_;
  const RunContext& context_;
  Planned& out_;
};

}  // namespace

Outcome<ResultTable> compare_by_name(const Network& network, const NetworkOptions& options,
                                     RunContext& context) {
  ResultTable table;
  table.algorithms = options.algorithms;
  table.has_overflow = options.overflow;
  const auto operators = operators_of(network);
  std::vector<Planned> plans(operators.size());
  for_each_index(operators.size(), [&](size_t i) {
    if (!context.cancelled) OperatorPlan(network, operators[i], options, context, plans[i]).make();
  });
  std::vector<Line> lines;
  for (size_t i = 0; i < plans.size(); ++i) {
    for (Line& line : plans[i].lines) {
      line.row.index = static_cast<int64_t>(i);
      lines.push_back(std::move(line));
    }
    if (table.code == Code::kNone) table.code = plans[i].code;
    table.warnings.insert(table.warnings.end(), plans[i].warnings.begin(), plans[i].warnings.end());
  }
  const PairOptions all{options.algorithms};  // the tool knows no limit here
  if (auto fault = fill_table(std::move(lines), all, table, context)) return std::move(*fault);
  return table;
}

}  // namespace plumb::msaccucmp
