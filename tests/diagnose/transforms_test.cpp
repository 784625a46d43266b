// SPDX-License-Identifier: Apache-2.0
//
// What must not be claimed, and the words of single claims. transforms_named_test.cpp has the many.
#include "diagnose/transforms.h"

#include <gtest/gtest.h>

#include "diagnose/made_tensors.h"
#include "sample_of.h"

namespace plumb::diagnose {
namespace {

using enum Kind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

const Recipe kRecipes[] = {
    {{1, 3, 32, 32}, kPicture, false, 1},
    {{1, 28, 40, 3}, kPicture, true, 3},
    {{1, 3, 24, 24}, kUnitPicture, false, 1},
    {{3, 30, 30}, kUnitPicture, true, 0},
    {{1, 16, 14, 14}, kActivation, false, 1},
    {{1, 64, 7, 7}, kActivation, true, 1},
    {{2, 8, 12, 12}, kActivation, false, 1},
    {{1, 20, 64}, kHidden, true, 2},
    {{4, 12, 48}, kHidden, false, 2},
    {{1, 8, 16, 32}, kHidden, false, 1},
    {{1, 1000}, kLogits, false, 1},
    {{1, 10}, kLogits, true, 1},
    {{8, 10}, kLogits, false, 1},
    {{777}, kLogits, true, 0},
    {{1, 6, 4, 10, 10}, kActivation, true, 1},
    {{2, 2, 2, 2}, kLogits, false, 1},
};

std::string claimed(const Made& target, const Made& golden, bool is_half, double noise) {
  const auto found = find_transform(pair_of(target, golden, is_half), noise);
  return found ? found->detail : "";
}

double size_of(const Made& made) {
  double sum = 0;
  for (const double value : made.values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(made.count()));
}

double fake_quantized(double value, double step, double levels) {
  return step * std::clamp(std::nearbyint(value / step), -levels, levels);
}

double largest_of(const Made& made) {
  double largest = 0;
  for (const double value : made.values) largest = std::max(largest, std::fabs(value));
  return largest;
}

// The values of one channel changed.
Made with_channel(Made made, size_t axis, int64_t channel,
                  const std::function<double(double)>& change) {
  for (int64_t i = 0; i < made.count(); ++i)
    if (made.index(i, axis) == channel % made.shape[axis])
      made.values[static_cast<size_t>(i)] = change(made.values[static_cast<size_t>(i)]);
  return made;
}

// Errors that have other causes. `golden` may be changed, too.
struct Ordinary {
  const char* name;
  Made (*target)(Made& golden, const Recipe& recipe, Random& random);
};

template <int kPercent>
Made noisy(Made& golden, const Recipe&, Random& random) {
  const double size = 0.01 * kPercent * size_of(golden);
  return each(golden, [&](double v) { return v + size * random.normal(); });
}

template <int kPercent>
Made noisy_in_proportion(Made& golden, const Recipe&, Random& random) {
  return each(golden, [&](double v) { return v * (1 + 0.01 * kPercent * random.normal()); });
}

Made other_epsilon(Made& golden, const Recipe& recipe, Random& random) {
  std::vector<double> factor, shift;
  for (int64_t c = 0; c < golden.shape[recipe.channels]; ++c) {
    const double variance = std::exp(3 * random.uniform() - 2);
    factor.push_back(std::sqrt((variance + 1e-5) / (variance + 1e-3)));
    shift.push_back(random.normal());
  }
  Made target = golden;
  for (int64_t i = 0; i < golden.count(); ++i) {
    const auto c = static_cast<size_t>(golden.index(i, recipe.channels));
    double& value = target.values[static_cast<size_t>(i)];
    value = shift[c] + factor[c] * (value - shift[c]);
  }
  return target;
}

const Ordinary kOrdinary[] = {
    {"noise 1 %", noisy<1>},
    {"noise 5 %", noisy<5>},
    {"noise 20 %", noisy<20>},
    {"noise 50 %", noisy<50>},
    {"relative noise 2 %", noisy_in_proportion<2>},
    {"relative noise 30 %", noisy_in_proportion<30>},
    {"one channel zero",
     [](Made& g, const Recipe& r, Random&) {
       return with_channel(g, r.channels, 5, [](double) { return 0.0; });
     }},
    {"one channel scaled",
     [](Made& g, const Recipe& r, Random&) {
       return with_channel(g, r.channels, 2, [](double v) { return 1.5 * v; });
     }},
    {"one channel noise",
     [](Made& g, const Recipe& r, Random& random) {
       const double size = size_of(g);
       return with_channel(g, r.channels, 1, [&](double) { return size * random.normal(); });
     }},
    {"other epsilon", other_epsilon},
    {"dropped Relu",
     [](Made& g, const Recipe&, Random& random) {
       const double size = size_of(g);
       Made target = each(g, [&](double v) { return v + size * random.normal(); });
       g = each(target, [](double v) { return std::max(0.0, v); });
       return target;
     }},
    {"8 bits",
     [](Made& g, const Recipe&, Random&) {
       const double step = largest_of(g) / 127;
       return each(g, [=](double v) { return fake_quantized(v, step, 127); });
     }},
    {"4 bits",
     [](Made& g, const Recipe&, Random&) {
       const double step = largest_of(g) / 7;
       return each(g, [=](double v) { return fake_quantized(v, step, 7); });
     }},
    {"8 bits, a power of two",
     [](Made& g, const Recipe&, Random&) {
       const double step = std::exp2(std::ceil(std::log2(largest_of(g) / 127)));
       return each(g, [=](double v) { return fake_quantized(v, step == 1 ? 2 : step, 127); });
     }},
    {"half a place off",
     [](Made& g, const Recipe&, Random&) {
       Made target = g;
       for (size_t i = 1; i < g.values.size(); ++i)
         target.values[i] = (g.values[i] + g.values[i - 1]) / 2;
       return target;
     }},
    {"the second half missing",
     [](Made& g, const Recipe&, Random&) {
       Made target = g;
       for (size_t i = g.values.size() / 2; i < g.values.size(); ++i) target.values[i] = 0;
       return target;
     }},
    {"another function",
     [](Made& g, const Recipe&, Random&) {
       const double size = size_of(g);
       Made target = each(g, [&](double v) { return v / (1 + std::exp(-1.702 * v / size)); });
       g = each(g, [&](double v) { return v / (1 + std::exp(-v / size)); });
       return target;
     }},
    {"another temperature of a softmax",
     [](Made& g, const Recipe&, Random&) {
       const double size = size_of(g);
       Made target = each(g, [&](double v) { return std::exp(3.6 * v / size); });
       g = each(g, [&](double v) { return std::exp(3 * v / size); });
       return target;
     }},
};

TEST(Transforms, OrdinaryErrorsAreNotExplained) {
  uint64_t seed = 1;
  for (const Recipe& recipe : kRecipes) {
    for (const Ordinary& ordinary : kOrdinary) {
      if (++seed % static_cast<uint64_t>(sample_step(5)) != 0) continue;
      Random random{seed * 1000};
      Made golden = make(recipe, random);
      Made target = stored(ordinary.target(golden, recipe, random), recipe.is_half);
      golden = stored(golden, recipe.is_half);
      for (const double noise : {noise_of(recipe.is_half), 0.01})
        EXPECT_EQ(claimed(target, golden, recipe.is_half, noise), "")
            << ordinary.name << " of " << to_string(recipe.shape) << ", noise " << noise;
    }
  }
}

TEST(Transforms, UnrelatedTensorsAreNotExplained) {
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(sample_of(20, 10)); ++seed) {
    for (const Recipe& recipe : kRecipes) {
      if (recipe.kind == kPicture || recipe.kind == kUnitPicture) continue;
      Random random{seed * 77 + 5};
      const Made golden = stored(make(recipe, random), recipe.is_half);
      const Made target = stored(make(recipe, random), recipe.is_half);
      for (const double noise : {noise_of(recipe.is_half), 0.01, 0.05})
        EXPECT_EQ(claimed(target, golden, recipe.is_half, noise), "") << to_string(recipe.shape);
    }
  }
}

TEST(Transforms, HonestTargetsAreNotExplained) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (const Recipe& recipe : kRecipes) {
      Random random{seed};
      const Made golden = stored(make(recipe, random), recipe.is_half);
      const Made target = stored(computed_again(golden, recipe.is_half, random), recipe.is_half);
      EXPECT_EQ(claimed(target, golden, recipe.is_half, noise_of(recipe.is_half)), "");
      EXPECT_EQ(claimed(golden, golden, recipe.is_half, 0), "");
    }
  }
}

struct Odd {
  const char* name;
  Shape target_shape, golden_shape;
  std::vector<double> target, golden;
};

const Odd kOdd[] = {
    {"empty", {0}, {0}, {}, {}},
    {"one element", {1}, {1}, {2}, {1}},
    {"two elements", {2}, {2}, {2, 1}, {1, 2}},
    {"constant golden", {8}, {8}, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 1, 1, 1, 1, 1, 1}},
    {"constant target", {8}, {8}, {2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"both constant", {8}, {8}, {2, 2, 2, 2, 2, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1}},
    {"zero golden", {4}, {4}, {1, 2, 3, 4}, {0, 0, 0, 0}},
    {"one hot", {10}, {10}, {0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"two values", {10}, {10}, {0, 3, 0, 0, 3, 0, 3, 0, 3, 0}, {0, 1, 0, 0, 1, 0, 1, 0, 1, 0}},
    {"NaN", {8}, {8}, {2, 4, 6, 8, 10, 12, 14, kNan}, {1, 2, 3, 4, 5, 6, 7, kNan}},
    {"inf", {8}, {8}, {2, 4, 6, 8, 10, 12, 14, kInfinite}, {1, 2, 3, 4, 5, 6, 7, kInfinite}},
    {"smaller target", {4}, {8}, {1, 2, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"shape of another size", {3}, {8}, {2, 4, 6, 8, 10, 12, 14, 16}, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"absurd shape", {-8}, {8}, {2, 4, 6, 8, 10, 12, 14, 16}, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"largest numbers", {4}, {4}, {1e308, -1e308, 1e308, 5}, {-1e308, 1e308, 1e308, 7}},
};

TEST(Transforms, OddPairsAreNotExplained) {
  for (const Odd& odd : kOdd) {
    const auto found = find_transform({odd.target_shape, odd.golden_shape, DType::kFloat32,
                                       DType::kFloat32, odd.target, odd.golden, true},
                                      1e-6);
    EXPECT_FALSE(found) << odd.name << ": " << found->detail;
  }
}

TEST(Transforms, NoiseThatIsNotKnownIsNone) {
  const compare::PairValues pair = {{8},
                                    {8},
                                    DType::kFloat32,
                                    DType::kFloat32,
                                    {2, 4, 6, 8, 10, 12, 14, 16},
                                    {1, 2, 3, 4, 5, 6, 7, 8},
                                    true};
  ASSERT_TRUE(find_transform(pair, kNan));
  EXPECT_EQ(find_transform(pair, kNan)->detail, "scale:2");
  EXPECT_FALSE(find_transform(pair, kInfinite));
}

Made normal(const Shape& shape, uint64_t seed = 3) {
  Random random{seed};
  return stored(make({shape, kLogits, false, shape.size() - 1}, random), false);
}

std::string claimed(const Made& target, const Made& golden) {
  return claimed(target, golden, false, 1e-6);
}

TEST(Transforms, NumbersAreWrittenAsAPersonWould) {
  const Made golden = normal({1, 500});
  const auto times = [&](double k, double b) {
    return claimed(stored(each(golden, [=](double v) { return k * v + b; }), false), golden);
  };
  EXPECT_EQ(times(255, 0), "scale:255");
  EXPECT_EQ(times(1.0 / 255, 0), "scale:0.00392157");
  EXPECT_EQ(times(1.03, 0), "scale:1.03");
  EXPECT_EQ(times(-2, 0), "scale:-2");
  EXPECT_EQ(times(1, -128), "offset:-128");
  EXPECT_EQ(times(0.5, 0.485), "affine:0.5,0.485");
  EXPECT_EQ(times(-1, 255), "affine:-1,255");
  EXPECT_EQ(times(-1, 0), "negated");
  EXPECT_EQ(times(1.2345678, 0).substr(0, 12), "scale:1.2345");
}

TEST(Transforms, ErrorAndWhatRemainsAreRelative) {
  const Made golden = normal({1, 500});
  const auto found =
      find_transform(pair_of(each(golden, [](double v) { return 3 * v; }), golden, false), 1e-6);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->error, 2, 1e-12);
  EXPECT_LT(found->remaining, 1e-7);
  EXPECT_EQ(found->text, "the target is golden times 3");
}

TEST(Transforms, AxesAreThoseOfTheShapeThatNamesThem) {
  const Made golden = normal({1, 6, 5, 7});
  Made target = transposed(golden, {0, 2, 3, 1});
  EXPECT_EQ(claimed(target, golden), "axes:0,2,3,1");
  target.shape = {5, 7, 6};  // without the batch
  EXPECT_EQ(claimed(target, golden), "axes:0,2,3,1");
  target.shape = {210};
  EXPECT_EQ(claimed(target, golden), "axes:0,2,3,1");
  // A flat golden: the target's axes tell.
  Made flat = golden;
  flat.shape = {210};
  target.shape = {1, 5, 7, 6};
  EXPECT_EQ(claimed(target, flat), "axes:0,2,3,1");
  // Heads that golden has joined.
  const Made tokens = normal({2, 9, 4, 8});
  Made joined = tokens;
  joined.shape = {2, 9, 32};
  EXPECT_EQ(claimed(transposed(tokens, {0, 2, 1, 3}), joined), "axes:0,2,1,3");
  // An axis of length 1 goes where the target has it, else as between NCHW and NHWC.
  const Made row = normal({2, 6, 1, 7});
  EXPECT_EQ(claimed(transposed(row, {0, 2, 3, 1}), row), "axes:0,2,3,1");
  EXPECT_EQ(claimed(transposed(row, {2, 0, 3, 1}), row), "axes:2,0,3,1");
  Made relabelled = transposed(row, {0, 2, 3, 1});
  relabelled.shape = {2, 6, 1, 7};
  EXPECT_EQ(claimed(relabelled, row), "axes:0,2,3,1");
  EXPECT_EQ(claimed(transposed(normal({3, 2, 4, 2, 3, 5}), {5, 4, 3, 2, 1, 0}),
                    normal({3, 2, 4, 2, 3, 5})),
            "axes:5,4,3,2,1,0");
}

TEST(Transforms, ColoursAreChannelsAndOtherShortAxesAreNot) {
  const auto reversed = [](const Shape& shape, size_t axis) {
    const Made golden = normal(shape);
    const int64_t last = shape[axis] - 1;
    return claimed(moved(golden, axis, [=](int64_t i) { return last - i; }), golden);
  };
  EXPECT_EQ(reversed({1, 3, 8, 8}, 1), "channels_reversed");
  EXPECT_EQ(reversed({1, 8, 8, 3}, 3), "channels_reversed");
  EXPECT_EQ(reversed({3, 8, 8}, 0), "channels_reversed");
  EXPECT_EQ(reversed({2, 5, 3, 8, 8}, 2), "channels_reversed");
  EXPECT_EQ(reversed({1, 64, 3, 3}, 3), "flip:3");
  EXPECT_EQ(reversed({1, 8, 8, 8}, 2), "flip:2");
  EXPECT_EQ(reversed({100, 4}, 1), "flip:1");
  // RGBA and BGRA: the fourth channel stays.
  const Made golden = normal({1, 4, 8, 8});
  EXPECT_EQ(claimed(moved(golden, 1, [](int64_t i) { return i < 3 ? 2 - i : i; }), golden),
            "channels_reversed");
}

TEST(Transforms, PaddingIsABlockAmongZeros) {
  const Made golden = normal({1, 3, 8, 9});
  EXPECT_EQ(claimed(padded(golden, 0, 5), golden), "padding");
  EXPECT_EQ(claimed(padded(golden, 2, 3), golden), "padding");
  Made target = padded(golden, 1, 2);
  EXPECT_EQ(claimed(target, golden), "padding");
  target.values[0] = 1;
  EXPECT_EQ(claimed(target, golden), "") << "something else around it";
  EXPECT_EQ(claimed(padded(normal({1, 3, 8, 9}, 8), 1, 2), golden), "") << "another block";
  Made flat = golden;
  flat.values.resize(256);
  flat.shape = {256};
  EXPECT_EQ(claimed(flat, golden), "padding") << "filled up at the end";
}

TEST(Transforms, TheEndOfALargeTensorMayBeMissing) {
  const Made golden = normal({1, 4, 50, 10});
  Made target = moved(golden, 3, [](int64_t i) { return 9 - i; });
  auto values = pair_of(target, golden, false);
  values.target.resize(1003);
  values.golden.resize(1003);
  values.is_whole = false;
  const auto found = find_transform(values, 1e-6);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->detail, "flip:3");
}

// What the missing end would have held is not asked for; the shape is that of the whole.
TEST(Transforms, MovedAlongTheOuterAxisWithoutItsEnd) {
  const Made golden = normal({8, 5000});
  auto values = pair_of(moved(golden, 0, [](int64_t i) { return (i + 7) % 8; }), golden, false);
  for (auto* side : {&values.target, &values.golden}) {
    side->resize(20'000);
    side->shrink_to_fit();
  }
  values.is_whole = false;
  const auto found = find_transform(values, 1e-6);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->detail, "shift:0,1");
}

TEST(Transforms, CastsAreToldByTheirType) {
  const Made golden = each(normal({1, 2000}), [](double v) { return 40 * v; });
  const auto cast = [&](double (*change)(double)) { return claimed(each(golden, change), golden); };
  EXPECT_EQ(cast([](double v) { return std::nearbyint(v); }), "cast:int16");
  EXPECT_EQ(cast([](double v) { return std::trunc(v); }), "cast:int16");
  EXPECT_EQ(cast([](double v) { return std::clamp(std::nearbyint(v), -128., 127.); }), "cast:int8");
  EXPECT_EQ(cast([](double v) { return std::clamp(std::trunc(v), 0., 255.); }), "cast:uint8");
  EXPECT_EQ(cast([](double v) {
              return static_cast<double>(static_cast<int8_t>(static_cast<int64_t>(v)));
            }),
            "cast:int8");
  EXPECT_EQ(cast([](double v) { return half(v); }), "cast:float16");
  EXPECT_EQ(
      cast([](double v) {
        return static_cast<double>(float_from_bfloat16(bfloat16_from_float(static_cast<float>(v))));
      }),
      "cast:bfloat16");
}

TEST(Transforms, SaturationIsOfOneSideOrBoth) {
  const Made golden = normal({1, 2000});
  const auto limited = [&](double low, double high) {
    return claimed(each(golden, [=](double v) { return std::clamp(v, low, high); }), golden);
  };
  EXPECT_EQ(limited(-1, 2.5), "saturated:-1,2.5");
  EXPECT_EQ(limited(-kInfinite, 4), "saturated:-inf,4");
  EXPECT_EQ(limited(0, kInfinite), "saturated:0,inf");
  const Made relu = each(golden, [](double v) { return std::max(0.0, v); });
  EXPECT_EQ(claimed(each(relu, [](double v) { return std::min(v, 6.0); }), relu), "saturated:0,6");
}

// A few huge values must not speak for all others.
TEST(Transforms, OutliersDoNotDecide) {
  Random random{1};
  Made golden = normal({1, 5000}), target = normal({1, 5000}, 9);
  for (size_t i = 0; i < 40; ++i) {
    golden.values[i * 100] = 1e4 * (1 + random.uniform() / 2);
    target.values[i * 100] = 2 * golden.values[i * 100];
  }
  EXPECT_EQ(claimed(target, golden), "");
}

}  // namespace
}  // namespace plumb::diagnose
