// SPDX-License-Identifier: Apache-2.0
#include "replay/eval_outcome.h"

#include <limits>

#include <gtest/gtest.h>

namespace plumb::replay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// A run that goes on has the numbers of one that was never interrupted.
TEST(EvalOutcome, IsReadBackFromTheJournal) {
  const std::optional<double> cases[] = {std::nullopt, 0.0, -3.25, 0.1, 1e300, kInf, -kInf};
  for (const auto& number : cases) {
    const Outcome written{3, {{7, 2, true, 0.5, number}, {-1, -1, false, std::nullopt, number}}};
    const auto read = outcome_from(line_of(written), 4, 2);
    ASSERT_TRUE(read.has_value()) << line_of(written);
    EXPECT_EQ(read->sample, 3u);
    EXPECT_EQ(read->models[0].first, 7);
    EXPECT_EQ(read->models[0].pearson, 0.5);
    EXPECT_EQ(read->models[0].sqnr_db, number) << line_of(written);
    EXPECT_EQ(read->models[1].pearson, std::nullopt);
    EXPECT_EQ(read->models[1].sqnr_db, number) << line_of(written);
  }
}

}  // namespace
}  // namespace plumb::replay
