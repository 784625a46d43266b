// SPDX-License-Identifier: Apache-2.0
#include "input/labels.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::input {
namespace {

using testing::ElementsAre;

Result<Labels> read(std::string_view text) {
  const auto path = std::filesystem::path(testing::TempDir()) / "labels_test";
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<long>(text.size()));
  return read_labels(path.string());
}

TEST(Labels, ByPlace) { EXPECT_THAT(read("3\n0\r\n\n7")->by_place, ElementsAre(3, 0, 7)); }

TEST(Labels, OfFiles) {
  const auto labels = read("file,class_index,name\n0003.jpg,3,shark\nb.png,12\n");
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->of(0, {"photos/b.png"}), 12);
  EXPECT_EQ(labels->of(0, {"0003.jpg"}), 3);
  EXPECT_EQ(labels->of(0, {"other.jpg"}), std::nullopt);  // never by place
}

// Label files name their files as seen from anywhere.
TEST(Labels, DirectoriesDoNotCount) {
  const auto labels = read("xs/a.npy,0\n/data/b.npy,1\nys/b.npy,1\n");
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->of(0, {"xs/a.npy"}), 0);
  EXPECT_EQ(labels->of(0, {"elsewhere/b.npy"}), 1);
  EXPECT_EQ(read("xs/a.npy,0\nys/a.npy,1\n").error().what, "a file has two labels");
}

TEST(Labels, OfMnist) {
  using namespace std::string_view_literals;
  EXPECT_THAT(read("\0\0\x08\x01\0\0\0\x03\x07\x02\x01"sv)->by_place, ElementsAre(7, 2, 1));
  EXPECT_EQ(read("\0\0\x08\x01\0\0\0\x04\x07\x02\x01"sv).error().what,
            "the file of labels is cut off");
  // printf '\0\0\10\1\0\0\0\3\7\2\1' | gzip -n
  EXPECT_THAT(read("\x1f\x8b\x08\0\0\0\0\0\0\x03\x63\x60\xe0\x60\x64\x60\x60\x60\x66\x67\x62\x04\0"
                   "\x15\xf8\x3e\x4e\x0b\0\0\0"sv)
                  ->by_place,
              ElementsAre(7, 2, 1));
}

TEST(Labels, MistakesSayWhere) {
  EXPECT_EQ(read("1\nx\n").error().what, "a label is no number");
  EXPECT_THAT(read("1\nx\n").error().where, testing::HasSubstr("line 2: 'x'"));
}

}  // namespace
}  // namespace plumb::input
