// SPDX-License-Identifier: Apache-2.0
#include "replay/feed.h"

#include <algorithm>

#include <fmt/format.h>

namespace plumb::replay {
namespace {

Error other_inputs_needed(const engine::LoadedModel& model,
                          const std::vector<engine::Port>& ports) {
  const size_t own = model.inputs().size();
  return {"the two models do not have the same inputs",
          fmt::format("{} has {} input{}, the other {}", model.path(), own, own == 1 ? "" : "s",
                      ports.size()),
          "dump each with `plumb dump`, then use `plumb compare`"};
}

}  // namespace

Error other_type_needed(const engine::LoadedModel& model, const engine::Port& port, DType fed) {
  return {
      "the two models take different types",
      fmt::format("{} of {} is {}, fed is {}", port.name, model.path(), name_of(*port.dtype),
                  name_of(fed)),
      "feed them pictures, which are prepared for each (--target-config and --golden-config say "
      "how); or dump each with its own input, then use `plumb compare`"};
}

Result<engine::Inputs> inputs_for(const engine::LoadedModel& model,
                                  const std::vector<engine::Port>& ports,
                                  const engine::Inputs& loaded) {
  const std::vector<engine::Port> own = model.inputs();
  if (own.size() != ports.size()) return other_inputs_needed(model, ports);
  engine::Inputs inputs;
  for (size_t i = 0; i < own.size(); ++i) {
    const auto same = loaded.find(own[i].name);
    const auto& tensor = same != loaded.end() ? same->second : loaded.find(ports[i].name)->second;
    if (own[i].dtype && tensor.dtype != *own[i].dtype)
      return other_type_needed(model, own[i], tensor.dtype);
    inputs.emplace(own[i].name, tensor);
  }
  return inputs;
}

bool takes_others(const engine::Port& own, const engine::Port& other) {
  if (own.dtype != other.dtype || own.shape.size() != other.shape.size()) return true;
  for (size_t i = 0; i < own.shape.size(); ++i)
    if (own.shape[i] >= 0 && other.shape[i] >= 0 && own.shape[i] != other.shape[i]) return true;
  return false;
}

bool takes_others(const std::vector<engine::Port>& own, const std::vector<engine::Port>& others) {
  return own.size() != others.size() ||
         !std::equal(own.begin(), own.end(), others.begin(),
                     [](const auto& a, const auto& b) { return !takes_others(a, b); });
}

std::vector<std::string> renamed(const std::vector<std::string>& words, char mark,
                                 const std::vector<engine::Port>& from,
                                 const std::vector<engine::Port>& to) {
  std::vector<std::string> made = words;
  const auto is_of = [&](const std::string& word, const engine::Port& port) {
    return word.starts_with(port.name + mark);
  };
  for (std::string& word : made) {
    if (std::any_of(to.begin(), to.end(), [&](const auto& port) { return is_of(word, port); }))
      continue;
    const auto port =
        std::find_if(from.begin(), from.end(), [&](const auto& each) { return is_of(word, each); });
    if (port != from.end())
      word = to[static_cast<size_t>(port - from.begin())].name + word.substr(port->name.size());
  }
  return made;
}

}  // namespace plumb::replay
