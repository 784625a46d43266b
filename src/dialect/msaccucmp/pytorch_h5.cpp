// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/pytorch_h5.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

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
    dump->file = *file;
    dump->list();
    return dump;
  }

  SharedFile file;
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
    for (const auto& [key, value] : file->listing.properties) properties.emplace(key, value);
    const auto attribute = [&](const std::string& path,
                               const char* name) -> std::optional<int64_t> {
      const auto found = properties.find(path + "@" + name);
      return found == properties.end() ? std::nullopt : dump::number_from(found->second);
    };
    for (const TensorInfo& info : file->listing.tensors) {
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
  Comparison(const H5Dump& target, const H5Dump& golden, const NetworkOptions& options)
      : target_(target), golden_(golden), options_(options) {}

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

  H5Row row_of(const Call& call, const Dataset& set, const Dataset* golden) const {
    ResultRow row;
    std::string dtype = "NaN", shape = "NaN";
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
        dtype = decoded_type_name(*left);
        shape = shape_cell(left->shape);
        PairTraits traits;
        traits.is_scalar = counts_as_scalar(left->shape);
        traits.both_bool = left->dtype == DType::kBool && right->dtype == DType::kBool;
        traits.target_file = set.path;
        traits.golden_file = golden->path;
        score_row(whole_view(*left, left->shape), whole_view(*right, right->shape), options_,
                  std::move(traits), row);
      }
    }
    return finish(call.order, call.name, set.path, golden != nullptr ? golden->path : "", dtype,
                  shape, row);
  }

  H5Row missing(int64_t order, const std::string& name, const std::string& golden,
                std::string reason) const {
    ResultRow row;
    row.reasons.push_back(std::move(reason));
    return finish(order, name, "", golden, "NaN", "NaN", row);
  }

 private:
  H5Row finish(int64_t order, const std::string& name, const std::string& target,
               const std::string& golden, const std::string& dtype, const std::string& shape,
               const ResultRow& row) const {
    const auto cell = [](const std::string& text) { return text.empty() ? "NaN" : text; };
    H5Row out;
    out.order = order;
    out.target = target;
    out.golden = golden;
    out.cells = {std::to_string(order), name, cell(target), cell(golden), dtype, shape};
    const auto scores = row.scores.empty() ? no_scores(options_.algorithms).cells : row.scores;
    out.cells.insert(out.cells.end(), scores.begin(), scores.end());
    out.cells.push_back(fmt::format("{}", fmt::join(row.reasons, ",")));
    for (size_t i = 0; i < scores.size(); ++i)
      if (options_.algorithms[i]->name == "CosineSimilarity") {
        constexpr double kSuspicious = 0.95;
        out.is_suspicious =
            scores[i] == "NaN" || !(std::strtod(scores[i].c_str(), nullptr) > kSuspicious);
      }
    return out;
  }

  const H5Dump& target_;
  const H5Dump& golden_;
  const NetworkOptions& options_;
};

}  // namespace

std::string H5Result::csv(bool only_suspicious) const {
  std::string text = csv_line(header);
  for (const H5Row& row : rows)
    if (!only_suspicious || row.is_suspicious) text += csv_line(row.cells);
  return text;
}

Outcome<H5Result> compare_h5(const std::filesystem::path& target,
                             const std::filesystem::path& golden, const NetworkOptions& options,
                             RunContext& context) {
  auto left = H5Dump::open(target);
  if (!left) return left.fault();
  auto right = H5Dump::open(golden);
  if (!right) return right.fault();
  if ((*left)->device != kNpu)
    return {Code::kInvalidDumpData,
            Error{"-m is not a dump from the device", target.string(),
                  "DeviceType of its datasets must be 10; are -m and -g swapped?"}};
  const Comparison comparison(**left, **right, options);
  H5Result result;
  result.header = {"Index", "NPUDump", "NPUDumpPath", "GroundTruthPath", "DataType", "Shape"};
  for (const Algorithm* algorithm : options.algorithms) result.header.emplace_back(algorithm->name);
  result.header.emplace_back("CompareFailReason");

  std::vector<const Call*> calls;
  for (const auto& [order, here] : (*left)->calls)
    for (const Call& call : here) calls.push_back(&call);
  std::vector<std::vector<H5Row>> rows(calls.size());
  std::vector<std::vector<const Dataset*>> used(calls.size());
  for_each_index(calls.size(), [&](size_t i) {
    if (context.cancelled) return;
    const Call& call = *calls[i];
    const Call* other = comparison.golden_call(call);
    for (const Dataset* set : call.datasets) {
      const Dataset* match = other != nullptr ? comparison.golden_dataset(*other, *set) : nullptr;
      if (match != nullptr) used[i].push_back(match);
      rows[i].push_back(comparison.row_of(call, *set, match));
    }
    if (used[i].empty())
      rows[i] = {comparison.missing(call.order, call.name, "",
                                    fmt::format("no golden data for operator {}", call.name))};
  });
  std::set<const Dataset*> matched;
  for (size_t i = 0; i < calls.size(); ++i) {
    std::move(rows[i].begin(), rows[i].end(), std::back_inserter(result.rows));
    matched.insert(used[i].begin(), used[i].end());
  }
  const int64_t behind = (*left)->calls.empty() ? 1 : (*left)->calls.rbegin()->first + 1;
  for (const auto& [order, here] : (*right)->calls)
    for (const Call& call : here) {
      const bool none = std::none_of(call.datasets.begin(), call.datasets.end(),
                                     [&](const Dataset* set) { return matched.contains(set); });
      if (none) {
        const std::string place = fmt::format("/{}/{}", call.name, call.order);
        result.rows.push_back(
            comparison.missing(behind, "NaN", place, "no data of the target for " + place));
        continue;
      }
      for (const Dataset* set : call.datasets)
        if (!matched.contains(set) && ((*left)->has_inputs || !set->rest.starts_with("input")))
          result.rows.push_back(comparison.missing(behind, "NaN", set->path,
                                                   "no data of the target for " + set->path));
    }
  return result;
}

Outcome<DecodedArray> h5_array(const std::filesystem::path& path, const std::string& dataset) {
  auto file = open_file(path);
  if (!file) return file.fault();
  for (const TensorInfo& info : (*file)->listing.tensors) {
    if (info.name != dataset) continue;
    auto tensor = load_tensor(*file, info);
    if (!tensor) return tensor.fault();
    const Shape shape = tensor->shape;
    return decoded(whole_view(std::move(*tensor), shape));
  }
  return {Code::kInvalidDumpData, Error{"no such dataset", dataset, ""}};
}

}  // namespace plumb::msaccucmp
