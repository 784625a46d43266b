// SPDX-License-Identifier: Apache-2.0
//
// The fused kernel against the machine's own limit: how fast can both tensors merely be read? Each
// thread works on its own pair of 128 MB and 128 MB, far beyond the caches. `items` are element
// pairs, `bytes` what both sides hold.
#include <cstring>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "metrics/pair_sums.h"
#include "tensor/encode.h"

namespace {

using namespace plumb;

constexpr int64_t kPairs = int64_t{32} << 20;

// Values of N(0, 1); the golden side is off by a relative 1e-3.
std::vector<std::byte> make_tensor(DType dtype, unsigned seed, float scale) {
  const int64_t item = bits_of(dtype) / 8;
  std::vector<std::byte> bytes(static_cast<size_t>(kPairs * item));
  std::minstd_rand random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> pattern(1 << 16);
  for (float& value : pattern) value = normal(random) * scale;
  for (int64_t i = 0; i < kPairs; ++i) {
    const float value = pattern[static_cast<size_t>(i) % pattern.size()];
    std::byte* at = bytes.data() + i * item;
    const auto put = [&](auto x) { std::memcpy(at, &x, sizeof x); };
    switch (dtype) {
      case DType::kFloat16: put(half_from_float(value)); break;
      case DType::kBFloat16: put(bfloat16_from_float(value)); break;
      case DType::kFloat64: put(static_cast<double>(value) * 1.0000001); break;
      case DType::kInt8: put(static_cast<int8_t>(value * 30)); break;
      case DType::kInt32: put(static_cast<int32_t>(value * 1e6F)); break;
      case DType::kInt64: put(static_cast<int64_t>(value * 1e6F)); break;
      default: put(value);
    }
  }
  return bytes;
}

void plain_read(benchmark::State& state) {
  const auto target = make_tensor(DType::kFloat32, 1, 1.0F);
  const auto golden = make_tensor(DType::kFloat32, 1, 1.001F);
  for (auto round : state) {
    for (const auto* side : {&target, &golden}) {
      uint64_t sums[8] = {};
      const auto* words = reinterpret_cast<const uint64_t*>(side->data());
      for (size_t i = 0; i < side->size() / 8; i += 8)
        for (size_t k = 0; k < 8; ++k) sums[k] += words[i + k];
      benchmark::DoNotOptimize(sums);
    }
  }
  state.SetBytesProcessed(state.iterations() * 2 * std::ssize(target));
}
BENCHMARK(plain_read)->Threads(1)->Threads(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void pair(benchmark::State& state, DType target_dtype, DType golden_dtype, bool relative) {
  const auto target = make_tensor(target_dtype, 1, 1.0F);
  const auto golden = make_tensor(golden_dtype, 1, 1.001F);
  const int64_t t_item = bits_of(target_dtype) / 8, g_item = bits_of(golden_dtype) / 8;
  for (auto round : state) {
    metrics::PairSums all;
    for (int64_t i = 0; i < kPairs; i += metrics::kPairPiece)
      all.append(metrics::pair_sums({target_dtype, target.data() + i * t_item, golden_dtype,
                                     golden.data() + i * g_item, metrics::kPairPiece},
                                    {relative}));
    benchmark::DoNotOptimize(all);
  }
  state.SetItemsProcessed(state.iterations() * kPairs);
  state.SetBytesProcessed(state.iterations() * (std::ssize(target) + std::ssize(golden)));
}
#define PLUMB_PAIR(name, target, golden, relative)                      \
  BENCHMARK_CAPTURE(pair, name, DType::target, DType::golden, relative) \
      ->Threads(1)                                                      \
      ->Threads(2)                                                      \
      ->UseRealTime()                                                   \
      ->Unit(benchmark::kMillisecond)
PLUMB_PAIR(f32_f32, kFloat32, kFloat32, false);
PLUMB_PAIR(f32_f32_relative, kFloat32, kFloat32, true);
PLUMB_PAIR(f32_f16, kFloat32, kFloat16, false);
PLUMB_PAIR(f16_f16, kFloat16, kFloat16, false);
PLUMB_PAIR(f32_bf16, kFloat32, kBFloat16, false);
PLUMB_PAIR(f64_f64, kFloat64, kFloat64, false);
PLUMB_PAIR(int8_int8, kInt8, kInt8, false);
PLUMB_PAIR(int32_int32, kInt32, kInt32, false);
PLUMB_PAIR(int64_int64, kInt64, kInt64, false);

}  // namespace

BENCHMARK_MAIN();
