// SPDX-License-Identifier: Apache-2.0
//
// What only a second reading of a pair can tell, once the sums of the first are known. Each such
// quantity is a plain type that can be copied, with an `append` for that of the pairs that follow,
// and an `add` for pairs: in blocks of doubles, which are decoded once for all, or as they are
// stored. An `Accumulator` says how it starts. All that are wanted share one reading, and whoever
// reads knows none of them by name.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "metrics/pair_sums.h"

namespace plumb::metrics {

struct PairFacts;

template <class T>
concept TakesBlocks = requires(T quantity, const double* values, int64_t count) {
  quantity.add(values, values, count);  // target, golden; at most kDetailBlock pairs
};
template <class T>
concept TakesPieces = requires(T quantity, const PairPiece& piece) {
  quantity.add(piece);
};

// A quantity under way, of whatever type.
class Accumulated {
 public:
  virtual ~Accumulated() = default;
  virtual std::unique_ptr<Accumulated> copy() const = 0;
  virtual bool takes_blocks() const = 0;
  virtual void add(const double* target, const double* golden, int64_t count) = 0;
  virtual void add(const PairPiece& piece) = 0;
  virtual void append(const Accumulated& later) = 0;  // of the same type
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
  void add(const double* target, const double* golden, int64_t count) override {
    if constexpr (TakesBlocks<T>) quantity.add(target, golden, count);
  }
  void add(const PairPiece& piece) override {
    if constexpr (TakesPieces<T>) quantity.add(piece);
  }
  void append(const Accumulated& later) override {
    quantity.append(static_cast<const AccumulatedAs&>(later).quantity);
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
  bool is_rare = false;  // hardly a pair needs it: asking for it costs nothing
};

// What to gather of a pair beyond the plain sums.
struct Request {
  struct Need {
    const Accumulator* accumulator;
    bool exactly;
  };
  bool relative = false;          // relative errors too, in the first pass ...
  bool shares = false;            // ... or only which are small, and where they are not
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
  void add(const PairPiece& piece);
  void append(const SecondPass& later);  // started alike

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
  PairSums sums;
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
