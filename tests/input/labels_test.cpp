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

TEST(Labels, TabsAndSpaces) {
  const auto labels = read("a.png\t3\nval/b c.png 12\n");
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->of(0, {"a.png"}), 3);
  EXPECT_EQ(labels->of(0, {"b c.png"}), 12);
}

TEST(Labels, AnotherExtensionIsTheSameFile) {
  const auto labels = read("a.jpg,3\nb.jpg,1\nb.png,2\n");
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->of(0, {"x/a.npy"}), 3);
  EXPECT_EQ(labels->of(0, {"a"}), 3);
  EXPECT_EQ(labels->of(0, {"b.jpg"}), 1);
  EXPECT_EQ(labels->of(0, {"b.npy"}), std::nullopt);  // which one?
}

TEST(Labels, WordsOfAList) {
  const ClassNames names = ClassNames::from_text("n01 tench, fish\nn02 crane\nn03 crane\n");
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(names.of("n02"), 1);
  EXPECT_EQ(names.of("tench, fish"), 0);
  EXPECT_EQ(names.of("n03 crane"), 2);
  EXPECT_EQ(names.of("crane"), std::nullopt);  // there are two
  EXPECT_EQ(names.of("fish"), std::nullopt);
  const auto labels = labels_from_bytes(as_bytes("a.png,n03\nb.png,0\n"), &names);
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->of(0, {"a.png"}), 2);
  EXPECT_EQ(labels->of(0, {"b.png"}), 0);
  EXPECT_EQ(labels_from_bytes(as_bytes("a.png,1\nb.png,dog\n"), &names).error().what,
            "a label is neither a number nor one of the classes");
}

TEST(Labels, InPaths) {
  const std::vector<std::string> numbered{"set/7/a.png", "set/10/b.png", "set/7/7_c.png"};
  auto made = labels_in_paths(numbered, LabelPlace::kFolder, nullptr);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->labels, ElementsAre(7, 10, 7));
  EXPECT_EQ(made->words, 0);
  const std::vector<std::string> named{"set/dog/3_a.png", "set/cat/1-b.png", "set/dog/2.png"};
  made = labels_in_paths(named, LabelPlace::kFolder, nullptr);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->labels, ElementsAre(1, 0, 1));  // in the order of the words
  EXPECT_EQ(made->words, 2);
  EXPECT_THAT(labels_in_paths(named, LabelPlace::kName, nullptr)->labels, ElementsAre(3, 1, 2));
  const ClassNames names = ClassNames::from_text("cow\ncat\n");
  EXPECT_FALSE(labels_in_paths(named, LabelPlace::kFolder, &names).ok());
}

TEST(Labels, MistakesSayWhere) {
  EXPECT_EQ(read("1\nx\n").error().what, "a label is no number");
  EXPECT_THAT(read("1\nx\n").error().where, testing::HasSubstr("line 2: 'x'"));
}

TEST(Labels, OfSamples) {
  const auto path = (std::filesystem::path(testing::TempDir()) / "labels_of_samples.csv").string();
  std::ofstream(path) << "a.png,1\nb.png,2\n";
  const auto some = labels_of({"x/a.png", "x/c.png"}, path, "");
  ASSERT_TRUE(some);
  EXPECT_THAT(some->labels, ElementsAre(std::optional<int64_t>(1), std::nullopt));
  EXPECT_THAT(some->missing, ElementsAre(1U));
  EXPECT_EQ(labels_of({"c.png"}, path, "").error().what, "the labels do not fit the samples");
  const auto named = labels_of({"x/dog_1.png", "x/cat_1.png", "x/dog_2.png"}, "name", "");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->words, 2);
  EXPECT_THAT(named->labels, ElementsAre(1, 0, 1));
  std::ofstream(path) << "1\n2\n3\n";
  EXPECT_THAT(labels_of({"a", "b", "c"}, path, "")->labels, ElementsAre(1, 2, 3));
  EXPECT_EQ(labels_of({"a", "b"}, path, "").error().where, path + ": 3 labels for 2 samples");
}

}  // namespace
}  // namespace plumb::input
