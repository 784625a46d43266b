// SPDX-License-Identifier: Apache-2.0
#include "replay/scores.h"

#include <algorithm>

#include <fmt/format.h>

#include "compare/session_state.h"
#include "replay/class_scores.h"

namespace plumb::replay {
namespace {

constexpr int64_t kTops[] = {1, 5};

// The tensor, if it is a list of scores. Among NaN none is the largest.
std::optional<ClassScores> scores_of(const dump::DumpSet& set, const dump::Entry& entry) {
  auto opened = dump::EntryReader::open(set, entry);
  if (!opened) return std::nullopt;
  io::TensorReader& reader = opened->reader();
  if (!are_class_scores(reader.dtype(), reader.shape())) return std::nullopt;
  const auto bytes = reader.read(0, reader.count());
  if (!bytes) return std::nullopt;
  auto scores = class_scores(reader.dtype(), reader.shape(), *bytes);
  return scores && !has_nan(*scores) ? scores : std::nullopt;
}

double share_of(int64_t part, int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

void Scores::add_sample(const std::string& name, std::vector<std::string> files) {
  samples_.push_back(name);
  files_ = std::move(files);
  without_label_ += !labels_.of(samples_.size() - 1, files_);
}

std::optional<std::string> Scores::labels_doubt() const {
  if (std::all_of(counts_.begin(), counts_.end(),
                  [](const Counts& of) { return of.labelled == 0; }))
    return counts_.empty() ? "no label was used: no output tells a class on both sides"
                           : "no label was used: none is of these samples";
  if (without_label_ > 0)
    return fmt::format("{} of {} sample{} have no label", without_label_, samples_.size(),
                       samples_.size() == 1 ? "" : "s");
  return std::nullopt;
}

const result::Disagreement* Scores::Counts::disagreement_on(int64_t sample) const {
  const auto found = std::lower_bound(
      disagreements.begin(), disagreements.end(), sample,
      [](const result::Disagreement& each, int64_t wanted) { return each.sample < wanted; });
  return found != disagreements.end() && found->sample == sample ? &*found : nullptr;
}

void Scores::judge_classes(const Session& session, const std::vector<result::Row>& rows) {
  const SessionState& state = session.state();
  const size_t sample = samples_.empty() ? 0 : samples_.size() - 1;
  for (size_t i = 0; i < rows.size(); ++i) {
    const result::Row& row = rows[i];
    if (!row.is_model_output || row.values.empty()) continue;  // not compared, or shapes differ
    const auto target = scores_of(state.target, *state.rows[i].target);
    const auto golden = scores_of(state.sides->golden_of(state.rows[i]), *state.rows[i].golden);
    if (!target || !golden) continue;
    const std::string& name = row.target->operator_name;
    auto of = std::find_if(counts_.begin(), counts_.end(),
                           [&](const Counts& each) { return each.output == name; });
    if (of == counts_.end()) {
      counts_.emplace_back().output = name;
      of = counts_.end() - 1;
    }
    ++of->samples;
    const int64_t target_class = first_class(*target), golden_class = first_class(*golden);
    of->agree += target_class == golden_class;
    if (target_class != golden_class)
      of->disagreements.push_back({static_cast<int64_t>(sample), target_class, golden_class});
    const auto label = labels_.of(sample, files_);
    if (!label) continue;
    if (of->labelled++ == 0)  // the first five of ten say little
      for (const int64_t n : kTops)
        if (n == 1 || std::ssize(*target) > 2 * n) of->top.push_back({n});
    for (Top& top : of->top) {
      top.target += rank_of(*label, *target) < top.n;
      top.golden += rank_of(*label, *golden) < top.n;
    }
  }
}

std::vector<result::Accuracy> Scores::accuracy() const {
  std::vector<result::Accuracy> accuracy;
  for (const Counts& of : counts_) {
    result::Accuracy& made = accuracy.emplace_back();
    made.output = of.output;
    made.samples = of.samples;
    made.agree = share_of(of.agree, of.samples);
    if (!of.disagreements.empty()) made.first_disagreement = of.disagreements.front();
    made.labelled = of.labelled;
    for (const Top& top : of.top)
      made.top.push_back(
          {top.n, share_of(top.target, of.labelled), share_of(top.golden, of.labelled)});
  }
  return accuracy;
}

}  // namespace plumb::replay
