// SPDX-License-Identifier: Apache-2.0
//
// The JSON form of a GE graph. `atc --mode=1` writes it from an offline model, and AMCT beside a
// quantized one; nothing in the two files tells them apart. Files reach hundreds of megabytes, so
// the text is read once, front to back, and what is not wanted is stepped over. What versions of
// atc write differently: single floats as text (since 2021), single strings with C escapes, an
// empty message in a list as null.
#include <cstring>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/number_from_text.h"
#include "graph/ge.h"
#include "graph/memory_limit.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

namespace json = simdjson::ondemand;

constexpr uint64_t kMaxFileBytes = 0xFFFF0000;  // positions are 32-bit numbers
constexpr std::string_view kJsonRemedy =
    "make the file again: atc --mode=1 --om=MODEL.om --json=MODEL.json";

// Something in the file that JSON allows and we do not. Thrown inside this file only, like
// simdjson's errors.
struct Problem {
  std::string what;
};

// A single string as it was before atc escaped it: `\"`, `\345`. Older versions do not escape; what
// an escape would have changed (a quote, a character beyond ASCII) or what none makes of a
// backslash tells that this one did not.
std::string without_escapes(std::string_view text) {
  constexpr std::string_view kLetters = "nrt\"'\\", kMeant = "\n\r\t\"'\\";
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '\\') {
      if (c < ' ' || c > '~' || c == '"' || c == '\'') return std::string(text);
      plain += c;
    } else if (const size_t letter = kLetters.find(i + 1 < text.size() ? text[i + 1] : '?');
               letter != kLetters.npos) {
      plain += kMeant[letter];
      i += 1;
    } else if (i + 3 < text.size() && text[i + 1] <= '3' && octal(text[i + 1]) &&
               octal(text[i + 2]) && octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      return std::string(text);
    }
  }
  return plain;
}

class GeJsonReader {
 public:
  GeJsonReader(Graph& out, size_t file_bytes) : out_(out), limit_(file_bytes) {}

  void read(json::object model) {
    bool has_graph = false;
    for (auto field : model) {
      const std::string_view key = field.unescaped_key();
      json::value value = field.value();
      if (key == "name") {
        out_.name = text(value, "name");
      } else if (key == "attr" && is(value, json::json_type::array)) {
        for (auto item : value.get_array())
          if (json::value property = item.value(); is(property, json::json_type::object))
            read_property(property.get_object());
      } else if (key == "graph") {
        has_graph = true;
        for (auto item : list(value, "graph")) read_graph(object(item.value(), "graph"));
      }
    }
    if (!has_graph) throw Problem{"the model has no \"graph\""};
    if (parts_.size() > 1 && !name_subgraphs(out_, parts_, limit_)) fail_limit();
    set_model_outputs(out_, calls_);
  }

  // Where in the model the reader is, for messages.
  std::string place() const {
    if (!in_operator_) return {};
    if (!current_.op.name.empty()) return fmt::format("operator '{}': ", current_.op.name);
    return fmt::format("operator number {}: ", out_.operators.size() + 1);
  }

 private:
  void read_graph(json::object graph) {
    std::string name;
    bool has_operators = false;
    for (auto field : graph) {
      const std::string_view key = field.unescaped_key();
      json::value value = field.value();
      if (key == "name") {
        name = text(value, "name");
      } else if (key == "op") {
        has_operators = true;
        for (auto item : list(value, "op")) read_operator(object(item.value(), "op"));
      }
    }
    if (!has_operators) throw Problem{"a graph has no \"op\""};
    parts_.push_back({std::move(name), out_.operators.size()});
  }

  void read_operator(json::object members) {
    current_ = {};
    in_operator_ = true;
    take(sizeof(Operator));
    Operator& op = current_.op;
    bool has_name = false, has_type = false;
    for (auto field : members) {
      const std::string_view key = field.unescaped_key();
      json::value value = field.value();
      if (key == "name") {
        op.name = without_slice(text(value, "name"));
        has_name = true;
      } else if (key == "type") {
        op.type = text(value, "type");
        has_type = true;
      } else if (key == "id") {
        op.id = integer(value, "id");
      } else if (key == "input") {
        for (auto item : list(value, "input")) current_.add_input(text(item.value(), "input"));
      } else if (key == "attr") {
        for (auto item : list(value, "attr"))
          read_attribute(object(item.value(), "attr"), ge_operator_key,
                         [&](GeKey which, GeValue read) { current_.set(which, std::move(read)); });
      } else if (key == "subgraph_name" && is(value, json::json_type::array)) {
        for (auto item : list(value, "subgraph_name"))
          current_.calls.emplace_back(text(item.value(), "subgraph_name"));
      } else if (key == "output_desc") {
        for (auto item : list(value, "output_desc")) {
          json::value output = item.value();
          take(sizeof(Output));
          Output& made = op.outputs.emplace_back();
          if (!is(output, json::json_type::null)) read_output(object(output, "output_desc"), made);
        }
      }
    }
    if (!has_name) throw Problem{"an operator has no \"name\""};
    if (!has_type) throw Problem{"an operator has no \"type\""};
    current_.tell_calls(calls_);
    out_.operators.push_back(std::move(current_).finish(out_.warnings));
    in_operator_ = false;
  }

  void read_output(json::object members, Output& output) {
    for (auto field : members) {
      const std::string_view key = field.unescaped_key();
      json::value value = field.value();
      if (key == "dtype") {
        if (is(value, json::json_type::string)) output.dtype = ge_dtype(text(value, "dtype"));
      } else if (key == "layout") {
        if (is(value, json::json_type::string)) output.layout = text(value, "layout");
      } else if (key == "shape") {
        output.shape = shape(value);
      } else if (key == "attr") {
        output.has_attributes = true;
        for (auto item : list(value, "attr"))
          read_attribute(
              object(item.value(), "attr"), ge_output_key,
              [&](GeKey which, GeValue read) { GeOperator::set(output, which, std::move(read)); });
      }
    }
  }

  // How the model was made.
  void read_property(json::object attribute) {
    json::value key, value;
    if (!find(attribute, "key", key) || !is(key, json::json_type::string)) return;
    const std::string name(text(key, "key"));
    if (!is_ge_property(name) || !find(attribute, "value", value)) return;
    GeValue read;
    read_members(object(value, "value"), read);
    if (read.s) set_ge_property(out_, name, *read.s);
  }

  // {"key": ..., "value": {...}}, usually in this order.
  template <class Set>
  void read_attribute(json::object attribute, GeKey (*key_of)(std::string_view), Set set) {
    json::value key, value;
    if (!find(attribute, "key", key)) throw Problem{"an attribute has no \"key\""};
    const GeKey which = key_of(text(key, "key"));
    if (which == GeKey::kNone) return;
    GeValue read;
    // GE leaves out a value that is empty.
    if (find(attribute, "value", value)) read_members(object(value, "value"), read);
    set(which, std::move(read));
  }

  void read_members(json::object members, GeValue& out) {
    for (auto field : members) {
      const std::string_view kind = field.unescaped_key();
      read_value(kind, field.value(), out);
    }
  }

  static bool find(json::object& members, std::string_view key, json::value& out) {
    const simdjson::error_code code = members.find_field_unordered(key).get(out);
    if (code != simdjson::SUCCESS && code != simdjson::NO_SUCH_FIELD)
      throw simdjson::simdjson_error(code);
    return code == simdjson::SUCCESS;
  }

  void read_value(std::string_view kind, json::value value, GeValue& out) {
    if (kind == "s") {
      out.s = without_escapes(text(value, "s"));
    } else if (kind == "i") {
      out.i = integer(value, "i");
    } else if (kind == "f") {
      out.f = number(value);
    } else if (kind == "b") {
      bool flag = false;
      if (value.get(flag) != simdjson::SUCCESS) throw Problem{"\"b\" is not true or false"};
      out.b = flag;
    } else if (kind == "list") {
      for (auto field : object(value, "list")) {
        const std::string_view of = field.unescaped_key();
        json::value items = field.value();
        if (of == "s") {
          for (auto item : list(items, "s")) out.list_s.emplace_back(text(item.value(), "s"));
        } else if (of == "i") {
          for (auto item : list(items, "i")) out.list_i.push_back(integer(item.value(), "i"));
        }
      }
    }
  }

  // {"dim": [1, 2]} or [1, 2]; anything else is no shape.
  std::optional<Shape> shape(json::value value) {
    Shape dims;
    const auto add = [&](json::value items) {
      for (auto item : list(items, "shape")) dims.push_back(integer(item.value(), "shape"));
    };
    if (is(value, json::json_type::array)) {
      add(value);
    } else if (is(value, json::json_type::object)) {
      for (auto field : object(value, "shape"))
        if (std::string_view(field.unescaped_key()) == "dim") add(field.value());
    } else {
      return std::nullopt;
    }
    return dims;
  }

  static bool is(json::value& value, json::json_type type) { return value.type().value() == type; }

  static std::string_view text(json::value value, const char* what) {
    if (!is(value, json::json_type::string)) throw Problem{fmt::format("\"{}\" is not text", what)};
    return value.get_string();
  }

  static json::array list(json::value value, const char* what) {
    if (!is(value, json::json_type::array))
      throw Problem{fmt::format("\"{}\" is not a list", what)};
    return value.get_array();
  }

  static json::object object(json::value value, const char* what) {
    if (!is(value, json::json_type::object))
      throw Problem{fmt::format("\"{}\" is not an object", what)};
    return value.get_object();
  }

  // Some writers of protobuf as JSON put 64-bit integers into quotes.
  static int64_t integer(json::value value, const char* what) {
    int64_t number = 0;
    if (is(value, json::json_type::string)) {
      const std::string_view digits = value.get_string();
      if (const auto parsed = number_from_text<int64_t>(digits)) return *parsed;
    } else if (value.get(number) == simdjson::SUCCESS) {
      return number;
    }
    throw Problem{fmt::format("\"{}\" is not an integer", what)};
  }

  // Nothing if it is neither a number nor the text of one.
  static std::optional<double> number(json::value value) {
    double number = 0;
    if (is(value, json::json_type::string)) {
      const std::string_view digits = value.get_string();
      return number_from_text<double>(digits);
    }
    if (value.get(number) != simdjson::SUCCESS) return std::nullopt;
    return number;
  }

  void take(size_t bytes) {
    if (!limit_.take(bytes)) fail_limit();
  }

  [[noreturn]] static void fail_limit() {
    throw Problem{fmt::format("the operators up to here need more than {} times the file's size",
                              MemoryLimit::kGrowth)};
  }

  Graph& out_;
  MemoryLimit limit_;
  GeOperator current_;
  bool in_operator_ = false;
  std::vector<GePart> parts_;
  GeCalls calls_;
};

}  // namespace

bool is_ge_json(Bytes head) {
  std::string_view text = as_text(head);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return false;
  if (text.substr(start, 80).find("\"plumb.") != std::string_view::npos) return false;  // ours
  // Attributes of the model may come first, and take more than the head.
  for (const char* key : {"\"graph\"", "\"op\"", "\"key\""})
    if (text.find(key) != std::string_view::npos) return true;
  return false;
}

Result<Graph> graph_from_ge_json(Bytes file) {
  if (file.size() > kMaxFileBytes)
    return Error{
        "the model json is too large",
        fmt::format("byte 0: {} bytes, at most {} can be read", file.size(), kMaxFileBytes),
        "convert the model in parts"};
  simdjson::padded_string text(as_text(file));
  if (as_text(file).starts_with("\xEF\xBB\xBF"))
    std::memset(text.data(), ' ', 3);  // byte order mark
  Graph graph;
  json::parser parser;
  json::document document;
  if (const auto code = parser.iterate(text).get(document)) {
    const size_t at = code == simdjson::UNCLOSED_STRING ? file.size() : 0;
    return Error{"the model json is damaged",
                 fmt::format("byte {} of {}: {}", at, file.size(), simdjson::error_message(code)),
                 std::string(kJsonRemedy)};
  }
  GeJsonReader reader(graph, file.size());
  const auto position = [&] {
    const char* at = nullptr;
    if (document.current_location().get(at) != simdjson::SUCCESS) return text.size();
    return static_cast<size_t>(at - text.data());
  };
  try {
    reader.read(document.get_object());
    if (const char* at; document.current_location().get(at) == simdjson::SUCCESS)
      return Error{"the model json is damaged",
                   fmt::format("byte {}: text after the end of the model", position()),
                   std::string(kJsonRemedy)};
  } catch (const simdjson::simdjson_error& failure) {
    return Error{"the model json is damaged",
                 fmt::format("byte {}: {}{}", position(), reader.place(), failure.what()),
                 std::string(kJsonRemedy)};
  } catch (const Problem& problem) {
    return Error{"the model json is not a GE graph",
                 fmt::format("byte {}: {}{}", position(), reader.place(), problem.what),
                 std::string(kJsonRemedy)};
  }
  return graph;
}

}  // namespace plumb::graph
