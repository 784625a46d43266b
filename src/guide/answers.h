// SPDX-License-Identifier: Apache-2.0
//
// What the troubleshooting paths can ask for, and what was answered. An answers file is TOML, one
// line for each answer: `topn_float = "76.1%"`. "unknown" is an answer, too: what it would tell is
// then not known.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "plumb/result.h"

namespace plumb::guide {

enum class AnswerKind : uint8_t { kChoice, kYesNo, kPath, kShare, kCount };

struct Question {
  std::string_view key;  // in an answers file
  AnswerKind kind;
  std::string_view text;          // what is asked
  std::string_view how = {};      // how to get it, if it is not at hand
  std::string_view choices = {};  // of kChoice: "version|processor|fusion"
};

std::span<const Question> questions();
const Question* question_by_key(std::string_view key);
std::string kind_text(
    const Question& question);  // "a path", "yes or no", "version, processor or fusion"

inline constexpr std::string_view kUnknownAnswer = "unknown";

class Answers {
 public:
  // In the form it is kept in; an error says what an answer looks like. Of paths only that they
  // are not empty: whether something is there is asked when it is needed.
  Result<void> set(const Question& question, std::string_view text);

  bool has(std::string_view key) const;           // answered, if only by "unknown"
  std::string known(std::string_view key) const;  // empty: not answered, or unknown
  const std::map<std::string, std::string, std::less<>>& all() const { return answers_; }

 private:
  std::map<std::string, std::string, std::less<>> answers_;  // by key
};

// Errors say the line, or the key.
Result<Answers> answers_from_toml(std::string_view text);
Result<Answers> load_answers(const std::filesystem::path& file);
std::string to_toml(const Answers& answers);  // with the questions as comments

}  // namespace plumb::guide
