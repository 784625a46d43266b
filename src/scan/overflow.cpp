// SPDX-License-Identifier: Apache-2.0
#include "scan/overflow.h"

#include <algorithm>

#include "base/threads.h"

namespace plumb::scan {

using dump::Entry;

namespace {

int64_t bytes_of(const dump::DumpSet& set, const Entry& entry) {
  if (entry.info) return static_cast<int64_t>(entry.info->size_bytes);
  if (entry.parts.empty() || !entry.parts.front().tensor.empty()) return 0;
  std::error_code failed;
  const auto size = std::filesystem::file_size(set.absolute(entry.parts.front().file), failed);
  return failed ? 0 : static_cast<int64_t>(size);
}

}  // namespace

std::string_view name_of(OverflowVerdict verdict) {
  switch (verdict) {
    case OverflowVerdict::kOverflow: return "overflow";
    case OverflowVerdict::kSaturation: return "saturation";
    case OverflowVerdict::kIncomplete: return "incomplete";
    case OverflowVerdict::kClean: break;
  }
  return "clean";
}

bool OverflowFindings::has_anything() const {
  return records.records > 0 || std::any_of(scan.tensors.begin(), scan.tensors.end(),
                                            [](const ScannedTensor& t) { return !t.error; });
}

OverflowVerdict OverflowFindings::verdict() const {
  const OverflowedOperator* first = first_in_data();
  if (!records.reports.empty() || (first != nullptr && !first->is_finite))
    return OverflowVerdict::kOverflow;
  if (first != nullptr) return OverflowVerdict::kSaturation;
  return damaged + blind + unsure > 0 || was_interrupted ? OverflowVerdict::kIncomplete
                                                         : OverflowVerdict::kClean;
}

const OverflowedOperator* OverflowFindings::first_in_data() const {
  for (const OverflowedOperator& op : scan.operators)
    if (!op.is_finite) return &op;
  return scan.operators.empty() ? nullptr : &scan.operators.front();
}

const ScannedTensor* OverflowFindings::scanned(const Entry* entry) const {
  const auto found = by_entry.find(entry);
  return found == by_entry.end() ? nullptr : found->second;
}

const Entry& OverflowFindings::entry_of(const OverflowedOperator& op) const {
  return *scan.tensors[op.tensors.front()].entry;
}

SymptomTotal OverflowFindings::total(Symptom symptom) const {
  SymptomTotal total;
  for (const ScannedTensor& tensor : scan.tensors) {
    if (!tensor.has(symptom)) continue;
    ++total.tensors;
    ++total.by_dtype[tensor.dtype];
  }
  for (const OverflowedOperator& op : scan.operators)
    for (size_t i : op.tensors)
      if (total.first == nullptr && scan.tensors[i].has(symptom)) total.first = &scan.tensors[i];
  return total;
}

Result<OverflowFindings> find_overflow_records(const std::string& path, const Request& request,
                                               const RunContext& context) {
  auto set = on_threads_of(
      context, [&] { return dump::open_dump(path, request.hints, request.convention); });
  if (!set) return set.error();
  OverflowFindings found;
  found.path = path;
  found.set = std::make_unique<const dump::DumpSet>(std::move(*set));
  bool any_tensor = false;
  for (const Entry& entry : found.set->entries) {
    if (is_overflow_record(entry)) continue;
    any_tensor = true;
    if (!request.selection.wants(entry)) continue;
    found.wanted.push_back(&entry);
    found.tensor_bytes += bytes_of(*found.set, entry);
  }
  if (found.wanted.empty() && any_tensor) {
    const dump::DumpSet* const sets[] = {found.set.get()};
    if (auto known = request.selection.check(sets); !known) return known.error();
    return Error{"no tensor matches", path,
                 "check --op, --slot, --step and --rank; without them all are looked at"};
  }
  found.records = read_overflow_reports(*found.set, request.hints);
  // Of an operator that the user did not ask for.
  std::erase_if(found.records.reports, [&](const dump::OverflowReport& report) {
    return !report.tensors.empty() &&
           std::none_of(report.tensors.begin(), report.tensors.end(),
                        [&](const Entry* entry) { return request.selection.wants(*entry); });
  });
  found.damaged = found.records.damaged.size();
  for (const dump::Skipped& skipped : found.set->skipped)
    found.damaged += skipped.error.has_value();
  if (found.wanted.empty() && found.records.records == 0 && found.damaged == 0)
    return Error{"there is no tensor in it", path,
                 "`plumb formats` lists what can be read; raw data needs --dtype and --shape"};
  return found;
}

void look_at_tensors(OverflowFindings& found, const io::ReadHints& hints,
                     const RunContext& context) {
  found.scan = on_threads_of(
      context, [&] { return scan_overflow(*found.set, found.wanted, hints, context); });
  found.was_interrupted = context.cancelled;
  for (const ScannedTensor& tensor : found.scan.tensors) {
    found.by_entry.emplace(tensor.entry, &tensor);
    found.damaged += tensor.error.has_value();
    found.blind += tensor.is_blind;
    found.unsure += tensor.is_unsure;
    const Entry& first = *found.scan.tensors.front().entry;
    found.several_steps |= tensor.entry->step() != first.step();
    found.several_ranks |= tensor.entry->rank() != first.rank();
  }
}

}  // namespace plumb::scan
