// SPDX-License-Identifier: Apache-2.0
//
// Which golden tensor a target tensor is to be compared with: by the user's map, by what the graphs
// record, by name. Knows names and slots only, no files; pair/sources.h says who is asked first.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/boxed_optional.h"
#include "dump/dump.h"
#include "pair/matcher.h"
#include "pair/pairing.h"

namespace plumb::pair {

// Borrows names from both sets, from the map and from the matcher's graphs.
class Partners {
 public:
  Partners(const NameMap& map, const Matcher* matcher, const dump::DumpSet& target,
           const dump::DumpSet& golden);

  // True if that is simply the tensor of the same name and slot, with nothing more to say.
  bool is_namesake(const dump::Entry& target) const;
  // nullopt: the map does not know it.
  std::optional<Pairing> by_map(const dump::Entry& target) const;
  // nullopt: there is no graph.
  std::optional<Pairing> by_graph(const dump::Entry& target) const;
  Pairing by_name(const dump::Entry& target) const;

  // The target operator that a golden operator belongs to; empty if none does.
  std::string_view target_of(const dump::Entry& golden) const;
  // Why no target tensor wants this one; an empty reason if there is nothing to say.
  Pairing why_left(const dump::Entry& golden) const;

 private:
  bool are_namesakes(std::string_view name) const;
  bool pair_names();  // true if there are names without a namesake
  void pair_fused_names();
  void find_unclaimed();
  std::string_view folded_into(std::string_view layer, const std::string& name) const;
  std::optional<Match> match_of(const dump::Entry& target) const;
  Pairing by_written_name(const dump::Entry& target) const;
  bool may_be_quantized(const dump::Entry& target) const;
  bool golden_has(std::string_view op, const dump::Slot& slot) const;
  std::optional<Pairing> find_as_model_input(Match& match) const;
  std::optional<Pairing> find_at_readers(Match& match, std::string_view golden) const;
  std::optional<Pairing> find_unquantized(Match& match) const;
  Pairing find_in_dump(Match& match) const;
  const graph::Operator* made_of(std::string_view golden) const;  // the target's, by the graph

  struct Partner {
    std::string_view op;
    std::string_view rule;
  };
  struct OperatorNames {
    explicit OperatorNames(const dump::DumpSet& set);
    std::vector<std::string_view> in_order;  // each once
    std::unordered_set<std::string_view> all;
  };
  const NameMap& map_;
  const Matcher* matcher_;
  bool target_is_quantized_;  // its own operators say so, and not the graph
  Names golden_names_;
  std::deque<std::string> damaged_;  // golden operators whose files cannot be read
  // Golden operators that nothing in the graph was made from, with their place in goldens_.
  struct Unclaimed {
    std::string_view name;
    std::optional<size_t> position;  // in goldens_
  };
  std::vector<Unclaimed> unclaimed_;
  std::unordered_map<std::string_view, size_t> position_;  // in goldens_
  std::unordered_map<std::string, size_t> first_reader_;   // by the layer that was dequantized
  bool is_in_order_ = true;                                // no operator before what it reads
  std::unordered_set<std::string> golden_tensors_;         // as tensor_text()
  OperatorNames targets_, goldens_;
  // Those that are not of the same name.
  std::unordered_map<std::string_view, Partner> golden_of_;  // by target operator
  std::unordered_map<std::string_view, Partner> target_of_;  // by golden operator
  std::unordered_map<std::string_view, Pairing> refused_target_, refused_golden_;
  std::unordered_map<std::string_view, std::string> fused_;  // target operators named after several
};

}  // namespace plumb::pair
