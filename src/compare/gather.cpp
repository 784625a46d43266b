// SPDX-License-Identifier: Apache-2.0
#include "compare/gather.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "base/crc32.h"
#include "compare/mask_values.h"
#include "compare/worst_slice.h"
#include "metrics/bulk_candidates.h"
#include "metrics/decoded_pairs.h"
#include "metrics/finish.h"
#include "metrics/lost_elements.h"
#include "metrics/resolution.h"
#include "metrics/slice_rel_euclid.h"

namespace plumb::compare {
namespace {

using metrics::BulkCandidates;
using metrics::kPairPiece;
using metrics::PairFacts;
using metrics::PairPiece;
using metrics::PairSums;
using metrics::SliceSums;

constexpr int64_t kChunk = kPiecesPerChunk * kPairPiece;
constexpr int64_t kChecksumPiece = 1 << 18;  // elements

Result<void> read_chunk(dump::EntryReader& target_entry, dump::EntryReader& golden_entry,
                        int64_t begin, const RunContext& context, bool counts_as_progress,
                        size_t chunk, const PieceWork& work) {
  io::TensorReader& target = target_entry.reader();
  io::TensorReader& golden = golden_entry.reader();
  const int64_t end = std::min(target.count(), begin + kChunk);
  const std::function<void(int64_t)> at_hand = [&](int64_t pairs) {
    target.check_until(pairs);
    golden.check_until(pairs);
  };
  const bool is_checked = !target.is_random_access() || !golden.is_random_access();
  constexpr auto kLater = io::TensorReader::Check::kLater;
  for (int64_t first = begin; first < end && !context.cancelled; first += kPairPiece) {
    const int64_t count = std::min(kPairPiece, end - first);
    auto t = target.read(first, count, kLater);
    if (!t) return std::move(t.error()).in(target_entry.path());
    auto g = golden.read(first, count, kLater);
    if (!g) return std::move(g.error()).in(golden_entry.path());
    work(chunk, first,
         {target.dtype(), t->data(), golden.dtype(), g->data(), count,
          is_checked ? &at_hand : nullptr});
    if (auto whole = target.check_rest(); !whole)
      return std::move(whole.error()).in(target_entry.path());
    if (auto whole = golden.check_rest(); !whole)
      return std::move(whole.error()).in(golden_entry.path());
    if (counts_as_progress) context.advance(std::ssize(*t) + std::ssize(*g));
  }
  if (auto intact = target_entry.check_intact(); !intact) return intact;
  return golden_entry.check_intact();
}

}  // namespace

Result<void> check_pair(dump::EntryReader& target_entry, dump::EntryReader& golden_entry) {
  const io::TensorReader& target = target_entry.reader();
  const io::TensorReader& golden = golden_entry.reader();
  const DKind t = kind_of(target.dtype()), g = kind_of(golden.dtype());
  const bool comparable = t != DKind::kOpaque && g != DKind::kOpaque &&
                          (t == DKind::kComplex) == (g == DKind::kComplex);
  if (comparable && target.count() == golden.count()) return {};
  return Error{
      "the tensors cannot be compared element by element",
      fmt::format("{} is {} {}, {} is {} {}", target_entry.path(), dtype_text(target_entry.info()),
                  to_string(target.shape()), golden_entry.path(), dtype_text(golden_entry.info()),
                  to_string(golden.shape())),
      "choose two of the same size and kind"};
}

Result<void> for_each_pair_piece(dump::EntryReader& target, dump::EntryReader& golden,
                                 const RunContext& context, bool counts_as_progress,
                                 const PieceWork& work,
                                 const std::function<void(size_t chunk)>& merge,
                                 int64_t window_chunks) {
  if (auto checked = check_pair(target, golden); !checked) return checked;
  const int64_t chunks = ceil_div(target.reader().count(), kChunk);
  const bool parallel =
      chunks > 1 && target.reader().is_random_access() && golden.reader().is_random_access();
  for (int64_t window = 0; window < chunks && !context.cancelled; window += window_chunks) {
    const int64_t count = std::min(window_chunks, chunks - window);
    std::mutex guard;
    std::optional<Error> failure;  // of the first chunk that has one, whoever comes first
    int64_t failed = count;
    const auto fail = [&](int64_t chunk, Error error) {
      std::lock_guard lock(guard);
      if (chunk >= failed) return;
      failed = chunk;
      failure = std::move(error);
    };
    const auto run = [&](int64_t chunk, dump::EntryReader& t, dump::EntryReader& g) {
      auto done = read_chunk(t, g, (window + chunk) * kChunk, context, counts_as_progress,
                             static_cast<size_t>(chunk), work);
      if (!done) fail(chunk, std::move(done.error()));
    };
    if (!parallel) {
      for (int64_t chunk = 0; chunk < count && !failure; ++chunk) run(chunk, target, golden);
    } else {
      // Isolated: a thread that waits here must not start on another large pair meanwhile.
      tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(int64_t{0}, count, [&](int64_t chunk) {
          auto t = target.again();
          auto g = golden.again();
          if (t && g) return run(chunk, *t, *g);
          fail(chunk, t ? g.error() : t.error());
        });
      });
    }
    if (failure) return *failure;
    if (context.cancelled) return {};  // chunks may be missing
    for (int64_t chunk = 0; chunk < count; ++chunk) merge(static_cast<size_t>(chunk));
  }
  return {};
}

namespace {

size_t chunks_at_once(dump::EntryReader& tensor) {
  return static_cast<size_t>(std::min(kWindow, ceil_div(tensor.reader().count(), kChunk)));
}

// Some pairs are nothing like each other: then t * g has to be summed itself, see better_pass().
// That is foreseen piece by piece, so that hardly any of them are read twice for it.
class FirstPass {
 public:
  // `slices`, `candidates`: before any pair, if they are wanted.
  FirstPass(const metrics::PairPass& pass, std::optional<SliceSums> slices,
            const std::optional<MaskValues>& mask, std::optional<BulkCandidates> candidates)
      : pass_(pass),
        mask_(mask),
        no_slices_(std::move(slices)),
        no_candidates_(std::move(candidates)) {}

  // The sums of pieces of a chunk, in order.
  struct Chunk {
    std::vector<PairSums> sums;
    std::vector<bool> has_products;
    std::optional<SliceSums> slices;
    std::optional<BulkCandidates> candidates;
  };
  void add(int64_t first, const PairPiece& stored, Chunk& chunk) const {
    std::optional<MaskedPiece> masked;
    if (mask_) masked.emplace(stored, *mask_);
    const PairPiece piece = masked ? masked->piece() : stored;
    const bool is_first = chunk.sums.empty();
    if (is_first) {
      chunk.slices = no_slices_;
      chunk.candidates = no_candidates_;
    }
    metrics::PairPass pass = pass_;
    pass.products |= is_first ? starts_unlike(piece) : is_unlike(chunk.sums.back());
    chunk.sums.push_back(metrics::pair_sums(piece, pass, chunk.slices ? &*chunk.slices : nullptr,
                                            first,
                                            chunk.candidates ? &*chunk.candidates : nullptr));
    chunk.has_products.push_back(pass.products);
    if (masked) set_aside(masked->marks(), chunk.sums.back());
  }
  void append(Chunk&& chunk) {
    for (size_t i = 0; i < chunk.sums.size(); ++i) {
      PairSums part = chunk.sums[i];
      if (!chunk.has_products[i]) products_.reset();
      if (products_) *products_ += part.tg;
      if (!pass_.products) part.tg = part.tg_by_squares();
      sums_.append(part);
    }
    if (!slices_)
      slices_ = std::move(chunk.slices);
    else if (chunk.slices)
      slices_->append(std::move(*chunk.slices));
    if (chunk.candidates) candidates_.push_back(std::move(*chunk.candidates));
  }
  std::span<const BulkCandidates> candidates() const { return candidates_; }  // by chunk
  std::optional<SliceSums> take_slices() { return std::move(slices_ ? slices_ : no_slices_); }
  // What is not merged yet may take a few MiB.
  int64_t window() const {
    constexpr int64_t kRoom = 4 << 20;
    const int64_t each = no_slices_ ? no_slices_->bytes() : 0;
    return each * kWindow <= kRoom ? kWindow : std::max<int64_t>(2, kRoom / each);
  }
  PairSums sums() const {
    PairSums sums = sums_;
    sums.has_relative = pass_.relative;
    sums.has_shares = pass_.shares;
    sums.exponent = pass_.exponent;
    return sums;
  }
  // With the products instead of what the squares say of them, if there are those of each piece.
  std::optional<PairSums> with_products() const {
    if (!products_) return std::nullopt;
    PairSums better = sums();
    better.tg = *products_;
    return better;
  }

 private:
  // Marks were infinities only for the sums, but for those of target that were some before.
  static void set_aside(const MaskedPiece::Marks& marks, PairSums& sums) {
    sums.masked = marks.agree;
    sums.masked_apart = marks.only_in_target + marks.only_in_golden;
    sums.t_inf -= marks.agree - marks.infinite + marks.only_in_target;
    sums.g_inf -= marks.agree + marks.only_in_golden;
  }

  // Chance alone gives products of about the squares over the root of the count.
  static bool is_unlike(const PairSums& sums, double share = 0x1p-5) {
    return std::fabs(sums.tg) < std::max(sums.tt, sums.gg) * share;
  }
  static bool starts_unlike(PairPiece piece) {
    constexpr int64_t kLook = 1024;
    if (piece.count < 16 * kLook) return false;  // not worth it
    piece.count = kLook;
    return is_unlike(metrics::pair_sums(piece, {}), 0x1p-2);
  }

  metrics::PairPass pass_;
  std::optional<MaskValues> mask_;
  std::optional<SliceSums> slices_, no_slices_;  // the latter before any pair
  std::optional<BulkCandidates> no_candidates_;
  std::vector<BulkCandidates> candidates_;
  PairSums sums_;
  std::optional<double> products_ = 0;
};

std::optional<SliceSums> slices_of(io::TensorReader& golden) {
  Shape shape = golden.shape();
  if (kind_of(golden.dtype()) == DKind::kComplex) shape.push_back(2);
  return SliceSums(shape);
}

Result<FirstPass> first_pass(dump::EntryReader& target, dump::EntryReader& golden,
                             const metrics::PairPass& pass, bool with_slices,
                             const std::optional<MaskValues>& mask, const RunContext& context,
                             bool counts_as_progress, std::optional<BulkCandidates> candidates = {},
                             const Beside& beside = {}) {
  FirstPass all(pass, with_slices ? slices_of(golden.reader()) : std::nullopt, mask,
                std::move(candidates));
  std::vector<FirstPass::Chunk> parts(chunks_at_once(target));
  metrics::Closeness* const closeness = beside.closeness;
  std::vector<metrics::Closeness> close;
  if (closeness != nullptr) close.assign(parts.size(), {closeness->tolerance});
  std::vector<std::optional<metrics::DetailSums>> details;
  std::optional<metrics::DetailSums> no_details;
  if (beside.details != nullptr) {
    no_details = *beside.details;
    details.resize(parts.size());
  }
  const auto work = [&](size_t chunk, int64_t first, const PairPiece& piece) {
    all.add(first, piece, parts[chunk]);
    if (closeness != nullptr) close[chunk].add(piece);
    if (!no_details) return;
    if (!details[chunk]) details[chunk] = no_details;
    details[chunk]->add(piece, first);
  };
  const auto merge = [&](size_t chunk) {
    all.append(std::move(parts[chunk]));
    parts[chunk] = {};
    if (closeness != nullptr)
      closeness->append(std::exchange(close[chunk], {closeness->tolerance}));
    if (!no_details) return;
    if (details[chunk]) beside.details->append(*details[chunk]);
    details[chunk].reset();
  };
  auto done = for_each_pair_piece(target, golden, context, counts_as_progress, std::ref(work),
                                  std::ref(merge), all.window());
  if (!done) return done.error();
  return all;
}

// Quantities of their own for each chunk, merged in order.
Result<void> read_again(dump::EntryReader& target, dump::EntryReader& golden,
                        const std::optional<MaskValues>& mask, const RunContext& context,
                        metrics::SecondPass& all) {
  const metrics::SecondPass fresh = all;
  std::vector<std::optional<metrics::SecondPass>> parts(chunks_at_once(target));
  return for_each_pair_piece(
      target, golden, context, false,
      [&](size_t chunk, int64_t, const PairPiece& piece) {
        if (!parts[chunk]) parts[chunk] = fresh;
        std::optional<MaskedPiece> masked;
        if (mask) masked.emplace(piece, *mask);
        parts[chunk]->add(masked ? masked->piece() : piece, piece);
      },
      [&](size_t chunk) {
        all.append(*parts[chunk]);
        parts[chunk].reset();
      });
}

// Values of a tensor, evenly drawn, front to back: runs of neighbours, or all of a small one.
Result<std::vector<double>> values_drawn(const dump::EntryReader& tensor) {
  constexpr int64_t kRuns = 64, kRun = 64;
  auto again = tensor.again();
  if (!again) return again.error();
  io::TensorReader& reader = again->reader();
  const bool is_small = reader.count() <= kRuns * kRun;
  std::vector<double> values;
  const int64_t runs = is_small ? 1 : kRuns, length = is_small ? reader.count() : kRun;
  const DType part = metrics::part_of(reader.dtype());
  const int64_t parts = part == reader.dtype() ? 1 : 2;
  for (int64_t run = 0; run < runs; ++run) {
    auto bytes = reader.read(reader.count() / runs * run, length);
    if (!bytes) return std::move(bytes.error()).in(tensor.path());
    values.resize(values.size() + static_cast<size_t>(parts * length));
    decode_double(part, bytes->data(), parts * length,
                  values.data() + std::ssize(values) - parts * length);
  }
  return values;
}

bool is_real(dump::EntryReader& tensor) {
  return kind_of(tensor.reader().dtype()) == DKind::kFloat;
}

// Three or four channels, first or last, of at least 8 by 8 pixels.
bool has_shape_of_picture(const Shape& shape) {
  const size_t rank = shape.size();
  if (rank != 3 && rank != 4) return false;
  const auto is_channels = [](int64_t length) { return length == 3 || length == 4; };
  const auto are_pixels = [&](size_t axis) { return shape[axis] >= 8 && shape[axis + 1] >= 8; };
  return (is_channels(shape[rank - 3]) && are_pixels(rank - 2)) ||
         (is_channels(shape[rank - 1]) && are_pixels(rank - 3));
}

// One channel of 8 by 8 pixels or more, or a batch of them.
bool may_be_grey_picture(const Shape& shape, const PairSums& sums) {
  const size_t rank = shape.size();
  const bool is_last = rank > 2 && shape[rank - 1] == 1;
  const size_t height = rank - (is_last ? 3 : 2);
  return rank >= 2 && rank <= 4 && shape[height] >= 8 && shape[height + 1] >= 8 && sums.t_whole &&
         sums.g_whole && sums.g_min >= 0 && sums.g_max <= 255 && sums.abs_max == 1;
}

// Neighbours in a picture nearly all differ, by little, up and down. Labels are even areas, ids
// differ by anything, and counted positions rise. Black and white may be even.
Result<bool> is_grey_picture(const dump::EntryReader& tensor) {
  constexpr int64_t kMost = 1 << 24, kAtOnce = 1 << 14;  // elements
  constexpr double kLittle = 16, kAnyWay = 0.2, kDiffer = 0.5, kClose = 0.75;
  auto again = tensor.again();
  if (!again) return again.error();
  io::TensorReader& reader = again->reader();
  if (reader.count() > kMost) return false;
  std::vector<double> values(static_cast<size_t>(std::min(kAtOnce, reader.count())));
  double before = NAN;
  int64_t up = 0, down = 0, close = 0, counted = 0;
  for (int64_t first = 0; first < reader.count(); first += kAtOnce) {
    const int64_t count = std::min(kAtOnce, reader.count() - first);
    auto bytes = reader.read(first, count);
    if (!bytes) return std::move(bytes.error()).in(tensor.path());
    decode_double(reader.dtype(), bytes->data(), count, values.data());
    for (int64_t i = 0; i < count; ++i) {
      const double value = values[static_cast<size_t>(i)], step = value - before;
      before = value;
      counted += step != 0 || (value > 0 && value < 255);
      up += step > 0;
      down += step < 0;
      close += std::fabs(step) <= kLittle && (step != 0 || (value > 0 && value < 255));
    }
  }
  const auto is_at_least = [&](double share, int64_t some) {
    return static_cast<double>(some) >= share * static_cast<double>(counted);
  };
  return is_at_least(kAnyWay, up) && is_at_least(kAnyWay, down) &&
         is_at_least(kDiffer, up + down) && is_at_least(kClose, close);
}

// A look at the start of the pair, and at some of golden, may foresee that it will be read again
// for the bulk rule: then the first pass puts aside what that would be for.
struct Foreseen {
  std::optional<std::vector<double>> drawn;
  std::optional<BulkCandidates> candidates;
};
Result<Foreseen> foresee(dump::EntryReader& target, dump::EntryReader& golden,
                         const metrics::Request& request) {
  constexpr int64_t kLook = 1024, kMost = 4 * kChunk;  // what is put aside has to be kept
  io::TensorReader &t = target.reader(), &g = golden.reader();
  Foreseen foreseen;
  const bool is_asked =
      std::any_of(request.second_pass.begin(), request.second_pass.end(),
                  [](const auto& need) { return need.accumulator->takes_candidates; });
  if (!is_asked || t.count() < 16 * kLook || t.count() > kMost || !check_pair(target, golden) ||
      !t.is_random_access() || !g.is_random_access())
    return foreseen;
  auto t_bytes = t.read(0, kLook);
  if (!t_bytes) return std::move(t_bytes.error()).in(target.path());
  auto g_bytes = g.read(0, kLook);
  if (!g_bytes) return std::move(g_bytes.error()).in(golden.path());
  PairFacts look;
  look.target_dtype = t.dtype();
  look.golden_dtype = g.dtype();
  look.sums =
      metrics::pair_sums({t.dtype(), t_bytes->data(), g.dtype(), g_bytes->data(), kLook}, {});
  if (!BulkCandidates::may_be_needed(look.sums)) return foreseen;
  auto drawn = values_drawn(golden);
  if (!drawn) return drawn.error();
  foreseen.candidates = BulkCandidates::foreseen(look, *drawn);
  foreseen.drawn = std::move(*drawn);
  return foreseen;
}

// A second reading, and a third for what the second could not settle.
Result<void> second_pass(dump::EntryReader& target, dump::EntryReader& golden,
                         const std::optional<MaskValues>& mask, Foreseen& foreseen,
                         std::span<const BulkCandidates> candidates, const RunContext& context,
                         metrics::SecondPass& all) {
  metrics::SecondPass settled;
  if (all.expects() && !mask) {
    if (!foreseen.drawn) {
      auto drawn = values_drawn(golden);
      if (!drawn) return drawn.error();
      foreseen.drawn = std::move(*drawn);
    }
    all.expect(*foreseen.drawn);
    if (!candidates.empty()) settled = all.take_settled(candidates);
  }
  Result<void> done;
  if (all.is_needed()) done = read_again(target, golden, mask, context, all);
  if (!done || context.cancelled) return done;
  metrics::SecondPass rest = all.take_unsettled();
  if (rest.is_needed()) done = read_again(target, golden, mask, context, rest);
  all.hold(std::move(rest));
  all.hold(std::move(settled));
  return done;
}

}  // namespace

Result<std::optional<uint32_t>> checksum(dump::EntryReader& tensor, const RunContext& context) {
  auto again = tensor.again();
  if (!again) return again.error();
  io::TensorReader& reader = again->reader();
  uint32_t crc = 0;
  for (int64_t first = 0; first < reader.count(); first += kChecksumPiece) {
    if (context.cancelled) return std::optional<uint32_t>();
    auto piece = reader.read(first, std::min(kChecksumPiece, reader.count() - first));
    if (!piece) return std::move(piece.error()).in(tensor.path());
    crc = crc32(crc, *piece);
  }
  if (auto intact = again->check_intact(); !intact) return intact.error();
  return std::optional(crc);
}

metrics::DetailSums details_before(dump::EntryReader& golden) {
  Shape shape = golden.reader().shape();
  const bool are_last = name_of(golden.info().layout) == "NHWC";
  const size_t axis = metrics::channel_axis(shape, are_last);
  if (kind_of(golden.reader().dtype()) == DKind::kComplex) shape.push_back(2);
  return metrics::DetailSums(std::move(shape), axis);
}

Result<std::optional<PairFacts>> gather(dump::EntryReader& target, dump::EntryReader& golden,
                                        const metrics::Request& request, const RunContext& context,
                                        const Beside& beside) {
  const metrics::PairPass pass{
      .relative = request.relative, .shares = request.shares, .least_golden = request.least_golden};
  std::optional<MaskValues> mask;
  auto foreseen = foresee(target, golden, request);
  if (!foreseen) return foreseen.error();
  auto first = first_pass(target, golden, pass, request.slices, mask, context, true,
                          std::move(foreseen->candidates), beside);
  if (!first) return first.error();
  const bool may_be_masked = may_have_mask(first->sums());
  if ((may_be_masked || first->sums().inf_mismatch > 0) && is_real(target) && is_real(golden) &&
      !context.cancelled) {
    const auto drawn = values_drawn(golden);
    if (!drawn) return drawn.error();
    if (may_be_masked) mask = find_mask(first->sums(), *drawn);
    if (!mask && first->sums().inf_mismatch > 0) mask = find_mask_beside_infinities(*drawn);
    if (mask) {
      const DType t = metrics::shown_target_dtype(target.reader().dtype(), first->sums()),
                  g = metrics::shown_golden_dtype(golden.reader().dtype(), first->sums());
      if (t != g) mask->note_type_of_target(t);  // in the same type golden did not overflow
      first = first_pass(target, golden, pass, request.slices, mask, context, false);
    }
    if (!first) return first.error();
  }
  Result<PairSums> sums = first->sums();
  std::optional<SliceSums> slices = first->take_slices();
  const auto better = metrics::better_pass(*sums, pass);
  if (better && better->exponent == 0 && first->with_products()) {
    sums = *first->with_products();
  } else if (better && !context.cancelled) {
    auto again = first_pass(target, golden, *better, request.slices, mask, context, false);
    if (!again) return again.error();
    sums = again->sums();
    slices = again->take_slices();
  }

  PairFacts facts;
  facts.target_dtype = target.reader().dtype();
  facts.golden_dtype = golden.reader().dtype();
  facts.target_stored = target.info().dtype;
  facts.golden_stored = golden.info().dtype;
  facts.has_shape_of_picture = has_shape_of_picture(golden.reader().shape());
  if (mask) facts.marks_from = mask->from;
  facts.sums = *sums;
  if (!facts.has_shape_of_picture && kind_of(golden.reader().dtype()) != DKind::kComplex &&
      may_be_grey_picture(golden.reader().shape(), *sums)) {
    const auto is_picture = is_grey_picture(golden);
    if (!is_picture) return is_picture.error();
    facts.has_shape_of_picture = *is_picture;
  }
  facts.has_slices = request.slices;
  if (slices && !metrics::equal_where_finite(*sums) && !context.cancelled) {
    auto found =
        find_worst_slice(target, golden, request.slices_exactly, mask, *slices, facts, context);
    if (!found) return found.error();
    facts.may_lose_band =
        slices->may_lose_band(sums->dd, sums->finite, metrics::ignored_in_slices(facts));
  }
  facts.second_pass = {request, facts};
  if (request.slices && metrics::LostElements::may_be_in(facts))
    facts.second_pass.hold(
        metrics::accumulated(metrics::LostElements(facts, golden.reader().shape())));
  if (facts.second_pass.is_needed() && !context.cancelled) {
    auto done = second_pass(target, golden, mask, *foreseen, first->candidates(), context,
                            facts.second_pass);
    if (!done) return done.error();
  }
  if (context.cancelled) return std::optional<PairFacts>();
  return std::optional(std::move(facts));
}

}  // namespace plumb::compare
