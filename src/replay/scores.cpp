// SPDX-License-Identifier: Apache-2.0
#include "replay/scores.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compare/session_state.h"
#include "tensor/decode.h"

namespace plumb::replay {
namespace {

// Index of the largest element, if the tensor is a list of scores. Among NaN none is the largest.
std::optional<int64_t> first_class(const dump::DumpSet& set, const dump::Entry& entry) {
  auto opened = dump::EntryReader::open(set, entry);
  if (!opened) return std::nullopt;
  io::TensorReader& reader = opened->reader();
  const DKind kind = kind_of(reader.dtype());
  const int64_t count = reader.count();
  if (squeezed(reader.shape()).size() != 1 || count < 2 || count > 1'000'000 ||
      (kind != DKind::kFloat && kind != DKind::kInteger))
    return std::nullopt;
  const auto bytes = reader.read(0, count);
  if (!bytes) return std::nullopt;
  std::vector<double> numbers(static_cast<size_t>(count));
  decode_double(reader.dtype(), bytes->data(), count, numbers.data());
  if (std::any_of(numbers.begin(), numbers.end(), [](double n) { return std::isnan(n); }))
    return std::nullopt;
  return std::max_element(numbers.begin(), numbers.end()) - numbers.begin();
}

}  // namespace

void Scores::add_sample(const std::string& name, std::vector<std::string> files) {
  samples_.push_back(name);
  files_ = std::move(files);
  without_label_ += !labels_.of(samples_.size() - 1, files_);
}

std::optional<std::string> Scores::labels_doubt() const {
  if (std::all_of(accuracy_.begin(), accuracy_.end(),
                  [](const result::Accuracy& of) { return of.labelled == 0; }))
    return accuracy_.empty() ? "no label was used: no output tells a class on both sides"
                             : "no label was used: none is of these samples";
  if (without_label_ > 0)
    return fmt::format("{} of {} sample{} have no label", without_label_, samples_.size(),
                       samples_.size() == 1 ? "" : "s");
  return std::nullopt;
}

void Scores::judge_classes(const Session& session, const std::vector<result::Row>& rows) {
  const SessionState& state = session.state();
  for (size_t i = 0; i < rows.size(); ++i) {
    const result::Row& row = rows[i];
    if (!row.is_model_output || row.values.empty()) continue;  // not compared, or shapes differ
    const auto target = first_class(state.target, *state.rows[i].target);
    const auto golden = first_class(state.sides->golden_of(state.rows[i]), *state.rows[i].golden);
    if (!target || !golden) continue;
    const std::string& name = row.target->operator_name;
    auto of = std::find_if(accuracy_.begin(), accuracy_.end(),
                           [&](const result::Accuracy& each) { return each.output == name; });
    if (of == accuracy_.end()) {
      accuracy_.emplace_back().output = name;
      of = accuracy_.end() - 1;
    }
    ++of->samples;
    of->agree += *target == *golden;
    if (*target != *golden && of->first_disagreement.empty())
      of->first_disagreement =
          fmt::format("{}{}{} against {}", samples_.empty() ? "" : samples_.back(),
                      samples_.empty() ? "" : ": ", *target, *golden);
    const auto label = labels_.of(samples_.empty() ? 0 : samples_.size() - 1, files_);
    if (!label) continue;
    ++of->labelled;
    of->top.resize(1);
    of->top[0].target += *target == *label;
    of->top[0].golden += *golden == *label;
  }
}

}  // namespace plumb::replay
