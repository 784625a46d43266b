// SPDX-License-Identifier: Apache-2.0
#include "diagnose/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "diagnose/arithmetic.h"
#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

using result::Finding;
using result::Run;
using result::Verdict;

// Of an operator with several outputs, steps or samples the row that shows it best.
size_t worst_row(const Net& net, const Node& node) {
  const auto rank = [&](size_t row) {
    const metrics::Value error = net.run.value(net.run.rows[row], "rel_euclid");
    if (!error.is_defined() || std::isnan(error.number())) return 1e300;
    return error.number();
  };
  return *std::max_element(node.outputs.begin(), node.outputs.end(),
                           [&](size_t a, size_t b) { return rank(a) < rank(b); });
}

// Looks at some of the outputs, spread over the network.
bool are_on_grids(const Net& net, Tensors& tensors) {
  if (!tensors.are_at_hand()) return false;
  std::vector<size_t> rows;
  for (const Node& node : net.nodes)
    if (!node.is_source && !node.outputs.empty()) rows.push_back(node.outputs.back());
  constexpr size_t kLooks = 9;
  size_t looked = 0, grids = 0;
  for (size_t i = 0; i < std::min(kLooks, rows.size()); ++i) {
    const auto values = tensors.glance(rows[i * rows.size() / std::min(kLooks, rows.size())]);
    const auto levels = values ? levels_of(*values) : std::nullopt;
    looked += levels.has_value();
    grids += levels && levels->is_grid;
  }
  return looked >= 6 && 2 * grids > looked;
}

// An operator that only the target has, right before a suspect: it is not golden's operator that
// computes something else, but what was put before it.
const Node* inserted_before(const Net& net, const Node& node) {
  for (const int64_t at : node.producers) {
    const Node& producer = net.nodes[static_cast<size_t>(at)];
    if (producer.inserted && !producer.is_source && !only_moves_values(producer.type))
      return &producer;
  }
  return nullptr;
}

// How the models differ there. An operator that was made from several has their differences, too.
std::vector<const graph::Difference*> differences_at(const Case& of, const Node& node, size_t row) {
  if (of.models == nullptr) return {};
  std::vector<std::string_view> target{node.name}, golden{of.run.rows[row].golden->operator_name};
  const auto place = static_cast<size_t>(&node - of.net.nodes.data());
  if (of.run.network && place < of.run.network->nodes.size())
    for (const std::string& origin : of.run.network->nodes[place].origins) {
      target.push_back(origin);
      golden.push_back(origin);
    }
  return of.models->at(target, golden);
}

Suspect suspect_of(const Case& of, const Root& root) {
  const Node& node = of.net.nodes[static_cast<size_t>(root.node)];
  Suspect suspect{of, root, node, worst_row(of.net, node), std::hypot(root.in, of.roots.noise), {},
                  {}, {},   {}};
  suspect.differences = differences_at(of, node, suspect.row);
  suspect.values = of.tensors.pair(suspect.row);
  // What an inserted operator gives out tells more than what comes of it.
  if (const Node* inserted = inserted_before(of.net, node))
    for (const int64_t producer : inserted->producers)
      for (const size_t read : of.net.nodes[static_cast<size_t>(producer)].outputs)
        if (auto values = of.tensors.pair(*inserted->inserted, read)) suspect.values = values;
  if (suspect.values == nullptr) return suspect;
  suspect.levels = levels_of(*suspect.values);
  suspect.transform = find_transform(*suspect.values, suspect.noise);
  return suspect;
}

std::vector<std::string> names_of(const Net& net, const std::vector<int64_t>& nodes) {
  std::vector<std::string> names;
  for (const int64_t node : nodes) names.emplace_back(net.nodes[static_cast<size_t>(node)].name);
  return names;
}

void explain_root(const Case& of, const Root& root, std::vector<Finding>& findings) {
  const Suspect suspect = suspect_of(of, root);
  for (const Rule& rule : rules()) {
    auto finding = rule.explain(suspect);
    if (!finding) continue;
    finding->rule = rule.name;
    finding->cause = rule.cause;
    finding->consequences = names_of(of.net, root.consequences);
    if (!rule.name.starts_with("model-")) add_differences(suspect, *finding);
    if (const Node* inserted = inserted_before(of.net, suspect.node)) {
      finding->operator_name = inserted->name;
      finding->evidence.push_back({fmt::format("{} ({}) stands before {}, and only in the target",
                                               inserted->name, inserted->type, suspect.node.name),
                                   std::nullopt, "", std::nullopt});
      finding->consequences.insert(finding->consequences.begin(), std::string(suspect.node.name));
    }
    findings.push_back(std::move(*finding));
    return;
  }
}

// What it gives out is what should have come of what it reads: it makes an error visible that it
// did not make.
bool only_amplifies(const Case& of, const Root& root) {
  const Node& node = of.net.nodes[static_cast<size_t>(root.node)];
  if (node.is_source || std::isinf(root.out) || !std::isnan(node.own)) return false;
  const auto found = follows(of.net, node, worst_row(of.net, node), of.tensors);
  return found && found->own * kStep < root.out;
}

// Nobody is to blame.
Finding accumulated(const Case& of) {
  const Roots& roots = of.roots;
  Finding finding;
  finding.rule = "accumulated";
  finding.cause = "accumulated";
  finding.confidence = 0.8;
  const auto place = [&](int64_t node) -> std::optional<int64_t> {
    const Node& each = of.net.nodes[static_cast<size_t>(node)];
    if (each.outputs.empty()) return {};
    return static_cast<int64_t>(each.outputs.front());
  };
  finding.evidence.push_back(
      {fmt::format("the relative error grows from {} to {} without a step of any single operator",
                   short_text(roots.first), short_text(roots.last)),
       std::nullopt, "rel_euclid", roots.last});
  for (size_t i = 0; i < std::min<size_t>(3, roots.contributors.size()); ++i) {
    const Node& node = of.net.nodes[static_cast<size_t>(roots.contributors[i])];
    const bool is_measured = !std::isnan(node.own);
    finding.evidence.push_back(
        {is_measured ? fmt::format("{} adds {} itself{}", node.name, short_text(node.own),
                                   i == 0 ? ", the most of all" : "")
                     : fmt::format("{}: {} in, {} out", node.name,
                                   short_text(node.in.is_known() ? node.in.relative : 0),
                                   short_text(node.out.relative)),
         place(roots.contributors[i]), is_measured ? "" : "rel_euclid",
         is_measured ? node.own : node.out.relative});
  }
  finding.advice =
      "The error accumulates over many operators: no single one is to blame. Compute with more "
      "precision (float32, or 16 bits instead of 8 where the model is quantized), in the operators "
      "that "
      "add most first.";
  finding.next = of.commands.rank_all();
  return finding;
}

// Something differs, and nothing that is at hand tells why.
Finding unknown(const Run& run, const Commands& commands) {
  Finding finding;
  finding.rule = finding.cause = "unknown";
  finding.confidence = 0.3;
  const result::Summary summary = run.summary();
  finding.evidence.push_back({fmt::format("{} of {} compared tensors differ", summary.fail,
                                          summary.rows - summary.not_compared),
                              std::nullopt, "", static_cast<double>(summary.fail)});
  if (run.command == "run" && run.network != nullptr) {
    finding.advice =
        "Only outputs were compared, so nobody can be told: --layers all compares every operator, "
        "and "
        "replays it.";
    finding.next = commands.all_layers();
  } else if (run.network == nullptr) {
    finding.advice =
        "Nothing tells which operator feeds which: give the graph of the model (--graph), and dump "
        "every operator's outputs.";
  } else {
    finding.advice = "Dump the operators before those that differ, then compare again.";
  }
  return finding;
}

// Estimated from the dumps: what an operator's inputs do not explain.
void estimate_own_errors(const Net& net, Run& run) {
  for (const Node& node : net.nodes) {
    if (!node.out.is_known() || std::isinf(node.out.relative)) continue;
    const double in = node.in.is_known() && !node.is_source ? node.in.relative : 0;
    for (const size_t place : node.outputs) {
      result::Row& row = run.rows[place];
      const metrics::Value error = run.value(row, "rel_euclid");
      if (row.own_error || !error.is_defined() || !std::isfinite(error.number()) || std::isinf(in))
        continue;
      const double inherited = std::min(in, error.number());
      row.own_error = {std::sqrt(error.number() * error.number() - inherited * inherited),
                       inherited, false};
    }
  }
}

}  // namespace

bool has_difference(const Run& run) {
  return std::any_of(run.rows.begin(), run.rows.end(), [](const result::Row& row) {
    return row.verdict == Verdict::kFail ||
           (row.verdict == Verdict::kInconclusive && row.target && row.golden);
  });
}

void explain(Run& run, Tensors tensors, const RunContext& context, const AtHand& at_hand) {
  run.findings.clear();
  Net net = net_of(run);
  estimate_own_errors(net, run);
  if (!has_difference(run)) return;
  measure_by_arithmetic(net, tensors, context);
  const Roots roots = find_roots(net);
  const Commands commands(run, at_hand.invocation);
  const Case of{run,
                net,
                roots,
                tensors,
                commands,
                at_hand.models,
                !roots.roots.empty() && are_on_grids(net, tensors)};
  for (const Root& root : roots.roots) {
    if (context.cancelled) return;
    if (!only_amplifies(of, root)) explain_root(of, root, run.findings);
  }
  std::stable_sort(run.findings.begin(), run.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.confidence > b.confidence; });
  if (run.findings.empty())
    run.findings.push_back(roots.is_accumulated && net.has_edges ? accumulated(of)
                                                                 : unknown(run, commands));
}

}  // namespace plumb::diagnose
