// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp advisor`: the finding of that tool's advisor script, about a saved result.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "dialect/msaccucmp/advisor.h"
#include "dialect/msaccucmp/command.h"
#include "dialect/msaccucmp/output.h"

namespace plumb::msaccucmp {
namespace {

namespace fs = std::filesystem;

constexpr std::array kAdvisorOptions{
    OptionSpec{"-i", "--input_file", "FILE", "result of a comparison, .csv", true},
    OptionSpec{"-input_nodes", "", "LIST", "operators that are inputs, as \"a;b\""},
    OptionSpec{"-o", "--out_path", "DIR", "for the result (default: here)"},
};

Outcome<int> run_advisor(const Arguments& arguments, const Console& console, RunContext&) {
  const std::string input = arguments.text("-i");
  constexpr size_t kMostBytes = 100 << 20;
  if (!input.ends_with(".csv"))
    return refusal("a .csv file is wanted", input, "give the result of a comparison");
  auto file = MappedFile::open(input);
  if (!file) return Fault{Code::kInvalidPath, file.error()};
  if (file->bytes().size() > kMostBytes)
    return refusal("the file is too large",
                   fmt::format("{}: {} bytes", input, file->bytes().size()),
                   "at most 100 MB are read");
  std::vector<std::string> nodes;
  const std::string list = arguments.text("-input_nodes");
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(';', at), list.size());
    nodes.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  const fs::path output = arguments.text("-o", ".");
  if (auto failure = make_output_directory(output)) return *failure;
  if (auto failure = write_advice(as_text(file->bytes()), nodes, output, console)) return *failure;
  return 0;
}

}  // namespace

std::optional<Fault> write_advice(std::string_view csv, const std::vector<std::string>& input_nodes,
                                  const fs::path& output, const Console& console) {
  auto advice = advise(csv, input_nodes);
  if (!advice) return advice.fault();
  const fs::path path = output / "advisor_summary.txt";
  if (auto failure = write_text(path, advice->text())) return *failure;
  console.print(advice->text());
  say_written(console, path);
  return std::nullopt;
}

const Command kAdvisorCommand{"advisor", "one finding about the result of a comparison",
                              kAdvisorOptions, run_advisor};

}  // namespace plumb::msaccucmp
