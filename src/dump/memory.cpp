// SPDX-License-Identifier: Apache-2.0
#include "dump/memory.h"

#include <fmt/format.h>

#include "dump/listing.h"

namespace plumb::dump {
namespace {

// An empty tensor may come without memory, but Entry::memory is set for every tensor of a set.
constexpr std::byte kNothing{};

std::string wrong_size(const MemoryTensor& tensor) {
  const auto count = element_count(tensor.shape);
  const auto needed = count ? byte_count(tensor.dtype, *count) : std::nullopt;
  const std::string what =
      fmt::format("{} {}", name_of(tensor.dtype), plumb::to_string(tensor.shape));
  if (!needed) return what + " is impossibly large";
  if (tensor.strides.empty()) {
    const auto bytes = static_cast<uint64_t>(*needed);
    if (bytes <= tensor.bytes.size()) return {};
    return fmt::format("{} needs {} bytes, {} are there", what, bytes, tensor.bytes.size());
  }
  const auto bits = checked_mul(static_cast<int64_t>(tensor.bytes.size()), 8);
  const int64_t stored = bits.value_or(INT64_MAX) / bits_of(tensor.dtype);
  const auto map = strided_map(tensor.shape, tensor.strides, tensor.first_element, stored);
  return map ? std::string() : map.error().where;
}

Entry entry_of(MemoryTensor&& tensor) {
  TensorInfo info;
  info.dtype = tensor.dtype;
  info.shape = std::move(tensor.shape);
  info.layout = tensor.layout;
  info.strides = std::move(tensor.strides);
  info.first_element = tensor.first_element;
  info.size_bytes = tensor.bytes.size();
  Entry entry;
  entry.operator_name = std::move(tensor.op);
  entry.type = std::move(tensor.type);
  entry.slot = std::move(tensor.slot);
  if (tensor.step || !tensor.graph.empty())
    entry.put_at({tensor.step, {}, std::move(tensor.graph)});
  entry.timestamp = tensor.timestamp;
  entry.parts.push_back({std::move(tensor.file), ""});
  entry.info = std::move(info);
  entry.memory = tensor.bytes.empty() ? &kNothing : tensor.bytes.data();
  return entry;
}

}  // namespace

Result<DumpSet> dump_of_tensors(std::vector<MemoryTensor> tensors, std::string name) {
  if (tensors.empty())
    return Error{"there is nothing to read", name + ": no tensors", "give at least one tensor"};
  DumpSet set;
  set.root = std::move(name);
  set.convention = "memory";
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (MemoryTensor& tensor : tensors) {
    if (const std::string problem = wrong_size(tensor); !problem.empty())
      return Error{"memory does not hold the tensor",
                   fmt::format("{}, {} {}: {}", set.root.string(), tensor.op,
                               to_string(tensor.slot), problem),
                   "correct its shape, strides or bytes"};
    if (tensor.owner != nullptr) owners->push_back(std::move(tensor.owner));
    set.entries.push_back(entry_of(std::move(tensor)));
  }
  set.memory = std::move(owners);
  sort_entries(set.entries);
  return set;
}

Result<DumpSet> dump_of_tensors(std::span<const NamedTensor> tensors) {
  std::vector<MemoryTensor> entries;
  for (const NamedTensor& tensor : tensors) {
    const auto slot = slot_from_text(tensor.slot);
    if (!slot)
      return Error{"unknown slot '" + tensor.slot + "'", tensor.op + " (in memory)",
                   "write output:0, input:1, ..."};
    MemoryTensor& entry = entries.emplace_back();
    entry.op = tensor.op;
    entry.slot = *slot;
    entry.dtype = tensor.dtype;
    entry.shape = tensor.shape;
    entry.strides = tensor.strides;
    entry.first_element = tensor.first_element;
    entry.bytes = tensor.bytes;
    entry.owner = tensor.owner;
    entry.step = tensor.step;
  }
  return dump_of_tensors(std::move(entries));
}

}  // namespace plumb::dump
