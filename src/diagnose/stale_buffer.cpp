// SPDX-License-Identifier: Apache-2.0
//
// The output holds what another operator gave out: its buffer was not written, or written over.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

constexpr std::string_view kSame[] = {"target_min", "target_max", "target_mean", "target_l2",
                                      "target_zeros"};

int64_t elements_of(const result::Row& row) {
  int64_t count = 1;
  for (const int64_t length : row.target->shape.value_or(Shape{-1})) count *= length;
  return count;
}

// The same numbers, as far as the row keeps them; a constant tensor has no numbers of its own.
bool looks_the_same(const result::Run& run, const result::Row& a, const result::Row& b) {
  if (elements_of(a) != elements_of(b)) return false;
  for (const std::string_view metric : kSame) {
    const metrics::Value x = run.value(a, metric), y = run.value(b, metric);
    if (!x.is_defined() || !y.is_defined() || x.number() != y.number()) return false;
  }
  return run.value(a, "target_min").number() != run.value(a, "target_max").number();
}

bool golden_differs(const result::Run& run, const result::Row& a, const result::Row& b) {
  for (const std::string_view metric : {"golden_min", "golden_max", "golden_mean", "golden_l2"}) {
    const metrics::Value x = run.value(a, metric), y = run.value(b, metric);
    if (x.is_defined() && y.is_defined() && x.number() != y.number()) return true;
  }
  return false;
}

// The row by which another operator's output is known, if the suspect holds that output.
std::optional<size_t> row_of_same(const Suspect& suspect, const Node& other) {
  const result::Run& run = suspect.of.run;
  const result::Row& own = suspect.its_row();
  const std::vector<RowFacts>& facts = suspect.of.net.rows;
  const auto could_be = [&](size_t place) {
    return facts[place].scope == facts[suspect.row].scope &&
           golden_differs(run, own, run.rows[place]);
  };
  if (other.stands_for)  // what it gives out is in no row that was compared
    return suspect.values != nullptr && could_be(*other.stands_for) &&
                   elements_of(own) == elements_of(run.rows[*other.stands_for]) &&
                   suspect.of.tensors.equals(*suspect.values, *other.inserted)
               ? other.stands_for
               : std::nullopt;
  for (const size_t place : other.outputs)
    if (could_be(place) && looks_the_same(run, own, run.rows[place]) &&
        (suspect.values == nullptr || suspect.of.tensors.equals(*suspect.values, place)))
      return place;
  return {};
}

}  // namespace

std::optional<result::Finding> explain_stale(const Suspect& suspect) {
  if (suspect.slope) return {};  // what it reads is handed on, which is another fault
  for (const Node& other : suspect.of.net.nodes) {
    if (&other == &suspect.node) continue;
    // The other one is right, or nearer: else that one is stale.
    if (!(2 * other.out.relative < suspect.root.out)) continue;
    const auto place = row_of_same(suspect, other);
    if (!place) continue;
    result::Finding finding = finding_about(suspect, suspect.values != nullptr ? 0.97 : 0.85);
    finding.detail = fmt::format("stale:{}", other.name);
    finding.evidence.push_back(
        {fmt::format("all {} values are those of {}, whose own output {}",
                     elements_of(suspect.its_row()), other.name,
                     other.fails ? "is nearer to golden" : "agrees with golden"),
         static_cast<int64_t>(*place), "", static_cast<double>(elements_of(suspect.its_row()))});
    finding.advice = fmt::format(
        "{} did not write its output, or its buffer was shared with {} and written over: look at "
        "memory reuse of these two, and dump once with reuse off.",
        suspect.accused, other.name);
    finding.next = look_command(suspect);
    return finding;
  }
  return {};
}

}  // namespace plumb::diagnose
