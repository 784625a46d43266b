// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison.h"

#include <algorithm>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "base/nearest.h"
#include "cli/terminal.h"
#include "report/terminal.h"
#include "report/writer.h"

namespace plumb::cli {

using metrics::Metric;

void OutputWishes::declare(Options& options) {
  options.group("output");
  options.texts("-o", "FILE", outputs, "write .xlsx, .csv, .json, .md or .junit.xml; repeatable");
  options.text("--json", "FILE", json,
               "write the result as JSON; '-' prints it instead of the\ntable");
  options.flag("--all", all, "show passing rows too");
  options.choice("--color", "WHEN", colour, {"auto", "always", "never"}, "auto, always or never");
}

Result<void> OutputWishes::check() const {
  for (const std::string& output : outputs)
    if (auto writer = report::writer_for(output); !writer) return writer.error();
  return {};
}

std::vector<NamedPath> OutputWishes::paths() const {
  std::vector<NamedPath> named;
  for (const std::string& path : outputs) named.push_back({"-o", path});
  if (json != "-") named.push_back({"--json", json});
  return named;
}

std::vector<std::string> split_lists(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (size_t at = 0; at <= list.size();) {
      const size_t end = std::min(list.find(',', at), list.size());
      words.push_back(list.substr(at, end - at));
      at = end + 1;
    }
  }
  return words;
}

Result<void> check_allowed(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (word != "inconclusive" && word != "missing")
      return Error{"unknown word '" + word + "'", "--allow " + word, "use inconclusive or missing"};
  return {};
}

Result<std::vector<const Metric*>> named_metrics(const std::vector<std::string>& words) {
  std::vector<const Metric*> found;
  std::vector<std::string> names;
  for (const Metric& metric : metrics::metrics()) names.emplace_back(metric.name);
  for (const std::string& name : words) {
    const Metric* metric = metrics::metric_by_name(name);
    if (name == "all") {
      for (const Metric& each : metrics::metrics()) found.push_back(&each);
    } else if (metric != nullptr) {
      found.push_back(metric);
    } else {
      return Error{"unknown metric '" + name + "'", "--metrics " + name,
                   did_you_mean(name, names) + "`plumb metrics` lists all of them"};
    }
  }
  return found;
}

std::vector<const Metric*> columns_for(const std::vector<const Metric*>& wanted,
                                       const judge::Rules& rules) {
  std::vector<const Metric*> columns;
  const std::vector<const Metric*> judged = rules.metrics();
  const auto contains = [](const std::vector<const Metric*>& list, const Metric* metric) {
    return std::find(list.begin(), list.end(), metric) != list.end();
  };
  for (const Metric& metric : metrics::metrics()) {
    const bool is_free = wanted.empty() && metric.needs == metrics::Needs::kSums;
    if (is_free || contains(wanted, &metric) || contains(judged, &metric))
      columns.push_back(&metric);
  }
  return columns;
}

result::InputSide input_side(const std::string& path, const dump::DumpSet& set) {
  result::InputSide side{path, set.convention, set.warnings, 0};
  for (const dump::Skipped& skipped : set.skipped) side.files_left_out += !skipped.error;
  return side;
}

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

int64_t bytes_of(const compare::Sides& sides, const std::vector<pair::PlannedRow>& plan) {
  int64_t total = 0;
  const auto add = [&](const dump::DumpSet& set, const dump::Entry& entry) {
    std::error_code unknown;
    for (const dump::TensorRef& part : entry.parts) {
      const uintmax_t size = file_size(set.root / part.file, unknown);
      if (!unknown)
        total += static_cast<int64_t>(entry.info ? std::min(size, entry.info->size_bytes) : size);
    }
  };
  for (const pair::PlannedRow& row : plan) {
    if (!row.reason.empty()) continue;
    add(sides.target, *row.target);
    add(sides.golden_of(row), *row.golden);
  }
  return total;
}

int exit_status(const result::Run& run, const std::vector<std::string>& allowed) {
  switch (judge::outcome_of(run, judge::allowance_from(allowed).value())) {
    case judge::Outcome::kAgreement: return kAgreement;
    case judge::Outcome::kDifference: return kDifference;
    case judge::Outcome::kTrouble: break;
  }
  return kTrouble;
}

bool wants_colour(const OutputWishes& wishes) {
  return wishes.colour == "always" || (wishes.colour == "auto" && colour_is_wanted());
}

bool print_json(const result::Run& run, const OutputWishes& wishes) {
  if (wishes.json != "-") return false;
  report::writer_for("result.json").value()->write(run, [](std::string_view text) {
    fmt::print("{}", text);
  });
  return true;
}

bool write_files(const result::Run& run, const OutputWishes& wishes) {
  std::vector<std::pair<const report::Writer*, std::string>> files;
  for (const std::string& output : wishes.outputs)
    files.emplace_back(*report::writer_for(output), output);
  if (!wishes.json.empty() && wishes.json != "-")
    files.emplace_back(*report::writer_for("result.json"), wishes.json);
  std::vector<Result<void>> written(files.size());
  tbb::parallel_for(size_t{0}, files.size(), [&](size_t i) {
    written[i] = report::write_file(run, *files[i].first, files[i].second);
  });
  bool all_written = true;
  for (const Result<void>& file : written) {
    if (!file) print_error(file.error());
    all_written &= file.ok();
  }
  return all_written;
}

bool present(const result::Run& run, const OutputWishes& wishes,
             const std::vector<const Metric*>& wanted) {
  report::TerminalStyle style;
  style.width = terminal_width();
  style.colour = wants_colour(wishes);
  style.all = wishes.all;
  if (!wanted.empty()) {
    style.metrics.clear();
    for (const Metric* metric : wanted) style.metrics.emplace_back(metric->name);
  }
  if (!print_json(run, wishes)) fmt::print("{}", report::render(run, style));
  // What was found is on the screen before anything can go wrong with a file.
  return write_files(run, wishes);
}

}  // namespace plumb::cli
