// SPDX-License-Identifier: Apache-2.0
//
// The members of a result document (schema plumb.result/1, docs/result.schema.json), by name and in
// their order: json_read.cpp and json_write.cpp both go through these lists, so that a new member
// is one line here. A list is called with a name and a member; a third argument is the value that
// is not worth writing. What the list is only told follows from the rest and is not read.
#pragma once

#include <concepts>

#include "plumb/row.h"

namespace plumb::result {

inline constexpr std::string_view kSchema = "plumb.result/1";

// What is written is const, what is read is not.
template <class T, class Plain>
concept Any = std::same_as<std::remove_const_t<T>, Plain>;

void fields(auto& list, Any<InputSide> auto& side) {
  list("path", side.path);
  list("convention", side.convention);
  list("files_left_out", side.files_left_out);
  list("warnings", side.warnings);
  list("kept", side.kept, std::string());
}

void fields(auto& list, Any<Told> auto& told) {
  const std::string none;
  list("graph", told.graph, none);
  list("golden_graph", told.golden_graph, none);
  list("quant", told.quant, none);
  list("map", told.name_map, none);
  list("mode", told.mode, none);
  list("convention", told.convention, none);
}

void fields(auto& list, Any<EnvironmentChange> auto& change) {
  list("what", change.what);
  list("target", change.target);
  list("golden", change.golden);
}

void fields(auto& list, Any<PackageFit> auto& fit) {
  list("verdict", fit.verdict);
  list("message", fit.message);
}

void fields(auto& list, Any<Circumstances> auto& known) {
  list("changes", known.changes, std::vector<EnvironmentChange>());
  list("fits", known.fits, std::vector<PackageFit>());
  list("topn_float", known.topn_float, std::optional<double>());
  list("topn_quant", known.topn_quant, std::optional<double>());
  list("topn_offline", known.topn_offline, std::optional<double>());
  list("topn_samples", known.topn_samples, std::optional<int64_t>());
  list("calibration_size", known.calibration_size, std::optional<int64_t>());
}

void fields(auto& list, Any<NetworkNode> auto& node) {
  list("name", node.name);
  list("type", node.type);
  list("origins", node.origins, std::vector<std::string>());
  list("output", node.is_output, false);
}

void fields(auto& list, Any<NetworkEdge> auto& edge) {
  list("from", edge.from);
  list("output", edge.output);
  list("to", edge.to);
  list("input", edge.input);
}

void fields(auto& list, Any<Network> auto& network) {
  list("nodes", network.nodes);
  list("edges", network.edges);
}

void fields(auto& list, Any<Evidence> auto& evidence) {
  list("text", evidence.text);
  list("row", evidence.row);
  list.word("metric", evidence.metric);
  list("value", evidence.value);
}

void fields(auto& list, Any<Finding> auto& finding) {
  list("rule", finding.rule);
  list("cause", finding.cause);
  list.word("operator", finding.operator_name);
  list("confidence", finding.confidence);
  list("evidence", finding.evidence);
  list.word("detail", finding.detail);
  list("advice", finding.advice);
  list.word("next", finding.next);
  list("consequences", finding.consequences, std::vector<std::string>());
}

void fields(auto& list, Any<OwnError> auto& error) {
  list("value", error.value);
  list("inherited", error.inherited);
  list("measured", error.measured);
}

void fields(auto& list, Any<AppliedLimit> auto& limit) {
  list("metric", limit.metric);
  list("operation", limit.operation);
  list("value", limit.value);
  list.word("dtype", limit.dtype);
}

void fields(auto& list, Any<Run> auto& run) {
  list("command", run.command);
  list("scenario", run.scenario);
  list("profile", run.profile);
  list("limits", run.limits, std::vector<AppliedLimit>());
  list("atol", run.atol, std::optional<double>());
  list("rtol", run.rtol, std::optional<double>());
  list("precision", run.precision, std::string());
  list("target", run.target);
  list("golden", run.golden);
  list("graphs", run.graphs);
  list("told", run.told, Told());
  list("circumstances", run.circumstances, Circumstances());
  list("outputs_not_compared", run.outputs_not_compared);
  list("order_recorded", run.is_ordered, true);
  list("doubts", run.doubts, std::vector<std::string>());
  list("warnings", run.warnings, std::vector<std::string>());
  list("metrics", run.metrics);
  list("bytes", run.bytes);
  list("interrupted", run.interrupted);
  list.seconds("elapsed_s", run.elapsed_s);
}

void fields(auto& list, Any<Disagreement> auto& classes) {
  list("sample", classes.sample);
  list("target", classes.target);
  list("golden", classes.golden);
}

void fields(auto& list, Any<Accuracy::Top> auto& top) {
  list("n", top.n);
  list("target", top.target);
  list("golden", top.golden);
}

void fields(auto& list, Any<Accuracy> auto& accuracy) {
  list("output", accuracy.output);
  list("samples", accuracy.samples);
  list("agree", accuracy.agree);
  list("first_disagreement", accuracy.first_disagreement);
  list("labelled", accuracy.labelled);
  list("top", accuracy.top);
}

void fields(auto& list, Any<Side> auto& side) {
  list("operator", side.operator_name);
  list("type", side.type);
  list("slot", side.slot);
  list("dtype", side.dtype);
  list("shape", side.shape);
  list("layout", side.layout);
  list("file", side.file);
}

void fields(auto& list, Any<PairHistogram> auto& histogram) {
  list("low", histogram.low);
  list("high", histogram.high);
  list("target", histogram.target);
  list("golden", histogram.golden);
}

void fields(auto& list, Any<ChannelErrors> auto& channels) {
  list("axis", channels.axis);
  list("size", channels.size);
  list("each", channels.each);
  list("error", channels.error);
  list("golden", channels.golden);
}

void fields(auto& list, Any<HeatMap> auto& heat) {
  list("rows", heat.rows);
  list("columns", heat.columns);
  list("largest", heat.largest);
  list("levels", heat.levels);
}

void fields(auto& list, Any<WorstElement> auto& element) {
  list("index", element.index);
  list("target", element.target);
  list("golden", element.golden);
}

void fields(auto& list, Any<Details> auto& details) {
  list("histogram", details.histogram, std::optional<PairHistogram>());
  list("channels", details.channels, std::optional<ChannelErrors>());
  list("heat", details.heat, std::optional<HeatMap>());
  list("worst", details.worst, std::vector<WorstElement>());
}

void fields(auto& list, Any<Row> auto& row) {
  list("index", row.index);
  list("step", row.step);
  list("rank", row.rank);
  list("graph", row.graph, std::string());
  list("model_output", row.is_model_output, false);
  list("target", row.target);
  list("golden", row.golden);
  list("node", row.node, int64_t{-1});
  list.pairing("pairing", row);
  list.values("metrics", "undefined", row);
  list("own_error", row.own_error, std::optional<OwnError>());
  list("verdict", row.verdict);
  list("suspicious", row.suspicious);
  list("reasons", row.reasons);
  list("message", row.message);
  list("hint", row.hint);
  list.details("details", row);
}

// What streaming adds to what a plan says: see result/row_line.h. Text is kept byte by byte.

void streamed_fields(auto& list, Any<Side> auto& side) {
  list("dtype", side.dtype);
  list("shape", side.shape, std::optional<Shape>());
  list("layout", side.layout, std::string());
}

void fields(auto& list, Any<Judgement> auto& judgement) {
  list("verdict", judgement.verdict);
  list("suspicious", judgement.suspicious, false);
  list("reasons", judgement.reasons, std::vector<std::string>());
  list.bytes("message", judgement.message);
  list.bytes("hint", judgement.hint);
}

void fields(auto& list, Any<In16Bits> auto& in) {
  list.optional("float16", in.float16);
  list.optional("bfloat16", in.bfloat16);
}

void streamed_fields(auto& list, Any<Row> auto& row) {
  list.streamed("target", row.target);
  list.streamed("golden", row.golden);
  list.columns("values", row);
  list("verdict", row.verdict);
  list("suspicious", row.suspicious, false);
  list("reasons", row.reasons, std::vector<std::string>());
  list.bytes("message", row.message);
  list.bytes("hint", row.hint);
  list.shared("in_16_bits", row.in_16_bits);
  list.shared("if_inner", row.if_inner);
  list.shown("shows", row.target_shows);
  list("bytes", row.bytes, int64_t{0});
  list.details("details", row);
}

void fields(auto& list, Any<Standing> auto& standing) {
  list("verdict", standing.verdict);
  list("cosine", standing.cosine);
  list("rel_euclid", standing.rel_euclid);
}

void fields(auto& list, Any<TensorChange> auto& change) {
  list("operator", change.operator_name);
  list("slot", change.slot);
  list("graph", change.graph);
  list("step", change.step);
  list("rank", change.rank);
  list("output", change.is_output);
  list("worse", change.is_worse);
  list("reasons", change.reasons);
  list("before", change.before);
  list("after", change.after);
}

void fields(auto& list, Any<OperatorChange> auto& change) {
  list("operator", change.operator_name);
  list("type", change.type);
  list("change", change.change);
  list("details", change.details);
}

void fields(auto& list, Any<Baseline> auto& baseline) {
  list("path", baseline.path);
  list("version", baseline.version);
  list.told("verdict", baseline.holds() ? Verdict::kPass : Verdict::kFail);
  list("outputs_known", baseline.outputs_known);
  list("outputs_held", baseline.outputs_held);
  list("warnings", baseline.warnings);
  list("tensors", baseline.tensors);
  list("operators", baseline.operators);
}

}  // namespace plumb::result
