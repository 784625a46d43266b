// SPDX-License-Identifier: Apache-2.0
#include "base/side_thread.h"

#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(SideThread, DoesOneThingAfterTheOther) {
  std::vector<int> done;  // without a lock: never two at once
  {
    SideThread thread;
    for (int i = 0; i < 100; ++i) thread.start([&, i] { done.push_back(i); });
    thread.wait();
    EXPECT_EQ(std::ssize(done), 100);
    thread.start([&] { done.push_back(100); });
  }  // waits for what was started
  ASSERT_EQ(std::ssize(done), 101);
  for (int i = 0; i <= 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(SideThread, ThrowsToItsOwner) {
  SideThread thread;
  thread.start([] { throw std::runtime_error("no"); });
  EXPECT_THROW(thread.wait(), std::runtime_error);
  bool works_on = false;
  thread.start([&] { works_on = true; });
  EXPECT_NO_THROW(thread.wait());
  EXPECT_TRUE(works_on);
}

}  // namespace
}  // namespace plumb
