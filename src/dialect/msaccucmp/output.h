// SPDX-License-Identifier: Apache-2.0
//
// What msaccucmp writes: where, under which names, and arrays as npy.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/file_sink.h"
#include "dialect/msaccucmp/code.h"
#include "dialect/msaccucmp/tensors.h"

namespace plumb::msaccucmp {

// Made, readable for the user only, if it is not there.
std::optional<Fault> make_output_directory(const std::filesystem::path& path);

std::optional<Fault> write_text(const std::filesystem::path& path, std::string_view text);
// ... and a file that is never in memory as a whole.
std::optional<Fault> write_parts(const std::filesystem::path& path,
                                 const std::function<void(FileSink&)>& write);

// The elements in types that numpy has: bfloat16 becomes float32, 8-bit floats float64.
struct DecodedArray {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<std::byte> elements;
};
Outcome<DecodedArray> decoded(const View& view);
std::optional<Fault> write_npy(const std::filesystem::path& path, const DecodedArray& array);

// A name that the file system takes: too long ones become the UUID of the name and `suffix`. The
// pair is appended to `mapping` in the same directory, so that the name can be found again.
std::string short_name(const std::filesystem::path& directory, std::string_view mapping,
                       const std::string& name, std::string_view suffix);

}  // namespace plumb::msaccucmp
