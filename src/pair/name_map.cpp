// SPDX-License-Identifier: Apache-2.0
#include "pair/name_map.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/file_sink.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/toml_text.h"

namespace plumb::pair {
namespace {

constexpr const char* kForm =
    "write a line \"target operator,golden operator\" for each pair, with the two slots behind "
    "them "
    "for a single tensor (CSV), or the table [pairs] with \"target operator\" = \"golden "
    "operator\" and [tensors] with \"operator output:0\" = \"operator output:0\" (TOML)";

// Both names have to be there, and each only once: a tensor is in one row. A golden tensor may
// belong to several of the target: to the output that makes it and the inputs that read it.
class Builder {
 public:
  Result<void> add(std::string target, std::string golden, const std::string& where) {
    if (target.empty() || golden.empty())
      return Error{"a pair of the map is not complete", where, kForm};
    if (!goldens_.insert(golden).second)
      return Error{"a golden operator is in two pairs of the map", where + ": " + golden,
                   "pair each operator once"};
    if (!map_.operators.emplace(target, std::move(golden)).second)
      return Error{"a target operator is in two pairs of the map", where + ": " + target,
                   "pair each operator once"};
    return {};
  }
  Result<void> add(const std::optional<TensorName>& target, std::optional<TensorName> golden,
                   const std::string& where) {
    if (!target || !golden) return Error{"a pair of the map is not complete", where, kForm};
    std::string text = tensor_text(target->op, target->slot);
    if (!map_.tensors.emplace(text, std::move(*golden)).second)
      return Error{"a target tensor is in two pairs of the map", where + ": " + text,
                   "pair each tensor once"};
    map_.tensor_operators.insert(target->op);
    return {};
  }
  NameMap take() { return std::move(map_); }

 private:
  NameMap map_;
  std::set<std::string> goldens_;
};

std::optional<TensorName> tensor_from(std::string_view op, std::string_view slot) {
  auto parsed = dump::slot_from_text(slot);
  if (op.empty() || !parsed) return std::nullopt;
  return TensorName{std::string(op), std::move(*parsed)};
}
// "conv1 output:0".
std::optional<TensorName> tensor_from(std::string_view text) {
  const size_t blank = std::min(text.rfind(' '), text.size());
  return tensor_from(text.substr(0, blank), text.substr(std::min(blank + 1, text.size())));
}

// Of whole operators or, with the two slots behind them, of tensors.
Result<void> add_record(const CsvReader& record, bool may_be_header, const std::string& where,
                        Builder& builder) {
  std::vector<std::string> cells = record.cells();
  cells.resize(std::max<size_t>(cells.size(), 4));
  if (may_be_header && cells[0] == "target" && cells[1] == "golden") return {};
  if (record.open_quote() || record.closes_early())
    return Error{"a quoted cell of the map is not closed", where, kForm};
  if (cells.size() > 5 || (cells.size() == 5 && !cells[4].empty()))
    return Error{"a line of the map has more than four cells", where, kForm};
  if (cells[2].empty() && cells[3].empty()) return builder.add(cells[0], cells[1], where);
  return builder.add(tensor_from(cells[0], cells[2]), tensor_from(cells[1], cells[3]), where);
}

Result<void> check_side(const std::set<std::string>& wanted, const dump::DumpSet& set,
                        std::string_view side) {
  std::set<std::string> known;
  for (const dump::Entry& entry : set.entries) known.insert(entry.operator_name);
  for (const std::string& name : wanted) {
    if (known.contains(name)) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    return Error{fmt::format("the map names an operator that {} does not have", side), name,
                 did_you_mean(name, names) + "`plumb inspect` lists the operators"};
  }
  return {};
}

}  // namespace

Result<NameMap> parse_name_map_csv(std::string_view text) {
  Builder builder;
  bool may_be_header = true;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.starts_with('#')) continue;
    for (CsvReader record(line); record.next();) {
      const bool is_first = std::exchange(may_be_header, false);
      auto added = add_record(record, is_first, fmt::format("line {}", number), builder);
      if (!added) return added.error();
    }
  }
  return builder.take();
}

std::string name_map_csv(const std::vector<TensorPair>& pairs) {
  // A line that starts with # is a comment.
  const auto add = [](std::string& text, std::string_view cell) {
    cell.find('#') == cell.npos ? append_csv(text, cell) : append_csv_quoted(text, cell);
  };
  std::string text = "target,golden,target slot,golden slot\n";
  for (const auto& [target, golden] : pairs) {
    add(text, target.op);
    for (const std::string& cell : {golden.op, to_string(target.slot), to_string(golden.slot)})
      add(text += ',', cell);
    text += '\n';
  }
  return text;
}

Result<NameMap> parse_name_map_toml(std::string_view text) {
  auto table = parse_toml(text);
  if (!table) return table.error();
  const toml::table* pairs = (*table)["pairs"].as_table();
  const toml::table* tensors = (*table)["tensors"].as_table();
  if (table->size() != size_t{pairs != nullptr} + size_t{tensors != nullptr} || table->empty())
    return Error{"the map should hold the tables [pairs] and [tensors]", "line 1", kForm};
  Builder builder;
  const auto each = [&](const toml::table* list, auto&& add) -> Result<void> {
    if (list == nullptr) return {};
    for (const auto& [target, golden] : *list) {
      auto added = add(target.str(), golden.value_or(std::string()), place(target.source()));
      if (!added) return added;
    }
    return {};
  };
  auto added = each(pairs, [&](std::string_view target, std::string golden, std::string where) {
    return builder.add(std::string(target), std::move(golden), where);
  });
  if (!added) return added.error();
  added = each(tensors, [&](std::string_view target, const std::string& golden, std::string where) {
    return builder.add(tensor_from(target), tensor_from(golden), where);
  });
  if (!added) return added.error();
  return builder.take();
}

std::string tensor_text(std::string_view op, const dump::Slot& slot) {
  return fmt::format("{} {}", op, to_string(slot));
}

Result<NameMap> load_name_map(const std::filesystem::path& path) {
  auto file = MappedFile::open(path, /*map=*/false);
  if (!file) return file.error();
  const std::string_view text = as_text(file->bytes());
  auto map = path.extension() == ".toml" ? parse_name_map_toml(text) : parse_name_map_csv(text);
  if (!map) return std::move(map.error()).in(path.string());
  if (map->empty()) return Error{"the map is empty", path.string(), kForm};
  return map;
}

Result<void> save_name_map(const std::vector<TensorPair>& pairs,
                           const std::filesystem::path& path) {
  auto file = FileSink::create(path);
  if (!file) return file.error();
  file->write(name_map_csv(pairs));
  return file->commit();
}

Result<void> check_name_map(const NameMap& map, const dump::DumpSet& target,
                            const dump::DumpSet& golden) {
  std::set<std::string> targets = map.tensor_operators, goldens;
  for (const auto& [t, g] : map.operators) targets.insert(t), goldens.insert(g);
  for (const auto& [t, g] : map.tensors) goldens.insert(g.op);
  if (auto checked = check_side(targets, target, "target"); !checked) return checked;
  return check_side(goldens, golden, "golden");
}

}  // namespace plumb::pair
