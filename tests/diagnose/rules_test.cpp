// SPDX-License-Identifier: Apache-2.0
//
// What all rules say of an operator that introduced an error.
#include <gtest/gtest.h>

#include "diagnose/explain.h"
#include "diagnose/made_errors.h"

namespace plumb::diagnose {
namespace {

// Of the operator that is worse at one of its two steps.
result::Evidence first_evidence(double own, double own_at_other_step) {
  result::Run run =
      run_of({{"a", {}, 2e-3}, {"b", {"a"}, 0.1}, {"c", {"b"}, 0.1}, {"d", {"c"}, 0.1}});
  run.rows.push_back(row_of({"b", {}, 0.4}, 1, "float32"));
  for (size_t i = 0; i < 4; ++i) run.rows[i].own_error = {1e-3, 0, true};
  run.rows[1].own_error->value = own_at_other_step;
  run.rows[1].step = 0;
  run.rows[4].own_error = {own, 0, true};
  run.rows[4].step = 1;
  explain(run, Tensors(nullptr), RunContext{});
  EXPECT_EQ(run.findings.at(0).operator_name, "b");
  return run.findings.at(0).evidence.at(0);
}

// Over both steps the error is a mean, less than what the operator made at one of them.
TEST(Rules, WholeAndPartAreOfOneRow) {
  const result::Evidence all = first_evidence(0.398, 0.1);
  EXPECT_TRUE(all.text.starts_with("relative error 0.4, all of it its own: ")) << all.text;
  EXPECT_EQ(all.row, 4);
  EXPECT_EQ(all.value, 0.4);
  const result::Evidence part = first_evidence(0.3, 0.1);
  EXPECT_TRUE(part.text.starts_with("relative error 0.4, 0.3 of it its own: ")) << part.text;
  const result::Evidence more = first_evidence(0.5, 0.1);
  EXPECT_TRUE(more.text.starts_with("relative error 0.4, its own error 0.5: ")) << more.text;
}

}  // namespace
}  // namespace plumb::diagnose
