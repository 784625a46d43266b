// SPDX-License-Identifier: Apache-2.0
//
// Which operator overflowed first: by the records that a device left in a dump, and by the tensors
// themselves.
#pragma once

#include <map>
#include <memory>

#include "dump/overflow_reports.h"
#include "scan/overflow_scan.h"
#include "scan/request.h"

namespace plumb::scan {

// How many tensors show a symptom, and by type.
struct SymptomTotal {
  size_t tensors = 0;
  std::map<std::string, size_t> by_dtype;
  const ScannedTensor* first = nullptr;  // an output before an input
};

enum class OverflowVerdict : uint8_t {
  kOverflow,
  kSaturation,  // only values at the limit of their type
  kIncomplete,  // nothing was found, but not all could be seen
  kClean,
};
std::string_view name_of(OverflowVerdict verdict);

// All that was found out about a dump. What it refers to, it keeps.
struct OverflowFindings {
  std::string path;
  std::unique_ptr<const dump::DumpSet> set;
  std::vector<const dump::Entry*> wanted;  // tensors that are looked at
  int64_t tensor_bytes = 0;                // of these, as far as it is known without opening files
  dump::OverflowReports records;           // of operators that are wanted
  OverflowScan scan;                       // empty before `look_at_tensors`
  std::map<const dump::Entry*, const ScannedTensor*> by_entry;  // of `scan`
  size_t damaged = 0;                                           // tensors, records and files
  size_t blind = 0, unsure = 0;                                 // tensors, see ScannedTensor
  bool was_interrupted = false;
  bool several_steps = false, several_ranks = false;

  bool has_anything() const;  // that could be read
  OverflowVerdict verdict() const;
  // Null if no tensor shows anything. Values at the limit may be meant to be there: infinities and
  // NaN come before them.
  const OverflowedOperator* first_in_data() const;
  const ScannedTensor* scanned(const dump::Entry* entry) const;  // null if it was not looked at
  const dump::Entry& entry_of(const OverflowedOperator& op) const;
  SymptomTotal total(Symptom symptom) const;
};

// Opens the dump and reads its records. Fails if there is nothing to look at.
Result<OverflowFindings> find_overflow_records(const std::string& path, const Request& request,
                                               const RunContext& context);
// Then its tensors.
void look_at_tensors(OverflowFindings& findings, const io::ReadHints& hints,
                     const RunContext& context);

std::string to_json(const OverflowFindings& findings);  // schema plumb.overflow/1

}  // namespace plumb::scan
