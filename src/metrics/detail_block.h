// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the second pass, over blocks of pairs. A pair with a value that is not finite counts
// as nothing.
#pragma once

#include <cstdint>

namespace plumb::metrics {

inline constexpr int64_t kDetailBlock = 512;  // at most this many pairs at a time

// Sums of deviations from two means.
struct CentredBlock {
  double t_sum = 0, g_sum = 0, tt = 0, gg = 0, tg = 0;
};
CentredBlock centred_block(const double* target, const double* golden, int64_t count, double scale,
                           double t_mean, double g_mean);

// The most values of float32 that lie between two of a pair, each rounded to float32 first
// (one step beyond the largest if it lies beyond).
int64_t float_steps_block(const double* target, const double* golden, int64_t count);
int64_t float_steps_block(const float* target, const float* golden, int64_t count);

// A value lies at (value * scale - min) * steps, between 0 and `last` if it is not beyond.
struct StepMap {
  double scale, min, steps, last;
};
// Counts in `surplus` how many values of target are too many at a point, the nearest to each.
// Returns the sum of steps that target's values lie beyond.
double transport_block(const double* target, const double* golden, int64_t count,
                       const StepMap& map, int64_t* surplus);
double transport_block(const float* target, const float* golden, int64_t count, const StepMap& map,
                       int64_t* surplus);

// How many values are not above `low` or not below `high`; NaN is neither.
int64_t at_limit_block(const double* values, int64_t count, double low, double high);

// The definitions, one pair at a time.
namespace reference {
CentredBlock centred_block(const double* target, const double* golden, int64_t count, double scale,
                           double t_mean, double g_mean);
int64_t float_steps_block(const double* target, const double* golden, int64_t count);
int64_t float_steps_block(const float* target, const float* golden, int64_t count);
double transport_block(const double* target, const double* golden, int64_t count,
                       const StepMap& map, int64_t* surplus);
double transport_block(const float* target, const float* golden, int64_t count, const StepMap& map,
                       int64_t* surplus);
int64_t at_limit_block(const double* values, int64_t count, double low, double high);
}  // namespace reference

}  // namespace plumb::metrics
