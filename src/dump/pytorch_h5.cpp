// SPDX-License-Identifier: Apache-2.0
//
// PyTorch dumps of the older generation, one HDF5 file for a run: /operator/order/input|output/name
// with one more level for lists of tensors. The order counts all calls; an operator's calls are
// numbered here, so that the k-th call of one run meets the k-th of another.
#include <map>

#include "dump/listing.h"
#include "dump/names.h"

namespace plumb::dump {
namespace {

// The only file that matters, if it is HDF5.
const TreeFile* find_file(const Tree& tree) {
  const TreeFile* found = nullptr;
  for (const TreeFile& file : tree.files) {
    if (companion_reason(file.name())) continue;
    if (found != nullptr) return nullptr;
    found = &file;
  }
  if (found == nullptr) return nullptr;
  const io::Format* format = probe_format(tree, *found);
  return format != nullptr && format->name == "hdf5" ? found : nullptr;
}

int match_pytorch_h5(const Tree& tree) { return find_file(tree) != nullptr ? 90 : 0; }

// Slot and operator of "/Op/7/output/grad/0"; nothing for other paths.
bool parse_path(std::string_view path, Entry& entry) {
  auto parts = components(path);
  std::erase(parts, "");
  if (parts.size() < 4 || !number_from(parts[1]) || (parts[2] != "input" && parts[2] != "output"))
    return false;
  entry.operator_name = parts[0];
  entry.timestamp = *number_from(parts[1]);
  entry.slot = {parts[2] == "input" ? SlotKind::kInput : SlotKind::kOutput, kNamed, {}};
  for (size_t i = 3; i < parts.size(); ++i) {
    if (i > 3) entry.slot.path += ".";
    entry.slot.path += parts[i];
  }
  return true;
}

DumpSet list_pytorch_h5(const Tree& tree, const io::ReadHints& hints) {
  DumpSet set;
  const TreeFile* dump = find_file(tree);
  for (const TreeFile& file : tree.files)
    if (&file != dump) set.skipped.push_back(skip_unknown(tree, file, "not an HDF5 dump"));
  if (dump == nullptr) return set;
  auto opened = io::open_tensor_file(tree.absolute(*dump), hints);
  if (!opened) {
    set.skipped.push_back(skip_damaged(*dump, std::move(opened.error())));
    return set;
  }
  set.warnings = opened->listing.warnings;
  std::map<std::string, std::map<int64_t, int64_t>> calls;  // by operator and order
  for (TensorInfo& info : opened->listing.tensors) {
    Entry& entry = set.entries.emplace_back();
    if (parse_path(info.name, entry)) {
      calls[entry.operator_name][entry.timestamp] = 0;
    } else {
      entry.operator_name = info.name.substr(info.name.starts_with('/'));
    }
    entry.parts.push_back({dump->path, info.name});
    entry.info = std::move(info);
  }
  if (set.entries.empty()) set.skipped.push_back(skip(*dump, "holds no tensors"));
  for (auto& [name, orders] : calls)
    for (int64_t number = 0; auto& [order, call] : orders) call = number++;
  for (Entry& entry : set.entries)
    if (entry.slot.index == kNamed) entry.put_at({calls[entry.operator_name][entry.timestamp], {}});
  return set;
}

}  // namespace

extern constexpr Convention kPytorchH5{
    "pytorch-h5", "HDF5 dump of a PyTorch run: /operator/order/input|output/name", match_pytorch_h5,
    list_pytorch_h5};

}  // namespace plumb::dump
