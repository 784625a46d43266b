// SPDX-License-Identifier: Apache-2.0
//
// The JSON form of an environment, written and read; docs/env.md describes it as plumb.env/1.
#include "base/json_values.h"
#include "base/mapped_file.h"
#include "scan/env.h"

namespace plumb::scan {
namespace {

constexpr std::string_view kSchema = "plumb.env/1";
constexpr size_t kMostEnvFileBytes = size_t{16} << 20;

Json fit_json(const EnvFit& fit) {
  return {{"first", fit.first},
          {"second", fit.second},
          {"first_version", fit.first_version},
          {"second_version", fit.second_version},
          {"first_names_second", optional_json(fit.first_names_second)},
          {"second_names_first", optional_json(fit.second_names_first)},
          {"verdict", name_of(fit.verdict)},
          {"message", fit.message}};
}

Json fits_json(const std::vector<EnvFit>& fits) {
  Json json = Json::array();
  for (const EnvFit& fit : fits) json.push_back(fit_json(fit));
  return json;
}

// What is missing or of another type is left empty.
std::string text(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::map<std::string, std::string> texts(const Json& json, const char* key) {
  std::map<std::string, std::string> values;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return values;
  for (const auto& [name, value] : found->items())
    if (value.is_string()) values[name] = value.get<std::string>();
  return values;
}

template <class Use>
void each(const Json& json, const char* key, Use use) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_array())
    for (const Json& item : *found) use(item);
}

}  // namespace

std::string to_json(const Environment& environment) {
  Json packages = Json::array(), engines = Json::array();
  for (const EnvPackage& package : environment.packages)
    packages.push_back({{"role", package.role},
                        {"path", package.path},
                        {"active", package.is_active},
                        {"version", package.version()},
                        {"values", package.values}});
  for (const EnvEngine& engine : environment.engines)
    engines.push_back({{"name", engine.name}, {"version", engine.version}});
  return text_of_json({{"schema", kSchema},
                       {"tool", tool_json()},
                       {"root", environment.root},
                       {"packages", std::move(packages)},
                       {"fits", fits_json(fits_of(environment))},
                       {"npu_smi", environment.device_tool},
                       {"devices", environment.devices},
                       {"engines", std::move(engines)},
                       {"machine", environment.machine},
                       {"variables", environment.variables},
                       {"warnings", environment.warnings}});
}

Result<Environment> environment_from_json(std::string_view document) {
  const Json json = parse_json(document);
  if (!json.is_object() || text(json, "schema") != kSchema)
    return Error{"this is no environment", "it has no schema plumb.env/1",
                 "write one with plumb env -o FILE.json"};
  Environment environment;
  environment.root = text(json, "root");
  environment.device_tool = text(json, "npu_smi");
  environment.machine = texts(json, "machine");
  environment.variables = texts(json, "variables");
  each(json, "packages", [&](const Json& item) {
    if (!item.is_object()) return;
    EnvPackage& package = environment.packages.emplace_back();
    package.role = text(item, "role");
    package.path = text(item, "path");
    package.values = texts(item, "values");
    const auto active = item.find("active");
    package.is_active = active == item.end() || !active->is_boolean() || active->get<bool>();
  });
  each(json, "engines", [&](const Json& item) {
    if (item.is_object())
      environment.engines.push_back({text(item, "name"), text(item, "version")});
  });
  each(json, "devices", [&](const Json& item) {
    if (item.is_string()) environment.devices.push_back(item.get<std::string>());
  });
  each(json, "warnings", [&](const Json& item) {
    if (item.is_string()) environment.warnings.push_back(item.get<std::string>());
  });
  return environment;
}

Result<Environment> load_environment(const std::filesystem::path& path) {
  auto file = MappedFile::open(path.string());
  if (!file) return file.error();
  if (file->bytes().size() > kMostEnvFileBytes)
    return Error{"this is no environment", path.string() + ": it is too large",
                 "write one with plumb env -o FILE.json"};
  auto environment = environment_from_json(as_text(file->bytes()));
  if (!environment) return std::move(environment.error()).in(path.string());
  return environment;
}

std::string to_json(const EnvDiff& diff) {
  Json changes = Json::array();
  for (const EnvChange& change : diff.changes)
    changes.push_back(
        {{"what", change.what}, {"target", change.target}, {"golden", change.golden}});
  return text_of_json({{"schema", "plumb.env.diff/1"},
                       {"tool", tool_json()},
                       {"verdict", diff.is_same() ? "same" : "different"},
                       {"changes", std::move(changes)},
                       {"fits", fits_json(diff.fits)}});
}

}  // namespace plumb::scan
