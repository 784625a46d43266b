// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/row_name.h"

#include <tuple>

#include <fmt/format.h>

namespace plumb::msprobe {
namespace {

using dump::Entry;
using dump::SlotKind;

int order_of(SlotKind kind) {
  switch (kind) {
    case SlotKind::kInput: return 0;
    case SlotKind::kParameter: return 1;
    case SlotKind::kOutput: return 2;
    case SlotKind::kParameterGradient: return 3;
    case SlotKind::kOther: return 4;
  }
  return 4;
}

void append_name(std::string& text, std::string_view op, const dump::Slot& slot) {
  text += op;
  switch (slot.kind) {
    case SlotKind::kInput: text += ".input"; break;
    case SlotKind::kOutput:
      if (!is_saved_by_hand(op)) text += ".output";
      break;
    case SlotKind::kParameter: text += ".parameters"; break;
    case SlotKind::kParameterGradient:
    case SlotKind::kOther: break;
  }
  if (slot.index >= 0) (text += '.') += fmt::format_int(slot.index).str();
  if (!slot.path.empty()) (text += '.') += slot.path;
}

// Entries of one call stand together: of a tensor that was saved alone there is one.
bool is_saved_alone(const dump::DumpSet& set, const Entry& entry) {
  if (!is_saved_by_hand(entry.operator_name) || entry.slot != dump::Slot{}) return false;
  const size_t at = static_cast<size_t>(&entry - set.entries.data());
  return at + 1 >= set.entries.size() ||
         std::tie(set.entries[at + 1].operator_name, set.entries[at + 1].its_place()) !=
             std::tie(entry.operator_name, entry.its_place());
}

}  // namespace

bool is_saved_by_hand(std::string_view call) { return call.ends_with(".debug"); }

std::string row_name(std::string_view op, const dump::Slot& slot) {
  std::string name;
  append_name(name, op, slot);
  return name;
}

void append_row_name(std::string& text, const dump::DumpSet& set, const Entry& entry) {
  if (is_saved_alone(set, entry))
    text += entry.operator_name;
  else
    append_name(text, entry.operator_name, entry.slot);
}

std::string row_name(const dump::DumpSet& set, const Entry& entry) {
  std::string name;
  append_row_name(name, set, entry);
  return name;
}

std::string_view function_of(std::string_view call) {
  const size_t dot = call.find('.');
  if (dot == std::string_view::npos) return {};
  call.remove_prefix(dot + 1);
  return call.substr(0, call.find('.'));
}

bool row_is_before(const Entry& x, const Entry& y) {
  const auto key = [](const Entry& e) {
    return std::tuple(e.step(), e.timestamp, std::string_view(e.operator_name),
                      order_of(e.slot.kind), e.order);
  };
  return key(x) < key(y);
}

}  // namespace plumb::msprobe
