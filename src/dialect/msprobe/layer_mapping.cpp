// SPDX-License-Identifier: Apache-2.0
//
// `-lm`: a file that says, for a class, what golden calls the parts of it:
//   ParallelTransformer:
//     layers: blocks
//     attention.dense: attn.proj
// A call is looked up along the tree of modules (construct.json): from the top, the class of each
// module renames what is below it. Calls of one place, name and direction belong together in the
// order they ran. TopLayer (or Cell) is the class of what has no parent; its calls are told apart
// by the function of the framework that made them, as stack.json has it, where both dumps name one.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "dialect/msprobe/mapping.h"
#include "dump/construct_json.h"
#include "dump/names.h"
#include "dump/stack_json.h"
#include "pair/call_order.h"

namespace plumb::msprobe {

using dump::DumpSet;
using dump::Entry;
using pair::Pairings;

namespace {

constexpr size_t kMaxLevels = 256;  // looking a path up takes time by its square

using Path = std::vector<std::string>;  // names from the top

Path split(std::string_view text) {
  Path parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('.', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Where a call belongs in the tree.
struct Place {
  Path path;
  std::string type;         // the class of a module, the name of an API
  std::string state;        // forward, backward, parameters_grad
  bool is_outside = false;  // of modules
  std::string frame = {};   // ... the function of the framework that the program called

  std::string call() const { return type + "|" + state; }
};

// The path of a module's call "Module.a.b.Class.forward.0": a, b.
Path module_path(const Path& parts, size_t behind) {
  if (parts.size() < behind + 2 || parts.size() > kMaxLevels) return {};
  return Path(parts.begin() + 1, parts.end() - static_cast<ptrdiff_t>(behind));
}

std::optional<Place> place_of(const std::string& op, const dump::Parents& parents) {
  const Path parts = split(op);
  const size_t n = parts.size();
  if (n < 4 || n > kMaxLevels) return std::nullopt;
  const auto gradient = [&](size_t behind) {
    return Place{module_path(parts, behind), parts[n - behind], "parameters_grad"};
  };
  if (parts[n - 1] == "parameters_grad") return gradient(2);
  if (parts[n - 2] == "parameters_grad" && dump::is_digits(parts[n - 1])) return gradient(3);
  if (parts[0] == "Cell" || parts[0] == "Module")
    return Place{module_path(parts, 3), parts[n - 3], parts[n - 2]};
  Place place{{}, parts[n - 3], parts[n - 1]};
  if (const auto parent = parents.find(op); parent != parents.end())
    place.path = module_path(split(parent->second), 3);
  place.is_outside = place.path.empty();
  place.path.push_back(place.type);
  return place;
}

// The outermost function of the framework before the program's own code, in a stack that starts
// with the innermost: "cross_entropy" of a log_softmax. Empty if the program made the call itself.
std::string entrance_of(std::string_view stack) {
  std::string function;
  while (!stack.empty()) {
    const size_t end = std::min(stack.find("\nFile "), stack.size());
    const std::string_view frame = stack.substr(0, end);
    stack.remove_prefix(std::min(end + 1, stack.size()));
    const std::string_view file = frame.substr(0, frame.find(','));
    const auto is_in = [&](std::string_view part) { return file.find(part) != file.npos; };
    if (!is_in("-packages/torch/") && !is_in("-packages/mindspore/") && !is_in("package/torch/") &&
        !is_in("package/mindspore/"))
      break;
    const size_t in = frame.find(", in ");
    if (in == frame.npos) continue;
    const std::string_view name = frame.substr(in + 5);
    function = name.substr(0, name.find_first_of(", \n"));
  }
  return function;
}

// The same call in the forward pass: "backward" among the last two words says "forward".
std::optional<std::string> forward_of(const std::string& op) {
  const auto call = pair::parse_call_name(op);
  if (!call || !call->is_backward) return std::nullopt;
  const auto word = [](std::string_view part) { return part == "backward" ? "forward" : part; };
  return fmt::format("{}.{}.{}", call->base, word(call->head), word(call->tail));
}

std::string join(const Path& path, size_t from, size_t to) {
  return fmt::format("{}", fmt::join(path.begin() + static_cast<ptrdiff_t>(from),
                                     path.begin() + static_cast<ptrdiff_t>(to), "."));
}
std::string join(const Path& path) { return join(path, 0, path.size()); }

// The last number in "layers.12" or "layer_12".
std::optional<int64_t> number_in(std::string_view name) {
  const size_t end = name.find_last_of("0123456789");
  if (end == std::string_view::npos) return std::nullopt;
  const size_t before = name.find_last_not_of("0123456789", end);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return dump::number_from(name.substr(begin, end + 1 - begin));
}

// Pipelines may number the layers of a stage from its own first one or from the model's.
void number_from_zero(std::vector<std::optional<Place>>& places) {
  std::unordered_map<std::string, std::optional<int64_t>> firsts;  // by path of the layers
  for (const auto& place : places) {
    if (!place || place->type != "ParallelTransformer") continue;
    Path layers = place->path;
    layers.push_back("layers");
    firsts[join(layers)];
  }
  if (firsts.empty()) return;
  // Calls `use` with each numbered name below such layers, its number and the first one.
  const auto each = [&](Path& path, auto&& use) {
    const Path names = path;
    for (size_t i = 0; i + 1 < names.size(); ++i) {
      if (names[i] != "layers") continue;
      const auto found = firsts.find(join(names, 0, i + 1));
      const auto number = found == firsts.end() ? std::nullopt : number_in(names[i + 1]);
      if (number) use(path[i + 1], *number, found->second);
    }
  };
  for (auto& place : places)
    if (place)
      each(place->path, [](std::string&, int64_t number, std::optional<int64_t>& first) {
        first = std::min(first.value_or(number), number);
      });
  for (auto& place : places)
    if (place)
      each(place->path, [](std::string& name, int64_t number, std::optional<int64_t>& first) {
        name = std::to_string(number - *first);
      });
}

// The calls of one run in the tree of its modules.
class Tree {
 public:
  static Result<Tree> load(const DumpSet& set, std::vector<const pair::Call*> calls) {
    const std::string& record = calls.front()->entries.front().record;
    const auto path = (set.root / record).parent_path() / "construct.json";
    auto file = MappedFile::open(path);
    if (!file)
      return Error{"modules cannot be mapped without their tree", file.error().where,
                   "keep the construct.json of a dump beside its dump.json"};
    auto parents = dump::parse_construct_json(file->bytes());
    if (!parents) return std::move(parents.error()).in(path.string());
    if (parents->empty())
      return Error{"construct.json is empty", path.string(),
                   "dump with level L0 or mix: at level L1 there are no modules to map"};
    Tree tree(std::move(calls), *parents);
    const auto stack_path = path.parent_path() / "stack.json";
    auto stack_file = MappedFile::open(stack_path);
    auto stacks = stack_file ? dump::parse_stack_json(stack_file->bytes()) : dump::Stacks();
    if (!stacks) return std::move(stacks.error()).in(stack_path.string());
    for (size_t i = 0; i < tree.calls_.size(); ++i) {
      std::optional<Place>& place = tree.places_[i];
      const auto found = stacks->find(tree.calls_[i]->op());
      if (place && place->is_outside && found != stacks->end())
        place->frame = entrance_of(*found->second);
    }
    return tree;
  }

  // Calls outside of modules for which both programs have a function in common.
  static std::set<std::string> shared_frames(const Tree& a, const Tree& b) {
    std::set<std::string> ours, shared;
    const auto key = [](const Place& place) { return place.call() + "|" + place.frame; };
    for (const auto& place : a.places_)
      if (place && !place->frame.empty()) ours.insert(key(*place));
    for (const auto& place : b.places_)
      if (place && !place->frame.empty() && ours.contains(key(*place)))
        shared.insert(place->call());
    return shared;
  }

  // Finds out where each call belongs; once, before all else.
  void settle(const std::set<std::string>& framed) {
    for (auto& place : places_)
      if (place && !place->frame.empty() && framed.contains(place->call()))
        place->path.insert(place->path.begin(), place->frame);
    std::unordered_map<std::string, size_t> position;
    for (size_t i = 0; i < calls_.size(); ++i) position.emplace(calls_[i]->op(), i);
    // The backward pass knows no parents.
    for (size_t i = 0; i < calls_.size(); ++i)
      if (const auto forward = places_[i] ? forward_of(calls_[i]->op()) : std::nullopt)
        if (const auto found = position.find(*forward);
            found != position.end() && places_[found->second])
          places_[i]->path = places_[found->second]->path;
    number_from_zero(places_);
    for (size_t i = 0; i < calls_.size(); ++i) {
      turns_.push_back(0);
      if (!places_[i]) continue;
      const std::string path = join(places_[i]->path);
      types_[path] = places_[i]->type;
      std::vector<const pair::Call*>& here = at_[path + "|" + places_[i]->state];
      turns_[i] = here.size();
      here.push_back(calls_[i]);
    }
  }

  const std::optional<Place>& place(size_t call) const { return places_[call]; }
  size_t turn(size_t call) const { return turns_[call]; }
  const pair::Call* find(const std::string& path, const std::string& state, size_t turn) const {
    const auto found = at_.find(path + "|" + state);
    return found == at_.end() || turn >= found->second.size() ? nullptr : found->second[turn];
  }
  // The class of the module there; without one, its name.
  std::string type_at(const Path& path, size_t length) const {
    if (length == 0) return "TopLayer";
    const auto found = types_.find(join(path, 0, length));
    return found == types_.end() ? path[length - 1] : found->second;
  }

 private:
  Tree(std::vector<const pair::Call*> calls, const dump::Parents& parents)
      : calls_(std::move(calls)) {
    for (const pair::Call* call : calls_) places_.push_back(place_of(call->op(), parents));
  }

  std::vector<const pair::Call*> calls_;
  std::vector<std::optional<Place>> places_;  // parallel to the calls
  std::vector<size_t> turns_;                 // how many of the same place and state came before
  std::unordered_map<std::string, std::vector<const pair::Call*>> at_;
  std::unordered_map<std::string, std::string> types_;
};

// "attention.dense" of a class, and what golden has there.
struct Part {
  Path target;
  std::string golden;
};
using Parts = std::unordered_map<std::string, std::vector<Part>>;  // by class, the longest first

Result<Parts> parts_from(const Yaml& table) {
  constexpr const char* kForm = "a table for each class, of lines \"target part: golden part\"";
  Parts parts;
  if (table.is_nothing()) return parts;
  if (table.kind != Yaml::Kind::kTable) return not_a_table(table, kForm);
  for (size_t i = 0; i < table.items.size(); ++i) {
    const std::string& name = table.names[i];
    const Yaml& lines = table.items[i];
    if (lines.kind != Yaml::Kind::kTable) return not_a_table(lines, kForm);
    auto texts = texts_of(lines);
    if (!texts) return texts.error();
    std::vector<Part>& own = parts[name == "Cell" ? "TopLayer" : name];
    for (const auto& [target, golden] : *texts)
      own.push_back({split(target), golden.substr(0, golden.find('('))});
    std::stable_sort(own.begin(), own.end(), [](const Part& a, const Part& b) {
      return a.target.size() > b.target.size();
    });
  }
  return parts;
}

std::string golden_path(const Path& path, const Tree& tree, const Parts& parts) {
  std::string golden;
  for (size_t at = 0; at < path.size();) {
    const auto is_here = [&](const Part& part) {
      return part.target.size() <= path.size() - at &&
             std::equal(part.target.begin(), part.target.end(),
                        path.begin() + static_cast<ptrdiff_t>(at));
    };
    const Part* found = nullptr;
    if (const auto own = parts.find(tree.type_at(path, at)); own != parts.end()) {
      const auto part = std::find_if(own->second.begin(), own->second.end(), is_here);
      if (part != own->second.end()) found = &*part;
    }
    if (!golden.empty()) golden += '.';
    golden += found != nullptr ? found->golden : path[at];
    at += found != nullptr ? found->target.size() : 1;
  }
  return golden;
}

using ByScope = std::map<std::string, std::vector<const pair::Call*>>;
ByScope by_scope(const std::vector<pair::Call>& calls) {
  ByScope scopes;
  for (const pair::Call& call : calls) scopes[call.scope].push_back(&call);
  return scopes;
}

}  // namespace

Result<Pairings> pair_by_layers(const Yaml& table, const std::string& file, const DumpSet& target,
                                const DumpSet& golden) {
  auto parts = parts_from(table);
  if (!parts) return std::move(parts.error()).in(file);
  const pair::Scopes scopes = pair::scopes_of(target, golden);
  const auto target_calls = pair::calls_of(target, scopes);
  const auto golden_calls = pair::calls_of(golden, scopes);
  const ByScope goldens = by_scope(golden_calls);
  Pairings pairings;
  for (const auto& [scope, calls] : by_scope(target_calls)) {
    const auto partner = goldens.find(scope);
    if (partner == goldens.end()) continue;
    auto ours = Tree::load(target, calls), theirs = Tree::load(golden, partner->second);
    if (!ours) return ours.error();
    if (!theirs) return theirs.error();
    const std::set<std::string> framed = Tree::shared_frames(*ours, *theirs);
    ours->settle(framed);
    theirs->settle(framed);
    for (size_t i = 0; i < calls.size(); ++i) {
      const auto& place = ours->place(i);
      const std::string path = place ? golden_path(place->path, *ours, *parts) : "";
      const pair::Call* found = place ? theirs->find(path, place->state, ours->turn(i)) : nullptr;
      for (const Entry& entry : calls[i]->entries) {
        if (found != nullptr)
          pairings[&entry] = pair::Pairing::with(found->op(), entry.slot, "layer-mapping");
        else
          pairings[&entry] = pair::Pairing::none(
              "no_golden",
              place ? fmt::format("by the mapping it is {} of {} in golden", place->state, path)
                    : "its name has no place among the modules");
      }
    }
  }
  return pairings;
}

}  // namespace plumb::msprobe
