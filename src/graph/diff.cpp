// SPDX-License-Identifier: Apache-2.0
#include "graph/diff.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "graph/diff_fold.h"
#include "graph/diff_pair.h"
#include "graph/diff_turned.h"

namespace plumb::graph {
namespace {

constexpr double kFoldRounding = 1e-6;  // relative, of a number that a converter computed anew

constexpr int kMostDepth = 8;         // operators back that a twin is looked at
constexpr int kMostTwinSteps = 2000;  // ... and in all

constexpr std::string_view kKinds[] = {"missing",   "added",   "replaced",     "merged",
                                       "attribute", "weights", "quantization", "precision",
                                       "wiring",    "input",   "output",       "opset"};
constexpr std::string_view kGrades[] = {"different", "unverified", "equivalent"};

using Places = std::vector<int>;

bool is_named_fused(std::string_view type) {
  constexpr std::string_view kFused[] = {"LayerNormalization",
                                         "SkipLayerNormalization",
                                         "SimplifiedLayerNormalization",
                                         "Gelu",
                                         "BiasGelu",
                                         "FastGelu",
                                         "QuickGelu",
                                         "HardSwish",
                                         "Attention",
                                         "MultiHeadAttention",
                                         "GroupNorm",
                                         "Gemm"};
  return type.find("Fused") != std::string_view::npos || type.starts_with("QLinear") ||
         std::find(std::begin(kFused), std::end(kFused), type) != std::end(kFused);
}

class Differ {
 public:
  Differ(const ModelContent& target, const ModelContent& golden, const ModelAlignment& alignment,
         const DiffOptions& options, ModelDiff& out)
      : t_(target), g_(golden), alignment_(alignment), options_(options), out_(out) {}

  void run() {
    compare_ports(t_.inputs, g_.inputs, DiffKind::kInput);
    compare_ports(t_.outputs, g_.outputs, DiffKind::kOutput);
    compare_opsets();
    std::set<int> hosts;  // target operators of pairs that regions are about
    for (const auto& region : alignment_.regions) {
      for (const int op : region.target)
        if (golden_of(op) >= 0) hosts.insert(op);
      compare_region(region);
    }
    for (int op = 0; op < static_cast<int>(t_.operators.size()); ++op)
      if (golden_of(op) >= 0 && !hosts.contains(op) && is_compared(op, golden_of(op)))
        compare_pair(pair_of(op, golden_of(op)), options_, totals_, out_.differences);
    for (const auto& rewired : alignment_.rewired) add_rewired(rewired);
    excuse_turned(t_, g_, alignment_, out_.differences);
    count();
    sort();
  }

 private:
  int golden_of(int op) const { return alignment_.golden_of[static_cast<size_t>(op)]; }
  int target_of(int op) const { return alignment_.target_of[static_cast<size_t>(op)]; }
  Role own_role(int op) const { return alignment_.target_roles[static_cast<size_t>(op)]; }
  Role golden_role(int op) const { return alignment_.golden_roles[static_cast<size_t>(op)]; }
  OperatorPair pair_of(int target, int golden) const { return {t_, target, g_, golden}; }
  const Operator& own(int op) const { return t_.graph.operators[static_cast<size_t>(op)]; }
  const Operator& other(int op) const { return g_.graph.operators[static_cast<size_t>(op)]; }

  // A Constant is compared where it is read.
  bool is_compared(int target, int golden) const {
    return own_role(target) != Role::kEnd && own(target).type != "Constant" &&
           other(golden).type != "Constant";
  }

  // ---- what goes in and out

  void compare_ports(const std::vector<ModelPort>& own, const std::vector<ModelPort>& theirs,
                     DiffKind kind) {
    const std::string_view noun = kind == DiffKind::kInput ? "input" : "output";
    const auto named = [](const std::vector<ModelPort>& ports, const std::string& name) {
      const auto found = std::find_if(ports.begin(), ports.end(),
                                      [&](const ModelPort& port) { return port.name == name; });
      return found == ports.end() ? nullptr : &*found;
    };
    std::vector<const ModelPort*> left;  // of golden, by place
    for (const ModelPort& port : theirs)
      if (named(own, port.name) == nullptr) left.push_back(&port);
    size_t next = 0;
    for (const ModelPort& port : own) {
      const ModelPort* golden = named(theirs, port.name);
      if (golden == nullptr && next < left.size()) golden = left[next++];
      if (golden == nullptr)
        add_port(kind, port.name, "",
                 fmt::format("the target has one more {}: '{}'", noun, port.name));
      else
        compare_port(port, *golden, kind, noun);
    }
    for (; next < left.size(); ++next)
      add_port(kind, "", left[next]->name,
               fmt::format("the target lacks the {} '{}'", noun, left[next]->name));
  }

  Difference& add_port(DiffKind kind, const std::string& target, const std::string& golden,
                       std::string message) {
    Difference& difference = out_.differences.emplace_back();
    difference.kind = kind;
    difference.target = target;
    difference.golden = golden;
    difference.what = "name";
    difference.detail = golden.empty() ? "added" : "missing";
    difference.message = std::move(message);
    return difference;
  }

  void compare_port(const ModelPort& own, const ModelPort& golden, DiffKind kind,
                    std::string_view noun) {
    const auto add = [&](std::string_view what, const std::string& mine, const std::string& theirs,
                         DiffGrade grade) {
      Difference& difference = add_port(kind, own.name, golden.name,
                                        fmt::format("the {} of {} '{}' is {} instead of {}", what,
                                                    noun, golden.name, mine, theirs));
      difference.what = what;
      difference.detail = what;
      difference.grade = grade;
      difference.target_value = mine;
      difference.golden_value = theirs;
    };
    if (own.name != golden.name) add("name", own.name, golden.name, DiffGrade::kEquivalent);
    if (own.dtype && golden.dtype && own.dtype != golden.dtype)
      add("dtype", std::string(plumb::name_of(*own.dtype)),
          std::string(plumb::name_of(*golden.dtype)), DiffGrade::kDifferent);
    if (!own.shape || !golden.shape || own.shape == golden.shape) return;
    bool fits = own.shape->size() == golden.shape->size();
    for (size_t i = 0; fits && i < own.shape->size(); ++i) {
      const int64_t a = (*own.shape)[i], b = (*golden.shape)[i];
      fits = a == b || a < 0 || b < 0;
    }
    add("shape", to_string(*own.shape), to_string(*golden.shape),
        fits ? DiffGrade::kEquivalent : DiffGrade::kDifferent);
  }

  void compare_opsets() {
    for (const ModelOpset& own : t_.opsets)
      for (const ModelOpset& golden : g_.opsets) {
        if (own.domain != golden.domain || own.version == golden.version) continue;
        Difference& difference = out_.differences.emplace_back();
        difference.kind = DiffKind::kOpset;
        difference.grade = DiffGrade::kEquivalent;
        difference.what = own.domain.empty() ? "ai.onnx" : own.domain;
        difference.detail = fmt::format("opset:{}", own.version);
        difference.target_value = fmt::format("{}", own.version);
        difference.golden_value = fmt::format("{}", golden.version);
        difference.message =
            fmt::format("the operators are those of version {} of {} instead of {}", own.version,
                        difference.what, golden.version);
      }
  }

  // ---- what is not one operator for one

  void compare_region(const ModelAlignment::Region& region) {
    Places target, golden;
    for (const int op : region.target) {
      if (own_role(op) == Role::kHandsOn && golden_of(op) < 0)
        hands_on(op, true);
      else if (own_role(op) != Role::kConstant)
        target.push_back(op);
    }
    for (const int op : region.golden) {
      if (golden_role(op) == Role::kHandsOn && target_of(op) < 0)
        hands_on(op, false);
      else if (golden_role(op) != Role::kConstant)
        golden.push_back(op);
    }
    drop_neutral(target, t_, alignment_.golden_of);
    drop_neutral(golden, g_, alignment_.target_of);
    if (target.empty() && golden.empty()) return;
    const Places all = target, all_golden = golden;
    const auto folded = fold_hosts(target, golden);
    const bool was_folded = all.size() != target.size();
    if (only_moves(target, t_) && only_moves(golden, g_) && was_folded) {
      if (folded == Fold::kSame) add_merged(all, all_golden, DiffGrade::kEquivalent);
      return;
    }
    if (!target.empty() && !golden.empty() &&
        are_same(parts_of(t_, target), parts_of(g_, golden))) {
      compare_hosts(target, true);
      if (folded != Fold::kDifferent) add_merged(all, all_golden, DiffGrade::kEquivalent);
      return;
    }
    compare_hosts(target, false);
    name_unpaired(target, golden);
  }

  static void drop_neutral(Places& places, const ModelContent& model,
                           const std::vector<int>& partner) {
    std::erase_if(places, [&](int op) {
      return partner[static_cast<size_t>(op)] < 0 && is_neutral(model, op);
    });
  }

  static bool only_moves(const Places& places, const ModelContent& model) {
    return std::all_of(places.begin(), places.end(), [&](int op) {
      const std::string& type = model.graph.operators[static_cast<size_t>(op)].type;
      return type == "Reshape" || type == "Flatten" || type == "Squeeze" || type == "Unsqueeze";
    });
  }

  void compare_hosts(const Places& target, bool only_attributes) {
    for (const int op : target) {
      if (golden_of(op) < 0) continue;
      const OperatorPair pair = pair_of(op, golden_of(op));
      if (only_attributes)
        compare_attributes(pair, totals_, out_.differences);
      else
        compare_pair(pair, options_, totals_, out_.differences);
    }
  }

  // Convolutions and products with something folded in are compared and taken out of the lists.
  enum class Fold : uint8_t { kNone, kSame, kDifferent };
  Fold fold_hosts(Places& target, Places& golden) {
    Fold result = Fold::kNone;
    Places left = target;
    for (const int host : left) {
      if (golden_of(host) < 0) continue;
      const auto from = [](const Places& places, int op) {
        return Places(std::find(places.begin(), places.end(), op), places.end());
      };
      const Places own_chain = from(target, host), golden_chain = from(golden, golden_of(host));
      std::vector<size_t> used, golden_used;
      const auto own = fold(t_, own_chain, used), theirs = fold(g_, golden_chain, golden_used);
      if (!own || !theirs || own->host != host || theirs->host != golden_of(host)) continue;
      if (used.size() + golden_used.size() == 2 && this->own(host).type == other(theirs->host).type)
        continue;  // plain pairs are compared slot by slot
      std::vector<Difference> found;
      compare_folded(pair_of(host, theirs->host), *own, *theirs, found);
      if (!found.empty() && is_rather_plain(pair_of(host, theirs->host), found)) continue;
      totals_.constants += 2;
      compare_attributes(pair_of(host, theirs->host), totals_, found);
      result = found.empty() && result != Fold::kDifferent ? Fold::kSame : Fold::kDifferent;
      out_.differences.insert(out_.differences.end(), found.begin(), found.end());
      const auto take = [](Places& places, const Places& chain, const std::vector<size_t>& taken) {
        for (const size_t i : taken) std::erase(places, chain[i]);
      };
      take(target, own_chain, used);
      take(golden, golden_chain, golden_used);
    }
    return result;
  }

  // What the two have in common says that nothing was folded: something was changed.
  bool is_rather_plain(const OperatorPair& pair, const std::vector<Difference>& folded) const {
    PairTotals ignored;
    std::vector<Difference> plain;
    compare_pair(pair, options_, ignored, plain);
    return worst(plain) < worst(folded);
  }

  static double worst(const std::vector<Difference>& differences) {
    double norm = 0;
    for (const Difference& each : differences)
      norm = std::max(norm, each.numbers ? each.numbers->relative_norm
                                         : std::numeric_limits<double>::infinity());
    return norm;
  }

  void compare_folded(const OperatorPair& pair, const Folded& own, const Folded& theirs,
                      std::vector<Difference>& found) const {
    compare_constants(pair, theirs.weight_name, own.weight, theirs.weight,
                      {options_.tolerance, kFoldRounding}, found);
    if (own.activations != theirs.activations) {
      const auto text = [](const Folded& folded) {
        std::string names;
        for (const auto& activation : folded.activations)
          names += activation.type + to_text(AttributeValue(activation.numbers)) + " ";
        return names.empty() ? std::string("none") : names.substr(0, names.size() - 1);
      };
      Difference difference = difference_of(pair, DiffKind::kAttribute);
      difference.what = "activation";
      difference.detail = "attribute:activation";
      difference.target_value = text(own);
      difference.golden_value = text(theirs);
      difference.message = fmt::format("the activation behind {} is {} instead of {}",
                                       difference.golden, text(own), text(theirs));
      found.push_back(std::move(difference));
    }
    if (own.bias.size() != theirs.bias.size()) return;
    // Where the numbers agree up to the rounding of what they were summed from, they are the same.
    std::vector<double> mine = own.bias;
    for (size_t i = 0; i < mine.size(); ++i) {
      const double size = std::max({own.sizes[i], theirs.sizes[i], std::fabs(mine[i])});
      if (std::fabs(mine[i] - theirs.bias[i]) <= 4 * kFoldRounding * size) mine[i] = theirs.bias[i];
    }
    const auto tensor = [](const std::vector<double>& numbers) {
      return ConstantTensor(DType::kFloat64, {std::ssize(numbers)},
                            std::as_bytes(std::span(numbers)))
          .cast(DType::kFloat32);
    };
    const std::string name = !theirs.bias_name.empty() ? theirs.bias_name
                             : !own.bias_name.empty()  ? own.bias_name
                                                       : "bias of " + pair.other().name;
    compare_constants(pair, name, tensor(mine), tensor(theirs.bias),
                      {options_.tolerance, kFoldRounding}, found);
  }

  void add_merged(const Places& target, const Places& golden, DiffGrade grade) {
    Difference difference;
    difference.kind = DiffKind::kMerged;
    difference.grade = grade;
    std::string types, golden_types;
    for (const int op : target) {
      difference.target_operators.push_back(own(op).name);
      types += (types.empty() ? "" : "+") + own(op).type;
    }
    for (const int op : golden) {
      difference.golden_operators.push_back(other(op).name);
      golden_types += (golden_types.empty() ? "" : "+") + other(op).type;
    }
    if (!target.empty()) difference.target = own(target.front()).name;
    if (!golden.empty()) difference.golden = other(golden.front()).name;
    difference.target_type = types;
    difference.golden_type = golden_types;
    difference.detail = fmt::format("merged:{},{}", golden_types, types);
    difference.message = fmt::format(
        "{} at {} stands as {} in the target{}", golden_types, difference.golden, types,
        grade == DiffGrade::kEquivalent ? ", with the same numbers" : ": only a run can tell");
    out_.differences.push_back(std::move(difference));
  }

  // Identity changes nothing; a cast may, and rounding to integers does.
  void hands_on(int op, bool is_target) {
    const Operator& one = is_target ? own(op) : other(op);
    const bool is_cast = one.type == "Cast";
    const bool is_quantizing = one.type.find("uantize") != std::string::npos ||
                               one.type.find("Quant") != std::string::npos;
    if (!is_cast && !is_quantizing) return;
    // To the wider floats every number of a smaller type fits.
    const OperatorContent& content = (is_target ? t_ : g_).operators[static_cast<size_t>(op)];
    const auto to = content.attributes.find("to");
    const auto* code = to == content.attributes.end() ? nullptr : std::get_if<int64_t>(&to->second);
    constexpr int64_t kFloat = 1, kDouble = 11;
    const bool is_wide = is_cast && code != nullptr && (*code == kFloat || *code == kDouble);
    add_lonely(op, is_target, is_wide ? DiffGrade::kEquivalent : DiffGrade::kDifferent);
  }

  void add_lonely(int op, bool is_target, DiffGrade grade) {
    const Operator& one = is_target ? own(op) : other(op);
    Difference difference = difference_of(is_target ? pair_of(op, -1) : pair_of(-1, op),
                                          is_target ? DiffKind::kAdded : DiffKind::kMissing);
    difference.grade = grade;
    difference.detail = fmt::format("{}:{}", is_target ? "added" : "missing", one.type);
    difference.message = fmt::format("{} ({}) is only in {}", one.name, one.type,
                                     is_target ? "the target" : "golden");
    out_.differences.push_back(std::move(difference));
  }

  void name_unpaired(const Places& target, const Places& golden) {
    Places mine, theirs;
    for (const int op : target)
      if (golden_of(op) < 0 && !has_twin(t_, op, alignment_.golden_of)) mine.push_back(op);
    for (const int op : golden)
      if (target_of(op) < 0 && !has_twin(g_, op, alignment_.target_of)) theirs.push_back(op);
    if (mine.size() == 1 && theirs.size() == 1) {
      compare_pair(pair_of(mine[0], theirs[0]), options_, totals_, out_.differences);
      return;
    }
    take_common(mine, theirs);
    const auto is_fused = [&](const Places& places, bool is_target) {
      return std::any_of(places.begin(), places.end(), [&](int op) {
        return is_named_fused(is_target ? own(op).type : other(op).type);
      });
    };
    const bool both = !mine.empty() && !theirs.empty();
    if (both && (is_fused(target, true) || is_fused(golden, false))) {
      add_merged(mine, theirs, DiffGrade::kUnverified);
      return;
    }
    for (const int op : mine) add_lonely(op, true, grade_of(own(op), own_role(op), both));
    for (const int op : theirs) add_lonely(op, false, grade_of(other(op), golden_role(op), both));
  }

  // A reshape moves no value; a transposition that the other side has elsewhere was moved.
  static DiffGrade grade_of(const Operator& op, Role role, bool both) {
    if (role != Role::kMoves) return DiffGrade::kDifferent;
    if (op.type != "Transpose" && op.type != "Permute") return DiffGrade::kEquivalent;
    return both ? DiffGrade::kUnverified : DiffGrade::kDifferent;
  }

  // Operators of one type that nobody could tell apart: as many as both sides have are each
  // other's, in the order in which they run.
  void take_common(Places& mine, Places& theirs) {
    for (size_t i = 0; i < mine.size();) {
      const auto found = std::find_if(theirs.begin(), theirs.end(),
                                      [&](int op) { return other(op).type == own(mine[i]).type; });
      if (found == theirs.end()) {
        ++i;
        continue;
      }
      std::vector<Difference> differences;
      compare_pair(pair_of(mine[i], *found), options_, totals_, differences);
      for (Difference& each : differences) {
        each.grade = DiffGrade::kUnverified;  // perhaps it is another one's
        out_.differences.push_back(std::move(each));
      }
      mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(i));
      theirs.erase(found);
    }
  }

  // Another operator that computes the same has a counterpart: an optimiser computes it once.
  bool has_twin(const ModelContent& model, int op, const std::vector<int>& partner) {
    steps_left_ = kMostTwinSteps;
    for (int i = 0; i < static_cast<int>(model.operators.size()); ++i)
      if (partner[static_cast<size_t>(i)] >= 0 && computes_same(model, i, op, 0)) return true;
    return false;
  }

  bool computes_same(const ModelContent& model, int a, int b, int depth) {
    const Operator &one = model.graph.operators[static_cast<size_t>(a)],
                   &other = model.graph.operators[static_cast<size_t>(b)];
    const OperatorContent &own = model.operators[static_cast<size_t>(a)],
                          &theirs = model.operators[static_cast<size_t>(b)];
    if (a == b) return true;
    if (depth > kMostDepth || one.type != other.type || one.subgraph != other.subgraph ||
        own.attributes != theirs.attributes || own.operands.empty() || --steps_left_ < 0)
      return false;
    return std::equal(
        own.operands.begin(), own.operands.end(), theirs.operands.begin(), theirs.operands.end(),
        [&](const Operand& x, const Operand& y) {
          if (x.constant && y.constant) return x.constant->is_same_data(*y.constant);
          if (x.name == y.name || x.constant || y.constant) return x.name == y.name;
          const int from = producer_of(model, x.name), other_from = producer_of(model, y.name);
          return from >= 0 && other_from >= 0 && computes_same(model, from, other_from, depth + 1);
        });
  }

  // Of a tensor that is the first output of an operator; -1: of none.
  int producer_of(const ModelContent& model, const std::string& tensor) {
    auto& producers = &model == &t_ ? own_producers_ : golden_producers_;
    if (producers.empty())
      for (size_t i = 0; i < model.graph.operators.size(); ++i)
        if (const auto& outputs = model.graph.operators[i].outputs; !outputs.empty())
          producers.try_emplace(outputs[0].name, static_cast<int>(i));
    const auto found = producers.find(tensor);
    return found == producers.end() ? -1 : found->second;
  }

  void add_rewired(const ModelAlignment::Rewired& rewired) {
    Difference difference =
        difference_of(pair_of(rewired.target, rewired.golden), DiffKind::kWiring);
    difference.what = fmt::format("input:{}", rewired.input);
    difference.detail = fmt::format("input:{}", rewired.input);
    difference.message = fmt::format("{} ({}) reads another tensor as input {}", difference.golden,
                                     difference.golden_type, rewired.input);
    out_.differences.push_back(std::move(difference));
  }

  // ---- totals and order

  void count() {
    out_.attributes = totals_.attributes;
    out_.constants = totals_.constants;
    out_.not_compared = totals_.not_compared;
    std::set<int> target, golden;
    for (const auto& region : alignment_.regions) {
      target.insert(region.target.begin(), region.target.end());
      golden.insert(region.golden.begin(), region.golden.end());
    }
    const auto fill = [](ModelDiff::Side& side, const std::vector<int>& partner,
                         const std::set<int>& in_regions) {
      side.operators = partner.size();
      for (int op = 0; op < static_cast<int>(partner.size()); ++op)
        ++(in_regions.contains(op)                 ? side.in_regions
           : partner[static_cast<size_t>(op)] >= 0 ? side.paired
                                                   : side.idle);
    };
    fill(out_.target, alignment_.golden_of, target);
    fill(out_.golden, alignment_.target_of, golden);
  }

  void sort() {
    const auto weight = [](const Difference& each) {
      if (each.numbers) return each.numbers->relative_norm;
      return std::numeric_limits<double>::infinity();
    };
    std::stable_sort(out_.differences.begin(), out_.differences.end(),
                     [&](const Difference& a, const Difference& b) {
                       if (a.grade != b.grade) return a.grade < b.grade;
                       return weight(a) > weight(b);
                     });
  }

  const ModelContent &t_, &g_;
  const ModelAlignment& alignment_;
  const DiffOptions& options_;
  ModelDiff& out_;
  PairTotals totals_;
  std::unordered_map<std::string_view, int> own_producers_, golden_producers_;
  int steps_left_ = 0;  // comparisons that one search for a twin may still make
};

}  // namespace

std::string_view name_of(DiffKind kind) { return kKinds[static_cast<size_t>(kind)]; }
std::string_view name_of(DiffGrade grade) { return kGrades[static_cast<size_t>(grade)]; }

size_t ModelDiff::count(DiffGrade grade) const {
  return static_cast<size_t>(
      std::count_if(differences.begin(), differences.end(),
                    [&](const Difference& each) { return each.grade == grade; }));
}

ModelDiff diff_models(const ModelContent& target, const ModelContent& golden,
                      const ModelAlignment& alignment, const DiffOptions& options) {
  ModelDiff diff;
  Differ(target, golden, alignment, options, diff).run();
  return diff;
}

}  // namespace plumb::graph
