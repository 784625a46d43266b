// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a mapping file of each kind. What is accepted renames and pairs without harm.
#include "dialect/msprobe/mapping.h"

using namespace plumb;

namespace {

dump::DumpSet calls(std::initializer_list<const char*> names) {
  dump::DumpSet set;
  set.convention = "msprobe";
  for (const char* name : names) {
    dump::Entry& entry = set.entries.emplace_back();
    entry.operator_name = name;
    entry.slot = {dump::SlotKind::kInput, 0, {}};
    entry.timestamp = static_cast<int64_t>(set.entries.size());
    entry.statistics.emplace();
  }
  return set;
}

template <class T>
void check(const Result<T>& result) {
  if (result) return;
  const Error& error = result.error();
  if (error.what.empty() || error.where.empty() || error.remedy.empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto yaml =
      msprobe::parse_yaml(std::string_view(reinterpret_cast<const char*>(data), size));
  check(yaml);
  if (!yaml) return 0;
  const auto target = calls({"Functional.conv2d.0.forward", "Cell.fc1.Dense.forward.0"});
  const auto golden = calls({"Functional.conv2d.0.forward", "Module.fc1.Linear.forward.0"});
  for (const auto& rename :
       {msprobe::cell_renaming(*yaml), msprobe::api_renaming(*yaml, target, golden)}) {
    check(rename);
    if (!rename) continue;
    msprobe::pair_renamed(target, golden, *rename, [](std::string_view) { return "name"; });
    msprobe::pair_fuzzily(target, golden, *rename);
  }
  std::vector<std::string> warnings;
  check(msprobe::pair_by_data(*yaml, target, golden, warnings));
  check(msprobe::pair_by_layers(*yaml, "mapping.yaml", target, golden));
  return 0;
}
