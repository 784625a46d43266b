// SPDX-License-Identifier: Apache-2.0
#include "scan/inspect.h"

#include "dump/trees.h"

namespace plumb::scan {
namespace {

using testing::HasSubstr;

TEST(Inspect, HeadersFirstThenStatistics) {
  dump::Scratch scratch;
  scratch.npy("a.npy", {1, 2, 3, 0});
  scratch.npy("b.npy", {5});
  const RunContext context;
  auto found = inspect(scratch.root().string(), {}, context);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->tensors.size(), 2u);
  EXPECT_EQ(found->stored_bytes(), 20);
  EXPECT_EQ(found->damaged(), 0u);
  const InspectedTensor& a = found->tensors[0];
  EXPECT_EQ(a.dtype(), "float32");
  EXPECT_EQ(*a.shape(), (Shape{4}));
  EXPECT_FALSE(a.measured);
  measure(*found, {}, context);
  ASSERT_TRUE(a.measured);
  EXPECT_EQ(a.measured->stats.mean, 1.5);
  EXPECT_EQ(a.measured->stats.zeros, 1);
}

TEST(Inspect, ADamagedFileCostsItself) {
  dump::Scratch scratch;
  scratch.npy("a.npy");
  scratch.npy("b.npy");
  std::filesystem::resize_file(scratch.root() / "b.npy", 130);
  auto found = inspect(scratch.root().string(), {}, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->damaged(), 1u);
  EXPECT_THAT(to_json(*found), HasSubstr("\"error\""));
}

TEST(Inspect, SaysWhyNothingIsListed) {
  dump::Scratch scratch;
  scratch.npy("a.npy");
  Request request;
  request.selection.ops = {"conv"};
  auto none = inspect(scratch.root().string(), request, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "no operator matches 'conv'");

  dump::Scratch empty;
  empty.write("notes.txt", "nothing to see\n");
  none = inspect(empty.root().string(), {}, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "there is no tensor in it");
  EXPECT_THAT(none.error().where, HasSubstr(": 1 file left out, the first is notes.txt"));
}

TEST(Inspect, JsonWritesNoNumbersThatJsonLacks) {
  dump::Scratch scratch;
  scratch.npy("a.npy", {std::numeric_limits<float>::infinity(), 1});
  auto found = inspect((scratch.root() / "a.npy").string(), {}, {});
  ASSERT_TRUE(found);
  measure(*found, {}, {});
  const std::string json = to_json(*found);
  EXPECT_THAT(json, HasSubstr("\"schema\": \"plumb.inspect/1\""));
  EXPECT_THAT(json, HasSubstr("\"inf\": 1"));
  EXPECT_THAT(json, HasSubstr("\"max\": 1.0"));
}

}  // namespace
}  // namespace plumb::scan
