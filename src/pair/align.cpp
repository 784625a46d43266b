// SPDX-License-Identifier: Apache-2.0
#include "pair/align.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "pair/names.h"
#include "pair/operator_kinds.h"

namespace plumb::pair {
namespace {

constexpr size_t kFewElements = 8;         // a constant of so few may be anywhere
constexpr size_t kMostCells = 16'000'000;  // of all tables that align two sequences
constexpr int kMostRounds = 32;

template <class Key>
struct LookAlikes {  // operators of both sides that look alike
  std::map<Key, std::pair<std::vector<int>, std::vector<int>>> groups;
  void add(const Key& key, bool is_target, int op) {
    auto& group = groups[key];
    (is_target ? group.first : group.second).push_back(op);
  }
  template <class Use>
  void each_only(Use use) const {
    for (const auto& [key, group] : groups)
      if (group.first.size() == 1 && group.second.size() == 1)
        use(group.first.front(), group.second.front());
  }
};

class Aligner {
 public:
  Aligner(const Net& target, const Net& golden, const SameTensors& told)
      : t_(target), g_(golden), told_(told) {
    found_.golden_of.assign(at(t_.size()), kNone);
    found_.target_of.assign(at(g_.size()), kNone);
    found_.proof.assign(at(t_.size()), Proof::kNothing);
  }

  Aligned run() {
    pair_model_inputs();
    pair_model_outputs();
    pair_told();
    pair_constants();
    follow(&Net::main);
    const bool names_tell = names_are_believed();
    if (names_tell) {
      pair_names([](const Net& net, int op) { return net.is_main(op); });
      follow(&Net::main);
    }
    for (int round = 0; round < kMostRounds; ++round) {
      if (!pair_sequences()) break;
      follow(&Net::main);
    }
    undo_cycles();
    follow(&Net::plain);
    if (names_tell) pair_names([](const Net&, int) { return true; });
    pair_constant_operators();
    return std::move(found_);
  }

 private:
  int golden(int op) const { return found_.golden(op); }
  int target(int op) const { return found_.target(op); }
  bool is_free(const Net& net, int op) const {
    return (&net == &t_ ? golden(op) : target(op)) == kNone;
  }
  void pair(int t, int g, Proof proof) {
    found_.golden_of[at(t)] = g;
    found_.target_of[at(g)] = t;
    found_.proof[at(t)] = proof;
  }
  void part(int t) {
    found_.target_of[at(golden(t))] = kNone;
    found_.golden_of[at(t)] = kNone;
    found_.proof[at(t)] = Proof::kNothing;
  }

  // 1: they agree; -1: they do not; 0: that says nothing.
  int shapes_speak(int t, int g) const {
    if (!t_.shape(t) || !g_.shape(g)) return 0;
    if (t_.block(t) != g_.block(g)) {
      const Shapes shapes = shapes_of(t_, {t, 0}, g_, {g, 0});
      return shapes == Shapes::kSame ? 1 : shapes == Shapes::kOther ? -1 : 0;
    }
    if (*t_.shape(t) == *g_.shape(g)) return 1;
    const bool is_turned = *t_.sizes(t) == *g_.sizes(g) && !moves(t_.kind(t));
    return is_turned || !t_.is_exact || !g_.is_exact ? 0 : -1;
  }
  bool may_pair(int t, int g) const { return t_.kind(t) == g_.kind(g) && may_be(t, g); }
  // ... or one is an Eltwise, which may be any of what commutes.
  bool may_be(int t, int g) const {
    const std::string &own = t_.kind(t), &other = g_.kind(g);
    const bool are_many = t_.main.in(t).size() > 1 && g_.main.in(g).size() > 1;  // no constants
    return (own == other || (are_many && is_eltwise(own, other))) && is_free(t_, t) &&
           is_free(g_, g) && shapes_speak(t, g) >= 0;
  }
  static bool is_eltwise(const std::string& a, const std::string& b) {
    return (a == "eltwise" && commutes(b)) || (b == "eltwise" && commutes(a));
  }

  // By name, else by place.
  void pair_model_inputs() {
    std::vector<int> own, theirs;
    std::unordered_map<std::string, int> by_name;
    for (int g = 0; g < g_.size(); ++g)
      if (g_.kind(g) == "data") by_name.emplace(normalised(g_.at(g).name), g);
    for (int t = 0; t < t_.size(); ++t) {
      if (t_.kind(t) != "data") continue;
      const auto same = by_name.find(normalised(t_.at(t).name));
      if (same != by_name.end() && may_pair(t, same->second))
        pair(t, same->second, Proof::kInput);
      else
        own.push_back(t);
    }
    for (int g = 0; g < g_.size(); ++g)
      if (g_.kind(g) == "data" && is_free(g_, g)) theirs.push_back(g);
    if (own.size() != theirs.size()) return;
    for (size_t i = 0; i < own.size(); ++i) pair(own[i], theirs[i], Proof::kInput);
  }

  // By the name of the tensor, else by place among those that are left.
  void pair_model_outputs() {
    const auto name = [](const Net& net, size_t i) -> std::string_view {
      const Ref& ref = net.plain.outputs[i];
      const auto& outputs = net.at(ref.op).outputs;
      if (ref.output < 0 || ref.output >= std::ssize(outputs)) return {};
      return outputs[static_cast<size_t>(ref.output)].name;
    };
    std::vector<size_t> own, theirs;
    std::unordered_map<std::string_view, size_t> by_name;
    std::set<size_t> taken;
    for (size_t i = 0; i < g_.plain.outputs.size(); ++i)
      if (!name(g_, i).empty()) by_name.emplace(name(g_, i), i);
    for (size_t i = 0; i < t_.plain.outputs.size(); ++i) {
      const auto same = by_name.find(name(t_, i));
      if (same == by_name.end() || !taken.insert(same->second).second)
        own.push_back(i);
      else
        pair_outputs(i, same->second);
    }
    for (size_t i = 0; i < g_.plain.outputs.size(); ++i)
      if (!taken.contains(i)) theirs.push_back(i);
    if (own.size() != theirs.size()) return;
    for (size_t i = 0; i < own.size(); ++i) pair_outputs(own[i], theirs[i]);
  }
  void pair_outputs(size_t own, size_t theirs) {
    found_.outputs.emplace_back(t_.plain.outputs[own], g_.plain.outputs[theirs]);
    found_.sources.emplace_back(t_.main.outputs[own], g_.main.outputs[theirs]);
  }

  // Who gives the same tensor, and is of one kind.
  void pair_told() {
    for (const auto& [own, theirs] : told_)
      if (t_.is_main(own.op) && g_.is_main(theirs.op) && own.output == theirs.output &&
          may_pair(own.op, theirs.op))
        pair(own.op, theirs.op, Proof::kInput);
  }

  // Weights that each model has in one place only.
  void pair_constants() {
    LookAlikes<std::pair<std::string, uint64_t>> alike;
    for (const Net* net : {&t_, &g_})
      for (int op = 0; op < net->size(); ++op) {
        if (!net->is_main(op)) continue;
        std::set<uint64_t> prints;
        for (const graph::Constant& constant : net->constants(op))
          if (constant.elements >= static_cast<int64_t>(kFewElements))
            prints.insert(constant.print);
        for (const uint64_t print : prints) alike.add({net->kind(op), print}, net == &t_, op);
      }
    std::map<int, std::set<int>> votes;  // constants of one operator need not agree
    alike.each_only([&](int t, int g) { votes[t].insert(g); });
    for (const auto& [t, goldens] : votes)
      if (goldens.size() == 1 && may_pair(t, *goldens.begin()))
        pair(t, *goldens.begin(), Proof::kConstants);
  }

  // Along the edges until nothing is left that has no choice.
  void follow(Edges Net::*edges) {
    const bool is_main = edges == &Net::main;
    const auto concerns = [&](int op) {
      return is_free(t_, op) && t_.is_counted(op) && t_.is_main(op) == is_main;
    };
    for (bool changes = true; changes;) {
      changes = false;
      for (const int op : t_.order)
        if (concerns(op)) changes |= forward(edges, op);
      for (auto op = t_.order.rbegin(); op != t_.order.rend(); ++op)
        if (concerns(*op)) changes |= backward(edges, *op);
    }
  }

  // What is read, in an order that says all that the order of inputs means.
  static std::vector<Ref> reads(const Net& net, const Edges& edges, int op) {
    std::vector<Ref> inputs = edges.in(op);
    if (commutes(net.kind(op))) std::sort(inputs.begin(), inputs.end());
    return inputs;
  }

  bool forward(Edges Net::*edges, int op) {
    const Edges &own_edges = t_.*edges, &their_edges = g_.*edges;
    const std::vector<Ref> own_inputs = reads(t_, own_edges, op);
    if (own_inputs.empty()) return false;
    std::vector<Ref> inputs;
    for (const Ref& input : own_inputs) {
      if (golden(input.op) == kNone) return false;
      inputs.push_back({golden(input.op), input.output});
    }
    const Ref first = inputs.front();
    if (commutes(t_.kind(op))) std::sort(inputs.begin(), inputs.end());
    // Where there is an Eltwise, all that commutes may be it.
    bool is_loose = t_.kind(op) == "eltwise";
    const auto readers = [&](const Net& net, const Edges& all, const Ref& tensor,
                             const std::vector<Ref>& wanted) {
      std::vector<int> found;
      for (const int reader : all.readers_of(tensor)) {
        const std::string& kind = net.kind(reader);
        const bool fits =
            kind == t_.kind(op) || (is_loose && commutes(kind)) || is_eltwise(kind, t_.kind(op));
        if (fits && is_free(net, reader) && reads(net, all, reader) == wanted)
          found.push_back(reader);
      }
      return found;
    };
    std::vector<int> theirs = readers(g_, their_edges, first, inputs);
    is_loose = is_loose || std::any_of(theirs.begin(), theirs.end(),
                                       [&](int reader) { return g_.kind(reader) == "eltwise"; });
    const std::vector<int> own = readers(t_, own_edges, own_inputs.front(), own_inputs);
    if (is_loose) theirs = readers(g_, their_edges, first, inputs);
    // One of them is made of several on the other side, and which one nothing tells.
    if (is_loose && own.size() != theirs.size()) return false;
    return pair_only(own, theirs, edges);
  }

  // Operators of one kind that all read the same.
  bool pair_only(const std::vector<int>& own, const std::vector<int>& theirs, Edges Net::*edges) {
    if (own.empty() || theirs.empty()) return false;
    if (own.size() == 1 && theirs.size() == 1) {
      if (!may_be(own.front(), theirs.front())) return false;
      pair(own.front(), theirs.front(), Proof::kEdges);
      return true;
    }
    const auto told_apart = [&](const auto& key_of) {
      LookAlikes<decltype(key_of(t_, 0))> alike;
      for (const int op : own) alike.add(key_of(t_, op), true, op);
      for (const int op : theirs) alike.add(key_of(g_, op), false, op);
      bool changes = false;
      alike.each_only([&](int t, int g) {
        if (!may_be(t, g)) return;
        pair(t, g, Proof::kEdges);
        changes = true;
      });
      return changes;
    };
    const auto constants = [](const Net& net, int op) {
      std::vector<uint64_t> prints;
      for (const graph::Constant& constant : net.constants(op)) prints.push_back(constant.print);
      return prints;
    };
    const auto shape = [](const Net& net, int op) { return net.shape(op).value_or(Shape{-1}); };
    const auto readers = [&](const Net& net, int op) {
      std::vector<std::string> kinds;
      for (const auto& [reader, output] : (net.*edges).readers[at(op)])
        kinds.push_back(net.kind(reader));
      std::sort(kinds.begin(), kinds.end());
      return kinds;
    };
    const auto variant = [](const Net& net, int op) { return variant_of(net, op); };
    return told_apart(variant) || told_apart(constants) || told_apart(shape) || told_apart(readers);
  }

  // The golden operators at whose place those stand that read the operator.
  std::set<Ref> read_alike(Edges Net::*edges, int op) const {
    std::set<Ref> alike;
    for (const auto& [reader, output] : (t_.*edges).readers[at(op)])
      if (golden(reader) != kNone)
        for (const auto& [own, theirs] : inputs_of_pair(found_, t_, g_, edges, reader))
          if (own.op == op && own.output == theirs.output) alike.insert(theirs);
    for (const auto& [own, theirs] : edges == &Net::main ? found_.sources : found_.outputs)
      if (own.op == op && own.output == theirs.output) alike.insert(theirs);
    return alike;
  }

  bool backward(Edges Net::*edges, int op) {
    std::set<int> ops;
    for (const Ref& ref : read_alike(edges, op)) ops.insert(ref.op);
    if (ops.size() != 1 || !may_be(op, *ops.begin())) return false;
    // Nobody who reads that one may say that it is another.
    for (const auto& [reader, output] : (g_.*edges).readers[at(*ops.begin())])
      if (target(reader) != kNone)
        for (const auto& [own, theirs] : inputs_of_pair(found_, t_, g_, edges, target(reader)))
          if (theirs.op == *ops.begin() && own.op != op) return false;
    pair(op, *ops.begin(), Proof::kEdges);
    return true;
  }

  // Names that belong together, of operators of one kind.
  std::vector<std::pair<int, int>> namesakes() const {
    LookAlikes<std::pair<std::string, std::string>> alike;
    for (const Net* net : {&t_, &g_})
      for (int op = 0; op < net->size(); ++op)
        if (net->kind(op) != "netoutput" && net->kind(op) != "data")
          alike.add(
              {commutes(net->kind(op)) ? "eltwise" : net->kind(op), normalised(net->at(op).name)},
              net == &t_, op);
    std::vector<std::pair<int, int>> found;
    alike.each_only([&](int t, int g) {
      if (t_.kind(t) == g_.kind(g) || is_eltwise(t_.kind(t), g_.kind(g))) found.emplace_back(t, g);
    });
    return found;
  }

  // Names of a model that was renamed, or numbered anew, contradict what edges tell.
  bool names_are_believed() const {
    size_t right = 0, wrong = 0;
    for (const auto& [t, g] : namesakes()) {
      if (golden(t) == kNone && target(g) == kNone) continue;
      ++(golden(t) == g ? right : wrong);
    }
    return wrong * 10 <= right;
  }

  template <class Concerns>
  void pair_names(Concerns concerns) {
    for (const auto& [t, g] : namesakes())
      if (may_be(t, g) && concerns(t_, t) && concerns(g_, g)) pair(t, g, Proof::kName);
  }

  // Operators that are constants, by what they hold.
  void pair_constant_operators() {
    LookAlikes<uint64_t> alike;
    for (const Net* net : {&t_, &g_})
      for (int op = 0; op < net->size(); ++op)
        if (!net->is_counted(op) && is_free(*net, op) && net->constants(op).size() == 1)
          alike.add(net->constants(op).front().print, net == &t_, op);
    alike.each_only([&](int t, int g) {
      if (may_pair(t, g)) pair(t, g, Proof::kConstants);
    });
  }

  // Sequences of both sides between pairs that come in the same order.
  bool pair_sequences() {
    std::vector<int> place(at(g_.size()), kNone);
    for (size_t i = 0; i < g_.from_outputs.size(); ++i)
      place[at(g_.from_outputs[i])] = static_cast<int>(i);
    std::vector<std::pair<int, int>> pairs;  // places on both sides, those of the target ascend
    for (size_t i = 0; i < t_.from_outputs.size(); ++i)
      if (const int g = golden(t_.from_outputs[i]); g != kNone && place[at(g)] != kNone)
        pairs.emplace_back(static_cast<int>(i), place[at(g)]);
    pairs = longest_ascent(std::move(pairs));
    pairs.emplace_back(static_cast<int>(t_.from_outputs.size()),
                       static_cast<int>(g_.from_outputs.size()));
    std::vector<int> proposed;
    std::pair<int, int> from{0, 0};
    for (const auto& to : pairs) {
      const auto free = [&](const Net& net, int first, int last) {
        std::vector<int> ops;
        for (int i = first; i < last; ++i)
          if (const int op = net.from_outputs[at(i)]; is_free(net, op)) ops.push_back(op);
        return ops;
      };
      pair_sequence(free(t_, from.first, to.first), free(g_, from.second, to.second), proposed);
      from = {to.first + 1, to.second + 1};
    }
    return keep_supported(proposed);
  }

  // The longest list of pairs in which both places ascend.
  static std::vector<std::pair<int, int>> longest_ascent(std::vector<std::pair<int, int>> pairs) {
    std::vector<size_t> ends, before(pairs.size());  // ends: of the best list of each length
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto longer =
          std::lower_bound(ends.begin(), ends.end(), pairs[i].second,
                           [&](size_t end, int second) { return pairs[end].second < second; });
      before[i] = longer == ends.begin() ? pairs.size() : *(longer - 1);
      if (longer == ends.end())
        ends.push_back(i);
      else
        *longer = i;
    }
    std::vector<std::pair<int, int>> longest;
    for (size_t i = ends.empty() ? pairs.size() : ends.back(); i < pairs.size(); i = before[i])
      longest.push_back(pairs[i]);
    std::reverse(longest.begin(), longest.end());
    return longest;
  }

  // Needleman and Wunsch's table, without a price for gaps.
  void pair_sequence(const std::vector<int>& own, const std::vector<int>& theirs,
                     std::vector<int>& proposed) {
    const size_t rows = own.size(), columns = theirs.size();
    if (rows == 0 || columns == 0 || rows > cells_ / columns) return;
    cells_ -= rows * columns;
    std::vector<float> best((rows + 1) * (columns + 1));
    const auto cell = [&](size_t i, size_t k) -> float& { return best[i * (columns + 1) + k]; };
    for (size_t i = rows; i-- > 0;)
      for (size_t k = columns; k-- > 0;) {
        const float with =
            may_pair(own[i], theirs[k]) ? cell(i + 1, k + 1) + likeness(own[i], theirs[k]) : 0;
        cell(i, k) = std::max({with, cell(i + 1, k), cell(i, k + 1)});
      }
    for (size_t i = 0, k = 0; i < rows && k < columns;) {
      if (may_pair(own[i], theirs[k]) && likeness(own[i], theirs[k]) > 0 &&
          cell(i, k) == cell(i + 1, k + 1) + likeness(own[i], theirs[k])) {
        proposed.push_back(own[i]);
        proposals_.emplace_back(own[i++], theirs[k++]);
      } else if (cell(i, k) == cell(i + 1, k)) {
        ++i;
      } else {
        ++k;
      }
    }
  }

  // How much speaks for a pair of the same kind. Whole numbers and halves: sums are exact.
  float likeness(int t, int g) const {
    float sum = (moves(t_.kind(t)) ? 1.0F : 2.0F) + 2 * static_cast<float>(shapes_speak(t, g));
    sum += t_.main.in(t).size() == g_.main.in(g).size() ? 0.5F : 0;
    sum += 0.5F * static_cast<float>(variants_speak(t_, t, g_, g));
    if (!t_.constants(t).empty() && t_.constants(t) == g_.constants(g)) sum += 2;
    const auto neighbours = [&](const auto& own, const auto& theirs, const auto& op_of) {
      for (size_t i = 0; i < std::min(own.size(), theirs.size()); ++i) {
        const int a = op_of(own[i]), b = op_of(theirs[i]);
        if (golden(a) != kNone || target(b) != kNone)
          sum += golden(a) == b ? 2.0F : -1.0F;
        else
          sum += t_.kind(a) == g_.kind(b) ? 0.5F : 0;
      }
    };
    neighbours(t_.main.in(t), g_.main.in(g), [](const Ref& ref) { return ref.op; });
    neighbours(t_.main.readers[at(t)], g_.main.readers[at(g)],
               [](const auto& reader) { return reader.first; });
    return sum;
  }

  // Pairs the proposals, and parts those again that no neighbour speaks for. True if any stays.
  bool keep_supported(const std::vector<int>& proposed) {
    for (const auto& [t, g] : proposals_) pair(t, g, Proof::kSequence);
    proposals_.clear();
    for (bool changes = true; changes;) {
      changes = false;
      for (const int op : proposed)
        if (golden(op) != kNone && !is_supported(op)) {
          part(op);
          changes = true;
        }
    }
    return std::any_of(proposed.begin(), proposed.end(),
                       [&](int op) { return golden(op) != kNone; });
  }

  // The nearest pairs before it are those before its counterpart, or those behind it are.
  bool is_supported(int op) const {
    if (has_twin(t_, op) || has_twin(g_, golden(op))) return false;
    for (const bool before : {true, false}) {
      std::vector<int> own = nearest_pairs(t_, found_.golden_of, op, before);
      if (own.empty()) continue;
      for (int& each : own) each = golden(each);
      std::sort(own.begin(), own.end());
      if (own == nearest_pairs(g_, found_.target_of, golden(op), before)) return true;
    }
    if (adds(t_, op) == adds(g_, golden(op))) return false;
    std::vector<int> own = sources_of_first(t_, found_.golden_of, op);
    for (int& each : own) each = golden(each);
    std::sort(own.begin(), own.end());
    return !own.empty() && own == sources_of_first(g_, found_.target_of, golden(op));
  }

  // A convolution into which an addition was fused reads what is added as well, and is read by who
  // reads the sum: what it works on is its first input.
  static bool adds(const Net& net, int op) {
    return has_weights(net.kind(op)) && net.main.in(op).size() > 1;
  }
  static std::vector<int> sources_of_first(const Net& net, const std::vector<int>& partner,
                                           int op) {
    if (net.main.in(op).empty()) return {};
    const int first = net.main.in(op).front().op;
    return partner[at(first)] != kNone ? std::vector{first}
                                       : nearest_pairs(net, partner, first, true);
  }

  // Another one reads the same and is read by the same, in no order that a compiler would keep.
  bool has_twin(const Net& net, int op) const {
    if (t_.is_exact && g_.is_exact) return false;
    const auto readers_commute = [&](int each) {
      const auto& readers = net.main.readers[at(each)];
      return std::all_of(readers.begin(), readers.end(),
                         [&](const auto& reader) { return commutes(net.kind(reader.first)); });
    };
    if (net.main.in(op).empty() || !readers_commute(op)) return false;
    for (const int other : net.main.readers_of(net.main.in(op).front()))
      if (other != op && net.kind(other) == net.kind(op) && net.shape(other) == net.shape(op) &&
          net.constants(other) == net.constants(op) && net.main.in(other) == net.main.in(op) &&
          net.main.readers[at(other)] == net.main.readers[at(op)])
        return true;
    return false;
  }

  // Both graphs as one, in which pairs are one operator: what lies on a cycle of it is paired
  // against the order of one of them. The weakest such pairs are parted.
  void undo_cycles() {
    for (int round = 0; round < kMostRounds; ++round) {
      std::vector<int> on_cycle = pairs_on_cycles();
      if (on_cycle.empty()) return;
      Proof weakest = Proof::kNothing;
      for (const int op : on_cycle) weakest = std::max(weakest, found_.proof[at(op)]);
      for (const int op : on_cycle)
        if (found_.proof[at(op)] == weakest) part(op);
    }
  }

  // Target operators of pairs that are left when all that nothing waits for is taken away, from
  // either end.
  std::vector<int> pairs_on_cycles() const {
    const auto node_of_golden = [&](int g) {
      return target(g) != kNone ? target(g) : t_.size() + g;
    };
    const size_t count = at(t_.size() + g_.size());
    std::vector<std::vector<int>> next(count), back(count);
    const auto add = [&](int from, int to) {
      next[at(from)].push_back(to);
      back[at(to)].push_back(from);
    };
    for (int t = 0; t < t_.size(); ++t)
      for (const Ref& input : t_.main.in(t)) add(input.op, t);
    for (int g = 0; g < g_.size(); ++g)
      for (const Ref& input : g_.main.in(g)) add(node_of_golden(input.op), node_of_golden(g));
    std::vector<bool> gone(count);
    for (const auto& [ways, others] : {std::pair{&next, &back}, std::pair{&back, &next}}) {
      std::vector<size_t> waiting(count);
      std::vector<int> ready;
      for (size_t i = 0; i < count; ++i) {
        if (gone[i]) continue;
        for (const int from : (*others)[i]) waiting[i] += gone[at(from)] ? 0 : 1;
        if (waiting[i] == 0) ready.push_back(static_cast<int>(i));
      }
      for (size_t i = 0; i < ready.size(); ++i) {
        gone[at(ready[i])] = true;
        for (const int to : (*ways)[at(ready[i])])
          if (!gone[at(to)] && --waiting[at(to)] == 0) ready.push_back(to);
      }
    }
    std::vector<int> left;
    for (int t = 0; t < t_.size(); ++t)
      if (!gone[at(t)] && golden(t) != kNone) left.push_back(t);
    return left;
  }

  const Net &t_, &g_;
  const SameTensors& told_;
  Aligned found_;
  std::vector<std::pair<int, int>> proposals_;
  size_t cells_ = kMostCells;  // that may still be filled
};

}  // namespace

Aligned align(const Net& target, const Net& golden, const SameTensors& told) {
  return Aligner(target, golden, told).run();
}

}  // namespace plumb::pair
