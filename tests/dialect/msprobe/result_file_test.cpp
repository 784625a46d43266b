// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/result_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/msprobe/content_testing.h"

namespace plumb::msprobe {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class ResultFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  // The names of the files, all of which hold the column "n".
  std::vector<std::string> write(int rows) {
    auto file = ResultFile::create(directory_, "result", {"n"}, false, 2);
    EXPECT_TRUE(file.ok());
    for (int i = 0; i < rows; ++i) {
      Cells cells;
      cells.count(i);
      file->add(cells);
    }
    const auto paths = file->commit();
    EXPECT_TRUE(paths.ok());
    std::vector<std::string> names;
    for (const fs::path& path : *paths) names.push_back(path.filename().string());
    return names;
  }

  const fs::path directory_ = fs::path(testing::TempDir()) / "plumb_result_files";
};

TEST_F(ResultFiles, LongOnesAreInParts) {
  EXPECT_THAT(write(5), ElementsAre("result_part_1.csv", "result_part_2.csv", "result_part_3.csv"));
  EXPECT_EQ(content_of(directory_ / "result_part_1.csv"), "n\n0\n1\n");
  EXPECT_EQ(content_of(directory_ / "result_part_2.csv"), "n\n2\n3\n");
  EXPECT_EQ(content_of(directory_ / "result_part_3.csv"), "n\n4\n");
}

TEST_F(ResultFiles, NothingIsOverwritten) {
  EXPECT_THAT(write(2), ElementsAre("result.csv"));
  EXPECT_THAT(write(3), ElementsAre("result_1_part_1.csv", "result_1_part_2.csv"));
  EXPECT_THAT(write(0), ElementsAre("result_2.csv"));
  EXPECT_EQ(content_of(directory_ / "result.csv"), "n\n0\n1\n");
}

TEST(ResultCells, QuotesAndFormulas) {
  Cells cells;
  for (const char* text : {"a", "a,\"b\"\n", "=1", "-1", "-x,y", "＝1", "＋x", "－1", "＠x", ""})
    cells.text(text);
  cells.number(-0.5);
  cells.percent(-0.5);
  cells.count({});
  std::string line;
  cells.append_csv(line);
  EXPECT_EQ(line, "a,\"a,\"\"b\"\"\n\",'=1,-1,\"'-x,y\",'＝1,'＋x,'－1,'＠x,,-0.5,-50%,N/A");
  EXPECT_EQ(cells[5], "＝1");
}

}  // namespace
}  // namespace plumb::msprobe
