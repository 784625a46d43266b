// SPDX-License-Identifier: Apache-2.0
//
// `plumb profiles`: the limits that decide pass or fail, those in the binary and a user's own.
#include <algorithm>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "judge/profile.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::cli {

using report::printable;
using report::Table;
namespace {

std::string joined(const std::vector<judge::Limit>& limits) {
  std::string text;
  for (const judge::Limit& limit : limits)
    text += (text.empty() ? "" : ", ") + judge::to_string(limit);
  return text;
}

int print_all() {
  Table table;
  table.columns = {{"profile"}, {"for"}, {"origin", false, 2}, {"limits", false, 1}};
  for (const judge::BuiltInProfile& built_in : judge::built_in_profiles()) {
    auto profile = judge::load_profile(std::string(built_in.name));
    if (!profile) {
      print_error(profile.error());
      return kTrouble;
    }
    table.rows.push_back(
        {profile->name, profile->summary, profile->origin, joined(profile->any.limits)});
  }
  fmt::print(
      "{}\n`standard` is the default. `plumb profiles NAME` shows one with all its limits.\n",
      table.render(terminal_width()));
  return kAgreement;
}

void print_limits(std::string_view title, const std::vector<judge::Limit>& limits) {
  if (limits.empty()) return;
  fmt::print("\n{}\n", title);
  for (const judge::Limit& limit : limits) fmt::print("  {}\n", judge::to_string(limit));
}

// Types that may have limits of their own.
constexpr struct {
  const char* title;
  std::optional<judge::Limits> judge::Profile::*limits;
} kClasses[] = {{"float32 against float32", &judge::Profile::float32},
                {"float16 on a side", &judge::Profile::float16},
                {"bfloat16 on a side", &judge::Profile::bfloat16},
                {"whole numbers and bool", &judge::Profile::integer}};

int print_one(const std::string& name, bool toml) {
  auto profile = judge::load_profile(name);
  if (!profile) {
    if (profile.error().where.empty()) profile.error().where = "plumb profiles " + name;
    print_error(profile.error());
    return kTrouble;
  }
  const auto all = judge::built_in_profiles();
  const auto built_in =
      std::find_if(all.begin(), all.end(), [&](const auto& known) { return known.name == name; });
  if (toml) {
    if (built_in == all.end()) {
      print_error({"--toml is for profiles in the binary", "plumb profiles " + name,
                   "the file itself is what it would print"});
      return kTrouble;
    }
    fmt::print("{}", built_in->toml);
    return kAgreement;
  }
  fmt::print("{}{}{}\n", printable(profile->name), profile->summary.empty() ? "" : ": ",
             printable(profile->summary));
  if (!profile->origin.empty()) fmt::print("origin: {}\n", printable(profile->origin));
  print_limits("limits", profile->any.limits);
  for (const auto& [title, set] : kClasses)
    if ((*profile).*set) print_limits(title, ((*profile).*set)->limits);
  print_limits("outputs of the model, and tensors that may be", profile->output);
  print_limits("warnings", profile->any.warnings);
  for (const auto& [title, set] : kClasses)
    if (const auto& own = (*profile).*set; own && own->warnings != profile->any.warnings)
      print_limits(fmt::format("warnings of {}", title), own->warnings);
  if (profile->recompute)
    fmt::print("\na row that breaks limits passes if its operator added nothing to what it read\n");
  if (profile->any.same_bytes) fmt::print("\ntypes and bytes have to be the same\n");
  if (built_in != all.end()) fmt::print("\nas a file\n\n{}", built_in->toml);
  return kAgreement;
}

}  // namespace

int run_profiles(int argc, char** argv, RunContext&) {
  std::vector<std::string> names;
  bool toml = false;
  Options options("profiles", "Show the limits that decide pass or fail.",
                  "examples\n"
                  "  plumb profiles\n"
                  "  plumb profiles standard --toml > mine.toml\n"
                  "  plumb profiles mine.toml\n"
                  "exit status: 0, or 2 if there is no such profile or the file is not one");
  options.arguments("[NAME]", names, "a profile, or a file of your own (checks it)", false);
  options.suggest([] { return names_in(judge::built_in_profiles()); });
  options.group("output");
  options.flag("--toml", toml, "only the file, to start your own from");
  if (auto status = options.parse(argc, argv)) return *status;
  if (names.size() > 1 || (toml && names.empty())) {
    print_error({names.empty() ? "--toml needs the name of a profile" : "more than one profile",
                 "plumb profiles", "name one, as in `plumb profiles standard`"});
    return kTrouble;
  }
  return names.empty() ? print_all() : print_one(names[0], toml);
}

}  // namespace plumb::cli
