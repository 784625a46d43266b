// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/single_op.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/parallel.h"
#include "dialect/msaccucmp/decimal.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLeastAxes = 4;

// The type in which numpy subtracts.
DType common_type(DType a, DType b) {
  if (a == b) return a;
  const auto size = [](DType dtype) { return bits_of(dtype); };
  const DKind kind_a = kind_of(a), kind_b = kind_of(b);
  if (kind_a == DKind::kBool) return b;
  if (kind_b == DKind::kBool) return a;
  const auto of_size = [](DKind kind, bool is_signed, int bits) {
    if (kind == DKind::kFloat)
      return bits <= 16 ? DType::kFloat16 : bits <= 32 ? DType::kFloat32 : DType::kFloat64;
    switch (bits) {
      case 8: return is_signed ? DType::kInt8 : DType::kUint8;
      case 16: return is_signed ? DType::kInt16 : DType::kUint16;
      case 32: return is_signed ? DType::kInt32 : DType::kUint32;
      default: return is_signed ? DType::kInt64 : DType::kUint64;
    }
  };
  if (kind_a == DKind::kFloat && kind_b == DKind::kFloat)
    return of_size(DKind::kFloat, true, std::max(size(a), size(b)));
  if (kind_a == DKind::kFloat || kind_b == DKind::kFloat) {
    const DType real = kind_a == DKind::kFloat ? a : b, whole = kind_a == DKind::kFloat ? b : a;
    // The smallest float that holds all integers of the type, or what numpy takes for it.
    const int needed = size(whole) <= 8 ? 16 : size(whole) <= 16 ? 32 : 64;
    return of_size(DKind::kFloat, true, std::max(size(real), needed));
  }
  const auto is_signed = [](DType dtype) {
    return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 ||
           dtype == DType::kInt64;
  };
  if (is_signed(a) == is_signed(b))
    return of_size(DKind::kInteger, is_signed(a), std::max(size(a), size(b)));
  const DType with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
  const int bits = std::max(size(with_sign), 2 * size(without));
  return bits > 64 ? DType::kFloat64 : of_size(DKind::kInteger, true, bits);
}

double rounded_to(DType dtype, double value) {
  if (dtype == DType::kFloat16)
    return static_cast<double>(float_from_half(half_from_float(static_cast<float>(value))));
  if (dtype == DType::kFloat32) return static_cast<double>(static_cast<float>(value));
  return value;
}

int64_t integer_at(DType dtype, const std::byte* data, size_t i) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8: return load_le<uint8_t>(data + i);
    case DType::kInt8: return load_le<int8_t>(data + i);
    case DType::kInt16: return load_le<int16_t>(data + 2 * i);
    case DType::kUint16: return load_le<uint16_t>(data + 2 * i);
    case DType::kInt32: return load_le<int32_t>(data + 4 * i);
    case DType::kUint32: return load_le<uint32_t>(data + 4 * i);
    default: return load_le<int64_t>(data + 8 * i);
  }
}

// The difference modulo the width of the type, its size as numpy's abs gives it.
double integer_error(DType dtype, int64_t target, int64_t golden) {
  const uint64_t difference = static_cast<uint64_t>(target) - static_cast<uint64_t>(golden);
  const int bits = bits_of(dtype);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t wrapped = difference & mask;
  const bool is_signed = dtype != DType::kUint8 && dtype != DType::kUint16 &&
                         dtype != DType::kUint32 && dtype != DType::kUint64;
  const bool is_negative = is_signed && (wrapped >> (bits - 1)) != 0;
  if (!is_negative) return static_cast<double>(wrapped);
  const uint64_t size = (~wrapped + 1) & mask;
  // The smallest number has no positive counterpart and stays negative.
  return size == wrapped ? -static_cast<double>(size) : static_cast<double>(size);
}

char* append_text(std::string_view text, char* out) {
  return std::copy(text.begin(), text.end(), out);
}

char* append_value(double value, bool is_top, char* out) {
  *out++ = ',';
  if (std::isfinite(value))
    out = append_decimal(value, out);
  else if (is_top)
    out = append_text(value == -std::numeric_limits<double>::infinity() ? "--" : "-", out);
  else
    out = append_text(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf", out);
  *out++ = '\t';
  return out;
}

// Writes the rows of elements.
class Writer {
 public:
  Writer(const ElementErrors& errors, Shape shape, bool is_bool)
      : errors_(errors), shape_(std::move(shape)), is_bool_(is_bool) {
    if (shape_.size() < kLeastAxes) shape_.resize(kLeastAxes, 1);
    shape_.resize(std::min(shape_.size(), kMostAxes));
  }

  // Those of [first, last), one after the other.
  void append(int64_t first, int64_t last, bool is_top, fmt::memory_buffer& out) const {
    // A row holds an index, coordinates and four numbers.
    std::array<char, 24 + kMostAxes * 21 + 4 * (kMostDecimalChars + 4)> row;
    const int64_t length = shape_.back();
    std::array<char, kMostAxes * 21> coordinates;  // of all axes but the last
    char* end = nullptr;
    for (int64_t index = first; index < last; ++index) {
      const int64_t column = length > 0 ? index % length : 0;
      if (end == nullptr || column == 0) end = append_coordinates(index, coordinates.data());
      char* at = std::to_chars(row.data(), row.data() + 24, index).ptr;
      *at++ = ',';
      at = std::copy(coordinates.data(), end, at);
      at = std::to_chars(at, at + 24, column).ptr;
      at = append_numbers(static_cast<size_t>(index), is_top, at);
      out.append(row.data(), at);
    }
  }

 private:
  static constexpr size_t kMostAxes = 64;

  char* append_numbers(size_t i, bool is_top, char* out) const {
    if (is_bool_) {
      const auto word = [](double value) { return value != 0 ? "True" : "False"; };
      return fmt::format_to(out, ",{}\t,{}\t,-\t,-{}\n", word(errors_.target[i]),
                            word(errors_.golden[i]), is_top ? "\t" : "");
    }
    out = append_value(errors_.target[i], is_top, out);
    out = append_value(errors_.golden[i], is_top, out);
    // An infinite error is written as NaN, as if the difference could not be told.
    const double absolute = errors_.absolute[i];
    out = append_value(std::isinf(absolute) ? std::numeric_limits<double>::quiet_NaN() : absolute,
                       is_top, out);
    out = std::isfinite(errors_.relative[i]) ? append_value(errors_.relative[i], is_top, out)
                                             : append_text(is_top ? ",-\t" : ",-", out);
    *out++ = '\n';
    return out;
  }

  char* append_coordinates(int64_t index, char* out) const {
    std::array<int64_t, kMostAxes> coordinates;
    for (size_t axis = shape_.size(); axis-- > 0;) {
      coordinates[axis] = shape_[axis] > 0 ? index % shape_[axis] : 0;
      index = shape_[axis] > 0 ? index / shape_[axis] : index;
    }
    for (size_t axis = 0; axis + 1 < shape_.size(); ++axis) {
      out = std::to_chars(out, out + 20, coordinates[axis]).ptr;
      *out++ = ' ';
    }
    return out;
  }

  const ElementErrors& errors_;
  Shape shape_;
  bool is_bool_;
};

// The rows [first, last), made by all threads, some megabytes of text at a time.
void write_rows(const Writer& writer, int64_t first, int64_t last, FileSink& sink) {
  constexpr int64_t kBlock = 1 << 13, kWindow = 16 * kBlock;
  for (int64_t begin = first; begin < last; begin += kWindow) {
    const int64_t end = std::min(last, begin + kWindow);
    std::vector<fmt::memory_buffer> blocks(
        static_cast<size_t>((end - begin + kBlock - 1) / kBlock));
    for_each_index(blocks.size(), [&](size_t b) {
      const int64_t at = begin + static_cast<int64_t>(b) * kBlock;
      writer.append(at, std::min(end, at + kBlock), false, blocks[b]);
    });
    for (const fmt::memory_buffer& block : blocks) sink.write({block.data(), block.size()});
  }
}

double or_zero(double error) { return std::isfinite(error) ? error : 0; }

// The indexes of the largest errors, largest first, of equal ones the last first. The tool loses a
// row of tensors that have fewer elements than wanted.
std::vector<int64_t> worst(const std::vector<double>& errors, int64_t top, bool is_bool) {
  const auto count = static_cast<int64_t>(errors.size());
  int64_t wanted = count < top ? count - 1 : top;
  if (wanted <= 0) wanted = count;
  std::vector<int64_t> order(static_cast<size_t>(is_bool ? wanted : count));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (is_bool) return order;
  std::partial_sort(order.begin(), order.begin() + wanted, order.end(), [&](int64_t a, int64_t b) {
    const double left = or_zero(errors[static_cast<size_t>(a)]);
    const double right = or_zero(errors[static_cast<size_t>(b)]);
    return left != right ? left > right : a > b;
  });
  order.resize(static_cast<size_t>(wanted));
  return order;
}

struct Pair {
  Aligned aligned;
  GroupNames names;
  std::string format;  // of the coordinates
};

std::string coordinate_names(const Tensor& target, const std::string& golden_format) {
  const std::string layout = name_of(target.layout);
  if (layout == "NDHWC" || layout == "NCDHW" || layout == "DHWCN" || layout == "NDC1HWC0")
    return "N C D H W";
  if (layout == "FRACTAL_Z" && !golden_format.empty()) {
    std::string letters;
    for (char c : golden_format) letters += (letters.empty() ? "" : " ") + std::string(1, c);
    return letters;
  }
  return target.shape.empty() ? "ID" : "N C H W";
}

Fault out_of_range(const SingleOp& wanted, size_t count) {
  return {Code::kOutOfBounds,
          Error{fmt::format("the operator has no such {}", wanted.is_input ? "input" : "output"),
                fmt::format("{}: {} is not in [0, {})", wanted.name, wanted.index, count),
                "choose another one with -i or -o"}};
}

Fault no_dump(const std::string& name, const fs::path& where) {
  return {Code::kNoDumpFile,
          Error{"no dump file for this operator", fmt::format("'{}' in {}", name, where.string()),
                "check the name; -map lists what there is"}};
}

const Tensor* choose(const OperatorDump& dump, const SingleOp& wanted) {
  const auto& tensors = wanted.is_input ? dump.inputs : dump.outputs;
  const auto index = static_cast<size_t>(wanted.index);
  return index < tensors.size() ? &tensors[index] : nullptr;
}

Outcome<Pair> open_by_rules(const Network& network, const SingleOp& wanted) {
  const RuleOperator* op = network.rules->find(wanted.name);
  if (op == nullptr)
    return {Code::kInvalidParameter,
            Error{fmt::format("'{}' is not in the rule file", wanted.name),
                  fmt::format("-op {}", wanted.name), "-map lists the operators"}};
  if (op->is_inner_node() || op->is_filtered)
    return {Code::kNotComparable,
            Error{op->is_filtered ? "the operator works on integers inside a quantized part"
                                  : "the operator is inside a many-to-many fusion",
                  fmt::format("-op {}", wanted.name), "choose an operator at its border"}};
  const DumpFile* source = network.target.find(op->name, 0);
  if (source == nullptr) return no_dump(op->name, network.target.path);
  auto dump = load_dump(network.target, *source);
  if (!dump) return std::move(dump.fault());
  const Tensor* tensor = choose(*dump, wanted);
  if (tensor == nullptr)
    return out_of_range(wanted, (wanted.is_input ? dump->inputs : dump->outputs).size());
  auto golden = find_counterpart(network, *op, wanted.is_input, static_cast<size_t>(wanted.index));
  if (!golden) return std::move(golden.fault());
  if (network.target.kind == DumpKind::kQuant) {
    auto equal = align_equal(*tensor, golden->tensor);
    if (!equal) return std::move(equal.fault());
    return Pair{std::move(*equal), names_of(*network.rules, *network.rules->group_of(op->name)),
                coordinate_names(*tensor, golden->description.format)};
  }
  AlignOptions how;
  how.golden_is_dump = network.golden_is_device();
  how.detailed = true;
  auto aligned = align(*tensor, golden->tensor, golden->description, how);
  if (!aligned) return std::move(aligned.fault());
  return Pair{std::move(*aligned), names_of(*network.rules, *network.rules->group_of(op->name)),
              coordinate_names(*tensor, how.golden_is_dump ? name_of(golden->tensor.layout)
                                                           : golden->description.format)};
}

// Nothing is converted: padding and all.
Outcome<Pair> open_by_name(const Network& network, const SingleOp& wanted) {
  const Tensor* tensors[2] = {};
  OperatorDump dumps[2];
  for (size_t side : {0u, 1u}) {
    const DumpDirectory& directory = side == 0 ? network.target : network.golden;
    const DumpFile* source = directory.find(wanted.name, 0);
    if (source == nullptr) return no_dump(wanted.name, directory.path);
    auto dump = load_dump(directory, *source);
    if (!dump) return std::move(dump.fault());
    dumps[side] = std::move(*dump);
    tensors[side] = choose(dumps[side], wanted);
    if (tensors[side] == nullptr)
      return out_of_range(wanted,
                          (wanted.is_input ? dumps[side].inputs : dumps[side].outputs).size());
  }
  const Tensor &target = *tensors[0], &golden = *tensors[1];
  if (target.shape != golden.shape)
    return {
        Code::kInvalidDumpData,
        Error{"the shapes differ",
              fmt::format("target {}, golden {}", to_string(target.shape), to_string(golden.shape)),
              "with rule files (-f, -cf) layouts are converted"}};
  if (!(target.layout == golden.layout))
    return {Code::kFormat, Error{"the layouts differ",
                                 fmt::format("target {}, golden {}", name_of(target.layout),
                                             name_of(golden.layout)),
                                 "with rule files (-f, -cf) layouts are converted"}};
  return Pair{{whole_view(target, target.shape), whole_view(golden, golden.shape), false},
              {wanted.name, wanted.name},
              coordinate_names(target, {})};
}

void remove_old(const fs::path& output, const std::string& prefix) {
  std::error_code ignored;
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(output, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name == prefix + "_summary.txt" || name == prefix + ".npy" ||
        (name.starts_with(prefix + "_") && (name.ends_with(".csv") || name.ends_with(".npy"))))
      old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove(path, ignored);
}

std::string spaced(std::string names) {
  std::replace(names.begin(), names.end(), ',', ' ');
  return names;
}

std::string summary_of(const Pair& pair, const ElementErrors& errors, bool is_bool) {
  const auto extreme = [&](const std::vector<double>& values, bool largest) -> std::string {
    if (is_bool) return "-";
    double found = values.empty() ? 0 : or_zero(values[0]);
    for (double value : values)
      found = largest ? std::max(found, or_zero(value)) : std::min(found, or_zero(value));
    return fmt::format("{:.6f}", found);
  };
  return fmt::format(
      "TotalCount:{}\nNPUDump:{}\nGroundTruth:{}\nFormat:{}\nMinAbsoluteError:{}\n"
      "MaxAbsoluteError:{}\nMinRelativeError:{}\nMaxRelativeError:{}\n",
      errors.target.size(), spaced(pair.names.target), spaced(pair.names.golden), pair.format,
      extreme(errors.absolute, false), extreme(errors.absolute, true),
      extreme(errors.relative, false), extreme(errors.relative, true));
}

}  // namespace

ElementErrors element_errors(const DecodedArray& target, const DecodedArray& golden) {
  const auto count = static_cast<size_t>(*element_count(target.shape));
  ElementErrors errors;
  for (std::vector<double>* values :
       {&errors.target, &errors.golden, &errors.absolute, &errors.relative})
    values->resize(count);
  const auto n = static_cast<int64_t>(count);
  decode_double(target.dtype, target.elements.data(), n, errors.target.data());
  decode_double(golden.dtype, golden.elements.data(), n, errors.golden.data());
  const DType common = common_type(target.dtype, golden.dtype);
  const bool is_integer = kind_of(common) == DKind::kInteger;
  for (size_t i = 0; i < count; ++i) {
    const double t = errors.target[i], g = errors.golden[i];
    if (common == DType::kBool) {
      errors.absolute[i] = errors.relative[i] = std::numeric_limits<double>::quiet_NaN();
    } else if (is_integer) {
      const int64_t whole = integer_at(golden.dtype, golden.elements.data(), i);
      errors.absolute[i] =
          integer_error(common, integer_at(target.dtype, target.elements.data(), i), whole);
      errors.relative[i] = errors.absolute[i] / integer_error(golden.dtype, whole, 0);
    } else {
      errors.absolute[i] =
          std::fabs(rounded_to(common, rounded_to(common, t) - rounded_to(common, g)));
      errors.relative[i] =
          rounded_to(common, errors.absolute[i] / std::fabs(rounded_to(common, g)));
    }
  }
  return errors;
}

Outcome<SingleOpFiles> compare_single_op(const Network& network, const SingleOp& wanted,
                                         const fs::path& output) {
  auto pair = network.rules ? open_by_rules(network, wanted) : open_by_name(network, wanted);
  if (!pair) return std::move(pair.fault());
  auto decoded_target = decoded(pair->aligned.target);
  if (!decoded_target) return std::move(decoded_target.fault());
  auto decoded_golden = decoded(pair->aligned.golden);
  if (!decoded_golden) return std::move(decoded_golden.fault());
  const DecodedArray &target = *decoded_target, &golden = *decoded_golden;
  const bool is_bool = target.dtype == DType::kBool && golden.dtype == DType::kBool;
  const ElementErrors errors = element_errors(target, golden);

  std::string prefix = wanted.name;
  std::replace(prefix.begin(), prefix.end(), '/', '_');
  prefix += fmt::format("_{}_{}", wanted.is_input ? "input" : "output", wanted.index);
  remove_old(output, prefix);

  SingleOpFiles files;
  std::optional<Fault> failure;
  const auto save = [&](std::string_view suffix, auto&& write) {
    if (failure) return;
    const std::string name =
        short_name(output, "simple_op_mapping.csv", prefix + std::string(suffix), suffix);
    failure = write(output / name);
    files.written.push_back(name);
  };
  const std::string header =
      fmt::format("Index,{},NPUDump,GroundTruth,AbsoluteError,RelativeError\n", pair->format);
  const Writer writer(errors, target.shape, is_bool);
  save(".npy", [&](const fs::path& path) { return write_npy(path, target); });
  files.summary = summary_of(*pair, errors, is_bool);
  save("_summary.txt", [&](const fs::path& path) { return write_text(path, files.summary); });

  const auto count = static_cast<int64_t>(errors.target.size());
  for (int64_t first = 0; !wanted.only_summary && (first < count || first == 0);
       first += wanted.max_lines) {
    const int64_t last = std::min(count, first + wanted.max_lines);
    save(fmt::format("_{}.csv", first), [&](const fs::path& path) {
      return write_parts(path, [&](FileSink& sink) {
        sink.write(header);
        write_rows(writer, first, last, sink);
      });
    });
  }
  for (const bool absolute : {true, false}) {
    fmt::memory_buffer rows;
    for (int64_t i : worst(absolute ? errors.absolute : errors.relative, wanted.top, is_bool))
      writer.append(i, i + 1, true, rows);
    save(absolute ? "_absolute_error_topn.csv" : "_relative_error_topn.csv",
         [&](const fs::path& path) {
           return write_text(path, header + std::string(rows.data(), rows.size()));
         });
  }
  if (failure) return std::move(*failure);
  return files;
}

}  // namespace plumb::msaccucmp
