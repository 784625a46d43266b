// SPDX-License-Identifier: Apache-2.0
//
// The sums of a pair by definition, in plain loops, and the tensors of the tables in
// tests/data/metrics.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "json_file.h"
#include "metrics/decoded_pairs.h"
#include "metrics/metric.h"
#include "tensor/encode.h"

namespace plumb::metrics {

struct Tensor {
  DType dtype = DType::kFloat32;
  std::vector<std::byte> bytes;
  int64_t count() const { return std::ssize(bytes) * 8 / bits_of(dtype); }
};

inline PairPiece piece_of(const Tensor& target, const Tensor& golden) {
  return {target.dtype, target.bytes.data(), golden.dtype, golden.bytes.data(), target.count()};
}

template <class T>
Tensor tensor_of(DType dtype, const std::vector<T>& values) {
  Tensor tensor{dtype, std::vector<std::byte>(values.size() * sizeof(T))};
  std::copy_n(reinterpret_cast<const std::byte*>(values.data()), tensor.bytes.size(),
              tensor.bytes.data());
  return tensor;
}

// {"dtype": "float32", "bytes": "0000803f"}
inline Tensor tensor_of(const nlohmann::json& json) {
  Tensor tensor{*dtype_from_name(json["dtype"].get<std::string>()), {}};
  const auto hex = json["bytes"].get<std::string>();
  for (size_t i = 0; i < hex.size(); i += 2)
    tensor.bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return tensor;
}

inline PairSums sums_of(const std::vector<double>& target, const std::vector<double>& golden) {
  double largest = 0;
  for (size_t i = 0; i < target.size(); ++i)
    if (std::isfinite(target[i]) && std::isfinite(golden[i]))
      largest = std::max({largest, std::fabs(target[i]), std::fabs(golden[i])});
  PairSums s;
  if (largest != 0 && !(largest > 1e-100 && largest < 1e100)) s.exponent = std::ilogb(largest);
  s.has_relative = s.has_shares = true;
  s.count = std::ssize(target);
  for (size_t i = 0; i < target.size(); ++i) {
    const double t = target[i], g = golden[i], d = std::fabs(t - g);
    s.t_nan += std::isnan(t);
    s.t_inf += std::isinf(t);
    s.g_nan += std::isnan(g);
    s.g_inf += std::isinf(g);
    const bool agrees = t == g || (std::isnan(t) && std::isnan(g));
    s.equal += agrees;
    s.rel_below_1e3 += agrees || d < 0.001 * std::fabs(g);
    s.rel_below_5e3 += agrees || d < 0.005 * std::fabs(g);
    if (!(std::isfinite(t) && std::isfinite(g))) {
      s.same_nan += agrees && std::isnan(t);
      s.same_inf += agrees && std::isinf(t);
      s.nan_only_in_target += std::isnan(t) && !std::isnan(g);
      s.nan_only_in_golden += std::isnan(g) && !std::isnan(t);
      s.inf_mismatch += !agrees && !std::isnan(t) && !std::isnan(g);
      continue;
    }
    s.t_min = s.finite == 0 ? t : std::min(s.t_min, t);
    s.t_max = s.finite == 0 ? t : std::max(s.t_max, t);
    s.g_min = s.finite == 0 ? g : std::min(s.g_min, g);
    s.g_max = s.finite == 0 ? g : std::max(s.g_max, g);
    ++s.finite;
    s.abs_max = std::max(s.abs_max, d);
    s.t_zeros += t == 0;
    s.g_zeros += g == 0;
    s.off_at_zero += g == 0 && t != 0;
    s.off_by_half += g != 0 && d > std::fabs(g) / 2;
    if (g != 0) {
      s.rel_max = std::max(s.rel_max, d / std::fabs(g));
      s.rel_sum += d / std::fabs(g);
    }
    const double x = std::ldexp(t, -s.exponent), y = std::ldexp(g, -s.exponent);
    s.t_sum += x;
    s.g_sum += y;
    s.tt += x * x;
    s.gg += y * y;
    s.tg += x * y;
    s.dd += (x - y) * (x - y);
    s.abs_sum += std::fabs(x - y);
    const auto fits = [](double value, auto encode, auto decode) {
      return static_cast<double>(decode(encode(static_cast<float>(value)))) == value;
    };
    s.t_fits_half &= fits(t, half_from_float, float_from_half);
    s.g_fits_half &= fits(g, half_from_float, float_from_half);
    s.t_fits_bfloat16 &= fits(t, bfloat16_from_float, float_from_bfloat16);
    s.g_fits_bfloat16 &= fits(g, bfloat16_from_float, float_from_bfloat16);
  }
  return s;
}

inline PairSums sums_of(const Tensor& target, const Tensor& golden) {
  std::vector<double> t, g;
  for_each_block(piece_of(target, golden), [&](const double* ts, const double* gs, int64_t n) {
    t.insert(t.end(), ts, ts + n);
    g.insert(g.end(), gs, gs + n);
  });
  return sums_of(t, g);
}

inline void add(const PairPiece& piece, TakesBlocks auto& sums) {
  for_each_block(piece, [&](const double* t, const double* g, int64_t n) { sums.add(t, g, n); });
}

// Everything that any metric could want to know.
inline PairFacts facts_of(const Tensor& target, const Tensor& golden) {
  PairFacts facts;
  facts.target_dtype = facts.target_stored = target.dtype;
  facts.golden_dtype = facts.golden_stored = golden.dtype;
  facts.sums = sums_of(target, golden);
  std::vector<const Metric*> all;
  for (const Metric& metric : metrics()) all.push_back(&metric);
  facts.second_pass = {request_for(all, all), facts};
  facts.second_pass.add(piece_of(target, golden), piece_of(target, golden));
  return facts;
}

// The generator of the scripts beside the tables: uniform in [-1, 1), and about normal.
struct Random {
  uint64_t state;
  double uniform() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-52 - 1.0;
  }
  double normal() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum / 2;
  }
};

inline std::vector<float> normal_values(uint64_t seed, int64_t count, double mean = 0) {
  Random random{seed};
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.normal() + mean));
  return values;
}

}  // namespace plumb::metrics
