// SPDX-License-Identifier: Apache-2.0
#include "replay/isolate_sources.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/model.h"
#include "graph/importers.h"

namespace plumb::replay {
namespace {

using result::Row;
using result::Side;

std::string key(std::string_view op, std::string_view slot, std::string_view file = {}) {
  return fmt::format("{}\n{}\n{}", op, slot, file);
}

std::string step_text(int64_t step) { return fmt::format("step {}", step); }

// By operator, slot and file; and by the step or nothing in place of the file, where that is clear:
// a dump that was made again has other files, and one of several samples a directory for each.
// What an index names and nobody wrote, or somebody took away, is not in the dump.
std::unordered_map<std::string, const dump::Entry*> index(const dump::DumpSet& set) {
  std::unordered_map<std::string, const dump::Entry*> entries;
  for (const dump::Entry& entry : set.entries) {
    std::error_code unknown;
    if (entry.parts.empty() ||
        !std::filesystem::exists(set.absolute(entry.parts.front().file), unknown))
      continue;
    const std::string slot = to_string(entry.slot);
    entries.try_emplace(key(entry.operator_name, slot, entry.parts.front().file.str()), &entry);
    for (const std::string& step : {entry.step() ? step_text(*entry.step()) : "", std::string()}) {
      const auto [only, is_new] = entries.try_emplace(key(entry.operator_name, slot, step), &entry);
      if (!is_new && only->second != &entry) only->second = nullptr;
    }
  }
  return entries;
}

const dump::Entry* find(const std::unordered_map<std::string, const dump::Entry*>& entries,
                        const Side& side, std::optional<int64_t> step) {
  for (const std::string& place : {side.file, step ? step_text(*step) : "", std::string()})
    if (const auto found = entries.find(key(side.operator_name, side.slot, place));
        found != entries.end())
      return found->second;
  return nullptr;
}

Result<std::unique_ptr<dump::DumpSet>> open_dump_side(const std::string& path,
                                                      std::string_view side) {
  if (engine::is_model(path))
    return Error{
        "the result is of a run that kept no tensors", path,
        fmt::format(
            "run it again with --keep DIR --layers all and --json, and give that result; or "
            "name the dump of this side: --{} DIR",
            side)};
  auto set = dump::open_dump(path);
  if (!set) {
    Error error = std::move(set.error());
    error.remedy = fmt::format("say where the dump is now: --{} DIR", side);
    return error;
  }
  return std::make_unique<dump::DumpSet>(std::move(*set));
}

}  // namespace

Result<Sources> Sources::open(const result::Run& run, const std::string& target,
                              const std::string& golden, std::optional<int64_t> step) {
  Sources sources;
  auto target_set = open_dump_side(target, "target");
  if (!target_set) return target_set.error();
  auto golden_set = open_dump_side(golden, "golden");
  if (!golden_set) return golden_set.error();
  sources.target_ = std::move(*target_set);
  sources.golden_ = std::move(*golden_set);
  sources.target_entries_ = index(*sources.target_);
  sources.golden_entries_ = index(*sources.golden_);
  if (const auto file = sources.target_->own_graph())
    if (auto graph = graph::load_graph(*file); graph) {
      sources.target_graph_ = std::move(*graph);
      sources.target_operators_ = sources.target_graph_->by_name();
    }

  if (!step)
    for (const Row& row : run.rows)
      if (row.step && (!step || *row.step < *step)) step = row.step;
  for (const Row& row : run.rows.all()) {
    if (row.step && row.step != step) continue;
    sources.rows_.push_back(&row);
    if (row.target && row.golden) sources.paired_.insert(row.target->operator_name);
    if (!row.golden || row.golden->operator_name.empty()) continue;
    sources.golden_names_.add(row.golden->operator_name);
    sources.by_golden_[key(row.golden->operator_name, row.golden->slot)].push_back(&row);
  }
  return sources;
}

void Sources::bind(const graph::OnnxModel& model) {
  model_ = &model;
  producers_.clear();
  const auto& nodes = model.graph.nodes;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (size_t k = 0; k < nodes[i].outputs.size(); ++k)
      if (!nodes[i].outputs[k].empty()) producers_.try_emplace(nodes[i].outputs[k], Place{i, k});
}

Result<size_t> Sources::find_node(std::string_view name) const {
  auto found = graph::find_node(*model_, name);
  if (found) return found;
  // The golden operator that a target operator of this name gives out.
  for (const Row* row : rows_) {
    if (!row->target || !row->golden || !row->golden->slot.starts_with("output")) continue;
    if (row->target->operator_name != name) continue;
    const std::string written = pair::normalised(row->golden->operator_name);
    for (size_t i = 0; i < model_->graph.nodes.size(); ++i) {
      const graph::OnnxNode& node = model_->graph.nodes[i];
      if (pair::normalised(node.name) == written) return i;
      if (!node.outputs.empty() && pair::normalised(node.outputs[0]) == written) return i;
    }
  }
  for (const Row* row : rows_)
    if (row->target && !row->golden && row->target->operator_name == name)
      return Error{
          fmt::format("'{}' is an operator of the target alone", name),
          fmt::format("{}: {}", row->reasons.empty() ? "" : row->reasons.front(), row->message),
          "name the operator of the original that comes next: what is inserted before it "
          "is then part of its input"};
  return found;
}

// Operators without a counterpart on the way from a tensor of the target to one that is read; empty
// if the way does not lead there, or has none.
std::vector<std::string> Sources::inserted_between(const graph::Edge& read,
                                                   const dump::Entry& source) const {
  constexpr size_t kMost = 16;
  std::vector<std::string> passed;
  for (graph::Edge at = read; passed.size() < kMost;) {
    if (at.producer == source.operator_name && at.output == source.slot.index) {
      std::reverse(passed.begin(), passed.end());
      return passed;
    }
    const auto op = target_operators_.find(at.producer);
    if (op == target_operators_.end() || paired_.contains(at.producer) ||
        op->second->inputs.size() != 1)
      break;
    passed.push_back(at.producer);
    at = op->second->inputs.front();
  }
  return {};
}

// What the target inserted before an operator is in what that one reads: it must not be blamed.
void Sources::read_through_inserted(const std::set<std::string_view>& readers,
                                    TensorSources& sources) const {
  if (sources.target.entry == nullptr) return;
  for (std::string_view reader : readers) {
    const auto op = target_operators_.find(reader);
    if (op == target_operators_.end()) continue;
    for (const graph::Edge& read : op->second->inputs) {
      const auto inserted = inserted_between(read, *sources.target.entry);
      const auto entry =
          target_entries_.find(key(read.producer, fmt::format("output:{}", read.output)));
      if (inserted.empty() || entry == target_entries_.end() || entry->second == nullptr) continue;
      sources.target.entry = entry->second;
      sources.place += fmt::format(" through {}", fmt::join(inserted, ", "));
      return;
    }
  }
}

std::optional<size_t> Sources::producer(std::string_view tensor) const {
  const auto found = producers_.find(tensor);
  if (found == producers_.end()) return std::nullopt;
  return found->second.node;
}

std::vector<size_t> Sources::readers(std::string_view tensor) const {
  std::vector<size_t> readers;
  const auto& nodes = model_->graph.nodes;
  const auto contains = [&](const std::vector<std::string_view>& names) {
    return std::find(names.begin(), names.end(), tensor) != names.end();
  };
  for (size_t i = 0; i < nodes.size(); ++i)
    if (contains(nodes[i].inputs) || contains(nodes[i].captures)) readers.push_back(i);
  return readers;
}

const Sources::Rows& Sources::golden_rows(std::string_view op, std::string_view slot) const {
  static const Rows kNone;
  const auto found = by_golden_.find(key(golden_names_.find(op).name, slot));
  return found == by_golden_.end() ? kNone : found->second;
}

// Inputs of the model are operators of their own name; where operators share a name, dumps call
// them by their first tensor.
const Sources::Rows& Sources::rows_of_tensor(std::string_view tensor) const {
  const auto place = producers_.find(tensor);
  if (place == producers_.end()) return golden_rows(tensor, "output:0");
  const graph::OnnxNode& node = model_->graph.nodes[place->second.node];
  const std::string slot = fmt::format("output:{}", place->second.output);
  const Rows& rows = golden_rows(node.name, slot);
  return rows.empty() ? golden_rows(node.outputs.front(), slot) : rows;
}

Source Sources::target_of(const Row& row) const {
  if (!row.target) return {};
  return {target_.get(), find(target_entries_, *row.target, row.step)};
}

Source Sources::golden_of(const Row& row) const {
  if (!row.golden) return {};
  return {golden_.get(), find(golden_entries_, *row.golden, row.step)};
}

TensorSources Sources::of_output(std::string_view tensor) const {
  TensorSources sources;
  sources.place = tensor;
  for (const Row* row : rows_of_tensor(tensor)) {
    if (sources.golden.entry == nullptr) {
      sources.golden = golden_of(*row);
      sources.place = fmt::format("{} {}", row->golden->operator_name, row->golden->slot);
      sources.operator_name = row->any_side().operator_name;
      sources.slot = row->any_side().slot;
    }
    sources.is_fused |= row->reasons == std::vector<std::string>{"inside_fusion"};
    if (row->target && row->target->slot.starts_with("input") && sources.target.entry != nullptr)
      continue;  // an output says more than somebody's copy of it
    if (const Source target = target_of(*row); target.entry != nullptr) sources.target = target;
  }
  return sources;
}

TensorSources Sources::of_input(std::string_view tensor, std::span<const size_t> part) const {
  TensorSources sources = of_output(tensor);
  std::set<std::string_view> operators;  // of the target, that stand for this part
  for (size_t node : part)
    for (std::string_view output : model_->graph.nodes[node].outputs)
      for (const Row* row : rows_of_tensor(output))
        if (row->target) operators.insert(row->target->operator_name);
  read_through_inserted(operators, sources);
  const auto is_own_input = [&](const Row& row) {
    return row.target && row.target->slot.starts_with("input") &&
           operators.count(row.target->operator_name) != 0;
  };
  for (const Row* row : rows_of_tensor(tensor))
    if (is_own_input(*row))
      if (const Source own = target_of(*row); own.entry != nullptr) sources.target = own;
  // A dump with inputs of operators, where that of the producer is missing.
  for (size_t node : part) {
    const auto& inputs = model_->graph.nodes[node].inputs;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] != tensor) continue;
      const std::string slot = fmt::format("input:{}", k);
      for (const Row* row : golden_rows(model_->graph.nodes[node].name, slot)) {
        if (sources.golden.entry == nullptr) sources.golden = golden_of(*row);
        if (sources.target.entry == nullptr) sources.target = target_of(*row);
      }
      // ... or golden has no such tensor at all, and only the target's row tells.
      for (const Row* row : rows_)
        if (sources.target.entry == nullptr && !row->golden && is_own_input(*row) &&
            row->target->slot == slot && part.size() == 1)
          sources.target = target_of(*row);
    }
  }
  return sources;
}

Result<engine::Tensor> load(const Source& source) {
  constexpr int64_t kMostReserved = int64_t{1} << 28;  // shapes come from files
  auto reader = dump::EntryReader::open(*source.set, *source.entry);
  if (!reader) return reader.error();
  io::TensorReader& tensor = reader->reader();
  engine::Tensor loaded{tensor.dtype(), tensor.shape(), {}};
  if (loaded.dtype == DType::kOpaque)
    return Error{"the type of a tensor cannot be decoded", reader->path(),
                 "dump it as a type that `plumb formats` lists"};
  if (const auto size = byte_count(loaded.dtype, element_count(loaded.shape).value_or(0)))
    loaded.bytes.reserve(static_cast<size_t>(std::min(*size, kMostReserved)));
  auto read = io::for_each_piece(tensor, [&](Bytes piece, int64_t, int64_t) {
    loaded.bytes.insert(loaded.bytes.end(), piece.begin(), piece.end());
  });
  if (!read) return std::move(read.error()).in(reader->path());
  if (auto intact = reader->check_intact(); !intact) return intact.error();
  return loaded;
}

}  // namespace plumb::replay
