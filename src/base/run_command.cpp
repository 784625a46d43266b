// SPDX-License-Identifier: Apache-2.0
#include "base/run_command.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace plumb {
namespace {

using namespace std::chrono_literals;

// The id of the process, which is that of its group as well.
Result<pid_t> start(const std::string& command, const std::filesystem::path& log) {
  posix_spawnattr_t how;
  posix_spawn_file_actions_t files;
  ::posix_spawnattr_init(&how);
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&how, 0);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  const char* const words[] = {"sh", "-c", command.c_str(), nullptr};
  pid_t process = 0;
  const int error =
      ::posix_spawn(&process, "/bin/sh", &files, &how, const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&how);
  if (error != 0)
    return Error{"the command could not be started",
                 fmt::format("{}: {}", command, std::strerror(error)),
                 "is there room for its log, and a /bin/sh?"};
  return process;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/._-+,:@=%").find(c) != std::string_view::npos;
}

}  // namespace

Result<CommandEnd> run_command(const std::string& command, const std::filesystem::path& log,
                               std::chrono::milliseconds timeout,
                               const std::atomic<bool>& cancelled) {
  const auto process = start(command, log);
  if (!process) return process.error();
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  CommandEnd end;
  for (auto pause = 500us;; pause = std::min(pause * 2, std::chrono::microseconds(10ms))) {
    int status = 0;
    const pid_t ended = ::waitpid(*process, &status, WNOHANG);
    if (ended == *process) {
      end.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      return end;
    }
    if (ended < 0 && errno != EINTR)
      return Error{"the end of the command was missed",
                   fmt::format("{}: {}", command, std::strerror(errno)), "run it again"};
    end.timed_out = std::chrono::steady_clock::now() >= deadline;
    if (end.timed_out || cancelled) break;
    std::this_thread::sleep_for(pause);
  }
  // Nobody has waited for the process yet: the number still means this group.
  ::kill(-*process, SIGKILL);
  while (::waitpid(*process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return end;
}

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_word(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), is_plain);
  return plain ? std::string(text) : shell_quoted(text);
}

std::string with_path(std::string_view command, std::string_view path) {
  const std::string file = shell_word(path);
  const bool has_braces = command.find("{}") != std::string_view::npos;
  const auto is_place = [&](size_t i) {
    if (has_braces) return command.substr(i, 2) == "{}";
    const auto is_blank = [&](size_t k) { return k >= command.size() || command[k] == ' '; };
    return command[i] == '%' && (i == 0 || is_blank(i - 1)) && is_blank(i + 1);
  };
  std::string out;
  bool any = false;
  for (size_t i = 0; i < command.size(); ++i) {
    if (!is_place(i)) {
      out += command[i];
      continue;
    }
    out += file;
    any = true;
    if (has_braces) ++i;
  }
  return any ? out : out + " " + file;
}

}  // namespace plumb
