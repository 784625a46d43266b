// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "trees.h"

namespace plumb::dump {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(OpenDump, NothingThere) {
  Scratch dir;
  const auto empty = open_dump(dir.root());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().what, "there is nothing to read");
  EXPECT_EQ(empty.error().where, dir.root().string() + ": no files");
  EXPECT_FALSE(empty.error().remedy.empty());
  std::filesystem::create_directories(dir.root() / "a/b/c");
  EXPECT_FALSE(open_dump(dir.root()));
  std::filesystem::create_directory_symlink("a", dir.root() / "link");
  const auto link = open_dump(dir.root());
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().where, HasSubstr("link: link to a directory, not followed"));
  EXPECT_FALSE(open_dump(dir.root() / "gone"));
}

TEST(OpenDump, FilesButNoTensors) {
  Scratch dir;
  dir.write("notes.txt", "x");
  const DumpSet set = open(dir.root());
  EXPECT_THAT(set.entries, IsEmpty());
  EXPECT_THAT(skipped_of(set), ElementsAre("notes.txt: text, not a tensor"));
}

TEST(OpenDump, ConventionByName) {
  Scratch dir;
  dir.npy("relu.0.1700000000000001.npy");
  const auto plain = open_dump(dir.root(), {}, "plain");
  ASSERT_TRUE(plain);
  EXPECT_THAT(lines_of(*plain), ElementsAre("relu.0.1700000000000001 output:0"));
  const auto unknown = open_dump(dir.root(), {}, "planar");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what, "unknown dump convention");
  EXPECT_THAT(unknown.error().remedy, HasSubstr("plain"));
  // Every convention copes with a directory of any other, and loses nothing.
  for (const Convention& convention : conventions())
    for (std::string_view tree :
         {"msprobe/ge_fx_new", "msprobe/stats_tensor/target", "ascend-dump", "msaccucmp"}) {
      SCOPED_TRACE(fmt::format("{} as {}", tree, convention.name));
      const auto set = open_dump(sample(tree), {}, convention.name);
      ASSERT_TRUE(set);
      expect_all_accounted(*set);
    }
}

TEST(OpenDump, MixedDirectoryGoesToTheMajority) {
  Scratch dir;
  for (int i = 0; i < 4; ++i) dir.npy(fmt::format("op{}.0.1700000000000001.npy", i));
  dir.copy("ascend-dump/dumps/Const.c.16.7.1700000000000014", "Const.c.16.7.1700000000000014");
  dir.npy("one.npy");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "named-npy");
  EXPECT_THAT(lines_of(set), ElementsAre("op0 output:0", "op1 output:0", "op2 output:0",
                                         "op3 output:0", "c output:0", "one output:0"));
  expect_all_accounted(set);
}

// What a convention does not know is there all the same, under a name that nobody else has.
TEST(OpenDump, EveryTensorIsListed) {
  Scratch dir;
  dir.npy("conv.0.1700000000000001.npy");
  dir.npy("conv.npy");
  dir.npy("notes.txt");       // content decides
  dir.npy("features.0.npy");  // modules of a network, no times
  dir.npy("features.0.1.npy");
  dir.npy("features.1.npy");
  dir.write("half.npy", "\x93NUMPY");
  dir.write("readme.txt", "no tensor");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "named-npy");
  EXPECT_THAT(lines_of(set), ElementsAre("conv output:0", "conv.npy output:0",
                                         "features.0 output:0", "features.0.1 output:0",
                                         "features.1 output:0", "half output:0", "notes output:0"));
  EXPECT_THAT(skipped_of(set), ElementsAre("readme.txt: text, not a tensor"));
  expect_all_accounted(set);
  std::filesystem::remove(dir.root() / "conv.0.1700000000000001.npy");
  EXPECT_EQ(open(dir.root()).convention, "plain");
}

// Two dumps side by side: one is listed, and a hint leads to the other.
TEST(OpenDump, NamesTheOtherDumpsOfADirectory) {
  Scratch dir;
  for (int i = 0; i < 4; ++i) dir.npy(fmt::format("run/golden/op{}.0.1700000000000001.npy", i));
  dir.write("run/golden/notes.txt", "x");
  dir.copy("ascend-dump/dumps/Const.c.16.7.1700000000000014",
           "run/npu/Const.c.16.7.1700000000000014");
  dir.write("run/odd/a.model", "no tensor");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "named-npy");
  EXPECT_EQ(set.entries.size(), 5u);
  EXPECT_THAT(set.warnings,
              Contains("1 file in run/npu: a dump of another kind (ascend-dump), listed by path; "
                       "see `plumb inspect " +
                       (dir.root() / "run/npu").string() + "`"));
  // Nothing to say where the others lie between the listed ones, or where there are none.
  dir.npy("run/golden/other.npy");
  EXPECT_THAT(open(dir.root() / "run/golden").warnings, IsEmpty());
}

TEST(OpenDump, ErrorsNameTheWholePath) {
  Scratch dir;
  dir.npy("a.npy");
  dir.write("sub/empty.npy", "");
  dir.write("sub/raw.bin", "abcd");
  const DumpSet set = open(dir.root());
  ASSERT_EQ(set.skipped.size(), 2u);
  for (const Skipped& skipped : set.skipped) {
    ASSERT_TRUE(skipped.error) << skipped.file;
    EXPECT_THAT(skipped.error->where,
                testing::StartsWith((dir.root() / skipped.file).string() + ", byte 0: "));
  }
}

TEST(OpenDump, OnnxSequencesAreLeftOutAsSuch) {
  Scratch dir;
  dir.copy("onnx_tensor/raw_float32.pb", "input_0.pb");
  dir.copy("onnx_tensor/not_sequence.pb", "input_1.pb");
  EXPECT_THAT(skipped_of(open(dir.root())),
              ElementsAre("input_1.pb: an ONNX sequence or optional, not a single tensor"));
}

TEST(OpenDump, ProblemsOfTheWalkAreReported) {
  Scratch dir;
  dir.npy("a.npy");
  std::filesystem::create_symlink("nowhere", dir.root() / "b.npy");
  const DumpSet set = open(dir.root());
  EXPECT_THAT(skipped_of(set), ElementsAre("!b.npy: file cannot be read"));
}

TEST(OpenDump, NamesAreNotTrusted) {
  Scratch dir;
  dir.npy(std::string("odd name; rm -rf, \"x\"\n") + "\xff\xfe.npy");
  dir.npy(std::string(250, 'n') + ".npy");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.entries.size(), 2u);
  EXPECT_EQ(elements_of(set, set.entries[0]), "float32 [3]: 1 2 3");
  expect_all_accounted(set);
}

TEST(FileCache, KeepsFilesOfSeveralTensors) {
  Scratch dir;
  dir.npy("single.npy");
  for (int i = 0; i < 12; ++i) dir.copy("npz/stored.npz", fmt::format("{}.npz", i));
  const DumpSet set = open(dir.root());
  FileCache cache;
  const auto file = [&](const std::string& name) {
    auto opened = cache.open(set, {name, name.ends_with(".npz") ? "one of them" : ""}, {});
    return opened ? *opened : nullptr;
  };
  EXPECT_EQ(file("0.npz"), file("0.npz"));
  EXPECT_NE(file("single.npy"), file("single.npy"));
  const auto first = file("0.npz");
  for (int i = 1; i < 12; ++i) EXPECT_NE(file(fmt::format("{}.npz", i)), nullptr);
  EXPECT_NE(file("0.npz"), first);  // pushed out, and opened again
  EXPECT_EQ(file("gone.npz"), nullptr);
  dir.copy("npz/stored.npz", "gone.npz");  // a failure is not kept
  EXPECT_NE(file("gone.npz"), nullptr);
}

TEST(EntryReader, ReadsTheSameAgain) {
  Scratch dir;
  dir.npy("a.npy", {1, 2, 3});
  const DumpSet set = open(dir.root());
  auto first = EntryReader::open(set, set.entries[0]);
  ASSERT_TRUE(first);
  auto second = first->again();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->path(), first->path());
  const auto a = first->reader().read(1, 2), b = second->reader().read(1, 2);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(as_text(*a), as_text(*b));
  EXPECT_TRUE(first->check_intact());
}

TEST(EntryReader, AChangedFileIsAnErrorNotACrash) {
  Scratch dir;
  dir.npy("a.npy");
  const DumpSet set = open(dir.root());
  std::filesystem::remove(dir.root() / "a.npy");
  EXPECT_EQ(elements_of(set, set.entries[0]), "error: cannot read the file");
  dir.write("a.npy", "short");
  EXPECT_EQ(elements_of(set, set.entries[0]), "error: not a tensor file of a known format");
}

}  // namespace
}  // namespace plumb::dump
