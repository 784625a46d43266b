// SPDX-License-Identifier: Apache-2.0
#include "base/plugin.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

namespace plumb {
namespace {

std::vector<std::filesystem::path> places_of(const std::string& plugin) {
  if (const char* directory = std::getenv("PLUMB_PLUGIN_DIR"))
    return {std::filesystem::path(directory) / plugin};
  std::vector<std::filesystem::path> paths;
  std::error_code ignored;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  Dl_info module;
  const bool known = ::dladdr(reinterpret_cast<const void*>(&open_plugin), &module) != 0 &&
                     module.dli_fname != nullptr;
  // What this code is part of comes first: the program may be an interpreter with another plumb
  // beside it.
  for (const auto& file : {std::filesystem::path(known ? module.dli_fname : ""), program}) {
    if (!file.has_parent_path()) continue;
    // Of bin/ or lib/, of libexec/plumbline/, and of a Python package.
    for (const char* up : {"../lib", "../../lib", "lib"}) {
      const auto library = (file.parent_path() / up).lexically_normal();
      for (const auto& path : {library / plugin, library / "plumb" / plugin})
        if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    }
  }
  paths.emplace_back(plugin);  // as the system finds libraries
  return paths;
}

}  // namespace

Result<void*> open_plugin(const Plugin& plugin) {
  std::string tried, failure;
  for (const auto& path : places_of(plugin.file)) {
    tried += (tried.empty() ? "" : ", ") + path.string();
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      if (void* function = ::dlsym(library, plugin.symbol.c_str())) return function;
      failure = path.string() + " is of another version of plumb";
    } else if (std::error_code code;
               path.has_parent_path() && std::filesystem::exists(path, code)) {
      failure = ::dlerror();
    }
  }
  if (!failure.empty())
    return Error{fmt::format("this build cannot {}", plugin.task), failure,
                 fmt::format("install {}, or build plumb again", plugin.needs)};
  return Error{fmt::format("this build cannot {}: {} not found", plugin.task, plugin.file),
               "tried " + tried, fmt::format("install it, or build with {}", plugin.option)};
}

}  // namespace plumb
