// SPDX-License-Identifier: Apache-2.0
#include "guide/bundle.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/utf8.h"
#include "compare/session_state.h"
#include "diagnose/net.h"
#include "guide/walk_text.h"
#include "replay/isolate.h"
#include "replay/isolate_sources.h"
#include "report/replayed.h"
#include "report/text.h"
#include "result/json_write.h"

namespace plumb::guide {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostTensorBytes = int64_t{256} << 20;  // of tensors

std::string json_of(const result::Run& run) {
  std::string json;
  result::write_json(run, [&](std::string_view text) { json += text; });
  return json;
}

// The first finding that accuses an operator, and the comparison it is of.
struct Accused {
  std::string op;
  const Compared* compared = nullptr;
};
Accused accused_by(const Walk& walk) {
  for (const GuideFinding& each : walk.findings) {
    if (each.finding.operator_name.empty()) continue;
    for (auto compared = walk.compared.rbegin(); compared != walk.compared.rend(); ++compared)
      for (const result::Row& row : compared->run.rows)
        if (row.target && row.golden && row.target->operator_name == each.finding.operator_name)
          return {each.finding.operator_name, &*compared};
  }
  return {};
}

// Rows of what an operator gives and reads. Inputs that were not dumped are their producers'
// outputs.
struct Around {
  std::vector<size_t> rows;
  std::vector<bool> are_weights;  // parallel
};
Around around(const result::Run& run, std::string_view op) {
  const diagnose::Net net = diagnose::net_of(run);
  Around found;
  const auto add = [&](size_t row, bool is_weight) {
    if (std::find(found.rows.begin(), found.rows.end(), row) != found.rows.end()) return;
    found.rows.push_back(row);
    found.are_weights.push_back(is_weight);
  };
  for (const diagnose::Node& node : net.nodes) {
    if (node.name != op) continue;
    for (const size_t row : node.outputs) add(row, false);
    for (const size_t row : node.inputs) add(row, false);
    for (const int64_t at : node.producers) {
      const diagnose::Node& producer = net.nodes[static_cast<size_t>(at)];
      for (const size_t row : producer.outputs) add(row, producer.is_constant);
    }
  }
  for (size_t i = 0; i < run.rows.size(); ++i)  // without a graph, and what has no partner
    if (const auto& target = run.rows[i].target; target && target->operator_name == op)
      add(i, !run.rows[i].golden && target->slot.starts_with("input"));
  return found;
}

class Maker {
 public:
  Maker(const Walk& walk, const BundleOptions& options, RunContext& context)
      : walk_(walk), options_(options), context_(context), short_(walk) {}

  Result<Bundle> make() {
    text("guide.json", to_json(walk_), "path, answers and findings");
    text("path.txt", path_text(walk_, 100, false) + "\n" + verdict_text(walk_, 100, false),
         "the same for people");
    text("answers.toml", to_toml(walk_.answers), "to walk the path again");
    for (const Compared& compared : walk_.compared)
      text("results/" + compared.step + ".json", json_of(compared.run),
           fmt::format("result of a comparison: {} rows", compared.run.rows.size()));
    if (!options_.environment.empty())
      text("environment.json", options_.environment, "what plumb env says about this machine");
    reproduce();
    std::string readme =
        "# A case for support\n\nWritten by `plumb diagnose --guide --bundle`. It holds:\n\n";
    for (const std::string& line : bundle_.contents) readme += "- " + line + "\n";
    readme +=
        "\n`plumb diagnose results/STEP.json` explains a result again.\n"
        "`plumb compare tensors/target tensors/golden` compares the tensors of the accused "
        "operator.\n";
    bundle_.files.add("README.md", std::move(readme));
    return std::move(bundle_);
  }

 private:
  void text(const std::string& file, std::string content, const std::string& what) {
    content = short_.shortened(std::move(content));
    bundle_.contents.push_back(fmt::format(
        "{} ({}): {}", file, report::bytes_text(static_cast<double>(content.size())), what));
    bundle_.files.add(file, std::move(content));
  }

  void reproduce() {
    const Accused accused = accused_by(walk_);
    if (accused.compared == nullptr) {
      bundle_.contents.push_back("no tensors: no operator is accused");
      return;
    }
    if (isolate(accused)) return;
    if (accused.compared->session == nullptr) {
      bundle_.contents.push_back(fmt::format("no tensors of {}: they were not kept", accused.op));
      return;
    }
    add_tensors(accused);
  }

  // The operator as a model of its own, with what it was fed on both sides.
  // False if no model is at hand that can be cut apart.
  bool isolate(const Accused& accused) {
    const bool was_run = !accused.compared->kept.empty();
    replay::IsolateOptions options;
    if (!was_run) options.model = walk_.answers.known("model");
    if (!walk_.scratch || (!was_run && options.model.empty())) return false;
    const fs::path saved = walk_.scratch->path() / "result.json";
    if (auto written = write_file(saved, json_of(accused.compared->run)); !written) return false;
    options.result = saved.string();
    options.op = accused.op;
    std::vector<std::string> ignored;
    auto isolated = replay::isolate(options, context_, ignored);
    if (!isolated) return false;
    isolated->reproduction.add("README.md",
                               short_.shortened(report::readme_of(isolated->replayed)));
    isolated->reproduction.add("versions.json",
                               short_.shortened(report::json_of(isolated->replayed)));
    if (!options_.weights) isolated->reproduction.remove("model.onnx");
    bundle_.files.add("reproduction/", isolated->reproduction);
    bundle_.contents.push_back(
        fmt::format("reproduction/: {} alone, {}what it was fed and gave on both sides", accused.op,
                    options_.weights ? "as a model with its weights, " : "without its weights, "));
    return true;
  }

  void add_tensors(const Accused& accused) {
    const SessionState& state = accused.compared->session->state();
    const Around found = around(accused.compared->run, accused.op);
    int64_t bytes = 0, tensors = 0, weights = 0, too_large = 0;
    for (size_t i = 0; i < found.rows.size(); ++i) {
      if (found.are_weights[i] && !options_.weights) {
        ++weights;
        continue;
      }
      const pair::PlannedRow& planned = state.rows[found.rows[i]];
      const auto& side = accused.compared->run.rows[found.rows[i]].any_side();
      const std::string name = side.operator_name + "." + side.slot;
      for (const bool is_target : {true, false}) {
        const dump::Entry* entry = is_target ? planned.target : planned.golden;
        if (entry == nullptr || (!is_target && planned.golden_is_own)) continue;
        auto tensor = replay::load({is_target ? &state.target : &state.golden, entry});
        if (!tensor) continue;
        bytes += std::ssize(tensor->bytes);
        if (bytes > kMostTensorBytes) {
          ++too_large;
          continue;
        }
        bundle_.files.add(is_target ? "tensors/target" : "tensors/golden", name, *tensor);
        ++tensors;
      }
    }
    bundle_.contents.push_back(
        fmt::format("tensors/ ({}): {} of {}, on both sides",
                    report::bytes_text(static_cast<double>(std::min(bytes, kMostTensorBytes))),
                    report::counted(static_cast<size_t>(tensors), "tensor"), accused.op));
    if (weights > 0)
      bundle_.contents.push_back(
          fmt::format("left out: {}", report::counted(static_cast<size_t>(weights), "weight")));
    if (too_large > 0)
      bundle_.contents.push_back(
          fmt::format("left out: {} beyond 256 MiB",
                      report::counted(static_cast<size_t>(too_large), "tensor")));
  }

  const Walk& walk_;
  const BundleOptions& options_;
  RunContext& context_;
  const ShortPaths short_;
  Bundle bundle_;
};

}  // namespace

ShortPaths::ShortPaths(const Walk& walk) {
  std::error_code ignored;
  const auto name_of = [](fs::path path) {
    if (!path.has_filename()) path = path.parent_path();
    return path.filename().string();
  };
  for (const auto& [key, answer] : walk.answers.all()) {
    const Question* question = question_by_key(key);
    if (question == nullptr || question->kind != AnswerKind::kPath || answer == kUnknownAnswer)
      continue;
    const fs::path path(answer);
    if (path.is_absolute() || answer.starts_with("..")) add(answer, name_of(path));
    add(fs::absolute(path, ignored).lexically_normal().string(), name_of(path));
    add(fs::weakly_canonical(path, ignored).string(), name_of(path));
  }
  if (walk.scratch) add(walk.scratch->path().string(), "kept");
  add(fs::current_path(ignored).string(), ".");
  if (const char* home = std::getenv("HOME")) add(home, "~");
  std::stable_sort(names_.begin(), names_.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

void ShortPaths::add(const std::string& path, const std::string& name) {
  constexpr size_t kShortest = 4;  // "/" and the like are nobody's own
  std::string plain = path;
  while (plain.ends_with('/')) plain.pop_back();
  if (plain.size() < kShortest) return;
  names_.emplace_back(plain, name);
  // As it stands in JSON and TOML.
  std::string json;
  append_json_text(json, plain);
  json = json.substr(1, json.size() - 2);
  if (json != plain) names_.emplace_back(json, name);
}

std::string ShortPaths::shortened(std::string text) const {
  // "/home/ada" is not in "/home/adam".
  const auto goes_on = [&](size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                                std::string_view("_-").find(text[at]) != std::string_view::npos);
  };
  for (const auto& [path, name] : names_)
    for (size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
      if ((at > 0 && goes_on(at - 1)) || goes_on(at + path.size())) {
        at += path.size();
        continue;
      }
      text.replace(at, path.size(), name);
      at += name.size();
    }
  return text;
}

Result<Bundle> make_bundle(const Walk& walk, const BundleOptions& options, RunContext& context) {
  return Maker(walk, options, context).make();
}

}  // namespace plumb::guide
