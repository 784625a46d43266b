// SPDX-License-Identifier: Apache-2.0
#include "pair/model_alignment.h"

#include <numeric>

#include "pair/operator_kinds.h"
#include "pair/standing.h"

namespace plumb::pair {
namespace {

using graph::ModelAlignment;
using graph::Role;

std::vector<Role> roles_of(const Net& net) {
  std::vector<Role> roles;
  for (int op = 0; op < net.size(); ++op) {
    const std::string& kind = net.kind(op);
    const bool is_end = kind == "data" || kind == "netoutput";
    roles.push_back(is_end                   ? Role::kEnd
                    : net.is_constant(op)    ? Role::kConstant
                    : net.is_transparent(op) ? Role::kHandsOn
                    : !net.is_counted(op)    ? Role::kConstant
                    : moves(kind)            ? Role::kMoves
                                             : Role::kComputes);
  }
  return roles;
}

// Operators of both sides, joined to groups; those of golden come behind the target's.
class JoinedOperators {
 public:
  JoinedOperators(int target, int golden) : target_(target), group_(at(target + golden)) {
    std::iota(group_.begin(), group_.end(), 0);
  }
  int golden(int op) const { return target_ + op; }
  void join(int a, int b) { group_[at(find(a))] = find(b); }
  int find(int op) {
    while (group_[at(op)] != op) op = group_[at(op)] = group_[at(group_[at(op)])];
    return op;
  }

 private:
  int target_;
  std::vector<int> group_;
};

class Regions {
 public:
  Regions(const Net& target, const Net& golden, const Aligned& aligned, const Standing& standing)
      : t_(target),
        g_(golden),
        aligned_(aligned),
        standing_(standing),
        groups_(target.size(), golden.size()),
        in_region_(at(target.size() + golden.size())) {}

  std::vector<ModelAlignment::Region> find() {
    join_side(t_, aligned_.golden_of, [](int op) { return op; });
    join_side(g_, aligned_.target_of, [&](int op) { return groups_.golden(op); });
    for (const auto& [own, theirs] : standing_.golden_of)
      if (is_open(own.op) && is_open(groups_.golden(theirs.op)))
        groups_.join(own.op, groups_.golden(theirs.op));
    join_hosts(
        standing_.in_target, [](int op) { return op; }, [&](int op) { return groups_.golden(op); },
        aligned_.golden_of);
    join_hosts(
        standing_.in_golden, [&](int op) { return groups_.golden(op); }, [](int op) { return op; },
        aligned_.target_of);
    join_places();
    join_neighbours(t_, aligned_.golden_of, [](int op) { return op; });
    join_neighbours(g_, aligned_.target_of, [&](int op) { return groups_.golden(op); });
    return collect();
  }

 private:
  bool is_open(int op) const { return in_region_[at(op)]; }

  // Neighbours that have no counterpart are one region. What hands values on is looked at alone.
  template <class Number>
  void join_side(const Net& net, const std::vector<int>& partner, Number number) {
    for (int op = 0; op < net.size(); ++op)
      if (partner[at(op)] == kNone && net.is_counted(op) && net.kind(op) != "data" &&
          !net.is_constant(op))
        in_region_[at(number(op))] = true;
    for (int op = 0; op < net.size(); ++op) {
      if (!net.is_main(op)) continue;
      for (const Ref& input : net.main.in(op))
        if (is_open(number(op)) && is_open(number(input.op)))
          groups_.join(number(op), number(input.op));
    }
  }

  // A pair of which one does what several operators do on the other side.
  template <class Own, class Theirs>
  void join_hosts(const std::map<int, std::vector<int>>& inside, Own own, Theirs theirs,
                  const std::vector<int>& partner) {
    for (const auto& [host, parts] : inside) {
      if (partner[at(host)] == kNone) continue;
      const int counterpart = theirs(partner[at(host)]);
      in_region_[at(own(host))] = in_region_[at(counterpart)] = true;
      groups_.join(own(host), counterpart);
      for (const int part : parts)
        if (is_open(theirs(part))) groups_.join(own(host), theirs(part));
    }
  }

  // What a pair reads on both sides, without a counterpart on either, stands for each other.
  void join_places() {
    for (int op = 0; op < t_.size(); ++op) {
      if (aligned_.golden(op) == kNone || !t_.is_main(op)) continue;
      for (const Ref& own : t_.main.in(op))
        for (const Ref& theirs : g_.main.in(aligned_.golden(op)))
          if (aligned_.golden(own.op) == kNone && aligned_.target(theirs.op) == kNone &&
              is_open(own.op) && is_open(groups_.golden(theirs.op)))
            groups_.join(own.op, groups_.golden(theirs.op));
    }
  }

  // A pair of two types, or with a factor behind one of them that the other may have in its
  // weights, does more on one side: what has no counterpart beside it may be that.
  template <class Number>
  void join_neighbours(const Net& net, const std::vector<int>& partner, Number number) {
    const auto join_pair = [&](int host, int op) {
      const int target = &net == &t_ ? host : partner[at(host)];
      const int golden = &net == &t_ ? partner[at(host)] : host;
      in_region_[at(target)] = in_region_[at(groups_.golden(golden))] = true;
      groups_.join(target, groups_.golden(golden));
      groups_.join(target, number(op));
    };
    const Net& others = &net == &t_ ? g_ : t_;
    const auto is_other_type = [&](int op) {
      return partner[at(op)] != kNone && net.at(op).type != others.at(partner[at(op)]).type &&
             !moves(net.kind(op));
    };
    const auto is_prefix_of_product = [](const Net& one, int op) {
      const std::string& kind = one.kind(op);
      return kind == "transpose" ||
             ((kind == "mul" || kind == "div") && one.main.in(op).size() == 1);
    };
    const auto may_have_absorbed = [&](int host, int op) {
      return partner[at(host)] != kNone && has_weights(net.kind(host)) &&
             is_affine(net.kind(op), net.main.in(op).size()) &&
             net.constants(host) != others.constants(partner[at(host)]);
    };
    for (int op = 0; op < net.size(); ++op) {
      if (partner[at(op)] != kNone || !net.is_main(op)) continue;
      for (const Ref& input : net.main.in(op))
        if (is_other_type(input.op) || may_have_absorbed(input.op, op)) join_pair(input.op, op);
      for (const auto& [reader, output] : net.main.readers[at(op)])
        if (is_prefix_of_product(net, op) && is_other_type(reader)) join_pair(reader, op);
    }
  }

  std::vector<ModelAlignment::Region> collect() {
    std::map<int, ModelAlignment::Region> regions;
    for (const int op : t_.order)
      if (is_open(op)) regions[groups_.find(op)].target.push_back(op);
    for (const int op : g_.order)
      if (is_open(groups_.golden(op)))
        regions[groups_.find(groups_.golden(op))].golden.push_back(op);
    std::vector<ModelAlignment::Region> found;
    for (auto& [root, region] : regions) found.push_back(std::move(region));
    return found;
  }

  const Net &t_, &g_;
  const Aligned& aligned_;
  const Standing& standing_;
  JoinedOperators groups_;
  std::vector<bool> in_region_;  // without a counterpart, or the host of such
};

// The same of what is made of shapes and constants: operators alone tell.
void add_rewired_constant(const Net& t, const Net& g, const Aligned& aligned, int op,
                          std::vector<ModelAlignment::Rewired>& found) {
  const std::vector<Ref>&own = t.plain.in(op), &theirs = g.plain.in(aligned.golden(op));
  if (own.size() != theirs.size() || commutes(t.kind(op))) return;
  for (size_t i = 0; i < own.size(); ++i)
    if (aligned.golden(own[i].op) != kNone && aligned.target(theirs[i].op) != kNone &&
        Ref{aligned.golden(own[i].op), own[i].output} != theirs[i]) {
      found.push_back({op, aligned.golden(op), static_cast<int64_t>(i)});
      return;
    }
}

// Inputs that stand for other tensors than those that the counterpart reads.
std::vector<ModelAlignment::Rewired> rewired(const Net& t, const Net& g, const Aligned& aligned,
                                             const Standing& standing) {
  std::vector<ModelAlignment::Rewired> found;
  for (int op = 0; op < t.size(); ++op) {
    const int other = aligned.golden(op);
    if (other == kNone) continue;
    if (!t.is_main(op) || !g.is_main(other)) {
      add_rewired_constant(t, g, aligned, op, found);
      continue;
    }
    const std::vector<Ref>&own = t.main.in(op), &theirs = g.main.in(other);
    if (own.size() != theirs.size()) continue;
    const auto stands_for = [&](const Ref& ref) -> std::optional<Ref> {
      const auto known = standing.golden_of.find(ref);
      if (known == standing.golden_of.end()) return std::nullopt;
      return known->second;
    };
    const auto is_read = [&](const Ref& golden) {
      return std::find(theirs.begin(), theirs.end(), golden) != theirs.end();
    };
    const bool any_order = commutes(t.kind(op));
    for (size_t i = 0; i < own.size(); ++i) {
      const auto golden = stands_for(own[i]);
      // Of what has no counterpart the region says it all.
      if (!golden || !standing.target_of.contains(theirs[i])) continue;
      if (any_order ? is_read(*golden) : *golden == theirs[i]) continue;
      found.push_back({op, other, static_cast<int64_t>(i)});
      break;
    }
  }
  return found;
}

}  // namespace

ModelAlignment align_models(const graph::Graph& target, const graph::Graph& golden) {
  const Net t(target), g(golden);
  const Aligned aligned = align(t, g);
  const Standing standing = stand(t, g, aligned);
  ModelAlignment alignment;
  alignment.golden_of = aligned.golden_of;
  alignment.target_of = aligned.target_of;
  alignment.target_roles = roles_of(t);
  alignment.golden_roles = roles_of(g);
  alignment.regions = Regions(t, g, aligned, standing).find();
  alignment.rewired = rewired(t, g, aligned, standing);
  return alignment;
}

}  // namespace plumb::pair
