// SPDX-License-Identifier: Apache-2.0
//
// GE dumps of TorchAir: device dumps below worldsizeW_global_rankR/ (older versions: without it),
// with the graph as dynamo_original_graph_*.txt beside them. The step is the token.
#include <algorithm>

#include "dump/ascend_dump.h"

namespace plumb::dump {
namespace {

int match_torchair_ge(const Tree& tree) {
  const auto is_graph = [](const TreeFile& file) {
    return file.name().starts_with("dynamo_original_graph_") && file.name().ends_with(".txt");
  };
  const auto is_dump = [](const TreeFile& file) { return is_device_file_name(file.name()); };
  const bool ours = !tree.is_single_file &&
                    std::any_of(tree.files.begin(), tree.files.end(), is_graph) &&
                    std::any_of(tree.files.begin(), tree.files.end(), is_dump);
  return ours ? 95 : 0;
}

}  // namespace

extern constexpr Convention kTorchairGe{
    "torchair-ge",
    "GE dumps of TorchAir with dynamo_original_graph_*.txt, by rank, graph and token",
    match_torchair_ge,
    list_device_dumps,
    {.is_torchair_ge = true}};

}  // namespace plumb::dump
