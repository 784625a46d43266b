// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/arguments.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/nearest.h"

namespace plumb::msaccucmp {
namespace {

std::string option_key(const OptionSpec& spec) {
  return std::string(spec.short_name.empty() ? spec.long_name : spec.short_name);
}

std::optional<int64_t> integer_from(std::string_view text) {
  int64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Match {
  const OptionSpec* spec;
  std::optional<std::string_view> value;  // that stood in the same word
  std::string_view name;                  // as it would be written in full
};

std::vector<Match> matches_of(std::span<const OptionSpec> specs, std::string_view word) {
  std::vector<Match> found;
  const auto names = [](const OptionSpec& spec) {
    return std::vector<std::string_view>{spec.short_name, spec.long_name};
  };
  for (const OptionSpec& spec : specs)
    for (std::string_view name : names(spec))
      if (!name.empty() && name == word) return {{&spec, std::nullopt, name}};
  std::string_view head = word;
  std::optional<std::string_view> value;
  if (const size_t equals = word.find('='); equals != std::string_view::npos) {
    head = word.substr(0, equals);
    value = word.substr(equals + 1);
    for (const OptionSpec& spec : specs)
      for (std::string_view name : names(spec))
        if (!name.empty() && name == head) return {{&spec, value, name}};
  }
  const bool is_long = word.starts_with("--");
  for (const OptionSpec& spec : specs)
    for (std::string_view name : names(spec)) {
      if (name.empty()) continue;
      if (name.starts_with(head) && name.starts_with("--") == is_long)
        found.push_back({&spec, value, name});
      else if (!is_long && name.size() == 2 && word.starts_with(name))
        found.push_back({&spec, word.substr(2), name});  // "-mPATH"
    }
  return found;
}

Error usage(std::string what, std::string_view where) {
  return {std::move(what), std::string(where), "--help shows the options"};
}

}  // namespace

Result<Arguments> Arguments::parse(std::span<const OptionSpec> specs,
                                   std::span<const std::string_view> words) {
  Arguments arguments;
  const auto is_option = [](std::string_view word) {
    return word.size() > 1 && word[0] == '-' && !integer_from(word);
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!is_option(word))
      return Error{fmt::format("unexpected argument '{}'", word), std::string(word),
                   "every path has an option before it; --help shows them"};
    const auto found = matches_of(specs, word);
    if (found.empty()) {
      std::vector<std::string> names;
      for (const OptionSpec& spec : specs)
        for (std::string_view name : {spec.short_name, spec.long_name})
          if (!name.empty()) names.emplace_back(name);
      return Error{fmt::format("unknown option '{}'", word), std::string(word),
                   did_you_mean(word, names) + "--help shows the options"};
    }
    if (found.size() > 1) {
      std::string all;
      for (const Match& match : found)
        all += fmt::format("{}{}", all.empty() ? "" : ", ", match.name);
      return usage(fmt::format("option '{}' is ambiguous", word), "could be " + all);
    }
    const OptionSpec& spec = *found[0].spec;
    std::string value;
    if (spec.value.empty()) {
      if (found[0].value) return usage(fmt::format("{} takes no value", found[0].name), word);
    } else if (found[0].value) {
      value = *found[0].value;
    } else if (spec.value_is_optional && (i + 1 == words.size() || is_option(words[i + 1]))) {
      // the option alone says something
    } else {
      if (i + 1 == words.size() || is_option(words[i + 1]))
        return usage(fmt::format("{} needs a value", found[0].name), word);
      value = words[++i];
      if (spec.takes_integers && integer_from(value))
        while (i + 1 < words.size() && integer_from(words[i + 1]))
          value += "," + std::string(words[++i]);
    }
    if (spec.is_integer && !integer_from(value))
      return usage(fmt::format("{} takes a number, not '{}'", found[0].name, value), word);
    arguments.values_[option_key(spec)] = value;
  }
  for (const OptionSpec& spec : specs)
    if (spec.is_required && !arguments.has(option_key(spec)))
      return usage(fmt::format("{} is required", spec.short_name), spec.long_name);
  return arguments;
}

std::string Arguments::text(std::string_view short_name, std::string_view otherwise) const {
  const auto found = values_.find(short_name);
  return found == values_.end() ? std::string(otherwise) : found->second;
}

int64_t Arguments::integer(std::string_view short_name, int64_t otherwise) const {
  const auto found = values_.find(short_name);
  return found == values_.end() ? otherwise : integer_from(found->second).value_or(otherwise);
}

std::string help_of(std::span<const OptionSpec> specs) {
  constexpr size_t kColumn = 38;
  std::string text;
  for (const OptionSpec& spec : specs) {
    std::string line =
        fmt::format("  {}{}{}", spec.short_name,
                    spec.short_name.empty() || spec.long_name.empty() ? "" : ", ", spec.long_name);
    if (!spec.value.empty()) line += fmt::format(" {}", spec.value);
    if (line.size() + 1 < kColumn)
      line.resize(kColumn, ' ');
    else
      line += ' ';
    text += line + std::string(spec.help) + "\n";
  }
  return text;
}

}  // namespace plumb::msaccucmp
