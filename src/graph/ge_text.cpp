// SPDX-License-Identifier: Apache-2.0
//
// GE graphs in protobuf's text format: ge_proto_*.txt as the graph engine dumps them, with the
// operators inside `graph`, and dynamo_*.txt of TorchAir, which are one graph without it. A run
// that was stopped leaves a file that ends anywhere; its whole operators are kept.
#include <fmt/format.h>

#include "base/counted.h"
#include "graph/ge.h"
#include "graph/memory_limit.h"
#include "graph/proto_text.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

constexpr const char* kTextRemedy =
    "give the ge_proto_*.txt that DUMP_GE_GRAPH=2 writes, or TorchAir's graph dump of type txt";

class GraphReader {
 public:
  GraphReader(Graph& out, std::string_view text) : out_(out), reader_(text), limit_(text.size()) {}

  void read() {
    ProtoTextField field;
    while (reader_.next(field)) {
      if (field.name == "name") {
        out_.name = field.text();
      } else if (field.name == "op") {
        read_operator(field);
        if (parts_.empty()) parts_.push_back({});
        parts_.back().end = out_.operators.size();
      } else if (field.name == "graph" && reader_.is_message(field)) {
        read_graph();
      }
    }
    if (out_.name.empty() && parts_.size() == 1) out_.name = parts_[0].name;
    if (parts_.size() > 1 && !name_subgraphs(out_, parts_, limit_)) fail_limit(0);
    set_model_outputs(out_, calls_);
  }

  const ProtoTextReader& text() const { return reader_; }

 private:
  void read_graph() {
    reader_.enter();
    std::string name;
    ProtoTextField field;
    while (reader_.next(field)) {
      if (field.name == "name") {
        name = field.text();
      } else if (field.name == "op") {
        read_operator(field);
      }
    }
    parts_.push_back({std::move(name), out_.operators.size()});
  }

  void read_operator(const ProtoTextField& field) {
    if (!reader_.is_message(field)) return;
    if (!limit_.take(sizeof(Operator))) return fail_limit(field.position);
    reader_.enter();
    GeOperator current;
    ProtoTextField member;
    while (reader_.next(member)) {
      if (member.name == "name") {
        current.op.name = without_slice(member.text());
      } else if (member.name == "type") {
        current.op.type = member.text();
      } else if (member.name == "id") {
        current.op.id = member.integer();
      } else if (member.name == "input") {
        current.add_input(member.text());
      } else if (member.name == "subgraph_name") {
        if (!limit_.take(sizeof(std::string))) return fail_limit(member.position);
        current.calls.push_back(member.text());
      } else if (member.name == "attr" && reader_.is_message(member)) {
        read_attribute(ge_operator_key,
                       [&](GeKey key, GeValue value) { current.set(key, std::move(value)); });
      } else if (member.name == "output_desc" && reader_.is_message(member)) {
        if (!limit_.take(sizeof(Output))) return fail_limit(member.position);
        read_output(current.op.outputs.emplace_back());
      }
    }
    if (!reader_.ok()) return;  // half an operator is none
    if (current.op.name.empty()) return reader_.fail(field.position, "an operator has no name");
    current.tell_calls(calls_);
    out_.operators.push_back(std::move(current).finish(out_.warnings));
  }

  void read_output(Output& output) {
    reader_.enter();
    ProtoTextField field;
    while (reader_.next(field)) {
      if (field.name == "dtype") {
        output.dtype = ge_dtype(field.value);
      } else if (field.name == "layout") {
        output.layout = field.text();
      } else if (field.name == "shape" && reader_.is_message(field)) {
        output.shape = reader_.dims();
      } else if (field.name == "attr" && reader_.is_message(field)) {
        output.has_attributes = true;
        read_attribute(ge_output_key, [&](GeKey key, GeValue value) {
          GeOperator::set(output, key, std::move(value));
        });
      }
    }
  }

  template <class Set>
  void read_attribute(GeKey (*key_of)(std::string_view), Set set) {
    reader_.enter();
    std::optional<GeKey> key;
    GeValue value;
    ProtoTextField field;
    while (reader_.next(field)) {
      if (field.name == "key") {
        key = key_of(field.text());
      } else if (field.name == "value" && key != GeKey::kNone && reader_.is_message(field)) {
        read_value(value);
      }
    }
    if (key && *key != GeKey::kNone) set(*key, std::move(value));
  }

  void read_value(GeValue& value) {
    reader_.enter();
    ProtoTextField field;
    while (reader_.next(field)) {
      if (field.name == "s") {
        value.s = field.text();
      } else if (field.name == "i") {
        value.i = reader_.integer(field);
      } else if (field.name == "f") {
        value.f = field.number();
      } else if (field.name == "b") {
        value.b = field.boolean();
      } else if (field.name == "list" && reader_.is_message(field)) {
        reader_.enter();
        while (reader_.next(field)) {
          if (field.name == "s") value.list_s.push_back(field.text());
          if (field.name == "i") value.list_i.push_back(reader_.integer(field));
        }
      }
    }
  }

  void fail_limit(size_t position) {
    reader_.fail(position, fmt::format("the operators need more than {} times the file's size",
                                       MemoryLimit::kGrowth));
  }

  Graph& out_;
  ProtoTextReader reader_;
  MemoryLimit limit_;
  std::vector<GePart> parts_;
  GeCalls calls_;
};

}  // namespace

bool is_ge_text(Bytes head) {
  ProtoTextReader reader(as_text(head));
  ProtoTextField field;
  bool has_edges = false;  // a graph may start with a long list of them
  while (reader.next(field)) {
    if (field.kind == ProtoTextField::Kind::kMessage &&
        (field.name == "op" || field.name == "graph"))
      return true;
    if (field.name.starts_with("layer") || field.name.starts_with("input_")) return false;
    if (field.name == "input") has_edges |= field.value.find(':') != std::string_view::npos;
  }
  return has_edges;
}

Result<Graph> graph_from_ge_text(Bytes file) {
  Graph graph;
  GraphReader reader(graph, as_text(file));
  reader.read();
  const ProtoTextReader& text = reader.text();
  if (!text.ok()) {
    if (graph.operators.empty()) return Error{"the GE graph is damaged", text.where(), kTextRemedy};
    graph.warnings.push_back(fmt::format("{}: only what is before it was read, {}", text.where(),
                                         counted(graph.operators.size(), "operator")));
  } else if (graph.operators.empty()) {
    return Error{"the GE graph has no operators", "line 1: there is no 'op' in the whole file",
                 kTextRemedy};
  }
  return graph;
}

}  // namespace plumb::graph
