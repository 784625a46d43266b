// SPDX-License-Identifier: Apache-2.0
//
// What the subcommands share: the table that lists them, exit status, and how options are declared,
// explained and refused.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plumb/result.h"
#include "plumb/run_context.h"

namespace plumb::cli {

enum ExitStatus : int {
  kAgreement = 0,
  kDifference = 1,
  kTrouble = 2,
  kInterrupted = 130,
};

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(int argc, char** argv, RunContext& context);  // argv[0] is the subcommand's name
};
std::span<const Command> commands();

// What a command takes, for those who tell of it elsewhere: completion, manual pages.
struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; of arguments what the usage calls them
  std::string value;               // "FILE"; empty for flags and arguments
  std::string help, group;         // help has line ends where a screen ends
  std::vector<std::string> words;  // what may follow, where that is a list
};
struct CommandText {
  std::string name, description, footer;
  std::vector<OptionText> arguments, options;
  std::vector<CommandText> commands;  // of a command that has some of its own
};
CommandText describe(const Command& command);

// How describe() asks: with one word, in place of all others, that nobody types. A command answers
// by throwing what it is asked for, before it does anything; Options::parse does that for all that
// use it.
bool asks_for_description(int argc, char** argv);
struct Description : std::exception {
  explicit Description(CommandText told) : text(std::move(told)) {}
  const char* what() const noexcept override { return "asked for a description"; }
  CommandText text;
};

// A subcommand's options. The variables behind them keep their value unless the option is given.
// (The parser library stays behind this class: it alone takes longer to compile than a command.)
class Options {
 public:
  Options(std::string_view command, std::string description, std::string footer);
  ~Options();

  // Help lists options by group, groups in the order of their first option.
  void group(std::string_view title);
  void flag(const std::string& names, bool& value, std::string help);
  void text(const std::string& names, std::string_view metavariable, std::string& value,
            std::string help);
  void choice(const std::string& names, std::string_view metavariable, std::string& value,
              std::vector<std::string> choices, std::string help);
  void texts(const std::string& names, std::string_view metavariable,
             std::vector<std::string>& values, std::string help);
  void integers(const std::string& names, std::string_view metavariable,
                std::vector<int64_t>& values, std::string help);  // also as 1,2,3
  void count(const std::string& names, std::string_view metavariable, int& value, std::string help);
  // What stands without an option; at least one word unless not `required`.
  void arguments(std::string_view metavariable, std::vector<std::string>& values, std::string help,
                 bool required = true);
  // Words for the option or the arguments declared last, for shells to complete; others may be
  // right, too.
  void suggest(std::vector<std::string> (*words)());

  // nullopt: go on. Otherwise the exit status; help or the complaint has been printed.
  std::optional<int> parse(int argc, char** argv);
  std::vector<std::string> given() const;  // names of the options that were, "--seed" or "-o"

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// The names in a table.
template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& line : table) names.emplace_back(line.name);
  return names;
}

// Options every long-running command has.
struct CommonOptions {
  int jobs = 0;  // 0 = all cores
  bool quiet = false;
  bool no_progress = false;

  void declare(Options& options);
};

// "error: ..." / "  where: ..." / "  try:   ..." on stderr.
void print_error(const Error& error);
int fail_with(const Error& error);  // prints it; the exit status that belongs to it
void print_warning(std::string_view text);
// `needed`: "two paths are". Which were given is told if they are too many.
Error wrong_paths(std::string_view needed, const std::vector<std::string>& given,
                  std::string_view command, std::string_view advice);

}  // namespace plumb::cli
