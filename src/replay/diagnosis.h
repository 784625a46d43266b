// SPDX-License-Identifier: Apache-2.0
//
// Explains a result of earlier: looks at tensors and models again if they are still there, replays
// operators if the original model is named. What cannot be looked at again stays as the result has
// it.
#pragma once

#include "base/worker.h"
#include "diagnose/model_differences.h"
#include "diagnose/reopen.h"

namespace plumb::replay {

struct DiagnosisOptions {
  std::string result;                             // its file; empty: it is in none
  diagnose::Moved moved = {};                     // where the tensors are now
  diagnose::ModelDifferences::Files models = {};  // as named; golden's: operators are replayed, too
  bool no_data = false;                           // read neither tensors nor models again
  WorkerLimits limits = {};                       // of the engine that replays
};

// Makes the findings of `run` anew, if as much can be seen as before. Gives in words what could
// not be looked at again; an error only if something that was named cannot be used.
Result<std::vector<std::string>> diagnose_again(result::Run& run, const DiagnosisOptions& options,
                                                RunContext& context);

}  // namespace plumb::replay
