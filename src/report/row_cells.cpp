// SPDX-License-Identifier: Apache-2.0
#include "report/row_cells.h"

namespace plumb::report {

std::vector<SheetColumn> row_columns(const result::Run& run) {
  std::vector<SheetColumn> columns = {{"id", 8},
                                      {"step", 8},
                                      {"rank", 8},
                                      {"target_operator", 36},
                                      {"target_type", 16},
                                      {"target_slot"},
                                      {"target_dtype"},
                                      {"target_shape", 20},
                                      {"golden_operator", 36},
                                      {"golden_slot"},
                                      {"golden_dtype"},
                                      {"golden_shape", 20},
                                      {"verdict"},
                                      {"suspicious"},
                                      {"reasons", 24}};
  if (!run.samples.empty()) columns.insert(columns.begin() + 3, {"sample", 20});
  for (const metrics::Metric* metric : run.metrics) columns.push_back({std::string(metric->name)});
  columns.insert(columns.end(),
                 {{"message", 60}, {"hint", 40}, {"target_file", 40}, {"golden_file", 40}});
  return columns;
}

}  // namespace plumb::report
