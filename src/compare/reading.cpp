// SPDX-License-Identifier: Apache-2.0
#include "compare/reading.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "compare/session_state.h"
#include "pair/operator_kinds.h"

namespace plumb::compare {
namespace {

using dump::Entry;
using dump::Slot;
using dump::SlotKind;

std::optional<Made> made_by(const graph::Operator& op) {
  const std::string kind = pair::kind_of_type(op.type);
  if (kind == "mul") return op.inputs.size() == 2 ? std::optional(Made::kProduct) : std::nullopt;
  if (op.inputs.size() != 1) return std::nullopt;
  if (kind == "sigmoid") return Made::kSigmoid;
  if (kind == "hardsigmoid") return Made::kHardSigmoid;
  if (kind == "softmax") return Made::kSoftmax;
  if (kind == "relu") return Made::kRectified;
  return std::nullopt;
}

// The same elements, maybe rounded. Those in another order are found not to fit.
bool hands_on(const graph::Operator& op) {
  const std::string kind = pair::kind_of_type(op.type);
  return pair::keeps_values(op.type) || kind == "identity" || pair::moves(kind);
}

std::optional<DType> narrow_of(const graph::Operator& op) {
  const auto is_narrow = [](const std::optional<DType>& dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  };
  if (is_narrow(op.narrow)) return op.narrow;
  if (!op.outputs.empty() && is_narrow(op.outputs.front().dtype)) return op.outputs.front().dtype;
  return std::nullopt;
}

// What one side dumped, by operator, output, step and rank.
class Dumped {
 public:
  using Find = std::function<const graph::Operator*(std::string_view)>;

  Dumped(const dump::DumpSet& set, Find find) : find_(std::move(find)) {
    for (const Entry& entry : set.entries)
      if (const graph::Operator* op = find_(entry.operator_name))
        if (entry.slot.kind == SlotKind::kOutput && !entry.parts.empty())
          entries_.try_emplace({op, entry.slot.index, entry.step(), entry.rank()}, &entry);
  }

  struct Maker {
    const graph::Operator* op = nullptr;
    Made made;
    std::optional<DType> narrow;
  };
  std::optional<Maker> maker_of(const Entry& entry) const {
    constexpr int kFarthest = 8;
    if (entry.slot.kind != SlotKind::kOutput) return std::nullopt;
    const graph::Operator* op = find_(entry.operator_name);
    std::optional<DType> narrow;
    for (int i = 0; op != nullptr && i < kFarthest; ++i) {
      if (const auto made = made_by(*op)) return Maker{op, *made, narrow ? narrow : narrow_of(*op)};
      if (!hands_on(*op) || op->inputs.empty()) break;
      if (!narrow) narrow = narrow_of(*op);
      op = find_(op->inputs.front().producer);
    }
    return std::nullopt;
  }

  const Entry* input(const graph::Operator& op, size_t k, const Entry& beside) const {
    const graph::Edge& edge = op.inputs[k];
    const auto found =
        entries_.find({find_(edge.producer), edge.output, beside.step(), beside.rank()});
    return found == entries_.end() ? nullptr : found->second;
  }

 private:
  using Key =
      std::tuple<const graph::Operator*, int64_t, std::optional<int64_t>, std::optional<int64_t>>;
  Find find_;
  std::map<Key, const Entry*> entries_;
};

class Readings {
 public:
  explicit Readings(const SessionState& state) : state_(state) {}

  std::optional<Reading> of(const pair::PlannedRow& row) {
    std::call_once(is_ready_, [&] { prepare(); });
    if (row.golden_is_own || row.is_quantized) return std::nullopt;
    const auto target = target_->maker_of(*row.target);
    if (!target) return std::nullopt;
    Reading reading{target->made, {}, target->narrow, {}};
    std::optional<Dumped::Maker> golden;
    if (golden_) {
      golden = golden_->maker_of(*row.golden);
      if (!golden || golden->made != target->made) return std::nullopt;
      reading.golden_narrow = golden->narrow;
    }
    for (size_t k = 0; k < target->op->inputs.size(); ++k) {
      pair::PlannedRow& input = reading.inputs.emplace_back();
      input.target = target_->input(*target->op, k, *row.target);
      if (input.target == nullptr) return std::nullopt;
      input.golden = golden ? golden_->input(*golden->op, k, *row.golden) : paired(input.target);
      if (input.golden == nullptr) return std::nullopt;
    }
    return reading;
  }

 private:
  void prepare() {
    const pair::Matcher& matcher = *state_.matcher;
    target_.emplace(state_.target, [&](std::string_view name) { return matcher.find(name); });
    if (state_.graphs.golden)
      golden_.emplace(state_.golden,
                      [&](std::string_view name) { return matcher.find_golden(name); });
    for (const pair::PlannedRow& row : state_.rows)
      if (row.target != nullptr && row.golden != nullptr && !row.golden_is_own)
        partners_.try_emplace(row.target, row.golden);
  }

  const Entry* paired(const Entry* target) const {
    const auto found = partners_.find(target);
    return found == partners_.end() ? nullptr : found->second;
  }

  const SessionState& state_;
  std::once_flag is_ready_;
  std::optional<Dumped> target_, golden_;
  std::unordered_map<const Entry*, const Entry*> partners_;
};

}  // namespace

ReadingOf readings(const SessionState& state) {
  if (!state.matcher) return {};
  return [found = std::make_shared<Readings>(state)](const pair::PlannedRow& row) {
    return found->of(row);
  };
}

}  // namespace plumb::compare
