// SPDX-License-Identifier: Apache-2.0
//
// The table of all dump conventions: a new one is a line here and a file beside this one.
#include <array>

#include "dump/dump.h"

namespace plumb::dump {

extern const Convention kPlumbDump;
extern const Convention kTorchairGe;
extern const Convention kMsprobe;
extern const Convention kPytorchH5;
extern const Convention kTorchairFx;
extern const Convention kPulsarGt;
extern const Convention kAscendDump;
extern const Convention kNamedNpy;
extern const Convention kPlain;

// The more specific first; plain takes what is left. Made at the first call: whoever asks while the
// program is being started must not find it empty.
std::span<const Convention> conventions() {
  static const std::array kConventions{
      kPlumbDump, kTorchairGe, kMsprobe,  kPytorchH5, kTorchairFx,
      kPulsarGt,  kAscendDump, kNamedNpy, kPlain,
  };
  return kConventions;
}

}  // namespace plumb::dump
