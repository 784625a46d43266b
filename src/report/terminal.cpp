// SPDX-License-Identifier: Apache-2.0
#include "report/terminal.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "report/baseline_text.h"
#include "report/block.h"
#include "report/findings_text.h"
#include "report/headline.h"
#include "report/next_steps.h"
#include "report/ranking.h"
#include "report/sparkline.h"
#include "report/symptom.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using metrics::Metric;
using metrics::Value;
using result::Colour;
using result::InputSide;
using result::Row;
using result::Run;
using result::Side;
using result::Summary;
using result::Verdict;

constexpr size_t kMostScreenRows = 40;
constexpr size_t kMostNotes = 5;  // hints, and warnings of a side

// Every reason where there is room, else "limit:cosine +2"; a warning if there is none.
std::string reason_cell(const Row& row, const TerminalStyle& style) {
  const size_t room = style.width == 0 || style.width >= 150 ? 60 : 22;
  const std::string all = printable(reasons_text(row));
  if (row.reasons.empty()) return printable(row.message);
  if (row.reasons.size() == 1 || display_width(all) <= room) return all;
  return fmt::format("{} +{}", printable(row.reasons.front()), row.reasons.size() - 1);
}

// What both sides have, or "a / b" if they differ.
std::string both(const Row& row, std::string (*text_of)(const Side&)) {
  const std::string target = row.target ? text_of(*row.target) : "";
  const std::string golden = row.golden ? text_of(*row.golden) : "";
  if (target.empty() || golden.empty() || target == golden) return target.empty() ? golden : target;
  return target + " / " + golden;
}

// The golden operator's name if it is another one.
std::string golden_cell(const Row& row) {
  const bool same =
      !row.target || !row.golden || row.target->operator_name == row.golden->operator_name;
  return same ? "" : printable(row.golden->operator_name);
}

// A step, rank or graph that all rows share says nothing.
struct Varying {
  explicit Varying(const Run& run) {
    const Row& first = run.rows.front();
    for (const Row& row : run.rows) {
      steps |= row.step != first.step;
      ranks |= row.rank != first.rank;
      graphs |= row.graph != first.graph;
    }
  }
  bool steps = false, ranks = false, graphs = false;
};

// The table of rows. Steps, ranks and graphs are shown if they vary, metrics if the run has them.
class Rows {
 public:
  Rows(const Run& run, const TerminalStyle& style) : style_(style), varying_(run) {
    for (const std::string& name : style.metrics)
      for (const Metric* metric : run.metrics)
        if (metric->name == name) shown_.push_back(metric);
    table_.columns = {{"verdict"},    {"operator", false, 9, true, 20},    {"slot"}, {"step", true},
                      {"rank", true}, {"reason", false, 9, true, 22, true}};
    for (size_t i = 0; i < shown_.size(); ++i)
      table_.columns.push_back(
          {std::string(shown_[i]->name), true, std::max(5, 8 - static_cast<int>(i))});
    table_.columns.insert(table_.columns.end(), {{"shape", false, 4},
                                                 {"dtype", false, 3},
                                                 {"golden operator", false, 2, true},
                                                 {"graph", false, 2, true},
                                                 {"what", false, 1, true, 40, true}});
  }

  void add(const Run& run, const Row& row, bool is_culprit) {
    const auto number = [](const std::optional<int64_t>& n) { return n ? fmt::to_string(*n) : ""; };
    const Side& side = row.any_side();
    std::vector<std::string> cells = {std::string(marked_verdict(row)),
                                      printable(side.operator_name) + (is_culprit ? " ◄" : ""),
                                      printable(side.slot),
                                      varying_.steps ? number(row.step) : "",
                                      varying_.ranks ? number(row.rank) : "",
                                      reason_cell(row, style_)};
    for (const Metric* metric : shown_)
      cells.push_back(row.values.empty() ? "" : rounded_text(run.metrics, row, metric->name));
    cells.insert(cells.end(), {both(row, shape_text),
                               both(row, [](const Side& s) { return printable(s.dtype); }),
                               golden_cell(row), varying_.graphs ? printable(row.graph) : "",
                               row.reasons.empty() ? "" : printable(row.message)});
    table_.rows.push_back(std::move(cells));
    if (style_.colour) table_.colours.push_back(sgr(colour_of(row)));
  }

  std::string text() const { return table_.render(style_.width); }

 private:
  const TerminalStyle& style_;
  const Varying varying_;
  std::vector<const Metric*> shown_;
  Table table_;
};

// The network from its first operator to its last as a skyline: the higher, the worse.
std::string skyline(const Run& run, const TerminalStyle& style, size_t most_cells) {
  constexpr std::string_view kBlocks[] = {" ", "▁", "·", "▄", "█"};  // by rank below
  constexpr std::string_view kSigns[] = {" ", "_", ".", "+", "#"};
  const auto& bars = style.ascii ? kSigns : kBlocks;
  const auto rank = [](const Row& row) -> size_t {
    switch (colour_of(row)) {
      case Colour::kRed: return 4;
      case Colour::kYellow: return 3;
      case Colour::kGrey: return row.is_excused() ? 0 : 2;
      case Colour::kGreen: break;
    }
    return 1;
  };
  constexpr Colour kColours[] = {Colour::kGrey, Colour::kGreen, Colour::kGrey, Colour::kYellow,
                                 Colour::kRed};
  const size_t cells = std::min(run.rows.size(), most_cells);
  std::string line, before;
  auto row = run.rows.begin();
  for (size_t cell = 0; cell < cells; ++cell) {
    size_t worst = 0;
    const size_t end = run.rows.size() * (cell + 1) / cells;
    for (size_t i = run.rows.size() * cell / cells; i < end; ++i, ++row)
      worst = std::max(worst, rank(*row));
    const std::string colour = style.colour ? fmt::format("\033[{}m", sgr(kColours[worst])) : "";
    if (colour != before) line += colour;
    before = colour;
    line += bars[worst];
  }
  return style.colour ? line + "\033[0m" : line;
}

std::string side_on_screen(const InputSide& side) {
  if (side.path.empty()) return printable(side.convention);  // tensors in memory
  return printable(side.path) +
         (side.convention.empty() ? "" : " (" + printable(side.convention) + ")");
}

std::string sides_text(const Run& run) {
  const std::string tolerance =
      run.atol ? fmt::format(" (atol {}, rtol {})", *run.atol, run.rtol.value_or(0)) : "";
  return fmt::format("{} against {}, profile {}{}", side_on_screen(run.target),
                     side_on_screen(run.golden), printable(limits_text(run)), tolerance);
}

std::string graphs_text(const Run& run) {
  std::string text;
  for (const std::string& graph : run.graphs) text += (text.empty() ? "" : ", ") + printable(graph);
  return text;
}

// The pair that comes nearest to failing, for those who wonder how much room is left.
const Row* closest(const Run& run) {
  std::optional<std::pair<double, size_t>> least;  // cosine, place
  size_t next = 0;
  for (const Row& row : run.rows) {
    const size_t place = next++;
    const Value cosine = run.value(row, "cosine");
    if (row.verdict == Verdict::kPass && cosine.is_defined() && !std::isnan(cosine.number()) &&
        (!least || cosine.number() < least->first))
      least = {cosine.number(), place};
  }
  return least ? &run.rows[least->second] : nullptr;
}

void add_totals(const Run& run, const Summary& s, const TerminalStyle& style, Block& block) {
  block.line("rows", totals_text(s));
  if (s.suspicious > 0)
    block.line("", s.suspicious == 1
                       ? "1 of the passes is suspicious"
                       : fmt::format("{} of the passes are suspicious", s.suspicious));
  if (s.not_compared > 0) {
    std::string reasons;
    for (const LeftOut& group : left_out_by_reason(run))
      reasons +=
          fmt::format("{}{} {}", reasons.empty() ? "" : ", ", group.count, printable(group.reason));
    block.line("left out", reasons);
  }
  block.line("coverage",
             fmt::format("{}, {}", coverage_text(s), bytes_text(static_cast<double>(run.bytes))));
  const size_t room = std::clamp<size_t>(style.width == 0 ? 80 : style.width, 30, 112) - 14;
  if (run.rows.size() >= 8 && s.pass - s.suspicious < s.rows)
    block.verbatim(run.is_ordered ? "in order" : "by name", skyline(run, style, room));
  if (run.rows.size() >= 8 && has_culprit(run)) {
    const Sparkline line = sparkline(run, room, style.ascii);
    if (!line.culprit.empty()) {
      block.verbatim("error", line.errors);
      block.verbatim("", line.culprit);
    }
  }
  if (!run.is_ordered && s.fail > 0)
    block.line("order", "not recorded in the target: rows are in order of their names");
}

void add_baseline_lines(const result::Baseline& baseline, Block& block) {
  block.line("baseline", printable(baseline_text(baseline)));
  size_t worse = 0, operators = 0;
  for (const result::TensorChange& change : baseline.tensors)
    if (change.is_worse && ++worse <= kMostNotes)
      block.line(change.is_output ? "worse" : "inside", printable(change_text(change)));
  if (worse > kMostNotes) block.line("", fmt::format("... and {} more worse", worse - kMostNotes));
  for (const result::OperatorChange& change : baseline.operators)
    if (++operators <= kMostNotes)
      block.line(name_of(change.change), printable(change_text(change)));
  if (operators > kMostNotes)
    block.line("", fmt::format("... and {} more; --json lists them", operators - kMostNotes));
  for (const std::string& warning : baseline.warnings)
    block.line("warning", printable(baseline.path) + ": " + printable(warning));
}

// One line for each row worth a look that has something to say.
void add_row_notes(const Run& run, std::string_view key, std::string_view between,
                   std::string Row::*text, const WantsRow& wants, Block& block) {
  const ShownRows shown = worth_a_look(
      run, kMostNotes, [&](const Row& row) { return !(row.*text).empty() && wants(row); });
  for (const Row* row : shown.rows)
    block.line(key, printable(fmt::format("{}{}{}", place_text(*row), between, row->*text)));
  if (shown.more > 0)
    block.line("",
               fmt::format("... and {} more {}{}", shown.more, key, shown.more == 1 ? "" : "s"));
}

void add_notes(const Run& run, const Summary& s, bool wants_hints, Block& block) {
  const auto is_left_out = [](const Row& row) { return row.verdict == Verdict::kNotCompared; };
  if (s.not_compared > s.excused())
    add_row_notes(run, "problem", ": ", &Row::message, is_left_out, block);
  if (wants_hints)
    add_row_notes(
        run, "hint", " ", &Row::hint, [](const Row&) { return true; }, block);
  for (const auto* list : {&run.doubts, &run.warnings})
    for (const std::string& warning : *list) block.line("warning", printable(warning));
  for (const InputSide* side : {&run.target, &run.golden}) {
    for (size_t i = 0; i < side->warnings.size() && i < kMostNotes; ++i)
      block.line("warning", printable(side->path) + ": " + printable(side->warnings[i]));
    if (side->warnings.size() > kMostNotes)
      block.line("", fmt::format("... and {} more warnings", side->warnings.size() - kMostNotes));
    if (side->files_left_out > 0)
      block.line(
          "note",
          fmt::format("{}: {} no tensor{}; `plumb inspect` says why", printable(side->path),
                      side->files_left_out == 1 ? "1 file is"
                                                : fmt::format("{} files are", side->files_left_out),
                      side->files_left_out == 1 ? "" : "s"));
  }
}

void add_step(std::string_view key, const NextStep& step, Block& block) {
  block.line(key, step.text);
  for (const std::string& command : step.commands) block.verbatim("", command);
}

// The verdict: what users of the model see, what is inside, and how that is called.
void add_headline(const Run& run, const Summary& s, const TerminalStyle& style, Block& block) {
  std::string word(verdict_word(s));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const size_t word_width = word.size();
  if (style.colour) word = fmt::format("\033[1;{}m{}\033[0m", sgr(colour_of(s)), word);
  block.wrap(word + "  ", word_width + 2, headline(run, s));
  if (s.outputs.rows > 0) block.line("outputs", outputs_text(s));
  if (const std::string symptom = symptom_text(run, s); !symptom.empty())
    block.line("symptom", symptom);
}

void add_divergence(const Run& run, const Summary& s, Block& block) {
  const auto [row, title] = divergence_of(run, s);
  if (row == nullptr) return;
  const std::string why = why_text(*row), start = std::string(title) + ": ";
  block.wrap(start, start.size(),
             printable(place_text(*row)) + (why.empty() ? "" : ": " + printable(why)));
}

// Those worth a look around the culprit, or all of them.
std::string rows_text(const Run& run, const Summary& s, const TerminalStyle& style) {
  ShownRows shown;
  if (!style.all) shown = rows_to_show(run, s, kMostScreenRows);
  if (style.all)
    for (const Row& row : run.rows.all())
      if (!row.is_filtered()) shown.rows.push_back(&row);
  if (shown.rows.empty()) return {};
  const Row* culprit = has_row_to_mark(run) ? culprit_row(run, s) : nullptr;
  Rows table(run, style);
  for (const Row* row : shown.rows) table.add(run, *row, row == culprit);
  std::string text = table.text();
  if (shown.more > 0) text += fmt::format("... and {} more; --all shows them\n", shown.more);
  return "\n" + text + "\n";
}

std::string answer_text(const Run& run, const Summary& s, const TerminalStyle& style) {
  Block block(style.width, style.colour);
  add_headline(run, s, style, block);
  add_culprit(run, block);
  add_divergence(run, s, block);
  if (const auto step = first_look(run, s)) add_step("next", *step, block);
  return block.text();
}

std::string rest_text(const Run& run, const Summary& s, const TerminalStyle& style) {
  Block block(style.width, style.colour);
  block.line("sides", sides_text(run));
  if (run.scenario != "dump-vs-dump" && run.scenario != "file-vs-file" && !run.scenario.empty())
    block.line("scenario", printable(run.scenario));
  if (!run.graphs.empty()) block.line("graphs", graphs_text(run));
  add_totals(run, s, style, block);
  if (const Row* row = s.verdict == Verdict::kPass ? closest(run) : nullptr)
    block.line("closest", fmt::format("{}, cosine {}", printable(place_text(*row)),
                                      rounded_text(run.metrics, *row, "cosine")));
  if (run.baseline) add_baseline_lines(*run.baseline, block);
  add_notes(run, s, style.hints, block);
  std::string_view key = "next";
  for (const NextStep& step : next_steps(run, s)) add_step(std::exchange(key, ""), step, block);
  return block.text();
}

}  // namespace

std::string render_answer(const Run& run, const TerminalStyle& style) {
  return answer_text(run, run.summary(), style);
}

std::string render_rest(const Run& run, const TerminalStyle& style) {
  return rest_text(run, run.summary(), style);
}

std::string render(const Run& run, const TerminalStyle& style) {
  const Summary s = run.summary();
  return answer_text(run, s, style) + rows_text(run, s, style) + rest_text(run, s, style);
}

}  // namespace plumb::report
