// SPDX-License-Identifier: Apache-2.0
#include "compare/torchair.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>

#include "dump/levels.h"
#include "dump/names.h"
#include "dump/tree.h"
#include "graph/importers.h"

namespace plumb::compare {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::SlotKind;
using graph::Operator;
using Rank = std::optional<int64_t>;
using Entries = std::vector<const Entry*>;

constexpr std::string_view kFxConvention = "torchair-fx", kGeConvention = "torchair-ge";

// ---- the graph files ----

enum class Source : uint8_t { kOriginal, kOptimized, kEngine };

struct GraphFile {
  Source source = Source::kOriginal;
  int64_t id = 0;
  Rank rank;
  int64_t time = 0;
  std::string path;  // relative to the root
};

// The number behind a word: 3 of "graph_3_rank_0" behind "graph_".
std::optional<int64_t> number_behind(std::string_view name, std::string_view word) {
  const size_t at = name.find(word);
  if (at == std::string_view::npos) return {};
  name.remove_prefix(at + word.size());
  const size_t end = std::min(name.find_first_not_of("0123456789"), name.size());
  if (end == 0) return {};
  return dump::timestamp_from(name.substr(0, end));
}

std::optional<GraphFile> graph_file(std::string_view path) {
  constexpr std::pair<std::string_view, Source> kStarts[] = {
      {"dynamo_original_graph_", Source::kOriginal},
      {"dynamo_optimized_graph_", Source::kOptimized},
      {"ge_proto_", Source::kEngine}};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const auto& [start, source] : kStarts)
    if (name.starts_with(start) && name.ends_with(".txt"))
      return GraphFile{source, number_behind(name, "graph_").value_or(0),
                       number_behind(name, "_rank_"), number_behind(name, "_ts_").value_or(0),
                       std::string(path)};
  return {};
}

// Of one graph of a rank several files may be left by earlier runs: the newest of each kind.
std::vector<GraphFile> graph_files_of(const DumpSet& set, std::vector<std::string>& warnings) {
  std::vector<GraphFile> files;
  for (const dump::Skipped& skipped : set.skipped)
    if (auto file = graph_file(skipped.file)) files.push_back(std::move(*file));
  const auto key = [](const GraphFile& f) {
    return std::tuple(f.source == Source::kEngine, f.rank, f.id, f.source);
  };
  std::stable_sort(files.begin(), files.end(), [&](const GraphFile& a, const GraphFile& b) {
    return std::tuple(key(a), -a.time) < std::tuple(key(b), -b.time);
  });
  std::vector<GraphFile> newest;
  for (GraphFile& file : files) {
    const bool is_older = !newest.empty() && key(newest.back()) == key(file);
    // GE writes one file for each stage of its work; the stages add to each other.
    if (is_older && file.source != Source::kEngine)
      warnings.push_back(fmt::format("{}: left out, {} is newer", file.path, newest.back().path));
    else
      newest.push_back(std::move(file));
  }
  return newest;
}

// What the files of one model say, the first file first.
class Model {
 public:
  void add(const graph::Graph& graph) {
    for (const Operator& op : graph.operators) {
      if (op.origins) {
        made_.try_emplace(op.name, &op);
        if (op.origins->size() > 1) continue;  // not a name of the original graph
      }
      if (by_name_.try_emplace(op.name, &op).second) names_.add(op.name);
      for (const graph::Output& output : op.outputs) {
        const auto fx = fx_tensor(output.name);
        if (fx) fx_.try_emplace(fx->first, op.name);
      }
    }
  }

  const Operator* find(std::string_view name) const { return get(by_name_, name); }
  // As GE made it, with what it was made from.
  const Operator* made(std::string_view name) const { return get(made_, name); }

  Members members_of(std::string_view name) const {
    if (const Operator* op = made(name)) {
      Members members;
      for (const std::string& origin : *op->origins)
        if (names_.contains(origin)) members.names.emplace_back(origin);
      if (!members.names.empty()) return members;
    }
    return names_.split(name);
  }

  // The graph's operator that an FX node became; empty if none did.
  std::string_view made_from_fx(std::string_view node) const {
    const auto found = fx_.find(node);
    return found == fx_.end() ? std::string_view() : found->second;
  }

  // "mm-aten.mm.default.OUTPUT.0" as the node and 0.
  static std::optional<std::pair<std::string_view, int64_t>> fx_tensor(std::string_view name) {
    constexpr std::string_view kOutput = ".OUTPUT.";
    const size_t at = name.rfind(kOutput);
    if (at == std::string_view::npos) return {};
    const auto index = dump::number_from(name.substr(at + kOutput.size()));
    if (!index) return {};
    return std::pair(name.substr(0, at), *index);
  }

 private:
  using Map = std::unordered_map<std::string_view, const Operator*>;
  static const Operator* get(const Map& map, std::string_view name) {
    const auto found = map.find(name);
    return found == map.end() ? nullptr : found->second;
  }
  Map by_name_, made_;
  std::unordered_map<std::string_view, std::string_view> fx_;
  MemberNames names_;
};

// All models of a side, by rank and number.
struct Models {
  std::vector<graph::Graph> graphs;
  std::map<Rank, std::map<int64_t, Model>> by_rank;
  std::vector<std::string> files;

  // Files of a rank; those that name no rank belong to each.
  const std::map<int64_t, Model>& of(Rank rank) const {
    static const std::map<int64_t, Model> kNone;
    for (const Rank& each : {rank, Rank()})
      if (const auto found = by_rank.find(each); found != by_rank.end()) return found->second;
    // A dump without rank directories has the files of its only rank.
    return !rank && !by_rank.empty() ? by_rank.begin()->second : kNone;
  }
};

// The graph engine's own files name no rank, and number graphs in their own way: they add to the
// graph of the same number, or to all.
void add_graph(Models& models, const GraphFile& file, const graph::Graph& graph) {
  const bool is_addition = file.source == Source::kEngine && !file.rank && !models.by_rank.empty();
  if (!is_addition) return models.by_rank[file.rank][file.id].add(graph);
  for (auto& [rank, by_id] : models.by_rank) {
    const auto same = by_id.find(file.id);
    for (auto& [id, model] : by_id)
      if (same == by_id.end() || id == file.id) model.add(graph);
  }
}

Models load_models(const DumpSet& set, const graph::Graph* extra,
                   std::vector<std::string>& warnings) {
  Models models;
  const std::vector<GraphFile> files = graph_files_of(set, warnings);
  std::vector<std::optional<Result<graph::Graph>>> loaded(files.size());
  tbb::parallel_for(size_t{0}, files.size(),
                    [&](size_t i) { loaded[i] = graph::load_graph(set.root / files[i].path); });
  models.graphs.reserve(files.size());  // borrowed from
  for (size_t i = 0; i < files.size(); ++i) {
    if (!*loaded[i]) {
      const Error& error = loaded[i]->error();
      warnings.push_back(fmt::format("{}: {}, {}", files[i].path, error.what, error.where));
      continue;
    }
    const graph::Graph& graph = models.graphs.emplace_back(std::move(**loaded[i]));
    for (const std::string& warning : graph.warnings)
      warnings.push_back(files[i].path + ": " + warning);
    add_graph(models, files[i], graph);
    models.files.push_back(files[i].path);
  }
  if (extra != nullptr) {
    if (models.by_rank.empty()) models.by_rank[{}][0];
    for (auto& [rank, by_id] : models.by_rank)
      for (auto& [id, model] : by_id) model.add(*extra);
  }
  return models;
}

// ---- ranks, models, tokens ----

// The tensors of one model on one rank.
struct Group {
  std::string model, number;  // as the directories name it; of FX the directory alone
  std::optional<int64_t> graph;
  std::map<int64_t, Entries> tokens;
};

const std::string& file_of(const Entry& entry) {
  return entry.parts.empty() ? entry.record : entry.parts.front().file;
}

std::string_view directory_of(const Entry& entry) {
  const std::string_view file = file_of(entry);
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
  const bool is_fx = set.convention == kFxConvention;
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
    Key key{"", entry.graph};
    int64_t token = entry.step.value_or(0);
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
    auto& groups = found.try_emplace(entry.rank, less).first->second;
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
void number_groups(std::vector<Group>& groups, const std::map<int64_t, Model>& models) {
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
                      const std::map<int64_t, Model>& models) {
  std::set<int64_t> ids;
  for (const Group& group : target)
    if (group.graph) ids.insert(*group.graph);
  if (ids.size() != groups.size())
    for (const auto& [id, model] : models) ids.insert(id);
  auto id = ids.begin();
  for (Group& group : groups)
    if (id != ids.end()) group.graph = *id++;
}

// ---- operators ----

// One run of one operator with its tensors by slot.
struct Execution {
  std::string_view op, type;
  int64_t timestamp = 0;
  Entries inputs, outputs, others;

  template <class Visit>
  void each(Visit&& visit) const {
    for (const Entries* list : {&inputs, &outputs, &others})
      for (const Entry* entry : *list) visit(entry);
  }
};

std::vector<Execution> executions_of(const Entries& entries) {
  std::vector<Execution> executions;
  for (const Entry* entry : entries) {
    if (executions.empty() || executions.back().op != entry->operator_name ||
        executions.back().timestamp != entry->timestamp)
      executions.push_back({entry->operator_name, entry->type, entry->timestamp, {}, {}, {}});
    Execution& execution = executions.back();
    (entry->slot.kind == SlotKind::kInput    ? execution.inputs
     : entry->slot.kind == SlotKind::kOutput ? execution.outputs
                                             : execution.others)
        .push_back(entry);
  }
  return executions;
}

// How many elements a tensor has, from its header.
int64_t count_of(const DumpSet& set, const Entry& entry) {
  const auto count = [](const TensorInfo& info) {
    if (info.error) return kUnknownCount;
    if (info.dtype == DType::kOpaque) return kNoTensor;
    return element_count(info.logical_shape.value_or(info.shape)).value_or(kUnknownCount);
  };
  if (entry.parts.size() > 1) return kUnknownCount;
  if (entry.info) return count(*entry.info);
  if (entry.parts.empty())
    return entry.recorded_shape ? element_count(*entry.recorded_shape).value_or(kUnknownCount)
                                : kUnknownCount;
  const auto file = dump::open_part(set, entry.parts.front(), {});
  if (!file) return kUnknownCount;
  const auto info = dump::find_tensor(*file, entry.parts.front().tensor);
  return info ? count(**info) : kUnknownCount;
}

// Decides about the tensors of one token of one model.
class TokenPairing {
 public:
  TokenPairing(const DumpSet& target, const DumpSet& golden, const Model& model,
               const Entries& targets, const Entries& goldens)
      : target_(target),
        golden_(golden),
        model_(model),
        is_fx_(golden.convention == kFxConvention),
        targets_(executions_of(targets)),
        goldens_(executions_of(goldens)) {
    const auto keep_latest = [](auto& map, const Execution& execution) {
      const auto [found, is_new] = map.try_emplace(execution.op, &execution);
      if (!is_new && found->second->timestamp <= execution.timestamp) found->second = &execution;
    };
    for (const Execution& execution : goldens_) keep_latest(golden_of_, execution);
    for (const Execution& execution : targets_) keep_latest(latest_, execution);
  }

  void run(Decisions& out, size_t& duplicates) {
    // Headers are read on the way: on all cores, each operator into its own list.
    std::vector<Decided> decided(targets_.size());
    tbb::parallel_for(size_t{0}, targets_.size(),
                      [&](size_t i) { decide(targets_[i], decided[i]); });
    std::unordered_map<const Execution*, const Entry*> members;  // and who they belong to
    for (Decided& list : decided) {
      for (auto& [entry, decision] : list.tensors) out.try_emplace(entry, std::move(decision));
      for (const Execution* member : list.members) members.try_emplace(member, list.owner);
      duplicates += list.is_duplicate;
    }
    std::unordered_set<const Entry*> used;
    for (const Execution& execution : targets_)
      execution.each([&](const Entry* entry) {
        if (const auto found = out.find(entry); found != out.end() && found->second.golden)
          used.insert(found->second.golden);
      });
    for (const Execution& execution : goldens_) {
      const auto member = members.find(&execution);
      execution.each([&](const Entry* entry) {
        if (used.contains(entry) || out.contains(entry)) return;
        out.try_emplace(entry,
                        member == members.end() ? why_left(execution) : inside(member->second));
      });
    }
  }

 private:
  struct Decided {
    std::vector<std::pair<const Entry*, Decision>> tensors;
    std::vector<const Execution*> members;  // of golden
    const Entry* owner = nullptr;
    bool is_duplicate = false;
  };

  static Decision refuse(std::string_view reason, std::string message,
                         const Entry* owner = nullptr) {
    Decision decision;
    decision.reason = reason;
    decision.message = std::move(message);
    decision.owner = owner;
    return decision;
  }
  static Decision pair(const Entry* golden, std::string_view rule, std::string evidence,
                       bool golden_is_own = false) {
    Decision decision;
    decision.golden = golden;
    decision.golden_is_own = golden_is_own;
    decision.rule = rule;
    decision.evidence = std::move(evidence);
    return decision;
  }
  static Decision inside(const Entry* owner) {
    return refuse("inside_fusion",
                  fmt::format("fused into {}, which does not give it out", owner->operator_name),
                  owner);
  }

  Decision why_left(const Execution& golden) const {
    if (const auto latest = golden_of_.at(golden.op); latest != &golden)
      return refuse("duplicate_name", "a later run of this operator is compared");
    if (!is_fx_) return refuse("no_target", "no operator of the target was made from it");
    const std::string_view op = model_.made_from_fx(golden.op);
    if (op.empty())
      return refuse("no_counterpart", "no operator of the GE graph stands for this FX node");
    Decision decision =
        refuse("no_target", fmt::format("{} in the GE graph; target did not dump that", op));
    decision.wanted = TensorName{std::string(op), {}};
    return decision;
  }

  // The golden execution of an operator of the graph.
  const Execution* golden_of(std::string_view op) const {
    std::string_view name = op;
    if (is_fx_) {
      name = {};
      if (const Operator* known = model_.find(op))
        for (const graph::Output& output : known->outputs)
          if (const auto fx = Model::fx_tensor(output.name); fx && name.empty()) name = fx->first;
    }
    const auto found = golden_of_.find(name);
    return found == golden_of_.end() ? nullptr : found->second;
  }

  // Golden's tensor for an output of an operator of the graph.
  const Entry* golden_output(std::string_view op, int64_t index) const {
    const Execution* execution = golden_of(op);
    if (is_fx_) {
      const Operator* known = model_.find(op);
      if (known != nullptr && index >= 0 && index < std::ssize(known->outputs))
        if (const auto fx = Model::fx_tensor(known->outputs[static_cast<size_t>(index)].name)) {
          const auto found = golden_of_.find(fx->first);
          execution = found == golden_of_.end() ? nullptr : found->second;
          index = fx->second;
        }
    }
    if (execution == nullptr) return nullptr;
    for (const Entry* entry : execution->outputs)
      if (entry->slot.index == index && entry->slot.path.empty()) return entry;
    return nullptr;
  }

  void decide(const Execution& target, Decided& out) const {
    const auto refuse_all = [&](std::string_view reason, const std::string& message) {
      target.each([&](const Entry* e) { out.tensors.emplace_back(e, refuse(reason, message)); });
    };
    for (const Entry* entry : target.others)
      out.tensors.emplace_back(entry, refuse("no_golden", "neither an input nor an output"));
    out.is_duplicate = latest_.at(target.op) != &target;
    if (out.is_duplicate)
      return refuse_all("duplicate_name", "a later run of this operator is compared");
    target.each([&](const Entry* entry) {
      if (out.owner == nullptr) out.owner = entry;
    });

    Members members;
    std::string_view rule = is_fx_ ? "fx-tensor" : "name";
    if (!is_fx_ && golden_of_.contains(target.op)) {
      members.names = {target.op};
    } else {
      members = model_.members_of(target.op);
      if (!is_fx_ && members.names.size() == 1) members = {};  // it would have had that name
      if (members.names.size() > 1) rule = "fused";
      if (members.is_prefix) rule = "prefix";
    }
    const bool is_conversion = target.type.find("Cast") != std::string_view::npos ||
                               target.type.find("TransData") != std::string_view::npos;
    if (members.names.empty() && is_fx_ && is_conversion) return pair_own(target, out);
    if (members.names.empty())
      return refuse_all("no_golden", is_fx_ ? "the graph has no such operator"
                                            : "no golden data for this operator");
    for (std::string_view name : members.names)
      if (const Execution* golden = golden_of(name)) out.members.push_back(golden);
    if (out.members.empty())
      return refuse_all("no_golden",
                        fmt::format("no golden data for {}", fmt::join(members.names, " + ")));
    const bool is_itself = members.names.size() == 1 && members.names[0] == target.op;
    const std::string evidence =
        is_itself ? "" : fmt::format("{}", fmt::join(members.names, " + "));
    pair_inputs(target, members, rule, evidence, out);
    pair_outputs(target, members, rule, evidence, out);
  }

  // An operator that GE put in to convert must not change values.
  void pair_own(const Execution& target, Decided& out) const {
    for (const Entry* output : target.outputs) {
      const auto same = [&](const Entry* input) { return input->slot.index == output->slot.index; };
      const auto input = std::find_if(target.inputs.begin(), target.inputs.end(), same);
      Decision decision = refuse("no_golden", "the input it was converted from is not dumped");
      if (input != target.inputs.end())
        decision = pair(*input, "conversion", "GE put it in; compared with its own input", true);
      out.tensors.emplace_back(output, std::move(decision));
    }
    for (const Entry* input : target.inputs)
      out.tensors.emplace_back(input, refuse("no_counterpart",
                                             "input of a conversion that GE "
                                             "put in"));
  }

  void pair_lists(const Entries& target, const Entries& golden, std::string_view rule,
                  const std::string& evidence, Decided& out) const {
    std::vector<int64_t> own(target.size()), other(golden.size());
    // One against one needs no header.
    if (target.size() != 1 || golden.size() != 1) {
      for (size_t i = 0; i < own.size(); ++i) own[i] = count_of(target_, *target[i]);
      for (size_t i = 0; i < other.size(); ++i) other[i] = count_of(golden_, *golden[i]);
    }
    std::vector<bool> own_paired(own.size()), other_paired(other.size());
    for (const auto& [i, j] : align_operands(own, other)) {
      own_paired[i] = other_paired[j] = true;
      out.tensors.emplace_back(target[i], pair(golden[j], rule, evidence));
    }
    for (size_t i = 0; i < own.size(); ++i)
      if (!own_paired[i])
        out.tensors.emplace_back(
            target[i], refuse("no_golden", "no golden tensor aligned with this target tensor"));
    for (size_t j = 0; j < other.size(); ++j)
      if (!other_paired[j])
        out.tensors.emplace_back(
            golden[j], other[j] == kNoTensor || (is_fx_ && other[j] == 1)
                           ? refuse("no_counterpart",
                                    "an argument that is no tensor of the GE operator", out.owner)
                           : refuse("no_target", "no target tensor aligned with this golden tensor",
                                    out.owner));
  }

  // What goes into the members from outside.
  void pair_inputs(const Execution& target, const Members& members, std::string_view rule,
                   const std::string& evidence, Decided& out) const {
    const auto is_member = [&](std::string_view name) {
      return std::find(members.names.begin(), members.names.end(), name) != members.names.end();
    };
    Entries inputs;
    for (std::string_view name : members.names) {
      const Execution* golden = golden_of(name);
      const Operator* op = model_.find(name);
      for (size_t i = 0; golden != nullptr && i < golden->inputs.size(); ++i) {
        const bool is_inner = members.names.size() > 1 && op != nullptr && i < op->inputs.size() &&
                              is_member(op->inputs[i].producer);
        if (!is_inner) inputs.push_back(golden->inputs[i]);
      }
    }
    pair_lists(target.inputs, inputs, rule, evidence, out);
  }

  // What the last member gives out, unless the graph records better.
  void pair_outputs(const Execution& target, const Members& members, std::string_view rule,
                    const std::string& evidence, Decided& out) const {
    const std::string_view last = members.names.back();
    if (!is_fx_ && members.names.size() == 1)
      return pair_lists(target.outputs, golden_of(last)->outputs, rule, evidence, out);
    const Operator* made = model_.made(target.op);
    std::unordered_set<const Entry*> used;
    for (const Entry* output : target.outputs) {
      std::string_view op = last;
      int64_t index = output->slot.index;
      if (made != nullptr && index >= 0 && index < std::ssize(made->outputs)) {
        const graph::Output& recorded = made->outputs[static_cast<size_t>(index)];
        if (!recorded.origin.empty() && model_.find(recorded.origin) != nullptr) {
          op = recorded.origin;
          index = recorded.origin_output.value_or(0);
        }
      }
      const Entry* golden = golden_output(op, index);
      if (golden != nullptr) {
        used.insert(golden);
        out.tensors.emplace_back(output, pair(golden, rule, evidence));
      } else {
        Decision decision =
            refuse("no_golden", fmt::format("golden has no output {} of {}", index, op));
        if (const Execution* known = golden_of(op))
          decision.wanted = TensorName{std::string(known->op), {SlotKind::kOutput, index, {}}};
        out.tensors.emplace_back(output, std::move(decision));
      }
    }
    if (const Execution* golden = golden_of(last))
      for (const Entry* entry : golden->outputs)
        if (!used.contains(entry))
          out.tensors.emplace_back(
              entry, refuse("no_target", "no output of the target stands for it", out.owner));
  }

  const DumpSet& target_;
  const DumpSet& golden_;
  const Model& model_;
  const bool is_fx_;
  std::vector<Execution> targets_, goldens_;
  std::unordered_map<std::string_view, const Execution*> golden_of_, latest_;
};

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

class Pairing {
 public:
  Pairing(const DumpSet& target, const DumpSet& golden) : target_(target), golden_(golden) {
    out_.places.resize(target.entries.size());
  }

  Result<Torchair> run(const TorchairOptions& options) {
    const bool is_fx = golden_.convention == kFxConvention;
    const Models models = load_models(target_, options.graph, out_.warnings);
    if (target_.convention == kFxConvention && !is_fx)
      return Error{"target and golden seem to be swapped", "target is an FX dump",
                   "name the GE dump first, what it is checked against second"};
    if (models.by_rank.empty())
      return Error{"there is no GE graph in the target", target_.root.string(),
                   "dump with TorchAir's graph dump of type txt, which writes "
                   "dynamo_original_graph_*.txt, or name the graph: --graph FILE"};
    Models golden_models;
    if (!is_fx) golden_models = load_models(golden_, nullptr, out_.warnings);
    auto targets = groups_of(target_, options), goldens = groups_of(golden_, options);
    auto pairs = rank_pairs(ranks_in(targets), ranks_in(goldens), options.ranks, out_.warnings);
    if (!pairs) return pairs.error();
    out_.graph_files = models.files;
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
      out_.warnings.push_back(fmt::format(
          "{} operator(s) were dumped several times for one token; the latest is compared",
          duplicates_));
    return std::move(out_);
  }

 private:
  void pair_groups(const std::vector<Group>& targets, const std::vector<Group>& goldens,
                   const std::map<int64_t, Model>& models, Rank rank) {
    static const Model kNoModel;
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
        TokenPairing(target_, golden_, model == models.end() ? kNoModel : model->second, entries,
                     found->second)
            .run(out_.decisions, duplicates_);
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
      out_.warnings.push_back(fmt::format("golden has {} models{}, target has {}", goldens.size(),
                                          on_rank, targets.size()));
  }

  // Of ranks, models and tokens that one side alone has.
  void refuse_rest() {
    const auto refuse = [&](const DumpSet& set, std::string_view reason, const char* message) {
      for (const Entry& entry : set.entries) {
        Decision decision;
        decision.reason = reason;
        decision.message = message;
        out_.decisions.try_emplace(&entry, std::move(decision));
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

bool has_graph(const DumpSet& set) {
  return std::any_of(set.skipped.begin(), set.skipped.end(), [](const dump::Skipped& skipped) {
    return graph_file(skipped.file).has_value();
  });
}

}  // namespace

void MemberNames::add(std::string_view name) {
  if (name.empty() || !names_.insert(name).second) return;
  const auto at = std::lower_bound(lengths_.begin(), lengths_.end(), name.size(), std::greater<>());
  if (at == lengths_.end() || *at != name.size()) lengths_.insert(at, name.size());
}

Members MemberNames::split(std::string_view name) const {
  constexpr size_t kLongest = 4096;
  if (names_.contains(name)) return {{name}, false};
  if (name.size() > kLongest) return {};
  // From the end: how long the name is that starts here if the rest can be cut completely, longer
  // names first.
  std::vector<size_t> cut(name.size() + 1, 0);
  const auto rest_of = [&](size_t at) {  // behind a separator, if there is one
    if (at == name.size() || cut[at] > 0) return at;
    return name[at] == '_' && at + 1 < name.size() && cut[at + 1] > 0 ? at + 1
                                                                      : std::string_view::npos;
  };
  for (size_t at = name.size(); at-- > 0;) {
    for (size_t length : lengths_) {
      if (length > name.size() - at || rest_of(at + length) == std::string_view::npos) continue;
      if (!names_.contains(name.substr(at, length))) continue;
      cut[at] = length;
      break;
    }
  }
  Members members;
  if (cut[0] > 0) {
    for (size_t at = 0; at < name.size();) {
      members.names.push_back(name.substr(at, cut[at]));
      at = rest_of(at + cut[at]);
    }
    return members;
  }
  for (size_t length : lengths_) {
    if (length >= name.size() || (name[length] != '_' && name[length] != '/')) continue;
    if (!names_.contains(name.substr(0, length))) continue;
    return {{name.substr(0, length)}, true};
  }
  return members;
}

std::vector<std::pair<size_t, size_t>> align_operands(std::span<const int64_t> target,
                                                      std::span<const int64_t> golden) {
  constexpr size_t kMostCells = 1 << 22;
  const size_t n = target.size(), m = golden.size();
  const auto agree = [](int64_t a, int64_t b) {
    if (a == kNoTensor || b == kNoTensor) return false;
    return a == b || a == kUnknownCount || b == kUnknownCount;
  };
  std::vector<std::pair<size_t, size_t>> pairs;
  bool is_plain = n == m || (n > 0 && m > kMostCells / n);
  for (size_t i = 0; is_plain && n == m && i < n; ++i) is_plain = agree(target[i], golden[i]);
  if (is_plain) {
    for (size_t i = 0; i < std::min(n, m); ++i) pairs.emplace_back(i, i);
    return pairs;
  }
  // Of the lists from i and j on: how many pairs, and how far they are shifted.
  struct Best {
    int64_t pairs = 0, shift = 0;
    bool operator<(const Best& other) const {
      return std::tuple(pairs, -shift) < std::tuple(other.pairs, -other.shift);
    }
  };
  std::vector<Best> best((n + 1) * (m + 1));
  const auto at = [&](size_t i, size_t j) -> Best& { return best[i * (m + 1) + j]; };
  const auto with_pair = [&](size_t i, size_t j) {
    const Best& rest = at(i + 1, j + 1);
    return Best{rest.pairs + 1, rest.shift + static_cast<int64_t>(i > j ? i - j : j - i)};
  };
  for (size_t i = n; i-- > 0;) {
    for (size_t j = m; j-- > 0;) {
      at(i, j) = std::max(at(i + 1, j), at(i, j + 1));
      if (agree(target[i], golden[j])) at(i, j) = std::max(at(i, j), with_pair(i, j));
    }
  }
  std::vector<bool> t_paired(n), g_paired(m);
  for (size_t i = 0, j = 0; i < n && j < m;) {
    const Best here = at(i, j);
    if (agree(target[i], golden[j]) && !(with_pair(i, j) < here)) {
      pairs.emplace_back(i, j);
      t_paired[i++] = g_paired[j++] = true;
    } else if (!(at(i + 1, j) < here)) {
      ++i;
    } else {
      ++j;
    }
  }
  for (size_t i = 0; i < std::min(n, m); ++i)
    if (!t_paired[i] && !g_paired[i] && target[i] != kNoTensor && golden[i] != kNoTensor)
      pairs.emplace_back(i, i);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

bool is_torchair(const DumpSet& target, const DumpSet& golden) {
  const bool is_ge = target.convention == kGeConvention ||
                     (target.convention.starts_with("ascend") && has_graph(target));
  return (is_ge && golden.convention == kFxConvention) ||
         (target.convention == kGeConvention && golden.convention == kGeConvention);
}

Result<Torchair> pair_torchair(const DumpSet& target, const DumpSet& golden,
                               const TorchairOptions& options) {
  return Pairing(target, golden).run(options);
}

}  // namespace plumb::compare
