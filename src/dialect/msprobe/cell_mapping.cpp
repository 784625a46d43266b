// SPDX-License-Identifier: Apache-2.0
//
// `-cm`: MindSpore says Cell where PyTorch says Module, and a file may give other names:
// "fc1.Dense: fc1.Linear". A line that names no cell in full replaces its first occurrence in the
// names of others, in the order of the file.
#include "dialect/msprobe/mapping.h"

namespace plumb::msprobe {
namespace {

// Where the name of the cell ends: before ".forward", ".backward" or ".parameters_grad".
size_t end_of_cell(std::string_view call) {
  size_t end = call.size();
  for (std::string_view word : {".forward", ".backward", ".parameters_grad"})
    for (size_t at = 0; (at = call.find(word, at)) != std::string_view::npos; ++at)
      if (at + word.size() == call.size() || call[at + word.size()] == '.') end = std::min(end, at);
  return end;
}

std::string renamed_cell(const std::string& cell, const Texts& lines,
                         const std::unordered_map<std::string, std::string>& whole) {
  if (const auto found = whole.find(cell); found != whole.end()) return found->second;
  std::string name = cell;
  for (const auto& [from, to] : lines)
    if (const size_t at = name.find(from); at != std::string::npos)
      name.replace(at, from.size(), to);
  return name;
}

}  // namespace

Result<Rename> cell_renaming(const Yaml& table) {
  auto lines = texts_of(table);
  if (!lines) return lines.error();
  std::unordered_map<std::string, std::string> whole(lines->begin(), lines->end());
  return Rename([lines = std::move(*lines), whole = std::move(whole)](const std::string& op,
                                                                      const dump::Slot& slot) {
    const size_t dot = op.find('.');
    if (dot == std::string::npos) return std::optional(pair::TensorName{op, slot});
    const size_t end = std::max(end_of_cell(op), dot + 1);
    const std::string kind = op.substr(0, dot) == "Cell" ? "Module" : op.substr(0, dot);
    const std::string cell = renamed_cell(op.substr(dot + 1, end - dot - 1), lines, whole);
    return std::optional(pair::TensorName{kind + "." + cell + op.substr(end), slot});
  });
}

}  // namespace plumb::msprobe
