// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a map of operator names, CSV and TOML. What is accepted pairs each operator once,
// and is the same map when written and read again.
#include <set>

#include "base/csv.h"
#include "pair/name_map.h"

using namespace plumb;

namespace {

// A CSV line ends a name, so names with line ends cannot be written again.
void check(const Result<pair::NameMap>& map) {
  if (!map) {
    const Error& error = map.error();
    if (error.what.empty() || error.where.empty() || error.remedy.empty()) __builtin_trap();
    return;
  }
  std::set<std::string> goldens;
  std::string csv = "target,golden\n";
  bool is_one_line = true;
  for (const auto& [target, golden] : map->operators) {
    if (target.empty() || golden.empty() || !goldens.insert(golden).second) __builtin_trap();
    is_one_line = is_one_line && (target + golden).find('\n') == std::string::npos;
    append_csv_quoted(csv, target);
    append_csv_quoted(csv += ',', golden);
    csv += '\n';
  }
  if (!is_one_line) return;
  const auto again = pair::parse_name_map_csv(csv);
  if (!again || again->operators != map->operators) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(pair::parse_name_map_csv(text));
  check(pair::parse_name_map_toml(text));
  return 0;
}
