// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "dump/dump_json.h"
#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::string> kCalls{
    "Functional.linear.0.forward input:0",
    "Functional.linear.0.forward input:1",
    "Functional.linear.0.forward input:2",
    "Functional.linear.0.forward output:0",
    "Functional.relu.0.forward input:0",
    "Functional.relu.0.forward input:inplace",
    "Functional.relu.0.forward output:0",
    "Tensor.mul.0.forward input:0",
    "Tensor.mul.0.forward input:1",
    "Tensor.mul.0.forward output:0",
    "Torch.clamp.0.forward input:0",
    "Torch.clamp.0.forward input:1",
    "Torch.clamp.0.forward input:max",
    "Torch.clamp.0.forward output:0",
    "Tensor.to.0.forward input:0",
    "Tensor.to.0.forward input:1",
    "Tensor.to.0.forward output:0",
    "Torch.zeros.0.forward input:0",
    "Torch.zeros.0.forward output:0",
    "Torch.argmax.0.forward input:0",
    "Torch.argmax.0.forward output:0",
    "Tensor.half.0.forward input:0",
    "Tensor.half.0.forward output:0",
    "Module.conv1.Conv2d.forward.0 input:0",
    "Module.conv1.Conv2d.forward.0 output:0",
    "Module.conv1.Conv2d.forward.0 parameter:weight",
    "Module.conv1.Conv2d.parameters_grad.0 gradient:weight",
    "Functional.relu.0.backward input:0",
    "Functional.relu.0.backward output:0",
    "NPU.npu_only.0.forward input:0",
    "NPU.npu_only.0.forward output:0",
};

TEST(Msprobe, Statistics) {
  const DumpSet set = open(sample("msprobe/stats_summary/target"));
  EXPECT_EQ(set.convention, "msprobe");
  EXPECT_EQ(lines_of(set), kCalls);
  EXPECT_THAT(skipped_of(set),
              ElementsAre("construct.json: tree of modules", "stack.json: call stacks"));
  const Entry& linear = set.entries[0];
  EXPECT_EQ(linear.dtype_text(), "torch.float32");
  EXPECT_EQ(linear.recorded_shape(), (Shape{4, 8}));
  EXPECT_TRUE(linear.parts.empty());
  EXPECT_EQ(linear.record, "dump.json");
  EXPECT_EQ(linear.statistics->max, 1.7597544193267822);
  EXPECT_EQ(linear.statistics->min, -1.1074066162109375);
  EXPECT_EQ(linear.statistics->mean, 0.13085335493087769);
  EXPECT_EQ(linear.statistics->l2, 4.704580783843994);
  EXPECT_EQ(linear.statistics->requires_grad, false);
  EXPECT_EQ(linear.statistics->checksum, "");
  const Statistics& mul = *find(set, "Tensor.mul.0.forward output:0").statistics;
  EXPECT_EQ(mul.max, std::numeric_limits<double>::infinity());
  EXPECT_EQ(mul.min, -6.280542850494385);
  const Statistics& argmax = *find(set, "Torch.argmax.0.forward output:0").statistics;
  EXPECT_EQ(argmax.max, 5.0);
  EXPECT_FALSE(argmax.mean);  // null
  EXPECT_EQ(find(set, "Functional.relu.0.forward input:inplace").statistics->text, "False");
  EXPECT_EQ(find(set, "Tensor.to.0.forward input:1").statistics->text, "npu:0");
  EXPECT_EQ(find(set, "Tensor.to.0.forward input:1").dtype_text(), "torch.device");
  const Statistics& quarter = *find(set, "Torch.clamp.0.forward input:1").statistics;
  EXPECT_EQ(quarter.text, "0.25");
  EXPECT_EQ(quarter.max, 0.25);
  EXPECT_EQ(quarter.l2, 0.25);
  expect_all_accounted(set);
}

TEST(Msprobe, Checksums) {
  const DumpSet set = open(sample("msprobe/stats_md5/target"));
  EXPECT_EQ(lines_of(set), kCalls);
  EXPECT_EQ(set.entries[0].statistics->checksum, "3c09993d");
  EXPECT_EQ(set.entries[3].statistics->checksum, "72359f56");
}

TEST(Msprobe, TensorsLieBesideTheIndex) {
  const DumpSet set = open(sample("msprobe/stats_tensor/target"));
  EXPECT_EQ(lines_of(set), kCalls);
  const Entry& weight = find(set, "Module.conv1.Conv2d.forward.0 parameter:weight");
  ASSERT_EQ(weight.parts.size(), 1u);
  EXPECT_EQ(weight.parts[0].file,
            "dump_tensor_data/Module.conv1.Conv2d.forward.0.parameters.weight.pt");
  EXPECT_TRUE(weight.statistics);
  EXPECT_TRUE(find(set, "Torch.clamp.0.forward input:max").parts.empty());
  expect_all_accounted(set);

  // The file itself, instead of its directory.
  const DumpSet single = open(sample("msprobe/stats_tensor/target/dump.json"));
  EXPECT_EQ(single.convention, "msprobe");
  EXPECT_EQ(lines_of(single), kCalls);
  EXPECT_THAT(single.skipped, IsEmpty());
  EXPECT_EQ(single.entries[0].parts[0].file, set.entries[0].parts[0].file);
}

constexpr std::string_view kSmall = R"({"task": "statistics", "level": "L1", "data": {
  "Torch.add.0.forward": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32",
                                          "shape": [2], "Max": 1.0}], "output": []}}})";

TEST(Msprobe, StepsAndRanks) {
  Scratch dir;
  for (std::string_view path : {"step2/rank10", "step2/rank9", "step10/rank9"})
    dir.write(fmt::format("{}/dump.json", path), kSmall);
  dir.write("step2/rank9/dump_error_info.log", "");
  const DumpSet set = open(dir.root());
  EXPECT_THAT(lines_of(set), ElementsAre("rank 9 step 2 Torch.add.0.forward input:0",
                                         "rank 9 step 10 Torch.add.0.forward input:0",
                                         "rank 10 step 2 Torch.add.0.forward input:0"));
  EXPECT_THAT(skipped_of(set), ElementsAre("step2/rank9/dump_error_info.log: log"));
  EXPECT_THAT(
      lines_of(open(dir.root() / "step2")),
      ElementsAre("rank 9 Torch.add.0.forward input:0", "rank 10 Torch.add.0.forward input:0"));
  Scratch processes;
  processes.write("step0/proc123/dump.json", kSmall);
  EXPECT_THAT(lines_of(open(processes.root())), ElementsAre("step 0 Torch.add.0.forward input:0"));
  expect_all_accounted(set);
}

// What was saved by hand: a tensor alone, lists and objects of tensors, a number, a gradient that
// never came.
TEST(Msprobe, ValuesSavedByHand) {
  const auto tensor = [](std::string_view file) {
    return fmt::format(
        R"({{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [3], "Max": 3.0,
            "data_name": "{}"}})",
        file);
  };
  const std::string saved = fmt::format(
      R"({{"task": "tensor", "level": "debug", "framework": "pytorch", "dump_data_dir": "x", "data": {{
        "y.0.debug": {}, "x.0.debug": {}, "x.1.debug": {},
        "pair.0.debug": [{}, {}],
        "nested.0.debug": {{"key1": {}, "key2": [{}, {{"type": "int", "value": 7}}]}},
        "scale.0.debug": {{"type": "float", "value": 0.5}},
        "x_grad.0.debug": null}}}})",
      tensor("y.pt"), tensor("x.npy"), tensor("x1.npy"), tensor("p0.npy"), tensor("p1.npy"),
      tensor("n.npy"), tensor("m.npy"));
  Scratch dir;
  for (const char* place : {"step0/rank0", "step0/rank1"}) {
    dir.write(fmt::format("{}/debug.json", place), saved);
    for (const char* file : {"y.pt", "x.npy", "x1.npy", "p0.npy", "p1.npy", "n.npy", "m.npy"})
      dir.npy(fmt::format("{}/x/{}", place, file));
  }
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "msprobe");
  EXPECT_THAT(skipped_of(set), IsEmpty());
  expect_all_accounted(set);
  const std::vector<std::string> wanted{
      "y.0.debug output:0",           "x.0.debug output:0",           "x.1.debug output:0",
      "pair.0.debug output:0",        "pair.0.debug output:1",        "nested.0.debug output:key1",
      "nested.0.debug output:key2.0", "nested.0.debug output:key2.1", "scale.0.debug output:0",
      "x_grad.0.debug output:0"};
  std::vector<std::string> all;
  for (const char* rank : {"rank 0 step 0 ", "rank 1 step 0 "})
    for (const std::string& line : wanted) all.push_back(rank + line);
  EXPECT_THAT(lines_of(set), testing::ElementsAreArray(all));
  EXPECT_EQ(elements_of(set, find(set, "rank 1 step 0 pair.0.debug output:1")),
            "float32 [3]: 1 2 3");
  // The file itself, and beside a dump of calls.
  EXPECT_THAT(lines_of(open(dir.root() / "step0/rank1/debug.json")),
              testing::ElementsAreArray(wanted));
  dir.write("step0/rank0/dump.json", kSmall);
  EXPECT_EQ(open(dir.root()).entries.size(), 21u);
}

// MindSpore with parts compiled: each kind of call below a directory of its own.
TEST(Msprobe, CompiledAndOtherCallsLieBesideEachOther) {
  Scratch dir;
  for (const char* path : {"pynative/step0/rank0", "graph/step0/rank0", "graph/step1/rank0"})
    dir.write(fmt::format("{}/dump.json", path), kSmall);
  EXPECT_THAT(lines_of(open(dir.root())),
              ElementsAre("rank 0 step 0 [graph] Torch.add.0.forward input:0",
                          "rank 0 step 0 [pynative] Torch.add.0.forward input:0",
                          "rank 0 step 1 [graph] Torch.add.0.forward input:0"));
}

// Directories by process where there are no ranks: the number is another one in every run, so that
// it counts only where several are to be told apart.
TEST(Msprobe, TheNumberOfTheOnlyProcessSaysNothing) {
  for (const int process : {7, 99, 40123}) {
    Scratch dir;
    for (const char* path : {"graph/step0", "pynative/step0", "pynative/step1"})
      dir.write(fmt::format("{}/proc{}/dump.json", path, process), kSmall);
    EXPECT_THAT(lines_of(open(dir.root())),
                ElementsAre("step 0 [graph] Torch.add.0.forward input:0",
                            "step 0 [pynative] Torch.add.0.forward input:0",
                            "step 1 [pynative] Torch.add.0.forward input:0"));
    dir.write("pynative/step1/proc8/dump.json", kSmall);
    EXPECT_THAT(lines_of(open(dir.root())),
                testing::Contains("step 1 [pynative/proc8] Torch.add.0.forward input:0"));
  }
}

TEST(Msprobe, MissingAndForeignDataFiles) {
  Scratch dir;
  dir.write("dump.json", R"({"task": "tensor", "dump_data_dir": "/somewhere/else/dump_tensor_data",
    "data": {"Torch.add.0.forward": {"input_args": [
      {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [3], "data_name": "a.npy"},
      {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [3], "data_name": "gone.npy"},
      {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [3], "data_name": "empty.npy"},
      {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [3], "data_name": "../a.npy"},
      {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [3], "data_name": ""}]}}})");
  dir.npy("dump_tensor_data/a.npy");
  dir.npy("dump_tensor_data/stranger.npy");
  dir.write("dump_tensor_data/empty.npy", "");
  for (const auto& path : {dir.root(), dir.root() / "dump.json"}) {
    const DumpSet set = open(path);
    EXPECT_EQ(set.convention, "msprobe");
    EXPECT_THAT(lines_of(set),
                ElementsAre("Torch.add.0.forward input:0", "Torch.add.0.forward input:1",
                            "Torch.add.0.forward input:2", "Torch.add.0.forward input:3",
                            "Torch.add.0.forward input:4", "dump_tensor_data/stranger output:0"));
    EXPECT_EQ(elements_of(set, set.entries[0]), "float32 [3]: 1 2 3");
    EXPECT_THAT(skipped_of(set), IsEmpty());
    const auto problem = [&](size_t i) {
      const auto reader = EntryReader::open(set, set.entries[i]);
      return reader ? std::string() : reader.error().what + " " + reader.error().where;
    };
    const std::string data = (dir.root() / "dump_tensor_data/").string();
    const std::string gone = ": No such file or directory";
    EXPECT_EQ(problem(1), "cannot read the file " + data + "gone.npy" + gone);
    EXPECT_EQ(problem(2), "the file is empty " + data + "empty.npy, byte 0");
    EXPECT_EQ(problem(3), "cannot read the file " + data + ".._a.npy" + gone);
    expect_all_accounted(set);
  }
}

TEST(Msprobe, DamagedIndexCostsOnlyItself) {
  Scratch dir;
  dir.write("step0/rank0/dump.json", kSmall);
  dir.write("step0/rank1/dump.json", kSmall.substr(0, 150));
  dir.npy("step0/rank1/dump_tensor_data/a.npy");
  const DumpSet set = open(dir.root());
  EXPECT_THAT(lines_of(set), ElementsAre("rank 0 step 0 Torch.add.0.forward input:0",
                                         "step0/rank1/dump_tensor_data/a output:0"));
  EXPECT_THAT(skipped_of(set), ElementsAre("!step0/rank1/dump.json: dump.json is damaged"));
  expect_all_accounted(set);
}

// A dump.json of ours describes a directory of named npy files; it is no msprobe dump.
TEST(Msprobe, OtherIndexesAreNotMistaken) {
  EXPECT_TRUE(is_dump_json(kSmall));
  EXPECT_TRUE(is_dump_json(" \n{\"dump_data_dir\": null"));
  EXPECT_FALSE(is_dump_json(R"({"schema": "plumb.dump/1", "task": "x"})"));
  EXPECT_FALSE(is_dump_json(R"(["task"])"));
  EXPECT_FALSE(is_dump_json(""));
}

DumpJson parse(std::string_view text) {
  auto parsed = parse_dump_json(as_bytes(text));
  if (!parsed) {
    ADD_FAILURE() << parsed.error().what << ": " << parsed.error().where;
    return {};
  }
  return std::move(*parsed);
}

TEST(DumpJson, NestedArguments) {
  const DumpJson dump = parse(R"({"data": {"Distributed.batch_isend_irecv.0.forward": {
    "is_recompute": false,
    "input_args": [
      [{"type": "int", "value": 1}, [{"type": "int", "value": 2}], {"key": {"type": "str", "value": "x"}}],
      null, [], {},
      {"class_type": "torch.distributed.P2POp", "op": "isend", "peer": 1,
       "tensor": {"type": "torch.Tensor", "dtype": "torch.int8", "shape": [], "Max": true}}],
    "input_kwargs": {"group": {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g"},
                     "sizes": {"type": "torch.Size", "value": [1, NaN]}},
    "output": [{"shape": [1, 2], "type": "torch.Tensor", "dtype": "torch.float32"}]},
  "Module.a.B.parameters_grad": {"w": [{"type": "int", "value": 5}, {"type": "int", "value": 6}],
                                 "b": [null]}}, "task": "tensor"})");
  EXPECT_EQ(dump.task, "tensor");
  std::vector<std::string> lines;
  for (const Entry& entry : dump.entries)
    lines.push_back(line_of(entry) + " = " + entry.statistics->text);
  EXPECT_THAT(lines,
              ElementsAre("Distributed.batch_isend_irecv.0.forward input:0.0 = 1",
                          "Distributed.batch_isend_irecv.0.forward input:0.1.0 = 2",
                          "Distributed.batch_isend_irecv.0.forward input:0.2.key = x",
                          "Distributed.batch_isend_irecv.0.forward input:1 = None",
                          "Distributed.batch_isend_irecv.0.forward input:4.tensor = max=True",
                          "Distributed.batch_isend_irecv.0.forward input:group = "
                          "group_ranks=[0, 1], group_id=g",
                          "Distributed.batch_isend_irecv.0.forward input:sizes = [1, NaN]",
                          "Distributed.batch_isend_irecv.0.forward output:0 = ",
                          "Module.a.B.parameters_grad gradient:w = 5",
                          "Module.a.B.parameters_grad gradient:w.1 = 6",
                          "Module.a.B.parameters_grad gradient:b = None"));
  EXPECT_EQ(dump.entries[4].recorded_shape(), Shape{});
  EXPECT_FALSE(dump.entries[4].statistics->max);  // a bool is no number
  EXPECT_EQ(dump.entries[7].recorded_shape(), (Shape{1, 2}));
  EXPECT_EQ(dump.entries[8].timestamp, 1);
}

TEST(DumpJson, NumbersThatJsonDoesNotKnow) {
  const DumpJson dump = parse(R"({"data": {"a": {"output": [
    {"type": "torch.Tensor", "dtype": "x", "Max": NaN, "Min": -Infinity, "Mean": Infinity, "Norm": -1e-3},
    {"type": "torch.Tensor", "dtype": "x", "Max": "NaN", "Min": 123456789012345678901234567890},
    {"type": "str", "value": "NaN -Infinity \" Infinity"},
    {"type": "float", "value": NaN}, {"type": "torch.Tensor", "shape": [-1]},
    {"type": "torch.Tensor", "shape": [1.5]}, {"type": "torch.Tensor", "shape": 7}]}}})");
  ASSERT_EQ(dump.entries.size(), 7u);
  const Statistics& first = *dump.entries[0].statistics;
  EXPECT_TRUE(std::isnan(first.max.value()));
  EXPECT_EQ(first.min, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(first.mean, std::numeric_limits<double>::infinity());
  EXPECT_EQ(first.l2, -0.001);
  EXPECT_FALSE(dump.entries[1].statistics->max);
  EXPECT_EQ(dump.entries[1].statistics->min, 123456789012345678901234567890.0);
  EXPECT_EQ(dump.entries[2].statistics->text, "NaN -Infinity \" Infinity");
  EXPECT_EQ(dump.entries[3].statistics->text, "NaN");
  EXPECT_TRUE(std::isnan(dump.entries[3].statistics->max.value()));
  for (size_t i : {4, 5, 6}) EXPECT_FALSE(dump.entries[i].recorded_shape()) << i;
}

TEST(DumpJson, DamagedFiles) {
  const std::string deep(500, '['), shut(500, ']');
  std::string nulls = "null";  // each an entry with a copy of the long name
  for (int i = 0; i < 2000; ++i) nulls += ",null";
  struct {
    std::string text, what;
  } const cases[] = {
      {"", "dump.json is damaged"},
      {"{", "dump.json is damaged"},
      {"[]", "dump.json is damaged"},
      {"{}", "dump.json lists no calls"},
      {R"({"data": []})", "dump.json lists no calls"},
      {R"({"data": {"a": {"output": [{"type": "int", "value": 1}}}})", "dump.json is damaged"},
      {R"({"data": {"a": {"output": [{"type": "int)", "dump.json is damaged"},
      {R"({"data": {"a": {"output": [{"x": 1 "type": "int"}]}}})", "dump.json is damaged"},
      {R"({"data": {"a": {"output": [{"x": 1, 5: "type"}]}}})", "dump.json is damaged"},
      {"{\"data\": {\"a\xff\": {}}}", "dump.json is damaged"},
      {R"({"data": {"a": {"output": )" + deep + shut + "}}}", "arguments are nested too deeply"},
      {R"({"data": {")" + std::string(5000, 'n') + R"(": {"output": []}}})", "a name is too long"},
      {R"({"data": {")" + std::string(4000, 'n') + R"(": {"output": [)" + nulls + "]}}}",
       "dump.json would take too much memory"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text.substr(0, 60));
    const auto parsed = parse_dump_json(as_bytes(c.text));
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().what, c.what);
    EXPECT_THAT(parsed.error().where, HasSubstr("byte "));
  }
}

TEST(DumpJson, CutAnywhere) {
  const std::string whole =
      R"({"task": "statistics", "data": {"Torch.add.0.forward": {"input_args": [
      {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.5, "Min": NaN}],
      "output": [{"type": "int", "value": 3}, null]}}})";
  ASSERT_TRUE(parse_dump_json(as_bytes(whole)).ok());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_dump_json(as_bytes(whole.substr(0, size))).ok()) << size;
  // A tensor that ends early in a document that does not.
  const std::string early = R"({"data": {"a": {"input": [{"type": "torch.Tensor", "Max" }]}}})";
  EXPECT_FALSE(parse_dump_json(as_bytes(early)).ok());
}

}  // namespace
}  // namespace plumb::dump
