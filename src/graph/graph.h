// SPDX-License-Identifier: Apache-2.0
//
// A model as a list of operators, whatever file described it. A converted model also says what its
// operators were made from: the names, outputs and layouts of the original model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb::graph {

// Where an input comes from.
struct Edge {
  std::string producer;  // operator name; empty if what the file says cannot be understood
  int64_t output = 0;    // its output
};

// Why no tensor of the other model stands for one, where structure had to tell.
struct Absence {
  std::string_view reason;  // a reason code: "no_counterpart", "inside_fusion", "ambiguous_pair"
  std::string message;      // ... in words
};

// A tensor an operator produces, and which tensor of the original model it stands for. Empty
// strings and nullopt for what the file does not say.
struct Output {
  std::string name;  // of the tensor, where the model has such names (ONNX, Caffe, TorchAir)
  std::optional<DType> dtype;
  std::string layout;  // "NC1HWC0"
  std::optional<Shape> shape;
  std::string origin;  // operator of the original model
  std::optional<int64_t> origin_output;
  std::string evidence;       // how the origin is known, if the file did not record it
  std::string origin_layout;  // "NCHW"
  std::optional<Shape> origin_shape;
  bool has_attributes = false;     // the file had an attribute list for it, even an empty one
  std::optional<Absence> absence;  // of a counterpart; filled in by who pairs two graphs
};

// How an operator turns numbers into integers: integer = round(number * scale + offset).
struct Quantization {
  double scale = 1;
  double offset = 0;
};

// What a constant holds, in short: equal numbers are equal constants, as far as their first and
// last bytes tell.
struct Constant {
  uint64_t print = 0;
  int64_t elements = 0;
  bool operator==(const Constant&) const = default;
};

struct Operator {
  std::string name;
  std::string type;
  std::optional<int64_t> id;  // position in the order of execution, as recorded
  std::string subgraph;       // name of the graph it stands in, if the file has several
  std::vector<Edge> inputs;   // data only; control edges are dropped
  std::vector<Output> outputs;
  // Operators of the original model this one was made from. nullopt: not recorded, so it is the
  // original itself. Empty (or one empty name): inserted by the compiler.
  std::optional<std::vector<std::string>> origins;
  bool is_multi_op = false;  // member of a many-to-many fusion
  std::string l1_group;      // operators fused through the L1 buffer share one
  std::optional<Quantization> quantization;
  // 16-bit floats that it works in, as the model itself says: a cast to them, or a weight of them.
  std::optional<DType> narrow;
  std::vector<Constant>
      constants;  // it reads, without those of other operators; of a Constant: its own

  bool is_inserted() const;  // by the compiler: TransData, Cast, Const, ...
};

struct Graph {
  std::string name;
  std::string format;                 // Importer::name
  std::vector<Operator> operators;    // in the order of the file
  std::vector<Edge> outputs;          // of the model; empty if the file does not say
  std::vector<std::string> warnings;  // oddities worth telling
  // How it was made, in the words of the file: {"atc_version", "7.6.0.1.220"}.
  std::vector<std::pair<std::string, std::string>> properties;
  std::string command_line;  // that made it; holds paths of that machine, shown on request only

  // Recorded by what ran the model to dump it: nothing is missing, and every cast is the model's.
  bool is_of_a_run() const { return format == "plumb-dump"; }
  // By name; with several of one name the first. Valid until `operators` changes.
  std::unordered_map<std::string_view, const Operator*> by_name() const;
};

}  // namespace plumb::graph
