// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/pytorch_h5.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/number_from_text.h"
#include "base/parallel.h"
#include "dump/names.h"
#include "dump/tree.h"

namespace plumb::msaccucmp {
namespace {

constexpr int64_t kNpu = 10, kGpu = 1;

struct Renamed {
  std::string_view npu, other;
};
constexpr std::array kOperators{
    Renamed{"NativeBatchNormBackward", "CudnnBatchNormBackward"},
    Renamed{"NpuConvolutionBackward", "CudnnConvolutionBackward"},
    Renamed{"NpuConvolutionBackward", "ThnnConvDepthwise2DBackward"},
};
constexpr std::array kParameters{
    Renamed{"eps", "epsilon"},  // of NativeBatchNormBackward
    Renamed{"input", "self"},   // of NpuConvolutionBackward
};

struct Dataset {
  std::string path, operator_name, rest;  // "/Op/3/input/x", "Op", "input/x"
  int64_t order = 0;
  const TensorInfo* info = nullptr;
  std::optional<int64_t> data_type;
};

// One call of an operator.
struct Call {
  std::string name;
  int64_t number = 0;  // among the calls of this name
  int64_t order = 0;
  std::vector<const Dataset*> datasets;
};

class H5Dump {
 public:
  static Outcome<std::shared_ptr<H5Dump>> open(const std::filesystem::path& path) {
    auto file = open_file(path);
    if (!file) return file.fault();
    auto dump = std::make_shared<H5Dump>();
    dump->file = std::move(*file);
    dump->list();
    return dump;
  }

  io::TensorFile file;
  std::optional<int64_t> device;
  bool has_inputs = false;
  std::vector<Dataset> datasets;
  std::map<int64_t, std::vector<Call>> calls;  // by order

  const Call* find(const std::string& name, int64_t number) const {
    const auto found = by_name_.find({name, number});
    return found == by_name_.end() ? nullptr : found->second;
  }

 private:
  void list() {
    std::map<std::string_view, std::string_view> properties;
    for (const auto& [key, value] : file.listing.properties) properties.emplace(key, value);
    const auto attribute = [&](const std::string& path,
                               const char* name) -> std::optional<int64_t> {
      const auto found = properties.find(path + "@" + name);
      return found == properties.end() ? std::nullopt : dump::number_from(found->second);
    };
    for (const TensorInfo& info : file.listing.tensors) {
      if (attribute(info.name, "Type").value_or(0) != 0) continue;
      auto parts = dump::components(info.name);
      std::erase(parts, "");
      if (parts.size() < 4 || !dump::number_from(parts[1])) continue;
      Dataset set;
      set.path = info.name;
      set.operator_name = parts[0];
      set.order = *dump::number_from(parts[1]);
      for (size_t i = 2; i < parts.size(); ++i)
        set.rest += (set.rest.empty() ? "" : "/") + std::string(parts[i]);
      set.info = &info;
      set.data_type = attribute(info.name, "DataType");
      has_inputs |= parts[2] == "input";
      if (!device) device = attribute(info.name, "DeviceType");
      datasets.push_back(std::move(set));
    }
    std::map<std::string, std::map<int64_t, std::vector<const Dataset*>>> by_name;
    for (const Dataset& set : datasets) by_name[set.operator_name][set.order].push_back(&set);
    for (auto& [name, orders] : by_name)
      for (int64_t number = 0; auto& [order, sets] : orders) {
        std::stable_sort(sets.begin(), sets.end(),
                         [](const Dataset* a, const Dataset* b) { return a->rest < b->rest; });
        calls[order].push_back({name, number++, order, sets});
      }
    for (const auto& [order, here] : calls)
      for (const Call& call : here) by_name_[{call.name, call.number}] = &call;
  }

  std::map<std::pair<std::string, int64_t>, const Call*> by_name_;
};

// The names under which an operator of the device may be known to another one.
std::vector<std::string> counterparts(const std::string& name, int64_t device) {
  std::vector<std::string> names{name};
  for (const Renamed& pair : kOperators)
    if (pair.npu == name) names.emplace_back(pair.other);
  if (name.starts_with("Npu"))
    names.push_back((device == kGpu ? "Cudnn" : "Thnn") + name.substr(3));
  return names;
}

bool are_comparable(std::optional<int64_t> a, std::optional<int64_t> b) {
  constexpr int64_t kFloat = 1, kInt = 6, kLong = 7, kHalf = 10;
  const auto one_of = [](int64_t value, int64_t x, int64_t y) { return value == x || value == y; };
  return a && b &&
         (*a == *b || (one_of(*a, kInt, kLong) && one_of(*b, kInt, kLong)) ||
          (one_of(*a, kFloat, kHalf) && one_of(*b, kFloat, kHalf)));
}

class Comparison {
 public:
  Comparison(const H5Dump& target, const H5Dump& golden) : target_(target), golden_(golden) {}

  const Call* golden_call(const Call& call) const {
    for (const std::string& name : counterparts(call.name, golden_.device.value_or(0)))
      if (const Call* found = golden_.find(name, call.number)) return found;
    return nullptr;
  }

  const Dataset* golden_dataset(const Call& golden, const Dataset& set) const {
    // Without inputs the run was replayed from recorded ones, in the same order.
    if (!target_.has_inputs && golden.order != set.order) return nullptr;
    const auto named = [&](std::string_view rest) -> const Dataset* {
      for (const Dataset* each : golden.datasets)
        if (each->rest == rest) return each;
      return nullptr;
    };
    if (const Dataset* same = named(set.rest)) return same;
    const size_t slash = set.rest.rfind('/');
    for (const Renamed& pair : kParameters)
      if (set.rest.substr(slash + 1) == pair.npu)
        if (const Dataset* other = named(set.rest.substr(0, slash + 1) + std::string(pair.other)))
          return other;
    return nullptr;
  }

  // Index, operator, type and shape are in the row, the datasets in its names.
  Line line_of(const Call& call, const Dataset& set, const Dataset* golden) const {
    Line line;
    ResultRow& row = line.row;
    row.index = call.order;
    row.type = call.name;
    row.target = set.path;
    if (golden != nullptr) row.golden = golden->path;
    if (golden == nullptr) {
      row.reasons.push_back(fmt::format("no golden data for {}", set.path));
    } else if (!are_comparable(set.data_type, golden->data_type)) {
      row.reasons.push_back(
          fmt::format("the types of {} and {} are not compared", set.path, golden->path));
    } else {
      auto left = load_comparable(target_.file, *set.info);
      auto right = load_comparable(golden_.file, *golden->info);
      if (!left || !right) {
        row.reasons.push_back((left ? right : left).fault().error.what);
      } else if (left->count != right->count) {
        row.reasons.push_back(
            fmt::format("the sizes differ: {} and {}", left->count, right->count));
      } else {
        row.target_dtype = decoded_type_name(*left);
        row.shape = shape_cell(left->shape);
        line.pair.emplace();
        line.pair->traits.is_scalar = counts_as_scalar(left->shape);
        line.pair->traits.both_bool = left->dtype == DType::kBool && right->dtype == DType::kBool;
        line.pair->traits.target_file = set.path;
        line.pair->traits.golden_file = golden->path;
        line.pair->target = whole_view(*left, left->shape);
        line.pair->golden = whole_view(*right, right->shape);
      }
    }
    return line;
  }

 private:
  const H5Dump& target_;
  const H5Dump& golden_;
};

Line missing_line(int64_t order, const std::string& name, const std::string& golden,
                  std::string reason) {
  Line line;
  line.row.index = order;
  line.row.type = name;
  line.row.golden = golden;
  line.row.reasons.push_back(std::move(reason));
  return line;
}

H5Row finished(const ResultRow& row, const Selection& algorithms) {
  const auto cell = [](const std::string& text) { return text.empty() ? "NaN" : text; };
  H5Row out;
  out.target = row.target;
  out.golden = row.golden;
  out.cells = {std::to_string(row.index), row.type,         cell(row.target),
               cell(row.golden),          row.target_dtype, row.shape};
  const size_t first = out.cells.size();
  append_scores(row, algorithms, out.cells);
  out.cells.push_back(fmt::format("{}", fmt::join(row.reasons, ",")));
  for (size_t i = 0; i < algorithms.size(); ++i)
    if (algorithms[i]->name == "CosineSimilarity") {
      constexpr double kSuspicious = 0.95;
      const std::string& score = out.cells[first + i];
      out.is_suspicious = !(number_from_text<double>(score).value_or(0) > kSuspicious);
    }
  return out;
}

}  // namespace

std::string H5Result::csv(bool only_suspicious) const {
  std::string text = csv_line(header);
  for (const H5Row& row : rows)
    if (!only_suspicious || row.is_suspicious) text += csv_line(row.cells);
  return text;
}

Outcome<H5Result> compare_h5(const std::filesystem::path& target,
                             const std::filesystem::path& golden, const PairOptions& options,
                             RunContext& context) {
  auto left = H5Dump::open(target);
  if (!left) return left.fault();
  auto right = H5Dump::open(golden);
  if (!right) return right.fault();
  if ((*left)->device != kNpu)
    return {Code::kInvalidDumpData,
            Error{"-m is not a dump from the device", target.string(),
                  "DeviceType of its datasets must be 10; are -m and -g swapped?"}};
  const Comparison comparison(**left, **right);
  H5Result result;
  result.header = {"Index", "NPUDump", "NPUDumpPath", "GroundTruthPath", "DataType", "Shape"};
  for (const Algorithm* algorithm : options.algorithms) result.header.emplace_back(algorithm->name);
  result.header.emplace_back("CompareFailReason");

  std::vector<const Call*> calls;
  for (const auto& [order, here] : (*left)->calls)
    for (const Call& call : here) calls.push_back(&call);
  std::vector<std::vector<Line>> by_call(calls.size());
  std::vector<std::vector<const Dataset*>> used(calls.size());
  for_each_index(calls.size(), [&](size_t i) {
    if (context.cancelled) return;
    const Call& call = *calls[i];
    const Call* other = comparison.golden_call(call);
    for (const Dataset* set : call.datasets) {
      const Dataset* match = other != nullptr ? comparison.golden_dataset(*other, *set) : nullptr;
      if (match != nullptr) used[i].push_back(match);
      by_call[i].push_back(comparison.line_of(call, *set, match));
    }
    if (used[i].empty())
      by_call[i] = {missing_line(call.order, call.name, "",
                                 fmt::format("no golden data for operator {}", call.name))};
  });
  std::vector<Line> lines;
  std::set<const Dataset*> matched;
  for (size_t i = 0; i < calls.size(); ++i) {
    std::move(by_call[i].begin(), by_call[i].end(), std::back_inserter(lines));
    matched.insert(used[i].begin(), used[i].end());
  }
  const int64_t behind = (*left)->calls.empty() ? 1 : (*left)->calls.rbegin()->first + 1;
  for (const auto& [order, here] : (*right)->calls)
    for (const Call& call : here) {
      const bool none = std::none_of(call.datasets.begin(), call.datasets.end(),
                                     [&](const Dataset* set) { return matched.contains(set); });
      if (none) {
        const std::string place = fmt::format("/{}/{}", call.name, call.order);
        lines.push_back(missing_line(behind, "NaN", place, "no data of the target for " + place));
        continue;
      }
      for (const Dataset* set : call.datasets)
        if (!matched.contains(set) && ((*left)->has_inputs || !set->rest.starts_with("input")))
          lines.push_back(
              missing_line(behind, "NaN", set->path, "no data of the target for " + set->path));
    }
  if (auto done = compare_lines(lines, options, context); !done)
    return Fault{Code::kUnknown, std::move(done.error())};
  for (const Line& line : lines) result.rows.push_back(finished(line.row, options.algorithms));
  return result;
}

Outcome<DecodedArray> h5_array(const std::filesystem::path& path, const std::string& dataset) {
  auto file = open_file(path);
  if (!file) return file.fault();
  for (const TensorInfo& info : file->listing.tensors) {
    if (info.name != dataset) continue;
    auto tensor = load_tensor(*file, info);
    if (!tensor) return tensor.fault();
    const Shape shape = tensor->shape;
    return decoded(whole_view(std::move(*tensor), shape));
  }
  return {Code::kInvalidDumpData, Error{"no such dataset", dataset, ""}};
}

}  // namespace plumb::msaccucmp
