// SPDX-License-Identifier: Apache-2.0
//
// Written by hand rather than through a JSON tree: a result has many thousand rows.
#include "result/json_write.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/shortest.h"
#include "base/utf8.h"
#include "result/json_fields.h"
#include "result/row_line.h"
#include "result/value_text.h"

namespace plumb::result {
namespace {

using metrics::Metric;

// In front of the members of an object and of the elements of a list that stand on lines of their
// own; others follow each other in one line.
constexpr std::string_view kMember = "\n    ", kElement = "\n      ", kComma = ", ";
constexpr size_t kMostKey = 64;  // characters of a member's name, and what stands around it

template <class T>
void append_object(std::string& json, const T& object, std::string_view indent = "");

void append(std::string& json, std::string_view text) { append_json_text(json, text); }
void append(std::string& json, const std::string& text) { append_json_text(json, text); }
void append(std::string& json, bool value) { json += value ? "true" : "false"; }
void append(std::string& json, int64_t value) {
  const fmt::format_int digits(value);
  json.append(digits.data(), digits.size());
}
// With what stands before it.
void append(std::string& json, const Metric& metric, double value, std::string_view key = {}) {
  const bool is_text = !std::isfinite(value) || metric.print == metrics::Print::kHex;
  char text[kMostKey + kShortestRoom];
  assert(key.size() + 2 < kMostKey);
  char* end = text + key.copy(text, key.size());
  if (is_text) *end++ = '"';
  end = write_exact(end, metric, value);
  if (is_text) *end++ = '"';
  json.append(text, static_cast<size_t>(end - text));
}
void append(std::string& json, double value) { append(json, Metric{"", ""}, value); }
void append(std::string& json, Verdict verdict) { append(json, name_of(verdict)); }
void append(std::string& json, Change change) { append(json, name_of(change)); }
void append(std::string& json, const Metric* metric) { append(json, metric->name); }
void append(std::string& json, const InputSide& side) { append_object(json, side); }
void append(std::string& json, const Side& side) { append_object(json, side); }
void append(std::string& json, const Accuracy& accuracy) { append_object(json, accuracy); }
void append(std::string& json, const Accuracy::Top& top) { append_object(json, top); }
void append(std::string& json, const Disagreement& classes) { append_object(json, classes); }
void append(std::string& json, const Standing& standing) { append_object(json, standing); }
void append(std::string& json, const TensorChange& change) { append_object(json, change); }
void append(std::string& json, const OperatorChange& change) { append_object(json, change); }
void append(std::string& json, const Told& told) { append_object(json, told); }
void append(std::string& json, const EnvironmentChange& change) { append_object(json, change); }
void append(std::string& json, const PackageFit& fit) { append_object(json, fit); }
void append(std::string& json, const Circumstances& known) { append_object(json, known); }
void append(std::string& json, const NetworkNode& node) { append_object(json, node); }
void append(std::string& json, const NetworkEdge& edge) { append_object(json, edge); }
void append(std::string& json, const Evidence& evidence) { append_object(json, evidence); }
void append(std::string& json, const Finding& finding) { append_object(json, finding); }
void append(std::string& json, const OwnError& error) { append_object(json, error); }
void append(std::string& json, const AppliedLimit& limit) { append_object(json, limit); }
void append(std::string& json, const PairHistogram& histogram) { append_object(json, histogram); }
void append(std::string& json, const ChannelErrors& channels) { append_object(json, channels); }
void append(std::string& json, const HeatMap& heat) { append_object(json, heat); }
void append(std::string& json, const WorstElement& element) { append_object(json, element); }
void append(std::string& json, const std::vector<uint8_t>& bytes) {
  append_base64(json += '"', std::as_bytes(std::span(bytes)));
  json += '"';
}

template <class T>
void append(std::string& json, const std::vector<T>& list) {
  constexpr bool has_lines = std::is_same_v<T, TensorChange> || std::is_same_v<T, OperatorChange> ||
                             std::is_same_v<T, NetworkNode> || std::is_same_v<T, NetworkEdge>;
  json += '[';
  for (const T& element : list) {
    if (&element != list.data()) json += has_lines ? "," : ", ";
    if (has_lines) json += kElement;
    append(json, element);
  }
  if (has_lines && !list.empty()) json += kMember;
  json += ']';
}

template <class T>
void append(std::string& json, const std::optional<T>& value) {
  value ? append(json, *value) : void(json += "null");
}

// The members of an object, one behind the other.
class Members {
 public:
  Members(std::string& json, std::string_view indent) : json_(json), indent_(indent) {
    json_ += '{';
  }

  void operator()(std::string_view name, const auto& value) {
    begin(name);
    append(json_, value);
  }
  template <class T>
  void operator()(std::string_view name, const T& value, const T& unwritten) {
    if (value != unwritten) (*this)(name, value);
  }
  void told(std::string_view name, const auto& value) { (*this)(name, value); }
  void word(std::string_view name, const std::string& value) {  // null if there is none
    (*this)(name, value.empty() ? std::nullopt : std::optional(value));
  }
  void seconds(std::string_view name, double value) {
    begin(name);
    json_ += fmt::format("{:.3f}", std::isfinite(value) ? value : 0);
  }
  // Put together beside the text: appending piece by piece was a tenth of writing a result.
  std::string& begin(std::string_view name) {
    char key[kMostKey];
    char* end = key;
    const auto add = [&](std::string_view piece) { end = piece.copy(end, piece.size()) + end; };
    if (!std::exchange(is_first_, false)) add(indent_.empty() ? kComma : kComma.substr(0, 1));
    add(indent_);
    add("\"");
    assert(name.size() + 16 < kMostKey);
    add(name);
    add("\": ");
    return json_.append(key, static_cast<size_t>(end - key));
  }
  std::string& json() { return json_; }

 private:
  std::string& json_;
  std::string_view indent_;
  bool is_first_ = true;
};

template <class T>
void append_object(std::string& json, const T& object, std::string_view indent) {
  Members members(json, indent);
  fields(members, object);
  json += indent.empty() ? "}" : "\n  }";
}

// Those of a row as it was streamed.
class StreamedMembers : public Members {
 public:
  explicit StreamedMembers(std::string& json) : Members(json, "") {}

  // What is no UTF-8 stands as base64 behind a NUL.
  void bytes(std::string_view name, const std::string& text) {
    if (text.empty()) return;
    if (text.front() != '\0' && valid_utf8(text) == text) return (*this)(name, text);
    std::string code(1, '\0');
    append_base64(code, as_bytes(text));
    (*this)(name, code);
  }
  void optional(std::string_view name, const std::optional<Judgement>& judgement) {
    if (judgement) object(name, *judgement);
  }
  template <class T>
  void shared(std::string_view name, const std::shared_ptr<const T>& held) {
    if (held != nullptr) object(name, *held);
  }
  void streamed(std::string_view name, const std::optional<Side>& side) {
    if (!side) return;
    StreamedMembers members(begin(name));
    streamed_fields(members, *side);
    json() += '}';
  }
  void shown(std::string_view name, Shown shown) {
    (*this)(name, static_cast<int64_t>(shown), int64_t{0});
  }
  // In the order of columns. A list of one is undefined: its reason, or the bound.
  void columns(std::string_view name, const Row& row) {
    if (row.values.empty()) return;
    std::string& json = begin(name) += '[';
    for (const metrics::Value& value : row.values) {
      if (&value != row.values.data()) json += ',';
      if (!value.is_defined()) json += '[';
      if (value.is_defined() || value.is_bound())
        append(json, value.number());
      else
        append(json, std::string_view(value.reason()));
      if (!value.is_defined()) json += ']';
    }
    json += ']';
  }
  void details(std::string_view name, const Row& row) {
    if (row.details) append_object(begin(name), *row.details);
  }

 private:
  void object(std::string_view name, const auto& value) {
    StreamedMembers members(begin(name));
    fields(members, value);
    json() += '}';
  }
};

// Those of a row, which also has values of metrics.
class RowMembers : public Members {
 public:
  RowMembers(std::string& json, const std::vector<const Metric*>& metrics,
             const std::vector<std::string>& keys)
      : Members(json, ""), metrics_(metrics), keys_(keys) {}

  void pairing(std::string_view name, const Row& row) {
    if (row.pairing_rule.empty()) return (*this)(name, std::optional<bool>());
    Members members(begin(name), "");
    members("rule", row.pairing_rule);
    members("evidence", row.pairing_evidence);
    json() += '}';
  }

  void values(std::string_view numbers, std::string_view reasons, const Row& row) {
    const size_t known = std::min(keys_.size(), row.values.size());
    std::string& json = begin(numbers) += '{';
    for (size_t i = 0; i < known; ++i) {
      if (row.values[i].is_defined())
        append(json, *metrics_[i], row.values[i].number(), key(i, i == 0));
      else
        (json += key(i, i == 0)) += "null";
    }
    json += '}';
    begin(reasons) += '{';
    bool is_first = true;
    for (size_t i = 0; i < known; ++i) {
      if (row.values[i].is_defined()) continue;
      json += key(i, std::exchange(is_first, false));
      append(json, undefined_text(row.values[i]));
    }
    json += '}';
  }

  void details(std::string_view name, const Row& row) {
    if (row.details) append_object(begin(name), *row.details);
  }

 private:
  // A result has millions of them.
  std::string_view key(size_t i, bool is_first) const {
    return std::string_view(keys_[i]).substr(is_first ? kComma.size() : 0);
  }

  const std::vector<const Metric*>& metrics_;
  const std::vector<std::string>& keys_;
};

void append_counts(std::string& json, const Counts& counts) {
  Members members(json, "");
  members("verdict", counts.verdict());
  members("rows", counts.rows);
  members("pass", counts.pass);
  members("fail", counts.fail);
  members("inconclusive", counts.inconclusive);
  members("not_compared", counts.not_compared);
  json += '}';
}

void append_summary(std::string& json, const Summary& s) {
  Members members(json, "");
  members("verdict", s.verdict);
  members("rows", s.rows);
  members("pass", s.pass);
  members("fail", s.fail);
  members("inconclusive", s.inconclusive);
  members("not_compared", s.not_compared);
  members("filtered", s.filtered);
  members("without_counterpart", s.without_counterpart);
  members("suspicious", s.suspicious);
  members("coverage", s.coverage);
  members("first_divergence",
          s.first_divergence ? std::optional(s.first_divergence_operator) : std::nullopt);
  append_counts(members.begin("outputs"), s.outputs);
  append_counts(members.begin("layers"), s.layers);
  json += '}';
}

}  // namespace

std::string head_members(const Run& run, const Summary& summary) {
  std::string json =
      fmt::format("\n  \"tool\": {{\"name\": \"plumb\", \"version\": {}}},\n  \"run\": ",
                  json_text(PLUMB_VERSION));
  append_object(json, run, kMember);
  json += ",\n  \"summary\": ";
  append_summary(json, summary);
  if (!run.samples.empty()) append(json += ",\n  \"samples\": ", run.samples);
  if (!run.accuracy.empty()) append(json += ",\n  \"accuracy\": ", run.accuracy);
  if (run.baseline) append_object(json += ",\n  \"baseline\": ", *run.baseline, kMember);
  return json;
}

std::string findings_json(const std::vector<Finding>& findings) {
  std::string json = "[";
  for (const Finding& finding : findings) {
    json += &finding == findings.data() ? "\n    " : ",\n    ";
    append(json, finding);
  }
  return json += findings.empty() ? "]" : "\n  ]";
}

std::string details_json(const Details& details) {
  std::string json;
  append_object(json, details);
  return json;
}

void append_row_line(std::string& line, const RowKey& key, const Row& row) {
  StreamedMembers members(line);
  members("id", key.id);
  members("stamp", fmt::format("{:016x}", key.stamp));
  streamed_fields(members, row);
  line += '}';
}

void JsonWriter::begin(const Run& run, const Summary& summary) {
  metrics_ = run.metrics;
  keys_.clear();
  for (const Metric* metric : metrics_)
    keys_.push_back(std::string(kComma) + json_text(metric->name) + ": ");
  rows_ = 0;
  text_ = fmt::format("{{\n  \"schema\": {},{}", json_text(kSchema), head_members(run, summary));
  if (run.network) append_object(text_ += ",\n  \"graph\": ", *run.network, kMember);
  put_(text_ += ",\n  \"rows\": [");
}

void JsonWriter::row(const Row& row) {
  text_ = rows_ == 0 ? "\n    " : ",\n    ";
  RowMembers members(text_, metrics_, keys_);
  members("id", rows_++);
  fields(members, row);
  put_(text_ += '}');
}

void JsonWriter::end(const std::vector<Finding>& findings) {
  text_ = rows_ == 0 ? "]" : "\n  ]";
  put_(text_ += ",\n  \"findings\": " + findings_json(findings) + "\n}\n");
}

void write_json(const Run& run, const Put& put) {
  JsonWriter writer(put);
  writer.begin(run, run.summary());
  for (const Row& row : run.rows) writer.row(row);
  writer.end(run.findings);
}

}  // namespace plumb::result
