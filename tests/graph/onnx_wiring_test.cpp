// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_wiring.h"

#include <array>

#include "graph/onnx_cut.h"
#include "graph/onnx_files.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(OnnxWiring, FindsNodesByName) {
  const Loaded chain = load("chain.onnx");
  EXPECT_EQ(*find_node(chain.model, "r"), 1u);
  const auto unknown = find_node(chain.model, "gatt");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().remedy, HasSubstr("did you mean 'gate'?"));
}

TEST(OnnxWiring, WeightsThatNodesMakeAreConstant) {
  const Loaded weights = load("weights.onnx");
  const auto all = with_constant_sources(weights.model, std::array<size_t, 1>{2});
  EXPECT_THAT(all, ElementsAre(0u, 1u, 2u));
  const auto matmul = cut(weights.model, all);
  ASSERT_TRUE(matmul.ok());
  EXPECT_THAT(names(matmul->graph.inputs), ElementsAre("x"));
  EXPECT_THAT(names(matmul->graph.outputs), ElementsAre("y"));
  const Loaded chain = load("chain.onnx");
  EXPECT_THAT(with_constant_sources(chain.model, std::array<size_t, 1>{5}), ElementsAre(5u));
  EXPECT_THAT(with_constant_sources(chain.model, std::array<size_t, 1>{3}), ElementsAre(2u, 3u));
}

TEST(OnnxWiring, RangesFollowTheData) {
  const Loaded chain = load("chain.onnx");
  const OnnxModel& model = chain.model;
  EXPECT_THAT(nodes_between(model, index(model, "r"), index(model, "add")),
              ElementsAre(1u, 3u, 4u, 5u));
  EXPECT_THAT(nodes_between(model, 3, 3), ElementsAre(3u));
  EXPECT_THAT(nodes_between(model, index(model, "gate"), index(model, "split")), IsEmpty());
}

}  // namespace
}  // namespace plumb::graph
