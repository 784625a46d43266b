// SPDX-License-Identifier: Apache-2.0
//
// Mistakes in a configuration that cost accuracy and give no error. Each rule is one line of a
// table and one function; what a rule needs and does not have is said, never guessed.
#pragma once

#include <span>

#include "graph/graph.h"
#include "input/config.h"

namespace plumb::input {

enum class Severity : uint8_t { kInfo, kWarning, kError };
std::string_view name_of(Severity severity);  // "info", "warning", "error"

struct LintFinding {
  std::string_view rule;  // "L02"
  Severity severity = Severity::kWarning;
  std::string file;
  int line = 0;  // 0: none
  std::string what;
  std::string evidence;  // the numbers that prove it
  std::string fix;
};

struct NotChecked {
  std::string_view rule;
  std::string needs;
};

struct LintReport {
  std::vector<LintFinding> findings;
  std::vector<NotChecked> not_checked;

  size_t count(Severity severity) const;
};

// What a comparison is told to tolerate, and what the reference values are like.
struct Tolerance {
  std::optional<double> absolute, relative;
  struct Signal {
    std::string name;
    double largest = 0;  // magnitude
  };
  std::vector<Signal> golden;
  bool has_golden = false;
};

struct LintInput {
  const Config* config = nullptr;
  const graph::Graph* model = nullptr;  // the optimised one, if it is at hand
  const Config* other = nullptr;        // of the build, if this one is used to run
  const Tolerance* tolerance = nullptr;
};

struct LintRule {
  std::string_view id;
  Severity severity;
  std::string_view summary;
  void (*check)(const LintRule& rule, const LintInput& input, LintReport& report);
};
std::span<const LintRule> lint_rules();

// All rules, in the order of the table; findings of a rule in the order of the file.
LintReport lint(const LintInput& input);

// The same of files, in the user's words; what is not given is empty.
struct LintRequest {
  std::optional<std::string> config;  // none: only the tolerance is looked at
  std::string model, other;
  std::string atol, rtol, golden;
};
struct Linted {
  std::optional<Config> config;
  LintReport report;
};
Result<Linted> lint(const LintRequest& request);

std::string to_json(const Linted& linted);  // schema plumb.lint/1

// The largest magnitude of each tensor in a file or directory.
Result<std::vector<Tolerance::Signal>> read_signals(const std::string& path);

// In words: the numbers are known to be in the other channel order than the colours are. For
// commands that are about to feed a model.
std::optional<std::string> channel_doubt(const Preprocess& preprocess);
// ... or: the mean is on another scale than the values are, or pixels go into an input of floats as
// they are, and nobody said that they should.
std::optional<std::string> scale_doubt(const Preprocess& preprocess, const engine::Port& port);

}  // namespace plumb::input
