// SPDX-License-Identifier: Apache-2.0
//
// What a configuration says about a model's inputs, its calibration and its layers, whoever's form
// it is in: Pulsar's config.prototxt and output_config.prototxt, pulsar2's JSON, or our own JSON.
#pragma once

#include <filesystem>

#include "input/config_tree.h"
#include "input/preprocess.h"

namespace plumb::input {

enum class ConfigKind : uint8_t { kPulsar, kPulsar2, kPlain };

// A tensor at one side of the conversion: as the original model has it, or as the compiled one.
struct ConfigTensor {
  std::string name;  // empty: every tensor
  int line = 0;
  std::optional<ColorSpace> color;
  AxisOrder layout = AxisOrder::kNative;
  std::string data_type;  // the file's own word
  YuvRule yuv;
  std::optional<Resize> resize;  // these four in our own form only
  std::optional<Size> crop;
  std::optional<Interpolation> interpolation;
  bool align_corners = false;
};

struct ConfigStep {
  Modification change;
  int line = 0;      // of the first list of numbers
  int std_line = 0;  // of that one, if there is one
};

// The arithmetic between a picture and the model's input, in order.
struct ConfigArithmetic {
  std::string name;         // of the input; empty: all
  bool is_pattern = false;  // `name` is a regular expression
  int line = 0;
  std::string type;      // of the values fed: "UINT8", "FLOAT32"; empty: not said
  bool is_image = true;  // false: calibration data that is fed as it is
  std::vector<ConfigStep> steps;
};

struct ConfigCalibration {
  std::string name;  // of the input; empty: all
  int line = 0;
  std::filesystem::path path;  // as seen from the working directory
  int size_line = 0;
  std::optional<int64_t> size;  // samples to draw; -1: all
  std::string method, strategy;
};

// Layers and the types they are to compute in.
struct ConfigLayer {
  int line = 0;
  std::vector<std::string> names, types, starts, ends;
  bool is_pattern = false;
  std::string data_type, output_data_type, weight_data_type;
};

struct ConfigField {
  std::string path;  // "neuwizard_conf.operator_conf.typo"
  int line = 0;
  std::string hint;  // what may have been meant
  // Misspelt, in the wrong place, or of no meaning in a form that is all ours: it has no effect,
  // and somebody thinks that it has.
  bool is_mistake = false;
};

struct Config {
  std::string file;  // as the user named it
  ConfigKind kind = ConfigKind::kPulsar;
  std::vector<ConfigTensor> model_inputs;    // of the original model
  std::vector<ConfigTensor> runtime_inputs;  // of the compiled model
  std::vector<ConfigTensor> model_outputs, runtime_outputs;
  std::vector<ConfigArithmetic> arithmetic;
  std::vector<ConfigArithmetic> runtime_arithmetic;  // pulsar2: inside the compiled model
  std::vector<ConfigArithmetic> misplaced;           // has no effect where it stands
  std::vector<ConfigCalibration> calibration;
  std::vector<ConfigCalibration> measurement;  // what the error is measured with
  std::vector<ConfigLayer> layers;
  std::vector<ConfigField> unknown;        // fields we know nothing about
  std::vector<ConfigField> not_simulated;  // known ones that preprocess_for leaves aside
  ConfigNode tree;
};

// `file` is for messages, and for paths inside, which are relative to it.
Result<Config> parse_config(std::string_view text, const std::string& file);
Result<Config> read_config(const std::string& path);

// The entry that holds for a tensor of this name, or null. Pulsar: one without a name overrides all
// others. pulsar2 and our form: it is for those that have no entry of their own.
const ConfigTensor* tensor_for(const Config& config, const std::vector<ConfigTensor>& tensors,
                               std::string_view name);
const ConfigArithmetic* arithmetic_for(const std::vector<ConfigArithmetic>& arithmetic,
                                       std::string_view name);

// Whether a regular expression matches a name as a whole; nullopt if it is one that only a full
// engine could tell (none is run on expressions from files).
std::optional<bool> simple_regex_matches(std::string_view expression, std::string_view name);

// The colours that the original model is fed. Where the configuration does not say them, Pulsar
// reads calibration pictures as the compiled model will get them. `model` is the input's entry, if
// it has one.
ColorSpace model_color(const Config& config, const ConfigTensor* model, std::string_view input);

// How pictures become this input of the original (float) model.
Preprocess preprocess_for(const Config& config, std::string_view input);
// ... and of the compiled one, which takes pixels and does the arithmetic itself.
Preprocess preprocess_for_compiled(const Config& config, std::string_view input);

// Each in its own file; the tree is at hand, `unknown` is filled in later.
Result<void> fill_from_pulsar(Config& config);
Result<void> fill_from_pulsar2(Config& config);
Result<void> fill_from_plain(Config& config);
// The fields each form may have, as full paths.
std::vector<std::string> pulsar_fields();
std::vector<std::string> pulsar2_fields();
std::vector<std::string> plain_fields();

// For these files: numbers and words of a message.
Result<std::vector<double>> numbers_of(const ConfigNode& message, std::string_view field);
std::string text_of(const ConfigNode& message, std::string_view field);
std::vector<std::string> texts_of(const ConfigNode& message, std::string_view field);
Error not_understood(const ConfigNode& node, std::string what, std::string remedy);

}  // namespace plumb::input
