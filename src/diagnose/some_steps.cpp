// SPDX-License-Identifier: Apache-2.0
#include "diagnose/some_steps.h"

#include <map>

#include <fmt/format.h>

namespace plumb::diagnose {
namespace {

using Place = std::optional<int64_t> result::Row::*;  // step or rank

// What a step is called: the sample that was fed, where that is known.
std::string step_name(const result::Run& run, Place place, int64_t number) {
  if (place == &result::Row::step && number >= 0 && number < std::ssize(run.samples))
    return run.samples[static_cast<size_t>(number)];
  return std::to_string(number);
}

std::optional<result::Evidence> only_some(const Net& net, const Node& node, Place place,
                                          std::string_view word) {
  std::map<int64_t, std::optional<size_t>> seen;  // the first row of each that differs
  for (const size_t at : node.outputs) {
    const result::Row& row = net.run.rows[at];
    if (!(row.*place)) return {};
    auto& first = seen[*(row.*place)];
    if (!first && row.verdict != result::Verdict::kPass) first = at;
  }
  std::vector<std::string> names;
  std::optional<size_t> shown;
  for (const auto& [number, row] : seen) {
    if (!row) continue;
    names.push_back(step_name(net.run, place, number));
    if (!shown) shown = row;
  }
  if (names.empty() || names.size() == seen.size()) return {};
  constexpr size_t kMost = 4;
  const auto count = static_cast<double>(names.size());
  const size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  const bool is_one = count == 1;
  return result::Evidence{
      fmt::format("only {}{} {}{} of {} differ{}", word, is_one ? "" : "s", fmt::join(names, ", "),
                  more > 0 ? fmt::format(" and {} more", more) : "", seen.size(),
                  is_one ? "s" : ""),
      static_cast<int64_t>(*shown), "", count};
}

}  // namespace

std::vector<result::Evidence> only_some_steps(const Net& net, const Node& node) {
  std::vector<result::Evidence> found;
  if (auto steps =
          only_some(net, node, &result::Row::step, net.run.samples.empty() ? "step" : "sample"))
    found.push_back(std::move(*steps));
  if (auto ranks = only_some(net, node, &result::Row::rank, "rank"))
    found.push_back(std::move(*ranks));
  return found;
}

}  // namespace plumb::diagnose
