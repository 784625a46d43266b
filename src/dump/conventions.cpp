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

namespace {

// The more specific first; plain takes what is left.
const std::array kConventions{
    kPlumbDump, kTorchairGe, kMsprobe,  kPytorchH5, kTorchairFx,
    kPulsarGt,  kAscendDump, kNamedNpy, kPlain,
};

}  // namespace

std::span<const Convention> conventions() { return kConventions; }

}  // namespace plumb::dump
