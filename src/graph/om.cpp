// SPDX-License-Identifier: Apache-2.0
//
// The graph in Ascend's offline model (.om), so that nobody needs `atc --mode=1` to see it. It is
// the message ge.proto.ModelDef, of which the JSON is a translation; both become the same graph.
// Newer compilers (CANN 7 and later) write attributes by number, with a dictionary among the
// model's own attributes: without it there would be no names of the original operators.
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "base/proto_wire.h"
#include "graph/ge.h"
#include "graph/memory_limit.h"
#include "graph/om_file.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

// Numbers of fields in ge_ir.proto.
namespace ge_model_field {
constexpr uint32_t kName = 1, kGraph = 7, kAttribute = 11;
}
namespace ge_graph_field {
constexpr uint32_t kName = 1, kOperator = 6;
}
namespace ge_op_field {
constexpr uint32_t kName = 1, kType = 2, kInput = 5, kAttribute = 10, kId = 21, kOutput = 34,
                   kSubgraph = 35;
}
namespace ge_tensor_field {
constexpr uint32_t kDtype = 2, kShape = 3, kLayout = 4, kAttribute = 5;
}
namespace ge_shape_field {
constexpr uint32_t kDim = 1;
}
namespace ge_entry_field {  // of an attribute
constexpr uint32_t kKey = 1, kValue = 2;
}
namespace ge_value_field {
constexpr uint32_t kList = 1, kText = 2, kInteger = 3, kFloat = 4, kBoolean = 5, kGraph = 13;
}
namespace ge_list_field {
constexpr uint32_t kText = 2, kInteger = 3, kBoolean = 5;
}

constexpr int kMostNesting = 32;  // of graphs inside attributes; GE goes no deeper than 20

constexpr std::string_view kGeTypes[] = {
    "DT_UNDEFINED",      "DT_FLOAT",       "DT_FLOAT16",     "DT_INT8",        "DT_UINT8",
    "DT_INT16",          "DT_UINT16",      "DT_INT32",       "DT_INT64",       "DT_UINT32",
    "DT_UINT64",         "DT_BOOL",        "DT_DOUBLE",      "DT_STRING",      "DT_DUAL_SUB_INT8",
    "DT_DUAL_SUB_UINT8", "DT_COMPLEX64",   "DT_COMPLEX128",  "DT_QINT8",       "DT_QINT16",
    "DT_QINT32",         "DT_QUINT8",      "DT_QUINT16",     "DT_RESOURCE",    "DT_STRING_REF",
    "DT_DUAL",           "DT_VARIANT",     "DT_BF16",        "DT_INT4",        "DT_UINT1",
    "DT_INT2",           "DT_UINT2",       "DT_COMPLEX32",   "DT_HIFLOAT8",    "DT_FLOAT8_E5M2",
    "DT_FLOAT8_E4M3FN",  "DT_FLOAT8_E8M0", "DT_FLOAT6_E3M2", "DT_FLOAT6_E2M3", "DT_FLOAT4_E2M1",
    "DT_FLOAT4_E1M2",    "DT_HIFLOAT4"};

// Names and texts of attributes, where the file has numbers for them.
struct Dictionary {
  bool is_used = false;
  std::vector<std::string_view> names, texts;  // borrowed from the file
  std::vector<int64_t> has_texts;              // by name: its integers are numbers of texts
};

class OmReader {
 public:
  OmReader(Graph& out, Bytes message, uint64_t at)
      : out_(out), message_(message), at_(at), limit_(message.size()) {}

  void read() {
    // The dictionary may come after the graphs.
    each(whole(), [&](const ProtoField& field) {
      if (field.number == ge_model_field::kName) out_.name = text(field);
      if (field.number == ge_model_field::kAttribute) read_model_attribute(field);
    });
    bool has_graph = false;
    each(whole(), [&](const ProtoField& field) {
      if (field.number != ge_model_field::kGraph) return;
      has_graph = true;
      read_graph(field);
    });
    if (!has_graph) fail(at_, "there is no graph in the model");
    if (ok() && parts_.size() > 1 && !name_subgraphs(out_, parts_, limit_)) fail_limit(at_);
    if (ok()) set_model_outputs(out_, calls_);
  }

  bool ok() const { return problem_.empty(); }
  Error error() const {
    return {"the graph of the offline model is damaged",
            fmt::format("byte {}: {}", failed_at_, problem_), kOmRemedy};
  }

 private:
  ProtoField whole() const { return {0, WireType::kBytes, 0, message_, at_, at_}; }

  // ---- attributes of the model ----

  void read_model_attribute(const ProtoField& entry) {
    const std::string_view key = key_of(entry);
    const auto lists = [&](uint32_t number, auto add) {
      each_value(entry, [&](const ProtoField& value) {
        if (value.number != ge_value_field::kList) return;
        each(value, [&](const ProtoField& item) {
          if (item.number == number) add(item);
        });
      });
    };
    const auto texts = [&](std::vector<std::string_view>& to) {
      to.clear();  // of a key that comes again the last counts
      lists(ge_list_field::kText, [&](const ProtoField& item) {
        take(sizeof(std::string_view), item.position);
        to.push_back(text(item));
      });
    };
    if (key == "om_compress_version") {
      each_value(entry, [&](const ProtoField& value) {
        dictionary_.is_used = value.number == ge_value_field::kInteger && value.value == 1;
      });
    } else if (key == "attr_name_enum") {
      texts(dictionary_.names);
    } else if (key == "attr_value_enum") {
      texts(dictionary_.texts);
    } else if (key == "attrs_use_string_value") {
      dictionary_.has_texts.clear();
      lists(ge_list_field::kBoolean,
            [&](const ProtoField& item) { add_integers(item, dictionary_.has_texts); });
    } else if (is_ge_property(key)) {
      each_value(entry, [&](const ProtoField& value) {
        if (value.number == ge_value_field::kText) set_ge_property(out_, key, text(value));
      });
    }
  }

  // ---- graphs ----

  void read_graph(const ProtoField& message) {
    std::string name;
    each(message, [&](const ProtoField& field) {
      if (field.number == ge_graph_field::kName) name = text(field);
      if (field.number == ge_graph_field::kOperator) read_operator(field);
    });
    take(sizeof(GePart), message.position);
    parts_.push_back({std::move(name), out_.operators.size()});
  }

  void read_operator(const ProtoField& message) {
    take(sizeof(Operator), message.position);
    GeOperator current;
    Operator& op = current.op;
    each(message, [&](const ProtoField& field) {
      switch (field.number) {
        case ge_op_field::kName: op.name = without_slice(text(field)); break;
        case ge_op_field::kType: op.type = text(field); break;
        case ge_op_field::kId:  // 0 is what is not written, in the JSON as well
          if (field.value != 0) op.id = static_cast<int64_t>(field.value);
          break;
        case ge_op_field::kInput:
          take(sizeof(Edge), field.position);
          current.add_input(text(field));
          break;
        case ge_op_field::kAttribute:
          read_attribute(field, ge_operator_key,
                         [&](GeKey key, GeValue value) { current.set(key, std::move(value)); });
          break;
        case ge_op_field::kSubgraph:
          take(sizeof(std::string), field.position);
          current.calls.emplace_back(text(field));
          break;
        case ge_op_field::kOutput:
          take(sizeof(Output), field.position);
          read_output(field, op.outputs.emplace_back());
          break;
        default: break;
      }
    });
    if (ok() && (op.name.empty() || op.type.empty()))
      fail(message.position, "an operator without name or type");
    if (!ok()) return;
    current.tell_calls(calls_);
    out_.operators.push_back(std::move(current).finish(out_.warnings));
  }

  void read_output(const ProtoField& message, Output& output) {
    each(message, [&](const ProtoField& field) {
      switch (field.number) {
        case ge_tensor_field::kDtype:
          output.dtype =
              field.value < std::size(kGeTypes) ? ge_dtype(kGeTypes[field.value]) : std::nullopt;
          break;
        case ge_tensor_field::kLayout: output.layout = text(field); break;
        case ge_tensor_field::kShape: read_shape(field, output.shape); break;
        case ge_tensor_field::kAttribute:
          output.has_attributes = true;
          read_attribute(field, ge_output_key, [&](GeKey key, GeValue value) {
            GeOperator::set(output, key, std::move(value));
          });
          break;
        default: break;
      }
    });
  }

  // A shape without sizes stays unset: the JSON does not tell a scalar from what is not known.
  void read_shape(const ProtoField& message, std::optional<Shape>& shape) {
    each(message, [&](const ProtoField& field) {
      if (field.number != ge_shape_field::kDim) return;
      if (!shape) shape.emplace();
      add_integers(field, *shape);
    });
  }

  // ---- attributes of operators and outputs ----

  template <class Set>
  void read_attribute(const ProtoField& entry, GeKey (*key_of_name)(std::string_view), Set set) {
    std::string_view name = key_of(entry);
    bool has_texts = false;
    if (name.starts_with('\0')) {
      const auto index = index_of(name, entry.position);
      if (!index) return;
      name = dictionary_.names[*index];
      has_texts = dictionary_.has_texts[*index] != 0;
    }
    const GeKey key = key_of_name(name);
    GeValue read;
    each_value(entry, [&](const ProtoField& field) {
      if (field.number == ge_value_field::kGraph) check_nesting(field, 1);
      if (key != GeKey::kNone) read_value(field, has_texts, read);
    });
    if (ok() && key != GeKey::kNone) set(key, std::move(read));
  }

  // Of a key written as a zero and the digits of a number to the base 127, the lowest first.
  std::optional<size_t> index_of(std::string_view key, uint64_t position) {
    constexpr size_t kMostDigits = 4;
    size_t index = 0, weight = 1;
    bool is_number = dictionary_.is_used && key.size() > 1 && key.size() <= 1 + kMostDigits;
    for (size_t i = 1; i < key.size() && is_number; ++i, weight *= 127) {
      const auto digit = static_cast<unsigned char>(key[i]);
      is_number = digit >= 1 && digit <= 127;
      index += (digit - 1u) * weight;
    }
    if (!dictionary_.is_used) {
      fail(position, "an attribute is written by number, but the model has no dictionary for it");
    } else if (!is_number || index >= dictionary_.names.size() ||
               index >= dictionary_.has_texts.size()) {
      fail(position, fmt::format("an attribute is number {} of a dictionary of {}", index,
                                 dictionary_.names.size()));
    } else {
      return index;
    }
    return {};
  }

  // One member of the value; as in all of protobuf the last one counts.
  void read_value(const ProtoField& field, bool has_texts, GeValue& out) {
    if (field.number == ge_value_field::kList) {
      out = GeValue{{}, {}, {}, {}, std::move(out.list_s), std::move(out.list_i)};
      return read_list(field, has_texts, out);
    }
    out = {};
    switch (field.number) {
      case ge_value_field::kText: out.s = text(field); break;
      case ge_value_field::kInteger:
        if (has_texts) {
          out.s = numbered_text(static_cast<int64_t>(field.value), field.position);
        } else {
          out.i = static_cast<int64_t>(field.value);
        }
        break;
      case ge_value_field::kFloat:
        out.f = std::bit_cast<float>(static_cast<uint32_t>(field.value));
        break;
      case ge_value_field::kBoolean: out.b = field.value != 0; break;
      default: break;
    }
  }

  void read_list(const ProtoField& list, bool has_texts, GeValue& out) {
    std::vector<int64_t> numbers;
    each(list, [&](const ProtoField& item) {
      if (item.number == ge_list_field::kText) {
        take(sizeof(std::string), item.position);
        out.list_s.emplace_back(text(item));
      } else if (item.number == ge_list_field::kInteger) {
        add_integers(item, has_texts ? numbers : out.list_i);
      }
    });
    for (const int64_t number : numbers) {
      if (!ok()) return;
      out.list_s.push_back(numbered_text(number, list.position));
    }
  }

  std::string numbered_text(int64_t number, uint64_t position) {
    const auto index = static_cast<uint64_t>(number);
    if (index >= dictionary_.texts.size()) {
      fail(position, fmt::format("a text is number {} of a dictionary of {}", number,
                                 dictionary_.texts.size()));
      return {};
    }
    const std::string_view found = dictionary_.texts[static_cast<size_t>(index)];
    take(sizeof(std::string) + found.size(), position);
    return ok() ? std::string(found) : std::string();
  }

  // A graph inside an attribute is not ours, but it ends somewhere.
  void check_nesting(const ProtoField& graph, int depth) {
    if (depth > kMostNesting)
      return fail(graph.position, fmt::format("graphs are nested more than {} deep", kMostNesting));
    each(graph, [&](const ProtoField& op) {
      if (op.number != ge_graph_field::kOperator) return;
      each(op, [&](const ProtoField& entry) {
        if (entry.number != ge_op_field::kAttribute) return;
        each_value(entry, [&](const ProtoField& field) {
          if (field.number == ge_value_field::kGraph) check_nesting(field, depth + 1);
        });
      });
    });
  }

  // ---- messages ----

  template <class Visit>
  void each(const ProtoField& message, Visit visit) {
    if (!ok()) return;
    if (message.type != WireType::kBytes)
      return fail(message.position, "a number where a message belongs");
    ProtoReader reader(message);
    ProtoField field;
    while (ok() && reader.next(field)) visit(field);
    if (!reader.ok()) fail(reader.failed_at(), reader.problem());
  }

  template <class Visit>
  void each_value(const ProtoField& entry, Visit visit) {
    each(entry, [&](const ProtoField& field) {
      if (field.number == ge_entry_field::kValue) each(field, visit);
    });
  }

  std::string_view key_of(const ProtoField& entry) {
    std::string_view key;
    each(entry, [&](const ProtoField& field) {
      if (field.number == ge_entry_field::kKey) key = text(field);
    });
    return key;
  }

  std::string_view text(const ProtoField& field) {
    if (field.type != WireType::kBytes) fail(field.position, "a number where a text belongs");
    return as_text(field.bytes);
  }

  void add_integers(const ProtoField& field, std::vector<int64_t>& to) {
    const size_t before = to.size();
    ProtoReader reader({}, field.position);
    if (!reader.append_varints(field, to, message_.size()))
      return fail(reader.failed_at(), reader.problem());
    take((to.size() - before) * sizeof(int64_t), field.position);
  }

  void take(size_t bytes, uint64_t position) {
    if (!limit_.take(bytes)) fail_limit(position);
  }

  void fail_limit(uint64_t position) {
    fail(position, fmt::format("the operators up to here need more than {} times its size",
                               MemoryLimit::kGrowth));
  }

  void fail(uint64_t position, std::string problem) {
    if (!ok()) return;
    failed_at_ = position;
    problem_ = std::move(problem);
  }

  Graph& out_;
  Bytes message_;
  uint64_t at_;  // of the message, in the file
  MemoryLimit limit_;
  Dictionary dictionary_;
  std::vector<GePart> parts_;
  GeCalls calls_;
  uint64_t failed_at_ = 0;
  std::string problem_;
};

}  // namespace

Result<Graph> graph_from_om(Bytes file) {
  auto opened = open_om(file);
  if (!opened) return opened.error();
  Graph graph;
  graph.warnings = std::move(opened->warnings);
  OmReader reader(graph, opened->graph, opened->graph_at);
  reader.read();
  if (!reader.ok()) return reader.error();
  return graph;
}

}  // namespace plumb::graph
