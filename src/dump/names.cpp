// SPDX-License-Identifier: Apache-2.0
#include "dump/names.h"

#include <algorithm>

#include "base/number_from_text.h"

namespace plumb::dump {
namespace {

constexpr size_t kMicrosecondDigits = 13;  // at least; a shorter number is no time stamp
constexpr size_t kSecondDigits = 10;       // at least: what a clock of any unit gives

// The text after the last dot, which it cuts off `text` together with the dot; empty if there is
// none.
std::string_view cut_last(std::string_view& text) {
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view last = text.substr(dot + 1);
  text.remove_suffix(last.size() + 1);
  return last;
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

bool is_short(std::string_view text) { return is_digits(text) && text.size() < kMicrosecondDigits; }
bool is_timestamp(std::string_view text) {
  return is_digits(text) && text.size() >= kMicrosecondDigits;
}

}  // namespace

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int64_t> number_from(std::string_view text) {
  if (!is_digits(text)) return {};
  return number_from_text<int64_t>(text);
}

int64_t timestamp_from(std::string_view digits) {
  constexpr size_t kFits = 18;
  return number_from(digits.size() > kFits ? digits.substr(digits.size() - kFits) : digits)
      .value_or(0);
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto digit_run = [](std::string_view text) {
    const auto end =
        std::find_if(text.begin(), text.end(), [](char c) { return c < '0' || c > '9'; });
    return text.substr(0, static_cast<size_t>(end - text.begin()));
  };
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    std::string_view run_a = digit_run(a), run_b = digit_run(b);
    if (run_a.empty() || run_b.empty()) {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    a.remove_prefix(run_a.size());
    b.remove_prefix(run_b.size());
    run_a.remove_prefix(std::min(run_a.find_first_not_of('0'), run_a.size()));
    run_b.remove_prefix(std::min(run_b.find_first_not_of('0'), run_b.size()));
    if (run_a.size() != run_b.size()) return run_a.size() < run_b.size();
    if (run_a != run_b) return run_a < run_b;
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // equal but for leading zeros
}

std::optional<DeviceName> parse_device_name(std::string_view name) {
  DeviceName parsed;
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  parsed.type = name.substr(0, dot);
  std::string_view rest = name.substr(dot + 1);

  {  // the four numbers of a slice, told from task.stream.timestamp by the time stamp before them
    std::string_view head = rest;
    const std::string_view device = cut_last(head), thread = cut_last(head);
    const std::string_view context = cut_last(head), task_type = cut_last(head);
    std::string_view before = head;
    if (is_short(device) && is_short(thread) && is_short(context) && is_short(task_type) &&
        is_timestamp(cut_last(before))) {
      parsed.task_type = number_from(task_type);
      parsed.context = *number_from(context);
      parsed.thread = *number_from(thread);
      rest = head;
    }
  }
  const std::string_view timestamp = cut_last(rest);
  const std::string_view last = cut_last(rest);
  if (!is_digits(timestamp) || !number_from(last)) return {};
  parsed.timestamp = timestamp_from(timestamp);
  parsed.task = *number_from(last);
  std::string_view op = rest;
  if (const auto task = number_from(cut_last(op)); task && !op.empty()) {
    parsed.stream = parsed.task;
    parsed.task = *task;
    parsed.op = op;
  } else {  // older tools write no stream; names with dots came later
    if (rest.find('.') != std::string_view::npos) return {};
    parsed.op = rest;
  }
  if (parsed.op.empty()) return {};
  return parsed;
}

std::optional<DecodedName> parse_decoded_name(std::string_view name) {
  constexpr int64_t kFirstTime = 1'000'000'000'000;  // kMicrosecondDigits of them
  const auto is_word = [](std::string_view text) {
    const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    return !text.empty() && is_letter(text[0]) &&
           std::all_of(text.begin(), text.end(),
                       [&](char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); });
  };
  DecodedName parsed;
  parsed.is_npy = remove_suffix(name, ".npy");
  std::string_view index = cut_last(name);
  if (index == "bin") {
    parsed.layout = cut_last(name);
    parsed.dtype = cut_last(name);
    const std::string_view size = cut_last(name);
    const auto is_size = [](char c) { return c == '_' || (c >= '0' && c <= '9'); };
    if (!is_word(parsed.dtype) || !std::all_of(size.begin(), size.end(), is_size)) return {};
    index = cut_last(name);
  }
  if (is_word(index)) {
    parsed.layout = index;
    index = cut_last(name);
  }
  if (is_word(index)) {
    parsed.dtype = parsed.layout;
    parsed.layout = index;
    index = cut_last(name);
  }
  const std::string_view kind = cut_last(name);
  if (!number_from(index) || (kind != "input" && kind != "output")) return {};
  if (!parsed.is_npy && parsed.dtype.empty()) return {};  // anything might be called so
  parsed.slot = {kind == "input" ? SlotKind::kInput : SlotKind::kOutput, *number_from(index), {}};
  const auto device = parse_device_name(name);
  if (!device || device->task_type || device->timestamp < kFirstTime) return {};
  parsed.device = *device;
  return parsed;
}

std::optional<ManualSlice> parse_manual_slice(std::string_view op) {
  constexpr std::string_view kMark = "_lxslice";
  ManualSlice found;
  bool any = false;
  while (!op.empty()) {
    const size_t at = op.find(kMark);
    if (at == std::string_view::npos) break;
    size_t end = at + kMark.size();
    while (end < op.size() && op[end] >= '0' && op[end] <= '9') ++end;
    const auto slice = number_from(op.substr(at + kMark.size(), end - at - kMark.size()));
    found.op += op.substr(0, slice ? at : end);
    if (slice) {
      found.slice = *slice;
      any = true;
    }
    op.remove_prefix(end);
  }
  if (!any) return {};
  found.op += op;
  return found;
}

std::optional<GoldenName> parse_golden_name(std::string_view stem) {
  const std::string_view last = cut_last(stem), second = cut_last(stem);
  if (!is_digits(last) || !is_digits(second)) return {};
  std::string_view op = stem;
  if (const std::string_view third = cut_last(op);
      is_short(last) && is_timestamp(second) && is_short(third) && !op.empty())
    return GoldenName{op, *number_from(third), timestamp_from(second)};
  const auto index = number_from(second);
  if (!index || stem.empty() || last.size() < kSecondDigits) return {};
  return GoldenName{stem, *index, timestamp_from(last)};
}

std::optional<FxName> parse_fx_name(std::string_view name) {
  constexpr size_t kDateDigits = 14;  // at least
  FxName parsed;
  if (name.find("PUT.") == std::string_view::npos || !remove_suffix(name, ".npy")) return {};
  parsed.is_reduced = remove_suffix(name, "_min_max");
  const std::string_view timestamp = cut_last(name);
  if (!is_digits(timestamp) || timestamp.size() < kDateDigits) return {};
  parsed.timestamp = timestamp_from(timestamp);
  std::string_view index = cut_last(name);
  if (!number_from(index)) return {};
  std::string_view kind = cut_last(name);
  if (number_from(kind)) {  // a list of tensors: .i.j
    parsed.slot.path = std::to_string(*number_from(index));
    index = kind;
    kind = cut_last(name);
  }
  if (name.empty() || (kind != "INPUT" && kind != "OUTPUT")) return {};
  parsed.slot.kind = kind == "INPUT" ? SlotKind::kInput : SlotKind::kOutput;
  parsed.slot.index = *number_from(index);
  parsed.op = name;
  if (const size_t dash = name.find('-'); dash != std::string_view::npos)
    parsed.target = name.substr(dash + 1);
  return parsed;
}

Slot slot_from_tensor_name(std::string_view name) {
  std::string_view kind = name;
  const auto index = number_from(cut_last(kind));
  if (index && kind == "input") return {SlotKind::kInput, *index, {}};
  if (index && kind == "output") return {SlotKind::kOutput, *index, {}};
  return {SlotKind::kOther, kNamed, std::string(name)};
}

}  // namespace plumb::dump
