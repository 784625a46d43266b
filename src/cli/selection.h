// SPDX-License-Identifier: Apache-2.0
//
// Options that say what to read and which part of it: shared by the commands that take dumps.
#pragma once

#include "cli/command.h"
#include "scan/request.h"

namespace plumb::cli {

struct SelectionOptions {
  dump::Selection selection;
  HintWords words;
  std::string convention;  // empty: detected

  void declare(Options& options);
  // After parsing: complains about values that make no sense.
  Result<io::ReadHints> hints() const;
  Result<scan::Request> request() const;
};

}  // namespace plumb::cli
