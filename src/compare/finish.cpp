// SPDX-License-Identifier: Apache-2.0
//
// What only all rows together can tell: the precision of the network around a row, outputs of the
// model that were not compared, the baseline, the summary. Rows are read in order, three times, and
// need not fit in memory.
#include <algorithm>

#include <fmt/format.h>

#include "compare/inherited.h"
#include "compare/model_outputs.h"
#include "compare/network.h"
#include "compare/precision.h"
#include "compare/session_state.h"
#include "compare/tf32.h"
#include "compare/versions.h"

namespace plumb::compare {
namespace {

using result::Row;
using result::Run;
using result::Verdict;

// As `plumb overflow` tells it: by times that differ, or because there is one operator only.
bool is_ordered(const dump::DumpSet& set) {
  const auto is_other = [&](const dump::Entry& entry) {
    return entry.timestamp != set.entries.front().timestamp;
  };
  const auto has_other_name = [&](const dump::Entry& entry) {
    return entry.operator_name != set.entries.front().operator_name;
  };
  return std::any_of(set.entries.begin(), set.entries.end(), is_other) ||
         std::none_of(set.entries.begin(), set.entries.end(), has_other_name);
}

class Finisher {
 public:
  explicit Finisher(const SessionState& state) : state_(state), network_(state), precision_(state) {
    if (!state.matcher) return;
    outputs_.emplace(*state.matcher, state.graphs.golden ? &*state.graphs.golden : nullptr);
  }

  Result<result::Summary> run(RowSource& rows, RunSink& sink) {
    Run run = header();
    LikeTf32 like_tf32(run.metrics);
    RowId expected = 0;
    auto seen = rows.each([&](RowId id, Row& row) -> Result<void> {
      if (id != expected++)
        return Error{"rows of the plan are missing",
                     fmt::format("row {} follows {}", id, expected - 2),
                     "stream all rows before the run is finished"};
      see(id, row);
      like_tf32.see(row);
      run.bytes += row.bytes;
      run.interrupted |= !row.reasons.empty() && row.reasons.front() == "interrupted";
      return {};
    });
    if (!seen) return seen.error();
    if (expected != std::ssize(state_.rows))
      return Error{"rows of the plan are missing",
                   fmt::format("{} of {} are there", expected, state_.rows.size()),
                   "stream all rows before the run is finished"};
    if (outputs_) run.outputs_not_compared = outputs_->not_compared(asks_for());
    auto summary = settle_all(rows, run);
    if (!summary) return summary;
    if (summary->fail > 0 && run.precision.empty())
      if (std::string note = like_tf32.note(); !note.empty())
        run.warnings.push_back(std::move(note));
    run.elapsed_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - state_.start).count();
    if (auto begun = sink.begin(run, *summary); !begun) return begun.error();
    auto given = rows.each([&](RowId id, Row& row) {
      settle(id, row);
      return sink.row(std::move(row));
    });
    if (!given) return given.error();
    return summary;
  }

 private:
  static result::InputSide input_side(const SideSpec& side, const dump::DumpSet& set) {
    result::InputSide input{side.path, set.convention, set.warnings, 0, {}};
    for (const dump::Skipped& skipped : set.skipped) input.files_left_out += !skipped.error;
    return input;
  }

  Run header() const {
    const Spec& spec = state_.spec;
    Run run;
    run.command = spec.command;
    run.scenario = state_.scenario->name;
    run.profile = spec.checksum ? "checksum" : state_.rules->name;
    if (!spec.checksum) run.limits = state_.rules->applied();
    if (state_.tolerance) {
      run.atol = state_.tolerance->atol;
      run.rtol = state_.tolerance->rtol;
    }
    if (state_.floor) run.profile += ", noise floor " + spec.floor;
    run.precision = spec.precision;
    run.target = input_side(spec.target, state_.target);
    run.golden = input_side(spec.golden, state_.golden);
    run.graphs = state_.graph_files;
    run.told = {spec.target.graph, spec.golden.graph, spec.quant,
                spec.name_map,     spec.mode,         spec.convention};
    run.circumstances.changes = recorded_changes(state_);
    run.network = network_.network();
    run.is_ordered = is_ordered(state_.target);
    run.doubts = state_.doubts;
    run.warnings = state_.warnings;
    run.metrics = state_.stream_options->columns;
    return run;
  }

  AsksFor asks_for() const {
    return [&](const std::string& op, const std::string& slot) {
      dump::Entry entry;
      entry.operator_name = op;
      entry.slot = *dump::slot_from_text(slot);
      return state_.selection.wants(entry);
    };
  }

  void see(RowId id, const Row& row) {
    if (outputs_) outputs_->see(row);
    precision_.see(id, row);
  }

  // Of a row that breaks the limits for float32, and holds those for 16 bits.
  void settle_precision(const Precision::Answer& answer, Row& row) {
    const auto& [dtype, op] = answer.narrow;
    if (answer.is_behind == Precision::Known::kNo) return;
    // One coarse operator is no excuse for all behind it to be as coarse; a network of them is.
    const bool is_brain = !row.in_16_bits->float16 && precision_.is_mostly_bfloat16();
    const std::optional<result::Judgement>& held =
        is_brain ? row.in_16_bits->bfloat16 : row.in_16_bits->float16;
    if (!held) return;
    if (answer.is_behind == Precision::Known::kYes) {
      row.verdict = held->verdict;
      row.reasons = held->reasons;
      row.hint = held->hint;
      row.suspicious = true;
      row.message = fmt::format("judged as {}, in which {} before it works", dtype, op);
      if (row.reasons == std::vector<std::string>{std::string(kInherited)})
        row.message += "; " + held->message;
    } else {
      row.verdict = Verdict::kInconclusive;
      row.reasons = {"precision_unknown"};
      row.hint.clear();
      row.message += fmt::format(
          "; {} works in {}, and nothing tells whether it comes before: a graph would (--graph)",
          op, dtype);
    }
    row.in_16_bits.reset();
  }

  static void settle_as(const result::Judgement& other, Row& row) {
    row.verdict = other.verdict;
    row.suspicious = other.suspicious;
    row.reasons = other.reasons;
    row.message = other.message;
    row.hint = other.hint;
  }

  // Of a target that holds 16 bits in wider files. True if it passes as that.
  static bool settle_widened(DType dtype, Row& row) {
    const auto& held =
        dtype == DType::kBFloat16 ? row.in_16_bits->bfloat16 : row.in_16_bits->float16;
    if (!held) return false;
    settle_as(*held, row);
    row.in_16_bits.reset();
    return true;
  }

  // Changes nothing when it is done a second time.
  void settle(RowId id, Row& row) {
    const auto widened = row.in_16_bits ? precision_.widened(row) : std::nullopt;
    const bool is_settled = widened && settle_widened(*widened, row);
    if (row.in_16_bits && !is_settled) settle_precision(precision_.behind(id), row);
    if (outputs_) outputs_->mark(row);
    network_.mark(id, row);
    if (!row.if_inner || !outputs_ || !outputs_->is_inner(row)) return;
    settle_as(*row.if_inner, row);
    row.if_inner.reset();
  }

  // Summary and baseline, which stand before the rows in every report.
  Result<result::Summary> settle_all(RowSource& rows, Run& run) {
    result::Summary summary;
    Run held = run;
    auto settled = rows.each([&](RowId id, Row& row) -> Result<void> {
      settle(id, row);
      summary.add(row);
      if (state_.baseline) held.rows.push_back(row);
      return {};
    });
    if (!settled) return settled.error();
    if (state_.baseline)
      run.baseline = judge::hold_against(held, *state_.baseline, state_.spec.baseline);
    summary.conclude(run);
    return summary;
  }

  const SessionState& state_;
  std::optional<ModelOutputs> outputs_;
  NetworkOf network_;
  Precision precision_;
};

}  // namespace

Result<result::Summary> finish(const SessionState& state, RowSource& rows, RunSink& run) {
  return Finisher(state).run(rows, run);
}

}  // namespace plumb::compare
