// SPDX-License-Identifier: Apache-2.0
//
// The document is read in its own order, one row at a time, so that a large result never stands in
// memory as a tree. Only the members that come before the rows by meaning, not by place, are looked
// up first: some tools sort keys.
#include "result/json_read.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/base64.h"
#include "base/mapped_file.h"
#include "base/number_from_text.h"
#include "result/json_fields.h"
#include "result/row_line.h"

namespace plumb::result {
namespace {

namespace json = simdjson::ondemand;
using metrics::kHeatLevels;
using metrics::kMostBins;
using metrics::kMostChannels;
using metrics::kMostHeatCells;
using metrics::kMostWorst;
using metrics::Metric;
using metrics::Value;

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

// What was written by StreamedMembers::bytes.
std::string exact_text_of(json::value value) {
  std::string text = text_of(value);
  if (text.empty() || text.front() != '\0') return text;
  const auto decoded = from_base64(std::string_view(text).substr(1));
  if (!decoded) throw Complaint{"the text is no base64"};
  return std::string(decoded->begin(), decoded->end());
}

std::optional<double> special_number(std::string_view word) {
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> checksum_from(std::string_view digits) {
  const auto number = number_from_text<uint32_t>(digits, 16);
  if (digits.size() != 8 || !number) return std::nullopt;
  return *number;
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

Change change_of(json::value value) {
  const std::string_view word = value.get_string();
  if (const auto change = change_by_name(word)) return *change;
  throw Complaint{"'" + shown(word) + "' is no change"};
}

}  // namespace

// Not in the unnamed namespace: RowLineReader::Parser, which a header names, has one.
class ResultReader {
 public:
  explicit ResultReader(Saved& saved) : saved_(saved), run_(saved.run) {}

  // Everything but the rows, which cannot be read before the names of the metrics are known.
  void read_head(json::object document) {
    bool has_rows = false, has_run = false;
    each_field(document, [&](std::string_view key, json::value value) {
      if (key == "tool") read_tool(value);
      if (key == "run") has_run = true, read(value, run_);
      if (key == "samples") read(value, run_.samples);
      if (key == "accuracy") read(value, run_.accuracy);
      if (key == "baseline") read(value, run_.baseline.emplace());
      if (key == "graph") read_network(value);
      if (key == "findings") read(value, run_.findings);
      has_rows |= key == "rows";
    });
    if (!has_run) throw Complaint{"there is no member \"run\""};
    if (!has_rows) throw Complaint{"there is no member \"rows\""};
  }

  void read_rows(json::object document) {
    each_field(document, [&](std::string_view key, json::value value) {
      if (key == "rows") read(value, run_.rows);
    });
    run_.words = std::move(words_);
  }

  // What streaming said of a row whose plan is known.
  void read_streamed(json::object object, Row& row) {
    row.values.clear();
    bool has_verdict = false;
    each_field(object, [&](std::string_view key, json::value value) {
      has_verdict |= key == "verdict";
      Member member{*this, key, value};
      streamed_fields(member, row);
    });
    if (!has_verdict) throw Complaint{"there is no verdict"};
  }

  // Where the reader stands: "rows[17].metrics.cosine".
  std::string_view place() const { return path_; }
  // To begin with another document, whatever became of the one before.
  void restart() { path_.clear(); }
  std::shared_ptr<const std::unordered_set<std::string>> words() const { return words_; }

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

  // The member of an object whose name is `key`.
  struct Member {
    ResultReader& reader;
    std::string_view key;
    json::value value;

    void operator()(std::string_view name, auto& member, const auto&... /*unwritten*/) {
      if (key == name) reader.read(value, member);
    }
    void told(std::string_view, const auto&) {}
    void word(std::string_view name, std::string& member) {
      if (key == name && !value.is_null()) member = text_of(value);
    }
    void seconds(std::string_view name, double& member) {
      if (key == name) member = value.get_double();
    }
    void pairing(std::string_view name, Row& row) {
      if (key != name || value.is_null()) return;
      reader.each_field(value, [&](std::string_view part, json::value member) {
        if (part == "rule") row.pairing_rule = reader.word(text_of(member));
        if (part == "evidence") row.pairing_evidence = text_of(member);
      });
    }
    void values(std::string_view numbers, std::string_view reasons, Row& row) {
      if (key == numbers) reader.read_values(value, row.values);
      if (key == reasons) reader.read_reasons(value);
    }
    void details(std::string_view name, Row& row) {
      if (key == name && !value.is_null()) reader.read_details(value, row);
    }
    void bytes(std::string_view name, std::string& text) {
      if (key == name) text = exact_text_of(value);
    }
    void optional(std::string_view name, std::optional<Judgement>& judgement) {
      if (key == name) reader.read(value, judgement.emplace());
    }
    template <class T>
    void shared(std::string_view name, std::shared_ptr<const T>& held) {
      if (key != name) return;
      auto read = std::make_shared<T>();
      reader.read(value, *read);
      held = std::move(read);
    }
    // A side that the plan does not know is none.
    void streamed(std::string_view name, std::optional<Side>& side) {
      if (key != name || !side) return;
      reader.each_field(value, [&](std::string_view part, json::value field) {
        Member member{reader, part, field};
        streamed_fields(member, *side);
      });
    }
    void shown(std::string_view name, Shown& shown) {
      if (key != name) return;
      const int64_t number = value.get_int64();
      if (number < 0 || number > static_cast<int64_t>(Shown::kBFloat16Grid))
        throw Complaint{fmt::format("{} is no type that values show", number)};
      shown = static_cast<Shown>(number);
    }
    void columns(std::string_view name, Row& row) {
      if (key == name) reader.read_columns(value, row.values);
    }
  };

  template <class T>
  void read(json::value object, T& into) {
    each_field(object, [&](std::string_view key, json::value value) {
      Member member{*this, key, value};
      fields(member, into);
    });
  }
  void read(json::value object, Row& row) {
    bool has_verdict = false;
    reasons_.clear();
    each_field(object, [&](std::string_view key, json::value value) {
      has_verdict |= key == "verdict";
      Member member{*this, key, value};
      fields(member, row);
    });
    if (!row.target && !row.golden) throw Complaint{"there is neither target nor golden"};
    if (!has_verdict) throw Complaint{"there is no verdict"};
    for (const auto& [column, value] : reasons_)
      if (!row.values.empty() && !row.values[column].is_defined()) row.values[column] = value;
  }
  void read(json::value array, Rows& rows) {
    rows.clear();
    each_item(array, [&](json::value item) {
      Row row;
      read(item, row);
      rows.push_back(std::move(row));
    });
  }
  template <class T>
  void read(json::value array, std::vector<T>& list) {
    list.clear();
    each_item(array, [&](json::value item) { read(item, list.emplace_back()); });
  }
  template <class T>
  void read(json::value value, std::optional<T>& member) {
    member.reset();
    if (!value.is_null()) read(value, member.emplace());
  }
  static void read(json::value value, std::optional<double>& member) { member = number_of(value); }
  static void read(json::value value, std::string& member) { member = text_of(value); }
  static void read(json::value value, int64_t& member) { member = value.get_int64(); }
  static void read(json::value value, double& member) {
    member = number_of(value).value_or(std::numeric_limits<double>::quiet_NaN());
  }
  static void read(json::value value, bool& member) { member = value.get_bool(); }
  static void read(json::value value, Verdict& member) { member = verdict_of(value); }
  static void read(json::value value, Change& member) { member = change_of(value); }

  static void read(json::value value, std::vector<uint8_t>& bytes) {
    const std::string_view text = value.get_string();
    auto decoded = from_base64(text);
    if (!decoded) throw Complaint{"'" + shown(text) + "' is no base64"};
    bytes = std::move(*decoded);
  }

  // Each once: the memory of a row grows with their number.
  void read(json::value names, std::vector<const Metric*>& metrics) {
    std::set<std::string> unknown;
    each_item(names, [&](json::value value) {
      const std::string_view name = value.get_string();
      const Metric* metric = metrics::metric_by_name(name);
      if (metric == nullptr)
        unknown.insert(shown(name));
      else if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end())
        metrics.push_back(metric);
    });
    if (unknown.empty()) return;
    const size_t more = unknown.size() - std::min(unknown.size(), kMostShownNames);
    while (unknown.size() > kMostShownNames) unknown.erase(std::prev(unknown.end()));
    saved_.notes.push_back(fmt::format("metrics this program does not know are left out: {}{}",
                                       fmt::join(unknown, ", "),
                                       more > 0 ? fmt::format(" and {} more", more) : ""));
  }

  void read_network(json::value value) {
    auto network = std::make_shared<Network>();
    read(value, *network);
    const auto is_node = [&](int64_t node) {
      return node >= 0 && node < std::ssize(network->nodes);
    };
    for (const NetworkEdge& edge : network->edges)
      if (!is_node(edge.from) || !is_node(edge.to))
        throw Complaint{fmt::format("an edge from node {} to node {}, of {}", edge.from, edge.to,
                                    network->nodes.size())};
    run_.network = std::move(network);
  }

  // Bounded as they were gathered: later stages make pictures of them.
  void read_details(json::value value, Row& row) {
    auto details = std::make_shared<Details>();
    read(value, *details);
    if (const char* odd = oddity_of(*details)) throw Complaint{odd};
    row.details = std::move(details);
  }

  static const char* oddity_of(const Details& details) {
    const auto are_counts = [](const std::vector<int64_t>& counts) {
      return std::all_of(counts.begin(), counts.end(), [](int64_t count) { return count >= 0; });
    };
    if (const auto& h = details.histogram)
      if (h->target.size() != h->golden.size() || std::ssize(h->target) > kMostBins ||
          !std::isfinite(h->low) || !std::isfinite(h->high) || h->low > h->high ||
          !are_counts(h->target) || !are_counts(h->golden))
        return "the bins of the histogram do not fit each other";
    if (const auto& c = details.channels)
      if (c->error.size() != c->golden.size() || std::ssize(c->error) > kMostChannels ||
          c->axis < 0 || c->size < 0 || c->each < 1)
        return "the errors by channel do not fit each other";
    if (const auto& heat = details.heat) {
      const auto is_side = [](int64_t cells) { return cells >= 1 && cells <= kMostHeatCells; };
      if (!is_side(heat->rows) || !is_side(heat->columns) ||
          std::ssize(heat->levels) != heat->rows * heat->columns ||
          std::any_of(heat->levels.begin(), heat->levels.end(),
                      [](uint8_t level) { return level > kHeatLevels; }))
        return "the cells of the heat map do not fit each other";
    }
    if (std::ssize(details.worst) > kMostWorst) return "there are too many worst elements";
    return nullptr;
  }

  void read_tool(json::object tool) {
    each_field(tool, [&](std::string_view key, json::value value) {
      if (key == "version") saved_.version = text_of(value);
    });
  }

  // Kept as long as the run lives.
  const std::string& word(std::string text) { return *words_->insert(std::move(text)).first; }

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

  // One for each column, or none. A list of one is undefined: its reason, or the bound.
  void read_columns(json::array columns, std::vector<Value>& values) {
    values.reserve(run_.metrics.size());
    each_item(columns, [&](json::value item) {
      if (values.size() == run_.metrics.size()) throw Complaint{"there are too many values"};
      if (item.type() != json::json_type::array) {
        const auto number = number_of(item);
        if (!number) throw Complaint{"there is neither a number nor a reason"};
        return values.push_back(Value::of(*number));
      }
      std::optional<Value> undefined;
      for (auto why : item.get_array()) {
        json::value reason = why.value();
        if (undefined) throw Complaint{"there are two reasons"};
        undefined = reason.type() == json::json_type::string
                        ? Value::undefined(word(text_of(reason)).c_str())
                        : Value::at_most(reason.get_double());
      }
      values.push_back(undefined.value_or(Value::undefined("no reason was recorded")));
    });
    if (!values.empty() && values.size() != run_.metrics.size())
      throw Complaint{fmt::format("{} values of {}", values.size(), run_.metrics.size())};
  }

  // They may come before the values.
  void read_reasons(json::object object) {
    each_field(object, [&](std::string_view name, json::value reason) {
      std::string_view text = reason.get_string();
      text = text.substr(0, text.find('\0'));  // where a C string ends
      const auto bound = bound_of(text);
      if (const int column = column_of(name); column >= 0 && !text.empty())
        reasons_.emplace_back(column,
                              bound ? *bound : Value::undefined(word(std::string(text)).c_str()));
    });
  }

  Saved& saved_;
  Run& run_;
  std::shared_ptr<std::unordered_set<std::string>> words_ =
      std::make_shared<std::unordered_set<std::string>>();
  std::vector<std::pair<int, Value>> reasons_;  // of the row being read, by column
  std::string path_;
};

namespace {

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

// nullopt if it may be a document.
std::optional<Error> check_start(std::string_view bytes) {
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
  return std::nullopt;
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
  if (auto error = check_start(bytes)) return std::move(*error);
  const simdjson::padded_string text(bytes);
  json::parser parser;
  json::document document;
  if (const auto code = parser.iterate(text).get(document)) return damaged(0, text.size(), code);
  Saved saved;
  ResultReader reader(saved);
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

struct RowLineReader::Parser {
  explicit Parser(std::vector<const Metric*> metrics) { saved.run.metrics = std::move(metrics); }

  // Calls `use` with the line's object.
  template <class Use>
  Result<RowKey> parse(std::string_view line, const Use& use) {
    const auto odd = [&](std::string_view why) {
      return Error{
          "a row is not as it was written",
          fmt::format("{}{}{}", shown(reader.place()), reader.place().empty() ? "" : ": ", why),
          "compare again"};
    };
    reader.restart();
    text.assign(line).append(simdjson::SIMDJSON_PADDING, ' ');
    try {
      json::document document = parser.iterate(text.data(), line.size(), text.size());
      json::object object = document.get_object();
      RowKey key;
      key.id = object.find_field("id").get_int64();
      const std::string_view stamp = object.find_field("stamp").get_string();
      const auto number = number_from_text<decltype(key.stamp)>(stamp, 16);
      if (!number) return odd(fmt::format("'{}' is no stamp", shown(stamp)));
      key.stamp = *number;
      use(document);
      return key;
    } catch (const Complaint& complaint) {
      return odd(complaint.text);
    } catch (const simdjson::simdjson_error& failure) {
      return odd(simdjson::error_message(failure.error()));
    }
  }

  Saved saved;
  ResultReader reader{saved};
  json::parser parser;
  std::string text;
};

RowLineReader::RowLineReader(std::vector<const Metric*> metrics)
    : parser_(std::make_unique<Parser>(std::move(metrics))) {}
RowLineReader::RowLineReader(RowLineReader&&) noexcept = default;
RowLineReader& RowLineReader::operator=(RowLineReader&&) noexcept = default;
RowLineReader::~RowLineReader() = default;

Result<RowKey> RowLineReader::key(std::string_view line) {
  return parser_->parse(line, [](json::document&) {});
}

Result<RowKey> RowLineReader::read(std::string_view line, Row& row) {
  return parser_->parse(line, [&](json::document& document) {
    document.rewind();
    parser_->reader.read_streamed(document.get_object(), row);
  });
}

std::shared_ptr<const std::unordered_set<std::string>> RowLineReader::words() const {
  return parser_->reader.words();
}

Result<Saved> load_result(const std::filesystem::path& path) {
  auto file = MappedFile::open(path, /*map=*/false);
  if (!file) return file.error();
  auto saved = read_result(file->bytes());
  if (!saved) return std::move(saved.error()).in(path.string());
  return saved;
}

}  // namespace plumb::result
