// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_external.h"

#include "graph/onnx_files.h"
#include "scratch.h"

namespace plumb::graph {
namespace {

using testing::HasSubstr;

TEST(OnnxExternal, ExternalDataMoveIn) {
  Loaded external = load("external.onnx");
  const auto inlined = inline_external(external.model, kModels);
  ASSERT_TRUE(inlined.ok()) << inlined.error().where;
  EXPECT_FALSE(external.model.is_external());
  const std::string data = text_of(kModels / "weights.bin").substr(16);
  EXPECT_THAT(as_text(external.model.graph.initializers[0].bytes), HasSubstr(data));
  EXPECT_THAT(as_text(external.model.graph.nodes[0].bytes), HasSubstr(data.substr(0, 12)));
  expect_sound(external.model);
}

TEST(OnnxExternal, ExternalDataAreCheckedFirst) {
  struct Case {
    const char* name;
    const char* what;
  };
  const Case cases[] = {
      {"escape_parent", "external data lie outside the model's directory"},
      {"escape_absolute", "external data lie outside the model's directory"},
      {"escape_inside", "external data lie outside the model's directory"},
      {"missing", "external data are missing"},
      {"too_long", "external data end before the tensor does"},
      {"misfit", "external data and the tensor's shape do not fit each other"},
      {"senseless", "external data have no sensible place"},
      {"huge", "external data end before the tensor does"},
      {"absurd", "external data have no length"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Loaded model = load(std::string("external_") + c.name + ".onnx");
    const auto inlined = inline_external(model.model, kModels);
    ASSERT_FALSE(inlined.ok());
    EXPECT_EQ(inlined.error().what, c.what);
    EXPECT_THAT(inlined.error().where, HasSubstr("tensor 'w'"));
    EXPECT_TRUE(model.model.is_external()) << "changed although it failed";
  }
  // A link that leads out of the directory.
  Scratch scratch;
  std::filesystem::create_directory(scratch.path() / "model");
  std::filesystem::copy_file(kModels / "weights.bin", scratch.path() / "secret");
  std::filesystem::create_symlink("../secret", scratch.path() / "model/weights.bin");
  Loaded linked = load("external.onnx");
  EXPECT_FALSE(inline_external(linked.model, scratch.path() / "model").ok());
  EXPECT_TRUE(inline_external(linked.model, kModels).ok());
}

}  // namespace
}  // namespace plumb::graph
