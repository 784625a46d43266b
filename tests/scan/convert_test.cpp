// SPDX-License-Identifier: Apache-2.0
#include "scan/convert.h"

#include "dump/trees.h"
#include "scan/convert_plan.h"

namespace plumb::scan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> files_below(const std::filesystem::path& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) files.push_back(relative(entry.path(), directory).string());
  std::sort(files.begin(), files.end());
  return files;
}

Result<ConvertReport> convert(const std::filesystem::path& from, ConvertOptions options) {
  auto conversion = Conversion::plan({from.string()}, std::move(options), {});
  if (!conversion) return conversion.error();
  if (auto any = conversion->check(); !any) return any.error();
  return conversion->run({});
}

TEST(Convert, EveryTensorBecomesAFile) {
  dump::Scratch from, to;
  from.npy("x/a.npy");
  from.npy("b.npy");
  ConvertOptions options;
  options.output = to.root().string();
  options.format = "bin";
  auto report = convert(from.root(), options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->written, 2);
  EXPECT_EQ(report->bytes, 24);
  EXPECT_THAT(report->failures, IsEmpty());
  EXPECT_THAT(files_below(to.root()), ElementsAre("b.bin", "x/a.bin"));
}

TEST(Convert, NeverReplacesWhatItReads) {
  dump::Scratch scratch;
  scratch.npy("a.npy");
  ConvertOptions options;
  options.output = scratch.root().string();
  auto report = convert(scratch.root(), options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->written, 0);
  ASSERT_EQ(report->failures.size(), 1u);
  EXPECT_EQ(report->failures[0].what, "the result would replace its source");
}

TEST(Convert, RefusesWhatMakesNoSense) {
  dump::Scratch scratch;
  scratch.npy("a.npy");
  struct Case {
    const char *format, *layout, *op, *what;
  } cases[] = {{"npx", "plain", "*", "cannot write 'npx'"},
               {"npy", "NCHWW", "*", "unknown layout 'NCHWW'"},
               {"npy", "plain", "conv", "no operator matches 'conv'"}};
  for (const Case& c : cases) {
    ConvertOptions options;
    options.output = (scratch.root() / "out").string();
    options.format = c.format;
    options.layout = c.layout;
    options.read.selection.ops = {c.op};
    auto report = convert(scratch.root(), options);
    ASSERT_FALSE(report) << c.what;
    EXPECT_EQ(report.error().what, c.what);
  }
}

TEST(OutputNames, AreAllDifferentAndNeverTooLong) {
  OutputNames names;
  EXPECT_EQ(names.give("", "a", ".npy"), "a.npy");
  EXPECT_EQ(names.give("", "a", ".npy"), "a_1.npy");
  EXPECT_EQ(names.give("x", "a", ".npy"), "x/a.npy");
  const std::string stem(300, 'a');
  const std::filesystem::path given = names.give("x", stem, ".npy");
  EXPECT_LT(given.filename().string().size(), 50u);
  dump::Scratch scratch;
  scratch.write("x/mapping.csv", "old,line\n");
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE(names.write_mappings(scratch.root()));
    std::ifstream file(scratch.root() / "x/mapping.csv");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(text, "old,line\n" + given.filename().string() + "," + stem + ".npy\n");
  }
}

}  // namespace
}  // namespace plumb::scan
