// SPDX-License-Identifier: Apache-2.0
//
// The table of all layouts, by the numbers that device dumps use for them. Those without functions
// are known by name only: nothing here can say where their elements lie.
#include <algorithm>

#include <fmt/format.h>

#include "tensor/layout/layout_kind.h"

namespace plumb {
namespace {

constexpr LayoutKind plain(int number, std::string_view name) {
  return {number, name, name, read_plain, store_plain};
}
constexpr LayoutKind blocked(int number, std::string_view name) {
  return {number, name, name.substr(0, name.find('_')), read_blocked, store_blocked};
}
constexpr LayoutKind opaque(int number, std::string_view name) {
  return {number, name, "", nullptr, nullptr};
}

constexpr LayoutKind kLayoutKinds[] = {
    plain(0, "NCHW"),
    plain(1, "NHWC"),
    {2, "ND", "", read_plain, store_plain},
    blocked(3, "NC1HWC0"),
    {4, "FRACTAL_Z", "NCHW", read_fractal_z, store_fractal_z},
    opaque(5, "NC1C0HWPAD"),
    blocked(6, "NHWC1C0"),
    opaque(7, "FSR_NCHW"),
    opaque(8, "FRACTAL_DECONV"),
    blocked(9, "C1HWNC0"),
    opaque(10, "FRACTAL_DECONV_TRANSPOSE"),
    opaque(11, "FRACTAL_DECONV_SP_STRIDE_TRANS"),
    blocked(12, "NC1HWC0_C04"),
    opaque(13, "FRACTAL_Z_C04"),
    plain(14, "CHWN"),
    opaque(15, "FRACTAL_DECONV_SP_STRIDE8_TRANS"),
    plain(16, "HWCN"),
    opaque(17, "NC1KHKWHWC0"),
    opaque(18, "BN_WEIGHT"),
    opaque(19, "FILTER_HWCK"),
    opaque(20, "HASHTABLE_LOOKUP_LOOKUPS"),
    opaque(21, "HASHTABLE_LOOKUP_KEYS"),
    opaque(22, "HASHTABLE_LOOKUP_VALUE"),
    opaque(23, "HASHTABLE_LOOKUP_OUTPUT"),
    opaque(24, "HASHTABLE_LOOKUP_HITS"),
    opaque(25, "C1HWNCoC0"),
    opaque(26, "MD"),
    plain(27, "NDHWC"),
    opaque(28, "FRACTAL_ZZ"),
    {29, "FRACTAL_NZ", "", read_fractal_nz, store_fractal_nz},
    plain(30, "NCDHW"),
    plain(31, "DHWCN"),
    blocked(32, "NDC1HWC0"),
    {33, "FRACTAL_Z_3D", "NCDHW", read_fractal_z, store_fractal_z},
    plain(34, "CN"),
    plain(35, "NC"),
    plain(36, "DHWNC"),
    opaque(37, "FRACTAL_Z_3D_TRANSPOSE"),
    opaque(38, "FRACTAL_ZN_LSTM"),
    opaque(39, "FRACTAL_Z_G"),
    opaque(40, "RESERVED"),
    opaque(41, "ALL"),
    opaque(42, "NULL"),
    opaque(43, "ND_RNN_BIAS"),
    opaque(44, "FRACTAL_ZN_RNN"),
    opaque(45, "YUV"),
    opaque(46, "YUV_A"),
    plain(47, "NCL"),
    opaque(48, "FRACTAL_Z_WINO"),
    opaque(49, "C1HWC0"),
    opaque(255, "MAX"),
};

// Other words for them, from other versions of the vendor's tools.
struct LayoutAlias {
  std::string_view alias;
  int number;
};
constexpr LayoutAlias kLayoutAliases[] = {
    {"DECONV_SP_STRIDE8_TRANS", 15},
    {"LOOKUP_LOOKUPS", 20},
    {"LOOKUP_KEYS", 21},
    {"LOOKUP_VALUE", 22},
    {"LOOKUP_OUTPUT", 23},
    {"LOOKUP_HITS", 24},
    {"NYUV", 45},
    {"NYUV_A", 46},
};

const LayoutKind* find(int number) {
  for (const LayoutKind& kind : kLayoutKinds)
    if (kind.number == number) return &kind;
  return nullptr;
}

// The kind if we can convert it, else why not.
Result<const LayoutKind*> convertible(Layout layout) {
  const LayoutKind* kind = find(layout.number);
  if (kind != nullptr && kind->read != nullptr) return kind;
  return Error{fmt::format("layout {} cannot be converted", name_of(layout)),
               "where its elements lie is not known", "read the tensor as stored"};
}

}  // namespace

std::string name_of(Layout layout) {
  const LayoutKind* kind = find(layout.number);
  return kind != nullptr ? std::string(kind->name) : fmt::format("format {}", layout.number);
}

std::optional<Layout> layout_from_name(std::string_view name) {
  for (const LayoutKind& kind : kLayoutKinds)
    if (kind.name == name) return Layout{kind.number};
  for (const LayoutAlias& alias : kLayoutAliases)
    if (alias.alias == name) return Layout{alias.number};
  return std::nullopt;
}

std::vector<std::string> layout_names() {
  std::vector<std::string> names;
  for (const LayoutKind& kind : kLayoutKinds)
    if (kind.read != nullptr) names.emplace_back(kind.name);
  return names;
}

bool is_plain(Layout layout) {
  const LayoutKind* kind = find(layout.number);
  return kind != nullptr && kind->read == read_plain;
}

std::optional<Layout> blocked_layout(const Shape& stored, const Shape& logical) {
  const LayoutKind* found = nullptr;
  for (const LayoutKind& kind : kLayoutKinds) {
    if (kind.read == nullptr || kind.read == read_plain) continue;
    if (!plain_map({kind.number}, stored, logical)) continue;
    if (found != nullptr && found->read != kind.read) return {};
    if (found == nullptr) found = &kind;
  }
  if (found == nullptr) return {};
  return Layout{found->number};
}

Result<IndexMap> plain_map(Layout layout, const Shape& stored, const std::optional<Shape>& logical,
                           std::string_view order) {
  auto kind = convertible(layout);
  if (!kind) return kind.error();
  for (const Shape* shape : {&stored, logical ? &*logical : &stored})
    if (!element_count(*shape))
      return Error{"shape is impossible",
                   fmt::format("layout {}, shape {}", name_of(layout), to_string(*shape)),
                   "write the file again; its header is damaged"};
  return (*kind)->read(**kind, std::max(layout.groups, 1), stored, logical, order);
}

Result<StoredAs> stored_as(Layout layout, const Shape& logical, std::string_view order,
                           int64_t c0) {
  auto kind = convertible(layout);
  if (!kind) return kind.error();
  return (*kind)->store(**kind, std::max(layout.groups, 1), logical, order, c0);
}

}  // namespace plumb
