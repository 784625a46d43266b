// SPDX-License-Identifier: Apache-2.0
//
// Functions that look at many elements at once: softmax, layer normalization, means and maxima
// over axes or windows.
#include <algorithm>
#include <cmath>

#include "diagnose/function_families.h"

namespace plumb::diagnose {
namespace {

// The elements of a tensor along some of its axes, which stand together: those from `first` up to,
// not including, `end`.
struct Along {
  size_t outer = 1, length = 1, inner = 1;

  Along(const Shape& shape, size_t first, size_t end) {
    for (size_t axis = 0; axis < shape.size(); ++axis)
      (axis < first ? outer : axis < end ? length : inner) *= static_cast<size_t>(shape[axis]);
  }
  size_t first_of(size_t i) const { return i / (length * inner) * length * inner + i % inner; }
  template <class Use>
  void each_group(const Use& use) const {  // use(place of the first element)
    for (size_t o = 0; o < outer; ++o)
      for (size_t i = 0; i < inner; ++i) use(o * length * inner + i);
  }
};

const Seen* only_input(const Example& example, bool as_large) {
  if (example.inputs.size() != 1) return nullptr;
  const Seen& input = example.inputs[0];
  return (input.golden->size() == example.count()) == as_large ? &input : nullptr;
}

Numbers softmax_of(const Numbers& x, const Along& along) {
  Numbers y(x.size());
  along.each_group([&](size_t first) {
    double largest = -INFINITY, sum = 0;
    for (size_t k = 0; k < along.length; ++k)
      largest = std::max(largest, x[first + k * along.inner]);
    for (size_t k = 0; k < along.length; ++k)
      sum += y[first + k * along.inner] = std::exp(x[first + k * along.inner] - largest);
    for (size_t k = 0; k < along.length; ++k) y[first + k * along.inner] /= sum;
  });
  return y;
}

// What gives a group mean 0 (if that is taken off) and mean square 1.
struct Unit {
  double mean = 0, factor = 0;

  Unit(const Numbers& x, const Along& along, size_t first, bool takes_mean) {
    const auto n = static_cast<double>(along.length);
    double squares = 0;
    for (size_t k = 0; takes_mean && k < along.length; ++k) mean += x[first + k * along.inner] / n;
    for (size_t k = 0; k < along.length; ++k) {
      const double d = x[first + k * along.inner] - mean;
      squares += d * d / n;
    }
    factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
  }
};
Numbers normalised_of(const Numbers& x, const Along& along, bool takes_mean) {
  Numbers y(x.size());
  along.each_group([&](size_t first) {
    const Unit unit(x, along, first, takes_mean);
    for (size_t k = 0; k < along.length; ++k)
      y[first + k * along.inner] = unit.factor * (x[first + k * along.inner] - unit.mean);
  });
  return y;
}

// Whether it is worth to normalise all of golden's input: a few elements tell.
bool may_be_normalised(const Example& example, const Groups& channels, const Along& along,
                       bool takes_mean) {
  const Numbers& golden = *example.inputs[0].golden;
  std::optional<std::pair<size_t, Unit>> last;  // several elements may belong to one group
  const auto x = [&](bool, size_t i) {
    const size_t first = along.first_of(i);
    if (!last || last->first != first) last.emplace(first, Unit(golden, along, first, takes_mean));
    return last->second.factor * (golden[i] - last->second.mean);
  };
  return may_be_lines(example, channels, x, false) || may_be_lines(example, channels, x, true);
}

struct Window {
  int64_t size, stride, before;
  int way;  // 0 the largest, 1 the mean of what is there, 2 the mean with zeros outside
};

double in_window(const Numbers& x, const Seen& input, const Window& window, size_t plane, int64_t y,
                 int64_t x0) {
  const int64_t height = input.length(2), width = input.length(3);
  double largest = -INFINITY, sum = 0;
  int64_t seen = 0;
  for (int64_t i = 0; i < window.size; ++i)
    for (int64_t j = 0; j < window.size; ++j) {
      const int64_t v = y * window.stride - window.before + i,
                    h = x0 * window.stride - window.before + j;
      if (v < 0 || h < 0 || v >= height || h >= width) continue;
      const double value = x[(plane * static_cast<size_t>(height) + static_cast<size_t>(v)) *
                                 static_cast<size_t>(width) +
                             static_cast<size_t>(h)];
      largest = std::max(largest, value);
      sum += value;
      ++seen;
    }
  if (seen == 0) return 0;
  return window.way == 0
             ? largest
             : sum / static_cast<double>(window.way == 1 ? seen : window.size * window.size);
}

}  // namespace

std::optional<Should> softmax(const Example& example) {
  const Seen* input = only_input(example, true);
  if (input == nullptr) return {};
  const Numbers& y = *example.output.golden;
  const bool is_share =
      std::all_of(y.begin(), y.end(), [](double value) { return value >= 0 && value <= 1; });
  for (size_t axis = example.output.shape.size(); is_share && axis-- > 0;) {
    const Along along(example.output.shape, axis, axis + 1);
    if (along.length < 2) continue;
    Should should{softmax_of(*input->golden, along), {}};
    if (!gives_golden(should.golden, example)) continue;
    should.target = softmax_of(*input->target, along);
    return should;
  }
  return {};
}

// Over the last axis, with a factor and an offset for each place along it (layer normalization);
// over pictures, with one for each channel; over the channels.
std::optional<Should> normalised(const Example& example) {
  const Seen* input = only_input(example, true);
  const Shape& shape = example.output.shape;
  const size_t rank = shape.size();
  if (input == nullptr || rank < 2) return {};
  struct Way {
    size_t first, end, channel;
  };
  const Way ways[] = {{rank - 1, rank, rank - 1}, {2, rank, 1}, {1, 2, 1}};
  for (const Way& way : ways) {
    if (way.first >= way.end || way.end > rank) continue;
    const Along along(shape, way.first, way.end), channel(shape, way.channel, way.channel + 1);
    if (along.length < 4) continue;
    const Groups channels{channel.length, channel.inner};
    for (const bool takes_mean : {true, false}) {
      if (!may_be_normalised(example, channels, along, takes_mean)) continue;
      const Numbers golden = normalised_of(*input->golden, along, takes_mean);
      Numbers target;  // wanted if it fits golden
      const auto x = [&](bool is_golden, size_t i) {
        if (!is_golden && target.empty()) target = normalised_of(*input->target, along, takes_mean);
        return (is_golden ? golden : target)[i];
      };
      if (auto found = by_lines(example, channels, x)) return found;
    }
  }
  return {};
}

// Means, sums and maxima over some axes that stand together.
std::optional<Should> reduced(const Example& example) {
  const Seen* input = only_input(example, false);
  if (input == nullptr || input->golden->size() < example.count()) return {};
  const size_t rank = input->shape.size();
  for (size_t first = 0; first < rank; ++first)
    for (size_t end = first + 1; end <= rank; ++end) {
      const Along along(input->shape, first, end);
      if (along.outer * along.inner != example.count() || along.length < 2) continue;
      for (const int way : {0, 1, 2}) {
        if (auto found = by_element(example, [&](bool is_golden, size_t i) {
              const Numbers& x = input->of(is_golden);
              const size_t place = i / along.inner * along.length * along.inner + i % along.inner;
              double sum = 0, largest = -INFINITY;
              for (size_t k = 0; k < along.length; ++k) {
                sum += x[place + k * along.inner];
                largest = std::max(largest, x[place + k * along.inner]);
              }
              return way == 0 ? sum / static_cast<double>(along.length) : way == 1 ? largest : sum;
            }))
          return found;
      }
    }
  return {};
}

std::optional<Should> pooled(const Example& example) {
  if (example.inputs.size() != 1) return {};
  const Seen& input = example.inputs[0];
  const Shape& shape = example.output.shape;
  if (input.shape.size() != 4 || shape.size() != 4 || input.shape[0] != shape[0] ||
      input.shape[1] != shape[1] || example.count() == 0)
    return {};
  const int64_t height = shape[2], width = shape[3];
  const int64_t stride = (input.shape[2] + height - 1) / height;
  constexpr int64_t kSizes[] = {2, 3, 5};
  for (const int64_t size : kSizes)
    for (int64_t before = 0; before <= size / 2; ++before)
      for (const int64_t step : {stride, stride - 1}) {
        if (step < 1 || (height - 1) * step - before >= input.shape[2]) continue;
        for (const int way : {0, 1, 2}) {
          const Window window{size, step, before, way};
          if (auto found = by_element(example, [&](bool is_golden, size_t i) {
                const auto x = static_cast<int64_t>(i) % width,
                           y = static_cast<int64_t>(i) / width % height;
                return in_window(input.of(is_golden), input, window,
                                 i / static_cast<size_t>(width * height), y, x);
              }))
            return found;
        }
      }
  return {};
}

}  // namespace plumb::diagnose
