// SPDX-License-Identifier: Apache-2.0
//
// `-dm`: a file of "target row: golden row", rows as the result names them or as their data files
// are called.
#include <fmt/format.h>

#include "dialect/msprobe/mapping.h"
#include "dialect/msprobe/row_name.h"
#include "pair/call_order.h"

namespace plumb::msprobe {

using dump::DumpSet;
using dump::Entry;
using pair::Pairings;

namespace {

// Without directory and extension; empty if the entry has no file.
std::string file_stem(const Entry& entry) {
  if (entry.parts.empty()) return "";
  const std::string_view name = entry.parts.front().file.name();
  return std::string(name.substr(0, name.rfind('.')));
}

}  // namespace

Result<Pairings> pair_by_data(const Yaml& table, const DumpSet& target, const DumpSet& golden,
                              std::vector<std::string>& warnings) {
  auto lines = texts_of(table);
  if (!lines) return lines.error();
  const std::unordered_map<std::string, std::string> golden_of(lines->begin(), lines->end());
  const pair::Scopes scopes = pair::scopes_of(target, golden);
  std::unordered_map<std::string, const Entry*> golden_rows;
  for (const Entry& entry : golden.entries) {
    const std::string scope = scopes.of(entry);
    golden_rows.emplace(pair::Call::key_of(scope, row_name(golden, entry)), &entry);
    if (std::string stem = file_stem(entry); !stem.empty())
      golden_rows.emplace(pair::Call::key_of(scope, stem), &entry);
  }
  Pairings pairings = pair::pair_by_call_order(target, golden);
  std::unordered_map<std::string_view, bool> used;  // lines, by target row
  for (const Entry& entry : target.entries) {
    auto line = golden_of.find(row_name(target, entry));
    if (line == golden_of.end()) line = golden_of.find(file_stem(entry));
    if (line == golden_of.end()) continue;
    const auto found = golden_rows.find(pair::Call::key_of(scopes.of(entry), line->second));
    used[line->first] = true;
    if (found != golden_rows.end())
      pairings[&entry] =
          pair::Pairing::with(found->second->operator_name, found->second->slot, "data-mapping");
    else
      pairings[&entry] = pair::Pairing::none("no_golden", "by the mapping it is " + line->second);
  }
  if (const size_t unused = golden_of.size() - used.size(); unused > 0)
    warnings.push_back(fmt::format("{} of {} lines of the mapping name nothing that target has",
                                   unused, golden_of.size()));
  return pairings;
}

}  // namespace plumb::msprobe
