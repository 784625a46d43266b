// SPDX-License-Identifier: Apache-2.0
#include "compare/shards.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <queue>

#include <fmt/format.h>

namespace plumb::compare {
namespace {

constexpr int64_t kMostShards = 1 << 20;
// What a row costs beside its bytes: opening two files takes as long as reading so much.
constexpr int64_t kRowBytes = 32 << 10;

// Rows that belong together, by a representative each.
class Groups {
 public:
  explicit Groups(size_t rows) : parent_(rows) { std::iota(parent_.begin(), parent_.end(), 0); }

  int64_t find(int64_t row) {
    while (parent_[static_cast<size_t>(row)] != row) {
      int64_t& parent = parent_[static_cast<size_t>(row)];
      row = parent = parent_[static_cast<size_t>(parent)];
    }
    return row;
  }
  void join(int64_t a, int64_t b) {
    a = find(a);
    b = find(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int64_t> parent_;
};

// The first row that reads each tensor of a set.
class Readers {
 public:
  Readers(const dump::DumpSet& set, Groups& groups)
      : set_(set), groups_(groups), first_(set.entries.size(), -1) {}
  void see(const dump::Entry* entry, int64_t row) {
    int64_t& first = first_[static_cast<size_t>(entry - set_.entries.data())];
    if (first >= 0) groups_.join(first, row);
    first = row;
  }

 private:
  const dump::DumpSet& set_;
  Groups& groups_;
  std::vector<int64_t> first_;
};

}  // namespace

Result<Shard> shard_from_text(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, shard.number);
  const bool has_slash = number.ec == std::errc() && number.ptr != end && *number.ptr == '/';
  const auto of = has_slash ? std::from_chars(number.ptr + 1, end, shard.of) : number;
  if (!has_slash || of.ec != std::errc() || of.ptr != end || shard.number < 1 ||
      shard.number > shard.of || shard.of > kMostShards)
    return Error{"this is no share of the work", "--shard " + text,
                 "write K/N, K from 1 to N, e.g. --shard 2/8"};
  return shard;
}

std::vector<RowId> rows_of_shard(const SessionState& state, std::span<const Stamp> stamps,
                                 const Shard& shard) {
  const size_t count = state.rows.size();
  Groups groups(count);
  Readers target(state.target, groups), golden(state.golden, groups);
  std::vector<int64_t> cost(count);
  for (size_t i = 0; i < count; ++i) {
    const pair::PlannedRow& row = state.rows[i];
    if (!row.reason.empty()) continue;
    target.see(row.target, static_cast<int64_t>(i));
    (row.golden_is_own ? target : golden).see(row.golden, static_cast<int64_t>(i));
  }
  std::vector<int64_t> units;  // by their first rows
  for (size_t i = 0; i < count; ++i) {
    if (!state.rows[i].reason.empty()) continue;
    const int64_t unit = groups.find(static_cast<int64_t>(i));
    if (unit == static_cast<int64_t>(i)) units.push_back(unit);
    cost[static_cast<size_t>(unit)] += stamps[i].bytes + kRowBytes;
  }
  std::stable_sort(units.begin(), units.end(), [&](int64_t a, int64_t b) {
    return cost[static_cast<size_t>(a)] > cost[static_cast<size_t>(b)];
  });
  using Load = std::pair<int64_t, int64_t>;  // bytes, share
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int64_t i = 1; i <= std::min<int64_t>(shard.of, std::ssize(units)); ++i) loads.push({0, i});
  std::vector<bool> is_own(count);
  for (const int64_t unit : units) {
    auto [load, share] = loads.top();
    loads.pop();
    is_own[static_cast<size_t>(unit)] = share == shard.number;
    loads.push({load + cost[static_cast<size_t>(unit)], share});
  }
  std::vector<RowId> rows;
  for (size_t i = 0; i < count; ++i)
    if (state.rows[i].reason.empty() &&
        is_own[static_cast<size_t>(groups.find(static_cast<int64_t>(i)))])
      rows.push_back(static_cast<RowId>(i));
  return rows;
}

}  // namespace plumb::compare
