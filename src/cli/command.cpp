// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/nearest.h"
#include "report/text.h"

namespace plumb::cli {

using report::printable;

namespace {

// CLI11 takes [a,b] for a list. What stands in front of such a word keeps it whole.
constexpr char kWhole = '\x1f';
constexpr char kDescribe[] = "\x1f?";

std::string unmarked(std::string word) {
  if (word.starts_with(kWhole)) word.erase(0, 1);
  return word;
}

// Help as a screenful: what it does, usage, the arguments, options by group, examples.
class HelpLayout : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    std::string text =
        app->get_description() + "\n\nusage: plumb " + app->get_name() + " [options]";
    std::string arguments;
    std::vector<std::string> groups;
    for (const CLI::Option* option : app->get_options({})) {
      if (!option->nonpositional()) {
        text += " " + option->get_name(true);
        arguments += line(option->get_name(true), option->get_description());
      } else if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end()) {
        groups.push_back(option->get_group());
      }
    }
    text += "\n" + arguments;
    std::stable_partition(groups.begin(), groups.end(),
                          [](const std::string& group) { return group != "other"; });
    for (const std::string& group : groups) {
      text += "\n" + group + "\n";
      for (const CLI::Option* option : app->get_options({}))
        if (option->nonpositional() && option->get_group() == group)
          text += line(label_of(*option), option->get_description());
    }
    return text + "\n" + app->get_footer() + "\n";
  }

 private:
  static std::string label_of(const CLI::Option& option) {
    std::string label;
    for (const std::string& letter : option.get_snames()) label += "-" + letter + ", ";
    if (!option.get_lnames().empty()) label += "--" + option.get_lnames().front() + ", ";
    label.resize(label.size() - 2);
    // The type's name goes on with ":" and the values allowed, which the description says already.
    const std::string type = option.get_type_name();
    if (option.get_type_size_max() > 0) label += " " + type.substr(0, type.find(':'));
    return label;
  }
  static std::string line(const std::string& label, const std::string& description) {
    constexpr size_t kColumn = 22;
    std::string text = "  " + label;
    if (text.size() + 1 < kColumn)
      text.resize(kColumn, ' ');
    else
      text += "\n" + std::string(kColumn, ' ');
    for (char c : description) {
      text += c;
      if (c == '\n') text.append(kColumn, ' ');
    }
    return text + "\n";
  }
};

}  // namespace

struct Options::Parser {
  CLI::App app;
  std::string group;
  std::map<std::string, std::vector<std::string> (*)()> suggested;  // by the option's name
  std::map<std::string, std::vector<std::string>> choices;

  CLI::Option* declared(CLI::Option* option, std::string_view metavariable) const {
    return option->type_name(std::string(metavariable))->group(group)->transform(unmarked);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const CLI::Option* option : app.get_options({}))
      for (const std::string& word : option->get_lnames()) all.push_back("--" + word);
    return all;
  }
  CommandText description() const {
    CommandText text;
    text.name = app.get_name();
    text.description = app.get_description();
    text.footer = app.get_footer();
    for (const CLI::Option* option : app.get_options({})) {
      const std::string name = option->get_name();
      OptionText entry;
      entry.help = option->get_description();
      entry.group = option->get_group();
      if (const auto found = choices.find(name); found != choices.end())
        entry.words = found->second;
      if (const auto found = suggested.find(name); found != suggested.end())
        entry.words = found->second();
      if (!option->nonpositional()) {
        entry.names = {option->get_name(true)};
        text.arguments.push_back(std::move(entry));
        continue;
      }
      for (const std::string& letter : option->get_snames()) entry.names.push_back("-" + letter);
      for (const std::string& word : option->get_lnames()) entry.names.push_back("--" + word);
      const std::string type = option->get_type_name();
      if (option->get_type_size_max() > 0) entry.value = type.substr(0, type.find(':'));
      text.options.push_back(std::move(entry));
    }
    return text;
  }
};

CommandText describe(const Command& command) {
  std::string name(command.name), question = kDescribe;
  char* argv[] = {name.data(), question.data(), nullptr};
  RunContext context;
  try {
    command.run(2, argv, context);
  } catch (const Description& answer) {
    return answer.text;
  }
  return {name, std::string(command.summary), "", {}, {}, {}};
}

bool asks_for_description(int argc, char** argv) {
  return argc == 2 && argv[1] == std::string_view(kDescribe);
}

Options::Options(std::string_view command, std::string description, std::string footer)
    : parser_(std::make_unique<Parser>()) {
  CLI::App& app = parser_->app;
  app.name(std::string(command));
  app.description(std::move(description));
  app.footer(std::move(footer));
  app.formatter(std::make_shared<HelpLayout>());
  app.set_help_flag("-h,--help", "print this help")->group("other");
}
Options::~Options() = default;

void Options::group(std::string_view title) { parser_->group = title; }

void Options::flag(const std::string& names, bool& value, std::string help) {
  parser_->app.add_flag(names, value, std::move(help))->group(parser_->group);
}

void Options::text(const std::string& names, std::string_view metavariable, std::string& value,
                   std::string help) {
  parser_->declared(parser_->app.add_option(names, value, std::move(help)), metavariable);
}

void Options::choice(const std::string& names, std::string_view metavariable, std::string& value,
                     std::vector<std::string> choices, std::string help) {
  CLI::Option* option = parser_->app.add_option(names, value, std::move(help));
  parser_->choices[option->get_name()] = choices;
  option->check([choices = std::move(choices), names](const std::string& word) -> std::string {
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) return "";
    return fmt::format("'{}' is not one of {}", word, fmt::join(choices, ", "));
  });
  parser_->declared(option, metavariable);
}

void Options::texts(const std::string& names, std::string_view metavariable,
                    std::vector<std::string>& values, std::string help) {
  CLI::Option* option = parser_->app.add_option(names, values, std::move(help));
  // One word each time, so that the words after it stay arguments.
  parser_->declared(option, metavariable)
      ->type_size(1)
      ->expected(1)
      ->allow_extra_args(false)  // --op=[a]: no list, either
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Options::integers(const std::string& names, std::string_view metavariable,
                       std::vector<int64_t>& values, std::string help) {
  CLI::Option* option = parser_->app.add_option(names, values, std::move(help));
  parser_->declared(option, metavariable)
      ->delimiter(',')
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Options::count(const std::string& names, std::string_view metavariable, int& value,
                    std::string help) {
  parser_->declared(parser_->app.add_option(names, value, std::move(help)), metavariable)
      ->check(CLI::Range(1, 1024));
}

void Options::arguments(std::string_view metavariable, std::vector<std::string>& values,
                        std::string help, bool required) {
  parser_->app.add_option(std::string(metavariable), values, std::move(help))
      ->required(required)
      ->transform(unmarked);
}

void Options::suggest(std::vector<std::string> (*words)()) {
  parser_->suggested[parser_->app.get_options({}).back()->get_name()] = words;
}

namespace {

// What is meant by an option that is not one of `known`, as far as others call something so.
std::string what_is(const std::string& option, const std::vector<std::string>& known) {
  constexpr std::string_view kOperators[] = {"--layer", "--layers",    "--node",
                                             "--nodes", "--operators", "--operator"};
  const bool is_operator =
      std::find(std::begin(kOperators), std::end(kOperators), option) != std::end(kOperators);
  if (is_operator && std::find(known.begin(), known.end(), "--op") != known.end())
    return "did you mean '--op'? ";
  std::vector<std::string> having;
  if (option.starts_with("--"))
    for (const Command& command : commands())
      for (const OptionText& each : describe(command).options)
        if (std::find(each.names.begin(), each.names.end(), option) != each.names.end())
          having.push_back(fmt::format("`plumb {}`", command.name));
  if (having.empty()) return did_you_mean(option, known);
  return fmt::format("it is an option of {}; ", fmt::join(having, ", "));
}

}  // namespace

std::optional<int> Options::parse(int argc, char** argv) {
  if (asks_for_description(argc, argv)) throw Description(parser_->description());
  CLI::App& app = parser_->app;
  const std::string command = "plumb " + app.get_name();
  const auto refuse = [&](const std::string& word) {
    const std::string extra = unmarked(word);
    print_error(
        {(extra.starts_with("-") ? "unknown option '" : "unexpected argument '") + extra + "'",
         command,
         what_is(extra.substr(0, extra.find('=')), parser_->names()) + "`" + command +
             " --help` lists the options"});
  };
  try {
    std::vector<std::string> words;  // last first, as CLI11 takes them
    for (int i = argc; i-- > 1;) {
      const std::string word = argv[i];
      words.push_back(word.starts_with('[') && word.ends_with(']') ? kWhole + word : word);
    }
    app.parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return kAgreement;
  } catch (const CLI::ExtrasError&) {
    refuse(app.remaining().empty() ? "?" : app.remaining().front());
  } catch (const CLI::ParseError& error) {
    // What is missing may be missing because of an option that is not known.
    for (const std::string& word : app.remaining()) {
      if (word.size() < 2 || word[0] != '-') continue;
      refuse(word);
      return kTrouble;
    }
    std::string what = error.what();
    if (const size_t end = what.find('\n'); end != std::string::npos) what.resize(end);
    print_error({what, command, "`" + command + " --help` shows the usage"});
  }
  return kTrouble;
}

std::vector<std::string> Options::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : parser_->app.get_options({}))
    if (option->nonpositional() && option->count() > 0) names.push_back(option->get_name());
  return names;
}

void CommonOptions::declare(Options& options) {
  options.group("other");
  options.count("--jobs", "N", jobs, "worker threads (default: one per core)");
  options.flag("--quiet", quiet, "only errors on stderr, no progress or warnings");
  options.flag("--no-progress", no_progress, "no progress bar");
}

void print_error(const Error& error) {
  std::fflush(stdout);  // a complaint comes after what it is about, also in a file
  std::string text = "error: " + printable(error.what) + "\n";
  if (!error.where.empty()) text += "  where: " + printable(error.where) + "\n";
  if (!error.remedy.empty()) text += "  try:   " + printable(error.remedy) + "\n";
  std::fputs(text.c_str(), stderr);
}

Error wrong_paths(std::string_view needed, const std::vector<std::string>& given,
                  std::string_view command, std::string_view advice) {
  const bool are_many = given.size() > 1;
  const auto is_number = [](const std::string& word) {
    return word.find_first_not_of("+-.,0123456789") == std::string::npos;
  };
  const bool may_be_list = std::any_of(given.begin(), given.end(), is_number);
  return {
      fmt::format("{} needed, {} given", needed, given.size()),
      fmt::format("{}{}{}", command, are_many ? ": " : "",
                  are_many ? fmt::to_string(fmt::join(given, ", ")) : ""),
      std::string(advice) +
          (may_be_list ? "; the numbers of a list have commas between them, and no blanks" : "")};
}

int fail_with(const Error& error) {
  print_error(error);
  return kTrouble;
}

void print_warning(std::string_view text) {
  std::fflush(stdout);
  std::fputs(("warning: " + printable(text) + "\n").c_str(), stderr);
}

}  // namespace plumb::cli
