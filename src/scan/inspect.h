// SPDX-License-Identifier: Apache-2.0
//
// What is in a file or directory: tensors with type, shape and layout from their headers alone, and
// with statistics and a histogram once their data was read.
#pragma once

#include <memory>

#include "scan/measure.h"
#include "scan/request.h"

namespace plumb::scan {

struct InspectedTensor {
  const dump::Entry* entry = nullptr;
  std::optional<TensorInfo> info;    // of all slices together; unset: recorded only, or unreadable
  std::optional<Measured> measured;  // after `measure`
  std::optional<Error> error;

  const Shape* shape() const;    // the logical one; null if not known
  std::string dtype() const;     // as stored; the dump's own word where there is no data
  int64_t stored_bytes() const;  // 0 if not known
};

struct Inspection {
  std::unique_ptr<const dump::DumpSet> set;
  std::vector<InspectedTensor> tensors;  // refer to `set`, in its order

  int64_t stored_bytes() const;
  size_t damaged() const;  // tensors and files
};

// Reads headers only. Fails if nothing is there that could be listed.
Result<Inspection> inspect(const std::string& path, const Request& request,
                           const RunContext& context);

// Reads the data; where the run is cancelled nothing is measured.
void measure(Inspection& inspection, const io::ReadHints& hints, const RunContext& context);

std::string to_json(const Inspection& inspection);  // schema plumb.inspect/1

}  // namespace plumb::scan
