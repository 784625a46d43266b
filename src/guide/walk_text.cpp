// SPDX-License-Identifier: Apache-2.0
#include "guide/walk_text.h"

#include <fmt/format.h>

#include "base/json_values.h"
#include "report/block.h"
#include "report/findings_text.h"
#include "report/text.h"
#include "result/json_fields.h"

namespace plumb::guide {
namespace {

using report::printable;

// Members of an object, by the lists that results are written by.
struct Members {
  Json& json;

  static Json value(const std::string& text) { return text; }
  static Json value(double number) { return number_json(number); }
  static Json value(int64_t number) { return number; }
  template <class T>
  static Json value(const std::optional<T>& optional) {
    return optional ? value(*optional) : Json();
  }
  template <class T>
  static Json value(const std::vector<T>& list) {
    Json array = Json::array();
    for (const T& item : list) array.push_back(value(item));
    return array;
  }
  static Json value(const result::Evidence& evidence) { return object(evidence); }

  template <class T>
  static Json object(const T& of) {
    Json made = Json::object();
    Members members{made};
    result::fields(members, of);
    return made;
  }

  void operator()(std::string_view name, const auto& member) {
    json[std::string(name)] = value(member);
  }
  template <class T>
  void operator()(std::string_view name, const T& member, const T& unwritten) {
    if (member != unwritten) (*this)(name, member);
  }
  void word(std::string_view name, const std::string& member) {
    json[std::string(name)] = member.empty() ? Json() : Json(member);
  }
};

}  // namespace

std::string path_text(const Walk& walk, size_t width, bool colour) {
  report::Block block(width, colour);
  for (size_t i = 0; i < walk.path.size(); ++i) {
    const Taken& taken = walk.path[i];
    block.line(fmt::format("{}.", i + 1),
               fmt::format("{} [{}]", taken.step->title, taken.step->id));
    block.line("because", taken.step->reason);
    for (const std::string& failure : taken.failures)
      if (failure != taken.outcome.text) block.line("failed", printable(failure));
    block.line("outcome", fmt::format("{}: {}", taken.outcome.word, printable(taken.outcome.text)));
  }
  return block.text();
}

std::string verdict_text(const Walk& walk, size_t width, bool colour) {
  if (walk.findings.empty())
    return fmt::format("AGREEMENT  nothing was found to be wrong ({})\n",
                       walk.path.empty() ? "" : printable(walk.path.back().outcome.text));
  std::string text =
      fmt::format("FINDING  {}\n",
                  walk.findings.size() == 1 ? "one cause" : "several causes, most probable first");
  for (size_t i = 0; i < walk.findings.size(); ++i) {
    result::Run one;
    one.findings = {walk.findings[i].finding};
    text += report::findings_text(one, width, colour, i + 1);
  }
  return text;
}

std::string to_json(const Walk& walk) {
  Json path = Json::array(), findings = Json::array();
  for (const Taken& taken : walk.path) {
    Json asked = Json::array();
    for (const Asked& each : taken.step->asks)
      if (walk.answers.has(each.key)) asked.push_back(each.key);
    path.push_back({{"step", taken.step->id},
                    {"title", taken.step->title},
                    {"reason", taken.step->reason},
                    {"answers", std::move(asked)},
                    {"comparisons", taken.compared},
                    {"outcome", taken.outcome.word},
                    {"text", taken.outcome.text}});
    if (!taken.failures.empty()) path.back()["failures"] = taken.failures;
  }
  for (const GuideFinding& each : walk.findings) {
    Json finding = Members::object(each.finding);
    finding["step"] = each.step;
    findings.push_back(std::move(finding));
  }
  return text_of_json({{"schema", "plumb.guide/1"},
                       {"tool", tool_json()},
                       {"verdict", walk.findings.empty() ? "agreement" : "finding"},
                       {"path", std::move(path)},
                       {"answers", walk.answers.all()},
                       {"findings", std::move(findings)}});
}

}  // namespace plumb::guide
