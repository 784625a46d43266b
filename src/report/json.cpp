// SPDX-License-Identifier: Apache-2.0
//
// The result document, schema name plumb.result/1, described by docs/result.schema.json. Written by
// hand rather than through a JSON tree: a row is one line, and only one is in memory at a time.
#include <algorithm>
#include <cmath>

#include <fmt/compile.h>
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

bool needs_no_escape(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

void append_text(std::string& json, std::string_view text) {
  json += '"';
  if (std::all_of(text.begin(), text.end(), needs_no_escape)) {
    json.append(text) += '"';
    return;
  }
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
  json += '"';
}

std::string json_text(std::string_view text) {
  std::string json;
  append_text(json, text);
  return json;
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

void append_number(std::string& json, const Metric& metric, double value) {
  const bool is_text = !std::isfinite(value) || metric.print == metrics::Print::kHex;
  if (is_text) json += '"';
  append_exact(json, metric, value);
  if (is_text) json += '"';
}

// A row is written piece by piece onto one text: a result has many thousand of them.
void append_side(std::string& json, const std::optional<Side>& side) {
  if (!side) {
    json += "null";
    return;
  }
  const auto add = [&](std::string_view before, std::string_view text) {
    json += before;
    append_text(json, text);
  };
  add(R"({"operator": )", side->operator_name);
  add(R"(, "type": )", side->type);
  add(R"(, "slot": )", side->slot);
  add(R"(, "dtype": )", side->dtype);
  json += R"(, "shape": )";
  json += side->shape ? to_string(*side->shape) : "null";
  add(R"(, "layout": )", side->layout);
  add(R"(, "file": )", side->file);
  json += '}';
}

// `keys` are the names of the run's metrics as JSON.
void append_row(std::string& json, const Run& run, const std::vector<std::string>& keys,
                size_t id) {
  const Row& row = run.rows[id];
  const auto add = [&](std::string_view before, std::string_view text) {
    json += before;
    append_text(json, text);
  };
  fmt::format_to(std::back_inserter(json),
                 FMT_COMPILE(R"({{"id": {}, "index": {}, "step": {}, "rank": {}, )"), id, row.index,
                 number(row.step), number(row.rank));
  if (!row.graph.empty()) {
    add(R"("graph": )", row.graph);
    json += ", ";
  }
  if (row.is_model_output) json += R"("model_output": true, )";
  json += R"("target": )";
  append_side(json, row.target);
  json += R"(, "golden": )";
  append_side(json, row.golden);
  if (row.pairing_rule.empty()) {
    json += R"(, "pairing": null)";
  } else {
    add(R"(, "pairing": {"rule": )", row.pairing_rule);
    add(R"(, "evidence": )", row.pairing_evidence);
    json += '}';
  }
  const size_t known = std::min(keys.size(), row.values.size());
  json += R"(, "metrics": {)";
  for (size_t i = 0; i < known; ++i) {
    json.append(i == 0 ? "" : ", ").append(keys[i]).append(": ");
    if (row.values[i].is_defined())
      append_number(json, *run.metrics[i], row.values[i].number());
    else
      json += "null";
  }
  json += R"(}, "undefined": {)";
  std::string_view comma = "";
  for (size_t i = 0; i < known; ++i) {
    if (row.values[i].is_defined()) continue;
    json.append(comma).append(keys[i]).append(": ");
    append_text(json, undefined_text(row.values[i]));
    comma = ", ";
  }
  add(R"(}, "verdict": )", name_of(row.verdict));
  json.append(R"(, "suspicious": )").append(row.suspicious ? "true" : "false");
  json.append(R"(, "reasons": )").append(strings(row.reasons));
  add(R"(, "message": )", row.message);
  add(R"(, "hint": )", row.hint);
  json += '}';
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
  if (!run.is_ordered) add("order_recorded", "false");
  if (!run.doubts.empty()) add("doubts", strings(run.doubts));
  if (!run.warnings.empty()) add("warnings", strings(run.warnings));
  add("metrics", "[" + joined(run.metrics, [](const Metric* metric) {
                   return json_text(metric->name);
                 }) + "]");
  add("bytes", fmt::to_string(run.bytes));
  add("interrupted", run.interrupted ? "true" : "false");
  add("elapsed_s", fmt::format("{:.3f}", std::isfinite(run.elapsed_s) ? run.elapsed_s : 0));
  return json + "\n  }";
}

std::string summary_json(const result::Summary& s) {
  const std::string first = s.first_divergence ? json_text(s.first_divergence_operator) : "null";
  return fmt::format(
      R"({{"verdict": {}, "rows": {}, "pass": {}, "fail": {}, "inconclusive": {}, "not_compared": {}, )"
      R"("filtered": {}, "without_counterpart": {}, "suspicious": {}, "coverage": {}, )"
      R"("first_divergence": {}}})",
      json_text(name_of(s.verdict)), s.rows, s.pass, s.fail, s.inconclusive, s.not_compared,
      s.filtered, s.without_counterpart, s.suspicious, s.coverage, first);
}

std::string standing_json(const result::Standing& standing) {
  const auto number_or_null = [](std::optional<double> value) {
    std::string json = value ? "" : "null";
    if (value) append_number(json, Metric{"", ""}, *value);
    return json;
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
  std::string row;
  for (size_t id = 0; id < run.rows.size(); ++id) {
    row = id == 0 ? "\n    " : ",\n    ";
    append_row(row, run, keys, id);
    put(row);
  }
  put(run.rows.empty() ? "],\n" : "\n  ],\n");
  put("  \"findings\": []\n}\n");
}

}  // namespace plumb::report
