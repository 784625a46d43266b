// SPDX-License-Identifier: Apache-2.0
#include "input/config.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/nearest.h"

namespace plumb::input {
namespace {

bool looks_like_json(std::string_view text) {
  // Comments may come first; a JSON document goes on with a brace, a text message with a name.
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#' || (c == '/' && at + 1 < text.size() && text[at + 1] == '/')) {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '/' && at + 1 < text.size() && text[at + 1] == '*') {
      const size_t end = text.find("*/", at + 2);
      at = end == text.npos ? text.size() : end + 2;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\xEF' || c == '\xBB' ||
               c == '\xBF') {
      ++at;
    } else {
      return c == '{' || c == '[';
    }
  }
  return false;
}

using Names = std::set<std::string, std::less<>>;

// A field of nearly this name in the same message, or the message that a field of this name is for.
std::string hint_for(const std::string& prefix, const std::string& name, const Names& known) {
  std::vector<std::string> siblings;
  const std::string start = prefix.empty() ? "" : prefix + ".";
  for (auto at = known.lower_bound(start); at != known.end() && at->starts_with(start); ++at)
    siblings.push_back(at->substr(start.size(), at->find('.', start.size()) - start.size()));
  std::string near = nearest_name(name, siblings);
  if (near.empty())  // the first word of a name: affine for affine_preprocess
    for (const std::string& sibling : siblings)
      if (sibling.starts_with(name + "_") && near.empty()) near = sibling;
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  for (const std::string& path : known)
    for (const std::string& end : {"." + name, "." + name + "."})
      if (const size_t at = path.find(end);
          at != path.npos && (end.back() == '.' || at + end.size() == path.size()))
        return "it belongs into " + path.substr(0, at);
  return "";
}

void find_unknown(const ConfigNode& node, const std::string& prefix, const Names& known,
                  bool is_ours, std::vector<ConfigField>& out) {
  for (const ConfigNode& field : node.fields) {
    const std::string path = prefix.empty() ? field.name : prefix + "." + field.name;
    // A known path is a field, or leads to one, or allows anything below it.
    const auto next = known.lower_bound(path + ".");
    const bool leads = next != known.end() && next->starts_with(path + ".");
    if (known.contains(path + ".*")) continue;
    // pulsar2 has a path called `input`, which our own `inputs` is easily written as.
    const bool is_message = field.kind == ConfigNode::Kind::kMessage;
    if (known.contains(path) && !(prefix.empty() && is_message && !leads)) continue;
    if (!leads || field.kind != ConfigNode::Kind::kMessage) {
      const bool told = std::any_of(out.begin(), out.end(),
                                    [&](const ConfigField& other) { return other.path == path; });
      if (told) continue;
      const std::string hint = known.contains(path) ? "a value is expected there, not a message"
                                                    : hint_for(prefix, field.name, known);
      out.push_back({path, field.line, hint, is_ours || !hint.empty()});
      continue;
    }
    find_unknown(field, path, known, is_ours, out);
  }
}

// What the first field of a file of no known kind may have been: misspelt, or outside of `inputs`.
std::string hint_for_unknown_kind(const std::string& name, bool is_json) {
  if (is_json) {
    const auto ours = plain_fields();
    if (std::find(ours.begin(), ours.end(), "inputs." + name) != ours.end())
      return fmt::format("write it as {{\"inputs\": [{{\"{}\": ...}}]}}; ", name);
  }
  std::vector<std::string> starts;
  for (const auto& fields : {plain_fields(), pulsar2_fields(), pulsar_fields()})
    for (const std::string& field : fields) starts.push_back(field.substr(0, field.find('.')));
  std::erase(starts, name);  // it is a word there, not a message
  return did_you_mean(name, starts);
}

template <class T, class Matches>
const T* entry_for(const std::vector<T>& entries, Matches&& matches) {
  const T* general = nullptr;
  for (const T& entry : entries) {
    if (entry.name.empty()) {
      general = &entry;
    } else if (matches(entry)) {
      return &entry;
    }
  }
  return general;
}

}  // namespace

Error not_understood(const ConfigNode& node, std::string what, std::string remedy) {
  return {std::move(what), fmt::format("line {}: {}: {}", node.line, node.name, node.value),
          std::move(remedy)};
}

Result<std::vector<double>> numbers_of(const ConfigNode& message, std::string_view field) {
  std::vector<double> numbers;
  for (const ConfigNode* node : message.all(field)) {
    const auto number = node->number();
    if (!number)
      return not_understood(*node, fmt::format("'{}' is not a number", field), "write a number");
    numbers.push_back(*number);
  }
  return numbers;
}

std::string text_of(const ConfigNode& message, std::string_view field) {
  const ConfigNode* node = message.find(field);
  return node == nullptr ? "" : node->value;
}

std::vector<std::string> texts_of(const ConfigNode& message, std::string_view field) {
  std::vector<std::string> texts;
  for (const ConfigNode* node : message.all(field)) texts.push_back(node->value);
  return texts;
}

Result<Config> parse_config(std::string_view text, const std::string& file) {
  Config config;
  config.file = file;
  const bool is_json = looks_like_json(text);
  auto tree = is_json ? tree_from_json(text) : tree_from_prototxt(text);
  if (!tree) return std::move(tree.error()).in(file);
  config.tree = std::move(*tree);
  const bool is_plain = is_json && config.tree.find("inputs") != nullptr;
  config.kind = is_plain  ? ConfigKind::kPlain
                : is_json ? ConfigKind::kPulsar2
                          : ConfigKind::kPulsar;
  // pulsar2 has a text form as well; it has fields that Pulsar never had.
  if (!is_json &&
      (config.tree.find("quant") != nullptr || config.tree.find("input_processors") != nullptr))
    config.kind = ConfigKind::kPulsar2;
  auto filled = config.kind == ConfigKind::kPulsar    ? fill_from_pulsar(config)
                : config.kind == ConfigKind::kPulsar2 ? fill_from_pulsar2(config)
                                                      : fill_from_plain(config);
  if (!filled) return std::move(filled.error()).in(file);
  const auto fields = config.kind == ConfigKind::kPulsar    ? pulsar_fields()
                      : config.kind == ConfigKind::kPulsar2 ? pulsar2_fields()
                                                            : plain_fields();
  find_unknown(config.tree, "", {fields.begin(), fields.end()}, config.kind == ConfigKind::kPlain,
               config.unknown);
  // Whatever was read, if nothing of it is known it is no configuration.
  if (!config.tree.fields.empty() &&
      std::all_of(
          config.tree.fields.begin(), config.tree.fields.end(), [&](const ConfigNode& node) {
            return std::any_of(config.unknown.begin(), config.unknown.end(),
                               [&](const ConfigField& field) { return field.path == node.name; });
          }))
    return Error{
        "not a configuration of a known kind",
        fmt::format("{}, line {}: field '{}'", file, config.tree.fields[0].line,
                    config.tree.fields[0].name),
        hint_for_unknown_kind(config.tree.fields[0].name, is_json) +
            "pass a Pulsar config.prototxt, a pulsar2 JSON, or the form in docs/inputs.md"};
  if (config.tree.fields.empty())
    return Error{"the configuration is empty", fmt::format("{}, line 1", file),
                 "pass a Pulsar config.prototxt, a pulsar2 JSON, or the form in docs/inputs.md"};
  return config;
}

Result<Config> read_config(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  const std::string_view text = as_text(file->bytes());
  if (text.substr(0, 4096).find('\0') != std::string_view::npos)
    return Error{"this is no configuration", path + ": it is no text",
                 "pass a Pulsar config.prototxt, a pulsar2 JSON, or the form in docs/inputs.md"};
  return parse_config(text, path);
}

const ConfigTensor* tensor_for(const Config& config, const std::vector<ConfigTensor>& tensors,
                               std::string_view name) {
  if (config.kind == ConfigKind::kPulsar)
    for (const ConfigTensor& tensor : tensors)
      if (tensor.name.empty()) return &tensor;
  return entry_for(tensors, [&](const ConfigTensor& tensor) { return tensor.name == name; });
}

const ConfigArithmetic* arithmetic_for(const std::vector<ConfigArithmetic>& arithmetic,
                                       std::string_view name) {
  return entry_for(arithmetic, [&](const ConfigArithmetic& entry) {
    return entry.is_pattern ? simple_regex_matches(entry.name, name).value_or(false)
                            : entry.name == name;
  });
}

// Letters, '.', '.*' and escaped signs, which dynamic programming over the name decides.
std::optional<bool> simple_regex_matches(std::string_view expression, std::string_view name) {
  if (expression.starts_with('^')) expression.remove_prefix(1);
  if (expression.ends_with('$') && !expression.ends_with("\\$")) expression.remove_suffix(1);
  std::vector<char> reached(name.size() + 1, 0);  // the first n characters are matched
  reached[0] = 1;
  for (size_t at = 0; at < expression.size(); ++at) {
    char c = expression[at];
    const bool any = c == '.';
    if (c == '\\') {
      if (++at == expression.size()) return std::nullopt;
      c = expression[at];
      if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return std::nullopt;  // classes and references
    } else if (std::string_view("[](){}|+?*^$").find(c) != std::string_view::npos) {
      return std::nullopt;
    }
    const bool star = at + 1 < expression.size() && expression[at + 1] == '*';
    if (star) {
      ++at;
      for (size_t n = 0; n < name.size(); ++n)
        if (reached[n] && (any || name[n] == c)) reached[n + 1] = 1;
    } else {
      for (size_t n = name.size(); n > 0; --n)
        reached[n] = static_cast<char>(reached[n - 1] && (any || name[n - 1] == c));
      reached[0] = 0;
    }
  }
  return reached[name.size()] != 0;
}

ColorSpace model_color(const Config& config, const ConfigTensor* model, std::string_view input) {
  const ColorSpace color =
      model != nullptr ? model->color.value_or(ColorSpace::kAuto) : ColorSpace::kAuto;
  if (color != ColorSpace::kAuto || config.kind != ConfigKind::kPulsar) return color;
  const ConfigTensor* runtime = tensor_for(config, config.runtime_inputs, input);
  if (runtime == nullptr || !runtime->color || is_yuv(*runtime->color)) return color;
  return *runtime->color;
}

Preprocess preprocess_for_compiled(const Config& config, std::string_view input) {
  Preprocess how = preprocess_for(config, input);
  how.modifications.clear();
  how.layout = AxisOrder::kNative;
  if (const ConfigTensor* runtime = tensor_for(config, config.runtime_inputs, input)) {
    if (runtime->color) how.color = *runtime->color;
    how.layout = runtime->layout;
  }
  return how;
}

Preprocess preprocess_for(const Config& config, std::string_view input) {
  Preprocess how;
  how.color = model_color(config, tensor_for(config, config.model_inputs, input), input);
  if (const ConfigTensor* model = tensor_for(config, config.model_inputs, input)) {
    how.layout = model->layout;
    how.yuv = model->yuv;
    if (model->resize) how.resize = *model->resize;
    how.crop = model->crop;
    how.interpolation = model->interpolation.value_or(Interpolation::kBilinear);
    how.align_corners = model->align_corners;
  }
  if (const ConfigTensor* runtime = tensor_for(config, config.runtime_inputs, input)) {
    if (runtime->yuv.standard != ColorStandard::kUnset) how.yuv = runtime->yuv;
    // Bare bytes are what the compiled model is fed.
    if (runtime->color) how.source_color = *runtime->color;
  }
  if (config.kind == ConfigKind::kPulsar && how.yuv.standard == ColorStandard::kUnset)
    how.yuv.standard = ColorStandard::kLegacy;  // its default
  if (const ConfigArithmetic* arithmetic = arithmetic_for(config.arithmetic, input))
    for (const ConfigStep& step : arithmetic->steps) how.modifications.push_back(step.change);
  return how;
}

}  // namespace plumb::input
