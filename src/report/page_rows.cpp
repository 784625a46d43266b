// SPDX-License-Identifier: Apache-2.0
#include "report/page_rows.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/text.h"
#include "result/value_text.h"

namespace plumb::report {
namespace {

using result::Row;
using result::Run;
using result::Side;

// "1×64×112×112".
std::string size_text(const Side& side) {
  if (!side.shape) return "";
  return side.shape->empty() ? "scalar" : fmt::format("{}", fmt::join(*side.shape, "×"));
}

// How each row stands against the baseline.
class Standings {
 public:
  enum Standing : uint8_t { kNone, kUnchanged, kFixed, kBroken, kNew };

  explicit Standings(const Run& run) : has_baseline_(run.baseline.has_value()) {
    if (!has_baseline_) return;
    for (const result::TensorChange& change : run.baseline->tensors)
      if (change.after)
        changed_[{change.operator_name, change.slot, change.graph, change.step, change.rank}] =
            change.is_worse ? kBroken : kFixed;
    for (const result::OperatorChange& change : run.baseline->operators)
      if (change.change == result::Change::kNew) new_.insert(change.operator_name);
  }

  Standing of(const Row& row) const {
    if (!has_baseline_ || !row.target) return kNone;
    const Side& side = *row.target;
    if (new_.contains(side.operator_name)) return kNew;
    const auto found =
        changed_.find({side.operator_name, side.slot, row.graph, row.step, row.rank});
    if (found != changed_.end()) return found->second;
    return row.verdict == result::Verdict::kNotCompared ? kNone : kUnchanged;
  }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view,
                         std::optional<int64_t>, std::optional<int64_t>>;
  bool has_baseline_;
  std::map<Key, Standing> changed_;
  std::unordered_set<std::string_view> new_;
};

// The members of one side; empty where it is missing.
void add_side_columns(const Run& run, const std::string& name, std::optional<Side> Row::*member,
                      PageColumns& columns) {
  const auto text = [&](std::string_view field, auto of) {
    columns.add_of<std::string>(
        fmt::format("row.{}.{}", name, field), run.rows.all(),
        [&](const Row& row) { return row.*member ? of(*(row.*member)) : std::string(); });
  };
  text("operator", [](const Side& side) { return side.operator_name; });
  text("type", [](const Side& side) { return side.type; });
  text("slot", [](const Side& side) { return side.slot; });
  text("dtype", [](const Side& side) { return side.dtype; });
  text("shape", size_text);
  text("layout", [](const Side& side) { return side.layout; });
  text("file", [](const Side& side) { return side.file; });
  columns.add_of<uint8_t>("row.has_" + name, run.rows.all(),
                          [&](const Row& row) { return (row.*member).has_value(); });
}

void add_metrics(const Run& run, PageColumns& columns) {
  for (size_t i = 0; i < run.metrics.size(); ++i) {
    const std::string name(run.metrics[i]->name);
    const auto has = [&](const Row& row) { return i < row.values.size(); };
    columns.add_of<double>("metric." + name, run.rows.all(), [&](const Row& row) {
      return has(row) && row.values[i].is_defined() ? row.values[i].number() : kUnknownNumber;
    });
    const auto is_undefined = [&](const Row& row) {
      return has(row) && !row.values[i].is_defined();
    };
    if (std::none_of(run.rows.all().begin(), run.rows.all().end(), is_undefined)) continue;
    columns.add_of<std::string>("undefined." + name, run.rows.all(), [&](const Row& row) {
      return is_undefined(row) ? result::undefined_text(row.values[i]) : "";
    });
  }
}

}  // namespace

Roles::Roles(const Run& run) {
  for (const result::Finding& finding : run.findings) {
    if (!finding.operator_name.empty()) introduce_.insert(finding.operator_name);
    inherit_.insert(finding.consequences.begin(), finding.consequences.end());
  }
}

uint8_t Roles::of(std::string_view op) const {
  return introduce_.contains(op) ? 1 : inherit_.contains(op) ? 2 : 0;
}

void add_rows(const Run& run, const Roles& roles, std::span<const int32_t> node_of,
              PageColumns& columns) {
  const auto number = [&](const char* name, auto of) {
    columns.add_of<int32_t>(name, run.rows.all(), of);
  };
  const auto flag = [&](const char* name, auto of) {
    columns.add_of<uint8_t>(name, run.rows.all(), of);
  };
  const auto text = [&](const char* name, auto of) {
    columns.add_of<std::string>(name, run.rows.all(), of);
  };
  const auto share = [&](const char* name, auto of) {
    columns.add_of<double>(name, run.rows.all(), [&](const Row& row) {
      return row.own_error ? of(*row.own_error) : kUnknownNumber;
    });
  };
  number("row.id", [&](const Row& row) { return &row - run.rows.all().data(); });
  number("row.index", [](const Row& row) { return row.index; });
  number("row.step", [](const Row& row) { return row.step.value_or(-1); });
  number("row.rank", [](const Row& row) { return row.rank.value_or(-1); });
  columns.add("row.node", node_of);
  flag("row.verdict", [](const Row& row) { return row.verdict; });
  flag("row.suspicious", [](const Row& row) { return row.suspicious; });
  flag("row.excused", [](const Row& row) { return row.is_excused(); });
  flag("row.output", [](const Row& row) { return row.is_model_output; });
  text("row.reasons", [](const Row& row) { return reasons_text(row); });
  text("row.message", [](const Row& row) { return row.message; });
  text("row.hint", [](const Row& row) { return row.hint; });
  text("row.pairing", [](const Row& row) { return row.pairing_rule; });
  text("row.evidence", [](const Row& row) { return row.pairing_evidence; });
  text("row.sample", [&](const Row& row) { return run.sample_of(row); });
  add_side_columns(run, "target", &Row::target, columns);
  add_side_columns(run, "golden", &Row::golden, columns);
  share("row.own", [](const result::OwnError& error) { return error.value; });
  share("row.inherited", [](const result::OwnError& error) { return error.inherited; });
  flag("row.measured", [](const Row& row) { return row.own_error && row.own_error->measured; });
  const Standings standings(run);
  flag("row.baseline", [&](const Row& row) { return standings.of(row); });
  flag("row.role", [&](const Row& row) {
    return row.target ? roles.of(row.target->operator_name) : uint8_t{0};
  });
  add_metrics(run, columns);
}

}  // namespace plumb::report
