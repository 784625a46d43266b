// SPDX-License-Identifier: Apache-2.0
#include "compare/precision.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "metrics/decoded_pairs.h"
#include "metrics/resolution.h"

namespace plumb::compare {
namespace {

using dump::Entry;
using dump::SlotKind;
using result::Row;
using result::Shown;

bool is_narrow(const std::optional<DType>& dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

bool is_grid_of_16_bits(Shown shown) {
  return shown == Shown::kFloat16Grid || shown == Shown::kBFloat16Grid;
}

// As the listing knows it, else as the file says; empty if it cannot be read.
std::string dtype_in(const dump::DumpSet& set, const Entry& entry, const io::ReadHints& hints) {
  if (entry.info) return dtype_text(*entry.info);
  if (entry.parts.empty()) return entry.dtype_text();
  const auto opened = dump::EntryReader::open(set, entry, hints);
  return opened ? dtype_text(opened->info()) : std::string();
}

// By the first values of a tensor, which stand for all; kNothing if it cannot be read.
Shown shown_by(const dump::DumpSet& set, const Entry& entry, const io::ReadHints& hints) {
  auto opened = dump::EntryReader::open(set, entry, hints);
  if (!opened || entry.parts.empty()) return Shown::kNothing;
  io::TensorReader& reader = opened->reader();
  const int64_t count = std::min(reader.count(), metrics::kPairPiece);
  const auto bytes = reader.read(0, count);
  if (!bytes || kind_of(reader.dtype()) != DKind::kFloat) return Shown::kNothing;
  metrics::PairFacts facts;
  facts.target_dtype = facts.golden_dtype = reader.dtype();
  facts.sums =
      metrics::pair_sums({reader.dtype(), bytes->data(), reader.dtype(), bytes->data(), count}, {});
  return shown_by_target(facts);
}

}  // namespace

Shown shown_by_target(const metrics::PairFacts& facts) {
  const DType part = metrics::part_of(facts.target_dtype);
  const bool is_wide = part == DType::kFloat32 || part == DType::kFloat64;
  if (!is_wide || facts.sums.t_coarse) return Shown::kNothing;
  const DType shown = metrics::shown_target_dtype(facts.target_dtype, facts.sums);
  if (shown != DType::kBFloat16 && shown != DType::kFloat16) return Shown::kWide;
  // Digits that the type has, and that no value uses, are no chance from here on: quantized
  // numbers, or those to which a larger one was added.
  constexpr int64_t kNoChanceOfGrid = 16;
  const bool is_brain = shown == DType::kBFloat16;
  const auto& digits = facts.sums.t_digits;
  if ((is_brain ? digits.unused(8, -133) : digits.unused(11, -24)) >= kNoChanceOfGrid)
    return is_brain ? Shown::kBFloat16Grid : Shown::kFloat16Grid;
  return is_brain ? Shown::kBFloat16 : Shown::kFloat16;
}

Precision::Precision(const SessionState& state)
    : state_(state), target_{&state.target, true}, golden_{&state.golden, false} {
  for (Half* half : {&target_, &golden_}) {
    const std::vector<Entry>& entries = half->set->entries;
    const auto first = std::find_if(entries.begin(), entries.end(),
                                    [](const Entry& entry) { return !entry.is_beside; });
    half->records_order = std::any_of(first, entries.end(), [&](const Entry& entry) {
      return !entry.is_beside && entry.timestamp != first->timestamp;
    });
  }
  if (state.matcher) target_.by_name = state.matcher->target().by_name();
  if (state.matcher && state.graphs.golden) golden_.by_name = state.graphs.golden->by_name();
}

void Precision::see(RowId id, const Row& row) {
  const pair::PlannedRow& planned = state_.rows[static_cast<size_t>(id)];
  if (planned.target == nullptr || planned.golden == nullptr) return;
  if (row.is_filtered()) return hidden_.push_back(id);
  count(row.target_shows);
  if (row.verdict != result::Verdict::kNotCompared)
    note(planned, row.target->dtype, row.golden->dtype);
}

void Precision::count(Shown shown) {
  shown_any_ += shown == Shown::kWide || shown == Shown::kFloat16 || shown == Shown::kBFloat16;
  shown_narrow_[0] += shown == Shown::kFloat16 || shown == Shown::kBFloat16;
  shown_narrow_[1] += shown == Shown::kBFloat16;
}

std::optional<DType> Precision::widened(const Row& row) {
  constexpr int64_t kSeveral = 3;  // tensors that show what one on a grid does not
  const bool is_grid = is_grid_of_16_bits(row.target_shows);
  if (row.target_shows != Shown::kFloat16 && row.target_shows != Shown::kBFloat16 && !is_grid)
    return {};
  look_at_hidden();
  const auto are_most = [&](int64_t some) {
    return 2 * some >= shown_any_ && (!is_grid || some >= kSeveral);
  };
  const bool is_brain =
      row.target_shows == Shown::kBFloat16 || row.target_shows == Shown::kBFloat16Grid;
  if (is_brain && are_most(shown_narrow_[1])) return DType::kBFloat16;
  return are_most(shown_narrow_[0]) ? std::optional(DType::kFloat16) : std::nullopt;
}

// What is selected changes no verdict. Asked only if a verdict may depend on it.
void Precision::look_at_hidden() {
  for (const RowId id : std::exchange(hidden_, {})) {
    const pair::PlannedRow& planned = state_.rows[static_cast<size_t>(id)];
    count(shown_by(state_.target, *planned.target, state_.hints));
    note(planned, dtype_in(state_.target, *planned.target, state_.hints),
         dtype_in(planned.golden_is_own ? state_.target : state_.golden, *planned.golden,
                  state_.hints));
  }
}

bool Precision::is_mostly_bfloat16() {
  look_at_hidden();
  return brains_ > 0 && 2 * brains_ >= floats_;
}

void Precision::note(const pair::PlannedRow& planned, std::string_view target,
                     std::string_view golden) {
  const bool is_output = planned.target->slot.kind == SlotKind::kOutput;
  if ((golden == "float32" || golden == "float64") && is_output) {
    floats_ += target.find("float") != std::string_view::npos;
    brains_ += target == "bfloat16";
  }
  note(target_, *planned.target, target, golden);
  if (!planned.golden_is_own) note(golden_, *planned.golden, golden, target);
}

// 16-bit floats where the other side has wider ones.
void Precision::note(Half& half, const Entry& entry, std::string_view own, std::string_view other) {
  if ((own != "float16" && own != "bfloat16") || (other != "float32" && other != "float64")) return;
  const Narrow narrow{std::string(own), entry.operator_name};
  if (!half.any) half.any = narrow;
  if (entry.slot.kind == SlotKind::kInput) half.reads.try_emplace(entry.operator_name, narrow);
  if (!entry.is_beside) {
    const Time time{entry.step(), entry.timestamp};
    const auto [at, is_new] = half.first.try_emplace(entry.rank(), time, narrow);
    if (!is_new && time < at->second.first) at->second = {time, narrow};
  }
  const graph::Operator* op = operator_of(half, entry);
  if (op != nullptr && entry.slot.kind == SlotKind::kOutput) half.shown[op] = own;
}

const graph::Operator* Precision::operator_of(const Half& half, const Entry& entry) const {
  if (!state_.matcher) return nullptr;
  return half.is_target ? state_.matcher->find(entry.operator_name)
                        : state_.matcher->find_golden(entry.operator_name);
}

// The 16-bit type that an operator gives out or works in; nullptr if it does not.
const std::string* Precision::dtype_of(Half& half, const graph::Operator& op) {
  const auto [at, is_new] = half.shown.try_emplace(&op);
  if (!is_new) return at->second.empty() ? nullptr : &at->second;
  std::optional<DType> dtype = op.narrow;
  for (const graph::Output& output : op.outputs)
    if (is_narrow(output.dtype)) dtype = output.dtype;
  if (dtype) at->second = name_of(*dtype);
  return at->second.empty() ? nullptr : &at->second;
}

std::optional<Precision::Answer> Precision::by_graph(Half& half, const Entry& entry) {
  const graph::Operator* own = operator_of(half, entry);
  if (own == nullptr) return {};
  if (own->narrow && entry.slot.kind == SlotKind::kOutput)
    return Answer{Known::kYes, {std::string(name_of(*own->narrow)), own->name}};
  if (!half.distances) measure_distances(half);
  const graph::Operator* narrow = nearest(half, *own);
  if (narrow == nullptr) return Answer{Known::kNo, {}};
  return Answer{Known::kYes, {*dtype_of(half, *narrow), narrow->name}};
}

// Of every operator, how many edges away the nearest one before it is that works in 16 bits: once
// along the edges for all of them, however many rows ask.
void Precision::measure_distances(Half& half) {
  std::unordered_map<const graph::Operator*, std::vector<const graph::Operator*>> readers;
  std::vector<const graph::Operator*> waiting;
  auto& distances = half.distances.emplace();
  for (const auto& [name, op] : half.by_name) {
    for (const graph::Edge& edge : op->inputs)
      if (const auto producer = half.by_name.find(edge.producer); producer != half.by_name.end())
        readers[producer->second].push_back(op);
  }
  const auto reach = [&](const graph::Operator* from, int64_t distance) {
    const auto reading = readers.find(from);
    if (reading == readers.end()) return;
    for (const graph::Operator* reader : reading->second)
      if (distances.try_emplace(reader, distance).second) waiting.push_back(reader);
  };
  for (const auto& [name, op] : half.by_name)
    if (dtype_of(half, *op) != nullptr) reach(op, 1);
  for (size_t i = 0; i < waiting.size(); ++i) {
    const graph::Operator* op = waiting[i];
    if (dtype_of(half, *op) == nullptr) reach(op, distances.at(op) + 1);
  }
}

// Against the edges, the nearest first; of those that are as near, by the order of inputs.
const graph::Operator* Precision::nearest(Half& half, const graph::Operator& op) {
  std::vector<const graph::Operator*> path{&op};
  const graph::Operator* found = nullptr;
  while (found == nullptr) {
    if (const auto known = half.nearest.find(path.back()); known != half.nearest.end()) {
      found = known->second;
      break;
    }
    const graph::Operator* next = nullptr;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const graph::Edge& edge : path.back()->inputs) {
      const auto producer = half.by_name.find(edge.producer);
      if (producer == half.by_name.end()) continue;
      const bool is_narrow_itself = dtype_of(half, *producer->second) != nullptr;
      const auto known = half.distances->find(producer->second);
      if (!is_narrow_itself && known == half.distances->end()) continue;
      const int64_t distance = is_narrow_itself ? 0 : known->second;
      if (distance < least) least = distance, next = producer->second;
    }
    if (next == nullptr) break;
    if (least == 0)
      found = next;
    else
      path.push_back(next);
  }
  for (const graph::Operator* each : path) half.nearest.emplace(each, found);
  return found;
}

std::optional<Precision::Answer> Precision::by_time(const Half& half, const Entry& entry) {
  if (const auto read = half.reads.find(entry.operator_name);
      read != half.reads.end() && entry.slot.kind == SlotKind::kOutput)
    return Answer{Known::kYes, read->second};
  if (!half.records_order || entry.is_beside) return {};
  const auto first = half.first.find(entry.rank());
  if (first == half.first.end() || first->second.first >= Time{entry.step(), entry.timestamp})
    return Answer{Known::kNo, {}};
  return Answer{Known::kYes, first->second.second};
}

Precision::Answer Precision::behind(Half& half, const Entry& entry) {
  if (auto answer = by_graph(half, entry)) return *answer;
  if (auto answer = by_time(half, entry)) return *answer;
  if (half.any) return {Known::kUnknown, *half.any};
  return {};
}

Precision::Answer Precision::behind(RowId id) {
  look_at_hidden();
  const pair::PlannedRow& planned = state_.rows[static_cast<size_t>(id)];
  Answer target = behind(target_, *planned.target);
  if (target.is_behind == Known::kYes || planned.golden_is_own) return target;
  Answer golden = behind(golden_, *planned.golden);
  return golden.is_behind == Known::kNo ? target : golden;
}

}  // namespace plumb::compare
