// SPDX-License-Identifier: Apache-2.0
//
// Shrinks the model of a file while a command fails on it, and makes the small model again from the
// record of that. In steps, so that whoever drives them can tell what is odd before the search:
// open the subject and the check, ask the check about the model itself, learn its types, search.
#pragma once

#include <chrono>

#include "replay/check_command.h"
#include "replay/shrink_subject.h"

namespace plumb::replay {

// What the check says about the model itself; without an answer if the run was cancelled.
struct OriginalCheck {
  std::string warning;          // it fails, but did not at first
  std::optional<Error> unsure;  // it does not give the same answer each time
};
// A search for a fault needs a fault: an error if there is none, or the check cannot tell.
Result<OriginalCheck> check_original(const Subject& subject, CheckCommand& command,
                                     const RunContext& context);

struct ShrinkBudget {
  std::optional<int64_t> checks;
  std::optional<std::chrono::seconds> time;
};

struct ShrinkJob {
  std::filesystem::path out;           // the small model; at any time the best so far
  std::filesystem::path record;        // how it was made
  std::vector<std::string> arguments;  // kept in the record
  ShrinkBudget budget;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();  // of its time
  std::function<void(size_t nodes)> improved;  // there are fewer than ever. May be empty
};

enum class Minimal : uint8_t {
  kYes,           // without any one of its nodes the check does not fail
  kButConstants,  // ... Constants aside
  kInterrupted,   // nobody knows, for this reason
  kUnsure,        // the check does not give the same answer each time
  kOutOfBudget,
  kUntried,  // types of inner tensors are not known
};

struct SmallModel {
  graph::OnnxModel model;  // borrows from the subject
  FileMark mark;
  Minimal minimal = Minimal::kYes;
  bool has_failed_always = false;  // no candidate passed: the check may have nothing to do with it
  std::optional<Error> unsure;     // it failed once, but not again
};
// Writes the small model and the record. The subject itself must fail.
Result<SmallModel> shrink_file(const Subject& subject, CheckCommand& command, const ShrinkJob& job,
                               const RunContext& context);

struct RemadeModel {
  graph::OnnxModel model;  // borrows from the subject
  std::string onnx;        // the same as a file
  FileMark mark;
  bool is_same = true;  // bit for bit the recorded one
};
// The small model again, from the original and the record. Checks nothing.
Result<RemadeModel> remake(Subject& subject, const ShrinkRecord& record,
                           const LearnOptions& options, const std::filesystem::path& out,
                           Remarks& remarks);

}  // namespace plumb::replay
