// SPDX-License-Identifier: Apache-2.0
//
// A command of the user's, run by the shell in a process group of its own, with a limit of time.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "plumb/result.h"

namespace plumb {

struct CommandEnd {
  // As the shell tells it: 128 + N if signal N ended it. -1 if it was ended by us.
  int status = -1;
  bool timed_out = false;
};

// `sh -c COMMAND`, with nothing to read; what it prints is appended to `log`. When the time is over
// or `cancelled` gets true, everything in its process group is killed.
Result<CommandEnd> run_command(const std::string& command, const std::filesystem::path& log,
                               std::chrono::milliseconds timeout,
                               const std::atomic<bool>& cancelled);

// The text in quotes, for a shell.
std::string shell_quoted(std::string_view text);
// ... in quotes only if the shell would take it for something else.
std::string shell_word(std::string_view text);

// The command with a file's path where "{}" stands; if it does not, in place of words that are
// "%"; else at the end. A path that the shell would take apart is quoted.
std::string with_path(std::string_view command, std::string_view path);

}  // namespace plumb
