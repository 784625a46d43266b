// SPDX-License-Identifier: Apache-2.0
//
// Decodes tensors of files and dumps to npy, npz, bin or safetensors. Names are given out first, in
// order; then the files are worked off in parallel. A failure costs its tensor, not the run.
#pragma once

#include <memory>

#include "plumb/run_context.h"
#include "scan/request.h"

namespace plumb::scan {

struct ConvertOptions {
  Request read;
  std::string output;            // directory; made if it is not there
  std::string format = "npy";    // npy, npz, bin or safetensors
  std::string layout = "plain";  // plain (row-major, logical shape), stored, or a layout's name
};

struct ConvertReport {
  int64_t written = 0;  // tensors
  int64_t bytes = 0;
  std::vector<Error> failures;  // what hinders every file may be there more than once
  size_t left_out = 0;          // files that hold no tensor
  bool is_path_unreadable = false;
};

class Conversion {
 public:
  // Fails if the options make no sense. A path that cannot be read is a failure of the report.
  static Result<Conversion> plan(const std::vector<std::string>& paths, ConvertOptions options,
                                 const RunContext& context);
  Conversion(Conversion&&) noexcept;
  ~Conversion();

  std::vector<std::string> warnings() const;  // about the dumps
  Result<void> check() const;                 // an error if there is nothing to convert
  int64_t source_bytes() const;               // of the files that will be read
  ConvertReport run(const RunContext& context) const;

 private:
  struct State;
  explicit Conversion(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plumb::scan
