// SPDX-License-Identifier: Apache-2.0
//
// Two models run on several samples: names and order, what is reported when the run is interrupted,
// and that neither threads nor kept files change a row.
#include "replay/run.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "result/json_write.h"
#include "scratch.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::ElementsAre;
using testing::StartsWith;

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
    for (result::Row& row : ran.run.rows.all()) {
      if (row.target) row.target->file.clear();
      if (row.golden) row.golden->file.clear();
      row.own_error.reset();  // operators are replayed on the latest sample only
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
    for (result::Row& row : ran.run.rows.all()) row.step = static_cast<int64_t>(digit);
    const std::vector<std::string> alone = rows_of(std::move(ran));
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(digit * layers);
    EXPECT_EQ(alone, std::vector<std::string>(first, first + static_cast<std::ptrdiff_t>(layers)));
  }
}

// Small samples are run by groups: each is still what it is alone, and one that cannot be read
// costs itself.
TEST_F(Run, SamplesOfAGroupAreTheirOwn) {
  constexpr int64_t kMany = 70;
  const Scratch scratch;
  const auto name = [](int64_t i) { return fmt::format("s{:02}", i); };
  for (int64_t i = 0; i < kMany; ++i) {
    const fs::path picture = scratch.path() / (name(i) + ".png");
    if (i == 3 || i == 40)
      std::ofstream(picture) << "no picture";
    else
      fs::copy_file(kModels / "digits" / fmt::format("{}.png", i % 10), picture);
  }
  RunOptions many = options();
  many.layers = "outputs";
  RunContext context;
  RunOptions ten = many;
  const std::vector<std::string> alone = rows_of(run(ten, context));
  ASSERT_EQ(alone.size(), 10U);
  many.inputs.inputs = {scratch.path().string()};
  Ran ran = run(many, context);
  EXPECT_FALSE(ran.problem);
  ASSERT_EQ(ran.run.samples.size(), static_cast<size_t>(kMany));
  EXPECT_EQ(ran.run.samples[41], name(41));
  EXPECT_THAT(ran.run.doubts, ElementsAre(StartsWith("sample s03 was not compared"),
                                          StartsWith("sample s40 was not compared")));
  std::vector<int64_t> steps;
  for (result::Row& row : ran.run.rows.all()) {
    steps.push_back(*row.step);
    row.step = *row.step % 10;
  }
  ASSERT_EQ(steps.size(), static_cast<size_t>(kMany - 2));
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
  const std::vector<std::string> rows = rows_of(std::move(ran));
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(rows[i], alone[static_cast<size_t>(steps[i] % 10)]) << steps[i];
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
  // What was not reached is there, too, and counts.
  EXPECT_THAT(ran.run.samples, ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
  ASSERT_FALSE(ran.run.rows.empty());
  EXPECT_EQ(ran.run.rows.back().step, 9);
  EXPECT_THAT(ran.run.rows.back().reasons, ElementsAre("interrupted"));
  const result::Summary summary = ran.run.summary();
  EXPECT_EQ(summary.rows,
            summary.pass + summary.fail + summary.inconclusive + summary.not_compared);
  EXPECT_NEAR(summary.coverage, 0.3, 1e-9);
  EXPECT_NE(ran.run.summary().verdict, result::Verdict::kPass);
}

const fs::path kBuilds = fs::path(PLUMB_TEST_DATA) / "cli/builds";

// A picture through two of the models in tests/data/cli/builds.
RunOptions builds(const std::string& target, const std::string& golden) {
  RunOptions options;
  options.target.path = (kBuilds / target).string();
  options.golden.path = (kBuilds / golden).string();
  options.inputs.inputs = {(kBuilds / "picture.png").string()};
  return options;
}

// uint8 NHWC against float NCHW: the same numbers, if each gets the picture in its own way.
TEST_F(Run, EachModelIsFedInItsOwnWay) {
  RunContext context;
  RunOptions by_side = builds("compiled.onnx", "float.onnx");
  by_side.golden.config = (kBuilds / "training.json").string();
  by_side.target.config = (kBuilds / "pixels.json").string();
  RunOptions by_vendor = builds("compiled.onnx", "float.onnx");
  by_vendor.inputs.config = (kBuilds / "output_config.prototxt").string();
  RunOptions exchanged = builds("float.onnx", "compiled.onnx");
  exchanged.target.config = by_side.golden.config;
  exchanged.golden.config = by_side.target.config;
  for (const RunOptions& options : {by_side, by_vendor, exchanged}) {
    const Ran ran = run(options, context);
    if (ran.problem) FAIL() << ran.problem->what << ": " << ran.problem->where;
    ASSERT_EQ(ran.run.rows.size(), 1U);
    EXPECT_EQ(ran.run.rows[0].verdict, result::Verdict::kPass) << ran.run.rows[0].message;
  }
  // Colours that only one side swaps are a difference: the test above can fail.
  RunOptions wrong = by_side;
  wrong.target.config.clear();  // BGR
  EXPECT_EQ(run(wrong, context).run.rows.at(0).verdict, result::Verdict::kFail);
}

TEST_F(Run, RandomNumbersAreNotTwoThings) {
  RunContext context;
  RunOptions options = builds("compiled.onnx", "float.onnx");
  options.inputs.inputs.clear();
  const Ran ran = run(options, context);
  ASSERT_TRUE(ran.problem);
  EXPECT_EQ(ran.problem->what, "the two models take different types");
}

TEST_F(Run, SaysThatSidesLookExchanged) {
  RunContext context;
  RunOptions options = builds("quantized.onnx", "float.onnx");
  options.inputs.config = (kBuilds / "training.json").string();
  EXPECT_THAT(run(options, context).run.warnings, testing::IsEmpty());
  std::swap(options.target, options.golden);
  EXPECT_THAT(run(options, context).run.warnings,
              ElementsAre(testing::HasSubstr("the sides look exchanged")));
}

TEST_F(Run, ToleranceByElement) {
  RunContext context;
  RunOptions options = builds("quantized.onnx", "float.onnx");
  options.inputs.config = (kBuilds / "training.json").string();
  options.atol = 0.125;
  Ran ran = run(options, context);
  EXPECT_EQ(ran.run.rows.at(0).verdict, result::Verdict::kPass) << ran.run.rows.at(0).message;
  EXPECT_EQ(ran.run.atol, 0.125);
  EXPECT_EQ(ran.run.rtol, 0);
  options.atol = 1e-9;
  ran = run(options, context);
  EXPECT_THAT(ran.run.rows.at(0).reasons, ElementsAre("limit:close_share"));
}

// A gt folder made of two models whose outputs differ a little, and the files of a board.
class Board : public Run {
 protected:
  void SetUp() override {
    Run::SetUp();
    if (IsSkipped()) return;
    RunContext context;
    RunOptions options = builds("quantized.onnx", "float.onnx");
    options.inputs.config = (kBuilds / "training.json").string();
    options.output_gt = gt().string();
    const Ran ran = run(options, context);
    ASSERT_FALSE(ran.problem);
    fs::create_directories(board());
    fs::copy_file(gt() / "joint/scores.bin", board() / "scores.bin");
  }
  fs::path gt() const { return scratch_.path() / "gt"; }
  fs::path board() const { return scratch_.path() / "board"; }
  Ran against_gt(const std::string& results = "") const {
    RunContext context;
    RunOptions options;
    options.target.path = board().string();
    options.golden.path = gt().string();
    options.gt = results;
    return run(options, context);
  }

  Scratch scratch_;
};

TEST_F(Board, IsHeldAgainstTheSimulatorBitForBit) {
  Ran ran = against_gt();
  ASSERT_EQ(ran.run.rows.size(), 1U);
  EXPECT_EQ(ran.run.rows[0].verdict, result::Verdict::kPass) << ran.run.rows[0].message;
  EXPECT_EQ(ran.run.profile, "exact");
  EXPECT_THAT(ran.run.golden.convention, testing::HasSubstr("the simulator's outputs"));
  // One bit of one element.
  std::fstream file(board() / "scores.bin", std::ios::in | std::ios::out | std::ios::binary);
  char byte = 0;
  file.read(&byte, 1);
  file.seekp(0);
  file.put(static_cast<char>(byte ^ 1));
  file.close();
  ran = against_gt();
  EXPECT_EQ(ran.run.rows.at(0).verdict, result::Verdict::kFail);
}

TEST_F(Board, IsHeldAgainstTheOriginalOnRequest) {
  const Ran ran = against_gt("onnx");
  ASSERT_EQ(ran.run.rows.size(), 1U);
  EXPECT_THAT(ran.run.golden.convention, testing::HasSubstr("the original model's outputs"));
  EXPECT_EQ(ran.run.profile, "standard");
  const Ran refused = against_gt("jiont");
  ASSERT_TRUE(refused.problem);
  EXPECT_THAT(refused.problem->remedy, testing::HasSubstr("did you mean 'joint'?"));
}

TEST_F(Board, SimulatorAgainstOriginalIsAskedForByItsPath) {
  RunContext context;
  RunOptions options;
  options.target.path = (gt() / "joint").string();
  options.golden.path = gt().string();
  EXPECT_THAT(run(options, context).run.golden.convention, testing::HasSubstr("onnx/"));
  std::swap(options.target.path, options.golden.path);
  options.golden.path = board().string();
  EXPECT_THAT(run(options, context).run.warnings,
              ElementsAre(testing::HasSubstr("the side that is checked comes first")));
}

}  // namespace
}  // namespace plumb::replay
