// SPDX-License-Identifier: Apache-2.0
#include "cli/manual_pages.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace plumb::cli {
namespace {

// Text as it is: troff would make typographic quotes, hyphens and accents of it.
std::string in_troff(std::string_view text) {
  std::string made;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) made += "\\&";
    at_start = c == '\n';
    switch (c) {
      case '\\': made += "\\e"; break;
      case '-': made += "\\-"; break;
      case '\'': made += "\\(aq"; break;
      case '`': made += "\\(ga"; break;
      case '^': made += "\\(ha"; break;
      case '~': made += "\\(ti"; break;
      case '"': made += "\\(dq"; break;
      default: made += c;
    }
  }
  return made;
}

std::string upper(std::string_view text) {
  std::string made;
  for (const char c : text) made += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return made;
}

std::string page_heading(std::string_view page) {
  return fmt::format(".TH {} 1 \"\" \"plumb {}\" \"Plumbline\"\n", upper(page), PLUMB_VERSION);
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", in_troff(text)); }

std::string page_entry(const OptionText& option) {
  std::string label;
  for (const std::string& name : option.names) label += (label.empty() ? "" : ", ") + bold(name);
  if (!option.value.empty()) label += fmt::format(" \\fI{}\\fR", in_troff(option.value));
  return fmt::format(".TP\n{}\n{}\n", label, in_troff(option.help));
}

// By group, in the order of help.
std::string page_options(const CommandText& text) {
  std::vector<std::string> groups;
  for (const OptionText& option : text.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group != "other"; });
  std::string made;
  for (const std::string& group : groups) {
    if (!group.empty()) made += fmt::format(".SS {}\n", in_troff(group));
    for (const OptionText& option : text.options)
      if (option.group == group) made += page_entry(option);
  }
  return made;
}

// "examples", lines of commands, "exit status: ..." to the end.
std::string footer_of(std::string_view footer) {
  constexpr std::string_view kExamples = "examples\n", kStatus = "exit status: ";
  std::string made;
  const size_t status = footer.find(kStatus);
  if (footer.starts_with(kExamples)) {
    std::string_view lines = footer.substr(0, status).substr(kExamples.size());
    while (lines.ends_with('\n')) lines.remove_suffix(1);
    made += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", in_troff(lines));
  }
  if (status != std::string_view::npos)
    made += fmt::format(".SH EXIT STATUS\n{}\n", in_troff(footer.substr(status + kStatus.size())));
  return made;
}

ManualPage page_of(const Command& command, const CommandText& text) {
  const std::string name = fmt::format("plumb-{}", command.name);
  std::string made = page_heading(name);
  made += fmt::format(".SH NAME\n{} \\- {}\n", in_troff(name), in_troff(command.summary));
  made += ".SH SYNOPSIS\n";
  if (text.commands.empty()) made += bold(fmt::format("plumb {}", command.name)) + " [options]";
  for (const OptionText& argument : text.arguments)
    made += fmt::format(" \\fI{}\\fR", in_troff(argument.names.front()));
  if (text.commands.empty()) made += "\n";
  for (const CommandText& inner : text.commands)
    made += bold(fmt::format("plumb {} {}", command.name, inner.name)) + " [options]\n.br\n";
  made += fmt::format(".SH DESCRIPTION\n{}\n", in_troff(text.description));
  for (const OptionText& argument : text.arguments) made += page_entry(argument);
  if (!text.options.empty()) made += ".SH OPTIONS\n" + page_options(text);
  for (const CommandText& inner : text.commands)
    made += fmt::format(".SH {}\n{}\n{}", in_troff(upper(inner.name)), in_troff(inner.description),
                        page_options(inner));
  made += footer_of(text.footer);
  made += ".SH SEE ALSO\n.BR plumb (1)\n";
  return {name + ".1", std::move(made)};
}

}  // namespace

std::vector<ManualPage> manual_pages(std::span<const Command> commands,
                                     std::span<const CommandText> texts) {
  std::string main = page_heading("plumb");
  main +=
      ".SH NAME\nplumb \\- does the converted network still compute what the original computed?\n"
      ".SH SYNOPSIS\n\\fBplumb\\fR \\fICOMMAND\\fR [options]\n.br\n"
      "\\fBplumb help\\fR \\fICOMMAND\\fR\n.br\n\\fBplumb \\-\\-version\\fR\n"
      ".SH DESCRIPTION\n"
      "Compares the tensors of a neural network on two platforms, names the operator that "
      "introduced "
      "an error, says why and what to do next.\n.SH COMMANDS\n";
  std::vector<ManualPage> pages(1);
  std::string others;
  for (size_t i = 0; i < commands.size(); ++i) {
    main += fmt::format(".TP\n{}\n{}\n", bold(commands[i].name), in_troff(commands[i].summary));
    others += fmt::format("{}\\fBplumb\\-{}\\fR(1)", others.empty() ? "" : ",\n",
                          in_troff(commands[i].name));
    pages.push_back(page_of(commands[i], texts[i]));
  }
  main +=
      ".SH EXIT STATUS\n0 agreement, 1 difference, 2 trouble, 130 interrupted; of "
      "\\fBmsaccucmp\\fR and \\fBmsprobe\\fR as those tools have it.\n"
      ".SH SEE ALSO\n" +
      others + "\n";
  pages[0] = {"plumb.1", std::move(main)};
  return pages;
}

}  // namespace plumb::cli
