// SPDX-License-Identifier: Apache-2.0
//
// Access to tests/data/ascend-dump: the dumps, and the arrays the reference tool made of them;
// files that tests make themselves, and what they list.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "io/file.h"
#include "json_file.h"
#include "tensor/decode.h"

namespace plumb::io {

inline std::filesystem::path vectors() {
  return std::filesystem::path(PLUMB_TEST_DATA) / "ascend-dump";
}

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<nlohmann::json> cases(std::string_view folder) {
  std::vector<nlohmann::json> found;
  const auto manifest = read_json(vectors() / "manifest.json");
  for (const auto& one : manifest.at("cases"))
    if (one.at("file").get<std::string>().starts_with(folder)) found.push_back(one);
  return found;
}

inline const ReadOrder kAsStored{true, {}, {}};

inline ReadHints named(std::string_view file_name) {
  ReadHints hints;
  hints.file_name = file_name;
  return hints;
}

inline Listing listed(const Format& format, const std::string& file, std::string_view name = {}) {
  auto listing = format.list(as_bytes(file), named(name));
  if (!listing) {
    ADD_FAILURE() << listing.error().what << ": " << listing.error().where;
    return {};
  }
  return std::move(*listing);
}

inline Error refused(const Format& format, const std::string& file, std::string_view name = {}) {
  auto listing = format.list(as_bytes(file), named(name));
  if (listing.ok()) {
    ADD_FAILURE() << "was accepted";
    return {};
  }
  return listing.error();
}

// The bytes of these numbers, one after the other.
template <class... T>
std::string packed(T... values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  return bytes;
}

// A tensor in memory, in a type that numpy knows.
struct Array {
  DType dtype = DType::kOpaque;
  Shape shape;
  std::string elements;
};

inline Array read_array(TensorReader reader) {
  Array array{reader.dtype(), reader.shape(), {}};
  auto all = reader.read(0, reader.count());
  if (!all) {
    ADD_FAILURE() << all.error().what;
    return array;
  }
  array.elements = as_text(*all);
  const DType portable = info_of(array.dtype).portable;
  if (portable == DType::kFloat32 && array.dtype != portable) {
    std::string wide(static_cast<size_t>(reader.count()) * sizeof(float), '\0');
    decode_float(array.dtype, all->data(), reader.count(), reinterpret_cast<float*>(wide.data()));
    array.elements = std::move(wide);
  }
  array.dtype = portable;
  return array;
}

inline const TensorInfo* find(const Listing& listing, std::string_view name) {
  for (const TensorInfo& info : listing.tensors)
    if (info.name == name) return &info;
  return nullptr;
}

inline Array read_tensor(const TensorFile& file, std::string_view name, const ReadOrder& order) {
  const TensorInfo* info = find(file.listing, name);
  if (info == nullptr) {
    ADD_FAILURE() << file.path << " has no " << name;
    return {};
  }
  auto reader = file.open(*info, order);
  if (!reader) {
    ADD_FAILURE() << reader.error().what << ": " << reader.error().where;
    return {};
  }
  return read_array(std::move(*reader));
}

inline Array load_npy(const std::filesystem::path& path) {
  auto file = open_tensor_file(path);
  if (!file) {
    ADD_FAILURE() << file.error().what << ": " << file.error().where;
    return {};
  }
  return read_tensor(*file, "", {});
}

inline void expect_equal(const Array& actual, const Array& expected) {
  EXPECT_EQ(name_of(actual.dtype), name_of(expected.dtype));
  EXPECT_EQ(actual.shape, expected.shape);
  EXPECT_TRUE(actual.elements == expected.elements) << "the elements differ";
}

}  // namespace plumb::io
