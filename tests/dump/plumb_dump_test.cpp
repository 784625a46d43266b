// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string index_text() {
  std::ifstream file(sample("dump_index/fused.json"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PlumbDump, TheIndexSaysWhichFileIsWhich) {
  Scratch dir;
  dir.write("dump.json", index_text());
  dir.write("optimized.onnx", "x");
  dir.npy("data.0.100.npy");
  dir.npy("fused_conv.0.101.npy");
  dir.npy("fused_conv.input.0.101.npy");
  dir.npy("stranger.0.7.npy");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "plumb-dump");
  EXPECT_THAT(lines_of(set), ElementsAre("data output:0", "fused_conv input:0",
                                         "fused_conv output:0", "stranger.0.7 output:0"));
  EXPECT_THAT(skipped_of(set), ElementsAre("!list.0.102.npy: a sequence"));  // costs a row
}

TEST(PlumbDump, SamplesAreSteps) {
  Scratch dir;
  for (const char* sample : {"sample_0", "sample_10", "sample_2"}) {
    dir.write(std::string(sample) + "/dump.json", index_text());
    for (const char* file :
         {"data.0.100.npy", "fused_conv.0.101.npy", "fused_conv.input.0.101.npy"})
      dir.npy(std::string(sample) + "/" + file);
  }
  const DumpSet set = open(dir.root());
  ASSERT_EQ(set.entries.size(), 9u);
  EXPECT_EQ(set.entries[0].step(), 0);
  EXPECT_EQ(set.entries[3].step(), 2);
  EXPECT_EQ(set.entries[6].step(), 10);
  EXPECT_THAT(skipped_of(set), ElementsAre("!sample_0/list.0.102.npy: a sequence",
                                           "!sample_10/list.0.102.npy: a sequence",
                                           "!sample_2/list.0.102.npy: a sequence"));
}

// A file that is missing or empty is a tensor that cannot be read; one outside of the dump never
// is.
TEST(PlumbDump, WhatIsNotThereIsAProblem) {
  Scratch dir;
  std::string text = index_text();
  text.replace(text.find("fused_conv.input.0.101.npy"), 26, "../fused_conv.input.101.np");
  dir.write("dump.json", text);
  dir.write("data.0.100.npy", "");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.entries.size(), 3u);
  for (const Entry& entry : set.entries)
    EXPECT_FALSE(EntryReader::open(set, entry)) << entry.parts.front().file.str();
  EXPECT_THAT(skipped_of(set), ElementsAre("!list.0.102.npy: a sequence"));
}

TEST(PlumbDump, DamagedIndexesAreTold) {
  for (const char* text :
       {R"({"schema":"plumb.dump/1","operators":[{"name":1,"outputs":[{}]}]})",
        R"({"schema":"plumb.dump/1","operators":{}})", R"({"schema":"plumb.dump/1")"}) {
    Scratch dir;
    dir.write("dump.json", text);
    dir.npy("a.0.100.npy");
    EXPECT_THAT(lines_of(open(dir.root())), ElementsAre("a.0.100 output:0")) << text;
  }
}

}  // namespace
}  // namespace plumb::dump
