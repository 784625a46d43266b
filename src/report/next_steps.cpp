// SPDX-License-Identifier: Apache-2.0
#include "report/next_steps.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/name_pattern.h"
#include "base/run_command.h"
#include "report/findings_text.h"
#include "report/ranking.h"
#include "report/symptom.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using result::InputSide;
using result::Row;
using result::Run;
using result::Summary;
using result::Verdict;

bool has(const Run& run, std::string_view reason) {
  return std::any_of(run.rows.begin(), run.rows.end(), [&](const Row& row) {
    return std::find(row.reasons.begin(), row.reasons.end(), reason) != row.reasons.end();
  });
}

// To see what a side holds, or one operator of it.
void add_inspection(const Run& run, const InputSide& side, const std::string* name,
                    NextStep& step) {
  if (run.command != "compare") return;  // the side may be a model
  // Nothing that had to be escaped can be copied, nor would an option be read as a name.
  const auto copies = [](const std::string& word) {
    return !word.empty() && word[0] != '-' && printable(word) == word;
  };
  if (!copies(side.path) || (name != nullptr && !copies(*name))) return;
  step.commands.push_back(
      "$ plumb inspect " + shell_word(side.path) +
      (name == nullptr ? "" : " --stats --op " + shell_word(pattern_of(*name))));
}

bool is_without_header(const Row& row) {
  return std::find(row.reasons.begin(), row.reasons.end(), "no_header") != row.reasons.end();
}

// Files without a header, of a board for example, beside tensors of the same names.
std::optional<NextStep> typed_by_other_side(const Run& run) {
  const bool any = std::any_of(run.rows.begin(), run.rows.end(), [](const Row& row) {
    return is_without_header(row) && row.target && row.golden;
  });
  if (run.command != "compare" || !any) return std::nullopt;
  return NextStep{
      "files of a board have no header; `plumb run` takes their types from the tensors of the same "
      "names on the other side",
      {"$ plumb run " + shell_word(run.target.path) + " " + shell_word(run.golden.path)}};
}

// Whoever compares outputs alone learns that they differ, not where that begins.
bool compares_outputs_alone(const Run& run) {
  return run.command != "compare" &&
         std::all_of(run.rows.begin(), run.rows.end(), [](const Row& r) {
           return r.is_model_output || r.verdict == Verdict::kNotCompared;
         });
}

// What was decoded to bare bytes, as `msaccucmp convert -t bin` names it: its name says what it is,
// but not its shape.
bool is_decoded_to_bytes(const Row& row) {
  const std::string_view file = row.any_side().operator_name;
  return file.ends_with(".bin") && (file.find(".output.") != std::string_view::npos ||
                                    file.find(".input.") != std::string_view::npos);
}

std::string no_header_text(const Run& run) {
  if (run.command != "compare") {
    constexpr size_t kMost = 3;
    std::vector<std::string> names;  // that no file has
    for (const Row& row : run.rows)
      if (row.golden && !row.target && names.size() < kMost)
        names.push_back(printable(row.golden->operator_name) + ".bin");
    return "files without a header get their type from the tensor of that name on the other side; "
           "rename them like that" +
           (names.empty() ? "" : fmt::format(": {}", fmt::join(names, ", ")));
  }
  if (std::all_of(run.rows.begin(), run.rows.end(), [&](const Row& row) {
        return !is_without_header(row) || is_decoded_to_bytes(row);
      }))
    return "bytes of a decoded dump have no shape: decode it to npy (`plumb convert DUMP -o DIR`), "
           "or compare the dump as it is";
  return "files without a header need --dtype, and --shape unless they are flat: --dtype float32 "
         "--shape 1,1000";
}

bool lacks_quant(const Run& run) {
  return (run.scenario == "quantized-original-vs-original" && run.graphs.empty() &&
          run.command == "compare") ||
         (run.scenario == "quantized-offline-vs-original" && has(run, "ambiguous_pair"));
}

// For tensors without a partner: what would tell it. Empty if there are none.
std::string partner_text(const Run& run) {
  const bool lacks_scales = run.graphs.empty() && has(run, "quantized_interior");
  if (lacks_quant(run) || !run.doubts.empty() || run.command != "compare" ||
      !(has(run, "no_golden") || has(run, "no_target") || lacks_scales))
    return {};
  // An operator that the other side has as well, with fewer slots, says so.
  const bool only_slots = std::all_of(run.rows.begin(), run.rows.end(), [](const Row& row) {
    return !row.pairing_rule.empty() || row.is_excused() ||
           row.message.starts_with("the operator is there");
  });
  const std::string scenario = run.graphs.empty() ? run.scenario : "";
  if (only_slots && !lacks_scales)
    return "one side has fewer slots: --slot output compares the outputs, --allow missing lets the "
           "rest go";
  if (lacks_scales && scenario != "quantized-original-vs-original")
    return "--graph MODEL.om (or its json) tells what operators and integers were made from; "
           "--quant FILE, which AMCT wrote, what was folded";
  if (scenario == "offline-vs-original" || scenario.starts_with("quantized-offline"))
    return "--graph MODEL.om (or its json) tells what operators were made from";
  if (scenario == "npu-vs-npu")
    return "operators that the compiler fused or inserted on one side only: --graph and "
           "--golden-graph tell them";
  // Only if both sides have some left over can names be all that differs.
  if (has(run, "no_golden") && has(run, "no_target"))
    return "operators that are named differently on the two sides pair with --map FILE";
  return fmt::format(
      "the {} side has nothing for them: dump it again with all operators, or --allow missing "
      "lets them go",
      has(run, "no_golden") ? "golden" : "target");
}

}  // namespace

std::optional<NextStep> first_look(const Run& run, const Summary& s) {
  NextStep step;
  if (s.pass == s.rows || has_culprit(run) || typed_by_other_side(run)) return std::nullopt;
  if (s.verdict == Verdict::kNotCompared && s.rows > s.excused()) {
    step.text = "see what each side holds";
    add_inspection(run, run.target, nullptr, step);
    add_inspection(run, run.golden, nullptr, step);
    if (step.commands.empty()) return std::nullopt;
    return step;
  }
  const Row* start = divergence_of(run, s).row;
  if (start == nullptr || !start->target) return std::nullopt;
  const std::string& name = start->target->operator_name;
  if (compares_outputs_alone(run)) {
    if (is_of_another_size(*start)) return std::nullopt;
    if (is_board_against_simulator(run)) {
      step.text =
          "see that the board ran this very build and was fed the bytes of input/ in the gt folder";
      return step;
    }
    step.text =
        "only outputs were compared: every layer (--layers all of two models, or dumps of all "
        "layers) shows where it begins";
    return step;
  }
  step.text =
      run.is_ordered
          ? fmt::format("start at {}; what comes after it may only have inherited its error",
                        printable(name))
          : fmt::format(
                "look at {}; which operator ran first is not recorded, so it may "
                "have inherited its error",
                printable(name));
  add_inspection(run, run.target, &name, step);
  return step;
}

std::vector<NextStep> next_steps(const Run& run, const Summary& s) {
  std::vector<NextStep> steps;
  const auto advise = [&](bool applies, std::string text) {
    if (applies) steps.push_back({std::move(text), {}});
  };
  const bool all_pass = s.pass == s.rows && !run.interrupted;  // no row has to be looked at
  if (auto step = all_pass ? std::nullopt : typed_by_other_side(run)) {
    steps.push_back(std::move(*step));
    return steps;
  }
  advise(!run.doubts.empty(),
         run.command == "compare"
             ? "give the graph of this very model and build (the .om itself will do), or none"
             : "repair or leave out the samples that the warnings name");
  if (all_pass) return steps;
  advise(has(run, "damaged_file"), "copy damaged files again from where they were written");
  advise(has(run, "no_header"), no_header_text(run));
  advise(lacks_quant(run) && s.verdict != Verdict::kPass,
         "--quant FILE, the json that the quantization tool (AMCT) wrote, tells what was folded "
         "into which layer");
  const std::string partners = partner_text(run);
  advise(!partners.empty(), partners);
  advise(s.filtered == s.rows && s.rows > 0,
         "nothing matches what was selected; `plumb inspect` lists operators, steps and ranks");
  advise(run.interrupted, "run it again to the end: what was not reached is not compared");
  return steps;
}

}  // namespace plumb::report
