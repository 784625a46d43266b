// SPDX-License-Identifier: Apache-2.0
//
// The JSON form of an inspection, which docs/ describes as plumb.inspect/1.
#include "base/json_values.h"
#include "scan/inspect.h"

namespace plumb::scan {
namespace {

Json extreme_json(DType dtype, long double value) {
  if (kind_of(dtype) != DKind::kInteger) return number_json(static_cast<double>(value));
  return value < 0 ? Json(static_cast<int64_t>(value)) : Json(static_cast<uint64_t>(value));
}

Json stats_json(const Measured& m) {
  const metrics::TensorStats& s = m.stats;
  Json json;
  const bool any = s.finite > 0 && m.dtype != DType::kOpaque;
  json["count"] = s.count;
  json["min"] = any ? extreme_json(m.dtype, s.min) : Json();
  json["max"] = any ? extreme_json(m.dtype, s.max) : Json();
  json["mean"] = any ? number_json(s.mean) : Json();
  json["std"] = any ? number_json(s.standard_deviation()) : Json();
  json["l2"] = any ? number_json(s.l2()) : Json();
  json["zeros"] = s.zeros;
  json["nan"] = s.nan;
  json["inf"] = s.inf();
  if (any)
    json["histogram"] = {{"low", number_json(m.histogram.low)},
                         {"high", number_json(m.histogram.high)},
                         {"counted", m.histogram.counted},
                         {"bins", m.histogram.bins}};
  return json;
}

Json recorded_json(const Statistics& s) {
  return {{"min", optional_json(s.min)},
          {"max", optional_json(s.max)},
          {"mean", optional_json(s.mean)},
          {"std", optional_json(s.std)},
          {"l2", optional_json(s.l2)},
          {"zeros", optional_json(s.zeros)},
          {"nan", optional_json(s.nan_count)},
          {"inf", optional_json(s.inf_count)},
          {"checksum", s.checksum},
          {"text", s.text},
          {"sketch", s.has_sketch}};
}

Json inspected_json(const InspectedTensor& tensor) {
  const dump::Entry& e = *tensor.entry;
  Json json{{"operator", e.operator_name.str()}, {"type", e.type.str()},
            {"slot", to_string(e.slot)},         {"step", optional_json(e.step())},
            {"rank", optional_json(e.rank())},   {"graph", e.graph()}};
  json["files"] = Json::array();
  for (const dump::TensorRef& part : e.parts) json["files"].push_back(part.file.str());
  json["tensor"] = e.parts.empty() ? std::string() : e.parts.front().tensor.str();
  json["dtype"] = tensor.dtype();
  json["shape"] = tensor.shape() != nullptr ? Json(*tensor.shape()) : Json();
  if (tensor.info) {
    json["layout"] = name_of(tensor.info->layout);
    json["stored_shape"] = tensor.info->shape;
    json["bytes"] = tensor.info->size_bytes;
    if (!tensor.info->notes.empty()) json["notes"] = tensor.info->notes;
  }
  if (tensor.measured) json["stats"] = stats_json(*tensor.measured);
  if (e.statistics) json["recorded"] = recorded_json(*e.statistics);
  if (tensor.error) json["error"] = error_json(*tensor.error);
  return json;
}

}  // namespace

std::string to_json(const Inspection& inspection) {
  const dump::DumpSet& set = *inspection.set;
  Json tensors = Json::array(), skipped = Json::array();
  for (const InspectedTensor& tensor : inspection.tensors)
    tensors.push_back(inspected_json(tensor));
  for (const dump::Skipped& s : set.skipped) {
    skipped.push_back({{"file", s.file}, {"reason", s.reason}});
    if (s.error) skipped.back()["error"] = error_json(*s.error);
  }
  return text_of_json({{"schema", "plumb.inspect/1"},
                       {"tool", tool_json()},
                       {"path", set.root.string()},
                       {"convention", set.convention},
                       {"tensors", std::move(tensors)},
                       {"skipped", std::move(skipped)},
                       {"warnings", set.warnings}});
}

}  // namespace plumb::scan
