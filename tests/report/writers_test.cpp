// SPDX-License-Identifier: Apache-2.0
//
// The table of outputs, and each output against a file in tests/data/report. To make those anew:
// `make_sample_reports DIR`, then read the difference as a reviewer before copying.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "report/sample_runs.h"
#include "report/terminal.h"
#include "report/writer.h"
#include "scratch.h"

namespace plumb::report {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string written(const Writer& writer, const Run& run) {
  std::string text;
  if (writer.write != nullptr) {
    writer.write(run, [&](std::string_view piece) { text += piece; });
    return text;
  }
  Scratch scratch;
  EXPECT_TRUE(write_file(run, writer, scratch.path() / "packed").ok());
  return contents(scratch.path() / "packed");
}

std::string golden(const std::string& name) {
  return contents(std::filesystem::path(PLUMB_TEST_DATA) / "report" / name);
}

TEST(Writers, ByExtension) {
  const std::pair<const char*, const char*> kCases[] = {
      {"r.json", "json"},
      {"r.csv", "csv"},
      {"r.XLSX", "xlsx"},
      {"dir.csv/r.JSON", "json"},
      {"a.b.md", "markdown"},
      {"r.junit.xml", "junit"},
      {"r.xml", "junit"},
      {"/tmp/my report.md", "markdown"},
      {"report.html", "html"},
      {"net.svg", "svg"},
      {"gl-code-quality-report.json", "gitlab"},
  };
  for (const auto& [path, name] : kCases) {
    auto writer = writer_for(path);
    ASSERT_TRUE(writer.ok()) << path;
    EXPECT_EQ((*writer)->name, name) << path;
  }
  EXPECT_EQ((*writer_for("r.junit.xml"))->extension, ".junit.xml");
}

TEST(Writers, UnknownExtension) {
  const struct {
    const char *path, *what, *remedy;
  } kCases[] = {
      {"r.jsn", "unknown kind of output '.jsn'",
       "did you mean '.json'? known are .json .csv .xlsx .html .svg .md .junit.xml .xml "
       "code-quality-report.json"},
      {"r", "the output's name has no extension to choose its kind by",
       "known are .json .csv .xlsx .html .svg .md .junit.xml .xml "
       "code-quality-report.json"},
      {".json", "the output's name has no extension to choose its kind by",
       "known are .json .csv .xlsx .html .svg .md .junit.xml .xml "
       "code-quality-report.json"},
      {"r.docx", "unknown kind of output '.docx'",
       "known are .json .csv .xlsx .html .svg .md .junit.xml .xml "
       "code-quality-report.json"},
  };
  for (const auto& c : kCases) {
    auto writer = writer_for(c.path);
    ASSERT_FALSE(writer.ok()) << c.path;
    EXPECT_EQ(writer.error().what, c.what);
    EXPECT_EQ(writer.error().where, c.path);
    EXPECT_EQ(writer.error().remedy, c.remedy);
  }
}

TEST(Writers, WriteFiles) {
  Scratch scratch;
  const auto run = failing_run();
  for (const Writer& writer : writers()) {
    const auto path = scratch.path() / ("result" + std::string(writer.extension));
    ASSERT_TRUE(write_file(run, path).ok()) << path;
    EXPECT_EQ(contents(path), written(writer, run)) << path;
  }
  EXPECT_FALSE(write_file(run, scratch.path() / "missing/result.json").ok());
  EXPECT_FALSE(write_file(run, scratch.path() / "result").ok());
}

TEST(Writers, AgreeWithTheirGoldenFiles) {
  for (const char* name : {"failing", "one_sided", "empty", "worse", "sampled"})
    for (const NamedRun& sample : sample_runs()) {
      if (sample.name != std::string_view(name)) continue;
      for (const Writer& writer : writers()) {
        // check_page.py reads the page and the picture.
        if (writer.extension == ".xml" || writer.extension == ".html" ||
            writer.extension == ".svg" || writer.write == nullptr)
          continue;
        const bool is_name = !writer.extension.starts_with('.');
        const std::string file =
            std::string(name) + (is_name ? "." : "") + std::string(writer.extension);
        EXPECT_EQ(written(writer, sample.run), golden(file)) << file;
      }
    }
}

TEST(Writers, SameRunSameBytes) {
  for (const NamedRun& sample : sample_runs())
    for (const Writer& writer : writers()) {
      auto later = sample.run;
      EXPECT_EQ(written(writer, sample.run), written(writer, later)) << sample.name;
    }
}

TEST(Writers, MarkdownStopsSomewhere) {
  auto run = sample_run();
  for (int i = 0; i < 500; ++i)
    run.rows.push_back(paired("op" + std::to_string(i), Verdict::kFail, {}, {"shape_mismatch"}));
  const std::string text = written(**writer_for("r.md"), run);
  EXPECT_NE(text.find("op49 "), std::string::npos);
  EXPECT_EQ(text.find("op50 "), std::string::npos);
  EXPECT_NE(text.find("… and 450 more."), std::string::npos);
}

}  // namespace
}  // namespace plumb::report
