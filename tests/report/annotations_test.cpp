// SPDX-License-Identifier: Apache-2.0
#include "report/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_runs.h"

namespace plumb::report {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Annotations, CulpritFirst) {
  EXPECT_THAT(
      annotations(drawn_run()),
      StartsWith("::error title=plumb%3A fail::3 of 6 compared tensors differ; net/<left>: the "
                 "operator computes something else; its inputs agree, its output does not\n"));
  EXPECT_EQ(annotations(passing_run()), "::notice title=plumb%3A pass::all 120 tensors agree\n");
}

TEST(Annotations, TenOfAKind) {
  Run run = sample_run();
  for (int i = 0; i < 30; ++i)
    run.rows.push_back(paired("op" + std::to_string(i), Verdict::kFail, {}, {"shape_mismatch"}));
  const std::string text = annotations(run);
  EXPECT_EQ(count_of(text, "::error "), 10U);
  EXPECT_THAT(text, HasSubstr("::notice title=plumb::21 more rows are worth a look\n"));
}

// A name cannot begin a line, nor end a title.
TEST(Annotations, NamesAreInert) {
  Run run = sample_run();
  run.rows.push_back(
      paired("a\n::error::b,c:d 100%", Verdict::kFail, {}, {"limit:cosine"}, "50%\r\nx"));
  const std::string text = annotations(run);
  EXPECT_EQ(count_of(text, "\n"), 2U);
  EXPECT_THAT(
      text,
      HasSubstr(
          "::error title=a\\x0a%3A%3Aerror%3A%3Ab%2Cc%3Ad 100%25 output%3A0::50%25\\x0d\\x0ax\n"));
}

}  // namespace
}  // namespace plumb::report
