// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/yaml_text.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_set>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/mapped_file.h"

namespace plumb::msprobe {
namespace {

constexpr size_t kMaxNesting = 16;
constexpr const char* kMappingRemedy = "the msprobe page of the documents shows mapping files";

// Ends the parser from within its callbacks.
struct Refused {
  Error error;
};

std::string line_of(const YAML::Mark& mark) { return fmt::format("line {}", mark.line + 1); }

// The parser calls these before it goes a level deeper, so the bound on nesting also bounds its
// recursion.
class Builder : public YAML::EventHandler {
 public:
  Yaml take() { return std::move(root_); }

 private:
  struct Level {
    Yaml value;
    std::optional<std::string> name;  // of the field that comes next
    std::unordered_set<std::string> names;
  };

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add_text(mark, anchor, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    add_text(mark, anchor, text);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Yaml::Kind::kList);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Yaml::Kind::kTable);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  [[noreturn]] static void refuse_anchor(const YAML::Mark& mark) {
    throw Refused{{"anchors are not read in mapping files", line_of(mark),
                   "write the text out where it is used"}};
  }

  bool expects_name() const {
    return !open_.empty() && open_.back().value.kind == Yaml::Kind::kTable && !open_.back().name;
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind) {
    if (anchor != YAML::NullAnchor) refuse_anchor(mark);
    if (expects_name())
      throw Refused{{"a name of the mapping is no text", line_of(mark), kMappingRemedy}};
    if (open_.size() >= kMaxNesting)
      throw Refused{{"the mapping is nested too deeply",
                     fmt::format("{}: more than {} levels", line_of(mark), kMaxNesting),
                     kMappingRemedy}};
    Level& level = open_.emplace_back();
    level.value.kind = kind;
    level.value.line = mark.line + 1;
  }

  void add_text(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& text) {
    if (anchor != YAML::NullAnchor) refuse_anchor(mark);
    if (expects_name()) {
      if (!open_.back().names.insert(text).second)
        throw Refused{{"a name is in the mapping twice", fmt::format("{}: {}", line_of(mark), text),
                       "keep one of the two"}};
      open_.back().name = text;
      return;
    }
    Yaml value;
    value.line = mark.line + 1;
    value.text = text;
    add(std::move(value));
  }

  void close() {
    Yaml value = std::move(open_.back().value);
    open_.pop_back();
    add(std::move(value));
  }

  void add(Yaml value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Level& level = open_.back();
    level.value.items.push_back(std::move(value));
    if (level.name) level.value.names.push_back(std::move(*level.name));
    level.name.reset();
  }

  std::vector<Level> open_;
  Yaml root_;
};

}  // namespace

const Yaml* Yaml::find(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : &items[static_cast<size_t>(found - names.begin())];
}

Result<Yaml> parse_yaml(std::string_view text) {
  Builder builder;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
  } catch (const Refused& refused) {
    return refused.error;
  } catch (const YAML::Exception& failure) {
    return Error{"this is no YAML", fmt::format("{}: {}", line_of(failure.mark), failure.msg),
                 kMappingRemedy};
  }
  return builder.take();
}

Result<Yaml> read_yaml(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  auto parsed = parse_yaml(as_text(file->bytes()));
  if (!parsed) return std::move(parsed.error()).in(path);
  return parsed;
}

}  // namespace plumb::msprobe
