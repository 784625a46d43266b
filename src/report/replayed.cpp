// SPDX-License-Identifier: Apache-2.0
#include "report/replayed.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/json_values.h"
#include "base/run_command.h"
#include "report/table.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using result::Blame;
using result::Replayed;
using result::ReplayError;
using result::ReplayOperator;
using result::ReplayPort;
using result::Verdict;

constexpr std::string_view kMetricsOfReplay[] = {"cosine", "rel_euclid", "max_abs"};

struct Told {
  std::string_view word;     // for programs
  std::string_view heading;  // for people
  std::string_view sentence;
};
Told tell(Blame blame) {
  switch (blame) {
    case Blame::kNobody:
      return {"none", "NO ERROR", "what the target gave is within limits, and so are its parts"};
    case Blame::kOperator:
      return {"introduced", "INTRODUCED HERE",
              "from the target's own inputs, the model computes something else"};
    case Blame::kInputs:
      return {"inherited", "INHERITED",
              "from the target's own inputs, the model computes the same"};
    case Blame::kBoth:
      return {"both", "BOTH",
              "its inputs are off already, and from them the model computes something else"};
    case Blame::kSum: break;
  }
  return {"sum", "ADDS UP",
          "its own error and the inherited one are within limits, together they are not"};
}

// "conv1 (Conv), relu1 (Relu)"
std::string names_of(const Replayed& replayed, bool only_chosen) {
  constexpr size_t kMost = 4;
  std::string text;
  size_t count = 0;
  for (const ReplayOperator& op : replayed.operators) {
    if ((only_chosen && !op.is_chosen) || ++count > kMost) continue;
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", op.name, op.type);
  }
  if (count > kMost) text += fmt::format(" and {} more", count - kMost);
  return printable(text);
}

// How well the model did with golden's inputs: the worst of its outputs.
std::string again_text(const Replayed& replayed) {
  if (replayed.is_exact) return "golden inputs reproduce the golden output bit for bit";
  double worst = -1;
  std::string text;
  for (const ReplayError& error : replayed.again)
    for (size_t i = 0; i < replayed.columns.size(); ++i)
      if (const double number = error.row.values[i].number();
          replayed.columns[i]->name == "max_abs" && number > worst) {
        worst = number;
        text = fmt::format("rel_euclid {}, max_abs {}",
                           rounded_text(replayed.columns, error.row, "rel_euclid"),
                           rounded_text(replayed.columns, error.row, "max_abs"));
      }
  return "golden inputs reproduce the golden output up to " + text;
}

std::string errors_markdown(const Replayed& replayed) {
  std::string text = "| error | tensor |";
  for (std::string_view name : kMetricsOfReplay) text += fmt::format(" {} |", name);
  text += " verdict |\n|---|---|---|---|---|---|\n";
  for (const ReplayError& error : replayed.errors) {
    text += fmt::format("| {} | {} |", error.title, printable(error.tensor));
    for (std::string_view name : kMetricsOfReplay)
      text += fmt::format(" {} |", rounded_text(replayed.columns, error.row, name));
    text += fmt::format(" {} |\n", name_of(error.row.verdict));
  }
  return text;
}

Json ports_json(const std::vector<ReplayPort>& ports) {
  Json items = Json::array();
  for (const ReplayPort& port : ports)
    items.push_back({{"name", port.name},
                     {"dtype", port.dtype},
                     {"shape", port.shape},
                     {"golden", port.golden_file},
                     {"target", port.target_file}});
  return items;
}

}  // namespace

std::string render(const Replayed& replayed, size_t width) {
  Table table;
  table.columns = {{"error"}, {"tensor", false, 9, true}};
  for (std::string_view name : kMetricsOfReplay) table.columns.push_back({std::string(name), true});
  table.columns.push_back({"verdict"});
  for (const ReplayError& error : replayed.errors) {
    std::vector<std::string> cells{error.title, printable(error.tensor)};
    for (std::string_view name : kMetricsOfReplay)
      cells.push_back(rounded_text(replayed.columns, error.row, name));
    cells.emplace_back(name_of(error.row.verdict));
    table.rows.push_back(std::move(cells));
  }
  const Told told = tell(replayed.blame());
  const auto fused = std::count_if(replayed.operators.begin(), replayed.operators.end(),
                                   [](const ReplayOperator& op) { return !op.is_chosen; });
  std::string text = table.render(width);
  text += fmt::format("\n{}  {}{}: {}\n", told.heading, names_of(replayed, true),
                      fused == 0 ? "" : fmt::format(" and {} fused with it", fused), told.sentence);
  for (const ReplayError& error : replayed.errors)
    if (error.title == "own" && error.row.verdict != Verdict::kPass)
      text += fmt::format("  limits    {}: {}\n", printable(error.tensor),
                          printable(error.row.message));
  if (fused > 0)
    text += fmt::format("  fused     the target has no tensors between {}\n",
                        names_of(replayed, false));
  if (!replayed.left_out.empty())
    text += fmt::format("  left out  {}\n",
                        printable(fmt::format("{}", fmt::join(replayed.left_out, ", "))));
  text += fmt::format("  replay    {}; {}\n", replayed.engine, again_text(replayed));
  text += fmt::format("  sides     {} against {}, profile {}\n", printable(replayed.target),
                      printable(replayed.golden), printable(replayed.profile));
  text +=
      "  errors    total: target against golden; inherited: the model fed with the target's "
      "inputs,\n"
      "            against golden; own: target against that\n";
  return text;
}

std::string readme_of(const Replayed& replayed) {
  const Told told = tell(replayed.blame());
  std::string text = fmt::format("# {}\n\n{}: {}.\n\n{}", names_of(replayed, false), told.heading,
                                 told.sentence, errors_markdown(replayed));
  text += fmt::format(
      "\n`total` is the target against golden, `inherited` the model fed with the target's inputs "
      "against\ngolden, `own` the target against that. Replayed with {}:\n{}.\n",
      replayed.engine, again_text(replayed));
  text += R"(
## Files

| file | what |
|---|---|
| `model.onnx` | the operators alone, with their weights |
| `golden_inputs/`, `target_inputs/` | what they were fed on either side |
| `expected/` | what golden gave |
| `target/` | what the target gave |
| `replayed_golden/`, `replayed_target/` | what `model.onnx` gives for these inputs |
| `versions.json` | versions, types, shapes and all numbers |

## Replay it

```sh
plumb dump model.onnx -o again)";
  for (const ReplayPort& input : replayed.inputs)
    text += fmt::format(" --input {}={}", shell_quoted(input.name), input.target_file);
  text += R"(
```

or in Python:

```python
import numpy, onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
outputs = session.run(None, {
)";
  for (const ReplayPort& input : replayed.inputs)
    text +=
        fmt::format("    {}: numpy.load(\"{}\"),\n", ascii_of_json(input.name), input.target_file);
  text += "})\n```\n\nAgainst `target/`, this is the operator's own error.\n";
  return text;
}

std::string json_of(const Replayed& replayed) {
  Json opsets = Json::object();
  for (const auto& [domain, version] : replayed.opsets) opsets[domain] = version;
  Json document{
      {"schema", "plumb.isolate/1"},
      {"tool", tool_json()},
      {"engine", replayed.engine},
      {"model",
       {{"file", replayed.model}, {"ir_version", replayed.ir_version}, {"opsets", opsets}}},
      {"result",
       {{"version", replayed.result_version},
        {"profile", replayed.profile},
        {"target", {{"path", replayed.target}, {"convention", replayed.target_convention}}},
        {"golden", {{"path", replayed.golden}, {"convention", replayed.golden_convention}}}}},
      {"verdict", tell(replayed.blame()).word},
      {"replay_is_exact", replayed.is_exact},
      {"operators", Json::array()},
      {"inputs", ports_json(replayed.inputs)},
      {"outputs", ports_json(replayed.outputs)},
      {"left_out", replayed.left_out},
      {"errors", Json::array()}};
  for (const ReplayOperator& op : replayed.operators)
    document["operators"].push_back({{"name", op.name}, {"type", op.type}});
  for (const ReplayError& error : replayed.errors) {
    Json item{{"error", error.title},
              {"tensor", error.tensor},
              {"verdict", name_of(error.row.verdict)},
              {"metrics", Json::object()}};
    for (size_t i = 0; i < replayed.columns.size(); ++i) {
      const metrics::Value& value = error.row.values[i];
      const bool is_number = value.is_defined() && std::isfinite(value.number());
      item["metrics"][std::string(replayed.columns[i]->name)] =
          is_number ? Json(value.number()) : Json();
    }
    document["errors"].push_back(std::move(item));
  }
  return text_of_json(document, 2);
}

}  // namespace plumb::report
