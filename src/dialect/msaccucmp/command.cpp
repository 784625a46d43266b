// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/command.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"

namespace plumb::msaccucmp {
namespace {

const Command* const kCommands[] = {&kCompareCommand, &kConvertCommand, &kOverflowCommand,
                                    &kFileCompareCommand, &kAdvisorCommand};

bool is_help(std::string_view word) { return word == "-h" || word == "--help"; }

std::string usage_of(const Command& command) {
  return fmt::format("{:c}{}.\n\nusage: plumb msaccucmp {} [options]\n{}",
                     std::toupper(command.summary[0]), command.summary.substr(1), command.name,
                     help_of(command.options));
}

}  // namespace

std::span<const Command* const> commands() { return kCommands; }

std::string overview() {
  std::string text =
      "The commands of msaccucmp.py, for scripts that call it.\n\n"
      "usage: plumb msaccucmp COMMAND [options]\n\ncommands\n";
  for (const Command* each : kCommands)
    text += fmt::format("  {:<18}{}\n", each->name, each->summary);
  return text +
         "\n`plumb msaccucmp COMMAND --help` shows the options. A link to plumb that is named\n"
         "msaccucmp runs these commands directly. New scripts better use `plumb compare`.\n";
}

Outcome<int> run(std::span<const std::string_view> words, const Console& console,
                 RunContext& context) {
  if (is_help(words[0])) {
    console.print(overview());
    return 0;
  }
  const auto found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                  [&](const Command* each) { return each->name == words[0]; });
  if (found == std::end(kCommands)) {
    std::vector<std::string> names;
    for (const Command* each : kCommands) names.emplace_back(each->name);
    return refusal(fmt::format("unknown command '{}'", words[0]), "plumb msaccucmp",
                   did_you_mean(words[0], names) + "`plumb msaccucmp --help` lists the commands",
                   Code::kUsage);
  }
  const Command& command = **found;
  words = words.subspan(1);
  if (std::any_of(words.begin(), words.end(), is_help)) {
    console.print(usage_of(command));
    return 0;
  }
  auto arguments = Arguments::parse(command.options, words);
  if (arguments) return command.run(*arguments, console, context);
  Error error = arguments.error();
  error.where = fmt::format("plumb msaccucmp {}: {}", command.name, error.where);
  return Fault{Code::kUsage, std::move(error)};
}

Fault refusal(std::string what, std::string where, std::string remedy, Code code) {
  return {code, {std::move(what), std::move(where), std::move(remedy)}};
}

void say_written(const Console& console, const std::filesystem::path& path) {
  console.print(fmt::format("written: {}\n", path.string()));
}

}  // namespace plumb::msaccucmp
