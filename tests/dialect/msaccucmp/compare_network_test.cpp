// SPDX-License-Identifier: Apache-2.0
//
// Networks of a few operators: slices of FFTS+ against the whole tensors that came with the
// samples, and what a file that cannot be read costs.
#include "dialect/msaccucmp/compare_network.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;
const fs::path kSamples = fs::path(PLUMB_TEST_DATA) / "ascend-dump";

class NetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(target());
    fs::create_directories(golden());
  }
  fs::path target() const { return scratch_.path() / "npu"; }
  fs::path golden() const { return scratch_.path() / "golden"; }
  fs::path rules() const { return scratch_.path() / "model.json"; }

  void add_target(const char* name) { fs::copy_file(kSamples / "dumps" / name, target() / name); }
  void add_golden(const char* sample, const char* name) {
    fs::copy_file(kSamples / "expect/merged" / sample, golden() / name);
  }
  void write_rules(std::string_view operators) {
    std::ofstream(rules()) << R"({"name": "m", "graph": [{"name": "m", "op": [)" << operators
                           << "]}]}";
  }

  std::vector<ResultRow> rows(bool join = true) {
    auto network = open_network(target(), golden(), {rules().string(), "", ""}, join);
    if (!network) {
      ADD_FAILURE() << network.fault().error.what << ": " << network.fault().error.where;
      return {};
    }
    std::vector<std::string> warnings;
    NetworkOptions options;
    options.algorithms = *select_algorithms("1", warnings);
    RunContext context;
    return compare_network(*network, options, context)->rows;
  }

 private:
  Scratch scratch_;
};

TEST_F(NetworkTest, SlicesOfThreadsAreJoined) {
  add_target("Mul.ffts_mul.17.7.1700000000000015.4.3.0.0");
  add_target("Mul.ffts_mul.17.7.1700000000000016.4.3.1.0");
  add_golden("15-ffts-auto.output.0.npy", "ffts_mul.0.1700000000000001.npy");
  write_rules(R"({"name": "ffts_mul", "type": "Mul", "id": 1, "input": ["ffts_mul:0"]})");
  const auto found = rows();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].tensor, "ffts_mul:output:0");
  EXPECT_EQ(found[1].scores, std::vector<std::string>{"0.000000"}) << found[1].reasons.size();
  // What the row of the input shows is the whole tensor's, where it was produced.
  EXPECT_EQ(found[0].tensor, "ffts_mul:input:0");
  EXPECT_EQ(found[0].scores, found[1].scores);
  EXPECT_FALSE(rows(false).at(1).is_compared) << "one slice is shorter than the whole";
}

TEST_F(NetworkTest, SlicesOfTasksAreJoined) {
  add_target("Relu.part0_sgt_graph_0_ffts_relu_lxslice0.18.7.1700000000000017.4.5.0.0");
  add_target("Relu.part0_sgt_graph_0_ffts_relu_lxslice1.18.7.1700000000000018.4.5.0.0");
  add_golden("16-ffts-manual.output.0.npy", "relu.0.1700000000000001.npy");
  write_rules(R"({"name": "part0_sgt_graph_0/ffts_relu_lxslice0", "type": "Relu", "id": 1,
    "attr": [{"key": "_datadump_original_op_names", "value": {"list": {"s": ["relu"]}}}]})");
  const auto found = rows();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].scores, std::vector<std::string>{"0.000000"});
}

// In a group an operator without a dump is left out; one with a damaged dump is not.
TEST_F(NetworkTest, DamagedMembersOfAGroupHaveRows) {
  add_target("Add.add_fp32.3.7.1700000000000001");
  fs::copy_file(kSamples / "bad/Add.paycut.1.1.1700000000000106",
                target() / "Add.paycut.1.1.1700000000000106");
  fs::copy_file(kSamples / "expect/01-fp32-nd/npy/Add.add_fp32.3.7.1700000000000001.output.0.npy",
                golden() / "x.0.1700000000000001.npy");
  const auto op = [](const char* name) {
    return std::string(R"({"name": ")") + name +
           R"(", "type": "Add", "id": 1, "attr": [{"key": "_datadump_original_op_names",
             "value": {"list": {"s": ["x"]}}}],
             "output_desc": [{"attr": [{"key": "_datadump_origin_name", "value": {"s": "x"}}]}]})";
  };
  write_rules(op("add_fp32") + "," + op("paycut") + "," + op("absent"));
  const auto found = rows();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[2].tensor, "add_fp32:output:0");
  EXPECT_TRUE(found[2].is_compared);
  EXPECT_THAT(found[3].codes, testing::ElementsAre("LEFT_UNREADABLE"));
  EXPECT_THAT(found[3].reasons.front(), testing::HasSubstr("less data than its header promises"));
}

}  // namespace
}  // namespace plumb::msaccucmp
