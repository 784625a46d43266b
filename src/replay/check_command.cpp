// SPDX-License-Identifier: Apache-2.0
#include "replay/check_command.h"

#include <fstream>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/run_command.h"

namespace plumb::replay {

namespace fs = std::filesystem;

Verdict verdict_of(int status, std::optional<int> expected) {
  if (status == expected) return Verdict::kFails;
  if (status == 0) return Verdict::kPasses;
  // 126 and 127 are the shell's: it could not run the command.
  if (expected || status < 0 || (status >= 125 && status <= 127)) return Verdict::kUnresolved;
  return Verdict::kFails;
}

Result<CheckCommand> CheckCommand::open(CheckOptions options, const RunContext& context) {
  CheckCommand check(std::move(options), context);
  std::error_code error;
  fs::path& directory = check.options_.directory;
  if (directory.empty()) {
    auto made = TemporaryDirectory::make("plumb-shrink");
    if (!made) return Error{made.error().what, made.error().where, "name one with --work DIR"};
    check.temporary_.emplace(std::move(*made));
    directory = check.temporary_->path();
  } else {
    directory = fs::absolute(directory, error);
    auto lock = DirectoryLock::make(directory);
    if (!lock)
      return Error{lock.error().what, lock.error().where, "name another one with --work DIR"};
    check.lock_ = std::move(*lock);
    fs::remove(directory / "check.log", error);
  }
  return check;
}

Checked CheckCommand::check(std::string_view onnx) {
  if (engine_ != nullptr) {
    engine::Model model;
    model.graph = as_bytes(onnx);
    if (!engine_->open(model, {})) {
      ++invalid_;
      return {};
    }
  }
  const fs::path candidate = options_.directory / kCandidate,
                 log = options_.directory / "check.log";
  auto sink = FileSink::create(candidate);
  if (sink) sink->write(onnx);
  if (auto written = sink ? sink->commit(false) : Result<void>(sink.error()); !written) {
    trouble_ = std::move(written.error());
    return {};
  }
  {
    std::ofstream heading(log, std::ios::app);
    heading << fmt::format("--- check {}: {} bytes\n", ++runs_, onnx.size());
  }
  std::error_code ignored;
  log_start_ = fs::file_size(log, ignored);
  auto end = run_command(with_path(options_.command, candidate.string()), log,
                         std::chrono::seconds(options_.timeout_s), context_.cancelled);
  if (!end) {
    trouble_ = std::move(end.error());
    return {};
  }
  timed_out_ = end->timed_out;
  if (end->status < 0) return {};
  return {verdict_of(end->status, options_.expect_status), end->status};
}

std::string CheckCommand::told(const Checked& checked) const {
  if (timed_out_)
    return fmt::format("{}: it did not end within {} s", options_.command, options_.timeout_s);
  const std::string words = last_words();
  return fmt::format("{}: exit status {}{}", options_.command, checked.status.value_or(-1),
                     words.empty() ? "" : fmt::format(" ({})", words));
}

std::string CheckCommand::last_words() const {
  std::ifstream log(options_.directory / "check.log");
  log.seekg(static_cast<std::streamoff>(log_start_));
  std::string last;
  for (std::string line; std::getline(log, line);)
    if (!line.empty()) last = line.substr(0, 200);
  return last;
}

}  // namespace plumb::replay
