// SPDX-License-Identifier: Apache-2.0
//
// `plumb overflow DIR`: which operator overflowed first, by the records a device left and by the
// tensors themselves.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tbb/global_control.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "dump/overflow_reports.h"
#include "report/table.h"
#include "report/writer.h"
#include "scan/overflow_scan.h"

namespace plumb::cli {
namespace {

using dump::Entry;
using dump::OverflowReport;
using scan::kSymptoms;
using scan::Origin;
using scan::OverflowedOperator;
using scan::OverflowScan;
using scan::ScannedTensor;
using scan::Symptom;
using Json = nlohmann::ordered_json;
using report::printable;
using report::Table;

// All that the run found out.
struct Findings {
  std::string path;
  const dump::DumpSet& set;
  dump::OverflowReports records;
  OverflowScan scan;
  std::map<const Entry*, const ScannedTensor*> scanned;
  size_t damaged = 0, blind = 0, unsure = 0;
  bool interrupted = false;
  bool several_steps = false, several_ranks = false;

  const ScannedTensor* scanned_of(const Entry* entry) const {
    const auto found = scanned.find(entry);
    return found == scanned.end() ? nullptr : found->second;
  }
  const Entry& entry_of(const OverflowedOperator& op) const {
    return *scan.tensors[op.tensors.front()].entry;
  }
  // Values at the limit may be meant to be there: infinities and NaN come before them.
  const OverflowedOperator* first_in_data() const {
    for (const OverflowedOperator& op : scan.operators)
      if (!op.is_finite) return &op;
    return scan.operators.empty() ? nullptr : &scan.operators.front();
  }
  std::string_view verdict() const {
    const OverflowedOperator* first = first_in_data();
    if (!records.reports.empty() || (first != nullptr && !first->is_finite)) return "overflow";
    if (first != nullptr) return "saturation";
    return damaged + blind + unsure > 0 || interrupted ? "incomplete" : "clean";
  }
};

// ---- words ----

// "scale5 (Mul)", and where there are several, "[step 1, rank 0]" behind it.
std::string operator_text(const Findings& f, const Entry& e) {
  std::string text = printable(e.operator_name);
  if (!e.type.empty()) text += " (" + printable(e.type) + ")";
  std::string place;
  if (e.step && f.several_steps) place += fmt::format("step {}", *e.step);
  if (e.rank && f.several_ranks)
    place += fmt::format("{}rank {}", place.empty() ? "" : ", ", *e.rank);
  return place.empty() ? text : text + " [" + place + "]";
}

std::string slot_text(const Entry& e) { return printable(to_string(e.slot)); }

std::string number(long double value) { return fmt::format("{:.6g}", static_cast<double>(value)); }

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

std::string_view colour_of(Origin origin) {
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

// ---- terminal ----

std::string headline(const Findings& f) {
  const OverflowedOperator* first = f.first_in_data();
  if (!f.records.reports.empty()) {
    const OverflowReport& report = f.records.reports.front();
    return fmt::format("OVERFLOW  {} is the first: {}", operator_of(f, report),
                       unit_text(report.unit));
  }
  if (f.verdict() == "incomplete" && f.damaged + f.blind == 0 && !f.interrupted)
    return "INCOMPLETE  nothing overflowed as far as is recorded, but that does not tell all";
  if (f.verdict() == "incomplete")
    return "INCOMPLETE  nothing overflowed in what could be read, but that is not all";
  if (first == nullptr) return "CLEAN  no NaN, no infinity, nothing at the limit of its type";
  const ScannedTensor& tensor = f.scan.tensors[first->tensors.front()];
  return fmt::format("{}  {} is the first: {} holds {}, {}",
                     first->is_finite ? "SATURATION" : "OVERFLOW", operator_text(f, *tensor.entry),
                     slot_text(*tensor.entry), symptoms_text(tensor), origin_text(f, *first));
}

std::string_view word_for(Symptom symptom) {
  switch (symptom) {
    case Symptom::kNan: return "nan";
    case Symptom::kInf: return "inf";
    case Symptom::kLimit: break;
  }
  return "at limit";
}

// How many tensors show a symptom, and by type.
struct Total {
  size_t tensors = 0;
  std::map<std::string, size_t> by_dtype;
  const ScannedTensor* first = nullptr;  // an output before an input
};
Total total_of(const Findings& f, Symptom symptom) {
  Total total;
  for (const ScannedTensor& tensor : f.scan.tensors) {
    if (!tensor.has(symptom)) continue;
    ++total.tensors;
    ++total.by_dtype[tensor.dtype];
  }
  for (const OverflowedOperator& op : f.scan.operators)
    for (size_t i : op.tensors)
      if (total.first == nullptr && f.scan.tensors[i].has(symptom))
        total.first = &f.scan.tensors[i];
  return total;
}

std::string totals_text(const Findings& f, Symptom symptom) {
  const Total total = total_of(f, symptom);
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

void print_head(const Findings& f, int64_t bytes) {
  const std::string_view colour = f.verdict() == "clean"      ? "32"
                                  : f.verdict() == "overflow" ? "31"
                                                              : "33";
  std::string head = headline(f);
  if (colour_is_wanted()) {
    const size_t word = head.find(' ');
    head = fmt::format("\033[{}m{}\033[0m{}", colour, head.substr(0, word), head.substr(word));
  }
  std::set<std::string_view> operators;
  for (const ScannedTensor& tensor : f.scan.tensors) operators.insert(tensor.entry->operator_name);
  fmt::print("{}\n  dump      {} ({}): {}, {}", head, printable(f.path), f.set.convention,
             counted(operators.size(), "operator"), counted(f.scan.tensors.size(), "tensor"));
  if (bytes > 0) fmt::print(", {}", bytes_text(static_cast<double>(bytes)));
  if (f.damaged > 0) fmt::print(", {} damaged", f.damaged);
  fmt::print("\n  records   ");
  if (f.records.records == 0)
    fmt::print("none\n");
  else
    fmt::print("{}, reporting {}\n", f.records.records,
               counted(f.records.reports.size(), "overflow"));
  for (Symptom symptom : kSymptoms)
    fmt::print("  {:<10}{}\n", word_for(symptom), totals_text(f, symptom));
  if (f.blind > 0)
    fmt::print("  not seen  {}: only a checksum, or a type that cannot be decoded\n",
               counted(f.blind, "tensor"));
  if (f.unsure > 0)
    fmt::print(
        "  not sure  {}: only extremes are recorded, not how many values are at the limit of\n"
        "            the type, NaN or infinite\n",
        counted(f.unsure, "tensor"));
  const OverflowedOperator* first = f.first_in_data();
  if (!f.records.reports.empty() && first != nullptr)
    fmt::print("  in data   {} is the first, {}\n", operator_text(f, f.entry_of(*first)),
               origin_text(f, *first));
  if (!f.scan.is_ordered && f.scan.operators.size() > 1)
    fmt::print("  order     not recorded in this dump: operators are in order of their names\n");
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

std::string layout_text(const Entry& entry) {
  return !entry.info || entry.info->layout == kPlainLayout
             ? ""
             : std::string(name_of(entry.info->layout));
}

// min, max and mean, measured or recorded.
std::vector<std::string> range_cells(const ScannedTensor& t) {
  if (t.stats) {
    if (t.stats->finite == 0) return {"", "", ""};
    return {number(t.stats->min), number(t.stats->max), number(t.stats->mean)};
  }
  const auto known = [](const std::optional<double>& v) { return v ? number(*v) : ""; };
  if (!t.entry->statistics) return {"", "", ""};
  return {known(t.entry->statistics->min), known(t.entry->statistics->max),
          known(t.entry->statistics->mean)};
}

std::string record_table(const Findings& f, const OverflowReport& report) {
  Table table;
  table.columns = {{"slot"},         {"dtype"},        {"shape", false, 8}, {"layout", false, 4},
                   {"min", true, 8}, {"max", true, 8}, {"mean", true, 7},   {"nan", true},
                   {"inf", true},    {"problem"}};
  const auto count = [](int64_t n) { return n == 0 ? std::string() : std::to_string(n); };
  for (const Entry* entry : report.tensors) {
    const ScannedTensor* t = f.scanned_of(entry);
    if (t == nullptr) continue;
    std::vector<std::string> cells{slot_text(*entry), printable(t->dtype),
                                   t->shape ? to_string(*t->shape) : "", layout_text(*entry)};
    for (std::string& cell : range_cells(*t)) cells.push_back(std::move(cell));
    cells.insert(cells.end(), {count(t->nan), count(t->positive_inf + t->negative_inf),
                               t->error ? printable(t->error->what) : ""});
    table.rows.push_back(std::move(cells));
  }
  const size_t width = terminal_width();
  return table.rows.empty() ? "" : indented(table.render(width > 2 ? width - 2 : 0));
}

void print_more(size_t all, size_t shown, std::string_view noun) {
  if (all > shown) fmt::print("... {}: --all shows them\n", counted(all - shown, noun));
}

void print_records(const Findings& f, size_t most) {
  const size_t shown = std::min(most, f.records.reports.size());
  for (size_t i = 0; i < shown; ++i) {
    const OverflowReport& report = f.records.reports[i];
    fmt::print("\nrecord {} of {}, time {}: {}\n  {}\n", i + 1, f.records.reports.size(),
               report.record->timestamp, unit_text(report.unit), operator_of(f, report));
    fmt::print("{}", record_table(f, report));
  }
  print_more(f.records.reports.size(), shown, "more record");
}

void print_operators(const Findings& f, size_t most) {
  const size_t shown = std::min(most, f.scan.operators.size());
  if (shown == 0) return;
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
           e.step && f.several_steps ? std::to_string(*e.step) : "",
           e.rank && f.several_ranks ? std::to_string(*e.rank) : "", printable(e.operator_name),
           printable(e.type), slot_text(e), symptoms_text(t), printable(t.dtype),
           t.shape ? to_string(*t.shape) : "", range[0], range[1], origin_text(f, op)});
      if (colour_is_wanted()) table.colours.push_back(colour_of(op.origin));
    }
  }
  fmt::print("\n{}", table.render(terminal_width()));
  print_more(f.scan.operators.size(), shown, "more operator");
}

// ---- JSON ----

Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json error_json(const Error& error) {
  return {{"what", error.what}, {"where", error.where}, {"try", error.remedy}};
}

Json place_json(const Entry& e) {
  return {{"operator", e.operator_name},   {"type", e.type},   {"step", optional_json(e.step)},
          {"rank", optional_json(e.rank)}, {"graph", e.graph}, {"timestamp", e.timestamp}};
}

Json tensor_json(const ScannedTensor& t) {
  Json json{{"slot", to_string(t.entry->slot)},
            {"file", t.entry->parts.empty() ? t.entry->record : t.entry->parts.front().file},
            {"dtype", t.dtype},
            {"shape", optional_json(t.shape)},
            {"layout", layout_text(*t.entry)}};
  if (t.stats) {
    const bool any = t.stats->finite > 0;
    json["count"] = t.stats->count;
    json["min"] = any ? number_json(static_cast<double>(t.stats->min)) : Json();
    json["max"] = any ? number_json(static_cast<double>(t.stats->max)) : Json();
    json["mean"] = any ? number_json(t.stats->mean) : Json();
    json["nan"] = t.nan;
    json["inf"] = t.positive_inf + t.negative_inf;
    json["at_limit"] = t.at_limit;
  } else if (t.entry->statistics) {
    const auto known = [](const std::optional<double>& v) { return v ? number_json(*v) : Json(); };
    json["recorded"] = {{"min", known(t.entry->statistics->min)},
                        {"max", known(t.entry->statistics->max)},
                        {"mean", known(t.entry->statistics->mean)}};
  }
  if (t.error) json["error"] = error_json(*t.error);
  return json;
}

Json record_json(const Findings& f, const OverflowReport& report) {
  Json json{{"file", report.record->parts.front().file},
            {"timestamp", report.record->timestamp},
            {"unit", report.unit.name}};
  for (const io::OverflowField& field : report.unit.fields)
    json[std::string(field.name)] =
        field.name == "status" ? Json(field.values) : Json(field.values.front());
  json["dump"] = report.dump_file.empty() ? Json() : Json(report.dump_file);
  json["operator"] = report.tensors.empty() ? Json() : place_json(*report.tensors.front());
  json["tensors"] = Json::array();
  for (const Entry* entry : report.tensors)
    if (const ScannedTensor* t = f.scanned_of(entry)) json["tensors"].push_back(tensor_json(*t));
  return json;
}

Json json_of(const Findings& f) {
  Json records = Json::array(), operators = Json::array(), totals, damaged = Json::array();
  for (const OverflowReport& report : f.records.reports) records.push_back(record_json(f, report));
  for (const OverflowedOperator& op : f.scan.operators) {
    Json json = place_json(f.entry_of(op));
    json["origin"] = name_of(op.origin);
    json["from"] = Json::array();
    for (size_t i : op.from) json["from"].push_back(to_string(f.scan.tensors[i].entry->slot));
    json["tensors"] = Json::array();
    for (size_t i : op.tensors) json["tensors"].push_back(tensor_json(f.scan.tensors[i]));
    operators.push_back(std::move(json));
  }
  totals["tensors"] = f.scan.tensors.size();
  totals["not_seen"] = f.blind;
  totals["not_sure"] = f.unsure;
  constexpr const char* kKeys[] = {"nan", "inf", "at_limit"};
  for (Symptom symptom : kSymptoms) {
    const Total total = total_of(f, symptom);
    totals[kKeys[static_cast<size_t>(symptom)]] = {{"tensors", total.tensors},
                                                   {"by_dtype", total.by_dtype}};
  }
  for (const ScannedTensor& t : f.scan.tensors)
    if (t.error) damaged.push_back(error_json(*t.error));
  for (const Error& error : f.records.damaged) damaged.push_back(error_json(error));
  for (const dump::Skipped& skipped : f.set.skipped)
    if (skipped.error) damaged.push_back(error_json(*skipped.error));
  Json first;
  const bool by_record = !f.records.reports.empty() && !f.records.reports.front().tensors.empty();
  if (by_record)
    first = place_json(*f.records.reports.front().tensors.front());
  else if (f.records.reports.empty() && f.first_in_data() != nullptr)
    first = place_json(f.entry_of(*f.first_in_data()));
  return {{"schema", "plumb.overflow/1"},
          {"tool", {{"name", "plumb"}, {"version", PLUMB_VERSION}}},
          {"path", f.path},
          {"convention", f.set.convention},
          {"verdict", f.verdict()},
          {"first", std::move(first)},
          {"records", std::move(records)},
          {"operators", std::move(operators)},
          {"totals", std::move(totals)},
          {"damaged", std::move(damaged)}};
}

Result<void> write_json(const Findings& f, const std::string& path) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(json_of(f).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  return sink->commit();
}

// As far as it is known without opening the files.
int64_t bytes_of(const dump::DumpSet& set, const std::vector<const Entry*>& entries) {
  uint64_t total = 0;
  for (const Entry* entry : entries) {
    std::error_code failed;
    if (entry->info) {
      total += entry->info->size_bytes;
    } else if (!entry->parts.empty() && entry->parts.front().tensor.empty()) {
      const auto size = std::filesystem::file_size(set.root / entry->parts.front().file, failed);
      total += failed ? 0 : size;
    }
  }
  return static_cast<int64_t>(total);
}

}  // namespace

int run_overflow(int argc, char** argv, RunContext& context) {
  Options options(
      "overflow",
      "Find the operator that overflowed first: by the device's overflow records, and by\n"
      "NaN, infinities and values at the limit of their type in the tensors.",
      "examples\n"
      "  plumb overflow npu_dump/\n"
      "  plumb overflow npu_dump/ --step 0 --all --json overflow.json\n"
      "exit status: 0 nothing overflowed, 1 something did or not all could be\n"
      "read or is recorded, 2 nothing could be read");
  std::vector<std::string> paths;
  std::string output;
  int top = 5;
  bool all = false;
  SelectionOptions selecting;
  const dump::Selection& selection = selecting.selection;
  CommonOptions common;
  options.arguments("DIR", paths, "dump directory, or a file");
  selecting.declare(options);
  options.group("output");
  options.count("--top", "N", top, "records and operators to show (default: 5)");
  options.flag("--all", all, "show all of them");
  options.text("-o,--json", "FILE", output, "write all of them as JSON");
  common.declare(options);
  if (auto status = options.parse(argc, argv)) return *status;
  if (paths.size() != 1)
    return fail_with({"one path at a time", fmt::format("plumb overflow {}", fmt::join(paths, " ")),
                      "call it once for each"});
  if (auto writer = report::writer_for(output); writer && (*writer)->name != "json")
    return fail_with({"the findings are written as JSON only", "-o " + output,
                      "name a file that ends in .json"});
  const NamedPath outputs[] = {{"-o/--json", output}}, inputs[] = {{"DIR", paths[0]}};
  if (auto checked = check_outputs(outputs, inputs); !checked) return fail_with(checked.error());
  auto hints = selecting.hints();
  if (!hints) return fail_with(hints.error());
  std::optional<tbb::global_control> limit;
  if (common.jobs > 0)
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(common.jobs));

  auto set = dump::open_dump(paths[0], *hints, selecting.convention);
  if (!set) return fail_with(set.error());
  std::vector<const Entry*> wanted;
  bool any_tensor = false;
  for (const Entry& entry : set->entries) {
    const bool is_tensor = !is_overflow_record(entry);
    any_tensor |= is_tensor;
    if (is_tensor && selection.wants(entry)) wanted.push_back(&entry);
  }
  if (wanted.empty() && any_tensor)
    return fail_with({"no tensor matches", paths[0],
                      "check --op, --slot, --step and --rank; without them all are looked at"});

  Findings f{paths[0], *set, read_overflow_reports(*set, *hints), {}, {}, 0, 0, 0, false,
             false,    false};
  // Of an operator that the user did not ask for.
  std::erase_if(f.records.reports, [&](const OverflowReport& report) {
    return !report.tensors.empty() &&
           std::none_of(report.tensors.begin(), report.tensors.end(),
                        [&](const Entry* entry) { return selection.wants(*entry); });
  });
  const int64_t bytes = bytes_of(*set, wanted);
  {
    ProgressBar bar(context, common, bytes);
    f.scan = scan::scan_overflow(*set, std::move(wanted), *hints, context);
  }
  if (context.cancelled) print_warning("interrupted: not all tensors were looked at");
  for (const ScannedTensor& tensor : f.scan.tensors) {
    f.scanned.emplace(tensor.entry, &tensor);
    f.damaged += tensor.error.has_value();
    f.blind += tensor.is_blind;
    f.unsure += tensor.is_unsure;
  }
  f.interrupted = context.cancelled;
  for (const ScannedTensor& tensor : f.scan.tensors) {
    f.several_steps |= tensor.entry->step != f.scan.tensors.front().entry->step;
    f.several_ranks |= tensor.entry->rank != f.scan.tensors.front().entry->rank;
  }
  const size_t damaged_tensors = f.damaged;
  f.damaged += f.records.damaged.size();
  for (const dump::Skipped& skipped : set->skipped) f.damaged += skipped.error.has_value();
  const bool anything = f.scan.tensors.size() > damaged_tensors || f.records.records > 0;
  if (!anything && f.damaged == 0)
    return fail_with(
        {"there is no tensor in it", paths[0],
         "`plumb formats` lists what can be read; raw data needs --dtype and --shape"});

  if (anything) {
    const size_t most = all ? SIZE_MAX : static_cast<size_t>(top);
    print_head(f, bytes);
    print_records(f, most);
    print_operators(f, most);
  }
  if (!common.quiet) {
    for (const std::string& warning : set->warnings) print_warning(warning);
    for (const std::string& warning : f.records.warnings) print_warning(warning);
  }
  for (const ScannedTensor& tensor : f.scan.tensors)
    if (tensor.error) print_error(*tensor.error);
  for (const Error& error : f.records.damaged) print_error(error);
  for (const dump::Skipped& skipped : set->skipped)
    if (skipped.error) print_error(*skipped.error);
  if (!output.empty())
    if (auto written = write_json(f, output); !written) return fail_with(written.error());
  if (!anything) return kTrouble;
  return f.verdict() == "clean" ? kAgreement : kDifference;
}

}  // namespace plumb::cli
