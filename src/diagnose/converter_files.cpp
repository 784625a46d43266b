// SPDX-License-Identifier: Apache-2.0
#include "diagnose/converter_files.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plumb::diagnose {
namespace {

using result::Finding;
using result::Row;
using result::Run;

// Operators of the original model, for --keep_dtype, and types of the converted one, for
// --modify_mixlist.
struct Kept {
  std::vector<std::string> names, types;
};

void add_once(std::vector<std::string>& list, const std::string& name) {
  const bool is_one_line =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!name.empty() && is_one_line && std::find(list.begin(), list.end(), name) == list.end())
    list.push_back(name);
}

void keep(const Run& run, const std::string& op, Kept& kept) {
  for (const Row& row : run.rows) {
    if (!row.target || row.target->operator_name != op) continue;
    add_once(kept.types, row.target->type);
    const bool has_origins = run.network && row.node >= 0 &&
                             row.node < std::ssize(run.network->nodes) &&
                             !run.network->nodes[static_cast<size_t>(row.node)].origins.empty();
    if (has_origins)
      for (const std::string& origin : run.network->nodes[static_cast<size_t>(row.node)].origins)
        add_once(kept.names, origin);
    else
      add_once(kept.names, row.golden ? row.golden->operator_name : op);
  }
}

// A name in quotes; it has no control characters (see add_once).
std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// The command line; whatever else the model was converted with is given to the script.
std::string script(std::string_view purpose, std::string_view output, std::string_view options) {
  return fmt::format(
      "#!/bin/sh\n"
      "# {}\n"
      "# usage: MODEL=model.onnx SOC=Ascend310P3 sh {}.sh [the other options of your conversion]\n"
      "# FRAMEWORK is 5 for ONNX, 0 for Caffe (then add --weight=FILE), 3 for TensorFlow.\n"
      "here=$(dirname \"$0\")\n"
      "atc --model=\"${{MODEL:?the original model}}\" --framework=\"${{FRAMEWORK:-5}}\" \\\n"
      "    --soc_version=\"${{SOC:?the processor, as in npu-smi info}}\" --output=\"{}\" \\\n"
      "    {} \"$@\"\n",
      purpose, output, output, options);
}

}  // namespace

std::vector<ConverterFile> converter_files(const Run& run) {
  constexpr std::string_view kPrecision[] = {"overflow", "precision_mode", "saturation"};
  bool is_fusion = false;
  Kept kept;
  for (const Finding& finding : run.findings) {
    is_fusion |= finding.cause == "fusion";
    if (std::find(std::begin(kPrecision), std::end(kPrecision), finding.cause) !=
        std::end(kPrecision))
      keep(run, finding.operator_name, kept);
  }
  std::vector<ConverterFile> files;
  if (is_fusion) {
    files.push_back({"fusion_switch.cfg", fmt::format("{}\n", kFusionOff)});
    files.push_back(
        {"fusion_off.sh",
         script("Converts with all fusion off: if the error is gone, it was the fusion.",
                "fusion_off", "--fusion_switch_file=\"$here/fusion_switch.cfg\"")});
  }
  if (!kept.names.empty()) {
    files.push_back({"keep_dtype.cfg", fmt::format("{}\n", fmt::join(kept.names, "\n"))});
    files.push_back(
        {"keep_dtype.sh",
         script("Converts to float16, but for the operators in keep_dtype.cfg.", "keep_dtype",
                "--precision_mode_v2=fp16 --keep_dtype=\"$here/keep_dtype.cfg\"")});
  }
  if (!kept.types.empty()) {
    std::vector<std::string> types;
    for (const std::string& type : kept.types) types.push_back(json_text(type));
    files.push_back(
        {"mixlist.json",
         fmt::format("{{\n    \"black-list\": {{\n        \"to-add\": [\n            {}\n"
                     "        ]\n    }}\n}}\n",
                     fmt::join(types, ",\n            "))});
    files.push_back(
        {"mixlist.sh",
         script("Converts with mixed precision; the types in mixlist.json stay in float32.",
                "mixlist",
                "--precision_mode_v2=mixed_float16 --modify_mixlist=\"$here/mixlist.json\"")});
    files.push_back({"origin.sh", script("Converts with every operator in its original type.",
                                         "origin", "--precision_mode_v2=origin")});
  }
  return files;
}

}  // namespace plumb::diagnose
