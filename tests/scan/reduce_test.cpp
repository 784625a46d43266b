// SPDX-License-Identifier: Apache-2.0
//
// Reducing files and trees, and comparing what is left of them.
#include <cmath>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "compare/stream.h"
#include "dump/reduced.h"
#include "io/npy.h"
#include "io/zip.h"
#include "judge/verdict.h"
#include "pair/plan.h"
#include "scan/reduce_tree.h"
#include "scratch.h"

namespace plumb::compare {
namespace {

namespace fs = std::filesystem;
using result::Row;
using result::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kName = "mm-aten.mm.default.OUTPUT.0.20250601120000000001";

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string npy_of(const std::vector<float>& values) {
  return io::npy_header(DType::kFloat32, {std::ssize(values)}) +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4);
}

void write(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

scan::ReduceReport reduce(const fs::path& root, scan::ReduceOptions file = {}) {
  scan::ReduceTreeOptions options;
  options.file = file;
  options.quiet = std::chrono::milliseconds(0);
  const RunContext context;
  auto report = scan::reduce_tree(root, options, context, {});
  EXPECT_TRUE(report.ok());
  return report ? *report : scan::ReduceReport();
}

std::vector<std::string> files_in(const fs::path& root) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (!entry.is_directory()) names.push_back(entry.path().lexically_relative(root).string());
  std::sort(names.begin(), names.end());
  return names;
}

// What the script makes of the same dump, array for array, to the last bit.
TEST(Reduce, ArraysAreThoseOfTheScript) {
  const fs::path data = fs::path(PLUMB_TEST_DATA) / "msprobe";
  const Scratch scratch;
  fs::copy(data / "reduce_source", scratch.path(), fs::copy_options::recursive);
  const scan::ReduceReport report = reduce(scratch.path());
  EXPECT_EQ(report.totals.files, 22u);
  EXPECT_TRUE(report.left.empty());
  size_t compared = 0;
  for (const std::string& name : files_in(scratch.path())) {
    const std::string ours = content_of(scratch.path() / name);
    const std::string theirs = content_of(data / "reduced_min_max" / name);
    ASSERT_FALSE(theirs.empty()) << name;
    ++compared;
    if (!name.ends_with(".npz")) {
      EXPECT_TRUE(ours.starts_with(theirs)) << name;
      continue;
    }
    const auto our_members = io::list_zip(as_bytes(ours));
    const auto their_members = io::list_zip(as_bytes(theirs));
    ASSERT_TRUE(our_members.ok() && their_members.ok());
    for (const io::ZipMember& member : *their_members) {
      const auto same = std::find_if(our_members->begin(), our_members->end(),
                                     [&](const auto& m) { return m.name == member.name; });
      ASSERT_NE(same, our_members->end()) << member.name;
      EXPECT_EQ(ours.substr(same->offset_bytes, same->packed_bytes),
                theirs.substr(member.offset_bytes, member.packed_bytes));
    }
  }
  EXPECT_EQ(compared, 23u);  // and the graph
}

TEST(Reduce, OnlyWholeDumpFilesAreTouched) {
  const Scratch scratch;
  const std::string whole = npy_of({1, 2, 3});
  write(scratch.path() / "a" / (std::string(kName) + ".npy"), whole.substr(0, whole.size() - 2));
  write(scratch.path() / "b" / (std::string(kName) + ".npy"), "");
  write(scratch.path() / "Add.add.1.2.1749000000000002", "not a dump");
  write(scratch.path() / "weights.npy", whole);
  write(scratch.path() / "notes.txt", "x");
  write(scratch.path() / "elsewhere", whole);
  fs::create_symlink(scratch.path() / "elsewhere",
                     scratch.path() / "x-y.INPUT.0.20250601120000000001.npy");
  const auto before = files_in(scratch.path());
  const scan::ReduceReport report = reduce(scratch.path());
  EXPECT_EQ(report.totals.files, 0u);
  EXPECT_EQ(report.left.size(), 3u);
  EXPECT_EQ(files_in(scratch.path()), before);
}

TEST(Reduce, KeepingLeavesBothAndKnowsThemAgain) {
  const Scratch scratch;
  const fs::path path = scratch.path() / (std::string(kName) + ".npy");
  write(path, npy_of({1, 2, 3}));
  EXPECT_EQ(reduce(scratch.path(), {.keep = true}).already, 0u);
  EXPECT_EQ(reduce(scratch.path(), {.keep = true}).already, 1u);
  EXPECT_EQ(reduce(scratch.path(), {.keep = true, .sketch = true}).already, 0u);
  EXPECT_EQ(files_in(scratch.path()).size(), 2u);
  write(path, npy_of({1, 2, 7}));  // written anew: what was kept is not of this file
  EXPECT_EQ(reduce(scratch.path()).already, 0u);
  const auto read = dump::read_reduced(scratch.path() / (std::string(kName) + "_min_max.npy"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->tensors[0].max, 7);
  EXPECT_FALSE(fs::exists(path));
}

// A crash may leave any of these behind.
TEST(Reduce, ResumesAfterACrash) {
  const Scratch scratch;
  const fs::path path = scratch.path() / (std::string(kName) + ".npy");
  const fs::path replacement = scratch.path() / (std::string(kName) + "_min_max.npy");
  write(path, npy_of({1, 2, 3}));
  write(scratch.path() / scan::temporary_name(path.filename().string()), "half");
  write(scratch.path() / ".plumb-reduce.lock", "1");  // nobody holds it
  write(replacement, "also half");                    // not by us, but it must not count
  EXPECT_EQ(reduce(scratch.path()).totals.files, 1u);
  EXPECT_THAT(files_in(scratch.path()), ElementsAre(replacement.filename().string()));
  EXPECT_TRUE(dump::read_reduced(replacement).ok());
}

TEST(Reduce, SaysWhyAFileWasNotItsTurn) {
  const Scratch scratch;
  write(scratch.path() / (std::string(kName) + ".npy"), npy_of({1, 2}));
  scan::ReduceTreeOptions options;
  options.quiet = std::chrono::hours(1);
  RunContext context;
  context.cancelled = true;  // Ctrl-C
  auto report = scan::reduce_tree(scratch.path(), options, context, {});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->left.size(), 1u);
  EXPECT_EQ(report->left[0].what, "the file was not yet quiet for long enough");
  EXPECT_THAT(report->left[0].where, HasSubstr("3600000 ms"));
  options.quiet = std::chrono::milliseconds(0);
  report = scan::reduce_tree(scratch.path(), options, context, {});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->left.size(), 1u);
  EXPECT_EQ(report->left[0].what, "the run ended before the file's turn came");
}

TEST(Reduce, CountsWhatWasReducedBefore) {
  const Scratch scratch;
  EXPECT_EQ(scan::reduce_tree(scratch.path(), {}, RunContext(), {}).error().what,
            "nothing was reduced: there is no dump file");
  const fs::path file = scratch.path() / (std::string(kName) + ".npy");
  write(file, npy_of({1, 2}));
  EXPECT_EQ(reduce(scratch.path()).before, 0u);  // just now
  EXPECT_EQ(reduce(scratch.path()).before, 1u);
  EXPECT_EQ(reduce(scratch.path()).no_sketch, 0u);
  const scan::ReduceOptions sketch{.keep = false, .sketch = true};
  EXPECT_EQ(reduce(scratch.path(), sketch).no_sketch, 1u);  // its data is gone
  write(file, npy_of({1, 2}));
  const scan::ReduceReport again = reduce(scratch.path(), sketch);
  EXPECT_EQ(again.totals.files, 1u);
  EXPECT_EQ(again.no_sketch, 0u);
  const scan::ReduceReport then = reduce(scratch.path(), sketch);
  EXPECT_EQ(then.before, 1u);
  EXPECT_EQ(then.no_sketch, 0u);
}

TEST(Reduce, DirectoriesThatCannotBeUsed) {
  const Scratch scratch;
  const RunContext context;
  write(scratch.path() / "file", "x");
  EXPECT_EQ(scan::reduce_tree(scratch.path() / "none", {}, context, {}).error().what,
            "no such directory");
  EXPECT_EQ(scan::reduce_tree(scratch.path() / "file", {}, context, {}).error().what,
            "not a directory");
}

// ---- comparing what is left

struct Pair {
  Scratch scratch;
  // Noise of this size on 4096 values.
  explicit Pair(double noise) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> golden(4096), target(4096);
    for (size_t i = 0; i < golden.size(); ++i) {
      golden[i] = normal(random);
      target[i] = golden[i] + static_cast<float>(noise) * normal(random);
    }
    write(scratch.path() / "target/0" / (std::string(kName) + ".npy"), npy_of(target));
    write(scratch.path() / "golden/0" / (std::string(kName) + ".npy"), npy_of(golden));
  }
  Row compare(const judge::Limits& limits) const {
    auto target = dump::open_dump(scratch.path() / "target");
    auto golden = dump::open_dump(scratch.path() / "golden");
    judge::LimitRules rules{"test", {{"*", "", {"test", "", "", limits, {}, {}, {}, {}, {}}}}};
    const Sides sides{*target, *golden, nullptr, {}, {}};
    const StreamOptions options{rules, {metrics::metric_by_name("cosine")}, {}};
    const RunContext context;
    return stream(compare::Streamer(sides, options), pair::make_plan(*target, *golden), context)
        .front();
  }
};

judge::Limits cosine_at_least(double bound) {
  return {{{metrics::metric_by_name("cosine"), judge::Comparison::kAtLeast, bound}}, {}, false};
}

// With noise s the cosine is 1 / sqrt(1 + s^2): 0.995 for 0.1.
TEST(Reduce, EstimatesDecideOnlyWhatTheirBoundsDecide) {
  const Pair pair(0.1);
  const double exact = pair.compare(cosine_at_least(0.9)).values[0].number();
  EXPECT_NEAR(exact, 1 / std::sqrt(1.01), 3e-4);
  reduce(pair.scratch.path() / "target", {.sketch = true});
  for (const bool both : {false, true}) {  // against the data, against their sketch
    if (both) reduce(pair.scratch.path() / "golden", {.sketch = true});
    Row row = pair.compare(cosine_at_least(0.98));
    EXPECT_EQ(row.verdict, Verdict::kPass) << row.message;
    EXPECT_THAT(row.reasons, ElementsAre("estimate"));
    EXPECT_THAT(row.message, HasSubstr("estimated from sketches, 99 % sure"));
    EXPECT_NEAR(row.values[0].number(), exact, 1e-3);
    EXPECT_FALSE(row.suspicious);
    row = pair.compare(cosine_at_least(0.992));  // 0.005 is more than half of 0.008
    EXPECT_EQ(row.verdict, Verdict::kPass) << row.message;
    EXPECT_TRUE(row.suspicious);
    EXPECT_THAT(row.message, HasSubstr("is near its limit 0.992"));
    row = pair.compare(cosine_at_least(0.9999));
    EXPECT_EQ(row.verdict, Verdict::kFail) << row.message;
    EXPECT_THAT(row.reasons, ElementsAre("limit:cosine", "estimate"));
    row = pair.compare(cosine_at_least(exact));
    EXPECT_EQ(row.verdict, Verdict::kInconclusive) << row.message;
    EXPECT_THAT(row.message, HasSubstr("too near the limit of cosine to tell"));
    judge::Limits more = cosine_at_least(0.98);
    more.limits.push_back({metrics::metric_by_name("max_abs"), judge::Comparison::kAtMost, 1});
    row = pair.compare(more);
    EXPECT_EQ(row.verdict, Verdict::kInconclusive);
    EXPECT_THAT(row.message, HasSubstr("max_abs cannot be estimated"));
  }
}

TEST(Reduce, EqualDataPassByTheirChecksums) {
  const Pair pair(0);
  reduce(pair.scratch.path() / "target");
  EXPECT_THAT(pair.compare(cosine_at_least(0.9)).reasons, ElementsAre("checksum_only"));
  reduce(pair.scratch.path() / "golden");
  const Row row = pair.compare(cosine_at_least(0.9));
  EXPECT_EQ(row.verdict, Verdict::kPass);
  EXPECT_THAT(row.reasons, ElementsAre("checksum_only"));
}

TEST(Reduce, StatisticsAloneDecideNothing) {
  const Pair pair(1e-3);
  reduce(pair.scratch.path() / "target");
  reduce(pair.scratch.path() / "golden");
  const Row row = pair.compare(cosine_at_least(0.9));
  EXPECT_EQ(row.verdict, Verdict::kInconclusive);
  EXPECT_THAT(row.reasons, ElementsAre("statistics_only"));
  EXPECT_EQ(row.target->shape, Shape{4096});
}

}  // namespace
}  // namespace plumb::compare
