// SPDX-License-Identifier: Apache-2.0
//
// What was not compared: nobody behind it is blamed for what may have been made there.
#include "diagnose/stretch.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/explain.h"
#include "diagnose/made_errors.h"
#include "diagnose/made_network.h"

namespace plumb::diagnose {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> found;
  std::istringstream text(list);
  for (std::string word; std::getline(text, word, ',');) found.push_back(word);
  return found;
}

// What findings name: an operator each, or several of which it is one.
std::vector<std::vector<std::string>> named(result::Run& run) {
  explain(run, Tensors(nullptr), RunContext{});
  std::vector<std::vector<std::string>> names;
  for (const result::Finding& finding : run.findings) {
    if (!finding.operator_name.empty()) names.push_back({finding.operator_name});
    if (finding.detail.starts_with("among:")) names.push_back(words(finding.detail.substr(6)));
  }
  return names;
}

std::vector<Op> chain(const std::vector<Lost>& lost, size_t culprit) {
  std::vector<Op> operators{{"x", {}, 0, "Data"}};
  for (size_t i = 0; i < lost.size(); ++i)
    operators.push_back({"op" + std::to_string(i),
                         {operators.back().name},
                         i >= culprit ? 0.2 : 1e-7,
                         "Conv",
                         lost[i]});
  return operators;
}

TEST(Stretch, IsNamedFromTheLastThatWasCompared) {
  using enum Lost;
  for (const Lost why : {kGolden, kTarget, kFiltered})
    for (const bool has_graph : {true, false}) {
      SCOPED_TRACE(static_cast<int>(why) * 2 + has_graph);
      result::Run run = run_of(chain({kNot, why, why, kNot, kNot}, 1), has_graph);
      EXPECT_THAT(named(run), ElementsAre(ElementsAre("op1", "op2", "op3")));
    }
}

TEST(Stretch, WhoReadsWhatWasComparedIsNamed) {
  using enum Lost;
  result::Run run = run_of(chain({kGolden, kNot, kNot, kGolden, kNot}, 2));
  EXPECT_THAT(named(run), ElementsAre(ElementsAre("op2")));
}

// Both readers show it, so it is rather what both read.
TEST(Stretch, WhatTwoReadersHaveInCommon) {
  result::Run run = run_of({{"x", {}, 0, "Data"},
                            {"a", {"x"}, 0.2, "Conv", Lost::kGolden},
                            {"b", {"a"}, 0.2},
                            {"c", {"a"}, 0.2}});
  EXPECT_THAT(named(run), ElementsAre(ElementsAre("a")));
}

// What is lost of the producer may be there as what the reader read.
TEST(Stretch, AReaderShowsWhatItsProducerGave) {
  result::Run run = run_of(chain({Lost::kTarget, Lost::kNot, Lost::kNot}, 0));
  result::Row read = row_of({"op1", {}, 0.2}, 2, "float32");
  read.target->slot = read.golden->slot = "input:0";
  read.target->shape = read.golden->shape = Shape{8};
  run.rows.push_back(read);
  EXPECT_THAT(named(run), ElementsAre(ElementsAre("op0")));
}

// Operators that were replayed tell for themselves.
TEST(Stretch, AMeasuredErrorNeedsNoInputs) {
  using enum Lost;
  result::Run run = run_of(chain({kNot, kGolden, kNot, kNot, kNot, kNot}, 2));
  for (const size_t row : {1U, 3U, 4U, 5U, 6U})
    run.rows[row].own_error = {row == 3 ? 0.2 : 1e-7, 0, true};
  EXPECT_THAT(named(run), ElementsAre(ElementsAre("op2")));
}

// Any network, any culprit, any operators that were not compared: a culprit that shows is named, or
// is among those that are, and nobody else is.
class StretchFamily : public testing::TestWithParam<int> {};

TEST_P(StretchFamily, NoInnocentIsNamed) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto below = [&](size_t n) { return random() % n; };
  const size_t count = 4 + below(30);
  const bool has_graph = GetParam() % 3 != 0;
  std::vector<Op> operators{{"x", {}, 0, "Data"}};
  const size_t culprit = 1 + below(count);
  const size_t share = 1 + below(9);
  for (size_t i = 1; i <= count; ++i) {
    Op op{"op" + std::to_string(i), {operators[i - 1].name}, 1e-7};
    if (has_graph && below(3) == 0) op.reads.push_back(operators[below(i)].name);
    if (has_graph && below(4) == 0) op.reads[0] = operators[below(i)].name;
    for (const Op& other : operators)
      if (std::find(op.reads.begin(), op.reads.end(), other.name) != op.reads.end())
        op.error = std::max(op.error, other.error * (0.8 + 0.05 * static_cast<double>(below(9))));
    if (i == culprit) op.error = std::hypot(op.error, 0.2);
    operators.push_back(op);
  }
  for (size_t i = 1; i < count; ++i)
    if (below(10) < share) operators[i].lost = static_cast<Lost>(1 + below(3));
  const bool shows = std::any_of(operators.begin(), operators.end(), [](const Op& op) {
    return op.lost == Lost::kNot && op.error > 0.01;
  });
  result::Run run = run_of(operators, has_graph);
  const auto names = named(run);
  EXPECT_EQ(shows, !names.empty());
  for (const auto& each : names)
    EXPECT_THAT(each, testing::Contains(operators[culprit].name)) << "of " << count;
}

INSTANTIATE_TEST_SUITE_P(Random, StretchFamily, testing::Range(0, 300));

struct Explained {
  result::Run run;
  explicit Explained(MadeNetwork& made, Invocation invocation = {}) {
    auto [session, compared] = made.compared();
    explain(compared, Tensors(&session), RunContext{}, {nullptr, std::move(invocation)});
    run = std::move(compared);
  }
};

// Tensors at hand: what a rule sees in the values stays, that somebody's inputs agree does not.
TEST(Stretch, TensorsTellTheCauseNotTheOperator) {
  MadeNetwork made;
  made.add("data", "Data", "", made_numbers(1));
  made.add("conv", "Conv2D", "data", made_numbers(2));
  made.add("pool", "Pooling", "conv", made_numbers(3));
  made.add("fc", "MatMul", "pool", made_numbers(4));
  made.operators[1].is_lost = true;
  for (const bool is_clear : {false, true}) {
    for (size_t i = 0; i < kMadeElements; ++i)
      made.operators[2].target[i] = is_clear
                                        ? std::clamp(made.operators[2].golden[i], -0.5F, 0.5F)
                                        : made.operators[2].golden[i] + (i % 3 == 0 ? 0.7F : 0);
    const result::Run run = Explained(made).run;
    ASSERT_FALSE(run.findings.empty());
    const result::Finding& finding = run.findings.front();
    EXPECT_EQ(finding.operator_name, "");
    EXPECT_EQ(finding.detail, "among:conv,pool");
    EXPECT_EQ(finding.cause, is_clear ? "saturation" : "unknown");
    EXPECT_THAT(finding.advice, HasSubstr("Dump conv on golden's side"));
    for (const result::Evidence& evidence : finding.evidence)
      EXPECT_THAT(evidence.text, Not(HasSubstr("inputs")));
  }
}

}  // namespace
}  // namespace plumb::diagnose
