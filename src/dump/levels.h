// SPDX-License-Identifier: Apache-2.0
//
// The directories between the path given and a device dump file. Writers make
//   [worldsizeW_global_rankR/ | rankR/ | stepS/] time/device/model/model_id/step/
//   rank_R/time/step_S/                             (MindSpore)
// and leave out what they do not know; users name any of these directories. Levels above the path
// given are not told: all files share them, and naming the directory was the user's choice.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/dump.h"

namespace plumb::dump {

struct Levels {
  std::optional<int64_t> rank;
  std::optional<int64_t> step;
  std::string time, device, model, model_id;  // empty: no such level below the path given
  std::string above_time;                     // the whole path before `time`
  std::string other;                          // what is left, in order, with '/'
  std::string process = {};                   // "proc123", of a process that has no rank

  bool operator==(const Levels&) const = default;
};

// `root` is the absolute path given: if a time level is part of it, the ones below are told by it.
Levels parse_levels(std::string_view root, std::string_view directory);

// Sets rank, step and graph of entries from the directories their files are in. Several devices
// without ranks count as ranks. The graph is named by those levels that differ within a rank; the
// number of the only process says nothing, as it is another one in every run.
void place_entries(const std::filesystem::path& root, std::vector<Entry>& entries);

std::optional<int64_t> rank_from(
    std::string_view directory_name);  // "worldsize2_global_rank1", "rank1", "rank_1"
std::optional<int64_t> step_from(std::string_view directory_name);  // "step3", "step_3"
bool is_process(std::string_view directory_name);                   // "proc123"

}  // namespace plumb::dump
