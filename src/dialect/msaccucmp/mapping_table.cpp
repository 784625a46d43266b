// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/mapping_table.h"

#include <algorithm>
#include <set>

#include "base/parallel.h"

namespace plumb::msaccucmp {
namespace {

std::string path_cell(const DumpFile* file) {
  return file == nullptr ? "NaN"
                         : std::filesystem::absolute(file->path).lexically_normal().string();
}

std::string group_lines(const Network& network, const RuleGroup& group, bool has_sequence) {
  std::string lines;
  const GroupNames names = names_of(*network.rules, group);
  for (size_t member : group.members) {
    const RuleOperator& op = network.rules->operators()[member];
    const auto add = [&](std::string tensor, const DumpFile* target, const DumpFile* golden) {
      std::vector<std::string> cells{std::to_string(group.index)};
      if (has_sequence) cells.push_back(std::to_string(op.id));
      cells.insert(cells.end(), {op.type, names.target, names.golden, std::move(tensor),
                                 path_cell(target), path_cell(golden)});
      lines += csv_line(cells);
    };
    const DumpFile* source = network.target.find(op.name, 0);
    auto dump =
        source != nullptr ? load_dump(network.target, *source) : Outcome<OperatorDump>(Fault{});
    if (!dump) {
      add("NaN", source, nullptr);
      continue;
    }
    for (size_t k = 0; !op.is_dequantizer() && k < dump->inputs.size(); ++k)
      add(tensor_id(op.name, true, k), source, counterpart_file(network, op, true, k));
    for (size_t k = 0; op.type != "AscendQuant" && k < dump->outputs.size(); ++k)
      add(tensor_id(op.name, false, k), source, counterpart_file(network, op, false, k));
  }
  return lines;
}

}  // namespace

Outcome<std::string> mapping_csv(const Network& network, const Choice& choice,
                                 std::vector<std::string>& warnings) {
  std::set<int64_t> wanted;
  if (choice.is_given()) {
    auto ids = chosen_ids(*network.rules, choice, warnings);
    if (!ids) return ids.fault();
    wanted.insert(ids->begin(), ids->end());
  }
  std::vector<std::string> header{"Index"};
  if (choice.is_given()) header.emplace_back("OpSequence");
  for (const char* name :
       {"OpType", "NPUDump", "GroundTruth", "TensorIndex", "NPUDumpPath", "GroundTruthPath"})
    header.emplace_back(name);
  const auto& groups = network.rules->groups();
  std::vector<std::string> lines(groups.size());
  for_each_index(groups.size(), [&](size_t i) {
    const auto is_wanted = [&](size_t member) {
      return !choice.is_given() || wanted.contains(network.rules->operators()[member].id);
    };
    if (std::any_of(groups[i].members.begin(), groups[i].members.end(), is_wanted))
      lines[i] = group_lines(network, groups[i], choice.is_given());
  });
  std::string csv = csv_line(header);
  for (const std::string& each : lines) csv += each;
  return csv;
}

}  // namespace plumb::msaccucmp
