// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/torchair.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb::msprobe {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// A copy of a case, to be damaged.
class CaseFiles : public Scratch {
 public:
  explicit CaseFiles(const std::string& name) {
    fs::copy(fs::path(PLUMB_TEST_DATA) / "msprobe" / name, path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  // The only file below `side` whose path holds all of the words.
  fs::path find(const std::string& side, const std::vector<std::string>& words) const {
    for (const auto& entry : fs::recursive_directory_iterator(path() / side)) {
      const std::string file = entry.path().string();
      const auto holds = [&](const std::string& w) { return file.find(w) != std::string::npos; };
      if (entry.is_regular_file() && std::all_of(words.begin(), words.end(), holds)) return file;
    }
    throw std::runtime_error("no such file");
  }
  Result<Written> compare() {
    TorchairRun run;
    run.target = (path() / "target").string();
    run.golden = (path() / "golden").string();
    run.output = path() / "out";
    run.ranks = ranks;
    run.graphs = graphs;
    RunContext context;
    return compare_torchair(run, context);
  }
  std::vector<int64_t> ranks, graphs;
};

std::string text_of_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(CompareTorchair, DamagedFilesCostTheirRows) {
  CaseFiles files("multi_rank");
  fs::resize_file(files.find("target", {"rank0", "/1/0/", "Relu_2"}), 60);
  fs::resize_file(files.find("golden", {"rank0", "/0/", "mm", "OUTPUT.0"}), 0);
  fs::resize_file(files.find("golden", {"rank0", "/0/", "add_1", "INPUT.0"}), 140);
  const auto written = files.compare();
  ASSERT_TRUE(written.ok());
  EXPECT_THAT(written->files, SizeIs(2));
  EXPECT_EQ(written->pass + written->fail, 28);
  const std::string text = text_of_file(written->files[0]);
  EXPECT_THAT(text, HasSubstr("dump header is longer than its file"));
  EXPECT_THAT(text, HasSubstr("the file is empty"));
  EXPECT_THAT(text, HasSubstr("npy file holds less data than its header promises"));
}

TEST(CompareTorchair, NothingIsOverwritten) {
  CaseFiles files("multi_rank");
  const auto first = files.compare(), second = files.compare();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->files[0], second->files[0]);
  EXPECT_TRUE(fs::exists(first->files[0]) && fs::exists(second->files[0]));
}

TEST(CompareTorchair, RanksAndGraphsCanBeChosen) {
  CaseFiles ranks("multi_rank");
  ranks.ranks = {1};
  const auto one = ranks.compare();
  ASSERT_TRUE(one.ok());
  ASSERT_THAT(one->files, SizeIs(1));
  EXPECT_THAT(one->files[0].filename().string(), HasSubstr("_rank1_"));
  CaseFiles graphs("two_graphs");
  graphs.graphs = {2};
  const auto second = graphs.compare();
  ASSERT_TRUE(second.ok());
  EXPECT_THAT(text_of_file(second->files[0]), Not(HasSubstr("graph_1_0")));
  EXPECT_EQ(second->pass, 8);
}

TEST(CompareTorchair, TokensOfOneSideAreTold) {
  CaseFiles files("multi_rank");
  fs::remove_all(files.find("golden", {"rank0", "/1/", "mm", "OUTPUT"}).parent_path());
  const auto written = files.compare();
  ASSERT_TRUE(written.ok());
  EXPECT_THAT(written->warnings, ElementsAre(HasSubstr("only target has tokens 1")));
  EXPECT_EQ(written->pass + written->fail, 24);
  EXPECT_EQ(written->not_compared, 0);
}

// Full data against what volume reduction left of it.
TEST(CompareTorchair, ReducedAgainstFull) {
  CaseFiles files("reduced_min_max");
  fs::remove_all(files.path() / "golden");
  fs::copy(fs::path(PLUMB_TEST_DATA) / "msprobe/graph_quirks/golden", files.path() / "golden",
           fs::copy_options::recursive);
  const auto written = files.compare();
  ASSERT_TRUE(written.ok());
  ASSERT_THAT(written->files, SizeIs(1));
  EXPECT_THAT(text_of_file(written->files[0]), HasSubstr("NormRelativeErr"));
  EXPECT_EQ(written->pass + written->fail, 8);
}

}  // namespace
}  // namespace plumb::msprobe
