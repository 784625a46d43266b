// SPDX-License-Identifier: Apache-2.0
//
// The result document, schema name plumb.result/1, described by docs/result.schema.json. Written by
// hand rather than through a JSON tree: a row is one line, and only one is in memory at a time.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/text.h"
#include "report/writer.h"

namespace plumb::report {
namespace {

using metrics::Metric;
using metrics::Value;
using result::InputSide;
using result::Row;
using result::Run;
using result::Side;

bool is_plain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

std::string json_text(std::string_view text) {
  std::string json = "\"";
  if (std::all_of(text.begin(), text.end(), is_plain)) return json.append(text) + "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\')
      json += {'\\', c};
    else if (c == '\n')
      json += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      json += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      json += c;
  }
  return json + "\"";
}

// The elements of a list, each turned to JSON by `item`, with commas between.
template <class List, class Item>
std::string joined(const List& list, const Item& item) {
  std::string json;
  for (const auto& element : list) json += (json.empty() ? "" : ", ") + item(element);
  return json;
}

std::string strings(const std::vector<std::string>& list) {
  return "[" + joined(list, json_text) + "]";
}

std::string number(std::optional<int64_t> value) { return value ? fmt::to_string(*value) : "null"; }

std::string number(const Metric& metric, double value) {
  const std::string text = exact_text(metric, value);
  return std::isfinite(value) && metric.print != metrics::Print::kHex ? text : json_text(text);
}

std::string side_json(const std::optional<Side>& side) {
  if (!side) return "null";
  return fmt::format(
      R"({{"operator": {}, "type": {}, "slot": {}, "dtype": {}, "shape": {}, "layout": {}, "file": {}}})",
      json_text(side->operator_name), json_text(side->type), json_text(side->slot),
      json_text(side->dtype), side->shape ? to_string(*side->shape) : "null",
      json_text(side->layout), json_text(side->file));
}

// `keys` are the names of the run's metrics as JSON.
std::string row_json(const Run& run, const std::vector<std::string>& keys, size_t id) {
  const Row& row = run.rows[id];
  std::string values, undefined;
  const auto add = [](std::string& list, const std::string& key, const std::string& value) {
    if (!list.empty()) list += ", ";
    list.append(key).append(": ").append(value);
  };
  for (size_t i = 0; i < keys.size() && i < row.values.size(); ++i) {
    const Value& value = row.values[i];
    add(values, keys[i], value.is_defined() ? number(*run.metrics[i], value.number()) : "null");
    if (!value.is_defined()) add(undefined, keys[i], json_text(undefined_text(value)));
  }
  std::string json = fmt::format(R"({{"id": {}, "index": {}, "step": {}, "rank": {}, )", id,
                                 row.index, number(row.step), number(row.rank));
  if (!row.graph.empty()) json += fmt::format(R"("graph": {}, )", json_text(row.graph));
  if (row.is_model_output) json += R"("model_output": true, )";
  json +=
      fmt::format(R"("target": {}, "golden": {}, )", side_json(row.target), side_json(row.golden));
  json += row.pairing_rule.empty()
              ? R"("pairing": null, )"
              : fmt::format(R"("pairing": {{"rule": {}, "evidence": {}}}, )",
                            json_text(row.pairing_rule), json_text(row.pairing_evidence));
  json += fmt::format(R"("metrics": {{{}}}, "undefined": {{{}}}, )", values, undefined);
  json +=
      fmt::format(R"("verdict": {}, "suspicious": {}, "reasons": {}, "message": {}, "hint": {}}})",
                  json_text(name_of(row.verdict)), row.suspicious, strings(row.reasons),
                  json_text(row.message), json_text(row.hint));
  return json;
}

std::string input_json(const InputSide& side) {
  return fmt::format(R"({{"path": {}, "convention": {}, "files_left_out": {}, "warnings": {}}})",
                     json_text(side.path), json_text(side.convention), side.files_left_out,
                     strings(side.warnings));
}

std::string run_json(const Run& run) {
  std::string json = "{";
  const auto add = [&](std::string_view key, const std::string& value) {
    json += fmt::format("{}\n    \"{}\": {}", json.size() > 1 ? "," : "", key, value);
  };
  add("command", json_text(run.command));
  add("scenario", json_text(run.scenario));
  add("profile", json_text(run.profile));
  add("target", input_json(run.target));
  add("golden", input_json(run.golden));
  add("graphs", strings(run.graphs));
  add("outputs_not_compared", strings(run.outputs_not_compared));
  add("metrics", "[" + joined(run.metrics, [](const Metric* metric) {
                   return json_text(metric->name);
                 }) + "]");
  add("bytes", fmt::to_string(run.bytes));
  add("interrupted", run.interrupted ? "true" : "false");
  add("elapsed_s", fmt::format("{:.3f}", std::isfinite(run.elapsed_s) ? run.elapsed_s : 0));
  return json + "\n  }";
}

std::string summary_json(const result::Summary& s) {
  const std::string first =
      s.first_divergence ? json_text(s.first_divergence->any_side().operator_name) : "null";
  return fmt::format(
      R"({{"verdict": {}, "rows": {}, "pass": {}, "fail": {}, "inconclusive": {}, "not_compared": {}, )"
      R"("filtered": {}, "without_counterpart": {}, "suspicious": {}, "coverage": {}, )"
      R"("first_divergence": {}}})",
      json_text(name_of(s.verdict)), s.rows, s.pass, s.fail, s.inconclusive, s.not_compared,
      s.filtered, s.without_counterpart, s.suspicious, s.coverage, first);
}

std::string standing_json(const result::Standing& standing) {
  const auto number_or_null = [](std::optional<double> value) {
    return value ? number(Metric{"", ""}, *value) : "null";
  };
  return fmt::format(R"({{"verdict": {}, "cosine": {}, "rel_euclid": {}}})",
                     json_text(name_of(standing.verdict)), number_or_null(standing.cosine),
                     number_or_null(standing.rel_euclid));
}

std::string change_json(const result::TensorChange& change) {
  return fmt::format(
      R"({{"operator": {}, "slot": {}, "graph": {}, "step": {}, "rank": {}, "output": {}, )"
      R"("worse": {}, "reasons": {}, "before": {}, "after": {}}})",
      json_text(change.operator_name), json_text(change.slot), json_text(change.graph),
      number(change.step), number(change.rank), change.is_output, change.is_worse,
      strings(change.reasons), standing_json(change.before),
      change.after ? standing_json(*change.after) : "null");
}

std::string change_json(const result::OperatorChange& change) {
  return fmt::format(R"({{"operator": {}, "type": {}, "change": {}, "details": {}}})",
                     json_text(change.operator_name), json_text(change.type),
                     json_text(name_of(change.change)), strings(change.details));
}

void put_baseline(const result::Baseline& baseline, const Put& put) {
  put(fmt::format(
      "  \"baseline\": {{\n    \"path\": {},\n    \"version\": {},\n    \"verdict\": {},\n"
      "    \"outputs_known\": {},\n    \"outputs_held\": {},\n    \"warnings\": {}",
      json_text(baseline.path), json_text(baseline.version),
      baseline.holds() ? "\"pass\"" : "\"fail\"", baseline.outputs_known, baseline.outputs_held,
      strings(baseline.warnings)));
  const auto put_list = [&](std::string_view key, const auto& list) {
    put(fmt::format(",\n    \"{}\": [", key));
    for (size_t i = 0; i < list.size(); ++i)
      put((i == 0 ? "\n      " : ",\n      ") + change_json(list[i]));
    put(list.empty() ? "]" : "\n    ]");
  };
  put_list("tensors", baseline.tensors);
  put_list("operators", baseline.operators);
  put("\n  },\n");
}

}  // namespace

void write_json(const Run& run, const Put& put) {
  put(
      fmt::format("{{\n  \"schema\": \"plumb.result/1\",\n  \"tool\": {{\"name\": \"plumb\", "
                  "\"version\": {}}},\n",
                  json_text(PLUMB_VERSION)));
  put(fmt::format("  \"run\": {},\n  \"summary\": {},\n", run_json(run),
                  summary_json(run.summary())));
  if (run.baseline) put_baseline(*run.baseline, put);
  put("  \"rows\": [");
  std::vector<std::string> keys;
  for (const Metric* metric : run.metrics) keys.push_back(json_text(metric->name));
  for (size_t id = 0; id < run.rows.size(); ++id) {
    put(id == 0 ? "\n    " : ",\n    ");
    put(row_json(run, keys, id));
  }
  put(run.rows.empty() ? "],\n" : "\n  ],\n");
  put("  \"findings\": []\n}\n");
}

}  // namespace plumb::report
