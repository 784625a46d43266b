// SPDX-License-Identifier: Apache-2.0
#include "quant/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "graph/scores.h"

namespace plumb::quant {
namespace {

constexpr int64_t kMostKept = int64_t{1} << 30;  // bytes of samples

// Tensors of the model's surface that are its scores.
std::vector<std::string> scores_of(const Lab& lab) {
  const graph::Graph& graph = lab.model().graph();
  const auto by_name = graph.by_name();
  std::vector<std::string> names;
  for (const graph::Edge& output : graph.outputs) {
    const graph::Edge edge = graph::scores_behind(graph, output).value_or(output);
    const auto producer = by_name.find(edge.producer);
    if (producer == by_name.end()) continue;
    const std::string& name = producer->second->outputs[static_cast<size_t>(edge.output)].name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

struct Largest {
  size_t place = 0;
  size_t count = 0;  // of numbers as large
};
Largest largest_place_of(const std::vector<float>& values) {
  Largest found;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && values[i] < values[found.place]) continue;
    if (i > 0 && values[i] == values[found.place]) {
      ++found.count;
      continue;
    }
    found = {i, 1};
  }
  return found;
}

}  // namespace

double Score::sqnr_db() const {
  return distance() == 0 ? std::numeric_limits<double>::infinity() : -20 * std::log10(distance());
}

void add_to(Score& score, const Given& target, const Given& golden, std::optional<int64_t> label) {
  double noise = 0, signal = 0, own = 0, product = 0;
  bool agrees = true, is_tied = false;
  for (const auto& [name, wanted] : golden) {
    const auto found = target.find(name);
    if (found == target.end() || found->second.size() != wanted.size()) {
      noise = std::numeric_limits<double>::infinity();
      continue;
    }
    const std::vector<float>& values = found->second;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double t = values[i], g = wanted[i];
      noise += (t - g) * (t - g);
      signal += g * g;
      own += t * t;
      product += t * g;
    }
    const Largest here = largest_place_of(values), there = largest_place_of(wanted);
    agrees &= here.place == there.place;
    is_tied |= here.count > 1 && there.count == 1;
    if (!label) continue;
    ++score.labelled;
    score.right += std::cmp_equal(here.place, *label);
    score.golden_right += std::cmp_equal(there.place, *label);
  }
  const double distance = noise == 0 ? 0 : std::sqrt(noise / signal);
  const double cosine = noise == 0 ? 1 : product / std::sqrt(own) / std::sqrt(signal);
  ++score.samples;
  score.agree += agrees;
  score.ties += is_tied;
  score.distance_sum += std::isfinite(distance) ? distance : 1e30;
  score.cosine_sum += std::isfinite(cosine) ? cosine : 0;
  score.least_cosine = std::min(score.least_cosine, std::isfinite(cosine) ? cosine : 0);
}

Result<std::unique_ptr<Trials>> Trials::open(const Lab& lab, input::Samples& samples, int threads,
                                             RunContext& context) {
  std::unique_ptr<Trials> made(new Trials(lab, threads));
  made->outputs_ = scores_of(lab);
  made->idle_.push_back(lab.model().shared_engine());
  int64_t bytes = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (context.cancelled) return Error{"interrupted", samples.name(i), "run the command again"};
    auto sample = samples.load(i);
    if (!sample) return sample.error();
    for (const auto& [name, tensor] : sample->inputs) bytes += std::ssize(tensor.bytes);
    if (bytes > kMostKept)
      return Error{"the samples take more memory than they may",
                   fmt::format("{} of {} samples take {} MiB", i + 1, samples.size(), bytes >> 20),
                   "use fewer of them: --data-size 16"};
    made->inputs_.push_back(std::move(sample->inputs));
  }
  made->golden_.resize(made->inputs_.size());
  Given now;
  auto ran = made->run(
      lab.prepared().file, made->outputs_,
      [&](size_t sample) { made->golden_[sample] = std::exchange(now, {}); },
      [&](const std::string& tensor, std::span<const float> values, const Shape&) {
        now[tensor].assign(values.begin(), values.end());
      },
      context);
  if (!ran) return ran.error();
  return made;
}

Result<void> Trials::set_labels(std::vector<std::optional<int64_t>> labels) {
  if (outputs_.size() != 1)
    return Error{"labels are of models with one output", fmt::format("{} outputs", outputs_.size()),
                 "measure by --target agree:0.98 or sqnr:30"};
  for (size_t i = 0; i < golden_.size(); ++i) {
    const size_t classes = golden_[i].begin()->second.size();
    if (labels[i] && (*labels[i] < 0 || std::cmp_greater_equal(*labels[i], classes)))
      return Error{"the labels do not fit the model",
                   fmt::format("sample {} is of class {}, the model's are 0 to {}", i, *labels[i],
                               classes - 1),
                   "classes are counted from 0; check the file after --labels"};
  }
  labels_ = std::move(labels);
  return {};
}

Result<void> Trials::run(const std::string& onnx, std::span<const std::string> tensors,
                         const std::function<void(size_t sample)>& end, const Take& take,
                         RunContext& context) {
  auto engine = take_engine();
  if (!engine) return engine.error();
  const auto run_all = [&]() -> Result<void> {
    engine::SessionOptions options;
    options.threads = threads_;
    for (const std::string& tensor : tensors) options.captured.push_back({{}, 0, tensor});
    engine::Model model = lab_.model().view();
    model.graph = as_bytes(onnx);
    auto session = (*engine)->open(model, options);
    if (!session) return session.error();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (context.cancelled) return Error{"interrupted", "", "run the command again"};
      auto ran = (*session)->run(inputs_[i], [&](const engine::Output& output) -> Result<void> {
        if (!output.tensor || output.tensor->dtype != DType::kFloat32) return {};
        const Bytes bytes = output.tensor->bytes;
        take(output.port.name,
             {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)},
             output.tensor->shape);
        return {};
      });
      if (!ran) return ran.error();
      end(i);
      context.advance(1);
    }
    return {};
  };
  auto done = run_all();
  give_back(std::move(*engine));
  return done;
}

Result<Score> Trials::score(const std::string& onnx, RunContext& context) {
  Score score;
  Given now;
  auto ran = run(
      onnx, outputs_,
      [&](size_t sample) {
        add_to(score, now, golden_[sample], labels_.empty() ? std::nullopt : labels_[sample]);
        now.clear();
      },
      [&](const std::string& tensor, std::span<const float> values, const Shape&) {
        now[tensor].assign(values.begin(), values.end());
      },
      context);
  if (!ran) return ran.error();
  return score;
}

Result<std::shared_ptr<engine::Engine>> Trials::take_engine() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto engine = std::move(idle_.back());
      idle_.pop_back();
      return engine;
    }
  }
  return engine::load_engine("onnxruntime", lab_.limits());
}

void Trials::give_back(std::shared_ptr<engine::Engine> engine) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(engine));
}

}  // namespace plumb::quant
