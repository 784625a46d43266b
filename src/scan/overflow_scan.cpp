// SPDX-License-Identifier: Apache-2.0
#include "scan/overflow_scan.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <tbb/parallel_for.h>

#include "metrics/type_limits.h"
#include "tensor/dtype_words.h"

namespace plumb::scan {
namespace {

using dump::Entry;
using dump::SlotKind;

// The share of values at the limit beyond which a type counts as saturated; nothing where they are
// ordinary numbers. Scaling to 8 bits puts the largest value at the limit on purpose, so that a few
// there mean nothing.
std::optional<double> tolerated_share(DType stored) {
  switch (stored) {
    case DType::kFloat16: return 0;
    case DType::kInt8:
    case DType::kInt16:
    case DType::kFloat8E4M3Fn:
    case DType::kFloat8E5M2:
    case DType::kHiFloat8: return 0.01;
    default: return std::nullopt;
  }
}

Result<int64_t> read_at_limit(const dump::DumpSet& set, const Entry& entry,
                              const io::ReadHints& hints, const metrics::Limits& limits,
                              const RunContext& context) {
  auto opened = dump::EntryReader::open(set, entry, hints);
  if (!opened) return opened.error();
  io::TensorReader& reader = opened->reader();
  int64_t found = 0;
  for (int64_t first = 0; first < reader.count(); first += metrics::kStatsPiece) {
    if (context.cancelled) break;
    const int64_t count = std::min(metrics::kStatsPiece, reader.count() - first);
    auto bytes = reader.read(first, count);
    if (!bytes) return std::move(bytes.error()).in(opened->path());
    found += metrics::count_at_limit(reader.dtype(), bytes->data(), count, limits);
  }
  if (auto intact = opened->check_intact(); !intact) return intact.error();
  return found;
}

bool is_integer(std::optional<DType> dtype) {
  return dtype && (kind_of(*dtype) == DKind::kInteger || kind_of(*dtype) == DKind::kBool);
}

// A tensor with elements that might overflow, of which no number was recorded.
bool shows_nothing(const Entry& entry, const Statistics& s) {
  const bool is_tensor = entry.recorded_shape() || !s.checksum.empty();  // else an argument
  const bool is_empty = entry.recorded_shape() && element_count(*entry.recorded_shape()) == 0;
  return is_tensor && !is_empty && !is_integer(recorded_dtype(entry.dtype_text())) && !s.min &&
         !s.max && !s.nan_count && !s.inf_count;
}

void read_recorded(ScannedTensor& tensor) {
  const Entry& entry = *tensor.entry;
  tensor.dtype = entry.dtype_text();
  tensor.shape = entry.recorded_shape();
  const Statistics s = entry.statistics ? *entry.statistics : Statistics();
  tensor.is_blind = shows_nothing(entry, s);
  const double min = s.min.value_or(0), max = s.max.value_or(0);
  const bool nan = std::isnan(min) || std::isnan(max) || std::isnan(s.mean.value_or(0));
  tensor.nan = s.nan_count.value_or(nan);
  tensor.positive_inf = s.inf_count.value_or(max > 0 && std::isinf(max));
  tensor.negative_inf = s.inf_count ? 0 : min < 0 && std::isinf(min);
  const auto dtype = recorded_dtype(entry.dtype_text());
  // A mean lets every NaN and infinity through; the extremes of some tools pass NaN over.
  const bool is_counted = (s.nan_count && s.inf_count) || s.mean || is_integer(dtype);
  tensor.is_unsure = (s.min || s.max) && tensor.is_finite() && !is_counted;
  const auto limits = dtype ? metrics::limits_of(*dtype) : std::nullopt;
  const auto tolerated = dtype ? tolerated_share(*dtype) : std::nullopt;
  if (!limits || !tolerated) return;
  const int64_t extremes = (s.max && std::isfinite(max) && !(max < limits->high)) +
                           (s.min && std::isfinite(min) && !(min > limits->low));
  if (extremes == 0) return;
  // One value is enough, or nobody knows how many there are.
  if (*tolerated > 0) {
    tensor.is_unsure |= tensor.is_finite();
    return;
  }
  tensor.at_limit = extremes;
  tensor.saturates = true;
}

// Leaves `stats` unset if the run was cancelled.
Result<void> read_data(const dump::DumpSet& set, const io::ReadHints& hints,
                       const RunContext& context, ScannedTensor& tensor) {
  const Entry& entry = *tensor.entry;
  auto measured = measure(set, entry, hints, context, {});
  if (!measured) return measured.error();
  if (!*measured) return {};
  const metrics::TensorStats& stats = (*measured)->stats;
  const DType stored = entry.info ? entry.info->dtype : (*measured)->dtype;
  tensor.dtype = entry.info ? dtype_text(*entry.info) : std::string(name_of(stored));
  tensor.shape = (*measured)->shape;
  tensor.nan = stats.nan;
  tensor.positive_inf = stats.positive_inf;
  tensor.negative_inf = stats.negative_inf;
  tensor.is_blind = stored == DType::kOpaque && entry.slot.kind != SlotKind::kOther;
  const auto limits = metrics::limits_of(stored);
  const auto tolerated = tolerated_share(stored);
  const auto within = [&](long double value) { return limits->hold(static_cast<double>(value)); };
  if (limits && tolerated && stats.finite > 0 && !(within(stats.min) && within(stats.max))) {
    auto found = read_at_limit(set, entry, hints, *limits, context);
    if (!found) return found.error();
    if (context.cancelled) return {};
    tensor.at_limit = *found - stats.inf();
    tensor.saturates =
        static_cast<double>(tensor.at_limit) > *tolerated * static_cast<double>(stats.count);
  }
  tensor.stats = stats;
  return {};
}

auto execution_of(const Entry& e) {
  return std::tie(e.step(), e.timestamp, e.rank(), e.graph(), e.operator_name, e.type);
}

bool is_input_slot(const Entry& e) {
  return e.slot.kind == SlotKind::kInput || e.slot.kind == SlotKind::kParameter;
}

// Looks at one execution after the other.
class Tracer {
 public:
  explicit Tracer(OverflowScan& scan) : scan_(scan) {}

  void add(size_t begin, size_t end) {
    OverflowedOperator found;
    bool has_inputs = false, all_seen = true;
    for (size_t i = begin; i < end; ++i) {
      const ScannedTensor& tensor = scan_.tensors[i];
      has_inputs |= is_input_slot(*tensor.entry);
      all_seen &= !is_input_slot(*tensor.entry) || !(tensor.error || tensor.is_blind);
      if (is_input_slot(*tensor.entry) || tensor.is_clean()) continue;
      found.tensors.push_back(i);
      found.is_finite &= tensor.is_finite();
    }
    // Values at the limit in an input explain those in an output, but no infinities. Where outputs
    // are clean they are constants, such as a mask's.
    const bool ends_here = found.tensors.empty();
    if (ends_here) found.is_finite = false;
    for (size_t i = begin; i < end; ++i) {
      const ScannedTensor& tensor = scan_.tensors[i];
      if (is_input_slot(*tensor.entry) &&
          !(found.is_finite ? tensor.is_clean() : tensor.is_finite()))
        found.from.push_back(i);
    }
    const bool seen = seen_not_finite_ || (found.is_finite && seen_at_limit_);
    if (ends_here && (found.from.empty() || seen)) return;
    if (ends_here) found.tensors = found.from;
    found.origin = !found.from.empty()      ? (seen ? Origin::kInherited : Origin::kReceived)
                   : has_inputs && all_seen ? Origin::kIntroduced
                                            : Origin::kUnknown;
    (found.is_finite ? seen_at_limit_ : seen_not_finite_) = true;
    scan_.operators.push_back(std::move(found));
  }

 private:
  OverflowScan& scan_;
  bool seen_at_limit_ = false, seen_not_finite_ = false;
};

}  // namespace

std::string ScannedTensor::layout() const {
  const bool is_plain = !entry->info || entry->info->layout == kPlainLayout;
  return is_plain ? "" : std::string(plumb::name_of(entry->info->layout));
}

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::kIntroduced: return "introduced";
    case Origin::kReceived: return "received";
    case Origin::kInherited: return "inherited";
    case Origin::kUnknown: break;
  }
  return "unknown";
}

OverflowScan scan_overflow(const dump::DumpSet& set, std::vector<const Entry*> entries,
                           const io::ReadHints& hints, const RunContext& context) {
  OverflowScan scan;
  std::stable_sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return std::tie(a->step(), a->timestamp) < std::tie(b->step(), b->timestamp);
  });
  for (const Entry* entry : entries) scan.tensors.emplace_back().entry = entry;
  tbb::parallel_for(size_t{0}, scan.tensors.size(), [&](size_t i) {
    ScannedTensor& tensor = scan.tensors[i];
    if (tensor.entry->parts.empty()) return read_recorded(tensor);
    if (context.cancelled) return;
    if (auto done = read_data(set, hints, context, tensor); !done) tensor.error = done.error();
  });
  Tracer tracer(scan);
  for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    while (end < entries.size() && execution_of(*entries[end]) == execution_of(*entries[begin]))
      ++end;
    scan.is_ordered |= entries[begin]->timestamp != entries.front()->timestamp;
    ++scan.executions;
    tracer.add(begin, end);
  }
  scan.is_ordered |= scan.executions == 1;
  return scan;
}

}  // namespace plumb::scan
