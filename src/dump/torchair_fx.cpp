// SPDX-License-Identifier: Apache-2.0
//
// FX dumps of TorchAir, in the directories of its three generations:
//   worldsizeW_global_rankR/model/token/*.npy     the directory is the token
//   [data_dump/]token+1/gm_TIME_dump/*.npy        the directory is one more than the token
//   gm_TIME_dump/*.npy                            token 0
// The shape of the tree tells which, since the tool's version is written nowhere.
#include <algorithm>
#include <map>

#include "dump/levels.h"
#include "dump/listing.h"
#include "dump/names.h"
#include "dump/reduced.h"

namespace plumb::dump {
namespace {

// Longer numbers are times.
bool is_token(std::string_view name) { return is_digits(name) && name.size() < 12; }

// What a directory says of the files in it.
struct FxPlace {
  std::optional<int64_t> rank;
  int64_t step = 0;
  std::string graph;
  bool is_middle_generation = false;
};

FxPlace place_of(std::string_view directory) {
  FxPlace place;
  auto path = components(directory);
  for (std::string_view part : path)
    if (const auto rank = rank_from(part)) place.rank = rank;
  std::erase_if(path, [](std::string_view part) { return rank_from(part).has_value(); });
  const size_t depth = path.size();
  if (depth >= 1 && is_token(path[depth - 1])) {
    place.step = *number_from(path[depth - 1]);
    if (depth >= 2) place.graph = path[depth - 2];
  } else if (depth >= 1) {
    place.graph = path[depth - 1];
    place.is_middle_generation = depth >= 2 && is_token(path[depth - 2]);
    if (place.is_middle_generation) place.step = *number_from(path[depth - 2]);
  }
  return place;
}

// Of every directory with FX files.
std::map<std::string_view, FxPlace> find_places(const Tree& tree) {
  std::map<std::string_view, FxPlace> places;
  const TreeFile* last = nullptr;
  for (const TreeFile& file : tree.files) {
    if (last != nullptr && last->directory() == file.directory()) continue;
    if (!parse_fx_name(file.name())) continue;
    last = &file;
    places.try_emplace(file.directory(), place_of(file.directory()));
  }
  // The middle generation counts from 1, unless there is a directory 0.
  const bool from_zero = std::any_of(places.begin(), places.end(), [](const auto& place) {
    return place.second.is_middle_generation && place.second.step == 0;
  });
  for (auto& [directory, place] : places)
    if (place.is_middle_generation && !from_zero) --place.step;
  return places;
}

int match_torchair_fx(const Tree& tree) {
  if (tree.is_single_file) return 0;
  const int percent = percent_of(tree, [](const TreeFile& file) -> std::optional<bool> {
    if (companion_reason(file.name())) return {};
    return parse_fx_name(file.name()).has_value();
  });
  return percent == 0 ? 0 : 20 + 70 * percent / 100;
}

DumpSet list_torchair_fx(const Tree& tree, const io::ReadHints&) {
  DumpSet set;
  const auto places = find_places(tree);
  std::vector<const TreeFile*> reduced;
  std::vector<Entry> models;
  Places all_places;
  EntryTexts texts;
  for (const TreeFile& file : tree.files) {
    const auto name = parse_fx_name(file.name());
    if (!name) {
      set.skipped.push_back(skip_unknown(tree, file, "name is not node-target.INPUT.n.time.npy"));
      continue;
    }
    if (file.size_bytes == 0) {
      set.skipped.push_back(skip_empty(tree, file));
      continue;
    }
    if (name->is_reduced && has_original(tree, file)) {
      set.skipped.push_back(skip(file, kHasOriginal));
      continue;
    }
    Entry entry;
    entry.operator_name = name->op;
    entry.type = name->target;
    entry.slot = name->slot;
    entry.timestamp = name->timestamp;
    const FxPlace& place = places.at(file.directory());
    entry.place = all_places.of({place.step, place.rank, place.graph});
    texts.share(entry);
    if (name->is_reduced) {
      reduced.push_back(&file);
      models.push_back(std::move(entry));
    } else {
      entry.parts.push_back({file.path, ""});
      set.entries.push_back(std::move(entry));
    }
  }

  std::vector<std::optional<Error>> errors(reduced.size());
  for_each_index(reduced.size(), [&](size_t i) {
    auto read = list_reduced(tree.absolute(*reduced[i]), reduced[i]->path.str(), models[i]);
    if (read) {
      models[i] = std::move(read->front());
    } else {
      errors[i] = std::move(read.error());
    }
  });
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (errors[i]) {
      set.skipped.push_back(skip_damaged(*reduced[i], std::move(*errors[i])));
    } else {
      set.entries.push_back(std::move(models[i]));
    }
  }
  drop_single_graphs(set.entries);
  unify_timestamps(set.entries);
  return set;
}

}  // namespace

extern constexpr Convention kTorchairFx{
    "torchair-fx",
    "FX dumps of TorchAir: node-target.INPUT.n.time.npy by rank, graph and token",
    match_torchair_fx,
    list_torchair_fx,
    {.is_torchair_fx = true}};

}  // namespace plumb::dump
