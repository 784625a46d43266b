// SPDX-License-Identifier: Apache-2.0
#include "report/score_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "report/findings_text.h"
#include "report/ranking.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using result::Colour;
using result::Row;
using result::Run;
using result::Verdict;

// Layers on the screen, unless all are asked for: usually, and where more of them differ.
constexpr size_t kUsuallyShown = 20, kMostShown = 40;

// The rows of one layer over all samples.
struct Layer {
  const Row* worst = nullptr;  // by cosine, or one that was not compared
  std::vector<const Row*> rows;
};

bool has_samples(const Run& run) { return run.samples.size() > 1; }

std::optional<double> known_value(const Run& run, const Row& row, std::string_view name) {
  const metrics::Value value = run.value(row, name);
  return value.is_defined() ? std::optional(value.number()) : std::nullopt;
}

std::string percent(std::optional<double> share) {
  return share ? fmt::format("{:.3g}%", *share * 100) : "-";
}

// Nobody came to it: the totals tell how many there are, a layer is told by its others.
bool is_unreached(const Row& row) { return row.reasons == std::vector<std::string>{"interrupted"}; }

// Smaller is worse; what was not compared is worst of all.
double rank_of(const Run& run, const Row& row) {
  if (is_unreached(row)) return 3;
  if (row.verdict == Verdict::kNotCompared) return -3;
  return known_value(run, row, "cosine").value_or(-2);
}

std::vector<Layer> layers_of(const Run& run) {
  std::vector<Layer> layers;
  std::map<std::string, size_t> place;
  for (const Row& row : run.rows.all()) {
    if (row.is_excused()) continue;
    const auto& side = row.any_side();
    const std::string key = fmt::format("{}\n{}\n{}", side.operator_name, side.slot, row.graph);
    const auto [found, is_new] = place.try_emplace(key, layers.size());
    if (is_new) layers.push_back({&row, {}});
    Layer& layer = layers[found->second];
    layer.rows.push_back(&row);
    if (rank_of(run, row) < rank_of(run, *layer.worst)) layer.worst = &row;
  }
  return layers;
}

const Row& worst_verdict(const Layer& layer) {
  for (const Row* row : layer.rows)
    if (row->verdict == Verdict::kFail) return *row;
  for (const Row* row : layer.rows)
    if (row->verdict != Verdict::kPass && !is_unreached(*row)) return *row;
  for (const Row* row : layer.rows)
    if (row->suspicious) return *row;
  return *layer.worst;
}

std::string dtypes_text(const Row& row) {
  if (!row.target || !row.golden) return row.any_side().dtype;
  return row.target->dtype == row.golden->dtype ? row.target->dtype
                                                : row.target->dtype + "/" + row.golden->dtype;
}

std::vector<Column> columns_of(const Run& run) {
  const bool many = has_samples(run);
  return {{"verdict"},
          {"Layer", false, 9, true, 16},
          {many ? "2-norm RE mean" : "2-norm RE", true, 9},
          {many ? "cosine-sim mean" : "cosine-sim", true, 9},
          {many ? "2-norm RE max" : "", true, 8},
          {many ? "cosine-sim min" : "", true, 8},
          {many ? "worst sample" : "", false, 7, true, 12},
          {"pearson", true, 6},
          {"SQNR dB", true, 6},
          {"max abs", true, 5},
          {"shape", false, 3},
          {"dtype", false, 2},
          {"what", false, 8, true, 20, true}};
}

// Distance and cosine over the samples: means, extremes, and whose are the worst.
std::vector<std::string> sample_cells(const Run& run, const Layer& layer) {
  double re_sum = 0, re_max = 0, cosine_sum = 0;
  size_t count = 0;
  for (const Row* row : layer.rows) {
    const auto re = known_value(run, *row, "rel_euclid"), cosine = known_value(run, *row, "cosine");
    if (!re || !cosine) continue;
    ++count;
    re_sum += *re;
    re_max = std::max(re_max, *re);
    cosine_sum += *cosine;
  }
  const auto n = static_cast<double>(count);
  return {count == 0 ? "-" : percent(re_sum / n),
          count == 0 ? "-" : fmt::format("{:.6g}", cosine_sum / n),
          count == 0 ? "-" : percent(re_max), rounded_text(run.metrics, *layer.worst, "cosine"),
          printable(run.sample_of(*layer.worst))};
}

std::vector<std::string> cells_of(const Run& run, const Layer& layer, const Row& row) {
  const auto& side = row.any_side();
  std::vector<std::string> cells{
      std::string(marked_verdict(row)),
      printable(side.slot == "output:0" ? side.operator_name
                                        : side.operator_name + " " + side.slot)};
  if (has_samples(run))
    for (std::string& cell : sample_cells(run, layer)) cells.push_back(std::move(cell));
  else
    cells.insert(cells.end(), {percent(known_value(run, row, "rel_euclid")),
                               rounded_text(run.metrics, row, "cosine"), "", "", ""});
  const Row& shown = has_samples(run) ? *layer.worst : row;
  for (const char* name : {"pearson", "sqnr_db", "max_abs"})
    cells.push_back(rounded_text(run.metrics, shown, name));
  cells.insert(cells.end(), {shape_text(side), dtypes_text(row), printable(row.message)});
  return cells;
}

bool is_fine(const Layer& layer) {
  const Row& row = worst_verdict(layer);
  return row.verdict == Verdict::kPass && !row.suspicious;
}

bool holds(const Layer& layer, const Row* row) {
  return std::find(layer.rows.begin(), layer.rows.end(), row) != layer.rows.end();
}

// What was not compared, then by distance: where directions differ, that is large, too.
std::vector<size_t> odd_layers_worst_first(const Run& run, const std::vector<Layer>& layers) {
  std::vector<std::pair<double, size_t>> odd;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (is_fine(layers[i])) continue;
    double most = 0;
    for (const Row* row : layers[i].rows)
      if (!is_unreached(*row))
        most = std::max(most, known_value(run, *row, "rel_euclid").value_or(HUGE_VAL));
    odd.emplace_back(-most, i);
  }
  std::sort(odd.begin(), odd.end());
  std::vector<size_t> places;
  for (const auto& [distance, place] : odd) places.push_back(place);
  return places;
}

// Of many layers the model's outputs, those around the culprit, then those that differ most; if
// there is no culprit, the first ones.
std::vector<bool> shown_layers(const Run& run, const std::vector<Layer>& layers, const Row* culprit,
                               bool all) {
  std::vector<bool> shown(layers.size(), all || layers.size() <= kUsuallyShown);
  size_t count = 0;
  const auto show = [&](size_t i, size_t most) {
    if (shown[i] || count >= most) return;
    shown[i] = true;
    ++count;
  };
  for (size_t i = 0; i < layers.size(); ++i)
    if (layers[i].worst->is_model_output) show(i, kMostShown);
  constexpr size_t kAround = 3;
  for (size_t i = 0; i < layers.size(); ++i)
    if (culprit != nullptr && holds(layers[i], culprit))
      for (size_t k = i - std::min(i, kAround); k < std::min(layers.size(), i + kAround + 1); ++k)
        show(k, kMostShown);
  for (const size_t i : odd_layers_worst_first(run, layers)) show(i, kMostShown);
  count = 0;
  for (size_t i = 0; i < layers.size() && culprit == nullptr; ++i) show(i, kUsuallyShown);
  return shown;
}

}  // namespace

std::string score_table(const Run& run, const TerminalStyle& style) {
  const std::vector<Layer> layers = layers_of(run);
  const Row* culprit = culprit_row(run, run.summary());
  const std::vector<bool> is_shown = shown_layers(run, layers, culprit, style.all);
  Table table;
  table.columns = columns_of(run);
  size_t hidden = 0, odd = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!is_shown[i]) {
      ++hidden;
      odd += !is_fine(layers[i]);
      continue;
    }
    const Row& row = worst_verdict(layers[i]);
    table.rows.push_back(cells_of(run, layers[i], row));
    if (has_row_to_mark(run) && holds(layers[i], culprit)) table.rows.back()[1] += " ◄";
    const Colour colour = colour_of(row);
    if (style.colour) table.colours.push_back(colour == Colour::kGrey ? "2" : sgr(colour));
  }
  std::string text = render_answer(run, style);
  text += "\n" + table.render(style.width);
  if (hidden > 0)
    text += fmt::format("... and {} more{} (--all shows them)\n", counted(hidden, "layer"),
                        odd == 0 ? " that pass" : fmt::format(", {} of them no plain pass", odd));
  for (const result::Accuracy& of : run.accuracy)
    text += fmt::format("\n{}\n", printable(accuracy_text(run, of)));
  return text + "\n" + render_rest(run, style);
}

}  // namespace plumb::report
