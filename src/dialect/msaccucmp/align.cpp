// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/align.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "dialect/msaccucmp/algorithms.h"

namespace plumb::msaccucmp {
namespace {

// What the tool converts; anything else is refused.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kConversions{{
    {"NC1HWC0", "NCHW"},
    {"NC1HWC0", "NHWC"},
    {"NC1HWC0", "HWCN"},
    {"FRACTAL_Z", "NCHW"},
    {"FRACTAL_Z", "HWCN"},
    {"FRACTAL_NZ", "ND"},
    {"FRACTAL_NZ", "NCHW"},
    {"FRACTAL_NZ", "NHWC"},
    {"NDC1HWC0", "ND"},
    {"NDC1HWC0", "NCDHW"},
    {"NCHW", "FRACTAL_Z"},
    {"NHWC", "FRACTAL_Z"},
    {"HWCN", "FRACTAL_Z"},
    {"HWCN", "NCHW"},
    {"HWCN", "NHWC"},
    {"NCHW", "NHWC"},
    {"NHWC", "NCHW"},
    {"NHWC", "HWCN"},
}};

constexpr size_t kUsualRank = 4;
constexpr int64_t kFractalBlock = 16;

Fault shape_fault(const Shape& target, const Shape& golden) {
  return {Code::kShape,
          Error{"the shapes do not match",
                fmt::format("target {}, golden {}", to_string(target), to_string(golden)),
                "check the batch size; an optimization may have changed the shape"}};
}

bool is_named_rank4(std::string_view format) {
  return format == "NCHW" || format == "HWCN" || format == "NHWC";
}

View mapped_view(const Tensor& tensor, IndexMap map) {
  View view = whole_view(tensor, map.shape());
  view.count = *element_count(view.shape);
  if (!map.is_identity() || view.count != tensor.count) view.map = std::move(map);
  return view;
}

// FRACTAL_NZ keeps (leading..., M, N) as (leading..., N/16, M/16, 16, 16).
std::optional<Fault> check_nz_shape(const Shape& stored, const Shape& wanted) {
  constexpr int64_t kBlock = 16;
  const auto refuse = [&] {
    return Fault{Code::kNzShape,
                 Error{"the original shape does not fit FRACTAL_NZ",
                       fmt::format("stored {}, original {}", to_string(stored), to_string(wanted)),
                       "give the original shape with -s, or check the rule file"}};
  };
  if (stored.size() < 4 || wanted.size() + 2 != stored.size()) return refuse();
  const size_t leading = stored.size() - 4;
  for (size_t i = 0; i < leading; ++i)
    if (stored[i] != wanted[i]) return refuse();
  const auto rows = checked_mul(stored[leading + 1], stored[leading + 2]);
  const auto columns = checked_mul(stored[leading], stored[leading + 3]);
  const auto fits = [](int64_t size, std::optional<int64_t> padded) {
    return padded && size > *padded - kBlock && size <= *padded;
  };
  if (!fits(wanted[leading], rows) || !fits(wanted[leading + 1], columns)) return refuse();
  return std::nullopt;
}

// The elements of a plain tensor laid out as FRACTAL_Z, padding zero.
Outcome<View> stored_fractal_z(const Tensor& tensor, std::string_view from, const Layout& to) {
  auto stored = stored_as(to, tensor.shape, from, kFractalBlock);
  if (!stored) return Fault{Code::kFormat, std::move(stored.error())};
  const auto count = element_count(stored->stored);
  const size_t item = static_cast<size_t>(bits_of(tensor.dtype) / 8);
  if (!count) return Fault{Code::kFormat, Error{"impossible shape", to_string(stored->stored), ""}};
  auto plain = read_elements(whole_view(tensor, tensor.shape));
  if (!plain) return std::move(plain.fault());
  std::vector<std::byte> bytes(static_cast<size_t>(*count) * item);
  scatter(stored->map, item, plain->data(), bytes.data());
  Tensor copy = tensor;
  copy.owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  dump::Entry entry;
  entry.memory = copy.owned->data();
  entry.info.emplace();
  entry.info->dtype = tensor.dtype;
  entry.info->shape = stored->stored;
  entry.info->size_bytes = copy.owned->size();
  entry.parts.push_back({});
  copy.entry = std::make_shared<const dump::Entry>(std::move(entry));
  copy.layout = to;
  copy.shape = stored->stored;
  copy.count = *count;
  return whole_view(copy, copy.shape);
}

// One of the conversions in the table. `wanted` is the original shape, which some layouts cannot be
// read without.
Outcome<View> rearranged(const Tensor& tensor, const Layout& to, const Shape& wanted) {
  const std::string from_name = name_of(tensor.layout), to_name = name_of(to);
  const bool is_nz = from_name == "FRACTAL_NZ";
  if (is_nz)
    if (auto fault = check_nz_shape(tensor.shape, wanted)) return *fault;
  if (std::find(kConversions.begin(), kConversions.end(),
                std::pair<std::string_view, std::string_view>(from_name, to_name)) ==
      kConversions.end())
    return {Code::kFormat, Error{}};  // the tool says nothing in this case
  if (to_name == "FRACTAL_Z") return stored_fractal_z(tensor, from_name, to);
  std::optional<Shape> logical;
  if (is_nz || from_name == "FRACTAL_Z") logical = wanted;
  const std::string order = is_nz ? "" : from_name == "NDC1HWC0" ? "NCDHW" : to_name;
  auto map = plain_map(tensor.layout, tensor.shape, logical, order);
  if (!map) return Fault{Code::kFormat, std::move(map.error())};
  return mapped_view(tensor, std::move(*map));
}

// Neither side is given a shape then.
bool stays_flat(const Tensor& tensor, const Layout& to) {
  const std::string from = name_of(tensor.layout);
  return (name_of(to) == "ND" && from != "FRACTAL_NZ" && from != "NDC1HWC0") ||
         counts_as_scalar(tensor.shape);
}

Outcome<View> converted(const Tensor& tensor, const Layout& to, const Shape& wanted) {
  const std::string from = name_of(tensor.layout);
  const Shape& stored = tensor.shape;
  if (from == "ND" || (is_named_rank4(from) && stored.size() != kUsualRank) || from == name_of(to))
    return whole_view(tensor, stored);
  if (from == "FRACTAL_NZ" && name_of(to) == "ND" && wanted.size() > 2 && stored.size() >= 4) {
    Shape folded(wanted.begin(), wanted.end() - 2);
    folded.insert(folded.end(), stored.end() - 4, stored.end());
    if (element_count(folded) != tensor.count) return whole_view(tensor, stored);
  }
  return rearranged(tensor, to, wanted);
}

Shape padded(Shape shape, size_t rank) {
  if (shape.size() < rank) shape.resize(rank, 1);
  return shape;
}

// The target without what it has beyond golden's shape; unchanged if there is nothing.
Outcome<View> sliced(View target, const Shape& golden) {
  const Shape a = target.shape;
  if (a.size() < golden.size()) {
    if (squeezed(a) != squeezed(golden)) return shape_fault(squeezed(a), squeezed(golden));
    return target;
  }
  const Shape from = padded(a, kUsualRank), to = padded(golden, from.size());
  const auto ones = static_cast<size_t>(std::count(a.begin(), a.end(), 1));
  if (element_count(a) == element_count(golden) && ones + 1 >= a.size()) return target;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] < to[i]) return shape_fault(from, to);
    if (from[i] == to[i]) continue;
    if (from.size() > kUsualRank + 1) return target;
    IndexMap map;
    if (target.map) {
      map = std::move(*target.map);
    } else {
      const Shape strides = row_major_strides(a);
      for (size_t axis = 0; axis < a.size(); ++axis)
        map.axes.push_back({a[axis], 1, strides[axis], 0});
    }
    map.axes.resize(from.size(), AxisMap{1, 1, 0, 0});
    for (size_t axis = 0; axis < from.size(); ++axis)
      map.axes[axis].size = std::min(from[axis], to[axis]);
    return mapped_view(target.tensor, std::move(map));
  }
  return target;
}

// NHWC written into the rule although the golden file is NCHW, and the other way round.
void fix_axis_order(Description& description, const Shape& golden) {
  const Shape& d = description.shape;
  if (d.size() != 4 || golden.size() != 4 || d == golden) return;
  if (description.format == "NHWC" && d == Shape{golden[0], golden[2], golden[3], golden[1]})
    description.format = "NCHW";
  else if (description.format == "NCHW" && d == Shape{golden[0], golden[3], golden[1], golden[2]})
    description.format = "NHWC";
}

bool has_depth(std::string_view format) {
  return format == "NDHWC" || format == "NCDHW" || format == "DHWCN" || format == "NDC1HWC0";
}

// What is cut off in layouts that store more than the tensor is padding, as far as that goes.
bool is_cut(const Tensor& tensor, int64_t before, int64_t after) {
  if (is_plain(tensor.layout)) return after != before;
  return !tensor.original.empty() && after < element_count(tensor.original).value_or(0);
}

}  // namespace

Outcome<Aligned> align(const Tensor& target, const Tensor& golden, Description description,
                       const AlignOptions& options) {
  if (!target.original.empty()) description.shape = target.original;
  if (options.golden_is_dump) {
    description.shape = golden.shape;
    description.format = name_of(golden.layout);
  }
  Layout golden_layout = target.layout;
  if (!description.format.empty()) {
    fix_axis_order(description, golden.shape);
    const auto found = layout_from_name(description.format);
    if (!found)
      return {Code::kFormat, Error{"unknown format of the original tensor",
                                   fmt::format("'{}'", description.format), ""}};
    golden_layout = *found;
  }
  Layout to = golden_layout;
  if (options.detailed && name_of(target.layout) != "FRACTAL_Z")
    to = *layout_from_name(has_depth(name_of(target.layout)) ? "NCDHW" : "NCHW");
  if (to.number == 4) to.groups = target.layout.groups;

  Tensor as_golden = golden;
  as_golden.layout = golden_layout;
  const bool flat = stays_flat(target, to);
  auto left = flat ? Outcome<View>(flat_view(target)) : converted(target, to, description.shape);
  if (!left) return left.fault();
  auto right = flat ? Outcome<View>(flat_view(golden)) : converted(as_golden, to, golden.shape);
  if (!right) return right.fault();
  if (target.is_empty()) left->shape = target.shape;  // the tool shows these as they are stored

  const bool is_tensor = !counts_as_scalar(target.shape);
  const int64_t before = left->count;
  if (name_of(target.layout) != "ND" || (is_tensor && left->count != right->count)) {
    left = sliced(std::move(*left), right->shape);
    if (!left) return left.fault();
  }
  if (left->count != right->count) return shape_fault({left->count}, {right->count});
  const bool truncated = is_cut(target, before, left->count);
  return Aligned{std::move(*left), std::move(*right), truncated};
}

Outcome<Aligned> align_equal(const Tensor& target, const Tensor& golden) {
  if (target.shape != golden.shape) return shape_fault(target.shape, golden.shape);
  return Aligned{whole_view(target, target.shape), whole_view(golden, golden.shape), false};
}

Outcome<View> converted_view(const Tensor& tensor, const Layout& to, const Shape& original) {
  const Shape& shape = original.empty() ? tensor.original : original;
  if (name_of(tensor.layout) == name_of(to)) return whole_view(tensor, tensor.shape);
  auto view = rearranged(tensor, to, shape);
  if (!view && view.fault().error.what.empty())
    view.fault().error = {"this conversion is not known",
                          fmt::format("{} to {}", name_of(tensor.layout), name_of(to)),
                          name_of(tensor.layout) == "ND"
                              ? "its axes have no names; leave out -f to get it as it is"
                              : "`plumb convert --layout` converts between all layouts"};
  // The original shape does not name its axes; where it fits, the padding goes.
  const std::string order = name_of(to) == "ND" ? "" : name_of(to);
  if (view && !shape.empty() && is_plain(to) && !is_plain(tensor.layout))
    if (auto map = plain_map(tensor.layout, tensor.shape, shape, order))
      return mapped_view(tensor, std::move(*map));
  return view;
}

View restored(const Tensor& tensor) {
  const View raw = whole_view(tensor, tensor.shape);
  Tensor source = tensor;
  if (is_named_rank4(name_of(tensor.layout)) && tensor.shape.size() != kUsualRank)
    source.layout = kPlainLayout;
  const Shape& original = tensor.original;
  Layout to = source.layout;
  if (original.size() == 4) to = *layout_from_name("NCHW");
  if (original.size() == 3 || original.size() == 2) to = kPlainLayout;
  if (name_of(to) == name_of(source.layout)) return raw;
  auto plain = rearranged(source, to, original);
  if (!plain) return raw;
  View uncut = *plain;
  auto cut = sliced(std::move(*plain), original);
  return cut ? std::move(*cut) : uncut;
}

}  // namespace plumb::msaccucmp
