// SPDX-License-Identifier: Apache-2.0
//
// MPI is called by one thread, and rows are made by others: those who stream put lines into an
// outbox, or, at rank 0, into the store.
#include "compare/ranks.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "base/json_values.h"
#include "base/plugin.h"
#include "result/row_line.h"

namespace plumb::compare {
namespace {

enum Kind : char { kRowLines = 'R', kProgress = 'P', kProblem = 'E', kDone = 'D' };

constexpr size_t kLargeMessage = 1 << 20;  // bytes: sent at once
constexpr size_t kMostWaiting = 64 << 20;  // bytes: whoever makes rows waits
constexpr std::chrono::milliseconds kSendInterval(100), kLookInterval(1);

// Lines and progress that are to be sent.
class Outbox : public Sink {
 public:
  explicit Outbox(std::span<const Stamp> stamps) : stamps_(stamps) {}

  void row(RowId id, result::Row&& row) override {
    if (!row.reasons.empty() && row.reasons.front() == "interrupted") return;
    std::string line;
    append_row_line(line, {id, stamps_[static_cast<size_t>(id)].digest}, row);
    std::unique_lock lock(guard_);
    changed_.wait(lock, [&] { return lines_.size() < kMostWaiting; });
    lines_.append(line) += '\n';
    if (lines_.size() >= kLargeMessage) changed_.notify_all();
  }
  void advance(int64_t bytes) { progress_ += bytes; }
  void end() {
    const std::lock_guard lock(guard_);
    is_done_ = true;
    changed_.notify_all();
  }
  // What has come since the last call, waiting a little; false once there will be no more.
  bool take(std::string& lines, int64_t& progress) {
    std::unique_lock lock(guard_);
    changed_.wait_for(lock, kSendInterval,
                      [&] { return is_done_ || lines_.size() >= kLargeMessage; });
    lines = std::exchange(lines_, {});
    progress = progress_.exchange(0);
    changed_.notify_all();
    return !is_done_ || !lines.empty() || progress > 0;
  }

 private:
  std::span<const Stamp> stamps_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::string lines_;
  std::atomic<int64_t> progress_{0};
  bool is_done_ = false;
};

Result<void> add_lines(RowStore& store, std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    if (auto added = store.add(lines.substr(0, end)); !added) return added;
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return {};
}

Error error_from(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_array() || json.size() != 3) return {"another rank failed", "", "run it again"};
  return {json[0], json[1], json[2]};
}

}  // namespace

bool Ranks::are_launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* size = std::getenv(name)) return std::atoi(size) > 1;
  return std::getenv("PMIX_RANK") != nullptr;
}

Result<std::unique_ptr<Ranks>> Ranks::start() {
  auto opened = open_plugin({"libplumb_mpi.so", kMpiSymbol, "work under an MPI launcher",
                             "an MPI library (libopenmpi3)", "-DPLUMB_MPI=ON"});
  if (!opened) {
    opened.error().remedy += "; or share the work by --shard";
    return opened.error();
  }
  const MpiFunctions& functions = *reinterpret_cast<MpiEntry>(*opened)();
  int rank = 0, size = 1;
  if (!functions.start(&rank, &size))
    return Error{"the processes of the launcher do not find each other", "MPI_Init",
                 "start them by the mpirun of the MPI library that plumb was built with"};
  return std::unique_ptr<Ranks>(new Ranks(functions, rank, size));
}

Ranks::~Ranks() { mpi_.stop(); }

void Ranks::broadcast(std::string& text) {
  uint64_t size = text.size();
  mpi_.broadcast(&size, sizeof size);
  text.resize(size);
  mpi_.broadcast(text.data(), size);
}

void Ranks::send(char kind, std::string_view text) {
  std::string message(1, kind);
  message += text;
  mpi_.send(message.data(), message.size());
}

void Ranks::send_error(const Error& error) {
  const Json json = {error.what, fmt::format("rank {}: {}", rank_, error.where), error.remedy};
  send(kProblem, line_of_json(json));
  send(kDone, "");
}

Result<void> Ranks::stream_away(const Session& session, std::span<const RowId> rows,
                                std::span<const Stamp> stamps, RunContext& context) {
  Outbox outbox(stamps);
  context.progress = [&](int64_t bytes) { outbox.advance(bytes); };
  Result<void> streamed;
  std::thread streaming([&] {
    streamed = session.stream(rows, outbox, context);
    outbox.end();
  });
  std::string lines;
  int64_t progress = 0;
  while (outbox.take(lines, progress)) {
    if (!lines.empty()) send(kRowLines, lines);
    if (progress > 0) send(kProgress, std::to_string(progress));
  }
  streaming.join();
  context.progress = nullptr;
  if (streamed) send(kDone, "");
  return streamed;
}

Result<void> Ranks::stream_together(const Session& session, std::span<const RowId> rows,
                                    RowStore& store, RunContext& context) {
  Result<void> streamed, problem;
  std::atomic<bool> is_done = false;
  std::thread streaming([&] {
    streamed = session.stream(rows, store, context);
    is_done = true;
  });
  int working = size_ - 1, from = 0;
  std::string message;
  while (working > 0 || !is_done) {
    const int64_t size = mpi_.probe(&from);
    if (size < 1) {
      std::this_thread::sleep_for(kLookInterval);
      continue;
    }
    message.resize(static_cast<size_t>(size));
    mpi_.receive(from, message.data(), message.size());
    const std::string_view text = std::string_view(message).substr(1);
    if (message[0] == kRowLines && problem) problem = add_lines(store, text);
    if (message[0] == kProgress) context.advance(std::atoll(message.c_str() + 1));
    if (message[0] == kProblem && problem) problem = error_from(text);
    working -= message[0] == kDone;
  }
  streaming.join();
  if (!problem) return problem;
  return streamed;
}

}  // namespace plumb::compare
