// SPDX-License-Identifier: Apache-2.0
//
// Caffe networks, described in caffe.proto of BVLC/caffe: `layer` as written today and `layers`
// with types in capitals as before 2015. A layer may overwrite the blob it reads, so a blob's
// producer is the last layer above that writes it.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "graph/memory_limit.h"
#include "graph/oddity.h"
#include "graph/proto_text.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

// Names that are not the old one in CamelCase.
struct OldType {
  std::string_view old;
  std::string_view now;
};
constexpr OldType kOldTypes[] = {
    {"ABSVAL", "AbsVal"},
    {"ARGMAX", "ArgMax"},
    {"BNLL", "BNLL"},
    {"HDF5_DATA", "HDF5Data"},
    {"HDF5_OUTPUT", "HDF5Output"},
    {"IM2COL", "Im2col"},
    {"LRN", "LRN"},
    {"MVN", "MVN"},
    {"RELU", "ReLU"},
    {"SOFTMAX_LOSS", "SoftmaxWithLoss"},
    {"TANH", "TanH"},
};

// CONVOLUTION -> Convolution, INNER_PRODUCT -> InnerProduct.
std::string type_from_old(std::string_view old) {
  for (const OldType& type : kOldTypes)
    if (type.old == old) return std::string(type.now);
  std::string name;
  bool starts_word = true;
  for (char c : old) {
    if (c == '_') {
      starts_word = true;
      continue;
    }
    name += !starts_word && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    starts_word = false;
  }
  return name;
}

class NetReader {
 public:
  NetReader(Graph& out, std::string_view text) : out_(out), reader_(text), limit_(text.size()) {}

  void read() {
    ProtoTextField field;
    while (reader_.next(field)) {
      if (field.name == "name") {
        out_.name = field.text();
      } else if (field.name == "input") {
        add_input(field);
      } else if (field.name == "input_dim") {
        old_dims_.push_back(reader_.integer(field));
      } else if (field.name == "input_shape" && reader_.is_message(field)) {
        shapes_.push_back(reader_.dims());
      } else if ((field.name == "layer" || field.name == "layers") && reader_.is_message(field)) {
        read_layer(field);
      }
    }
    shape_inputs();
    for (const Blob& blob : blobs_)
      if (!blob.is_read) out_.outputs.push_back({out_.operators[blob.op].name, blob.output});
    tell_oddities();
  }

  const ProtoTextReader& text() const { return reader_; }

 private:
  // One version of a blob: what one layer wrote, until another overwrites it.
  struct Blob {
    size_t op = 0;
    int64_t output = 0;
    bool is_read = false;
  };
  struct Layer {
    std::string name, type;
    std::vector<std::string> bottoms, tops;
    std::vector<Shape> shapes;  // of an Input layer
    bool has_include = false, is_included = false, is_excluded = false;
  };
  void add_input(const ProtoTextField& field) {
    if (!take(sizeof(Operator) + sizeof(Output), field.position)) return;
    Operator op;
    op.name = field.text();
    op.type = "Input";
    inputs_.push_back(out_.operators.size());
    out_.operators.push_back(std::move(op));
    write_blob(out_.operators.size() - 1, out_.operators.back().name);
  }

  // The shapes of inputs outside of layers come after their names: as messages, or four numbers
  // each.
  void shape_inputs() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      std::optional<Shape>& shape = out_.operators[inputs_[i]].outputs[0].shape;
      if (i < shapes_.size()) {
        shape = shapes_[i];
      } else if (4 * i + 4 <= old_dims_.size()) {
        const auto first = old_dims_.begin() + static_cast<std::ptrdiff_t>(4 * i);
        shape = Shape(first, first + 4);
      }
    }
  }

  void read_layer(const ProtoTextField& field) {
    reader_.enter();
    Layer layer;
    ProtoTextField member;
    while (reader_.next(member)) {
      if (member.name == "name") {
        layer.name = member.text();
      } else if (member.name == "type") {
        layer.type = member.kind == ProtoTextField::Kind::kWord ? type_from_old(member.value)
                                                                : member.text();
      } else if (member.name == "bottom") {
        layer.bottoms.push_back(member.text());
      } else if (member.name == "top") {
        layer.tops.push_back(member.text());
      } else if (member.name == "include" && reader_.is_message(member)) {
        layer.has_include = true;
        layer.is_included |= read_phase() != "TRAIN";
      } else if (member.name == "exclude" && reader_.is_message(member)) {
        layer.is_excluded |= read_phase() == "TEST";
      } else if (member.name == "input_param" && reader_.is_message(member)) {
        reader_.enter();
        while (reader_.next(member))
          if (member.name == "shape" && reader_.is_message(member))
            layer.shapes.push_back(reader_.dims());
      }
    }
    if (!reader_.ok()) return;
    if (layer.is_excluded || (layer.has_include && !layer.is_included)) {
      training_only_.add(layer.name);
    } else if (layer.name.empty() && layer.tops.empty()) {
      reader_.fail(field.position, "a layer has neither a name nor a top");
    } else {
      add_layer(layer, field.position);
    }
  }

  // The phase a rule names; "" if it is about something else.
  std::string_view read_phase() {
    reader_.enter();
    std::string_view phase;
    ProtoTextField field;
    while (reader_.next(field))
      if (field.name == "phase") phase = field.value;
    return phase == "0" ? "TRAIN" : phase == "1" ? "TEST" : phase;
  }

  void add_layer(Layer& layer, size_t position) {
    if (!take(sizeof(Operator) + layer.tops.size() * sizeof(Output), position)) return;
    const size_t index = out_.operators.size();
    Operator& op = out_.operators.emplace_back();
    op.name = layer.name.empty() ? layer.tops[0] : std::move(layer.name);
    op.type = std::move(layer.type);
    for (const std::string& bottom : layer.bottoms) read_blob(op, bottom, position);
    const std::unordered_set<std::string_view> own(layer.bottoms.begin(), layer.bottoms.end());
    bool overwrites = false;
    for (const std::string& top : layer.tops) {
      const bool is_own = own.count(top) != 0;
      overwrites |= is_own;
      if (!is_own && current_.count(top) != 0) written_twice_.add(top);
      write_blob(index, top);
    }
    if (overwrites) in_place_.add(op.name);
    if (layer.shapes.empty()) return;
    for (size_t i = 0; i < op.outputs.size(); ++i) {  // the last shape is for all that follow
      const Shape& shape = layer.shapes[std::min(i, layer.shapes.size() - 1)];
      if (!take(8 * shape.size(), position)) return;
      op.outputs[i].shape = shape;
    }
  }

  void read_blob(Operator& op, const std::string& name, size_t position) {
    const auto found = current_.find(name);
    if (found == current_.end()) {
      unknown_.add(name);
      op.inputs.push_back({});
      return;
    }
    Blob& blob = blobs_[found->second];
    blob.is_read = true;
    const std::string& producer = out_.operators[blob.op].name;
    if (take(sizeof(Edge) + producer.size(), position))
      op.inputs.push_back({producer, blob.output});
  }

  void write_blob(size_t index, const std::string& name) {
    Operator& op = out_.operators[index];
    current_[name] = blobs_.size();
    blobs_.push_back({index, static_cast<int64_t>(op.outputs.size()), false});
    op.outputs.emplace_back().name = name;
  }

  void tell_oddities() {
    in_place_.tell(
        "layers that overwrite their input; a dump of blobs by name holds only what the last layer "
        "wrote",
        out_.warnings);
    training_only_.tell("layers for training only, left out", out_.warnings);
    written_twice_.tell("blobs written by several layers; each reader gets the last one above it",
                        out_.warnings);
    unknown_.tell("blobs read by a layer, but written by none above it", out_.warnings);
  }

  bool take(size_t bytes, size_t position) {
    if (limit_.take(bytes)) return true;
    reader_.fail(position, fmt::format("the layers need more than {} times the file's size",
                                       MemoryLimit::kGrowth));
    return false;
  }

  Graph& out_;
  ProtoTextReader reader_;
  MemoryLimit limit_;
  std::vector<Blob> blobs_;
  std::unordered_map<std::string, size_t> current_;  // by name: the version that is read now
  std::vector<size_t> inputs_;                       // operators made of `input`
  std::vector<Shape> shapes_;
  std::vector<int64_t> old_dims_;
  Oddity in_place_, training_only_, written_twice_, unknown_;
};

}  // namespace

bool is_prototxt(Bytes head) {
  ProtoTextReader reader(as_text(head));
  ProtoTextField field;
  bool has_input = false;
  while (reader.next(field)) {
    if (field.kind == ProtoTextField::Kind::kMessage &&
        (field.name == "layer" || field.name == "layers" || field.name == "input_shape"))
      return true;
    if (field.name == "op" || field.name == "graph") return false;
    has_input |= field.name == "input";
  }
  return has_input;
}

Result<Graph> graph_from_prototxt(Bytes file) {
  Graph graph;
  NetReader reader(graph, as_text(file));
  reader.read();
  const char* remedy = "give the network's deploy.prototxt as Caffe reads it";
  if (!reader.text().ok()) return Error{"the prototxt is damaged", reader.text().where(), remedy};
  if (graph.operators.empty())
    return Error{"the prototxt has no layers", "line 1: there is no 'layer' in the whole file",
                 remedy};
  return graph;
}

}  // namespace plumb::graph
