// SPDX-License-Identifier: Apache-2.0
#include "pair/structure.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "pair/matcher.h"
#include "pair/names.h"

namespace plumb::pair {
namespace {

using graph::Edge;
using graph::Graph;
using graph::Operator;

constexpr int kNone = -1;
// Paddings in a row that are followed: more are a circle in a damaged graph.
constexpr size_t kMostPrefixes = 8;
// Operators in a row that only hand values on.
constexpr int kMostHands = 4;

// One word for what frameworks and compilers call differently.
std::string kind_of_type(std::string_view type) {
  static const std::unordered_map<std::string_view, std::string_view> kinds = {
      {"Conv2D", "conv"},
      {"Convolution", "conv"},
      {"Conv", "conv"},
      {"DepthwiseConv2D", "conv"},
      {"DepthwiseConv2dNative", "conv"},
      {"QLinearConv", "conv"},
      {"BatchNorm", "bn"},
      {"BatchNormalization", "bn"},
      {"BNInference", "bn"},
      {"BNInferenceD", "bn"},
      {"BatchNormExt2", "bn"},
      {"FusedBatchNorm", "bn"},
      {"Scale", "scale"},
      {"ReLU", "relu"},
      {"Relu", "relu"},
      {"Relu6", "relu6"},
      {"ReLU6", "relu6"},
      {"Clip", "clip"},
      {"ClipByValue", "clip"},
      {"LeakyRelu", "leakyrelu"},
      {"LeakyReLU", "leakyrelu"},
      {"PReLU", "prelu"},
      {"PRelu", "prelu"},
      {"Sigmoid", "sigmoid"},
      {"Tanh", "tanh"},
      {"TanH", "tanh"},
      {"Pooling", "pool"},
      {"MaxPool", "pool"},
      {"MaxPoolV3", "pool"},
      {"AvgPool", "pool"},
      {"AvgPoolV2", "pool"},
      {"AveragePool", "pool"},
      {"GlobalAveragePool", "pool"},
      {"GlobalAvgPool", "pool"},
      {"ReduceMeanD", "pool"},
      {"ReduceMean", "pool"},
      {"InnerProduct", "fc"},
      {"FullyConnection", "fc"},
      {"Gemm", "fc"},
      {"MatMul", "fc"},
      {"MatMulV2", "fc"},
      {"BatchMatMul", "fc"},
      {"BatchMatMulV2", "fc"},
      {"Softmax", "softmax"},
      {"SoftmaxV2", "softmax"},
      {"LogSoftmax", "logsoftmax"},
      {"LogSoftmaxV2", "logsoftmax"},
      {"Concat", "concat"},
      {"ConcatD", "concat"},
      {"ConcatV2", "concat"},
      {"ConcatV2D", "concat"},
      {"Split", "split"},
      {"SplitD", "split"},
      {"SplitV", "split"},
      {"SplitVD", "split"},
      {"Slice", "slice"},
      {"SliceD", "slice"},
      {"StridedSlice", "slice"},
      {"StridedSliceD", "slice"},
      {"Pad", "pad"},
      {"PadD", "pad"},
      {"PadV3", "pad"},
      {"PadV3D", "pad"},
      {"ZeroPad2D", "pad"},
      {"Eltwise", "add"},
      {"Add", "add"},
      {"AddV2", "add"},
      {"BiasAdd", "biasadd"},
      {"Bias", "biasadd"},
      {"Mul", "mul"},
      {"Multiply", "mul"},
      {"Reshape", "reshape"},
      {"Flatten", "reshape"},
      {"FlattenV2", "reshape"},
      {"Squeeze", "reshape"},
      {"Unsqueeze", "reshape"},
      {"Transpose", "transpose"},
      {"TransposeD", "transpose"},
      {"Permute", "transpose"},
      {"Dropout", "identity"},
      {"Identity", "identity"},
      {"Data", "data"},
      {"Input", "data"},
      {"Placeholder", "data"},
      {"AippData", "data"},
      {"Upsample", "resize"},
      {"Resize", "resize"},
      {"ResizeNearestNeighborV2", "resize"},
      {"ResizeBilinearV2", "resize"}};
  if (const auto found = kinds.find(type); found != kinds.end()) return std::string(found->second);
  std::string kind(type);
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kind;
}

// Converters fold these into the operator behind them, everything else into the one before.
bool is_prefix(const std::string& kind) { return kind == "pad"; }
// These change no value, or only its precision.
bool may_hand_on(std::string_view kind) {
  return kind == "identity" || kind == "reshape" || kind == "quantizelinear" ||
         kind == "dequantizelinear";
}
bool is_constant(const Operator& op) { return op.type == "Const" || op.type == "Constant"; }
// Converters may swap the inputs of these.
bool commutes(const std::string& kind) { return kind == "add" || kind == "mul"; }

struct Ref {
  int op = kNone;
  int64_t output = 0;
  bool operator==(const Ref&) const = default;
};

// A graph by numbers: who feeds whom, without constants and without what only hands values on.
struct Net {
  explicit Net(const Graph& graph) : operators(graph.operators) {
    const auto count = operators.size();
    inputs.resize(count);
    reads_unknown.resize(count);
    readers.resize(count);
    kinds.reserve(count);
    std::unordered_map<std::string_view, int> number;
    for (size_t i = 0; i < count; ++i) {
      number.try_emplace(operators[i].name, static_cast<int>(i));
      kinds.push_back(kind_of_type(operators[i].type));
    }
    const auto source = [&](const Edge& edge) {
      Ref ref;
      const Edge* at = &edge;
      for (size_t steps = 0; steps <= count; ++steps) {
        const auto found = number.find(at->producer);
        if (found == number.end()) return Ref{};
        ref = {found->second, at->output};
        const Operator& op = operators[static_cast<size_t>(ref.op)];
        if (!keeps_values(op.type) || op.inputs.empty()) return ref;
        at = &op.inputs.front();
      }
      return Ref{};
    };
    for (size_t i = 0; i < count; ++i) {
      if (keeps_values(operators[i].type)) continue;
      for (const Edge& edge : operators[i].inputs) {
        const Ref ref = source(edge);
        if (ref.op == kNone) reads_unknown[i] = true;
        if (ref.op == kNone || is_constant(at(ref.op))) continue;
        inputs[i].push_back(ref);
        readers[static_cast<size_t>(ref.op)].emplace_back(static_cast<int>(i), ref.output);
      }
    }
    for (const Edge& edge : graph.outputs)
      if (const Ref ref = source(edge); ref.op != kNone) given_out.push_back(ref);
    sort();
  }

  const Operator& at(int op) const { return operators[static_cast<size_t>(op)]; }
  const std::string& kind(int op) const { return kinds[static_cast<size_t>(op)]; }
  const std::vector<Ref>& in(int op) const { return inputs[static_cast<size_t>(op)]; }
  std::vector<int> read_by(const Ref& tensor) const {
    std::vector<int> found;
    for (const auto& [reader, output] : readers[static_cast<size_t>(tensor.op)])
      if (output == tensor.output && (found.empty() || found.back() != reader))
        found.push_back(reader);
    return found;
  }
  bool is_output(const Ref& tensor) const {
    return std::find(given_out.begin(), given_out.end(), tensor) != given_out.end();
  }

  const std::vector<Operator>& operators;
  std::vector<std::string> kinds;
  std::vector<std::vector<Ref>> inputs;
  std::vector<bool> reads_unknown;  // an edge leads to no operator of the graph
  std::vector<std::vector<std::pair<int, int64_t>>> readers;  // of any output: who, which output
  std::vector<Ref> given_out;
  std::vector<int> order;  // every operator after those that feed it; those on a cycle are missing

 private:
  void sort() {
    std::vector<size_t> waiting(operators.size());
    std::deque<int> ready;
    for (size_t i = 0; i < operators.size(); ++i)
      if ((waiting[i] = inputs[i].size()) == 0) ready.push_back(static_cast<int>(i));
    for (; !ready.empty(); ready.pop_front()) {
      order.push_back(ready.front());
      for (const auto& [reader, output] : readers[static_cast<size_t>(ready.front())])
        if (--waiting[static_cast<size_t>(reader)] == 0) ready.push_back(reader);
    }
  }
};

class Aligner {
 public:
  Aligner(const Net& target, const Net& original)
      : t_(target),
        g_(original),
        anchor_(target.operators.size(), kNone),
        anchored_(original.operators.size(), kNone),
        parts_(target.operators.size()),
        given_(target.operators.size()),
        handed_on_(target.operators.size()),
        claimed_(original.operators.size(), kNone) {
    find_anchors();
    match_inputs();
  }

  void run() {
    for (bool changes = true; changes;) {
      changes = false;
      for (int op : t_.order) changes |= forward(op);
      for (auto op = t_.order.rbegin(); op != t_.order.rend(); ++op) changes |= backward(*op);
    }
  }

  const std::vector<int>& parts(int op) const { return parts_[static_cast<size_t>(op)]; }
  Ref given(int op) const { return given_[static_cast<size_t>(op)]; }
  bool is_anchored(int op) const { return anchor_[static_cast<size_t>(op)] != kNone; }
  bool hands_on(int op) const { return handed_on_[static_cast<size_t>(op)]; }

 private:
  bool is_done(int op) const { return !parts(op).empty() || hands_on(op); }

  // The same name and the same kind. A fused operator may have the name of its first part.
  void find_anchors() {
    Names names;
    std::unordered_map<std::string_view, int> number;
    for (size_t i = 0; i < g_.operators.size(); ++i) {
      names.add(g_.operators[i].name);
      number.try_emplace(g_.operators[i].name, static_cast<int>(i));
    }
    for (size_t i = 0; i < t_.operators.size(); ++i) {
      const auto found = names.find(t_.operators[i].name);
      if (found.name.empty()) continue;
      const int g = number.at(found.name);
      if (t_.kinds[i] != g_.kind(g) || anchored_[static_cast<size_t>(g)] != kNone) continue;
      anchor_[i] = g;
      anchored_[static_cast<size_t>(g)] = static_cast<int>(i);
    }
  }

  // By name, else by position.
  void match_inputs() {
    std::vector<int> target, original;
    for (size_t i = 0; i < t_.operators.size(); ++i)
      if (t_.kinds[i] == "data" && anchor_[i] == kNone) target.push_back(static_cast<int>(i));
    for (size_t i = 0; i < g_.operators.size(); ++i)
      if (g_.kinds[i] == "data" && anchored_[i] == kNone) original.push_back(static_cast<int>(i));
    if (target.size() != original.size()) return;
    for (size_t i = 0; i < target.size(); ++i) claim(target[i], original[i]);
  }

  void claim(int op, int g) {
    parts_[static_cast<size_t>(op)].push_back(g);
    claimed_[static_cast<size_t>(g)] = op;
    given_[static_cast<size_t>(op)] = {g, 0};
  }
  bool is_free(int g, int op) const {
    const int by_name = anchored_[static_cast<size_t>(g)];
    return claimed_[static_cast<size_t>(g)] == kNone && (by_name == kNone || by_name == op);
  }

  // The original tensor that an input of the target stands for; no operator if it is not known.
  Ref original_of(const Ref& tensor) const {
    if (tensor.op == kNone || !is_done(tensor.op)) return {};
    const Ref given_tensor = given(tensor.op);
    return tensor.output == 0 ? given_tensor : Ref{given_tensor.op, tensor.output};
  }

  // The operator behind a padding, if that is what `g` is; else `g` itself.
  int behind_prefix(int g) const {
    for (size_t steps = 0; steps < kMostPrefixes; ++steps) {
      if (!is_prefix(g_.kind(g))) return g;
      const auto readers = g_.read_by({g, 0});
      if (readers.size() != 1) return kNone;
      g = readers.front();
    }
    return kNone;
  }

  bool forward(int op) {
    if (is_done(op) || keeps_values(t_.at(op).type) || t_.kind(op) == "netoutput") return false;
    int main = anchor_[static_cast<size_t>(op)];
    if (main == kNone) main = only_candidate(op);
    if (main == kNone) return hand_on(op);
    if (!is_free(main, op)) return false;
    take(op, main);
    return true;
  }

  // What changes no value (a dropout, a reshape) or only its precision needs no counterpart: if the
  // original has none there, readers of the operator read what the original's readers do. The same
  // goes for what was made from constants alone.
  bool hand_on(int op) {
    const std::string& kind = t_.kind(op);
    if (!may_hand_on(kind) || t_.reads_unknown[static_cast<size_t>(op)]) return false;
    Ref source;
    for (const Ref& input : t_.in(op)) {
      if (is_made_from_constants(input.op)) continue;
      if (source.op != kNone) return false;
      source = original_of(input);
      if (source.op == kNone) return false;
    }
    if (source.op != kNone)
      for (int reader : g_.read_by(source))
        if (const int g = behind_prefix(reader); g != kNone && g_.kind(g) == kind) return false;
    given_[static_cast<size_t>(op)] = source;
    return handed_on_[static_cast<size_t>(op)] = true;
  }

  bool is_made_from_constants(int op) const { return hands_on(op) && given(op).op == kNone; }

  // Among the readers of what the operator reads, the only one of its kind; by shape if need be.
  int only_candidate(int op) const {
    std::vector<Ref> inputs = t_.in(op);
    std::erase_if(inputs, [&](const Ref& input) { return is_made_from_constants(input.op); });
    if (inputs.empty()) return kNone;
    std::vector<Ref> known;
    for (const Ref& input : inputs)
      if (const Ref ref = original_of(input); ref.op != kNone) known.push_back(ref);
    if (known.size() != inputs.size()) return kNone;
    std::vector<int> found;
    for (int reader : g_.read_by(known.front())) {
      const int g = behind_prefix(reader);
      if (g == kNone || !is_free(g, op) || g_.kind(g) != t_.kind(op)) continue;
      const bool reads_all = std::all_of(known.begin(), known.end(), [&](const Ref& ref) {
        const auto readers = g_.read_by(ref);
        return std::any_of(readers.begin(), readers.end(),
                           [&](int other) { return behind_prefix(other) == g; }) ||
               g_.in(g).size() < known.size();
      });
      if (reads_all && std::find(found.begin(), found.end(), g) == found.end()) found.push_back(g);
    }
    // Siblings in the target that read the same and are of the same kind could be any of them.
    size_t siblings = 0;
    for (int reader : t_.read_by(inputs.front()))
      siblings += t_.kind(reader) == t_.kind(op) && !is_done(reader) &&
                  anchor_[static_cast<size_t>(reader)] == kNone;
    if (found.size() > 1 || siblings > 1) keep_same_shape(op, found);
    return found.size() == 1 ? found.front() : kNone;
  }

  // Those whose output has the operator's shape, if that shape is the operator's alone.
  void keep_same_shape(int op, std::vector<int>& found) const {
    const auto shape_of = [](const Operator& o) {
      return o.outputs.empty()                ? std::nullopt
             : o.outputs.front().origin_shape ? o.outputs.front().origin_shape
                                              : o.outputs.front().shape;
    };
    const auto own = shape_of(t_.at(op));
    for (int reader : t_.read_by(t_.in(op).front()))
      if (reader != op && t_.kind(reader) == t_.kind(op) && shape_of(t_.at(reader)) == own)
        return found.clear();
    std::erase_if(found, [&](int g) { return !own || shape_of(g_.at(g)) != own; });
  }

  void take(int op, int main) {
    std::vector<int> prefix;
    for (int g = main; g_.in(g).size() == 1 && prefix.size() < kMostPrefixes;) {
      g = g_.in(g).front().op;
      if (g == main) break;
      if (!is_prefix(g_.kind(g)) || !is_free(g, op) || g_.read_by({g, 0}).size() != 1) break;
      prefix.push_back(g);
    }
    for (auto g = prefix.rbegin(); g != prefix.rend(); ++g) claim(op, *g);
    claim(op, main);
    extend(op);
  }

  // Takes what follows and has no operator of its own in the target.
  void extend(int op) {
    for (Ref& end = given_[static_cast<size_t>(op)]; t_.at(op).outputs.size() <= 1;) {
      const auto readers = g_.read_by(end);
      if (readers.size() != 1 || g_.is_output(end)) return;
      const int next = readers.front();
      if (!is_free(next, kNone) || is_prefix(g_.kind(next)) || has_own(op, next) ||
          !reads_only(op, next))
        return;
      claim(op, next);
    }
  }

  // True if a reader of the operator in the target, or of what hands its values on, may be this
  // operator of the original.
  bool has_own(int op, int g, int depth = 0) const {
    const auto readers = t_.read_by({op, 0});
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      const int by_name = anchor_[static_cast<size_t>(reader)];
      return by_name == g || (by_name == kNone && t_.kind(reader) == g_.kind(g)) ||
             (depth < kMostHands && by_name == kNone && may_hand_on(t_.kind(reader)) &&
              has_own(reader, g, depth + 1));
    });
  }

  // True if all that `g` reads is a part of the operator or one of its inputs.
  bool reads_only(int op, int g) const {
    return std::all_of(g_.in(g).begin(), g_.in(g).end(), [&](const Ref& input) {
      if (claimed_[static_cast<size_t>(input.op)] == op) return true;
      return std::any_of(t_.in(op).begin(), t_.in(op).end(),
                         [&](const Ref& own) { return original_of(own) == input; });
    });
  }

  // From an operator that is known to those that feed it, by the position of the input.
  bool backward(int op) {
    if (parts(op).empty()) return false;
    const int first = parts(op).front();
    const auto &own = t_.in(op), &theirs = g_.in(first);
    if (own.size() != theirs.size()) return false;
    bool changes = false;
    for (size_t k = 0; k < own.size(); ++k) {
      const Ref& input = own[k];
      if (is_done(input.op) || input.output != 0) continue;
      const auto same_kind = [&](const Ref& other) {
        return t_.kind(other.op) == t_.kind(input.op);
      };
      if (commutes(t_.kind(op)) && std::count_if(own.begin(), own.end(), same_kind) > 1) continue;
      changes |= take_back(input.op, theirs[k]);
    }
    return changes;
  }

  // The operator gives out `end`; its main part is the nearest of its kind before that.
  bool take_back(int op, const Ref& end) {
    std::vector<int> path;
    for (int g = end.op;;) {
      if (!is_free(g, op)) return false;
      path.push_back(g);
      if (g_.kind(g) == t_.kind(op)) break;
      if (g_.in(g).empty() || path.size() > 8) return false;
      g = g_.in(g).front().op;
      if (g_.read_by({g, 0}).size() != 1) return false;
    }
    const int by_name = anchor_[static_cast<size_t>(op)];
    if (by_name != kNone && by_name != path.back()) return false;
    take(op, path.back());
    return true;
  }

  const Net& t_;
  const Net& g_;
  std::vector<int> anchor_;              // by target operator: the original one of its name
  std::vector<int> anchored_;            // the other way round
  std::vector<std::vector<int>> parts_;  // by target operator: what it was made from, in order
  std::vector<Ref> given_;               // ... and the original tensor it gives out
  std::vector<bool> handed_on_;          // ... which is what it reads: it was made from nothing
  std::vector<int> claimed_;             // by original operator: where it went
};

// Caffe normalises in two steps, others in one: where the original has the one, the second step is
// what it stands for, and the first only leads there.
void join_normalisations(Net& target, const Net& original) {
  if (std::find(original.kinds.begin(), original.kinds.end(), "scale") != original.kinds.end())
    return;
  for (size_t i = 0; i < target.kinds.size(); ++i) {
    if (target.kinds[i] != "bn") continue;
    const auto readers = target.read_by({static_cast<int>(i), 0});
    if (readers.size() != 1 || target.kind(readers.front()) != "scale") continue;
    target.kinds[i] = "identity";
    target.kinds[static_cast<size_t>(readers.front())] = "bn";
  }
}

}  // namespace

Graph with_origins(Graph target, const Graph& original) {
  Net t(target);
  const Net g(original);
  join_normalisations(t, g);
  Aligner aligner(t, g);
  aligner.run();
  const auto originals = original.by_name();
  for (size_t i = 0; i < target.operators.size(); ++i) {
    Operator& op = target.operators[i];
    const int number = static_cast<int>(i);
    // A cast or a constant may be the original's own; others are the compiler's.
    if (const auto same = originals.find(op.name); (keeps_values(op.type) || is_constant(op)) &&
                                                   same != originals.end() &&
                                                   same->second->type == op.type) {
      op.origins.emplace({op.name});
      if (op.outputs.empty()) op.outputs.emplace_back();
      op.outputs.front().origin = op.name;
      op.outputs.front().evidence = fmt::format("{0} has the name and kind of {0}", op.name);
      continue;
    }
    if (keeps_values(op.type) || is_constant(op) || op.type == "NetOutput" ||
        aligner.hands_on(number)) {
      op.origins.emplace();
      continue;
    }
    const auto& parts = aligner.parts(number);
    if (parts.empty()) {
      op.doubt = fmt::format("neither name nor structure tells what {} was made from", op.name);
      continue;
    }
    op.origins.emplace();
    for (int part : parts) op.origins->push_back(g.at(part).name);
    if (op.outputs.empty()) op.outputs.emplace_back();
    const Ref end = aligner.given(number);
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      op.outputs[k].origin = g.at(end.op).name;
      op.outputs[k].origin_output = static_cast<int64_t>(k);
      op.outputs[k].evidence = fmt::format(
          "{} {} {}", op.name,
          aligner.is_anchored(number) ? "has the name and kind of" : "stands where there is",
          fmt::format("{}", g.at(parts.front()).name));
    }
  }
  return target;
}

}  // namespace plumb::pair
