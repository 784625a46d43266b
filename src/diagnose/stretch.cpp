// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stretch.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plumb::diagnose {
namespace {

using result::Finding;
using result::Row;

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  if (names.size() == 1) return names[0];
  if (names.size() > kMost)
    return fmt::format("{} to {} ({} operators)", names.front(), names.back(), names.size());
  const std::span most(names.data(), names.size() - 1);
  return fmt::format("{} and {}", fmt::join(most, ", "), names.back());
}

// What nobody compared, and why.
struct Unseen {
  std::vector<std::string> names;                                       // in order of execution
  std::string shown;                                                    // one that the target has
  bool in_target = false, only_in_golden = false, is_filtered = false;  // any of them
};

void add_lost(const Row& row, Unseen& unseen) {
  unseen.is_filtered |= row.is_filtered();
  unseen.in_target |= row.target.has_value();
  unseen.only_in_golden |= !row.target;
  if (row.target && unseen.shown.empty()) unseen.shown = row.target->operator_name;
}

Unseen unseen_of(const Net& net, const Stretch& stretch, int64_t seen) {
  Unseen unseen;
  for (const size_t place : stretch.rows) {
    const Row& row = net.run.rows[place];
    if (const std::string& name = row.any_side().operator_name;
        unseen.names.empty() || unseen.names.back() != name)
      unseen.names.push_back(name);
    add_lost(row, unseen);
  }
  std::vector<bool> is_asked(net.nodes.size(), false);
  for (const int64_t at : stretch.nodes) {
    if (at == seen) continue;
    is_asked[static_cast<size_t>(at)] = true;
    unseen.names.emplace_back(net.nodes[static_cast<size_t>(at)].name);
  }
  if (!stretch.rows.empty()) return unseen;
  int64_t found = 0;
  for (const Row& row : net.run.rows)
    if (row.node >= 0 && is_asked[static_cast<size_t>(row.node)] &&
        row.any_side().slot.starts_with("output")) {
      add_lost(row, unseen);
      ++found;
    }
  unseen.only_in_golden |= found < std::ssize(unseen.names);  // or nowhere
  return unseen;
}

std::string advice_of(const Unseen& unseen, const Suspect& suspect) {
  const std::string those = some_of(unseen.names);
  if (unseen.is_filtered)
    return fmt::format("Compare without a selection: it leaves out {}.", those);
  if (suspect.of.run.command == "run")
    return fmt::format(
        "The engines do not both show {}: run the target without fusing "
        "(--target-optimization disabled), and compare all layers again.",
        those);
  if (!suspect.of.net.has_edges && !unseen.in_target)
    return fmt::format(
        "The target has no {}: it is missing there, or was not dumped. Dump every "
        "operator, give the graph (--graph), and compare again.",
        those);
  const std::string_view side = !unseen.only_in_golden ? "on golden's side"
                                : !unseen.in_target    ? "on the target's side"
                                                       : "on both sides";
  return fmt::format("Dump {} {} as well, and compare again{}.", those, side,
                     unseen.names.size() < 3 ? ""
                                             : fmt::format(": {} first, which halves what is left",
                                                           unseen.names[unseen.names.size() / 2]));
}

std::string next_of(const Unseen& unseen, const Suspect& suspect) {
  const Commands& commands = suspect.of.commands;
  std::string next = unseen.is_filtered ? commands.compare_all() : "";
  if (next.empty() && !unseen.shown.empty()) next = commands.show(unseen.shown);
  return next.empty() ? commands.show(suspect.its_row().target->operator_name) : next;
}

// How the models differ at one of them: that would explain it.
void add_model_differences(const Suspect& suspect, const Stretch& stretch, Finding& finding) {
  if (suspect.of.models == nullptr) return;
  constexpr size_t kMost = 3;
  size_t told = 0;
  for (const int64_t at : stretch.nodes) {
    const std::string_view name = suspect.of.net.nodes[static_cast<size_t>(at)].name;
    for (const graph::Difference* each : suspect.of.models->at({name}, {name}))
      if (told++ < kMost)
        finding.evidence.push_back({"the models differ: " + each->message, std::nullopt, "", {}});
  }
}

// What one operator did shows about as large in all that read it.
bool are_alike(const Root& a, const Root& b) {
  constexpr double kAlike = 10;
  if (std::isinf(a.out) || std::isinf(b.out)) return std::isinf(a.out) && std::isinf(b.out);
  return a.out <= kAlike * b.out && b.out <= kAlike * a.out;
}

std::vector<int64_t> common(const Stretch& a, const Stretch& b) {
  std::vector<int64_t> both;
  std::copy_if(a.nodes.begin(), a.nodes.end(), std::back_inserter(both), [&](int64_t node) {
    return std::find(b.nodes.begin(), b.nodes.end(), node) != b.nodes.end();
  });
  return both;
}

// Whether a rule saw the cause in the values, whoever made them.
bool saw_cause(std::string_view rule) { return rule != "operator" && rule != "fusion"; }

}  // namespace

Stretch stretch_to(const Net& net, const Root& root) {
  Stretch stretch;
  if (!net.has_edges) {
    stretch.nodes = {root.node};
    stretch.rows = lost_before(net, net.nodes[static_cast<size_t>(root.node)]);
    std::reverse(stretch.rows.begin(), stretch.rows.end());
    return stretch;
  }
  std::vector<bool> is_reached(net.nodes.size(), false);
  std::vector<int64_t> ahead{root.node};
  while (!ahead.empty()) {
    const int64_t at = ahead.back();
    ahead.pop_back();
    if (is_reached[static_cast<size_t>(at)]) continue;
    is_reached[static_cast<size_t>(at)] = true;
    const Node& node = net.nodes[static_cast<size_t>(at)];
    for (size_t i = 0; i < node.producers.size(); ++i)
      if (!node.shown[i]) ahead.push_back(node.producers[i]);
  }
  for (const int64_t at : net.order)
    if (is_reached[static_cast<size_t>(at)] &&
        (at == root.node || !hands_on(net.nodes[static_cast<size_t>(at)])))
      stretch.nodes.push_back(at);
  return stretch;
}

std::vector<Stretch> stretches_of(const Net& net, Roots& roots) {
  std::vector<Stretch> stretches;
  std::vector<Root> kept;
  for (Root& root : roots.roots) {
    Stretch stretch = root.after_unseen ? stretch_to(net, root) : Stretch();
    size_t place = 0;
    std::vector<int64_t> both;
    for (; place < kept.size() && both.empty(); ++place)
      if (are_alike(kept[place], root)) both = common(stretches[place], stretch);
    if (both.empty()) {
      kept.push_back(std::move(root));
      stretches.push_back(std::move(stretch));
    } else {
      stretches[place - 1].nodes = std::move(both);
      kept[place - 1].consequences.push_back(root.node);
    }
  }
  roots.roots = std::move(kept);
  return stretches;
}

void blame_stretch(const Suspect& suspect, const Stretch& stretch, Finding& finding) {
  const Root& root = suspect.root;
  const Unseen unseen = unseen_of(suspect.of.net, stretch, root.node);
  finding.operator_name.clear();
  std::vector<std::string> suspects = unseen.names;
  if (std::find(stretch.nodes.begin(), stretch.nodes.end(), root.node) != stretch.nodes.end())
    suspects.emplace_back(suspect.node.name);
  const bool tells_cause = saw_cause(finding.rule);
  const std::string_view there = suspect.node.name;
  std::vector<result::Evidence> evidence{
      std::isinf(root.out)
          ? result::Evidence{fmt::format("{} differs", there),
                             static_cast<int64_t>(suspect.row),
                             "",
                             {}}
          : evidence_of(suspect,
                        fmt::format("{} has a relative error of {}", there, short_text(root.out)),
                        "rel_euclid", root.out)};
  if (suspect.node.in.is_known())
    evidence.push_back({fmt::format("what was compared last before it has {}", short_text(root.in)),
                        std::nullopt, "", root.in});
  evidence.push_back({fmt::format("not compared in between: {}", some_of(unseen.names)),
                      std::nullopt, "", static_cast<double>(unseen.names.size())});
  if (tells_cause) {  // what a rule saw there, but not its step
    std::move(finding.evidence.begin() + (std::isinf(root.out) ? 0 : 1), finding.evidence.end(),
              std::back_inserter(evidence));
  } else {
    finding.rule = "unseen";
    finding.cause = "unknown";
  }
  finding.detail = fmt::format("among:{}", fmt::join(suspects, ","));
  finding.evidence = std::move(evidence);
  if (!tells_cause) add_model_differences(suspect, stretch, finding);
  // Within limits it may be what is normal for operators that nobody has seen.
  constexpr double kPasses = 0.7;
  if (!suspect.node.fails) finding.confidence *= kPasses;
  finding.advice = advice_of(unseen, suspect);
  finding.next = next_of(unseen, suspect);
}

}  // namespace plumb::diagnose
