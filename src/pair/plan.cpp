// SPDX-License-Identifier: Apache-2.0
#include "pair/plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include <fmt/format.h>

#include "dump/flat.h"
#include "pair/call_order.h"
#include "pair/damaged.h"
#include "pair/graph_fit.h"
#include "pair/partners.h"
#include "pair/scopes.h"
#include "pair/sources.h"
#include "pair/superseded.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::Slot;
using dump::SlotKind;

// What tells a tensor from the others of its side. Borrows all of it.
struct PairKey {
  std::string_view name;
  SlotKind kind;
  int64_t index;
  std::string_view path;

  PairKey(std::string_view op, const Slot& slot)
      : name(op), kind(slot.kind), index(slot.index), path(slot.path) {}
  bool operator==(const PairKey&) const = default;
};

struct PairKeyHash {
  size_t operator()(const PairKey& key) const {
    const std::hash<std::string_view> hash;
    size_t mixed = hash(key.name) * 31 + static_cast<size_t>(key.kind);
    mixed = mixed * 31 + static_cast<size_t>(key.index);
    return key.path.empty() ? mixed : mixed * 31 + hash(key.path);
  }
};
template <class Value>
using ByKey = std::unordered_map<PairKey, Value, PairKeyHash>;

// An entry with what it is paired by.
struct Candidate {
  const Entry* entry;
  BoxedOptional<Pairing> pairing = {};  // nothing if it has a namesake, or is golden's
  Candidate* next = nullptr;            // that only the time of writing tells apart
  uint32_t scope = 0;  // number of rank, step and graph, as far as they tell entries apart
  bool is_placed = false;
  bool has_namesake = false;  // its golden tensor has the same name and slot: as most

  // Pairs of the tensors themselves are decided, and need not be looked for.
  bool is_decided() const { return pairing && pairing->tensor != nullptr; }
  bool wants_any() const {
    return has_namesake || (pairing && pairing->has_partner() && !is_decided());
  }
  std::string_view wanted_op() const { return has_namesake ? name() : pairing->op; }
  const Slot& wanted_slot() const { return has_namesake ? slot() : pairing->slot; }
  std::string_view name() const { return entry->operator_name; }
  const Slot& slot() const { return entry->slot; }
  PairKey key() const { return {name(), slot()}; }
};
using Candidates = std::vector<Candidate>;

Scopes candidate_scopes(const Candidates& target, const Candidates& golden) {
  return pair::scopes_of(target, golden,
                         [](const Candidate& c) -> const Entry& { return *c.entry; });
}

// "rank 0, step 3", for a message.
std::string scope_text(const Entry& entry) {
  std::string text;
  if (entry.rank()) text += fmt::format(", rank {}", *entry.rank());
  if (entry.step()) text += fmt::format(", step {}", *entry.step());
  if (!entry.graph().empty()) text += ", graph " + entry.graph();
  return text.empty() ? "no rank or step" : text.substr(2);
}

// Candidates of a side by what they are paired by, in the order in which keys come first. A flat
// table: a map with a node for each of many thousand keys costs more than all the rest of a plan.
class CandidateGroups {
 public:
  // Tensors that only their time of writing tells apart, each leading to the next.
  struct Group {
    Candidate* first = nullptr;
    Candidate* last = nullptr;
    size_t size = 0, hash = 0;
  };

  explicit CandidateGroups(size_t most) : table_(std::bit_ceil(2 * most + 1)) {
    groups_.reserve(most);
  }

  void add(Candidate& c) {
    const PairKey key = c.key();
    const size_t hash = PairKeyHash()(key);
    uint32_t& place = find(key, hash);
    if (place == 0) {
      groups_.push_back({&c, &c, 1, hash});
      place = static_cast<uint32_t>(groups_.size());
      return;
    }
    Group& group = groups_[place - 1];
    group.last->next = &c;
    group.last = &c;
    ++group.size;
  }

  const Group* find(const PairKey& key) {
    const uint32_t place = find(key, PairKeyHash()(key));
    return place == 0 ? nullptr : &groups_[place - 1];
  }

  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

 private:
  // Where the key is, or would be.
  uint32_t& find(const PairKey& key, size_t hash) {
    for (size_t i = hash;; ++i) {
      uint32_t& place = table_[i & (table_.size() - 1)];
      if (place == 0) return place;
      const Group& group = groups_[place - 1];
      if (group.hash == hash && group.first->key() == key) return place;
    }
  }

  std::vector<Group> groups_;
  std::vector<uint32_t> table_;  // 1 + position in groups_; 0: free
};

class Pairer {
 public:
  Pairer(Candidates& target, Candidates& golden, const Partners& partners, bool told_all,
         std::unordered_set<const Entry*>& decided, std::vector<PlannedRow>& rows)
      : target_(target),
        golden_(golden),
        partners_(partners),
        told_all_(told_all),
        decided_(decided),
        rows_(rows) {}

  void run() {
    place_decided();
    const size_t scopes = number_scopes();
    const auto targets = by_scope(target_, scopes), goldens = by_scope(golden_, scopes);
    for (size_t i = 0; i < scopes; ++i) pair_slots(targets[i], goldens[i]);
    leave_over();
  }

 private:
  // Pairs first: a tensor that is some other's golden is in no row of its own.
  void place_decided() {
    for (Candidate& c : target_) {
      if (!c.is_decided()) continue;
      PlannedRow& row = rows_.emplace_back();
      row.target = c.entry;
      row.golden = c.pairing->tensor;
      row.golden_is_own = c.pairing->is_own;
      row.is_flat = true;
      row.rule = c.pairing->rule;
      row.evidence = c.pairing->evidence;
      c.is_placed = true;
      decided_.insert(row.golden);
    }
    if (!told_all_) return;
    for (Candidates* side : {&target_, &golden_}) {
      for (Candidate& c : *side) {
        c.is_placed = c.is_placed || decided_.contains(c.entry);
        if (c.is_placed || !c.pairing || c.pairing->has_partner()) continue;
        const Entry* const owner = c.pairing->owner;
        add_single(c, side == &target_, std::move(*c.pairing));
        if (owner != nullptr) rows_.back().add_rare().owner = owner;
      }
    }
  }

  // How many there are.
  size_t number_scopes() {
    const Scopes scopes = candidate_scopes(target_, golden_);
    std::unordered_map<std::string, uint32_t> numbers;
    for (Candidates* side : {&target_, &golden_}) {
      const Candidate* before = nullptr;
      for (Candidate& c : *side) {
        c.scope = before != nullptr && is_same_place(*before->entry, *c.entry)
                      ? before->scope
                      : numbers.try_emplace(scopes.of(*c.entry), numbers.size()).first->second;
        before = &c;
      }
    }
    return numbers.size();
  }

  // Candidates of each scope, which mostly stand together.
  using Runs = std::vector<std::span<Candidate>>;
  static std::vector<Runs> by_scope(Candidates& side, size_t scopes) {
    std::vector<Runs> runs(scopes);
    for (size_t begin = 0, end = 0; begin < side.size(); begin = end) {
      while (end < side.size() && side[end].scope == side[begin].scope) ++end;
      runs[side[begin].scope].push_back(std::span(side).subspan(begin, end - begin));
    }
    return runs;
  }
  static size_t size_of(const Runs& runs) {
    size_t size = 0;
    for (const auto& run : runs) size += run.size();
    return size;
  }

  // In the order of the target, so that rows come out the same whatever the hash. A golden tensor
  // may be wanted several times: by the operator that makes it and by those that read it.
  void pair_slots(const Runs& target, const Runs& golden) {
    CandidateGroups targets(size_of(target)), goldens(size_of(golden));
    for (const auto& run : target)
      for (Candidate& c : run)
        if (c.wants_any() && !c.is_placed) targets.add(c);
    for (const auto& run : golden)
      for (Candidate& c : run)
        if (!c.is_placed) goldens.add(c);
    for (const CandidateGroups::Group& group : targets) {
      const Candidate& first = *group.first;
      const auto* found = goldens.find(PairKey(first.wanted_op(), first.wanted_slot()));
      if (found != nullptr) pair_group(group, *found);
    }
  }

  void pair_group(const CandidateGroups::Group& target, const CandidateGroups::Group& golden) {
    const bool are_runs =
        target.size == golden.size &&
        ((is_in_order(target) && is_in_order(golden)) || have_same_times(target, golden));
    if (!are_runs && is_told_by_time(target) && is_told_by_time(golden)) {
      supersede(target, true);
      supersede(golden, false);
      return add_pair(*target.last, *golden.last, "");
    }
    if (!are_runs) {
      const std::string message = fmt::format(
          "{} of them in target, {} in golden: which belong together cannot be told{}; select a "
          "step",
          target.size, golden.size, target.size == golden.size ? " by their times" : "");
      for (Candidate* c = target.first; c != nullptr; c = c->next)
        add_single(*c, true, Pairing::none("duplicate_name", message));
      for (Candidate* c = golden.first; c != nullptr; c = c->next)
        if (!c->is_placed) add_single(*c, false, Pairing::none("duplicate_name", message));
      return;
    }
    Candidate *t = target.first, *g = golden.first;
    for (size_t i = 0; i < target.size; ++i, t = t->next, g = g->next)
      add_pair(*t, *g,
               target.size > 1 ? fmt::format("execution {} of {}", i + 1, target.size) : "");
  }

  void add_pair(Candidate& t, Candidate& g, const std::string& execution) {
    PlannedRow& row = rows_.emplace_back();
    row.target = t.entry;
    row.golden = g.entry;
    row.rule = "name";
    row.is_flat = dump::has_no_shape(*t.entry) || dump::has_no_shape(*g.entry);
    if (!t.has_namesake) {
      const Pairing& pairing = *t.pairing;
      row.rule = pairing.rule;
      row.evidence = pairing.evidence;
      row.is_quantized = pairing.is_quantized;
      row.is_flat = row.is_flat || pairing.is_reshaped;
      if (pairing.quantization)
        row.add_rare().dequantize =
            io::Dequantize{pairing.quantization->scale, pairing.quantization->offset};
    }
    t.is_placed = g.is_placed = true;
    if (!execution.empty()) row.evidence += (row.evidence.empty() ? "" : ", ") + execution;
  }

  // Whether the time on record says that the last of several runs was the last. Runs of several
  // steps that are not told apart come in the order of steps first.
  static bool is_told_by_time(const CandidateGroups::Group& group) {
    for (const Candidate* c = group.first; c != group.last; c = c->next)
      if (c->entry->timestamp >= group.last->entry->timestamp) return false;
    return true;
  }

  // Whether it tells the order of all of them.
  static bool is_in_order(const CandidateGroups::Group& group) {
    for (const Candidate* c = group.first; c != group.last; c = c->next)
      if (c->entry->timestamp >= c->next->entry->timestamp) return false;
    return true;
  }

  // As a copy of a dump has.
  static bool have_same_times(const CandidateGroups::Group& target,
                              const CandidateGroups::Group& golden) {
    const Candidate *t = target.first, *g = golden.first;
    for (; t != nullptr && g != nullptr; t = t->next, g = g->next)
      if (t->entry->timestamp != g->entry->timestamp) return false;
    return t == g;
  }

  // All runs but the last.
  void supersede(const CandidateGroups::Group& group, bool is_target) {
    for (Candidate* c = group.first; c != group.last; c = c->next)
      if (!c->is_placed) add_single(*c, is_target, superseded());
  }

  void add_single(Candidate& c, bool is_target, Pairing why) {
    PlannedRow& row = rows_.emplace_back();
    (is_target ? row.target : row.golden) = c.entry;
    if (c.wants_any())
      row.add_rare().wanted = TensorName{std::string(c.wanted_op()), c.wanted_slot()};
    else if (why.missing)
      row.add_rare().wanted = std::move(why.missing);
    row.reason = why.reason;
    row.message = std::move(why.message);
    c.is_placed = true;
  }

  void leave_over() {
    // What is there of operators of which something is left.
    std::unordered_map<std::string_view, std::vector<const Candidate*>> goldens, wanting;
    for (const Candidate& c : target_)
      if (!c.is_placed && c.wants_any()) goldens[c.wanted_op()];
    for (const Candidate& c : golden_)
      if (!c.is_placed) wanting[c.name()];
    const auto note = [](auto& asked, std::string_view name, const Candidate& c) {
      if (asked.empty()) return;
      if (const auto at = asked.find(name); at != asked.end()) at->second.push_back(&c);
    };
    for (const Candidate& c : golden_) note(goldens, c.name(), c);
    for (const Candidate& c : target_)
      if (c.wants_any()) note(wanting, c.wanted_op(), c);
    for (Candidate& c : target_) {
      if (c.is_placed) continue;
      if (!c.wants_any()) {
        add_single(c, true, std::move(*c.pairing));
      } else {
        add_single(
            c, true,
            Pairing::none("no_golden", what_is_there(c, c.wanted_slot(), goldens[c.wanted_op()])));
      }
    }
    for (Candidate& c : golden_) {
      if (c.is_placed) continue;
      Pairing why = partners_.why_left(*c.entry);
      if (why.reason == "no_target" && why.message.empty())
        why.message = what_is_there(c, c.slot(), wanting[c.name()]);
      add_single(c, false, std::move(why));
    }
  }

  // The operator has a partner, but this tensor of it does not; empty if it has none either.
  static std::string what_is_there(const Candidate& c, const Slot& slot,
                                   const std::vector<const Candidate*>& others) {
    if (others.empty()) return "";
    for (const Candidate* other : others)
      if (other->scope == c.scope)
        return fmt::format("the operator is there, but without {}", to_string(slot));
    return fmt::format("the operator is there with {}, here it has {}",
                       scope_text(*others.front()->entry), scope_text(*c.entry));
  }

  Candidates& target_;
  Candidates& golden_;
  const Partners& partners_;
  const bool told_all_;                        // what was told of a tensor is all there is to say
  std::unordered_set<const Entry*>& decided_;  // golden tensors of decided pairs
  std::vector<PlannedRow>& rows_;
};

Candidates candidates_of(const DumpSet& set) {
  Candidates candidates;
  candidates.reserve(set.entries.size());
  for (const Entry& entry : set.entries) candidates.push_back({&entry});
  return candidates;
}

bool is_mapped_golden(const NameMap& map, const Entry& golden) {
  return std::any_of(map.operators.begin(), map.operators.end(),
                     [&](const auto& pair) { return pair.second == golden.operator_name; }) ||
         std::any_of(map.tensors.begin(), map.tensors.end(), [&](const auto& pair) {
           return pair.second == TensorName{golden.operator_name, golden.slot};
         });
}

using Filter = std::function<bool(const Entry&)>;
using Name = std::pair<std::string_view, const Slot&>;

// Asks for the entry by another name.
bool passes(const Filter& filter, const Entry& entry, const Name& other) {
  const auto& [name, slot] = other;
  if (name.empty() || (name == entry.operator_name && slot == entry.slot)) return filter(entry);
  Entry renamed = entry;
  renamed.operator_name = name;
  renamed.slot = slot;
  return filter(renamed);
}

// Takes those out that the user does not want. Both sides of a pair go by the target's name.
template <class NameOf>
Candidates split_off(Candidates& all, const Filter& wants, NameOf&& name_of) {
  if (!wants) return {};
  const auto first = std::stable_partition(all.begin(), all.end(), [&](const Candidate& c) {
    return passes(wants, *c.entry, name_of(*c.entry));
  });
  Candidates unwanted(std::make_move_iterator(first), std::make_move_iterator(all.end()));
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
    if (row.target != nullptr && row.golden != nullptr && !row.golden_is_own)
      before[static_cast<size_t>(position(golden, row.golden))] = position(target, row.target);
  for (size_t i = 1; i < before.size(); ++i)
    if (before[i] < 0) before[i] = before[i - 1];
  const auto key = [&](const PlannedRow& row) {
    if (row.target != nullptr) return std::tuple(position(target, row.target), int64_t{-1});
    if (row.golden == nullptr) return std::tuple(INT64_MAX, int64_t{0});  // a damaged file
    const auto own = position(golden, row.golden);
    return std::tuple(before[static_cast<size_t>(own)], int64_t{own});
  };
  const auto less = [&](const PlannedRow& a, const PlannedRow& b) { return key(a) < key(b); };
  if (!std::is_sorted(rows.begin(), rows.end(), less))  // sorting would take as much memory again
    std::stable_sort(rows.begin(), rows.end(), less);

  // One index for all rows of one execution of an operator, also where its sides miss a slot.
  const auto is_same = [](const Entry* a, const Entry* b) {
    return a != nullptr && b != nullptr && a->operator_name == b->operator_name &&
           a->timestamp == b->timestamp && is_same_place(*a, *b);
  };
  const Entry *last_target = nullptr, *last_golden = nullptr;
  int64_t index = -1;
  for (PlannedRow& row : rows) {
    if (!is_same(last_target, row.target) && !is_same(last_golden, row.golden)) {
      ++index;
      last_target = last_golden = nullptr;
    }
    if (row.target != nullptr) last_target = row.target;
    if (row.golden != nullptr && !row.golden_is_own) last_golden = row.golden;
    row.index = static_cast<uint32_t>(index);
  }
}

void leave_out(PlannedRow& row) {
  row.reason = "filtered";
  row.message.clear();
}

// Rows go by the target's name, and by golden's own where there is no other; files that cannot be
// read are always told.
template <class NameOf>
void hide_rows(std::vector<PlannedRow>& rows, const Filter& shows, NameOf&& name_of) {
  if (!shows) return;
  for (PlannedRow& row : rows) {
    const bool is_shown =
        row.target != nullptr ? shows(*row.target)
        : row.golden != nullptr
            ? passes(shows, *row.golden, name_of(*row.golden)) || shows(*row.golden)
            : true;
    if (!is_shown) leave_out(row);
  }
}

// Two dumps of the same tensors in the same order, each there once, as those of one model mostly
// are: nothing has to be looked for, and pairs are where they stand.
bool are_alike(const DumpSet& target, const DumpSet& golden, const PlanOptions& options) {
  const auto is_damaged = [](const dump::Skipped& skipped) { return skipped.error.has_value(); };
  if (options.wants || !options.map.empty() || options.matcher != nullptr ||
      options.told != nullptr || target.entries.size() != golden.entries.size() ||
      std::any_of(target.skipped.begin(), target.skipped.end(), is_damaged) ||
      std::any_of(golden.skipped.begin(), golden.skipped.end(), is_damaged) ||
      has_quantizing_operators(target))
    return false;
  std::unordered_set<std::string_view> seen;  // operators of a rank, step and graph
  const Entry* before = nullptr;
  for (size_t i = 0; i < target.entries.size(); ++i) {
    const Entry &t = target.entries[i], &g = golden.entries[i];
    if (t.slot != g.slot || t.operator_name != g.operator_name || !is_same_place(t, g))
      return false;
    const auto scope = [](const Entry& e) { return std::tie(e.rank(), e.step(), e.graph()); };
    const bool is_same_scope = before != nullptr && is_same_place(*before, t);
    if (before != nullptr && !is_same_scope) {
      if (!(scope(*before) < scope(t))) return false;  // it may come again
      seen.clear();
    }
    const bool is_next = is_same_scope && before->timestamp == t.timestamp &&
                         before->operator_name == t.operator_name;
    if (is_next ? before->slot == t.slot : !seen.insert(t.operator_name).second) return false;
    before = &t;
  }
  return true;
}

std::vector<PlannedRow> pair_alike(const DumpSet& target, const DumpSet& golden,
                                   const Filter& shows) {
  std::vector<PlannedRow> rows(target.entries.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].target = &target.entries[i];
    rows[i].golden = &golden.entries[i];
    rows[i].rule = "name";
  }
  sort_rows(target, golden, rows);
  hide_rows(rows, shows, [](const Entry& entry) { return Name{entry.operator_name, entry.slot}; });
  return rows;
}

// Two files with one tensor each are a pair, whatever they are called.
void pair_only_tensors(Candidates& targets, const Candidates& goldens) {
  if (targets.size() != 1 || goldens.size() != 1) return;
  Pairing only = Pairing::with(goldens[0].name(), goldens[0].slot(), "only-tensor");
  if (only.op == targets[0].name() && only.slot == targets[0].slot()) only.rule = "name";
  targets[0].pairing = std::move(only);
  targets[0].has_namesake = false;
}

}  // namespace

const RareFacts& PlannedRow::rare() const {
  static const RareFacts none;
  return rare_ ? *rare_ : none;
}

std::vector<PlannedRow> make_plan(const DumpSet& target, const DumpSet& golden,
                                  const PlanOptions& options) {
  if (are_alike(target, golden, options)) return pair_alike(target, golden, options.shows);
  Candidates targets = candidates_of(target), goldens = candidates_of(golden);
  const Partners partners(options.map, options.matcher, target, golden);
  std::unordered_map<const Entry*, std::string_view> owners;  // of golden tensors
  const Pairings calls = options.told == nullptr ? pair_by_call_order(target, golden) : Pairings();
  const Knowledge known{partners, options.told, options.told_all, calls};
  const auto is_told = [&](const Entry& entry) {
    return calls.contains(&entry) ||
           (options.told != nullptr && (options.told_all || options.told->contains(&entry)));
  };
  for (Candidate& c : targets) {
    c.has_namesake = !is_told(*c.entry) && partners.is_namesake(*c.entry);
    if (!c.has_namesake) c.pairing = pairing_of(known, *c.entry);
    if (c.is_decided()) owners.try_emplace(c.pairing->tensor, c.name());
  }
  if (options.told_all)
    for (Candidate& c : goldens)
      if (const auto found = options.told->find(c.entry);
          found != options.told->end() && !is_mapped_golden(options.map, *c.entry)) {
        c.pairing = found->second;
        if (c.pairing->owner != nullptr)
          owners.try_emplace(c.entry, c.pairing->owner->operator_name);
      }
  if (target.is_single_file && golden.is_single_file && options.map.empty())
    pair_only_tensors(targets, goldens);
  std::vector<PlannedRow> rows;
  rows.reserve(
      std::max(targets.size(), goldens.size()));  // rows are large: growing would copy them
  Candidates unwanted_targets = split_off(targets, options.wants, [](const Entry& entry) {
    return Name{entry.operator_name, entry.slot};
  });
  // By the target's name, also where a golden tensor was fused away. What any wanted tensor needs
  // stays, though it may be another operator's output. The keys borrow from targets in place.
  ByKey<const Entry*> wanting;
  if (options.wants || options.shows)
    for (const Candidates* list : {&unwanted_targets, &targets})
      for (const Candidate& c : *list)
        if (c.wants_any()) wanting[PairKey(c.wanted_op(), c.wanted_slot())] = c.entry;
  const auto target_name = [&](const Entry& entry) {
    if (const auto owner = owners.find(&entry); owner != owners.end())
      return Name{owner->second, entry.slot};
    const auto found = wanting.find(PairKey(entry.operator_name, entry.slot));
    if (found != wanting.end()) return Name{found->second->operator_name, found->second->slot};
    return Name{partners.target_of(entry), entry.slot};
  };
  Candidates unwanted_goldens = split_off(goldens, options.wants, target_name);
  std::unordered_set<const Entry*> decided;
  Pairer(targets, goldens, partners, options.told_all, decided, rows).run();
  const size_t wanted = rows.size();
  Pairer(unwanted_targets, unwanted_goldens, partners, options.told_all, decided, rows).run();
  const size_t all = rows.size();
  place_damaged(target, true, options, rows);
  place_damaged(golden, false, options, rows);
  for (size_t i = wanted; i < all; ++i) leave_out(rows[i]);
  hide_rows(rows, options.shows, target_name);
  sort_rows(target, golden, rows);
  return rows;
}

}  // namespace plumb::pair
