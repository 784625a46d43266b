// SPDX-License-Identifier: Apache-2.0
#include "replay/expect.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/counted.h"
#include "compare/stream.h"
#include "dump/memory.h"
#include "engine/dump_model.h"
#include "input/source.h"
#include "io/file.h"
#include "replay/inner_progress.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;

fs::path numbered(const fs::path& directory, std::string_view what, size_t number) {
  return directory / fmt::format("{}_{}.pb", what, number);
}

// What numpy has no type for is written as the next wider one.
bool is_widened(std::string_view from, std::string_view to) {
  const auto dtype = dtype_from_name(from);
  return dtype && name_of(info_of(info_of(*dtype).unpacked).portable) == to;
}

// One model and its data sets.
class CaseRunner {
 public:
  CaseRunner(const ExpectOptions& options, std::shared_ptr<engine::Engine> engine,
             const judge::LimitRules& rules, RunContext& context)
      : options_(options), engine_(std::move(engine)), rules_(rules), context_(context) {}

  CaseResult run(const TestCase& one) {
    auto model = engine::LoadedModel::open({one.model, {}, options_.engine, {}, engine_});
    if (!model) return failed(model.error());
    engine::SessionOptions options;
    options.optimization = options_.optimization;
    auto session = model->engine().open(model->view(), options);
    if (!session)  // no kernel, or an operator that is not registered
      return {CaseOutcome::kUnsupported, text_of(session.error())};
    for (const fs::path& data : one.data)
      if (const CaseResult judged = run_set(**session, data); judged.outcome != CaseOutcome::kPass)
        return judged;
    return {};
  }

 private:
  static std::string text_of(const Error& error) {
    return fmt::format("{}: {}", error.what, error.where);
  }
  static CaseResult failed(const Error& error) { return {CaseOutcome::kFail, text_of(error)}; }

  CaseResult run_set(engine::Session& session, const fs::path& data) {
    engine::Inputs inputs;
    size_t number = 0;
    for (const engine::Port& port : session.inputs()) {
      if (!port.dtype)
        return {CaseOutcome::kUnsupported, fmt::format("input {} is {}", port.name, port.kind)};
      auto tensor = input::load_input({numbered(data, "input", number++).string(), {}, {}}, port,
                                      input::Preprocess{});
      if (!tensor) return failed(tensor.error());
      inputs.emplace(port.name, std::move(*tensor));
    }
    CaseResult judged;
    std::vector<dump::MemoryTensor> outputs;
    auto ran = session.run(inputs, [&](const engine::Output& output) -> Result<void> {
      if (!output.tensor) {
        judged = {CaseOutcome::kUnsupported,
                  fmt::format("output {} is {}", output.port.name, output.problem)};
        return {};
      }
      const auto kept = std::make_shared<const engine::Tensor>(engine::portable(*output.tensor));
      outputs.push_back({.op = fmt::format("output_{}", outputs.size()),
                         .dtype = kept->dtype,
                         .shape = kept->shape,
                         .bytes = kept->bytes,
                         .owner = kept});
      return {};
    });
    if (!ran) return failed(ran.error());
    if (judged.outcome != CaseOutcome::kPass) return judged;
    return compare(data, std::move(outputs));
  }

  CaseResult compare(const fs::path& data, std::vector<dump::MemoryTensor> tensors) {
    const size_t outputs = tensors.size();
    for (size_t i = 0; i < outputs; ++i)
      if (auto file = io::open_tensor_file(numbered(data, "output", i).string()); !file)
        return failed(file.error());
    auto target = dump::dump_of_tensors(std::move(tensors));
    auto golden = dump::open_dump(data);
    if (!target || !golden) return failed(!target ? target.error() : golden.error());
    for (dump::Entry& entry : golden->entries)  // "output_0/y", where the tensor is called y
      entry.operator_name =
          entry.operator_name.str().substr(0, entry.operator_name.str().find('/'));
    pair::PlanOptions options;
    options.wants = [](const dump::Entry& entry) {
      return !entry.operator_name.str().starts_with("input_");
    };
    const auto plan = pair::make_plan(*target, *golden, options);
    std::vector<const metrics::Metric*> columns = rules_.metrics();
    const compare::StreamOptions stream_options{rules_, columns, metrics::request_for(columns),
                                                false, nullptr};
    const compare::Sides sides{*target, *golden, nullptr, {}, {}};
    size_t passed = 0;
    for (const result::Row& row :
         compare::stream(compare::Streamer(sides, stream_options), plan, context_)) {
      if (row.is_filtered()) continue;
      if (row.target && row.golden && row.target->dtype != row.golden->dtype &&
          !is_widened(row.golden->dtype, row.target->dtype))
        return {CaseOutcome::kFail, fmt::format("{} is {} instead of {}", row.target->operator_name,
                                                row.target->dtype, row.golden->dtype)};
      if (row.verdict == result::Verdict::kPass) {
        ++passed;
        continue;
      }
      return {CaseOutcome::kFail,
              fmt::format("{}: {}", row.any_side().operator_name,
                          row.message.empty() ? fmt::format("{}", fmt::join(row.reasons, ", "))
                                              : row.message)};
    }
    if (passed != outputs)
      return {CaseOutcome::kFail, fmt::format("{} of {} compared", passed,
                                              counted(static_cast<size_t>(outputs), "output"))};
    return {};
  }

  const ExpectOptions& options_;
  const std::shared_ptr<engine::Engine> engine_;  // one for all
  const judge::LimitRules& rules_;
  RunContext& context_;
};

}  // namespace

Result<std::vector<TestCase>> find_test_cases(const fs::path& path) {
  struct Files {
    std::vector<fs::path> models, data;
  };
  std::map<fs::path, Files> found;  // by directory, so that the order is the same everywhere
  std::error_code error;
  fs::recursive_directory_iterator at(path, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    const fs::path& file = at->path();
    if (file.extension() == ".onnx") found[file.parent_path()].models.push_back(file);
    if (file.filename().string().starts_with("test_data_set_"))
      found[file.parent_path()].data.push_back(file);
  }
  if (error)
    return Error{"the directory of test cases cannot be read",
                 path.string() + ": " + error.message(), "check its name and permissions"};
  std::vector<TestCase> cases;
  for (auto& [directory, files] : found) {
    if (files.data.empty()) continue;
    std::sort(files.models.begin(), files.models.end());
    std::sort(files.data.begin(), files.data.end());
    for (const fs::path& model : files.models) {
      const fs::path file = model.lexically_relative(path), folder = file.parent_path();
      const bool is_alone = files.models.size() == 1 && !folder.empty();
      cases.push_back({(is_alone ? folder : file).string(), model, files.data});
    }
  }
  if (cases.empty())
    return Error{"there are no test cases", path.string(),
                 "name a directory with model.onnx and test_data_set_0/, or one of many such"};
  return cases;
}

Result<std::vector<CaseResult>> run_test_cases(const std::vector<TestCase>& cases,
                                               const ExpectOptions& options, RunContext& context) {
  // Without its engine no case is better or worse than any other.
  auto engine = engine::load_engine(options.engine, options.limits);
  if (!engine) return engine.error();
  auto rules = judge::load_rules(options.profile, "");
  if (!rules) return rules.error();
  CaseRunner runner(options, *engine, *rules, context);
  std::vector<CaseResult> results;
  const InnerProgress cases_count(context);
  for (const TestCase& one : cases) {
    if (context.cancelled) break;
    results.push_back(runner.run(one));
    cases_count.advance();
  }
  return results;
}

}  // namespace plumb::replay
