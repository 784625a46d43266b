// SPDX-License-Identifier: Apache-2.0
//
// What accuracy depends on at a machine: toolkit, driver and firmware as their files tell, engines,
// processor, variables. Two of them compared explain an upgrade. The files of the Ascend software
// are lines "key=value": version.info, version.cfg and *_install.info.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"
#include "plumb/run_context.h"

namespace plumb::scan {

// One such file.
struct EnvPackage {
  std::string role;  // "driver", "firmware", "toolkit", "nnrt", "ops", "versions" (version.cfg),
                     // else the directory: "compiler", "opp", "runtime"
  std::string path;  // relative to the root
  bool is_active = true;  // false: beside it another version is the one that "latest" or "cann"
                          // leads to
  std::map<std::string, std::string> values;

  std::string value(std::string_view key) const;  // whatever the case of the key; empty: none
  std::string version() const;
};

struct EnvEngine {
  std::string name, version;  // version empty: it cannot be used
};

struct Environment {
  std::string root;  // where packages were looked for; empty: nowhere
  std::vector<EnvPackage> packages;
  std::vector<std::string> devices;  // lines of `npu-smi info` that name one
  std::string device_tool;           // its version, as that command prints it
  std::vector<EnvEngine> engines;
  // Processor, architecture, its instructions that change sums, kernel, distribution.
  std::map<std::string, std::string> machine;
  std::map<std::string, std::string> variables;  // of the environment, those that touch numbers
  std::vector<std::string> warnings;

  const EnvPackage* active(std::string_view role) const;  // null: there is none
};

// "key=value" or "key : value" lines; comments and what is neither are left out.
std::map<std::string, std::string> read_env_lines(std::string_view text);

// Packages below a directory, by path. Bounded: what lies deeper or is larger than such files are
// is not looked at.
std::vector<EnvPackage> find_packages(const std::filesystem::path& root,
                                      std::vector<std::string>& warnings);

// What `npu-smi info` prints: its version, and the devices that it names.
void add_devices(std::string_view text, Environment& out);

struct EnvRequest {
  std::filesystem::path root;  // empty: this machine's own; else only packages are looked for
};
// Without engines, which whoever can load them adds.
Environment look_around(const EnvRequest& request, const RunContext& context);

// Whether two packages name each other in their lists of what they work with.
struct EnvFit {
  enum class Verdict : uint8_t { kFits, kDoesNotFit, kUnknown };
  std::string first, second;  // roles
  std::string first_version, second_version;
  std::optional<bool> first_names_second, second_names_first;  // nullopt: no list, or no version
  Verdict verdict = Verdict::kUnknown;
  std::string message;
};
std::string_view name_of(EnvFit::Verdict verdict);  // "fits", "does_not_fit", "unknown"
std::vector<EnvFit> fits_of(const Environment& environment);

// True if a list as "[V100R001C15],[7.0.0,7.7.99],[24.1,24.1.]" names a version.
bool names_version(std::string_view list, std::string_view version);

struct EnvChange {
  std::string what;            // "driver.Version", "engine.onnxruntime", "variable.OMP_NUM_THREADS"
  std::string target, golden;  // empty: not there
};
struct EnvDiff {
  std::vector<EnvChange> changes;  // what matters most first: driver, firmware, toolkit
  std::vector<EnvFit> fits;        // of the target
  bool is_same() const { return changes.empty(); }
};
EnvDiff compare_environments(const Environment& target, const Environment& golden);

// schema plumb.env/1, and of a comparison plumb.env.diff/1.
std::string to_json(const Environment& environment);
Result<Environment> environment_from_json(std::string_view text);
Result<Environment> load_environment(const std::filesystem::path& file);
std::string to_json(const EnvDiff& diff);

}  // namespace plumb::scan
