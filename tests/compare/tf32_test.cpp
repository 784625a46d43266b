// SPDX-License-Identifier: Apache-2.0
#include "compare/tf32.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::compare {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Errors of a run: sizes, and by how much of them the lengths differ.
struct Errors {
  const char* name;
  std::vector<double> sizes;
  double scaled = 0.05;
  bool looks_so = false;
};

std::vector<double> many(double size, size_t count, std::vector<double> more = {}) {
  for (size_t i = 0; i < count; ++i) more.push_back(size * (1 + 0.1 * static_cast<double>(i % 3)));
  return more;
}

result::Row row_of(double error, double scaled, const char* type = "Conv") {
  result::Row row;
  row.target.emplace().dtype = "float32";
  row.golden.emplace().dtype = "float32";
  row.golden->type = type;
  row.target_shows = result::Shown::kWide;
  row.values = {metrics::Value::of(error), metrics::Value::of(1 + scaled * error)};
  return row;
}

const std::vector<const metrics::Metric*> kErrorColumns = {metrics::metric_by_name("rel_euclid"),
                                                           metrics::metric_by_name("norm_ratio")};

TEST(LikeTf32, UniformErrorsOfTenBits) {
  const Errors cases[] = {
      {"operands of ten bits", many(0.001, 40, {0.0002, 0.0003, 0.004}), 0.05, true},
      {"too few to tell", many(0.001, 7)},
      {"another order of summation", many(1e-6, 40)},
      {"one operator is wrong", many(0.001, 40, {0.02})},
      {"one operator stands out", many(0.0005, 40, {0.008})},
      {"wrong from the middle on", many(0.001, 20, many(1e-6, 20))},
      {"equal up to the middle", many(0.001, 20, many(0, 20))},
      {"all are scaled", many(0.001, 40), 1},
      {"bfloat16", many(0.02, 40)},
  };
  for (const Errors& c : cases) {
    LikeTf32 like(kErrorColumns);
    for (const double size : c.sizes) like.see(row_of(size, c.scaled));
    EXPECT_EQ(!like.note().empty(), c.looks_so) << c.name << ": " << like.note();
  }
}

TEST(LikeTf32, WhatIsNotComputedSaysNothing) {
  LikeTf32 like(kErrorColumns);
  for (int i = 0; i < 100; ++i) like.see(row_of(0, 0, i % 2 == 0 ? "Constant" : "Data"));
  for (int i = 0; i < 10; ++i) like.see(row_of(0.001, 0.05));
  EXPECT_THAT(like.note(), HasSubstr("10 float32 tensors differ by rel_euclid 0.001 to 0.001"));
  EXPECT_THAT(like.note(), HasSubstr("--precision tf32"));
}

TEST(LikeTf32, NarrowTensorsAndMissingColumnsSayNothing) {
  LikeTf32 narrow(kErrorColumns), without({kErrorColumns[0]});
  for (int i = 0; i < 10; ++i) {
    result::Row row = row_of(0.001, 0.05), shorter = row;
    shorter.values.pop_back();
    without.see(shorter);
    row.target_shows = result::Shown::kFloat16;
    narrow.see(row);
  }
  EXPECT_THAT(narrow.note(), IsEmpty());
  EXPECT_THAT(without.note(), IsEmpty());
}

}  // namespace
}  // namespace plumb::compare
