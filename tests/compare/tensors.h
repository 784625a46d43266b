// SPDX-License-Identifier: Apache-2.0
//
// Tensors in files of a temporary directory, for tests that read pairs of them.
#pragma once

#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "io/npy.h"
#include "scratch.h"

namespace plumb::compare {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline std::filesystem::path sample(const std::string& name) {
  return std::filesystem::path(PLUMB_TEST_DATA) / name;
}

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().what + ": " + result.error().where);
  return std::move(*result);
}

// The tensor of a file in this slot ("input:0"), or its first one.
inline dump::EntryReader open_tensor(const std::filesystem::path& path,
                                     const std::string& slot = {}) {
  const dump::DumpSet set = or_throw(dump::open_dump(path));
  for (const dump::Entry& entry : set.entries)
    if (slot.empty() || to_string(entry.slot) == slot)
      return or_throw(dump::EntryReader::open(set, entry));
  throw std::runtime_error("no such tensor");
}

class Tensors : public Scratch {
 public:
  std::filesystem::path write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name, std::ios::binary) << content;
    return path() / name;
  }
  template <class T>
  std::filesystem::path npy(const std::string& name, DType dtype, const Shape& shape,
                            const std::vector<T>& values) const {
    return write(name, io::npy_header(dtype, shape) +
                           std::string(reinterpret_cast<const char*>(values.data()),
                                       values.size() * sizeof(T)));
  }
  // Of a type that nobody can decode here.
  std::filesystem::path opaque(const std::string& name, int64_t count) const {
    std::string header = io::npy_header(DType::kInt8, {count});
    header.replace(header.find("|i1"), 3, "|V1");
    return write(name, header + std::string(static_cast<size_t>(count), 'x'));
  }
  std::filesystem::path npy(const std::string& name, const std::vector<float>& values) const {
    return npy(name, DType::kFloat32, {std::ssize(values)}, values);
  }
};

}  // namespace plumb::compare
