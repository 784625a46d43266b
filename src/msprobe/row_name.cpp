// SPDX-License-Identifier: Apache-2.0
#include "msprobe/row_name.h"

#include <tuple>

#include <fmt/format.h>

#include "dump/names.h"

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

std::string row_name(std::string_view op, const dump::Slot& slot) {
  std::string name(op);
  switch (slot.kind) {
    case SlotKind::kInput: name += ".input"; break;
    case SlotKind::kOutput: name += ".output"; break;
    case SlotKind::kParameter: name += ".parameters"; break;
    case SlotKind::kParameterGradient:
    case SlotKind::kOther: break;
  }
  if (slot.index >= 0) (name += '.') += fmt::format_int(slot.index).str();
  if (!slot.path.empty()) name += "." + slot.path;
  return name;
}

std::string row_name(const Entry& entry) { return row_name(entry.operator_name, entry.slot); }

bool row_is_before(const Entry& x, const Entry& y) {
  const auto key = [](const Entry& e) {
    return std::tuple(e.step, e.timestamp, std::string_view(e.operator_name), order_of(e.slot.kind),
                      e.slot.index < 0, e.slot.index);
  };
  if (key(x) != key(y)) return key(x) < key(y);
  return dump::natural_less(x.slot.path, y.slot.path);
}

}  // namespace plumb::msprobe
