// SPDX-License-Identifier: Apache-2.0
#include "input/open_axes.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace plumb::input {
namespace {

std::string axis_name(const engine::Port& port, size_t axis) {
  return axis < port.axes.size() ? port.axes[axis] : "";
}

// A name that can stand in an option, to be replaced by a number.
bool is_word(const std::string& name) {
  return !name.empty() && name.size() <= 24 && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

}  // namespace

bool is_open(const engine::Port& port) {
  return std::any_of(port.shape.begin(), port.shape.end(), [](int64_t size) { return size < 0; });
}

bool has_open_batch(const engine::Port& port) {
  if (port.shape.empty() || port.shape[0] >= 0) return false;
  std::string name = axis_name(port, 0);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* other :
       {"seq", "len", "time", "frame", "token", "height", "width", "rows", "points", "sample_rate"})
    if (name.find(other) != name.npos) return false;
  return true;
}

std::string shape_advice(const engine::Port& port) {
  std::vector<std::string> sizes, unknown;
  for (size_t i = 0; i < port.shape.size(); ++i) {
    const std::string name = axis_name(port, i);
    if (port.shape[i] >= 0)
      sizes.push_back(fmt::format("{}", port.shape[i]));
    else if (i == 0 && has_open_batch(port))
      sizes.push_back("1");
    else
      unknown.push_back(sizes.emplace_back(is_word(name) ? name : fmt::format("N{}", i)));
  }
  std::string advice = fmt::format("say it: --shape {}:{}", port.name, fmt::join(sizes, ","));
  if (!unknown.empty())
    advice += fmt::format(" with {} for {}", unknown.size() == 1 ? "a number" : "numbers",
                          fmt::join(unknown, ", "));
  return advice;
}

}  // namespace plumb::input
