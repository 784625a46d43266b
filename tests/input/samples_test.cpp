// SPDX-License-Identifier: Apache-2.0
#include "input/samples.h"

#include <fstream>

#include "input/expected.h"
#include "scratch.h"

namespace plumb::input {
namespace {

namespace fs = std::filesystem;

const auto kX = port_of("x", DType::kFloat32, {1, 2, 3});
const auto kA = port_of("a", DType::kFloat32, {1, 2, 3});
const auto kB = port_of("b", DType::kInt64, {1, 3});

SampleRequest request_of(std::vector<std::string> inputs) {
  SampleRequest request;
  request.inputs = std::move(inputs);
  return request;
}

Result<Samples> open(std::vector<std::string> inputs, std::vector<engine::Port> ports) {
  return Samples::open(request_of(std::move(inputs)), std::move(ports));
}

std::string error_of(const Result<Samples>& samples) {
  return samples ? "no error" : samples.error().what;
}

void place(const std::string& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy_file(data_file(from), to);
}

TEST(Samples, OneFile) {
  auto samples = open({data_file("values.npy")}, {kX});
  ASSERT_TRUE(samples) << why(samples.error());
  ASSERT_EQ(samples->size(), 1u);
  EXPECT_EQ(samples->name(0), "values");
  auto sample = samples->load(0);
  ASSERT_TRUE(sample) << why(sample.error());
  EXPECT_EQ(sample->inputs.at("x").bytes, array_in("values.npy").bytes);
}

TEST(Samples, SeveralFilesForOneInput) {
  auto samples = open({data_file("values.npy"), "x=" + data_file("values.bin")}, {kX});
  ASSERT_TRUE(samples) << why(samples.error());
  ASSERT_EQ(samples->size(), 2u);
  EXPECT_EQ(samples->name(1), "values_2");
  EXPECT_EQ(samples->load(0)->inputs.at("x").bytes, samples->load(1)->inputs.at("x").bytes);
}

TEST(Samples, DirectoriesAndLists) {
  Scratch scratch;
  place("values.npy", scratch.path() / "in/2.npy");
  place("values.bin", scratch.path() / "in/1.bin");
  std::ofstream(scratch.path() / "list.txt") << "in/2.npy\r\n\nin/1.bin\n";
  auto directory = open({(scratch.path() / "in").string()}, {kX});
  ASSERT_TRUE(directory) << why(directory.error());
  EXPECT_EQ(directory->name(0), "1");
  EXPECT_EQ(directory->name(1), "2");
  auto list = open({"@" + (scratch.path() / "list.txt").string()}, {kX});
  ASSERT_TRUE(list) << why(list.error());
  EXPECT_EQ(list->name(0), "2");
  EXPECT_EQ(list->size(), 2u);
}

TEST(Samples, NotesInADirectoryAreLeftOut) {
  Scratch scratch;
  place("values.npy", scratch.path() / "1.npy");
  std::ofstream(scratch.path() / "labels.csv") << "1.npy,3\n";
  auto samples = open({scratch.path().string()}, {kX});
  ASSERT_TRUE(samples) << why(samples.error());
  EXPECT_EQ(samples->size(), 1u);
  ASSERT_EQ(samples->warnings().size(), 1u);
  EXPECT_NE(samples->warnings()[0].find("1 file left out"), std::string::npos);
  fs::remove(scratch.path() / "1.npy");
  EXPECT_EQ(error_of(open({scratch.path().string()}, {kX})),
            "the directory holds no file that could be an input");
}

TEST(Samples, DoubtsAboutChannelsAreTold) {
  SampleRequest request = request_of({data_file("picture.png")});
  request.preprocess.modifications.resize(1);
  request.preprocess.modifications[0].kind = Modification::Kind::kNormalization;
  request.preprocess.modifications[0].mean = {123.675, 116.28, 103.53};
  const auto port = port_of("x", DType::kFloat32, {1, 3, 14, 20});
  auto samples = Samples::open(request, {port});
  ASSERT_TRUE(samples) << why(samples.error());
  EXPECT_EQ(samples->warnings().size(), 1u);
  // Tensors are fed as they are: nothing to doubt.
  request.inputs = {data_file("values.npy")};
  EXPECT_TRUE(Samples::open(request, {port})->warnings().empty());
}

TEST(Samples, SeveralInputs) {
  auto container = open({data_file("several.npz")}, {kA, kB});
  ASSERT_TRUE(container) << why(container.error());
  auto sample = container->load(0);
  ASSERT_TRUE(sample) << why(sample.error());
  EXPECT_EQ(sample->inputs.at("a").bytes, array_in("values.npy").bytes);
  EXPECT_EQ(values_of<int64_t>(sample->inputs.at("b")), (std::vector<int64_t>{1, 2, 3}));

  // One file is for all samples of the others.
  auto mixed = open({"a=" + data_file("values.npy"), "a=" + data_file("values.bin"),
                     "b=" + data_file("several.npz")},
                    {kA, kB});
  ASSERT_TRUE(mixed) << why(mixed.error());
  EXPECT_EQ(mixed->size(), 2u);
  EXPECT_TRUE(mixed->load(1));
}

TEST(Samples, DirectoriesPairByName) {
  Scratch scratch;
  for (const char* name : {"1.npy", "2.npy"}) {
    place("values.npy", scratch.path() / "left" / name);
    place("values.npy", scratch.path() / "right" / name);
  }
  const auto ports = {kA, port_of("c", DType::kFloat32, {1, 2, 3})};
  const auto left = "a=" + (scratch.path() / "left").string();
  const auto right = "c=" + (scratch.path() / "right").string();
  auto pairs = open({left, right}, ports);
  ASSERT_TRUE(pairs) << why(pairs.error());
  EXPECT_EQ(pairs->size(), 2u);
  fs::rename(scratch.path() / "right/1.npy", scratch.path() / "right/3.npy");
  EXPECT_EQ(error_of(open({left, right}, ports)), "the files of the inputs do not belong together");
}

TEST(Samples, CaseDirectories) {
  Scratch scratch;
  place("values.npy", scratch.path() / "one/a.npy");
  place("values.npy", scratch.path() / "one/c_0.npy");
  place("values.pb", scratch.path() / "two/input_0.pb");
  place("values.pb", scratch.path() / "two/input_1.pb");
  auto cases = open({scratch.path().string()}, {kA, port_of("c:0", DType::kFloat32, {1, 2, 3})});
  ASSERT_TRUE(cases) << why(cases.error());
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ(cases->name(0), "one");
  EXPECT_TRUE(cases->load(0));
  EXPECT_TRUE(cases->load(1));
}

// The folder of inputs that Pulsar writes, and a test case of ONNX: one sample, not three.
TEST(Samples, CaseOfAModelWithOneInput) {
  Scratch scratch;
  place("values.npy", scratch.path() / "gt/x.npy");
  place("values.bin", scratch.path() / "gt/x.bin");
  std::ofstream(scratch.path() / "gt/filename.txt") << "photo.jpg\n";
  auto gt = open({(scratch.path() / "gt").string()}, {kX});
  ASSERT_TRUE(gt) << why(gt.error());
  ASSERT_EQ(gt->size(), 1u);
  EXPECT_EQ(gt->name(0), "gt");
  place("values.pb", scratch.path() / "sets/test_data_set_0/input_0.pb");
  place("values.pb", scratch.path() / "sets/test_data_set_0/output_0.pb");
  place("values.pb", scratch.path() / "sets/test_data_set_1/input_0.pb");
  auto sets = open({(scratch.path() / "sets").string()}, {kX});
  ASSERT_TRUE(sets) << why(sets.error());
  ASSERT_EQ(sets->size(), 2u);
  EXPECT_EQ(sets->name(1), "test_data_set_1");
  EXPECT_TRUE(sets->load(1));
  fs::create_directory(scratch.path() / "empty");
  EXPECT_EQ(error_of(open({(scratch.path() / "empty").string()}, {kX})), "the directory is empty");
}

TEST(Samples, DigitsAreSamples) {
  auto digits =
      open({data_file("digits.idx3-ubyte.gz")}, {port_of("x", DType::kFloat32, {1, 1, 5, 4})});
  ASSERT_TRUE(digits) << why(digits.error());
  EXPECT_EQ(digits->size(), 3u);
  EXPECT_EQ(digits->name(2), "digits#2");
  EXPECT_TRUE(digits->load(2));
  auto one =
      open({data_file("digits.idx3-ubyte.gz#1")}, {port_of("x", DType::kFloat32, {1, 1, 5, 4})});
  EXPECT_EQ(one->size(), 1u);
}

TEST(Samples, RandomAndShapes) {
  SampleRequest request;
  request.seed = 3;
  const auto open_port = port_of("x", DType::kFloat32, {-1, 3});
  EXPECT_EQ(error_of(Samples::open(request, {port_of("x", DType::kFloat32, {1, -1})})),
            "how large should the input be?");
  request.shapes["x"] = {2, 3};
  auto samples = Samples::open(request, {open_port});
  ASSERT_TRUE(samples) << why(samples.error());
  EXPECT_EQ(samples->name(0), "random");
  EXPECT_EQ(samples->load(0)->inputs.at("x").shape, (Shape{2, 3}));
  request.shapes["x"] = {2, 4};
  EXPECT_EQ(error_of(Samples::open(request, {open_port})), "the model's input has another shape");
}

TEST(Samples, SaysWhatIsMissing) {
  EXPECT_EQ(error_of(open({}, {kX})), "what should the model be fed?");
  EXPECT_EQ(error_of(open({"a=" + data_file("values.npy")}, {kA, kB})),
            "some inputs are fed nothing");
  EXPECT_EQ(error_of(open({"y=" + data_file("values.npy")}, {kX})), "the model has no input 'y'");
  EXPECT_EQ(error_of(open({data_file("values.npy")}, {kA, kB})), "which input is this file for?");
  EXPECT_EQ(error_of(open({data_file("none.npy")}, {kX})), "there is no such file");
  SampleRequest calibration = request_of({data_file("none.npy")});
  calibration.option = "--calib";
  EXPECT_EQ(Samples::open(calibration, {kX}).error().remedy, "check the name that --calib gives");
}

TEST(Samples, StagesAreWritten) {
  Scratch scratch;
  SampleRequest request = request_of({data_file("digits.idx3-ubyte#1")});
  request.dump_directory = (scratch.path() / "pre").string();
  auto samples = Samples::open(request, {port_of("x", DType::kFloat32, {1, 1, 5, 4})});
  ASSERT_TRUE(samples);
  ASSERT_TRUE(samples->load(0));
  auto file = io::open_tensor_file((scratch.path() / "pre/digits_1/x.6_tensor.npy").string());
  ASSERT_TRUE(file) << why(file.error());
  EXPECT_EQ(file->listing.tensors[0].shape, (Shape{1, 1, 5, 4}));
}

engine::Port open_port(Shape shape, std::vector<std::string> axes) {
  engine::Port port = port_of("x", DType::kFloat32, std::move(shape));
  port.axes = std::move(axes);
  return port;
}

// A batch that is left open is 1; other axes are asked for, with the sizes that the model has.
TEST(Samples, OpenAxesOfRandomInputs) {
  struct Open {
    const char* name;
    engine::Port port;
    Shape shape;
    std::string advice;
  };
  const Open cases[] = {
      {"batch", open_port({-1, 3, 244, 244}, {"N", "", "", ""}), {1, 3, 244, 244}, ""},
      {"batch without a name", open_port({-1, 5}, {}), {1, 5}, ""},
      {"width, too",
       open_port({-1, 3, 48, -1}, {"batch", "", "", "W"}),
       {},
       "say it: --shape x:1,3,48,W with a number for W"},
      {"a sequence is no batch",
       open_port({-1, 512}, {"seq_len", ""}),
       {},
       "say it: --shape x:seq_len,512 with a number for seq_len"},
      {"without names",
       open_port({-1, -1, 3}, {}),
       {},
       "say it: --shape x:1,N1,3 with a number for N1"},
  };
  for (const Open& each : cases) {
    SCOPED_TRACE(each.name);
    SampleRequest request;
    request.seed = 0;
    auto samples = Samples::open(request, {each.port});
    if (!each.advice.empty()) {
      ASSERT_FALSE(samples);
      EXPECT_EQ(samples.error().remedy, each.advice);
      continue;
    }
    ASSERT_TRUE(samples) << why(samples.error());
    EXPECT_EQ(samples->load(0)->inputs.at("x").shape, each.shape);
  }
}

// values.bin has 2 x 3 floats.
TEST(Samples, TheSizeOfABareFileTellsOneOpenAxis) {
  for (const Shape& shape : {Shape{-1, 3}, Shape{2, -1}, Shape{-1, 2, 3}}) {
    auto samples = open({data_file("values.bin")}, {open_port(shape, {})});
    ASSERT_TRUE(samples) << why(samples.error());
    auto sample = samples->load(0);
    ASSERT_TRUE(sample) << why(sample.error());
    EXPECT_EQ(sample->inputs.at("x").bytes.size(), 24u);
  }
  auto misfit = open({data_file("values.bin")}, {open_port({-1, 5}, {})});
  ASSERT_TRUE(misfit) << why(misfit.error());
  EXPECT_FALSE(misfit->load(0));
}

// Their .bin files hold 600 bytes each.
TEST(Samples, FilesOfAnArchiveAreSamples) {
  const auto port = port_of("x", DType::kUint8, {1, 600});
  std::vector<std::byte> first;
  for (const char* name : {"set.tar", "pax.tar", "set.tar.gz", "set.zip"}) {
    auto samples = open({std::string(PLUMB_TEST_DATA) + "/archive/" + name}, {port});
    ASSERT_TRUE(samples) << name << why(samples.error());
    EXPECT_GE(samples->size(), 12u) << name;
    EXPECT_EQ(samples->name(3), "03") << name;
    auto sample = samples->load(3);
    ASSERT_TRUE(sample) << name << why(sample.error());
    if (first.empty()) first = sample->inputs.at("x").bytes;
    EXPECT_EQ(sample->inputs.at("x").bytes, first) << name;
  }
}

TEST(Samples, SomeAreDrawn) {
  SampleRequest request = request_of({std::string(PLUMB_TEST_DATA) + "/archive/set.tar"});
  request.most = 5;
  const auto port = port_of("x", DType::kUint8, {1, 600});
  auto samples = Samples::open(request, {port});
  ASSERT_TRUE(samples) << why(samples.error());
  ASSERT_EQ(samples->size(), 5u);
  EXPECT_GE(samples->found(), 12u);
  for (size_t i = 1; i < 5; ++i) EXPECT_LT(samples->name(i - 1), samples->name(i));
  auto again = Samples::open(request, {port});
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(again->name(i), samples->name(i));
  request.most = 1000;
  EXPECT_EQ(Samples::open(request, {port})->size(), samples->found());
}

TEST(Samples, PixelsForFloatsAreDoubted) {
  SKIP_WITHOUT_CODEC();
  const std::string picture = std::string(PLUMB_TEST_DATA) + "/cli/builds/picture.png";
  const auto port = port_of("image", DType::kFloat32, {1, 3, 24, 24});
  auto samples = open({picture}, {port});
  ASSERT_TRUE(samples) << why(samples.error());
  ASSERT_EQ(samples->warnings().size(), 1u);
  EXPECT_NE(samples->warnings()[0].find("values of 0 to 255"), std::string::npos);
  SampleRequest scaled = request_of({picture});
  scaled.preprocess.modifications.push_back({Modification::Kind::kAffine, {1}, {}, {}, {}, {}, {}});
  EXPECT_TRUE(Samples::open(scaled, {port})->warnings().empty());
}

}  // namespace
}  // namespace plumb::input
