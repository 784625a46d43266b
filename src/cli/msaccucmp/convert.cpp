// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp convert`: dump files as npy or bin.
#include "dialect/msaccucmp/convert.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/msaccucmp/subcommand.h"
#include "dialect/msaccucmp/output.h"
#include "dump/names.h"

namespace plumb::cli {

using namespace msaccucmp;

namespace {

namespace fs = std::filesystem;

constexpr std::array kConvertOptions{
    OptionSpec{"-d", "--dump_file", "PATH", "file, list of files with commas, or directory", true},
    OptionSpec{"-f", "--format", "NAME", "layout to convert to (default: as stored)"},
    OptionSpec{"-s", "--shape", "LIST", "original shape, e.g. 1,3,224,224; needs -f"},
    OptionSpec{"-o", "--output_tensor", "K", "only output K; needs -f"},
    OptionSpec{"-i", "--input_tensor", "K", "only input K; needs -f"},
    OptionSpec{"-c", "--custom_script_path", "DIR", "plug-ins in Python are not run"},
    OptionSpec{"-out", "--output", "DIR", "for the results (default: here)"},
    OptionSpec{"-v", "--version", "1|2", "historic, no effect", false, true},
    OptionSpec{"-t", "--type", "TYPE", "npy (default), msnpy or bin"},
};

int run_convert_command(const Arguments& arguments, RunContext& context) {
  ConvertOptions options;
  options.format = arguments.text("-f");
  options.type = arguments.text("-t", "npy");
  if (options.type == "pt")
    return refuse("type pt needs PyTorch and is not written", "-t pt",
                  "write npy, or safetensors with `plumb convert`");
  if (options.type != "npy" && options.type != "msnpy" && options.type != "bin")
    return refuse("unknown type of output", "-t " + options.type, "npy, msnpy or bin");
  if (arguments.has("-c"))
    return refuse("plug-ins in Python are not run", "-c " + arguments.text("-c"),
                  "leave out -c; `plumb convert --layout` knows all layouts");
  for (const char* option : {"-s", "-o", "-i"})
    if (arguments.has(option) && options.format.empty())
      return refuse(fmt::format("{} needs -f", option), "convert", "give both");
  if (arguments.has("-o") && arguments.has("-i"))
    return refuse("-i cannot be used with -o", "convert", "give one of them");
  if (!options.format.empty() && !layout_from_name(options.format))
    return refuse("unknown format", "-f " + options.format,
                  did_you_mean(options.format, layout_names()) + "`plumb formats` lists them");
  if (arguments.has("-s")) {
    const auto shape = shape_from_text(arguments.text("-s"));
    if (!shape || shape->empty())
      return refuse("-s is not a shape", arguments.text("-s"), "for example 1,3,224,224",
                    Code::kShape);
    options.shape = *shape;
  }

  std::vector<fs::path> files;
  const std::string paths = arguments.text("-d");
  std::error_code code;
  const bool is_directory = fs::is_directory(paths, code);
  if (is_directory) {
    for (const fs::directory_entry& entry : fs::directory_iterator(paths, code))
      if (std::error_code ignored; entry.is_regular_file(ignored)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (files.empty()) return refuse("the directory is empty", paths, "name one with dump files");
  } else {
    for (size_t at = 0; at <= paths.size();) {
      const size_t comma = std::min(paths.find(',', at), paths.size());
      files.emplace_back(paths.substr(at, comma - at));
      at = comma + 1;
    }
    for (const fs::path& file : files)
      if (!fs::is_regular_file(file, code))
        return refuse("no such file", file.string(), "check the path", Code::kInvalidPath);
  }
  if (!is_directory && (arguments.has("-o") || arguments.has("-i"))) {
    const std::string index = arguments.text(arguments.has("-i") ? "-i" : "-o");
    if (!dump::number_from(index))
      return refuse("the index of a tensor is a number", index, "for example -o 0");
    options.is_input = arguments.has("-i");
    options.index = *dump::number_from(index);
  }

  const fs::path output = arguments.text("-out", ".");
  if (auto failure = make_output_directory(output)) return report(*failure);
  const Converted result = convert_files(files, options, output, context);
  std::string failed;
  for (const auto& [path, fault] : result.failed) {
    print_error(fault.error);
    if (!failed.ends_with(path + "\n")) failed += path + "\n";
  }
  fmt::print("{} files written to {}\n", result.written.size(), output.string());
  if (result.failed.empty()) return 0;
  if (auto failure = write_text(output / "convert_failed_file_list.txt", failed))
    return report(*failure);
  return static_cast<int>(result.failed.front().second.code);
}

}  // namespace

const Subcommand kMsaccucmpConvert{"convert", "decode dump files to npy or bin", kConvertOptions,
                                   run_convert_command};

}  // namespace plumb::cli
