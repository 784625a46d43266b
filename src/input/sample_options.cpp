// SPDX-License-Identifier: Apache-2.0
#include "input/sample_options.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/number_from_text.h"
#include "input/config.h"

namespace plumb::input {
namespace {

Error unknown_word(std::string_view option, const std::string& word,
                   const std::vector<std::string>& known) {
  return {fmt::format("unknown word '{}'", word), fmt::format("{} {}", option, word),
          did_you_mean(word, known) + fmt::format("use one of {}", fmt::join(known, ", "))};
}

// The place of `word` in `known`.
Result<size_t> index_of(std::string_view option, const std::string& word,
                        const std::vector<std::string>& known) {
  for (size_t i = 0; i < known.size(); ++i)
    if (known[i] == word) return i;
  return unknown_word(option, word, known);
}

Result<std::vector<double>> numbers_from(std::string_view option, const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    double number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc()) break;
    numbers.push_back(number);
    at = read.ptr;
    // 1/255 is how a scale is thought of.
    if (at != end && *at == '/') {
      const auto divisor = std::from_chars(at + 1, end, number);
      if (divisor.ec != std::errc() || number == 0) break;
      numbers.back() /= number;
      at = divisor.ptr;
    }
    if (at == end) return numbers;
    if (*at++ != ',') break;
  }
  return Error{"numbers were expected, with commas between them",
               fmt::format("{} {}", option, text), "for example --mean 104,117,123 --scale 1/255"};
}

Result<ColorSpace> color_from(std::string_view option, const std::string& word) {
  if (auto space = color_space_from_name(word)) return *space;
  return unknown_word(option, word,
                      {"AUTO", "BGR", "RGB", "GRAY", "NV12", "NV21", "BGR0", "YUYV", "UYVY"});
}

Result<Size> size_from(std::string_view option, const std::string& text) {
  if (auto size = size_from_text(text)) return *size;
  return Error{"a size was expected", fmt::format("{} {}", option, text),
               fmt::format("for example {} 224 or {} 640x480", option, option)};
}

// Options win over what the configuration says; mean, std and scale replace its arithmetic.
Result<void> set_options(const SampleOptions& given, Preprocess& how) {
  const auto set = [](auto& place, auto result) -> Result<void> {
    if (!result) return result.error();
    place = *result;
    return {};
  };
  Result<void> fine;
  const auto take = [&](const std::string& text, auto&& parse) {
    if (fine && !text.empty()) fine = parse();
  };
  take(given.color, [&] { return set(how.color, color_from("--input-color", given.color)); });
  take(given.source_color,
       [&] { return set(how.source_color, color_from("--source-color", given.source_color)); });
  take(given.source_size,
       [&] { return set(how.source_size, size_from("--source-size", given.source_size)); });
  take(given.color_standard, [&]() -> Result<void> {
    auto index = index_of("--color-standard", given.color_standard, {"studio", "full"});
    if (!index) return index.error();
    how.yuv.standard = *index == 0 ? ColorStandard::kStudio : ColorStandard::kFull;
    return {};
  });
  take(given.resize, [&] { return set(how.resize, resize_from_text(given.resize)); });
  take(given.crop, [&] { return set(how.crop, size_from("--crop", given.crop)); });
  take(given.interpolation, [&]() -> Result<void> {
    auto index =
        index_of("--interpolation", given.interpolation, {"bilinear", "nearest", "area", "cubic"});
    if (!index) return index.error();
    how.interpolation = static_cast<Interpolation>(*index);
    return {};
  });
  take(given.layout, [&]() -> Result<void> {
    auto index = index_of("--layout", given.layout, {"NATIVE", "NCHW", "NHWC"});
    if (!index) return index.error();
    how.layout = static_cast<AxisOrder>(*index);
    return {};
  });
  if (!fine) return fine;
  how.align_corners |= given.align_corners;
  how.cast = given.cast;

  if (given.mean.empty() && given.std.empty() && given.scale.empty()) return {};
  Modification normalization{Modification::Kind::kNormalization, {}, {}, {}, {}, {}, {}};
  Modification scaling;
  take(given.mean, [&] { return set(normalization.mean, numbers_from("--mean", given.mean)); });
  take(given.std, [&] { return set(normalization.std, numbers_from("--std", given.std)); });
  take(given.scale, [&] { return set(scaling.slope, numbers_from("--scale", given.scale)); });
  if (!fine) return fine;
  how.modifications.clear();
  if (!scaling.slope.empty()) how.modifications.push_back(std::move(scaling));
  if (!given.mean.empty() || !given.std.empty())
    how.modifications.push_back(std::move(normalization));
  return {};
}

// An input of bytes is one of a compiled model, of which a vendor's configuration speaks, too.
bool is_compiled_input(const Config& config, const engine::Port& port) {
  return config.kind != ConfigKind::kPlain &&
         (port.dtype == DType::kUint8 || port.dtype == DType::kInt8);
}

// What the configuration says about each input, and what it says about none.
Result<void> take_config(const SampleOptions& given, const std::vector<engine::Port>& ports,
                         SampleRequest& request) {
  auto config = read_config(given.config);
  if (!config) return config.error();
  for (const ConfigArithmetic& entry : config->arithmetic)
    if (entry.is_pattern && !simple_regex_matches(entry.name, ""))
      return Error{
          "this expression is too complicated to tell which inputs it means",
          fmt::format("{}, line {}: op_name_regex: {}", given.config, entry.line, entry.name),
          "write op_name, or an expression of letters, '.' and '.*'"};
  for (const ConfigField& field : config->unknown)
    if (field.is_mistake)
      request.warnings.push_back(fmt::format("{}, line {}: '{}' has no effect here{}", given.config,
                                             field.line, field.path,
                                             field.hint.empty() ? "" : "; " + field.hint));
  for (const ConfigField& field : config->not_simulated)
    request.warnings.push_back(
        fmt::format("{}, line {}: {} is not simulated", given.config, field.line, field.path));
  std::vector<std::string> names;
  for (const engine::Port& port : ports) {
    Preprocess how = is_compiled_input(*config, port) ? preprocess_for_compiled(*config, port.name)
                                                      : preprocess_for(*config, port.name);
    if (auto set = set_options(given, how); !set) return set;
    request.preprocess_of[port.name] = std::move(how);
    names.push_back(port.name);
  }
  for (const ConfigTensor& tensor : config->model_inputs)
    if (!tensor.name.empty() && std::find(names.begin(), names.end(), tensor.name) == names.end())
      request.warnings.push_back(
          fmt::format("{}, line {}: the model has no input '{}'; its inputs are: {}", given.config,
                      tensor.line, tensor.name, fmt::join(names, ", ")));
  return {};
}

Result<std::pair<std::string, Shape>> shape_from(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string name = colon == text.npos ? "" : text.substr(0, colon);
  auto shape = shape_from_text(text.substr(colon == text.npos ? 0 : colon + 1));
  if (!shape)
    return Error{"a shape was expected", "--shape " + text, "for example --shape data:1,3,224,224"};
  return std::pair(name, *shape);
}

Result<uint64_t> seed_from(const std::string& text) {
  const auto seed = number_from_text<uint64_t>(text);
  if (!seed) return Error{"a whole number was expected", "--seed " + text, "for example --seed 0"};
  return *seed;
}

}  // namespace

Result<Samples> open_samples(SampleOptions options, const std::vector<engine::Port>& ports) {
  SampleRequest request;
  if (options.inputs.empty() && options.tensors.empty()) {
    if (options.seed.empty()) options.seed = "0";
    if (!ports.empty())
      request.notes.push_back(
          fmt::format("no --input: the model is fed random numbers (seed {}), which real data "
                      "seldom look like",
                      options.seed));
  }
  request.inputs = options.inputs;
  request.tensors = options.tensors;
  request.option = options.option;
  request.most = options.most;
  request.dump_directory = options.dump_directory;
  if (auto set = set_options(options, request.preprocess); !set) return set.error();
  if (!options.config.empty())
    if (auto taken = take_config(options, ports, request); !taken) return taken.error();
  for (const std::string& text : options.shapes) {
    auto shape = shape_from(text);
    if (!shape) return shape.error();
    request.shapes.insert(std::move(*shape));
  }
  if (!options.seed.empty()) {
    auto number = seed_from(options.seed);
    if (!number) return number.error();
    request.seed = *number;
  }
  return Samples::open(std::move(request), ports);
}

}  // namespace plumb::input
