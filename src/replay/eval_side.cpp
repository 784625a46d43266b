// SPDX-License-Identifier: Apache-2.0
#include "replay/eval_side.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/crc32.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "dump/dump.h"
#include "graph/caffe_onnx.h"
#include "graph/model_content.h"
#include "graph/onnx_external.h"
#include "replay/gt_folder.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;

Error no_scores(const std::string& where, const std::vector<std::string>& names,
                const std::string& wanted) {
  const std::string are =
      names.empty() ? "there are none" : fmt::format("there are: {}", fmt::join(names, ", "));
  if (!wanted.empty())
    return {fmt::format("no output '{}' tells a class", wanted), where + ": " + are,
            did_you_mean(wanted, names) + "a score for each class is a list of numbers"};
  return {
      "no output looks like the scores of classes", where + ": outputs " + are,
      "name one with --scores; it must be one axis of numbers beside axes of 1, for one sample"};
}

Result<std::string> print_of(const fs::path& path) {
  const auto file = MappedFile::open(path.string());
  if (!file) return file.error();
  return fmt::format("{} bytes {:08x}", file->bytes().size(), crc32(0, file->bytes()));
}

// Of files that are too many or too large to be read: names, sizes and times.
std::string print_of(std::vector<fs::path> files) {
  std::sort(files.begin(), files.end());
  uint32_t crc = 0;
  for (const fs::path& file : files) {
    std::error_code ignored;
    const std::string line =
        fmt::format("{} {} {}\n", file.string(), fs::file_size(file, ignored),
                    fs::last_write_time(file, ignored).time_since_epoch().count());
    crc = crc32(crc, as_bytes(line));
  }
  return fmt::format("{} files {:08x}", files.size(), crc);
}

std::vector<fs::path> files_below(const fs::path& path) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error))
    if (std::error_code ignored; at->is_regular_file(ignored)) files.push_back(at->path());
  return files;
}

// An output by its name, as it is or as a file, or the first that can be.
template <class Candidates, class NameOf>
auto choose(const Candidates& candidates, const std::string& wanted, NameOf name_of) {
  return std::find_if(candidates.begin(), candidates.end(), [&](const auto& each) {
    return wanted.empty() || name_of(each) == wanted ||
           input::file_name_of(name_of(each)) == input::file_name_of(wanted);
  });
}

}  // namespace

Result<EvalSide> EvalSide::open(const RunSideOptions& side, const EvalOptions& options) {
  EvalSide made;
  made.path_ = side.path;
  made.weights_ = side.weights;
  made.scores_ = options.scores;
  if (!engine::is_model(side.path)) {
    std::error_code error;
    if (!fs::is_directory(side.path, error))
      return Error{"this is neither a model nor a directory of results", side.path,
                   "name an .onnx, a .prototxt, or a directory with a folder for each sample"};
    return made;
  }
  auto model =
      engine::LoadedModel::open({side.path, side.weights, side.engine, options.engine_limits});
  if (!model) return model.error();
  made.model_ = std::make_unique<engine::LoadedModel>(std::move(*model));
  engine::DumpWishes wishes;
  wishes.optimization = side.optimization;
  wishes.threads = options.threads;
  wishes.outputs_only = true;
  made.settings_ =
      fmt::format("{} threads {}", engine::text_of(side.optimization), options.threads);
  made.dumper_ = std::make_unique<engine::ModelDumper>(*made.model_, std::move(wishes));
  return made;
}

std::string EvalSide::engine() const { return model_ ? model_->engine().version() : "results"; }

Result<std::string> EvalSide::print() const {
  if (!model_) return print_of(files_below(path_));
  auto print = print_of(path_);
  if (!print) return print;
  *print += fmt::format(", {} {}", engine(), settings_);
  if (graph::is_caffe_network(path_)) {
    auto weights = weights_.empty() ? graph::find_caffe_weights(path_) : fs::path(weights_);
    if (!weights) return weights.error();
    auto of_weights = print_of(*weights);
    return of_weights ? *print + ", weights " + *of_weights : of_weights;
  }
  const engine::Model view = model_->view();
  auto files = graph::external_files(view.graph, view.data);
  if (!files) return files.error();
  return files->empty() ? *print : *print + ", data " + print_of(std::move(*files));
}

Result<GivenScores> EvalSide::run(const engine::Inputs& inputs, const RunContext& context) {
  auto given = dumper_->keep(inputs, {}, context);
  if (!given) return std::move(given.error()).in(path_);
  std::vector<const engine::DumpedTensor*> candidates;
  std::vector<std::string> names;
  for (const graph::Edge& output : given->graph->outputs)
    for (const engine::DumpedTensor& tensor : given->tensors) {
      if (tensor.op != output.producer || tensor.output != output.output) continue;
      names.push_back(tensor.tensor);
      if (!tensor.file.empty() && are_class_scores(tensor.dtype, tensor.shape))
        candidates.push_back(&tensor);
    }
  const auto chosen = choose(candidates, scores_, [](const auto* each) { return each->tensor; });
  if (chosen == candidates.end()) return no_scores(path_, names, scores_);
  const engine::DumpedTensor& tensor = **chosen;
  return GivenScores{tensor.tensor, *class_scores(tensor.dtype, tensor.shape, tensor.bytes),
                     std::move(given->tensors)};
}

std::vector<std::string> EvalSide::samples() const {
  std::vector<std::string> names;
  std::error_code error;
  if (is_gt_folder(path_)) return {""};
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error))
    if (std::error_code ignored; at->is_directory(ignored))
      names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names.empty() ? std::vector<std::string>{""} : names;
}

Result<GivenScores> EvalSide::read(const std::string& sample, size_t place, bool is_golden,
                                   const std::vector<engine::DumpedTensor>& like) const {
  std::error_code ignored;
  fs::path folder = sample.empty() ? fs::path(path_) : fs::path(path_) / sample;
  if (const fs::path numbered = fs::path(path_) / fmt::format("sample_{}", place);
      !fs::is_directory(folder, ignored) && fs::is_directory(numbered, ignored))
    folder = numbered;
  if (!fs::is_directory(folder, ignored))
    return Error{"there are no results of this sample", folder.string(),
                 "results are in a directory for each sample, of its name"};
  if (is_gt_folder(folder)) {
    auto below = results_below(folder, is_golden ? "onnx" : "joint", false);
    if (!below) return below.error();
    folder = *below;
  }
  auto set = open_results(folder, {}, like);
  if (!set) return set.error();
  std::vector<const dump::Entry*> candidates;
  std::vector<std::string> names;
  for (const dump::Entry& entry : set->entries) {
    if (entry.slot.kind == dump::SlotKind::kInput) continue;
    names.push_back(entry.operator_name);
    auto reader = dump::EntryReader::open(*set, entry);
    if (reader && are_class_scores(reader->reader().dtype(), reader->reader().shape()))
      candidates.push_back(&entry);
  }
  const auto chosen =
      choose(candidates, scores_, [](const auto* each) { return each->operator_name; });
  if (chosen == candidates.end()) return no_scores(folder.string(), names, scores_);
  auto opened = dump::EntryReader::open(*set, **chosen);
  if (!opened) return opened.error();
  io::TensorReader& reader = opened->reader();
  const auto bytes = reader.read(0, reader.count());
  if (!bytes) return bytes.error();
  return GivenScores{
      (*chosen)->operator_name, *class_scores(reader.dtype(), reader.shape(), *bytes), {}};
}

}  // namespace plumb::replay
