// SPDX-License-Identifier: Apache-2.0
#include "compare/stream.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "compare/judge_pair.h"
#include "compare/planned_row.h"
#include "compare/same_elements.h"
#include "dump/reduced.h"
#include "judge/verdict.h"
#include "metrics/measure.h"
#include "pair/operator_kinds.h"

namespace plumb::compare {
namespace {

using dump::Entry;
using dump::EntryReader;
using result::Row;
using result::Side;
using result::Verdict;

// The digest of another tool may be the same CRC-32 as ours; that of bfloat16 data was once taken
// over their float32 copy.
bool may_be_crc32(const Entry& entry) {
  return entry.statistics && entry.statistics->checksum.size() == 8 &&
         recorded_dtype(entry.dtype_text()) != DType::kBFloat16;
}

Result<metrics::Sketch> recorded_sketch(const dump::DumpSet& set, const Entry& entry) {
  const std::string path = set.absolute(entry.record.str());
  auto bytes = dump::read_sketch(path, entry.slot);
  if (!bytes) return bytes.error();
  auto sketch = metrics::sketch_from_bytes(*bytes);
  if (!sketch) return std::move(sketch.error()).in(path);
  return sketch;
}

// What --checksum asks for.
judge::Limits same_bytes() {
  return {{{metrics::metric_by_name("equal_share"), judge::Comparison::kAtLeast, 1}}, {}, true};
}

constexpr size_t kSmallestBatch = 8;  // rows: handing out single tiny files would cost more
constexpr size_t kMostAtOnce = 8;     // rows that a thread has made and not handed on

void complete(Side& side, EntryReader& tensor) {
  const TensorInfo& info = tensor.info();
  side.dtype = dtype_text(info);
  side.shape = tensor.reader().shape();
  if (info.layout != kPlainLayout) side.layout = name_of(info.layout);
}

int64_t bytes_of_elements(EntryReader& tensor) {
  return tensor.reader().count() * (bits_of(tensor.reader().dtype()) / 8);
}

// The shape that a tensor had before channels were brought into blocks and padded, where nobody
// recorded it: that of the other one, if it fits. What pads the last block is no value.
std::optional<Shape> shape_beside(const EntryReader& own, const Shape& other) {
  const TensorInfo& info = own.info();
  const bool is_known = is_plain(info.layout) || info.logical_shape;
  if (is_known || !plain_map(info.layout, info.shape, other)) return std::nullopt;
  return other;
}

// Whether the graph says that these are ids, or that they are not.
std::optional<bool> known_ids(const pair::PlannedRow& planned, std::string_view target_type,
                              std::string_view golden_type) {
  const auto any = [&](bool (*is)(std::string_view)) { return is(target_type) || is(golden_type); };
  if (planned.is_quantized || any(pair::gives_rounded)) return false;
  return any(pair::gives_ids) ? std::optional(true) : std::nullopt;
}

// One row.
class RowMaker {
 public:
  RowMaker(const Sides& sides, const StreamOptions& options, const FloorOf& floor_of,
           dump::FileCache& files, const RunContext& context)
      : sides_(sides), options_(options), floor_of_(floor_of), files_(files), context_(context) {}

  Row make(const pair::PlannedRow& planned) {
    Row row = planned_row(planned);
    if (!planned.reason.empty()) return row;
    if (context_.cancelled) {
      leave_out(row, "interrupted", "");
    } else if (planned.target->parts.empty() || planned.golden->parts.empty()) {
      compare_recorded(planned, row);
    } else {
      compare(planned, row);
    }
    if (row.verdict == Verdict::kPass && !planned.golden_is_own && !is_another_tensor_ &&
        is_same_tensor(sides_.target, *planned.target, sides_.golden, *planned.golden))
      doubt(row, "same_path", "both sides are the same file");
    return row;
  }

 private:
  // The same bytes give the same values then, and nobody need ask whether it is the same file.
  bool is_read_alike(const pair::PlannedRow& planned) const {
    const io::ReadHints &t = sides_.target_hints, &g = sides_.golden_hints;
    const pair::RareFacts& rare = planned.rare();
    return rare.target_order == nullptr && rare.golden_order == nullptr && !rare.dequantize &&
           t.dtype == g.dtype && t.shape == g.shape && t.fp8 == g.fp8;
  }

  void compare(const pair::PlannedRow& planned, Row& row) {
    const auto order_of = [](const io::ReadOrder* given) {
      return given != nullptr ? *given : io::ReadOrder();
    };
    auto golden = EntryReader::open(sides_.golden_of(planned), *planned.golden, sides_.golden_hints,
                                    order_of(planned.rare().golden_order), &files_);
    if (!golden) return leave_out(row, "damaged_file", in_words(golden.error()));
    // Two quantized models are compared by their integers.
    const bool stands_for_numbers =
        planned.is_quantized && kind_of(golden->reader().dtype()) == DKind::kFloat;
    io::ReadOrder order = order_of(planned.rare().target_order);
    if (stands_for_numbers && planned.rare().dequantize)
      order.dequantize = planned.rare().dequantize;
    auto target =
        EntryReader::open(sides_.target, *planned.target, sides_.target_hints, order, &files_);
    if (!target) return leave_out(row, "damaged_file", in_words(target.error()));
    if (auto done = unblock(planned, order, *target, *golden); !done)
      return leave_out(row, "damaged_file", in_words(done.error()));
    complete(*row.target, *target);
    complete(*row.golden, *golden);
    if (auto obstacle = obstacle_of(*target, *golden, planned.is_flat)) {
      if (!obstacle->is_difference) return leave_out(row, obstacle->reason, obstacle->message);
      fail(row, obstacle->reason, std::move(obstacle->message));
      return tell_same_elements(*target, *golden, row);
    }
    // Indices have 64 bits, what is quantized has fewer.
    if (stands_for_numbers && kind_of(target->reader().dtype()) == DKind::kInteger &&
        bits_of(target->reader().dtype()) <= 32)
      return leave_out(row, "quantized_interior",
                       "integers of the quantized part, whose scale is not recorded");
    const int64_t bytes = bytes_of_elements(*target) + bytes_of_elements(*golden);
    row.bytes = bytes;
    if (options_.checksum) {
      compare_checksums(*target, *golden, row);
      return context_.advance(bytes);
    }

    std::optional<metrics::Closeness> closeness;
    if (options_.tolerance) closeness.emplace(metrics::Closeness{*options_.tolerance});
    std::optional<metrics::DetailSums> details;
    if (options_.details) details = details_before(*golden);
    auto facts = gather(*target, *golden, options_.request, context_,
                        {closeness ? &*closeness : nullptr, details ? &*details : nullptr});
    if (!facts) return leave_out(row, "damaged_file", in_words(facts.error()));
    if (!*facts) return leave_out(row, "interrupted", "");
    if (details) row.details = std::make_shared<const result::Details>(details->finish());
    is_another_tensor_ = (*facts)->sums.equal != (*facts)->sums.count && is_read_alike(planned);
    (*facts)->are_ids = known_ids(planned, row.target->type, row.golden->type);
    if (options_.observer != nullptr) options_.observer->pair(planned, **facts);
    row.values.reserve(options_.columns.size());
    for (const metrics::Metric* metric : options_.columns)
      row.values.push_back(closeness && metric->name == metrics::kCloseShare
                               ? closeness->share((*facts)->sums)
                               : metric->finish(**facts));
    judge_pair({sides_, options_, floor_of_, files_, context_}, planned, **facts,
               closeness ? &*closeness : nullptr, *target, *golden, row);
  }

  // Where one side lies in blocks of channels and the other does not.
  Result<void> unblock(const pair::PlannedRow& planned, io::ReadOrder order, EntryReader& target,
                       EntryReader& golden) {
    const pair::RareFacts& rare = planned.rare();
    const bool is_ordered = rare.target_order != nullptr || rare.golden_order != nullptr;
    if (is_ordered || target.info().layout == golden.info().layout) return {};
    if ((order.logical = shape_beside(target, golden.reader().shape()))) {
      auto opened =
          EntryReader::open(sides_.target, *planned.target, sides_.target_hints, order, &files_);
      if (!opened) return opened.error();
      target = std::move(*opened);
    } else if (auto shape = shape_beside(golden, target.reader().shape())) {
      io::ReadOrder plain;
      plain.logical = std::move(shape);
      auto opened = EntryReader::open(sides_.golden_of(planned), *planned.golden,
                                      sides_.golden_hints, plain, &files_);
      if (!opened) return opened.error();
      golden = std::move(*opened);
    }
    return {};
  }

  void compare_checksums(EntryReader& target, EntryReader& golden, Row& row) {
    auto t = checksum(target, context_);
    if (!t) return leave_out(row, "damaged_file", in_words(t.error()));
    auto g = checksum(golden, context_);
    if (!g) return leave_out(row, "damaged_file", in_words(g.error()));
    if (!*t || !*g) return leave_out(row, "interrupted", "");
    const DType t_type = target.reader().dtype(), g_type = golden.reader().dtype();
    if (t_type != g_type)
      return fail(row, "limit:equal_share",
                  fmt::format("{} against {}", name_of(t_type), name_of(g_type)));
    if (**t != **g)
      return fail(row, "limit:equal_share",
                  fmt::format("CRC-32 is {:08x} against {:08x}", **t, **g));
    row.verdict = Verdict::kPass;
    row.reasons = {"checksum_only"};
    row.message = fmt::format("CRC-32 is {:08x} on both sides", **t);
  }

  struct Record {
    Statistics statistics;
    bool is_opaque = false;
    std::optional<metrics::Sketch> sketch;
  };

  // What a dump recorded of a tensor, or what it would have recorded of one that is there.
  Result<Record> record_of(const dump::DumpSet& set, const Entry& entry, const io::ReadHints& hints,
                           const Entry& other) const {
    if (entry.parts.empty()) {
      Record record{entry.statistics ? *entry.statistics : Statistics(), false, {}};
      const bool has_partner =
          !other.parts.empty() || (other.statistics && other.statistics->has_sketch);
      if (!has_partner || !record.statistics.has_sketch) return record;
      auto sketch = recorded_sketch(set, entry);
      if (!sketch) return sketch.error();
      record.sketch = std::move(*sketch);
      return record;
    }
    metrics::Extras extras;
    extras.checksum =  // what other tools call a checksum need not be ours
        dump::is_reduced(other) || (options_.checksum && may_be_crc32(other));
    extras.sketch = extras.checksum && other.statistics->has_sketch;
    auto opened = EntryReader::open(set, entry, hints);
    if (!opened) return opened.error();
    auto measured = metrics::measure(opened->pieces(), extras, context_);
    if (!measured) return measured.error();
    if (!*measured) return Error{"the run was interrupted", "", ""};
    return Record{recorded_from(full_statistics(**measured)), (*measured)->dtype == DType::kOpaque,
                  std::move((*measured)->sketch)};
  }

  void compare_recorded(const pair::PlannedRow& planned, Row& row) {
    auto target = record_of(sides_.target, *planned.target, sides_.target_hints, *planned.golden);
    auto golden =
        record_of(sides_.golden_of(planned), *planned.golden, sides_.golden_hints, *planned.target);
    if (context_.cancelled) return leave_out(row, "interrupted", "");
    if (!target) return leave_out(row, "damaged_file", in_words(target.error()));
    if (!golden) return leave_out(row, "damaged_file", in_words(golden.error()));
    const Statistics &t = target->statistics, &g = golden->statistics;
    row.target->shape = t.shape;
    row.golden->shape = g.shape;
    if (target->is_opaque || golden->is_opaque)
      return leave_out(row, "dtype_unsupported", "the type of the data cannot be decoded");
    row.target->dtype = t.dtype;
    row.golden->dtype = g.dtype;
    const auto target_dtype = recorded_dtype(t.dtype);
    const auto golden_dtype = recorded_dtype(g.dtype);
    const auto is_of = [](const std::optional<DType>& dtype, DKind kind) {
      return dtype && kind_of(*dtype) == kind;
    };
    if (planned.is_quantized && is_of(target_dtype, DKind::kInteger) &&
        is_of(golden_dtype, DKind::kFloat))
      return leave_out(row, "quantized_interior",
                       "integers of the quantized part, whose scale the records do not know");
    if (options_.observer != nullptr) options_.observer->recorded(planned, t, g);
    if (options_.checksum) return judge::judge_recorded(same_bytes(), t, g, row);
    const judge::Profile& profile =
        options_.rules.for_tensor(row.target->operator_name, row.target->slot);
    judge::judge_recorded(profile.for_types(target_dtype, golden_dtype), t, g, row);
    if (target->sketch && golden->sketch && row.verdict != Verdict::kPass)
      judge::judge_estimate(profile, metrics::estimate(*target->sketch, *golden->sketch),
                            options_.columns, row);
  }

  const Sides& sides_;
  const StreamOptions& options_;
  const FloorOf& floor_of_;
  dump::FileCache& files_;
  const RunContext& context_;
  bool is_another_tensor_ = false;  // their values differ
};

}  // namespace

Streamer::Streamer(const Sides& sides, const StreamOptions& options)
    : sides_(sides), options_(options) {
  if (sides.floor == nullptr) return;
  for (const pair::PlannedRow& row : pair::make_plan(*sides.floor, sides.golden))
    if (row.reason.empty()) floor_of_[row.golden] = row.target;
}

Row Streamer::row(const pair::PlannedRow& planned, const RunContext& context) const {
  return RowMaker(sides_, options_, floor_of_, files_, context).make(planned);
}

void stream(const Streamer& streamer, const std::vector<pair::PlannedRow>& plan,
            std::span<const int64_t> ids, const RunContext& context,
            const std::function<void(size_t position, Row&& row)>& take) {
  std::mutex guard;
  tbb::parallel_for(tbb::blocked_range<size_t>(0, ids.size(), kSmallestBatch),
                    [&](const tbb::blocked_range<size_t>& batch) {
                      std::vector<Row> rows;  // of which nobody knows yet
                      rows.reserve(std::min(batch.size(), kMostAtOnce));
                      for (size_t i = batch.begin(); i < batch.end(); ++i) {
                        rows.push_back(streamer.row(plan[static_cast<size_t>(ids[i])], context));
                        if (rows.size() < kMostAtOnce && i + 1 < batch.end()) continue;
                        std::lock_guard lock(guard);
                        size_t at = i + 1 - rows.size();
                        for (Row& row : rows) take(at++, std::move(row));
                        rows.clear();
                      }
                    });
}

std::vector<Row> stream(const Streamer& streamer, const std::vector<pair::PlannedRow>& plan,
                        const RunContext& context) {
  std::vector<int64_t> ids(plan.size());
  std::iota(ids.begin(), ids.end(), int64_t{0});
  std::vector<Row> rows(plan.size());
  stream(streamer, plan, ids, context,
         [&](size_t position, Row&& row) { rows[position] = std::move(row); });
  return rows;
}

}  // namespace plumb::compare
