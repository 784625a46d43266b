// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_view.h"

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

using compare::PlannedRow;

void print_rows(const std::vector<const PlannedRow*>& rows) {
  report::Table table;
  table.columns = {
      {"target", false, 9, true}, {"golden", false, 9, true}, {"paired by"}, {"why not"}};
  const auto name = [](const dump::Entry* entry) {
    return entry == nullptr
               ? std::string("-")
               : report::printable(entry->operator_name + " " + to_string(entry->slot));
  };
  for (const PlannedRow* row : rows) {
    std::string why(row->reason);
    if (!row->message.empty()) why += ": " + report::printable(row->message);
    std::string rule(row->rule);
    if (!row->evidence.empty()) rule += ", " + report::printable(row->evidence);
    table.rows.push_back({name(row->target), name(row->golden), rule, why});
  }
  fmt::print("{}", table.render(terminal_width()));
}

// As CSV has it, so that a name may hold anything.
std::string cell(std::string_view text) {
  if (text.find_first_of("\",\n\r#") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

void print_plan(const std::vector<PlannedRow>& plan) {
  std::vector<const PlannedRow*> rows;
  for (const PlannedRow& row : plan)
    if (row.reason != "filtered") rows.push_back(&row);
  print_rows(rows);
}

int explain(const std::vector<PlannedRow>& plan, const match::Matcher* matcher,
            const std::string& name) {
  std::vector<const PlannedRow*> rows;
  std::vector<std::string> names;
  const auto is_it = [&](const dump::Entry* entry) {
    if (entry == nullptr) return false;
    names.push_back(entry->operator_name);
    return entry->operator_name == name;
  };
  for (const PlannedRow& row : plan) {
    const bool target = is_it(row.target), golden = is_it(row.golden);
    if (target || golden) rows.push_back(&row);
  }
  const graph::Operator* op = matcher == nullptr ? nullptr : matcher->find(name);
  if (op == nullptr && rows.empty()) {
    if (matcher != nullptr)
      for (const graph::Operator& other : matcher->target().operators) names.push_back(other.name);
    print_error({"neither dump nor graph has such an operator", "--explain " + name,
                 did_you_mean(name, names) + "`plumb compare ... --plan` lists all of them"});
    return kTrouble;
  }
  if (op != nullptr)
    for (const std::string& line : matcher->explain(*op))
      fmt::print("{}\n", report::printable(line));
  if (matcher != nullptr && op == nullptr)
    if (const graph::Operator* made = matcher->made_of(name))
      fmt::print("{} went into {}\n", report::printable(name), report::printable(made->name));
  if (rows.empty()) {
    fmt::print("neither dump has a tensor of it\n");
  } else {
    if (op != nullptr) fmt::print("\n");
    print_rows(rows);
  }
  return kAgreement;
}

Result<void> save_map(const std::vector<PlannedRow>& plan, const std::string& path) {
  auto file = FileSink::create(path);
  if (!file) return file.error();
  std::string text = "target,golden,target slot,golden slot\n";
  for (const PlannedRow& row : plan) {
    if (!row.reason.empty() || row.golden_is_own) continue;
    text += fmt::format("{},{},{},{}\n", cell(row.target->operator_name),
                        cell(row.golden->operator_name), cell(to_string(row.target->slot)),
                        cell(to_string(row.golden->slot)));
  }
  file->write(text);
  return file->commit();
}

}  // namespace plumb::cli
