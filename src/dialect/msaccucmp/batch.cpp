// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/batch.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "dump/names.h"
#include "graph/importers.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> entries_of(const fs::path& directory, bool directories) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored))
    if (directories ? entry.is_directory(ignored) : entry.is_regular_file(ignored))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The second number in a name that has exactly two: "73" of ge_default_20210420113943_73.
std::string second_number(std::string_view name) {
  std::vector<std::string> numbers;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    const bool before = i > 0 && name[i - 1] >= '0' && name[i - 1] <= '9';
    if (digit && !before) numbers.emplace_back();
    if (digit) numbers.back() += name[i];
  }
  return numbers.size() == 2 ? numbers[1] : "";
}

struct ModelDump {
  std::string device, model, step;
  fs::path path;
};

std::vector<ModelDump> dumps_in(const fs::path& run) {
  std::vector<ModelDump> dumps;
  for (const std::string& device : entries_of(run, true))
    for (const std::string& model : entries_of(run / device, true))
      for (const std::string& id : entries_of(run / device / model, true)) {
        const auto steps = entries_of(run / device / model / id, true);
        if (steps.empty()) continue;
        // The greatest as text, as ever: step 9 comes after step 10.
        dumps.push_back({device, model, steps.back(), run / device / model / id / steps.back()});
      }
  return dumps;
}

}  // namespace

Outcome<std::vector<BatchJob>> plan_batch(const fs::path& run, const fs::path& rules) {
  std::error_code ignored;
  const fs::path name = fs::absolute(run).lexically_normal();
  const std::string last =
      (name.has_filename() ? name.filename() : name.parent_path().filename()).string();
  if (!fs::is_directory(run, ignored) || !dump::is_digits(last))
    return {Code::kInvalidPath,
            Error{"with a directory of rule files, -m names the directory of a run", run.string(),
                  "give the one that is named by a time stamp and holds device/model/id/step"}};
  std::vector<std::pair<std::string, fs::path>> graphs;  // by name
  for (const std::string& file : entries_of(rules, false)) {
    if (!file.ends_with(".json")) continue;
    auto graph = graph::load_graph(rules / file);
    if (!graph) return {Code::kRuleJson, std::move(graph.error())};
    std::set<std::string> names{graph->name};
    for (const graph::Operator& op : graph->operators) names.insert(op.subgraph);
    for (const std::string& each : names)
      if (!each.empty()) graphs.emplace_back(each, rules / file);
  }
  if (graphs.empty())
    return {Code::kInvalidPath,
            Error{"no rule file in the directory", rules.string(), "give .json files of atc"}};
  const auto dumps = dumps_in(run);
  std::vector<BatchJob> jobs;
  std::set<fs::path> done;
  for (const auto& [graph, path] : graphs) {
    std::vector<const ModelDump*> found;
    for (const ModelDump& each : dumps)
      if (each.model == graph) found.push_back(&each);
    if (found.empty() && !second_number(graph).empty())
      for (const ModelDump& each : dumps)
        if (second_number(each.model) == second_number(graph)) found.push_back(&each);
    for (const ModelDump* each : found)
      if (done.insert(each->path).second)
        jobs.push_back(
            {path, each->path, fmt::format("{}_{}_{}", each->device, each->model, each->step)});
  }
  if (jobs.empty())
    return {Code::kInvalidPath,
            Error{"no dump belongs to a rule file",
                  fmt::format("{}: {} dumps, {}: {} graphs", run.string(), dumps.size(),
                              rules.string(), graphs.size()),
                  "the directory of a model is named like the graph in its rule file"}};
  return jobs;
}

}  // namespace plumb::msaccucmp
