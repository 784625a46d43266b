// SPDX-License-Identifier: Apache-2.0
#include "replay/isolate_part.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/run_command.h"
#include "graph/onnx_bodies.h"
#include "graph/onnx_cut.h"
#include "graph/onnx_wiring.h"
#include "graph/readers.h"

namespace plumb::replay {
namespace {

constexpr size_t kMostFused = 64;  // operators in a row that one fusion may span

// What hinders the use of a tensor, for a list; empty if both sides have it.
std::string missing(const TensorSources& sources) {
  if (sources.golden.entry != nullptr && sources.target.entry != nullptr) return {};
  return fmt::format("{} ({})", sources.place,
                     sources.golden.entry != nullptr   ? "not in the target's dump"
                     : sources.target.entry != nullptr ? "not in the golden dump"
                                                       : "in neither dump");
}

bool is_inside_fusion(const TensorSources& sources) {
  return sources.is_fused && sources.target.entry == nullptr;
}

}  // namespace

Result<std::unique_ptr<OriginalModel>> OriginalModel::open(const std::string& path,
                                                           const result::Run& run,
                                                           const ComparedDumps& dumps) {
  std::unique_ptr<OriginalModel> original(new OriginalModel(path));
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  original->file_ = std::move(*file);
  if (!graph::is_onnx(original->file_.bytes()))
    return Error{"the original model is no ONNX file", path,
                 "name the ONNX file that the golden dump was made with: --model FILE"};
  auto model = graph::read_onnx(original->file_.bytes());
  if (!model) return std::move(model.error()).in(path);
  original->model_ = std::move(*model);
  auto sources = Sources::open(run, dumps.target, dumps.golden, dumps.step);
  if (!sources) return sources.error();
  original->sources_ = std::move(*sources);
  original->sources_->bind(original->model_);
  for (const std::string& input : dumps.inputs) {
    const size_t end = input.find('=');
    if (end == std::string::npos)
      return Error{"an input has no name", "--input " + input, "write --input NAME=FILE"};
    original->files_[input.substr(0, end)].parts.push_back({input.substr(end + 1), ""});
  }
  return original;
}

engine::Model OriginalModel::view() const {
  return {edited_.empty() ? file_.bytes() : as_bytes(edited_), {}, graph::data_place_of(path_), {}};
}

Result<IsolatedPart> OriginalModel::find(const std::string& op, const std::string& to) {
  auto part = find_at_surface(op, to);
  if (part) return part;
  if (auto opened = open_branches(); !opened) return opened.error();
  if (edited_.empty()) return part;
  return find_at_surface(op, to);
}

Result<IsolatedPart> OriginalModel::find_at_surface(const std::string& op,
                                                    const std::string& to) const {
  auto chosen = nodes_between(op, to);
  if (!chosen) return chosen.error();
  std::vector<size_t> nodes = *chosen;
  add_fused(nodes);
  IsolatedPart part;
  for (size_t node : nodes)
    part.operators.push_back({model_.graph.nodes[node].name,
                              std::string(model_.graph.nodes[node].type),
                              std::binary_search(chosen->begin(), chosen->end(), node)});
  part.nodes = graph::with_constant_sources(model_, nodes);
  const graph::Boundary boundary = graph::boundary_of(model_, part.nodes);
  if (auto found = find_outputs(part, boundary.outputs); !found) return found.error();
  if (auto found = find_inputs(part, boundary.inputs, to.empty() ? op : to); !found)
    return found.error();
  return part;
}

Result<std::vector<size_t>> OriginalModel::nodes_between(const std::string& op,
                                                         const std::string& to) const {
  auto first = sources_->find_node(op);
  if (!first) return std::move(first.error()).in(path_);
  if (to.empty()) return std::vector<size_t>{*first};
  auto last = sources_->find_node(to);
  if (!last) return std::move(last.error()).in(path_);
  std::vector<size_t> nodes = graph::nodes_between(model_, *first, *last);
  if (nodes.empty())
    return Error{fmt::format("'{}' does not depend on '{}'", to, op), path_,
                 "name the earlier operator with --op, the later with --to"};
  return nodes;
}

// Operators that the target fused with those chosen: it has no tensors between them.
void OriginalModel::add_fused(std::vector<size_t>& nodes) const {
  for (size_t i = 0; i < kMostFused; ++i) {
    const graph::Boundary boundary =
        graph::boundary_of(model_, graph::with_constant_sources(model_, nodes));
    const size_t before = nodes.size();
    for (const std::string& input : boundary.inputs)
      if (is_inside_fusion(sources_->of_input(input, nodes)))
        if (const auto producer = sources_->producer(input)) nodes.push_back(*producer);
    for (const std::string& output : boundary.outputs)
      if (is_inside_fusion(sources_->of_output(output)))
        for (size_t reader : sources_->readers(output)) nodes.push_back(reader);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    if (nodes.size() == before) return;
  }
}

// A target that never had the operator cannot dump it; one that reads its output may show more.
std::string OriginalModel::advice_without(const IsolatedPart& part,
                                          const std::vector<std::string>& outputs) const {
  for (const std::string& output : outputs)
    for (const size_t reader : sources_->readers(output))
      return fmt::format(
          "dump this operator on that side, too; if that has none, go on to one that reads its "
          "output: --op {} --to {}",
          shell_quoted(part.operators.front().name), shell_quoted(model_.graph.nodes[reader].name));
  return "dump this operator on that side, too; if that has none, the model's output is lost: "
         "`plumb diff` shows what else is missing";
}

Result<void> OriginalModel::find_outputs(IsolatedPart& part,
                                         const std::vector<std::string>& outputs) const {
  for (const std::string& output : outputs) {
    TensorSources sources = sources_->of_output(output);
    if (std::string why = missing(sources); !why.empty())
      part.left_out.push_back(std::move(why));
    else
      part.outputs.emplace_back(output, std::move(sources));
  }
  if (!part.outputs.empty()) return {};
  return Error{"no output of the operator was dumped on both sides",
               fmt::format("{}", fmt::join(part.left_out, ", ")), advice_without(part, outputs)};
}

Result<void> OriginalModel::find_inputs(IsolatedPart& part, const std::vector<std::string>& inputs,
                                        const std::string& last) const {
  std::string problems, earlier;
  for (const std::string& name : inputs) {
    TensorSources sources = sources_->of_input(name, part.nodes);
    if (const auto file = files_.find(name); file != files_.end()) {
      const Source given{&files_root_, &file->second};
      if (sources.golden.entry == nullptr) sources.golden = given;
      if (sources.target.entry == nullptr) sources.target = given;
    }
    if (const std::string why = missing(sources); !why.empty()) {
      problems += (problems.empty() ? "" : ", ") + why;
      const auto producer = sources_->producer(name);
      earlier = producer ? fmt::format("; or begin earlier: --op {} --to {}",
                                       model_.graph.nodes[*producer].name, last)
                         : fmt::format("; or say what was fed: --input {}=FILE", name);
    }
    part.inputs.emplace_back(name, std::move(sources));
  }
  if (problems.empty()) return {};
  return Error{"inputs of the operator were not dumped", problems,
               "dump them: `plumb dump` saves every tensor of a model, a device those of the "
               "operators it is told to" +
                   earlier};
}

// Every If becomes the branch that golden took, in the order in which `plumb dump` does it: names
// that clash get the same new ones.
Result<void> OriginalModel::open_branches() {
  auto inlined = graph::inline_branches(
      file_.bytes(), [&](const graph::Branching& now) -> Result<graph::Conditions> {
        sources_->bind(now.model);
        graph::Conditions values;
        for (const std::string& condition : now.conditions) {
          const Source source = sources_->of_output(condition).golden;
          if (source.entry == nullptr) continue;
          auto value = load(source);
          if (!value) return value.error();
          if (value->bytes.size() == 1) values[condition] = value->bytes[0] != std::byte{0};
        }
        return values;
      });
  if (!inlined) return inlined.error();
  if (inlined->branches > 0) {
    edited_ = std::move(inlined->file);
    auto model = graph::read_onnx(as_bytes(edited_));
    if (!model) return std::move(model.error()).in(path_);
    model_ = std::move(*model);
  }
  sources_->bind(model_);
  return {};
}

}  // namespace plumb::replay
