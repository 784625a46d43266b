// SPDX-License-Identifier: Apache-2.0
//
// Every operator of a saved comparison replayed with the target's real inputs: own and inherited
// error of each row, by measurement.
#pragma once

#include "diagnose/reopen.h"
#include "replay/isolate.h"
#include "replay/own_errors.h"

namespace plumb::replay {

struct IsolatedAll {
  diagnose::Reopened reopened;  // the tensors that were compared
  OwnErrors measured;
  double replaying_s = 0;  // with the loading and comparing of tensors
};

// Fills Row::own_error of `run`, which was read from `options.result`. Of several steps the one
// asked for, or the first. Of the options `op`, `to`, `inputs` and `profile` are not used.
Result<IsolatedAll> isolate_all(result::Run& run, const IsolateOptions& options,
                                RunContext& context);

}  // namespace plumb::replay
