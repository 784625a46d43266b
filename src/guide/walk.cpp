// SPDX-License-Identifier: Apache-2.0
#include "guide/walk.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace plumb::guide {
namespace {

constexpr size_t kMostSteps = 64;  // no path is as long

Error missing(const Question& question, const Step& step) {
  return {fmt::format("an answer is missing: {}", question.text),
          fmt::format("key '{}', step {}", question.key, step.id),
          fmt::format(
              "add {} = \"...\" ({}, or \"unknown\") to the answers file, or answer it with "
              "--ask{}{}",
              question.key, kind_text(question), question.how.empty() ? "" : "; ", question.how)};
}

// Something has to be there.
Result<void> check_path(const Question& question, const std::string& path) {
  std::error_code ignored;
  if (path.empty() || question.kind != AnswerKind::kPath || std::filesystem::exists(path, ignored))
    return {};
  return Error{"there is no such file or directory", fmt::format("{} = \"{}\"", question.key, path),
               question.how.empty() ? "give its path, or unknown" : std::string(question.how)};
}

std::string failure_text(const Error& error) {
  return fmt::format("{}{}{}{}{}", error.what, error.where.empty() ? "" : ": ", error.where,
                     error.remedy.empty() ? "" : "; ", error.remedy);
}

// Answers the question, if what that takes is there; else it is a question as before.
void measure(Walk& walk, const Asked& asked, const Leader& leader, RunContext& context) {
  if (asked.measure == nullptr || !walk.answers.known(asked.key).empty() ||
      std::find(walk.failed.begin(), walk.failed.end(), asked.measure) != walk.failed.end())
    return;
  if (auto done = asked.measure(walk, context); !done) {
    walk.failed.push_back(asked.measure);
    walk.failures.push_back(failure_text(done.error()));
    if (leader.fail) leader.fail(walk.failures.back());
  }
  if (leader.answered && !walk.answers.known(asked.key).empty()) leader.answered(walk.answers);
}

// What a failure leaves open leads to questions that nobody expected: they count as unknown.
bool has_failures(const Walk& walk) {
  return !walk.failures.empty() ||
         std::any_of(walk.path.begin(), walk.path.end(),
                     [](const Taken& taken) { return !taken.failures.empty(); });
}

// Asks until there is an answer.
Result<void> ask(Walk& walk, const Asked& asked, const Step& step, const Leader& leader,
                 RunContext& context) {
  const Question& question = *question_by_key(asked.key);
  measure(walk, asked, leader, context);
  if (walk.answers.has(asked.key)) {
    auto there = check_path(question, walk.answers.known(asked.key));
    if (there || !leader.ask) return there;
  } else if (!leader.ask) {
    if (asked.is_extra || has_failures(walk)) return {};
    return missing(question, step);
  }
  std::string complaint;
  while (true) {
    const auto text = leader.ask(question, asked.is_extra, complaint);
    if (!text || context.cancelled) return missing(question, step);
    Answers tried = walk.answers;
    auto set = tried.set(question, *text);
    if (set) set = check_path(question, tried.known(asked.key));
    if (set) {
      walk.answers = std::move(tried);
      if (leader.answered) leader.answered(walk.answers);
      return {};
    }
    complaint = set.error().what + "; " + set.error().remedy;
  }
}

const Branch* branch_of(const Step& step, std::string_view outcome) {
  for (const Branch& branch : step.next)
    if (branch.outcome == outcome) return &branch;
  return nullptr;
}

// Nothing was found, and nothing was settled either: not at this step, nor where something failed.
result::Finding not_known(const Walk& walk, const Taken& last) {
  result::Finding finding;
  finding.rule = finding.cause = "unknown";
  finding.confidence = 0.3;
  finding.evidence.push_back({last.outcome.text, std::nullopt, "", std::nullopt});
  std::set<std::string_view> told{last.outcome.text};
  for (const Taken& taken : walk.path)
    for (const std::string& failure : taken.failures)
      if (told.insert(failure).second)
        finding.evidence.push_back({"failed: " + failure, std::nullopt, "", std::nullopt});
  for (const Asked& asked : last.step->asks) {
    const Question& question = *question_by_key(asked.key);
    if (!asked.is_extra && !question.how.empty())
      finding.advice +=
          fmt::format("{}{}: {}.", finding.advice.empty() ? "" : " ", question.text, question.how);
  }
  if (finding.advice.empty()) finding.advice = "Collect what this step asks for, then go on.";
  return finding;
}

// It opens no file, so that what it stumbles over is an answer that does not fit the others.
bool judges_answers_alone(const Step& step) {
  return !step.asks.empty() &&
         std::none_of(step.asks.begin(), step.asks.end(), [](const Asked& asked) {
           return question_by_key(asked.key)->kind == AnswerKind::kPath;
         });
}

// The step that settled nothing: the last one, or one before it where something failed.
const Taken* open_step(const Walk& walk) {
  if (walk.path.back().outcome.word == "unknown") return &walk.path.back();
  const auto failed = std::find_if(walk.path.rbegin(), walk.path.rend(),
                                   [](const Taken& taken) { return !taken.failures.empty(); });
  return failed == walk.path.rend() ? nullptr : &*failed;
}

}  // namespace

void Walk::find(result::Finding finding) {
  findings.push_back({std::string(now->id), std::move(finding)});
}

void Walk::adopt(const result::Run& run) {
  for (const result::Finding& finding : run.findings) find(finding);
}

Result<void> take(Walk& walk, const Leader& leader, RunContext& context) {
  const Step* step = &steps().front();
  while (walk.path.size() < kMostSteps) {
    walk.now = step;
    if (leader.enter) leader.enter(*step);
    for (const Asked& asked : step->asks)
      if (auto done = ask(walk, asked, *step, leader, context); !done) return done;
    const size_t before = walk.compared.size();
    auto outcome = step->test(walk, context);
    if (context.cancelled) return Error{"interrupted", std::string(step->id), "go on later"};
    if (!outcome && judges_answers_alone(*step))
      return std::move(outcome.error()).in(fmt::format("step {}", step->id));
    if (!outcome) {
      walk.failures.push_back(failure_text(outcome.error()));
      outcome = Outcome{"unknown", walk.failures.back()};
    }
    Taken taken{step, std::move(*outcome), {}, std::exchange(walk.failures, {})};
    for (size_t i = before; i < walk.compared.size(); ++i)
      taken.compared.push_back(walk.compared[i].step);
    walk.path.push_back(std::move(taken));
    if (leader.leave) leader.leave(walk.path.back());
    const Branch* branch = branch_of(*step, walk.path.back().outcome.word);
    if (branch == nullptr) break;
    step = step_by_id(branch->next);
  }
  if (const Taken* open = open_step(walk); open != nullptr && walk.findings.empty()) {
    walk.now = open->step;
    walk.find(not_known(walk, *open));
  }
  std::stable_sort(walk.findings.begin(), walk.findings.end(),
                   [](const GuideFinding& a, const GuideFinding& b) {
                     return a.finding.confidence > b.finding.confidence;
                   });
  return {};
}

}  // namespace plumb::guide
