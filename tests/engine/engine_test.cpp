// SPDX-License-Identifier: Apache-2.0
//
// Our own digit classifier through both engines, held against a forward pass in numpy (see
// tests/data/digits/make_expected.py).
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "dump/dump.h"
#include "engine/dump_model.h"
#include "io/file.h"
#include "io/reader.h"

namespace plumb::engine {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(PLUMB_TEST_DATA) / "digits";
const fs::path kModels = fs::path(PLUMB_TEST_DATA) / ".." / ".." / "examples" / "models";

std::vector<float> floats_of(const fs::path& path, const std::string& name = {}) {
  dump::DumpSet set;
  set.root = path.parent_path();
  dump::Entry entry;
  entry.parts.push_back({path.filename().string(), name});
  auto opened = dump::EntryReader::open(set, entry);
  EXPECT_TRUE(opened) << path << " " << name;
  if (!opened) return {};
  const auto piece = opened->reader().read(0, opened->reader().count());
  const auto* data = reinterpret_cast<const float*>(piece->data());
  return {data, data + opened->reader().count()};
}

double worst(const std::vector<float>& got, const std::vector<float>& wanted) {
  if (got.size() != wanted.size()) return INFINITY;
  double error = 0, scale = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error = std::max(error, std::abs(double{got[i]} - double{wanted[i]}));
    scale = std::max(scale, std::abs(double{wanted[i]}));
  }
  return error / scale;
}

Inputs digit(size_t index) {
  const std::vector<float> all = floats_of(kData / "expected.npz", "data");
  const auto bytes = std::as_bytes(std::span(all).subspan(index * 784, 784));
  return {{"data", {DType::kFloat32, {1, 1, 28, 28}, {bytes.begin(), bytes.end()}}}};
}

struct Case {
  const char* engine;
  const char* model;
};
class Engines : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (auto engine = load_engine(GetParam().engine); !engine)
      GTEST_SKIP() << engine.error().what << ": " << engine.error().where;
  }
  Result<LoadedModel> open() {
    return LoadedModel::open({kModels / GetParam().model, {}, GetParam().engine});
  }
  fs::path directory_ = fs::path(testing::TempDir()) / "engine_test";
  void TearDown() override { fs::remove_all(directory_); }
};
INSTANTIATE_TEST_SUITE_P(All, Engines,
                         testing::Values(Case{"onnxruntime", "digits.onnx"},
                                         Case{"opencv", "digits.onnx"},
                                         Case{"opencv", "digits.prototxt"}),
                         [](const auto& which) {
                           return std::string(which.param.engine) + "_" +
                                  fs::path(which.param.model).extension().string().substr(1);
                         });

TEST_P(Engines, GiveTheProbabilitiesThatNumpyGives) {
  auto model = open();
  ASSERT_TRUE(model) << model.error().what << model.error().where;
  const std::vector<float> wanted = floats_of(kData / "expected.npz", "prob");
  for (const Optimization level : {Optimization::kDisabled, Optimization::kAll}) {
    SessionOptions options;
    options.optimization = level;
    auto session = model->engine().open(model->view(), options);
    ASSERT_TRUE(session) << session.error().where;
    ASSERT_EQ((*session)->inputs().size(), 1u);
    EXPECT_EQ((*session)->inputs()[0].name, "data");
    for (size_t i = 0; i < 10; ++i) {
      int outputs = 0;
      auto ran = (*session)->run(digit(i), [&](const Output& output) -> Result<void> {
        ++outputs;
        EXPECT_TRUE(output.tensor) << output.problem;
        const auto* data = reinterpret_cast<const float*>(output.tensor->bytes.data());
        const std::vector<float> got(data, data + output.tensor->bytes.size() / 4);
        EXPECT_LT(worst(got, {wanted.begin() + static_cast<long>(10 * i),
                              wanted.begin() + static_cast<long>(10 * i + 10)}),
                  1e-5);
        return {};
      });
      ASSERT_TRUE(ran) << ran.error().where;
      EXPECT_EQ(outputs, 1);
    }
  }
}

// What does not fit into memory is mapped from files that no directory lists.
TEST_P(Engines, KeepTheSameTensorsInFiles) {
  auto model = open();
  ASSERT_TRUE(model);
  const auto in_memory = ModelDumper(*model, {}).keep(digit(5), {}, RunContext{});
  DumpWishes wishes;
  wishes.kept_bytes = 1;
  const auto in_files = ModelDumper(*model, wishes).keep(digit(5), {}, RunContext{});
  ASSERT_TRUE(in_memory);
  ASSERT_TRUE(in_files) << in_files.error().what << in_files.error().where;
  ASSERT_EQ(in_files->tensors.size(), in_memory->tensors.size());
  size_t kept = 0;
  for (size_t i = 0; i < in_files->tensors.size(); ++i) {
    const DumpedTensor &a = in_files->tensors[i], &b = in_memory->tensors[i];
    EXPECT_EQ(a.tensor, b.tensor);
    EXPECT_EQ(a.dtype, b.dtype);
    EXPECT_EQ(a.shape, b.shape);
    EXPECT_TRUE(std::ranges::equal(a.bytes, b.bytes)) << a.tensor;
    kept += !a.bytes.empty();
  }
  EXPECT_GT(kept, 1u);
}

// ... and they really are: where there is no room for files, there is an error.
TEST_P(Engines, SayThatThereIsNoRoomForFiles) {
  auto model = open();
  ASSERT_TRUE(model);
  DumpWishes wishes;
  wishes.kept_bytes = 1;
  ModelDumper dumper(*model, wishes);
  const char* const before = std::getenv("TMPDIR");
  const std::string restored = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/proc", 1);  // where nobody can make one
  const auto refused = dumper.keep(digit(5), {}, RunContext{});
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", restored.c_str(), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "no temporary file can be made");
}

TEST_P(Engines, DumpEveryTensorOnce) {
  auto model = open();
  ASSERT_TRUE(model);
  auto dump = ModelDumper(*model, {}).dump(digit(5), directory_, RunContext{});
  ASSERT_TRUE(dump) << dump.error().what << dump.error().where;
  int64_t files = 0, left_out = 0;
  const auto is = [](const DumpedTensor& tensor, const char* op) { return tensor.op == op; };
  int checked = 0;
  for (const DumpedTensor& tensor : dump->tensors) {
    (tensor.file.empty() ? left_out : files) += 1;
    EXPECT_EQ(tensor.file.empty(), !tensor.problem.empty()) << tensor.op;
    for (const char* op : {"data", "conv1", "dw2_scale", "dw2_relu", "pool2", "pw3_bn", "pw3_scale",
                           "add3_relu", "concat4", "conv5_relu", "prob"}) {
      if (!is(tensor, op) || tensor.file.empty()) continue;
      ++checked;
      EXPECT_LT(
          worst(floats_of(directory_ / tensor.file), floats_of(kData / "intermediate.npz", op)),
          1e-5)
          << op;
    }
  }
  EXPECT_EQ(files, dump->written);
  EXPECT_GE(checked, 10);  // pw3_bn is a layer of its own in Caffe only
  EXPECT_LE(left_out, GetParam().engine == std::string("onnxruntime") ? 0 : 2);
}

TEST_P(Engines, RunInBatchesAsAtOnce) {
  auto model = open();
  ASSERT_TRUE(model);
  DumpWishes batched;
  const fs::path in_one = directory_ / "once", in_seven = directory_ / "batched";
  batched.batch_outputs = 7;
  auto a = ModelDumper(*model, {}).dump(digit(3), in_one, RunContext{});
  auto b = ModelDumper(*model, batched).dump(digit(3), in_seven, RunContext{});
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  EXPECT_EQ(a->runs, 1);
  EXPECT_GT(b->runs, 4);
  ASSERT_EQ(a->tensors.size(), b->tensors.size());
  for (size_t i = 0; i < a->tensors.size(); ++i) {
    ASSERT_EQ(a->tensors[i].file.empty(), b->tensors[i].file.empty());
    if (a->tensors[i].file.empty()) continue;
    EXPECT_EQ(floats_of(in_one / a->tensors[i].file), floats_of(in_seven / b->tensors[i].file))
        << a->tensors[i].op;
  }
}

TEST(FusedGraph, KnowsWhatItWasMadeFrom) {
  if (auto engine = load_engine("onnxruntime"); !engine) GTEST_SKIP() << engine.error().what;
  auto model = LoadedModel::open({kModels / "digits.onnx", {}, {}});
  ASSERT_TRUE(model);
  DumpWishes wishes;
  const fs::path directory = fs::path(testing::TempDir()) / "fused_test";
  wishes.optimization = Optimization::kExtended;
  auto dump = ModelDumper(*model, wishes).dump(digit(3), directory, RunContext{});
  ASSERT_TRUE(dump) << dump.error().what << dump.error().where;
  EXPECT_TRUE(dump->doubts.empty()) << dump->doubts[0];
  std::map<std::string, int> went_into;
  for (const graph::Operator& op : dump->graph->operators)
    for (const std::string& origin : *op.origins) ++went_into[origin];
  for (const graph::Operator& op : model->graph().operators)
    EXPECT_EQ(went_into[op.name], 1) << op.name;
  const auto by_name = dump->graph->by_name();
  bool is_fused = false;  // the first convolution with its normalisation and activation
  for (const graph::Operator& op : dump->graph->operators)
    is_fused |= *op.origins == std::vector<std::string>{"conv1", "conv1_scale", "conv1_relu"};
  EXPECT_TRUE(is_fused);
  fs::remove_all(directory);
}

TEST(Models, ThatCannotBeRunSayWhy) {
  EXPECT_EQ(LoadedModel::open({"/nowhere/model.onnx", {}, {}}).error().where.substr(0, 19),
            "/nowhere/model.onnx");
  EXPECT_EQ(load_engine("onnxruntim").error().what, "unknown engine 'onnxruntim'");
  EXPECT_TRUE(is_model(kModels / "digits.onnx"));
  EXPECT_TRUE(is_model(kModels / "digits.prototxt"));
  EXPECT_FALSE(is_model(kData / "expected.npz"));
  EXPECT_FALSE(is_model(kData));
}

}  // namespace
}  // namespace plumb::engine
