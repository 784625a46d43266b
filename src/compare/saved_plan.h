// SPDX-License-Identifier: Apache-2.0
//
// The plan of a comparison in a file: what listing both dumps found, and what the files of each row
// were. Whoever makes the same comparison opens its session with it and need not list them again;
// pairs are made anew from the same listing and come out the same. Bytes of a plan are checked like
// any file: they may have been sent by another process.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compare/identity.h"

namespace plumb::compare {

struct SavedPlan {
  Identity comparison;
  std::shared_ptr<const dump::DumpSet> target, golden;
  std::vector<Stamp> stamps;  // of each row
};

// `stamps`: of each row of the plan.
std::string plan_text(const SessionState& state, std::span<const Stamp> stamps);

// From such a text; `is_trusted`: directories are not looked at, somebody else just did.
Result<SavedPlan> plan_from_text(std::string_view text, const io::ReadHints& hints,
                                 bool is_trusted);
Result<SavedPlan> load_plan(const std::filesystem::path& path, const io::ReadHints& hints);

// That the plan is of this comparison, and its rows are those of the session's plan.
Result<void> check_plan(const SavedPlan& plan, const SessionState& state);

// That the files of these rows are still what the plan says.
Result<void> check_files(const SessionState& state, std::span<const Stamp> planned,
                         std::span<const RowId> rows);

}  // namespace plumb::compare
