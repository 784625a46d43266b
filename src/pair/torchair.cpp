// SPDX-License-Identifier: Apache-2.0
#include "pair/torchair.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.h"
#include "dump/levels.h"
#include "dump/names.h"
#include "dump/tree.h"
#include "pair/torchair_token.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;

// ---- ranks, models, tokens ----

// The tensors of one model on one rank.
struct Group {
  std::string model, number;  // as the directories name it; of FX the directory alone
  std::optional<int64_t> graph;
  std::map<int64_t, Entries> tokens;
};

std::string_view directory_of(const Entry& entry) {
  if (!entry.parts.empty()) return entry.parts.front().file.directory();
  const std::string_view file = entry.record;
  const size_t slash = file.rfind('/');
  return file.substr(0, slash == std::string_view::npos ? 0 : slash);
}

// The number of the FX directory that stands for the token.
std::optional<int64_t> token_directory(std::string_view directory) {
  constexpr size_t kTime = 12;  // digits: longer numbers are times
  auto path = dump::components(directory);
  for (auto part = path.rbegin(); part != path.rend(); ++part)
    if (part->size() < kTime)
      if (const auto number = dump::number_from(*part)) return number;
  return {};
}

std::map<Rank, std::vector<Group>> groups_of(const DumpSet& set, const TorchairOptions& options) {
  std::error_code ignored;
  const bool is_fx = set.traits.is_torchair_fx;
  const std::string above =
      std::filesystem::absolute(set.root, ignored).lexically_normal().generic_string();
  std::map<std::string_view, dump::Levels> levels;
  using Key = std::tuple<std::string, std::string>;  // number and name of the model
  const auto less = [](const Key& a, const Key& b) {
    if (std::get<0>(a) != std::get<0>(b)) return dump::natural_less(std::get<0>(a), std::get<0>(b));
    return dump::natural_less(std::get<1>(a), std::get<1>(b));
  };
  std::map<Rank, std::map<Key, Group, decltype(less)>> found;
  for (const Entry& entry : set.entries) {
    Key key{"", entry.graph()};
    int64_t token = entry.step().value_or(0);
    if (!is_fx) {
      const std::string_view directory = directory_of(entry);
      const auto at = levels.find(directory);
      const dump::Levels& own =
          at != levels.end()
              ? at->second
              : levels.emplace(directory, dump::parse_levels(above, directory)).first->second;
      key = {own.model_id, own.model};
    } else if (options.fx_token_base) {
      token = token_directory(directory_of(entry)).value_or(0) - *options.fx_token_base;
    }
    auto& groups = found.try_emplace(entry.rank(), less).first->second;
    Group& group = groups[key];
    std::tie(group.number, group.model) = key;
    group.tokens[token].push_back(&entry);
  }
  std::map<Rank, std::vector<Group>> groups;
  for (auto& [rank, by_key] : found)
    for (auto& [key, group] : by_key) groups[rank].push_back(std::move(group));
  return groups;
}

// By the number in the model's name, graph_3_0; those without one take the rest in order.
void number_groups(std::vector<Group>& groups, const std::map<int64_t, TorchairModel>& models) {
  std::set<int64_t> free;
  for (const auto& [id, model] : models) free.insert(id);
  for (Group& group : groups)
    if (group.model.starts_with("graph_"))
      if (const auto id = number_behind(group.model, "graph_"); id && free.erase(*id) > 0)
        group.graph = id;
  for (Group& group : groups)
    if (!group.graph && !free.empty()) group.graph = free.extract(free.begin()).value();
}

// FX directories name no graph: the k-th is that of the k-th graph, of those that were dumped if
// as many were.
void number_fx_groups(std::vector<Group>& groups, const std::vector<Group>& target,
                      const std::map<int64_t, TorchairModel>& models) {
  std::set<int64_t> ids;
  for (const Group& group : target)
    if (group.graph) ids.insert(*group.graph);
  if (ids.size() != groups.size())
    for (const auto& [id, model] : models) ids.insert(id);
  auto id = ids.begin();
  for (Group& group : groups)
    if (id != ids.end()) group.graph = *id++;
}

// ---- which ranks ----

using RankPairs = std::vector<std::pair<Rank, Rank>>;

std::string list_of(const std::set<int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

template <class Groups>
std::set<int64_t> ranks_in(const Groups& groups) {
  std::set<int64_t> ranks;
  for (const auto& [rank, list] : groups)
    if (rank) ranks.insert(*rank);
  return ranks;
}

Result<RankPairs> rank_pairs(const std::set<int64_t>& target, const std::set<int64_t>& golden,
                             const std::vector<int64_t>& wanted,
                             std::vector<std::string>& warnings) {
  const auto is_wanted = [&](int64_t rank) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), rank) != wanted.end();
  };
  if (target.empty() && golden.empty()) {
    if (!wanted.empty()) warnings.emplace_back("there are no rank directories: --rank is ignored");
    return RankPairs{{Rank(), Rank()}};
  }
  const std::set<int64_t>& known = target.empty() ? golden : target;
  if (target.empty() || golden.empty()) {
    std::vector<int64_t> one;
    std::copy_if(known.begin(), known.end(), std::back_inserter(one), is_wanted);
    if (one.size() != 1)
      return Error{
          "only one side has rank directories, and several of them",
          fmt::format("{} has ranks {}", target.empty() ? "golden" : "target", list_of(known)),
          "name the rank that the other side was dumped on: --rank N"};
    return target.empty() ? RankPairs{{Rank(), Rank(one[0])}} : RankPairs{{Rank(one[0]), Rank()}};
  }
  RankPairs pairs;
  std::set<int64_t> single;
  for (int64_t rank : target) {
    if (golden.contains(rank) && is_wanted(rank)) pairs.emplace_back(rank, rank);
    if (!golden.contains(rank)) single.insert(rank);
  }
  if (pairs.empty())
    return Error{
        "target and golden have no rank in common",
        fmt::format("target has ranks {}, golden has {}", list_of(target), list_of(golden)),
        "give dumps of the same ranks"};
  if (!single.empty()) warnings.push_back("only target has ranks " + list_of(single));
  single.clear();
  std::set_difference(golden.begin(), golden.end(), target.begin(), target.end(),
                      std::inserter(single, single.end()));
  if (!single.empty()) warnings.push_back("only golden has ranks " + list_of(single));
  return pairs;
}

class TorchairPairer {
 public:
  TorchairPairer(const DumpSet& target, const DumpSet& golden) : target_(target), golden_(golden) {
    out_.places.resize(target.entries.size());
  }

  Result<Torchair> run(const TorchairOptions& options) {
    const bool is_fx = golden_.traits.is_torchair_fx;
    out_.models = load_models(target_, options.graph, out_.warnings);
    const TorchairModels& models = out_.models;
    if (target_.traits.is_torchair_fx && !is_fx)
      return Error{"target and golden seem to be swapped", "target is an FX dump",
                   "name the GE dump first, what it is checked against second"};
    if (models.by_rank.empty())
      return Error{"there is no GE graph in the target", target_.root.string(),
                   "dump with TorchAir's graph dump of type txt, which writes "
                   "dynamo_original_graph_*.txt, or name the graph: --graph FILE"};
    TorchairModels golden_models;
    if (!is_fx) golden_models = load_models(golden_, nullptr, out_.warnings);
    auto targets = groups_of(target_, options), goldens = groups_of(golden_, options);
    auto pairs = rank_pairs(ranks_in(targets), ranks_in(goldens), options.ranks, out_.warnings);
    if (!pairs) return pairs.error();
    for (const auto& [target_rank, golden_rank] : *pairs) {
      std::vector<Group>& own = targets[target_rank];
      std::vector<Group>& other = goldens[golden_rank];
      number_groups(own, models.of(target_rank));
      if (is_fx) {
        number_fx_groups(other, own, models.of(target_rank));
      } else {
        number_groups(other, golden_models.of(golden_rank));
        if (own.size() == 1 && other.size() == 1) other[0].graph = own[0].graph;
      }
      pair_groups(own, other, models.of(target_rank), target_rank);
    }
    refuse_rest();
    if (duplicates_ > 0)
      out_.warnings.push_back(
          fmt::format("{} {} dumped several times for one token; the latest is compared",
                      counted(duplicates_, "operator"), duplicates_ == 1 ? "was" : "were"));
    return std::move(out_);
  }

 private:
  void pair_groups(const std::vector<Group>& targets, const std::vector<Group>& goldens,
                   const std::map<int64_t, TorchairModel>& models, Rank rank) {
    static const TorchairModel kNoModel;
    const std::string on_rank = rank ? fmt::format(" of rank {}", *rank) : "";
    for (const Group& group : targets) {
      const auto model = group.graph ? models.find(*group.graph) : models.end();
      const auto other = std::find_if(goldens.begin(), goldens.end(), [&](const Group& golden) {
        return golden.graph == group.graph;
      });
      const std::string name = group.model.empty() ? "the model" : group.model;
      for (const auto& [token, entries] : group.tokens)
        for (const Entry* entry : entries)
          out_.places[static_cast<size_t>(entry - target_.entries.data())] = {
              group.graph, token, other != goldens.end() && other->tokens.contains(token)};
      if (other == goldens.end()) {
        out_.warnings.push_back(fmt::format("golden has nothing for {}{}", name, on_rank));
        continue;
      }
      std::set<int64_t> single;
      for (const auto& [token, entries] : group.tokens) {
        const auto found = other->tokens.find(token);
        if (found == other->tokens.end()) {
          single.insert(token);
          continue;
        }
        pair_token(target_, golden_, model == models.end() ? kNoModel : model->second, entries,
                   found->second, out_.pairings, duplicates_);
      }
      if (!single.empty())
        out_.warnings.push_back(
            fmt::format("only target has tokens {} of {}{}", list_of(single), name, on_rank));
      single.clear();
      for (const auto& [token, entries] : other->tokens)
        if (!group.tokens.contains(token)) single.insert(token);
      if (!single.empty())
        out_.warnings.push_back(
            fmt::format("only golden has tokens {} of {}{}", list_of(single), name, on_rank));
    }
    if (goldens.size() > targets.size())
      out_.warnings.push_back(fmt::format("golden has {}{}, target has {}",
                                          counted(goldens.size(), "model"), on_rank,
                                          targets.size()));
  }

  // Of ranks, models and tokens that one side alone has.
  void refuse_rest() {
    const auto refuse = [&](const DumpSet& set, std::string_view reason, const char* message) {
      for (const Entry& entry : set.entries) {
        out_.pairings.try_emplace(&entry, Pairing::none(reason, message));
      }
    };
    refuse(target_, "no_golden", "golden has no such rank, model or token");
    refuse(golden_, "no_target", "target has no such rank, model or token");
  }

  const DumpSet& target_;
  const DumpSet& golden_;
  Torchair out_;
  size_t duplicates_ = 0;
};

}  // namespace

bool is_torchair(const DumpSet& target, const DumpSet& golden) {
  const bool is_ge =
      target.traits.is_torchair_ge || (target.traits.is_device && has_torchair_graph(target));
  return (is_ge && golden.traits.is_torchair_fx) ||
         (target.traits.is_torchair_ge && golden.traits.is_torchair_ge);
}

Result<Torchair> pair_torchair(const DumpSet& target, const DumpSet& golden,
                               const TorchairOptions& options) {
  return TorchairPairer(target, golden).run(options);
}

}  // namespace plumb::pair
