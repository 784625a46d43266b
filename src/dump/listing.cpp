// SPDX-License-Identifier: Apache-2.0
#include "dump/listing.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "dump/names.h"
#include "io/raw_name.h"

namespace plumb::dump {

namespace {

enum class NamePart : uint8_t { kWhole, kStart, kEnd };
struct Companion {
  NamePart part;
  std::string_view text;
  std::string_view reason;
};
constexpr Companion kCompanions[] = {
    {NamePart::kWhole, "mapping.csv", "real names of renamed files"},
    {NamePart::kWhole, "convert_failed_file_list.txt", "list of failed conversions"},
    {NamePart::kWhole, "stack.json", "call stacks"},
    {NamePart::kWhole, "construct.json", "tree of modules"},
    {NamePart::kWhole, "debug.json", "values saved by hand"},
    {NamePart::kWhole, "dump.json", "index of a dump"},
    {NamePart::kWhole, "filename.txt", "names of the input files"},
    {NamePart::kWhole, "list.txt", "list of cases"},
    {NamePart::kStart, "dynamo_original_", "graph of the model"},
    {NamePart::kStart, "dynamo_optimized_", "graph of the model"},
    {NamePart::kStart, "ge_proto_", "graph of the model"},
    {NamePart::kStart, "ge_onnx_", "graph of the model"},
    {NamePart::kEnd, "_min_max.json", "details of a reduced tensor"},
    {NamePart::kEnd, ".json", "description, not a tensor"},
    {NamePart::kEnd, ".txt", "text, not a tensor"},
    {NamePart::kEnd, ".md", "text, not a tensor"},
    {NamePart::kEnd, ".log", "log"},
    {NamePart::kEnd, ".csv", "table, not a tensor"},
    {NamePart::kEnd, ".prototxt", "model, not a tensor"},
    {NamePart::kEnd, ".onnx", "model, not a tensor"},
    {NamePart::kEnd, ".om", "model, not a tensor"},
    {NamePart::kEnd, ".py", "script, not a tensor"},
    {NamePart::kEnd, ".swp", "temporary file of an editor"},
    {NamePart::kEnd, ".tmp", "temporary file"},
    {NamePart::kEnd, ".plumb-tmp", "temporary file"},
};

}  // namespace

namespace {

bool fits(const Companion& known, std::string_view name) {
  return known.part == NamePart::kWhole   ? name == known.text
         : known.part == NamePart::kStart ? name.starts_with(known.text)
                                          : name.ends_with(known.text);
}

}  // namespace

bool is_known_companion(std::string_view name) {
  return std::any_of(std::begin(kCompanions), std::end(kCompanions), [&](const Companion& known) {
    return known.part != NamePart::kEnd && fits(known, name);
  });
}

std::optional<std::string_view> companion_reason(std::string_view name) {
  if (name.empty()) return {};
  const char first = name.front(), last = name.back();  // mostly one letter tells
  for (const Companion& known : kCompanions) {
    const bool may_fit =
        known.part == NamePart::kEnd ? known.text.back() == last : known.text.front() == first;
    if (may_fit && fits(known, name)) return known.reason;
  }
  if (first == '.') return "hidden file";
  return {};
}

bool has_tensor_extension(std::string_view name) {
  constexpr std::string_view kExtensions[] = {".npy",         ".npz", ".pt",   ".pth",
                                              ".safetensors", ".h5",  ".hdf5", ".bin"};
  return std::any_of(std::begin(kExtensions), std::end(kExtensions),
                     [&](std::string_view extension) { return name.ends_with(extension); });
}

Skipped skip(const TreeFile& file, std::string_view reason) {
  return {file.path, std::string(reason), {}};
}

Skipped skip_damaged(const TreeFile& file, Error error) {
  std::string reason = error.what;
  return {file.path, std::move(reason), std::move(error)};
}

Skipped skip_empty(const Tree& tree, const TreeFile& file) {
  return skip_damaged(file,
                      {"the file is empty", tree.absolute(file).string() + ", byte 0: 0 bytes",
                       "copy it again, or wait until its writer has finished"});
}

Skipped skip_unknown(const Tree& tree, const TreeFile& file, std::string_view otherwise) {
  const bool is_lost = file.size_bytes == 0 && has_tensor_extension(file.name());
  if (is_lost) return skip_empty(tree, file);
  Skipped skipped = skip(file, companion_reason(file.name()).value_or(otherwise));
  skipped.is_foreign = true;
  return skipped;
}

std::optional<Skipped> skip_raw(const Tree& tree, const TreeFile& file,
                                const io::ReadHints& hints) {
  if (!file.name().ends_with(".bin")) return {};
  std::string twin = file.path;
  twin.replace(twin.size() - 4, 4, ".npy");
  if (const TreeFile* npy = tree.find(twin); npy != nullptr && npy->size_bytes > 0)
    return skip(file, "same data as the npy file of that name");
  if (hints.dtype || io::parse_raw_name(file.name())) return {};
  return skip_damaged(file, {std::string(kNoHeader),
                             fmt::format("{}, byte 0: {} bytes without a header",
                                         tree.absolute(file).string(), file.size_bytes),
                             "give --dtype, and --shape"});
}

Skipped skip_not_given(std::string_view op, const Slot& slot, int64_t timestamp,
                       const std::string& problem) {
  std::string promised = fmt::format("{}.{}.{}.npy", op, slot.index, timestamp);
  std::replace(promised.begin(), promised.end(), '/', '_');
  return {.file = std::move(promised),
          .reason = problem,
          .error = Error{"the engine could not give this tensor",
                         fmt::format("{} {}: {}", op, to_string(slot), problem),
                         "dump the model by another engine"},
          .is_not_given = true};
}

std::string head_of(const Tree& tree, const TreeFile& file) {
  std::string head(io::kProbeBytes, '\0');
  std::ifstream stream(tree.absolute(file), std::ios::binary);
  stream.read(head.data(), std::ssize(head));
  head.resize(static_cast<size_t>(stream.gcount()));
  return head;
}

const io::Format* probe_format(std::string_view head, uint64_t file_size) {
  for (const io::Format& format : io::formats())
    if (format.probe(as_bytes(head), file_size)) return &format;
  return nullptr;
}

const io::Format* probe_format(const Tree& tree, const TreeFile& file) {
  return probe_format(head_of(tree, file), file.size_bytes);
}

void unify_timestamps(std::vector<Entry>& entries) {
  const auto operator_of = [](const Entry& e) {
    return std::tie(e.rank(), e.step(), e.graph(), e.operator_name);
  };
  std::vector<Entry*> tensors(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) tensors[i] = &entries[i];
  const auto less = [&](const Entry* a, const Entry* b) {
    const auto order = operator_of(*a) <=> operator_of(*b);
    if (order != 0) return order < 0;
    return std::tie(a->slot, a->timestamp) < std::tie(b->slot, b->timestamp);
  };
  // As files are listed by name they mostly are in order.
  if (!std::is_sorted(tensors.begin(), tensors.end(), less))
    std::sort(tensors.begin(), tensors.end(), less);
  std::vector<size_t> executions;
  std::vector<int64_t> first;
  for (size_t begin = 0, end = 0; begin < tensors.size(); begin = end) {
    executions.assign(1, 0);
    first.assign(1, tensors[begin]->timestamp);
    for (end = begin + 1; end < tensors.size(); ++end) {
      if (operator_of(*tensors[end]) != operator_of(*tensors[begin])) break;
      const bool again = tensors[end]->slot == tensors[end - 1]->slot;
      const size_t execution = again ? executions.back() + 1 : 0;
      executions.push_back(execution);
      if (execution == first.size()) first.push_back(tensors[end]->timestamp);
      first[execution] = std::min(first[execution], tensors[end]->timestamp);
    }
    for (size_t i = begin; i < end; ++i) tensors[i]->timestamp = first[executions[i - begin]];
  }
}

const Shared<const Place>& Places::of(Place place) {
  if (last_ && *last_ == place) return last_;
  auto at = places_.find(place);
  if (at == places_.end()) {
    const auto made = Shared<const Place>::make(place);
    at = places_.emplace(std::move(place), made).first;
  }
  return last_ = at->second;
}

void EntryTexts::share(Entry& entry) {
  operators_.share(entry.operator_name);
  for (SharedText* text : {&entry.type, &entry.slot.path, &entry.record}) others_.share(*text);
  for (TensorRef& part : entry.parts) others_.share(part.tensor);
}

void drop_single_graphs(std::vector<Entry>& entries) {
  std::map<std::optional<int64_t>, std::set<std::string_view>> graphs;
  for (const Entry& e : entries) graphs[e.rank()].insert(e.graph());
  const bool single = std::all_of(graphs.begin(), graphs.end(),
                                  [](const auto& rank) { return rank.second.size() == 1; });
  if (!single) return;
  Places places;
  for (Entry& e : entries) e.place = places.of({e.step(), e.rank()});
}

void add_warnings(std::vector<std::string> of_files, DumpSet& set) {
  constexpr size_t kShown = 20;
  const size_t hidden = of_files.size() - std::min(of_files.size(), kShown);
  of_files.resize(of_files.size() - hidden);
  if (hidden > 0) of_files.push_back(fmt::format("{} more remarks about single files", hidden));
  std::move(of_files.begin(), of_files.end(), std::back_inserter(set.warnings));
}

namespace {

// Puts the entry at order[i] to place i, cycle by cycle: a second list of them would be the most
// that a large dump ever takes.
void put_in_order(std::vector<size_t>& order, std::vector<Entry>& entries) {
  for (size_t start = 0; start < order.size(); ++start) {
    if (order[start] == start) continue;
    Entry first = std::move(entries[start]);
    size_t at = start;
    while (order[at] != start) {
      const size_t from = order[at];
      entries[at] = std::move(entries[from]);
      order[at] = at;
      at = from;
    }
    entries[at] = std::move(first);
    order[at] = at;
  }
}

}  // namespace

void sort_entries(std::vector<Entry>& entries) {
  const auto slot_less = [](const Slot& a, const Slot& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    if ((a.index == kNamed) != (b.index == kNamed)) return b.index == kNamed;  // positions first
    if (a.index != b.index) return a.index < b.index;
    return natural_less(a.path, b.path);
  };
  const auto less = [&](const Entry& a, const Entry& b) {
    if (a.is_beside != b.is_beside) return b.is_beside;  // nobody knows when it ran
    if (!is_same_place(a, b)) {
      if (a.rank() != b.rank()) return a.rank() < b.rank();
      if (a.step() != b.step()) return a.step() < b.step();
      return natural_less(a.graph(), b.graph());
    }
    if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp;
    if (a.operator_name != b.operator_name) return natural_less(a.operator_name, b.operator_name);
    return slot_less(a.slot, b.slot);
  };
  if (std::is_sorted(entries.begin(), entries.end(), less)) return;
  std::vector<size_t> order(entries.size());  // entries are large: each moves once
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return less(entries[a], entries[b]); });
  put_in_order(order, entries);
}

}  // namespace plumb::dump
