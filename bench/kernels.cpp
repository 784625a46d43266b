// SPDX-License-Identifier: Apache-2.0
//
// The fused kernel against the machine's own limit: how fast can both tensors merely be read? The
// tensors are far larger than the caches; with two threads each has one half. `items` are element
// pairs, `bytes` what both sides hold.
//
//   bench_kernels [--pairs=N] [options of Google Benchmark]
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string_view>
#include <tuple>
#include <vector>

#include <benchmark/benchmark.h>

#include "metrics/pair_sums.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace {

using namespace plumb;

int64_t pairs = int64_t{16} << 20;  // set by --pairs before anything runs

// Values of N(0, 1) times `scale`; float32 ones of few digits if `widened`, as tools write them
// that widen float16 data.
std::vector<std::byte> make_tensor(DType dtype, float scale, bool widened) {
  const int64_t item = bits_of(dtype) / 8;
  std::vector<std::byte> bytes(static_cast<size_t>(pairs * item));
  std::minstd_rand random(1);
  std::normal_distribution<float> normal;
  std::vector<float> pattern(1 << 16);
  for (float& value : pattern) {
    value = normal(random) * scale;
    if (widened) value = float_from_half(half_from_float(value));
  }
  for (int64_t i = 0; i < pairs; ++i) {
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

// Made once and kept: repetitions are to measure, not to draw random numbers.
const std::byte* tensor(DType dtype, float scale, bool widened) {
  static std::mutex mutex;
  static std::map<std::tuple<DType, float, bool>, std::vector<std::byte>> made;
  const std::lock_guard lock(mutex);
  auto& bytes = made[{dtype, scale, widened}];
  if (bytes.empty()) bytes = make_tensor(dtype, scale, widened);
  return bytes.data();
}

const std::byte* target_tensor(DType dtype, bool widened = false) {
  return tensor(dtype, 1.0F, widened);
}
const std::byte* golden_tensor(DType dtype, bool widened = false) {
  return tensor(dtype, 1.001F, widened);
}

// The share of a thread, in whole pieces.
struct Share {
  int64_t begin, end;
};
Share share_of(const benchmark::State& state) {
  const int64_t each = pairs / state.threads();
  return {each * state.thread_index(), each * (state.thread_index() + 1)};
}

// Eight sums in registers, of what any machine loads at once: nothing but memory limits the loop.
using Words = uint64_t __attribute__((vector_size(16), aligned(8)));

Words sum_of(const Words* at, const Words* end) {
  Words a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
  for (; at != end; at += 8) {
    a += at[0];
    b += at[1];
    c += at[2];
    d += at[3];
    e += at[4];
    f += at[5];
    g += at[6];
    h += at[7];
  }
  return a + b + c + d + e + f + g + h;
}

void plain_read(benchmark::State& state) {
  const auto [begin, end] = share_of(state);
  const std::byte* sides[] = {target_tensor(DType::kFloat32), golden_tensor(DType::kFloat32)};
  for (auto round : state) {
    for (const std::byte* side : sides) {
      Words sum = sum_of(reinterpret_cast<const Words*>(side + begin * 4),
                         reinterpret_cast<const Words*>(side + end * 4));
      benchmark::DoNotOptimize(sum);
    }
  }
  state.SetBytesProcessed(state.iterations() * (end - begin) * 8);
}

enum class Special { kNone, kRelative, kWidened };

void pair(benchmark::State& state, DType target_dtype, DType golden_dtype, Special special) {
  const auto [begin, end] = share_of(state);
  const std::byte* target = target_tensor(target_dtype, special == Special::kWidened);
  const std::byte* golden = golden_tensor(golden_dtype, special == Special::kWidened);
  const int64_t t_item = bits_of(target_dtype) / 8, g_item = bits_of(golden_dtype) / 8;
  for (auto round : state) {
    metrics::PairSums all;
    for (int64_t i = begin; i < end; i += metrics::kPairPiece)
      all.append(metrics::pair_sums({target_dtype, target + i * t_item, golden_dtype,
                                     golden + i * g_item, std::min(metrics::kPairPiece, end - i)},
                                    {.relative = special == Special::kRelative}));
    benchmark::DoNotOptimize(all);
  }
  state.SetItemsProcessed(state.iterations() * (end - begin));
  state.SetBytesProcessed(state.iterations() * (end - begin) * (t_item + g_item));
}

void add_benchmarks() {
  std::vector<benchmark::internal::Benchmark*> all;
  all.push_back(benchmark::RegisterBenchmark("plain_read", plain_read));
  const auto add = [&](const char* name, DType target, DType golden, Special special = {}) {
    all.push_back(benchmark::RegisterBenchmark(name, pair, target, golden, special));
  };
  using enum DType;
  add("pair/f32_f32", kFloat32, kFloat32);
  add("pair/f32_f32_relative", kFloat32, kFloat32, Special::kRelative);
  add("pair/f32_f32_widened", kFloat32, kFloat32, Special::kWidened);
  add("pair/f32_f16", kFloat32, kFloat16);
  add("pair/f16_f16", kFloat16, kFloat16);
  add("pair/f32_bf16", kFloat32, kBFloat16);
  add("pair/f64_f64", kFloat64, kFloat64);
  add("pair/int8_int8", kInt8, kInt8);
  add("pair/int32_int32", kInt32, kInt32);
  add("pair/int64_int64", kInt64, kInt64);
  for (auto* each : all) each->Threads(1)->Threads(2)->UseRealTime()->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  constexpr std::string_view kPairs = "--pairs=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(kPairs)) {
    const std::string_view text = std::string_view(argv[1]).substr(kPairs.size());
    const auto read = std::from_chars(text.data(), text.data() + text.size(), pairs);
    const bool is_number = read.ec == std::errc() && read.ptr == text.data() + text.size();
    // Whole vectors of plain_read in each half.
    if (is_number && pairs >= 64 && pairs % 64 == 0) argv[1] = argv[0], ++argv, --argc;
  }
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  add_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
}
