// SPDX-License-Identifier: Apache-2.0
//
// The document is read in its own order, one row at a time, so that a large result never stands in
// memory as a tree. Only the members that come before the rows by meaning, not by place, are looked
// up first: some tools sort keys.
#include "result/read.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/mapped_file.h"

namespace plumb::result {
namespace {

namespace json = simdjson::ondemand;
using metrics::Metric;
using metrics::Value;

constexpr std::string_view kSchema = "plumb.result/1";
constexpr uint64_t kMaxFileBytes = 0xFFFF0000;  // positions are 32-bit numbers
constexpr size_t kMaxShownBytes = 120;          // of a name in a message
constexpr size_t kMostShownNames = 5;

constexpr const char* kMakeOne = "name a file that `plumb compare TARGET GOLDEN --json FILE` wrote";
constexpr const char* kMakeAnew = "copy the file again, or write it anew with `plumb compare`";

// What is wrong at the place the reader has come to.
struct Complaint {
  std::string text;
};

std::string shown(std::string_view text) {
  return std::string(text.substr(0, kMaxShownBytes)) + (text.size() > kMaxShownBytes ? "..." : "");
}

std::string text_of(json::value value) { return std::string(std::string_view(value.get_string())); }

std::optional<int64_t> whole_of(json::value value) {
  if (value.is_null()) return std::nullopt;
  return int64_t(value.get_int64());
}

std::optional<double> special_number(std::string_view word) {
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> checksum_from(std::string_view digits) {
  uint32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, number, 16);
  if (digits.size() != 8 || failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

// A number, a word for what JSON has no number for, eight hexadecimal digits for a checksum, or
// null.
std::optional<double> number_of(json::value value, bool is_checksum = false) {
  if (value.is_null()) return std::nullopt;
  if (value.type() != json::json_type::string) {
    const double number = value.get_double();
    if (is_checksum && !(number >= 0 && number <= UINT32_MAX && number == std::floor(number)))
      throw Complaint{fmt::format("{} is no checksum", number)};
    return number;
  }
  // Once only: what is asked for again takes room in the parser's buffer again.
  const std::string_view word = value.get_string();
  if (const auto number = special_number(word)) return number;
  if (const auto number = is_checksum ? checksum_from(word) : std::nullopt) return number;
  throw Complaint{fmt::format("'{}' is no {}", shown(word), is_checksum ? "checksum" : "number")};
}

// "at most 0.012: not needed ..." as what it was.
std::optional<Value> bound_of(std::string_view reason) {
  constexpr std::string_view kStart = "at most ";
  if (!reason.starts_with(kStart)) return std::nullopt;
  double bound = 0;
  const char* const end = reason.data() + reason.size();
  const auto [stop, failure] = std::from_chars(reason.data() + kStart.size(), end, bound);
  const std::string_view rest(stop, static_cast<size_t>(end - stop));
  const Value value = Value::at_most(bound);
  if (failure != std::errc() || !rest.starts_with(": ") || rest.substr(2) != value.reason())
    return std::nullopt;
  return value;
}

Verdict verdict_of(json::value value) {
  const std::string_view word = value.get_string();
  if (const auto verdict = verdict_by_name(word)) return *verdict;
  throw Complaint{"'" + shown(word) + "' is no verdict"};
}

class Reader {
 public:
  explicit Reader(Saved& saved) : saved_(saved), run_(saved.run) {}

  // Everything but the rows, which cannot be read before the names of the metrics are known.
  void read_head(json::object document) {
    bool has_rows = false, has_run = false;
    each_field(document, [&](std::string_view key, json::value value) {
      if (key == "tool") read_tool(value);
      if (key == "run") has_run = true, read_run(value);
      if (key == "baseline") read_baseline(value);
      has_rows |= key == "rows";
    });
    if (!has_run) throw Complaint{"there is no member \"run\""};
    if (!has_rows) throw Complaint{"there is no member \"rows\""};
  }

  void read_rows(json::object document) {
    each_field(document, [&](std::string_view key, json::value value) {
      if (key != "rows") return;
      run_.rows.clear();
      each_item(value, [&](json::value row) { run_.rows.push_back(row_of(row)); });
    });
    run_.words = std::move(words_);
  }

  // Where the reader stands: "rows[17].metrics.cosine".
  std::string_view place() const { return path_; }

 private:
  // The path stays as it is when something is thrown.
  template <class Use>
  void each_field(json::object object, const Use& use) {
    const size_t depth = path_.size();
    for (auto field : object) {
      const std::string_view key = field.unescaped_key();
      path_.resize(depth);
      path_.append(depth == 0 ? "" : ".").append(key);
      use(key, field.value());
    }
    path_.resize(depth);
  }

  template <class Use>
  void each_item(json::array array, const Use& use) {
    const size_t depth = path_.size();
    size_t index = 0;
    for (auto item : array) {
      path_.resize(depth);
      path_ += fmt::format("[{}]", index++);
      use(item.value());
    }
    path_.resize(depth);
  }

  std::vector<std::string> texts_of(json::array array) {
    std::vector<std::string> texts;
    each_item(array, [&](json::value item) { texts.push_back(text_of(item)); });
    return texts;
  }

  // Kept as long as the run lives.
  const std::string& word(std::string text) { return *words_->insert(std::move(text)).first; }

  void read_tool(json::object tool) {
    each_field(tool, [&](std::string_view key, json::value value) {
      if (key == "version") saved_.version = text_of(value);
    });
  }

  void read_run(json::object run) {
    each_field(run, [&](std::string_view key, json::value value) {
      if (key == "command") run_.command = text_of(value);
      if (key == "scenario") run_.scenario = text_of(value);
      if (key == "profile") run_.profile = text_of(value);
      if (key == "target") run_.target = input_of(value);
      if (key == "golden") run_.golden = input_of(value);
      if (key == "graphs") run_.graphs = texts_of(value);
      if (key == "outputs_not_compared") run_.outputs_not_compared = texts_of(value);
      if (key == "order_recorded") run_.is_ordered = value.get_bool();
      if (key == "doubts") run_.doubts = texts_of(value);
      if (key == "warnings") run_.warnings = texts_of(value);
      if (key == "metrics") read_metrics(value);
      if (key == "bytes") run_.bytes = value.get_int64();
      if (key == "interrupted") run_.interrupted = value.get_bool();
      if (key == "elapsed_s") run_.elapsed_s = value.get_double();
    });
  }

  // Each once: the memory of a row grows with their number.
  void read_metrics(json::array names) {
    std::set<std::string> unknown;
    each_item(names, [&](json::value value) {
      const std::string_view name = value.get_string();
      const Metric* metric = metrics::metric_by_name(name);
      if (metric == nullptr)
        unknown.insert(shown(name));
      else if (std::find(run_.metrics.begin(), run_.metrics.end(), metric) == run_.metrics.end())
        run_.metrics.push_back(metric);
    });
    if (unknown.empty()) return;
    const size_t more = unknown.size() - std::min(unknown.size(), kMostShownNames);
    while (unknown.size() > kMostShownNames) unknown.erase(std::prev(unknown.end()));
    saved_.notes.push_back(fmt::format("metrics this program does not know are left out: {}{}",
                                       fmt::join(unknown, ", "),
                                       more > 0 ? fmt::format(" and {} more", more) : ""));
  }

  InputSide input_of(json::object object) {
    InputSide side;
    each_field(object, [&](std::string_view key, json::value value) {
      if (key == "path") side.path = text_of(value);
      if (key == "convention") side.convention = text_of(value);
      if (key == "files_left_out") side.files_left_out = value.get_int64();
      if (key == "warnings") side.warnings = texts_of(value);
    });
    return side;
  }

  std::optional<Shape> shape_of(json::value value) {
    if (value.is_null()) return std::nullopt;
    Shape shape;
    each_item(value, [&](json::value size) { shape.push_back(size.get_int64()); });
    return shape;
  }

  std::optional<Side> side_of(json::value value) {
    if (value.is_null()) return std::nullopt;
    Side side;
    each_field(value, [&](std::string_view key, json::value member) {
      if (key == "operator") side.operator_name = text_of(member);
      if (key == "type") side.type = text_of(member);
      if (key == "slot") side.slot = text_of(member);
      if (key == "dtype") side.dtype = text_of(member);
      if (key == "shape") side.shape = shape_of(member);
      if (key == "layout") side.layout = text_of(member);
      if (key == "file") side.file = text_of(member);
    });
    return side;
  }

  void read_pairing(json::value value, Row& row) {
    if (value.is_null()) return;
    each_field(value, [&](std::string_view key, json::value member) {
      if (key == "rule") row.pairing_rule = word(text_of(member));
      if (key == "evidence") row.pairing_evidence = text_of(member);
    });
  }

  // The column of a metric, -1 if it has none.
  int column_of(std::string_view name) const {
    for (size_t i = 0; i < run_.metrics.size(); ++i)
      if (run_.metrics[i]->name == name) return static_cast<int>(i);
    return -1;
  }

  void read_values(json::object object, std::vector<Value>& values) {
    each_field(object, [&](std::string_view name, json::value value) {
      const int column = column_of(name);
      if (column < 0) return;
      if (values.empty()) values.assign(run_.metrics.size(), Value::undefined("not computed"));
      const auto number = number_of(value, run_.metrics[column]->print == metrics::Print::kHex);
      values[column] = number ? Value::of(*number) : Value::undefined("no reason was recorded");
    });
  }

  Row row_of(json::object object) {
    Row row;
    std::vector<std::pair<int, Value>> reasons;
    bool has_verdict = false;
    each_field(object, [&](std::string_view key, json::value value) {
      if (key == "index") row.index = value.get_int64();
      if (key == "step") row.step = whole_of(value);
      if (key == "rank") row.rank = whole_of(value);
      if (key == "graph") row.graph = text_of(value);
      if (key == "target") row.target = side_of(value);
      if (key == "golden") row.golden = side_of(value);
      if (key == "model_output") row.is_model_output = value.get_bool();
      if (key == "pairing") read_pairing(value, row);
      if (key == "metrics") read_values(value, row.values);
      if (key == "undefined")
        each_field(value, [&](std::string_view name, json::value reason) {
          std::string_view text = reason.get_string();
          text = text.substr(0, text.find('\0'));  // where a C string ends
          const auto bound = bound_of(text);
          if (const int column = column_of(name); column >= 0 && !text.empty())
            reasons.emplace_back(
                column, bound ? *bound : Value::undefined(word(std::string(text)).c_str()));
        });
      if (key == "verdict") has_verdict = true, row.verdict = verdict_of(value);
      if (key == "suspicious") row.suspicious = value.get_bool();
      if (key == "reasons") row.reasons = texts_of(value);
      if (key == "message") row.message = text_of(value);
      if (key == "hint") row.hint = text_of(value);
    });
    if (!row.target && !row.golden) throw Complaint{"there is neither target nor golden"};
    if (!has_verdict) throw Complaint{"there is no verdict"};
    for (const auto& [column, value] : reasons)
      if (!row.values.empty() && !row.values[column].is_defined()) row.values[column] = value;
    return row;
  }

  Standing standing_of(json::object object) {
    Standing standing;
    each_field(object, [&](std::string_view key, json::value value) {
      if (key == "verdict") standing.verdict = verdict_of(value);
      if (key == "cosine") standing.cosine = number_of(value);
      if (key == "rel_euclid") standing.rel_euclid = number_of(value);
    });
    return standing;
  }

  TensorChange tensor_change_of(json::object object) {
    TensorChange change;
    each_field(object, [&](std::string_view key, json::value value) {
      if (key == "operator") change.operator_name = text_of(value);
      if (key == "slot") change.slot = text_of(value);
      if (key == "graph") change.graph = text_of(value);
      if (key == "step") change.step = whole_of(value);
      if (key == "rank") change.rank = whole_of(value);
      if (key == "output") change.is_output = value.get_bool();
      if (key == "worse") change.is_worse = value.get_bool();
      if (key == "reasons") change.reasons = texts_of(value);
      if (key == "before") change.before = standing_of(value);
      if (key == "after" && !value.is_null()) change.after = standing_of(value);
    });
    return change;
  }

  OperatorChange operator_change_of(json::object object) {
    OperatorChange change;
    each_field(object, [&](std::string_view key, json::value value) {
      if (key == "operator") change.operator_name = text_of(value);
      if (key == "type") change.type = text_of(value);
      if (key == "details") change.details = texts_of(value);
      if (key == "change") {
        const std::string_view name = value.get_string();
        const auto known = change_by_name(name);
        if (!known) throw Complaint{"'" + shown(name) + "' is no change"};
        change.change = *known;
      }
    });
    return change;
  }

  void read_baseline(json::object object) {
    Baseline& baseline = run_.baseline.emplace();
    each_field(object, [&](std::string_view key, json::value value) {
      if (key == "path") baseline.path = text_of(value);
      if (key == "version") baseline.version = text_of(value);
      if (key == "warnings") baseline.warnings = texts_of(value);
      if (key == "outputs_known") baseline.outputs_known = value.get_bool();
      if (key == "outputs_held") baseline.outputs_held = value.get_int64();
      if (key == "tensors")
        each_item(value,
                  [&](json::value item) { baseline.tensors.push_back(tensor_change_of(item)); });
      if (key == "operators")
        each_item(value, [&](json::value item) {
          baseline.operators.push_back(operator_change_of(item));
        });
    });
  }

  Saved& saved_;
  Run& run_;
  std::shared_ptr<std::unordered_set<std::string>> words_ =
      std::make_shared<std::unordered_set<std::string>>();
  std::string path_;
};

Error damaged(size_t position, size_t size, simdjson::error_code code) {
  switch (code) {
    case simdjson::UNCLOSED_STRING:
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return {"the result is not complete",
              fmt::format("byte {}: the file ends before the document does", size), kMakeAnew};
    default:
      return {"the result is damaged",
              fmt::format("byte {}: {}", position, simdjson::error_message(code)), kMakeAnew};
  }
}

// nullopt if the document says that it is what we read.
std::optional<Error> check_schema(json::document& document, size_t size) {
  json::value member;
  std::string_view name;
  const auto code = document.get_object().find_field_unordered("schema").get(member);
  if (code == simdjson::NO_SUCH_FIELD || (!code && member.get_string().get(name)))
    return Error{"this is no result of a comparison", "byte 0: there is no member \"schema\"",
                 kMakeOne};
  if (code) return damaged(0, size, code);
  if (name == kSchema) return std::nullopt;
  const bool is_ours = name.starts_with("plumb.result/");
  return Error{
      is_ours ? "the result is of another version" : "this is no result of a comparison",
      fmt::format("byte 0: its schema is '{}', this program reads '{}'", shown(name), kSchema),
      is_ours ? "read it with the version of plumb that wrote it" : kMakeOne};
}

}  // namespace

Result<Saved> read_result(Bytes file) {
  const std::string_view bytes = as_text(file);
  if (bytes.size() > kMaxFileBytes)
    return Error{
        "the result is too large",
        fmt::format("byte 0: {} bytes, at most {} can be read", bytes.size(), kMaxFileBytes),
        "compare fewer steps or operators at a time"};
  const size_t start = bytes.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos)
    return Error{"this is no result of a comparison", "byte 0: the file is empty", kMakeOne};
  if (bytes[start] != '{')
    return Error{"this is no result of a comparison",
                 fmt::format("byte {}: a JSON document would start with '{{'", start), kMakeOne};

  const simdjson::padded_string text(bytes);
  json::parser parser;
  json::document document;
  if (const auto code = parser.iterate(text).get(document)) return damaged(0, text.size(), code);
  Saved saved;
  Reader reader(saved);
  const auto position = [&] {
    const char* at = nullptr;
    return document.current_location().get(at) == simdjson::SUCCESS
               ? static_cast<size_t>(at - text.data())
               : text.size();
  };
  const auto odd = [&](std::string_view why) {
    return Error{"the result is not as its schema says",
                 fmt::format("byte {}: {}{}{}", position(), shown(reader.place()),
                             reader.place().empty() ? "" : ": ", why),
                 kMakeAnew};
  };
  try {
    if (auto error = check_schema(document, text.size())) return std::move(*error);
    document.rewind();
    reader.read_head(document.get_object());
    document.rewind();
    reader.read_rows(document.get_object());
  } catch (const Complaint& complaint) {
    return odd(complaint.text);
  } catch (const simdjson::simdjson_error& failure) {
    if (failure.error() == simdjson::INCORRECT_TYPE || failure.error() == simdjson::NUMBER_ERROR)
      return odd("the value is of another type, or out of range");
    return damaged(position(), text.size(), failure.error());
  }
  return saved;
}

Result<Saved> load_result(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  auto saved = read_result(file->bytes());
  if (!saved) return std::move(saved.error()).in(path.string());
  return saved;
}

}  // namespace plumb::result
