// SPDX-License-Identifier: Apache-2.0
#include "graph/diff_pair.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "graph/diff_fold.h"

namespace plumb::graph {
namespace {

using Types = std::span<const std::string_view>;

constexpr std::string_view kShapes[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
constexpr std::string_view kProducts[] = {"MatMul", "Gemm", "FusedGemm", "FusedMatMul"};
constexpr std::string_view kConvolutions[] = {"Conv", "FusedConv"};
constexpr std::string_view kCommuting[] = {"Add", "Mul", "Max", "Min",  "Sum",
                                           "And", "Or",  "Xor", "Equal"};
constexpr Types kAkin[] = {kShapes, kProducts, kConvolutions};

bool is_in(Types types, std::string_view type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::optional<Shape> known_shape(const Operator& op) {
  if (op.outputs.empty() || !op.outputs[0].shape) return std::nullopt;
  const Shape& shape = *op.outputs[0].shape;
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }))
    return std::nullopt;
  return shape;
}

std::string operator_text(const OperatorPair& pair) {
  return fmt::format("{} ({})", pair.golden_place >= 0 ? pair.other().name : pair.own().name,
                     pair.other().type);
}

// Axes counted from the end are the same as those from the start, if it is known how many there
// are.
bool is_same_axis(double a, double b, const OperatorPair& pair) {
  for (const Operator* op : {&pair.own(), &pair.other()})
    if (const auto shape = known_shape(*op); shape && !shape->empty()) {
      const auto rank = static_cast<double>(shape->size());
      return std::fmod(a - b, rank) == 0 && std::fabs(a - b) <= rank;
    }
  return false;
}

bool is_equal(const AttributeValue& target, const AttributeValue& golden, bool is_axis,
              const OperatorPair& pair) {
  const auto own = numbers_of(target), theirs = numbers_of(golden);
  if (!own || !theirs) return to_text(target) == to_text(golden);
  return std::equal(own->begin(), own->end(), theirs->begin(), theirs->end(),
                    [&](double a, double b) {
                      return a == b || static_cast<float>(a) == static_cast<float>(b) ||
                             (is_axis && is_same_axis(a, b, pair));
                    });
}

// Told by other attributes, or by what the pair is compared for elsewhere.
bool is_left_out(const std::string& name, const OperatorPair& pair) {
  const std::string &own = pair.own().type, &other = pair.other().type;
  if (name == "activation" || name == "activation_params") return true;
  if (is_in(kShapes, own)) {  // only moves values: the shape that comes out says it all
    const auto mine = known_shape(pair.own()), theirs = known_shape(pair.other());
    if (own != other || (mine && mine == theirs)) return true;
  }
  return own != other && is_in(kProducts, own);  // folded into the weights to compare them
}

bool computes(const OperatorContent& content, const std::string& attribute) {
  const auto& computed = content.computed;
  return std::find(computed.begin(), computed.end(), attribute) != computed.end();
}

// A shape that one model computes and the other has as a constant.
Difference computed_on_one_side(const OperatorPair& pair, const std::string& name, bool by_target) {
  Difference difference = difference_of(pair, DiffKind::kAttribute);
  difference.grade = DiffGrade::kUnverified;
  difference.what = name;
  difference.detail = "attribute:" + name;
  const OperatorContent& content = by_target ? pair.other_content() : pair.own_content();
  const auto known = content.attributes.find(name);
  const std::string value = known == content.attributes.end() ? "" : to_text(known->second);
  (by_target ? difference.golden_value : difference.target_value) = value;
  difference.message =
      fmt::format("{} of {} is computed in {}, and {} in {}", name, operator_text(pair),
                  by_target ? "the target" : "golden", value.empty() ? "not given" : value,
                  by_target ? "golden" : "the target");
  return difference;
}

}  // namespace

bool are_akin(std::string_view type, std::string_view other) {
  return std::any_of(std::begin(kAkin), std::end(kAkin),
                     [&](Types types) { return is_in(types, type) && is_in(types, other); });
}

Difference difference_of(const OperatorPair& pair, DiffKind kind) {
  Difference difference;
  difference.kind = kind;
  if (pair.target_place >= 0) {
    difference.target = pair.own().name;
    difference.target_type = pair.own().type;
  }
  if (pair.golden_place >= 0) {
    difference.golden = pair.other().name;
    difference.golden_type = pair.other().type;
  }
  return difference;
}

void compare_attributes(const OperatorPair& pair, PairTotals& totals,
                        std::vector<Difference>& out) {
  const auto &own = pair.own_content().attributes, &theirs = pair.other_content().attributes;
  std::set<std::string> names;
  for (const auto* list : {&own, &theirs})
    for (const auto& [name, value] : *list) names.insert(name);
  for (const std::string& name : names) {
    if (is_left_out(name, pair)) continue;
    const bool is_computed = computes(pair.own_content(), name);
    if (is_computed != computes(pair.other_content(), name)) {
      out.push_back(computed_on_one_side(pair, name, is_computed));
      continue;
    }
    const auto mine = own.find(name), golden = theirs.find(name);
    const bool has_mine = mine != own.end(), has_golden = golden != theirs.end();
    ++totals.attributes;
    const bool is_axis = name == "axis" || name == "axes";
    if (has_mine && has_golden && is_equal(mine->second, golden->second, is_axis, pair)) continue;
    Difference difference = difference_of(pair, DiffKind::kAttribute);
    difference.what = name;
    difference.detail = "attribute:" + name;
    difference.target_value = has_mine ? to_text(mine->second) : "";
    difference.golden_value = has_golden ? to_text(golden->second) : "";
    difference.message = fmt::format("{} of {} is {} instead of {}", name, operator_text(pair),
                                     has_mine ? difference.target_value : "not given",
                                     has_golden ? difference.golden_value : "not given");
    out.push_back(std::move(difference));
  }
}

void compare_constants(const OperatorPair& pair, const std::string& what,
                       const ConstantTensor& target, const ConstantTensor& golden,
                       const WeightLimits& limits, std::vector<Difference>& out) {
  auto found = compare_weights(target, golden, limits);
  const bool are_floats =
      kind_of(target.dtype()) == DKind::kFloat && kind_of(golden.dtype()) == DKind::kFloat;
  if (!found && (target.dtype() == golden.dtype() || !are_floats)) return;
  Difference difference = difference_of(pair, DiffKind::kWeights);
  difference.what = what;
  if (!found) {
    difference.kind = DiffKind::kPrecision;
    difference.target_value = name_of(target.dtype());
    difference.golden_value = name_of(golden.dtype());
    difference.detail = "dtype:" + difference.target_value;
    difference.message =
        fmt::format("'{}' of {} is {} instead of {}, with the same values", what,
                    operator_text(pair), difference.target_value, difference.golden_value);
    out.push_back(std::move(difference));
    return;
  }
  if (found->is_quantization) difference.kind = DiffKind::kQuantization;
  difference.detail = found->detail;
  if (found->elements == 1 && found->differing == 1 && target.elements() == 1) {
    difference.target_value = short_number(target.all()[0]);
    difference.golden_value = short_number(golden.all()[0]);
    difference.message = fmt::format("'{}' of {} is {} instead of {}", what, operator_text(pair),
                                     difference.target_value, difference.golden_value);
  } else {
    difference.message =
        fmt::format("'{}' of {}: {} (relative norm of the difference {}, {} of {} numbers)", what,
                    operator_text(pair), found->words, short_number(found->relative_norm),
                    found->differing, found->elements);
  }
  difference.numbers = std::move(found);
  out.push_back(std::move(difference));
}

namespace {

// Two that reshape, each in its way: what comes out tells.
void compare_shapes(const OperatorPair& pair, std::vector<Difference>& out) {
  const auto own = known_shape(pair.own()), theirs = known_shape(pair.other());
  if (own && own == theirs) return;
  Difference difference = difference_of(pair, DiffKind::kAttribute);
  difference.grade = own && theirs ? DiffGrade::kDifferent : DiffGrade::kUnverified;
  difference.what = "shape";
  difference.detail = "attribute:shape";
  difference.target_value = own ? to_string(*own) : "";
  difference.golden_value = theirs ? to_string(*theirs) : "";
  difference.message =
      fmt::format("{} is a {} in the target, which gives {} instead of {}", operator_text(pair),
                  pair.own().type, own ? difference.target_value : "a shape that is not recorded",
                  theirs ? difference.golden_value : "one that is not recorded");
  out.push_back(std::move(difference));
}

class OperandComparison {
 public:
  OperandComparison(const OperatorPair& pair, const DiffOptions& options, PairTotals& totals,
                    std::vector<Difference>& out)
      : pair_(pair), options_(options), totals_(totals), out_(out) {}

  void run() {
    const auto &own = pair_.own_content().operands, &theirs = pair_.other_content().operands;
    if (is_in(kCommuting, pair_.own().type)) return any_order(own, theirs);
    for (size_t slot = 0; slot < std::max(own.size(), theirs.size()); ++slot)
      compare(slot < own.size() ? &own[slot] : nullptr,
              slot < theirs.size() ? &theirs[slot] : nullptr);
  }

 private:
  // Constants are told by their place among constants.
  void any_order(const std::vector<Operand>& own, const std::vector<Operand>& theirs) {
    const auto constants = [](const std::vector<Operand>& operands) {
      std::vector<const Operand*> found;
      for (const Operand& operand : operands)
        if (operand.constant || operand.is_stored) found.push_back(&operand);
      return found;
    };
    const auto mine = constants(own), golden = constants(theirs);
    if (mine.size() != golden.size())
      return unreadable(mine.empty() ? own.front() : *mine.front(),
                        golden.empty() ? theirs.front() : *golden.front());
    for (size_t i = 0; i < mine.size(); ++i) compare(mine[i], golden[i]);
  }

  static bool is_given(const Operand* operand) {
    return operand != nullptr && !operand->name.empty();
  }

  void compare(const Operand* own, const Operand* theirs) {
    const bool has_own = is_given(own), has_theirs = is_given(theirs);
    if (!has_own && !has_theirs) return;
    const auto is_told = [](const Operand* operand) { return operand && operand->is_attribute; };
    if (is_told(own) || is_told(theirs)) return;
    if (has_own != has_theirs) return one_sided(*(has_own ? own : theirs), has_own);
    if (own->constant && theirs->constant) {
      ++totals_.constants;
      compare_constants(pair_, theirs->name, *own->constant, *theirs->constant,
                        {options_.tolerance, 0}, out_);
    } else if (own->constant || theirs->constant || own->is_stored || theirs->is_stored) {
      unreadable(*own, *theirs);
    }
  }

  // One of them is computed while the model runs, or is of no type that is read here.
  void unreadable(const Operand& own, const Operand& theirs) {
    ++totals_.not_compared;
    Difference difference = difference_of(pair_, DiffKind::kWeights);
    difference.grade = DiffGrade::kUnverified;
    difference.what = theirs.name;
    const bool is_computed = !own.is_stored && !theirs.is_stored;
    difference.detail = is_computed ? "computed" : "unreadable";
    difference.message =
        is_computed ? fmt::format("'{}' of {} is a constant in {} only", theirs.name,
                                  operator_text(pair_), own.constant ? "the target" : "golden")
                    : fmt::format("'{}' of {} is stored in a form that is not read here",
                                  theirs.name, operator_text(pair_));
    out_.push_back(std::move(difference));
  }

  // A bias of zeros is none.
  void one_sided(const Operand& operand, bool is_own) {
    if (!operand.constant) return;
    ++totals_.constants;
    const bool is_zero = operand.constant->elements() <= (1 << 20) && [&] {
      const auto numbers = operand.constant->all();
      return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0; });
    }();
    if (is_zero) return;
    Difference difference = difference_of(pair_, DiffKind::kWeights);
    difference.what = operand.name;
    difference.detail = is_own ? "extra" : "absent";
    difference.message =
        fmt::format("'{}' of {} is only in {}", operand.name,
                    pair_.golden_place >= 0 ? operator_text(pair_) : pair_.own().name,
                    is_own ? "the target" : "golden");
    out_.push_back(std::move(difference));
  }

  const OperatorPair& pair_;
  const DiffOptions& options_;
  PairTotals& totals_;
  std::vector<Difference>& out_;
};

}  // namespace

void compare_pair(const OperatorPair& pair, const DiffOptions& options, PairTotals& totals,
                  std::vector<Difference>& out) {
  const std::string &own = pair.own().type, &other = pair.other().type;
  if (own != other && !are_akin(own, other)) {
    Difference difference = difference_of(pair, DiffKind::kReplaced);
    difference.detail = fmt::format("replaced:{},{}", other, own);
    difference.message =
        fmt::format("{} ({}) is a {} in the target", pair.other().name, other, own);
    out.push_back(std::move(difference));
    return;
  }
  if (own != other && is_in(kShapes, own)) return compare_shapes(pair, out);
  compare_attributes(pair, totals, out);
  OperandComparison(pair, options, totals, out).run();
}

}  // namespace plumb::graph
