// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/mapping.h"

#include <fmt/format.h>

#include "dialect/msprobe/row_name.h"
#include "pair/call_order.h"

namespace plumb::msprobe {

using dump::DumpSet;
using dump::Entry;
using pair::Call;
using pair::Pairing;
using pair::Pairings;

namespace {

// Golden's name for a call under its own name: names tell as much.
bool says_nothing_new(const Entry& target, const Pairing& pairing) {
  return pairing.op == target.operator_name && pairing.slot == target.slot;
}

}  // namespace

Error not_a_table(const Yaml& value, std::string form) {
  return {"the mapping has another form", fmt::format("line {}", value.line),
          "write it as " + std::move(form)};
}

Result<Texts> texts_of(const Yaml& table) {
  constexpr const char* kForm = "lines of \"target name: golden name\"";
  Texts texts;
  if (table.is_nothing()) return texts;
  if (table.kind != Yaml::Kind::kTable) return not_a_table(table, kForm);
  for (size_t i = 0; i < table.items.size(); ++i) {
    const std::string& name = table.names[i];
    const Yaml& value = table.items[i];
    if (value.kind != Yaml::Kind::kText || value.text.empty() || name.empty())
      return not_a_table(value, kForm);
    texts.emplace_back(name, value.text);
  }
  return texts;
}

// Where golden has no call of the new name but one of the old, the old one is meant: both dumps may
// be of one framework.
Pairings pair_renamed(const DumpSet& target, const DumpSet& golden, const Rename& rename,
                      std::string_view rule) {
  const pair::Scopes scopes = pair::scopes_of(target, golden);
  std::unordered_map<std::string, std::string_view> golden_ops;
  for (const Call& call : pair::calls_of(golden, scopes)) golden_ops.emplace(call.key(), call.op());
  Pairings pairings;
  for (const Call& call : pair::calls_of(target, scopes)) {
    for (const Entry& entry : call.entries) {
      Pairing pairing = Pairing::none("no_golden");
      if (const auto renamed = rename(call.name, entry.slot); !renamed) {
        pairing.message = "the mapping leaves it out";
      } else if (const auto found = golden_ops.find(Call::key_of(call.scope, renamed->op));
                 found != golden_ops.end()) {
        pairing = Pairing::with(found->second, renamed->slot, rule);
      } else if (const auto same = golden_ops.find(call.key()); same != golden_ops.end()) {
        pairing = Pairing::with(same->second, entry.slot, "name");
      } else if (renamed->op != call.name || renamed->slot != entry.slot) {
        pairing.message =
            fmt::format("by the mapping it is {}", row_name(renamed->op, renamed->slot));
      }
      if (!says_nothing_new(entry, pairing)) pairings.emplace(&entry, std::move(pairing));
    }
  }
  return pairings;
}

Result<Pairings> choose_partners(const Mapping& mapping, const DumpSet& target,
                                 const DumpSet& golden, std::vector<std::string>& warnings) {
  const auto& file = mapping.cell    ? mapping.cell
                     : mapping.api   ? mapping.api
                     : mapping.layer ? mapping.layer
                                     : mapping.data;
  auto yaml = file.value_or("").empty() ? Result<Yaml>(Yaml()) : read_yaml(*file);
  if (!yaml) return yaml.error();
  const auto in_file = [&](Error error) { return std::move(error).in(*file); };
  if (mapping.data) {
    auto pairings = pair_by_data(*yaml, target, golden, warnings);
    return pairings ? std::move(pairings) : in_file(std::move(pairings.error()));
  }
  if (mapping.layer) return pair_by_layers(*yaml, *file, target, golden);
  Result<Rename> rename = Rename([](const std::string& op, const dump::Slot& slot) {
    return std::optional(pair::TensorName{op, slot});
  });
  if (mapping.cell) rename = cell_renaming(*yaml);
  if (mapping.api) rename = api_renaming(*yaml, target, golden);
  if (!rename) return in_file(std::move(rename.error()));
  if (mapping.is_fuzzy) return pair_fuzzily(target, golden, *rename);
  return pair_renamed(target, golden, *rename, mapping.cell ? "cell-mapping" : "api-mapping");
}

}  // namespace plumb::msprobe
