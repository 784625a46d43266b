// SPDX-License-Identifier: Apache-2.0
//
// What only a second reading of a pair can tell, once the sums of the first are known. Each such
// quantity is a plain type that can be copied, with an `append` for that of the pairs that follow,
// and an `add` for pairs: in blocks of doubles, which are decoded once for all (and of floats, if
// it takes those as well), or as they are stored. It may take a look at some of golden's values
// before, and give up afterwards if what it expected of them is not so. An `Accumulator` says how
// it starts. All that are wanted share one reading, and whoever reads knows none of them by name.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "metrics/pair_sums.h"
#include "metrics/slice_sums.h"

namespace plumb::metrics {

struct PairFacts;
class BulkCandidates;

template <class T>
concept TakesBlocks = requires(T quantity, const double* values, int64_t count) {
  quantity.add(values, values, count);  // target, golden; at most kDetailBlock pairs
};
template <class T>
concept TakesFloats = TakesBlocks<T> && requires(T quantity, const float* values, int64_t count) {
  quantity.add(values, values, count);  // of types that floats hold
};
template <class T>
concept TakesPieces = requires(T quantity, const PairPiece& piece) {
  quantity.add(piece);
};
template <class T>
concept TakesStored = TakesPieces<T> && T::kTakesStored;
template <class T>
concept Expects = requires(T quantity, std::span<const double> golden) {
  quantity.expect(golden);  // values of golden, evenly drawn, before any pair
  { quantity.is_settled() } -> std::same_as<bool>;  // after all pairs
  quantity.restart();                               // as before any pair, expecting nothing
};

template <class T>
concept Settles = requires(T quantity, std::span<const BulkCandidates> chunks) {
  { quantity.settle(chunks) } -> std::same_as<bool>;  // by what the first pass put aside
};

// A quantity under way, of whatever type.
class Accumulated {
 public:
  virtual ~Accumulated() = default;
  virtual std::unique_ptr<Accumulated> copy() const = 0;
  virtual bool takes_blocks() const = 0;
  virtual bool takes_floats() const = 0;
  virtual bool takes_stored() const = 0;  // the bytes of the pair, whatever was set aside
  virtual void add(const double* target, const double* golden, int64_t count) = 0;
  virtual void add(const float* target, const float* golden, int64_t count) = 0;
  virtual void add(const PairPiece& piece) = 0;
  virtual void append(const Accumulated& later) = 0;  // of the same type
  virtual bool expects() const = 0;
  virtual void expect(std::span<const double> golden) = 0;
  virtual bool settle(std::span<const BulkCandidates> chunks) = 0;
  virtual bool is_settled() const = 0;
  virtual void restart() = 0;
};

template <class T>
requires TakesBlocks<T> || TakesPieces<T>
class AccumulatedAs final : public Accumulated {
 public:
  explicit AccumulatedAs(T start) : quantity(std::move(start)) {}
  std::unique_ptr<Accumulated> copy() const override {
    return std::make_unique<AccumulatedAs>(quantity);
  }
  bool takes_blocks() const override { return TakesBlocks<T>; }
  bool takes_floats() const override { return TakesFloats<T>; }
  bool takes_stored() const override { return TakesStored<T>; }
  void add(const double* target, const double* golden, int64_t count) override {
    if constexpr (TakesBlocks<T>) quantity.add(target, golden, count);
  }
  void add(const float* target, const float* golden, int64_t count) override {
    if constexpr (TakesFloats<T>) quantity.add(target, golden, count);
  }
  void add(const PairPiece& piece) override {
    if constexpr (TakesPieces<T>) quantity.add(piece);
  }
  void append(const Accumulated& later) override {
    quantity.append(static_cast<const AccumulatedAs&>(later).quantity);
  }
  bool expects() const override { return Expects<T>; }
  void expect(std::span<const double> golden) override {
    if constexpr (Expects<T>) quantity.expect(golden);
  }
  bool settle(std::span<const BulkCandidates> chunks) override {
    if constexpr (Settles<T>) return quantity.settle(chunks);
    return false;
  }
  bool is_settled() const override {
    if constexpr (Expects<T>) return quantity.is_settled();
    return true;
  }
  void restart() override {
    if constexpr (Expects<T>) quantity.restart();
  }

  T quantity;
};

template <class T>
std::unique_ptr<Accumulated> accumulated(T quantity) {
  return std::make_unique<AccumulatedAs<T>>(std::move(quantity));
}

// A kind of quantity: a constant beside its type.
struct Accumulator {
  // The quantity before any pair, by what the first pass told. nullptr if that settles all that the
  // metrics will say; if not `exactly`, by a bound.
  std::unique_ptr<Accumulated> (*start)(const PairFacts& first, bool exactly);
  bool is_rare = false;           // hardly a pair needs it: asking for it costs nothing
  bool takes_candidates = false;  // see Settles
};

// What to gather of a pair beyond the plain sums.
struct Request {
  struct Need {
    const Accumulator* accumulator;
    bool exactly;
  };
  bool relative = false;          // in the first pass: the sum of relative errors, too
  bool shares = false;            // ... and how many are small, and where the first is not
  bool slices = false;            // ... and the sums of each slice
  bool slices_exactly = false;    // even if a bound tells that none is damaged
  double least_golden = 0;        // see PairPass
  std::vector<Need> second_pass;  // each once
};

// The quantities of a second reading, of a pair or a part of it.
class SecondPass {
 public:
  SecondPass() = default;
  SecondPass(const Request& request, const PairFacts& first);
  SecondPass(const SecondPass& other);
  SecondPass(SecondPass&&) noexcept = default;
  SecondPass& operator=(SecondPass other) noexcept;
  ~SecondPass() = default;

  bool is_needed() const { return !quantities_.empty(); }
  void hold(std::unique_ptr<Accumulated> quantity) { quantities_.push_back(std::move(quantity)); }
  // `piece` without what was set aside, and as it is stored.
  void add(const PairPiece& piece, const PairPiece& stored);
  void append(const SecondPass& later);  // started alike

  // Where somebody expects: values of golden, evenly drawn, before any pair is added.
  bool expects() const;
  void expect(std::span<const double> golden);
  // Takes out what is settled by what the first pass put aside: to be held again in the end.
  SecondPass take_settled(std::span<const BulkCandidates> chunks);
  // What expected something else, started anew, to be gathered again and held again.
  SecondPass take_unsettled();
  void hold(SecondPass other);

  template <class T>
  const T* find() const {
    for (const auto& each : quantities_)
      if (const auto* found = dynamic_cast<const AccumulatedAs<T>*>(each.get()))
        return &found->quantity;
    return nullptr;
  }

 private:
  std::vector<std::unique_ptr<Accumulated>> quantities_;
};

// What a metric reads.
struct PairFacts {
  DType target_dtype = DType::kFloat32;  // of the values
  DType golden_dtype = DType::kFloat32;
  DType target_stored = DType::kFloat32;  // int4 is read as int8, or as what it stands for
  DType golden_stored = DType::kFloat32;
  // Whether the graph knows that these are ids (indices, classes), or that they are not: what is
  // rounded or quantized may be off by a step.
  std::optional<bool> are_ids;
  bool has_shape_of_picture = false;
  double marks_from = 0;  // mask values are from here on, down if it is negative; 0: there are none
  PairSums sums;
  bool has_slices = false;  // they were asked for; and the worst, if one stands out:
  std::optional<SliceSums::Worst> worst_slice;
  bool may_lose_band = false;  // of magnitude
  SecondPass second_pass;

  // A quantity of the second pass; nullptr if nobody asked for it, or if the sums settle it.
  template <class T>
  const T* find() const {
    return second_pass.find<T>();
  }
  // Integers, read as the numbers they stand for.
  bool target_is_dequantized() const {
    return kind_of(target_stored) == DKind::kInteger && kind_of(target_dtype) == DKind::kFloat;
  }
};

}  // namespace plumb::metrics
