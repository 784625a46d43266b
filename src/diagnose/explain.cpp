// SPDX-License-Identifier: Apache-2.0
#include "diagnose/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/run_command.h"
#include "diagnose/arithmetic.h"
#include "diagnose/grids.h"
#include "diagnose/quantizers.h"
#include "diagnose/rule.h"
#include "diagnose/run_rule.h"
#include "diagnose/some_steps.h"
#include "diagnose/stretch.h"

namespace plumb::diagnose {
namespace {

using result::Finding;
using result::Run;

// Nothing fails, but something comes near a limit, or holds only the limits of a coarser type.
bool looks_odd(const Run& run) {
  return std::any_of(run.rows.begin(), run.rows.end(),
                     [](const result::Row& row) { return row.suspicious; });
}

// Of an operator with several outputs, steps or samples the row that shows it best.
size_t worst_row(const Net& net, const Node& node) {
  if (node.stands_for) return *node.stands_for;
  if (node.outputs.empty()) return node.arguments.front();
  return *std::max_element(node.outputs.begin(), node.outputs.end(), [&](size_t a, size_t b) {
    return error_of_row(net, a) < error_of_row(net, b);
  });
}

// The same of those whose tensors are at hand: of many samples only the latest one's are.
size_t shown_row(const Case& of, const Node& node, size_t worst) {
  if (of.tensors.has(worst)) return worst;
  std::optional<size_t> shown;
  for (const size_t row : node.outputs)
    if (of.tensors.has(row) && (!shown || error_of_row(of.net, row) > error_of_row(of.net, *shown)))
      shown = row;
  return shown.value_or(worst);
}

// What gives golden's tensor another type, and no more, shows the operator before it.
bool shows(const Net& net, const Node& node, const Node& producer) {
  if (!only_moves_values(node.type) || !producer.inserted) return false;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](size_t row) {
    return net.run.rows[row].golden->operator_name == producer.name;
  });
}

// An operator that only the target has, right before a suspect: it is not golden's operator that
// computes something else, but what was put before it. Quantizers and moves are looked through.
const Node* inserted_before(const Net& net, const Node& node, int hops = 4) {
  for (const int64_t at : node.producers) {
    const Node& producer = net.nodes[static_cast<size_t>(at)];
    if (!producer.inserted || producer.is_source || producer.stands_for) continue;
    if (shows(net, node, producer)) continue;
    if (!only_moves_values(producer.type) && !only_quantizes(producer.type)) return &producer;
    if (hops == 0) continue;
    if (const Node* found = inserted_before(net, producer, hops - 1)) return found;
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

// The pair of operators that quantizes belongs to what it quantizes: an output, or the weights of
// an operator; a cast to what it casts.
const Node& owner_of(const Net& net, const Node& node) {
  for (const int64_t producer : node.producers)
    if (const Node& each = net.nodes[static_cast<size_t>(producer)]; shows(net, node, each))
      return each;
  if (!only_quantizes(node.type)) return node;
  const Node* at = &node;
  for (int hops = 0; hops < 4 && may_be_in_quantizer(at->type); ++hops) {
    const auto made = std::find_if(at->producers.begin(), at->producers.end(), [&](int64_t each) {
      return !net.nodes[static_cast<size_t>(each)].is_constant;
    });
    if (made == at->producers.end()) break;
    at = &net.nodes[static_cast<size_t>(*made)];
  }
  if (!may_be_in_quantizer(at->type)) return at->is_source ? node : *at;
  const bool is_of_one = node.consumers.size() == 1 && node.producers.empty();
  return is_of_one ? net.nodes[static_cast<size_t>(node.consumers[0])] : node;
}

Suspect suspect_of(const Case& of, const Root& root) {
  const Node& node = of.net.nodes[static_cast<size_t>(root.node)];
  const Node* inserted = inserted_before(of.net, node);
  const Node& owner = owner_of(of.net, node);
  const std::string_view accused = &owner != &node       ? owner.name
                                   : inserted != nullptr ? inserted->name
                                                         : node.name;
  Suspect suspect{
      of, root, node, accused, worst_row(of.net, node), std::hypot(root.in, root.noise), {},
      {}, {},   {},   {}};
  suspect.differences = differences_at(of, node, suspect.row);
  const size_t shown = shown_row(of, node, suspect.row);
  suspect.values =
      node.stands_for ? of.tensors.pair(*node.inserted, *node.stands_for) : of.tensors.pair(shown);
  // What an inserted operator gives out tells more than what comes of it.
  if (inserted != nullptr)
    for (const int64_t producer : inserted->producers)
      for (const size_t read : of.net.nodes[static_cast<size_t>(producer)].outputs)
        if (auto values = of.tensors.pair(*inserted->inserted, read)) suspect.values = values;
  if (suspect.values == nullptr) return suspect;
  suspect.levels = levels_of(*suspect.values);
  suspect.transform = find_transform(*suspect.values, suspect.noise);
  const bool is_alone = node.origins < 2 && inserted == nullptr && !node.stands_for;
  const auto input = is_alone ? only_input(of.net, node, shown, of.tensors) : nullptr;
  suspect.slope =
      other_negative_slope(*suspect.values, input.get(), is_alone ? node.type : "", suspect.noise);
  return suspect;
}

std::vector<std::string> node_names(const Net& net, const std::vector<int64_t>& nodes) {
  std::vector<std::string> names;
  for (const int64_t node : nodes) names.emplace_back(net.nodes[static_cast<size_t>(node)].name);
  return names;
}

void explain_root(const Case& of, const Root& root, const Stretch& stretch,
                  std::vector<Finding>& findings) {
  const Suspect suspect = suspect_of(of, root);
  for (const Rule& rule : rules()) {
    auto finding = rule.explain(suspect);
    if (!finding) continue;
    finding->rule = rule.name;
    finding->cause = rule.cause;
    finding->consequences = node_names(of.net, root.consequences);
    if (!rule.name.starts_with("model-")) add_differences(suspect, *finding);
    for (result::Evidence& some : only_some_steps(of.net, suspect.node))
      finding->evidence.push_back(std::move(some));
    if (const Node* inserted = inserted_before(of.net, suspect.node)) {
      finding->evidence.push_back({fmt::format("{} ({}) stands before {}, and only in the target",
                                               inserted->name, inserted->type, suspect.node.name),
                                   std::nullopt, "", std::nullopt});
      finding->consequences.insert(finding->consequences.begin(), std::string(suspect.node.name));
    }
    if (const Node& owner = owner_of(of.net, suspect.node); &owner != &suspect.node)
      finding->evidence.push_back(
          {fmt::format("{} ({}) belongs to {}", suspect.node.name, suspect.node.type, owner.name),
           std::nullopt, "", std::nullopt});
    if (!stretch.nodes.empty() && !rule.name.starts_with("model-"))
      blame_stretch(suspect, stretch, *finding);
    const bool is_told = std::any_of(findings.begin(), findings.end(), [&](const Finding& each) {
      return each.operator_name == finding->operator_name && each.cause == finding->cause &&
             (stretch.nodes.empty() || each.detail == finding->detail);
    });
    if (!is_told) findings.push_back(std::move(*finding));
    return;
  }
}

// What came out is what should have come of what went in; or most of the error is, and golden is as
// far off the function as the target is: engines approximate small results.
bool is_excused(const Follows& found, double out) {
  if (std::max(found.own, found.misfit) * kStep < out) return true;
  constexpr double kAsFar = 1.5, kMost = 0.6;
  return found.own <= kAsFar * found.misfit && found.inherited >= kMost * out;
}

// Replayed, it gave something else; but what the target gave follows from what it read, and the
// engine that replayed is what was rough.
bool is_excused_replay(const Follows& found, double own) { return found.own * kOwnStep < own; }

// What some give out is what should have come of what they read: they make an error visible that
// they did not make.
bool look_at_amplifiers(Net& net, const Roots& roots, Tensors& tensors) {
  bool is_any = false;
  for (const Root& root : roots.roots) {
    Node& node = net.nodes[static_cast<size_t>(root.node)];
    if (node.is_source || node.outputs.empty() || std::isinf(root.out) || node.own == 0) continue;
    const auto found = follows(net, node, worst_row(net, node), tensors);
    if (!found) continue;
    if (std::isnan(node.own) ? !is_excused(*found, root.out) : !is_excused_replay(*found, node.own))
      continue;
    node.own = 0;  // nothing to speak of: it does not tell what is usual either
    is_any = true;
  }
  return is_any;
}

// What a tensor of such small numbers loses in float16 is nobody's fault.
bool look_at_small_numbers(Net& net, const Roots& roots, Tensors& tensors) {
  bool is_any = false;
  for (const Root& root : roots.roots) {
    Node& node = net.nodes[static_cast<size_t>(root.node)];
    if (node.outputs.empty() || std::isinf(root.out)) continue;
    const auto values = tensors.pair(worst_row(net, node));
    const double grain = values ? float16_grain(*values) : 0;
    if (grain <= std::max(root.noise, node.grain)) continue;
    node.grain = grain;
    is_any = true;
  }
  return is_any;
}

Roots roots_of(Net& net, Tensors& tensors) {
  Roots roots = find_roots(net);
  constexpr int kMostRounds = 4;
  const bool is_half = stores_mostly(net, "float16");
  for (int round = 0; round < kMostRounds; ++round) {
    const bool is_any = look_at_amplifiers(net, roots, tensors);
    if (!(is_half && look_at_small_numbers(net, roots, tensors)) && !is_any) break;
    roots = find_roots(net);
  }
  return roots;
}

// Nobody is to blame.
Finding accumulated(const Case& of) {
  const Roots& roots = of.roots;
  Finding finding;
  finding.rule = "accumulated";
  finding.cause = "accumulated";
  const bool grows = roots.last > roots.first;
  finding.confidence = grows ? 0.8 : 0.5;
  const auto place = [&](int64_t node) -> std::optional<int64_t> {
    const Node& each = of.net.nodes[static_cast<size_t>(node)];
    if (each.outputs.empty()) return {};
    return static_cast<int64_t>(each.outputs.front());
  };
  finding.evidence.push_back(
      {fmt::format("the relative error {} {} to {} without a step of any single operator",
                   grows ? "grows from" : "goes from", short_text(roots.first),
                   short_text(roots.last)),
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
      "precision (float32, or 16 bits instead of 8 where the model is quantized: `plumb tune` "
      "searches the cheapest mix), in the operators that add most first.";
  finding.next = of.commands.rank_all();
  if (finding.next.empty() && !roots.contributors.empty())  // the one that adds most
    if (const auto row = place(roots.contributors[0]))
      finding.next = of.commands.show(of.run.rows[static_cast<size_t>(*row)].target->operator_name);
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

// What the rows are to say of each operator: as it was measured, else what its inputs do not
// explain.
void tell_own_errors(const Net& net, Run& run) {
  const auto in_of = [](const Node& node) {
    return node.in.is_known() && !node.is_source ? node.in.relative : 0;
  };
  std::vector<const Node*> of_row(net.rows.size());  // whose output it is: the first that tells
  for (const Node& node : net.nodes) {
    if (!node.out.is_known() || std::isinf(node.out.relative) || std::isinf(in_of(node))) continue;
    if (node.unseen > 0 && std::isnan(node.own)) continue;  // whose error it is nobody knows
    for (const size_t place : node.outputs)
      if (of_row[place] == nullptr) of_row[place] = &node;
  }
  run.rows.change_each([&](size_t place, result::Row& row) {
    const double error = net.rows[place].error;
    if (of_row[place] == nullptr || row.own_error || !std::isfinite(error)) return false;
    const Node& node = *of_row[place];
    const double inherited = std::min(in_of(node), error);
    row.own_error = {std::sqrt(error * error - inherited * inherited), inherited, false};
    if (!std::isnan(node.inherited) && place == node.measured)
      row.own_error = {node.own, node.inherited, false};
    return true;
  });
}

// Own errors that nobody has to guess: measured, or made of inputs that are golden's bit for bit.
bool is_own_known(const Node& node) {
  return !std::isnan(node.own) || (node.knows_inputs && node.unseen == 0 && node.in.relative == 0 &&
                                   !node.outputs.empty() && !node.is_source);
}

// Where nothing is out of limits gains are anything: who is named must have an error of its own,
// and enough others must show that it is unusual.
class Quiet {
 public:
  explicit Quiet(const Net& net) : net_(net) {
    int64_t seen = 0, known = 0;
    for (const Node& node : net.nodes) {
      if (node.outputs.empty() || node.is_source || only_moves_values(node.type)) continue;
      ++seen;
      known += is_own_known(node);
    }
    constexpr int64_t kEnough = 3, kShare = 4;
    is_measured_ = known >= kEnough && kShare * known >= seen;
  }
  bool stands_out(const Root& root) const {
    const Node& node = net_.nodes[static_cast<size_t>(root.node)];
    if (!is_measured_ || root.after_unseen) return false;
    if (root.is_hidden) return true;
    if (!((std::isnan(node.own) ? root.out : node.own) >= kQuietLeast)) return false;
    return is_own_known(node) || (is_product(node.type) && root.ratio >= kQuietStep);
  }

 private:
  const Net& net_;
  bool is_measured_ = false;
};

// Somebody may stand out, by the rows alone: only then tensors are looked at.
bool may_stand_out(const Net& net) {
  const Roots roots = find_roots(net);
  return std::any_of(roots.roots.begin(), roots.roots.end(), [](const Root& root) {
    return root.ratio >= kOwnStep && root.out >= kQuietLeast;
  });
}

// Outputs, and the scores that a Softmax at the end makes them of.
bool compares_outputs_alone(const Net& net) {
  constexpr int kSteps = 3;
  const auto is_at_end = [&](const Node* node) {
    for (int step = 0; step < kSteps && !node->is_output && node->consumers.size() == 1; ++step)
      node = &net.nodes[static_cast<size_t>(node->consumers[0])];
    return node->is_output;
  };
  return (net.run.command == "run" || net.run.command == "quantize") &&
         std::all_of(net.nodes.begin(), net.nodes.end(),
                     [&](const Node& node) { return node.outputs.empty() || is_at_end(&node); });
}

void explain_operators(Run& run, bool fails, Tensors& tensors, const RunContext& context,
                       const AtHand& at_hand) {
  run.findings.clear();
  Net net = net_of(run);
  const bool is_odd = looks_odd(run);
  const bool is_worth_it = fails || is_odd || may_stand_out(net);
  if (is_worth_it) {
    look_at_quantizers(net, tensors, context);
    measure_by_arithmetic(net, tensors, context,
                          !fails          ? kLittleWork
                          : net.has_edges ? kMostWork
                                          : kGuessingWork);
  }
  tell_own_errors(net, run);
  if (!is_worth_it) return;
  const bool has_quantizers = std::any_of(net.nodes.begin(), net.nodes.end(),
                                          [](const Node& node) { return node.stands_for; });
  const bool is_on_grids = look_at_grids(net, tensors, context) || has_quantizers;
  Roots roots = roots_of(net, tensors);
  // Of a model that was run for its outputs alone there is more to say.
  if (compares_outputs_alone(net))
    std::erase_if(roots.roots, [](const Root& root) { return root.after_unseen; });
  const std::vector<Stretch> stretches = stretches_of(net, roots);
  const Commands commands(run, at_hand.invocation);
  const Case of{run, net, roots, tensors, commands, at_hand.models, is_on_grids};
  const Quiet quiet(net);
  for (size_t i = 0; i < roots.roots.size() && !context.cancelled; ++i)
    if (fails || quiet.stands_out(roots.roots[i]))
      explain_root(of, roots.roots[i], stretches[i], run.findings);
  if (context.cancelled) return;
  // That values stand on a grid is no news where somebody quantized and all limits hold.
  if (!fails && !is_odd)
    std::erase_if(run.findings, [](const Finding& each) { return each.rule == "levels"; });
  std::stable_sort(run.findings.begin(), run.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.confidence > b.confidence; });
  // Of a board's files the outputs are known, and that it ran the same model.
  if (!run.findings.empty() || !fails || run.scenario == "board-vs-simulator") return;
  // The order of execution alone tells that only of what is really out of limits.
  constexpr double kGrowth = 2;  // of the error, from where it begins to the end
  const bool is_known = net.has_edges || (run.is_ordered && run.summary().fail > 0 &&
                                          roots.last >= kGrowth * roots.first);
  run.findings.push_back(roots.is_accumulated && is_known ? accumulated(of)
                                                          : unknown(run, commands));
}

}  // namespace

void explain(Run& run, Tensors tensors, const RunContext& context, const AtHand& at_hand) {
  const bool fails = differs(run);
  explain_operators(run, fails, tensors, context, at_hand);
  if (!context.cancelled) explain_as_a_whole(run, fails);
}

Invocation invocation_of(const Spec& spec) {
  if (spec.target.path.empty() || spec.golden.path.empty()) return {};
  std::string command = fmt::format("plumb compare {} {}", shell_word(spec.target.path),
                                    shell_word(spec.golden.path));
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {} {}", option, shell_word(value));
  };
  for (const std::string& op : spec.selection.ops) add("--op", op);
  add("--graph", spec.target.graph);
  add("--golden-graph", spec.golden.graph);
  add("--quant", spec.quant);
  add("--mode", spec.mode);
  add("--map", spec.name_map);
  add("--profile", spec.profile);
  if (spec.atol) add("--atol", fmt::format("{}", *spec.atol));
  if (spec.rtol) add("--rtol", fmt::format("{}", *spec.rtol));
  add("--precision", spec.precision);
  add("--floor", spec.floor);
  add("--metrics", fmt::format("{}", fmt::join(spec.metrics, ",")));
  add("--baseline", spec.baseline);
  return {command, {}};
}

void explain_comparison(Run& run, const Session& session, const RunContext& context,
                        Invocation invocation) {
  const ModelPaths paths = models_of(run);
  std::optional<ModelDifferences> models;
  if (!paths.target.empty() && !paths.golden.empty() && differs(run))
    if (auto loaded = ModelDifferences::load({paths.target, {}, paths.golden, {}}))
      models = std::move(*loaded);
  explain(run, Tensors(&session), context, {models ? &*models : nullptr, std::move(invocation)});
}

}  // namespace plumb::diagnose
