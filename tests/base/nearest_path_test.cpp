// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_path.h"

#include <fstream>

#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb {
namespace {

TEST(NearestPath, IsWhatLiesBesideTheFirstThatIsMissing) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path() / "golden");
  std::ofstream(scratch.path() / "model.om");
  std::ofstream(scratch.path() / "golden/conv1.npy");
  const auto meant = [&](const char* path) { return did_you_mean_path(scratch.path() / path); };
  const std::string here = scratch.path().string();
  EXPECT_EQ(meant("modle.om"), "did you mean '" + here + "/model.om'? ");
  EXPECT_EQ(meant("goldne/conv1.npy"), "did you mean '" + here + "/golden'? ");
  EXPECT_EQ(meant("golden/conv2.npy"), "did you mean '" + here + "/golden/conv1.npy'? ");
  EXPECT_EQ(meant("some.om"), "");
  EXPECT_EQ(meant("something/else"), "");
  EXPECT_EQ(did_you_mean_path(""), "");
  std::filesystem::create_symlink("gone/elsewhere", scratch.path() / "link");
  EXPECT_EQ(meant("link"), "it is a link to 'gone/elsewhere': ");
  EXPECT_EQ(meant("link/conv1.npy"), "it is a link to 'gone/elsewhere': ");
}

}  // namespace
}  // namespace plumb
