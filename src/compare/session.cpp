// SPDX-License-Identifier: Apache-2.0
#include "plumb/session.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <malloc.h>

#include "base/nearest.h"
#include "base/threads.h"
#include "compare/quantized_input.h"
#include "compare/session_state.h"
#include "judge/tolerance.h"
#include "result/details.h"

namespace plumb {
namespace {

using metrics::Metric;

bool contains(const std::vector<const Metric*>& list, const Metric* metric) {
  return std::find(list.begin(), list.end(), metric) != list.end();
}

// The metrics of these names, in the order given; "all" for every one.
Result<std::vector<const Metric*>> named_metrics(const std::vector<std::string>& words) {
  std::vector<const Metric*> found;
  std::vector<std::string> names;
  for (const Metric& metric : metrics::metrics()) names.emplace_back(metric.name);
  for (const std::string& name : words) {
    const Metric* metric = metrics::metric_by_name(name);
    if (name == "all") {
      for (const Metric& each : metrics::metrics())
        if (each.name != metrics::kCloseShare) found.push_back(&each);
    } else if (metric != nullptr) {
      found.push_back(metric);
    } else {
      return Error{"unknown metric '" + name + "'", "--metrics " + name,
                   did_you_mean(name, names) + "`plumb metrics` lists all of them"};
    }
  }
  return found;
}

// What is computed: what the user and the limits want, and everything that costs no extra pass. In
// the order of the table, each once.
std::vector<const Metric*> columns_for(const std::vector<const Metric*>& wanted,
                                       const judge::LimitRules& rules) {
  std::vector<const Metric*> columns;
  const std::vector<const Metric*> judged = rules.metrics();
  for (const Metric& metric : metrics::metrics()) {
    if ((wanted.empty() && metric.is_free()) || contains(wanted, &metric) ||
        contains(judged, &metric))
      columns.push_back(&metric);
  }
  return columns;
}

}  // namespace

Result<DType> compare::computed_in(const std::string& precision) {
  // TF32 has the ten bits of float16 behind the point, and the range of float32.
  static const std::map<std::string, DType, std::less<>> known = {
      {"tf32", DType::kFloat16}, {"float16", DType::kFloat16}, {"bfloat16", DType::kBFloat16}};
  if (const auto found = known.find(precision); found != known.end()) return found->second;
  std::vector<std::string> words;
  for (const auto& [word, dtype] : known) words.push_back(word);
  return Error{"unknown precision '" + precision + "'", "--precision " + precision,
               did_you_mean(precision, words) + "known are tf32, float16 and bfloat16"};
}

namespace {

// Mistakes in what the user wrote are told before much is read.
Result<void> read_requests(SessionState& state) {
  const Spec& spec = state.spec;
  auto hints = dump::hints_from_words(spec.hints);
  if (!hints) return hints.error();
  state.hints = *hints;
  state.hints.map = spec.map;
  state.selection = spec.selection;
  if (auto checked = state.selection.check_slots(); !checked) return checked;
  if (auto checked = dump::check_convention(spec.convention); !checked) return checked;
  auto wanted = named_metrics(spec.metrics);
  if (!wanted) return wanted.error();
  state.wanted = std::move(*wanted);
  auto tolerance = judge::tolerance_from(spec.atol, spec.rtol);
  if (!tolerance) return tolerance.error();
  state.tolerance = *tolerance;
  if (!spec.precision.empty()) {
    auto computed = compare::computed_in(spec.precision);
    if (!computed) return computed.error();
    state.computed = *computed;
  }
  if (!spec.profile.empty() || !spec.rules.empty()) {
    auto rules = judge::load_rules(spec.profile, spec.rules);
    if (!rules) return rules.error();
    state.rules = std::move(*rules);
  }
  if (spec.baseline.empty()) return {};
  auto baseline = judge::load_baseline(spec.baseline);
  if (!baseline) return baseline.error();
  state.baseline = std::move(*baseline);
  if (state.wanted.empty()) return {};  // all that one pass gives
  for (const std::string_view name : judge::kTrackedMetrics)
    if (const Metric* metric = metrics::metric_by_name(name); !contains(state.wanted, metric))
      state.wanted.push_back(metric);
  return {};
}

// The limits, by the scenario unless the user named some.
Result<void> choose_rules(SessionState& state) {
  if (!state.rules && state.tolerance) {
    state.rules = judge::rules_of_tolerance();
  } else if (state.tolerance) {
    judge::add_tolerance(*state.rules);
  } else if (!state.rules) {
    const std::string_view natural =
        state.scenario == nullptr ? "standard" : state.scenario->profile;
    auto rules = judge::load_rules(std::string(natural), "");
    if (!rules) return rules.error();
    state.rules = std::move(*rules);
  }
  if (state.floor && state.tolerance)
    return Error{"a noise floor sets the limits itself", "--floor with --atol or --rtol",
                 "leave one of them out"};
  if (state.floor && state.rules->ask_for_same_bytes())
    return Error{"a noise floor allows what this profile forbids",
                 "--floor with --profile " + state.rules->name, "leave one of them out"};
  return {};
}

void prepare_streaming(SessionState& state) {
  ::malloc_trim(0);  // what listing and pairing needed is not to count while tensors are read
  const bool checksum = state.spec.checksum;
  std::vector<const Metric*> columns;
  if (state.policy != nullptr)
    columns = state.policy->columns();
  else if (!checksum)
    columns = columns_for(state.wanted, *state.rules);
  const auto& exactly = state.rules->are_tighter_than_bounds() ? columns : state.wanted;
  metrics::Request request = metrics::request_for(columns, exactly);
  if (state.policy != nullptr) state.policy->refine(request);
  state.sides.emplace(compare::Sides{
      state.target, state.golden, state.floor ? &*state.floor : nullptr, state.hints, state.hints});
  state.stream_options.emplace(
      compare::StreamOptions{*state.rules, std::move(columns), std::move(request), checksum,
                             state.policy != nullptr ? state.policy->observer() : nullptr,
                             state.tolerance, state.spec.details, state.computed,
                             compare::quantized_inputs(state), compare::readings(state)});
  state.streamer.emplace(*state.sides, *state.stream_options);
}

// Everything in the order in which mistakes are told.
Result<void> open_state(SessionState& state, RunContext& context) {
  return on_threads_of(context, [&]() -> Result<void> {
    if (auto read = read_requests(state); !read) return read;
    if (auto opened = compare::open_dumps(state); !opened) return opened;
    if (state.policy == nullptr)
      if (auto done = compare::understand(state, context); !done) return done;
    if (auto chosen = choose_rules(state); !chosen) return chosen;
    if (auto planned = compare::make_plan(state, context); !planned) return planned;
    prepare_streaming(state);
    return {};
  });
}

// Asking for the size of every file is not free.
int64_t bytes_on_disk(const dump::DumpSet& set, const dump::Entry& entry) {
  if (entry.memory != nullptr) return static_cast<int64_t>(entry.info->size_bytes);
  int64_t total = 0;
  std::error_code unknown;
  for (const dump::TensorRef& part : entry.parts) {
    const uintmax_t size = std::filesystem::file_size(set.absolute(part.file), unknown);
    if (!unknown)
      total += static_cast<int64_t>(entry.info ? std::min(size, entry.info->size_bytes) : size);
  }
  return total;
}

bool is_alike(const dump::Entry& a, const dump::Entry& b) {
  const auto place = [](const dump::Entry& e) {
    return std::tie(e.operator_name, e.slot, e.its_place(), e.timestamp, e.type);
  };
  const auto type = [](const TensorInfo& info) {
    return std::tie(info.dtype, info.shape, info.strides, info.first_element, info.size_bytes);
  };
  return a.memory != nullptr && b.memory != nullptr && place(a) == place(b) &&
         type(*a.info) == type(*b.info) && a.parts.front().file == b.parts.front().file;
}

// All that a plan is made from is the same.
bool is_alike(const dump::DumpSet& a, const dump::DumpSet& b) {
  const auto is_same = [](const dump::Skipped& x, const dump::Skipped& y) {
    return x.file == y.file && x.reason == y.reason;
  };
  return std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const dump::Entry& x, const dump::Entry& y) { return is_alike(x, y); }) &&
         std::equal(a.skipped.begin(), a.skipped.end(), b.skipped.begin(), b.skipped.end(),
                    is_same);
}

}  // namespace

RowId Plan::size() const { return std::ssize(state_->rows); }

PlanRow Plan::row(RowId id) const {
  const pair::PlannedRow& planned = state_->rows[static_cast<size_t>(id)];
  PlanRow row{id, {}, {}, {}, {}, planned.rule, planned.evidence, planned.reason, planned.message};
  if (planned.target != nullptr) {
    row.target = planned.target->operator_name;
    row.target_slot = to_string(planned.target->slot);
  }
  if (planned.golden != nullptr) {
    row.golden = planned.golden->operator_name;
    row.golden_slot = to_string(planned.golden->slot);
  }
  return row;
}

int64_t Plan::bytes(RowId id) const {
  const pair::PlannedRow& row = state_->rows[static_cast<size_t>(id)];
  if (!row.reason.empty()) return 0;
  return bytes_on_disk(state_->target, *row.target) +
         bytes_on_disk(state_->sides->golden_of(row), *row.golden);
}

int64_t Plan::bytes() const {
  int64_t total = 0;
  for (RowId id = 0; id < size(); ++id) total += bytes(id);
  return total;
}

Session::Session(std::unique_ptr<SessionState> state) : state_(std::move(state)) {
  plan_.state_ = state_.get();
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open(Spec spec, RunContext& context) {
  auto state = std::make_unique<SessionState>();
  state->spec = std::move(spec);
  if (auto opened = open_state(*state, context); !opened) return opened.error();
  return Session(std::move(state));
}

Result<Session> compare::open_session(Spec spec, Policy& policy, RunContext& context) {
  auto state = std::make_unique<SessionState>();
  state->spec = std::move(spec);
  state->policy = &policy;
  if (auto opened = open_state(*state, context); !opened) return opened.error();
  return Session(std::move(state));
}

const Plan& Session::plan() const { return plan_; }

bool Session::exchange_tensors(const dump::DumpSet& target, const dump::DumpSet& golden) {
  if (!is_alike(state_->target, target) || !is_alike(state_->golden, golden)) return false;
  state_->spec.target.dump = state_->spec.golden.dump = nullptr;
  for (const auto& [own, other] :
       {std::pair{&state_->target, &target}, std::pair{&state_->golden, &golden}}) {
    for (size_t i = 0; i < own->entries.size(); ++i)
      own->entries[i].memory = other->entries[i].memory;
    own->memory = other->memory;
  }
  return true;
}

Result<void> Session::stream(std::span<const RowId> rows, Sink& sink, RunContext& context) const {
  for (const RowId id : rows)
    if (id < 0 || id >= plan_.size())
      return Error{"there is no such row", fmt::format("row {} of {}", id, plan_.size()),
                   "ask for rows of the plan"};
  on_threads_of(context, [&] {
    compare::stream(
        *state_->streamer, state_->rows, rows, context,
        [&](size_t position, result::Row&& row) { sink.row(rows[position], std::move(row)); });
  });
  return {};
}

Result<result::Summary> Session::finish(RowSource& rows, RunSink& run) const {
  return compare::finish(*state_, rows, run);
}

void RunInMemory::row(RowId id, result::Row&& row) {
  run.rows.set(static_cast<size_t>(id), std::move(row));
}

Result<void> RunInMemory::each(const Use& use) {
  Result<void> used;
  run.rows.change_each([&](size_t place, result::Row& row) {
    if (used) used = use(static_cast<RowId>(place), row);
    return false;  // what the run is finished with comes back by `row`
  });
  return used;
}

Result<void> RunInMemory::begin(const result::Run& header, const result::Summary&) {
  result::Rows rows = std::move(run.rows);
  run = header;
  run.rows = std::move(rows);
  finished_ = 0;
  return {};
}

Result<void> RunInMemory::row(result::Row&& row) {
  run.rows.set(finished_++, std::move(row));
  return {};
}

namespace {

Result<void> stream_into(RunInMemory& memory, const Session& session, RunContext& context) {
  std::vector<RowId> ids(static_cast<size_t>(session.plan().size()));
  std::iota(ids.begin(), ids.end(), RowId{0});
  return session.stream(ids, memory, context);
}

}  // namespace

std::vector<result::Row> stream_all(const Session& session, RunContext& context) {
  RunInMemory memory(session.plan());
  if (auto streamed = stream_into(memory, session, context); !streamed) return {};  // all are there
  return std::move(memory.run.rows.all());
}

Result<result::Run> compare_all(const Session& session, RunContext& context) {
  RunInMemory memory(session.plan());
  if (auto streamed = stream_into(memory, session, context); !streamed) return streamed.error();
  if (auto finished = session.finish(memory, memory); !finished) return finished.error();
  if (session.state().stream_options->details) result::limit_details(memory.run);
  return std::move(memory.run);
}

}  // namespace plumb
