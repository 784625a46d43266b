// SPDX-License-Identifier: Apache-2.0
//
// What golden's tensors show of an operator: each function once, written down here in its plain
// form, with a target that was fed something else and computes right, and one that does not.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "diagnose/example.h"

namespace plumb::diagnose {
namespace {

// The same numbers on every machine, between -1 and 1.
class Source {
 public:
  explicit Source(uint32_t seed) : state_(seed * 2654435761U + 1) {}
  double next() {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<double>(state_ >> 8) / (1 << 23) - 1;
  }
  Numbers some(size_t count, double scale = 1) {
    Numbers values(count);
    for (double& value : values) value = scale * next();
    return values;
  }

 private:
  uint32_t state_;
};

size_t count_of(const Shape& shape) {
  size_t count = 1;
  for (const int64_t length : shape) count *= static_cast<size_t>(length);
  return count;
}

using Operator = std::function<Numbers(const std::vector<Numbers>&)>;

struct FunctionCase {
  const char* name;
  std::vector<Shape> inputs;
  Shape output;
  Operator compute;
};

Numbers map_each(const Numbers& x, const std::function<double(double)>& f) {
  Numbers y;
  for (const double value : x) y.push_back(f(value));
  return y;
}

// Plain loops over a convolution of 3 by 3 with weights of its own.
Numbers convolved(const Numbers& x, const Shape& in, const Shape& out, int64_t stride,
                  bool is_separate) {
  Source weights(7);
  const Numbers w = weights.some(static_cast<size_t>(out[1] * (is_separate ? 1 : in[1]) * 9));
  Numbers y(count_of(out), 0);
  for (int64_t o = 0; o < out[1]; ++o)
    for (int64_t v = 0; v < out[2]; ++v)
      for (int64_t h = 0; h < out[3]; ++h) {
        double sum = 0.1 * static_cast<double>(o);
        for (int64_t c = 0; c < (is_separate ? 1 : in[1]); ++c)
          for (int64_t i = 0; i < 3; ++i)
            for (int64_t j = 0; j < 3; ++j) {
              const int64_t yy = v * stride + i - 1, xx = h * stride + j - 1;
              if (yy < 0 || xx < 0 || yy >= in[2] || xx >= in[3]) continue;
              const int64_t from = is_separate ? o : c;
              const int64_t weight = (o * (is_separate ? 1 : in[1]) + c) * 9 + i * 3 + j;
              sum += w[static_cast<size_t>(weight)] *
                     x[static_cast<size_t>((from * in[2] + yy) * in[3] + xx)];
            }
        y[static_cast<size_t>((o * out[2] + v) * out[3] + h)] = sum;
      }
  return y;
}

std::vector<FunctionCase> cases() {
  const Shape picture{1, 4, 12, 12}, tokens{10, 16};
  const auto relu = [](double x) { return std::max(x, 0.0); };
  return {
      {"relu", {tokens}, tokens, [=](const auto& x) { return map_each(x[0], relu); }},
      {"leaky",
       {tokens},
       tokens,
       [](const auto& x) { return map_each(x[0], [](double v) { return v < 0 ? 0.1 * v : v; }); }},
      {"limits",
       {tokens},
       tokens,
       [](const auto& x) {
         return map_each(x[0], [](double v) { return std::clamp(v, -0.4, 0.7); });
       }},
      {"batch normalization and relu",
       {picture},
       picture,
       [=](const auto& x) {
         Numbers y = x[0];
         for (size_t i = 0; i < y.size(); ++i) {
           const auto c = static_cast<double>(i / 144);
           y[i] = relu(y[i] * (0.5 + c) + 0.2 * c - 0.1);
         }
         return y;
       }},
      {"sum and relu",
       {picture, picture},
       picture,
       [=](const auto& x) {
         Numbers y = x[0];
         for (size_t i = 0; i < y.size(); ++i) y[i] = relu(y[i] + x[1][i]);
         return y;
       }},
      {"a factor for each channel",
       {picture, {1, 4}},
       picture,
       [](const auto& x) {
         Numbers y = x[0];
         for (size_t i = 0; i < y.size(); ++i) y[i] *= x[1][i / 144];
         return y;
       }},
      {"joined",
       {{1, 2, 6}, {1, 3, 6}},
       {1, 5, 6},
       [](const auto& x) {
         Numbers y = x[0];
         y.insert(y.end(), x[1].begin(), x[1].end());
         return y;
       }},
      {"transposed",
       {{5, 7, 3}},
       {3, 5, 7},
       [](const auto& x) {
         Numbers y(105);
         for (size_t i = 0; i < 105; ++i) y[i % 3 * 35 + i / 3] = x[0][i];
         return y;
       }},
      {"enlarged",
       {{1, 2, 3, 3}},
       {1, 2, 6, 6},
       [](const auto& x) {
         Numbers y(72);
         for (size_t i = 0; i < 72; ++i) y[i] = x[0][i / 36 * 9 + i % 36 / 12 * 3 + i % 6 / 2];
         return y;
       }},
      {"cut out",
       {{4, 10}},
       {4, 5},
       [](const auto& x) {
         Numbers y(20);
         for (size_t i = 0; i < 20; ++i) y[i] = x[0][i / 5 * 10 + 3 + i % 5];
         return y;
       }},
      {"softmax",
       {tokens},
       tokens,
       [](const auto& x) {
         Numbers y = map_each(x[0], [](double v) { return std::exp(v); });
         for (size_t row = 0; row < 10; ++row) {
           double sum = 0;
           for (size_t i = 0; i < 16; ++i) sum += y[row * 16 + i];
           for (size_t i = 0; i < 16; ++i) y[row * 16 + i] /= sum;
         }
         return y;
       }},
      {"layer normalization",
       {tokens},
       tokens,
       [](const auto& x) {
         Numbers y = x[0];
         for (size_t row = 0; row < 10; ++row) {
           double mean = 0, variance = 0;
           for (size_t i = 0; i < 16; ++i) mean += y[row * 16 + i] / 16;
           for (size_t i = 0; i < 16; ++i) variance += std::pow(y[row * 16 + i] - mean, 2) / 16;
           for (size_t i = 0; i < 16; ++i)
             y[row * 16 + i] = (y[row * 16 + i] - mean) / std::sqrt(variance + 1e-5) *
                                   (1 + 0.1 * static_cast<double>(i)) -
                               0.3;
         }
         return y;
       }},
      {"mean over pictures",
       {picture},
       {1, 4},
       [](const auto& x) {
         Numbers y(4, 0);
         for (size_t i = 0; i < 576; ++i) y[i / 144] += x[0][i] / 144;
         return y;
       }},
      {"largest of 2 by 2",
       {picture},
       {1, 4, 6, 6},
       [](const auto& x) {
         Numbers y(144, -1e9);
         for (size_t i = 0; i < 576; ++i) {
           double& to = y[i / 144 * 36 + i % 144 / 24 * 6 + i % 12 / 2];
           to = std::max(to, x[0][i]);
         }
         return y;
       }},
      {"product of two",
       {{6, 8}, {8, 5}},
       {6, 5},
       [](const auto& x) {
         Numbers y(30, 0);
         for (size_t i = 0; i < 30; ++i)
           for (size_t k = 0; k < 8; ++k) y[i] += 0.25 * x[0][i / 5 * 8 + k] * x[1][k * 5 + i % 5];
         return y;
       }},
      {"dense",
       {{40, 8}},
       {40, 5},
       [](const auto& x) {
         const Numbers w = Source(3).some(40);
         Numbers y(200, 0.3);
         for (size_t i = 0; i < 200; ++i)
           for (size_t k = 0; k < 8; ++k) y[i] += x[0][i / 5 * 8 + k] * w[k * 5 + i % 5];
         return y;
       }},
      {"convolution",
       {picture},
       {1, 6, 12, 12},
       [=](const auto& x) {
         return convolved(x[0], picture, {1, 6, 12, 12}, 1, false);
       }},
      {"separate channels",
       {picture},
       {1, 4, 6, 6},
       [=](const auto& x) {
         return convolved(x[0], picture, {1, 4, 6, 6}, 2, true);
       }},
      {"convolution and relu",
       {{1, 4, 16, 16}},
       {1, 6, 16, 16},
       [=](const auto& x) {
         return map_each(convolved(x[0], {1, 4, 16, 16}, {1, 6, 16, 16}, 1, false), relu);
       }},
      {"convolution, sum and relu",
       {{1, 4, 16, 16}, {1, 6, 16, 16}},
       {1, 6, 16, 16},
       [=](const auto& x) {
         Numbers y = convolved(x[0], {1, 4, 16, 16}, {1, 6, 16, 16}, 1, false);
         for (size_t i = 0; i < y.size(); ++i) y[i] = relu(y[i] + x[1][i]);
         return y;
       }},
  };
}

// What should have come out for the target's inputs, by whichever function fits golden.
std::optional<Should> found(const Example& example) {
  for (const Attempt& attempt : attempts())
    if (auto should = attempt.function(example)) return should;
  return {};
}

TEST(Functions, GoldenShowsWhatTheTargetShouldGive) {
  for (const FunctionCase& each : cases()) {
    SCOPED_TRACE(each.name);
    Source source(11);
    std::vector<Numbers> golden, target;
    for (const Shape& shape : each.inputs) {
      golden.push_back(source.some(count_of(shape)));
      target.push_back(golden.back());
      for (double& value : target.back()) value += 0.05 * source.next();
    }
    const Numbers right = each.compute(golden), other = each.compute(target);
    Example example;
    for (size_t i = 0; i < golden.size(); ++i)
      example.inputs.push_back({&golden[i], &target[i], each.inputs[i]});
    example.output = {&right, &other, each.output};
    example.tolerance = 2e-4;
    const auto should = found(example);
    ASSERT_TRUE(should);
    EXPECT_LE(distance(should->golden, right, right), 1e-5);
    EXPECT_LE(distance(should->target, other, right), 1e-4);
    EXPECT_GE(distance(right, other, right), 1e-2);  // or there was nothing to follow
  }
}

// A factor or an offset of its own for each element: only the type tells what they are.
TEST(Functions, ATypeTellsWhatOneElementOfEachChannelCannot) {
  Source source(5);
  const Numbers golden = source.some(24), factors = source.some(24);
  Numbers target = golden, right = golden, sum = golden, other, others;
  for (double& value : target) value += 0.05 * source.next();
  for (size_t i = 0; i < right.size(); ++i) {
    right[i] *= factors[i], sum[i] += factors[i];
    other.push_back(target[i] * factors[i]), others.push_back(target[i] + factors[i]);
  }
  Example example;
  example.inputs = {{&golden, &target, {1, 24}}};
  example.tolerance = 2e-4;
  const auto should = [&](std::string_view type, const Numbers& of_golden) {
    example.output = {&of_golden, &of_golden, {1, 24}};
    example.type = type;
    return found(example);
  };
  EXPECT_FALSE(should("", right));
  ASSERT_TRUE(should("Mul", right));
  EXPECT_LE(distance(should("Mul", right)->target, other, other), 1e-9);
  ASSERT_TRUE(should("Add", sum));
  EXPECT_LE(distance(should("Add", sum)->target, others, others), 1e-9);
}

TEST(Functions, NoiseIsNoFunction) {
  for (const FunctionCase& each : cases()) {
    SCOPED_TRACE(each.name);
    Source source(5);
    std::vector<Numbers> golden;
    for (const Shape& shape : each.inputs) golden.push_back(source.some(count_of(shape)));
    const Numbers output = source.some(count_of(each.output));
    Example example;
    for (size_t i = 0; i < golden.size(); ++i)
      example.inputs.push_back({&golden[i], &golden[i], each.inputs[i]});
    example.output = {&output, &output, each.output};
    example.tolerance = 2e-4;
    EXPECT_FALSE(found(example));
  }
}

// Golden's inputs leave weights open: nothing can be said of what comes of another input.
TEST(Functions, WeightsThatGoldenDoesNotShowAreNotInvented) {
  const FunctionCase conv = {"", {{1, 4, 12, 12}}, {1, 6, 12, 12}, [](const auto& x) {
                               return convolved(x[0], {1, 4, 12, 12}, {1, 6, 12, 12}, 1, false);
                             }};
  Numbers golden = Source(1).some(576);
  std::fill(golden.begin() + 144, golden.begin() + 288, 0);  // a channel that is off
  Numbers target = golden;
  target[200] = 0.5;
  const Numbers right = conv.compute({golden}), other = conv.compute({target});
  Example example;
  example.inputs = {{&golden, &target, conv.inputs[0]}};
  example.output = {&right, &other, conv.output};
  example.tolerance = 2e-4;
  EXPECT_FALSE(found(example));
}

TEST(Functions, WorkIsBounded) {
  Numbers x = Source(1).some(size_t{4} * 64 * 64);
  const Numbers y = convolved(x, {1, 4, 64, 64}, {1, 6, 64, 64}, 1, false);
  int64_t work = 1000;
  Example example;
  example.inputs = {{&x, &x, {1, 4, 64, 64}}};
  example.output = {&y, &y, {1, 6, 64, 64}};
  example.tolerance = 2e-4;
  example.work = &work;
  EXPECT_FALSE(found(example));
  EXPECT_EQ(work, 1000);
}

}  // namespace
}  // namespace plumb::diagnose
