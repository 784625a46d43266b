// SPDX-License-Identifier: Apache-2.0
//
// An evaluation as JSON, schema "plumb.eval/1": see docs/eval.md.
#include <algorithm>

#include <fmt/format.h>

#include "base/json_values.h"
#include "replay/eval.h"

namespace plumb::replay {
namespace {

constexpr size_t kMostListed = 1000;  // bad cases; samples.csv has all

Json share(int64_t part, int64_t all) {
  return all == 0 ? Json(nullptr) : Json(static_cast<double>(part) / static_cast<double>(all));
}

Json change_of(const EvalTop& top) {
  const double before = static_cast<double>(top.right + top.flips.lost - top.flips.gained) /
                        static_cast<double>(std::max<int64_t>(top.flips.samples, 1));
  return {{"n", top.n},
          {"delta", top.loss.delta},
          {"relative", before > 0 ? Json(top.loss.delta / before) : Json(nullptr)},
          {"interval", {top.loss.low, top.loss.high}},
          {"lost", top.flips.lost},
          {"gained", top.flips.gained},
          {"p", top.loss.p},
          {"verdict", name_of(top.verdict)}};
}

Json bad_case_of(const BadCase& bad, const EvalResult& result) {
  Json json{{"sample", result.names[bad.sample]},
            {"file", result.files[bad.sample]},
            {"class", bad.first},
            {"golden_class", bad.golden_first}};
  if (bad.rank >= 0) json["rank"] = bad.rank;
  return json;
}

Json model_of(const EvalModel& model, const EvalResult& result, const EvalOptions& options) {
  Json json{{"model", model.path},    {"golden", model.is_golden}, {"engine", model.engine},
            {"output", model.output}, {"samples", model.samples},  {"labelled", model.labelled}};
  for (const int64_t n : options.tops) json[fmt::format("top{}", n)] = nullptr;
  for (const EvalTop& top : model.tops)
    json[fmt::format("top{}", top.n)] = share(top.right, model.labelled);
  json["agree"] = share(model.agree, model.samples);
  json["ties"] = model.ties;
  json["nan"] = model.nan;
  if (model.is_golden) return json;
  json["pearson"] = optional_json(model.pearson);
  json["sqnr_db"] = optional_json(model.sqnr_db);
  json["verdict"] = name_of(model.verdict);
  json["reason"] = model.reason;
  json["samples_needed"] = optional_json(model.needed);
  json["changes"] = Json::array();
  if (model.labelled > 0)
    for (const EvalTop& top : model.tops) json["changes"].push_back(change_of(top));
  json["worst_classes"] = Json::array();
  for (const ClassLoss& loss : model.worst_classes)
    json["worst_classes"].push_back({{"class", loss.label},
                                     {"samples", loss.flips.samples},
                                     {"lost", loss.flips.lost},
                                     {"gained", loss.flips.gained}});
  json["bad_cases_total"] = model.bad_cases.size();
  json["bad_cases"] = Json::array();
  for (size_t i = 0; i < std::min(model.bad_cases.size(), kMostListed); ++i)
    json["bad_cases"].push_back(bad_case_of(model.bad_cases[i], result));
  return json;
}

}  // namespace

std::string to_json(const EvalResult& result, const EvalOptions& options) {
  Json json{{"schema", "plumb.eval/1"},
            {"data", options.inputs.inputs},
            {"labels", options.labels},
            {"samples", result.names.size()},
            {"evaluated", result.evaluated},
            {"classes", result.classes},
            {"limits", {{"allowed", result.limits.allowed}, {"severe", result.limits.severe}}},
            {"verdict", name_of(result.verdict)},
            {"models", Json::array()},
            {"failures", Json::array()},
            {"warnings", result.warnings}};
  for (const EvalModel& model : result.models)
    json["models"].push_back(model_of(model, result, options));
  for (const EvalFailure& failure : result.failures)
    json["failures"].push_back({{"sample", result.names[failure.sample]},
                                {"what", failure.error.what},
                                {"where", failure.error.where},
                                {"try", failure.error.remedy}});
  return text_of_json(json, 2);
}

}  // namespace plumb::replay
