// SPDX-License-Identifier: Apache-2.0
//
// `plumb merge PART.json…`: one result from the shares of a comparison. The session is opened again
// by the command that the parts keep, so that everything that needs all rows, or a look at a
// tensor, is done as in one process.
#include <filesystem>

#include <fmt/format.h>

#include "base/threads.h"
#include "cli/share.h"
#include "compare/session_state.h"

namespace plumb::cli {
namespace {

struct MergeRequest {
  std::vector<std::string> paths, allowed;
  OutputOptions output;
  CommonOptions common;
};

void declare_merge_options(Options& options, MergeRequest& request) {
  options.arguments("PART.json", request.paths,
                    "what `plumb compare --shard K/N -o PART.json` wrote, for\neach K from 1 to N");
  options.group("judging");
  options.texts(
      "--allow", "WHAT", request.allowed,
      "'inconclusive' or 'missing' rows are no failure\n(default: as the parts were made)");
  options.suggest([] { return std::vector<std::string>{"inconclusive", "missing"}; });
  request.output.declare(options);
  request.common.declare(options);
}

Result<void> check_merge_request(const MergeRequest& request) {
  if (auto allowed = judge::allowance_from(request.allowed); !allowed) return allowed.error();
  if (auto checked = request.output.check(); !checked) return checked;
  std::vector<NamedPath> inputs;
  for (const std::string& path : request.paths) inputs.push_back({"PART.json", path});
  return check_outputs(request.output.paths(), inputs);
}

Result<std::vector<compare::Part>> open_parts(const std::vector<std::string>& paths) {
  std::vector<compare::Part> parts;
  for (const std::string& path : paths) {
    auto part = compare::Part::open(path);
    if (!part) return part.error();
    parts.push_back(std::move(*part));
  }
  if (auto checked = compare::check_parts(parts); !checked) return checked.error();
  return parts;
}

// The request of the command that made a part, to be answered where `merge` says.
Result<CompareRequest> request_of(const compare::Part& part, const MergeRequest& merge) {
  std::vector<std::string> words = part.head().command;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  const int count = static_cast<int>(words.size());
  CompareRequest request;
  Options options("compare", "", "");
  request.declare(options);
  const Error odd{"the command that made the part is not known here", part.path(),
                  "make the parts anew"};
  if (words.empty() || options.parse(count, pointers.data())) return odd;
  request.again = command_again(count, pointers.data(), kNotAgain);
  if (auto completed = request.complete(); !completed)
    return std::move(completed.error()).in(part.path());
  // A part asks for no file to be written: a plan is read if it is still there.
  request.view = {};
  std::error_code unknown;
  if (!std::filesystem::exists(request.plan_file, unknown)) request.plan_file.clear();
  request.output = merge.output;
  request.common = merge.common;
  if (!merge.allowed.empty()) request.allowed = merge.allowed;
  return request;
}

Result<Opened> open_again(const CompareRequest& request, const compare::Part& part,
                          RunContext& context) {
  auto opened = open_compare(request, context);
  if (!opened) {
    opened.error().remedy +=
        fmt::format("; the parts were made in {}: merge them there, where the dumps can be read",
                    part.head().directory);
    return opened;
  }
  const std::string why =
      difference(compare::identity_of(opened->session.state()), part.head().comparison);
  if (why.empty()) return opened;
  return Error{"the comparison is not what it was when the parts were made",
               fmt::format("{}: {}", part.path(), why), "make the parts anew"};
}

// The rows of all parts, each once.
Result<std::unique_ptr<compare::RowStore>> collect(const std::vector<compare::Part>& parts,
                                                   const Opened& opened,
                                                   const RunContext& context) {
  const SessionState& state = opened.session.state();
  // As the files are now, whatever a plan says of them: findings look at tensors once more.
  const std::vector<compare::Stamp> stamps =
      on_threads_of(context, [&] { return compare::stamps_of(state, compare::all_rows(state)); });
  auto rows = compare::RowStore::temporary(state, compare::digests_of(stamps));
  if (!rows) return rows;
  for (const compare::Part& part : parts)
    if (auto added = part.each([&](std::string_view line) { return (*rows)->add(line); }); !added)
      return added.error();
  if (auto written = (*rows)->finish_writing(); !written) return written.error();
  for (RowId id = 0; id < std::ssize(state.rows); ++id)
    if (state.rows[static_cast<size_t>(id)].reason.empty() && !(*rows)->has(id))
      return Error{"a row is in none of the parts",
                   fmt::format("row {} of {}: files changed while the parts were made", id,
                               state.rows.size()),
                   "make the parts anew"};
  return rows;
}

}  // namespace

int run_merge(int argc, char** argv, RunContext& context) {
  Options options("merge", "One result from the shares of a comparison that several machines made.",
                  "examples\n"
                  "  plumb merge part-*.json -o result.json\n"
                  "  plumb merge part-*.json -o result.html -o result.csv\n"
                  "exit status: as that of `plumb compare`; 2 if parts are missing, damaged or of\n"
                  "another comparison");
  MergeRequest merge;
  declare_merge_options(options, merge);
  if (auto status = options.parse(argc, argv)) return *status;
  merge.allowed = split_lists(merge.allowed);
  if (auto checked = check_merge_request(merge); !checked) return fail_with(checked.error());
  context.jobs = merge.common.jobs;
  const auto parts = open_parts(merge.paths);
  if (!parts) return fail_with(parts.error());
  const auto request = request_of(parts->front(), merge);
  if (!request) return fail_with(request.error());
  const auto opened = open_again(*request, parts->front(), context);
  if (!opened) return fail_with(opened.error());
  auto rows = collect(*parts, *opened, context);
  if (!rows) return fail_with(rows.error());
  auto run = compare::finish_stored(opened->session, **rows);
  if (!run) return fail_with(run.error());
  return finish_compare(*request, opened->session, *run, context);
}

}  // namespace plumb::cli
