// SPDX-License-Identifier: Apache-2.0
#include "dump/dump_json.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/number_from_text.h"

namespace plumb::dump {
namespace {

namespace json = simdjson::ondemand;

constexpr std::string_view kSaved = ".debug";  // ends the name of what was saved by hand
constexpr int kMaxNesting = 400;
constexpr size_t kMaxNameBytes = 4096;  // every leaf has a copy of its operator's name and its path
constexpr size_t kMaxTextBytes = 4096;  // of a non-tensor argument
constexpr size_t kUsualEntryBytes = 200;  // of a tensor as Python prints it
constexpr size_t kUsualRank = 4;
constexpr size_t kMaxEntryGrowth =
    64;  // a list of nulls after a long name would take 900 times its size
constexpr size_t kFreeBytes = 1 << 20;
constexpr uint64_t kMaxFileBytes = 0xFFFF0000;  // positions are 32-bit numbers

// NaN and infinities become strings of the same length that no Python program writes.
struct Literal {
  std::string_view word;
  std::string_view stand_in;
  double value;
};
constexpr Literal kLiterals[] = {
    {"NaN", "\"\x7f\"", std::numeric_limits<double>::quiet_NaN()},
    {"-Infinity", "\"\x7f-     \"", -std::numeric_limits<double>::infinity()},
    {"Infinity", "\"\x7f+    \"", std::numeric_limits<double>::infinity()},
};

// Outside of strings only.
void replace_literals(char* text, size_t size) {
  const auto has = [all = std::string_view(text, size)](std::string_view word) {
    return all.find(word) != std::string_view::npos;  // by memchr, several times as fast as memmem
  };
  if (!has("NaN") && !has("Infinity")) return;  // as in most files
  size_t at = 0;
  while (at < size) {
    const auto* quote = static_cast<const char*>(std::memchr(text + at, '"', size - at));
    const size_t end = quote != nullptr ? static_cast<size_t>(quote - text) : size;
    for (; at < end; ++at) {
      if (text[at] != 'N' && text[at] != 'I' && text[at] != '-') continue;
      for (const Literal& literal : kLiterals) {
        if (std::string_view(text + at, end - at).starts_with(literal.word)) {
          std::memcpy(text + at, literal.stand_in.data(), literal.stand_in.size());
          at += literal.word.size() - 1;
          break;
        }
      }
    }
    for (at = end + 1; at < size && text[at] != '"'; ++at)  // to the end of the string
      if (text[at] == '\\') ++at;
    ++at;
  }
}

void restore_literals(std::string& text) {
  for (const Literal& literal : kLiterals)
    for (size_t at = 0; (at = text.find(literal.stand_in, at)) != std::string::npos;)
      text.replace(at, literal.stand_in.size(), literal.word);
}

std::string_view right_trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// nullopt for what is no number: null, true, text.
std::optional<double> number_in_json(json::value value) {
  const std::string_view token = right_trimmed(value.raw_json_token());
  if (token.starts_with('"')) {
    for (const Literal& literal : kLiterals)
      if (token == literal.stand_in) return literal.value;
    return {};
  }
  return number_from_text<double>(token);
}

// As Python would print it, more or less; cut where it gets long.
std::string text_of(json::value value) {
  std::string text;
  switch (value.type().value()) {
    case json::json_type::string:
      if (number_in_json(value)) {
        text = right_trimmed(value.raw_json_token());
      } else {
        text = std::string_view(value.get_string());
      }
      break;
    case json::json_type::array:
      text = std::string_view(value.get_array().value().raw_json());
      break;
    case json::json_type::object:
      text = std::string_view(value.get_object().value().raw_json());
      break;
    case json::json_type::null: text = "None"; break;
    case json::json_type::boolean: text = value.get_bool() ? "True" : "False"; break;
    case json::json_type::number: text = right_trimmed(value.raw_json_token()); break;
  }
  restore_literals(text);
  if (text.size() > kMaxTextBytes) text.replace(kMaxTextBytes, text.npos, "...");
  return text;
}

// The string behind an opening quote, read where it stands; nullopt if it has escapes, as few have.
// The parser has seen that it ends.
std::optional<std::string_view> plain_string(const char* begin) {
  const char* end = begin;
  while (*end != '"' && *end != '\\') ++end;
  if (*end != '"') return {};
  return std::string_view(begin, static_cast<size_t>(end - begin));
}

std::string_view key_of(json::field& field) {
  const auto plain = plain_string(field.key().raw());
  return plain ? *plain : std::string_view(field.unescaped_key());
}

// Valid as long as the parser and its text.
std::string_view string_or_empty(json::value value) {
  if (value.type() != json::json_type::string) return {};
  const auto plain = plain_string(value.raw_json_token().data() + 1);
  return plain ? *plain : std::string_view(value.get_string());
}

// The length is known to the compiler, which makes it a comparison of a number or two.
template <size_t kSize>
bool is(std::string_view key, const char (&word)[kSize]) {
  return key.size() == kSize - 1 && std::memcmp(key.data(), word, kSize - 1) == 0;
}

std::optional<Shape> shape_of(json::value value) {
  if (value.type() != json::json_type::array) return {};
  Shape shape;
  shape.reserve(kUsualRank);
  for (auto item : value.get_array()) {
    const std::string_view token = right_trimmed(item.value().raw_json_token());
    const auto dim = number_from_text<int64_t>(token);
    if (!dim || *dim < 0) return {};
    shape.push_back(*dim);
  }
  return shape;
}

std::string checksum_of(json::value value) {
  std::string text(string_or_empty(value));
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (text.starts_with("0x")) text.erase(0, 2);
  return text;
}

// Between dots, or at an end.
bool has_word(std::string_view name, std::string_view word) {
  for (size_t at = 0; (at = name.find(word, at)) != std::string_view::npos; ++at) {
    const size_t end = at + word.size();
    if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

class Calls {
 public:
  Calls(DumpJson& out, size_t memory) : out_(out), memory_left_(memory) {}

  // Of debug.json: a tensor, or lists and objects of them, under the name they were saved by. There
  // are no arguments; what was saved is what the program gave out.
  void add_saved(std::string_view name, json::value value) {
    begin(name);
    const json::json_type type = value.type();
    const Slot whole{SlotKind::kOutput, kNamed, {}};
    if (type == json::json_type::array) {
      add_elements(value.get_array(), whole, 0);
    } else if (type == json::json_type::object) {
      json::object object = value.get_object();
      if (is_leaf(object)) {
        add_leaf(object, {SlotKind::kOutput, 0, {}});
      } else {
        add_fields(object, whole, 0);
      }
    } else {
      add_value(value, {SlotKind::kOutput, 0, {}}, 0);
    }
    ++calls_;
  }

  void add(std::string_view name, json::object call) {
    begin(name);
    // Module.conv1.Conv2d.parameters_grad[.n] has parameter names where others have input and
    // output.
    const bool gradients = has_word(operator_, "parameters_grad");
    for (auto field : call) {
      const std::string key(std::string_view(field.unescaped_key()));
      json::value value = field.value();
      if (gradients) {
        add_gradients(key, value);
      } else if (key == "input_args" || key == "input_kwargs" || key == "input") {
        add_members(value, {SlotKind::kInput, kNamed, {}}, 0);
      } else if (key == "output") {
        add_members(value, {SlotKind::kOutput, kNamed, {}}, 0);
      } else if (key == "parameters") {
        add_members(value, {SlotKind::kParameter, kNamed, {}}, 0);
      } else {
        add_value(value, child({SlotKind::kOther, kNamed, {}}, key), 0);
      }
    }
    ++calls_;
  }

 private:
  // "weight": [leaf], a list for the micro steps; mostly of one.
  void add_gradients(const std::string& name, json::value value) {
    const Slot slot = child({SlotKind::kParameterGradient, kNamed, {}}, name);
    if (value.type() != json::json_type::array) return add_value(value, slot, 0);
    size_t index = 0;
    for (auto item : value.get_array()) {
      Slot own = slot;
      if (index > 0) own.path += fmt::format(".{}", index);
      add_value(item.value(), own, 1);
      ++index;
    }
  }

  // The elements of a list or the members of an object, below the slot `parent`. With an empty path
  // `parent` is the whole of the arguments, which are numbered or named themselves.
  void add_members(json::value value, const Slot& parent, int depth) {
    const json::json_type type = value.type();
    if (type == json::json_type::array) add_elements(value.get_array(), parent, depth);
    if (type == json::json_type::object) add_fields(value.get_object(), parent, depth);
    // Else flags and counters beside the arguments: nothing to compare.
  }

  void add_elements(json::array array, const Slot& parent, int depth) {
    const bool is_top = parent.index == kNamed && parent.path.empty();
    int64_t index = 0;
    for (auto item : array) {
      const Slot slot =
          is_top ? Slot{parent.kind, index, {}} : child(parent, fmt::format("{}", index));
      add_value(item.value(), slot, depth + 1);
      ++index;
    }
  }

  void add_fields(json::object object, const Slot& parent, int depth) {
    for (auto field : object) {
      const Slot slot = child(parent, field.unescaped_key());
      add_value(field.value(), slot, depth + 1);
    }
  }

  static Slot child(const Slot& parent, std::string_view name) {
    if (parent.path.size() + name.size() > kMaxNameBytes)
      throw simdjson::simdjson_error(simdjson::CAPACITY);
    const char* dot = parent.path.empty() ? "" : ".";
    return {parent.kind, parent.index, fmt::format("{}{}{}", parent.path, dot, name)};
  }

  void add_value(json::value value, const Slot& slot, int depth) {
    if (depth > kMaxNesting) throw simdjson::simdjson_error(simdjson::DEPTH_ERROR);
    const json::json_type type = value.type();
    if (type == json::json_type::null && slot.kind != SlotKind::kOther) {
      Entry& entry = new_entry(slot);
      entry.statistics->dtype = "NoneType";
      entry.statistics->text = "None";
    } else if (type == json::json_type::array) {
      add_elements(value.get_array(), slot, depth);
    } else if (type == json::json_type::object) {
      json::object object = value.get_object();
      is_leaf(object) ? add_leaf(object, slot) : add_fields(object, slot, depth);
    }
  }

  static bool is_leaf(json::object& object) {
    json::value kind;
    const simdjson::error_code code = object.find_field_unordered("type").get(kind);
    // After any other error the parser has given up, and there is no way back.
    if (code != simdjson::SUCCESS && code != simdjson::NO_SUCH_FIELD)
      throw simdjson::simdjson_error(code);
    const bool has_type = code == simdjson::SUCCESS && kind.type() == json::json_type::string;
    object.reset().value();
    return has_type;
  }

  void begin(std::string_view name) {
    if (name.size() > kMaxNameBytes) throw simdjson::simdjson_error(simdjson::CAPACITY);
    operator_ = name;
    order_ = 0;
  }

  void add_leaf(json::object object, const Slot& slot) {
    Entry& entry = new_entry(slot);
    Statistics& statistics = *entry.statistics;
    std::string_view type;
    std::string others, flags;
    bool is_tensor = false;
    const auto add_flag = [&](const char* name, json::value value) {  // of bool tensors
      if (value.type() != json::json_type::boolean) return;
      flags += fmt::format("{}{}={}", flags.empty() ? "" : ", ", name, text_of(value));
    };
    std::optional<double> number;
    for (auto next : object) {
      json::field field = std::move(next).take_value();  // throws if the object ends too early
      const std::string_view key = key_of(field);
      json::value value = field.value();
      if (is(key, "type")) {
        type = string_or_empty(value);
      } else if (is(key, "dtype")) {
        statistics.dtype = string_or_empty(value);
        is_tensor = true;
      } else if (is(key, "shape")) {
        statistics.shape = shape_of(value);
        is_tensor = true;
      } else if (is(key, "Max")) {
        statistics.max = number_in_json(value);
        add_flag("max", value);
      } else if (is(key, "Min")) {
        statistics.min = number_in_json(value);
        add_flag("min", value);
      } else if (is(key, "Mean")) {
        statistics.mean = number_in_json(value);
      } else if (is(key, "Norm")) {
        statistics.l2 = number_in_json(value);
      } else if (is(key, "requires_grad")) {
        if (value.type() == json::json_type::boolean) statistics.requires_grad = value.get_bool();
      } else if (is(key, "md5")) {
        statistics.checksum = checksum_of(value);
      } else if (is(key, "data_name")) {
        if (const std::string_view file = string_or_empty(value); !file.empty())
          entry.parts.push_back({file, ""});
      } else if (is(key, "value")) {
        if (type == "int" || type == "float") number = number_in_json(value);
        statistics.text = text_of(value);
      } else if (others.size() < kMaxTextBytes) {
        const std::string name(key);
        others += fmt::format("{}{}={}", others.empty() ? "" : ", ", name, text_of(value));
      }
    }
    if (is_tensor) {
      statistics.text = std::move(flags);
      return;
    }
    statistics.dtype = type;
    if (statistics.text.empty()) statistics.text = std::move(others);
    // The tool gives a plain number all four statistics.
    if (number) statistics.min = statistics.max = statistics.mean = statistics.l2 = number;
  }

  Entry& new_entry(const Slot& slot) {
    const size_t memory = sizeof(Entry) + sizeof(Statistics) + operator_.size() + slot.path.size();
    if (memory > memory_left_) throw simdjson::simdjson_error(simdjson::MEMALLOC);
    memory_left_ -= memory;
    Entry& entry = out_.entries.emplace_back();
    entry.operator_name = operator_;
    entry.slot = slot;
    entry.timestamp = calls_;
    entry.order = order_++;
    entry.statistics.emplace();
    return entry;
  }

  DumpJson& out_;
  size_t memory_left_;
  SharedText operator_;
  int64_t calls_ = 0;
  uint32_t order_ = 0;  // within the call
};

Error damage_at(size_t position, simdjson::error_code code, size_t file_bytes) {
  const auto where = [&](std::string_view why) {
    return fmt::format("byte {}: {}", position, why);
  };
  switch (code) {
    case simdjson::DEPTH_ERROR:
      return Error{"arguments are nested too deeply",
                   where(fmt::format("more than {} levels", kMaxNesting)),
                   "leave this call out of the dump"};
    case simdjson::CAPACITY:
      return Error{"a name is too long", where(fmt::format("more than {} bytes", kMaxNameBytes)),
                   "leave this call out of the dump"};
    case simdjson::MEMALLOC:
      return Error{"dump.json would take too much memory",
                   where(fmt::format("the calls up to here need more than {} times the file's "
                                     "{} bytes",
                                     kMaxEntryGrowth, file_bytes)),
                   "shorten the names of the calls, or dump fewer of them"};
    default:
      return Error{"dump.json is damaged", where(simdjson::error_message(code)),
                   "copy the file again, or wait until its writer has finished"};
  }
}

// What the calls of "data" read and gave.
void add_calls(json::object data, Calls& calls) {
  for (auto call : data) {
    const std::string name(std::string_view(call.unescaped_key()));
    json::value arguments = call.value();
    if (name.ends_with(kSaved)) {
      calls.add_saved(name, arguments);
    } else if (arguments.type() == json::json_type::object) {
      calls.add(name, arguments.get_object());
    }
  }
}

}  // namespace

bool is_dump_json(std::string_view head) {
  const size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || head[start] != '{') return false;
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
  return (has("\"task\"") || has("\"dump_data_dir\"")) && !has("\"schema\"");
}

Result<DumpJson> parse_dump_json(Bytes file) {
  if (file.size() > kMaxFileBytes)
    return Error{
        "the file is too large",
        fmt::format("byte 0: {} bytes, at most {} can be read", file.size(), kMaxFileBytes),
        "dump fewer steps, or one rank to a file"};
  simdjson::padded_string text(as_text(file));
  replace_literals(text.data(), text.size());
  DumpJson dump;
  dump.entries.reserve(file.size() / kUsualEntryBytes);
  json::parser parser;
  json::document document;
  if (const auto code = parser.iterate(text).get(document)) return damage_at(0, code, text.size());
  bool has_data = false;
  try {
    Calls calls(dump, kMaxEntryGrowth * file.size() + kFreeBytes);
    for (auto field : document.get_object()) {
      const std::string key(std::string_view(field.unescaped_key()));
      json::value value = field.value();
      if (key == "task") {
        dump.task = string_or_empty(value);
      } else if (key == "dump_data_dir") {
        dump.data_directory = string_or_empty(value);
      } else if (key == "data" && value.type() == json::json_type::object) {
        has_data = true;
        add_calls(value.get_object(), calls);
      }
    }
  } catch (const simdjson::simdjson_error& failure) {
    const char* at = text.data();
    if (document.current_location().get(at) != simdjson::SUCCESS) at = text.data() + text.size();
    return damage_at(static_cast<size_t>(at - text.data()), failure.error(), text.size());
  }
  if (!has_data)
    return Error{"dump.json lists no calls", "byte 0: there is no object \"data\"",
                 "name the dump.json of a whole dump"};
  return dump;
}

}  // namespace plumb::dump
