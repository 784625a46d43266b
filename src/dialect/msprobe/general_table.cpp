// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/general_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/utf8.h"
#include "dialect/msprobe/compared_rows.h"

namespace plumb::msprobe {
namespace {

using dump::Entry;
using Number = std::optional<double>;

constexpr std::string_view kUnsupported = "unsupported";
constexpr std::string_view kDevices[] = {"npu", "cpu", "cuda"};
constexpr std::string_view kPythonNone = "None";  // as Python prints what a dump has no value for

// A text as Python shows it in a list.
void append_quoted(std::string& text, std::string_view word) {
  const bool has_single = word.find('\'') != std::string_view::npos;
  const char quote = has_single && word.find('"') == std::string_view::npos ? '"' : '\'';
  text += quote;
  for (const char c : word) {
    if (c == '\n')
      text += "\\n";
    else if (c == '\t')
      text += "\\t";
    else if (c == '\\' || c == quote)
      (text += '\\') += c;
    else
      text += c;
  }
  text += quote;
}

// Frames of a stack as a list; each starts with its file.
std::string list_of_frames(std::string_view stack) {
  std::string text = "[";
  while (!stack.empty()) {
    const size_t end = std::min(stack.find("\nFile "), stack.size());
    if (text.size() > 1) text += ", ";
    append_quoted(text, stack.substr(0, end));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return text + "]";
}

std::string list_of_messages(const Judged& judged) {
  std::string list = "[";
  for (const Judged::Clause& clause : judged.clauses) {
    if (list.size() > 1) list += ", ";
    append_json_text(list, clause.level.empty() ? clause.text
                                                : fmt::format("{}: {}", clause.level, clause.text));
  }
  return list + "]";
}

bool word_is_one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Arguments go by the Python type of the value that was written for them.
std::string dtype_cell(const Entry& entry) {
  const std::string& type = entry.dtype_text();
  if (!is_argument(entry)) return type;
  if (type == "NoneType") return std::string(kPythonNone);
  if (word_is_one_of(type, {"int", "float", "bool", "str"}))
    return fmt::format("<class '{}'>", type);
  if (word_is_one_of(type, {"torch.Size", "slice", "ellipsis", "torch.ProcessGroup"})) return type;
  return "<class 'str'>";
}

void append_shape(Cells& cells, const Entry* entry) {
  if (entry == nullptr) return cells.word(kNotKnown);
  if (!is_argument(*entry)) return cells.shape(shape_of(*entry));
  const std::string& type = entry->dtype_text();
  if (type == "NoneType") return cells.word(kPythonNone);
  if (type == "torch.Size") return cells.text(entry->statistics->text);
  cells.word("[]");
}

void append_flag(Cells& cells, const Entry* entry) {
  const bool is_known = entry != nullptr && entry->statistics && entry->statistics->requires_grad;
  cells.word(!is_known ? kNotKnown : *entry->statistics->requires_grad ? "True" : "False");
}

bool have_other_shapes(const GeneralLine& line) {
  const Shape *target = shape_of(*line.target), *golden = shape_of(*line.golden);
  return target != nullptr && golden != nullptr && squeezed(*target) != squeezed(*golden);
}

bool names_device(std::string_view text) {
  return std::any_of(std::begin(kDevices), std::end(kDevices), [&](std::string_view device) {
    return text.find(device) != std::string_view::npos;
  });
}

class Writer {
 public:
  Writer(Cells& cells, const GeneralStyle& style) : cells_(cells), style_(style) {}

  void number(Number value) const {
    if (style_.is_original && value && !std::isfinite(*value))
      return cells_.word(std::isnan(*value) ? "Nan" : *value > 0 ? " inf" : " -inf");
    cells_.number(value);
  }

  // max, min, mean, l2norm; of an argument its value, four times.
  void statistics(const Entry* entry, const std::optional<SideNumbers>& measured) const {
    if (entry == nullptr || !entry->statistics) return repeat(kNotKnown);
    const Statistics& s = *entry->statistics;
    if (is_argument(*entry)) {
      if (word_is_one_of(s.dtype, {"NoneType", "torch.Size", "slice"})) return repeat(kPythonNone);
      for (int i = 0; i < 4; ++i) s.max ? number(s.max) : cells_.text(s.text);
      return;
    }
    if (!s.max && !s.min && !s.text.empty()) {  // of a bool tensor
      for (std::string_view name : {"max=", "min="}) cells_.word(flag(s.text, name));
      for (int i = 0; i < 2; ++i) cells_.word(kPythonNone);
      return;
    }
    const bool is_measured = !s.max && !s.min && measured.has_value();
    const Number numbers[] = {
        is_measured ? measured->max : s.max, is_measured ? measured->min : s.min,
        is_measured ? measured->mean : s.mean, is_measured ? measured->l2 : s.l2};
    for (const Number& each : numbers) each ? number(each) : cells_.word(kPythonNone);
  }

  void metrics(const GeneralLine& line) const {
    if (const auto* real = std::get_if<const RealData*>(&line.metrics)) {
      const RealData& d = **real;
      for (const Number& each :
           {d.cosine, d.euclid, d.max_abs, d.max_rel, d.below_1e3, d.below_5e3})
        each ? cells_.number(each) : cells_.word(kUnsupported);
    } else if (const auto* original = std::get_if<const OriginalNumbers*>(&line.metrics)) {
      for (const OriginalNumber& each : **original)
        each.word.empty() ? cells_.number(each.value) : cells_.word(each.word);
    } else if (const auto* differences = std::get_if<const Differences*>(&line.metrics)) {
      style_.is_original ? original_differences(line, **differences)
                         : append_differences(cells_, **differences);
    } else if (const auto* sums = std::get_if<Checksums>(&line.metrics)) {
      for (const std::string* sum : {&sums->target, &sums->golden})
        cells_.text(sum->empty() ? kNotKnown : *sum);
    } else {
      const std::string_view word = line.golden == nullptr || line.target == nullptr ? kNotKnown
                                    : have_other_shapes(line) ? "shape unmatched"
                                                              : kUnsupported;
      for (size_t i = 0; i < metric_columns(style_.mode).size(); ++i) cells_.word(word);
    }
  }

 private:
  void repeat(std::string_view word) const {
    for (int i = 0; i < 4; ++i) cells_.word(word);
  }

  static std::string_view flag(std::string_view text, std::string_view name) {
    const size_t at = text.find(name);
    if (at == std::string_view::npos) return kPythonNone;
    return text.substr(at + name.size()).starts_with("True") ? "True" : "False";
  }

  // What is equal is 0, whatever it is; texts that are not are a difference.
  void original_differences(const GeneralLine& line, const Differences& differences) const {
    if (line.target == nullptr || line.golden == nullptr) {
      for (int i = 0; i < 8; ++i) cells_.word(kNotKnown);
      return;
    }
    const std::string &target = line.target->statistics->text,
                      &golden = line.golden->statistics->text;
    const std::string_view unlike =
        names_device(target) && names_device(golden) ? kNotKnown : "Diff";
    for (const bool is_relative : {false, true}) {
      for (const Difference& each : differences) {
        if (!each.difference)
          cells_.word(target == golden ? "0" : unlike);
        else if (*each.difference == 0)
          cells_.word("0");
        else if (std::isnan(*each.difference))
          cells_.word("Nan");
        else if (std::isinf(*each.difference))
          cells_.word(*each.difference > 0 ? "inf" : "-inf");
        else
          is_relative ? cells_.percent(each.relative) : cells_.number(each.difference);
      }
    }
  }

  Cells& cells_;
  const GeneralStyle& style_;
};

std::optional<SideNumbers> measured(const GeneralLine& line,
                                    std::optional<SideNumbers> RealData::*side) {
  const auto* real = std::get_if<const RealData*>(&line.metrics);
  return real == nullptr ? std::nullopt : (**real).*side;
}

std::string_view data_name(const Entry* entry) {
  if (entry == nullptr) return kNotKnown;
  if (entry->parts.empty()) return "-1";
  return entry->parts.front().file.name();
}

void append_ours(Cells& cells, const GeneralLine& line) {
  const Entry& any = line.any();
  cells.word(line.judged.accuracy);
  for (const auto& each : {any.rank(), any.step()}) cells.count(each);
  cells.word(io_of(any.slot.kind));
  cells.word(line.rule.empty() ? kNotKnown : line.rule);
  const Shape* shape = line.target == nullptr ? nullptr : shape_of(*line.target);
  const auto first_bad = index_of(line.first_bad, shape);
  cells.shape(first_bad ? &*first_bad : nullptr);
}

bool grads_agree(const GeneralLine& line) {
  const auto flag = [](const Entry* entry) {
    return entry != nullptr && entry->statistics ? entry->statistics->requires_grad : std::nullopt;
  };
  return flag(line.target) == flag(line.golden);
}

}  // namespace

std::vector<std::string> header_of(const GeneralStyle& style) {
  std::vector<std::string> header = {
      "NPU Name",         "Bench Name",         "NPU Dtype",         "Bench Dtype",
      "NPU Tensor Shape", "Bench Tensor Shape", "NPU Requires_grad", "Bench Requires_grad"};
  for (std::string_view column : metric_columns(style.mode))
    // The one that the two manuals spell differently.
    header.emplace_back(column == "Five Thousandth Err Ratio" ? "Five Thousandths Err Ratio"
                                                              : column);
  if (style.mode != Mode::kChecksum)
    for (const char* side : {"NPU", "Bench"})
      for (const char* number : {"max", "min", "mean", "l2norm"})
        header.push_back(fmt::format("{} {}", side, number));
  for (const char* column : {"Requires_grad Consistent", "Result", "Err_message"})
    header.emplace_back(column);
  if (style.has_stacks) header.emplace_back("NPU_Stack_Info");
  if (style.mode == Mode::kRealData) header.emplace_back("Data_name");
  if (style.has_ours)
    for (const char* column :
         {"Accuracy Reached or Not", "Rank ID", "Step ID", "IO", "Match Rule", "First Bad Index"})
      header.emplace_back(column);
  return header;
}

void append_cells(Cells& cells, const GeneralLine& line, const GeneralStyle& style) {
  const Writer writer(cells, style);
  for (std::string_view name : {line.target_name, line.golden_name})
    cells.text(name.empty() ? kNotKnown : name);
  for (const Entry* entry : {line.target, line.golden})
    entry == nullptr ? cells.word(kNotKnown) : cells.text(dtype_cell(*entry));
  for (const Entry* entry : {line.target, line.golden}) append_shape(cells, entry);
  for (const Entry* entry : {line.target, line.golden}) append_flag(cells, entry);
  writer.metrics(line);
  if (style.mode != Mode::kChecksum) {
    writer.statistics(line.target, measured(line, &RealData::target));
    writer.statistics(line.golden, measured(line, &RealData::golden));
  }
  cells.word(grads_agree(line) ? "True" : "False");
  cells.word(line.judged.level);
  cells.text(list_of_messages(line.judged));
  if (style.has_stacks)
    cells.text(line.stack.empty() ? std::string(kNotKnown) : list_of_frames(line.stack));
  if (style.mode == Mode::kRealData) {
    std::string names = "[";
    append_quoted(names, data_name(line.target));
    names += ", ";
    append_quoted(names, data_name(line.golden));
    cells.text(names + "]");
  }
  if (style.has_ours) append_ours(cells, line);
}

}  // namespace plumb::msprobe
