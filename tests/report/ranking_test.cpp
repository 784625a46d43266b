// SPDX-License-Identifier: Apache-2.0
#include "report/ranking.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/headline.h"
#include "report/sample_runs.h"

namespace plumb::report {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(const std::vector<const Row*>& rows) {
  std::vector<std::string> list;
  for (const Row* row : rows) list.push_back(row->any_side().operator_name);
  return list;
}

TEST(Ranking, WorstFirst) {
  auto run = sample_run();
  const auto fail = [&](const char* name, std::vector<Value> numbers, const char* reason) {
    run.rows.push_back(paired(name, Verdict::kFail, std::move(numbers), {reason}));
  };
  run.rows.push_back(alone("alone", true, "no_golden"));
  run.rows.push_back(paired("fine", Verdict::kPass, values(1, 0, 0, 0)));
  run.rows.push_back(paired("close", Verdict::kPass, values(0.9991, 0, 0, 0)));
  run.rows.back().suspicious = true;
  run.rows.push_back(paired("closer", Verdict::kPass, values(0.99901, 0, 0, 0)));
  run.rows.back().suspicious = true;
  run.rows.push_back(alone("filtered", true, "filtered"));
  run.rows.push_back(paired("open", Verdict::kInconclusive, {}, {"undefined:cosine"}));
  run.rows.push_back(alone("damaged", false, "damaged_file"));
  fail("far", values(0.5, 0.3, 0, 0), "limit:cosine");
  fail("further", values(0.5, 0.4, 0, 0), "limit:cosine");
  fail("near", values(0.99, 0.4, 0, 0), "limit:cosine");
  fail("unknown", values(kNan, kNan, 0, 0), "limit:cosine");
  fail("opposite", values(-1, 2, 0, 0), "limit:cosine");
  fail("shape", {}, "shape_mismatch");
  fail("nan", values(0.9999, 0, 0, 0), "nan_only_in_target");
  const ShownRows all = worth_a_look(run, 100);
  EXPECT_THAT(names(all.rows), ElementsAre("shape", "nan", "unknown", "opposite", "further", "far",
                                           "near", "damaged", "open", "closer", "close", "alone"));
  EXPECT_EQ(all.more, 0);
  const ShownRows two =
      worth_a_look(run, 2, [](const result::Row& row) { return row.verdict == Verdict::kPass; });
  EXPECT_THAT(names(two.rows), ElementsAre("closer", "close"));
  const ShownRows few = worth_a_look(run, 3);
  EXPECT_THAT(names(few.rows), ElementsAre("shape", "nan", "unknown"));
  EXPECT_EQ(few.more, 9);
}

TEST(Ranking, LeftOutAddsUp) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const auto run = random_run(seed);
    size_t rows = 0, before = run.rows.size();
    for (const LeftOut& group : left_out_by_reason(run)) {
      rows += group.count;
      EXPECT_EQ(group.rows.size(), std::min(group.count, LeftOut::kMostNamed));
      EXPECT_LE(group.count, before);
      before = group.count;
    }
    EXPECT_EQ(static_cast<int64_t>(rows), run.summary().not_compared);
  }
}

TEST(Ranking, Headlines) {
  const auto headline_of = [](const auto& run) { return headline(run, run.summary()); };
  auto run = sample_run();
  EXPECT_EQ(headline_of(run), "there was nothing to compare");
  run.rows = {alone("a", true, "filtered")};
  EXPECT_EQ(headline_of(run), "everything was filtered");
  run.rows = {alone("a", true, "no_golden")};
  EXPECT_EQ(headline_of(run), "no pair of tensors could be compared");
  run.rows = {paired("a", Verdict::kPass, {})};
  EXPECT_EQ(headline_of(run), "the tensor agrees");
  run.interrupted = true;
  EXPECT_EQ(headline_of(run), "no tensor differs; interrupted before the end");
  run.interrupted = false;
  run.doubts = {"sample 3 was not compared: the picture cannot be decoded"};
  run.command = "run";
  EXPECT_EQ(headline_of(run), "no tensor differs; the warnings tell what was not compared");
  run.command = "compare";
  EXPECT_EQ(headline_of(run), "no tensor differs; the graph does not fit the dump");
  run.doubts.clear();
  run.rows.push_back(paired("b", Verdict::kPass, {}));
  run.rows.back().suspicious = true;
  EXPECT_EQ(headline_of(run), "all 2 tensors agree, 1 of them narrowly");
  run.rows.push_back(alone("c", true, "no_golden"));
  EXPECT_EQ(headline_of(run), "no tensor differs, but 1 was not compared");
  run.rows.push_back(paired("d", Verdict::kInconclusive, {}, {"undefined:cosine"}));
  EXPECT_EQ(headline_of(run),
            "no difference is proven, 1 tensor is inconclusive, and 1 was not compared");
  run.rows.push_back(paired("e", Verdict::kFail, {}, {"limit:cosine"}));
  EXPECT_EQ(headline_of(run), "1 of 4 compared tensors differs");
}

TEST(Ranking, CoverageIsNotRoundedUp) {
  result::Summary s;
  s.rows = 100000;
  s.not_compared = 1;
  s.coverage = 0.99999;
  EXPECT_EQ(coverage_text(s), "99.9 %, 99999 of 100000 tensors");
  s.filtered = 1;
  s.coverage = 1;
  EXPECT_EQ(coverage_text(s), "100 %, 99999 of 99999 tensors");
}

}  // namespace
}  // namespace plumb::report
