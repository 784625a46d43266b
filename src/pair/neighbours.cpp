// SPDX-License-Identifier: Apache-2.0
//
// What stands around an operator of two aligned models: its inputs beside those of its counterpart,
// and the nearest operators that have one.
#include <algorithm>
#include <set>

#include "pair/align.h"
#include "pair/operator_kinds.h"

namespace plumb::pair {
namespace {

constexpr size_t kMostVisited = 256;  // unpaired operators that are searched through

// The pairs that a tensor comes from: its own operator, if that is one.
std::vector<int> paired_sources(const Net& net, const std::vector<int>& partner, int op) {
  if (partner[at(op)] != kNone) return {op};
  return nearest_pairs(net, partner, op, true);
}

}  // namespace

std::vector<std::pair<Ref, Ref>> inputs_of_pair(const Aligned& aligned, const Net& target,
                                                const Net& golden, Edges Net::*edges, int op) {
  std::vector<Ref> own = (target.*edges).in(op), theirs = (golden.*edges).in(aligned.golden(op));
  std::vector<std::pair<Ref, Ref>> pairs;
  const auto zip = [&] {
    for (size_t i = 0; i < own.size(); ++i) pairs.emplace_back(own[i], theirs[i]);
    return pairs;
  };
  if (own.size() == theirs.size() && !commutes(target.kind(op))) return zip();
  if (target.kind(op) == "conv" && !own.empty() && !theirs.empty())  // may add what it reads behind
    return {{own.front(), theirs.front()}};
  // Those that are known first; then what is left has no choice, or is told by its kind.
  const auto take = [&](const auto& belong) {
    for (size_t i = 0; i < own.size();) {
      const auto is_own = [&](const Ref& other) { return belong(own[i], other); };
      const auto found = std::find_if(theirs.begin(), theirs.end(), is_own);
      const bool is_only =
          found != theirs.end() && std::find_if(found + 1, theirs.end(), is_own) == theirs.end() &&
          std::count_if(own.begin(), own.end(),
                        [&](const Ref& other) { return belong(other, *found); }) == 1;
      if (!is_only) {
        ++i;
        continue;
      }
      pairs.emplace_back(own[i], *found);
      own.erase(own.begin() + static_cast<std::ptrdiff_t>(i));
      theirs.erase(found);
    }
  };
  take([&](const Ref& a, const Ref& b) { return Ref{aligned.golden(a.op), a.output} == b; });
  if (own.size() != theirs.size()) return pairs;
  if (own.size() > 1)
    take([&](const Ref& a, const Ref& b) {
      return aligned.golden(a.op) == kNone && aligned.target(b.op) == kNone &&
             target.kind(a.op) == golden.kind(b.op) && target.sizes(a.op) == golden.sizes(b.op);
    });
  // ... or by the pair that it comes from.
  if (own.size() > 1)
    take([&](const Ref& a, const Ref& b) {
      std::vector<int> from = paired_sources(target, aligned.golden_of, a.op);
      for (int& each : from) each = aligned.golden(each);
      std::sort(from.begin(), from.end());
      return !from.empty() && from == paired_sources(golden, aligned.target_of, b.op);
    });
  return own.size() == 1 ? zip() : pairs;
}

std::vector<int> nearest_pairs(const Net& net, const std::vector<int>& partner, int op,
                               bool before) {
  std::set<int> found, seen;
  std::vector<int> open{op};
  for (size_t i = 0; i < open.size() && open.size() < kMostVisited; ++i) {
    const auto visit = [&](int next) {
      if (partner[at(next)] != kNone)
        found.insert(next);
      else if (seen.insert(next).second)
        open.push_back(next);
    };
    if (before)
      for (const Ref& input : net.main.in(open[i])) visit(input.op);
    else
      for (const auto& [reader, output] : net.main.readers[at(open[i])]) visit(reader);
  }
  return {found.begin(), found.end()};
}

}  // namespace plumb::pair
