// SPDX-License-Identifier: Apache-2.0
#include "compare/identity.h"

#include <numeric>
#include <unordered_map>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/json_values.h"
#include "base/parallel.h"
#include "base/utf8.h"

namespace plumb::compare {
namespace {

std::string hex(const Digest& digest) { return fmt::format("{:016x}", digest.value()); }

void add(Digest& digest, const std::optional<int64_t>& number) {
  digest.add(number.has_value());
  digest.add(number.value_or(0));
}

void add(Digest& digest, const std::optional<double>& number) {
  digest.add(number.has_value());
  digest.add(number.value_or(0));
}

template <class T>
void add_all(Digest& digest, const std::vector<T>& list) {
  digest.add(list.size());
  for (const T& each : list) digest.add(each);
}

void add_all(Digest& digest, const std::vector<judge::Limit>& limits) {
  digest.add(limits.size());
  for (const judge::Limit& limit : limits) {
    digest.add(limit.metric->name);
    digest.add(static_cast<int>(limit.comparison));
    digest.add(limit.bound);
  }
}

void add(Digest& digest, const judge::Limits* limits) {
  digest.add(limits != nullptr);
  if (limits == nullptr) return;
  add_all(digest, limits->limits);
  add_all(digest, limits->warnings);
  digest.add(limits->same_bytes);
}

void add(Digest& digest, const judge::LimitRules& rules) {
  digest.add(rules.name);
  for (const judge::LimitRule& rule : rules.rules) {
    digest.add(rule.op);
    digest.add(rule.slot);
    const judge::Profile& profile = rule.profile;
    add(digest, &profile.any);
    for (const auto* limits :
         {&profile.float32, &profile.float16, &profile.bfloat16, &profile.integer})
      add(digest, *limits ? &**limits : nullptr);
    add_all(digest, profile.output);
  }
}

std::string options_of(const SessionState& state) {
  const Spec& spec = state.spec;
  Digest digest;
  for (const std::string* text :
       {&spec.target.graph, &spec.golden.graph, &spec.quant, &spec.name_map, &spec.mode,
        &spec.hints.dtype, &spec.hints.shape, &spec.hints.fp8, &spec.convention, &spec.profile,
        &spec.rules, &spec.precision, &spec.floor, &spec.baseline, &spec.command})
    digest.add(*text);
  add_all(digest, spec.selection.ops);
  add_all(digest, spec.selection.slots);
  add_all(digest, spec.selection.steps);
  add_all(digest, spec.selection.ranks);
  add(digest, spec.atol);
  add(digest, spec.rtol);
  digest.add(spec.checksum);
  digest.add(spec.details);
  digest.add(state.scenario == nullptr ? std::string_view() : state.scenario->name);
  if (state.rules) add(digest, *state.rules);
  for (const metrics::Metric* metric : state.stream_options->columns) digest.add(metric->name);
  return hex(digest);
}

void add(Digest& digest, const dump::Entry* entry) {
  digest.add(entry != nullptr);
  if (entry == nullptr) return;
  digest.add(entry->operator_name);
  digest.add(entry->type);
  digest.add(static_cast<int>(entry->slot.kind));
  digest.add(entry->slot.index);
  digest.add(entry->slot.path.str());
  add(digest, entry->step());
  add(digest, entry->rank());
  digest.add(entry->graph());
  digest.add(entry->record);
  digest.add(size_t{entry->parts.join_axis});
  for (const dump::TensorRef& part : entry->parts) {
    digest.add(part.file.str());
    digest.add(part.tensor.str());
  }
}

std::string plan_of(const SessionState& state) {
  Digest digest;
  for (const pair::PlannedRow& row : state.rows) {
    const pair::RareFacts& rare = row.rare();
    add(digest, row.target);
    add(digest, row.golden);
    digest.add(rare.damaged != nullptr ? std::string_view(rare.damaged->file) : std::string_view());
    digest.add(row.rule);
    digest.add(row.reason);
    digest.add(int64_t{row.index});
    digest.add(row.is_quantized);
    digest.add(row.golden_is_own);
    digest.add(row.is_flat);
    if (!rare.dequantize) continue;
    digest.add(rare.dequantize->scale);
    digest.add(rare.dequantize->offset);
  }
  return hex(digest);
}

// What there is of an entry's files now; a file that is gone has a stamp, too.
void look_at_files(const dump::DumpSet& set, const dump::Entry& entry, Digest& digest,
                   int64_t& bytes) {
  const auto look = [&](const std::string& path, const dump::Entry* of) {
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0) found = {};
    digest.add(found.st_size);
    digest.add(found.st_mtim.tv_sec);
    digest.add(found.st_mtim.tv_nsec);
    if (of != nullptr)
      bytes += of->info
                   ? std::min<int64_t>(found.st_size, static_cast<int64_t>(of->info->size_bytes))
                   : found.st_size;
  };
  for (const dump::TensorRef& part : entry.parts) look(set.absolute(part.file), &entry);
  if (!entry.record.empty()) look(set.absolute(entry.record.str()), nullptr);
}

}  // namespace

Identity identity_of(const SessionState& state) {
  return {PLUMB_VERSION,
          valid_utf8(state.spec.target.path),
          valid_utf8(state.spec.golden.path),
          options_of(state),
          plan_of(state),
          std::ssize(state.rows)};
}

std::string difference(const Identity& own, const Identity& other) {
  const auto told = [](std::string_view what, const std::string& here, const std::string& there) {
    return fmt::format("{} '{}' there, '{}' here", what, there, here);
  };
  if (own.version != other.version) return told("made by version", own.version, other.version);
  if (own.target != other.target) return told("the target is", own.target, other.target);
  if (own.golden != other.golden) return told("the golden side is", own.golden, other.golden);
  if (own.options != other.options) return "other options, or limits that were changed";
  if (own.rows != other.rows)
    return fmt::format("its plan has {} rows, this one {}: tensors came or went", other.rows,
                       own.rows);
  return own.plan != other.plan ? "another plan: tensors, their names or their pairs changed" : "";
}

std::string to_json(const Identity& identity) {
  const Json json = {{"version", identity.version}, {"target", identity.target},
                     {"golden", identity.golden},   {"options", identity.options},
                     {"plan", identity.plan},       {"rows", identity.rows}};
  return line_of_json(json);
}

std::optional<Identity> identity_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  try {
    return Identity{json.at("version"), json.at("target"), json.at("golden"),
                    json.at("options"), json.at("plan"),   json.at("rows")};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::vector<Stamp> stamps_of(const SessionState& state, std::span<const RowId> rows) {
  std::unordered_map<const dump::Entry*, const dump::Entry*> floor_of;  // by golden entry
  if (state.floor)
    for (const pair::PlannedRow& row : pair::make_plan(*state.floor, state.golden))
      if (row.reason.empty()) floor_of[row.golden] = row.target;
  std::vector<Stamp> stamps(rows.size());
  for_each_index(rows.size(), [&](size_t i) {
    const pair::PlannedRow& row = state.rows[static_cast<size_t>(rows[i])];
    if (!row.reason.empty()) return;
    Digest digest;
    look_at_files(state.target, *row.target, digest, stamps[i].bytes);
    look_at_files(state.sides->golden_of(row), *row.golden, digest, stamps[i].bytes);
    if (const auto floor = floor_of.find(row.golden); floor != floor_of.end())
      look_at_files(*state.floor, *floor->second, digest, stamps[i].bytes);
    stamps[i].digest = digest.value();
  });
  return stamps;
}

std::vector<RowId> all_rows(const SessionState& state) {
  std::vector<RowId> rows(state.rows.size());
  std::iota(rows.begin(), rows.end(), RowId{0});
  return rows;
}

std::vector<uint64_t> digests_of(std::span<const Stamp> stamps) {
  std::vector<uint64_t> digests(stamps.size());
  for (size_t i = 0; i < stamps.size(); ++i) digests[i] = stamps[i].digest;
  return digests;
}

}  // namespace plumb::compare
