// SPDX-License-Identifier: Apache-2.0
#include "replay/diagnosis.h"

#include <fmt/format.h>

#include "diagnose/explain.h"
#include "replay/isolate_all.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;

// What a result can still be looked at with.
class Diagnosis {
 public:
  Diagnosis(const DiagnosisOptions& options, result::Run& run, RunContext& context)
      : options_(options), run_(run), context_(context) {}

  Result<void> explain() {
    if (options_.no_data) {
      lost_.emplace_back("--no-data");
    } else {
      if (auto opened = open_tensors(); !opened) return opened;
      if (auto opened = open_models(); !opened) return opened;
    }
    std::vector<result::Finding> known = run_.findings;
    diagnose::explain(run_,
                      reopened_ ? diagnose::Tensors(&reopened_->session, reopened_->ids)
                                : diagnose::Tensors(nullptr),
                      context_,
                      {models_ ? &*models_ : nullptr,
                       {"", options_.result, {options_.models.target, options_.models.golden}}});
    // Who looked at tensors and models saw more.
    if (lost_.empty() || known.empty()) return {};
    run_.findings = std::move(known);
    diagnose::explain_as_a_whole(run_);  // of what is known now
    lost_.emplace_back("the findings are those of the result");
    return {};
  }

  std::vector<std::string>& lost() { return lost_; }

 private:
  Result<void> open_tensors() {
    if (!options_.models.golden.empty()) return replay_all();
    const fs::path directory = fs::path(options_.result).parent_path();
    std::string why;
    reopened_ = diagnose::reopen(run_, directory, options_.moved, context_, why);
    if (!reopened_)
      lost_.push_back("the tensors were not looked at again: " + why);
    else if (reopened_->gone > 0)
      lost_.push_back(fmt::format("{} of the tensors are not there any more", reopened_->gone));
    return {};
  }

  // Fills in own errors by measurement.
  Result<void> replay_all() {
    IsolateOptions isolate;
    isolate.result = options_.result;
    isolate.model = options_.models.golden;
    isolate.target = options_.moved.target;
    isolate.golden = options_.moved.golden;
    isolate.limits = options_.limits;
    auto isolated = isolate_all(run_, isolate, context_);
    if (!isolated) return isolated.error();
    reopened_ = std::move(isolated->reopened);
    return {};
  }

  Result<void> open_models() {
    diagnose::ModelDifferences::Files files = options_.models;
    const bool is_named = !files.target.empty() && !files.golden.empty();
    const diagnose::ModelPaths paths = diagnose::models_of(run_);
    if (files.target.empty()) files.target = paths.target;
    if (files.golden.empty()) files.golden = paths.golden;
    if (files.target.empty() || files.golden.empty()) {
      if (run_.command == "run") lost_.emplace_back("a model that was run is not there any more");
      return {};
    }
    auto loaded = diagnose::ModelDifferences::load(files);
    if (!loaded && is_named) return loaded.error();
    if (loaded) models_ = std::move(*loaded);
    return {};
  }

  const DiagnosisOptions& options_;
  result::Run& run_;
  RunContext& context_;
  std::optional<diagnose::Reopened> reopened_;
  std::optional<diagnose::ModelDifferences> models_;
  std::vector<std::string> lost_;
};

}  // namespace

Result<std::vector<std::string>> diagnose_again(result::Run& run, const DiagnosisOptions& options,
                                                RunContext& context) {
  Diagnosis diagnosis(options, run, context);
  if (auto explained = diagnosis.explain(); !explained) return explained.error();
  return std::move(diagnosis.lost());
}

}  // namespace plumb::replay
