// SPDX-License-Identifier: Apache-2.0
//
// What findings ask of the converter (atc), as files with the operators filled in: a switch file
// that turns fusion off, lists of operators and types that keep their precision, and the command
// lines that use them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plumb/row.h"

namespace plumb::diagnose {

// The content of a switch file that turns all fusion off.
inline constexpr std::string_view kFusionOff =
    R"({"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}})";

struct ConverterFile {
  std::string name, text;
};

// Empty if no finding is about how the model was converted. Options and formats are those of atc's
// --fusion_switch_file, --keep_dtype, --modify_mixlist and --precision_mode_v2.
std::vector<ConverterFile> converter_files(const result::Run& run);

}  // namespace plumb::diagnose
