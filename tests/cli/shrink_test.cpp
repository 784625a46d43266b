// SPDX-License-Identifier: Apache-2.0
//
// `plumb shrink` with ONNX Runtime at hand and without it, on our digit classifier. What needs no
// engine is in the transcripts.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "engine/record_tensors.h"
#include "graph/onnx_model.h"
#include "scratch.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const fs::path kDigits =
    fs::path(PLUMB_TEST_DATA) / ".." / ".." / "examples" / "models" / "digits.onnx";

class ShrinkCommand : public testing::Test {
 protected:
  // The exit status; what was printed is in `printed_`.
  int run(const std::string& arguments, const std::string& environment = {}) {
    const fs::path log = scratch_.path() / "printed";
    const std::string command =
        fmt::format("cd '{}' && {} '{}' shrink {} > '{}' 2>&1", scratch_.path().string(),
                    environment, PLUMB_BINARY, arguments, log.string());
    const int status = std::system(command.c_str());
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    printed_ = text.str();
    return status < 0 ? status : status >> 8;
  }

  void load(const fs::path& path) {
    auto file = MappedFile::open(path.string());
    ASSERT_TRUE(file) << path;
    files_.push_back(std::make_unique<MappedFile>(std::move(*file)));
    auto model = graph::read_onnx(files_.back()->bytes());
    ASSERT_TRUE(model) << path;
    model_ = std::move(*model);
  }

  // Our network without the types of its inner tensors.
  void write_bare() {
    load(kDigits);
    model_.graph.value_infos.clear();
    std::ofstream(scratch_.path() / "bare.onnx") << graph::write_onnx(model_);
  }

  static std::vector<std::string> names(const auto& list) {
    std::vector<std::string> names;
    for (const auto& item : list) names.emplace_back(item.name);
    return names;
  }

  Scratch scratch_;
  std::string printed_;
  std::vector<std::unique_ptr<MappedFile>> files_;
  graph::OnnxModel model_;
};

#define SKIP_WITHOUT_ENGINE()                                    \
  if (auto engine = engine::load_engine("onnxruntime"); !engine) \
  GTEST_SKIP() << engine.error().what << ": " << engine.error().where

TEST_F(ShrinkCommand, TheEngineTellsTypesThatTheFileDoesNot) {
  SKIP_WITHOUT_ENGINE();
  write_bare();
  ASSERT_EQ(run("bare.onnx --check '! grep -q GlobalAveragePool {}' -o small.onnx"), 0) << printed_;
  EXPECT_THAT(printed_, Not(HasSubstr("warning")));
  load(scratch_.path() / "small.onnx");
  EXPECT_THAT(names(model_.graph.nodes), ElementsAre("pool5"));
  ASSERT_EQ(model_.graph.inputs.size(), 1u);
  const graph::OnnxValue input = model_.graph.inputs[0];
  load(kDigits);  // which records them
  bool is_recorded = false;
  for (const graph::OnnxValue& value : model_.graph.value_infos) {
    if (value.name != input.name) continue;
    is_recorded = true;
    EXPECT_EQ(input.type.dtype, value.type.dtype);
    EXPECT_EQ(input.type.shape, value.type.shape);
  }
  EXPECT_TRUE(is_recorded) << input.name;
}

TEST_F(ShrinkCommand, WithoutEngineAndTypesItSaysWhatItCouldNotTry) {
  write_bare();
  for (const auto& [arguments, environment] :
       {std::pair{"--no-engine", ""}, {"", "PLUMB_ONNXRUNTIME=/none"}}) {
    ASSERT_EQ(
        run(fmt::format("bare.onnx --check '! grep -q Softmax {{}}' -o small.onnx {}", arguments),
            environment),
        0)
        << printed_;
    EXPECT_THAT(printed_, HasSubstr("warning: the model was not run, nothing but the file tells"));
    EXPECT_THAT(printed_, HasSubstr("minimal   not known: parts were not tried"));
    EXPECT_THAT(printed_, HasSubstr("31 -> 31 nodes"));
  }
}

// The values are those that the network computes of the same input, and a replay computes again.
TEST_F(ShrinkCommand, ValuesAreThoseOfARun) {
  SKIP_WITHOUT_ENGINE();
  ASSERT_EQ(run(fmt::format("'{}' --values --seed 7 --check '! grep -q Softmax {{}}' -o small.onnx",
                            kDigits.string())),
            0)
      << printed_;
  load(scratch_.path() / "small.onnx");
  EXPECT_THAT(names(model_.graph.nodes), ElementsAre("prob"));
  EXPECT_THAT(model_.graph.inputs, IsEmpty());
  ASSERT_THAT(names(model_.graph.initializers), ElementsAre("fc6"));
  // The small model gives what the whole one gives.
  const auto probabilities = [&](const fs::path& path) {
    const std::string command = fmt::format(
        "cd '{}' && '{}' dump '{}' --seed 7 --quiet -o '{}' && "
        "cat '{}'/prob.0.*.npy > '{}.out'",
        scratch_.path().string(), PLUMB_BINARY, path.string(), path.stem().string(),
        path.stem().string(), path.stem().string());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::ostringstream text;
    text << std::ifstream(scratch_.path() / (path.stem().string() + ".out")).rdbuf();
    return text.str();
  };
  const std::string whole = probabilities(kDigits);
  EXPECT_EQ(whole.size(), 128u + 40);
  EXPECT_EQ(probabilities(scratch_.path() / "small.onnx"), whole);

  ASSERT_EQ(run("--replay small.replay.json -o again.onnx"), 0) << printed_;
  EXPECT_THAT(printed_, Not(HasSubstr("bit for bit")));
  const auto a = MappedFile::open((scratch_.path() / "small.onnx").string());
  const auto b = MappedFile::open((scratch_.path() / "again.onnx").string());
  ASSERT_TRUE(a && b);
  EXPECT_EQ(as_text(a->bytes()), as_text(b->bytes()));
}

TEST_F(ShrinkCommand, AnInputThatDoesNotFitIsAnError) {
  SKIP_WITHOUT_ENGINE();
  EXPECT_EQ(run(fmt::format("'{}' --input nowhere.npy --check '! grep -q Softmax {{}}' -o x.onnx",
                            kDigits.string())),
            2);
  EXPECT_THAT(printed_, HasSubstr("nowhere.npy"));
}

}  // namespace
}  // namespace plumb
