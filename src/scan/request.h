// SPDX-License-Identifier: Apache-2.0
//
// What is to be read of one dump, in the same words for every job that looks at a dump alone.
#pragma once

#include "dump/selection.h"

namespace plumb::scan {

struct Request {
  dump::Selection selection;
  io::ReadHints hints;
  std::string convention;  // empty: detected
};

}  // namespace plumb::scan
