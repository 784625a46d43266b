// SPDX-License-Identifier: Apache-2.0
#include "compare/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include <fmt/format.h>

#include "dump/names.h"

namespace plumb::compare {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::Skipped;
using dump::Slot;

// An entry with what it is paired by.
struct Candidate {
  const Entry* entry;
  const Slot* slot;
  std::string_view name;  // the target operator's
  std::string_view rule;  // golden: how it came by that name; empty if no target operator has it
  std::string scope;      // rank, step and graph, as far as they tell entries of a side apart
  bool is_placed = false;
};
using Candidates = std::vector<Candidate>;

// Rank, step and graph count only if a side has several of them: a dump of one step pairs with
// another of one step, whatever number each tool gave it.
struct Scopes {
  bool rank = false, step = false, graph = false;

  std::string of(const Entry& entry) const {
    std::string scope;
    const auto add = [&](bool counts, const std::optional<int64_t>& number) {
      if (counts) scope += number ? fmt::format("{}|", *number) : "-|";
    };
    add(rank, entry.rank);
    add(step, entry.step);
    if (graph) scope += entry.graph;
    return scope;
  }
};

Scopes scopes_of(const Candidates& target, const Candidates& golden) {
  const auto several = [&](auto member) {
    const auto has_several = [&](const Candidates& side) {
      return std::any_of(side.begin(), side.end(), [&](const Candidate& c) {
        return c.entry->*member != side.front().entry->*member;
      });
    };
    return has_several(target) || has_several(golden);
  };
  return {several(&Entry::rank), several(&Entry::step), several(&Entry::graph)};
}

// "rank 0, step 3", for a message.
std::string scope_text(const Entry& entry) {
  std::string text;
  if (entry.rank) text += fmt::format(", rank {}", *entry.rank);
  if (entry.step) text += fmt::format(", step {}", *entry.step);
  if (!entry.graph.empty()) text += ", graph " + entry.graph;
  return text.empty() ? "no rank or step" : text.substr(2);
}

// Why the tensors of an operator cannot be paired, by the operator's name.
struct Refusal {
  std::string_view reason;
  std::string message;
};
using Refusals = std::unordered_map<std::string_view, Refusal>;

using NameMap = std::unordered_map<std::string, std::string>;

// Golden operators get the name of their target operator: by the map; else the same name; else one
// that dump tools may have changed, unless that would merge distinct operators.
class Partners {
 public:
  Partners(const NameMap& golden_of, const Candidates& target, const Candidates& golden) {
    struct Names {
      std::set<std::string_view> target, golden;
    };
    std::map<std::string, Names> unmatched;  // by normalised name
    std::unordered_set<std::string_view> target_names, golden_names;
    for (const Candidate& c : target) target_names.insert(c.name);
    for (const Candidate& c : golden) golden_names.insert(c.name);
    for (const auto& [to, from] : golden_of) partner_[from] = {to, "map"};
    for (std::string_view name : golden_names) {
      if (partner_.contains(name)) continue;
      if (const auto mapped = golden_of.find(std::string(name)); mapped != golden_of.end())
        refused_golden_[name] = {
            "no_target",
            "by the map, the target operator of this name belongs to " + mapped->second};
      else if (target_names.contains(name))
        partner_[name] = {name, "name"};
      else
        unmatched[normalised(name)].golden.insert(name);
    }
    for (std::string_view name : target_names)
      if (!golden_names.contains(name) && !golden_of.contains(std::string(name)))
        unmatched[normalised(name)].target.insert(name);
    for (const auto& [shared, names] : unmatched) {
      if (names.target.empty() || names.golden.empty()) continue;
      if (names.target.size() == 1 && names.golden.size() == 1) {
        partner_[*names.golden.begin()] = {*names.target.begin(), "normalised-name"};
        continue;
      }
      const Refusal refusal{"ambiguous_pair",
                            fmt::format("{} target and {} golden operators are all written '{}'",
                                        names.target.size(), names.golden.size(), shared)};
      for (std::string_view name : names.target) refused_target_[name] = refusal;
      for (std::string_view name : names.golden) refused_golden_[name] = refusal;
    }
  }

  void rename(Candidates& golden) const {
    for (Candidate& c : golden)
      if (const auto found = partner_.find(c.name); found != partner_.end())
        std::tie(c.name, c.rule) = found->second;
  }
  const Refusals& refused(bool is_target) const {
    return is_target ? refused_target_ : refused_golden_;
  }

 private:
  // Target operator and rule, by golden operator.
  std::unordered_map<std::string_view, std::pair<std::string_view, std::string_view>> partner_;
  Refusals refused_target_, refused_golden_;
};

class Pairing {
 public:
  Pairing(Candidates& target, Candidates& golden, const Partners& partners,
          std::vector<PlannedRow>& rows)
      : target_(target), golden_(golden), partners_(partners), rows_(rows) {}

  void run() {
    const Scopes scopes = scopes_of(target_, golden_);
    for (Candidates* side : {&target_, &golden_})
      for (Candidate& c : *side) c.scope = scopes.of(*c.entry);
    group_slots();
    leave_over();
  }

 private:
  // A group of tensors that only their time of writing tells apart.
  struct Group {
    std::vector<Candidate*> target, golden;
  };

  // With lengths, so that no name can pretend to be a name and a slot.
  static std::string key_of(const Candidate& c) {
    const Slot& slot = *c.slot;
    return fmt::format("{}|{}{}|{}|{}|{}{}", c.name.size(), c.name, static_cast<int>(slot.kind),
                       slot.index, slot.path.size(), slot.path, c.scope);
  }

  // In the order of the target, so that rows come out the same whatever the hash.
  void group_slots() {
    std::unordered_map<std::string, size_t> place;
    std::vector<Group> groups;
    place.reserve(target_.size());
    for (Candidate& c : target_) {
      const auto [found, is_new] = place.try_emplace(key_of(c), groups.size());
      if (is_new) groups.emplace_back();
      groups[found->second].target.push_back(&c);
    }
    for (Candidate& c : golden_) {
      if (c.rule.empty()) continue;
      if (const auto found = place.find(key_of(c)); found != place.end())
        groups[found->second].golden.push_back(&c);
    }
    for (const Group& group : groups) pair_group(group);
  }

  void pair_group(const Group& group) {
    if (group.golden.empty()) return;
    if (group.target.size() != group.golden.size()) {
      const std::string message = fmt::format(
          "{} of them in target, {} in golden: which belong together cannot be told; select a step",
          group.target.size(), group.golden.size());
      for (Candidate* c : group.target) add_single(*c, true, {"duplicate_name", message});
      for (Candidate* c : group.golden) add_single(*c, false, {"duplicate_name", message});
      return;
    }
    for (size_t i = 0; i < group.target.size(); ++i) {
      PlannedRow& row = rows_.emplace_back();
      row.target = group.target[i]->entry;
      row.golden = group.golden[i]->entry;
      row.rule = group.golden[i]->rule;
      group.target[i]->is_placed = group.golden[i]->is_placed = true;
      if (group.target.size() > 1)
        row.evidence = fmt::format("execution {} of {}", i + 1, group.target.size());
    }
  }

  void add_single(Candidate& c, bool is_target, Refusal why) {
    PlannedRow& row = rows_.emplace_back();
    (is_target ? row.target : row.golden) = c.entry;
    row.reason = why.reason;
    row.message = std::move(why.message);
    c.is_placed = true;
  }

  void leave_over() {
    for (const bool is_target : {true, false}) {
      const Refusals& refused = partners_.refused(is_target);
      std::unordered_map<std::string_view, std::vector<const Candidate*>> others;
      for (const Candidate& c : is_target ? golden_ : target_)
        if (!is_target || !c.rule.empty()) others[c.name].push_back(&c);
      for (Candidate& c : is_target ? target_ : golden_) {
        if (c.is_placed) continue;
        if (const auto why = refused.find(c.entry->operator_name); why != refused.end()) {
          add_single(c, is_target, why->second);
          continue;
        }
        const auto found = others.find(c.name);
        add_single(c, is_target,
                   {is_target ? "no_golden" : "no_target",
                    found == others.end() ? "" : what_is_there(c, found->second)});
      }
    }
  }

  // The operator has a partner, but this tensor of it does not.
  static std::string what_is_there(const Candidate& c,
                                   const std::vector<const Candidate*>& others) {
    for (const Candidate* other : others)
      if (other->scope == c.scope)
        return fmt::format("the operator is there, but without {}", to_string(*c.slot));
    return fmt::format("the operator is there with {}, here it has {}",
                       scope_text(*others.front()->entry), scope_text(*c.entry));
  }

  Candidates& target_;
  Candidates& golden_;
  const Partners& partners_;
  std::vector<PlannedRow>& rows_;
};

// What a damaged file should have held, as far as its name tells.
struct Promise {
  std::string op;
  std::optional<Slot> slot;  // nullopt: any
};

Promise promise_of(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const std::string_view extension = file.substr(std::min(file.rfind('.'), file.size()));
  const std::string_view stem = file.substr(0, file.size() - extension.size());
  if (const auto fx = dump::parse_fx_name(file)) return {std::string(fx->op), fx->slot};
  if (const auto golden = dump::parse_golden_name(stem); golden && extension == ".npy")
    return {std::string(golden->op), Slot{dump::SlotKind::kOutput, golden->index, {}}};
  if (const auto device = dump::parse_device_name(file)) return {std::string(device->op), {}};
  return {std::string(path.substr(0, path.size() - extension.size())), Slot{}};
}

// A damaged file stands for the missing side of the rows whose operator it names, one of each slot
// (of the next execution there may be another file); otherwise it is a row of its own.
void place_damaged(const DumpSet& set, bool is_target, const NameMap& golden_of,
                   std::vector<PlannedRow>& rows) {
  const auto is_damaged = [](const Skipped& skipped) { return skipped.error.has_value(); };
  if (std::none_of(set.skipped.begin(), set.skipped.end(), is_damaged)) return;
  std::unordered_map<std::string, std::string> target_of;
  for (const auto& [to, from] : golden_of) target_of[normalised(from)] = normalised(to);
  const auto shared_name = [&](std::string_view name, bool is_targets) {
    std::string written = normalised(name);
    const auto mapped = is_targets ? target_of.end() : target_of.find(written);
    return mapped == target_of.end() ? written : mapped->second;
  };
  const auto present = [&](size_t at) { return is_target ? rows[at].golden : rows[at].target; };
  std::unordered_map<std::string, std::vector<size_t>> waiting;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].reason == (is_target ? "no_target" : "no_golden"))
      waiting[shared_name(present(i)->operator_name, !is_target)].push_back(i);
  for (const Skipped& skipped : set.skipped) {
    if (!is_damaged(skipped)) continue;
    const Promise promise = promise_of(skipped.file);
    std::vector<size_t> places;
    std::set<Slot> seen;
    std::erase_if(waiting[shared_name(promise.op, is_target)], [&](size_t at) {
      const Slot& slot = present(at)->slot;
      if ((promise.slot && *promise.slot != slot) || !seen.insert(slot).second) return false;
      places.push_back(at);
      return true;
    });
    if (places.empty()) {
      places.push_back(rows.size());
      rows.emplace_back();
    }
    for (size_t at : places) {
      rows[at].reason = "damaged_file";
      rows[at].message = skipped.error->what + ": " + skipped.error->where;
      rows[at].damaged = &skipped;
      rows[at].damaged_is_target = is_target;
    }
  }
}

Candidates candidates_of(const DumpSet& set) {
  Candidates candidates;
  candidates.reserve(set.entries.size());
  for (const Entry& entry : set.entries)
    candidates.push_back({&entry, &entry.slot, entry.operator_name, {}, {}});
  return candidates;
}

// Takes those out that the user does not want. Both sides of a pair go by the target's name.
Candidates split_off(Candidates& all, const PlanOptions& options) {
  if (!options.wants) return {};
  const auto is_wanted = [&](const Candidate& c) {
    if (c.name == c.entry->operator_name) return options.wants(*c.entry);
    Entry renamed;
    renamed.operator_name = c.name;
    renamed.type = c.entry->type;
    renamed.slot = *c.slot;
    renamed.step = c.entry->step;
    renamed.rank = c.entry->rank;
    renamed.graph = c.entry->graph;
    renamed.timestamp = c.entry->timestamp;
    return options.wants(renamed);
  };
  const auto first = std::stable_partition(all.begin(), all.end(), is_wanted);
  Candidates unwanted(first, all.end());
  all.erase(first, all.end());
  return unwanted;
}

// Rows of the golden side alone go behind the row of the golden entry before them.
void sort_rows(const DumpSet& target, const DumpSet& golden, std::vector<PlannedRow>& rows) {
  const auto position = [](const DumpSet& set, const Entry* entry) {
    return entry - set.entries.data();
  };
  std::vector<int64_t> before(golden.entries.size(), -1);  // target position, by golden position
  for (const PlannedRow& row : rows)
    if (row.target != nullptr && row.golden != nullptr)
      before[static_cast<size_t>(position(golden, row.golden))] = position(target, row.target);
  for (size_t i = 1; i < before.size(); ++i)
    if (before[i] < 0) before[i] = before[i - 1];
  const auto key = [&](const PlannedRow& row) {
    if (row.target != nullptr) return std::tuple(position(target, row.target), int64_t{-1});
    if (row.golden == nullptr) return std::tuple(INT64_MAX, int64_t{0});  // a damaged file
    const auto own = position(golden, row.golden);
    return std::tuple(before[static_cast<size_t>(own)], int64_t{own});
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const PlannedRow& a, const PlannedRow& b) { return key(a) < key(b); });

  // One index for all rows of one execution of an operator, also where its sides miss a slot.
  const auto is_same = [](const Entry* a, const Entry* b) {
    return a != nullptr && b != nullptr && a->operator_name == b->operator_name &&
           a->step == b->step && a->rank == b->rank && a->graph == b->graph &&
           a->timestamp == b->timestamp;
  };
  const Entry *last_target = nullptr, *last_golden = nullptr;
  int64_t index = -1;
  for (PlannedRow& row : rows) {
    if (!is_same(last_target, row.target) && !is_same(last_golden, row.golden)) {
      ++index;
      last_target = last_golden = nullptr;
    }
    if (row.target != nullptr) last_target = row.target;
    if (row.golden != nullptr) last_golden = row.golden;
    row.index = index;
  }
}

}  // namespace

std::string normalised(std::string_view name) {
  std::string text(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '/' || c == '.' || c == ':'; }, '_');
  return text;
}

std::vector<PlannedRow> make_plan(const DumpSet& target, const DumpSet& golden,
                                  const PlanOptions& options) {
  Candidates targets = candidates_of(target), goldens = candidates_of(golden);
  const Partners partners(options.golden_of, targets, goldens);
  partners.rename(goldens);
  // Two files with one tensor each are a pair, whatever they are called.
  if (target.is_single_file && golden.is_single_file && targets.size() == 1 &&
      goldens.size() == 1 && options.golden_of.empty()) {
    const bool same_name = goldens[0].rule == "name" && *goldens[0].slot == *targets[0].slot;
    goldens[0].name = targets[0].name;
    goldens[0].slot = targets[0].slot;
    if (!same_name) goldens[0].rule = "only-tensor";
  }

  std::vector<PlannedRow> rows;
  Candidates unwanted_targets = split_off(targets, options);
  Candidates unwanted_goldens = split_off(goldens, options);
  Pairing(targets, goldens, partners, rows).run();
  const size_t wanted = rows.size();
  Pairing(unwanted_targets, unwanted_goldens, partners, rows).run();
  const size_t all = rows.size();
  place_damaged(target, true, options.golden_of, rows);
  place_damaged(golden, false, options.golden_of, rows);
  for (size_t i = wanted; i < all; ++i) {
    rows[i].reason = "filtered";
    rows[i].message.clear();
  }
  sort_rows(target, golden, rows);
  return rows;
}

}  // namespace plumb::compare
