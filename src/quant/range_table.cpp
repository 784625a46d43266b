// SPDX-License-Identifier: Apache-2.0
#include "quant/range_table.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/counted.h"
#include "base/crc32.h"
#include "base/json_dom.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "input/config_tree.h"
#include "quant/plan.h"

namespace plumb::quant {
namespace {

std::optional<double> finite_from(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

Error unknown_table(std::string where) {
  return {"this is no table of ranges", std::move(where),
          "use calibration.json, .flatbuffers or .cache of ONNX Runtime, a calibration cache of "
          "TensorRT, scale_offset_record.txt of AMCT, a calibration table of tpu-mlir, or "
          "quant.json"};
}
Error bad_range(std::string where) {
  return {"a range was expected", std::move(where), "two finite numbers, the smaller one first"};
}

// ---- FlatBuffers: a table has a table of offsets of its fields, all little-endian ----

class FlatReader {
 public:
  explicit FlatReader(Bytes file) : file_(file) {}

  bool ok() const { return ok_; }
  uint32_t root() { return follow(0); }
  // Where a field's offset leads to; 0: the table has no such field.
  uint32_t field(uint32_t table, uint32_t index) {
    const int64_t fields = int64_t{table} - static_cast<int32_t>(number<uint32_t>(table));
    if (fields < 0 || fields > static_cast<int64_t>(file_.size())) return fail();
    const auto start = static_cast<uint32_t>(fields);
    const uint32_t entry = 4 + 2 * index;
    if (entry + 2 > number<uint16_t>(start)) return 0;
    const uint16_t offset = number<uint16_t>(uint64_t{start} + entry);
    return offset == 0 ? 0 : follow(uint64_t{table} + offset);
  }
  uint32_t length(uint32_t vector) { return number<uint32_t>(vector); }
  uint32_t item(uint32_t vector, uint32_t index) {
    return follow(uint64_t{vector} + 4 + uint64_t{4} * index);
  }
  std::string text(uint32_t at) {
    const uint32_t size = number<uint32_t>(at);
    if (uint64_t{at} + 4 + size > file_.size()) return fail(), std::string();
    return std::string(as_text(file_.subspan(at + 4, size)));
  }

 private:
  uint32_t fail() {
    ok_ = false;
    return 0;
  }
  template <class T>
  T number(uint64_t at) {
    if (at + sizeof(T) > file_.size()) return static_cast<T>(fail());
    return load_le<T>(file_.data() + at);
  }
  uint32_t follow(uint64_t at) {
    const uint64_t place = at + number<uint32_t>(at);
    return place < file_.size() && place <= UINT32_MAX ? static_cast<uint32_t>(place) : fail();
  }

  Bytes file_;
  bool ok_ = true;
};

// table TrtTable { dict: [KeyValue]; }  table KeyValue { key: string; value: string; }
Result<RangeTable> from_flatbuffers(Bytes file, const std::string& path) {
  RangeTable table{path, "ONNX Runtime", 0, {}};
  FlatReader reader(file);
  const uint32_t entries = reader.field(reader.root(), 0);
  const uint32_t count = entries == 0 ? 0 : reader.length(entries);
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    const uint32_t entry = reader.item(entries, i);
    const uint32_t key = reader.field(entry, 0), value = reader.field(entry, 1);
    if (key == 0 || value == 0) return unknown_table(path);
    const std::string name = reader.text(key), text = reader.text(value);
    if (!reader.ok()) break;
    const auto number = finite_from(text);
    if (!number) return bad_range(fmt::format("{}, entry {}: '{}'", path, i, text));
    table.ranges.push_back({name, *number, {}});
  }
  if (!reader.ok() || entries == 0) return unknown_table(path);
  return table;
}

// ---- JSON ----

// A number, or numpy's array of one as ONNX Runtime writes it: {"data": 1.5, "dtype": "float32"}.
std::optional<double> number_in(json_dom::element json) {
  double number = 0;
  if (json.get(number) == simdjson::SUCCESS) return number;
  simdjson::dom::array items;
  if (json.get(items) == simdjson::SUCCESS)
    return items.size() == 1 ? number_in(*items.begin()) : std::nullopt;
  json_dom::element data;
  if (json.is_object() && json["data"].get(data) == simdjson::SUCCESS) return number_in(data);
  return std::nullopt;
}

std::optional<TableRange> range_in(std::string_view name, json_dom::element json) {
  json_dom::element lo, hi;
  simdjson::dom::array pair;
  if (json.get(pair) == simdjson::SUCCESS) {  // before 1.16; entropy adds its histogram
    if (pair.size() < 2) return std::nullopt;
    lo = pair.at(0).value_unsafe();
    hi = pair.at(1).value_unsafe();
  } else if (!json.is_object() || json["lowest"].get(lo) != simdjson::SUCCESS ||
             json["highest"].get(hi) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  const auto first = number_in(lo), last = number_in(hi);
  if (!first || !last || !(*first <= *last)) return std::nullopt;
  return TableRange{std::string(name), *last, first};
}

Result<RangeTable> from_json(std::string_view text, const std::string& path) {
  simdjson::dom::parser parser;
  json_dom::element root;
  if (parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS || !root.is_object())
    return unknown_table(path);
  RangeTable table{path, "ONNX Runtime", 0, {}};
  const auto add = [&](std::string_view name, json_dom::element json) -> Result<void> {
    auto range = range_in(name, json);
    if (!range) return bad_range(fmt::format("{}: {}", path, name));
    table.ranges.push_back(std::move(*range));
    return {};
  };
  if (json_dom::text(root, "schema") == "plumb.quant/1") {
    table.tool = "plumb";
    std::optional<Error> problem;
    json_dom::each(root, "tensors", [&](json_dom::element tensor) {
      const std::string name = json_dom::text(tensor, "tensor");
      json_dom::element range;
      if (tensor["range"].get(range) != simdjson::SUCCESS) return;
      if (auto added = add(name, range); !added && !problem) problem = added.error();
    });
    if (problem) return *problem;
    return table;
  }
  if (json_dom::text(root, "CLS") == "TensorsData" && root["data"].get(root) != simdjson::SUCCESS)
    return unknown_table(path);
  simdjson::dom::object tensors;
  if (root.get(tensors) != simdjson::SUCCESS) return unknown_table(path);
  for (const auto field : tensors)
    if (field.value.is_object() || field.value.is_array())
      if (auto added = add(field.key, field.value); !added) return added.error();
  return table;
}

// ---- text ----

// The least and the largest integer of activations, after `act_type` of a record.
std::optional<Range> integers_of(const input::ConfigNode* type) {
  const std::string_view name = type == nullptr ? "INT8" : std::string_view(type->value);
  if (name == "INT4") return Range{-8, 7};
  if (name == "INT8" || name == "UNSET") return Range{-128, 127};
  if (name == "INT16") return Range{-32768, 32767};
  return std::nullopt;  // floats of 8 bits
}

// record { key: "conv1" value { scale_d: 0.02 offset_d: -5 ... } }: q = round(x / scale) + offset.
// `dst_type` is about weights.
Result<RangeTable> from_amct(std::string_view text, const std::string& path) {
  auto tree = input::tree_from_prototxt(text);
  if (!tree) return std::move(tree.error()).in(path);
  RangeTable table{path, "AMCT", 0, {}};
  for (const input::ConfigNode* record : tree->all("record")) {
    const input::ConfigNode *key = record->find("key"), *value = record->find("value");
    const input::ConfigNode* scale = value == nullptr ? nullptr : value->find("scale_d");
    if (key == nullptr || scale == nullptr) continue;  // weights alone
    const std::string where = fmt::format("{}, line {}: {}", path, scale->line, key->value);
    if (value->find("tensor_balance_factor") != nullptr)
      return Error{"the range is of what the layer reads divided by tensor_balance_factor", where,
                   "use a record that was made without balancing"};
    const auto integers = integers_of(value->find("act_type"));
    if (!integers)
      return Error{"activations are no integers", where + ", act_type", "use a record of integers"};
    const input::ConfigNode* offset = value->find("offset_d");
    const auto step = scale->number();
    const auto zero = offset == nullptr ? std::optional<double>(0) : offset->number();
    if (!step || !zero || !(*step > 0) || !std::isfinite(*step) || !(*zero >= integers->lo) ||
        !(*zero <= integers->hi))
      return bad_range(where);
    table.ranges.push_back(
        {key->value, *step * (integers->hi - *zero), *step * (integers->lo - *zero), true});
  }
  return table;
}

std::vector<std::string_view> words_in(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t from = line.find_first_not_of(" \t\r");
    if (from == line.npos) return words;
    const size_t to = std::min(line.find_first_of(" \t\r", from), line.size());
    words.push_back(line.substr(from, to - from));
    line = line.substr(to);
  }
}

// One line of a table; nullopt: it is none. `is_native` ones are TensorRT's: the bits of a scale.
std::optional<TableRange> range_in_line(std::string_view line, bool is_native) {
  std::vector<std::string_view> words = words_in(line);
  if (is_native) {
    uint32_t bits = 0;
    if (words.size() != 2 || !words[0].ends_with(':')) return std::nullopt;
    const char* end = words[1].data() + words[1].size();
    const auto read = std::from_chars(words[1].data(), end, bits, 16);
    const double limit = double{std::bit_cast<float>(bits)} * 127;
    if (read.ec != std::errc() || read.ptr != end || !std::isfinite(limit)) return std::nullopt;
    words[0].remove_suffix(1);
    return TableRange{std::string(words[0]), limit, {}};
  }
  if (words.size() != 2 && words.size() != 4) return std::nullopt;
  const auto limit = finite_from(words[1]);
  if (!limit) return std::nullopt;
  TableRange made{std::string(words[0]), *limit, {}};
  if (words.size() == 2) return made;  // ONNX Runtime's
  // tpu-mlir's: what lies beyond the threshold is clipped on both sides.
  const auto lo = finite_from(words[2]), hi = finite_from(words[3]);
  if (!lo || !hi || !(*lo <= *hi) || !(*limit >= 0)) return std::nullopt;
  made.lo = std::max(*lo, -*limit);
  made.hi = std::max(std::min(*hi, *limit), *made.lo);
  return made;
}

Result<RangeTable> from_lines(std::string_view text, const std::string& path) {
  const bool is_native = text.starts_with("TRT-");
  RangeTable table{path, is_native ? "TensorRT" : "ONNX Runtime", 0, {}};
  for (size_t at = 0, line = 1; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view own = text.substr(at, end - at);
    at = end + 1;
    if (words_in(own).empty() || (is_native && line == 1)) continue;
    if (own.starts_with('#')) {
      // Behind its activations tpu-mlir keeps thresholds for 4 bits, and scales of weights.
      if (own.find("int4_th") != own.npos || own.find("weight_scale") != own.npos) break;
      if (own.find("threshold") != own.npos) table.tool = "tpu-mlir";
      continue;
    }
    auto range = range_in_line(own, is_native);
    if (!range) return unknown_table(fmt::format("{}, line {}", path, line));
    table.ranges.push_back(std::move(*range));
  }
  return table;
}

Result<RangeTable> any_table(Bytes file, const std::string& path) {
  const std::string_view text = as_text(file);
  if (text.find('\0') != text.npos) return from_flatbuffers(file, path);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return unknown_table(path);
  if (text[first] == '{') return from_json(text, path);
  const std::string_view rest = text.substr(first);
  if ((rest.starts_with("record") || rest.starts_with("prune_record")) &&
      rest.find_first_of("{:") < rest.find('\n'))
    return from_amct(text, path);
  return from_lines(text, path);
}

}  // namespace

Result<RangeTable> ranges_from_table(Bytes file, const std::string& path) {
  auto table = any_table(file, path);
  if (!table) return table;
  if (table->ranges.empty()) return unknown_table(path);
  table->crc = crc32(0, file);
  return table;
}

Result<RangeTable> ranges_from_file(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  return ranges_from_table(file->bytes(), path);
}

Result<void> give_ranges(const RangeTable& table, Plan& plan) {
  std::unordered_map<std::string_view, const TableRange*> by_tensor, by_layer;
  for (const TableRange& range : table.ranges)
    // ONNX Runtime writes the larger end as a magnitude: of numbers below 0 that says nothing.
    if (range.lo || range.hi > 0) (range.is_layer ? by_layer : by_tensor)[range.name] = &range;
  bool is_any = false;
  for (Quantizer& quantizer : plan.quantizers) {
    std::optional<TableRange>& own = quantizer.given;
    const auto add = [&](const auto& known, const std::string& name) {
      const auto found = known.find(name);
      if (found == known.end()) return;
      const TableRange& range = *found->second;
      if (!own) own = range;
      own->hi = std::max(own->hi, range.hi);
      if (own->lo) own->lo = std::min(*own->lo, range.lo.value_or(*own->lo));
    };
    for (const auto* tensors : {&quantizer.tensors, &quantizer.passed})
      for (const std::string& tensor : *tensors) add(by_tensor, tensor);
    for (const size_t layer : quantizer.consumers) add(by_layer, plan.layers[layer].name);
    is_any |= own.has_value();
  }
  if (is_any) return {};
  std::vector<std::string> names;
  for (const Quantizer& quantizer : plan.quantizers) names.push_back(quantizer.name());
  for (const Layer& layer : plan.layers) names.push_back(layer.name);
  const std::string& first = table.ranges[0].name;
  return Error{"the table names nothing that is quantized",
               fmt::format("{}: {}, the first for '{}'", table.path,
                           counted(table.ranges.size(), "range"), first),
               did_you_mean(first, names) + "use a table that was made for this model"};
}

Range range_from(const TableRange& given, const Observation& seen) {
  if (given.lo) return {*given.lo, given.hi};
  return {std::max(-given.hi, std::min(seen.min, 0.0)), given.hi};
}

}  // namespace plumb::quant
