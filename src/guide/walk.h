// SPDX-License-Identifier: Apache-2.0
//
// The troubleshooting paths as data: a step has a reason, what it asks for, a test, and by the
// outcome of that the next step. The walker knows nothing of models: it asks, tests, goes on, and
// keeps the path.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/temporary_directory.h"
#include "guide/answers.h"
#include "plumb/session.h"

namespace plumb::guide {

struct Walk;

struct Outcome {
  std::string word;  // "agree", "differ", ...; "unknown": what it would take is not at hand
  std::string text;  // with the numbers that decided
};

using Measure = Result<void> (*)(Walk& walk, RunContext& context);

struct Asked {
  std::string_view key;
  // Helps where it is at hand, and is not missed elsewhere: no error if nobody answers it.
  bool is_extra = false;
  // Answers it, and perhaps others, where what it takes was answered before; null: only a person
  // can tell.
  Measure measure = nullptr;
};

struct Branch {
  std::string_view outcome;
  std::string_view next;  // id of a step
};

struct Step {
  std::string_view id;      // "quantized.topn"
  std::string_view title;   // what it finds out
  std::string_view reason;  // why that comes now
  std::vector<Asked> asks;
  Result<Outcome> (*test)(Walk& walk, RunContext& context);
  std::vector<Branch> next;  // an outcome that is not there ends the path
};
// Of all paths; the first one tells them apart.
std::span<const Step> steps();
const Step* step_by_id(std::string_view id);

// A comparison that a step made.
struct Compared {
  std::string step;
  result::Run run;
  std::shared_ptr<Session> session;  // null: models were run
  std::string kept;                  // where the tensors of such a run are; empty: nowhere
};

// A step of the path taken.
struct Taken {
  const Step* step = nullptr;
  Outcome outcome;
  std::vector<std::string> compared;  // names of comparisons that it made
  std::vector<std::string> failures;  // what could not be measured, and why
};

struct GuideFinding {
  std::string step;
  result::Finding finding;
};

struct Walk {
  Answers answers;
  std::vector<Taken> path;
  std::deque<Compared> compared;
  std::vector<GuideFinding> findings;  // most probable first, once the walk is over
  // Where tensors of models are kept that are run on the way; null: nowhere.
  std::shared_ptr<TemporaryDirectory> scratch;

  // What speaks against the calibration set, where it was measured.
  std::vector<result::Evidence> seen_of_calibration;

  const Step* now = nullptr;          // the step being taken
  std::vector<std::string> failures;  // of this step
  std::vector<Measure> failed;        // are not tried again
  Compared* latest() { return compared.empty() ? nullptr : &compared.back(); }
  void find(result::Finding finding);  // at this step
  void adopt(const result::Run& run);  // all that a comparison found
};

// Whoever leads. Every function may be empty.
struct Leader {
  std::function<void(const Step& step)> enter;
  // The answer as typed; nullopt: there is no more to be had. `complaint`: why the last one will
  // not do.
  std::function<std::optional<std::string>(const Question& question, bool is_extra,
                                           std::string_view complaint)>
      ask;
  std::function<void(const Answers& answers)> answered;
  std::function<void(const std::string& failure)> fail;  // something could not be measured
  std::function<void(const Taken& taken)> leave;
};

// From the first step to the last. What cannot be measured or compared is noted, and the walk goes
// on without it. An error: an answer that is missing (a question and its key) or contradicts
// another one, or an interruption.
// What was answered and found until then is in `walk`.
Result<void> take(Walk& walk, const Leader& leader, RunContext& context);

}  // namespace plumb::guide
