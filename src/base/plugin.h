// SPDX-License-Identifier: Apache-2.0
//
// Libraries that are opened on first use, so that the program starts without what they need and
// works where it is not installed.
#pragma once

#include <string>
#include <string_view>

#include "plumb/result.h"

namespace plumb {

struct Plugin {
  std::string file;    // "libplumb_hdf5.so"
  std::string symbol;  // the function it exports; its name changes with its meaning
  std::string task;    // what this build cannot do without it: "read HDF5"
  std::string needs;   // what has to be installed for it: "libhdf5"
  std::string option;  // how to build with it: "-DPLUMB_HDF5=ON"
};

// The function of the plug-in. It is looked for beside the program (or the Python module) this code
// is part of, or in PLUMB_PLUGIN_DIR; it stays open, everything bound: opening it again is cheap.
Result<void*> open_plugin(const Plugin& plugin);

}  // namespace plumb
