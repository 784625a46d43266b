// SPDX-License-Identifier: Apache-2.0
#include "quant/calibrate.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <unordered_map>

#include <fmt/format.h>
#include <tbb/parallel_pipeline.h>

#include "base/parallel.h"
#include "base/threads.h"

namespace plumb::quant {
namespace {

using Clock = std::chrono::steady_clock;

// What a session hands out at a time; the rest is asked of further sessions.
constexpr int64_t kMostAtOnce = int64_t{1} << 28;  // bytes

struct HeldTensor {
  engine::TensorView tensor;
  std::shared_ptr<const void> owner;
};

// A sample on its way.
struct Turn {
  size_t place = 0;
  engine::Inputs inputs;
  std::unordered_map<std::string, HeldTensor> tensors;
  std::optional<Error> problem;
};
using TurnPtr = std::shared_ptr<Turn>;

class Calibrator {
 public:
  Calibrator(const Plan& plan, input::Samples& samples, const CalibrationOptions& options,
             RunContext& context)
      : plan_(plan), samples_(samples), options_(options), context_(context) {
    made_.seen.resize(plan.quantizers.size());
    if (options.with_sample_ranges) made_.sample_ranges.resize(plan.quantizers.size());
  }

  // As many sessions as it takes for none to hand out too much.
  Result<void> open(engine::Engine& engine, const engine::Model& model) {
    std::vector<std::string> wanted;
    for (const Quantizer& quantizer : plan_.quantizers) {
      if (!quantizer.is_observed()) continue;
      for (const std::string& tensor : quantizer.tensors)
        if (std::none_of(model.inputs.begin(), model.inputs.end(),
                         [&](const engine::Port& port) { return port.name == tensor; }))
          wanted.push_back(tensor);
    }
    for (size_t first = 0, count = wanted.size(); first < wanted.size();) {
      count = std::min(count, wanted.size() - first);
      engine::SessionOptions session_options;
      session_options.threads = options_.threads;
      for (size_t i = first; i < first + count; ++i)
        session_options.captured.push_back({{}, 0, wanted[i]});
      auto session = engine.open(model, session_options);
      if (!session) return session.error();
      if (count > 1 && bytes_of((*session)->outputs()) > kMostAtOnce) {
        count = (count + 1) / 2;
        continue;
      }
      sessions_.push_back(std::move(*session));
      first += count;
    }
    return {};
  }

  Result<Calibration> run() {
    size_t next = 0;
    std::optional<Error> problem;
    std::atomic<bool> has_problem{false};
    const auto load_next = [&](tbb::flow_control& flow) {
      if (next == samples_.size() || has_problem || context_.cancelled) {
        flow.stop();
        return TurnPtr();
      }
      return load(next++);
    };
    const auto run_turn = [&](const TurnPtr& turn) {
      if (!turn->problem) run(*turn);
      return turn;
    };
    const auto observe_turn = [&](const TurnPtr& turn) {
      if (!turn->problem) observe(*turn);
      if (turn->problem && !has_problem.exchange(true)) problem = std::move(turn->problem);
      made_.samples.push_back(samples_.name(turn->place));
      context_.advance(1);
    };
    on_threads_of(context_, [&] {
      constexpr auto kInOrder = tbb::filter_mode::serial_in_order;
      tbb::parallel_pipeline(3, tbb::make_filter<void, TurnPtr>(kInOrder, load_next) &
                                    tbb::make_filter<TurnPtr, TurnPtr>(kInOrder, run_turn) &
                                    tbb::make_filter<TurnPtr, void>(kInOrder, observe_turn));
    });
    if (context_.cancelled) return Error{"interrupted", "calibration", "run the command again"};
    if (problem) return std::move(*problem);
    return std::move(made_);
  }

 private:
  static int64_t bytes_of(const std::vector<engine::Port>& ports) {
    int64_t sum = 0;
    for (const engine::Port& port : ports) {
      int64_t count = 1;
      for (const int64_t size : port.shape)
        if (size > 1) count = checked_mul(count, size).value_or(kMostAtOnce);
      sum = checked_add(sum, checked_mul(count, 4).value_or(kMostAtOnce)).value_or(kMostAtOnce + 1);
    }
    return sum;
  }

  TurnPtr load(size_t place) {
    auto turn = std::make_shared<Turn>();
    turn->place = place;
    auto sample = samples_.load(place);
    if (sample)
      turn->inputs = std::move(sample->inputs);
    else
      turn->problem = std::move(sample.error());
    return turn;
  }

  void run(Turn& turn) {
    const auto start = Clock::now();
    for (const auto& session : sessions_) {
      auto ran = session->run(turn.inputs, [&](const engine::Output& output) -> Result<void> {
        if (output.tensor) turn.tensors[output.port.name] = {*output.tensor, output.owner};
        return {};
      });
      if (!ran) {
        turn.problem = std::move(ran.error()).in(samples_.name(turn.place));
        break;
      }
    }
    made_.run_s += std::chrono::duration<double>(Clock::now() - start).count();
  }

  // Each tensor by one thread, so that threads change no sum.
  void observe(Turn& turn) {
    std::vector<std::string> not_finite(plan_.quantizers.size());
    for_each_index(plan_.quantizers.size(), [&](size_t i) {
      const Quantizer& quantizer = plan_.quantizers[i];
      if (!quantizer.is_observed()) return;
      SampleObserver sample(options_.with_histograms);
      Observation& seen = made_.seen[i];
      for (const std::string& tensor : quantizer.tensors) {
        const auto values = floats_in(turn, tensor);
        sample.add(values, seen);
        if (seen.not_finite > 0 && not_finite[i].empty()) not_finite[i] = tensor;
      }
      const auto range = sample.end(seen);
      if (range && options_.with_sample_ranges) made_.sample_ranges[i].push_back(*range);
    });
    for (size_t i = 0; i < not_finite.size() && !turn.problem; ++i)
      if (!not_finite[i].empty())
        turn.problem =
            Error{"a tensor is not finite in the float model",
                  fmt::format("{} of sample {}: {} values are NaN or infinite", not_finite[i],
                              samples_.name(turn.place), made_.seen[i].not_finite),
                  "leave the sample out, or check how it is pre-processed"};
    turn.tensors.clear();
  }

  static std::span<const float> floats_in(const Turn& turn, const std::string& tensor) {
    Bytes bytes;
    if (const auto given = turn.tensors.find(tensor); given != turn.tensors.end())
      bytes = given->second.tensor.bytes;
    else if (const auto fed = turn.inputs.find(tensor); fed != turn.inputs.end())
      bytes = fed->second.bytes;
    return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  }

  const Plan& plan_;
  input::Samples& samples_;
  const CalibrationOptions& options_;
  RunContext& context_;
  std::vector<std::unique_ptr<engine::Session>> sessions_;
  Calibration made_;
};

}  // namespace

Result<Calibration> calibrate(engine::Engine& engine, const engine::Model& model, const Plan& plan,
                              input::Samples& samples, const CalibrationOptions& options,
                              RunContext& context) {
  Calibrator calibrator(plan, samples, options, context);
  if (auto opened = calibrator.open(engine, model); !opened) return opened.error();
  return calibrator.run();
}

}  // namespace plumb::quant
