// SPDX-License-Identifier: Apache-2.0
//
// The rows of a run as columns of the report page.
#pragma once

#include <span>
#include <string_view>
#include <unordered_set>

#include "plumb/row.h"
#include "report/page_columns.h"

namespace plumb::report {

// What findings say of operators, by their names, borrowed from the run.
class Roles {
 public:
  explicit Roles(const result::Run& run);
  uint8_t of(std::string_view op) const;  // 1: introduces error, 2: inherits it, 0: neither

 private:
  std::unordered_set<std::string_view> introduce_, inherit_;
};

// `node_of`: for each row its place in the graph that is shown, -1 if it has none.
void add_rows(const result::Run& run, const Roles& roles, std::span<const int32_t> node_of,
              PageColumns& columns);

}  // namespace plumb::report
