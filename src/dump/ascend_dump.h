// SPDX-License-Identifier: Apache-2.0
//
// Listing of device dumps, which offline runs and TorchAir's graph mode share.
#pragma once

#include "dump/tree.h"

namespace plumb::dump {

// True for the names of device dumps, of their statistics (.csv) and reduced (_min_max.npz) forms,
// and of golden data in the same file format (.pb, .quant).
bool is_device_file_name(std::string_view name);

DumpSet list_device_dumps(const Tree& tree, const io::ReadHints& hints);

}  // namespace plumb::dump
