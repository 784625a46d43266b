// SPDX-License-Identifier: Apache-2.0
//
// `plumb COMMAND ...`: finds the command in the table and runs it.
#include <csignal>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <malloc.h>

#include "base/nearest.h"
#include "cli/command.h"

namespace {

using namespace plumb;

std::atomic<bool>* cancelled = nullptr;  // a signal handler can reach nothing else

// The first signal asks the run to end and keeps what is known; a second Ctrl-C or SIGTERM ends it
// the hard way. A terminal that is closed may send SIGHUP twice.
void on_interrupt(int signal) {
  if (cancelled->exchange(true) && signal != SIGHUP) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

// What the user told us to ignore (nohup, or Ctrl-C in the background of a script) stays ignored.
void end_cleanly_on(int signal) {
  if (std::signal(signal, on_interrupt) == SIG_IGN) std::signal(signal, SIG_IGN);
}

void print_usage(std::FILE* to) {
  fmt::print(to,
             "Does the converted network still compute what the original computed?\n\n"
             "usage: plumb COMMAND [options]\n\ncommands\n");
  for (const cli::Command& command : cli::commands())
    fmt::print(to, "  {:<18}{}\n", command.name, command.summary);
  fmt::print(to, "\n`plumb help COMMAND` explains one; `plumb --version` prints the version.\n");
}

// argv[1] is the command.
int run_command(int argc, char** argv) {
  const std::string_view word = argv[1];
  for (const cli::Command& command : cli::commands()) {
    if (command.name != word) continue;
    // Threads that share a few heaps: one each would take a tenth more memory for a result of many
    // rows, and if all had one, they would spend a tenth of a run on small files waiting for it.
    ::mallopt(M_ARENA_MAX, 4);
    // Tensors of up to a few MiB that are looked at one after the other use the same pages.
    ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
    RunContext context;
    context.warn = cli::print_warning;
    cancelled = &context.cancelled;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) end_cleanly_on(signal);
    std::signal(SIGPIPE, SIG_DFL);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
    int status = cli::kTrouble;
    try {
      status = command.run(argc - 1, argv + 1, context);
    } catch (const std::exception& error) {  // out of memory, or stdout refused what we print
      cli::print_error({error.what(), "plumb " + std::string(word), "free memory or disk space"});
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      cli::print_error({"cannot write the output", "standard output", "is the disk full?"});
      status = cli::kTrouble;
    }
    return context.cancelled ? cli::kInterrupted : status;
  }
  std::vector<std::string> names;
  for (const cli::Command& command : cli::commands()) names.emplace_back(command.name);
  names.insert(names.end(), {"help", "--help", "--version"});
  cli::print_error(
      {fmt::format("unknown {} '{}'", word.starts_with("-") ? "option" : "command", word),
       "plumb " + std::string(word),
       did_you_mean(word, names) + "`plumb --help` lists the commands"});
  return cli::kTrouble;
}

}  // namespace

int main(int argc, char** argv) {
  // A link of one of these names stands for the command.
  std::string alias = argc > 0 ? std::filesystem::path(argv[0]).stem().string() : "";
  std::vector<char*> words(argv, argv + argc);
  if (alias == "msaccucmp" || alias == "msprobe") {
    words.insert(words.begin() + 1, alias.data());
    argc = static_cast<int>(words.size());
    words.push_back(nullptr);
    argv = words.data();
  }
  if (argc < 2) {
    print_usage(stderr);
    return cli::kTrouble;
  }
  const std::string_view word = argv[1];
  if (word == "--version" || word == "-V") {
    fmt::print("plumb {}\n", PLUMB_VERSION);
    return cli::kAgreement;
  }
  if (word == "--help" || word == "-h" ||
      (word == "help" && (argc == 2 || argv[2] == std::string_view("help")))) {
    print_usage(stdout);
    return cli::kAgreement;
  }
  if (word == "help") {  // plumb help COMMAND
    static char option[] = "--help";
    char* asked[] = {argv[0], argv[2], option, nullptr};
    return run_command(3, asked);
  }
  return run_command(argc, argv);
}
