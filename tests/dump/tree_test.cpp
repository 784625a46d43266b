// SPDX-License-Identifier: Apache-2.0
#include "dump/tree.h"

#include <algorithm>

#include <sys/stat.h>
#include <unistd.h>

#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;

std::vector<std::string> paths(const Tree& tree) {
  std::vector<std::string> list;
  for (const TreeFile& file : tree.files) list.push_back(file.path);
  return list;
}

TEST(Tree, FilesAreSortedAndRelative) {
  Scratch dir;
  dir.write("b/2", "xy");
  dir.write("a", "");
  dir.write("b/1/c", "x");
  const auto tree = walk(dir.root());
  ASSERT_TRUE(tree);
  EXPECT_THAT(paths(*tree), ElementsAre("a", "b/1/c", "b/2"));
  EXPECT_EQ(tree->files[2].size_bytes, 2u);
  EXPECT_EQ(tree->files[1].name(), "c");
  EXPECT_EQ(tree->files[1].directory(), "b/1");
  EXPECT_EQ(tree->files[0].directory(), "");
  EXPECT_NE(tree->find("b/2"), nullptr);
  EXPECT_EQ(tree->find("b"), nullptr);
}

// Names alike in more than their first eight letters, longer and shorter than those, letters beyond
// ASCII, and what comes before a slash.
TEST(Tree, FilesAreSortedAsWholePaths) {
  const std::vector<std::string> names = {"net/op_0000000000",
                                          "net/op_00000000001",
                                          "net/op_0000000000.b/c",
                                          "net/op_1",
                                          "net-1/op_1",
                                          "net/\xC3\xA9",
                                          "net/z",
                                          "net.npy",
                                          "net/op/2"};
  for (const size_t count : {size_t{3}, names.size()}) {
    std::vector<std::string> wanted;
    Scratch dir;
    for (size_t i = names.size(); i-- > names.size() - count;) {
      dir.write(names[i], "x");
      wanted.push_back(names[i]);
    }
    std::sort(wanted.begin(), wanted.end());
    const auto tree = walk(dir.root());
    ASSERT_TRUE(tree);
    EXPECT_EQ(paths(*tree), wanted);
  }
}

TEST(Tree, SingleFile) {
  Scratch dir;
  dir.write("x/a.npy", "1");
  const auto tree = walk(dir.root() / "x/a.npy");
  ASSERT_TRUE(tree);
  EXPECT_TRUE(tree->is_single_file);
  EXPECT_EQ(tree->root, dir.root() / "x");
  EXPECT_THAT(paths(*tree), ElementsAre("a.npy"));
}

TEST(Tree, LinksToDirectoriesAreNotFollowed) {
  Scratch dir;
  dir.write("real/a", "1");
  std::filesystem::create_directory_symlink(dir.root(), dir.root() / "real/loop");
  std::filesystem::create_symlink("a", dir.root() / "real/b");  // a file: followed
  std::filesystem::create_symlink("nowhere", dir.root() / "dangling");
  std::filesystem::create_symlink("self", dir.root() / "self");
  ::mkfifo((dir.root() / "pipe").c_str(), 0600);
  const auto tree = walk(dir.root());
  ASSERT_TRUE(tree);
  EXPECT_THAT(paths(*tree), ElementsAre("real/a", "real/b"));
  ASSERT_EQ(tree->skipped.size(), 4u);
  EXPECT_EQ(tree->skipped[0].file, "dangling");
  EXPECT_TRUE(tree->skipped[0].error);
  EXPECT_EQ(tree->skipped[1].file, "pipe");
  EXPECT_FALSE(tree->skipped[1].error);
  EXPECT_EQ(tree->skipped[2].file, "real/loop");
  EXPECT_FALSE(tree->skipped[2].error);
  EXPECT_EQ(tree->skipped[3].file, "self");
  EXPECT_TRUE(tree->skipped[3].error);
  EXPECT_FALSE(walk(dir.root() / "pipe"));  // and reading it would wait for ever
}

// What a link hides must not be missing in silence, unless it is found in its own place.
TEST(Tree, LinksThatLeadOutsideAreErrors) {
  Scratch dir;
  dir.write("tree/inside/a", "1");
  dir.write("tree_of_others/b", "1");  // its path starts with the tree's, but is not below it
  std::filesystem::create_directory_symlink("inside", dir.root() / "tree/again");
  std::filesystem::create_directory_symlink("..", dir.root() / "tree/up");
  std::filesystem::create_directory_symlink("../tree_of_others", dir.root() / "tree/away");
  std::filesystem::create_directory_symlink("tree", dir.root() / "tree_by_link");
  for (const char* name : {"tree", "tree/", "tree/.", "tree_by_link"}) {
    SCOPED_TRACE(name);
    const auto tree = walk(dir.root() / name);
    ASSERT_TRUE(tree);
    EXPECT_THAT(paths(*tree), ElementsAre("inside/a"));
    ASSERT_EQ(tree->skipped.size(), 3u);
    EXPECT_EQ(tree->skipped[0].file, "again");
    EXPECT_FALSE(tree->skipped[0].error);
    EXPECT_EQ(tree->skipped[1].file, "away");
    ASSERT_TRUE(tree->skipped[1].error);
    EXPECT_EQ(tree->skipped[1].error->what, "a link to a directory is not followed");
    EXPECT_THAT(tree->skipped[1].error->where, testing::HasSubstr("tree_of_others"));
    EXPECT_EQ(tree->skipped[2].file, "up");
    EXPECT_TRUE(tree->skipped[2].error);
  }
}

TEST(Tree, DepthIsBounded) {
  Scratch dir;
  std::string path;
  for (int i = 0; i < 80; ++i) path += "d/";
  dir.write(path + "deep", "1");
  dir.write("d/d/d/shallow", "1");
  const auto tree = walk(dir.root());
  ASSERT_TRUE(tree);
  EXPECT_THAT(paths(*tree), ElementsAre("d/d/d/shallow"));
  ASSERT_EQ(tree->skipped.size(), 1u);
  ASSERT_TRUE(tree->skipped[0].error);
  EXPECT_EQ(tree->skipped[0].error->what, "directories are nested too deeply");
  EXPECT_EQ(components(tree->skipped[0].file).size(), 65u);
}

TEST(Tree, UnreadableDirectoryIsAProblemNotTheEnd) {
  Scratch dir;
  dir.write("open/a", "1");
  dir.write("shut/b", "1");
  std::filesystem::permissions(dir.root() / "shut", std::filesystem::perms::none);
  ::chmod(dir.root().c_str(), 0755);
  // Root may read everything, and may not become another user everywhere, nor may that one reach
  // every temporary directory.
  const bool is_root = ::geteuid() == 0;
  if (is_root && ::seteuid(65534) != 0) GTEST_SKIP() << "root is the only user here";
  std::error_code ignored;
  const bool is_reached = std::filesystem::exists(dir.root() / "open/a", ignored);
  const auto tree = walk(dir.root());
  const auto shut = walk(dir.root() / "shut");
  ASSERT_EQ(is_root ? ::seteuid(0) : 0, 0);
  if (!is_reached) GTEST_SKIP() << "another user cannot reach the temporary directory";
  std::filesystem::permissions(dir.root() / "shut", std::filesystem::perms::owner_all);
  ASSERT_TRUE(tree);
  EXPECT_THAT(paths(*tree), ElementsAre("open/a"));
  ASSERT_EQ(tree->skipped.size(), 1u);
  EXPECT_EQ(tree->skipped[0].file, "shut");
  ASSERT_TRUE(tree->skipped[0].error);
  EXPECT_EQ(tree->skipped[0].error->remedy, "check its permissions");
  ASSERT_FALSE(shut);  // the directory named itself
  EXPECT_EQ(shut.error().what, "cannot read the directory");
}

TEST(Tree, MissingPath) {
  const auto tree = walk("/no/such/path");
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().what, "cannot read the path");
}

}  // namespace
}  // namespace plumb::dump
