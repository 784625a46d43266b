// SPDX-License-Identifier: Apache-2.0
#include "base/free_path.h"

#include <fstream>

#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb {
namespace {

TEST(FreePath, CountsOnWhereANameIsTaken) {
  const Scratch scratch;
  for (const char* expected : {"result_20260131235959.csv", "result_20260131235959_1.csv",
                               "result_20260131235959_2.csv"}) {
    const auto path = free_path(scratch.path(), "result_20260131235959", ".csv");
    EXPECT_EQ(path, scratch.path() / expected);
    std::ofstream(path) << "taken";
  }
  EXPECT_EQ(free_path(scratch.path(), "result_20260131235959", ".xlsx").filename(),
            "result_20260131235959.xlsx");
}

TEST(FreePath, ALinkThatLeadsNowhereIsTaken) {
  const Scratch scratch;
  std::filesystem::create_symlink("nowhere", scratch.path() / "a.csv");
  EXPECT_EQ(free_path(scratch.path(), "a", ".csv"), scratch.path() / "a_1.csv");
}

}  // namespace
}  // namespace plumb
