// SPDX-License-Identifier: Apache-2.0
//
// What `plumb compare` would compare, shown instead of done: --plan, --explain, --save-map.
#pragma once

#include <string>
#include <vector>

#include "pair/plan.h"

namespace plumb::cli {

// With a graph only the rules of pairs, which explain() spells out.
void print_plan(const std::vector<pair::PlannedRow>& plan, bool has_graph);

// How the tensors of one operator, of either side, were paired. Returns the exit status.
int explain(const std::vector<pair::PlannedRow>& plan, const pair::Matcher* matcher,
            const std::string& name);

// The pairs as a map of tensors that --map reads.
Result<void> save_map(const std::vector<pair::PlannedRow>& plan, const std::string& path);

}  // namespace plumb::cli
