// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp file_compare`: two npy files, one line for each algorithm.
#include <array>

#include <fmt/format.h>

#include "base/free_path.h"
#include "dialect/msaccucmp/algorithms.h"
#include "dialect/msaccucmp/align.h"
#include "dialect/msaccucmp/command.h"
#include "dialect/msaccucmp/output.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFileOptions{
    OptionSpec{"-m", "--my_dump_path", "FILE", ".npy file", true},
    OptionSpec{"-g", "--golden_dump_path", "FILE", ".npy file", true},
    OptionSpec{"-out", "--output", "DIR", "for the result", true},
};

Outcome<int> run_file_compare(const Arguments& arguments, const Console& console,
                              RunContext& context) {
  for (const char* side : {"-m", "-g"})
    if (!arguments.text(side).ends_with(".npy"))
      return refusal("only .npy files are compared", arguments.text(side),
                     "`plumb compare` reads other files, too", Code::kFileType);
  auto target = load_only_tensor(arguments.text("-m"));
  if (!target) return target.fault();
  auto golden = load_only_tensor(arguments.text("-g"));
  if (!golden) return golden.fault();
  auto pair = align_equal(*target, *golden);
  if (!pair) return pair.fault();
  PairTraits traits;
  traits.is_scalar = counts_as_scalar(target->shape);
  traits.both_bool = target->dtype == DType::kBool && golden->dtype == DType::kBool;
  traits.target_file = arguments.text("-m");
  traits.golden_file = arguments.text("-g");
  const PairOptions options{file_algorithms()};
  auto row = compare_two({pair->target, pair->golden, std::move(traits), {}}, options, context);
  if (!row) return row.fault();
  const fs::path output = arguments.text("-out");
  if (auto failure = make_output_directory(output)) return *failure;
  std::string text;
  for (size_t i = 0; i < options.algorithms.size(); ++i)
    text += fmt::format("{}: {}\n", options.algorithms[i]->name, row->scores[i]);
  const fs::path path = free_path(output, "file_result_" + local_time_stamp(), ".txt");
  if (auto failure = write_text(path, text)) return *failure;
  console.print(text);
  say_written(console, path);
  return 0;
}

}  // namespace

const Command kFileCompareCommand{"file_compare", "compare two npy files", kFileOptions,
                                  run_file_compare};

}  // namespace plumb::msaccucmp
