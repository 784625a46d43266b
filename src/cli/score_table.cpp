// SPDX-License-Identifier: Apache-2.0
#include "cli/score_table.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cli/terminal.h"
#include "report/table.h"
#include "report/terminal.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

using metrics::Metric;
using result::Row;

constexpr size_t kShown = 20;  // layers on the screen, unless all are asked for

// The values of one layer over all samples.
struct Layer {
  const Row* first = nullptr;
  const Row* worst = nullptr;  // by cosine, or one that was not compared
  std::vector<const Row*> rows;
};

std::optional<double> value_of(const result::Run& run, const Row& row, std::string_view name) {
  for (size_t i = 0; i < run.metrics.size() && i < row.values.size(); ++i)
    if (run.metrics[i]->name == name && row.values[i].is_defined()) return row.values[i].number();
  return std::nullopt;
}

std::string text_of(const result::Run& run, const Row& row, std::string_view name) {
  for (size_t i = 0; i < run.metrics.size() && i < row.values.size(); ++i)
    if (run.metrics[i]->name == name) return report::rounded_text(*run.metrics[i], row.values[i]);
  return "-";
}

std::string percent(std::optional<double> share) {
  return share ? fmt::format("{:.3g}%", *share * 100) : "-";
}

// Smaller is worse; what was not compared is worst of all.
double rank_of(const result::Run& run, const Row& row) {
  if (row.verdict == result::Verdict::kNotCompared) return -3;
  return value_of(run, row, "cosine").value_or(-2);
}

std::vector<Layer> layers_of(const result::Run& run) {
  std::vector<Layer> layers;
  std::map<std::string, size_t> place;
  for (const Row& row : run.rows) {
    if (row.is_excused()) continue;
    const auto& side = row.any_side();
    const std::string key = fmt::format("{}\n{}\n{}", side.operator_name, side.slot, row.graph);
    const auto [found, is_new] = place.try_emplace(key, layers.size());
    if (is_new) layers.push_back({&row, &row, {}});
    Layer& layer = layers[found->second];
    layer.rows.push_back(&row);
    if (rank_of(run, row) < rank_of(run, *layer.worst)) layer.worst = &row;
  }
  return layers;
}

std::string_view verdict_text(const Row& row) {
  switch (row.verdict) {
    case result::Verdict::kPass: return row.suspicious ? "~ suspicious" : "✓ pass";
    case result::Verdict::kFail: return "✗ fail";
    case result::Verdict::kInconclusive: return "? inconclusive";
    default: return "- not compared";
  }
}

std::string_view colour_code(const Row& row) {
  switch (result::colour_of(row)) {
    case result::Colour::kRed: return "31";
    case result::Colour::kYellow: return "33";
    case result::Colour::kGreen: return "32";
    default: return "2";
  }
}

const Row& worst_verdict(const Layer& layer) {
  const Row* worst = layer.worst;
  for (const Row* row : layer.rows)
    if (row->verdict == result::Verdict::kFail) return *row;
  for (const Row* row : layer.rows)
    if (row->verdict != result::Verdict::kPass) return *row;
  for (const Row* row : layer.rows)
    if (row->suspicious) return *row;
  return *worst;
}

std::string types_text(const Row& row) {
  if (!row.target || !row.golden) return row.any_side().dtype;
  return row.target->dtype == row.golden->dtype ? row.target->dtype
                                                : row.target->dtype + "/" + row.golden->dtype;
}

std::string sample_name(const replay::Scores& scores, const Row& row) {
  if (!row.step) return "";
  const auto step = static_cast<size_t>(*row.step);
  return step < scores.samples().size() ? scores.samples()[step] : fmt::to_string(*row.step);
}

}  // namespace

std::string score_table(const result::Run& run, const replay::Scores& scores, bool has_colour,
                        bool all) {
  const std::vector<Layer> layers = layers_of(run);
  const bool has_samples = scores.samples().size() > 1;
  report::Table table;
  table.columns = {{"verdict"},
                   {"Layer", false, 9, true, 16},
                   {has_samples ? "2-norm RE mean" : "2-norm RE", true, 9},
                   {has_samples ? "cosine-sim mean" : "cosine-sim", true, 9},
                   {has_samples ? "2-norm RE max" : "", true, 8},
                   {has_samples ? "cosine-sim min" : "", true, 8},
                   {has_samples ? "worst sample" : "", false, 7, true, 12},
                   {"pearson", true, 6},
                   {"SQNR dB", true, 6},
                   {"max abs", true, 5},
                   {"shape", false, 3},
                   {"dtype", false, 2},
                   {"what", false, 8, true, 20}};
  size_t hidden = 0;
  for (const Layer& layer : layers) {
    const Row& row = worst_verdict(layer);
    const bool is_fine = row.verdict == result::Verdict::kPass && !row.suspicious;
    if (!all && is_fine && !row.is_model_output && table.rows.size() >= kShown) {
      ++hidden;
      continue;
    }
    double re_sum = 0, re_max = 0, cosine_sum = 0;
    size_t counted_rows = 0;
    for (const Row* one : layer.rows) {
      const auto re = value_of(run, *one, "rel_euclid"), cosine = value_of(run, *one, "cosine");
      if (!re || !cosine) continue;
      ++counted_rows;
      re_sum += *re;
      re_max = std::max(re_max, *re);
      cosine_sum += *cosine;
    }
    const auto mean = [&](double sum) {
      return counted_rows == 0 ? std::optional<double>() : sum / static_cast<double>(counted_rows);
    };
    const auto& side = row.any_side();
    std::vector<std::string> cells{
        std::string(verdict_text(row)),
        report::printable(side.slot == "output:0" ? side.operator_name
                                                  : side.operator_name + " " + side.slot)};
    if (has_samples) {
      const auto cosine = mean(cosine_sum);
      cells.push_back(percent(mean(re_sum)));
      cells.push_back(cosine ? fmt::format("{:.6g}", *cosine) : "-");
      cells.push_back(counted_rows == 0 ? "-" : percent(re_max));
      cells.push_back(text_of(run, *layer.worst, "cosine"));
      cells.push_back(report::printable(sample_name(scores, *layer.worst)));
    } else {
      cells.push_back(percent(value_of(run, row, "rel_euclid")));
      cells.push_back(text_of(run, row, "cosine"));
      cells.insert(cells.end(), 3, "");
    }
    const Row& shown = has_samples ? *layer.worst : row;
    for (const char* name : {"pearson", "sqnr_db", "max_abs"})
      cells.push_back(text_of(run, shown, name));
    cells.push_back(report::shape_text(side));
    cells.push_back(types_text(row));
    cells.push_back(report::printable(row.message));
    table.rows.push_back(std::move(cells));
    if (has_colour) table.colours.push_back(colour_code(row));
  }
  std::string text = fmt::format("{} ({}) against {} ({})\n\n", run.target.path,
                                 run.target.convention, run.golden.path, run.golden.convention);
  text += table.render(terminal_width());
  if (hidden > 0)
    text += fmt::format("... and {} more that pass (--all shows them)\n",
                        report::counted(hidden, "layer"));
  for (const replay::Scores::Classes& of : scores.classes()) {
    text += fmt::format("\ntop-1 of {}: the same class on {} of {}", of.output, of.agree,
                        report::counted(static_cast<size_t>(of.samples), "sample"));
    if (!of.first_disagreement.empty()) text += fmt::format(" (first: {})", of.first_disagreement);
    if (of.labelled > 0)
      text += fmt::format(
          "; right: target {:.2f} %, golden {:.2f} % of {}",
          100.0 * static_cast<double>(of.target_right) / static_cast<double>(of.labelled),
          100.0 * static_cast<double>(of.golden_right) / static_cast<double>(of.labelled),
          of.labelled);
    text += "\n";
  }
  report::TerminalStyle style;
  style.width = terminal_width();
  style.colour = has_colour;
  style.rows = false;
  return text + "\n" + report::render(run, style);
}

}  // namespace plumb::cli
