// SPDX-License-Identifier: Apache-2.0
//
// The JSON form of what was found about overflow, which docs/ describes as plumb.overflow/1.
#include "base/json_values.h"
#include "scan/overflow.h"

namespace plumb::scan {
namespace {

using dump::Entry;
using dump::OverflowReport;

Json place_json(const Entry& e) {
  return {{"operator", e.operator_name.str()},
          {"type", e.type.str()},
          {"step", optional_json(e.step())},
          {"rank", optional_json(e.rank())},
          {"graph", e.graph()},
          {"timestamp", e.timestamp}};
}

Json scanned_json(const ScannedTensor& t) {
  Json json{{"slot", to_string(t.entry->slot)},
            {"file", t.entry->file()},
            {"dtype", t.dtype},
            {"shape", optional_json(t.shape)},
            {"layout", t.layout()}};
  if (t.stats) {
    const bool any = t.stats->finite > 0;
    json["count"] = t.stats->count;
    json["min"] = any ? number_json(static_cast<double>(t.stats->min)) : Json();
    json["max"] = any ? number_json(static_cast<double>(t.stats->max)) : Json();
    json["mean"] = any ? number_json(t.stats->mean) : Json();
    json["nan"] = t.nan;
    json["inf"] = t.positive_inf + t.negative_inf;
    json["at_limit"] = t.at_limit;
  } else if (t.entry->statistics) {
    json["recorded"] = {{"min", optional_json(t.entry->statistics->min)},
                        {"max", optional_json(t.entry->statistics->max)},
                        {"mean", optional_json(t.entry->statistics->mean)}};
  }
  if (t.error) json["error"] = error_json(*t.error);
  return json;
}

Json record_json(const OverflowFindings& f, const OverflowReport& report) {
  Json json{{"file", report.record->parts.front().file.str()},
            {"timestamp", report.record->timestamp},
            {"unit", report.unit.name}};
  for (const io::OverflowField& field : report.unit.fields)
    json[std::string(field.name)] =
        field.name == "status" ? Json(field.values) : Json(field.values.front());
  json["dump"] = report.dump_file.empty() ? Json() : Json(report.dump_file);
  json["operator"] = report.tensors.empty() ? Json() : place_json(*report.tensors.front());
  json["tensors"] = Json::array();
  for (const Entry* entry : report.tensors)
    if (const ScannedTensor* t = f.scanned(entry)) json["tensors"].push_back(scanned_json(*t));
  return json;
}

Json operator_json(const OverflowFindings& f, const OverflowedOperator& op) {
  Json json = place_json(f.entry_of(op));
  json["origin"] = name_of(op.origin);
  json["from"] = Json::array();
  for (size_t i : op.from) json["from"].push_back(to_string(f.scan.tensors[i].entry->slot));
  json["tensors"] = Json::array();
  for (size_t i : op.tensors) json["tensors"].push_back(scanned_json(f.scan.tensors[i]));
  return json;
}

Json totals_json(const OverflowFindings& f) {
  Json totals;
  totals["tensors"] = f.scan.tensors.size();
  totals["not_seen"] = f.blind;
  totals["not_sure"] = f.unsure;
  constexpr const char* kKeys[] = {"nan", "inf", "at_limit"};
  for (Symptom symptom : kSymptoms) {
    const SymptomTotal total = f.total(symptom);
    totals[kKeys[static_cast<size_t>(symptom)]] = {{"tensors", total.tensors},
                                                   {"by_dtype", total.by_dtype}};
  }
  return totals;
}

Json damaged_json(const OverflowFindings& f) {
  Json damaged = Json::array();
  for (const ScannedTensor& t : f.scan.tensors)
    if (t.error) damaged.push_back(error_json(*t.error));
  for (const Error& error : f.records.damaged) damaged.push_back(error_json(error));
  for (const dump::Skipped& skipped : f.set->skipped)
    if (skipped.error) damaged.push_back(error_json(*skipped.error));
  return damaged;
}

// The operator of the first record, or of the first tensor if there is no record.
Json first_json(const OverflowFindings& f) {
  if (!f.records.reports.empty()) {
    const auto& tensors = f.records.reports.front().tensors;
    return tensors.empty() ? Json() : place_json(*tensors.front());
  }
  const OverflowedOperator* first = f.first_in_data();
  return first == nullptr ? Json() : place_json(f.entry_of(*first));
}

}  // namespace

std::string to_json(const OverflowFindings& f) {
  Json records = Json::array(), operators = Json::array();
  for (const OverflowReport& report : f.records.reports) records.push_back(record_json(f, report));
  for (const OverflowedOperator& op : f.scan.operators) operators.push_back(operator_json(f, op));
  return text_of_json({{"schema", "plumb.overflow/1"},
                       {"tool", tool_json()},
                       {"path", f.path},
                       {"convention", f.set->convention},
                       {"verdict", name_of(f.verdict())},
                       {"first", first_json(f)},
                       {"records", std::move(records)},
                       {"operators", std::move(operators)},
                       {"totals", totals_json(f)},
                       {"damaged", damaged_json(f)}});
}

}  // namespace plumb::scan
