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

}  // namespace

void append_row_name(std::string& text, std::string_view op, const dump::Slot& slot) {
  text += op;
  switch (slot.kind) {
    case SlotKind::kInput: text += ".input"; break;
    case SlotKind::kOutput: text += ".output"; break;
    case SlotKind::kParameter: text += ".parameters"; break;
    case SlotKind::kParameterGradient:
    case SlotKind::kOther: break;
  }
  if (slot.index >= 0) (text += '.') += fmt::format_int(slot.index).str();
  if (!slot.path.empty()) (text += '.') += slot.path;
}

std::string row_name(std::string_view op, const dump::Slot& slot) {
  std::string name;
  append_row_name(name, op, slot);
  return name;
}

std::string row_name(const Entry& entry) { return row_name(entry.operator_name, entry.slot); }

std::string_view function_of(std::string_view call) {
  const size_t dot = call.find('.');
  if (dot == std::string_view::npos) return {};
  call.remove_prefix(dot + 1);
  return call.substr(0, call.find('.'));
}

bool row_is_before(const Entry& x, const Entry& y) {
  const auto key = [](const Entry& e) {
    return std::tuple(e.step, e.timestamp, std::string_view(e.operator_name), order_of(e.slot.kind),
                      e.order);
  };
  return key(x) < key(y);
}

}  // namespace plumb::msprobe
