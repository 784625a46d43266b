// SPDX-License-Identifier: Apache-2.0
//
// The weights of a Caffe network as a quantization of its translation rounds them: Caffe's own
// engines then show what rounded weights cost. Normalisations stay layers of the network, so what
// was folded is taken apart again.
#pragma once

#include <filesystem>
#include <variant>

#include "quant/lab.h"

namespace plumb::quant {

// Why a .caffemodel cannot hold a quantization.
struct NoCaffeTwin {
  std::string reason;
};

// `float_lab` is the translation before anything was repaired, `lab` what `made` belongs to.
Result<std::variant<std::string, NoCaffeTwin>> caffe_twin(const std::filesystem::path& prototxt,
                                                          const std::filesystem::path& weights,
                                                          const Lab& float_lab, const Lab& lab,
                                                          const Quantization& made);

}  // namespace plumb::quant
