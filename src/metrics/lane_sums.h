// SPDX-License-Identifier: Apache-2.0
//
// Sums over kLanes lanes by vectors, whatever their width. Included by the kernels once for every
// instruction set, after Highway's headers.
#if defined(PLUMB_LANE_SUMS) == defined(HWY_TARGET_TOGGLE)  // once for each of them
#ifdef PLUMB_LANE_SUMS
#undef PLUMB_LANE_SUMS
#else
#define PLUMB_LANE_SUMS
#endif

#include <hwy/highway.h>

#include "metrics/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::metrics::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kLanes is a whole number of vectors on every target.
using Doubles = hn::CappedTag<double, kLanes>;
using Vec = hn::Vec<Doubles>;
constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(Doubles()));
constexpr int64_t kVectors = kLanes / kWidth;

template <class T>
HWY_INLINE Vec load(const T* from) {
  if constexpr (sizeof(T) == 4) {
    return hn::PromoteTo(Doubles(), hn::LoadU(hn::Rebind<float, Doubles>(), from));
  } else {
    return hn::LoadU(Doubles(), from);
  }
}

HWY_INLINE Vec set(double value) { return hn::Set(Doubles(), value); }

HWY_INLINE hn::Mask<Doubles> both_are_finite(Vec t, Vec g) {
  return hn::And(hn::Le(hn::Abs(t), set(kLargestFinite)), hn::Le(hn::Abs(g), set(kLargestFinite)));
}

struct Sum {
  Vec vectors[kVectors];
  HWY_INLINE Sum() {
    for (Vec& v : vectors) v = hn::Zero(Doubles());
  }
  HWY_INLINE void add(int64_t vector, Vec terms) {
    vectors[vector] = hn::Add(vectors[vector], terms);
  }
  // Adds `term(i)` of the last elements, which do not fill the lanes.
  template <class Term>
  HWY_INLINE double fold(int64_t tail, Term&& term) const {
    HWY_ALIGN double lanes[kLanes];
    for (int64_t v = 0; v < kVectors; ++v) hn::Store(vectors[v], Doubles(), lanes + v * kWidth);
    for (int64_t i = 0; i < tail; ++i) lanes[i] += term(i);
    return fold_lanes(lanes);
  }
};

}  // namespace plumb::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
