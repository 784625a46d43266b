// SPDX-License-Identifier: Apache-2.0
#include "pair/torchair_token.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/parallel.h"
#include "pair/align_operands.h"
#include "pair/superseded.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::SlotKind;
using graph::Operator;

// One run of one operator with its tensors by slot.
struct Execution {
  std::string_view op, type;
  int64_t timestamp = 0;
  Entries inputs, outputs, others;
  size_t number = 0, runs = 1;  // among the runs of the operator, by time

  bool is_latest() const { return number + 1 == runs; }

  template <class Visit>
  void each(Visit&& visit) const {
    for (const Entries* list : {&inputs, &outputs, &others})
      for (const Entry* entry : *list) visit(entry);
  }
};

std::vector<Execution> executions_of(const Entries& entries) {
  std::vector<Execution> executions;
  for (const Entry* entry : entries) {
    if (executions.empty() || executions.back().op != entry->operator_name ||
        executions.back().timestamp != entry->timestamp)
      executions.push_back({entry->operator_name, entry->type, entry->timestamp, {}, {}, {}, 0, 1});
    Execution& execution = executions.back();
    (entry->slot.kind == SlotKind::kInput    ? execution.inputs
     : entry->slot.kind == SlotKind::kOutput ? execution.outputs
                                             : execution.others)
        .push_back(entry);
  }
  return executions;
}

using Runs = std::unordered_map<std::string_view, std::vector<Execution*>>;  // by operator

Runs number_runs(std::vector<Execution>& executions) {
  Runs runs;
  for (Execution& execution : executions) runs[execution.op].push_back(&execution);
  for (auto& [op, list] : runs) {
    std::stable_sort(list.begin(), list.end(), [](const Execution* a, const Execution* b) {
      return a->timestamp < b->timestamp;
    });
    for (size_t i = 0; i < list.size(); ++i) {
      list[i]->number = i;
      list[i]->runs = list.size();
    }
  }
  return runs;
}

// How many elements a tensor has, from its header.
int64_t count_of(const DumpSet& set, const Entry& entry) {
  const auto count = [](const TensorInfo& info) {
    if (info.error) return kUnknownCount;
    if (info.dtype == DType::kOpaque) return kNoTensor;
    return element_count(info.logical_shape.value_or(info.shape)).value_or(kUnknownCount);
  };
  if (entry.parts.size() > 1) return kUnknownCount;
  if (entry.info) return count(*entry.info);
  if (entry.parts.empty())
    return entry.recorded_shape() ? element_count(*entry.recorded_shape()).value_or(kUnknownCount)
                                  : kUnknownCount;
  const auto file = dump::open_part(set, entry.parts.front(), {});
  if (!file) return kUnknownCount;
  const auto info = dump::find_tensor(*file, entry.parts.front().tensor);
  return info ? count(**info) : kUnknownCount;
}

// Decides about the tensors of one token of one model.
class TokenPairing {
 public:
  TokenPairing(const DumpSet& target, const DumpSet& golden, const TorchairModel& model,
               const Entries& targets, const Entries& goldens)
      : target_(target),
        golden_(golden),
        model_(model),
        is_fx_(golden.traits.is_torchair_fx),
        targets_(executions_of(targets)),
        goldens_(executions_of(goldens)) {
    golden_runs_ = number_runs(goldens_);
    number_runs(targets_);
  }

  void run(Pairings& out, size_t& duplicates) {
    // Headers are read on the way: on all cores, each operator into its own list.
    std::vector<Decided> decided(targets_.size());
    for_each_index(targets_.size(), [&](size_t i) { decide(targets_[i], decided[i]); });
    std::unordered_map<const Execution*, const Entry*> members;  // and who they belong to
    for (Decided& list : decided) {
      for (auto& [entry, pairing] : list.tensors) out.try_emplace(entry, std::move(pairing));
      for (const Execution* member : list.members) members.try_emplace(member, list.owner);
      duplicates += list.is_duplicate;
    }
    std::unordered_set<const Entry*> used;
    for (const Execution& execution : targets_)
      execution.each([&](const Entry* entry) {
        if (const auto found = out.find(entry); found != out.end() && found->second.tensor)
          used.insert(found->second.tensor);
      });
    for (const Execution& execution : goldens_) {
      const auto member = members.find(&execution);
      execution.each([&](const Entry* entry) {
        if (used.contains(entry) || out.contains(entry)) return;
        out.try_emplace(entry,
                        member == members.end() ? why_left(execution) : inside(member->second));
      });
    }
  }

 private:
  struct Decided {
    std::vector<std::pair<const Entry*, Pairing>> tensors;
    std::vector<const Execution*> members;  // of golden
    const Entry* owner = nullptr;
    bool is_duplicate = false;
  };

  static Pairing inside(const Entry* owner) {
    return Pairing::none(
        "inside_fusion",
        fmt::format("fused into {}, which does not give it out", owner->operator_name), owner);
  }

  Pairing why_left(const Execution& golden) const {
    if (!golden.is_latest()) return superseded();
    if (!is_fx_) return Pairing::none("no_target", "no operator of the target was made from it");
    const std::string_view op = model_.made_from_fx(golden.op);
    if (op.empty())
      return Pairing::none("no_counterpart", "no operator of the GE graph stands for this FX node");
    Pairing pairing =
        Pairing::none("no_target", fmt::format("{} in the GE graph; target did not dump that", op));
    pairing.missing = TensorName{std::string(op), {}};
    return pairing;
  }

  // The run of golden's `name` that belongs to a run of the target: each to its own if both have as
  // many, else the latest to the latest.
  const Execution* run_of(std::string_view name, const Execution& target) const {
    const auto found = golden_runs_.find(name);
    if (found == golden_runs_.end()) return nullptr;
    if (found->second.size() == target.runs) return found->second[target.number];
    return target.is_latest() ? found->second.back() : nullptr;
  }

  // The golden execution of an operator of the graph.
  const Execution* golden_of(std::string_view op, const Execution& target) const {
    std::string_view name = op;
    if (is_fx_) {
      name = {};
      if (const Operator* known = model_.find(op))
        for (const graph::Output& output : known->outputs)
          if (const auto fx = fx_tensor(output.name); fx && name.empty()) name = fx->first;
    }
    return run_of(name, target);
  }

  // Golden's tensor for an output of an operator of the graph.
  const Entry* golden_output(std::string_view op, int64_t index, const Execution& target) const {
    const Execution* execution = golden_of(op, target);
    if (is_fx_) {
      const Operator* known = model_.find(op);
      if (known != nullptr && index >= 0 && index < std::ssize(known->outputs))
        if (const auto fx = fx_tensor(known->outputs[static_cast<size_t>(index)].name)) {
          execution = run_of(fx->first, target);
          index = fx->second;
        }
    }
    if (execution == nullptr) return nullptr;
    for (const Entry* entry : execution->outputs)
      if (entry->slot.index == index && entry->slot.path.empty()) return entry;
    return nullptr;
  }

  void decide(const Execution& target, Decided& out) const {
    const auto refuse_all = [&](std::string_view reason, const std::string& message) {
      target.each(
          [&](const Entry* e) { out.tensors.emplace_back(e, Pairing::none(reason, message)); });
    };
    for (const Entry* entry : target.others)
      out.tensors.emplace_back(entry, Pairing::none("no_golden", "neither an input nor an output"));
    target.each([&](const Entry* entry) {
      if (out.owner == nullptr) out.owner = entry;
    });

    Members members;
    std::string_view rule = is_fx_ ? "fx-tensor" : "name";
    if (!is_fx_ && golden_runs_.contains(target.op)) {
      members.names = {target.op};
    } else {
      members = model_.members_of(target.op);
      if (!is_fx_ && members.names.size() == 1) members = {};  // it would have had that name
      if (members.names.size() > 1) rule = "fused";
      if (members.is_prefix) rule = "prefix";
    }
    const bool is_conversion = target.type.find("Cast") != std::string_view::npos ||
                               target.type.find("TransData") != std::string_view::npos;
    if (members.names.empty() && is_fx_ && is_conversion) return pair_own(target, out);
    if (members.names.empty())
      return refuse_all("no_golden", is_fx_ ? "the graph has no such operator"
                                            : "no golden data for this operator");
    for (std::string_view name : members.names)
      if (const Execution* golden = golden_of(name, target)) out.members.push_back(golden);
    out.is_duplicate = !target.is_latest() && out.members.empty();
    if (out.is_duplicate) return refuse_all(superseded().reason, superseded().message);
    if (out.members.empty())
      return refuse_all("no_golden",
                        fmt::format("no golden data for {}", fmt::join(members.names, " + ")));
    const bool is_itself = members.names.size() == 1 && members.names[0] == target.op;
    std::string evidence = is_itself ? "" : fmt::format("{}", fmt::join(members.names, " + "));
    if (target.runs > 1 && out.members.front()->runs == target.runs)
      evidence += fmt::format("{}execution {} of {}", evidence.empty() ? "" : ", ",
                              target.number + 1, target.runs);
    pair_inputs(target, members, rule, evidence, out);
    pair_outputs(target, members, rule, evidence, out);
  }

  // An operator that GE put in to convert must not change values.
  void pair_own(const Execution& target, Decided& out) const {
    for (const Entry* output : target.outputs) {
      const auto same = [&](const Entry* input) { return input->slot.index == output->slot.index; };
      const auto input = std::find_if(target.inputs.begin(), target.inputs.end(), same);
      Pairing pairing = Pairing::none("no_golden", "the input it was converted from is not dumped");
      if (input != target.inputs.end()) {
        pairing = Pairing::with(**input, "conversion", "GE put it in; compared with its own input");
        pairing.is_own = true;
      }
      out.tensors.emplace_back(output, std::move(pairing));
    }
    for (const Entry* input : target.inputs)
      out.tensors.emplace_back(input, Pairing::none("no_counterpart",
                                                    "input of a conversion that GE "
                                                    "put in"));
  }

  void pair_lists(const Entries& target, const Entries& golden, std::string_view rule,
                  const std::string& evidence, Decided& out) const {
    std::vector<int64_t> own(target.size()), other(golden.size());
    // One against one needs no header.
    if (target.size() != 1 || golden.size() != 1) {
      for (size_t i = 0; i < own.size(); ++i) own[i] = count_of(target_, *target[i]);
      for (size_t i = 0; i < other.size(); ++i) other[i] = count_of(golden_, *golden[i]);
    }
    std::vector<bool> own_paired(own.size()), other_paired(other.size());
    for (const auto& [i, j] : align_operands(own, other)) {
      own_paired[i] = other_paired[j] = true;
      out.tensors.emplace_back(target[i], Pairing::with(*golden[j], rule, evidence));
    }
    for (size_t i = 0; i < own.size(); ++i)
      if (!own_paired[i])
        out.tensors.emplace_back(
            target[i],
            Pairing::none("no_golden", "no golden tensor aligned with this target tensor"));
    for (size_t j = 0; j < other.size(); ++j)
      if (!other_paired[j])
        out.tensors.emplace_back(
            golden[j],
            other[j] == kNoTensor || (is_fx_ && other[j] == 1)
                ? Pairing::none("no_counterpart",
                                "an argument that is no tensor of the GE operator", out.owner)
                : Pairing::none("no_target", "no target tensor aligned with this golden tensor",
                                out.owner));
  }

  // What goes into the members from outside.
  void pair_inputs(const Execution& target, const Members& members, std::string_view rule,
                   const std::string& evidence, Decided& out) const {
    const auto is_member = [&](std::string_view name) {
      return std::find(members.names.begin(), members.names.end(), name) != members.names.end();
    };
    Entries inputs;
    for (std::string_view name : members.names) {
      const Execution* golden = golden_of(name, target);
      const Operator* op = model_.find(name);
      for (size_t i = 0; golden != nullptr && i < golden->inputs.size(); ++i) {
        const bool is_inner = members.names.size() > 1 && op != nullptr && i < op->inputs.size() &&
                              is_member(op->inputs[i].producer);
        if (!is_inner) inputs.push_back(golden->inputs[i]);
      }
    }
    pair_lists(target.inputs, inputs, rule, evidence, out);
  }

  // What the last member gives out, unless the graph records better.
  void pair_outputs(const Execution& target, const Members& members, std::string_view rule,
                    const std::string& evidence, Decided& out) const {
    const std::string_view last = members.names.back();
    if (!is_fx_ && members.names.size() == 1)
      return pair_lists(target.outputs, golden_of(last, target)->outputs, rule, evidence, out);
    const Operator* made = model_.made(target.op);
    std::unordered_set<const Entry*> used;
    for (const Entry* output : target.outputs) {
      std::string_view op = last;
      int64_t index = output->slot.index;
      if (made != nullptr && index >= 0 && index < std::ssize(made->outputs)) {
        const graph::Output& recorded = made->outputs[static_cast<size_t>(index)];
        if (!recorded.origin.empty() && model_.find(recorded.origin) != nullptr) {
          op = recorded.origin;
          index = recorded.origin_output.value_or(0);
        }
      }
      const Entry* golden = golden_output(op, index, target);
      if (golden != nullptr) {
        used.insert(golden);
        out.tensors.emplace_back(output, Pairing::with(*golden, rule, evidence));
      } else {
        Pairing pairing =
            Pairing::none("no_golden", fmt::format("golden has no output {} of {}", index, op));
        if (const Execution* known = golden_of(op, target))
          pairing.missing = TensorName{std::string(known->op), {SlotKind::kOutput, index, {}}};
        out.tensors.emplace_back(output, std::move(pairing));
      }
    }
    if (const Execution* golden = golden_of(last, target))
      for (const Entry* entry : golden->outputs)
        if (!used.contains(entry))
          out.tensors.emplace_back(
              entry,
              Pairing::none("no_target", "no output of the target stands for it", out.owner));
  }

  const DumpSet& target_;
  const DumpSet& golden_;
  const TorchairModel& model_;
  const bool is_fx_;
  std::vector<Execution> targets_, goldens_;
  Runs golden_runs_;
};

}  // namespace

void pair_token(const DumpSet& target, const DumpSet& golden, const TorchairModel& model,
                const Entries& targets, const Entries& goldens, Pairings& out, size_t& duplicates) {
  TokenPairing(target, golden, model, targets, goldens).run(out, duplicates);
}

}  // namespace plumb::pair
