// SPDX-License-Identifier: Apache-2.0
#include "replay/own_errors.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <list>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>

#include "base/threads.h"
#include "compare/session_state.h"
#include "graph/onnx_build.h"
#include "graph/onnx_cut.h"
#include "graph/onnx_edit.h"
#include "graph/onnx_external.h"
#include "metrics/pair_sums.h"
#include "pair/names.h"
#include "replay/isolate_sources.h"
#include "replay/run_part.h"

namespace plumb::replay {
namespace {

// A tensor of the model that both sides show.
struct Shown {
  std::string tensor;
  size_t row = 0;
  Source target, golden;
};

// One side of it in plain order: where the file has it, or a copy.
struct Stored {
  engine::TensorView view;
  std::optional<dump::EntryReader> file;  // what the view looks into ...
  engine::Tensor copy;                    // ... or this
};

Result<Stored> copied(const Source& source) {
  auto copy = load(source);
  if (!copy) return copy.error();
  Stored stored{{}, {}, std::move(*copy)};
  stored.view = stored.copy.view();
  return stored;
}

Result<Stored> opened(const Source& source) {
  auto file = dump::EntryReader::open(*source.set, *source.entry);
  if (!file) return file.error();
  io::TensorReader& reader = file->reader();
  if (reader.dtype() == DType::kOpaque) return copied(source);  // says what is wrong
  auto bytes = reader.read(0, reader.count());
  if (!bytes) return bytes.error();
  return Stored{{reader.dtype(), reader.shape(), *bytes}, std::move(*file), {}};
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How far golden may be off what its model makes of golden's inputs: arithmetic in 16 bits, or of
// another engine, is better.
constexpr double kMostOff = 0.01;

// So much is fed and given out at a time; what one operator needs may be more.
constexpr int64_t kMostBytes = int64_t{1} << 29;

// Pairs of larger tensors are looked at in their files, as long as these are not too many to be
// open at once.
constexpr int64_t kLarge = int64_t{1} << 18;
constexpr size_t kMostOpen = 128;

// Squared distances, infinite where only one of them is finite, or both are infinite in another
// way.
struct Distances {
  double own = 0, inherited = 0, golden = 0;
};

double distance(const metrics::PairSums& sums) {
  const bool agree = sums.inf_mismatch + sums.nan_only_in_target + sums.nan_only_in_golden == 0;
  return agree ? sums.dd : std::numeric_limits<double>::infinity();
}

double relative(double squares, double golden) {
  if (golden > 0) return std::sqrt(squares / golden);
  return squares > 0 ? std::numeric_limits<double>::infinity() : 0;
}

int64_t numbers_in(const engine::TensorView& tensor) {  // -1: these are no floating-point numbers
  if (kind_of(tensor.dtype) != DKind::kFloat) return -1;
  return element_count(tensor.shape).value_or(-1);
}

// What remains of an error between two tensors, each against golden; nullopt if they are no numbers
// of the same shape.
std::optional<result::OwnError> split_error(const engine::TensorView& target,
                                            const engine::TensorView& golden,
                                            const engine::TensorView& again) {
  const int64_t all = numbers_in(golden);
  if (all < 0 || numbers_in(target) != all || numbers_in(again) != all) return {};
  const auto at = [](const engine::TensorView& tensor, int64_t first) {
    return tensor.bytes.data() + *byte_count(tensor.dtype, first);
  };
  Distances sum;
  for (int64_t first = 0; first < all; first += metrics::kPairPiece) {
    const int64_t count = std::min(metrics::kPairPiece, all - first);
    const auto pair = [&](const engine::TensorView& a, const engine::TensorView& b) {
      return metrics::pair_sums({a.dtype, at(a, first), b.dtype, at(b, first), count}, {});
    };
    const metrics::PairSums inherited = pair(again, golden);
    sum.inherited += distance(inherited);
    sum.golden += inherited.gg;
    if (&target != &golden) sum.own += distance(pair(target, again));
  }
  return result::OwnError{relative(sum.own, sum.golden), relative(sum.inherited, sum.golden), true};
}

class Measurement {
 public:
  Measurement(const GoldenModel& golden, const Session& session, std::span<const RowId> ids,
              result::Run& run)
      : golden_(golden), state_(session.state()), ids_(ids), run_(run), model_(golden.model) {}

  Result<OwnErrors> measure(const RunContext& context) {
    find_shown();
    if (shown_.empty()) return times_;
    if (auto cut = cut_apart(); !cut) return cut.error();
    int64_t bytes = 0;
    Parts some;
    for (Part& part : parts()) {
      if (context.cancelled) return times_;
      if (!can_be_fed(part)) continue;
      for (const size_t node : part) bytes += bytes_of(model_.graph.nodes[node]);
      some.push_back(std::move(part));
      if (bytes < kMostBytes) continue;
      times_.measured += replay_those_that_run(some, context);
      some.clear();
      bytes = 0;
    }
    times_.measured += replay_those_that_run(some, context);
    if (times_.measured == 0 && problem_) return std::move(*problem_);
    if (auto proven = conclude(); !proven) return proven.error();
    return times_;
  }

 private:
  // Whether this is the model that golden was made with.
  Result<void> conclude() {
    if (unlike_.empty()) return {};
    const std::string names =
        fmt::format("{}{}",
                    fmt::join(unlike_.begin(),
                              unlike_.begin() + std::min<int64_t>(3, std::ssize(unlike_)), ", "),
                    unlike_.size() > 3 ? fmt::format(" and {} more", unlike_.size() - 3) : "");
    if (2 * std::ssize(unlike_) > proven_)
      return Error{"the model does not reproduce the golden tensors from the golden inputs", names,
                   "name the model that the golden dump was made with, by --model"};
    run_.warnings.push_back(fmt::format(
        "not measured, since the model does not reproduce golden from golden's inputs: {}", names));
    return {};
  }

  using Part = std::vector<size_t>;  // nodes that run together or not at all
  using Parts = std::vector<Part>;

  static std::vector<size_t> nodes_of(std::span<const Part> some) {
    std::vector<size_t> nodes;
    for (const Part& part : some) nodes.insert(nodes.end(), part.begin(), part.end());
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  // What cannot be run costs itself, not what was to run along with it.
  int64_t replay_those_that_run(std::span<const Part> some, const RunContext& context) {
    if (some.empty() || context.cancelled) return 0;
    auto measured = replay(some, context);
    if (measured) return *measured;
    if (!problem_) problem_ = measured.error();
    if (some.size() == 1) return 0;
    const size_t half = some.size() / 2;
    return replay_those_that_run(some.first(half), context) +
           replay_those_that_run(some.subspan(half), context);
  }

  // Tensors of the model by the golden operator and slot of rows, as dump tools write names.
  void find_shown() {
    std::unordered_map<std::string, std::string> tensors;
    for (const graph::OnnxNode& node : model_.graph.nodes)
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        // A constant belongs to whoever reads it: golden's, not the target's.
        if (node.outputs[k].empty() || node.type == "Constant") continue;
        const std::string slot = fmt::format("\noutput:{}", k);
        tensors.try_emplace(pair::normalised(node.name) + slot, node.outputs[k]);
        if (k == 0) tensors.try_emplace(pair::normalised(node.outputs[0]) + slot, node.outputs[0]);
      }
    for (const graph::OnnxValue& input : model_.graph.inputs)
      tensors.try_emplace(pair::normalised(input.name) + "\noutput:0", input.name);
    for (size_t row = 0; row < run_.rows.size(); ++row) {
      const result::Row& each = run_.rows[row];
      const RowId id = ids_.empty() ? static_cast<RowId>(row) : ids_[row];
      if (id < 0 || !each.target || !each.golden || each.verdict == result::Verdict::kNotCompared)
        continue;
      const auto tensor =
          tensors.find(pair::normalised(each.golden->operator_name) + "\n" + each.golden->slot);
      const pair::PlannedRow& planned = state_.rows[static_cast<size_t>(id)];
      if (tensor == tensors.end() || planned.golden_is_own || planned.is_quantized ||
          !can_stand_in(*each.target, *each.golden) || each.target->slot.starts_with("input") ||
          each.golden->slot.starts_with("input"))
        continue;
      const auto [at, is_new] = by_tensor_.try_emplace(tensor->second, shown_.size());
      if (is_new)
        shown_.push_back({tensor->second,
                          row,
                          {&state_.target, planned.target},
                          {&state_.golden, planned.golden}});
    }
  }

  // The model takes the target's tensor for its own.
  static bool can_stand_in(const result::Side& target, const result::Side& golden) {
    return target.shape && golden.shape && squeezed(*target.shape) == squeezed(*golden.shape);
  }

  // Who reads a tensor that the target shows reads an input of the model instead.
  Result<void> cut_apart() {
    graph::drop_weight_inputs(model_);
    graph::UniqueNames names = graph::names_in(model_.graph);
    std::unordered_set<std::string> inputs;
    for (const graph::OnnxValue& input : model_.graph.inputs) inputs.emplace(input.name);
    for (const Shown& each : shown_) {
      if (inputs.contains(each.tensor)) {
        continue;  // fed as it is
      }
      const std::vector<graph::OnnxReader> readers = graph::readers_of(model_, each.tensor);
      if (readers.empty()) continue;
      const std::string fed = names.claim(each.tensor + "_target");
      if (auto wired = graph::rewire(model_, readers, each.tensor, fed); !wired) return wired;
      tensor_of_[fed] = each.tensor;
    }
    return {};
  }

  // Operators that still hang together, in the order of the model: they run together or not at all.
  Parts parts() const {
    const std::vector<graph::OnnxNode>& nodes = model_.graph.nodes;
    std::vector<size_t> part_of(nodes.size());
    std::iota(part_of.begin(), part_of.end(), size_t{0});
    const auto root = [&](size_t node) {
      while (part_of[node] != node) node = part_of[node] = part_of[part_of[node]];
      return node;
    };
    std::unordered_map<std::string_view, size_t> givers;
    for (size_t i = 0; i < nodes.size(); ++i) {
      graph::each_read(nodes[i], [&](std::string_view tensor) {
        if (const auto giver = givers.find(tensor); giver != givers.end())
          part_of[root(i)] = root(giver->second);
      });
      if (nodes[i].type == "Constant") continue;  // comes along with whoever reads it
      for (const std::string_view output : nodes[i].outputs) givers.emplace(output, i);
    }
    std::map<size_t, std::vector<size_t>> together;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].type != "Constant") together[root(i)].push_back(i);
    Parts parts;
    for (auto& [first, part] : together) parts.push_back(std::move(part));
    return parts;
  }

  // Whether the target shows all that these read.
  bool can_be_fed(std::span<const size_t> part) const {
    for (const std::string& input : graph::boundary_of(model_, part).inputs)
      if (!tensor_of_.contains(input) && !by_tensor_.contains(input)) return false;
    return true;
  }

  int64_t bytes_of(const graph::OnnxNode& node) const {
    int64_t bytes = 0;
    const auto add = [&](std::string_view tensor) {
      if (const auto at = by_tensor_.find(std::string(tensor)); at != by_tensor_.end())
        if (const auto& shape = run_.rows[shown_[at->second].row].golden->shape)
          bytes += 8 * element_count(*shape).value_or(0);
    };
    for (const std::string_view output : node.outputs) add(output);
    for (const std::string_view input : node.inputs)
      if (const auto fed = tensor_of_.find(std::string(input)); fed != tensor_of_.end())
        add(fed->second);
    return bytes;
  }

  // Both sides of a tensor, as they are stored.
  struct Pair {
    std::optional<Stored> target, golden;
  };

  bool is_large(size_t place) const {
    const auto& shape = run_.rows[shown_[place].row].golden->shape;
    return shape && element_count(*shape).value_or(0) * 4 >= kLarge;
  }

  // Everything that some operators read and give, read once and side by side.
  void load_pairs(std::span<const size_t> nodes, const RunContext& context) {
    std::set<size_t> places;
    for (const std::string& input : graph::boundary_of(model_, nodes).inputs) {
      const auto tensor = tensor_of_.find(input);
      const auto at = by_tensor_.find(tensor == tensor_of_.end() ? input : tensor->second);
      if (at != by_tensor_.end()) places.insert(at->second);
    }
    for (const size_t node : nodes)
      for (const std::string_view output : model_.graph.nodes[node].outputs)
        if (const auto at = by_tensor_.find(std::string(output)); at != by_tensor_.end())
          places.insert(at->second);
    pairs_.clear();
    for (const size_t place : places) pairs_.try_emplace(place);
    std::vector<std::pair<const size_t, Pair>*> each;
    std::set<size_t> open;  // places
    for (auto& pair : pairs_) {
      each.push_back(&pair);
      if (open.size() < kMostOpen && is_large(pair.first)) open.insert(pair.first);
    }
    on_threads_of(context, [&] {
      tbb::parallel_for(size_t{0}, each.size(), [&](size_t i) {
        auto& [place, pair] = *each[i];
        const auto get = open.contains(place) ? opened : copied;
        if (auto target = get(shown_[place].target)) pair.target = std::move(*target);
        if (auto golden = get(shown_[place].golden)) pair.golden = std::move(*golden);
      });
    });
  }

  // Files that shrank meanwhile read as zeros.
  Result<void> check_intact() const {
    for (const auto& [place, pair] : pairs_)
      for (const auto* side : {&pair.target, &pair.golden})
        if (*side && (*side)->file)
          if (auto intact = (*side)->file->check_intact(); !intact) return intact;
    return {};
  }

  struct Fed {
    engine::InputViews inputs;
    graph::Outside outside;
    std::list<engine::Tensor> converted;  // what some of the inputs look into
  };

  // The target's tensor as golden's type.
  static std::optional<engine::TensorView> fitting(const Pair& pair, Fed& fed) {
    const engine::TensorView &target = pair.target->view, &golden = pair.golden->view;
    if (target.dtype == golden.dtype && squeezed(target.shape) == squeezed(golden.shape))
      return engine::TensorView{target.dtype, golden.shape, target.bytes};
    auto converted =
        fitted({target.dtype, target.shape, {target.bytes.begin(), target.bytes.end()}},
               golden.dtype, golden.shape);
    if (!converted) return {};
    return fed.converted.emplace_back(std::move(*converted)).view();
  }

  // What a part reads, as one of the sides has it.
  Fed feed(std::span<const size_t> nodes, bool with_target) const {
    Fed fed;
    for (const std::string& input : graph::boundary_of(model_, nodes).inputs) {
      const auto tensor = tensor_of_.find(input);
      const auto at = by_tensor_.find(tensor == tensor_of_.end() ? input : tensor->second);
      if (at == by_tensor_.end()) continue;  // an input of the model that nobody dumped
      const Pair& pair = pairs_.at(at->second);
      if (!pair.golden || !pair.target) continue;
      const auto view = with_target ? fitting(pair, fed) : std::optional(pair.golden->view);
      if (!view) continue;
      fed.outside.types[input] = {view->dtype, view->shape};
      fed.inputs[input] = *view;
    }
    return fed;
  }

  // The operators alone, as a file for an engine; empty if nobody shows what they give.
  Result<std::string> cut_out(std::span<const size_t> nodes, const graph::Outside& outside) const {
    auto part = graph::cut(model_, nodes, outside);
    if (!part) return part.error();
    std::vector<std::string> wanted;
    for (const size_t node : nodes)
      for (const std::string_view output : model_.graph.nodes[node].outputs)
        if (by_tensor_.contains(std::string(output))) wanted.emplace_back(output);
    graph::expose(*part, wanted);
    std::erase_if(part->graph.outputs, [&](const graph::OnnxValue& value) {
      return !by_tensor_.contains(std::string(value.name));
    });
    if (part->graph.outputs.empty()) return std::string();
    if (part->is_external())
      if (auto inlined = graph::inline_external(*part, golden_.view.data); !inlined)
        return inlined.error();
    return graph::write_onnx(*part);
  }

  Result<int64_t> replay(std::span<const Part> some, const RunContext& context) {
    const std::vector<size_t> nodes = nodes_of(some);
    load_pairs(nodes, context);
    Fed fed = feed(nodes, true);
    auto bytes = cut_out(nodes, fed.outside);
    if (!bytes) return bytes.error();
    if (bytes->empty()) return 0;
    const auto start = Clock::now();
    auto session = golden_.engine.open({as_bytes(*bytes), {}, {}, {}}, {});
    if (!session) return session.error();
    times_.opening_s += seconds_since(start);
    std::vector<size_t> measured;  // places in shown_
    const auto use = [&](const engine::Output& output, size_t shown) {
      if (split(shown, *output.tensor)) measured.push_back(shown);
    };
    auto ran = run(**session, fed.inputs, use);
    if (!ran) return ran.error();
    if (golden_.must_prove_itself) {
      fed = {};
      if (auto proven = prove(some, **session); !proven) return proven.error();
    }
    if (auto intact = check_intact(); !intact) {
      for (const size_t shown : measured) run_.rows[shown_[shown].row].own_error.reset();
      return intact.error();
    }
    return std::count_if(measured.begin(), measured.end(), [&](size_t shown) {
      return run_.rows[shown_[shown].row].own_error.has_value();
    });
  }

  // Tensors that the target shows and these give, by place in shown_.
  std::vector<size_t> given_by(const Part& part) const {
    std::vector<size_t> places;
    for (const size_t node : part)
      for (const std::string_view output : model_.graph.nodes[node].outputs)
        if (const auto at = by_tensor_.find(std::string(output)); at != by_tensor_.end())
          places.push_back(at->second);
    return places;
  }

  // Inputs that are nearly golden's and gave nearly golden's output have proven an operator
  // already; the others are fed with golden's own.
  Result<void> prove(std::span<const Part> some, engine::Session& session) {
    Parts open;
    for (const Part& part : some) {
      const std::vector<size_t> given = given_by(part);
      const bool is_proven = std::all_of(given.begin(), given.end(), [&](size_t place) {
        const auto& own = run_.rows[shown_[place].row].own_error;
        return own && own->measured && own->inherited <= kMostOff;
      });
      if (is_proven)
        proven_ += std::ssize(given);
      else
        open.push_back(part);
    }
    if (open.empty()) return {};
    const auto use = [&](const engine::Output& output, size_t shown) {
      check(shown, *output.tensor);
    };
    if (open.size() == some.size()) return run(session, feed(nodes_of(open), false).inputs, use);
    const std::vector<size_t> nodes = nodes_of(open);
    const Fed fed = feed(nodes, false);
    auto bytes = cut_out(nodes, fed.outside);
    if (!bytes) return bytes.error();
    if (bytes->empty()) return {};
    const auto start = Clock::now();
    auto few = golden_.engine.open({as_bytes(*bytes), {}, {}, {}}, {});
    if (!few) return few.error();
    times_.opening_s += seconds_since(start);
    return run(**few, fed.inputs, use);
  }

  // Hands over what comes out, with its place in shown_. The engine's time is without that.
  template <class Use>
  Result<void> run(engine::Session& session, const engine::InputViews& inputs, const Use& use) {
    const auto start = Clock::now();
    double used_s = 0;
    auto ran = session.run_on(inputs, [&](const engine::Output& output) -> Result<void> {
      const auto begin = Clock::now();
      const auto at = by_tensor_.find(output.port.name);
      if (output.tensor && at != by_tensor_.end()) use(output, at->second);
      used_s += seconds_since(begin);
      return {};
    });
    times_.running_s += seconds_since(start) - used_s;
    return ran;
  }

  bool split(size_t place, const engine::TensorView& again) {
    const Pair& pair = pairs_.at(place);
    if (!pair.target || !pair.golden) return false;
    const auto own = split_error(pair.target->view, pair.golden->view, again);
    if (own) run_.rows[shown_[place].row].own_error = *own;
    return own.has_value();
  }

  // What the model makes of golden's own inputs has to be what golden gave.
  void check(size_t place, const engine::TensorView& again) {
    const Shown& each = shown_[place];
    const auto& golden = pairs_.at(place).golden;
    if (!golden) return;
    const auto off = split_error(golden->view, golden->view, again);  // the rest inherited
    if (!off) return;
    ++proven_;
    if (off->inherited <= kMostOff) return;
    run_.rows[each.row].own_error.reset();
    unlike_.push_back(
        fmt::format("{} ({:.3g})", run_.rows[each.row].golden->operator_name, off->inherited));
  }

  const GoldenModel& golden_;
  const SessionState& state_;
  std::span<const RowId> ids_;
  result::Run& run_;
  graph::OnnxModel model_;
  std::vector<Shown> shown_;
  std::unordered_map<std::string, size_t> by_tensor_;       // places in shown_
  std::unordered_map<std::string, std::string> tensor_of_;  // what a new input stands for
  std::map<size_t, Pair> pairs_;  // of what is replayed now, by place in shown_
  OwnErrors times_;
  int64_t proven_ = 0;               // tensors whose operators were fed with golden's inputs
  std::vector<std::string> unlike_;  // ... and gave something else than golden
  std::optional<Error> problem_;     // the first part that could not be run
};

}  // namespace

Result<OwnErrors> measure_own_errors(const GoldenModel& golden, const Session& session,
                                     std::span<const RowId> ids, result::Run& run,
                                     const RunContext& context) {
  return Measurement(golden, session, ids, run).measure(context);
}

}  // namespace plumb::replay
