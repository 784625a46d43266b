// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a part of a comparison, and as a row of one. What is accepted can be written, and is
// accepted again as the same.
#include "compare/shards.h"
#include "result/json_write.h"

using namespace plumb;

namespace {

std::vector<const metrics::Metric*> columns() {
  std::vector<const metrics::Metric*> list;
  for (const metrics::Metric& metric : metrics::metrics()) list.push_back(&metric);
  return list;
}

result::Row planned() {
  result::Row row;
  row.target.emplace();
  row.golden.emplace();
  return row;
}

void check_row(std::string_view line) {
  result::RowLineReader reader(columns());
  result::Row row = planned(), again = planned();
  const auto key = reader.read(line, row);
  if (!key) return;
  std::string written, twice;
  append_row_line(written, *key, row);
  if (!reader.read(written, again)) __builtin_trap();
  append_row_line(twice, *key, again);
  if (written != twice) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  check_row(text);
  const auto head = compare::read_part(text, [](std::string_view line) -> Result<void> {
    check_row(line);
    return {};
  });
  if (!head && (head.error().what.empty() || head.error().remedy.empty())) __builtin_trap();
  return 0;
}
