// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/directory.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dump/mapping_csv.h"
#include "dump/names.h"
#include "dump/tree.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 11> kQuantMarks{
    "_quant_layer", "_anti_quant_layer", "AscendQuant", "AscendWeightQuant", "AntiQuant",
    "_quant",       "_weight_quant",     "_anti_quant", "_dequant_layer",    "AscendDequant",
    "_dequant"};

enum class FileType : uint8_t { kNumpy, kStandard, kQuant, kOffline };

struct ParsedName {
  FileType type;
  std::string key;
  int64_t timestamp = 0;
  bool is_slice = false;
};

std::vector<std::string_view> fields_of(std::string_view name) {
  std::vector<std::string_view> fields;
  for (size_t at = 0; at <= name.size();) {
    const size_t dot = std::min(name.find('.', at), name.size());
    fields.push_back(name.substr(at, dot - at));
    at = dot + 1;
  }
  return fields;
}

bool is_word(std::string_view text, bool with_dots = false) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || (with_dots && c == '.');
  });
}

int64_t timestamp_of(std::string_view field) {
  constexpr size_t kDigits = 16;
  return field.size() == kDigits ? dump::number_from(field).value_or(0) : 0;
}

// op.index.timestamp before the suffix.
std::optional<ParsedName> parse_golden(std::string_view stem, FileType type) {
  const size_t last = stem.rfind('.');
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  const size_t middle = stem.rfind('.', last - 1);
  if (middle == std::string_view::npos || middle == 0) return std::nullopt;
  const std::string_view timestamp = stem.substr(last + 1);
  if (!dump::is_digits(timestamp) || !dump::is_digits(stem.substr(middle + 1, last - middle - 1)) ||
      !is_word(stem.substr(0, middle), type == FileType::kNumpy))
    return std::nullopt;
  return ParsedName{type, std::string(stem.substr(0, last)), timestamp_of(timestamp), false};
}

// Type.name.task[.stream].timestamp[.a.b.c][.d]
std::optional<ParsedName> parse_offline(std::string_view name) {
  const auto fields = fields_of(name);
  if (fields.size() < 4 || fields.size() > 9 || !is_word(fields[0]) || !is_word(fields[1]))
    return std::nullopt;
  if (!std::all_of(fields.begin() + 2, fields.end(), dump::is_digits)) return std::nullopt;
  ParsedName parsed{FileType::kOffline, std::string(fields[1]), 0, false};
  for (size_t i = fields.size() - 1; i >= 3 && parsed.timestamp == 0; --i)
    parsed.timestamp = timestamp_of(fields[i]);
  parsed.is_slice = fields.size() > 5 && fields[fields.size() - 4] == "4";
  if (auto slice = dump::parse_manual_slice(parsed.key)) parsed.key = slice->op;
  return parsed;
}

std::optional<ParsedName> parse_name(std::string_view name) {
  const auto stem = [&](std::string_view suffix) {
    return name.substr(0, name.size() - suffix.size());
  };
  if (name.ends_with(".npy")) return parse_golden(stem(".npy"), FileType::kNumpy);
  if (name.ends_with(".pb")) return parse_golden(stem(".pb"), FileType::kStandard);
  if (name.ends_with(".quant")) return parse_golden(stem(".quant"), FileType::kQuant);
  return parse_offline(name);
}

// The last but three of the fields behind the time stamp of newer dumps.
std::optional<Fault> check_task_type(std::string_view name) {
  const auto fields = fields_of(name);
  if (fields.size() <= 5) return std::nullopt;
  const std::string_view field = fields[fields.size() - 4];
  if (field.size() == 1 && field[0] >= '0' && field[0] <= '4') return std::nullopt;
  return Fault{Code::kTaskType, Error{"the task type in a file name is not known",
                                      fmt::format("{}: '{}'", name, field),
                                      "types are 0 to 4; is the name intact?"}};
}

bool has_quant_mark(std::string_view key) {
  return std::any_of(kQuantMarks.begin(), kQuantMarks.end(), [&](std::string_view mark) {
    return key.find(mark) != std::string_view::npos;
  });
}

// The files of a directory, none of those below it.
Outcome<dump::Tree> files_in(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure))
    return {Code::kInvalidPath, Error{"no such directory", path.string(),
                                      "check the path; -m and -g name directories of dump files"}};
  dump::Tree tree;
  tree.root = path;
  fs::directory_iterator files(path, failure);
  if (failure)
    return {Code::kInvalidPath,
            Error{"the directory cannot be read", path.string(), failure.message()}};
  for (const fs::directory_entry& entry : files)
    if (std::error_code ignored; entry.is_regular_file(ignored))
      tree.files.push_back({entry.path().filename().string(), entry.file_size(ignored)});
  std::sort(tree.files.begin(), tree.files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return tree;
}

DumpKind kind_of(FileType type, bool is_quantized) {
  switch (type) {
    case FileType::kOffline: return DumpKind::kOffline;
    case FileType::kNumpy: return is_quantized ? DumpKind::kQuant : DumpKind::kStandard;
    case FileType::kStandard: break;
    case FileType::kQuant: return DumpKind::kQuant;
  }
  return DumpKind::kStandard;
}

}  // namespace

std::string file_key(std::string_view operator_name) {
  std::string key(operator_name);
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  return key;
}

std::string type_in_name(std::string_view file_name) {
  return std::string(file_name.substr(0, file_name.find('.')));
}

const DumpFile* DumpDirectory::find(std::string_view operator_name, int64_t output) const {
  std::string key = file_key(operator_name);
  if (kind != DumpKind::kOffline) key += fmt::format(".{}", output);
  const auto found = files.find(key);
  return found == files.end() ? nullptr : &found->second.back();
}

Outcome<DumpDirectory> open_directory(const fs::path& path, bool join_slices) {
  const auto tree = files_in(path);
  if (!tree) return tree.fault();
  DumpDirectory directory;
  directory.path = path;
  const dump::RealNames real_names(*tree);
  std::optional<FileType> type;
  size_t unknown = 0;
  bool has_slices = false;
  for (const dump::TreeFile& file : tree->files) {
    if (file.name() == dump::kMappingName || file.name() == "convert_failed_file_list.txt")
      continue;
    const auto name = real_names.of(file);
    const auto parsed = name ? parse_name(*name) : std::nullopt;
    if (!parsed) {
      ++unknown;
      continue;
    }
    if (parsed->type == FileType::kOffline)
      if (auto fault = check_task_type(*name)) return *fault;
    if (type && *type != parsed->type)
      return {Code::kDumpType,
              Error{"the directory holds dumps of different types",
                    fmt::format("{}: '{}' is of another type than the files before it",
                                path.string(), *name),
                    "keep device dumps and golden data in directories of their own"}};
    type = parsed->type;
    directory.has_npy |= file.name().ends_with(".npy");
    directory.is_quantized |= has_quant_mark(parsed->key);
    directory.files[parsed->key].push_back(
        {tree->absolute(file), std::string(*name), parsed->timestamp, parsed->is_slice});
    has_slices |= parsed->is_slice;
  }
  if (!type)
    return {Code::kDumpType,
            Error{"the directory holds no dump files",
                  fmt::format("{}: {} files, none is named like a dump", path.string(), unknown),
                  "name the directory with the files themselves; device dumps are "
                  "Type.name.task.stream.timestamp, golden data name.output.timestamp.npy"}};
  if (unknown > 0)
    directory.warnings.push_back(
        fmt::format("{}: {} left out: not named like a dump", path.string(),
                    unknown == 1 ? "1 file" : fmt::format("{} files", unknown)));
  for (auto& [key, same] : directory.files)
    std::stable_sort(same.begin(), same.end(), [](const DumpFile& a, const DumpFile& b) {
      return a.timestamp < b.timestamp;
    });
  if (has_slices && join_slices)
    if (auto set = dump::open_dump(path))
      directory.slices = std::make_shared<const dump::DumpSet>(std::move(*set));
  directory.kind = kind_of(*type, directory.is_quantized);
  return directory;
}

std::optional<Fault> check_scenario(const DumpDirectory& target, const DumpDirectory& golden,
                                    const RulePaths& rules) {
  const auto name = [](const DumpDirectory& side) {
    const bool is_device = side.kind == DumpKind::kOffline;
    const bool quantized = is_device ? side.is_quantized : side.kind == DumpKind::kQuant;
    return fmt::format("{} {}", quantized ? "the quantized" : "the unquantized",
                       is_device ? "model on the device" : "original model");
  };
  const std::string pair = fmt::format("-m: {}, -g: {}", name(target), name(golden));
  const auto refuse = [&](Code code, std::string what, std::string remedy) {
    return Fault{code, Error{std::move(what), pair, std::move(remedy)}};
  };
  const auto incomparable = [&] {
    return refuse(Code::kScenario, "these two kinds of dump are not compared",
                  "`plumb compare` pairs them by name");
  };
  enum class Need : uint8_t { kRequired, kForbidden, kOptional };
  const auto check = [&](Need rule, Need quant, Need unfused, Code code) -> std::optional<Fault> {
    struct Item {
      const char* option;
      const std::string& path;
      Need need;
    };
    for (const Item& item : {Item{"-f", rules.rules, rule}, Item{"-q", rules.quant, quant},
                             Item{"-cf", rules.unfused, unfused}}) {
      if (item.need == Need::kRequired && item.path.empty())
        return refuse(code, fmt::format("{} is required for this pair", item.option),
                      fmt::format("give the rule file with {}", item.option));
      if (item.need == Need::kForbidden && !item.path.empty())
        return refuse(code, fmt::format("{} is not used for this pair", item.option),
                      fmt::format("leave out {}", item.option));
    }
    return std::nullopt;
  };
  using enum Need;
  if (target.kind == DumpKind::kStandard) return incomparable();
  if (target.kind == DumpKind::kQuant) {
    if (golden.kind != DumpKind::kStandard) return incomparable();
    return check(kForbidden, kRequired, kForbidden, Code::kScenario);
  }
  if (golden.kind == DumpKind::kOffline) {
    if (target.is_quantized != golden.is_quantized) return incomparable();
    const Need both = rules.rules.empty() && rules.unfused.empty() ? kForbidden : kRequired;
    return check(both, kForbidden, both, Code::kInvalidParameter);
  }
  if (golden.kind == DumpKind::kQuant && !target.is_quantized) return incomparable();
  const bool needs_quant = golden.kind == DumpKind::kStandard && target.is_quantized;
  return check(kRequired, needs_quant ? kRequired : kForbidden, kForbidden,
               Code::kInvalidParameter);
}

Outcome<OperatorDump> load_dump(const DumpDirectory& directory, const DumpFile& source) {
  if (!source.is_slice || directory.slices == nullptr) return load_dump(source);
  // The execution that the newest slice is of.
  const std::string file = source.path.filename().string();
  const auto is_of = [&](const dump::Entry& entry) {
    return std::any_of(entry.parts.begin(), entry.parts.end(),
                       [&](const dump::TensorRef& part) { return part.file == file; });
  };
  const auto& entries = directory.slices->entries;
  const auto newest = std::find_if(entries.begin(), entries.end(), is_of);
  if (newest == entries.end()) return load_dump(source);
  OperatorDump dump;
  dump.source = &source;
  dump.is_joined = true;
  for (const dump::Entry& entry : entries) {
    if (entry.operator_name != newest->operator_name || entry.timestamp != newest->timestamp ||
        (entry.slot.kind != dump::SlotKind::kInput && entry.slot.kind != dump::SlotKind::kOutput))
      continue;
    auto tensor = load_joined(*directory.slices, entry);
    if (!tensor) return std::move(tensor.fault());
    (entry.slot.kind == dump::SlotKind::kInput ? dump.inputs : dump.outputs)
        .push_back(std::move(*tensor));
  }
  return dump;
}

Outcome<OperatorDump> load_dump(const DumpFile& source) {
  auto file = open_file(source.path);
  if (!file) return file.fault();
  OperatorDump dump;
  dump.source = &source;
  for (const TensorInfo& info : file->listing.tensors) {
    const dump::Slot slot = dump::slot_from_tensor_name(info.name);
    const bool is_golden = info.name.empty();  // an npy file holds one output
    if (!is_golden && slot.kind != dump::SlotKind::kInput && slot.kind != dump::SlotKind::kOutput)
      continue;
    auto tensor = load_comparable(*file, info);
    if (!tensor) return tensor.fault();
    (!is_golden && slot.kind == dump::SlotKind::kInput ? dump.inputs : dump.outputs)
        .push_back(std::move(*tensor));
  }
  return dump;
}

}  // namespace plumb::msaccucmp
