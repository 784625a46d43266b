// SPDX-License-Identifier: Apache-2.0
//
// Finds the cheapest mixed precision that reaches a target: first ways to find ranges are tried,
// with weights by tensor and by channel, then the first and the last layer are widened, then layers
// in the order of what they lose for what they cost. Every step is measured on the whole model,
// since the loss does not fall with every layer that is widened. What was measured is kept in a
// journal: a search that was interrupted goes on where it stopped.
#pragma once

#include <filesystem>

#include "quant/quantize.h"
#include "quant/sensitivity.h"

namespace plumb::quant {

struct Target {
  enum class Kind : uint8_t { kSqnr, kCosine, kAgreement, kDrop } kind = Kind::kSqnr;
  double limit = 30;

  double of(const Score& score) const;  // the larger, the better: of a drop what is left of it
  bool is_met(const Score& score) const;
};
// "sqnr:30", "cos:0.99", "agree:0.98", "drop:1" (points of top-1, of samples with labels).
Result<Target> target_from_text(const std::string& text);
std::string text_of(const Target& target);

struct TuneOptions {
  QuantizeOptions quantize;  // the start: settings, samples of calibration, directory
  input::SampleOptions data;
  Target target;
  std::vector<Precision> precisions;   // narrowest first
  std::string labels, classes;         // of the data, for a drop: see input/labels.h
  std::vector<Observer> methods;       // tried first; empty: that of the settings
  bool tries_both = false;             // weights by tensor and by channel, else as the settings say
  std::optional<int64_t> most_layers;  // that may be wider than the first precision
  std::optional<double> most_cost;     // of the model, relative to all layers in the first
  int engines = 1;
  bool is_fresh = false;  // a journal that is there is not used
};

struct Step {
  std::string change;  // "minmax", "conv1: a16w8"
  Score score;
  double cost = 1;         // relative to all layers in the first precision
  double weight_bits = 8;  // mean over all weights
  bool is_best = false;    // so far, or what the search ended with
};

struct Tuned {
  std::vector<Step> steps;
  size_t best = 0;  // place in `steps`
  bool is_reached = false;
  Observer method;
  bool per_channel = true;
  std::vector<Precision> precisions;     // by layer
  int64_t measured = 0, remembered = 0;  // trials that were run, and that the journal had
};

// The search alone; writes journal.jsonl into the directory. Progress counts trials.
Result<Tuned> tune(const Lab& lab, input::Samples& calibration, input::Samples& data,
                   const TuneOptions& options, RunContext& context);
// trials.csv, mixed.json, and what to write into the configurations of other tools.
Result<void> write_tuned(const Tuned& tuned, const Lab& lab, const TuneOptions& options);

}  // namespace plumb::quant
