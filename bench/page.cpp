// SPDX-License-Identifier: Apache-2.0
//
// How long it takes to write the report page of large runs, and how large it becomes: a made-up
// transformer whose numbers, histograms and heat maps are noise, so that nothing of it packs well.
//
//   bench_page [options of Google Benchmark]
#include <memory>
#include <random>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "plumb/metric.h"
#include "report/writer.h"
#include "result/details.h"

namespace {

using namespace plumb;

class Maker {
 public:
  result::Run run(int64_t operators) {
    result::Run made;
    made.command = "compare";
    made.profile = "standard";
    for (const metrics::Metric& metric : metrics::metrics()) made.metrics.push_back(&metric);
    auto network = std::make_shared<result::Network>();
    for (int64_t i = 0; i < operators; ++i) {
      const std::string name = fmt::format("model/layers.{}/{}", i / 14, kKinds[i % 14]);
      network->nodes.push_back({name, std::string(kKinds[i % 14]), {}, i + 1 == operators});
      if (i > 0) network->edges.push_back({i - 1, 0, i, 0});
      if (i >= 6 && i % 7 == 6) network->edges.push_back({i - 6, 0, i, 1});
      made.rows.push_back(row(made, name, i));
    }
    made.network = std::move(network);
    result::limit_details(made);
    return made;
  }

 private:
  static constexpr const char* kKinds[] = {"ln1",     "q",       "k",    "v",   "scores",
                                           "softmax", "context", "out",  "add", "ln2",
                                           "up",      "gelu",    "down", "res"};

  result::Row row(const result::Run& run, const std::string& name, int64_t i) {
    result::Row row;
    row.index = row.node = i;
    row.target = {name,
                  kKinds[i % 14],
                  "output:0",
                  "float16",
                  Shape{1, 197, 768},
                  "ND",
                  fmt::format("{}.{}.output.0.bin", name, random_())};
    row.golden = row.target;
    row.golden->dtype = "float32";
    row.pairing_rule = "name";
    const bool fails = i % 3 == 0;
    row.verdict = fails ? result::Verdict::kFail : result::Verdict::kPass;
    if (fails) {
      row.reasons = {"limit:cosine", "limit:rel_euclid"};
      row.message =
          fmt::format("cosine {} is below 0.999, rel_euclid {} is above 0.03", noise(), noise());
    }
    for (size_t k = 0; k < run.metrics.size(); ++k)
      row.values.push_back(metrics::Value::of(noise()));
    row.details = details();
    return row;
  }

  std::shared_ptr<const result::Details> details() {
    auto made = std::make_shared<result::Details>();
    metrics::PairHistogram& histogram = made->histogram.emplace();
    histogram = {-4, 4, {}, {}};
    for (int64_t k = 0; k < metrics::kMostBins; ++k) {
      histogram.target.push_back(below(20000));
      histogram.golden.push_back(below(20000));
    }
    made->channels = metrics::ChannelErrors{2, 768, 3, {}, {}};
    for (int64_t k = 0; k < metrics::kMostChannels; ++k) {
      made->channels->error.push_back(static_cast<double>(below(1000)) / 1e5);
      made->channels->golden.push_back(static_cast<double>(below(1000)) / 1e2);
    }
    made->heat = metrics::HeatMap{metrics::kMostHeatCells, metrics::kMostHeatCells, noise(), {}};
    for (int64_t k = 0; k < metrics::kMostHeatCells * metrics::kMostHeatCells; ++k)
      made->heat->levels.push_back(static_cast<uint8_t>(below(metrics::kHeatLevels + 1)));
    for (int64_t k = 0; k < metrics::kMostWorst; ++k)
      made->worst.push_back({{0, below(197), below(768)}, noise(), noise()});
    return made;
  }

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  double noise() { return static_cast<double>(static_cast<float>(random_()) / 1.8446744e19F); }

  std::mt19937_64 random_{18};
};

void written(benchmark::State& state) {
  const result::Run run = Maker().run(state.range(0));
  const report::Writer* const writer = *report::writer_for("page.html");
  size_t bytes = 0;
  for (auto _ : state) {
    bytes = 0;
    writer->write(run, [&](std::string_view text) { bytes += text.size(); });
  }
  state.counters["MB"] = static_cast<double>(bytes) / 1e6;
}
BENCHMARK(written)
    ->Arg(500)
    ->Arg(5000)
    ->Arg(20000)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

}  // namespace

BENCHMARK_MAIN();
