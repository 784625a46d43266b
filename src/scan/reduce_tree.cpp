// SPDX-License-Identifier: Apache-2.0
#include "scan/reduce_tree.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tbb/parallel_for.h>
#include <unistd.h>

#include "base/directory_lock.h"
#include "base/directory_watch.h"
#include "base/threads.h"
#include "dump/reduced.h"
#include "dump/tree.h"

namespace plumb::scan {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Path = std::filesystem::path;

constexpr DirectoryLock::Kind kReducing{
    ".plumb-reduce.lock", "another plumb reduce works in this directory", "wait for it, or end it"};
constexpr milliseconds kRescan{10'000};  // the kernel does not tell what other machines do
constexpr milliseconds kRetry{2'000};    // after trouble that may pass: a full disk

// A dump file that waits for its turn.
struct Pending {
  FileStamp stamp;
  Clock::time_point since;          // it looks like this
  bool is_closed = false;           // its writer has closed it since
  std::optional<Error> error = {};  // of the last attempt
  bool is_final = false;            // no use in trying again until it changes
  Clock::time_point retry = {};
};

class TreeReducer {
 public:
  TreeReducer(const Path& root, const ReduceTreeOptions& options, const RunContext& context,
              const ReduceTell& tell)
      : root_(root), options_(options), context_(context), tell_(tell) {
    struct ::stat s;
    if (::stat(root.c_str(), &s) == 0) device_ = s.st_dev;
    is_watched_ = options.watch && !options.poll;
  }

  ReduceReport run() {
    scan(root_, 0, true);
    const Clock::time_point start = Clock::now();
    last_scan_ = last_event_ = start;
    while (!context_.cancelled) {
      const bool any = work();
      const Clock::time_point now = Clock::now();
      if (any) last_event_ = now;
      if (!options_.watch) {
        if (none_can_come() || now - start > 2 * options_.quiet) break;
      } else if (options_.until_idle && now - last_event_ >= *options_.until_idle) {
        break;
      }
      if (!any) look();
    }
    return report();
  }

 private:
  // --- finding files

  void note(const Path& path, bool is_closed) {
    if (!dump::reduced_name(path.filename().native())) return;
    const auto stamp = stamp_of(path);
    if (!stamp || stamp->device != device_) return;
    if (const auto done = kept_.find(path); done != kept_.end()) {
      if (done->second == *stamp) return;
      kept_.erase(done);
    }
    auto found = pending_.find(path);
    if (found == pending_.end() || found->second.stamp != *stamp) {
      found = pending_.insert_or_assign(path, Pending{*stamp, Clock::now()}).first;
      last_event_ = Clock::now();
    }
    if (is_closed) {
      Pending& pending = found->second;
      pending.is_closed = true;
      pending.is_final = false;
      pending.error.reset();
    }
  }

  // Links are not followed, other file systems are not entered.
  void scan(const Path& directory, int depth, bool is_first = false) {
    if (depth > dump::kMaxDepth) return;
    if (is_watched_ && !watch_.add(directory)) is_watched_ = false;
    std::error_code failed;
    std::vector<Path> below;
    for (std::filesystem::directory_iterator at(directory, failed), end; !failed && at != end;
         at.increment(failed)) {
      std::error_code gone;
      const auto type = at->symlink_status(gone).type();
      if (gone) continue;
      if (type == std::filesystem::file_type::directory) {
        struct ::stat s;
        if (::lstat(at->path().c_str(), &s) == 0 && s.st_dev == device_)
          below.push_back(at->path());
      } else if (type == std::filesystem::file_type::regular) {
        // What a run that was killed left behind; nobody else may write here.
        if (is_first && is_temporary_name(at->path().filename().native()))
          ::unlink(at->path().c_str());
        else if (is_first && dump::is_reduced_name(at->path().filename().native()))
          before_.push_back(at->path());
        else
          note(at->path(), false);
      }
    }
    for (const Path& path : below) scan(path, depth + 1, is_first);
  }

  // Waits for news, and looks how the files that wait have changed.
  void look() {
    const auto changes =
        watch_.wait(static_cast<int>(std::min(options_.interval, until_quiet()).count()));
    for (const Path& path : changes.directories) scan(path, 1);
    for (const Path& path : changes.created) note(path, false);
    for (const Path& path : changes.closed) note(path, true);
    const Clock::time_point now = Clock::now();
    const bool is_due = now - last_scan_ >= (is_watched_ ? kRescan : options_.interval);
    if (changes.any_lost || (options_.watch && is_due)) {
      scan(root_, 0);
      last_scan_ = now;
    }
    for (auto at = pending_.begin(); at != pending_.end();) {
      const auto stamp = stamp_of(at->first);
      if (!stamp) {
        at = pending_.erase(at);
        continue;
      }
      if (*stamp != at->second.stamp) {
        const Pending again{*stamp, now};
        at->second = again;
        last_event_ = now;
      }
      ++at;
    }
  }

  // --- whose turn it is

  bool is_quiet(const Pending& pending) const {
    if (Clock::now() - pending.since >= options_.quiet) return true;
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    const auto age = wall - std::chrono::nanoseconds(pending.stamp.time_ns);
    return age.count() >= 0 && age >= options_.quiet;  // clocks of file servers may be ahead
  }

  bool is_due(const Pending& pending) const {
    if (pending.is_final) return false;
    if (pending.error) return options_.watch && Clock::now() >= pending.retry;
    return pending.is_closed || is_quiet(pending);
  }

  // Until the first file that waits might have its turn, at least a moment.
  milliseconds until_quiet() const {
    milliseconds shortest = options_.interval;
    for (const auto& [path, pending] : pending_)
      if (!pending.error && !pending.is_final)
        shortest = std::min(
            shortest, duration_cast<milliseconds>(pending.since + options_.quiet - Clock::now()));
    return std::max(shortest, milliseconds(1));
  }

  bool none_can_come() const {
    return std::all_of(pending_.begin(), pending_.end(), [](const auto& p) {
      return p.second.is_final || p.second.error.has_value();
    });
  }

  // --- working

  // False if it was nobody's turn.
  bool work() {
    std::vector<const Path*> due;
    for (const auto& [path, pending] : pending_)
      if (is_due(pending)) due.push_back(&path);
    if (due.empty()) return false;
    std::vector<ReduceOutcome> outcomes(due.size());
    std::vector<char> is_done(due.size());
    tbb::parallel_for(size_t{0}, due.size(), [&](size_t i) {
      if (context_.cancelled) return;
      outcomes[i] = reduce_file(*due[i], options_.file);
      is_done[i] = 1;
      std::lock_guard lock(guard_);
      count(outcomes[i]);
      if (tell_) tell_(*due[i], outcomes[i], now());
    });
    bool any = false;
    for (size_t i = 0; i < due.size(); ++i)
      if (is_done[i] != 0) any |= settle(*due[i], std::move(outcomes[i]));
    return any;
  }

  void count(const ReduceOutcome& outcome) {
    if (outcome.state != ReduceState::kReduced) return;
    ++totals_.files;
    already_ += outcome.was_done;
    totals_.bytes_before += outcome.bytes_before;
    totals_.bytes_after += outcome.bytes_after;
  }

  ReduceProgress now() const {
    ReduceProgress progress = totals_;
    progress.waiting = pending_.size() - std::min(pending_.size(), totals_.files - settled_);
    return progress;
  }

  // True if that was progress.
  bool settle(Path path, ReduceOutcome outcome) {
    const auto found = pending_.find(path);
    if (outcome.state == ReduceState::kReduced) {
      ++settled_;
      made_.insert(path.parent_path() / *dump::reduced_name(path.filename().native()));
      if (options_.file.keep) kept_[path] = found->second.stamp;
      pending_.erase(found);
      return true;
    }
    Pending& pending = found->second;
    pending.error = std::move(outcome.error);
    pending.is_closed = false;
    pending.is_final = outcome.state == ReduceState::kUnreadable;
    pending.retry = Clock::now() + kRetry;
    return false;
  }

  ReduceReport report() {
    ReduceReport report;
    report.totals = totals_;
    report.totals.waiting = pending_.size();
    report.already = already_;
    report.is_watched = is_watched_;
    for (auto& [path, pending] : pending_)
      report.left.push_back(pending.error ? std::move(*pending.error) : why_left(path, pending));
    count_before(report);
    return report;
  }

  // Nothing went wrong with it, its turn did not come.
  Error why_left(const Path& path, const Pending& pending) const {
    if (!options_.watch && !context_.cancelled)
      return {"the file is still being written", path.string(),
              "reduce it when its writer has finished"};
    if (is_due(pending))
      return {"the run ended before the file's turn came", path.string(), "run it again"};
    return {"the file was not yet quiet for long enough",
            fmt::format("{}: it counts as finished when it has not changed for {} ms",
                        path.string(), options_.quiet.count()),
            "run it again, or with a smaller --quiet-ms"};
  }

  // Of dump files that are gone nothing can be made any more.
  void count_before(ReduceReport& report) const {
    for (const Path& path : before_) {
      if (made_.contains(path)) continue;
      ++report.before;
      if (!options_.file.sketch || context_.cancelled) continue;
      const auto read = dump::read_reduced(path);
      report.no_sketch +=
          read && std::any_of(read->tensors.begin(), read->tensors.end(), [](const auto& tensor) {
            return !tensor.has_sketch && tensor.slot.kind != dump::SlotKind::kOther;
          });
    }
  }

  const Path root_;
  const ReduceTreeOptions& options_;
  const RunContext& context_;
  const ReduceTell& tell_;
  dev_t device_ = 0;
  DirectoryWatch watch_;
  bool is_watched_ = false;
  std::map<Path, Pending> pending_;
  std::map<Path, FileStamp> kept_;  // reduced, but not deleted
  std::vector<Path> before_;        // reduced files that were there at the start
  std::set<Path> made_;             // reduced files of this run
  Clock::time_point last_scan_, last_event_;
  std::mutex guard_;
  ReduceProgress totals_;
  size_t already_ = 0, settled_ = 0;
};

}  // namespace

Result<ReduceReport> reduce_tree(const Path& root, const ReduceTreeOptions& options,
                                 const RunContext& context, const ReduceTell& tell) {
  std::error_code failed;
  if (!std::filesystem::is_directory(root, failed))
    return Error{
        failed || !std::filesystem::exists(root, failed) ? "no such directory" : "not a directory",
        root.string(), "name the directory that the dump is written to"};
  auto lock = DirectoryLock::take(root, kReducing);
  if (!lock) return lock.error();
  auto report =
      on_threads_of(context, [&] { return TreeReducer(root, options, context, tell).run(); });
  if (report.totals.files == 0 && report.left.empty() && report.before == 0 && !context.cancelled)
    return Error{"nothing was reduced: there is no dump file", root.string(),
                 "name the directory that device dumps or FX arrays were written to"};
  return report;
}

}  // namespace plumb::scan
