// SPDX-License-Identifier: Apache-2.0
//
// The pictures and arrays of tests/data/input, and how tests look at them.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "engine/engine.h"
#include "input/source.h"
#include "io/file.h"

namespace plumb::input {

inline std::string data_file(const std::string& name) {
  return std::string(PLUMB_TEST_DATA) + "/input/" + name;
}

inline std::string why(const Error& error) {
  return error.what + " | " + error.where + " | " + error.remedy;
}

// An array that numpy wrote, as it is.
inline engine::Tensor array_in(const std::string& file, const std::string& name = "") {
  auto opened = io::open_tensor_file(data_file(file));
  if (!opened) {
    ADD_FAILURE() << why(opened.error());
    return {};
  }
  for (const TensorInfo& info : opened->listing.tensors) {
    if (!name.empty() && info.name != name) continue;
    auto reader = opened->open(info);
    auto bytes = reader->read(0, reader->count());
    engine::Tensor tensor{reader->dtype(), reader->shape(), {}};
    tensor.bytes.assign(bytes->begin(), bytes->end());
    return tensor;
  }
  ADD_FAILURE() << file << " has no " << name;
  return {};
}
inline engine::Tensor expected(const std::string& name) { return array_in("expected.npz", name); }

inline engine::Port port_of(std::string name, DType dtype, Shape shape) {
  return {std::move(name), dtype, std::move(shape), {}, ""};
}

// Pictures need OpenCV; a build without it has nothing to test here.
#define SKIP_WITHOUT_CODEC() \
  if (auto codec = image_codec(); !codec) GTEST_SKIP() << "no image plug-in: " << codec.error().what

inline std::vector<uint8_t> bytes_of(const engine::Tensor& tensor) {
  const auto* first = reinterpret_cast<const uint8_t*>(tensor.bytes.data());
  return {first, first + tensor.bytes.size()};
}

inline Image picture() { return {{20, 14}, ColorSpace::kBgr, bytes_of(expected("picture"))}; }

template <class T>
std::vector<T> values_of(const engine::Tensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace plumb::input
