// SPDX-License-Identifier: Apache-2.0
//
// `plumb isolate` on models whose fault is known, since it was put there: what introduces an error,
// what inherits it, and whether a reproduction reproduces. Runs the program itself.
#include <cstdio>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/mapped_file.h"
#include "graph/onnx_bodies.h"
#include "graph/onnx_wiring.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/zip.h"
#include "replay/run_part.h"
#include "scratch.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kModels = std::string(PLUMB_TEST_DATA) + "/onnx_edit/";

struct Ran {
  int status = -1;
  std::string text;  // stdout and stderr
};

class Isolate : public testing::Test {
 protected:
  void SetUp() override {
    if (auto engine = engine::load_engine("onnxruntime"); !engine)
      GTEST_SKIP() << engine.error().what << ": " << engine.error().where;
  }

  Ran plumb(const std::string& arguments) const {
    const std::string command =
        "cd " + scratch_.path().string() + " && " PLUMB_BINARY " " + arguments + " 2>&1";
    FILE* pipe = ::popen(command.c_str(), "r");
    Ran ran;
    for (char piece[4096]; size_t size = std::fread(piece, 1, sizeof piece, pipe);)
      ran.text.append(piece, size);
    ran.status = WEXITSTATUS(::pclose(pipe));
    return ran;
  }

  // Dumps of the model and of a faulty one, and their comparison in result.json.
  void compare(const std::string& faulty, const std::string& options = {}) const {
    const std::string fed = " --seed 3 --shape x:1,1,4,4 --quiet ";
    ASSERT_EQ(plumb("dump " + kModels + "chain.onnx -o golden" + fed).status, 0);
    ASSERT_EQ(plumb("dump " + kModels + faulty + " -o target" + fed + options).status, 0);
    ASSERT_LT(plumb("compare target golden --json result.json").status, 2);
  }

  Ran isolate(const std::string& options) const {
    return plumb("isolate result.json --model " + kModels + "chain.onnx " + options);
  }

  Scratch scratch_;
};

TEST_F(Isolate, TellsWhoMadeTheError) {
  compare("chain_bad_conv.onnx");
  struct Case {
    const char* options;
    const char* heading;
    int status;
  };
  const Case cases[] = {
      {"--op conv", "INTRODUCED HERE  conv (Conv): ", 1},
      {"--op r", "INHERITED  r (Relu): ", 0},
      {"--op mul", "INHERITED  mul (Mul): ", 0},
      {"--op add", "INHERITED  add (Add): ", 0},
      {"--op split", "INHERITED  split (Split): ", 0},
      {"--op r --to add", "INHERITED  r (Relu), mul (Mul), gate (Sigmoid), add (Add): ", 0},
      {"--op conv --to r", "INTRODUCED HERE  conv (Conv), r (Relu): ", 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.options);
    const Ran ran = isolate(c.options);
    EXPECT_THAT(ran.text, HasSubstr(c.heading));
    EXPECT_THAT(ran.text, HasSubstr("golden inputs reproduce the golden output bit for bit"));
    EXPECT_EQ(ran.status, c.status) << ran.text;
  }
}

TEST_F(Isolate, TellsOwnErrorsFromInheritedOnes) {
  compare("chain_bad_both.onnx");
  const Ran both = isolate("--op mul");
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.text, HasSubstr("BOTH  mul (Mul): "));
  EXPECT_EQ(isolate("--op gate").status, 0);

  const Ran json = isolate("--op mul --json -");
  EXPECT_EQ(json.status, 1);
  EXPECT_TRUE(json.text.starts_with("{\n  \"schema\": \"plumb.isolate/1\",")) << json.text;
  ASSERT_EQ(isolate("--op mul --json mul.json").status, 1);
  std::ifstream file(scratch_.path() / "mul.json", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), json.text);
}

TEST_F(Isolate, FindsNoErrorWhereThereIsNone) {
  compare("chain_bad_mul.onnx");
  const Ran conv = isolate("--op conv");
  EXPECT_EQ(conv.status, 0);
  EXPECT_THAT(conv.text, HasSubstr("NO ERROR  conv (Conv): "));
  EXPECT_THAT(isolate("--op mul").text, HasSubstr("INTRODUCED HERE  mul (Mul): "));
}

// The engine fuses Conv and Relu: between them the target has no tensor.
TEST_F(Isolate, TakesFusedOperatorsTogether) {
  compare("chain_bad_conv.onnx", "--optimization extended");
  const Ran ran = isolate("--op conv");
  EXPECT_THAT(ran.text, HasSubstr("INTRODUCED HERE  conv (Conv) and 1 fused with it: "));
  EXPECT_THAT(ran.text, HasSubstr("the target has no tensors between conv (Conv), r (Relu)"));
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(isolate("--op r").text, HasSubstr("r (Relu) and 1 fused with it"));
}

TEST_F(Isolate, TakesDumpsThatWereMadeAgain) {
  compare("chain_bad_conv.onnx");
  fs::remove_all(scratch_.path() / "golden");
  EXPECT_THAT(isolate("--op conv").text,
              HasSubstr("try:   say where the dump is now: --golden DIR"));
  ASSERT_EQ(plumb("dump " + kModels + "chain.onnx -o again --seed 3 --shape x:1,1,4,4").status, 0);
  EXPECT_THAT(isolate("--op conv --golden again").text, HasSubstr("INTRODUCED HERE"));
  const Ran model = isolate("--op conv --golden " + kModels + "chain.onnx");
  EXPECT_THAT(model.text, HasSubstr("the result is of a run that kept no tensors"));
  EXPECT_EQ(model.status, 2);
}

TEST_F(Isolate, RefusesAnotherModelThanGoldens) {
  compare("chain_bad_conv.onnx");
  const Ran ran = plumb("isolate result.json --op conv --model " + kModels + "chain_bad_conv.onnx");
  EXPECT_THAT(ran.text, HasSubstr("the model does not reproduce the golden tensor"));
  EXPECT_EQ(ran.status, 2);
}

TEST_F(Isolate, NamesInputsThatWereNotDumped) {
  compare("chain_bad_conv.onnx");
  for (const fs::directory_entry& file : fs::directory_iterator(scratch_.path() / "target"))
    if (file.path().filename().string().starts_with("x.")) {
      fs::copy_file(file.path(), scratch_.path() / "x.npy");
      fs::remove(file.path());
    }
  ASSERT_LT(plumb("compare target golden --json result.json").status, 2);
  const Ran ran = isolate("--op conv");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.text, HasSubstr("where: x output:0 (not in the target's dump)"));
  EXPECT_THAT(ran.text, HasSubstr("or say what was fed: --input x=FILE"));
  EXPECT_THAT(isolate("--op conv --input x=x.npy").text, HasSubstr("INTRODUCED HERE"));
}

// A device's dump: float16 in its own layout, with inputs of operators.
TEST_F(Isolate, ReadsDumpsOfDevices) {
  const std::string bin = fs::path(PLUMB_BINARY).parent_path().string();
  ASSERT_EQ(
      std::system(
          (bin + "/make_example_dump " + scratch_.path().string() + "/demo > /dev/null").c_str()),
      0);
  plumb("compare demo/npu_broken demo/golden --json result.json");
  const std::string model = " --model " + kModels + "example.onnx ";
  const Ran relu = plumb("isolate result.json --op relu1" + model);
  EXPECT_THAT(relu.text, HasSubstr("INHERITED  relu1 (Relu): "));
  EXPECT_THAT(relu.text, HasSubstr("golden inputs reproduce the golden output bit for bit"));
  EXPECT_EQ(relu.status, 0);
  // Its own averages, summed in another order.
  const Ran pool = plumb("isolate result.json --op pool1" + model);
  EXPECT_THAT(pool.text, HasSubstr("INHERITED  pool1 (GlobalAveragePool): "));
  EXPECT_THAT(pool.text, HasSubstr("golden inputs reproduce the golden output"));
  const Ran conv = plumb("isolate result.json --op conv1" + model);
  EXPECT_THAT(conv.text, HasSubstr("where: data (not in the golden dump)"));
  EXPECT_EQ(conv.status, 2);
}

// Dumps of models with branches have the operators of those that were taken.
TEST_F(Isolate, FindsOperatorsInBranches) {
  auto file = MappedFile::open(kModels + "branches.onnx");
  auto model = graph::read_onnx(file->bytes());
  ASSERT_TRUE(model.ok());
  for (const bool branch : {true, false})  // then_branch of "first", else_branch of "second"
    ASSERT_TRUE(
        graph::inline_if(*model, *graph::find_node(*model, branch ? "first" : "second"), branch)
            .ok());
  std::ofstream(scratch_.path() / "open.onnx", std::ios::binary) << graph::write_onnx(*model);
  const auto npy = [&](const std::string& name, DType dtype, Shape shape, std::string_view data) {
    std::ofstream(scratch_.path() / (name + ".npy"), std::ios::binary)
        << io::npy_header(dtype, shape) << data;
  };
  const float x[] = {0.5f, -3};
  npy("x", DType::kFloat32, {2}, as_text(std::as_bytes(std::span(x))));
  npy("flag", DType::kBool, {}, std::string_view("\1", 1));
  npy("flag2", DType::kBool, {}, std::string_view("\0", 1));
  ASSERT_EQ(plumb("dump open.onnx -i x=x.npy -i flag=flag.npy -i flag2=flag2.npy -o golden").status,
            0);
  plumb("compare golden golden --json result.json");
  for (const char* op : {"deep", "first.then_branch/n", "second", "first", "sum", "last"}) {
    SCOPED_TRACE(op);
    const Ran ran = plumb("isolate result.json --op " + std::string(op) + " --model " + kModels +
                          "branches.onnx");
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.text, HasSubstr("bit for bit"));
  }
}

engine::Tensor tensor_in(Bytes npy) {
  const io::Format& format = *io::format_by_name("npy");
  const auto listing = format.list(npy, {});
  auto reader = io::TensorReader::open(format, npy, listing->tensors[0]);
  const Bytes data = *reader->read(0, reader->count());
  return {reader->dtype(), reader->shape(), {data.begin(), data.end()}};
}

TEST_F(Isolate, ReproductionsReproduce) {
  compare("chain_bad_both.onnx");
  const Ran ran = isolate("--op mul --to add -o pack.zip");
  ASSERT_EQ(ran.status, 1) << ran.text;
  auto file = MappedFile::open((scratch_.path() / "pack.zip").string());
  ASSERT_TRUE(file.ok());
  const auto members = io::list_zip(file->bytes());
  ASSERT_TRUE(members.ok());
  std::map<std::string, std::string> contents;
  std::vector<std::string> names;
  for (const io::ZipMember& member : *members) {
    Buffer scratch;
    const auto data = io::zip_member_data(file->bytes(), member, 1000, scratch);
    ASSERT_TRUE(data.ok()) << member.name;
    contents[std::string(member.name)] = as_text(*data);
    names.emplace_back(member.name);
  }
  EXPECT_THAT(names,
              ElementsAre("README.md", "expected/m.npy", "expected/y.npy", "golden_inputs/r.npy",
                          "golden_inputs/s.npy", "model.onnx", "replayed_golden/m.npy",
                          "replayed_golden/y.npy", "replayed_target/m.npy", "replayed_target/y.npy",
                          "target/m.npy", "target/y.npy", "target_inputs/r.npy",
                          "target_inputs/s.npy", "versions.json"));
  engine::Inputs inputs;
  for (const char* name : {"r", "s"})
    inputs[name] = tensor_in(as_bytes(contents["target_inputs/" + std::string(name) + ".npy"]));
  const auto again = replay::run_once(**engine::load_engine("onnxruntime"),
                                      {as_bytes(contents["model.onnx"]), {}, {}, {}}, inputs);
  ASSERT_TRUE(again.ok()) << again.error().where;
  for (const auto& [name, tensor] : *again)
    EXPECT_EQ(tensor.bytes,
              tensor_in(as_bytes(contents["replayed_target/" + name + ".npy"])).bytes);
  EXPECT_EQ(contents["replayed_golden/y.npy"], contents["expected/y.npy"]);
  EXPECT_THAT(contents["README.md"], HasSubstr("--input 'r'=target_inputs/r.npy"));
  EXPECT_THAT(contents["versions.json"], HasSubstr("\"verdict\": \"both\""));

  // As the README says.
  for (const auto& [name, text] : contents) {
    fs::create_directories((scratch_.path() / "pack" / name).parent_path());
    std::ofstream(scratch_.path() / "pack" / name, std::ios::binary) << text;
  }
  EXPECT_EQ(plumb("dump pack/model.onnx -o again --input 'r'=pack/target_inputs/r.npy "
                  "--input 's'=pack/target_inputs/s.npy")
                .status,
            0);
}

}  // namespace
}  // namespace plumb
