// SPDX-License-Identifier: Apache-2.0
#include "scan/overflow.h"

#include <limits>

#include "dump/trees.h"

namespace plumb::scan {
namespace {

using testing::HasSubstr;

Result<OverflowFindings> find(const std::filesystem::path& path, const Request& request = {}) {
  auto found = find_overflow_records(path.string(), request, {});
  if (found) look_at_tensors(*found, request.hints, {});
  return found;
}

TEST(Overflow, TheVerdictCountsWhatCouldNotBeSeen) {
  dump::Scratch scratch;
  scratch.npy("a.npy", {1, 2});
  auto clean = find(scratch.root());
  ASSERT_TRUE(clean);
  EXPECT_EQ(clean->verdict(), OverflowVerdict::kClean);
  EXPECT_EQ(clean->first_in_data(), nullptr);

  scratch.npy("b.npy", {1, 2});
  std::filesystem::resize_file(scratch.root() / "b.npy", 130);
  auto damaged = find(scratch.root());
  ASSERT_TRUE(damaged);
  EXPECT_EQ(damaged->verdict(), OverflowVerdict::kIncomplete);
  EXPECT_TRUE(damaged->has_anything());

  scratch.npy("c.npy", {1, std::numeric_limits<float>::infinity()});
  auto overflow = find(scratch.root());
  ASSERT_TRUE(overflow);
  EXPECT_EQ(overflow->verdict(), OverflowVerdict::kOverflow);
  ASSERT_NE(overflow->first_in_data(), nullptr);
  EXPECT_EQ(overflow->entry_of(*overflow->first_in_data()).operator_name, "c");
  const SymptomTotal total = overflow->total(Symptom::kInf);
  EXPECT_EQ(total.tensors, 1u);
  EXPECT_EQ(total.by_dtype.at("float32"), 1u);
  EXPECT_EQ(overflow->total(Symptom::kNan).tensors, 0u);
  const std::string json = to_json(*overflow);
  EXPECT_THAT(json, HasSubstr("\"verdict\": \"overflow\""));
  EXPECT_THAT(json, HasSubstr("\"operator\": \"c\""));
}

TEST(Overflow, FailsIfThereIsNothingToLookAt) {
  dump::Scratch scratch;
  scratch.npy("a.npy");
  Request request;
  request.selection.ops = {"conv"};
  auto none = find(scratch.root(), request);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "no operator matches 'conv'");
  dump::Scratch empty;
  empty.write("notes.txt", "nothing to see\n");
  none = find(empty.root());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "there is no tensor in it");
}

}  // namespace
}  // namespace plumb::scan
