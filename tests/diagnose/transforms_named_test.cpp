// SPDX-License-Identifier: Apache-2.0
//
// Kinds of transforms on tensors like those of networks. The rules were made with the first lists
// of tensors; the second lists say how they do on others.
#include <charconv>

#include <gtest/gtest.h>

#include "diagnose/made_tensors.h"
#include "diagnose/transforms.h"

namespace plumb::diagnose {
namespace {

using enum Kind;

struct TensorRecipes {
  std::vector<Recipe> pictures, maps, any;
};

const TensorRecipes& first_tensors() {
  static const TensorRecipes tensors{.pictures = {{{1, 3, 32, 32}, kPicture, false, 1},
                                                  {{1, 3, 48, 40}, kPicture, true, 1},
                                                  {{1, 32, 32, 3}, kPicture, false, 3},
                                                  {{3, 40, 40}, kPicture, false, 0},
                                                  {{30, 44, 3}, kPicture, true, 2},
                                                  {{2, 3, 24, 24}, kPicture, false, 1},
                                                  {{1, 4, 28, 28}, kPicture, false, 1},
                                                  {{1, 24, 56, 3}, kPicture, true, 3},
                                                  {{4, 3, 16, 16}, kPicture, false, 1},
                                                  {{1, 3, 64, 64}, kPicture, true, 1}},
                                     .maps = {{{1, 16, 14, 14}, kActivation, false, 1},
                                              {{1, 64, 7, 7}, kActivation, true, 1},
                                              {{1, 14, 14, 32}, kActivation, false, 3},
                                              {{2, 8, 12, 12}, kActivation, false, 1},
                                              {{1, 12, 10, 16}, kHidden, true, 1},
                                              {{1, 12, 20, 20}, kHidden, false, 1},
                                              {{1, 32, 28, 28}, kActivation, true, 1},
                                              {{4, 16, 8, 8}, kHidden, false, 1},
                                              {{1, 5, 9, 11}, kLogits, false, 1},
                                              {{1, 255, 13, 13}, kLogits, true, 1}},
                                     .any = {{{1, 1000}, kLogits, false, 1},
                                             {{1, 16, 14, 14}, kActivation, true, 1},
                                             {{1, 20, 64}, kHidden, false, 2},
                                             {{8, 10}, kLogits, true, 1},
                                             {{1, 3, 32, 32}, kPicture, false, 1},
                                             {{2, 12, 48}, kHidden, true, 2},
                                             {{1, 64, 1, 1}, kHidden, false, 1},
                                             {{4096}, kLogits, false, 0},
                                             {{1, 7, 7, 40}, kActivation, true, 3},
                                             {{1, 8, 10, 12, 12}, kActivation, false, 1}}};
  return tensors;
}

const TensorRecipes& other_tensors() {
  static const TensorRecipes tensors{.pictures = {{{1, 3, 56, 36}, kPicture, true, 1},
                                                  {{1, 3, 28, 28}, kPicture, false, 1},
                                                  {{1, 40, 30, 3}, kPicture, true, 3},
                                                  {{3, 33, 47}, kPicture, true, 0},
                                                  {{52, 20, 3}, kPicture, false, 2},
                                                  {{3, 3, 20, 20}, kPicture, true, 1},
                                                  {{1, 4, 36, 22}, kPicture, true, 1},
                                                  {{2, 26, 26, 3}, kPicture, false, 3},
                                                  {{8, 3, 12, 12}, kPicture, false, 1},
                                                  {{1, 3, 50, 70}, kPicture, false, 1}},
                                     .maps = {{{1, 24, 11, 13}, kActivation, true, 1},
                                              {{1, 96, 6, 6}, kActivation, false, 1},
                                              {{1, 9, 17, 48}, kActivation, true, 3},
                                              {{3, 10, 8, 8}, kActivation, true, 1},
                                              {{1, 8, 15, 32}, kHidden, false, 1},
                                              {{1, 6, 24, 24}, kHidden, true, 1},
                                              {{1, 40, 20, 20}, kActivation, false, 1},
                                              {{5, 12, 7, 9}, kHidden, true, 1},
                                              {{1, 6, 5, 13}, kLogits, true, 1},
                                              {{1, 85, 10, 10}, kLogits, false, 1}},
                                     .any = {{{1, 10}, kLogits, false, 1},
                                             {{1, 21, 16, 16}, kLogits, false, 1},
                                             {{1, 33, 96}, kHidden, true, 2},
                                             {{16, 12}, kLogits, false, 1},
                                             {{1, 44, 44, 3}, kPicture, true, 3},
                                             {{3, 17, 32}, kHidden, false, 2},
                                             {{1, 128}, kHidden, true, 1},
                                             {{1500}, kLogits, true, 0},
                                             {{1, 24, 9, 9}, kActivation, false, 1},
                                             {{2, 6, 4, 10, 10}, kActivation, true, 1}}};
  return tensors;
}

struct TransformCase {
  const char* name;
  std::vector<Recipe> TensorRecipes::*tensors;
  // Changes golden; says what the answer should be.
  std::string (*apply)(Made& made, const Recipe& recipe, Random& random);
};

size_t longest_axis(const Made& made) {
  return static_cast<size_t>(std::max_element(made.shape.begin(), made.shape.end()) -
                             made.shape.begin());
}

double rms(const Made& made) {
  double sum = 0;
  for (const double value : made.values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(made.count()));
}

std::string reorder(Made& made, const std::vector<size_t>& order) {
  made = transposed(made, order);
  std::string detail = "axes:";
  for (const size_t axis : order)
    detail += (detail.back() == ':' ? "" : ",") + std::to_string(axis);
  return detail;
}

std::string reverse(Made& made, size_t axis) {
  const int64_t last = made.shape[axis] - 1;
  made = moved(made, axis, [=](int64_t i) { return last - i; });
  return "flip:" + std::to_string(axis);
}

// A mean and a deviation for each channel, as pictures are normalised.
std::string normalise(Made& made, const Recipe& recipe, Random& random) {
  std::vector<double> mean, deviation;
  for (int64_t c = 0; c < recipe.shape[recipe.channels]; ++c) {
    mean.push_back(rms(made) * (0.8 + 0.2 * random.uniform()));
    deviation.push_back(rms(made) * (0.5 + 0.1 * random.uniform()));
  }
  for (int64_t i = 0; i < made.count(); ++i) {
    const auto c = static_cast<size_t>(made.index(i, recipe.channels));
    double& value = made.values[static_cast<size_t>(i)];
    value = (value - mean[c]) / deviation[c];
  }
  return "affine_per_channel";
}

const TransformCase kTransformCases[] = {
    {"NCHW to NHWC", &TensorRecipes::maps,
     [](Made& m, const Recipe&, Random&) {
       return reorder(m, {0, 2, 3, 1});
     }},
    {"NHWC to NCHW, with the old shape", &TensorRecipes::maps,
     [](Made& m, const Recipe&, Random&) {
       const Shape shape = m.shape;
       const std::string detail = reorder(m, {0, 3, 1, 2});
       m.shape = shape;
       return detail;
     }},
    {"heads and tokens, flattened", &TensorRecipes::maps,
     [](Made& m, const Recipe&, Random&) {
       const std::string detail = reorder(m, {0, 2, 1, 3});
       m.shape = {m.count()};
       return detail;
     }},
    {"BGR", &TensorRecipes::pictures,
     [](Made& m, const Recipe& r, Random&) {
       reverse(m, r.channels);
       return std::string("channels_reversed");
     }},
    {"0..1 instead of 0..255", &TensorRecipes::pictures,
     [](Made& m, const Recipe&, Random&) {
       m = each(m, [](double v) { return v / 255; });
       return std::string("scale:0.00392157");
     }},
    {"scale", &TensorRecipes::any,
     [](Made& m, const Recipe&, Random&) {
       m = each(m, [](double v) { return v * 1.03; });
       return std::string("scale:1.03");
     }},
    {"offset", &TensorRecipes::any,
     [](Made& m, const Recipe&, Random&) {
       m = each(m, [](double v) { return v + 0.75; });
       return std::string("offset:0.75");
     }},
    {"affine", &TensorRecipes::any,
     [](Made& m, const Recipe&, Random&) {
       m = each(m, [](double v) { return v * 0.4 - 3; });
       return std::string("affine:0.4,-3");
     }},
    {"normalised", &TensorRecipes::pictures, normalise},
    {"scales of channels", &TensorRecipes::maps, normalise},
    {"shift around the end", &TensorRecipes::any,
     [](Made& m, const Recipe&, Random&) {
       const size_t axis = longest_axis(m);
       const int64_t length = m.shape[axis];
       m = moved(m, axis, [=](int64_t i) { return (i + length - 1) % length; });
       return "shift:" + std::to_string(axis) + ",1";
     }},
    {"shift, edge undefined", &TensorRecipes::any,
     [](Made& m, const Recipe&, Random& random) {
       const size_t axis = longest_axis(m);
       const double size = rms(m);
       m = moved(
           m, axis, [](int64_t i) { return i + 2; }, [&] { return size * random.normal(); });
       return "shift:" + std::to_string(axis) + ",-2";
     }},
    {"flip", &TensorRecipes::any,
     [](Made& m, const Recipe&, Random&) { return reverse(m, longest_axis(m)); }},
    {"padding", &TensorRecipes::any,
     [](Made& m, const Recipe&, Random&) {
       m = padded(m, 1, 2);
       return std::string("padding");
     }},
    {"saturated", &TensorRecipes::any,
     [](Made& m, const Recipe&, Random&) {
       const double limit = std::round(8 * rms(m)) / 8;
       const bool has_negative =
           std::any_of(m.values.begin(), m.values.end(), [&](double v) { return v < -limit; });
       m = each(m, [&](double v) { return std::clamp(v, -limit, limit); });
       // Where nothing was below, the lower limit is what golden shows.
       return fmt::format("saturated:{},{}", has_negative ? fmt::format("{}", -limit) : "*", limit);
     }},
    {"negated", &TensorRecipes::any,
     [](Made& m, const Recipe&, Random&) {
       m = each(m, [](double v) { return -v; });
       return std::string("negated");
     }},
    {"cast to integers", &TensorRecipes::any,
     [](Made& m, const Recipe& r, Random&) {
       const bool is_picture = r.kind == kPicture;
       m = each(m, [&](double v) {
         return is_picture ? std::trunc(v) : std::clamp(std::nearbyint(v), -128.0, 127.0);
       });
       return std::string(is_picture ? "cast:uint8" : "cast:int8");
     }},
    {"cast to bfloat16", &TensorRecipes::maps,
     [](Made& m, const Recipe& r, Random&) {
       // Not to be told from the noise of float16, so of those to 8 bits.
       static const auto e5m2 = [](double v) {
         const double step = std::exp2(std::floor(std::log2(std::fabs(v))) - 2);
         return v == 0 ? 0 : std::nearbyint(v / step) * step;
       };
       if (r.is_half) {
         m = each(m, [](double v) { return std::fabs(v) < 0x1p-14 ? 0 : e5m2(v); });
         return std::string("cast:float8_e5m2");
       }
       m = each(m, [](double v) {
         return float_from_bfloat16(bfloat16_from_float(static_cast<float>(v)));
       });
       return std::string("cast:bfloat16");
     }},
    {"BGR and normalised", &TensorRecipes::pictures,
     [](Made& m, const Recipe& r, Random& random) {
       reverse(m, r.channels);
       normalise(m, r, random);
       return std::string("channels_reversed+affine_per_channel");
     }},
    {"channels last and scaled", &TensorRecipes::maps,
     [](Made& m, const Recipe&, Random&) {
       m = each(m, [](double v) { return v * 16; });
       return reorder(m, {0, 2, 3, 1}) + "+scale:16";
     }},
};

// Words alike; numbers to three digits, "*" any.
bool is_alike(std::string_view found, std::string_view wanted) {
  const auto next = [](std::string_view& text) {
    const size_t end = std::min(text.find_first_of(":,+"), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    return part;
  };
  while (!found.empty() && !wanted.empty()) {
    const std::string_view a = next(found), b = next(wanted);
    if (a == b || b == "*") continue;
    double x = 0, y = 0;
    if (std::from_chars(a.data(), a.data() + a.size(), x).ec != std::errc() ||
        std::from_chars(b.data(), b.data() + b.size(), y).ec != std::errc() ||
        std::fabs(x - y) > 2e-3 * std::fabs(y))
      return false;
  }
  return found.empty() && wanted.empty();
}

// Of all that was made, the share that is named.
double named_share(const TensorRecipes& tensors, uint64_t seed, std::string& misnamed) {
  int64_t all = 0, named = 0;
  for (const TransformCase& c : kTransformCases) {
    for (const Recipe& recipe : tensors.*c.tensors) {
      Random random{seed + static_cast<uint64_t>(++all)};
      const Made golden = stored(make(recipe, random), recipe.is_half);
      Made target = computed_again(golden, recipe.is_half, random);
      const std::string wanted = c.apply(target, recipe, random);
      target = stored(target, recipe.is_half);
      const auto found =
          find_transform(pair_of(target, golden, recipe.is_half), noise_of(recipe.is_half));
      if (found && is_alike(found->detail, wanted))
        ++named;
      else
        misnamed += fmt::format("{} of {} {}: {} instead of {}\n", c.name, to_string(recipe.shape),
                                recipe.is_half ? "float16" : "float32",
                                found ? found->detail : "nothing", wanted);
    }
  }
  return static_cast<double>(named) / static_cast<double>(all);
}

TEST(TransformsNamed, OfTheFirstTensors) {
  std::string misnamed;
  EXPECT_GE(named_share(first_tensors(), 1000, misnamed), 0.95) << misnamed;
  RecordProperty("misnamed", misnamed);
}

TEST(TransformsNamed, OfOtherTensors) {
  std::string misnamed;
  EXPECT_GE(named_share(other_tensors(), 7000000, misnamed), 0.95) << misnamed;
  RecordProperty("misnamed", misnamed);
}

}  // namespace
}  // namespace plumb::diagnose
