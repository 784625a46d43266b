// SPDX-License-Identifier: Apache-2.0
//
// Caffe layers that only move elements (see caffe_layer.h).
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/caffe_layer.h"

namespace plumb::graph::caffe_layers {
namespace {

void give_reshaped(CaffeLayer& layer, const Shape& shape) {
  const std::string sizes = layer.constant(shape, "shape");
  layer.give("Reshape", {layer.bottom(), sizes}, shape);
}

// The axis as `axis`, or by its old name, which had no default.
size_t axis_of(CaffeLayer& layer, std::string_view old) {
  return layer.axis(layer.has(old) ? old : "axis", layer.shape().size());
}

}  // namespace

void concat(CaffeLayer& layer) {
  if (!layer.fits({.most_bottoms = -1})) return;
  const size_t axis = axis_of(layer, "concat_dim");
  Shape out = layer.shape();
  CaffeLayer::Names inputs{layer.bottom()};
  for (size_t i = 1; i < layer.bottoms(); ++i) {
    Shape other = layer.shape(i);
    if (other.size() == out.size()) {
      out[axis] += other[axis];
      other[axis] = out[axis];
    }
    if (other != out)
      return layer.refuse(fmt::format("{} does not fit {} along axis {}", to_string(layer.shape(i)),
                                      to_string(layer.shape()), axis));
    inputs.push_back(layer.bottom(i));
  }
  layer.give("Concat", inputs, out, {{"axis", static_cast<int64_t>(axis)}});
}

void slice(CaffeLayer& layer) {
  if (!layer.fits({.most_tops = -1})) return;
  const Shape& in = layer.shape();
  const size_t axis = axis_of(layer, "slice_dim");
  const auto parts = static_cast<int64_t>(layer.tops());
  Ints points = layer.integers("slice_point", 1);
  if (points.empty()) {
    if (in[axis] % parts != 0)
      return layer.refuse(fmt::format("{} is not divisible by {}", in[axis], parts));
    for (int64_t i = 1; i < parts; ++i) points.push_back(i * (in[axis] / parts));
  }
  if (std::ssize(points) != parts - 1)
    return layer.refuse(fmt::format("it has {} slice points for {} tops", points.size(), parts));
  points.push_back(in[axis]);
  Ints sizes;
  std::vector<Shape> shapes;
  for (int64_t before = 0; const int64_t point : points) {
    if (point <= before)
      return layer.refuse(fmt::format("its slice points do not rise within {}", in[axis]));
    sizes.push_back(point - before);
    shapes.push_back(in);
    shapes.back()[axis] = sizes.back();
    before = point;
  }
  layer.give("Split", {layer.bottom(), layer.constant(sizes, "sizes")}, shapes,
             {{"axis", static_cast<int64_t>(axis)}});
}

// Each top is the bottom itself; an engine moves nothing.
void split(CaffeLayer& layer) {
  if (layer.fits({.most_tops = -1})) layer.give_copies();
}

// The part of the first bottom that has the size of the second.
void crop(CaffeLayer& layer) {
  if (!layer.fits({.least_bottoms = 2, .most_bottoms = 2})) return;
  const Shape &in = layer.shape(), &like = layer.shape(1);
  const size_t axis = layer.axis("axis", in.size());
  Ints offsets = layer.integers("offset", 0);
  const size_t cropped = in.size() - axis;
  if (offsets.size() <= 1) offsets.resize(cropped, offsets.empty() ? 0 : offsets[0]);
  if (like.size() != in.size() || offsets.size() != cropped)
    return layer.refuse(fmt::format("{} offsets for {} as {} from axis {} on", offsets.size(),
                                    to_string(in), to_string(like), axis));
  Shape out = in;
  Ints ends, axes;
  for (size_t i = 0; i < cropped; ++i) {
    out[axis + i] = like[axis + i];
    axes.push_back(static_cast<int64_t>(axis + i));
    ends.push_back(offsets[i] + like[axis + i]);
    if (ends.back() > in[axis + i])
      return layer.refuse(fmt::format("{} from offset {} on do not fit into {}", like[axis + i],
                                      offsets[i], to_string(in)));
  }
  const std::string from = layer.constant(offsets, "starts"), to = layer.constant(ends, "ends");
  layer.give("Slice", {layer.bottom(), from, to, layer.constant(axes, "axes")}, out);
}

void reshape(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  const Shape& in = layer.shape();
  const size_t first = layer.axis("axis", in.size(), 1);
  const int64_t told = layer.integer("num_axes", -1);
  const size_t count =
      told < 0 ? in.size() - std::min(first, in.size()) : static_cast<size_t>(told);
  const Ints sizes = layer.integers("shape.dim", -1);
  if (!layer.ok()) return;
  if (first + count > in.size())
    return layer.refuse(
        fmt::format("{} axes from axis {} on are more than {} has", count, first, to_string(in)));
  Shape out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(first));
  std::optional<size_t> open;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0 && first + i >= in.size())
      return layer.refuse(fmt::format("size {} is to be copied from {}", i, to_string(in)));
    if (sizes[i] < 0 && open) return layer.refuse("two of its sizes are -1");
    if (sizes[i] < 0) open = out.size();
    out.push_back(sizes[i] == 0 ? in[first + i] : std::max<int64_t>(sizes[i], 1));
  }
  out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(first + count), in.end());
  const int64_t all = *element_count(in);
  const auto rest = element_count(out);
  if (open && rest && *rest > 0) out[*open] = all / *rest;
  if (element_count(out) != all)
    return layer.refuse(fmt::format("{} cannot become {}", to_string(in), to_string(out)));
  give_reshaped(layer, out);
}

void flatten(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  const Shape& in = layer.shape();
  const size_t first = layer.axis("axis", in.size()), last = layer.axis("end_axis", in.size());
  if (first > last) return layer.refuse(fmt::format("axis {} is behind {}", first, last));
  if (first == 1 && last + 1 == in.size())
    return layer.give("Flatten", {layer.bottom()}, Shape{in[0], *element_count(in) / in[0]},
                      {{"axis", int64_t{1}}});
  Shape out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(first));
  out.push_back(1);
  for (size_t i = first; i <= last; ++i) out.back() *= in[i];
  out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(last) + 1, in.end());
  give_reshaped(layer, out);
}

// Axes that are not named keep their order, behind those that are.
void permute(CaffeLayer& layer) {
  if (!layer.fits({})) return;
  const Shape& in = layer.shape();
  Ints order = layer.integers("order", 0);
  for (int64_t axis = 0; axis < std::ssize(in); ++axis)
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  Ints sorted = order, all(in.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all)
    return layer.refuse(fmt::format("its order [{}] is none of the {} axes of {}",
                                    fmt::join(order, ", "), in.size(), to_string(in)));
  Shape out;
  for (const int64_t axis : order) out.push_back(in[static_cast<size_t>(axis)]);
  layer.give("Transpose", {layer.bottom()}, out, {{"perm", order}});
}

// Channel g * size + i moves to i * groups + g.
void shuffle_channel(CaffeLayer& layer) {
  if (!layer.fits({.least_axes = 4, .most_axes = 4})) return;
  const Shape& in = layer.shape();
  const int64_t groups = layer.integer("group", 1);
  if (in[1] % groups != 0)
    return layer.refuse(fmt::format("{} groups divide {} channels", groups, in[1]));
  const int64_t size = in[1] / groups;
  const Shape apart{in[0], groups, size, in[2], in[3]}, turned{in[0], size, groups, in[2], in[3]};
  const std::string grouped = layer.step(
      "grouped", "Reshape", {layer.bottom(), layer.constant(apart, "grouped_shape")}, apart);
  const std::string moved =
      layer.step("moved", "Transpose", {grouped}, turned, {{"perm", Ints{0, 2, 1, 3, 4}}});
  layer.give("Reshape", {moved, layer.constant(in, "shape")}, in);
}

void silence(CaffeLayer&) {}

}  // namespace plumb::graph::caffe_layers
