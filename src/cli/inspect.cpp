// SPDX-License-Identifier: Apache-2.0
//
// `plumb inspect PATH`: what is in this file or directory. Headers only, unless --stats.
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "report/table.h"
#include "scan/measure.h"

namespace plumb::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::printable;
using report::Table;

struct Row {
  const dump::Entry* entry;
  std::optional<TensorInfo> info;
  std::optional<scan::Measured> measured;
  std::optional<Error> error;
};

// Slices count as the one tensor they are parts of.
Result<void> add_slices(const dump::DumpSet& set, const dump::Entry& entry,
                        const io::ReadHints& hints, TensorInfo& info) {
  for (size_t i = 1; i < entry.parts.size(); ++i) {
    auto file = dump::open_part(set, entry.parts[i], hints);
    if (!file) return file.error();
    auto part = dump::find_tensor(*file, entry.parts[i].tensor);
    if (!part) return part.error();
    if (entry.join_axis < info.shape.size() && entry.join_axis < (*part)->shape.size())
      info.shape[entry.join_axis] += (*part)->shape[entry.join_axis];
    info.size_bytes += (*part)->size_bytes;
  }
  return {};
}

Row read_header(const dump::DumpSet& set, const dump::Entry& entry, const io::ReadHints& hints) {
  Row row{&entry, {}, {}, {}};
  if (entry.info) row.info = *entry.info;
  if (!row.info && !entry.parts.empty()) {
    const dump::TensorRef& ref = entry.parts.front();
    auto file = dump::open_part(set, ref, hints);
    auto info =
        file ? dump::find_tensor(*file, ref.tensor) : Result<const TensorInfo*>(file.error());
    if (!info) {
      row.error = info.error();
      return row;
    }
    row.info = **info;
  }
  if (row.info)
    if (auto joined = add_slices(set, entry, hints, *row.info); !joined) row.error = joined.error();
  if (row.info && row.info->error) {
    row.error = std::move(*row.info->error).in((set.root / entry.parts.front().file).string());
    // An archive's member whose header cannot be read is a name and a problem, nothing else.
    if (row.info->size_bytes == 0 && row.info->shape.empty()) row.info.reset();
  }
  return row;
}

// Puts the tensor's name behind the file's, where the error is about one tensor of several.
Error name_tensor(Error error, const dump::DumpSet& set, const dump::Entry& entry) {
  const dump::TensorRef& part = entry.parts.front();
  const std::string file = (set.root / part.file).string() + ", ";
  const std::string tensor = fmt::format("tensor '{}'", part.tensor);
  if (part.tensor.empty() || !error.where.starts_with(file)) return error;
  error.where.erase(0, file.size());
  if (!error.where.starts_with(tensor)) error = std::move(error).in(tensor);
  error.where.insert(0, file);
  return error;
}

const Shape* shape_of(const Row& row) {
  if (row.measured) return &row.measured->shape;
  if (row.info) return row.info->logical_shape ? &*row.info->logical_shape : &row.info->shape;
  return row.entry->recorded_shape ? &*row.entry->recorded_shape : nullptr;
}

std::string dtype_of(const Row& row) {
  return row.info ? dtype_text(*row.info) : row.entry->dtype_text;
}

// The layout, with the stored shape when that is not the logical one: "NC1HWC0 [1, 2, 3, 4, 16]".
std::string layout_of(const Row& row) {
  if (!row.info || row.info->layout == kPlainLayout) return "";
  std::string text = name_of(row.info->layout);
  if (row.info->layout.groups > 1) text += fmt::format(":{}", row.info->layout.groups);
  if (shape_of(row) != nullptr && *shape_of(row) != row.info->shape)
    text += " " + to_string(row.info->shape);
  return text;
}

int64_t stored_bytes(const Row& row) {
  return row.info ? static_cast<int64_t>(row.info->size_bytes) : 0;
}

std::string number(long double value) { return fmt::format("{:.6g}", static_cast<double>(value)); }

// Extremes of integers to the last digit, others to six.
std::string extreme(const scan::Measured& m, long double value) {
  return kind_of(m.dtype) == DKind::kFloat || kind_of(m.dtype) == DKind::kComplex
             ? number(value)
             : fmt::format("{:.0f}", value);
}

std::string sparkline(const metrics::Histogram& histogram) {
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
std::vector<std::string> statistics_of(const Row& row) {
  const auto known = [](const std::optional<double>& v) { return v ? number(*v) : ""; };
  if (!row.measured || row.measured->stats.count == 0 || row.measured->dtype == DType::kOpaque) {
    const auto& e = *row.entry;
    const auto recorded = e.statistics ? *e.statistics : dump::RecordedStatistics{};
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
  const scan::Measured& m = *row.measured;
  const bool any = m.stats.finite > 0;
  return {any ? extreme(m, m.stats.min) : "",
          any ? extreme(m, m.stats.max) : "",
          any ? number(m.stats.mean) : "",
          any ? number(m.stats.standard_deviation()) : "",
          any ? number(m.stats.l2()) : "",
          count_text(m.stats.zeros),
          count_text(m.stats.nan),
          count_text(m.stats.inf()),
          sparkline(m.histogram)};
}

Table table_of(const std::vector<Row>& rows, bool stats) {
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
  for (const Row& row : rows) {
    const dump::Entry& e = *row.entry;
    std::vector<std::string> cells{
        e.rank ? std::to_string(*e.rank) : "",
        e.step ? std::to_string(*e.step) : "",
        printable(e.graph),
        printable(e.operator_name),
        printable(e.type),
        printable(to_string(e.slot)),
        printable(dtype_of(row)),
        shape_of(row) != nullptr ? to_string(*shape_of(row)) : "",
        layout_of(row),
        row.info ? bytes_text(static_cast<double>(stored_bytes(row))) : ""};
    if (stats)
      for (std::string& cell : statistics_of(row)) cells.push_back(std::move(cell));
    cells.push_back(row.error ? printable(row.error->what) : "");
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// rank > step > graph > operator > slots, as an indented tree.
std::string tree_of(const std::vector<Row>& rows, bool stats) {
  std::string text, place, name;
  for (const Row& row : rows) {
    const dump::Entry& e = *row.entry;
    std::string here;
    if (e.rank) here += fmt::format("rank {}  ", *e.rank);
    if (e.step) here += fmt::format("step {}  ", *e.step);
    here += printable(e.graph);
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
                        printable(dtype_of(row)),
                        shape_of(row) != nullptr ? to_string(*shape_of(row)) : "",
                        layout_of(row).empty() ? "" : "  " + layout_of(row),
                        row.error ? "  PROBLEM: " + printable(row.error->what) : "");
    if (!stats) continue;
    std::string line;
    const auto cells = statistics_of(row);
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
    text += fmt::format("  {:>12} {:>10} {}\n", number(low), n, bar);
  }
  return text;
}

Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json extreme_json(DType dtype, long double value) {
  if (kind_of(dtype) != DKind::kInteger) return number_json(static_cast<double>(value));
  return value < 0 ? Json(static_cast<int64_t>(value)) : Json(static_cast<uint64_t>(value));
}

Json stats_json(const scan::Measured& m) {
  const metrics::TensorStats& s = m.stats;
  Json json;
  const bool any = s.finite > 0 && m.dtype != DType::kOpaque;
  json["count"] = s.count;
  json["min"] = any ? extreme_json(m.dtype, s.min) : Json();
  json["max"] = any ? extreme_json(m.dtype, s.max) : Json();
  json["mean"] = any ? number_json(s.mean) : Json();
  json["std"] = any ? number_json(s.standard_deviation()) : Json();
  json["l2"] = any ? number_json(s.l2()) : Json();
  json["zeros"] = s.zeros;
  json["nan"] = s.nan;
  json["inf"] = s.inf();
  if (any)
    json["histogram"] = {{"low", number_json(m.histogram.low)},
                         {"high", number_json(m.histogram.high)},
                         {"counted", m.histogram.counted},
                         {"bins", m.histogram.bins}};
  return json;
}

Json error_json(const Error& error) {
  return {{"what", error.what}, {"where", error.where}, {"try", error.remedy}};
}

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const dump::DumpSet& set, const std::vector<Row>& rows) {
  Json tensors = Json::array();
  for (const Row& row : rows) {
    const dump::Entry& e = *row.entry;
    Json json{{"operator", e.operator_name},   {"type", e.type},
              {"slot", to_string(e.slot)},     {"step", optional_json(e.step)},
              {"rank", optional_json(e.rank)}, {"graph", e.graph}};
    json["files"] = Json::array();
    for (const dump::TensorRef& part : e.parts) json["files"].push_back(part.file);
    json["tensor"] = e.parts.empty() ? "" : e.parts.front().tensor;
    json["dtype"] = dtype_of(row);
    json["shape"] = shape_of(row) != nullptr ? Json(*shape_of(row)) : Json();
    if (row.info) {
      json["layout"] = name_of(row.info->layout);
      json["stored_shape"] = row.info->shape;
      json["bytes"] = row.info->size_bytes;
      if (!row.info->notes.empty()) json["notes"] = row.info->notes;
    }
    if (row.measured) json["stats"] = stats_json(*row.measured);
    if (e.statistics) {
      const auto known = [](const std::optional<double>& v) {
        return v ? number_json(*v) : Json();
      };
      json["recorded"] = {{"min", known(e.statistics->min)},
                          {"max", known(e.statistics->max)},
                          {"mean", known(e.statistics->mean)},
                          {"std", known(e.statistics->std)},
                          {"l2", known(e.statistics->l2)},
                          {"zeros", optional_json(e.statistics->zeros)},
                          {"nan", optional_json(e.statistics->nan_count)},
                          {"inf", optional_json(e.statistics->inf_count)},
                          {"checksum", e.statistics->checksum},
                          {"text", e.statistics->text},
                          {"sketch", e.statistics->has_sketch}};
    }
    if (row.error) json["error"] = error_json(*row.error);
    tensors.push_back(std::move(json));
  }
  Json skipped = Json::array();
  for (const dump::Skipped& s : set.skipped) {
    skipped.push_back({{"file", s.file}, {"reason", s.reason}});
    if (s.error) skipped.back()["error"] = error_json(*s.error);
  }
  return {
      {"schema", "plumb.inspect/1"},   {"tool", {{"name", "plumb"}, {"version", PLUMB_VERSION}}},
      {"path", set.root.string()},     {"convention", set.convention},
      {"tensors", std::move(tensors)}, {"skipped", std::move(skipped)},
      {"warnings", set.warnings}};
}

// `--json FILE` is how all commands spell it, and `--json PATH` what fingers type. The word after
// --json is the output if it ends in .json and the path to inspect is named as well.
std::string take_json_file(int argc, char** argv, std::vector<std::string>& paths) {
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string word = argv[i + 1];
    const auto found = std::find(paths.begin(), paths.end(), word);
    if (std::string_view(argv[i]) != "--json" || paths.size() < 2 || !word.ends_with(".json") ||
        found == paths.end())
      continue;
    paths.erase(found);
    return word;
  }
  return "";
}

void print_summary(const std::string& path, const dump::DumpSet& set, const std::vector<Row>& rows,
                   size_t damaged) {
  std::set<std::string> operators;
  int64_t bytes = 0;
  for (const Row& row : rows) {
    operators.insert(row.entry->operator_name);
    bytes += stored_bytes(row);
  }
  fmt::print("{}: {}, {}, {}, {}", path, set.convention, counted(operators.size(), "operator"),
             counted(rows.size(), "tensor"), bytes_text(static_cast<double>(bytes)));
  if (damaged > 0) fmt::print(", {} damaged", damaged);
  const auto others = std::count_if(set.skipped.begin(), set.skipped.end(),
                                    [](const dump::Skipped& s) { return !s.error; });
  if (others > 0) fmt::print(", {}", counted(static_cast<size_t>(others), "other file"));
  fmt::print("\n");
}

// Why files are not in the list, most frequent reason first.
void print_left_out(const dump::DumpSet& set) {
  std::map<std::string, size_t> reasons;
  for (const dump::Skipped& skipped : set.skipped)
    if (!skipped.error) ++reasons[skipped.reason];
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto& [count, reason] : sorted)
    fmt::print("left out: {}, {}\n", counted(count, "file"), printable(reason));
}

}  // namespace

int run_inspect(int argc, char** argv, RunContext& context) {
  Options options("inspect", "Show what is in a tensor file or a dump directory.",
                  "examples\n"
                  "  plumb inspect npu_dump/\n"
                  "  plumb inspect model.safetensors --stats --op '*.weight'\n"
                  "  plumb inspect output.bin --dtype float32 --shape 1,1000 --stats\n"
                  "exit status: 0 all readable, 1 some tensor is damaged, 2 nothing could be read");
  std::vector<std::string> paths;
  std::string output;
  bool stats = false, tree = false, json = false;
  SelectionOptions selecting;
  const dump::Selection& selection = selecting.selection;
  CommonOptions common;
  options.arguments("PATH", paths, "file or directory");
  selecting.declare(options);
  options.group("output");
  options.flag("--stats", stats,
               "read the data: min, max, mean, std, l2, zeros,\nNaN, infinities, histogram");
  options.flag("--tree", tree, "a tree instead of a table");
  options.flag("--json", json, "JSON on stdout, or into the FILE.json that follows");
  options.text("-o", "FILE", output, "write the JSON to FILE");
  common.declare(options);
  if (auto status = options.parse(argc, argv)) return *status;
  if (std::string file = take_json_file(argc, argv, paths); !file.empty()) output = file;
  if (paths.size() != 1) {
    print_error({"one path at a time", fmt::format("plumb inspect {}", fmt::join(paths, " ")),
                 "call it once for each"});
    return kTrouble;
  }
  const NamedPath outputs[] = {{json ? "--json" : "-o", output}}, inputs[] = {{"PATH", paths[0]}};
  if (auto checked = check_outputs(outputs, inputs); !checked) {
    print_error(checked.error());
    return kTrouble;
  }
  auto hints = selecting.hints();
  if (!hints) {
    print_error(hints.error());
    return kTrouble;
  }
  std::optional<tbb::global_control> limit;
  if (common.jobs > 0)
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(common.jobs));

  auto set = dump::open_dump(paths[0], *hints, selecting.convention);
  if (!set) {
    print_error(set.error());
    return kTrouble;
  }
  std::vector<Row> rows;
  for (const dump::Entry& entry : set->entries)
    if (selection.wants(entry)) rows.push_back({&entry, {}, {}, {}});
  if (rows.empty() && !set->entries.empty()) {
    print_error({"no tensor matches", paths[0],
                 "check --op, --slot, --step and --rank; without them `plumb inspect` shows all"});
    return kTrouble;
  }
  if (rows.empty() && std::none_of(set->skipped.begin(), set->skipped.end(),
                                   [](const dump::Skipped& s) { return s.error.has_value(); })) {
    const std::string left_out = set->skipped.empty()
                                     ? ""
                                     : fmt::format(": {} left out, the first is {} ({})",
                                                   counted(set->skipped.size(), "file"),
                                                   set->skipped[0].file, set->skipped[0].reason);
    print_error({"there is no tensor in it", paths[0] + left_out,
                 "`plumb formats` lists what can be read; raw data needs --dtype and --shape"});
    return kTrouble;
  }
  tbb::parallel_for(size_t{0}, rows.size(), [&](size_t i) {
    if (!context.cancelled) rows[i] = read_header(*set, *rows[i].entry, *hints);
  });
  if (stats) {
    int64_t total = 0;
    for (const Row& row : rows) total += stored_bytes(row);
    ProgressBar bar(context, common, total);
    tbb::parallel_for(size_t{0}, rows.size(), [&](size_t i) {
      Row& row = rows[i];
      if (row.error || row.entry->parts.empty() || context.cancelled) return;
      auto measured = scan::measure(*set, *row.entry, *hints, context);
      if (measured)
        row.measured = std::move(*measured);
      else
        row.error = name_tensor(measured.error(), *set, *row.entry);
    });
  }
  if (context.cancelled) print_warning("interrupted: statistics are missing where none are shown");

  size_t damaged = 0;
  for (const Row& row : rows) damaged += row.error.has_value();
  for (const dump::Skipped& skipped : set->skipped) damaged += skipped.error.has_value();

  if (json || !output.empty()) {
    const std::string text =
        json_of(*set, rows).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (output.empty()) {
      fmt::print("{}", text);
    } else {
      auto sink = FileSink::create(output);
      if (sink) sink->write(text);
      auto written = sink ? sink->commit() : Result<void>(sink.error());
      if (!written) {
        print_error(written.error());
        return kTrouble;
      }
    }
  } else {
    if (!rows.empty()) {
      print_summary(paths[0], *set, rows, damaged);
      fmt::print("{}",
                 tree ? tree_of(rows, stats) : table_of(rows, stats).render(terminal_width()));
    }
    print_left_out(*set);
    if (rows.size() == 1 && rows[0].measured) fmt::print("{}", histogram_text(*rows[0].measured));
    if (rows.size() == 1 && rows[0].info)
      for (const std::string& note : rows[0].info->notes) fmt::print("note: {}\n", printable(note));
  }
  if (!common.quiet)
    for (const std::string& warning : set->warnings) print_warning(warning);
  for (const Row& row : rows)
    if (row.error) print_error(*row.error);
  for (const dump::Skipped& skipped : set->skipped)
    if (skipped.error) print_error(*skipped.error);
  if (damaged == 0) return kAgreement;
  const bool anything =
      std::any_of(rows.begin(), rows.end(), [](const Row& r) { return !r.error; });
  return anything ? kDifference : kTrouble;
}

}  // namespace plumb::cli
