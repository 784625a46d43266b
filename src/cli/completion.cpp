// SPDX-License-Identifier: Apache-2.0
//
// `plumb completion SHELL`: scripts that complete commands, options and their values in bash, zsh
// and fish, and manual pages. All are written from what the commands declare, so they cannot lag.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/manual_pages.h"

namespace plumb::cli {
namespace {

enum class Follows { kNothing, kFile, kDirectory, kWords, kList };

// What the value's name in the help says of it.
Follows follows(const OptionText& option) {
  if (!option.words.empty()) return option.value == "LIST" ? Follows::kList : Follows::kWords;
  const auto has = [&](std::string_view part) {
    return option.value.find(part) != std::string::npos;
  };
  if (has("DIR")) return Follows::kDirectory;
  for (const std::string_view part : {"FILE", "SET", "PATH", "MODEL", "YAML", "CMD"})
    if (has(part)) return Follows::kFile;
  return Follows::kNothing;
}

// "option, or its value": aliases are known, but not offered.
std::vector<std::string> offered_names(const OptionText& option) {
  std::vector<std::string> names;
  bool has_long = false;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    if (!is_long || !has_long) names.push_back(name);
    has_long |= is_long;
  }
  return names;
}

std::string first_line(const OptionText& option) {
  std::string text = option.help;
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

// Each command that has options, by the words that lead to it: "compare", "msprobe parse".
struct Leaf {
  std::string words;
  CommandText text;
};
std::vector<Leaf> leaf_commands() {
  std::vector<Leaf> all;
  for (const Command& command : commands()) {
    CommandText text = describe(command);
    for (CommandText& inner : text.commands)
      all.push_back({fmt::format("{} {}", command.name, inner.name), std::move(inner)});
    if (text.commands.empty()) all.push_back({std::string(command.name), std::move(text)});
  }
  return all;
}
std::string own_commands(std::string_view command, const std::vector<Leaf>& all) {
  std::string names;
  for (const Leaf& leaf : all)
    if (leaf.words.starts_with(std::string(command) + " ")) names += leaf.text.name + " ";
  return names;
}
std::string command_names() { return fmt::format("{} help", fmt::join(names_in(commands()), " ")); }

std::string bash_case(std::string_view kind, const std::vector<std::string>& words) {
  if (words.empty()) return fmt::format("kind={}", kind);
  return fmt::format("kind={} words='{}'", kind, fmt::join(words, " "));
}

std::string bash_leaf(const Leaf& leaf) {
  std::string options, cases, arguments = "arguments=none";
  for (const OptionText& option : leaf.text.options) {
    for (const std::string& name : offered_names(option)) options += name + " ";
    if (option.value.empty()) continue;
    constexpr std::string_view kKinds[] = {"none", "file", "directory", "words", "list"};
    cases += fmt::format("        {}) {} ;;\n", fmt::join(option.names, " | "),
                         bash_case(kKinds[static_cast<size_t>(follows(option))], option.words));
  }
  for (const OptionText& argument : leaf.text.arguments)
    arguments = argument.words.empty()
                    ? "arguments=file"
                    : fmt::format("arguments=words words='{}'", fmt::join(argument.words, " "));
  if (!cases.empty()) cases = "      case $option in\n" + cases + "      esac\n";
  return fmt::format("    '{}')\n      {}\n      options='{}'\n{}      ;;\n", leaf.words, arguments,
                     options, cases);
}

std::string bash_script() {
  const std::vector<Leaf> all = leaf_commands();
  std::string script = fmt::format(
      R"(# plumb: completion for bash, of plumb {}
_plumb() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}}
  local at=1 kind='' words='' options='' arguments=none name=${{COMP_WORDS[0]##*/}}
  COMPREPLY=()
  if [[ $name == msaccucmp || $name == msprobe ]]; then at=0; fi
  local command=${{COMP_WORDS[at]##*/}}
  if [[ $word == '=' ]]; then word=''  # --option=value is three words
  elif [[ $option == '=' ]]; then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
    if [[ $option != -* ]]; then kind=file; fi  # NAME=FILE
  fi
  if ((COMP_CWORD == at)) || [[ $command == help ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$word")
    return
  fi
)",
      PLUMB_VERSION, command_names());
  for (const Command& command : commands())
    if (const std::string names = own_commands(command.name, all); !names.empty())
      script += fmt::format(R"(  if [[ $command == {} ]]; then
    if ((COMP_CWORD == at + 1)); then
      mapfile -t COMPREPLY < <(compgen -W '{}--help' -- "$word")
      return
    fi
    command+=" ${{COMP_WORDS[at + 1]}}"
  fi
)",
                            command.name, names);
  script += "  case $command in\n";
  for (const Leaf& leaf : all) script += bash_leaf(leaf);
  return script + R"(  esac
  if [[ -z $kind && $word == -* ]]; then kind=words words=$options; fi
  if [[ -z $kind ]]; then kind=$arguments; fi
  case $kind in
    directory)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$word")
      ;;
    list)
      local head=''
      if [[ $word == *,* ]]; then head=${word%,*},; fi
      mapfile -t COMPREPLY < <(compgen -P "$head" -W "$words" -- "${word##*,}")
      ;;
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
  esac
  # A word of the list, or a file that says the same.
  if [[ $kind == file || ($kind == words && ${#COMPREPLY[@]} -eq 0 && $word != -*) ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _plumb plumb msaccucmp msprobe
)";
}

// For single quotes, in which zsh and fish take different things as they are.
std::string quoted_for(std::string_view escaped, std::string_view with, std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (escaped.find(c) != std::string_view::npos) quoted += with;
    quoted += c;
  }
  return quoted;
}
std::string in_zsh(std::string_view text) {
  std::string quoted;
  for (const char c : quoted_for("[]:\\", "\\", text))
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted;
}
std::string in_fish(std::string_view text) { return quoted_for("\\'", "\\", text); }

std::string zsh_action(Follows kind, const std::vector<std::string>& words) {
  switch (kind) {
    case Follows::kFile: return "_files";
    case Follows::kDirectory: return "_files -/";
    case Follows::kWords: return fmt::format("({})", fmt::join(words, " "));
    case Follows::kList: return fmt::format("_sequence compadd - {}", fmt::join(words, " "));
    case Follows::kNothing: break;
  }
  return " ";
}

std::string zsh_leaf(const Leaf& leaf) {
  std::string text = fmt::format("    '{}')\n      _arguments \\\n", leaf.words);
  for (const OptionText& option : leaf.text.options)
    for (const std::string& name : offered_names(option)) {
      const bool takes_equals = name.starts_with("--") && !option.value.empty();
      text += fmt::format("        '*{}{}[{}]", name, takes_equals ? "=" : "",
                          in_zsh(first_line(option)));
      if (!option.value.empty())
        text +=
            fmt::format(":{}:{}", in_zsh(option.value), zsh_action(follows(option), option.words));
      text += "' \\\n";
    }
  for (const OptionText& argument : leaf.text.arguments)
    text += fmt::format(
        "        '*:{}:{}' \\\n", in_zsh(argument.names.front()),
        zsh_action(argument.words.empty() ? Follows::kFile : Follows::kWords, argument.words));
  return text + "        && return 0\n      ;;\n";
}

std::string zsh_list(std::string_view variable, const auto& lines) {
  std::string text = fmt::format("  {}=(\n", variable);
  for (const auto& [name, summary] : lines)
    text += fmt::format("    '{}:{}'\n", name, in_zsh(summary));
  return text + "  )\n";
}

std::string zsh_script() {
  using Lines = std::vector<std::pair<std::string, std::string>>;
  const std::vector<Leaf> all = leaf_commands();
  Lines lines;
  for (const Command& command : commands()) lines.emplace_back(command.name, command.summary);
  lines.emplace_back("help", "explain a command");
  std::string script = fmt::format(
      R"(#compdef plumb msaccucmp msprobe
# plumb: completion for zsh, of plumb {}
_plumb() {{
  local command=$service
  local -a list
{}  if [[ $service != (msaccucmp|msprobe) ]]; then
    if ((CURRENT == 2)); then _describe command list; return; fi
    shift words
    ((CURRENT--))
    command=$words[1]
    if [[ $command == help ]]; then _describe command list; return; fi
  fi
)",
      PLUMB_VERSION, zsh_list("list", lines));
  for (const Command& command : commands()) {
    Lines inner;
    for (const Leaf& leaf : all)
      if (leaf.words.starts_with(std::string(command.name) + " "))
        inner.emplace_back(leaf.text.name, leaf.text.description);
    if (inner.empty()) continue;
    script += fmt::format(R"(  if [[ $command == {0} ]]; then
  {1}  if ((CURRENT == 2)); then _describe command list; return; fi
    shift words
    ((CURRENT--))
    command="{0} $words[1]"
  fi
)",
                          command.name, zsh_list("list", inner));
  }
  script += "  case $command in\n";
  for (const Leaf& leaf : all) script += zsh_leaf(leaf);
  return script + R"(  esac
  return 1
}
if [[ $funcstack[1] == _plumb ]]; then _plumb "$@"; else compdef _plumb plumb msaccucmp msprobe; fi
)";
}

std::string fish_leaf(const Leaf& leaf) {
  std::string text;
  const std::string line = fmt::format("complete -c plumb -n '__plumb_is {}'", leaf.words);
  for (const OptionText& option : leaf.text.options) {
    text += line;
    for (const std::string& name : offered_names(option)) {
      const bool is_long = name.starts_with("--");  // -o: one dash, several letters
      text += fmt::format(" -{} {}",
                          is_long            ? "l"
                          : name.size() == 2 ? "s"
                                             : "o",
                          name.substr(is_long ? 2 : 1));
    }
    if (!option.value.empty()) switch (follows(option)) {
        case Follows::kFile: text += " -r -F"; break;
        case Follows::kDirectory: text += " -x -a '(__fish_complete_directories)'"; break;
        case Follows::kWords:
          text += fmt::format(" -x -a '{}'", fmt::join(option.words, " "));
          break;
        case Follows::kList:
          text += fmt::format(" -x -a '(__fish_append , {})'", fmt::join(option.words, " "));
          break;
        case Follows::kNothing: text += " -x"; break;
      }
    text += fmt::format(" -d '{}'\n", in_fish(first_line(option)));
  }
  for (const OptionText& argument : leaf.text.arguments)
    text += argument.words.empty()
                ? line + " -F\n"
                : fmt::format("{} -a '{}'\n", line, fmt::join(argument.words, " "));
  return text;
}

std::string fish_script() {
  const std::vector<Leaf> all = leaf_commands();
  std::string script = fmt::format(R"(# plumb: completion for fish, of plumb {}
function __plumb_is # are these the first words of the command line?
    set -l words (commandline -opc)
    set -e words[1]
    set -l most (count $argv)
    test "$words[1..$most]" = "$argv"
end
function __plumb_has # so many words, no more?
    test (count (commandline -opc)) -eq $argv[1]
end
complete -c plumb -f
complete -c plumb -n '__plumb_is help' -a '{}'
complete -c plumb -n '__plumb_has 1' -a help -d 'explain a command'
)",
                                   PLUMB_VERSION, command_names());
  for (const Command& command : commands())
    script += fmt::format("complete -c plumb -n '__plumb_has 1' -a {} -d '{}'\n", command.name,
                          in_fish(command.summary));
  for (const Leaf& leaf : all) {
    if (const size_t space = leaf.words.find(' '); space != std::string::npos)
      script +=
          fmt::format("complete -c plumb -n '__plumb_is {}; and __plumb_has 2' -a {} -d '{}'\n",
                      leaf.words.substr(0, space), leaf.text.name, in_fish(leaf.text.description));
    script += fish_leaf(leaf);
  }
  return script;
}

struct Shell {
  std::string_view name;
  std::string_view file;  // under which the shell looks for it
  std::string (*script)();
};
constexpr Shell kShells[] = {{"bash", "plumb", bash_script},
                             {"zsh", "_plumb", zsh_script},
                             {"fish", "plumb.fish", fish_script}};

Result<void> write_pages(const std::filesystem::path& directory) {
  std::vector<CommandText> texts;
  for (const Command& command : commands()) texts.push_back(describe(command));
  for (const ManualPage& page : manual_pages(commands(), texts))
    if (auto written = write_file(directory / page.file, page.text); !written) return written;
  return {};
}

}  // namespace

int run_completion(int argc, char** argv, RunContext&) {
  Options options("completion",
                  "Print what a shell reads to complete commands, options and values.",
                  "examples\n"
                  "  source <(plumb completion bash)\n"
                  "  plumb completion zsh -o ~/.zsh/functions\n"
                  "  plumb completion fish -o ~/.config/fish/completions\n"
                  "  plumb completion man -o ~/.local/share/man/man1\n"
                  "exit status: 0, or 2 if something cannot be written");
  std::vector<std::string> words;
  std::string directory;
  options.arguments("SHELL", words, "bash, zsh or fish; `man` writes manual pages instead");
  options.suggest([] { return std::vector<std::string>{"bash", "zsh", "fish", "man"}; });
  options.group("output");
  options.text("-o,--output", "DIR", directory,
               "write it there, under the name by which it is found");
  if (auto status = options.parse(argc, argv)) return *status;
  const bool is_man = words.size() == 1 && words[0] == "man";
  const auto shell = std::find_if(std::begin(kShells), std::end(kShells), [&](const Shell& each) {
    return words.size() == 1 && each.name == words[0];
  });
  if (!is_man && shell == std::end(kShells))
    return fail_with({words.size() == 1
                          ? fmt::format("unknown shell '{}'", words[0])
                          : fmt::format("one shell is needed, {} given", words.size()),
                      "plumb completion", "use bash, zsh or fish, or `man` for manual pages"});
  if (is_man && directory.empty())
    return fail_with({"where should the manual pages go?", "plumb completion man",
                      "name a directory, e.g. -o ~/.local/share/man/man1"});
  if (directory.empty()) {
    fmt::print("{}", shell->script());
    return kAgreement;
  }
  std::error_code problem;
  std::filesystem::create_directories(directory, problem);
  if (problem)
    return fail_with({"cannot make the directory: " + problem.message(), directory,
                      "name another one after -o"});
  const auto written =
      is_man ? write_pages(directory)
             : write_file(std::filesystem::path(directory) / shell->file, shell->script());
  return written ? static_cast<int>(kAgreement) : fail_with(written.error());
}

}  // namespace plumb::cli
