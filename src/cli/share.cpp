// SPDX-License-Identifier: Apache-2.0
#include "cli/share.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/threads.h"
#include "cli/plan_view.h"
#include "cli/progress.h"
#include "compare/saved_plan.h"

namespace plumb::cli {
namespace {

using compare::RowStore;
using compare::Shard;
using compare::Stamp;

int64_t bytes_of(std::span<const Stamp> stamps, std::span<const RowId> rows) {
  int64_t bytes = 0;
  for (const RowId id : rows) bytes += stamps[static_cast<size_t>(id)].bytes;
  return bytes;
}

// What a journal saves, if it saves something.
void tell_resumed(const CompareRequest& request, size_t share, size_t missing) {
  if (request.common.quiet || request.journal.empty() || missing == share) return;
  fmt::print(stderr, "{}: {} of {} rows are there, {} to compare\n", request.journal,
             share - missing, share, missing);
}

Result<std::unique_ptr<RowStore>> store_for(const CompareRequest& request,
                                            const SessionState& state,
                                            std::span<const Stamp> stamps) {
  return request.journal.empty()
             ? RowStore::temporary(state, compare::digests_of(stamps))
             : RowStore::journal(state, compare::digests_of(stamps), request.journal);
}

// A session by the listing of somebody else.
Result<Opened> open_planned(Spec spec, compare::SavedPlan plan, RunContext& context) {
  spec.target.dump = std::move(plan.target);
  spec.golden.dump = std::move(plan.golden);
  auto session = Session::open(std::move(spec), context);
  if (!session) return session.error();
  if (auto checked = check_plan(plan, session->state()); !checked) return checked.error();
  return Opened{std::move(*session), std::move(plan.stamps)};
}

Result<io::ReadHints> hints_of(const Spec& spec) {
  auto hints = dump::hints_from_words(spec.hints);
  if (hints) hints->map = spec.map;
  return hints;
}

struct Streamed {
  std::unique_ptr<RowStore> rows;
  std::vector<RowId> share;
};

// Streams a share into a journal, if the request names one, or a temporary file. What the journal
// has is not streamed again.
Result<Streamed> stream_apart(const CompareRequest& request, const Opened& opened,
                              const Shard& shard, RunContext& context) {
  const SessionState& state = opened.session.state();
  const std::vector<Stamp> stamps = opened.stamps(context);
  Streamed streamed;
  streamed.share = rows_of_shard(state, stamps, shard);
  auto rows = store_for(request, state, stamps);
  if (!rows) return rows.error();
  streamed.rows = std::move(*rows);
  const std::vector<RowId> missing = streamed.rows->missing(streamed.share);
  if (!opened.planned.empty())
    if (auto checked = check_files(state, stamps, missing); !checked) return checked.error();
  tell_resumed(request, streamed.share.size(), missing.size());
  ProgressBar bar(context, request.common, bytes_of(stamps, missing));
  streamed.rows->cancel_on_error(context);
  if (auto done = opened.session.stream(missing, *streamed.rows, context); !done)
    return done.error();
  if (auto done = streamed.rows->finish_writing(); !done) return done.error();
  return streamed;
}

// Rows that are done, a character each, for all ranks.
std::string done_rows(const RowStore& store, RowId count) {
  std::string done(static_cast<size_t>(count), '0');
  for (RowId id = 0; id < count; ++id)
    if (store.has(id)) done[static_cast<size_t>(id)] = '1';
  return done;
}

// Of all but the first rank. Errors are told by the first.
Result<void> stream_at(compare::Ranks& ranks, const CompareRequest& request, std::string_view plan,
                       std::string_view done, RunContext& context) {
  auto hints = hints_of(request.spec);
  if (!hints) return hints.error();
  auto read = compare::plan_from_text(plan, *hints, true);
  if (!read) return read.error();
  auto opened = open_planned(request.spec, std::move(*read), context);
  if (!opened) return opened.error();
  const SessionState& state = opened->session.state();
  std::vector<RowId> rows = rows_of_shard(state, opened->planned, ranks.shard());
  std::erase_if(rows, [&](RowId id) { return done[static_cast<size_t>(id)] == '1'; });
  if (auto checked = check_files(state, opened->planned, rows); !checked) return checked;
  return ranks.stream_away(opened->session, rows, opened->planned, context);
}

// What the first rank has before it tells the others: whatever can go wrong does so here, while
// nobody waits for its rows.
struct Prepared {
  Opened opened;
  std::vector<Stamp> stamps;
  std::unique_ptr<RowStore> store;
};
Result<Prepared> prepare_first(const CompareRequest& request, const Shard& shard,
                               RunContext& context) {
  auto opened = open_compare(request, context);
  if (!opened) return opened.error();
  const SessionState& state = opened->session.state();
  if (!request.save_map.empty())
    if (auto saved = save_map(state.rows, request.save_map); !saved) return saved.error();
  std::vector<Stamp> stamps = opened->stamps(context);
  auto store = store_for(request, state, stamps);
  if (!store) return store.error();
  if (!opened->planned.empty()) {
    const std::vector<RowId> own = (*store)->missing(rows_of_shard(state, stamps, shard));
    if (auto checked = check_files(state, stamps, own); !checked) return checked.error();
  }
  return Prepared{std::move(*opened), std::move(stamps), std::move(*store)};
}

// Of the first rank: everything but the report.
Result<result::Run> run_at_first(compare::Ranks& ranks, const CompareRequest& request,
                                 const Prepared& prepared, RunContext& context) {
  const Session& session = prepared.opened.session;
  const SessionState& state = session.state();
  RowStore& store = *prepared.store;
  const std::vector<RowId> all = compare::all_rows(state), left = store.missing(all);
  std::vector<RowId> compared;
  for (const RowId id : all)
    if (state.rows[static_cast<size_t>(id)].reason.empty()) compared.push_back(id);
  tell_resumed(request, compared.size(), left.size());
  const std::vector<RowId> own =
      store.missing(rows_of_shard(state, prepared.stamps, ranks.shard()));
  ProgressBar bar(context, request.common, bytes_of(prepared.stamps, left));
  store.cancel_on_error(context);
  if (auto done = ranks.stream_together(session, own, store, context); !done) return done.error();
  if (auto done = store.finish_writing(); !done) return done.error();
  return compare::finish_stored(session, store);
}

}  // namespace

std::vector<Stamp> Opened::stamps(const RunContext& context) const {
  if (!planned.empty()) return planned;
  const SessionState& state = session.state();
  return on_threads_of(context,
                       [&] { return compare::stamps_of(state, compare::all_rows(state)); });
}

Result<Opened> open_compare(const CompareRequest& request, RunContext& context) {
  const std::string& path = request.plan_file;
  std::error_code unknown;
  if (!path.empty() && std::filesystem::exists(path, unknown)) {
    auto hints = hints_of(request.spec);
    if (!hints) return hints.error();
    auto plan = compare::load_plan(path, *hints);
    if (!plan) return plan.error();
    auto opened = open_planned(request.spec, std::move(*plan), context);
    if (!opened) return std::move(opened.error()).in(path);
    return opened;
  }
  auto session = Session::open(request.spec, context);
  if (!session) return session.error();
  Opened opened{std::move(*session), {}};
  if (path.empty()) return opened;
  const std::vector<Stamp> stamps = opened.stamps(context);
  if (auto written = write_file(path, compare::plan_text(opened.session.state(), stamps)); !written)
    return written.error();
  opened.planned = stamps;
  return opened;
}

Result<result::Run> make_run(const CompareRequest& request, const Opened& opened,
                             RunContext& context) {
  if (request.journal.empty()) {
    const bool is_shown = ProgressBar::is_wanted(request.common);
    ProgressBar bar(context, request.common, is_shown ? opened.session.plan().bytes() : 0);
    if (!opened.planned.empty())
      if (auto checked = check_files(opened.session.state(), opened.planned,
                                     compare::all_rows(opened.session.state()));
          !checked)
        return checked.error();
    return compare_all(opened.session, context);
  }
  auto streamed = stream_apart(request, opened, Shard{}, context);
  if (!streamed) return streamed.error();
  return compare::finish_stored(opened.session, *streamed->rows);
}

int compare_shard(const CompareRequest& request, std::vector<std::string> command,
                  const Opened& opened, RunContext& context) {
  const Shard shard = *compare::shard_from_text(request.shard);
  auto streamed = stream_apart(request, opened, shard, context);
  if (!streamed) return fail_with(streamed.error());
  if (context.cancelled) return kInterrupted;  // a part has all of its rows
  std::error_code unknown;
  const compare::PartHead head{compare::identity_of(opened.session.state()), shard,
                               std::move(command), std::filesystem::current_path(unknown).string()};
  const std::string path = result_file(request.output);
  if (auto written = write_part(path, head, *streamed->rows, streamed->share); !written)
    return fail_with(written.error());
  if (!request.common.quiet)
    fmt::print("part {} of {}: {} of {} rows, in {}\n", shard.number, shard.of,
               streamed->share.size(), opened.session.plan().size(), path);
  return kAgreement;
}

int compare_with_ranks(const CompareRequest& request, RunContext& context) {
  auto ranks = compare::Ranks::start();
  if (!ranks) return fail_with(ranks.error());
  std::string plan, done;  // empty: the first rank has no session
  if (!(*ranks)->is_first()) {
    context.warn = nullptr;  // the first rank tells all
    (*ranks)->broadcast(plan);
    (*ranks)->broadcast(done);
    if (plan.empty()) return kAgreement;
    if (auto streamed = stream_at(**ranks, request, plan, done, context); !streamed)
      (*ranks)->send_error(streamed.error());
    return kAgreement;  // the exit status is that of the first
  }
  const auto prepared = prepare_first(request, (*ranks)->shard(), context);
  if (prepared) {
    const Session& session = prepared->opened.session;
    plan = compare::plan_text(session.state(), prepared->stamps);
    done = done_rows(*prepared->store, session.plan().size());
  }
  (*ranks)->broadcast(plan);
  (*ranks)->broadcast(done);
  plan.clear();
  if (!prepared) return fail_with(prepared.error());
  auto run = run_at_first(**ranks, request, *prepared, context);
  ranks->reset();  // the others need not wait for the report
  if (!run) return fail_with(run.error());
  return finish_compare(request, prepared->opened.session, *run, context);
}

}  // namespace plumb::cli
