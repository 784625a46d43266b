// SPDX-License-Identifier: Apache-2.0
//
// The JSON form of a comparison of two models, which docs/diff.md describes as plumb.diff/1.
#include "base/json_values.h"
#include "graph/diff.h"

namespace plumb::graph {
namespace {

Json numbers_json(const WeightDifference& numbers) {
  Json json{{"relative_norm", number_json(numbers.relative_norm)},
            {"max_abs", number_json(numbers.max_abs)},
            {"elements", numbers.elements},
            {"differing", numbers.differing}};
  const auto add = [&](const char* name, const auto& value) {
    if (value) json[name] = *value;
  };
  add("scale", numbers.scale);
  add("smallest_scale", numbers.smallest_scale);
  add("offset", numbers.offset);
  add("step", numbers.step);
  add("axis", numbers.axis);
  add("channel", numbers.channel);
  add("levels", numbers.levels);
  return json;
}

Json side_json(const std::string& name, const std::string& type) {
  if (name.empty()) return nullptr;
  Json json{{"name", name}};
  if (!type.empty()) json["type"] = type;
  return json;
}

Json difference_json(const Difference& each) {
  Json json{{"grade", name_of(each.grade)},
            {"kind", name_of(each.kind)},
            {"detail", each.detail},
            {"target", side_json(each.target, each.target_type)},
            {"golden", side_json(each.golden, each.golden_type)}};
  if (!each.what.empty()) json["what"] = each.what;
  if (!each.target_value.empty() || !each.golden_value.empty()) {
    json["target_value"] = each.target_value;
    json["golden_value"] = each.golden_value;
  }
  if (!each.target_operators.empty() || !each.golden_operators.empty()) {
    json["target_operators"] = each.target_operators;
    json["golden_operators"] = each.golden_operators;
  }
  if (each.numbers) json["numbers"] = numbers_json(*each.numbers);
  json["message"] = each.message;
  return json;
}

Json totals_json(const ModelDiff::Side& side, const std::string& path) {
  return {{"path", path},
          {"operators", side.operators},
          {"paired", side.paired},
          {"in_regions", side.in_regions},
          {"idle", side.idle}};
}

}  // namespace

std::string to_json(const ModelDiff& diff, const DiffPaths& paths) {
  Json json{{"schema", "plumb.diff/1"},
            {"tool", tool_json()},
            {"verdict", diff.is_same() ? "same" : "different"},
            {"target", totals_json(diff.target, paths.target)},
            {"golden", totals_json(diff.golden, paths.golden)},
            {"compared", {{"attributes", diff.attributes}, {"constants", diff.constants}}},
            {"not_compared", diff.not_compared}};
  for (const DiffGrade grade :
       {DiffGrade::kDifferent, DiffGrade::kUnverified, DiffGrade::kEquivalent})
    json["counts"][std::string(name_of(grade))] = diff.count(grade);
  json["differences"] = Json::array();
  for (const Difference& each : diff.differences)
    json["differences"].push_back(difference_json(each));
  return text_of_json(json);
}

}  // namespace plumb::graph
