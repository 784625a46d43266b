// SPDX-License-Identifier: Apache-2.0
#include "diagnose/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "diagnose/example.h"

namespace plumb::diagnose {
namespace {

// What golden may still be off by for an explanation to hold: it was rounded, too.
double tolerance_of(DType dtype) {
  return dtype == DType::kFloat16 ? 2e-3 : dtype == DType::kBFloat16 ? 1.6e-2 : 2e-4;
}

// What may be spent on it, and how far a function may be off.
struct Effort {
  int64_t work = kMostWork;
  double tolerance = 0;
};

// The rows that show what an operator reads. What stands for a tensor of golden's has the target's
// values in another row.
struct Read {
  size_t row = 0;
  std::optional<size_t> target = {};
};

// What a producer gives; what only hands on, and was not compared, is looked through.
void add_given(const Net& net, const Node& node, size_t place, size_t output, int hops,
               std::vector<Read>& reads) {
  const Node& producer = net.nodes[static_cast<size_t>(node.producers[place])];
  if (producer.stands_for) {
    reads.push_back({*producer.stands_for, producer.inserted});
    return;
  }
  for (const size_t row : rows_given(net, node, place))
    if (net.rows[row].scope == net.rows[output].scope) reads.push_back({row});
  if (!producer.outputs.empty() || hops == 0 || !only_moves_values(producer.type)) return;
  for (size_t before = 0; before < producer.producers.size(); ++before)
    add_given(net, producer, before, output, hops - 1, reads);
}

// Whether one of the tensors it reads was not compared though golden should have it.
bool lacks_inputs(const Net& net, const Node& node) {
  for (size_t i = 0; i < node.shown.size(); ++i)
    if (!node.shown[i] && !hands_on(net.nodes[static_cast<size_t>(node.producers[i])])) return true;
  return false;
}

// In order: as dumped there, else where they were made. None if some are not at hand: of a sum one
// term alone explains nothing.
std::vector<Read> all_read(const Net& net, const Node& node, size_t output) {
  std::vector<Read> reads;
  if (lacks_inputs(net, node)) return reads;
  for (const size_t row : node.inputs)
    if (net.rows[row].scope == net.rows[output].scope) reads.push_back({row});
  if (!reads.empty()) return reads;
  constexpr int kMostHops = 3;
  for (size_t producer = 0; producer < node.producers.size(); ++producer)
    add_given(net, node, producer, output, kMostHops, reads);
  return reads;
}

// What an operator gave against what it should have given. Beyond golden's own range the target may
// end where it was told to end: that is no fault of who is handed such values.
std::optional<Follows> compared(const compare::PairValues& output, Should should) {
  const auto [low, high] = std::minmax_element(output.golden.begin(), output.golden.end());
  const auto [least, most] = std::minmax_element(output.target.begin(), output.target.end());
  const double bottom = std::min(*low, *least), top = std::max(*high, *most);
  for (double& value : should.target) value = std::clamp(value, bottom, top);
  const Follows result{distance(output.target, should.target, should.target),
                       distance(should.target, output.golden, output.golden),
                       distance(should.golden, output.golden, output.golden)};
  if (!std::isfinite(result.own) || !std::isfinite(result.inherited)) return {};
  return result;
}

constexpr double kFewRoundings = 4;
constexpr int64_t kReading = 60'000;  // steps: a tensor is opened, and most of them are small

std::optional<Follows> follows_from(const Node& node, const std::vector<Read>& reads,
                                    size_t output_row, Tensors& tensors, Effort& effort) {
  constexpr size_t kMostInputs = 8;
  if (reads.empty() || reads.size() > kMostInputs || effort.work <= 0) return {};
  effort.work -= kReading * static_cast<int64_t>(1 + reads.size());
  const auto output = tensors.pair(output_row);
  const auto is_usable = [](const auto& pair) {
    return pair != nullptr && pair->is_aligned() && pair->is_whole && !pair->golden.empty();
  };
  if (!is_usable(output)) return {};
  Example example;
  if (node.origins <= 1) example.type = node.type;
  example.work = &effort.work;
  example.tolerance = std::max(effort.tolerance, tolerance_of(output->golden_dtype));
  example.output = {&output->golden, &output->target, output->golden_shape};
  for (const double value : output->golden)
    example.mean_square += value * value / static_cast<double>(output->golden.size());
  std::vector<std::shared_ptr<const compare::PairValues>> kept;
  for (const Read& read : reads) {
    const auto& input = kept.emplace_back(read.target ? tensors.pair(*read.target, read.row)
                                                      : tensors.pair(read.row));
    if (!is_usable(input)) return {};
    example.inputs.push_back({&input->golden, &input->target, input->golden_shape});
  }
  // Golden may fit several (a Relu of what is positive anyway): any of them excuses the target.
  std::optional<Follows> best;
  for (const Attempt& attempt : attempts()) {
    if (best && best->own <= kFewRoundings * best->misfit) break;
    if (best && attempt.is_last_hope) break;
    if (effort.work <= 0) break;
    effort.work -= attempt.steps * std::ssize(output->golden);
    auto should = attempt.function(example);
    const auto found = should ? compared(*output, std::move(*should)) : std::nullopt;
    if (found && (!best || found->own < best->own)) best = found;
  }
  return best;
}

// Where nothing tells what an operator reads, golden may: one of the tensors that came right before
// it, if its output is a function of that.
std::optional<Follows> follows_an_earlier(const Net& net, const Node& node, size_t output_row,
                                          Tensors& tensors, Effort& effort) {
  const auto place = static_cast<size_t>(&node - net.nodes.data());
  constexpr size_t kLooks = 6;
  for (size_t i = place; i-- > 0 && i + kLooks >= place;) {
    const Node& earlier = net.nodes[i];
    if (earlier.outputs.empty()) continue;
    if (auto found = follows_from(node, {{earlier.outputs.back()}}, output_row, tensors, effort))
      return found;
  }
  return {};
}

// Of several steps the worst: one of them alone may be wrong. Of several samples the tensors of the
// latest are at hand, and an operator that was wrong before tells nothing there.
std::optional<size_t> row_to_measure(const Net& net, const Node& node, const Tensors& tensors) {
  std::optional<size_t> worst;
  for (const size_t row : node.outputs)
    if (tensors.has(row) && (!worst || error_of_row(net, row) >= error_of_row(net, *worst)))
      worst = row;
  constexpr double kShows = 0.5;  // of the error over all of them
  if (!worst || error_of_row(net, *worst) < kShows * node.out.relative) return {};
  return worst;
}

std::optional<Follows> follows_with(const Net& net, const Node& node, size_t output_row,
                                    Tensors& tensors, Effort& effort) {
  const std::vector<Read> reads = all_read(net, node, output_row);
  if (reads.empty() && !net.has_edges && net.run.is_ordered)
    return follows_an_earlier(net, node, output_row, tensors, effort);
  return follows_from(node, reads, output_row, tensors, effort);
}

}  // namespace

std::optional<Follows> follows(const Net& net, const Node& node, size_t output_row,
                               Tensors& tensors) {
  // Engines approximate: for who makes an error many times larger that will do.
  constexpr double kRoughly = 0.02;
  Effort effort{kMostWork, kRoughly};
  return follows_with(net, node, output_row, tensors, effort);
}

std::shared_ptr<const compare::PairValues> only_input(const Net& net, const Node& node,
                                                      size_t output_row, Tensors& tensors) {
  const std::vector<Read> reads = all_read(net, node, output_row);
  if (reads.size() != 1) return nullptr;
  return reads[0].target ? tensors.pair(*reads[0].target, reads[0].row)
                         : tensors.pair(reads[0].row);
}

void measure_by_arithmetic(Net& net, Tensors& tensors, const RunContext& context, int64_t work) {
  if (!tensors.are_at_hand()) return;
  constexpr int64_t kMostElements = int64_t{1} << 18;
  std::vector<std::pair<double, Node*>> unknown;  // what each seems to add
  for (Node& node : net.nodes) {
    if (node.is_source || node.outputs.empty() || !std::isnan(node.own)) continue;
    if (!node.out.is_known() || std::isinf(node.out.relative)) continue;
    const int64_t elements = net.rows[node.outputs.back()].elements;
    if (elements < 0 || elements > kMostElements) continue;
    const double in = node.in.is_known() ? node.in.relative : 0;
    unknown.emplace_back(node.out.relative - in, &node);
  }
  std::stable_sort(unknown.begin(), unknown.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Effort effort{work};
  for (const auto& [added, node] : unknown) {
    if (context.cancelled || effort.work <= 0) return;
    const auto row = row_to_measure(net, *node, tensors);
    if (!row) continue;
    if (const auto found = follows_with(net, *node, *row, tensors, effort)) {
      node->own = found->own;
      // What was learned from golden's values holds for the target's, which are others, not
      // exactly.
      constexpr double kLearned = 0.02;
      node->own_doubt = std::hypot(found->misfit, kLearned * found->inherited);
      node->inherited = found->inherited;
      node->measured = *row;
    }
  }
}

}  // namespace plumb::diagnose
