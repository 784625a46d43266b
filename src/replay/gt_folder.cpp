// SPDX-License-Identifier: Apache-2.0
#include "replay/gt_folder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "dump/listing.h"
#include "engine/model.h"
#include "input/samples.h"
#include "io/npy.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;

struct Type {
  DType dtype = DType::kFloat32;
  Shape shape;
};

Error cannot_make(const fs::path& path, const std::error_code& error) {
  return {"the directory cannot be made", path.string() + ": " + error.message(),
          "name another one"};
}

Result<void> write_bytes(const fs::path& path, Bytes data) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(data);
  return sink->commit(false);
}

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (std::error_code unknown; at->is_regular_file(unknown)) files.push_back(at->path());
  std::sort(files.begin(), files.end());
  return files;
}

// What is known of tensors by the name their files have.
std::map<std::string, Type> types_of(const fs::path& directory,
                                     const std::vector<engine::DumpedTensor>& tensors) {
  std::map<std::string, Type> types;
  for (const engine::DumpedTensor& tensor : tensors)
    if (!tensor.file.empty())
      types[input::file_name_of(tensor.tensor)] = {tensor.dtype, tensor.shape};
  for (const fs::path& file : files_in(directory)) {
    if (file.extension() != ".npy") continue;
    const auto mapped = MappedFile::open(file.string());
    if (!mapped) continue;
    if (const auto info = io::parse_npy_header(mapped->bytes(), {}); info)
      types.try_emplace(file.stem().string(), Type{info->dtype, info->shape});
  }
  return types;
}

// Another size is for the comparison to tell: the bytes are a flat tensor then.
dump::Entry entry_of(const std::string& name, const std::string& file, const Type& type,
                     Bytes bytes) {
  static constexpr std::byte kNothing{};
  const int64_t item = std::max(bits_of(type.dtype) / 8, 1);
  const auto size = std::ssize(bytes);
  TensorInfo info;
  info.dtype = type.dtype;
  info.shape = type.shape;
  if (element_count(info.shape).value_or(-1) * item != size) info.shape = {size / item};
  info.size_bytes = static_cast<uint64_t>(size / item * item);
  dump::Entry entry;
  entry.operator_name = name;
  entry.parts.push_back({file, ""});
  entry.info = std::move(info);
  entry.memory = bytes.empty() ? &kNothing : bytes.data();
  return entry;
}

// In words, what bare bytes lack to be the tensor that they are called like; empty if nothing.
std::string size_doubt(const std::string& file, const Type& type, size_t size) {
  const int64_t count = element_count(type.shape).value_or(0);
  const int64_t needed = count * std::max(bits_of(type.dtype) / 8, 1);
  const auto given = static_cast<int64_t>(size);
  if (given == needed || count == 0) return {};
  const std::string_view other = given == count * 4   ? ", as many as float32 would take"
                                 : given == count * 2 ? ", as many as float16 would take"
                                 : given == count     ? ", as many as 8-bit integers would take"
                                                      : "";
  return fmt::format("{} has {} bytes, {} of {} take {}{}", file, given,
                     plumb::to_string(type.shape), name_of(type.dtype), needed, other);
}

}  // namespace

Result<GtFolder> GtFolder::make(const fs::path& path) {
  auto lock = DirectoryLock::make_empty(path, "--output-gt");
  if (!lock) return lock.error();
  GtFolder folder(std::move(*lock));
  folder.path_ = path;
  return folder;
}

Result<void> GtFolder::save(const fs::path& folder, const engine::DumpedTensor& tensor) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot_make(folder, error);
  const fs::path base = folder / input::file_name_of(tensor.tensor);
  if (const auto [other, is_new] = written_.try_emplace(base, tensor.tensor); !is_new)
    return Error{
        "two tensors get the same file name",
        fmt::format("'{}' and '{}' are both {}", other->second, tensor.tensor, base.string()),
        "a gt folder cannot hold both: use --keep DIR instead"};
  if (auto done =
          engine::write_npy(base.string() + ".npy", {tensor.dtype, tensor.shape, tensor.bytes});
      !done)
    return done.error();
  return write_bytes(base.string() + ".bin", tensor.bytes);
}

Result<void> GtFolder::add(const std::string& sample, bool is_target, const engine::Dump& given,
                           bool all_layers) {
  const fs::path folder = path_ / sample / (is_target ? "joint" : "onnx");
  const std::vector<graph::Edge>& outputs = given.graph->outputs;
  const auto is_output = [&](const engine::DumpedTensor& tensor) {
    return std::any_of(outputs.begin(), outputs.end(), [&](const graph::Edge& output) {
      return tensor.op == output.producer && tensor.output == output.output;
    });
  };
  // Layers that work in place give a tensor of the same name again: what it holds in the end.
  std::map<std::string_view, const engine::DumpedTensor*> last;
  for (const engine::DumpedTensor& tensor : given.tensors)
    if (!tensor.file.empty() && (all_layers || is_output(tensor))) last[tensor.tensor] = &tensor;
  for (const auto& [name, tensor] : last)
    if (auto saved = save(folder, *tensor); !saved) return saved;
  return {};
}

Result<void> GtFolder::add_inputs(const std::string& sample, const engine::Inputs& inputs,
                                  const std::vector<std::string>& files) {
  const fs::path folder = path_ / sample / "input";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot_make(folder, error);
  for (const auto& [name, tensor] : inputs) {
    engine::DumpedTensor fed;
    fed.tensor = name;
    fed.dtype = tensor.dtype;
    fed.shape = tensor.shape;
    fed.bytes = tensor.bytes;
    if (auto saved = save(folder, fed); !saved) return saved;
  }
  std::string list;
  for (const std::string& file : files) list += file + "\n";
  return write_bytes(folder / "filename.txt", as_bytes(list));
}

std::set<std::string> gt_samples(const fs::path& path) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (is_gt_folder(at->path())) names.insert(at->path().filename().string());
  return names;
}

namespace {

// The folders of results, by name.
std::vector<std::string> result_folders(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (std::error_code ignored;
        at->is_directory(ignored) && at->path().filename().string() != "input")
      names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

bool is_gt_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path / "input", ignored) &&
         (fs::is_directory(path / "onnx", ignored) || fs::is_directory(path / "joint", ignored));
}

Result<fs::path> results_below(const fs::path& path, const std::string& name, bool is_asked_for) {
  const std::vector<std::string> names = result_folders(path);
  if (std::find(names.begin(), names.end(), name) != names.end()) return path / name;
  if (is_asked_for || names.empty())
    return Error{
        fmt::format("the gt folder has no results '{}'", name), path.string(),
        did_you_mean(name, names) + fmt::format("--gt takes one of: {}", fmt::join(names, ", "))};
  for (const char* usual : {"onnx", "joint"})
    if (std::find(names.begin(), names.end(), usual) != names.end()) return path / usual;
  return path / names.front();
}

namespace {

// Files in a directory that could be run; not more than one line of them.
std::vector<std::string> models_in(const fs::path& directory) {
  constexpr size_t kMost = 4;
  std::vector<std::string> models;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    fs::path file = entry.path();
    if (file.extension() == ".caffemodel") file.replace_extension(".prototxt");
    if (file.extension() == ".onnx" || (file != entry.path() && fs::exists(file, ignored)))
      models.push_back(file.string());
  }
  std::sort(models.begin(), models.end());
  if (models.size() > kMost) models.resize(kMost);
  return models;
}

bool has_no_header(const dump::Skipped& skipped) {
  return fs::path(skipped.file).extension() == ".bin";
}

// A directory or a file, and a file that tells neither type nor shape as what is left out.
Result<dump::DumpSet> open_dump_or_bare(const fs::path& path, const fs::path& root) {
  auto set = dump::open_dump(path);
  if (set || root == path || path.extension() != ".bin") return set;
  dump::DumpSet bare;
  bare.root = root;
  bare.convention = "plain";
  bare.skipped.push_back({path.filename().string(), std::string(dump::kNoHeader), set.error()});
  return bare;
}

Error untyped(const fs::path& path, const std::map<std::string, Type>& types) {
  std::vector<std::string> names;
  for (const auto& [name, type] : types) names.push_back(name);
  if (names.empty())
    return {"neither side tells type and shape",
            fmt::format("{}: a file without a header", path.string()),
            "name the gt folder or a .npy on the other side, or compare the two by `plumb "
            "compare` with --dtype and --shape"};
  return {"the other side has no tensor of that name",
          fmt::format("{}: a file without a header", path.string()),
          did_you_mean(path.stem().string(), names) +
              fmt::format("it has: {}", fmt::join(names, ", "))};
}

}  // namespace

Result<dump::DumpSet> open_results(const fs::path& path, const fs::path& other,
                                   const std::vector<engine::DumpedTensor>& tensors) {
  std::error_code ignored;
  const bool is_file = fs::is_regular_file(path, ignored);
  const fs::path root = is_file ? path.parent_path() : path;
  auto set = open_dump_or_bare(path, root);
  if (!set) {
    auto description = is_file ? engine::why_not_run(path) : std::nullopt;
    return description ? std::move(*description) : set.error();
  }
  if (const auto models = models_in(path); set->entries.empty() && !models.empty())
    return Error{"this directory holds models, not results", path.string(),
                 fmt::format("name one of them: {}", fmt::join(models, ", "))};
  // What lies beside the npy file of its name is the same once more.
  std::erase_if(set->skipped, [&](const dump::Skipped& skipped) {
    const fs::path file = root / skipped.file;
    return !skipped.error && file.extension() == ".bin" &&
           fs::exists(fs::path(file).replace_extension(".npy"), ignored);
  });
  if (std::none_of(set->skipped.begin(), set->skipped.end(), has_no_header)) return set;
  const auto types = types_of(other, tensors);
  // In whatever folder: a board keeps those of a sample in one of their own.
  std::map<std::string, size_t> namesakes;
  for (const dump::Skipped& each : set->skipped)
    if (has_no_header(each)) ++namesakes[fs::path(each.file).stem().string()];
  auto files = std::make_shared<std::vector<MappedFile>>();
  std::vector<dump::Skipped> skipped;
  for (dump::Skipped& each : set->skipped) {
    const std::string name = fs::path(each.file).stem().string();
    const auto type = types.find(name);
    if (type == types.end() || !has_no_header(each) || namesakes[name] > 1) {
      skipped.push_back(std::move(each));
      continue;
    }
    auto file = MappedFile::open((root / each.file).string());
    if (!file) return file.error();
    if (auto doubt = size_doubt(each.file, type->second, file->bytes().size()); !doubt.empty())
      set->warnings.push_back(std::move(doubt));
    set->entries.push_back(entry_of(name, each.file, type->second, file->bytes()));
    files->push_back(std::move(*file));
  }
  if (is_file && !skipped.empty()) return untyped(path, types);
  set->skipped = std::move(skipped);
  set->memory = std::move(files);
  dump::sort_entries(set->entries);
  return set;
}

}  // namespace plumb::replay
