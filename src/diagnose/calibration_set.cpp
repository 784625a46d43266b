// SPDX-License-Identifier: Apache-2.0
//
// The quantization was calibrated with fewer or more samples than is usual.
#include <fmt/format.h>

#include "diagnose/run_rule.h"

namespace plumb::diagnose {
namespace {

constexpr Threshold kCalibrationTable[] = {
    {"fewest", 10, "samples that a calibration needs"},
    {"most", 100, "samples beyond which more only cost time, and outliers widen the ranges"},
    {"acceptable_drop", 1,
     "points of top-N that quantization may cost; then nothing is to explain"},
};
enum { kFewestSamples, kMostSamples, kAcceptableCost };

}  // namespace

extern const std::span<const Threshold> kCalibrationThresholds;
const std::span<const Threshold> kCalibrationThresholds = kCalibrationTable;

std::optional<result::Finding> explain_calibration_set(const RunCase& of) {
  const result::Circumstances& known = of.known();
  if (!known.calibration_size) return {};
  const double drop = drop_in_points(known.topn_float, known.topn_quant);
  const bool loses =
      std::isnan(drop) ? of.differs : drop > kCalibrationTable[kAcceptableCost].value;
  const auto size = static_cast<double>(*known.calibration_size);
  const bool is_small = size < kCalibrationTable[kFewestSamples].value;
  if (!loses || (!is_small && size <= kCalibrationTable[kMostSamples].value)) return {};
  result::Finding finding;
  finding.confidence = is_small ? 0.65 : 0.4;
  finding.detail = fmt::format("size:{}", *known.calibration_size);
  finding.evidence.push_back(
      {fmt::format("calibrated with {} sample{}: {} the usual {:g} to {:g}",
                   *known.calibration_size, *known.calibration_size == 1 ? "" : "s",
                   is_small ? "fewer than" : "more than", kCalibrationTable[kFewestSamples].value,
                   kCalibrationTable[kMostSamples].value),
       std::nullopt, "", size});
  if (!std::isnan(drop))
    finding.evidence.push_back(
        {fmt::format("quantization costs {} points of top-N", short_text(drop)), std::nullopt, "",
         drop});
  if (auto worst = worst_output(of.run)) finding.evidence.push_back(std::move(*worst));
  finding.advice =
      is_small ? "Calibrate with 10 to 100 samples that look like those of the application, then "
                 "quantize again."
               : "Calibrate with 10 to 100 samples that look like those of the application: many "
                 "more hide rare ones in ranges that fit none.";
  return finding;
}

}  // namespace plumb::diagnose
