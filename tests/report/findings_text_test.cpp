// SPDX-License-Identifier: Apache-2.0
#include "report/findings_text.h"

#include <gtest/gtest.h>

namespace plumb::report {
namespace {

struct CauseCase {
  std::string cause, detail, words;
};

// The same table as of the page: web/tests/words.test.ts.
const CauseCase kCauseCases[] = {
    {"operator", "", "the operator computes something else"},
    {"operator", "channel:27", "the operator computes something else: only in channel 27"},
    {"operator", "missing:Relu", "Relu is missing"},
    {"operator", "attribute:epsilon", "its attribute epsilon differs"},
    {"operator", "{0}", "the operator computes something else ({0})"},
    {"precision_mode", "cast:float16", "narrower data type: float16"},
    {"transform", "stale:scope:a", "its output is that of scope:a"},
    {"transform", "channels_reversed", "channels in reverse order"},
    {"transform", "negated", "all values have the other sign"},
    {"transform", "affine_per_channel", "each channel has a scale and an offset of its own"},
    {"transform", "offset:0.5", "moved by 0.5"},
    {"transform", "shift:2,-1", "moved along axis 2 by -1"},
    {"transform", "shift:2", "the tensor was changed in a simple way (shift:2)"},
    {"transform", "affine:2,0.5", "scaled by 2, then moved by 0.5"},
    {"transform", "scale:1.35", "scaled by 1.35"},
    {"weights", "scale:1.03", "other weights: scaled by 1.03"},
    {"quantization", "levels:15", "quantization: 15 levels"},
    {"calibration_clipping", "saturated:-0.3,0.25",
     "calibration range too small: values cut to -0.3 ... 0.25"},
    {"calibration_set", "size:1", "calibration set: 1 sample"},
    {"calibration_set", "size:5", "calibration set: 5 samples"},
    {"fusion", "conv + bn", "wrong fusion (conv + bn)"},
};

TEST(FindingsText, CausesInWords) {
  for (const CauseCase& each : kCauseCases) {
    result::Finding finding;
    finding.cause = each.cause;
    finding.detail = each.detail;
    EXPECT_EQ(cause_in_words(finding), each.words);
    EXPECT_EQ(finding_title(finding), "no single operator: " + each.words);
  }
}

TEST(FindingsText, ANameInADetailCannotBreakTheLine) {
  result::Finding finding;
  finding.operator_name = "clip";
  finding.cause = "transform";
  finding.detail = "stale:a\n{1}";
  EXPECT_EQ(finding_title(finding), "clip: its output is that of a\\x0a{1}");
}

}  // namespace
}  // namespace plumb::report
