// SPDX-License-Identifier: Apache-2.0
#include "diagnose/model_differences.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "pair/model_alignment.h"
#include "pair/names.h"

namespace plumb::diagnose {
namespace {

using graph::Difference;
using graph::DiffGrade;
using graph::DiffKind;

// What kind of difference it is, without its numbers.
std::string class_of(const Difference& each) {
  const bool has_numbers = each.kind == DiffKind::kWeights || each.kind == DiffKind::kQuantization;
  return fmt::format("{} {}", graph::name_of(each.kind),
                     has_numbers ? each.detail.substr(0, each.detail.find(':')) : each.detail);
}

bool is_about_operators(const Difference& each) {
  return each.kind != DiffKind::kInput && each.kind != DiffKind::kOutput &&
         each.kind != DiffKind::kOpset && each.kind != DiffKind::kPrecision;
}

int64_t levels_of_difference(const Difference& each) {
  return each.numbers && each.numbers->levels ? *each.numbers->levels : 0;
}

}  // namespace

Result<ModelDifferences> ModelDifferences::load(const Files& files) {
  const auto target = graph::load_content(files.target, files.target_weights);
  if (!target) return target.error();
  const auto golden = graph::load_content(files.golden, files.golden_weights);
  if (!golden) return golden.error();
  if (target->graph.format != golden->graph.format)
    return plumb::Error{"models of two kinds are compared by running them",
                        fmt::format("{} and {}", files.target, files.golden),
                        "convert both from the same model"};
  return ModelDifferences(*target, *golden);
}

ModelDifferences::ModelDifferences(const graph::ModelContent& target,
                                   const graph::ModelContent& golden)
    : diff_(graph::diff_models(target, golden, pair::align_models(target.graph, golden.graph))) {
  const std::vector<bool> is_common = common_ones(golden);
  for (size_t i = 0; i < diff_.differences.size(); ++i) {
    const Difference& each = diff_.differences[i];
    if (each.grade != DiffGrade::kDifferent || !is_about_operators(each) || is_common[i]) continue;
    if (!each.target.empty()) by_target_.emplace(pair::normalised(each.target), i);
    if (!each.golden.empty()) by_golden_.emplace(pair::normalised(each.golden), i);
    // What is not there, or too much, shows in whoever reads it.
    if (each.kind == DiffKind::kMissing) add_readers(i, golden.graph, each.golden, by_golden_);
    if (each.kind == DiffKind::kAdded) add_readers(i, target.graph, each.target, by_target_);
  }
}

void ModelDifferences::add_readers(size_t place, const graph::Graph& graph, const std::string& op,
                                   std::unordered_multimap<std::string, size_t>& by_name) {
  for (const graph::Operator& reader : graph.operators)
    if (std::any_of(reader.inputs.begin(), reader.inputs.end(),
                    [&](const graph::Edge& read) { return read.producer == op; }))
      by_name.emplace(pair::normalised(reader.name), place);
}

// A quarter of the operators that could have it, and not only a few of them. Half as many levels as
// usual are not common.
std::vector<bool> ModelDifferences::common_ones(const graph::ModelContent& golden) const {
  std::map<std::string, std::set<std::string>> operators;
  std::map<std::string, std::vector<int64_t>> levels;
  for (const Difference& each : diff_.differences) {
    if (each.grade != DiffGrade::kDifferent) continue;
    operators[class_of(each)].insert(each.golden.empty() ? each.target : each.golden);
    if (levels_of_difference(each) > 0)
      levels[class_of(each)].push_back(levels_of_difference(each));
  }
  const auto has_constants = [](const graph::OperatorContent& content) {
    return std::any_of(content.operands.begin(), content.operands.end(),
                       [](const graph::Operand& operand) { return operand.constant != nullptr; });
  };
  const auto able = static_cast<size_t>(
      std::count_if(golden.operators.begin(), golden.operators.end(), has_constants));
  std::vector<bool> is_common;
  for (const Difference& each : diff_.differences) {
    const size_t count = operators[class_of(each)].size();
    constexpr size_t kFew = 3;
    bool common = count > kFew && 4 * count >= able;
    if (auto& usual = levels[class_of(each)]; common && levels_of_difference(each) > 0) {
      std::nth_element(usual.begin(), usual.begin() + std::ssize(usual) / 2, usual.end());
      common = 2 * levels_of_difference(each) > usual[usual.size() / 2];
    }
    is_common.push_back(common);
  }
  return is_common;
}

std::vector<const Difference*> ModelDifferences::at(
    const std::vector<std::string_view>& target_names,
    const std::vector<std::string_view>& golden_names) const {
  std::set<size_t> places;
  const auto find = [&](const std::vector<std::string_view>& names, const auto& by_name) {
    for (const std::string_view name : names) {
      const auto [first, last] = by_name.equal_range(pair::normalised(std::string(name)));
      for (auto at = first; at != last; ++at) places.insert(at->second);
    }
  };
  find(target_names, by_target_);
  find(golden_names, by_golden_);
  std::vector<const Difference*> found;
  for (const size_t place : places) found.push_back(&diff_.differences[place]);
  return found;
}

}  // namespace plumb::diagnose
