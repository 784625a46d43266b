// SPDX-License-Identifier: Apache-2.0
#include "diagnose/commands.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/free_path.h"
#include "base/mapped_file.h"
#include "base/name_pattern.h"
#include "base/run_command.h"
#include "graph/readers.h"

namespace plumb::diagnose {
namespace {

namespace fs = std::filesystem;

bool is_onnx_file(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !fs::is_regular_file(path, ignored)) return false;
  auto file = MappedFile::open(path);
  return file && graph::is_onnx(file->bytes());
}

bool is_model_file(const std::string& path) {
  std::error_code ignored;
  return is_onnx_file(path) || (path.ends_with(".prototxt") && fs::is_regular_file(path, ignored));
}

// A name that nothing has yet: what is pasted must not write over anything.
std::string free_name(const std::string& stem, std::string_view extension) {
  return free_path("", stem, extension).string();
}

}  // namespace

ModelPaths models_of(const result::Run& run) {
  const bool was_run = run.command == "run";
  const std::string& target = was_run ? run.target.path : run.told.graph;
  const std::string& golden = was_run ? run.golden.path : run.told.golden_graph;
  return {is_model_file(target) ? target : "", is_model_file(golden) ? golden : ""};
}

Commands::Commands(const result::Run& run, Invocation invocation)
    : run_(run), invocation_(std::move(invocation)), models_(invocation_.models) {
  const ModelPaths known = models_of(run);
  if (models_.target.empty()) models_.target = known.target;
  if (models_.golden.empty()) models_.golden = known.golden;
}

std::string Commands::on_result(std::string_view command, bool with_tensors) const {
  const bool lacks_tensors = with_tensors && run_.command == "run" && run_.target.kept.empty();
  const bool lacks_result = invocation_.result.empty();
  const std::string result = lacks_result ? free_name("result", ".json") : invocation_.result;
  std::string text(command);
  if (const size_t at = text.find("{}"); at != std::string::npos)
    text.replace(at, 2, shell_word(result));
  if (!lacks_tensors && !lacks_result) return text;
  if (invocation_.again.empty()) return {};
  return fmt::format("{}{} --json {} > /dev/null; {}", invocation_.again,
                     lacks_tensors ? " --layers all --keep " + free_name("kept", "") : "",
                     shell_word(result), text);
}

std::string Commands::look_at(std::string_view op) const {
  if (is_onnx_file(models_.golden)) {
    const std::string model = run_.command == "run" ? "" : " --model " + shell_word(models_.golden);
    if (auto isolate =
            on_result(fmt::format("plumb isolate {{}} --op {}{}", shell_word(op), model), true);
        !isolate.empty())
      return isolate;
  }
  return show(op);
}

std::string Commands::show(std::string_view op) const {
  const std::string what = " --stats --op " + shell_word(pattern_of(op));
  const std::string& dump = run_.target.kept.empty() ? run_.target.path : run_.target.kept;
  std::error_code ignored;
  // Of a file without a header only the row knows type and shape.
  for (const result::Row& row : run_.rows)
    if (row.target && row.target->operator_name == op && row.target->file.ends_with(".bin") &&
        row.target->shape && run_.command == "run")
      return fmt::format("plumb inspect {} --stats --dtype {} --shape {}",
                         shell_word((fs::path(dump) / row.target->file).string()),
                         row.target->dtype, fmt::join(*row.target->shape, ","));
  if (fs::exists(dump, ignored) && !is_model_file(dump))
    return "plumb inspect " + shell_word(dump) + what;
  if (run_.command != "run" || invocation_.again.empty()) return {};
  const std::string kept = free_name("kept", "");
  return fmt::format("{} --layers all --keep {} > /dev/null; plumb inspect {}/target{}",
                     invocation_.again, kept, kept, what);
}

// A result of `plumb run` names the model itself.
std::string Commands::model_option() const {
  return run_.command == "run" ? "" : " --model " + shell_word(models_.golden);
}

std::string Commands::rank_all() const {
  if (!is_onnx_file(models_.golden) || invocation_.is_ranking) return {};
  return on_result("plumb isolate {} --all" + model_option(), true);
}

std::string Commands::diff() const {
  if (models_.target.empty() || models_.golden.empty()) return {};
  return fmt::format("plumb diff {} {}", shell_word(models_.target), shell_word(models_.golden));
}

std::string Commands::all_layers() const {
  return run_.command != "run" || invocation_.again.empty() ? ""
                                                            : invocation_.again + " --layers all";
}

std::string Commands::compare_all() const {
  if (run_.command != "compare" || run_.target.path.empty() || run_.golden.path.empty()) return {};
  std::string command = fmt::format("plumb compare {} {}", shell_word(run_.target.path),
                                    shell_word(run_.golden.path));
  const result::Told& told = run_.told;
  for (const auto& [option, value] : {std::pair("--graph", &told.graph),
                                      {"--golden-graph", &told.golden_graph},
                                      {"--quant", &told.quant},
                                      {"--mode", &told.mode},
                                      {"--map", &told.name_map}})
    if (!value->empty()) command += fmt::format(" {} {}", option, shell_word(*value));
  return command;
}

bool Commands::has_converter() const { return run_.target.convention.starts_with("ascend"); }

std::string Commands::write_config() const {
  return has_converter()
             ? on_result("plumb diagnose {} --write-config " + free_name("atc", ""), false)
             : "";
}

}  // namespace plumb::diagnose
