// SPDX-License-Identifier: Apache-2.0
#include "pair/standing.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "pair/operator_kinds.h"

namespace plumb::pair {
namespace {

constexpr size_t kMostBetween = 64;  // operators that one fusion may span

// One side as the other sees it: the same code works in both directions.
struct Side {
  const Net& net;
  const std::vector<int>& partner;          // by operator
  std::string_view other;                   // what the other side is called
  std::map<Ref, std::set<Ref>> alike = {};  // tensors of the other side that are read as it is
  std::map<Ref, Ref>& standing;
  std::map<int, std::vector<int>>& inside;  // operators of the other side, by own one
  std::map<Ref, graph::Absence>& absence;
  std::set<int> exchanged = {};  // gives a tensor, though it has no counterpart
  std::set<int> turned = {};     // has one that gives it with axes in another order

  bool is_free(int op) const { return partner[at(op)] == kNone; }
};

// Operators without a counterpart, by kind, the nearest pair, and whether that is before them.
using Rivals = std::map<std::tuple<std::string, int, bool>, std::vector<int>>;

// Operators of a side without a counterpart on the way back from one to another, which is not among
// them; empty if the way does not lead there.
std::vector<int> between(const Side& side, int from, int to) {
  std::vector<int> found{to};
  bool arrives = false;
  for (size_t i = 0; i < found.size() && found.size() < kMostBetween; ++i)
    for (const Ref& input : side.net.main.in(found[i])) {
      arrives |= input.op == from;
      if (side.is_free(input.op) && side.net.is_main(input.op) &&
          std::find(found.begin(), found.end(), input.op) == found.end())
        found.push_back(input.op);
    }
  std::reverse(found.begin(), found.end());
  return arrives ? found : std::vector<int>();
}

// Back through what only reshapes and has no counterpart.
Ref reshaped_from(const Side& side, Ref tensor) {
  while (side.is_free(tensor.op) && side.net.is_main(tensor.op) &&
         side.net.kind(tensor.op) == "reshape" && side.net.main.in(tensor.op).size() == 1)
    tensor = side.net.main.in(tensor.op).front();
  return tensor;
}

// The tensor of the other side that is read as this one. Of several it is the only one of the same
// shape, else the first of them, if all others are made from that by what has no counterpart, else
// the one that they are reshaped from.
Ref read_as(const Side& side, const Ref& tensor, const Side& others) {
  const auto found = side.alike.find(tensor);
  if (found == side.alike.end()) return {};
  std::vector<Ref> places(found->second.begin(), found->second.end());
  const auto is_other = [&](const Ref& place) {
    return shapes_of(side.net, tensor, others.net, place) != Shapes::kSame;
  };
  if (!std::all_of(places.begin(), places.end(), is_other)) std::erase_if(places, is_other);
  for (const Ref& first : places)
    if (std::all_of(places.begin(), places.end(), [&](const Ref& place) {
          return place == first ||
                 (others.is_free(place.op) && !between(others, first.op, place.op).empty());
        })) {
      const Ref source = reshaped_from(others, first);
      return !is_same_shape(side.net, tensor, others.net, first) &&
                     is_same_shape(side.net, tensor, others.net, source)
                 ? source
                 : first;
    }
  std::set<Ref> sources;
  for (const Ref& place : places) sources.insert(reshaped_from(others, place));
  return sources.size() == 1 ? *sources.begin() : Ref();
}

class Stander {
 public:
  Stander(const Net& target, const Net& golden, const Aligned& aligned, Standing& out)
      : aligned_(aligned),
        t_{target,        aligned.golden_of, "golden",          {},
           out.golden_of, out.in_target,     out.target_absence},
        g_{golden,        aligned.target_of, "target",          {},
           out.target_of, out.in_golden,     out.golden_absence} {}

  void run(const SameTensors& told) {
    for (const auto& [own, theirs] : told) take_told(own, theirs);
    find_places();
    for (Side* side : {&t_, &g_}) find_fusions(*side, other(*side), false);
    pair_exchanged();
    for (Side* side : {&t_, &g_}) find_fusions(*side, other(*side), true);
    pair_outputs();
    pair_plainly();
    for (Side* side : {&t_, &g_}) stand_for_integers(*side, other(*side));
    for (Side* side : {&t_, &g_}) tell_absences(*side, other(*side));
  }

 private:
  Side& other(const Side& side) { return &side == &t_ ? g_ : t_; }

  void stand(const Side& side, const Ref& own, const Ref& theirs) {
    (&side == &t_ ? t_ : g_).standing[own] = theirs;
    (&side == &t_ ? g_ : t_).standing[theirs] = own;
  }

  // What is fused into an operator lies between its counterpart and the tensor that it gives.
  void take_told(const Ref& own, const Ref& theirs) {
    stand(t_, own, theirs);
    for (const auto& [side, tensor, others, end] :
         {std::tuple{&t_, own, &g_, theirs}, std::tuple{&g_, theirs, &t_, own}}) {
      const Ref host = computed_by(*side, tensor);
      if (side->is_free(host.op) || side->partner[at(host.op)] == end.op) continue;
      const Ref counterpart{side->partner[at(host.op)], host.output};
      const std::vector<int> extra = between(*others, counterpart.op, end.op);
      if (extra.empty()) continue;
      auto& inside = side->inside[host.op];
      inside.insert(inside.end(), extra.begin(), extra.end());
      withdrawn(*others).insert(counterpart);
      if (host != tensor) withdrawn(*side).insert(host);
    }
  }

  // Back through what hands values on, and through reshapes that the other side has not.
  static Ref computed_by(const Side& side, Ref tensor) {
    for (size_t steps = 0; steps < kMostBetween; ++steps) {
      const bool is_passed = side.net.is_transparent(tensor.op) ||
                             (side.is_free(tensor.op) && side.net.kind(tensor.op) == "reshape");
      const auto& inputs = side.net.plain.in(tensor.op);
      if (!is_passed || inputs.empty()) break;
      tensor = inputs.front();
    }
    return tensor;
  }

  void find_places() {
    const auto add = [&](const Ref& target, const Ref& golden) {
      t_.alike[target].insert(golden);
      g_.alike[golden].insert(target);
    };
    for (int op = 0; op < t_.net.size(); ++op)
      if (t_.net.is_main(op) && !t_.is_free(op))
        for (const auto& [target, golden] :
             inputs_of_pair(aligned_, t_.net, g_.net, &Net::main, op))
          add(target, golden);
    for (const auto& [target, golden] : aligned_.sources) add(target, golden);
  }

  // Paired operators of which the other one is followed by what this one did, too: its output is
  // what comes out behind that. First where readers tell, then where nothing speaks against it.
  void find_fusions(Side& side, Side& others, bool guesses) {
    for (int op = 0; op < side.net.size(); ++op) {
      if (!side.net.is_main(op) || side.is_free(op) || side.net.kind(op) == "data") continue;
      for (int64_t k = 0; k < side.net.outputs(op); ++k)
        find_fusion(side, {op, k}, others, guesses);
    }
  }

  void find_fusion(Side& side, const Ref& own, Side& others, bool guesses) {
    const Ref counterpart{side.partner[at(own.op)], own.output};
    if (side.standing.contains(own)) return;
    if (guesses && (side.alike.contains(own) || withdrawn(side).contains(own))) return;
    Ref end = guesses ? folded_end(side, own, others) : read_as(side, own, others);
    if (end.op == kNone || !others.is_free(end.op) || others.standing.contains(end)) return;
    if (others.alike.contains(end) && read_as(others, end, side) != own) return;
    std::vector<int> extra = between(others, counterpart.op, end.op);
    leave_prefixes(side, own, others, extra, end);
    if (extra.empty() || !can_absorb(side, own, others, counterpart, extra)) return;
    stand(side, guesses ? reshaped_as(side, own, others, end) : own, end);
    auto& inside = side.inside[own.op];
    inside.insert(inside.end(), extra.begin(), extra.end());
    withdrawn(others).insert(counterpart);
  }

  // What only reshapes the tensor to the shape of the other one is nearer to that than itself.
  Ref reshaped_as(Side& side, const Ref& own, const Side& others, const Ref& end) {
    const auto readers = side.net.main.readers_of(own);
    if (is_same_shape(side.net, own, others.net, end) || readers.size() != 1 ||
        !side.is_free(readers[0]) || side.net.kind(readers[0]) != "reshape" ||
        !is_same_shape(side.net, {readers[0], 0}, others.net, end))
      return own;
    withdrawn(side).insert(own);
    return {readers[0], 0};
  }

  // Where readers tell nothing: the last of the affine operators that nobody but the next one
  // reads, or the transposition that leads to the same order of axes.
  static Ref folded_end(const Side& side, const Ref& own, const Side& others) {
    const int host = own.op;
    Ref end{side.partner[at(host)], own.output};
    if (const auto readers = others.net.main.readers_of(end);
        readers.size() == 1 && others.is_free(readers[0]) && moves(others.net.kind(readers[0])))
      return {readers[0], 0};
    for (size_t steps = 0; steps < kMostBetween; ++steps) {
      const auto readers = others.net.main.readers_of(end);
      if (readers.size() != 1 || others.net.main.is_output(end) || !others.is_free(readers[0]) ||
          !is_affine(others.net.kind(readers[0]), others.net.main.in(readers[0]).size()) ||
          is_followed_by(side, host, others.net.kind(readers[0])))
        break;
      end = {readers[0], 0};
    }
    return end.op == side.partner[at(host)] || side.net.constants(host).empty() ? Ref() : end;
  }

  static bool is_followed_by(const Side& side, int op, const std::string& kind) {
    const auto readers = side.net.main.readers_of({op, 0});
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      return side.is_free(reader) && side.net.kind(reader) == kind;
    });
  }

  // A padding went into who reads it, and so does a transposition if that one is fused.
  static void leave_prefixes(Side& side, const Ref& own, const Side& others,
                             std::vector<int>& extra, Ref& end) {
    const auto readers = side.net.main.readers_of(own);
    const bool is_fused = std::all_of(readers.begin(), readers.end(), [&](int reader) {
      return side.net.at(reader).type.find("Fused") != std::string::npos;
    });
    const auto is_left = [&](const std::string& kind) {
      return is_prefix(kind) || (is_fused && kind == "transpose");
    };
    while (!extra.empty() && is_left(others.net.kind(extra.back())) &&
           others.net.main.in(extra.back()).size() == 1) {
      for (const int reader : side.net.main.readers_of(own))
        if (!side.is_free(reader)) side.inside[reader].push_back(extra.back());
      end = others.net.main.in(extra.back()).front();
      extra.pop_back();
    }
  }

  bool can_absorb(const Side& host_side, const Ref& host, const Side& others,
                  const Ref& counterpart, const std::vector<int>& extra) const {
    const std::string& type = host_side.net.at(host.op).type;
    // The same values in the other's order of axes.
    if (std::all_of(extra.begin(), extra.end(), [&](int op) { return moves(others.net.kind(op)); }))
      return shapes_of(host_side.net, host, others.net, counterpart) == Shapes::kOtherOrder &&
             shapes_of(host_side.net, host, others.net, {extra.back(), 0}) == Shapes::kSame;
    if (!host_side.net.is_exact || type.find("Fused") != std::string::npos ||
        type.starts_with("QLinear") || host_side.net.block(host.op) > 1)
      return true;
    // Folded into the weights, which then are no more what they were.
    const auto& own = host_side.net.constants(host.op);
    const auto& theirs = others.net.constants(counterpart.op);
    if (!has_weights(host_side.net.kind(host.op)) || (!own.empty() && own == theirs)) return false;
    return std::all_of(extra.begin(), extra.end(), [&](int op) {
      return is_affine(others.net.kind(op), others.net.main.in(op).size());
    });
  }

  // Neither has a counterpart, but those around them are each other's.
  void pair_exchanged() {
    for (Side* side : {&t_, &g_})
      for (const auto& [own, places] : side->alike)
        if (const Ref theirs = read_as(*side, own, other(*side)); theirs.op != kNone)
          pair_exchanged(*side, own, other(*side), theirs);
  }

  void pair_exchanged(Side& side, Ref own, Side& others, Ref theirs) {
    const auto is_open = [](const Side& one, const Ref& ref) {
      return one.is_free(ref.op) && one.net.is_main(ref.op) && !one.standing.contains(ref);
    };
    if (!is_open(side, own) || !is_open(others, theirs)) return;
    if (others.alike.contains(theirs) && read_as(others, theirs, side) != own) return;
    own = without_factor(side, own, others, theirs);
    theirs = without_factor(others, theirs, side, own);
    std::vector<int> extra{theirs.op};
    leave_prefixes(side, own, others, extra, theirs);
    extra = {own.op};
    leave_prefixes(others, theirs, side, extra, own);
    if (!is_open(side, own) || !is_open(others, theirs) || !is_alike(side, own, others, theirs))
      return;
    if (side.net.kind(own.op) == "reshape" && others.net.kind(theirs.op) == "reshape" &&
        shapes_of(side.net, own, others.net, theirs) == Shapes::kOtherOrder) {
      // In another order of axes, or wrong: what they read will tell.
      in_doubt_[&side == &t_ ? own.op : theirs.op] = &side == &t_ ? theirs.op : own.op;
      return;
    }
    take_exchanged(side, own, others, theirs);
  }

  // A factor in front of an addition belongs to it where the other side has an Eltwise, which may
  // have factors of its own.
  static Ref without_factor(const Side& side, const Ref& own, const Side& others,
                            const Ref& theirs) {
    const auto& inputs = side.net.main.in(own.op);
    if (inputs.size() != 1 || side.net.kind(own.op) != "mul" || !side.is_free(inputs.front().op) ||
        side.standing.contains(inputs.front()))
      return own;
    const auto own_readers = side.net.main.readers_of(own);
    const auto is_factor = [&](int reader) {
      return others.net.kind(reader) == "eltwise" && !others.is_free(reader) &&
             std::find(own_readers.begin(), own_readers.end(), others.partner[at(reader)]) !=
                 own_readers.end();
    };
    const auto readers = others.net.main.readers_of(theirs);
    return std::any_of(readers.begin(), readers.end(), is_factor) ? inputs.front() : own;
  }

  void take_exchanged(Side& side, const Ref& own, Side& others, const Ref& theirs) {
    stand(side, own, theirs);
    side.exchanged.insert(own.op);
    others.exchanged.insert(theirs.op);
    withdraw_hosts(side, others, own.op, theirs.op);
    withdraw_hosts(others, side, theirs.op, own.op);
  }

  // One operator for one may give what it wants; of several, what comes out is no other shape.
  static bool is_alike(const Side& side, const Ref& own, const Side& others, const Ref& theirs) {
    const Shapes shapes = shapes_of(side.net, own, others.net, theirs);
    if (shapes == Shapes::kSame || shapes == Shapes::kUnknown) return true;
    const auto is_alone = [](const Side& one, int op) {
      const auto& inputs = one.net.main.in(op);
      return std::none_of(inputs.begin(), inputs.end(),
                          [&](const Ref& input) { return one.is_free(input.op); });
    };
    const std::string &kind = side.net.kind(own.op), &other = others.net.kind(theirs.op);
    return is_alone(side, own.op) && is_alone(others, theirs.op) &&
           (kind == other || (!moves(kind) && !moves(other)));
  }

  // What only moves values stands where the other side computes: the operator before it did that.
  void withdraw_hosts(Side& side, Side& others, int own, int theirs) {
    for (const int host : nearest_pairs(side.net, side.partner, own, true)) {
      const int counterpart = side.partner[at(host)];
      const std::vector<int> moved = between(side, host, own);
      std::vector<int> computed = between(others, counterpart, theirs);
      std::erase_if(computed, [&](int op) { return moves(others.net.kind(op)); });
      if (moved.empty() || computed.empty() ||
          !std::all_of(moved.begin(), moved.end(),
                       [&](int op) { return moves(side.net.kind(op)); }) ||
          !can_absorb(side, {host, 0}, others, {counterpart, 0}, computed))
        continue;
      withdrawn(side).insert({host, 0});
      withdrawn(others).insert({counterpart, 0});
    }
  }

  // What one model gives out as it was computed, and the other hands on once more.
  void pair_outputs() {
    const auto belong = [&](const Side& side, const Ref& own, const Side& others,
                            const Ref& theirs) {
      return !side.is_free(own.op) && others.is_free(theirs.op) &&
             others.net.is_transparent(theirs.op) && !side.standing.contains(own) &&
             !others.standing.contains(theirs);
    };
    for (const auto& [own, theirs] : aligned_.outputs) {
      if (belong(t_, own, g_, theirs))
        withdrawn_golden_.insert({t_.partner[at(own.op)], own.output});
      else if (belong(g_, theirs, t_, own))
        withdrawn_target_.insert({g_.partner[at(theirs.op)], theirs.output});
      else
        continue;
      stand(t_, own, theirs);
    }
  }

  void pair_plainly() {
    for (const int op : t_.net.order) {
      if (t_.is_free(op)) {
        settle_doubt(op);
        continue;
      }
      const int counterpart = t_.partner[at(op)];
      if (has_activation(t_, op) != has_activation(g_, counterpart) &&
          !t_.standing.contains({op, 0}) && !g_.standing.contains({counterpart, 0})) {
        withdrawn_target_.insert({op, 0});
        withdrawn_golden_.insert({counterpart, 0});
      }
      if (is_turned(op)) {
        t_.turned.insert(op);
        g_.turned.insert(counterpart);
        continue;
      }
      for (int64_t k = 0; k < t_.net.outputs(op); ++k) {
        const Ref own{op, k}, theirs{counterpart, k};
        if (!withdrawn_target_.contains(own) && !withdrawn_golden_.contains(theirs) &&
            !t_.standing.contains(own) && !g_.standing.contains(theirs))
          stand(t_, own, theirs);
      }
    }
  }

  void settle_doubt(int op) {
    const auto found = in_doubt_.find(op);
    if (found == in_doubt_.end()) return;
    const int theirs = found->second;
    if (t_.standing.contains({op, 0}) || g_.standing.contains({theirs, 0})) return;
    const auto reads_turned = [](const Side& side, int each) {
      const auto& inputs = side.net.main.in(each);
      return inputs.size() == 1 && side.turned.contains(inputs.front().op);
    };
    if (!reads_turned(t_, op) || !reads_turned(g_, theirs))
      return take_exchanged(t_, {op, 0}, g_, {theirs, 0});
    t_.turned.insert(op);
    g_.turned.insert(theirs);
  }

  // Integers are what the other side quantizes to them, not the numbers before that.
  void stand_for_integers(Side& side, Side& others) {
    const auto dtype_of = [](const Net& net, const Ref& tensor) -> std::optional<DType> {
      const auto& outputs = net.at(tensor.op).outputs;
      if (tensor.output >= std::ssize(outputs)) return std::nullopt;
      return outputs[static_cast<size_t>(tensor.output)].dtype;
    };
    for (const auto& [own, theirs] : std::map<Ref, Ref>(side.standing)) {
      const auto mine = dtype_of(side.net, own), other = dtype_of(others.net, theirs);
      if (!mine || !other || kind_of(*mine) != DKind::kInteger || kind_of(*other) != DKind::kFloat)
        continue;
      std::vector<Ref> quantized;
      for (const int reader : others.net.plain.readers_of(theirs))
        if (others.net.kind(reader) == "quantizelinear" &&
            dtype_of(others.net, {reader, 0}) == mine && !others.standing.contains({reader, 0}))
          quantized.push_back({reader, 0});
      if (quantized.size() != 1) continue;
      others.standing.erase(theirs);
      withdrawn(others).insert(theirs);
      stand(side, own, quantized.front());
    }
  }

  // It does what another operator behind it did.
  static bool has_activation(const Side& side, int op) {
    const std::string& type = side.net.at(op).type;
    return side.net.is_exact &&
           (type == "FusedConv" || type == "NhwcFusedConv" || type == "FusedGemm");
  }

  // Optimisers move transpositions: between the old place and the new one all is the same, with
  // axes in another order. That is seen by the shape, unless two axes are of the same length.
  bool is_turned(int op) {
    const Ref own{op, 0}, theirs{t_.partner[at(op)], 0};
    if (!t_.net.is_main(op) || !t_.net.is_exact || !g_.net.is_exact || t_.standing.contains(own))
      return false;
    const std::string& kind = t_.net.kind(op);
    const auto inputs = inputs_of_pair(aligned_, t_.net, g_.net, &Net::main, op);
    const Shapes shapes = shapes_of(t_.net, own, g_.net, theirs);
    const bool selects = kind == "reshape" || kind == "slice" || kind == "split";
    for (const auto& [input, other] : inputs) {
      if (shapes == Shapes::kUnknown && selects && skips_transpose(input, other)) return true;
      if (t_.turned.contains(input.op)) {
        const bool keeps_order = selects || t_.net.shape(op) == t_.net.shape(input.op);
        if (shapes == Shapes::kOtherOrder || (keeps_order && kind != "transpose")) return true;
      }
      const auto standing = t_.standing.find(input);
      const bool is_same = standing != t_.standing.end() && standing->second == other;
      if (shapes == Shapes::kOtherOrder && !is_same &&
          (t_.net.kind(input.op) == "transpose" || g_.net.kind(other.op) == "transpose"))
        return true;
    }
    return false;
  }

  // One of two operators that are a pair reads what the other reads through a transposition, which
  // went elsewhere.
  bool skips_transpose(const Ref& input, const Ref& other) const {
    const auto skips = [](const Side& side, const Ref& end, const Side& others, const Ref& start) {
      return side.is_free(end.op) && side.net.kind(end.op) == "transpose" &&
             !others.is_free(start.op) && side.net.main.in(end.op).size() == 1 &&
             side.net.main.in(end.op).front() == Ref{others.partner[at(start.op)], start.output};
    };
    return skips(t_, input, g_, other) || skips(g_, other, t_, input);
  }

  void tell_absences(Side& side, const Side& others) {
    const Rivals rivals = rivals_of(others);
    std::set<int> inside;  // of a fused operator of the other side
    for (const auto& [op, parts] : others.inside) inside.insert(parts.begin(), parts.end());
    for (int op = 0; op < side.net.size(); ++op) {
      if (side.net.kind(op) == "netoutput") continue;
      for (int64_t k = 0; k < side.net.outputs(op); ++k)
        if (!side.standing.contains({op, k}))
          side.absence[{op, k}] = why_absent(side, others, rivals, {op, k}, inside.contains(op));
    }
  }

  graph::Absence why_absent(const Side& side, const Side& others, const Rivals& rivals,
                            const Ref& tensor, bool is_inside) {
    const int op = tensor.op;
    const std::string& name = side.net.at(op).name;
    if (side.turned.contains(op))
      return {"no_counterpart", fmt::format("{} has it with axes in another order", side.other)};
    if (is_inside || withdrawn(side).contains(tensor))
      return {"inside_fusion",
              fmt::format("{} has it and what follows in one operator", side.other)};
    if (side.net.is_constant(op))
      return {"no_counterpart", fmt::format("made of shapes and constants alone: {} holds it as a "
                                            "constant, or computes it in another way",
                                            side.other)};
    if (side.net.is_transparent(op))
      return {"no_counterpart", fmt::format("{} has no such operator, which changes no value or "
                                            "only its precision",
                                            side.other)};
    if (!moves(side.net.kind(op)) && side.net.is_main(op) && has_rival(side, others, rivals, op))
      return {"ambiguous_pair",
              fmt::format("neither name nor structure tells what {} stands for", name)};
    if (leads_to(side, op))
      return {"inside_fusion", fmt::format("{} computes this part in another way", side.other)};
    return {"no_counterpart", fmt::format("nothing in {} stands where {} does", side.other, name)};
  }

  // Part of something that was done another way, of which the end was found.
  static bool leads_to(const Side& side, int op) {
    std::vector<int> open{op};
    for (size_t i = 0; i < open.size() && open.size() < kMostBetween; ++i) {
      if (i > 0 && side.exchanged.contains(open[i])) return true;
      for (const auto& [reader, output] : side.net.main.readers[at(open[i])])
        if (side.is_free(reader) && std::find(open.begin(), open.end(), reader) == open.end())
          open.push_back(reader);
    }
    return false;
  }

  // One of the same kind that has no counterpart either, and stands near the same pairs.
  static bool has_rival(const Side& side, const Side& others, const Rivals& rivals, int op) {
    for (const bool before : {true, false})
      for (const int near : nearest_pairs(side.net, side.partner, op, before)) {
        const auto found = rivals.find({rival_kind(side, op), side.partner[at(near)], before});
        if (found != rivals.end() &&
            std::any_of(found->second.begin(), found->second.end(), [&](int rival) {
              // What adds a constant is none of what adds tensors.
              const bool reads_alike =
                  (side.net.main.in(op).size() == 1) == (others.net.main.in(rival).size() == 1);
              const std::string &own = side.net.kind(op), &other = others.net.kind(rival);
              if (own != other && own != "eltwise" && other != "eltwise") return false;
              if (side.net.is_exact && others.net.is_exact && !reads_alike) return false;
              return shapes_of(side.net, {op, 0}, others.net, {rival, 0}) != Shapes::kOther;
            }))
          return true;
      }
    return false;
  }

  // An Eltwise may be any of what commutes.
  static std::string rival_kind(const Side& side, int op) {
    return commutes(side.net.kind(op)) ? "eltwise" : side.net.kind(op);
  }

  static Rivals rivals_of(const Side& side) {
    constexpr size_t kEnough = 8;
    Rivals rivals;
    for (int op = 0; op < side.net.size(); ++op) {
      if (!side.is_free(op) || !side.net.is_main(op) || moves(side.net.kind(op))) continue;
      for (const bool before : {true, false})
        for (const int near : nearest_pairs(side.net, side.partner, op, before))
          if (auto& known = rivals[{rival_kind(side, op), near, before}]; known.size() < kEnough)
            known.push_back(op);
    }
    return rivals;
  }

  std::set<Ref>& withdrawn(const Side& side) {
    return &side == &t_ ? withdrawn_target_ : withdrawn_golden_;
  }

  const Aligned& aligned_;
  Side t_, g_;
  std::map<int, int> in_doubt_;  // reshapes of the target, and golden's, of other orders of axes
  std::set<Ref> withdrawn_target_, withdrawn_golden_;  // give a tensor inside of a fusion
};

}  // namespace

Standing stand(const Net& target, const Net& golden, const Aligned& aligned,
               const SameTensors& told) {
  Standing standing;
  Stander(target, golden, aligned, standing).run(told);
  return standing;
}

}  // namespace plumb::pair
