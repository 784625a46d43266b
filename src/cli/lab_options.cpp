// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_options.h"

#include <bit>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/number_from_text.h"
#include "quant/quantization.h"

namespace plumb::cli {
namespace {

Result<quant::Settings> scheme_named(const std::string& name) {
  std::vector<std::string> names;
  for (const quant::NamedScheme& scheme : quant::schemes()) {
    if (scheme.name == name) return scheme.settings;
    names.emplace_back(scheme.name);
  }
  return Error{fmt::format("unknown scheme '{}'", name), "--scheme " + name,
               did_you_mean(name, names) + fmt::format("use one of {}", fmt::join(names, ", "))};
}

Result<std::optional<DType>> integer_named(std::string_view option, const std::string& text,
                                           std::string_view known) {
  if (text == "float") return std::optional<DType>();
  const auto dtype = quant::integer_from_text(text);
  if (dtype && known.find(text) != known.npos) return dtype;
  return Error{fmt::format("unknown type '{}'", text), fmt::format("{} {}", option, text),
               fmt::format("use one of {}", known)};
}

// Where a configuration keeps its samples, as --calib would say it.
std::vector<std::string> words_of(const std::vector<input::ConfigCalibration>& sets) {
  std::vector<std::string> words;
  for (const input::ConfigCalibration& set : sets)
    if (!set.path.empty())
      words.push_back(set.name.empty() ? set.path.string() : set.name + "=" + set.path.string());
  return words;
}

}  // namespace

void LabOptions::declare_samples(Options& options) {
  options.group("samples");
  options.texts("--calib", "[NAME=]SET", calib,
                "what the model is calibrated with: a directory, @list.txt,\n"
                "an archive (tar, tar.gz, zip), digits of MNIST, or a file;\n"
                "repeat it for several inputs (default: as --config says)");
  options.text("--calib-size", "N", calib_size,
               "so many of them, drawn by --seed, or 'all' (default: 32)");
  inputs.declare_feeding(options);
}

void LabOptions::declare_quantizing(Options& options) {
  options.group("quantizing");
  options.text("--scheme", "NAME", scheme,
               "ort-u8s8 (default), ax, ascend-int8 or trt: types and\ngranularity as that tool "
               "has them");
  options.suggest([] { return names_in(quant::schemes()); });
  options.text("--method", "NAME", method,
               "how ranges are found: minmax (default), average, mse, kl,\npct:99.99");
  options.suggest([] { return std::vector<std::string>{"minmax", "average", "mse", "kl"}; });
  options.text("--weight-method", "NAME", weight_method, "... of weights (default: minmax)");
  options.suggest([] { return std::vector<std::string>{"minmax", "average", "mse", "kl"}; });
  options.text("--ranges", "FILE", ranges,
               "ranges of activations that another tool found: calibration\ntables of ONNX "
               "Runtime, TensorRT, tpu-mlir, AMCT; quant.json");
  options.flag("--per-tensor", per_tensor, "one scale for all weights of a layer");
  options.flag("--per-channel", per_channel, "one scale for each output channel");
  options.text("--act", "TYPE", activation_type, "of activations: u8, s8, u16, s16 or float");
  options.suggest([] { return std::vector<std::string>{"u8", "s8", "u16", "s16", "float"}; });
  options.text("--weight", "TYPE", weight_type, "of weights: s4, s8, s16 or float");
  options.suggest([] { return std::vector<std::string>{"s4", "s8", "s16", "float"}; });
  options.texts("--layer", "NAME=PRECISION", layers,
                "of layers that are different: 'conv1=a16w8', 'fc*=float'");
  options.text("--mixed", "FILE", mixed,
               "the same from a file: {\"layers\": {\"conv1\": \"a16w8\"}}");
  options.flag("--quantize-outputs", quantize_outputs,
               "outputs of the model, too (default: they stay float)");
  options.text("--margin", "N", margin, "ranges are wider by this factor (default: 2 for 16 bits)");
  options.flag("--weight-only", weight_only,
               "nothing but weights of MatMul, int4 in blocks (MatMulNBits)");
  options.text("--block", "N", block, "rows of such a block: 16, 32 (default), 64, 128 or 256");
  options.suggest([] { return std::vector<std::string>{"16", "32", "64", "128", "256"}; });
  options.flag("--float-bias", float_bias, "biases stay float (default: int32)");
  options.flag(
      "--reduced-range", reduced_range,
      "weights of 8 bits use -64..64: integer kernels of x86\nprocessors without VNNI clip "
      "sums of larger products");
  options.flag("--pow2", power_of_two, "scales are powers of two");
}

void LabOptions::declare_running(Options& options) {
  options.group("running");
  options.text("--weights", "FILE", weights,
               "of a Caffe network (default: the .caffemodel beside it)");
  options.count("--threads", "N", threads, "threads of the engine (default: 1)");
  limits.declare(options);
}

Result<input::SampleOptions> LabOptions::set_of(const std::vector<std::string>& words,
                                                const std::string& size,
                                                std::string_view option) const {
  input::SampleOptions set = inputs;
  set.inputs = words;
  set.option = option;
  if (size == "all") return set;
  set.most = number_from_text<int64_t>(size);
  if (!set.most || *set.most < 1)
    return Error{"this is no number of samples", fmt::format("{}-size {}", option, size),
                 "write a number from 1 on, or 'all'"};
  return set;
}

// What the configuration asks for and no option says.
Result<void> LabOptions::take_config(quant::QuantizeOptions& made, SampleWords& words) const {
  auto config = input::read_config(inputs.config);
  if (!config) return config.error();
  if (words.paths.empty()) words.paths = words_of(config->calibration);
  if (const auto measured = words_of(config->measurement); !measured.empty()) {
    const auto most = config->measurement[0].size;
    auto set = set_of(measured, most && *most > 0 ? std::to_string(*most) : "all", "--measure");
    if (!set) return set.error();
    made.measurement = std::move(*set);
  }
  for (const input::ConfigCalibration& set : config->calibration) {
    if (calib.empty() && set.size && calib_size == "32")
      words.size = *set.size < 0 ? "all" : std::to_string(*set.size);
    if (words.method.empty()) words.method = set.method;
    if (!set.strategy.empty())
      made.settings.per_channel = set.strategy == "CALIB_STRATEGY_PER_CHANNEL";
  }
  auto requests = quant::requests_from_config(*config, made.settings.precision);
  if (!requests) return requests.error();
  made.requests = std::move(*requests);
  return {};
}

Result<void> LabOptions::set_observers(quant::QuantizeOptions& made,
                                       const std::string& method_word) const {
  for (const auto& [word, option, place] :
       {std::tuple{method_word, "--method", &made.settings.observer},
        std::tuple{weight_method, "--weight-method", &made.settings.weight_observer}}) {
    if (word.empty()) continue;
    auto observer = quant::observer_from_text(word, option);
    if (!observer) return observer.error();
    *place = *observer;
  }
  if (ranges.empty()) return {};
  auto table = quant::ranges_from_file(ranges);
  if (!table) return table.error();
  made.plan.ranges = std::make_shared<quant::RangeTable>(std::move(*table));
  return {};
}

// Which types values and weights have, and how they share scales.
Result<void> LabOptions::set_types(quant::Settings& settings) const {
  if (per_tensor && per_channel)
    return Error{"scales are by tensor or by channel", "--per-tensor --per-channel",
                 "leave one out"};
  if (per_tensor || per_channel) settings.per_channel = per_channel;
  if (!activation_type.empty()) {
    auto type = integer_named("--act", activation_type, "u8, s8, u16, s16, float");
    if (!type) return type.error();
    settings.precision.activations = *type;
  }
  if (!weight_type.empty()) {
    auto type = integer_named("--weight", weight_type, "s4, s8, s16, float");
    if (!type) return type.error();
    settings.precision.weights = *type;
  }
  if (!margin.empty()) {
    settings.margin = number_from_text<double>(margin);
    if (!settings.margin || !(*settings.margin > 0))
      return Error{"a factor was expected", "--margin " + margin, "for example --margin 1.5"};
  }
  settings.has_integer_bias = !float_bias;
  settings.weights_are_reduced = reduced_range;
  settings.is_power_of_two = power_of_two;
  if (!weight_only) return {};
  settings.block = number_from_text<int64_t>(block);
  if (!settings.block || *settings.block < 16 || *settings.block > 256 ||
      !std::has_single_bit(static_cast<uint64_t>(*settings.block)))
    return Error{"engines have no kernel for blocks of this size", "--block " + block,
                 "use 16, 32, 64, 128 or 256"};
  settings.precision = {std::nullopt, DType::kInt4};
  return {};
}

// Of layers that are different; they come behind those of a configuration.
Result<void> LabOptions::add_requests(quant::QuantizeOptions& made) const {
  if (!mixed.empty()) {
    auto requests = quant::requests_from_file(mixed, made.settings.precision);
    if (!requests) return requests.error();
    std::move(requests->begin(), requests->end(), std::back_inserter(made.requests));
  }
  for (const std::string& text : layers) {
    auto request = quant::request_from_text(text, made.settings.precision);
    if (!request) return request.error();
    made.requests.push_back(std::move(*request));
  }
  return {};
}

Result<quant::QuantizeOptions> LabOptions::options(const RunContext& context) const {
  quant::QuantizeOptions made;
  if (paths.size() != 1)
    return wrong_paths("one model is", paths, "MODEL",
                       "name the .onnx or .prototxt file of the float model");
  auto worker_limits = limits.limits(context);
  if (!worker_limits) return worker_limits.error();
  // A Caffe network is translated.
  made.model = {paths[0], weights, "onnxruntime", *worker_limits};
  made.model.merges_scale = true;
  made.threads = threads;
  made.plan.quantize_outputs = quantize_outputs;
  auto settings = scheme_named(scheme);
  if (!settings) return settings.error();
  made.settings = *settings;
  SampleWords words{calib, calib_size, method};
  if (!inputs.config.empty())
    if (auto taken = take_config(made, words); !taken) return taken.error();
  if (words.paths.empty())
    return Error{"what should the model be calibrated with?", "--calib",
                 "name a directory of pictures or arrays like those that the model will see"};
  auto samples = set_of(words.paths, words.size, "--calib");
  if (!samples) return samples.error();
  if (calib.empty()) samples->option = "--config";
  made.calibration = std::move(*samples);
  if (auto set = set_observers(made, words.method); !set) return set.error();
  if (auto set = set_types(made.settings); !set) return set.error();
  if (auto added = add_requests(made); !added) return added.error();
  return made;
}

}  // namespace plumb::cli
