// SPDX-License-Identifier: Apache-2.0
#include "dump/levels.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "dump/listing.h"
#include "dump/names.h"
#include "dump/tree.h"

namespace plumb::dump {
namespace {

constexpr size_t kNone = SIZE_MAX;

bool is_time_directory(std::string_view name) { return is_digits(name) && name.size() == 14; }

// Positions among the directories of a path.
struct Positions {
  size_t time = kNone, device = kNone, model = kNone, model_id = kNone, step = kNone;
};

// The levels below a time directory at `time`; nothing if the names do not fit.
std::optional<Positions> below_time(const std::vector<std::string_view>& path, size_t time) {
  Positions at{time};
  size_t next = time + 1;
  if (next == path.size()) return at;
  if (next + 1 == path.size() && step_from(path[next])) {  // MindSpore: rank_0/time/step_0
    at.step = next;
    return at;
  }
  if (!is_digits(path[next])) return {};
  at.device = next++;
  const bool starts_with_number = next < path.size() && is_digits(path[next]);
  switch (path.size() - next) {
    case 0: return at;
    case 1: (starts_with_number ? at.step : at.model) = next; return at;
    case 2:
      if (!is_digits(path[next + 1])) return {};
      (starts_with_number ? at.model_id : at.model) = next;
      (starts_with_number ? at.step : at.model_id) = next + 1;
      return at;
    case 3:
      if (!is_digits(path[next + 1]) || !is_digits(path[next + 2])) return {};
      at.model = next;
      at.model_id = next + 1;
      at.step = next + 2;
      return at;
    default: return {};
  }
}

// Without a time directory: read from the file upwards, [[[device/]model/]model_id/]step.
Positions without_time(const std::vector<std::string_view>& path, size_t first) {
  Positions at;
  size_t end = path.size();
  const auto number_before = [&] { return end > first && is_digits(path[end - 1]); };
  if (!number_before()) return at;
  at.step = --end;
  if (!number_before()) return at;
  at.model_id = --end;
  if (end == first) return at;
  at.model = --end;
  if (number_before()) at.device = --end;
  return at;
}

}  // namespace

namespace {

// "rank1", and "rank_1" as MindSpore writes it.
std::optional<int64_t> number_after(std::string_view name, size_t at) {
  if (at < name.size() && name[at] == '_') ++at;
  return number_from(name.substr(at));
}

}  // namespace

std::optional<int64_t> rank_from(std::string_view name) {
  const size_t at = name.rfind("rank");
  if (at == std::string_view::npos || (at != 0 && !name.starts_with("worldsize"))) return {};
  return number_after(name, at + 4);
}

std::optional<int64_t> step_from(std::string_view name) {
  return name.starts_with("step") ? number_after(name, 4) : std::nullopt;
}

bool is_process(std::string_view name) {
  constexpr std::string_view kPrefix = "proc";
  return name.starts_with(kPrefix) && is_digits(name.substr(kPrefix.size()));
}

Levels parse_levels(std::string_view root, std::string_view directory) {
  constexpr size_t kContext = 5;  // time, device, model, model_id, step
  std::vector<std::string_view> path = components(root);
  std::erase(path, "");
  if (path.size() > kContext) path.erase(path.begin(), path.end() - kContext);
  const size_t own = path.size();
  for (std::string_view part : components(directory)) path.push_back(part);

  std::optional<Positions> at;
  for (size_t i = path.size(); i-- > 0 && !at;)
    if (is_time_directory(path[i])) at = below_time(path, i);
  if (!at) at = without_time(path, own);

  Levels levels;
  const auto name_at = [&](size_t i) {
    return i == kNone || i < own ? std::string() : std::string(path[i]);
  };
  levels.time = name_at(at->time);
  levels.device = name_at(at->device);
  levels.model = name_at(at->model);
  levels.model_id = name_at(at->model_id);
  const std::string step_name = name_at(at->step);
  levels.step = is_digits(step_name) ? number_from(step_name) : step_from(step_name);
  const size_t first = std::min({at->time, at->device, at->model, at->model_id, at->step});
  const auto append = [](std::string& text, std::string_view part) {
    if (!text.empty()) text += '/';
    text += part;
  };
  for (size_t i = own; i < std::min(first, path.size()); ++i) {
    append(levels.above_time, path[i]);
    if (const auto rank = rank_from(path[i])) {
      levels.rank = rank;
    } else if (const auto step = step_from(path[i]); step && !levels.step) {
      levels.step = step;
    } else if (is_process(path[i])) {
      levels.process = path[i];
    } else {
      append(levels.other, path[i]);
    }
  }
  return levels;
}

void place_entries(const std::filesystem::path& root, std::vector<Entry>& entries) {
  std::error_code ignored;
  const std::string above =
      std::filesystem::absolute(root, ignored).lexically_normal().generic_string();
  std::map<std::string, Levels, std::less<>> by_directory;
  const auto levels_of = [&](const Entry& entry) -> const Levels& {
    const std::string_view record = entry.record;
    const size_t slash = record.rfind('/');
    const std::string_view directory = record.empty()
                                           ? entry.parts[0].file.directory()
                                           : record.substr(0, slash == record.npos ? 0 : slash);
    auto at = by_directory.find(directory);
    if (at == by_directory.end())
      at = by_directory.emplace(directory, parse_levels(above, directory)).first;
    return at->second;
  };
  for (const Entry& entry : entries) levels_of(entry);

  using Rank = std::optional<int64_t>;
  std::map<Rank, std::set<std::string_view>> others, processes, models;
  std::map<std::tuple<Rank, std::string_view, std::string_view>, std::set<std::string_view>> ids;
  std::set<std::string_view> devices;
  bool has_ranks = false;
  for (const auto& [directory, levels] : by_directory) {
    others[levels.rank].insert(levels.other);
    processes[levels.rank].insert(levels.process);
    models[levels.rank].insert(levels.model);
    ids[{levels.rank, levels.other, levels.model}].insert(levels.model_id);
    devices.insert(levels.device);
    has_ranks = has_ranks || levels.rank;
  }
  const auto several = [](const auto& names) { return names.second.size() > 1; };
  const bool name_other = std::any_of(others.begin(), others.end(), several);
  const bool name_process = std::any_of(processes.begin(), processes.end(), several);
  const bool name_model = std::any_of(models.begin(), models.end(), several);
  const bool name_model_id = std::any_of(ids.begin(), ids.end(), several);
  const bool devices_are_ranks = !has_ranks && devices.size() > 1;

  Places places;
  for (Entry& entry : entries) {
    const Levels& levels = levels_of(entry);
    Place place{levels.step, devices_are_ranks ? number_from(levels.device) : levels.rank,
                entry.graph()};
    for (const auto& [named, name] : {std::pair{name_other, &levels.other},
                                      {name_process, &levels.process},
                                      {name_model, &levels.model},
                                      {name_model_id, &levels.model_id}}) {
      if (!named || name->empty()) continue;
      if (!place.graph.empty()) place.graph += "/";
      place.graph += *name;
    }
    entry.place = places.of(std::move(place));
  }
}

}  // namespace plumb::dump
