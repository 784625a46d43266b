// SPDX-License-Identifier: Apache-2.0
#include "guide/circumstances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::guide {
namespace {

using testing::HasSubstr;

struct ShareCase {
  const char* text;
  double share;  // negative: refused
};
const ShareCase kShares[] = {
    {"", -1},         {"many", -1},      {"-3", -1},       {"101", -1},   {"nan", -1},
    {"inf", -1},      {"76.1x", -1},     {"0x10", -1},     {"1e400", -1}, {"76.1", 0.761},
    {"76.1%", 0.761}, {"76.1 %", 0.761}, {"0.761", 0.761}, {"1", 1},      {"1%", 0.01},
    {"0", 0},         {"100", 1},        {"0.5%", 0.005},
};

TEST(Circumstances, SharesAndPercent) {
  for (const ShareCase& each : kShares) {
    const auto share = share_from(each.text, "--topn-float", nullptr);
    EXPECT_EQ(share.ok(), each.share >= 0) << each.text;
    if (share) {
      EXPECT_NEAR(*share, each.share, 1e-15) << each.text;
    } else {
      EXPECT_THAT(share.error().where, HasSubstr("--topn-float"));
    }
  }
}

TEST(Circumstances, PercentBesideAShareIsRefused) {
  CircumstanceOptions options;
  options.topn_float = "76.1";
  options.topn_quant = "0.75";
  const auto known = circumstances_from(options);
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().what, "percent or share?");
  options.topn_quant = "0.75%";  // who writes the sign means it
  EXPECT_TRUE(circumstances_from(options));
  options.topn_quant = "100";
  EXPECT_TRUE(circumstances_from(options));
}

TEST(Circumstances, CountsAreWholeNumbers) {
  for (const char* text : {"-1", "ten", "3.5", "99999999999999999999", "10 "}) {
    CircumstanceOptions options;
    options.calibration_size = text;
    EXPECT_FALSE(circumstances_from(options)) << text;
  }
  CircumstanceOptions options;
  options.calibration_size = "32";
  options.topn_samples = "0";
  EXPECT_FALSE(circumstances_from(options));
  options.topn_samples = "50000";
  const auto known = circumstances_from(options);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->calibration_size, 32);
  EXPECT_EQ(known->topn_samples, 50000);
}

TEST(Circumstances, OneEnvironmentAloneIsRefused) {
  CircumstanceOptions options;
  options.target_env = "after.json";
  const auto known = circumstances_from(options);
  ASSERT_FALSE(known);
  EXPECT_THAT(known.error().where, HasSubstr("--golden-env"));
}

}  // namespace
}  // namespace plumb::guide
