// SPDX-License-Identifier: Apache-2.0
#include "report/overflow_text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "report/table.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using dump::Entry;
using dump::OverflowReport;
using scan::Origin;
using scan::OverflowedOperator;
using scan::OverflowVerdict;
using scan::ScannedTensor;
using scan::Symptom;
using Findings = scan::OverflowFindings;

// "scale5 (Mul)", and where there are several, "[step 1, rank 0]" behind it.
std::string operator_text(const Findings& f, const Entry& e) {
  std::string text = printable(e.operator_name);
  if (!e.type.empty()) text += " (" + printable(e.type) + ")";
  std::string place;
  if (e.step() && f.several_steps) place += fmt::format("step {}", *e.step());
  if (e.rank() && f.several_ranks)
    place += fmt::format("{}rank {}", place.empty() ? "" : ", ", *e.rank());
  return place.empty() ? text : text + " [" + place + "]";
}

std::string slot_text(const Entry& e) { return printable(to_string(e.slot)); }

// "54 nan, 10 inf, 3 values at the limit (0.1 %)"
std::string symptoms_text(const ScannedTensor& t) {
  std::string text;
  const auto add = [&](int64_t n, std::string_view what) {
    if (n == 0) return;
    text += text.empty() ? "" : ", ";
    text += t.stats ? fmt::format("{} {}", n, what) : std::string(what);
  };
  add(t.nan, "nan");
  add(t.positive_inf, "inf");
  add(t.negative_inf, "-inf");
  if (!t.saturates) return text;
  add(t.at_limit, t.stats && t.at_limit == 1 ? "value at the limit" : "values at the limit");
  if (t.stats) {
    const double share =
        100 * static_cast<double>(t.at_limit) / static_cast<double>(t.stats->count);
    text += share < 10 ? fmt::format(" ({:.2g} %)", share) : fmt::format(" ({:.0f} %)", share);
  }
  return text;
}

std::string slots_text(const Findings& f, const std::vector<size_t>& tensors) {
  std::string text;
  for (size_t i : tensors) text += (text.empty() ? "" : ", ") + slot_text(*f.scan.tensors[i].entry);
  return text;
}

std::string origin_text(const Findings& f, const OverflowedOperator& op) {
  switch (op.origin) {
    case Origin::kIntroduced: return "its inputs are clean";
    case Origin::kReceived: return "already in " + slots_text(f, op.from);
    case Origin::kInherited: return "from " + slots_text(f, op.from);
    case Origin::kUnknown: break;
  }
  return "its inputs are not known";
}

// A mark, so that colours are not needed.
std::string_view mark_of(Origin origin) {
  switch (origin) {
    case Origin::kIntroduced: return "✗ introduced";
    case Origin::kReceived: return "→ received";
    case Origin::kInherited: return "· inherited";
    case Origin::kUnknown: break;
  }
  return "? unknown";
}

std::string_view colour_of_origin(Origin origin) {
  if (origin == Origin::kInherited) return "90";
  return origin == Origin::kIntroduced ? "31" : "33";
}

const io::OverflowField* field_of(const io::OverflowUnit& unit, std::string_view name) {
  for (const io::OverflowField& field : unit.fields)
    if (field.name == name) return &field;
  return nullptr;
}

// "AIC, task 7, stream 3, status 0x20": what the bits mean depends on the hardware.
std::string unit_text(const io::OverflowUnit& unit) {
  std::string text(unit.name);
  for (const auto& [field, word] : {std::pair{"task_id", "task"},
                                    {"stream_id", "stream"},
                                    {"context_id", "context"},
                                    {"thread_id", "thread"},
                                    {"core_id", "core"}}) {
    const auto value = unit.value(field);
    const bool is_none = value == io::kOverflowNone && std::string_view(field) != "task_id" &&
                         std::string_view(field) != "stream_id";
    if (value && !is_none) text += fmt::format(", {} {}", word, *value);
  }
  text += ", status";
  if (const io::OverflowField* status = field_of(unit, "status"))
    for (uint64_t word : status->values) text += fmt::format(" {:#x}", word);
  return text;
}

std::string operator_of(const Findings& f, const OverflowReport& report) {
  if (!report.tensors.empty()) return operator_text(f, *report.tensors.front());
  if (report.dump_file.empty()) return "an operator that was not dumped";
  return printable(report.dump_file) + " (damaged)";
}

std::string overflow_headline(const Findings& f) {
  const OverflowedOperator* first = f.first_in_data();
  if (!f.records.reports.empty()) {
    const OverflowReport& report = f.records.reports.front();
    return fmt::format("OVERFLOW  {} is the first: {}", operator_of(f, report),
                       unit_text(report.unit));
  }
  if (f.verdict() == OverflowVerdict::kIncomplete)
    return f.damaged + f.blind == 0 && !f.was_interrupted
               ? "INCOMPLETE  nothing overflowed as far as is recorded, but that does not tell all"
               : "INCOMPLETE  nothing overflowed in what could be read, but that is not all";
  if (first == nullptr) return "CLEAN  no NaN, no infinity, nothing at the limit of its type";
  const ScannedTensor& tensor = f.scan.tensors[first->tensors.front()];
  return fmt::format("{}  {} is the first: {} holds {}, {}",
                     first->is_finite ? "SATURATION" : "OVERFLOW", operator_text(f, *tensor.entry),
                     slot_text(*tensor.entry), symptoms_text(tensor), origin_text(f, *first));
}

std::string_view word_for_symptom(Symptom symptom) {
  switch (symptom) {
    case Symptom::kNan: return "nan";
    case Symptom::kInf: return "inf";
    case Symptom::kLimit: break;
  }
  return "at limit";
}

std::string symptom_totals_text(const Findings& f, Symptom symptom) {
  const scan::SymptomTotal total = f.total(symptom);
  if (total.tensors == 0) return "none";
  std::string types;
  for (const auto& [dtype, n] : total.by_dtype)
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", n, printable(dtype));
  std::string text = fmt::format("{} ({})", counted(total.tensors, "tensor"), types);
  if (total.first != nullptr)
    text += fmt::format(", first in {} {}", operator_text(f, *total.first->entry),
                        slot_text(*total.first->entry));
  return text;
}

std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out += "  " + text.substr(at, end - at);
    at = end;
  }
  return out;
}

// min, max and mean, measured or recorded.
std::vector<std::string> range_cells(const ScannedTensor& t) {
  if (t.stats) {
    if (t.stats->finite == 0) return {"", "", ""};
    return {short_number(t.stats->min), short_number(t.stats->max), short_number(t.stats->mean)};
  }
  const auto known = [](const std::optional<double>& v) { return v ? short_number(*v) : ""; };
  if (!t.entry->statistics) return {"", "", ""};
  return {known(t.entry->statistics->min), known(t.entry->statistics->max),
          known(t.entry->statistics->mean)};
}

std::string record_table(const Findings& f, const OverflowReport& report, size_t width) {
  Table table;
  table.columns = {{"slot"},         {"dtype"},        {"shape", false, 8}, {"layout", false, 4},
                   {"min", true, 8}, {"max", true, 8}, {"mean", true, 7},   {"nan", true},
                   {"inf", true},    {"problem"}};
  const auto count = [](int64_t n) { return n == 0 ? std::string() : std::to_string(n); };
  for (const Entry* entry : report.tensors) {
    const ScannedTensor* t = f.scanned(entry);
    if (t == nullptr) continue;
    std::vector<std::string> cells{slot_text(*entry), printable(t->dtype),
                                   t->shape ? to_string(*t->shape) : "", t->layout()};
    for (std::string& cell : range_cells(*t)) cells.push_back(std::move(cell));
    cells.insert(cells.end(), {count(t->nan), count(t->positive_inf + t->negative_inf),
                               t->error ? printable(t->error->what) : ""});
    table.rows.push_back(std::move(cells));
  }
  return table.rows.empty() ? "" : indented(table.render(width > 2 ? width - 2 : 0));
}

std::string more_text(size_t all, size_t shown, std::string_view noun) {
  return all > shown ? fmt::format("... {}: --all shows them\n", counted(all - shown, noun)) : "";
}

std::string coloured_headline(const Findings& f, bool colour) {
  const std::string head = overflow_headline(f);
  if (!colour) return head;
  const std::string_view code = f.verdict() == OverflowVerdict::kClean      ? "32"
                                : f.verdict() == OverflowVerdict::kOverflow ? "31"
                                                                            : "33";
  const size_t word = head.find(' ');
  return fmt::format("\033[{}m{}\033[0m{}", code, head.substr(0, word), head.substr(word));
}

// What the dump is, and what there is of records.
std::string dump_text(const Findings& f) {
  std::set<std::string_view> operators;
  for (const ScannedTensor& tensor : f.scan.tensors) operators.insert(tensor.entry->operator_name);
  std::string text =
      fmt::format("  dump      {} ({}): {}, {}", printable(f.path), f.set->convention,
                  counted(operators.size(), "operator"), counted(f.scan.tensors.size(), "tensor"));
  if (f.tensor_bytes > 0)
    text += fmt::format(", {}", bytes_text(static_cast<double>(f.tensor_bytes)));
  if (f.damaged > 0) text += fmt::format(", {} damaged", f.damaged);
  text += "\n  records   ";
  if (f.records.records == 0) return text + "none\n";
  return text + fmt::format("{}, reporting {}\n", f.records.records,
                            counted(f.records.reports.size(), "overflow"));
}

std::string head_text(const Findings& f, bool colour) {
  std::string text = coloured_headline(f, colour) + "\n" + dump_text(f);
  for (Symptom symptom : scan::kSymptoms)
    text += fmt::format("  {:<10}{}\n", word_for_symptom(symptom), symptom_totals_text(f, symptom));
  if (f.blind > 0)
    text += fmt::format("  not seen  {}: only a checksum, or a type that cannot be decoded\n",
                        counted(f.blind, "tensor"));
  if (f.unsure > 0)
    text += fmt::format(
        "  not sure  {}: only extremes are recorded, not how many values are at the limit of\n"
        "            the type, NaN or infinite\n",
        counted(f.unsure, "tensor"));
  const OverflowedOperator* first = f.first_in_data();
  if (!f.records.reports.empty() && first != nullptr)
    text += fmt::format("  in data   {} is the first, {}\n", operator_text(f, f.entry_of(*first)),
                        origin_text(f, *first));
  if (!f.scan.is_ordered && f.scan.operators.size() > 1)
    text += "  order     not recorded in this dump: operators are in order of their names\n";
  return text;
}

std::string records_text(const Findings& f, size_t most, size_t width) {
  const size_t shown = std::min(most, f.records.reports.size());
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const OverflowReport& report = f.records.reports[i];
    text += fmt::format("\nrecord {} of {}, time {}: {}\n  {}\n", i + 1, f.records.reports.size(),
                        report.record->timestamp, unit_text(report.unit), operator_of(f, report));
    text += record_table(f, report, width);
  }
  return text + more_text(f.records.reports.size(), shown, "more record");
}

std::string operators_text(const Findings& f, size_t most, size_t width, bool colour) {
  const size_t shown = std::min(most, f.scan.operators.size());
  if (shown == 0) return "";
  Table table;
  table.columns = {
      {"origin"},          {"step", true, 7}, {"rank", true, 7}, {"operator", false, 9, true},
      {"type", false, 3},  {"slot"},          {"what"},          {"dtype", false, 8},
      {"shape", false, 7}, {"min", true, 5},  {"max", true, 5},  {"because", false, 6}};
  for (size_t i = 0; i < shown; ++i) {
    const OverflowedOperator& op = f.scan.operators[i];
    for (size_t index : op.tensors) {
      const ScannedTensor& t = f.scan.tensors[index];
      const Entry& e = *t.entry;
      const auto range = range_cells(t);
      table.rows.push_back(
          {std::string(mark_of(op.origin)),
           e.step() && f.several_steps ? std::to_string(*e.step()) : "",
           e.rank() && f.several_ranks ? std::to_string(*e.rank()) : "", printable(e.operator_name),
           printable(e.type), slot_text(e), symptoms_text(t), printable(t.dtype),
           t.shape ? to_string(*t.shape) : "", range[0], range[1], origin_text(f, op)});
      if (colour) table.colours.push_back(colour_of_origin(op.origin));
    }
  }
  return "\n" + table.render(width) + more_text(f.scan.operators.size(), shown, "more operator");
}

}  // namespace

std::string overflow_text(const Findings& f, size_t most, size_t width, bool colour) {
  return head_text(f, colour) + records_text(f, most, width) +
         operators_text(f, most, width, colour);
}

}  // namespace plumb::report
