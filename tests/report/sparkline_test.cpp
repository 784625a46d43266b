// SPDX-License-Identifier: Apache-2.0
#include "report/sparkline.h"

#include <gtest/gtest.h>

#include "report/sample_runs.h"
#include "report/text.h"

namespace plumb::report {
namespace {

// Ten operators; the error grows by ten with each of the last six.
Run growing_run() {
  result::Run run = sample_run();
  for (int i = 0; i < 10; ++i)
    run.rows.push_back(paired("op" + std::to_string(i), Verdict::kPass,
                              values(1,
                                     i < 4   ? 0
                                     : i < 9 ? std::pow(10.0, i - 10)
                                             : 0.12,
                                     0, 0)));
  return run;
}

TEST(Sparkline, HigherIsWorse) {
  const Sparkline line = sparkline(growing_run(), 66, false);
  EXPECT_EQ(line.errors, "▁▁▁▁▂▃▄▆▇█");
  EXPECT_EQ(line.culprit, "");
  EXPECT_EQ(sparkline(growing_run(), 66, true).errors, "____.-=*#@");
  EXPECT_EQ(sparkline(growing_run(), 5, true).errors, "__-*@");  // the larger of two
  EXPECT_EQ(sparkline(one_sided_run(), 66, false).errors, "");
  EXPECT_EQ(sparkline(sample_run(), 66, false).errors, "");
}

TEST(Sparkline, CulpritIsMarked) {
  result::Run run = growing_run();
  run.findings.push_back({"operator", "operator", "op2", "", 0.9, {}, "", "", {}});
  EXPECT_EQ(sparkline(run, 66, false).culprit, "  ▲ op2");
  run.findings[0].operator_name = "op8";
  EXPECT_EQ(sparkline(run, 66, true).culprit, "    op8 ^");
  run.findings[0].operator_name = "op\x1b[2J";  // no row
  EXPECT_EQ(sparkline(run, 66, false).culprit, "");
}

TEST(Sparkline, FitsWhateverTheNames) {
  for (const NamedRun& sample : sample_runs())
    for (const size_t cells : {1, 16, 66}) {
      const Sparkline line = sparkline(sample.run, cells, false);
      EXPECT_LE(display_width(line.errors), cells) << sample.name;
      EXPECT_LE(display_width(line.culprit), cells + 3) << sample.name;
    }
}

}  // namespace
}  // namespace plumb::report
