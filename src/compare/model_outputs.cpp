// SPDX-License-Identifier: Apache-2.0
#include "compare/model_outputs.h"

#include <algorithm>

#include <fmt/format.h>

#include "dump/dump.h"

namespace plumb::compare {
namespace {

std::string output_slot(int64_t index) { return fmt::format("output:{}", index); }

}  // namespace

ModelOutputs::ModelOutputs(const pair::Matcher& matcher, const graph::Graph* golden)
    : matcher_(matcher), golden_(golden != nullptr && golden->is_of_a_run() ? golden : nullptr) {
  if (golden_ != nullptr)
    for (const graph::Edge& edge : golden_->outputs) golden_outputs_.insert(edge.producer);
}

// Outputs are compared where they are made or where they are read.
void ModelOutputs::see(const result::Row& row) {
  if (row.verdict == result::Verdict::kNotCompared) return;
  if (row.golden && golden_outputs_.contains(row.golden->operator_name))
    golden_compared_.emplace(row.golden->operator_name, row.golden->slot);
  if (!row.target) return;
  const graph::Operator* op = matcher_.find(row.target->operator_name);
  const auto slot = dump::slot_from_text(row.target->slot);
  if (op == nullptr || !slot || !slot->path.empty()) return;
  if (slot->kind == dump::SlotKind::kOutput) compared_.emplace(op->name, slot->index);
  if (slot->kind != dump::SlotKind::kInput || slot->index < 0 ||
      slot->index >= std::ssize(op->inputs))
    return;
  const graph::Edge& edge = op->inputs[static_cast<size_t>(slot->index)];
  compared_.emplace(edge.producer, edge.output);
}

// Where an output of the model may be seen: what only changes how values are stored need not be
// dumped itself. The output first, then what it was made from.
std::vector<graph::Edge> ModelOutputs::places_of(const graph::Edge& output) const {
  std::vector<graph::Edge> places{output};
  if (matcher_.target().is_of_a_run()) return places;  // its casts are the model's own
  // Counted, because a damaged graph may lead in a circle.
  for (size_t left = matcher_.target().operators.size(); left > 0; --left) {
    const graph::Operator* op = matcher_.find(places.back().producer);
    if (op == nullptr || !pair::keeps_values(op->type) || op->inputs.empty()) break;
    places.push_back(op->inputs.front());
  }
  return places;
}

bool ModelOutputs::is_compared(const graph::Edge& edge) const {
  return compared_.contains({edge.producer, edge.output});
}

std::vector<std::string> ModelOutputs::not_compared(const AsksFor& asks_for) const {
  const auto is_wanted = [&](const graph::Edge& edge) {
    return !asks_for || asks_for(edge.producer, output_slot(edge.output));
  };
  std::vector<std::string> missing;
  // What ran the model to dump it gives out whatever the model does.
  const bool is_complete = matcher_.target().is_of_a_run();
  for (const graph::Edge& edge : matcher_.target().outputs) {
    const std::vector<graph::Edge> places = places_of(edge);
    const graph::Operator* source = matcher_.find(places.back().producer);
    const bool is_shown = std::any_of(places.begin(), places.end(),
                                      [&](const graph::Edge& place) { return is_compared(place); });
    if (!is_shown && std::any_of(places.begin(), places.end(), is_wanted) &&
        (is_complete || source == nullptr || !pair::is_never_dumped(*source)))
      missing.push_back(edge.producer);
  }
  if (golden_ == nullptr) return missing;
  for (const graph::Edge& edge : golden_->outputs)
    if (!golden_compared_.contains({edge.producer, output_slot(edge.output)}) && is_wanted(edge))
      missing.push_back(edge.producer);
  return missing;
}

void ModelOutputs::mark(result::Row& row) {
  if (!row.target) return;
  if (!shown_) {
    shown_.emplace();
    for (const graph::Edge& edge : matcher_.target().outputs) {
      const std::vector<graph::Edge> places = places_of(edge);
      const auto seen = std::find_if(places.begin(), places.end(),
                                     [&](const graph::Edge& place) { return is_compared(place); });
      const graph::Edge& place = seen == places.end() ? edge : *seen;
      shown_->emplace(matcher_.find(place.producer), output_slot(place.output));
    }
  }
  const graph::Operator* op = matcher_.find(row.target->operator_name);
  row.is_model_output = op != nullptr && shown_->contains({op, row.target->slot});
}

bool ModelOutputs::is_inner(const result::Row& row) const {
  return row.target && !row.is_model_output && !matcher_.target().outputs.empty() &&
         matcher_.find(row.target->operator_name) != nullptr;
}

}  // namespace plumb::compare
