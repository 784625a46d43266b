// SPDX-License-Identifier: Apache-2.0
//
// How long it takes to pair the operators of large graphs: planted networks of the tests, with
// recorded origins and without. Time per operator should not grow with their number.
//
//   bench_matching [options of Google Benchmark]
#include <benchmark/benchmark.h>

#include "pair/matcher.h"
#include "pair/planted.h"
#include "pair/structure.h"

namespace {

using namespace plumb;

void pair_all(const graph::Graph& converted, benchmark::State& state) {
  const pair::Matcher matcher(converted);
  int64_t paired = 0;
  for (const graph::Operator& op : converted.operators) {
    for (int64_t k = 0; k < std::ssize(op.outputs); ++k)
      paired += matcher.output(op, k).golden.has_value();
    for (int64_t k = 0; k < std::ssize(op.inputs); ++k)
      paired += matcher.input(op, k).golden.has_value();
  }
  state.counters["paired"] = static_cast<double>(paired);
}

void recorded_origins(benchmark::State& state) {
  const match::Planted planted =
      match::Planter(1, static_cast<size_t>(state.range(0)), true).take();
  for (auto _ : state) pair_all(planted.converted, state);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(recorded_origins)->RangeMultiplier(10)->Range(500, 50000)->Complexity();

void names_and_structure(benchmark::State& state) {
  const match::Planted planted =
      match::Planter(1, static_cast<size_t>(state.range(0)), false).take();
  for (auto _ : state) {
    graph::Graph converted = planted.converted, original = planted.original;
    pair::align_graphs(converted, original);
    pair_all(converted, state);
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(names_and_structure)->RangeMultiplier(10)->Range(500, 50000)->Complexity();

}  // namespace

BENCHMARK_MAIN();
