// SPDX-License-Identifier: Apache-2.0
#include "pair/partners.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "dump/names.h"
#include "pair/damaged.h"
#include "pair/graph_fit.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::Slot;
using dump::SlotKind;

std::string_view without_input(std::string_view name) {
  constexpr std::string_view kPrefix = "input_";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

// Frameworks call a tensor by its operator and the number of the output: "conv1:0".
std::string_view without_number(std::string_view name) {
  const size_t colon = name.rfind(':');
  const bool is_numbered = colon != name.npos && dump::is_digits(name.substr(colon + 1));
  return is_numbered ? name.substr(0, colon) : name;
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// How many inputs of the model have a name that ends so; 0 if the one asked for is none itself.
size_t inputs_called(const Matcher& matcher, std::string_view name, std::string_view last) {
  const auto is_input = [](const graph::Operator& op) { return kind_of_type(op.type) == "data"; };
  const graph::Operator* own = matcher.find(name);
  if (own == nullptr || !is_input(*own)) return 0;
  const std::vector<graph::Operator>& all = matcher.target().operators;
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const graph::Operator& op) {
    return last_part(op.name) == last && is_input(op);
  }));
}

Pairing found_as(std::string_view op, const Slot& slot, Match& match) {
  return Pairing::with(op, slot, match.rule, std::move(match.evidence));
}

}  // namespace

// Tensors of an operator mostly follow each other.
Partners::OperatorNames::OperatorNames(const DumpSet& set) {
  all.reserve(set.entries.size() / 2);
  for (const Entry& entry : set.entries)
    if ((in_order.empty() || entry.operator_name != in_order.back()) &&
        all.insert(entry.operator_name).second)
      in_order.push_back(entry.operator_name);
}

Partners::Partners(const NameMap& map, const Matcher* matcher, const DumpSet& target,
                   const DumpSet& golden)
    : map_(map),
      matcher_(matcher),
      target_is_quantized_(has_quantizing_operators(target)),
      targets_(target),
      goldens_(golden) {
  if (matcher != nullptr) {
    for (std::string_view name : goldens_.in_order) golden_names_.add(name);
    for (const Entry& entry : golden.entries) {
      golden_tensors_.insert(tensor_text(entry.operator_name, entry.slot));
      is_in_order_ = is_in_order_ && entry.timestamp != 0;  // else they are in order of names
    }
  }
  for (const auto& [to, from] : map.operators) {
    golden_of_[to] = {from, "map"};
    target_of_[from] = {to, "map"};
  }
  const bool any_lonely = pair_names();
  if (matcher == nullptr) {
    if (any_lonely) pair_fused_names();
    return;
  }
  // An operator whose file cannot be read is there all the same: nothing else may take its place.
  for (const dump::Skipped& skipped : golden.skipped) {
    if (!skipped.error) continue;
    const std::string& name = damaged_.emplace_back(promise_of(skipped.file).op);
    if (const auto found = golden_names_.find(name); found.name.empty() && !found.several)
      golden_names_.add(name);
  }
  find_unclaimed();
}

// Whether two operators of this name are a pair. The map knows better.
bool Partners::are_namesakes(std::string_view name) const {
  if (!goldens_.all.contains(name) || !targets_.all.contains(name)) return false;
  return (target_of_.empty() || !target_of_.contains(name)) &&
         (map_.operators.empty() || !map_.operators.contains(std::string(name)));
}

// Of those without a namesake: a name that dump tools may have changed, unless that would merge
// distinct operators.
bool Partners::pair_names() {
  struct Alike {
    std::set<std::string_view> target, golden;
  };
  std::map<std::string, Alike> unmatched;  // by normalised name
  const auto pair = [&](std::string_view target, std::string_view golden, std::string_view rule) {
    golden_of_[target] = {golden, rule};
    target_of_[golden] = {target, rule};
  };
  for (std::string_view name : goldens_.in_order) {
    if (are_namesakes(name) || target_of_.contains(name)) continue;
    if (const auto mapped = map_.operators.find(std::string(name)); mapped != map_.operators.end())
      refused_golden_[name] = Pairing::none(
          "no_target", "by the map, the target operator of this name belongs to " + mapped->second);
    else
      unmatched[normalised(name)].golden.insert(name);
  }
  for (std::string_view name : targets_.in_order)
    if (!goldens_.all.contains(name) && !golden_of_.contains(name))
      unmatched[normalised(name)].target.insert(name);
  for (const auto& [shared, names] : unmatched) {
    if (names.target.empty() || names.golden.empty()) continue;
    if (names.target.size() == 1 && names.golden.size() == 1) {
      pair(*names.target.begin(), *names.golden.begin(), "normalised-name");
      continue;
    }
    const Pairing refusal = Pairing::none(
        "ambiguous_pair", fmt::format("{} target and {} golden operators are all written '{}'",
                                      names.target.size(), names.golden.size(), shared));
    for (std::string_view name : names.target) refused_target_[name] = refusal;
    for (std::string_view name : names.golden) refused_golden_[name] = refusal;
  }
  return !unmatched.empty() || !map_.operators.empty();
}

// Compilers name a fused operator after its parts: conv1bn1relu1, Conv_0_Relu_1. If the whole name
// is made of golden operators in just one way, and these ran one after the other and have no
// partner of their own, its output is that of the last one.
void Partners::pair_fused_names() {
  std::unordered_map<std::string, size_t> position;  // of lonely golden operators, by written name
  size_t longest = 0;
  const std::vector<std::string_view>& goldens = goldens_.in_order;
  for (size_t i = 0; i < goldens.size(); ++i) {
    const bool is_number = goldens[i].empty() ||
                           (goldens[i][0] >= '0' && goldens[i][0] <= '9');  // conv1, 0: not conv10
    if (is_number || are_namesakes(goldens[i]) || target_of_.contains(goldens[i]) ||
        refused_golden_.contains(goldens[i]))
      continue;
    const auto found = position.try_emplace(normalised(goldens[i]), i).first;
    longest = std::max(longest, found->first.size());
  }
  for (std::string_view target : targets_.in_order) {
    if (are_namesakes(target) || golden_of_.contains(target) || refused_target_.contains(target))
      continue;
    const std::string name = normalised(target);
    // From the front: a golden operator, then the one that ran next, and so on to the end.
    std::vector<std::pair<size_t, size_t>> found;  // first golden operator and how many
    for (size_t length = 1; length <= std::min(longest, name.size()); ++length) {
      const auto first = position.find(name.substr(0, length));
      if (first == position.end()) continue;
      size_t at = length, next = first->second + 1;
      while (at < name.size() && next < goldens.size()) {
        const std::string part = normalised(goldens[next]);
        const auto own = position.find(part);
        if (own == position.end() || own->second != next) break;  // has a partner, or a namesake
        if (name.compare(at, part.size(), part) == 0)
          at += part.size();
        else if (name[at] == '_' && name.compare(at + 1, part.size(), part) == 0)
          at += part.size() + 1;
        else
          break;
        ++next;
      }
      if (at == name.size() && next - first->second > 1)
        found.emplace_back(first->second, next - first->second);
    }
    if (found.size() != 1) continue;
    const auto [first, count] = found.front();
    const std::string_view last = goldens[first + count - 1];
    golden_of_[target] = {last, "fused-name"};
    target_of_[last] = {target, "fused-name"};
    fused_[target] = fmt::format("{} golden operators from {} to {} make up its name", count,
                                 goldens[first], last);
    for (size_t i = first; i + 1 < first + count; ++i)
      refused_golden_[goldens[i]] =
          Pairing::none("inside_fusion", fmt::format("by their names, fused into {}", target));
  }
}

// Golden operators that nothing in the graph was made from were folded into some layer before it.
// Where golden's operators come in the order of the graph, such a one stands behind the layer that
// it was folded into, and before all that read what the layer gives.
void Partners::find_unclaimed() {
  if (!is_quantized(matcher_->target())) return;  // nothing was dequantized
  const auto is_unclaimed = [&](std::string_view name) {
    return matcher_->made_of(name) == nullptr && matcher_->giver_of(name, 0) == nullptr;
  };
  for (size_t i = 0; i < goldens_.in_order.size(); ++i) {
    const std::string_view name = goldens_.in_order[i];
    position_[name] = i;
    if (is_unclaimed(name)) unclaimed_.push_back({name, i});
  }
  for (const std::string& name : damaged_)
    if (!position_.contains(name) && is_unclaimed(name)) unclaimed_.push_back({name, {}});
  if (unclaimed_.empty()) return;
  const auto position_of = [&](std::string_view name) -> std::optional<size_t> {
    const auto found = position_.find(golden_names_.find(name).name);
    return found == position_.end() ? std::nullopt : std::optional(found->second);
  };
  for (const graph::Operator& op : matcher_->target().operators) {
    if (keeps_values(op.type)) continue;
    const auto golden = matcher_->output(op, 0).golden;
    const auto own = golden ? position_of(golden->op) : std::nullopt;
    if (!own) continue;
    for (int64_t k = 0; k < std::ssize(op.inputs); ++k) {
      const Match input = matcher_->input(op, k);
      const std::string& layer = input.dequantized_layer;
      const auto before = position_of(!layer.empty() ? layer
                                      : input.golden ? input.golden->op
                                                     : std::string_view());
      is_in_order_ = is_in_order_ && (!before || *before <= *own);
      if (layer.empty()) continue;
      const auto read = first_reader_.try_emplace(layer, *own).first;
      read->second = std::min(read->second, *own);
    }
  }
}

// What may have been folded into a layer of golden, so that its dequantized output need not be what
// the layer gave; empty if nothing may.
std::string_view Partners::folded_into(std::string_view layer, const std::string& name) const {
  const auto layer_at = position_.find(layer);
  const auto read = first_reader_.find(name);
  for (const Unclaimed& each : unclaimed_) {
    const bool is_elsewhere = is_in_order_ && each.position &&
                              ((layer_at != position_.end() && *each.position < layer_at->second) ||
                               (read != first_reader_.end() && *each.position > read->second));
    if (!is_elsewhere) return each.name;
  }
  return {};
}

// Integers of a model that quantizes stand for other numbers, and no graph says by which scale.
bool Partners::may_be_quantized(const Entry& target) const {
  return target_is_quantized_ && (matcher_ == nullptr || !is_quantized(matcher_->target()) ||
                                  matcher_->find(target.operator_name) == nullptr);
}

bool Partners::is_namesake(const Entry& target) const {
  return matcher_ == nullptr && map_.tensors.empty() && !target_is_quantized_ &&
         are_namesakes(target.operator_name);
}

std::optional<Pairing> Partners::by_map(const Entry& target) const {
  if (map_.empty()) return std::nullopt;
  std::optional<Pairing> pairing;
  const auto tensor = map_.tensors.find(tensor_text(target.operator_name, target.slot));
  if (tensor != map_.tensors.end()) {
    pairing = Pairing::with(tensor->second.op, tensor->second.slot, "map");
    // The map says what the partner is, the graph still says what the integers stand for.
    if (const auto match = match_of(target)) {
      pairing->is_quantized = match->is_quantized;
      pairing->quantization = match->quantization;
    }
  } else if (map_.operators.contains(target.operator_name)) {
    pairing = by_written_name(target);
  }
  if (pairing) pairing->is_quantized = pairing->is_quantized || may_be_quantized(target);
  return pairing;
}

Pairing Partners::by_name(const Entry& target) const {
  Pairing pairing = by_written_name(target);
  pairing.is_quantized = may_be_quantized(target);
  return pairing;
}

Pairing Partners::by_written_name(const Entry& target) const {
  if (are_namesakes(target.operator_name))
    return Pairing::with(target.operator_name, target.slot, "name");
  const auto found = golden_of_.find(target.operator_name);
  const auto fused = fused_.find(target.operator_name);
  if (fused != fused_.end() && target.slot.kind != SlotKind::kOutput)
    return Pairing::none("no_golden", "a fused operator: only its output is told by its name");
  if (found != golden_of_.end())
    return Pairing::with(found->second.op, target.slot, found->second.rule,
                         fused == fused_.end() ? "" : fused->second);
  const auto refused = refused_target_.find(target.operator_name);
  return refused == refused_target_.end() ? Pairing::none("no_golden") : refused->second;
}

// What the graph says of a tensor; nullopt if it does not have it.
std::optional<Match> Partners::match_of(const Entry& target) const {
  const graph::Operator* op = matcher_ == nullptr ? nullptr : matcher_->find(target.operator_name);
  if (op == nullptr || target.slot.index < 0 || !target.slot.path.empty()) return std::nullopt;
  if (target.slot.kind == SlotKind::kOutput) return matcher_->output(*op, target.slot.index);
  if (target.slot.kind == SlotKind::kInput) return matcher_->input(*op, target.slot.index);
  return std::nullopt;
}

std::optional<Pairing> Partners::by_graph(const Entry& target) const {
  if (matcher_ == nullptr) return std::nullopt;
  auto match = match_of(target);
  Pairing pairing;
  if (!match) {
    const bool is_known = matcher_->find(target.operator_name) != nullptr;
    pairing = by_written_name(target);
    if (pairing.has_partner() && !is_known) pairing.evidence = "the graph has no such operator";
    // The graph of the quantization tool knows nothing of what the compiler inserted later.
    if (!pairing.has_partner() && !is_known && keeps_values(target.type))
      pairing = Pairing::none(
          "no_counterpart",
          fmt::format("the graph has no such operator, and {} only changes how values are stored",
                      target.type));
  } else if (!match->golden) {
    pairing = Pairing::none(match->reason, std::move(match->message));
  } else {
    pairing = find_in_dump(*match);
    pairing.is_reshaped = match->is_reshaped;
    pairing.is_quantized = match->is_quantized;
    pairing.quantization = match->quantization;
  }
  pairing.is_quantized = pairing.is_quantized || may_be_quantized(target);
  return pairing;
}

bool Partners::golden_has(std::string_view op, const Slot& slot) const {
  return !op.empty() && golden_tensors_.contains(tensor_text(op, slot));
}

// Some tools save the inputs of a model as input_<name>, which reads as an input slot, and leave
// out the scopes before it.
std::optional<Pairing> Partners::find_as_model_input(Match& match) const {
  const std::string& name = match.golden->op;
  const Slot input{SlotKind::kInput, match.golden->output, {}};
  const auto source = golden_names_.find(without_input(name));
  if (golden_has(source.name, input)) return found_as(source.name, input, match);
  const std::string_view last = last_part(name);
  if (last == name || !match.is_source) return std::nullopt;
  const auto inner = golden_names_.find(without_input(last));
  if (!golden_has(inner.name, input)) return std::nullopt;
  const size_t sharing = inputs_called(*matcher_, name, last);
  if (sharing == 0) return std::nullopt;
  if (sharing == 1) return found_as(inner.name, input, match);
  return Pairing::none("ambiguous_pair",
                       fmt::format("{} inputs of the model end in {}, which golden has as {}",
                                   sharing, last, tensor_text(inner.name, input)));
}

// A tensor that its maker did not dump may have been dumped by those who read it. `golden`: what
// its dump calls the maker, if that is there without this output.
std::optional<Pairing> Partners::find_at_readers(Match& match, std::string_view golden) const {
  std::optional<std::pair<std::string_view, Slot>> damaged;
  for (const Tensor& reader : matcher_->golden_readers(*match.golden)) {
    const Slot read{SlotKind::kInput, reader.output, {}};
    const auto found = golden_names_.find(reader.op);
    if (!golden_has(found.name, read)) {
      if (std::find(damaged_.begin(), damaged_.end(), found.name) != damaged_.end())
        damaged.emplace(found.name, read);
      continue;
    }
    match.evidence += fmt::format(", which golden has as {}", tensor_text(found.name, read));
    return found_as(found.name, read, match);
  }
  if (!golden.empty())
    return found_as(golden, {SlotKind::kOutput, match.golden->output, {}}, match);
  if (damaged) return found_as(damaged->first, damaged->second, match);
  return std::nullopt;
}

// A model that was not quantized lacks the operators that do it.
std::optional<Pairing> Partners::find_unquantized(Match& match) const {
  if (match.before_quantization) {
    match.rule = "before-quantization";
    const auto found = golden_names_.find(match.before_quantization->op);
    if (!found.name.empty())
      return found_as(found.name, {SlotKind::kOutput, match.before_quantization->output, {}},
                      match);
  }
  const auto layer = golden_names_.find(match.dequantized_layer);
  if (layer.name.empty()) return std::nullopt;
  match.rule = "dequantized-layer";
  const std::string_view folded = folded_into(layer.name, match.dequantized_layer);
  if (folded.empty()) return found_as(layer.name, {}, match);
  return Pairing::none("ambiguous_pair",
                       fmt::format("{} or what was folded into it, perhaps {}; --quant FILE tells",
                                   layer.name, folded));
}

// Where golden has the tensor: as the output it is, or in another guise.
Pairing Partners::find_in_dump(Match& match) const {
  const std::string& name = match.golden->op;
  const Slot output{SlotKind::kOutput, match.golden->output, {}};
  const auto golden = golden_names_.find(name);
  if (golden_has(golden.name, output)) return found_as(golden.name, output, match);
  const std::string numbered = fmt::format("{}:{}", name, output.index);
  const Slot only{SlotKind::kOutput, 0, {}};
  if (const auto tensor = golden_names_.find(numbered);
      without_number(tensor.name) != tensor.name && golden_has(tensor.name, only))
    return found_as(tensor.name, only, match);
  if (auto found = find_as_model_input(match)) return *std::move(found);
  if (auto found = find_at_readers(match, golden.name)) return *std::move(found);
  if (auto found = find_unquantized(match)) return *std::move(found);
  if (golden.several)
    return Pairing::none("ambiguous_pair",
                         fmt::format("several golden operators are written as {} is", name));
  const graph::Operator* own = matcher_->find_golden(name);
  if (match.is_source || (own != nullptr && is_never_dumped(*own)))
    return Pairing::none(
        "no_counterpart",
        fmt::format("{}, a constant or model input that golden did not dump", name));
  Pairing none =
      Pairing::none("no_golden", fmt::format("golden has no {} ({})", name, match.evidence));
  none.missing = TensorName{name, output};
  return none;
}

const graph::Operator* Partners::made_of(std::string_view golden) const {
  const graph::Operator* op = matcher_->made_of(golden);
  return op != nullptr ? op : matcher_->made_of(without_number(golden));
}

std::string_view Partners::target_of(const Entry& golden) const {
  if (matcher_ != nullptr)
    if (const graph::Operator* op = made_of(golden.operator_name)) return op->name;
  if (are_namesakes(golden.operator_name)) return golden.operator_name;
  const auto found = target_of_.find(golden.operator_name);
  return found == target_of_.end() ? std::string_view() : found->second.op;
}

// With a graph every tensor of the target is led to a golden one, so what is left over was either
// fused away or is not in the target at all.
Pairing Partners::why_left(const Entry& golden) const {
  if (matcher_ == nullptr) {
    const auto refused = refused_golden_.find(golden.operator_name);
    return refused == refused_golden_.end() ? Pairing::none("no_target") : refused->second;
  }
  const graph::Operator* own = matcher_->find_golden(golden.operator_name);
  if (own != nullptr && golden.slot.kind == SlotKind::kInput && golden.slot.path.empty() &&
      golden.slot.index >= 0 && golden.slot.index < std::ssize(own->inputs)) {
    const graph::Edge& edge = own->inputs[static_cast<size_t>(golden.slot.index)];
    return Pairing::none("no_counterpart", fmt::format("the same tensor as output {} of {}",
                                                       edge.output, edge.producer));
  }
  if (own != nullptr && golden.slot.kind == SlotKind::kOutput && golden.slot.index >= 0 &&
      golden.slot.index < std::ssize(own->outputs))
    if (const auto& absence = own->outputs[static_cast<size_t>(golden.slot.index)].absence)
      return Pairing::none(absence->reason, absence->message);
  if (own != nullptr && keeps_values(own->type))
    return Pairing::none("no_counterpart",
                         fmt::format("{} only changes how values are stored", own->type));
  if (own != nullptr && (own->type == "Constant" || own->type == "Const"))
    return Pairing::none("no_counterpart", "a constant, which the target may hold as a weight");
  if (golden.slot.kind == SlotKind::kOutput && golden.slot.path.empty())
    if (const graph::Operator* giver = matcher_->giver_of(golden.operator_name, golden.slot.index))
      return is_never_dumped(*giver)
                 ? Pairing::none("no_counterpart", fmt::format("{}, a constant or model input that "
                                                               "target did not dump",
                                                               giver->name))
                 : Pairing::none(
                       "no_target",
                       fmt::format("{} gives it out; target did not dump that", giver->name));
  const graph::Operator* op = made_of(golden.operator_name);
  if (op == nullptr)
    return Pairing::none("no_target", "the graph has nothing that was made from it");
  if (op->origins->size() > 1)
    return Pairing::none("inside_fusion",
                         fmt::format("fused into {}, which does not give it out", op->name));
  return Pairing::none("no_target",
                       fmt::format("{} was made from it; target did not dump that", op->name));
}

}  // namespace plumb::pair
