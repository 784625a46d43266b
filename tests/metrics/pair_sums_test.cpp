// SPDX-License-Identifier: Apache-2.0
#include "metrics/pair_sums.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "metrics/non_finite_testing.h"
#include "metrics/sums_of.h"
#include "sample_of.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::metrics {
namespace {

Tensor encode(DType dtype, const std::vector<double>& values) {
  std::vector<float> floats(values.begin(), values.end());
  std::vector<uint16_t> codes;
  switch (dtype) {
    case DType::kFloat64: return tensor_of(dtype, values);
    case DType::kFloat32: return tensor_of(dtype, floats);
    case DType::kFloat16:
      for (float value : floats) codes.push_back(half_from_float(value));
      return tensor_of(dtype, codes);
    case DType::kBFloat16:
      for (float value : floats) codes.push_back(bfloat16_from_float(value));
      return tensor_of(dtype, codes);
    case DType::kInt8: {
      std::vector<int8_t> ints;
      for (float value : floats)
        ints.push_back(std::isfinite(value) ? static_cast<int8_t>(std::fmod(value * 10.0, 100))
                                            : 0);
      return tensor_of(dtype, ints);
    }
    default: {
      std::vector<int32_t> ints;
      for (float value : floats)
        ints.push_back(std::isfinite(value) ? static_cast<int32_t>(std::fmod(value * 1e4, 1e6))
                                            : 0);
      return tensor_of(DType::kInt32, ints);
    }
  }
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

void expect_same(const PairSums& a, const PairSums& b) {
#define SAME(member) EXPECT_EQ(a.member, b.member) << #member
#define SAME_BITS(member) \
  EXPECT_TRUE(same_bits(a.member, b.member)) << #member << " " << a.member << " " << b.member
  SAME(count);
  SAME(finite);
  SAME(same_nan);
  SAME(same_inf);
  SAME(nan_only_in_target);
  SAME(nan_only_in_golden);
  SAME(inf_mismatch);
  SAME(exponent);
  SAME(off_at_zero);
  SAME(off_by_half);
  SAME(equal);
  SAME(t_zeros);
  SAME(g_zeros);
  SAME(t_nan);
  SAME(t_inf);
  SAME(g_nan);
  SAME(g_inf);
  SAME(t_fits_half);
  SAME(g_fits_half);
  SAME(t_fits_bfloat16);
  SAME(g_fits_bfloat16);
  SAME(has_relative);
  SAME(has_shares);
  SAME(first_beyond);
  SAME(rel_below_1e3);
  SAME(rel_below_5e3);
  SAME_BITS(t_sum);
  SAME_BITS(g_sum);
  SAME_BITS(tt);
  SAME_BITS(gg);
  SAME_BITS(tg);
  SAME_BITS(dd);
  SAME_BITS(abs_sum);
  SAME_BITS(abs_max);
  SAME_BITS(rel_max);
  SAME_BITS(rel_sum);
  SAME_BITS(t_min);
  SAME_BITS(t_max);
  SAME_BITS(g_min);
  SAME_BITS(g_max);
#undef SAME
#undef SAME_BITS
}

// Data with what breaks kernels: zeros of both signs, subnormals, ties at the counting limits, and
// now and then something that is not finite.
std::vector<double> hostile_values(size_t count, unsigned seed, bool finite) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> kind(0, 60);
  std::vector<double> values(count);
  for (double& value : values) {
    switch (kind(random)) {
      case 0: value = 0.0; break;
      case 1: value = -0.0; break;
      case 2: value = 1e-45 * static_cast<double>(random() % 8); break;
      case 3: value = 3e38 * normal(random); break;
      case 4: value = 1e-30 * normal(random); break;
      case 5: value = finite ? 1 : (random() % 2 != 0 ? kInf : -kInf); break;
      case 6: value = finite ? 2 : kNan; break;
      case 7: value = 1000; break;
      default: value = normal(random);
    }
    if (finite && std::fabs(value) > 3e38) value = 3e38;
  }
  return values;
}

// Golden values with errors around the limits of the counts.
std::vector<double> disturbed(const std::vector<double>& values, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> others = values;
  for (double& value : others) {
    switch (random() % 8) {
      case 0: break;
      case 1: value *= 1.001; break;
      case 2: value = static_cast<float>(value) * 1.005F; break;
      case 3: value += 1e-3; break;
      case 4: value = -value; break;
      default: value *= 1 + 1e-4 * (static_cast<double>(random() % 1000) / 500 - 1);
    }
  }
  return others;
}

// Lengths around every vector width and block, so that the tail is always exercised.
const size_t kLengths[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 1000, 1023, 1024, 1025, 5000};

TEST(PairSums, FastKernelAgreesWithReference) {
  const DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                          DType::kFloat64, DType::kInt8,    DType::kInt32};
  unsigned seed = 1;
  for (size_t n : kLengths)
    for (DType t : kTypes)
      for (DType g : kTypes)
        for (bool finite : {true, false}) {
          SCOPED_TRACE(testing::Message() << n << " " << name_of(t) << " " << name_of(g));
          const auto values = hostile_values(n, ++seed, finite);
          const Tensor golden = encode(g, values), target = encode(t, disturbed(values, seed));
          for (int exponent : {0, 3})
            for (bool relative : {false, true})
              for (bool products : {false, true})
                for (bool shares : {false, true})
                  for (double least : {0.0, 0.5}) {
                    const PairPass pass{relative, exponent, products, shares, least};
                    expect_same(pair_sums(piece_of(target, golden), pass),
                                pair_sums_scalar(piece_of(target, golden), pass));
                  }
        }
}

// Without counts, and without relative errors where golden is small.
TEST(PairSums, RelativeSumAlone) {
  const Tensor golden = encode(DType::kFloat32, {1e-17, -4, 2, 0}),
               target = encode(DType::kFloat32, {1, -5, 2, 1});
  PairPass pass;
  pass.relative = true;
  EXPECT_GT(pair_sums(piece_of(target, golden), pass).rel_sum, 9e16);
  pass.least_golden = 1e-16;
  const PairSums sums = pair_sums(piece_of(target, golden), pass);
  EXPECT_EQ(sums.rel_sum, 0.25);
  EXPECT_EQ(sums.rel_max, 0.25);
  EXPECT_EQ(sums.rel_below_1e3, 0);
}

TEST(PairSums, EveryInstructionSetGivesTheSameBits) {
  const auto values = hostile_values(100003, 7, true);
  const Tensor golden = encode(DType::kFloat32, values);
  const Tensor target = encode(DType::kFloat16, disturbed(values, 8));
  const PairSums expected =
      pair_sums_scalar(piece_of(target, golden), {.relative = true, .shares = true});
  const int64_t all = hwy::SupportedTargets();
  for (int64_t left = all; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    expect_same(pair_sums(piece_of(target, golden), {.relative = true, .shares = true}), expected);
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Blocks in which no error can be beyond half of golden do not count them: the first that may have
// one comes late, exactly at the limit, just below it or beyond, also among subnormals and zeros.
TEST(PairSums, LateErrorsBeyondHalfAreCounted) {
  constexpr size_t kCount = 20000;
  for (const double factor : {1.5, 0.5, 1.4999999, 1.5000002, 0.4999999, 3.0, -1.0})
    for (const double size : {1.0, 3e38, 1e-44, 1e-38, 0.0})
      for (const size_t place : {size_t{12345}, kCount - 1}) {
        SCOPED_TRACE(testing::Message() << factor << " " << size << " " << place);
        auto values = hostile_values(kCount, 5, true);
        auto others = values;
        for (double& value : others) value = static_cast<float>(value) * 1.001F;
        for (double& value : others)
          if (std::fabs(value) < 1e-30) value = 0;
        for (size_t i = 0; i < kCount; ++i)
          if (others[i] == 0) values[i] = 0;
        values[place] = size;
        others[place] = size == 0 ? 1 : size * factor;
        const Tensor golden = encode(DType::kFloat32, values);
        const Tensor target = encode(DType::kFloat32, others);
        expect_same(pair_sums(piece_of(target, golden), {}),
                    pair_sums_scalar(piece_of(target, golden), {}));
      }
}

// By the definition, element by element.
std::optional<int64_t> first_beyond(const std::vector<double>& t, const std::vector<double>& g) {
  for (size_t i = 0; i < t.size(); ++i) {
    const bool agrees = t[i] == g[i] || (std::isnan(t[i]) && std::isnan(g[i]));
    const bool is_near = std::isfinite(t[i]) && std::isfinite(g[i]) && g[i] != 0 &&
                         std::fabs(t[i] - g[i]) / std::fabs(g[i]) < 0.01;
    if (!agrees && !is_near) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

// Also behind blocks without any, and across appended pieces.
TEST(PairSums, FirstElementBeyondTheLimit) {
  struct Case {
    const char* what;
    double target, golden;
    bool is_beyond;
  };
  const Case kCases[] = {
      {"the limit itself", 1.01, 1, true},
      {"just below", 1.0099999, 1, false},
      {"NaN in target", kNan, 1, true},
      {"NaN in golden", 1, kNan, true},
      {"NaN in both", kNan, kNan, false},
      {"opposite infinities", kInf, -kInf, true},
      {"the same infinity", kInf, kInf, false},
      {"golden is zero", 1e-300, 0, true},
      {"both are zero", -0.0, 0, false},
      {"other sign", -1, 1, true},
      {"difference overflows", 1.7e308, -1.7e308, true},
  };
  for (const Case& c : kCases)
    for (size_t place : {0, 5, 1023, 1024, 2999}) {
      SCOPED_TRACE(testing::Message() << c.what << " at " << place);
      std::vector<double> t(3000, 1.001), g(3000, 1.0);
      t[place] = c.target;
      g[place] = c.golden;
      const auto expected = first_beyond(t, g);
      EXPECT_EQ(expected.has_value(), c.is_beyond);
      const Tensor target = encode(DType::kFloat64, t), golden = encode(DType::kFloat64, g);
      PairSums sums = pair_sums(piece_of(target, golden), {.shares = true});
      EXPECT_EQ(sums.first_beyond, expected);
      EXPECT_EQ(pair_sums(piece_of(target, golden), {}).first_beyond, std::nullopt);
      PairSums before = pair_sums(piece_of(golden, golden), {.shares = true});
      before.append(sums);
      EXPECT_EQ(before.first_beyond, expected ? std::optional(3000 + *expected) : expected);
      before.append(sums);  // the first one stays
      EXPECT_EQ(before.first_beyond, expected ? std::optional(3000 + *expected) : expected);
    }
}

// A complex number is beyond by its size, whatever its parts; integers without rounding.
TEST(PairSums, FirstElementBeyondOfOtherKinds) {
  const Tensor golden = tensor_of<float>(DType::kComplex64, {1, 1, 100, 1, 100, 1});
  const Tensor target = tensor_of<float>(DType::kComplex64, {1, 1, 100, 1.5, 100, 3});
  EXPECT_EQ(pair_sums(piece_of(target, golden), {.shares = true}).first_beyond, 4);
  const int64_t big = int64_t{1} << 60;
  const Tensor whole = tensor_of<int64_t>(DType::kInt64, {big, 0, 5, big});
  const Tensor off = tensor_of<int64_t>(DType::kInt64, {big + 1, 0, 5, big / 2});
  EXPECT_EQ(pair_sums(piece_of(off, whole), {.shares = true}).first_beyond, 3);
  EXPECT_EQ(pair_sums(piece_of(whole, whole), {.shares = true}).first_beyond, std::nullopt);
  EXPECT_EQ(pair_sums(piece_of(off, whole), {}).first_beyond, std::nullopt);
}

// Sums in long double, over ten million values: half a million, and larger copies of them, because
// drawing takes longest.
TEST(PairSums, AgreesWithLongDouble) {
  const size_t kDrawn = 500'000, kCount = static_cast<size_t>(sample_of(10'000'000, 10));
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> t(kCount), g(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    if (i < kDrawn) {
      g[i] = normal(random);
      t[i] = g[i] * (1 + 1e-3F * normal(random)) + 1e-5F;
    } else {
      g[i] = g[i - kDrawn] * 1.01F;
      t[i] = t[i - kDrawn] * 1.01F;
    }
  }
  long double t_sum = 0, tt = 0, gg = 0, tg = 0, dd = 0, abs_sum = 0, rel_sum = 0;
  double abs_max = 0, rel_max = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const long double x = t[i], y = g[i], d = x - y;
    t_sum += x, tt += x * x, gg += y * y, tg += x * y, dd += d * d, abs_sum += std::fabs(d);
    rel_sum += std::fabs(d / y);
    abs_max = std::max(abs_max, static_cast<double>(std::fabs(d)));
    rel_max = std::max(rel_max, static_cast<double>(std::fabs(d) / std::fabs(y)));
  }
  PairSums all;
  const Tensor target = tensor_of(DType::kFloat32, t), golden = tensor_of(DType::kFloat32, g);
  for (int64_t first = 0; first < std::ssize(t); first += kPairPiece) {
    const int64_t n = std::min(kPairPiece, std::ssize(t) - first);
    all.append(pair_sums({DType::kFloat32, target.bytes.data() + 4 * first, DType::kFloat32,
                          golden.bytes.data() + 4 * first, n},
                         {.relative = true, .shares = true}));
  }
  const auto near = [](double ours, long double theirs, long double scale) {
    EXPECT_LE(std::fabs(ours - theirs), 1e-12L * std::fabs(scale));
  };
  near(all.tt, tt, tt);
  near(all.gg, gg, gg);
  near(all.tg, tg, tg);
  near(all.dd, dd, dd);
  near(all.abs_sum, abs_sum, abs_sum);
  near(all.rel_sum, rel_sum, rel_sum);
  near(all.t_sum, t_sum, abs_sum);
  EXPECT_EQ(all.abs_max, abs_max);
  EXPECT_NEAR(all.rel_max, rel_max, 1e-15 * rel_max);
  EXPECT_EQ(all.count, std::ssize(t));
}

TEST(PairSums, IntegersBeyondDoubles) {
  const int64_t big = (int64_t{1} << 53) + 1;
  const Tensor target = tensor_of<int64_t>(DType::kInt64, {big, INT64_MAX, INT64_MIN, 5, 0});
  const Tensor golden =
      tensor_of<int64_t>(DType::kInt64, {big - 1, INT64_MAX - 1, INT64_MAX, 5, 0});
  const PairSums sums = pair_sums(piece_of(target, golden), {.relative = true, .shares = true});
  EXPECT_EQ(sums.equal, 2);
  EXPECT_EQ(sums.abs_max, 0x1p64);  // nearest double of 2^64 - 1
  EXPECT_EQ(sums.t_zeros, 1);
  const Tensor one = tensor_of<uint64_t>(DType::kUint64, {UINT64_MAX});
  const Tensor two = tensor_of<int64_t>(DType::kInt64, {-1});
  EXPECT_EQ(pair_sums(piece_of(one, two), {}).equal, 0);
  EXPECT_EQ(pair_sums(piece_of(one, two), {}).abs_max, 0x1p64);
}

TEST(PairSums, NonFinitePairsAreSortedByKind) {
  const Tensor target =
      encode(DType::kFloat32, {kNan, kNan, 1, kInf, kInf, -kInf, 3, kInf, kNan, 0});
  const Tensor golden =
      encode(DType::kFloat32, {kNan, 1, kNan, kInf, -kInf, -kInf, kInf, kNan, kInf, 0});
  const PairSums s = pair_sums(piece_of(target, golden), {.relative = true, .shares = true});
  EXPECT_EQ(s.count, 10);
  EXPECT_EQ(s.finite, 1);
  EXPECT_EQ(s.same_nan, 1);
  EXPECT_EQ(s.same_inf, 2);
  EXPECT_EQ(s.nan_only_in_target, 2);
  EXPECT_EQ(s.nan_only_in_golden, 2);
  EXPECT_EQ(s.inf_mismatch, 2);
  EXPECT_EQ(s.equal, 4);
  EXPECT_EQ(s.rel_below_1e3, 4);
  EXPECT_EQ(s.t_nan, 3);
  EXPECT_EQ(s.g_inf, 5);
  EXPECT_EQ(s.finite + s.same_nan + s.same_inf + s.nan_only_in_target + s.nan_only_in_golden +
                s.inf_mismatch,
            s.count);
}

TEST(PairSums, HugeAndTinyDoublesAreScaled) {
  for (double scale : {1e300, 1.7e308, 1e-300, 1e-200}) {
    SCOPED_TRACE(scale);
    const Tensor target = tensor_of<double>(DType::kFloat64, {scale, -scale, scale / 2, 0});
    const Tensor golden = tensor_of<double>(DType::kFloat64, {scale, -scale, scale / 4, 0});
    const auto pass = better_pass(pair_sums(piece_of(target, golden), {}), {});
    ASSERT_TRUE(pass);
    const int exponent = pass->exponent;
    ASSERT_NE(exponent, 0);
    const PairSums s = pair_sums(piece_of(target, golden), *pass);
    EXPECT_EQ(s.exponent, exponent);
    EXPECT_FALSE(better_pass(s, *pass));
    EXPECT_EQ(s.abs_max, scale / 4);
    EXPECT_EQ(s.t_max, scale);
    EXPECT_EQ(s.t_min, -scale);
    EXPECT_EQ(s.g_zeros, 1);
    const double one = std::ldexp(scale, -exponent);
    EXPECT_DOUBLE_EQ(s.tt, 2.25 * one * one);
    EXPECT_DOUBLE_EQ(s.dd, one * one / 16);
  }
  EXPECT_FALSE(better_pass(PairSums{}, {}));
}

// Where t * g is small beside the squares, taking it from them would cost digits.
TEST(PairSums, SmallProductsAreSummedThemselves) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (double scale : {1.0, 1e6, 1e-6}) {
    SCOPED_TRACE(scale);
    std::vector<double> t(1000000), g(1000000);
    for (size_t i = 0; i < t.size(); ++i) {
      t[i] = normal(random) * scale;
      g[i] = scale == 1.0 ? normal(random) : t[i] / scale;
    }
    const Tensor target = encode(DType::kFloat32, t), golden = encode(DType::kFloat32, g);
    long double tg = 0;
    for (size_t i = 0; i < t.size(); ++i)
      tg += static_cast<long double>(static_cast<float>(t[i])) * static_cast<float>(g[i]);
    const auto pass = better_pass(pair_sums(piece_of(target, golden), {}), {});
    ASSERT_TRUE(pass);
    EXPECT_EQ(pass->exponent, 0);
    const PairSums s = pair_sums(piece_of(target, golden), *pass);
    EXPECT_NEAR(static_cast<double>(s.tg / tg), 1, 1e-12);
    EXPECT_FALSE(better_pass(s, *pass));
  }
}

TEST(PairSums, TellsNumbersOnAGridFromDigitsOfAType) {
  struct {
    const char* name;
    std::vector<double> values;
    int64_t of_half, of_bfloat16;  // digits that the type has beside the values, and nobody uses
  } const kCases[] = {
      {"zeros", {0, -0.0}, 0, 0},
      {"one number", {4}, 10, 7},
      {"quarters below 64", {0.25, 63.75}, 10 + 3, 7 + 0},  // 2^-12 and 2^-5; 2^-9 and 2^-2
      {"not finite", {kNan, kInf, 0.5, -3}, 10 + 8, 7 + 5},
      {"all digits of half beside 1", {1.0009765625, 1.5, 1.25}, 0, 0},
      {"subnormal half", {0x1p-24, 0x1p-20}, 0, 7 + 3},
  };
  for (const auto& c : kCases)
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      SCOPED_TRACE(c.name);
      const Tensor values = encode(dtype, c.values);
      const DigitsUsed used = pair_sums(piece_of(values, values), {}).t_digits;
      EXPECT_EQ(used.unused(11, -24), c.of_half);
      EXPECT_EQ(used.unused(8, -133), c.of_bfloat16);
    }
}

TEST(PairSums, ShowsTheTypeThatValuesHave) {
  struct {
    const char* name;
    std::vector<double> values;
    bool half, bfloat16;
  } const kCases[] = {
      {"none", {}, true, true},
      {"zeros and small integers", {0, -0.0, 1, -3}, true, true},
      {"half", {1.0009765625, 65504, 5.960464477539063e-08}, true, false},
      {"bfloat16 beyond half", {65536, 1e-30F * 0 + 0x1p-100}, false, true},
      {"float", {1.0000001192092896}, false, false},
      {"not finite", {kNan, kInf, 2}, true, true},
      {"subnormal half, too fine", {0x1p-25}, false, true},
  };
  for (const auto& c : kCases)
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      SCOPED_TRACE(c.name);
      const Tensor values = encode(dtype, c.values);
      const PairSums s = pair_sums(piece_of(values, values), {});
      EXPECT_EQ(s.t_fits_half, c.half);
      EXPECT_EQ(s.g_fits_half, c.half);
      EXPECT_EQ(s.t_fits_bfloat16, c.bfloat16);
      EXPECT_EQ(s.g_fits_bfloat16, c.bfloat16);
    }
}

TEST(PairSums, ComplexCountsAsTwoValues) {
  const Tensor target = tensor_of<float>(DType::kComplex64, {1, 2, 3, 4});
  const Tensor golden = tensor_of<double>(DType::kComplex128, {1, 2, 3, 5});
  PairPiece piece = piece_of(target, golden);
  const PairSums s = pair_sums(piece, {});
  EXPECT_EQ(s.count, 4);
  EXPECT_EQ(s.equal, 3);
  EXPECT_EQ(s.abs_max, 1);
}

}  // namespace
}  // namespace plumb::metrics
