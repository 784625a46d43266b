// SPDX-License-Identifier: Apache-2.0
#include "input/config_tree.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_from_text.h"
#include "graph/proto_text.h"

namespace plumb::input {
namespace {

using NodeKind = ConfigNode::Kind;

Error too_large(size_t size) {
  return {"the configuration is too large",
          fmt::format("line 1: {} bytes, at most {} are read", size, kMaxConfigBytes),
          "pass the configuration, not a model"};
}

Error too_deep(int line) {
  return {"the configuration is nested too deeply",
          fmt::format("line {}: more than {} levels", line, kMaxConfigDepth), "check its brackets"};
}

// Lines of positions that only grow.
class LineCounter {
 public:
  explicit LineCounter(std::string_view text) : text_(text) {}
  int line_of(size_t position) {
    if (position > at_)
      line_ += static_cast<int>(std::count(text_.begin() + static_cast<ptrdiff_t>(at_),
                                           text_.begin() + static_cast<ptrdiff_t>(position), '\n'));
    at_ = std::max(at_, position);
    return line_;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

// ---- JSON ----

// Hands out characters and knows the line of the one handed out last.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int* line_;
};

// What people write in JSON beyond the standard, as blanks: comments of C, C++ and Python, and
// commas before a closing bracket. Lines stay where they are.
std::string as_strict_json(std::string_view text) {
  std::string out(text);
  bool quoted = false;
  size_t comma = out.npos;  // behind a value, while only blanks came after it
  char before = '{';        // the last character that is none
  const auto blank = [&](size_t& at, size_t end) {
    for (; at < end; ++at)
      if (out[at] != '\n') out[at] = ' ';
  };
  for (size_t at = 0; at < out.size();) {
    const char c = out[at];
    const std::string_view rest = std::string_view(out).substr(at);
    if (quoted) {
      if (c == '"') quoted = false;
      at += c == '\\' ? 2 : 1;
    } else if (c == '#' || rest.starts_with("//")) {
      blank(at, std::min(out.find('\n', at), out.size()));
    } else if (rest.starts_with("/*")) {
      const size_t end = out.find("*/", at + 2);
      blank(at, end == out.npos ? out.size() : end + 2);
    } else {
      if ((c == '}' || c == ']') && comma != out.npos) out[comma] = ' ';
      if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
        const bool ends_value = before != '{' && before != '[' && before != ',';
        comma = c == ',' && ends_value ? at : out.npos;
        before = c;
      }
      quoted = c == '"';
      ++at;
    }
  }
  return out;
}

// Called by the library for each piece of the document.
class TreeBuilder {
 public:
  explicit TreeBuilder(const int& line) : line_(line) { open_.push_back(&root); }

  ConfigNode root;
  std::string problem;
  int problem_line = 0;
  bool is_too_deep = false;

  bool null() { return true; }  // as if it were not there
  bool boolean(bool value) { return leaf(NodeKind::kWord, value ? "true" : "false"); }
  bool number_integer(int64_t value) { return leaf(NodeKind::kWord, fmt::format("{}", value)); }
  bool number_unsigned(uint64_t value) { return leaf(NodeKind::kWord, fmt::format("{}", value)); }
  bool number_float(double, const std::string& text) { return leaf(NodeKind::kWord, text); }
  bool string(std::string& value) { return leaf(NodeKind::kText, value); }
  bool binary(std::vector<uint8_t>&) { return false; }

  bool start_object(size_t) {
    if (!has_root_) {
      has_root_ = true;
      root.line = line_;
      return true;
    }
    if (open_.size() > kMaxConfigDepth) return deep();
    ConfigNode& parent = *open_.back();
    parent.fields.push_back({key_of_open().first, NodeKind::kMessage, {}, {}, line_});
    // Only the last field of each open message grows, so the others stay where they are.
    open_.push_back(&parent.fields.back());
    arrays_.push_back(0);
    return true;
  }
  bool key(std::string& value) {
    keys_.resize(open_.size());
    keys_.back() = {value, line_};
    return true;
  }
  bool end_object() {
    if (open_.size() > 1) {
      open_.pop_back();
      arrays_.pop_back();
    }
    return true;
  }
  bool start_array(size_t) {
    if (!has_root_) return fail("an object was expected, not a list");
    ++depth_of_arrays();  // a list inside a list goes on with the same field
    return true;
  }
  bool end_array() {
    --depth_of_arrays();
    return true;
  }
  bool parse_error(size_t, const std::string& token, const nlohmann::detail::exception& failure) {
    problem = failure.what();
    problem_line = line_;
    // "[json.exception.parse_error.101] parse error at line 3, column 7: syntax error while ...;
    // last read: ..."
    if (const size_t at = problem.find(" at line "); at != problem.npos)
      problem_line = std::atoi(problem.c_str() + at + 9);
    const size_t start = problem.find("syntax error");
    problem = start == problem.npos ? fmt::format("syntax error near '{}'", token.substr(0, 40))
                                    : problem.substr(start, problem.find("; last read") - start);
    return false;
  }

 private:
  int& depth_of_arrays() { return open_.size() > 1 ? arrays_.back() : root_arrays_; }
  // Messages inside may have left keys of their own behind.
  const std::pair<std::string, int>& key_of_open() const { return keys_[open_.size() - 1]; }
  bool leaf(NodeKind kind, std::string value) {
    if (!has_root_) return fail("an object was expected");
    // The line of the key: the library may have looked one character past a number.
    const int line = depth_of_arrays() > 0 ? line_ : key_of_open().second;
    open_.back()->fields.push_back({key_of_open().first, kind, std::move(value), {}, line});
    return true;
  }
  bool fail(std::string what) {
    problem = std::move(what);
    problem_line = line_;
    return false;
  }
  bool deep() {
    is_too_deep = true;
    return fail("too deep");
  }

  const int& line_;
  bool has_root_ = false;
  std::vector<ConfigNode*> open_;
  std::vector<int> arrays_;  // open lists of each open message but the root
  int root_arrays_ = 0;
  std::vector<std::pair<std::string, int>> keys_;  // of each open message
};

// ---- writing ----

std::string in_quotes(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (code < 0x20 || code == 0x7F)
      out += fmt::format("\\{:03o}", code);
    else
      out += c;
  }
  return out + "\"";
}

void write(const ConfigNode& node, int depth, std::string& out) {
  for (const ConfigNode& field : node.fields) {
    out.append(static_cast<size_t>(depth) * 2, ' ');
    out += field.name;
    if (field.kind == NodeKind::kMessage) {
      out += " {\n";
      write(field, depth + 1, out);
      out.append(static_cast<size_t>(depth) * 2, ' ');
      out += "}\n";
    } else {
      out += ": " + (field.kind == NodeKind::kText ? in_quotes(field.value) : field.value) + "\n";
    }
  }
}

bool read_message(graph::ProtoTextReader& reader, LineCounter& lines, ConfigNode& into,
                  size_t depth) {
  graph::ProtoTextField field;
  while (reader.next(field)) {
    ConfigNode node{
        std::string(field.name), NodeKind::kWord, {}, {}, lines.line_of(field.position)};
    if (field.kind == graph::ProtoTextField::Kind::kMessage) {
      node.kind = NodeKind::kMessage;
      if (depth == kMaxConfigDepth) return false;
      reader.enter();
      if (!read_message(reader, lines, node, depth + 1)) return false;
    } else {
      node.kind =
          field.kind == graph::ProtoTextField::Kind::kText ? NodeKind::kText : NodeKind::kWord;
      node.value = field.text();
    }
    into.fields.push_back(std::move(node));
  }
  return true;
}

}  // namespace

const ConfigNode* ConfigNode::find(std::string_view field) const {
  const ConfigNode* found = nullptr;
  for (const ConfigNode& node : fields)
    if (node.name == field) found = &node;
  return found;
}

std::vector<const ConfigNode*> ConfigNode::all(std::string_view field) const {
  std::vector<const ConfigNode*> found;
  for (const ConfigNode& node : fields)
    if (node.name == field) found.push_back(&node);
  return found;
}

std::optional<double> ConfigNode::number() const {
  if (kind != Kind::kWord) return std::nullopt;
  std::string_view word = value;
  if (word.ends_with('f') && !word.ends_with("inf")) word.remove_suffix(1);
  return number_from_text<double>(word);
}

Result<ConfigNode> tree_from_prototxt(std::string_view text) {
  if (text.size() > kMaxConfigBytes) return too_large(text.size());
  ConfigNode root;
  root.line = 1;
  LineCounter lines(text);
  graph::ProtoTextReader reader(text);
  const bool complete = read_message(reader, lines, root, 0);
  if (!reader.ok())
    return Error{"the configuration is not valid protobuf text", reader.where(),
                 "correct it there; the format is `name: value` and `name { ... }`"};
  if (!complete) return too_deep(lines.line_of(0));
  return root;
}

Result<ConfigNode> tree_from_json(std::string_view text) {
  if (text.size() > kMaxConfigBytes) return too_large(text.size());
  const std::string plain = as_strict_json(text);
  int line = 1;
  TreeBuilder builder(line);
  const bool complete =
      nlohmann::json::sax_parse(CountingIterator(plain.data(), &line),
                                CountingIterator(plain.data() + plain.size(), &line), &builder);
  if (builder.is_too_deep) return too_deep(builder.problem_line);
  if (!complete)
    return Error{"the configuration is not valid JSON",
                 fmt::format("line {}: {}", builder.problem_line, builder.problem),
                 "correct it there; comments and commas at the end of lists are fine"};
  return std::move(builder.root);
}

std::string to_prototxt(const ConfigNode& root) {
  std::string out;
  write(root, 0, out);
  return out;
}

}  // namespace plumb::input
