// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

using pair::PlannedRow;

std::string tensor_of(const dump::Entry& entry) {
  return report::printable(entry.operator_name.str() + " " + to_string(entry.slot));
}

std::string why_not(const PlannedRow& row) {
  std::string why(row.reason);
  if (!row.message.empty()) why += ": " + report::printable(row.message);
  return why;
}

// "  output:0  = golden relu1 output:0", with what follows lined up.
struct AlignedLines {
  std::vector<std::pair<std::string, std::string>> lines;

  void print() const {
    size_t width = 0;
    for (const auto& [slot, text] : lines) width = std::max(width, slot.size());
    for (const auto& [slot, text] : lines) fmt::print("  {:<{}}  {}\n", slot, width, text);
  }
};

// What a damaged file should have held is not an entry of its side.
std::string beside(const PlannedRow& row, const char* side) {
  return row.rare().damaged == nullptr
             ? "has no partner, "
             : fmt::format("against {} {}, ", side, report::printable(row.rare().damaged->file));
}

void explain_target(const std::vector<const PlannedRow*>& rows) {
  AlignedLines lines;
  for (const PlannedRow* row : rows) {
    std::string text = row->golden != nullptr ? "= golden " + tensor_of(*row->golden)
                                              : beside(*row, "golden") + why_not(*row);
    if (row->golden != nullptr && !row->rule.empty())
      text += fmt::format(", by {}{}{}", row->rule, row->evidence.empty() ? "" : ": ",
                          report::printable(row->evidence));
    lines.lines.emplace_back(report::printable(to_string(row->target->slot)), text);
  }
  lines.print();
}

// Which tensors of the target are compared with each of its own; how is told with those.
void explain_golden(const std::vector<const PlannedRow*>& rows) {
  AlignedLines lines;
  for (const PlannedRow* row : rows) {
    const std::string slot = report::printable(to_string(row->golden->slot));
    if (row->target == nullptr)
      lines.lines.emplace_back(slot, beside(*row, "target") + why_not(*row));
    else if (!lines.lines.empty() && lines.lines.back().first == slot)
      lines.lines.back().second += ", " + tensor_of(*row->target);
    else
      lines.lines.emplace_back(slot, "= target " + tensor_of(*row->target));
  }
  lines.print();
}

}  // namespace

void print_plan(const std::vector<PlannedRow>& plan, bool has_graph) {
  report::Table table;
  table.columns = {
      {"target", false, 9, true}, {"golden", false, 9, true}, {"paired by"}, {"why not"}};
  const auto name = [](const dump::Entry* entry) {
    return entry == nullptr ? std::string("-") : tensor_of(*entry);
  };
  size_t pairs = 0;
  for (const PlannedRow& row : plan) {
    if (row.reason == "filtered") continue;
    std::string rule(row.rule);
    // What a graph records fills lines; --explain prints them.
    if (!row.evidence.empty() && !has_graph) rule += ", " + report::printable(row.evidence);
    table.rows.push_back({name(row.target), name(row.golden), rule, why_not(row)});
    pairs += row.reason.empty();
  }
  fmt::print("{}", table.render(terminal_width()));
  if (has_graph)
    fmt::print("\n{} paired, {} not; --explain OPERATOR says how and why\n", pairs,
               table.rows.size() - pairs);
}

int explain(const std::vector<PlannedRow>& plan, const pair::Matcher* matcher,
            const std::string& name) {
  std::vector<const PlannedRow*> as_target, as_golden;
  std::vector<std::string> names;
  const auto add_if_it = [&](const dump::Entry* entry, const PlannedRow& row, auto& rows) {
    if (entry == nullptr) return;
    names.push_back(entry->operator_name);
    if (entry->operator_name == name) rows.push_back(&row);
  };
  for (const PlannedRow& row : plan) {
    add_if_it(row.target, row, as_target);
    if (!row.golden_is_own) add_if_it(row.golden, row, as_golden);
  }
  const graph::Operator* op = matcher == nullptr ? nullptr : matcher->find(name);
  if (op == nullptr && as_target.empty() && as_golden.empty()) {
    if (matcher != nullptr)
      for (const graph::Operator& other : matcher->target().operators) names.push_back(other.name);
    print_error({"neither dump nor graph has such an operator", "--explain " + name,
                 did_you_mean(name, names) + "`plumb compare ... --plan` lists all of them"});
    return kTrouble;
  }
  if (op != nullptr)
    for (const std::string& line : pair::describe(*op)) fmt::print("{}\n", report::printable(line));
  else if (!as_target.empty())
    fmt::print("{}\n", report::printable(name));
  if (as_target.empty() && op != nullptr) fmt::print("  target dumped no tensor of it\n");
  explain_target(as_target);
  // What only its namesake is compared with has been told.
  if (std::all_of(as_golden.begin(), as_golden.end(), [&](const PlannedRow* row) {
        return row->target != nullptr && row->target->operator_name == name;
      }))
    return kAgreement;
  const graph::Operator* made = matcher == nullptr ? nullptr : matcher->made_of(name);
  fmt::print("golden {}{}\n", report::printable(name),
             made == nullptr || made == op ? "" : ", went into " + report::printable(made->name));
  std::stable_sort(as_golden.begin(), as_golden.end(), [](const auto* a, const auto* b) {
    return to_string(a->golden->slot) < to_string(b->golden->slot);
  });
  explain_golden(as_golden);
  return kAgreement;
}

Result<void> save_map(const std::vector<PlannedRow>& plan, const std::string& path) {
  std::vector<pair::TensorPair> pairs;
  for (const PlannedRow& row : plan)
    if (row.reason.empty() && !row.golden_is_own)
      pairs.push_back({{row.target->operator_name, row.target->slot},
                       {row.golden->operator_name, row.golden->slot}});
  return pair::save_name_map(pairs, path);
}

}  // namespace plumb::cli
