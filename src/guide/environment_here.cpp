// SPDX-License-Identifier: Apache-2.0
#include "guide/environment_here.h"

#include "engine/engine.h"

namespace plumb::guide {

void add_engines(scan::Environment& environment) {
  for (const engine::EngineInfo& info : engine::engines()) {
    const auto loaded = engine::load_engine(info.name);
    environment.engines.push_back(
        {std::string(info.name), loaded ? (*loaded)->version() : std::string()});
  }
}

}  // namespace plumb::guide
