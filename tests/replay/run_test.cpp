// SPDX-License-Identifier: Apache-2.0
//
// Two models run on several samples: names and order, what is reported when the run is interrupted,
// and that neither threads nor kept files change a row.
#include "replay/run.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "result/json_write.h"
#include "scratch.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::ElementsAre;

const fs::path kModels = fs::path(PLUMB_TEST_DATA).parent_path().parent_path() / "examples/models";

class Run : public testing::Test {
 protected:
  void SetUp() override {
    if (auto engine = engine::load_engine("onnxruntime"); !engine)
      GTEST_SKIP() << engine.error().what << ": " << engine.error().where;
  }

  // The same model, optimised and not, on ten digits.
  static RunOptions options() {
    RunOptions options;
    options.target.path = options.golden.path = (kModels / "digits.onnx").string();
    options.target.optimization = engine::Optimization::kExtended;
    options.layers = "all";
    options.inputs.inputs = {(kModels / "digits").string()};
    options.inputs.mean = "33";
    options.inputs.std = "78";
    return options;
  }

  static Ran run(const RunOptions& options, RunContext& context) {
    auto job = ModelRun::open(options);
    if (!job) {
      ADD_FAILURE() << job.error().what << ": " << job.error().where;
      return {};
    }
    return job->run(context);
  }

  // All that a row says; its files are named by the time of the run.
  static std::vector<std::string> rows_of(Ran ran) {
    result::Run alone;
    std::vector<std::string> texts;
    for (result::Row& row : ran.run.rows) {
      if (row.target) row.target->file.clear();
      if (row.golden) row.golden->file.clear();
      alone.metrics = ran.run.metrics;
      alone.rows = {std::move(row)};
      std::string& text = texts.emplace_back();
      result::write_json(alone, [&](std::string_view piece) { text += piece; });
    }
    return texts;
  }
};

TEST_F(Run, SamplesKeepTheirOrder) {
  RunContext context;
  const Ran ran = run(options(), context);
  EXPECT_FALSE(ran.problem);
  EXPECT_THAT(ran.run.samples, ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
  ASSERT_EQ(ran.run.rows.size() % 10, 0U);
  const size_t layers = ran.run.rows.size() / 10;
  ASSERT_GT(layers, 10U);
  for (size_t i = 0; i < ran.run.rows.size(); ++i)
    ASSERT_EQ(ran.run.rows[i].step, static_cast<int64_t>(i / layers)) << i;
  ASSERT_EQ(ran.run.accuracy.size(), 1U);
  EXPECT_EQ(ran.run.accuracy[0].samples, 10);
  EXPECT_EQ(ran.run.accuracy[0].agree, 1);
}

TEST_F(Run, ThreadsAndKeptFilesChangeNoRow) {
  const Scratch scratch;
  RunContext context;
  const std::vector<std::string> rows = rows_of(run(options(), context));
  context.jobs = 1;
  EXPECT_EQ(rows_of(run(options(), context)), rows);
  RunOptions kept = options();
  kept.keep = (scratch.path() / "kept").string();
  EXPECT_EQ(rows_of(run(kept, context)), rows);
  EXPECT_TRUE(fs::exists(scratch.path() / "kept/golden/sample_9/dump.json"));
}

// Each sample has tensors of its own: a session that stays must not see those of the last one.
TEST_F(Run, SamplesAreComparedAsIfAlone) {
  RunContext context;
  const std::vector<std::string> all = rows_of(run(options(), context));
  const size_t layers = all.size() / 10;
  for (const size_t digit : {0U, 5U, 9U}) {
    RunOptions one = options();
    one.inputs.inputs = {(kModels / "digits" / (std::to_string(digit) + ".png")).string()};
    Ran ran = run(one, context);
    for (result::Row& row : ran.run.rows) row.step = static_cast<int64_t>(digit);
    const std::vector<std::string> alone = rows_of(std::move(ran));
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(digit * layers);
    EXPECT_EQ(alone, std::vector<std::string>(first, first + static_cast<std::ptrdiff_t>(layers)));
  }
}

TEST_F(Run, InterruptedRunTellsWhatItHas) {
  RunContext context;
  int64_t done = 0;
  context.progress = [&](int64_t samples) {
    if ((done += samples) == 3) context.cancelled = true;
  };
  const Ran ran = run(options(), context);
  ASSERT_TRUE(ran.problem);
  EXPECT_EQ(ran.problem->what, "interrupted");
  EXPECT_EQ(ran.problem->where, "3 of 10 samples were compared");
  EXPECT_TRUE(ran.run.interrupted);
  EXPECT_THAT(ran.run.samples, ElementsAre("0", "1", "2"));
  ASSERT_FALSE(ran.run.rows.empty());
  EXPECT_EQ(ran.run.rows.back().step, 2);
  EXPECT_NE(ran.run.summary().verdict, result::Verdict::kPass);
}

}  // namespace
}  // namespace plumb::replay
