// SPDX-License-Identifier: Apache-2.0
#include "dump/file_path.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace plumb::dump {
namespace {

const std::string kPaths[] = {"",
                              "a",
                              "a.npy",
                              "a/b",
                              "a/b.npy",
                              "a/b/c",
                              "a.b/c",
                              "/a",
                              "/",
                              "a/",
                              "a//b",
                              "a-b/c",
                              "b",
                              "a/b/",
                              "\xff",
                              "a/\xff",
                              "rank0/step1/conv.output.0.npy"};

TEST(FilePath, IsTheTextItWasMadeOf) {
  FilePaths paths;
  for (const std::string& text : kPaths) {
    for (const FilePath& path : {FilePath(text), paths.add(text)}) {
      EXPECT_EQ(path.str(), text);
      EXPECT_EQ(path.empty(), text.empty());
      EXPECT_EQ(path.name(), text.substr(text.rfind('/') + 1));
      EXPECT_EQ(std::string(path.prefix()) + std::string(path.name()), text);
    }
  }
  EXPECT_EQ(FilePath("x/y/a.npy").directory(), "x/y");
  EXPECT_EQ(FilePath("a.npy").directory(), "");
}

TEST(FilePath, ComparesAsTextsDo) {
  FilePaths paths;
  for (const std::string& a : kPaths) {
    for (const std::string& b : kPaths) {
      SCOPED_TRACE("'" + a + "' against '" + b + "'");
      const FilePath left = paths.add(a), right = paths.add(b);
      const auto expected = a.compare(b) <=> 0;
      EXPECT_EQ(left <=> right, expected);
      EXPECT_EQ(left.compare(std::string_view(b)), expected);
      EXPECT_EQ(FilePath(a) <=> FilePath(b), expected);
      EXPECT_EQ(left == right, a == b);
      EXPECT_EQ(left == b, a == b);
    }
  }
}

TEST(FilePath, StaysWhenItsMakerIsGone) {
  FilePath kept;
  {
    FilePaths paths;
    kept = paths.add("x", "first.npy");
    for (int i = 0; i < 1000; ++i) paths.add("x", "other" + std::to_string(i));
    paths.finish();
  }
  EXPECT_EQ(kept.str(), "x/first.npy");
}

}  // namespace
}  // namespace plumb::dump
