// SPDX-License-Identifier: Apache-2.0
//
// Which calls of two dumps belong together where names differ: the mapping files of msprobe, one
// source file for each kind, and its loose matching.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dialect/msprobe/yaml_text.h"
#include "pair/name_map.h"
#include "pair/pairing.h"
#include "plumb/result.h"

namespace plumb::msprobe {

// At most one of the files, but for cells and APIs. An empty path is the option without a file.
struct Mapping {
  bool is_fuzzy = false;
  std::optional<std::string> cell, api, layer, data;

  bool any() const { return is_fuzzy || cell || api || layer || data; }
  // Row by row, so that types do not matter.
  bool says_what_is_compared() const { return layer || data; }
};

// What the mapping says of every tensor of target; nothing where the names are the same.
Result<pair::Pairings> choose_partners(const Mapping& mapping, const dump::DumpSet& target,
                                       const dump::DumpSet& golden,
                                       std::vector<std::string>& warnings);

// The parts it is made of.

// What golden would call a tensor of target; nullopt if the mapping leaves the tensor out.
using Rename =
    std::function<std::optional<pair::TensorName>(const std::string& op, const dump::Slot&)>;

// Cell and Module, and then by a table of "path.Class": the whole of it, or else parts of it.
Result<Rename> cell_renaming(const Yaml& table);
// MindSpore's APIs by PyTorch's names, and then by the user's list of APIs with their arguments, as
// far as both dumps have them.
Result<Rename> api_renaming(const Yaml& list, const dump::DumpSet& target,
                            const dump::DumpSet& golden);
std::string pytorch_name(std::string_view mindspore_call);  // by the built-in table

using RuleOf = std::function<std::string_view(std::string_view op)>;
pair::Pairings pair_renamed(const dump::DumpSet& target, const dump::DumpSet& golden,
                            const Rename& rename, const RuleOf& rule_of);
pair::Pairings pair_fuzzily(const dump::DumpSet& target, const dump::DumpSet& golden,
                            const Rename& rename);
Result<pair::Pairings> pair_by_data(const Yaml& table, const dump::DumpSet& target,
                                    const dump::DumpSet& golden,
                                    std::vector<std::string>& warnings);
// `file` is where the table comes from.
Result<pair::Pairings> pair_by_layers(const Yaml& table, const std::string& file,
                                      const dump::DumpSet& target, const dump::DumpSet& golden);

// A table of texts, in the order of the file.
using Texts = std::vector<std::pair<std::string, std::string>>;
Result<Texts> texts_of(const Yaml& table);
Error not_a_table(const Yaml& value, std::string form);

}  // namespace plumb::msprobe
