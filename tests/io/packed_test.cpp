// SPDX-License-Identifier: Apache-2.0
#include "io/archive_testing.h"

namespace plumb::io {
namespace {

// Python's gzip and tarfile wrote the files; what is damaged in them is told by make_packed.py.
TEST(Gzip, ReadsWhatPythonWroteAndNamesWhatIsDamaged) {
  check_manifest("gzip", "packed", "gzip.json");
}
TEST(Tar, ReadsWhatPythonWroteAndNamesWhatIsDamaged) {
  check_manifest("tar", "packed", "tar.json");
}
TEST(Text, ReadsNumbersAndNamesWhatIsDamaged) { check_manifest("text", "packed", "text.json"); }

// A word, one number alone, or names of columns make it another text.
TEST(Text, LeavesOtherTextsAlone) {
  const Format& text = *format_by_name("text");
  for (std::string_view other : {"", "\n", "12\n", "1 2 x\n", "a,b\n1,2\n", "[1, 2]", "0x1 0x2\n",
                                 "# 1 2\n", "1:2\n", "{\"a\": 1}"})
    EXPECT_FALSE(text.probe(as_bytes(other), other.size())) << other;
  for (std::string_view numbers : {"1 2", "1\n2\n", "nan nan\n", "1e300,-2\n"})
    EXPECT_TRUE(text.probe(as_bytes(numbers), numbers.size())) << numbers;
  // Words behind the first bytes: no tensor after all.
  std::string late;
  while (late.size() < 2 * kProbeBytes) late += "1 2 3\n";
  late += "the end\n";
  EXPECT_TRUE(text.probe(as_bytes(late).first(kProbeBytes), late.size()));
  const auto listing = text.list(as_bytes(late), {});
  ASSERT_TRUE(listing.ok());
  EXPECT_TRUE(listing->tensors.empty());
}

}  // namespace
}  // namespace plumb::io
