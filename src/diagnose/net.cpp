// SPDX-License-Identifier: Apache-2.0
#include "diagnose/net.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "tensor/shape.h"

namespace plumb::diagnose {
namespace {

using result::Row;
using result::Run;
using result::Verdict;

// Squares of errors, and how many there are.
struct Sum {
  double relative = 0, slice = 0;
  int64_t count = 0, slices = 0;
};

class Builder {
 public:
  explicit Builder(const Run& run) : net_{run, {}, {}, false, {}, {}, {}, {}}, run_(run) {
    net_.rows.resize(run.rows.size());
    for (size_t i = 0; i < run.metrics.size(); ++i) {
      if (run.metrics[i]->name == "rel_euclid") relative_ = static_cast<int>(i);
      if (run.metrics[i]->name == "slice_rel_euclid") slice_ = static_cast<int>(i);
      for (size_t k = 0; k < 4; ++k)
        if (run.metrics[i]->name == kOdd[k]) odd_[k] = static_cast<int>(i);
    }
  }

  Net build() {
    add_nodes();
    out_.resize(net_.nodes.size());
    in_.resize(net_.nodes.size());
    size_t place = 0;
    for (const Row& row : run_.rows) add_row(row, place++);
    show_by_readers();
    show_by_movers();
    mark_shown();
    add_order();
    for (size_t i = 0; i < net_.nodes.size(); ++i) net_.nodes[i].out = error_of(out_[i]);
    blind_.assign(net_.nodes.size(), false);
    for (const int64_t node : net_.order) add_inputs(node);
    if (!net_.has_edges) guess_inputs();
    return std::move(net_);
  }

 private:
  static constexpr std::string_view kOdd[] = {"target_nan", "golden_nan", "target_inf",
                                              "golden_inf"};

  static bool is_source_type(std::string_view type) {
    return type == "Data" || type == "Const" || type == "Constant" || type == "Input" ||
           type == "AnnData" || type == "Placeholder" || type == "Parameter";
  }

  void add_nodes() {
    if (run_.network) {
      net_.has_edges = !run_.network->edges.empty();
      for (const result::NetworkNode& each : run_.network->nodes) {
        Node node;
        node.name = each.name;
        node.type = each.type;
        node.is_source = is_source_type(each.type);
        node.is_constant = each.type.starts_with("Const") || each.type == "Parameter";
        node.is_output = each.is_output;
        node.origins = std::ssize(each.origins);
        net_.nodes.push_back(std::move(node));
      }
      for (const result::NetworkEdge& edge : run_.network->edges) {
        net_.nodes[static_cast<size_t>(edge.to)].producers.push_back(edge.from);
        net_.nodes[static_cast<size_t>(edge.to)].read.push_back(edge.output);
        net_.nodes[static_cast<size_t>(edge.from)].consumers.push_back(edge.to);
      }
    }
  }

  // The operator of a row; rows that the graph does not know get a node of their own by name.
  int64_t node_of(const Row& row) {
    if (row.node >= 0 && row.node < std::ssize(net_.nodes) && run_.network) return row.node;
    if (const auto known = by_name_.find(row.target->operator_name); known != by_name_.end())
      return known->second;
    Node node;
    node.name = net_.texts.emplace_back(row.target->operator_name);
    node.type = net_.texts.emplace_back(row.target->type);
    node.is_source = is_source_type(node.type);
    by_name_.emplace(node.name, std::ssize(net_.nodes));
    net_.nodes.push_back(std::move(node));
    out_.emplace_back();
    in_.emplace_back();
    return std::ssize(net_.nodes) - 1;
  }

  double value(const Row& row, int column) const {
    if (column < 0 || static_cast<size_t>(column) >= row.values.size()) return kUnknown;
    const metrics::Value& value = row.values[static_cast<size_t>(column)];
    return value.is_defined() ? value.number() : kUnknown;
  }

  bool is_finite_otherwise(const Row& row) const {
    return value(row, odd_[0]) > value(row, odd_[1]) || value(row, odd_[2]) > value(row, odd_[3]);
  }

  void add_facts(const Row& row, RowFacts& facts) {
    if (const double error = value(row, relative_); !std::isnan(error)) facts.error = error;
    const bool is_compared = row.target && row.golden && row.verdict != Verdict::kNotCompared;
    const bool is_output = row.any_side().slot.starts_with("output");
    facts.is_seen = is_output && is_compared;
    facts.is_lost = is_output && !is_compared && !row.has_no_counterpart();
    facts.scope = scopes_.try_emplace({row.step, row.rank}, static_cast<uint32_t>(scopes_.size()))
                      .first->second;
    if (!row.target) return;
    if (const auto& shape = row.target->shape) facts.elements = element_count(*shape).value_or(-1);
    auto slot = net_.slots.find(row.target->slot);
    if (slot == net_.slots.end())
      slot = net_.slots.emplace(row.target->slot, net_.slots.size() + 1).first;
    facts.slot = slot->second;
  }

  void add_row(const Row& row, size_t place) {
    add_facts(row, net_.rows[place]);
    if (row.target && !row.golden && row.node >= 0 && row.reasons.size() == 1 &&
        (row.reasons[0] == "no_counterpart" || row.reasons[0] == "inside_fusion") &&
        row.target->slot.starts_with("output"))
      net_.nodes[static_cast<size_t>(row.node)].inserted = place;
    if (!row.target || !row.golden || row.verdict == Verdict::kNotCompared) {
      if (row.target && row.node >= 0) lost_.emplace(row.node, net_.rows[place].slot);
      return;
    }
    const int64_t at = node_of(row);
    Node& node = net_.nodes[static_cast<size_t>(at)];
    const bool is_input = row.target->slot.starts_with("input");
    if (!is_input && !row.target->slot.starts_with("output")) return;
    if (is_input && !row.target->shape && !row.golden->shape) {
      if (row.verdict == Verdict::kFail) node.arguments.push_back(place);
      return;
    }
    (is_input ? node.inputs : node.outputs).push_back(place);
    add_error(row, (is_input ? in_ : out_)[static_cast<size_t>(at)]);
    if (is_input) return;
    ++net_.output_types[row.target->dtype];
    // Of zeros any error is infinitely large.
    if (row.own_error && row.own_error->measured && std::isfinite(row.own_error->value) &&
        !(node.own >= row.own_error->value))
      node.own = row.own_error->value;
    node.fails |= row.verdict == Verdict::kFail;
    node.is_odd |= row.verdict != Verdict::kPass || row.suspicious;
    node.is_output |= row.is_model_output;
  }

  void add_error(const Row& row, Sum& sum) const {
    double relative = value(row, relative_);
    const bool is_odd = is_finite_otherwise(row);
    if (is_odd || (std::isnan(relative) && row.verdict == Verdict::kFail))
      relative = std::numeric_limits<double>::infinity();
    if (!std::isnan(relative)) {
      // Of several outputs, or inputs, the worst would hide that one of many steps is wrong.
      sum.relative += relative * relative;
      ++sum.count;
    }
    if (const double slice = value(row, slice_); !std::isnan(slice)) {
      sum.slice = std::max(sum.slice, slice);
      ++sum.slices;
    }
  }

  // Inputs of the model, and constants, seldom have a dump of their own, and those of operators may
  // be lost: who reads them shows them.
  void show_by_readers() {
    if (!run_.network) return;
    std::map<int64_t, std::map<std::string, int64_t>> sources;
    for (const result::NetworkEdge& edge : run_.network->edges)
      if (const Node& from = net_.nodes[static_cast<size_t>(edge.from)];
          from.outputs.empty() && !from.inserted)
        sources[edge.to].emplace("input:" + std::to_string(edge.input), edge.from);
    for (const auto& [reader, slots] : sources)
      for (const size_t place : net_.nodes[static_cast<size_t>(reader)].inputs) {
        const Row& row = run_.rows[place];
        if (const auto source = slots.find(row.target->slot); source != slots.end())
          show(source->second, row, place);
      }
  }

  // What moves the values of an operator that only the target seems to have may be what golden's
  // tensor of that name was paired with: it shows them.
  void show_by_movers() {
    for (Node& mover : net_.nodes) {
      if (!only_moves_values(mover.type) || mover.outputs.empty()) continue;
      for (const int64_t at : mover.producers) {
        const Node& producer = net_.nodes[static_cast<size_t>(at)];
        if (!producer.inserted || !producer.outputs.empty()) continue;
        for (const size_t place : mover.outputs)
          if (const Row& row = run_.rows[place]; row.golden->operator_name == producer.name)
            show(at, row, place);
      }
    }
  }

  void show(int64_t at, const Row& row, size_t place) {
    Node& node = net_.nodes[static_cast<size_t>(at)];
    node.outputs.push_back(place);
    ++net_.output_types[row.target->dtype];
    node.fails |= row.verdict == Verdict::kFail;
    node.is_odd |= row.verdict != Verdict::kPass || row.suspicious;
    add_error(row, out_[static_cast<size_t>(at)]);
  }

  // 0 if no row has such a slot.
  uint32_t slot_number(std::string_view side, int64_t index) const {
    const auto number = net_.slots.find(fmt::format("{}:{}", side, index));
    return number == net_.slots.end() ? 0 : number->second;
  }

  bool was_compared(const std::vector<size_t>& rows, uint32_t slot) const {
    return slot > 0 && std::any_of(rows.begin(), rows.end(),
                                   [&](size_t row) { return net_.rows[row].slot == slot; });
  }

  // Who reads what that was compared. Where slots are counted otherwise any output will do.
  void mark_shown() {
    if (!run_.network) return;
    for (const result::NetworkEdge& edge : run_.network->edges) {
      const Node& from = net_.nodes[static_cast<size_t>(edge.from)];
      Node& to = net_.nodes[static_cast<size_t>(edge.to)];
      const uint32_t output = slot_number("output", edge.output);
      const bool is_lost =
          lost_.contains({edge.from, output}) && !was_compared(from.outputs, output);
      to.shown.push_back(from.is_source || (!from.outputs.empty() && !is_lost) ||
                         was_compared(to.inputs, slot_number("input", edge.input)));
    }
  }

  static Error error_of(const Sum& sum) {
    Error error;
    if (sum.count > 0) error.relative = std::sqrt(sum.relative / static_cast<double>(sum.count));
    if (sum.slices > 0) error.slice = sum.slice;
    return error;
  }

  // Producers first. What stands in a circle, or has no edges, keeps the order of the rows.
  void add_order() {
    const size_t count = net_.nodes.size();
    std::vector<int64_t> waits(count, 0);
    for (const Node& node : net_.nodes)
      for (const int64_t consumer : node.consumers) ++waits[static_cast<size_t>(consumer)];
    std::vector<bool> is_done(count, false);
    net_.order.reserve(count);
    for (size_t start = 0; start < count; ++start) {
      if (is_done[start] || waits[start] > 0) continue;
      finish(static_cast<int64_t>(start), waits, is_done);
    }
    for (size_t node = 0; node < count; ++node)
      if (!is_done[node]) net_.order.push_back(static_cast<int64_t>(node));
  }

  void finish(int64_t start, std::vector<int64_t>& waits, std::vector<bool>& is_done) {
    std::vector<int64_t> ready{start};
    while (!ready.empty()) {
      const int64_t node = ready.back();
      ready.pop_back();
      if (is_done[static_cast<size_t>(node)]) continue;
      is_done[static_cast<size_t>(node)] = true;
      net_.order.push_back(node);
      for (const int64_t consumer : net_.nodes[static_cast<size_t>(node)].consumers)
        if (--waits[static_cast<size_t>(consumer)] == 0) ready.push_back(consumer);
    }
  }

  static void worse(Error& error, const Error& other) {
    const auto take = [](double& own, double given) {
      if (!std::isnan(given) && !(own >= given)) own = given;  // nothing is known of the rest
    };
    take(error.relative, other.relative);
    take(error.slice, other.slice);
  }

  // What an operator reads: as dumped there, else as its producers gave it. What was not compared
  // at all hands on what it reads.
  void add_inputs(int64_t at) {
    Node& node = net_.nodes[static_cast<size_t>(at)];
    Error dumped = error_of(in_[static_cast<size_t>(at)]), given;
    for (const int64_t producer : node.producers)
      worse(given, net_.nodes[static_cast<size_t>(producer)].out);
    node.in = dumped.is_known() ? dumped : given;
    if (!node.in.is_known()) node.in = given;
    if (!std::isnan(given.slice) && !(node.in.slice >= given.slice)) node.in.slice = given.slice;
    if (!node.out.is_known() && !node.is_source) node.out = node.in;
    add_unseen(node);
    const auto is_blind = [&](int64_t producer) { return blind_[static_cast<size_t>(producer)]; };
    const bool reads_blindly = std::any_of(node.producers.begin(), node.producers.end(), is_blind);
    if (!node.in.is_known() && reads_blindly) node.knows_inputs = false;
    blind_[static_cast<size_t>(at)] =
        !node.is_source && !node.out.is_known() && (reads_blindly || !only_moves_values(node.type));
  }

  // What only quantizes shows the operator that gives it what it quantizes: the two are one.
  void add_unseen(Node& node) const {
    for (size_t i = 0; i < node.producers.size(); ++i) {
      const Node& producer = net_.nodes[static_cast<size_t>(node.producers[i])];
      const bool are_one = hands_on(producer) || only_quantizes(node.type);
      if (!node.shown[i]) node.unseen = std::max(node.unseen, producer.unseen + (are_one ? 0 : 1));
    }
  }

  // Without edges the order of execution has to do: an operator reads nothing worse than what was
  // given out before it. Where that is not recorded either, nothing is known.
  void guess_inputs() {
    Error worst;
    worst.relative = 0;
    // Nothing came before what ran first: if nothing says that it is an operator, it is what the
    // model was fed.
    if (run_.is_ordered && !run_.network && net_.nodes.size() > 1 &&
        net_.nodes.front().type.empty() && !net_.nodes.front().in.is_known())
      net_.nodes.front().is_source = true;
    for (Node& node : net_.nodes) {
      node.knows_inputs = node.in.is_known() || run_.is_ordered || net_.nodes.size() == 1;
      if (!node.in.is_known() && run_.is_ordered) {
        node.in = worst;
        node.unseen = std::ssize(lost_before(net_, node));
      }
      if (node.out.is_known() && !std::isinf(node.out.relative)) worse(worst, node.out);
    }
  }

  Net net_;
  const Run& run_;
  int relative_ = -1, slice_ = -1;
  int odd_[4] = {-1, -1, -1, -1};
  std::vector<Sum> out_, in_;
  std::vector<bool> blind_;  // operators that computed something nobody compared
  std::set<std::pair<int64_t, uint32_t>> lost_;  // nodes and slots that were not compared
  std::unordered_map<std::string_view, int64_t> by_name_;
  std::map<std::pair<std::optional<int64_t>, std::optional<int64_t>>, uint32_t> scopes_;
};

std::vector<bool> reached(const Net& net, std::vector<int64_t> from,
                          std::vector<int64_t> Node::*next) {
  std::vector<bool> seen(net.nodes.size(), false);
  for (const int64_t node : from) seen[static_cast<size_t>(node)] = true;
  while (!from.empty()) {
    const int64_t node = from.back();
    from.pop_back();
    for (const int64_t other : net.nodes[static_cast<size_t>(node)].*next) {
      if (seen[static_cast<size_t>(other)]) continue;
      seen[static_cast<size_t>(other)] = true;
      from.push_back(other);
    }
  }
  return seen;
}

}  // namespace

std::vector<bool> Net::upstream_of(const std::vector<int64_t>& from) const {
  return reached(*this, from, &Node::producers);
}

std::vector<bool> Net::downstream_of(int64_t node) const {
  if (has_edges) return reached(*this, {node}, &Node::consumers);
  // Whatever ran later may have read it.
  std::vector<bool> later(nodes.size(), run.is_ordered);
  for (int64_t i = 0; i < node; ++i) later[static_cast<size_t>(i)] = false;
  later[static_cast<size_t>(node)] = true;
  return later;
}

bool stores_mostly(const Net& net, std::string_view dtype) {
  int64_t all = 0, such = 0;
  for (const auto& [type, count] : net.output_types) {
    all += count;
    such += type == dtype ? count : 0;
  }
  return 2 * such > all;
}

bool only_moves_values(std::string_view type) {
  constexpr std::string_view kTypes[] = {"Cast",     "TransData", "Reshape",   "Transpose",
                                         "Identity", "Squeeze",   "Unsqueeze", "Flatten"};
  return std::any_of(std::begin(kTypes), std::end(kTypes),
                     [&](std::string_view known) { return type.starts_with(known); });
}

bool only_quantizes(std::string_view type) {
  constexpr std::string_view kTypes[] = {"QuantizeLinear", "DequantizeLinear", "Quantize",
                                         "Dequantize",     "AscendQuant",      "AscendDequant",
                                         "AscendRequant",  "FakeQuant"};
  return std::any_of(std::begin(kTypes), std::end(kTypes),
                     [&](std::string_view known) { return type.starts_with(known); });
}

bool may_be_in_quantizer(std::string_view type) { return only_quantizes(type) || type == "Cast"; }

bool is_product(std::string_view type) {
  constexpr std::string_view kTypes[] = {
      "Conv", "MatMul", "Gemm", "FullyConnection", "InnerProduct", "Deconvolution", "Einsum"};
  return std::any_of(std::begin(kTypes), std::end(kTypes), [&](std::string_view known) {
    return type.find(known) != std::string_view::npos;
  });
}

bool hands_on(const Node& node) {
  return node.is_source || node.inserted || only_moves_values(node.type);
}

std::vector<size_t> lost_before(const Net& net, const Node& node) {
  std::vector<size_t> lost;
  if (node.outputs.empty()) return lost;
  for (size_t row = node.outputs[0]; row-- > 0 && !net.rows[row].is_seen;)
    if (net.rows[row].is_lost) lost.push_back(row);
  return lost;
}

std::vector<size_t> rows_given(const Net& net, const Node& node, size_t producer) {
  const Node& from = net.nodes[static_cast<size_t>(node.producers[producer])];
  if (from.outputs.size() <= 1) return from.outputs;
  const auto slot = net.slots.find("output:" + std::to_string(node.read[producer]));
  if (slot == net.slots.end()) return from.outputs;
  std::vector<size_t> rows;
  for (const size_t row : from.outputs)
    if (net.rows[row].slot == slot->second) rows.push_back(row);
  return rows.empty() ? from.outputs : rows;
}

double error_of_row(const Net& net, size_t row) { return net.rows[row].error; }

Net net_of(const result::Run& run) { return Builder(run).build(); }

}  // namespace plumb::diagnose
