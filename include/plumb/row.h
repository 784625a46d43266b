// SPDX-License-Identifier: Apache-2.0
//
// The result of a comparison: what every later stage reads. Each operator and slot of either side
// is in exactly one row, compared or left out with a reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "plumb/accuracy.h"
#include "plumb/baseline.h"
#include "plumb/circumstances.h"
#include "plumb/details.h"
#include "plumb/finding.h"
#include "plumb/metric.h"
#include "plumb/network.h"
#include "plumb/tensor.h"
#include "plumb/verdict.h"

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::result {

using metrics::ChannelErrors;
using metrics::Details;
using metrics::HeatMap;
using metrics::PairHistogram;
using metrics::WorstElement;

// One side of a row; empty strings for what is not known.
struct Side {
  std::string operator_name;
  std::string type;
  std::string slot;            // "output:0"
  std::string dtype;           // as read: "float16"
  std::optional<Shape> shape;  // in plain order
  std::string layout;          // as stored: "NC1HWC0"; empty for row-major without named axes
  std::string file;            // relative to the side's path
};

// A verdict that takes the place of a row's own if the rest of the run says so.
struct Judgement {
  Verdict verdict = Verdict::kNotCompared;
  std::vector<std::string> reasons;
  std::string message, hint;
  bool suspicious = false;
};

// What holds of a float32 tensor that fails as such; nullopt: it fails there, too.
struct In16Bits {
  std::optional<Judgement> float16;   // in a dump of that, or behind what works in 16 bits
  std::optional<Judgement> bfloat16;  // in a dump of that
};

// What the values of a float32 or float64 tensor show: dump tools widen. Whole numbers, halves and
// powers of two fit every type and show nothing; numbers on a finer grid fit a type and show it
// only beside tensors that do.
enum class Shown : uint8_t { kNothing, kWide, kFloat16, kBFloat16, kFloat16Grid, kBFloat16Grid };

struct Row {
  int64_t index = 0;  // the operator's position in the order of execution
  std::optional<int64_t> step;
  std::optional<int64_t> rank;
  std::string graph;
  std::optional<Side> target;
  std::optional<Side> golden;
  std::string_view pairing_rule;  // "name", "normalised-name", "map"; empty if there is no partner
  std::string pairing_evidence;   // a clause; empty if the rule says it all
  bool is_model_output = false;   // told by a graph
  int64_t node = -1;              // the target's operator in Run::network; -1: it is not there

  // Parallel to Run::metrics; empty if nothing was computed.
  std::vector<metrics::Value> values;

  Verdict verdict = Verdict::kNotCompared;
  bool suspicious = false;           // passes, but within a factor of two of a limit, or a warning
  std::vector<std::string> reasons;  // stable words: "limit:cosine", "shape_mismatch", ...
  std::string message;               // what a person should know: the numbers behind the reasons
  std::string hint;                  // "would pass with rel_euclid <= 0.041", empty if none
  std::shared_ptr<const In16Bits> in_16_bits;  // whether it does is told when all rows are known
  Shown target_shows = Shown::kNothing;
  std::shared_ptr<const Judgement> if_inner;  // what holds unless it is an output of the model
  int64_t bytes = 0;                          // of both sides, as they were compared
  std::optional<OwnError> own_error;          // of an operator's output
  std::shared_ptr<const Details> details;     // null if nobody asked for them

  bool is_filtered() const;  // left out because the user said so
  // Not compared because the other model has no such tensor by design: fused away, inserted by the
  // compiler, integers inside the quantized part, a constant. No loss, no failure.
  bool has_no_counterpart() const;
  bool is_excused() const { return is_filtered() || has_no_counterpart(); }
  const Side& any_side() const { return target ? *target : *golden; }
};

// The rows of a run, in order of execution. Few are in memory; many lie in a temporary file without
// a name, and take some twenty bytes of memory each. Reading is for any number of threads.
class Rows {
 public:
  class const_iterator;
  using value_type = Row;
  using size_type = size_t;

  Rows();
  Rows(std::vector<Row> rows);
  Rows(std::initializer_list<Row> rows) : Rows(std::vector<Row>(rows)) {}
  Rows(const Rows& other);
  Rows(Rows&&) noexcept;
  Rows& operator=(const Rows& other);
  Rows& operator=(Rows&&) noexcept;
  ~Rows();

  size_t size() const;
  bool empty() const { return size() == 0; }
  // One after the other. What an iterator refers to is valid until it moves.
  const_iterator begin() const;
  const_iterator end() const;
  // Valid as long as the rows are: it stays in memory from now on.
  const Row& operator[](size_t place) const;
  Row& operator[](size_t place);
  const Row& at(size_t place) const { return (*this)[place]; }
  const Row& front() const { return (*this)[0]; }
  const Row& back() const { return (*this)[size() - 1]; }
  Row& back() { return (*this)[size() - 1]; }
  // All of them, in memory from now on: for reports that go through them again and again.
  const std::vector<Row>& all() const;
  std::vector<Row>& all();

  void push_back(Row row);
  Row& emplace_back();
  void pop_back();
  void resize(size_t size);
  void clear();
  void set(size_t place, Row&& row);
  // Calls `change` for each in turn; what it changes stays changed if it says so.
  void change_each(const std::function<bool(size_t place, Row& row)>& change);

 private:
  struct Stored;
  friend class const_iterator;
  void store();

  mutable std::vector<Row> rows_;            // or
  mutable std::unique_ptr<Stored> stored_;   // if it is there
  mutable std::unique_ptr<Stored> retired_;  // keeps rows that somebody refers to
};

class Rows::const_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Row;
  using difference_type = std::ptrdiff_t;
  using pointer = const Row*;
  using reference = const Row&;

  const_iterator() = default;
  const Row& operator*() const { return cursor_ == nullptr ? *row_ : read(); }
  const Row* operator->() const { return &**this; }
  const_iterator& operator++() {
    if (cursor_ == nullptr)
      ++row_;
    else
      ++place_;
    return *this;
  }
  const_iterator operator++(int) {
    const_iterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const const_iterator& other) const {
    return row_ == other.row_ && place_ == other.place_;
  }

 private:
  friend class Rows;
  struct Cursor;
  const Row& read() const;

  const Row* row_ = nullptr;        // in memory, or
  std::shared_ptr<Cursor> cursor_;  // in a file
  size_t place_ = 0;
};

// What is red, yellow, green and grey.
enum class Colour : uint8_t { kRed, kYellow, kGreen, kGrey };
Colour colour_of(const Row& row);

struct InputSide {
  std::string path;
  std::string convention;
  std::vector<std::string> warnings;
  int64_t files_left_out = 0;  // files that are no tensors
  std::string kept;            // where the tensors of a model that was run are; empty: nowhere
};

// What the user said about the two sides, so that they can be opened again; empty if not given.
struct Told {
  std::string graph, golden_graph, quant, name_map, mode, convention;
  bool operator==(const Told&) const = default;
};

// A limit that rows were judged by.
struct AppliedLimit {
  std::string metric, operation;  // "cosine", ">="
  double value = 0;
  std::string dtype;  // "float32", "integer": of such pairs; empty: of all others
  bool operator==(const AppliedLimit&) const = default;
};

struct Run;

// Of some of the rows: how many have which verdict.
struct Counts {
  int64_t rows = 0, pass = 0, fail = 0, inconclusive = 0, not_compared = 0;
  int64_t excused = 0;  // of not_compared: filtered, or without counterpart
  void add(const Row& row);
  Verdict verdict() const;  // kNotCompared if nothing of it was compared
};

struct Summary {
  // kNotCompared if no pair was compared; kFail also if the run is worse than its baseline.
  Verdict verdict = Verdict::kPass;
  int64_t rows = 0, pass = 0, fail = 0, inconclusive = 0, not_compared = 0;
  int64_t filtered = 0;             // of not_compared: the user's choice
  int64_t without_counterpart = 0;  // of not_compared: see Row::has_no_counterpart
  int64_t suspicious = 0;           // of pass
  // Compared rows (pass, fail, inconclusive) among those neither filtered nor without counterpart.
  double coverage = 0;
  int64_t excused() const { return filtered + without_counterpart; }
  // The earliest row that failed, in order of execution; none did, or that is not known: nullopt.
  std::optional<size_t> first_divergence;  // its place among the rows
  std::string first_divergence_operator;
  // The same rows as two questions: what users of the model see, and what is inside. Outputs are
  // known only where a graph tells them.
  Counts outputs, layers;

  // Each row, in order of execution, then what belongs to the whole run. Rows need not be those of
  // `run`.
  void add(const Row& row);
  void conclude(const Run& run);
};
Colour colour_of(const Summary& summary);

struct Run {
  std::string command;   // "compare"
  std::string scenario;  // "dump-vs-dump", "file-vs-file"
  std::string profile;
  std::vector<AppliedLimit> limits;  // of the profile; of rules by operator, those of the last one
  std::optional<double> atol, rtol;  // limits of their own, by element; see Spec
  std::string precision;  // what the target computes in, as the user says: "tf32"; else empty
  InputSide target, golden;
  std::vector<std::string> graphs;  // files that told how operators correspond
  Told told;
  Circumstances circumstances;  // versions that differ, and what the user knows of the models
  // Outputs of the model, by target operator, of which nothing was compared.
  std::vector<std::string> outputs_not_compared;
  // Whether the target records in which order its operators ran; else rows are in order of names.
  bool is_ordered = true;
  std::vector<std::string> doubts;    // why the run cannot pass whatever its rows say
  std::vector<std::string> warnings;  // what else a person should know
  double elapsed_s = 0;
  int64_t bytes = 0;         // read from both sides
  bool interrupted = false;  // rows that were not reached are not_compared, reason "interrupted"
  std::vector<std::string> samples;  // what the models were fed, by step; empty if nothing was run
  std::vector<Accuracy> accuracy;    // of outputs that are scores of classes
  std::vector<const metrics::Metric*> metrics;  // computed for each row, in the order of columns
  Rows rows;                                    // in order of execution
  std::optional<Baseline> baseline;             // an earlier run this one is held against
  std::shared_ptr<const Network> network;       // of the target; null if no graph was known
  std::vector<Finding> findings;                // most probable first
  // Of a run that was read from a file: the words its rows only point to (pairing rules, reasons of
  // undefined values). Shared, because rows are copied.
  std::shared_ptr<const std::unordered_set<std::string>> words;

  Summary summary() const;
  // The sample that a row is of; empty if none was run.
  std::string_view sample_of(const Row& row) const;
  // The row's value of a metric; undefined if it was not computed.
  metrics::Value value(const Row& row, std::string_view metric) const;
};

}  // namespace plumb::result
#pragma GCC visibility pop
