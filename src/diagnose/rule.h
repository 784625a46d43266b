// SPDX-License-Identifier: Apache-2.0
//
// The one interface every rule implements: an operator that introduced an error in, a finding out,
// if the rule explains it. Rules are asked in the order of their table (rules.cpp), the most
// specific first. Thresholds are data: `plumb rules` prints them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "diagnose/commands.h"
#include "diagnose/levels.h"
#include "diagnose/model_differences.h"
#include "diagnose/negative_slope.h"
#include "diagnose/roots.h"
#include "diagnose/tensors.h"
#include "diagnose/transforms.h"

namespace plumb::diagnose {

// What is known of a run, for all rules.
struct Case {
  const result::Run& run;
  const Net& net;
  const Roots& roots;
  Tensors& tensors;
  const Commands& commands;
  const ModelDifferences* models = nullptr;  // null: the models are not at hand
  bool is_on_grids = false;                  // most outputs of the target are quantized values
};

// An operator that introduced an error. What is not at hand is null.
struct Suspect {
  const Case& of;
  const Root& root;
  const Node& node;
  // Who is named: itself, whom it only quantizes for, or what stands before it in the target alone.
  std::string_view accused;
  size_t row = 0;    // its worst output
  double noise = 0;  // relative error that is normal there
  std::shared_ptr<const compare::PairValues> values;
  std::optional<Levels> levels;                       // of the target's values
  std::optional<Transform> transform;                 // what turns golden into the target
  std::optional<NegativeSlope> slope;                 // of its activation, if that differs
  std::vector<const graph::Difference*> differences;  // of the models, at this operator

  const result::Row& its_row() const { return of.run.rows[row]; }
  double value(std::string_view metric) const;  // of its row; kUnknown if undefined
};

struct Threshold {
  std::string_view name;
  double value;
  std::string_view meaning;
};

struct Rule {
  std::string_view name;
  std::string_view cause;  // a word of docs/diagnosis.md
  std::string_view summary;
  std::span<const Threshold> thresholds;
  std::optional<result::Finding> (*explain)(const Suspect& suspect);
};
std::span<const Rule> rules();

// For rules: a finding about a suspect, with the step that made it one as its first evidence.
result::Finding finding_about(const Suspect& suspect, double confidence);
// A number of the suspect's row as evidence.
result::Evidence evidence_of(const Suspect& suspect, std::string text, std::string_view metric,
                             double value);
// What turns golden into the target, if that is known: as detail and evidence.
void add_transform(const Suspect& suspect, result::Finding& finding);
// How the models differ at the suspect, as evidence.
void add_differences(const Suspect& suspect, result::Finding& finding);
// What its activation does otherwise, if that is known: likewise.
void add_slope(const Suspect& suspect, result::Finding& finding);
// Numbers as people read them: three or four digits.
std::string short_text(double value);
std::string percent_text(double share);  // "3.1 %"
// What lets somebody look at an operator alone: replays it, or without a model shows its tensors.
std::string look_command(const Suspect& suspect);
// ... or, where a converter made the target, writes what it needs to leave the operator as it was.
std::string convert_command(const Suspect& suspect);
// How sure a step makes us that the operator itself is to blame.
double confidence_of(const Root& root);

}  // namespace plumb::diagnose
