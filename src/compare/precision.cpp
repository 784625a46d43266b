// SPDX-License-Identifier: Apache-2.0
#include "compare/precision.h"

#include <algorithm>
#include <unordered_set>
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
  if (shown == DType::kBFloat16) return Shown::kBFloat16;
  return shown == DType::kFloat16 ? Shown::kFloat16 : Shown::kWide;
}

Precision::Precision(const SessionState& state) : state_(state) {
  const std::vector<Entry>& entries = state.target.entries;
  const auto first = std::find_if(entries.begin(), entries.end(),
                                  [](const Entry& entry) { return !entry.is_beside; });
  records_order_ = std::any_of(first, entries.end(), [&](const Entry& entry) {
    return !entry.is_beside && entry.timestamp != first->timestamp;
  });
  if (state.matcher) by_name_ = state.matcher->target().by_name();
}

void Precision::see(RowId id, const Row& row) {
  const pair::PlannedRow& planned = state_.rows[static_cast<size_t>(id)];
  if (planned.target == nullptr || planned.golden == nullptr) return;
  if (row.is_filtered()) return hidden_.push_back(id);
  count(row.target_shows);
  if (row.verdict != result::Verdict::kNotCompared)
    note(*planned.target, row.target->dtype, row.golden->dtype);
}

void Precision::count(Shown shown) {
  shown_any_ += shown != Shown::kNothing;
  shown_narrow_[0] += shown == Shown::kFloat16 || shown == Shown::kBFloat16;
  shown_narrow_[1] += shown == Shown::kBFloat16;
}

std::optional<DType> Precision::widened(const Row& row) {
  if (row.target_shows != Shown::kFloat16 && row.target_shows != Shown::kBFloat16) return {};
  look_at_hidden();
  const bool is_brain = row.target_shows == Shown::kBFloat16 && 2 * shown_narrow_[1] >= shown_any_;
  if (is_brain) return DType::kBFloat16;
  return 2 * shown_narrow_[0] >= shown_any_ ? std::optional(DType::kFloat16) : std::nullopt;
}

// What is selected changes no verdict. Asked only if a verdict may depend on it.
void Precision::look_at_hidden() {
  for (const RowId id : std::exchange(hidden_, {})) {
    const pair::PlannedRow& planned = state_.rows[static_cast<size_t>(id)];
    count(shown_by(state_.target, *planned.target, state_.hints));
    note(*planned.target, dtype_in(state_.target, *planned.target, state_.hints),
         dtype_in(planned.golden_is_own ? state_.target : state_.golden, *planned.golden,
                  state_.hints));
  }
}

bool Precision::is_mostly_bfloat16() {
  look_at_hidden();
  return brains_ > 0 && 2 * brains_ >= floats_;
}

// 16-bit floats where golden has wider ones.
void Precision::note(const Entry& entry, std::string_view target, std::string_view golden) {
  if ((golden == "float32" || golden == "float64") && entry.slot.kind == SlotKind::kOutput) {
    floats_ += target.find("float") != std::string_view::npos;
    brains_ += target == "bfloat16";
  }
  if ((target != "float16" && target != "bfloat16") || (golden != "float32" && golden != "float64"))
    return;
  const Narrow narrow{std::string(target), entry.operator_name};
  if (!any_) any_ = narrow;
  if (entry.slot.kind == SlotKind::kInput) reads_.try_emplace(entry.operator_name, narrow);
  if (!entry.is_beside) {
    const Time time{entry.step, entry.timestamp};
    const auto [at, is_new] = first_.try_emplace(entry.rank, time, narrow);
    if (!is_new && time < at->second.first) at->second = {time, narrow};
  }
  if (!state_.matcher) return;
  const graph::Operator* op = state_.matcher->find(entry.operator_name);
  if (op != nullptr && entry.slot.kind == SlotKind::kOutput) shown_[op] = target;
}

// The 16-bit type that an operator gives out or works in; nullptr if it does not.
const std::string* Precision::dtype_of(const graph::Operator& op) {
  const auto [at, is_new] = shown_.try_emplace(&op);
  if (!is_new) return at->second.empty() ? nullptr : &at->second;
  std::optional<DType> dtype = op.narrow;
  for (const graph::Output& output : op.outputs)
    if (is_narrow(output.dtype)) dtype = output.dtype;
  if (dtype) at->second = name_of(*dtype);
  return at->second.empty() ? nullptr : &at->second;
}

// Against the edges, the nearest first.
std::optional<Precision::Answer> Precision::by_graph(const Entry& entry) {
  const graph::Operator* own = state_.matcher ? state_.matcher->find(entry.operator_name) : nullptr;
  if (own == nullptr) return {};
  if (own->narrow && entry.slot.kind == SlotKind::kOutput)
    return Answer{Known::kYes, {std::string(name_of(*own->narrow)), own->name}};
  std::vector<const graph::Operator*> waiting{own};
  std::unordered_set<const graph::Operator*> seen{own};
  for (size_t i = 0; i < waiting.size(); ++i)
    for (const graph::Edge& edge : waiting[i]->inputs) {
      const auto producer = by_name_.find(edge.producer);
      if (producer == by_name_.end() || !seen.insert(producer->second).second) continue;
      if (const std::string* dtype = dtype_of(*producer->second))
        return Answer{Known::kYes, {*dtype, producer->second->name}};
      waiting.push_back(producer->second);
    }
  return Answer{Known::kNo, {}};
}

std::optional<Precision::Answer> Precision::by_time(const Entry& entry) const {
  if (const auto read = reads_.find(entry.operator_name);
      read != reads_.end() && entry.slot.kind == SlotKind::kOutput)
    return Answer{Known::kYes, read->second};
  if (!records_order_ || entry.is_beside) return {};
  const auto first = first_.find(entry.rank);
  if (first == first_.end() || first->second.first >= Time{entry.step, entry.timestamp})
    return Answer{Known::kNo, {}};
  return Answer{Known::kYes, first->second.second};
}

Precision::Answer Precision::behind(RowId id) {
  look_at_hidden();
  const Entry& entry = *state_.rows[static_cast<size_t>(id)].target;
  if (auto answer = by_graph(entry)) return *answer;
  if (auto answer = by_time(entry)) return *answer;
  if (any_) return {Known::kUnknown, *any_};
  return {};
}

}  // namespace plumb::compare
