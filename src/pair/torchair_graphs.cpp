// SPDX-License-Identifier: Apache-2.0
#include "pair/torchair_graphs.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/parallel.h"
#include "dump/names.h"
#include "graph/importers.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using graph::Operator;

enum class GraphOrigin : uint8_t { kOriginal, kOptimized, kEngine };

struct GraphFile {
  GraphOrigin source = GraphOrigin::kOriginal;
  int64_t id = 0;
  Rank rank;
  int64_t time = 0;
  std::string path;  // relative to the root
};

std::optional<GraphFile> graph_file(std::string_view path) {
  constexpr std::pair<std::string_view, GraphOrigin> kStarts[] = {
      {"dynamo_original_graph_", GraphOrigin::kOriginal},
      {"dynamo_optimized_graph_", GraphOrigin::kOptimized},
      {"ge_proto_", GraphOrigin::kEngine}};
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
    return std::tuple(f.source == GraphOrigin::kEngine, f.rank, f.id, f.source);
  };
  std::stable_sort(files.begin(), files.end(), [&](const GraphFile& a, const GraphFile& b) {
    return std::tuple(key(a), -a.time) < std::tuple(key(b), -b.time);
  });
  std::vector<GraphFile> newest;
  for (GraphFile& file : files) {
    const bool is_older = !newest.empty() && key(newest.back()) == key(file);
    // GE writes one file for each stage of its work; the stages add to each other.
    if (is_older && file.source != GraphOrigin::kEngine)
      warnings.push_back(fmt::format("{}: left out, {} is newer", file.path, newest.back().path));
    else
      newest.push_back(std::move(file));
  }
  return newest;
}

// The graph engine's own files name no rank, and number graphs in their own way: they add to the
// graph of the same number, or to all.
void add_graph(TorchairModels& models, const GraphFile& file, const graph::Graph& graph) {
  const bool is_addition =
      file.source == GraphOrigin::kEngine && !file.rank && !models.by_rank.empty();
  if (!is_addition) return models.by_rank[file.rank][file.id].add(graph);
  for (auto& [rank, by_id] : models.by_rank) {
    const auto same = by_id.find(file.id);
    for (auto& [id, model] : by_id)
      if (same == by_id.end() || id == file.id) model.add(graph);
  }
}

}  // namespace

std::optional<int64_t> number_behind(std::string_view name, std::string_view word) {
  const size_t at = name.find(word);
  if (at == std::string_view::npos) return {};
  name.remove_prefix(at + word.size());
  const size_t end = std::min(name.find_first_not_of("0123456789"), name.size());
  if (end == 0) return {};
  return dump::timestamp_from(name.substr(0, end));
}

std::optional<std::pair<std::string_view, int64_t>> fx_tensor(std::string_view name) {
  constexpr std::string_view kOutput = ".OUTPUT.";
  const size_t at = name.rfind(kOutput);
  if (at == std::string_view::npos) return {};
  const auto index = dump::number_from(name.substr(at + kOutput.size()));
  if (!index) return {};
  return std::pair(name.substr(0, at), *index);
}

void TorchairModel::add(const graph::Graph& graph) {
  if (first_ == nullptr) first_ = &graph;
  for (const Operator& op : graph.operators) {
    if (op.origins) {
      made_.try_emplace(op.name, &op);
      if (op.origins->size() > 1) continue;  // not a name of the original graph
    }
    if (by_name_.try_emplace(op.name, &op).second) names_.add(op.name);
    for (const graph::Output& output : op.outputs)
      if (const auto fx = fx_tensor(output.name)) fx_.try_emplace(fx->first, op.name);
  }
}

Members TorchairModel::members_of(std::string_view name) const {
  if (const Operator* op = made(name)) {
    Members members;
    for (const std::string& origin : *op->origins)
      if (names_.contains(origin)) members.names.emplace_back(origin);
    if (!members.names.empty()) return members;
  }
  return names_.split(name);
}

std::string_view TorchairModel::made_from_fx(std::string_view node) const {
  const auto found = fx_.find(node);
  return found == fx_.end() ? std::string_view() : found->second;
}

const Operator* TorchairModel::get(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second;
}

const std::map<int64_t, TorchairModel>& TorchairModels::of(Rank rank) const {
  static const std::map<int64_t, TorchairModel> kNoModels;
  for (const Rank& each : {rank, Rank()})
    if (const auto found = by_rank.find(each); found != by_rank.end()) return found->second;
  // A dump without rank directories has the files of its only rank.
  return !rank && !by_rank.empty() ? by_rank.begin()->second : kNoModels;
}

TorchairModels load_models(const DumpSet& set, const graph::Graph* extra,
                           std::vector<std::string>& warnings) {
  TorchairModels models;
  const std::vector<GraphFile> files = graph_files_of(set, warnings);
  std::vector<std::optional<Result<graph::Graph>>> loaded(files.size());
  for_each_index(files.size(), [&](size_t i) {
    loaded[i] = graph::load_graph(set.root / files[i].path, set.map);
  });
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

bool has_torchair_graph(const DumpSet& set) {
  return std::any_of(set.skipped.begin(), set.skipped.end(), [](const dump::Skipped& skipped) {
    return graph_file(skipped.file).has_value();
  });
}

}  // namespace plumb::pair
