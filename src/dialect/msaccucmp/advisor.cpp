// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/advisor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/csv.h"

namespace plumb::msaccucmp {
namespace {

constexpr double kGoodCosine = 0.99;

struct Scored {
  const std::vector<std::string>* row;
  double cosine;
};

std::optional<double> cosine_in(const std::string& cell) {
  double value = 0;
  const char* end = cell.data() + cell.size();
  const auto [stop, code] = std::from_chars(cell.data(), end, value);
  if (code != std::errc() || stop != end || std::isnan(value)) return std::nullopt;
  return value;
}

}  // namespace

std::string Advice::text() const {
  return fmt::format("Detection Type: {}\nOperator Index: {}\nExpert Advice: {}\n", rule, index,
                     advice);
}

Outcome<Advice> advise(std::string_view csv, const std::vector<std::string>& input_nodes) {
  std::vector<std::vector<std::string>> records;
  for (CsvReader reader(csv); reader.next();)
    if (reader.cells().size() > 1 || !reader.cells()[0].empty()) records.push_back(reader.cells());
  const auto column = [&](std::string_view name) -> std::optional<size_t> {
    if (records.empty()) return std::nullopt;
    const auto at = std::find(records[0].begin(), records[0].end(), name);
    if (at == records[0].end()) return std::nullopt;
    return static_cast<size_t>(at - records[0].begin());
  };
  const auto index = column("Index"), target = column("NPUDump");
  if (!index || !target)
    return {Code::kInvalidParameter,
            Error{"this is no comparison result", "the columns Index and NPUDump are wanted",
                  "give the result_*.csv of a comparison"}};
  const auto cell = [](const std::vector<std::string>& row, size_t at) {
    return at < row.size() ? row[at] : std::string();
  };

  if (const auto overflow = column("OverFlow"))
    for (size_t i = 1; i < records.size(); ++i)
      if (cell(records[i], *overflow) == "YES")
        return Advice{"FP16 Overflow", cell(records[i], *index),
                      "A float16 tensor has overflowed. Remove the overflow and compare again."};

  std::vector<Scored> scored;
  if (const auto cosine = column("CosineSimilarity"))
    for (size_t i = 1; i < records.size(); ++i)
      if (const auto value = cosine_in(cell(records[i], *cosine)))
        scored.push_back({&records[i], *value});
  if (scored.empty()) return Advice{};
  const auto is_bad = [](const Scored& each) { return each.cosine < kGoodCosine; };
  for (const Scored& each : scored)
    if (is_bad(each) && std::find(input_nodes.begin(), input_nodes.end(),
                                  cell(*each.row, *target)) != input_nodes.end())
      return Advice{"Input Inconsistent", cell(*each.row, *index),
                    "The inputs of the two models differ. Use the same data, or check the "
                    "preprocessing."};
  const auto first = std::find_if(scored.begin(), scored.end(), is_bad);
  if (first == scored.end())
    return Advice{"Global Consistency", "NA",
                  "All tensors that have a cosine reach the limit. If the application still fails, "
                  "check the postprocessing."};
  const std::string where = cell(*first->row, *index);
  if (is_bad(scored.back()))
    return Advice{"Global Consistency", where,
                  "Tensors differ, and so does the final result. Quantization may be the cause: "
                  "calibrate again."};
  return Advice{"Global Consistency", where,
                "Tensors differ inside the network, but the final result is good. Optimization by "
                "the compiler may be the cause."};
}

}  // namespace plumb::msaccucmp
