// SPDX-License-Identifier: Apache-2.0
#include "engine/channel_blocks.h"

#include <gtest/gtest.h>

namespace plumb::engine {
namespace {

TEST(ChannelBlocks, ShapeOfWhatTheEngineCallsByChannels) {
  EXPECT_EQ(blocked_shape({1, 32, 5, 7}, 16), (Shape{1, 2, 5, 7, 16}));
  EXPECT_EQ(blocked_shape({2, 8, 1, 1}, 8), (Shape{2, 1, 1, 1, 8}));
  EXPECT_FALSE(blocked_shape({1, 20, 5, 7}, 8));
  EXPECT_FALSE(blocked_shape({1, 32, 5}, 8));
  EXPECT_FALSE(blocked_shape({1, 32, 5, 7}, 0));
}

// As wide as the vectors of some processor.
TEST(ChannelBlocks, TheEngineTellsHowManyChannels) {
  auto engine = load_engine("onnxruntime");
  if (!engine) GTEST_SKIP() << engine.error().what << ": " << engine.error().where;
  const auto block = channels_of_block(**engine);
  if (!block) GTEST_SKIP() << "no blocks on this processor: " << block.error().where;
  EXPECT_TRUE(*block == 1 || *block == 4 || *block == 8 || *block == 16 || *block == 32) << *block;
}

}  // namespace
}  // namespace plumb::engine
