// SPDX-License-Identifier: Apache-2.0
//
// `plumb env`: what accuracy depends on at this machine; two of them compared.
#include "scan/env.h"

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "guide/environment_here.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

using report::counted;
using report::printable;
using scan::Environment;

struct EnvOptions {
  std::vector<std::string> paths;
  std::string out, root;
  bool no_engines = false;
};

void print_fits(const std::vector<scan::EnvFit>& fits) {
  for (const scan::EnvFit& fit : fits) fmt::print("{}\n", printable(fit.message));
}

void print_environment(const Environment& environment) {
  if (environment.packages.empty())
    fmt::print("no Ascend software{}\n",
               environment.root.empty() ? "" : " below " + printable(environment.root));
  for (const scan::EnvPackage& package : environment.packages)
    fmt::print("{:<12} {:<24} {}{}\n", printable(package.role), printable(package.version()),
               printable(package.path), package.is_active ? "" : " (not the one in use)");
  print_fits(scan::fits_of(environment));
  for (const std::string& device : environment.devices)
    fmt::print("{:<12} {}\n", "device", printable(device));
  for (const scan::EnvEngine& engine : environment.engines)
    fmt::print("{:<12} {}\n", engine.name,
               engine.version.empty() ? "not installed" : printable(engine.version));
  for (const auto& [key, value] : environment.machine)
    fmt::print("{:<12} {}\n", printable(key), printable(value));
  for (const auto& [key, value] : environment.variables)
    fmt::print("{}={}\n", printable(key), printable(value));
}

void print_difference(const scan::EnvDiff& diff) {
  for (const scan::EnvChange& change : diff.changes) {
    const auto text = [](const std::string& value) {
      return value.empty() ? std::string("not there") : printable(value);
    };
    fmt::print("{}: {} instead of {}\n", printable(change.what), text(change.target),
               text(change.golden));
  }
  print_fits(diff.fits);
  fmt::print("{}\n",
             diff.is_same() ? "the same environment" : counted(diff.changes.size(), "change"));
}

int save(const std::string& path, const std::string& text) {
  if (path.empty()) return kAgreement;
  if (path == "-") {
    fmt::print("{}", text);
    return kAgreement;
  }
  if (auto written = write_file(path, text); !written) return fail_with(written.error());
  return kAgreement;
}

int compare(const EnvOptions& request) {
  const auto target = scan::load_environment(request.paths[0]);
  if (!target) return fail_with(target.error());
  const auto golden = scan::load_environment(request.paths[1]);
  if (!golden) return fail_with(golden.error());
  const scan::EnvDiff diff = scan::compare_environments(*target, *golden);
  if (request.out != "-") print_difference(diff);
  if (const int status = save(request.out, to_json(diff)); status != kAgreement) return status;
  return diff.is_same() ? kAgreement : kDifference;
}

}  // namespace

int run_env(int argc, char** argv, RunContext& context) {
  Options options("env",
                  "Tell what accuracy depends on at this machine: toolkit, driver, firmware,\n"
                  "engines, processor. Of two saved ones: what changed, and whether it fits.",
                  "examples\n"
                  "  plumb env -o before.json\n"
                  "  plumb env after.json before.json\n"
                  "  plumb env --root copied/usr/local/Ascend -o board.json\n"
                  "exit status: 0 told, or the same; 1 two of them differ; 2 something is "
                  "unreadable");
  EnvOptions request;
  options.arguments("TARGET.json GOLDEN.json", request.paths,
                    "two files that -o wrote, to compare; none: look at this\nmachine", false);
  options.text("--root", "DIR", request.root,
               "look at a copy of an Ascend directory instead (default:\n/usr/local/Ascend and "
               "$ASCEND_HOME_PATH)");
  options.flag("--no-engines", request.no_engines, "do not load engines to ask their version");
  options.text("-o,--json", "FILE", request.out, "write it as JSON; - for stdout");
  if (auto status = options.parse(argc, argv)) return *status;
  if (!request.paths.empty() && request.paths.size() != 2)
    return fail_with({"two environments are compared",
                      fmt::format("{} given", request.paths.size()),
                      "plumb env after.json before.json"});
  const NamedPath outputs[] = {{"-o", request.out == "-" ? "" : request.out}};
  const NamedPath inputs[] = {{"TARGET", request.paths.empty() ? "" : request.paths[0]},
                              {"GOLDEN", request.paths.empty() ? "" : request.paths[1]}};
  if (auto fine = check_outputs(outputs, inputs); !fine) return fail_with(fine.error());
  if (!request.paths.empty()) return compare(request);
  std::error_code code;
  if (!request.root.empty() && !std::filesystem::is_directory(request.root, code))
    return fail_with({"there is no such directory", "--root " + request.root,
                      "name a copy of /usr/local/Ascend"});
  Environment environment = scan::look_around({request.root}, context);
  if (request.root.empty() && !request.no_engines) guide::add_engines(environment);
  for (const std::string& warning : environment.warnings) print_warning(printable(warning));
  if (request.out != "-") print_environment(environment);
  return save(request.out, to_json(environment));
}

}  // namespace plumb::cli
