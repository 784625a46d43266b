// SPDX-License-Identifier: Apache-2.0
#include "replay/gt_folder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/mapped_file.h"
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

fs::path results_below(const fs::path& path, bool is_target) {
  std::error_code ignored;
  for (const char* name : {is_target ? "joint" : "onnx", is_target ? "onnx" : "joint"})
    if (fs::is_directory(path / name, ignored) && fs::is_directory(path / "input", ignored))
      return path / name;
  return path;
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

}  // namespace

Result<GtFolder> GtFolder::make(const fs::path& path) {
  auto lock = DirectoryLock::make_empty(path, "--output-gt");
  if (!lock) return lock.error();
  GtFolder folder(std::move(*lock));
  folder.path_ = path;
  return folder;
}

Result<void> GtFolder::save(const fs::path& folder, const std::string& tensor,
                            const fs::path& npy) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot_make(folder, error);
  const fs::path base = folder / input::file_name_of(tensor);
  if (const auto [other, is_new] = written_.try_emplace(base, tensor); !is_new)
    return Error{"two tensors get the same file name",
                 fmt::format("'{}' and '{}' are both {}", other->second, tensor, base.string()),
                 "a gt folder cannot hold both: use --keep DIR instead"};
  auto file = MappedFile::open(npy.string());
  if (!file) return file.error();
  const auto info = io::parse_npy_header(file->bytes(), {});
  if (!info) return Error(info.error()).in(npy.string());
  if (auto done = write_bytes(base.string() + ".npy", file->bytes()); !done) return done;
  return write_bytes(base.string() + ".bin",
                     file->bytes().subspan(static_cast<size_t>(info->offset_bytes)));
}

Result<void> GtFolder::add(const std::string& sample, bool is_target, const graph::Graph& graph,
                           const std::vector<engine::DumpedTensor>& tensors, const fs::path& dump) {
  const fs::path folder = path_ / sample / (is_target ? "joint" : "onnx");
  for (const graph::Edge& output : graph.outputs)
    for (const engine::DumpedTensor& tensor : tensors)
      if (tensor.op == output.producer && tensor.output == output.output && !tensor.file.empty())
        if (auto saved = save(folder, tensor.tensor, dump / tensor.file); !saved) return saved;
  return {};
}

Result<void> GtFolder::add_inputs(const std::string& sample, const engine::Inputs& inputs,
                                  const std::vector<std::string>& files) {
  const fs::path folder = path_ / sample / "input";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot_make(folder, error);
  for (const auto& [name, tensor] : inputs) {
    const fs::path base = folder / input::file_name_of(name);
    if (auto done = engine::write_npy(base.string() + ".npy", tensor.view()); !done)
      return done.error();
    if (auto done = write_bytes(base.string() + ".bin", tensor.bytes); !done) return done;
  }
  std::string list;
  for (const std::string& file : files) list += file + "\n";
  return write_bytes(folder / "filename.txt", as_bytes(list));
}

std::set<std::string> gt_samples(const fs::path& path) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (std::error_code ignored; fs::is_directory(at->path() / "input", ignored) &&
                                 (fs::is_directory(at->path() / "onnx", ignored) ||
                                  fs::is_directory(at->path() / "joint", ignored)))
      names.insert(at->path().filename().string());
  return names;
}

Result<fs::path> results_in(const fs::path& path, bool is_target, const fs::path& other,
                            const std::vector<engine::DumpedTensor>& tensors,
                            const fs::path& work) {
  const fs::path results = results_below(path, is_target);
  const std::vector<fs::path> files = files_in(results);
  const auto has_no_header = [](const fs::path& file) {
    std::error_code ignored;
    return file.extension() == ".bin" &&
           !fs::exists(fs::path(file).replace_extension(".npy"), ignored);
  };
  if (std::none_of(files.begin(), files.end(), has_no_header)) return results;
  const auto types = types_of(other.empty() ? other : results_below(other, !is_target), tensors);
  std::error_code error;
  fs::create_directories(work, error);
  if (error) return cannot_make(work, error);
  for (const fs::path& file : files) {
    auto mapped = MappedFile::open(file.string());
    if (!mapped) return mapped.error();
    const auto type = types.find(file.stem().string());
    if (!has_no_header(file) || type == types.end()) {
      if (auto done = write_bytes(work / file.filename(), mapped->bytes()); !done)
        return done.error();
      continue;
    }
    // Another size is for the comparison to tell: the bytes are kept as a flat tensor.
    Shape shape = type->second.shape;
    const int64_t item = std::max(bits_of(type->second.dtype) / 8, 1);
    const auto size = std::ssize(mapped->bytes());
    if (element_count(shape).value_or(-1) * item != size) shape = {size / item};
    auto sink = FileSink::create((work / file.filename()).replace_extension(".npy"));
    if (!sink) return sink.error();
    sink->write(io::npy_header(type->second.dtype, shape));
    sink->write(mapped->bytes().first(static_cast<size_t>(size / item * item)));
    if (auto done = sink->commit(false); !done) return done.error();
  }
  return work;
}

}  // namespace plumb::replay
