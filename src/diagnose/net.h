// SPDX-License-Identifier: Apache-2.0
//
// The network of a run with its errors: for each operator of the target what goes in, what comes
// out, and how far both are from golden. Inputs that were not dumped are their producers' outputs.
#pragma once

#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/row.h"

namespace plumb::diagnose {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// How far tensors are from golden; over several steps, samples and ranks the root of the mean
// square.
struct Error {
  double relative = kUnknown;  // rel_euclid; infinite where values are not finite as golden's are
  double slice = kUnknown;     // of the worst slice along any axis, where it is known
  bool is_known() const { return !std::isnan(relative); }
};

struct Node {
  std::string_view name, type;          // borrowed from the run or the net
  std::vector<int64_t> producers;       // nodes, one for each input that has one
  std::vector<int64_t> read;            // ... and which of their outputs
  std::vector<bool> shown;              // ... and whether that was compared, here or there
  std::vector<int64_t> consumers;       // nodes
  std::vector<size_t> outputs, inputs;  // rows that were compared, by place
  // Rows of arguments that are no tensors (a stride, a flag) and differ. They are no error that
  // was handed to it: somebody called it otherwise.
  std::vector<size_t> arguments;
  bool is_source = false;  // an input of the model, or a constant
  bool is_constant = false;
  // Golden has no such operator: the row of its output has no counterpart.
  std::optional<size_t> inserted;
  // ... but it only quantizes, and this row shows what: what it gives out stands for that.
  std::optional<size_t> stands_for;
  bool is_output = false;  // of the model
  int64_t origins = 0;     // operators it was made from, if that is recorded
  Error in, out;
  double own = kUnknown;        // measured: by replaying it, or by arithmetic
  double own_doubt = 0;         // how far that may be off
  double inherited = kUnknown;  // likewise, by arithmetic: what its inputs explain
  size_t measured = 0;          // ... at this row
  double grain = 0;   // of quantized values, where all are: rms of half a step, relative to golden
  double hidden = 0;  // error of the usual channels, which one large channel hides
  bool knows_inputs = true;  // else `in` tells nothing
  // Operators before it, one behind the other, that computed what nobody compared: `in` is the
  // error before them, and who made a step since then nobody can tell.
  int64_t unseen = 0;
  bool fails = false;   // an output of it is out of limits, or not finite as golden's is
  bool is_odd = false;  // ... or near a limit
};

// What is asked of many rows, which are not looked up for it: by place among them.
struct RowFacts {
  double error = std::numeric_limits<double>::infinity();  // rel_euclid; infinite if there is none
  int64_t elements = -1;         // of the target; negative if its shape is not known
  uint32_t slot = 0, scope = 0;  // the same number for the same target slot; step and rank
  bool is_seen = false;          // an output that was compared
  bool is_lost = false;          // ... or was not, though the other side should have it
};

struct Net {
  const result::Run& run;
  std::vector<Node> nodes;
  std::vector<int64_t> order;  // of execution: producers before consumers, as far as edges tell
  bool has_edges = false;
  std::vector<RowFacts> rows;                          // of the run
  std::map<std::string, int64_t> output_types;         // how many outputs the target stores as what
  std::map<std::string, uint32_t, std::less<>> slots;  // numbers by text
  std::deque<std::string> texts;                       // names and types that nodes borrow

  // Nodes whose values reach these, or that one reaches, themselves included.
  std::vector<bool> upstream_of(const std::vector<int64_t>& from) const;
  std::vector<bool> downstream_of(int64_t node) const;
};

// Whether most outputs of the target are stored so.
bool stores_mostly(const Net& net, std::string_view dtype);

// Changes where values are, or their type, and nothing else.
bool only_moves_values(std::string_view type);

// Puts values on a grid or takes them off it, and nothing else.
bool only_quantizes(std::string_view type);

// ... or stands between two that do: some tools write a Cast of the integers there.
bool may_be_in_quantizer(std::string_view type);

// A convolution, a dense layer, a product of matrices; perhaps with more behind it.
bool is_product(std::string_view type);

// Whose values tell as much of what it reads, if they were not compared: a source, what golden does
// not have, what changes no values.
bool hands_on(const Node& node);

// Where nothing tells who reads what: rows of operators that ran since the last one that was
// compared before this one, latest first.
std::vector<size_t> lost_before(const Net& net, const Node& node);

// The rows of what an operator is given by one of its producers (by place): of the output that it
// reads, or of all where slots do not tell.
std::vector<size_t> rows_given(const Net& net, const Node& node, size_t producer);

// rel_euclid of a row; infinite where there is none.
double error_of_row(const Net& net, size_t row);

// O(rows + nodes + edges). Borrows the run.
Net net_of(const result::Run& run);

}  // namespace plumb::diagnose
