// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp convert`: dump files as npy or bin.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/nearest.h"
#include "dialect/msaccucmp/command.h"
#include "dialect/msaccucmp/convert.h"
#include "dialect/msaccucmp/output.h"
#include "dump/names.h"

namespace plumb::msaccucmp {
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

// All but which tensor.
Outcome<ConvertOptions> options_from(const Arguments& arguments) {
  ConvertOptions options;
  options.format = arguments.text("-f");
  options.type = arguments.text("-t", "npy");
  if (options.type == "pt")
    return refusal("type pt needs PyTorch and is not written", "-t pt",
                   "write npy, or safetensors with `plumb convert`");
  if (options.type != "npy" && options.type != "msnpy" && options.type != "bin")
    return refusal("unknown type of output", "-t " + options.type, "npy, msnpy or bin");
  if (arguments.has("-c"))
    return refusal("plug-ins in Python are not run", "-c " + arguments.text("-c"),
                   "leave out -c; `plumb convert --layout` knows all layouts");
  for (const char* option : {"-s", "-o", "-i"})
    if (arguments.has(option) && options.format.empty())
      return refusal(fmt::format("{} needs -f", option), "convert", "give both");
  if (arguments.has("-o") && arguments.has("-i"))
    return refusal("-i cannot be used with -o", "convert", "give one of them");
  if (!options.format.empty() && !layout_from_name(options.format))
    return refusal("unknown format", "-f " + options.format,
                   did_you_mean(options.format, layout_names()) + "`plumb formats` lists them");
  if (arguments.has("-s")) {
    const auto shape = shape_from_text(arguments.text("-s"));
    if (!shape || shape->empty())
      return refusal("-s is not a shape", arguments.text("-s"), "for example 1,3,224,224",
                     Code::kShape);
    options.shape = *shape;
  }
  return options;
}

// The first folder below, by name, that holds files; empty if none does.
std::string first_folder_with_files(const fs::path& path) {
  std::error_code code;
  std::string first;
  for (fs::recursive_directory_iterator at(path, code), end; !code && at != end; at.increment(code))
    if (std::error_code ignored; at->is_regular_file(ignored))
      if (std::string folder = at->path().parent_path().string(); first.empty() || folder < first)
        first = std::move(folder);
  return first;
}

Outcome<std::vector<fs::path>> files_of(const std::string& paths) {
  std::vector<fs::path> files;
  std::error_code code;
  if (fs::is_directory(paths, code)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(paths, code))
      if (std::error_code ignored; entry.is_regular_file(ignored)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (files.empty()) {
      const std::string below = first_folder_with_files(paths);
      return refusal("the directory has no files", paths,
                     below.empty() ? "name one with dump files"
                                   : fmt::format("there are some in {}: name that one", below));
    }
  } else {
    for (size_t at = 0; at <= paths.size();) {
      const size_t comma = std::min(paths.find(',', at), paths.size());
      files.emplace_back(paths.substr(at, comma - at));
      at = comma + 1;
    }
    for (const fs::path& file : files)
      if (!fs::is_regular_file(file, code))
        return refusal("no such file", file.string(), "check the path", Code::kInvalidPath);
  }
  return files;
}

Outcome<int> run_convert(const Arguments& arguments, const Console& console, RunContext& context) {
  auto options = options_from(arguments);
  if (!options) return options.fault();
  const std::string paths = arguments.text("-d");
  auto files = files_of(paths);
  if (!files) return files.fault();
  std::error_code ignored;
  if (!fs::is_directory(paths, ignored) && (arguments.has("-o") || arguments.has("-i"))) {
    const std::string index = arguments.text(arguments.has("-i") ? "-i" : "-o");
    if (!dump::number_from(index))
      return refusal("the index of a tensor is a number", index, "for example -o 0");
    options->is_input = arguments.has("-i");
    options->index = *dump::number_from(index);
  }

  const fs::path output = arguments.text("-out", ".");
  if (auto failure = make_output_directory(output)) return *failure;
  const Converted result = convert_files(*files, *options, output, context);
  std::string failed;
  for (const auto& [path, fault] : result.failed) {
    console.complain(fault.error);
    if (!failed.ends_with(path + "\n")) failed += path + "\n";
  }
  console.print(
      fmt::format("{} written to {}\n", counted(result.written.size(), "file"), output.string()));
  if (result.failed.empty()) return 0;
  if (auto failure = write_text(output / "convert_failed_file_list.txt", failed)) return *failure;
  return static_cast<int>(result.failed.front().second.code);
}

}  // namespace

const Command kConvertCommand{"convert", "decode dump files to npy or bin", kConvertOptions,
                              run_convert};

}  // namespace plumb::msaccucmp
