// SPDX-License-Identifier: Apache-2.0
//
// The result of mode auto: the columns that msprobe's manual documents for each kind of data, with
// its words (pass, warning, error), and behind them ours. `Accuracy Reached or Not` is the first of
// ours. Columns go by their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dialect/msprobe/cells.h"
#include "dialect/msprobe/original_tensors.h"
#include "dialect/msprobe/result_file.h"

namespace plumb::msprobe {

struct Checksums {
  std::string target, golden;
};

struct GeneralStyle {
  Mode mode = Mode::kRealData;
  bool has_stacks = false;   // beside target's dump.json
  bool is_original = false;  // numbers as msprobe spells them
  bool has_ours = true;
  bool as_xlsx = false;
};

// One line. Borrows everything.
struct GeneralLine {
  const dump::Entry *target = nullptr, *golden = nullptr;  // of which one may be missing
  std::string_view target_name, golden_name;               // of the rows
  std::variant<std::monostate, const RealData*, const OriginalNumbers*, const Differences*,
               Checksums>
      metrics;
  std::string_view stack;
  Judged judged;
  std::string_view rule;
  std::optional<int64_t> first_bad;  // position in the target
  std::optional<report::Fill> fill;  // if another than that of the level is wanted

  const dump::Entry& any() const { return target != nullptr ? *target : *golden; }
};

std::vector<std::string> header_of(const GeneralStyle& style);
void append_cells(Cells& cells, const GeneralLine& line, const GeneralStyle& style);

}  // namespace plumb::msprobe
