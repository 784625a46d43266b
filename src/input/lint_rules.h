// SPDX-License-Identifier: Apache-2.0
//
// The rules of lint, each a function of its own, and what they share. A rule adds what it finds to
// the report, and says what it would have needed.
#pragma once

#include "input/lint.h"

namespace plumb::input {

void check_lengths(const LintRule& rule, const LintInput& input, LintReport& report);
void check_order(const LintRule& rule, const LintInput& input, LintReport& report);
void check_std_slip(const LintRule& rule, const LintInput& input, LintReport& report);
void check_scale(const LintRule& rule, const LintInput& input, LintReport& report);
void check_affine(const LintRule& rule, const LintInput& input, LintReport& report);
void check_no_swap(const LintRule& rule, const LintInput& input, LintReport& report);
void check_embedded(const LintRule& rule, const LintInput& input, LintReport& report);
void check_calibration(const LintRule& rule, const LintInput& input, LintReport& report);
void check_layers_exist(const LintRule& rule, const LintInput& input, LintReport& report);
void check_float_layers(const LintRule& rule, const LintInput& input, LintReport& report);
void check_standard(const LintRule& rule, const LintInput& input, LintReport& report);
void check_same(const LintRule& rule, const LintInput& input, LintReport& report);
void check_float_model(const LintRule& rule, const LintInput& input, LintReport& report);
void check_tolerance(const LintRule& rule, const LintInput& input, LintReport& report);
void check_fields(const LintRule& rule, const LintInput& input, LintReport& report);
void check_strategy(const LintRule& rule, const LintInput& input, LintReport& report);

void add(LintReport& report, const LintRule& rule, const Config& config, int line, std::string what,
         std::string evidence, std::string fix);

std::string list_text(const std::vector<double>& numbers);  // "0.485, 0.456, 0.406"

// "input 'data': ", if there is a name to tell inputs apart by.
std::string of_input(const std::string& name);

// What the model itself says about its inputs; none if it is not at hand.
struct ModelInput {
  std::string name;
  std::optional<DType> dtype;
  Shape shape;
};
std::vector<ModelInput> inputs_of(const graph::Graph* model);

}  // namespace plumb::input
