// SPDX-License-Identifier: Apache-2.0
//
// `-am`: APIs of MindSpore by PyTorch's names. A file lists further ones with the order of their
// arguments:
//   - ms_api: Functional.conv2d
//     pt_api: Functional.conv2d
//     ms_args: [0, 1, bias]
//     pt_args: [0, 1, 2]
// ms_outputs, ms_parameters and ms_parameters_grad are lists of the same kind. What a list leaves
// out has no partner; without a list positions stay as they are.
#include <algorithm>
#include <array>
#include <unordered_set>

#include <fmt/format.h>

#include "dialect/msprobe/mapping.h"
#include "dialect/msprobe/row_name.h"
#include "dump/names.h"

namespace plumb::msprobe {

using dump::DumpSet;
using dump::Slot;
using dump::SlotKind;
using pair::TensorName;

namespace {

constexpr const char* kApiMappingForm =
    "a list of APIs, each with ms_api, pt_api and, of the same length, ms_args and pt_args";

// "0", "0.1", "weight": a slot without its kind.
std::string position_of(const Slot& slot) {
  return row_name("", {SlotKind::kOther, slot.index, slot.path}).substr(1);
}

Slot slot_at(SlotKind kind, std::string_view position) {
  const size_t dot = std::min(position.find('.'), position.size());
  const auto index = dump::number_from(position.substr(0, dot));
  if (!index) return {kind, dump::kNamed, std::string(position)};
  return {kind, *index, std::string(position.substr(std::min(dot + 1, position.size())))};
}

struct ArgumentPositions {
  bool is_given = false;
  std::unordered_map<std::string, std::string> golden_of;  // positions
};

struct Api {
  std::string golden;
  std::array<ArgumentPositions, 4> by_kind;  // input, output, parameter, gradient
};

// "Functional.conv2d" of a call.
std::string api_of(std::string_view call) {
  const size_t dot = std::min(call.find('.'), call.size());
  return std::string(call.substr(0, call.find('.', std::min(dot + 1, call.size()))));
}

// The first of the two names that is there; msprobe writes both.
const Yaml* either(const Yaml& api, const std::string& name) {
  const Yaml* found = api.find(name);
  return found != nullptr || !name.ends_with("puts") ? found
                                                     : api.find(name.substr(0, name.size() - 1));
}

Result<ArgumentPositions> arguments_of(const Yaml& api, const std::string& what) {
  ArgumentPositions arguments;
  const Yaml *ours = either(api, "ms_" + what), *theirs = either(api, "pt_" + what);
  if (ours == nullptr && theirs == nullptr) return arguments;
  const auto size = [](const Yaml* list) { return list == nullptr ? 0 : list->items.size(); };
  if (size(ours) != size(theirs))
    return Error{fmt::format("ms_{0} and pt_{0} are not of the same length", what),
                 fmt::format("line {}: {} and {}", (ours != nullptr ? ours : theirs)->line,
                             size(ours), size(theirs)),
                 "give each argument its partner"};
  arguments.is_given = true;
  for (size_t i = 0; i < size(ours); ++i)
    arguments.golden_of.emplace(ours->items[i].text, theirs->items[i].text);
  return arguments;
}

Result<Api> api_from(const Yaml& item) {
  const Yaml* golden = item.find("pt_api");
  if (golden == nullptr || golden->text.empty()) return not_a_table(item, kApiMappingForm);
  Api api;
  api.golden = golden->text;
  size_t kind = 0;
  for (const char* what : {"args", "outputs", "parameters", "parameters_grad"}) {
    auto arguments = arguments_of(item, what);
    if (!arguments) return arguments.error();
    api.by_kind[kind++] = std::move(*arguments);
  }
  return api;
}

const ArgumentPositions* arguments_for(const Api& api, SlotKind kind) {
  switch (kind) {
    case SlotKind::kInput: return &api.by_kind[0];
    case SlotKind::kOutput: return &api.by_kind[1];
    case SlotKind::kParameter: return &api.by_kind[2];
    case SlotKind::kParameterGradient: return &api.by_kind[3];
    case SlotKind::kOther: return nullptr;
  }
  return nullptr;
}

}  // namespace

Result<Rename> api_renaming(const Yaml& list, const DumpSet& target, const DumpSet& golden) {
  if (list.kind != Yaml::Kind::kList && !list.is_nothing())
    return not_a_table(list, kApiMappingForm);
  std::unordered_set<std::string> targets, goldens;
  for (const dump::Entry& entry : target.entries) targets.insert(api_of(entry.operator_name));
  for (const dump::Entry& entry : golden.entries) goldens.insert(api_of(entry.operator_name));
  std::unordered_map<std::string, Api> apis;
  for (const Yaml& item : list.items) {
    const Yaml* name = item.find("ms_api");
    if (name == nullptr || name->text.empty()) return not_a_table(item, kApiMappingForm);
    auto api = api_from(item);
    if (!api) return api.error();
    if (targets.contains(name->text) && goldens.contains(api->golden))
      apis.insert_or_assign(name->text, std::move(*api));
  }
  return Rename([apis = std::move(apis)](const std::string& op,
                                         const Slot& slot) -> std::optional<TensorName> {
    const std::string name = api_of(op);
    const auto found = apis.find(name);
    if (found == apis.end()) return TensorName{pytorch_name(op), slot};
    const Api& api = found->second;
    TensorName renamed{api.golden + op.substr(name.size()), slot};
    const ArgumentPositions* arguments = arguments_for(api, slot.kind);
    if (arguments == nullptr || !arguments->is_given) return renamed;
    const auto position = arguments->golden_of.find(position_of(slot));
    if (position == arguments->golden_of.end()) return std::nullopt;
    renamed.slot = slot_at(slot.kind, position->second);
    return renamed;
  });
}

}  // namespace plumb::msprobe
