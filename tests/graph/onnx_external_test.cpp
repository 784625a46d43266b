// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_external.h"

#include "graph/onnx_files.h"
#include "scratch.h"

namespace plumb::graph {
namespace {

using testing::HasSubstr;

TEST(OnnxExternal, ExternalDataMoveIn) {
  Loaded external = load("external.onnx");
  const auto inlined = inline_external(external.model, {kModels, {}});
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
    const auto inlined = inline_external(model.model, {kModels, {}});
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
  EXPECT_FALSE(inline_external(linked.model, {scratch.path() / "model", {}}).ok());
  EXPECT_TRUE(inline_external(linked.model, {kModels, {}}).ok());
}

namespace fs = std::filesystem;

// What an engine would read when it is given the model at that path: the directory, or why not.
std::string checked(const fs::path& path) {
  const std::string bytes = text_of(path);
  const auto directory = check_external(as_bytes(bytes), data_place_of(path));
  return directory ? directory->string() : directory.error().what;
}

TEST(OnnxExternal, EnginesReadOnlyWhatIsBelowTheModel) {
  const std::string outside = "external data lie outside the model's directory";
  const fs::path models = fs::absolute(kModels);
  EXPECT_EQ(checked(models / "external.onnx"), models.string());
  for (const char* name : {"escape_parent", "escape_absolute", "escape_inside"})
    EXPECT_EQ(checked(models / ("external_" + std::string(name) + ".onnx")), outside) << name;
  EXPECT_EQ(checked(models / "external_missing.onnx"), "external data are missing");
  // Nobody said where the model is from.
  const std::string bytes = text_of(models / "external.onnx");
  EXPECT_EQ(check_external(as_bytes(bytes), {}).error().what, outside);
  const std::string damaged = bytes.substr(0, bytes.size() / 2);
  EXPECT_EQ(check_external(as_bytes(damaged), {}).error().what, "the model is damaged");
}

TEST(OnnxExternal, CachesOfLinksWork) {
  Scratch scratch;
  const fs::path top = fs::canonical(scratch.path()), blobs = top / "blobs",
                 shown = top / "shown/x";
  fs::create_directories(blobs);
  fs::create_directories(shown);
  fs::copy_file(kModels / "external.onnx", blobs / "1234");
  fs::copy_file(kModels / "weights.bin", blobs / "5678");
  fs::create_symlink("../../blobs/1234", shown / "model.onnx");
  fs::create_symlink("../../blobs/5678", shown / "weights.bin");
  EXPECT_EQ(checked(shown / "model.onnx"), shown.string());
  // A link to the model alone: its data are beside the file.
  fs::remove(shown / "weights.bin");
  EXPECT_EQ(checked(shown / "model.onnx"), "external data are missing");
  fs::rename(blobs / "5678", blobs / "weights.bin");
  EXPECT_EQ(checked(shown / "model.onnx"), blobs.string());
  // A link from the cache to somewhere else.
  fs::copy_file(kModels / "weights.bin", top / "secret");
  fs::create_symlink("../../secret", shown / "weights.bin");
  fs::remove(blobs / "weights.bin");
  EXPECT_EQ(checked(shown / "model.onnx"), "external data lie outside the model's directory");
  // Neither a directory nor a pipe is data.
  fs::remove(shown / "weights.bin");
  fs::create_directory(blobs / "weights.bin");
  EXPECT_EQ(checked(shown / "model.onnx"), "external data are missing");
}

}  // namespace
}  // namespace plumb::graph
