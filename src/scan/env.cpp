// SPDX-License-Identifier: Apache-2.0
#include "scan/env.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "base/mapped_file.h"
#include "base/run_command.h"
#include "base/temporary_directory.h"

namespace plumb::scan {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 5;                       // of directories
constexpr size_t kMostEntries = 50000;              // looked at
constexpr uintmax_t kMostVersionFileBytes = 65536;  // of such a file
constexpr size_t kMostLines = 1000;
constexpr size_t kMostValue = 1000;  // characters

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= 100 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == ' ' || c == '/';
         });
}

bool is_wanted(const std::string& name) {
  return name == "version.info" || name == "version.cfg" || name.ends_with("_install.info");
}

// Of what is installed, told by what it calls itself, else by where it is.
std::string role_of(const fs::path& relative, const std::map<std::string, std::string>& values) {
  const std::string file = relative.filename().string();
  if (file == "version.cfg") return "versions";
  if (const auto name = values.find("package_name"); name != values.end()) {
    const std::string package = lower(name->second);
    for (const std::string_view word : {"toolkit", "nnrt", "nnae", "kernels", "ops", "nnal"})
      if (package.find(word) != std::string::npos)
        return word == "kernels" ? "ops" : std::string(word);
  }
  if (file.ends_with("_install.info")) {
    std::string stem = file.substr(0, file.size() - std::string_view("_install.info").size());
    if (stem.starts_with("ascend_")) stem.erase(0, 7);
    return stem == "ascend" ? "install" : stem;
  }
  const std::string directory = relative.parent_path().filename().string();
  return directory.empty() ? "version" : directory;
}

Result<std::string> read_small(const fs::path& path) {
  std::error_code code;
  const uintmax_t size = fs::file_size(path, code);
  if (code || size > kMostVersionFileBytes)
    return Error{"not a file of versions", path.string(), "look at it by hand"};
  auto file = MappedFile::open(path.string(), false);
  if (!file) return file.error();
  return std::string(as_text(file->bytes()));
}

// Directories that "latest" or "cann" lead to, and those that links in "latest" do.
std::set<fs::path> active_directories(const fs::path& root) {
  std::set<fs::path> active;
  std::error_code code;
  const auto add = [&](const fs::path& path) {
    std::error_code failed;
    const fs::path real = fs::canonical(path, failed);
    if (!failed && fs::is_directory(real, failed)) active.insert(real);
  };
  const auto look = [&](const fs::path& directory) {
    for (const char* name : {"latest", "cann"}) {
      const fs::path link = directory / name;
      if (!fs::is_directory(link, code)) continue;
      add(link);
      size_t entries = 0;
      for (fs::directory_iterator at(link, code), end; !code && at != end && entries < 1000;
           at.increment(code), ++entries)
        if (at->is_symlink(code)) add(at->path());
    }
  };
  look(root);
  for (fs::directory_iterator at(root, code), end; !code && at != end; at.increment(code))
    if (std::error_code failed; at->is_directory(failed)) look(at->path());
  return active;
}

bool is_below(const fs::path& path, const fs::path& directory) {
  return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first ==
         directory.end();
}

// A directory named by a version, "8.2.RC1" or "cann-8.5.0": there may be several.
bool has_version_directory(const fs::path& relative) {
  return std::any_of(relative.begin(), relative.end(), [](const fs::path& part) {
    const std::string name = part.string();
    const size_t digit = name.starts_with("cann-") ? 5 : 0;
    return name.size() > digit + 2 && std::isdigit(static_cast<unsigned char>(name[digit])) &&
           name.find('.') != std::string::npos && name.find(".info") == std::string::npos;
  });
}

constexpr const char* kVariables[] = {
    "ASCEND_AICPU_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "ASCEND_HOME_PATH",
    "ASCEND_OPP_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ATB_MATMUL_SHUFFLE_K_ENABLE",
    "CUBLAS_WORKSPACE_CONFIG",
    "DNNL_MAX_CPU_ISA",
    "GLIBC_TUNABLES",
    "HCCL_DETERMINISTIC",
    "INF_NAN_MODE_ENABLE",
    "INF_NAN_MODE_FORCE_DISABLE",
    "LCCL_DETERMINISTIC",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "MS_ENABLE_GE",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
};

void read_machine(Environment& out) {
  utsname system{};
  if (uname(&system) == 0) {
    out.machine["architecture"] = system.machine;
    out.machine["kernel"] = fmt::format("{} {}", system.sysname, system.release);
  }
  std::ifstream cpu("/proc/cpuinfo");
  constexpr std::string_view kTelling[] = {"fma",      "avx2",     "avx512f",     "avx512_vnni",
                                           "avx_vnni", "amx_int8", "avx512_bf16", "asimddp",
                                           "i8mm",     "bf16",     "sve"};
  std::string line, features;
  for (size_t lines = 0; lines < kMostLines && std::getline(cpu, line); ++lines) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = trimmed(std::string_view(line).substr(0, colon)),
                           value = trimmed(std::string_view(line).substr(colon + 1));
    if (key == "model name" || key == "CPU part")
      out.machine.try_emplace("processor", std::string(value));
    if ((key != "flags" && key != "Features") || !features.empty()) continue;
    const std::string padded = fmt::format(" {} ", value);
    for (const std::string_view word : kTelling)
      if (padded.find(fmt::format(" {} ", word)) != std::string::npos)
        features += (features.empty() ? "" : " ") + std::string(word);
  }
  if (!features.empty()) out.machine["instructions"] = features;
  if (const auto text = read_small("/etc/os-release")) {
    const auto values = read_env_lines(*text);
    if (const auto name = values.find("PRETTY_NAME"); name != values.end())
      out.machine["distribution"] = name->second;
  }
  for (const char* name : kVariables)
    if (const char* value = std::getenv(name)) out.variables[name] = value;
}

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    std::error_code code;
    if (fs::is_regular_file(fs::path(rest.substr(0, end)) / program, code)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// The lines of devices: "| 0     910B4               | OK            | 86.0 ...". Powers and
// temperatures change all the time and are left out.
void ask_devices(Environment& out, const RunContext& context) {
  if (!is_on_path("npu-smi")) return;
  auto directory = TemporaryDirectory::make();
  if (!directory) return;
  const fs::path log = directory->path() / "npu-smi";
  const auto end = run_command("npu-smi info", log, std::chrono::seconds(20), context.cancelled);
  const auto text = read_small(log);
  if (!end || end->status != 0 || !text) {
    out.warnings.emplace_back("`npu-smi info` fails: driver and firmware may not fit");
    return;
  }
  add_devices(*text, out);
}

}  // namespace

void add_devices(std::string_view text, Environment& out) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const size_t at = line.find("Version:");
        at != std::string_view::npos && out.device_tool.empty()) {
      const std::string_view rest = trimmed(line.substr(at + 8));
      out.device_tool = std::string(rest.substr(0, rest.find_first_of(" |")));
    }
    if (!line.starts_with("| ")) continue;
    const std::string_view first =
        trimmed(line.substr(1, std::min(line.find('|', 1), line.size()) - 1));
    const size_t space = first.find(' ');
    const std::string_view number = first.substr(0, space);
    if (space == std::string_view::npos || number.empty() ||
        !std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); }))
      continue;
    const std::string_view name = trimmed(first.substr(space));
    const bool is_name =
        std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c); });
    if (is_name && out.devices.size() < kMostLines)
      out.devices.push_back(fmt::format("{} {}", number, name));
  }
}

std::string EnvPackage::value(std::string_view key) const {
  for (const auto& [name, text] : values)
    if (lower(name) == lower(key)) return text;
  return "";
}

std::string EnvPackage::version() const {
  if (role == "driver" || role == "firmware" || values.contains("package_name")) {
    const std::string text = value("version");
    return text.empty() ? value("package_version") : text;
  }
  if (role == "versions") return value("toolkit_running_version");
  return value("version");
}

const EnvPackage* Environment::active(std::string_view role) const {
  for (const EnvPackage& package : packages)
    if (package.role == role && package.is_active) return &package;
  return nullptr;
}

std::map<std::string, std::string> read_env_lines(std::string_view text) {
  std::map<std::string, std::string> values;
  for (size_t lines = 0; !text.empty() && lines < kMostLines; ++lines) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    size_t split = line.find('=');
    if (split == std::string_view::npos) split = line.find(':');
    if (split == std::string_view::npos) continue;
    const std::string_view key = trimmed(line.substr(0, split));
    std::string_view value = trimmed(line.substr(split + 1));
    if (value.size() > 1 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (is_key(key) && value.size() <= kMostValue)
      values.insert_or_assign(std::string(key), std::string(value));
  }
  return values;
}

std::vector<EnvPackage> find_packages(const fs::path& root, std::vector<std::string>& warnings) {
  std::vector<EnvPackage> packages;
  std::error_code code;
  const fs::path real = fs::canonical(root, code);
  if (code) return packages;
  const std::set<fs::path> active = active_directories(real);
  size_t entries = 0;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(real, kOptions, code), end; !code && at != end;
       at.increment(code)) {
    if (++entries > kMostEntries) {
      warnings.push_back(fmt::format("{}: more than {} entries; not all were looked at",
                                     root.string(), kMostEntries));
      break;
    }
    if (at.depth() >= kMostDepth) at.disable_recursion_pending();
    std::error_code failed;
    if (!is_wanted(at->path().filename().string()) || at->is_symlink(failed) ||
        !at->is_regular_file(failed))
      continue;
    const auto text = read_small(at->path());
    if (!text) {
      warnings.push_back(fmt::format("{}: {}", text.error().where, text.error().what));
      continue;
    }
    EnvPackage package;
    const fs::path relative = at->path().lexically_relative(real);
    package.path = relative.generic_string();
    package.values = read_env_lines(*text);
    package.role = role_of(relative, package.values);
    package.is_active = active.empty() || !has_version_directory(relative) ||
                        std::any_of(active.begin(), active.end(), [&](const fs::path& directory) {
                          return is_below(at->path(), directory);
                        });
    if (!package.values.empty()) packages.push_back(std::move(package));
  }
  std::sort(packages.begin(), packages.end(),
            [](const EnvPackage& a, const EnvPackage& b) { return a.path < b.path; });
  return packages;
}

Environment look_around(const EnvRequest& request, const RunContext& context) {
  Environment found;
  if (!request.root.empty()) {
    found.root = request.root.string();
    found.packages = find_packages(request.root, found.warnings);
    if (found.packages.empty())
      found.warnings.push_back(found.root + ": no file of versions below it");
    return found;
  }
  fs::path root = "/usr/local/Ascend";
  std::error_code code;
  if (const char* home = std::getenv("ASCEND_HOME_PATH");
      home != nullptr && !fs::exists(root, code))
    root = home;
  if (fs::exists(root, code)) {
    found.root = root.string();
    found.packages = find_packages(root, found.warnings);
  }
  // A toolkit of a user's own is the one that is used.
  if (const char* home = std::getenv("ASCEND_HOME_PATH"); home != nullptr && found.root != home) {
    const fs::path own = fs::canonical(home, code);
    if (!code && !is_below(own, fs::canonical(root, code))) {
      for (EnvPackage& package : found.packages)
        if (has_version_directory(package.path)) package.is_active = false;
      for (EnvPackage& package : find_packages(own, found.warnings)) {
        package.path = (own / package.path).string();
        found.packages.insert(found.packages.begin(), std::move(package));
      }
    }
  }
  read_machine(found);
  ask_devices(found, context);
  return found;
}

}  // namespace plumb::scan
