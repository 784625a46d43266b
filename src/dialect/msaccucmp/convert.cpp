// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/convert.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/parallel.h"
#include "dialect/msaccucmp/align.h"
#include "dialect/msaccucmp/output.h"
#include "dump/names.h"
#include "io/ascend_overflow.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;

std::string property(const io::TensorFile& file, std::string_view key) {
  for (const auto& [name, value] : file.listing.properties)
    if (name == key) return value;
  return {};
}

// MindSpore shows the operator's name instead of the graph engine's: the last part of the recorded
// one, in names of five fields.
std::string mindspore_name(const io::TensorFile& file, const std::string& name) {
  const std::string op = property(file, "op_name");
  if (op.empty() || std::count(name.begin(), name.end(), '.') != 4) return name;
  const size_t first = name.find('.'), second = name.find('.', first + 1);
  return name.substr(0, first + 1) + op.substr(op.rfind('/') + 1) + name.substr(second);
}

class FileConverter {
 public:
  FileConverter(const io::TensorFile& file, const ConvertOptions& options, const fs::path& output)
      : file_(file), options_(options), output_(output), name_(fs::path(file.path).filename()) {}

  Converted result;

  void run() {
    bool found = false;
    for (const TensorInfo& info : file_.listing.tensors) {
      const dump::Slot slot = dump::slot_from_tensor_name(info.name);
      const bool is_tensor =
          slot.kind == dump::SlotKind::kInput || slot.kind == dump::SlotKind::kOutput;
      const bool is_input = slot.kind == dump::SlotKind::kInput;
      if (options_.is_input &&
          (!is_tensor || is_input != *options_.is_input || slot.index != options_.index))
        continue;
      found = true;
      auto failure = io::is_overflow_dump(name_, file_.listing) ? write_overflow(info)
                     : is_tensor                                ? write_tensor(info, is_input, slot)
                                                                : write_memory(info);
      if (failure)
        fail(std::move(*failure));
      else
        result.written.push_back(last_);
    }
    if (!found && options_.is_input)
      fail({Code::kOutOfBounds,
            Error{"the dump has no such tensor",
                  fmt::format("{}: {} {}", file_.path, *options_.is_input ? "input" : "output",
                              options_.index),
                  "`plumb inspect` shows what is there"}});
  }

 private:
  void fail(Fault fault) { result.failed.emplace_back(file_.path, std::move(fault)); }

  fs::path place(const std::string& name, std::string_view suffix) {
    last_ = short_name(output_, "mapping.csv", name, suffix);
    return output_ / last_;
  }

  std::optional<Fault> write_overflow(const TensorInfo& info) {
    auto record = io::decode_overflow(file_.mapping.bytes(), info);
    if (!record) return Fault{Code::kInvalidDumpData, std::move(record.error()).in(file_.path)};
    return write_text(place(fmt::format("{}.{}.json", name_, info.name), ".json"),
                      io::to_json(*record));
  }

  std::optional<Fault> write_memory(const TensorInfo& info) {
    const Bytes all = file_.mapping.bytes();
    if (info.offset_bytes > all.size() || info.size_bytes > all.size() - info.offset_bytes)
      return Fault{Code::kInvalidDumpData,
                   Error{"the buffer lies outside its file", file_.path, "copy the file again"}};
    const std::string name = fmt::format("{}.{}.bin", name_, info.name);
    return write_text(place(name, ".bin"),
                      as_text(all.subspan(static_cast<size_t>(info.offset_bytes),
                                          static_cast<size_t>(info.size_bytes))));
  }

  std::optional<Fault> write_tensor(const TensorInfo& info, bool is_input, const dump::Slot& slot) {
    auto tensor = load_tensor(file_, info);
    if (!tensor) return std::move(tensor.fault());
    // What has no shape is a list: of one, if it is a scalar.
    const Shape stored = tensor->shape.empty() ? Shape{tensor->count} : tensor->shape;
    std::string layout = name_of(tensor->layout);
    View view = whole_view(std::move(*tensor), stored);
    std::optional<Fault> failure;
    if (!options_.format.empty()) {
      auto other = converted_view(view.tensor, *layout_from_name(options_.format), options_.shape);
      if (!other && options_.type != "msnpy") return std::move(other.fault());
      if (other) {
        view = std::move(*other);
        layout = options_.format;
      } else {  // MindSpore gets it as it is
        failure = std::move(other.fault());
      }
    }
    auto decoding = decoded(view);
    if (!decoding) return std::move(decoding.fault());
    const std::string name = name_for(
        view, *decoding, fmt::format("{}.{}", is_input ? "input" : "output", slot.index), layout);
    auto unwritten = options_.type == "bin"
                         ? write_text(place(name, ".bin"), as_text(decoding->elements))
                         : write_npy(place(name, ".npy"), *decoding);
    return unwritten ? std::move(unwritten) : std::move(failure);
  }

  std::string name_for(const View& view, const DecodedArray& array, const std::string& slot,
                       const std::string& layout) const {
    if (options_.type == "msnpy")
      return fmt::format("{}.{}.{}.npy", mindspore_name(file_, name_), slot, layout);
    if (options_.type != "bin")
      return options_.format.empty()
                 ? fmt::format("{}.{}.npy", name_, slot)
                 : fmt::format("{}.{}.{}.npy", name_, slot, join(view.shape, "x"));
    // The header's type, whatever the elements were written as.
    const Tensor& tensor = view.tensor;
    const bool is_other = tensor.dtype == DType::kBFloat16 || tensor.is_empty();
    const std::string size = options_.format.empty() && !tensor.is_empty()
                                 ? std::to_string(view.count)
                                 : join(view.shape, "_");
    return fmt::format("{}.{}.{}.{}.{}.bin", name_, slot, size,
                       name_of(is_other ? tensor.dtype : array.dtype), layout);
  }

  const io::TensorFile& file_;
  const ConvertOptions& options_;
  const fs::path& output_;
  std::string name_;
  std::string last_;  // file that is being written
};

}  // namespace

Converted convert_file(const fs::path& file, const ConvertOptions& options,
                       const fs::path& output) {
  auto opened = open_file(file);
  if (!opened) return {{}, {{file.string(), std::move(opened.fault())}}};
  FileConverter converter(*opened, options, output);
  converter.run();
  return std::move(converter.result);
}

Converted convert_files(const std::vector<fs::path>& files, const ConvertOptions& options,
                        const fs::path& output, RunContext& context) {
  std::vector<Converted> results(files.size());
  for_each_index(files.size(), [&](size_t i) {
    if (!context.cancelled) results[i] = convert_file(files[i], options, output);
  });
  Converted all;
  for (Converted& each : results) {
    std::move(each.written.begin(), each.written.end(), std::back_inserter(all.written));
    std::move(each.failed.begin(), each.failed.end(), std::back_inserter(all.failed));
  }
  return all;
}

}  // namespace plumb::msaccucmp
