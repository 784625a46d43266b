// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/compare_pairs.h"

#include "compare/policy.h"

namespace plumb::msaccucmp {
namespace {

// Pairs what it is told to pair.
class PairPolicy final : public compare::Policy, public compare::Observer {
 public:
  PairPolicy(std::span<Line> lines, const PairOptions& options) : options_(options) {
    for (Line& line : lines)
      if (line.pair)
        items_.push_back({&line, order_of(line.pair->target), order_of(line.pair->golden)});
  }

  Result<std::vector<pair::PlannedRow>> plan(const dump::DumpSet&, const dump::DumpSet&,
                                             RunContext&) override {
    std::vector<pair::PlannedRow> rows(items_.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].target = items_[i].line->pair->target.tensor.entry.get();
      rows[i].golden = items_[i].line->pair->golden.tensor.entry.get();
      rows[i].add_rare().target_order = &items_[i].target;
      rows[i].add_rare().golden_order = &items_[i].golden;
      rows[i].is_flat = true;
      rows[i].index = static_cast<uint32_t>(i);
    }
    return rows;
  }
  std::vector<const metrics::Metric*> columns() const override { return {}; }
  void refine(metrics::Request& request) const override {
    request = request_for(options_.algorithms);
  }
  compare::Observer* observer() override { return this; }

  void pair(const pair::PlannedRow& planned, const metrics::PairFacts& facts) override {
    Line& line = *items_[static_cast<size_t>(planned.index)].line;
    Scores scores = score(options_.algorithms, line.pair->traits, sums_of(facts));
    line.row.scores = std::move(scores.cells);
    line.row.reasons = std::move(scores.reasons);
    line.row.codes = std::move(scores.codes);
    line.row.is_compared = true;
  }
  void recorded(const pair::PlannedRow&, const Statistics&, const Statistics&) override {}

  // Rows of which nobody was told could not be read.
  void finish(std::span<const result::Row> rows) {
    for (size_t i = 0; i < items_.size(); ++i) {
      ResultRow& row = items_[i].line->row;
      if (!row.is_compared) {
        row.reasons.push_back(rows[i].message);
        row.codes.emplace_back("LEFT_UNREADABLE");
      }
      for (std::string& code : items_[i].line->pair->codes) row.codes.push_back(std::move(code));
    }
  }

 private:
  struct Item {
    Line* line;
    io::ReadOrder target, golden;
  };

  // The tool casts everything to float32 before it looks.
  io::ReadOrder order_of(const View& view) const {
    io::ReadOrder order;
    order.stored = true;
    order.map = view.map;
    order.as_float32 = true;
    order.at_most = options_.max_elements;
    return order;
  }

  const PairOptions& options_;
  std::vector<Item> items_;
};

}  // namespace

Result<void> compare_lines(std::span<Line> lines, const PairOptions& options, RunContext& context) {
  PairPolicy policy(lines, options);
  Spec spec;
  spec.target.dump = spec.golden.dump = std::make_shared<const dump::DumpSet>(anywhere());
  auto session = compare::open_session(std::move(spec), policy, context);
  if (!session) return session.error();
  policy.finish(stream_all(*session, context));
  return {};
}

Outcome<ResultRow> compare_two(ViewPair pair, const PairOptions& options, RunContext& context) {
  Line line{{}, std::move(pair)};
  if (auto done = compare_lines({&line, 1}, options, context); !done)
    return Fault{Code::kUnknown, std::move(done.error())};
  if (!line.row.is_compared)
    return {Code::kInvalidDumpData, Error{line.row.reasons.front(), "", "copy the files again"}};
  return std::move(line.row);
}

}  // namespace plumb::msaccucmp
