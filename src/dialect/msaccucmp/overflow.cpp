// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/overflow.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/number_from_text.h"
#include "dialect/msaccucmp/convert.h"
#include "dialect/msaccucmp/directory.h"
#include "dialect/msaccucmp/output.h"
#include "dump/mapping_csv.h"
#include "dump/names.h"
#include "dump/tree.h"
#include "io/ascend_overflow.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;

struct Found {
  const dump::TreeFile* file;
  std::string name;
  dump::DeviceName parsed;  // refers to `name`
};

// The fields of the task in which a unit overflowed.
struct Task {
  uint64_t task = 0, stream = 0, context = io::kOverflowNone, thread = io::kOverflowNone;
};

std::string status_line(const io::OverflowUnit& unit, const Task& task) {
  std::string status;
  for (const io::OverflowField& field : unit.fields)
    if (field.name == "status")
      status = field.values.size() == 1 ? std::to_string(field.values[0])
                                        : fmt::format("[{}]", fmt::join(field.values, ", "));
  return fmt::format(" [{}][TaskId:{}][StreamId:{}][Status:{}]\n", unit.name, task.task,
                     task.stream, status);
}

std::string python_shape(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : "(" + join(shape, ", ") + ")";
}

Outcome<std::string> statistics_line(const Tensor& tensor) {
  const View view = whole_view(tensor, tensor.shape);
  auto decoding = decoded(view);
  if (!decoding) return std::move(decoding.fault());
  const DecodedArray& array = *decoding;
  std::vector<double> values(static_cast<size_t>(view.count));
  decode_double(array.dtype, array.elements.data(), view.count, values.data());
  double min = values.empty() ? 0 : values[0], max = min, sum = 0;
  for (double value : values) {
    min = std::isnan(value) || std::isnan(min) ? std::nan("") : std::min(min, value);
    max = std::isnan(value) || std::isnan(max) ? std::nan("") : std::max(max, value);
    sum += value;
  }
  const bool is_float = kind_of(array.dtype) == DKind::kFloat;
  const double mean = values.empty() ? std::nan("") : sum / static_cast<double>(values.size());
  return fmt::format(" -[Format: {}] [Shape: {}] [Dtype: {}] [Max: {}] [Min: {}] [Mean: {}]\n",
                     name_of(tensor.layout), python_shape(tensor.shape), name_of(array.dtype),
                     numpy_text(array.dtype, max), numpy_text(array.dtype, min),
                     numpy_text(is_float ? array.dtype : DType::kFloat64, mean));
}

class Analysis {
 public:
  Analysis(const dump::Tree& tree, const fs::path& output) : tree_(tree), output_(output) {
    const dump::RealNames names(tree);
    for (const dump::TreeFile& file : tree.files)
      if (const auto name = names.of(file); name && dump::parse_device_name(*name))
        files_.push_back({&file, std::string(*name), {}});
    // Only now do the names stay where they are.
    for (Found& found : files_) found.parsed = *dump::parse_device_name(found.name);
    for (const Found& found : files_)
      if (found.parsed.type == "Opdebug" && found.parsed.op == io::kOverflowOperator)
        records_.push_back(&found);
    std::stable_sort(records_.begin(), records_.end(), [](const Found* a, const Found* b) {
      return a->parsed.timestamp < b->parsed.timestamp;
    });
  }

  bool has_records() const { return !records_.empty(); }

  Outcome<std::string> report(int64_t top) {
    std::string text;
    for (size_t i = 0; i < records_.size() && static_cast<int64_t>(i) < top; ++i) {
      auto one = report_one(*records_[i], i + 1);
      if (!one) return one;
      text += *one;
    }
    return text;
  }

 private:
  Outcome<std::string> report_one(const Found& found, size_t number) {
    const fs::path path = tree_.absolute(*found.file);
    auto file = open_file(path);
    if (!file) return std::move(file.fault());
    if (file->listing.tensors.empty())
      return {Code::kInvalidDumpData, Error{"the debug record is empty", path.string(),
                                            "copy the file from the device again"}};
    auto record = io::decode_overflow(file->mapping.bytes(), file->listing.tensors.front());
    if (!record) return {Code::kOverflowType, std::move(record.error()).in(path.string())};
    if (auto json = convert_file(path, {}, output_); !json.failed.empty())
      return std::move(json.failed.front().second);

    std::string statuses;
    Task task;
    for (const io::OverflowUnit& unit : record->units) {
      if (!unit.has_overflow()) continue;
      task = {unit.value("task_id").value_or(0), unit.value("stream_id").value_or(0),
              unit.value("context_id").value_or(io::kOverflowNone),
              unit.value("thread_id").value_or(io::kOverflowNone)};
      statuses += status_line(unit, task);
    }
    if (statuses.empty())
      return {Code::kOverflowStatus,
              Error{"the debug record shows no overflow", path.string(), "all status words are 0"}};
    std::string text =
        fmt::format("{}[{}]{}\n", std::string(49, '='), number, std::string(50, '='));
    const Found* dump = dump_of(found, task);
    if (dump != nullptr) text += fmt::format("[{}] {}\n", dump->parsed.type, dump->parsed.op);
    text += statuses + fmt::format(" [timestamp:{}]\n", found.parsed.timestamp);
    if (dump == nullptr) return text;
    DumpFile source{tree_.absolute(*dump->file), dump->name, dump->parsed.timestamp};
    auto tensors = load_dump(source);
    if (!tensors) return std::move(tensors.fault());
    if (auto npy = convert_file(source.path, {}, output_); !npy.failed.empty())
      return std::move(npy.failed.front().second);
    for (const bool is_input : {true, false}) {
      const auto& side = is_input ? tensors->inputs : tensors->outputs;
      for (size_t k = 0; k < side.size(); ++k) {
        auto line = statistics_line(side[k]);
        if (!line) return line;
        text += fmt::format(" {}.{}.{}.npy\n", source.path.filename().string(),
                            is_input ? "input" : "output", k) +
                *line;
      }
    }
    return text;
  }

  // The earliest dump of the task, in the directory of the record.
  const Found* dump_of(const Found& record, const Task& task) const {
    const Found* first = nullptr;
    for (const Found& found : files_) {
      if (found.parsed.type == "Opdebug" || found.file->directory() != record.file->directory())
        continue;
      const dump::DeviceName& name = found.parsed;
      const auto same = [](uint64_t wanted, int64_t there) {
        return wanted == io::kOverflowNone || static_cast<int64_t>(wanted) == there;
      };
      if (name.task != static_cast<int64_t>(task.task) ||
          (name.stream && *name.stream != static_cast<int64_t>(task.stream)))
        continue;
      if (name.task_type && (!same(task.context, name.context) || !same(task.thread, name.thread)))
        continue;
      if (first == nullptr || name.timestamp < first->parsed.timestamp) first = &found;
    }
    return first;
  }

  const dump::Tree& tree_;
  const fs::path& output_;
  std::vector<Found> files_;
  std::vector<const Found*> records_;
};

}  // namespace

std::string numpy_text(DType dtype, double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (kind_of(dtype) == DKind::kBool) return value != 0 ? "True" : "False";
  if (kind_of(dtype) == DKind::kInteger) return fmt::format("{:.0f}", value);
  std::string text;
  if (dtype == DType::kFloat16) {
    // The fewest digits that give the same float16 again.
    const uint16_t bits = half_from_float(static_cast<float>(value));
    const double held = static_cast<double>(float_from_half(bits));
    for (int digits = 1; digits <= 17; ++digits) {
      text = fmt::format("{:.{}g}", held, digits);
      if (half_from_float(*number_from_text<float>(text)) == bits) break;
    }
    const double shortest = *number_from_text<double>(text);
    text = fmt::format("{}", shortest);
  } else if (dtype == DType::kFloat32) {
    text = fmt::format("{}", static_cast<float>(value));
  } else {
    text = fmt::format("{}", value);
  }
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

Outcome<OverflowReport> analyse_overflow(const fs::path& dumps, int64_t top,
                                         const fs::path& output) {
  auto tree = dump::walk(dumps);
  if (!tree) return {Code::kInvalidPath, std::move(tree.error())};
  Analysis analysis(*tree, output);
  OverflowReport report;
  if (!analysis.has_records()) {
    report.warnings.push_back(
        fmt::format("{}: no file named Opdebug.Node_OpDebug.*: nothing has "
                    "overflowed, or debugging was off",
                    dumps.string()));
    return report;
  }
  auto text = analysis.report(top);
  if (!text) return std::move(text.fault());
  report.summary = std::move(*text);
  return report;
}

}  // namespace plumb::msaccucmp
