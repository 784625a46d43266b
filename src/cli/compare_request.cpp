// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_request.h"

#include <fmt/format.h>

#include "compare/shards.h"
#include "judge/profile.h"
#include "metrics/metric.h"
#include "pair/scenario.h"

namespace plumb::cli {
namespace {

std::vector<std::string> metric_words() {
  std::vector<std::string> words = names_in(metrics::metrics());
  words.emplace_back("all");
  return words;
}

}  // namespace

void CompareRequest::declare(Options& options) {
  options.arguments("TARGET GOLDEN", paths,
                    "dump of the converted model, the side being checked,\n"
                    "and dump of the reference model: directories or files");
  selecting.declare(options);
  options.group("pairing");
  options.text(
      "--graph", "FILE", spec.target.graph,
      "graph of the converted model; tells which original\noperators were fused: .om, json "
      "of atc, GE text, ONNX");
  options.text("--golden-graph", "FILE", spec.golden.graph,
               "graph of the golden side, e.g. converted without fusion");
  options.text("--quant", "FILE", spec.quant, "json that the quantization tool (AMCT) wrote");
  options.text("--mode", "NAME", spec.mode, "kind of comparison, if it is not told rightly");
  options.suggest([] { return names_in(pair::scenarios()); });
  options.text("--map", "FILE", spec.name_map,
               "pairs that only you know: CSV of target,golden or TOML");
  options.text("--save-map", "FILE", save_map, "write the pairs as such a CSV");
  options.flag("--plan", plan, "show the pairs, compare nothing");
  options.text("--explain", "OPERATOR", explain, "how its tensors were paired, compare nothing");
  options.group("judging");
  options.text("--profile", "NAME", spec.profile,
               "limits that decide pass or fail: a name of\n`plumb profiles` or a .toml file "
               "(default: standard)");
  options.suggest([] { return names_in(judge::built_in_profiles()); });
  tolerance.declare(options);
  options.text("--precision", "TYPE", spec.precision,
               "what the target computes in, if that is coarser than it\nstores: tf32, float16 or "
               "bfloat16");
  options.suggest([] { return std::vector<std::string>{"tf32", "float16", "bfloat16"}; });
  options.text("--rules", "FILE", spec.rules, "limits by operator, an ordered list (TOML)");
  options.text("--floor", "DIR", spec.floor, "a second golden run; its noise sets the limits");
  options.texts("--metrics", "LIST", spec.metrics,
                "numbers to compute: names or 'all' (see `plumb\nmetrics`; default: all that one "
                "pass gives)");
  options.suggest(metric_words);
  options.flag("--details", spec.details,
               "keep histograms, errors by channel, heat maps and worst\nelements in the result "
               "(always if a page is written)");
  options.flag("--checksum", spec.checksum, "compare CRC-32 only: equal or not");
  options.texts("--allow", "WHAT", allowed, "'inconclusive' or 'missing' rows are no failure");
  options.suggest([] { return std::vector<std::string>{"inconclusive", "missing"}; });
  options.text("--baseline", "FILE", spec.baseline,
               "an earlier result (.json): no output may be worse");
  options.flag("--no-diagnose", no_diagnose, "do not look for causes");
  circumstances.declare(options);
  view.declare(options);
  options.group("many machines (docs/cluster.md)");
  options.text("--shard", "K/N", shard,
               "compare the K-th of N shares; -o part-K.json, then\n`plumb merge`");
  options.text("--journal", "FILE", journal,
               "keep finished rows there: the same command goes on\nwhere it stopped");
  options.text("--plan-file", "FILE", plan_file,
               "keep what listing the dumps found there, for all shares\nand runs of the same "
               "comparison");
  output.declare(options);
  common.declare(options);
}

namespace {

// The baseline is an input, too: a worse result would be the baseline of the next run.
Result<void> check_compare_outputs(const CompareRequest& request) {
  const Spec& spec = request.spec;
  std::vector<NamedPath> outputs = request.output.paths();
  outputs.push_back({"--save-map", request.save_map});
  outputs.push_back({"--journal", request.journal});
  outputs.push_back({"--plan-file", request.plan_file});
  std::vector<NamedPath> inputs = {
      {"TARGET", request.paths[0]},   {"GOLDEN", request.paths[1]},
      {"--graph", spec.target.graph}, {"--golden-graph", spec.golden.graph},
      {"--quant", spec.quant},        {"--map", spec.name_map},
      {"--profile", spec.profile},    {"--rules", spec.rules},
      {"--floor", spec.floor},        {"--baseline", spec.baseline}};
  for (NamedPath& path : request.circumstances.paths()) inputs.push_back(std::move(path));
  return cli::check_outputs(outputs, inputs);
}

// A share of the rows is no result: nothing can be shown of it.
Result<void> check_shard(const CompareRequest& request) {
  if (request.shard.empty()) return {};
  if (auto shard = compare::shard_from_text(request.shard); !shard) return shard.error();
  const std::string where = "--shard " + request.shard;
  const OutputOptions& output = request.output;
  const size_t files = output.outputs.size() + (output.json.empty() ? 0 : 1);
  if (files != 1 || result_file(output).empty())
    return Error{"a share of a comparison is written to one .json file, and nothing else is",
                 fmt::format("{}, {} outputs", where, files),
                 "name the part, e.g. -o part-1.json; `plumb merge` writes everything else"};
  if (request.view.is_wanted() || request.plan || !request.explain.empty())
    return Error{"a share of a comparison has no elements or plan to show",
                 where + " with --top, --axis, --save-diff, --plan or --explain",
                 "leave one of them out"};
  return {};
}

// What can be said of a request before anything is read.
Result<void> check_compare_request(const CompareRequest& request) {
  const Spec& spec = request.spec;
  if (request.paths.size() != 2)
    return wrong_paths("two paths are", request.paths, "plumb compare",
                       "name the target and the golden side");
  if (!spec.rules.empty() && !spec.profile.empty())
    return Error{"a rule file names its own profiles", "--profile with --rules",
                 "write profile = \"" + spec.profile + "\" into its last rule"};
  if (auto allowed = judge::allowance_from(request.allowed); !allowed) return allowed.error();
  if (auto checked = request.output.check(); !checked) return checked;
  if (spec.checksum &&
      (!spec.profile.empty() || !spec.rules.empty() || !spec.floor.empty() ||
       !spec.metrics.empty() || spec.atol || spec.rtol || request.view.is_wanted()))
    return Error{
        "checksums know no limits, metrics or elements",
        "--checksum with --profile, --atol, --rtol, --rules, --floor, --metrics, --top, --axis or "
        "--save-diff",
        "use --checksum alone, or --profile exact"};
  if (spec.checksum && !spec.baseline.empty())
    return Error{"checksums do not tell better from worse", "--checksum with --baseline",
                 "leave one of them out"};
  if (spec.checksum && !spec.precision.empty())
    return Error{"checksums know no precision", "--checksum with --precision",
                 "leave one of them out"};
  if (auto checked = request.view.check(); !checked) return checked;
  if (auto checked = check_shard(request); !checked) return checked;
  return check_compare_outputs(request);
}

}  // namespace

Result<void> CompareRequest::complete() {
  allowed = split_lists(allowed);
  spec.metrics = split_lists(spec.metrics);
  if (auto set = tolerance.set(spec.atol, spec.rtol); !set) return set;
  if (auto checked = check_compare_request(*this); !checked) return checked;
  spec.target.path = paths[0];
  spec.golden.path = paths[1];
  spec.selection = selecting.selection;
  spec.hints = selecting.words;
  spec.convention = selecting.convention;
  spec.details |= output.have_page();
  return {};
}

}  // namespace plumb::cli
