// SPDX-License-Identifier: Apache-2.0
#include "replay/isolate_all.h"

#include <chrono>

#include <fmt/format.h>

#include "engine/model.h"

namespace plumb::replay {
namespace {

// Rows of other steps are not measured: each would need a run of its own.
std::vector<RowId> ids_of_step(const result::Run& run, std::vector<RowId> ids,
                               std::optional<int64_t> step) {
  if (!step)
    for (const result::Row& row : run.rows)
      if (row.step && (!step || *row.step < *step)) step = row.step;
  for (size_t i = 0; i < run.rows.size(); ++i)
    if (run.rows[i].step && run.rows[i].step != step) ids[i] = -1;
  return ids;
}

}  // namespace

Result<IsolatedAll> isolate_all(result::Run& run, const IsolateOptions& options,
                                RunContext& context) {
  const std::filesystem::path directory = std::filesystem::path(options.result).parent_path();
  auto path = original_model(options, run);
  if (!path) return path.error();
  std::string why;
  auto reopened = diagnose::reopen(run, directory, {options.target, options.golden}, context, why);
  if (!reopened)
    return Error{"the tensors that were compared cannot be read again",
                 fmt::format("{}: {}", options.result, why),
                 "say where the dumps are now: --target DIR, --golden DIR"};
  auto model = engine::LoadedModel::open({*path, {}, options.engine, options.limits});
  if (!model) return model.error();
  if (model->is_caffe())
    return Error{"operators of a Caffe network are not replayed", *path,
                 "name the ONNX file that the golden dump was made with: --model FILE"};
  const engine::Model view = model->view();
  auto onnx = graph::read_onnx(view.graph);
  if (!onnx) return std::move(onnx.error()).in(*path);
  const std::vector<RowId> ids = ids_of_step(run, reopened->ids, options.step);
  for (size_t i = 0; i < run.rows.size(); ++i)
    if (ids[i] >= 0) run.rows[i].own_error.reset();  // measured anew, or estimated
  const auto start = std::chrono::steady_clock::now();
  auto measured = measure_own_errors({*onnx, view, model->engine(), true}, reopened->session, ids,
                                     run, context);
  if (!measured) return std::move(measured.error()).in(*path);
  if (measured->measured == 0 && !context.cancelled)
    return Error{"no operator of the model could be replayed",
                 fmt::format("{}: none of its tensors is among those of {}", *path, options.result),
                 "name the model that the golden dump was made with, and dump every operator"};
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return IsolatedAll{std::move(*reopened), *measured, elapsed.count()};
}

}  // namespace plumb::replay
