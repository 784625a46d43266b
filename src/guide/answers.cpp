// SPDX-License-Identifier: Apache-2.0
#include "guide/answers.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/toml_text.h"
#include "base/utf8.h"
#include "guide/circumstances.h"

namespace plumb::guide {
namespace {

using enum AnswerKind;

constexpr Question kQuestions[] = {
    {"problem", kChoice, "which kind of model is it about?", "", "traditional|quantized|npu|axera"},
    // Two sides.
    {"target", kPath, "the side being checked: a dump, or a model (.onnx, .prototxt)",
     "dump the converted model on the device, or `plumb dump MODEL --input FILE -o DIR`"},
    {"golden", kPath, "the reference: a dump, or a model",
     "`plumb dump MODEL --input FILE -o DIR` with the original model and the same input"},
    {"graph", kPath, "graph of the target (.om, json of atc, ONNX)",
     "atc --mode=1 --om=MODEL.om --json=MODEL.json"},
    {"golden_graph", kPath, "graph of golden", "atc --mode=1 --om=MODEL.om --json=MODEL.json"},
    {"quant_json", kPath, "what the quantization tool wrote about the model (json)",
     "AMCT writes it beside the quantized model"},
    {"input", kPath, "what the models are fed, if models are to be run: npy, picture, directory",
     "without it the models are fed random numbers"},
    {"config", kPath, "pre-processing configuration (config.prototxt, pulsar2 json)",
     "the one that was given to `pulsar build --config`"},
    {"model", kPath,
     "the original model: the laboratory runs it, a bundle holds the accused operator alone", ""},
    // Symptoms.
    {"upgraded", kYesNo, "was it right before driver, firmware, toolkit or processor were changed?",
     ""},
    {"target_env", kPath, "environment of the target, as `plumb env -o FILE` writes it",
     "run `plumb env -o after.json` there"},
    {"golden_env", kPath, "environment of golden", "run `plumb env -o before.json` there"},
    {"task_ok", kYesNo, "are the results of the application right?", ""},
    {"target_pre", kPath, "what the application feeds the model on the target's side, as a dump",
     "save the tensor that goes into the model"},
    {"golden_pre", kPath, "... on golden's side", "save the tensor that goes into the model"},
    {"target_post", kPath, "what the application makes of the outputs on the target's side",
     "save what comes out of post-processing, for the same input"},
    {"golden_post", kPath, "... on golden's side", "save what comes out of post-processing"},
    {"fusion_off", kPath, "dump of the model converted with fusion off",
     "atc --fusion_switch_file=fusion_switch.cfg with {\"Switch\": {\"GraphFusion\": {\"ALL\": "
     "\"off\"}, \"UBFusion\": {\"ALL\": \"off\"}}}, then dump again"},
    {"fusion_off_graph", kPath, "graph of the model converted with fusion off",
     "atc --mode=1 --om=MODEL.om --json=MODEL.json"},
    // Quantized models, in three stages.
    {"topn_float", kShare, "top-N accuracy of the original model (76.1% or 0.761)",
     "`plumb eval MODEL --data DIR --labels FILE` tells it"},
    {"topn_quant", kShare, "top-N accuracy of the quantized original model",
     "`plumb eval QUANTIZED MODEL --data DIR --labels FILE` tells it"},
    {"topn_offline", kShare, "top-N accuracy of the converted quantized model on the device",
     "run the application on labelled data"},
    {"topn_samples", kCount, "samples that top-N was measured with", ""},
    {"quant_model", kPath, "the quantized original as a model that runs here (.onnx, .prototxt)",
     "`plumb quantize MODEL --calib SET -o DIR` writes model_fakequant.onnx"},
    {"offline_results", kPath, "outputs of the converted model, one folder for each sample",
     "save what the device gives for the samples of eval_data"},
    {"eval_data", kPath, "samples of the application: pictures or arrays, to measure with", ""},
    {"labels", kPath, "right classes of these samples: lines of FILE,CLASS", ""},
    {"calibration_data", kPath, "the samples that the quantization was calibrated with", ""},
    {"float_original", kPath, "dump of the original model (npy)",
     "`plumb dump MODEL --input FILE -o DIR`"},
    {"quant_original", kPath, "dump of the quantized original model (npy)",
     "`plumb dump FAKE_QUANT_MODEL --input FILE -o DIR`"},
    {"calibration_size", kCount, "samples that the quantization was calibrated with", ""},
    {"calibration_represents", kYesNo,
     "do the calibration samples look like the data of the application?",
     "they should come from the same source, all classes and scenes among them"},
    {"offline_unfused", kPath, "dump of the converted quantized model, fusion off",
     "atc --fusion_switch_file=fusion_switch.cfg, everything \"off\" in it; then dump"},
    {"offline_graph", kPath, "graph of that model", "atc --mode=1 --om=MODEL.om --json=MODEL.json"},
    {"offline_fused", kPath, "dump of the converted quantized model, fusion on",
     "convert without --fusion_switch_file, then dump"},
    {"fused_graph", kPath, "graph of that model", "atc --mode=1 --om=MODEL.om --json=MODEL.json"},
    // Two runs on devices.
    {"change", kChoice, "what changed between the two runs?", "", "version|processor|fusion"},
    {"quantized", kChoice, "which of the two models are quantized?", "", "none|both|one"},
    // Axera.
    {"platforms", kChoice, "where does the accuracy get lost?",
     "run the model on another platform with the same bit width", "ax_only|all"},
    {"reference", kPath, "the original model (.onnx), or its results (a gt folder, a directory)",
     "`pulsar run model.onnx model.joint --output_gt DIR` writes a gt folder"},
    {"simulated", kPath, "results of the simulator (a gt folder, a directory)",
     "`pulsar run model.onnx model.joint --output_gt DIR` writes a gt folder"},
    {"cos_sim", kShare, "lowest cos-sim that `pulsar run` prints (0.97 or 97%)", ""},
    {"config_generated", kYesNo,
     "was the configuration given to `pulsar run` written by `pulsar build --output_config`?", ""},
    {"quantized_only", kPath, "results of model.lava_joint, quantized and not compiled",
     "`pulsar run model.onnx model.lava_joint --output_gt DIR`"},
    {"layers_target", kPath, "every layer of the converted model (a directory)",
     "build with layer-wise comparison on, then `pulsar run`"},
    {"layers_golden", kPath, "every layer of the original model",
     "`plumb dump model.onnx --input FILE -o DIR`"},
    {"board_low", kYesNo, "is the accuracy low on the board, after post-processing?", ""},
    {"board", kPath, "results of the board for the same input (the .bin files of run_joint)",
     "run_joint model.joint --data input.bin --bin-out-dir DIR"},
};

constexpr size_t kMostAnswerBytes = size_t{1} << 20;
constexpr size_t kMostLetters = 4096;  // of an answer: the longest path there is

std::string spaced(std::string_view choices) {
  std::string text;
  size_t at = 0;
  while (true) {
    const size_t bar = choices.find('|', at);
    const bool is_last = bar == std::string_view::npos;
    text += text.empty() ? "" : is_last ? " or " : ", ";
    text += choices.substr(at, is_last ? bar : bar - at);
    if (is_last) return text;
    at = bar + 1;
  }
}

std::vector<std::string> words_of(std::string_view choices) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= choices.size();) {
    const size_t bar = std::min(choices.find('|', at), choices.size());
    words.emplace_back(choices.substr(at, bar - at));
    at = bar + 1;
  }
  return words;
}

Result<std::string> checked(const Question& question, const std::string& text) {
  const auto refused = [&](std::string hint = {}) {
    return Error{fmt::format("'{}' does not answer {}", text.substr(0, 80), question.key),
                 fmt::format("{} = \"{}\"", question.key, text.substr(0, 80)),
                 hint + "give " + kind_text(question) + ", or unknown"};
  };
  const std::string name(question.key);
  switch (question.kind) {
    case kPath:
      if (text.find('\0') != std::string::npos) return refused();
      return text;
    case kYesNo:
      for (const std::string_view word : {"yes", "y", "true"})
        if (text == word) return std::string("yes");
      for (const std::string_view word : {"no", "n", "false"})
        if (text == word) return std::string("no");
      return refused();
    case kShare:
      if (auto share = share_from(text, name, nullptr); !share) return refused();
      return text;
    case kCount:
      if (auto count = count_from(text, name, 0); !count) return refused();
      return text;
    case kChoice: break;
  }
  const std::vector<std::string> words = words_of(question.choices);
  if (std::find(words.begin(), words.end(), text) != words.end()) return text;
  return refused(did_you_mean(text, words));
}

std::string_view stripped(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// What stands behind a key, as a person would type it.
std::optional<std::string> typed(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "yes" : "no";
  return std::nullopt;
}

// In ASCII: see base/toml_text.h.
std::string toml_quoted(std::string_view text) {
  std::string toml = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(1, character_length(text, at));
    const char c = text[at];
    if (c == '"' || c == '\\')
      toml += fmt::format("\\{}", c);
    else if (length > 1 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      toml += fmt::format("\\U{:08X}", static_cast<uint32_t>(code_point(text.substr(at, length))));
    else
      toml += c;
    at += length;
  }
  return toml + "\"";
}

}  // namespace

std::span<const Question> questions() { return kQuestions; }

const Question* question_by_key(std::string_view key) {
  for (const Question& question : kQuestions)
    if (question.key == key) return &question;
  return nullptr;
}

std::string kind_text(const Question& question) {
  switch (question.kind) {
    case kPath: return "a path";
    case kYesNo: return "yes or no";
    case kShare: return "percent or a share (76.1% or 0.761)";
    case kCount: return "a whole number";
    case kChoice: break;
  }
  return spaced(question.choices);
}

Result<void> Answers::set(const Question& question, std::string_view text) {
  const std::string answer(stripped(text));
  if (answer.size() > kMostLetters)
    return Error{"the answer is too long",
                 fmt::format("{}: {} letters", question.key, answer.size()),
                 "give " + kind_text(question) + ", or unknown"};
  if (valid_utf8(answer) != answer)
    return Error{"the answer is no UTF-8", std::string(question.key),
                 "give " + kind_text(question) + ", or unknown"};
  if (answer.empty() || answer == kUnknownAnswer) {
    answers_.insert_or_assign(std::string(question.key), std::string(kUnknownAnswer));
    return {};
  }
  auto kept = checked(question, answer);
  if (!kept) return kept.error();
  answers_.insert_or_assign(std::string(question.key), std::move(*kept));
  return {};
}

bool Answers::has(std::string_view key) const { return answers_.contains(key); }

std::string Answers::known(std::string_view key) const {
  const auto found = answers_.find(key);
  return found == answers_.end() || found->second == kUnknownAnswer ? std::string() : found->second;
}

Result<Answers> answers_from_toml(std::string_view text) {
  if (text.size() > kMostAnswerBytes)
    return Error{"these are no answers", fmt::format("{} bytes", text.size()),
                 "an answers file has a line for each answer: key = \"answer\""};
  auto table = parse_toml(text);
  if (!table) return table.error();
  Answers answers;
  for (const auto& [name, node] : *table) {
    const std::string key(name.str());
    const Question* question = question_by_key(key);
    if (question == nullptr) {
      std::vector<std::string> keys;
      for (const Question& each : kQuestions) keys.emplace_back(each.key);
      return Error{fmt::format("nobody asks for '{}'", key.substr(0, 80)), place(node.source()),
                   did_you_mean(key, keys) + "docs/troubleshooting.md lists the keys"};
    }
    const auto answer = typed(node);
    if (!answer)
      return Error{fmt::format("{} is no answer but a table or list", key), place(node.source()),
                   "give " + kind_text(*question) + ", or unknown"};
    if (auto set = answers.set(*question, *answer); !set)
      return std::move(set.error()).in(place(node.source()));
  }
  return answers;
}

Result<Answers> load_answers(const std::filesystem::path& path) {
  auto file = MappedFile::open(path.string());
  if (!file) return file.error();
  auto answers = answers_from_toml(as_text(file->bytes()));
  if (!answers) return std::move(answers.error()).in(path.string());
  return answers;
}

std::string to_toml(const Answers& answers) {
  std::string toml = "# Answers for `plumb diagnose --guide --answers FILE`.\n";
  for (const Question& question : kQuestions) {
    const auto found = answers.all().find(question.key);
    if (found != answers.all().end())
      toml +=
          fmt::format("\n# {}\n{} = {}\n", question.text, question.key, toml_quoted(found->second));
  }
  return toml;
}

}  // namespace plumb::guide
