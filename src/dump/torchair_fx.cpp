// SPDX-License-Identifier: Apache-2.0
//
// FX dumps of TorchAir, in the directories of its three generations:
//   worldsizeW_global_rankR/model/token/*.npy     the directory is the token
//   [data_dump/]token+1/gm_TIME_dump/*.npy        the directory is one more than the token
//   gm_TIME_dump/*.npy                            token 0
// The shape of the tree tells which, since the tool's version is written nowhere.
#include "dump/levels.h"
#include "dump/listing.h"
#include "dump/names.h"

namespace plumb::dump {
namespace {

// Longer numbers are times.
bool is_token(std::string_view name) { return is_digits(name) && name.size() < 12; }

// A middle-generation token directory: it holds directories, not files.
bool is_old_token(const std::vector<std::string_view>& path) {
  const size_t depth = path.size();
  return depth >= 2 && !is_token(path[depth - 1]) && is_token(path[depth - 2]);
}

void place(const TreeFile& file, int64_t first_token, Entry& entry) {
  const auto path = components(file.directory());
  for (std::string_view part : path)
    if (const auto rank = rank_from(part)) entry.rank = rank;
  entry.step = 0;
  const size_t depth = path.size();
  if (depth >= 1 && is_token(path[depth - 1])) {
    entry.step = number_from(path[depth - 1]);
    if (depth >= 2 && !rank_from(path[depth - 2])) entry.graph = path[depth - 2];
  } else if (is_old_token(path)) {
    entry.step = *number_from(path[depth - 2]) - first_token;
    entry.graph = path[depth - 1];
  } else if (depth >= 1 && !rank_from(path[depth - 1])) {
    entry.graph = path[depth - 1];
  }
}

int match(const Tree& tree) {
  if (tree.is_single_file) return 0;
  const int percent = percent_of(tree, [](const TreeFile& file) -> std::optional<bool> {
    if (companion_reason(file.name())) return {};
    return parse_fx_name(file.name()).has_value();
  });
  return percent == 0 ? 0 : 20 + 70 * percent / 100;
}

DumpSet list(const Tree& tree, const io::ReadHints&) {
  DumpSet set;
  // The middle generation counts from 1; a directory 0 would mean that this one does not.
  int64_t first_token = 1;
  for (const TreeFile& file : tree.files) {
    const auto path = components(file.directory());
    if (parse_fx_name(file.name()) && is_old_token(path) && number_from(path[path.size() - 2]) == 0)
      first_token = 0;
  }
  std::vector<const TreeFile*> reduced;
  std::vector<Entry> models;
  for (const TreeFile& file : tree.files) {
    const auto name = parse_fx_name(file.name());
    if (!name) {
      set.skipped.push_back(skip_unknown(file, "name is not node-target.INPUT.n.time.npy"));
      continue;
    }
    if (file.size_bytes == 0) {
      set.skipped.push_back(skip_empty(file));
      continue;
    }
    Entry entry;
    entry.operator_name = name->op;
    entry.type = name->target;
    entry.slot = name->slot;
    entry.timestamp = name->timestamp;
    place(file, first_token, entry);
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
    auto read = read_reduced_npy(tree, *reduced[i], models[i]);
    if (read) {
      models[i] = std::move(*read);
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
    "torchair-fx", "FX dumps of TorchAir: node-target.INPUT.n.time.npy by rank, graph and token",
    match, list};

}  // namespace plumb::dump
