// SPDX-License-Identifier: Apache-2.0
#include "result/details.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace plumb::result {
namespace {

int urgency(const Row& row) {
  switch (row.verdict) {
    case Verdict::kFail: return 0;
    case Verdict::kInconclusive: return 1;
    case Verdict::kPass: return row.suspicious ? 2 : 3;
    case Verdict::kNotCompared: break;
  }
  return 4;
}

}  // namespace

void limit_details(Run& run, size_t most_full, size_t most) {
  // A number that is missing is the worst.
  std::vector<std::tuple<int, double, size_t>> held;
  size_t next = 0;
  for (const Row& row : run.rows) {
    const size_t place = next++;
    if (!row.details) continue;
    const metrics::Value value = run.value(row, "rel_euclid");
    const bool is_number = value.is_defined() && !std::isnan(value.number());
    held.emplace_back(urgency(row),
                      is_number ? -value.number() : -std::numeric_limits<double>::infinity(),
                      place);
  }
  if (held.size() <= most_full) return;
  std::sort(held.begin(), held.end());
  for (size_t k = most_full; k < held.size(); ++k) {
    std::shared_ptr<const Details>& details = run.rows[std::get<2>(held[k])].details;
    if (k >= most) {
      details.reset();
    } else if (details->heat || details->channels) {
      auto rest = std::make_shared<Details>(*details);
      rest->heat.reset();
      rest->channels.reset();
      details = std::move(rest);
    }
  }
}

}  // namespace plumb::result
