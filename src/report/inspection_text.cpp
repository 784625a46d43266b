// SPDX-License-Identifier: Apache-2.0
#include "report/inspection_text.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/table.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using scan::InspectedTensor;
using scan::Inspection;

std::string logical_shape(const InspectedTensor& tensor) {
  return tensor.shape() != nullptr ? to_string(*tensor.shape()) : "";
}

// The layout, with the stored shape when that is not the logical one: "NC1HWC0 [1, 2, 3, 4, 16]".
std::string layout_of(const InspectedTensor& tensor) {
  if (!tensor.info || tensor.info->layout == kPlainLayout) return "";
  std::string text = name_of(tensor.info->layout);
  if (tensor.info->layout.groups > 1) text += fmt::format(":{}", tensor.info->layout.groups);
  if (tensor.shape() != nullptr && *tensor.shape() != tensor.info->shape)
    text += " " + to_string(tensor.info->shape);
  return text;
}

// Extremes of integers to the last digit, others to six.
std::string extreme(const scan::Measured& m, long double value) {
  return kind_of(m.dtype) == DKind::kFloat || kind_of(m.dtype) == DKind::kComplex
             ? short_number(value)
             : fmt::format("{:.0f}", value);
}

std::string histogram_line(const metrics::Histogram& histogram) {
  constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int64_t most = *std::max_element(histogram.bins.begin(), histogram.bins.end());
  if (most == 0) return "";
  std::string line;
  for (int64_t n : histogram.bins) line += kBars[n == 0 ? 0 : 1 + n * 7 / most];
  return line;
}

std::string count_text(int64_t n) { return n == 0 ? "" : std::to_string(n); }

constexpr const char* kStatistics[] = {"min ",   "max ", "mean ", "std ", "l2 ",
                                       "zeros ", "nan ", "inf ",  ""};

// What is known of each of these, measured or recorded. Last comes a histogram, or a recorded text.
std::vector<std::string> statistics_of(const InspectedTensor& tensor) {
  const auto known = [](const std::optional<double>& v) { return v ? short_number(*v) : ""; };
  if (!tensor.measured || tensor.measured->stats.count == 0 ||
      tensor.measured->dtype == DType::kOpaque) {
    const auto& e = *tensor.entry;
    const auto recorded = e.statistics ? *e.statistics : Statistics{};
    return {known(recorded.min),
            known(recorded.max),
            known(recorded.mean),
            known(recorded.std),
            known(recorded.l2),
            count_text(recorded.zeros.value_or(0)),
            count_text(recorded.nan_count.value_or(0)),
            count_text(recorded.inf_count.value_or(0)),
            printable(recorded.text)};
  }
  const scan::Measured& m = *tensor.measured;
  const bool any = m.stats.finite > 0;
  return {any ? extreme(m, m.stats.min) : "",
          any ? extreme(m, m.stats.max) : "",
          any ? short_number(m.stats.mean) : "",
          any ? short_number(m.stats.standard_deviation()) : "",
          any ? short_number(m.stats.l2()) : "",
          count_text(m.stats.zeros),
          count_text(m.stats.nan),
          count_text(m.stats.inf()),
          histogram_line(m.histogram)};
}

Table table_of_tensors(const std::vector<InspectedTensor>& tensors, bool stats) {
  Table table;
  table.columns = {
      {"rank", true, 7},    {"step", true, 7},  {"graph", false, 2}, {"operator", false, 9, true},
      {"type", false, 3},   {"slot", false, 9}, {"dtype", false, 9}, {"shape", false, 8},
      {"layout", false, 4}, {"size", true, 5}};
  if (stats)
    table.columns.insert(table.columns.end(), {{"min", true, 8},
                                               {"max", true, 8},
                                               {"mean", true, 7},
                                               {"std", true, 6},
                                               {"l2", true, 4},
                                               {"zeros", true, 5},
                                               {"nan", true, 9},
                                               {"inf", true, 9},
                                               {"histogram", false, 1}});
  table.columns.push_back({"problem", false, 9});
  for (const InspectedTensor& tensor : tensors) {
    const dump::Entry& e = *tensor.entry;
    std::vector<std::string> cells{
        e.rank() ? std::to_string(*e.rank()) : "",
        e.step() ? std::to_string(*e.step()) : "",
        printable(e.graph()),
        printable(e.operator_name),
        printable(e.type),
        printable(to_string(e.slot)),
        printable(tensor.dtype()),
        logical_shape(tensor),
        layout_of(tensor),
        tensor.info ? bytes_text(static_cast<double>(tensor.stored_bytes())) : ""};
    if (stats)
      for (std::string& cell : statistics_of(tensor)) cells.push_back(std::move(cell));
    cells.push_back(tensor.error ? printable(tensor.error->what) : "");
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// rank > step > graph > operator > slots, as an indented tree.
std::string tree_of(const std::vector<InspectedTensor>& tensors, bool stats) {
  std::string text, place, name;
  for (const InspectedTensor& tensor : tensors) {
    const dump::Entry& e = *tensor.entry;
    std::string here;
    if (e.rank()) here += fmt::format("rank {}  ", *e.rank());
    if (e.step()) here += fmt::format("step {}  ", *e.step());
    here += printable(e.graph());
    here.erase(here.find_last_not_of(' ') + 1);
    if (here != place) {
      text += here + "\n";
      place = here;
      name.clear();
    }
    const std::string title =
        printable(e.operator_name) + (e.type.empty() ? "" : "  (" + printable(e.type) + ")");
    if (title != name) text += "  " + title + "\n";
    name = title;
    text += fmt::format("    {:<12} {} {}{}{}\n", printable(to_string(e.slot)),
                        printable(tensor.dtype()), logical_shape(tensor),
                        layout_of(tensor).empty() ? "" : "  " + layout_of(tensor),
                        tensor.error ? "  PROBLEM: " + printable(tensor.error->what) : "");
    if (!stats) continue;
    std::string line;
    const auto cells = statistics_of(tensor);
    for (size_t i = 0; i < cells.size(); ++i)
      if (!cells[i].empty()) line += fmt::format("  {}{}", kStatistics[i], cells[i]);
    if (!line.empty()) text += fmt::format("{:15}{}\n", "", line);
  }
  return text;
}

// The one tensor asked for, in full.
std::string histogram_text(const scan::Measured& m) {
  constexpr double kWidth = 48;
  const metrics::Histogram& h = m.histogram;
  const int64_t most = *std::max_element(h.bins.begin(), h.bins.end());
  if (most == 0) return "";
  std::string text = h.counted < m.stats.finite
                         ? fmt::format("\nhistogram of {} values, evenly sampled\n", h.counted)
                         : "\nhistogram\n";
  const bool constant = !(h.high > h.low);
  const int bins = constant ? 1 : metrics::Histogram::kBins;
  for (int i = 0; i < bins; ++i) {
    const double low = h.low + (h.high - h.low) * i / metrics::Histogram::kBins;
    const int64_t n = h.bins[static_cast<size_t>(i)];
    std::string bar;
    for (double left = kWidth * static_cast<double>(n) / static_cast<double>(most); left > 0;
         --left)
      bar += left >= 1 ? "█" : "▌";
    text += fmt::format("  {:>12} {:>10} {}\n", short_number(low), n, bar);
  }
  return text;
}

std::string dump_summary(const std::string& path, const Inspection& found) {
  std::set<std::string_view> operators;
  for (const InspectedTensor& tensor : found.tensors) operators.insert(tensor.entry->operator_name);
  std::string text =
      fmt::format("{}: {}, {}, {}, {}", path, found.set->convention,
                  counted(operators.size(), "operator"), counted(found.tensors.size(), "tensor"),
                  bytes_text(static_cast<double>(found.stored_bytes())));
  if (found.damaged() > 0) text += fmt::format(", {} damaged", found.damaged());
  const auto others = std::count_if(found.set->skipped.begin(), found.set->skipped.end(),
                                    [](const dump::Skipped& s) { return !s.error; });
  if (others > 0) text += fmt::format(", {}", counted(static_cast<size_t>(others), "other file"));
  return text + "\n";
}

// Why files are not in the list, most frequent reason first.
std::string left_out_text(const dump::DumpSet& set) {
  std::map<std::string, size_t> reasons;
  for (const dump::Skipped& skipped : set.skipped)
    if (!skipped.error) ++reasons[skipped.reason];
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (const auto& [count, reason] : sorted)
    text += fmt::format("left out: {}, {}\n", counted(count, "file"), printable(reason));
  return text;
}

}  // namespace

std::string inspection_text(const std::string& path, const Inspection& found,
                            const InspectionStyle& style) {
  const std::vector<InspectedTensor>& tensors = found.tensors;
  std::string text;
  if (!tensors.empty())
    text = dump_summary(path, found) +
           (style.tree ? tree_of(tensors, style.stats)
                       : table_of_tensors(tensors, style.stats).render(style.width));
  text += left_out_text(*found.set);
  if (tensors.size() != 1) return text;
  if (tensors[0].measured) text += histogram_text(*tensors[0].measured);
  if (tensors[0].info)
    for (const std::string& note : tensors[0].info->notes)
      text += fmt::format("note: {}\n", printable(note));
  return text;
}

}  // namespace plumb::report
