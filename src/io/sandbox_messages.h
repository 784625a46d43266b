// SPDX-License-Identifier: Apache-2.0
//
// What sandbox.cpp and sandbox_serve.cpp say to each other.
#pragma once

#include <cstdint>
#include <string_view>

namespace plumb::io {

inline constexpr std::string_view kSandboxService = "hdf5";

// Memory u64, seconds u32, has-dataset u8, dataset, offset u64, size u64; the file and the pipe.
inline constexpr uint32_t kSandboxRequest = 10;
// The child is killed if it is still there. The answer: signal i32, exit status i32.
inline constexpr uint32_t kSandboxFinish = 11;

}  // namespace plumb::io
