// SPDX-License-Identifier: Apache-2.0
//
// `plumb env`: what accuracy depends on at this machine; two of them compared.
#include "scan/env.h"

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/command.h"
#include "cli/output_check.h"
#include "guide/environment_here.h"
#include "report/environment_text.h"
#include "report/text.h"

namespace plumb::cli {
namespace {

using report::printable;
using scan::Environment;

struct EnvOptions {
  std::vector<std::string> paths;
  std::string out, root;
  bool no_engines = false;
};

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
  if (request.out != "-") fmt::print("{}", report::environment_diff_text(diff));
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
  if (request.out != "-") fmt::print("{}", report::environment_text(environment));
  return save(request.out, to_json(environment));
}

}  // namespace plumb::cli
