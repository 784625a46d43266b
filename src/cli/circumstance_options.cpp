// SPDX-License-Identifier: Apache-2.0
#include "cli/circumstance_options.h"

namespace plumb::cli {

void CircumstanceOptions::declare(Options& options) {
  options.group("known beside the tensors");
  options.text("--target-env", "FILE", target_env,
               "environment of the target, as `plumb env -o FILE` wrote\nit there");
  options.text("--golden-env", "FILE", golden_env, "... and of golden");
  options.text("--topn-float", "SHARE", topn_float,
               "top-N accuracy of the original model: 76.1% or 0.761");
  options.text("--topn-quant", "SHARE", topn_quant, "... of the quantized original");
  options.text("--topn-offline", "SHARE", topn_offline, "... of the converted quantized model");
  options.text("--topn-samples", "N", topn_samples, "samples that was measured with");
  options.text("--calibration-size", "N", calibration_size,
               "samples that the quantization was calibrated with");
}

std::vector<NamedPath> CircumstanceOptions::paths() const {
  return {{"--target-env", target_env}, {"--golden-env", golden_env}};
}

}  // namespace plumb::cli
