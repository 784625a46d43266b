// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/mapping.h"

#include <fmt/format.h>

#include "dialect/msprobe/row_name.h"
#include "pair/call_order.h"

namespace plumb::msprobe {

using dump::DumpSet;
using dump::Entry;
using pair::Pairing;
using pair::Pairings;

namespace {

// Golden's name for a call under its own name: names tell as much.
bool says_nothing_new(const Entry& target, const Pairing& pairing) {
  return pairing.op == target.operator_name && pairing.slot == target.slot;
}

}  // namespace

namespace {

Result<Yaml> yaml_of(const std::string& file) { return file.empty() ? Yaml() : read_yaml(file); }

bool is_cell(std::string_view op) { return op.starts_with("Cell.") || op.starts_with("Module."); }

// By the files of cells and of APIs, each for its own if there are both.
Result<Rename> renaming(const Mapping& mapping, const DumpSet& target, const DumpSet& golden) {
  Rename cells, apis;
  const auto read = [&](const std::optional<std::string>& file, auto&& from,
                        Rename& to) -> Result<void> {
    if (!file) return {};
    auto yaml = yaml_of(*file);
    if (!yaml) return yaml.error();
    auto rename = from(*yaml);
    if (!rename) return std::move(rename.error()).in(*file);
    to = std::move(*rename);
    return {};
  };
  if (auto done = read(mapping.cell, cell_renaming, cells); !done) return done.error();
  const auto api_from = [&](const Yaml& list) { return api_renaming(list, target, golden); };
  if (auto done = read(mapping.api, api_from, apis); !done) return done.error();
  return Rename([cells = std::move(cells), apis = std::move(apis)](const std::string& op,
                                                                   const dump::Slot& slot) {
    const Rename& rename = cells && (!apis || is_cell(op)) ? cells : apis;
    return rename ? rename(op, slot) : std::optional(pair::TensorName{op, slot});
  });
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
                      const RuleOf& rule_of) {
  const pair::Scopes scopes = pair::scopes_of(target, golden);
  std::unordered_map<std::string, std::string_view> golden_ops;
  for (const pair::Call& call : pair::calls_of(golden, scopes))
    golden_ops.emplace(call.key(), call.op());
  Pairings pairings;
  for (const pair::Call& call : pair::calls_of(target, scopes)) {
    for (const Entry& entry : call.entries) {
      Pairing pairing = Pairing::none("no_golden");
      if (const auto renamed = rename(call.name, entry.slot); !renamed) {
        pairing.message = "the mapping leaves it out";
      } else if (const auto found = golden_ops.find(pair::Call::key_of(call.scope, renamed->op));
                 found != golden_ops.end()) {
        pairing = Pairing::with(found->second, renamed->slot, rule_of(call.op()));
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
  if (mapping.data) {
    auto yaml = yaml_of(*mapping.data);
    if (!yaml) return yaml.error();
    auto pairings = pair_by_data(*yaml, target, golden, warnings);
    if (!pairings) return std::move(pairings.error()).in(*mapping.data);
    return pairings;
  }
  if (mapping.layer) {
    auto yaml = yaml_of(*mapping.layer);
    if (!yaml) return yaml.error();
    return pair_by_layers(*yaml, *mapping.layer, target, golden);
  }
  auto rename = renaming(mapping, target, golden);
  if (!rename) return rename.error();
  if (mapping.is_fuzzy) return pair_fuzzily(target, golden, *rename);
  const auto rule_of = [&](std::string_view op) -> std::string_view {
    return mapping.cell && (!mapping.api || is_cell(op)) ? "cell-mapping" : "api-mapping";
  };
  return pair_renamed(target, golden, *rename, rule_of);
}

}  // namespace plumb::msprobe
