// SPDX-License-Identifier: Apache-2.0
#include "compare/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "dump/names.h"

namespace plumb::compare {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::Skipped;

// An entry with what it is paired by.
struct Candidate {
  const Entry* entry;
  std::string name;   // the operator's, after --map
  std::string scope;  // rank, step and graph, as far as they tell entries of a side apart
  size_t row = SIZE_MAX;
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

// "steps 0, 1, 2": what a side has, for a message.
std::string scope_text(const Entry& entry) {
  std::string text;
  if (entry.rank) text += fmt::format(", rank {}", *entry.rank);
  if (entry.step) text += fmt::format(", step {}", *entry.step);
  if (!entry.graph.empty()) text += ", graph " + entry.graph;
  return text.empty() ? "no rank or step" : text.substr(2);
}

class Pairing {
 public:
  Pairing(Candidates& target, Candidates& golden, std::vector<PlannedRow>& rows)
      : target_(target), golden_(golden), rows_(rows) {}

  void run() {
    if (target_.empty() || golden_.empty()) return leave_over();
    const Scopes scopes = scopes_of(target_, golden_);
    for (Candidates* side : {&target_, &golden_})
      for (Candidate& c : *side) c.scope = scopes.of(*c.entry);
    find_partners();
    group_slots();
    leave_over();
  }

 private:
  // A group of tensors that only their time of writing tells apart.
  struct Group {
    std::vector<Candidate*> target, golden;
  };

  // Golden operators by target operator: exact names first, then names that dump tools may have
  // changed, unless that would merge distinct ones.
  void find_partners() {
    struct Names {
      std::set<std::string_view> target, golden;
    };
    std::set<std::string_view> target_names, golden_names;
    for (const Candidate& c : target_) target_names.insert(c.name);
    for (const Candidate& c : golden_) golden_names.insert(c.name);
    std::map<std::string, Names> unmatched;  // by normalised name
    for (std::string_view name : target_names)
      if (!golden_names.contains(name)) unmatched[normalised(name)].target.insert(name);
    for (std::string_view name : golden_names)
      if (!target_names.contains(name)) unmatched[normalised(name)].golden.insert(name);
    for (const auto& [shared, names] : unmatched) {
      if (names.target.empty() || names.golden.empty()) continue;
      if (names.target.size() == 1 && names.golden.size() == 1) {
        partner_[*names.golden.begin()] = *names.target.begin();
        continue;
      }
      const std::string all = fmt::format("{} target and {} golden operators are all written '{}'",
                                          names.target.size(), names.golden.size(), shared);
      for (std::string_view name : names.target) ambiguous_[name] = all;
      for (std::string_view name : names.golden) ambiguous_[name] = all;
    }
  }

  void group_slots() {
    std::unordered_map<std::string, Group> groups;
    groups.reserve(target_.size());
    std::vector<std::string> order;
    const auto key = [](const Candidate& c, std::string_view name) {
      return fmt::format("{}\n{}\n{}", c.scope, name, to_string(c.entry->slot));
    };
    for (Candidate& c : target_) groups[key(c, c.name)].target.push_back(&c);
    for (Candidate& c : golden_) {
      const auto partner = partner_.find(c.name);
      const auto group = groups.find(key(c, partner == partner_.end() ? c.name : partner->second));
      if (group != groups.end()) group->second.golden.push_back(&c);
    }
    // In the order of the target, so that rows come out the same whatever the hash.
    for (Candidate& c : target_) {
      if (c.row != SIZE_MAX) continue;
      pair_group(groups.at(key(c, c.name)));
    }
  }

  void pair_group(Group& group) {
    if (group.golden.empty()) return;
    if (group.target.size() != group.golden.size()) {
      const std::string message = fmt::format(
          "{} of them in target, {} in golden: which belong together cannot be told; select a step",
          group.target.size(), group.golden.size());
      for (Candidate* c : group.target) add_single(*c, true, "duplicate_name", message);
      for (Candidate* c : group.golden) add_single(*c, false, "duplicate_name", message);
      return;
    }
    for (size_t i = 0; i < group.target.size(); ++i) {
      PlannedRow& row = rows_.emplace_back();
      row.target = group.target[i]->entry;
      row.golden = group.golden[i]->entry;
      group.target[i]->row = group.golden[i]->row = rows_.size() - 1;
      row.rule = rule_of(*group.target[i], *group.golden[i]);
      if (group.target.size() > 1)
        row.evidence = fmt::format("execution {} of {}", i + 1, group.target.size());
    }
  }

  static std::string_view rule_of(const Candidate& target, const Candidate& golden) {
    if (golden.name != golden.entry->operator_name) return "map";
    return target.name == golden.name ? "name" : "normalised-name";
  }

  void add_single(Candidate& c, bool is_target, std::string_view reason, std::string message) {
    PlannedRow& row = rows_.emplace_back();
    (is_target ? row.target : row.golden) = c.entry;
    row.reason = reason;
    row.message = std::move(message);
    c.row = rows_.size() - 1;
  }

  void leave_over() {
    for (const bool is_target : {true, false}) {
      Candidates& side = is_target ? target_ : golden_;
      const Candidates& others = is_target ? golden_ : target_;
      std::unordered_map<std::string_view, const Candidate*> by_name;
      for (const Candidate& c : others) by_name.try_emplace(c.name, &c);
      for (Candidate& c : side) {
        if (c.row != SIZE_MAX) continue;
        if (const auto found = ambiguous_.find(c.name); found != ambiguous_.end()) {
          add_single(c, is_target, "ambiguous_pair", found->second);
          continue;
        }
        std::string message;
        if (const auto found = by_name.find(c.name); found != by_name.end()) {
          const Candidate& other = *found->second;
          message =
              other.scope == c.scope
                  ? fmt::format("the operator is there, but without {}", to_string(c.entry->slot))
                  : fmt::format("the operator is there with {}, here it has {}",
                                scope_text(*other.entry), scope_text(*c.entry));
        }
        add_single(c, is_target, is_target ? "no_golden" : "no_target", std::move(message));
      }
    }
  }

  Candidates& target_;
  Candidates& golden_;
  std::vector<PlannedRow>& rows_;
  std::unordered_map<std::string_view, std::string_view> partner_;  // target name by golden name
  std::unordered_map<std::string_view, std::string> ambiguous_;
};

// The operator a damaged file should have held, as far as its name tells.
std::string operator_of(const std::string& path) {
  const std::string_view file = std::string_view(path).substr(path.rfind('/') + 1);
  const std::string_view stem = file.substr(0, file.rfind('.'));
  if (const auto golden = dump::parse_golden_name(stem); golden && file.ends_with(".npy"))
    return normalised(golden->op);
  if (const auto device = dump::parse_device_name(file)) return normalised(device->op);
  return normalised(path.substr(0, path.rfind('.')));
}

// A damaged file stands for the missing side of those rows whose operator it names; otherwise it
// is a row of its own.
void place_damaged(const DumpSet& set, bool is_target, std::vector<PlannedRow>& rows) {
  std::unordered_map<std::string, std::vector<size_t>> waiting;
  const bool any = std::any_of(set.skipped.begin(), set.skipped.end(),
                               [](const Skipped& s) { return s.error.has_value(); });
  if (!any) return;
  const std::string_view missing = is_target ? "no_target" : "no_golden";
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].reason == missing)
      waiting[normalised((is_target ? rows[i].golden : rows[i].target)->operator_name)].push_back(
          i);
  for (const Skipped& skipped : set.skipped) {
    if (!skipped.error) continue;
    const std::string message = skipped.error->what + ": " + skipped.error->where;
    std::vector<size_t> places;
    if (auto found = waiting.extract(operator_of(skipped.file))) places = std::move(found.mapped());
    if (places.empty()) {
      places.push_back(rows.size());
      rows.emplace_back();
    }
    for (size_t at : places) {
      rows[at].reason = "damaged_file";
      rows[at].message = message;
      rows[at].damaged = &skipped;
      rows[at].damaged_is_target = is_target;
    }
  }
}

Candidates candidates_of(const DumpSet& set) {
  Candidates candidates;
  candidates.reserve(set.entries.size());
  for (const Entry& entry : set.entries) candidates.push_back({&entry, entry.operator_name, {}});
  return candidates;
}

// Takes those out that the user does not want.
Candidates split_off(Candidates& all, const PlanOptions& options) {
  if (!options.wants) return {};
  Candidates unwanted;
  std::erase_if(all, [&](Candidate& c) {
    const auto wants = [&] {
      if (c.name == c.entry->operator_name) return options.wants(*c.entry);
      Entry renamed = *c.entry;
      renamed.operator_name = c.name;
      return options.wants(renamed);
    };
    if (wants()) return false;
    unwanted.push_back(std::move(c));
    return true;
  });
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
  const auto same_operator = [](const PlannedRow& a, const PlannedRow& b) {
    const Entry* x = a.target != nullptr ? a.target : a.golden;
    const Entry* y = b.target != nullptr ? b.target : b.golden;
    return x != nullptr && y != nullptr && x->operator_name == y->operator_name &&
           x->step == y->step && x->rank == y->rank && x->timestamp == y->timestamp;
  };
  for (size_t i = 1; i < rows.size(); ++i)
    rows[i].index = rows[i - 1].index + !same_operator(rows[i - 1], rows[i]);
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
  std::unordered_map<std::string_view, std::string_view> target_of;
  for (const auto& [to, from] : options.golden_of) target_of[from] = to;
  for (Candidate& c : goldens)
    if (const auto mapped = target_of.find(c.name); mapped != target_of.end())
      c.name = mapped->second;
  // Two files with one tensor each are a pair, whatever they are called.
  const bool only_tensors = target.is_single_file && golden.is_single_file && targets.size() == 1 &&
                            goldens.size() == 1 && options.golden_of.empty();
  if (only_tensors) goldens[0].name = targets[0].name;

  std::vector<PlannedRow> rows;
  Candidates unwanted_targets = split_off(targets, options);
  Candidates unwanted_goldens = split_off(goldens, options);
  Pairing(targets, goldens, rows).run();
  place_damaged(target, true, rows);
  place_damaged(golden, false, rows);
  const size_t wanted = rows.size();
  Pairing(unwanted_targets, unwanted_goldens, rows).run();
  for (size_t i = wanted; i < rows.size(); ++i) {
    rows[i].reason = "filtered";
    rows[i].message.clear();
  }
  if (only_tensors)
    for (PlannedRow& row : rows)
      if (row.rule == "map") row.rule = "only-tensor";
  sort_rows(target, golden, rows);
  return rows;
}

}  // namespace plumb::compare
