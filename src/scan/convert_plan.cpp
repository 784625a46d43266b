// SPDX-License-Identifier: Apache-2.0
#include "scan/convert_plan.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/nearest.h"
#include "base/safe_file_name.h"
#include "base/uuid.h"
#include "dump/names.h"
#include "io/ascend_overflow.h"

namespace plumb::scan {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 255;

// Dumps keep their whole name (its last field is a time, not an extension); others lose the ending.
std::string base_name(const fs::path& file) {
  static const std::set<std::string> kEndings{".npy",  ".npz",         ".bin",  ".pt",
                                              ".pth",  ".safetensors", ".pb",   ".h5",
                                              ".hdf5", ".raw",         ".quant"};
  return kEndings.contains(file.extension().string()) ? file.stem().string()
                                                      : file.filename().string();
}

// Slices of an operator are listed as one, with the inputs of the first slice; here every file
// counts.
void add_inputs_of_slice(const dump::Entry& sliced, const Request& request, ConvertJob& job) {
  auto opened = dump::open_part(*job.set, job.file, request.hints);
  if (!opened) return;  // reported when its turn comes
  dump::Entry input = sliced;
  for (const TensorInfo& info : opened->listing.tensors) {
    input.slot = dump::slot_from_tensor_name(info.name);
    const auto known = [&](const ConvertItem& item) { return item.tensor == info.name; };
    if (input.slot.kind == dump::SlotKind::kInput && request.selection.wants(input) &&
        std::none_of(job.items.begin(), job.items.end(), known))
      job.items.push_back({info.name, {}, {}});
  }
}

void name_outputs(ConvertJob& job, const ConvertTarget& target, OutputNames& names) {
  const std::string stem = base_name(job.source());
  const fs::path directory = fs::path(job.file.file).parent_path();
  const bool is_archive = target.is_archive && !job.is_overflow;
  const fs::path archive = is_archive ? names.give(directory, stem, target.extension) : "";
  for (ConvertItem& item : job.items) {
    std::string_view key = item.tensor;
    while (key.starts_with('/')) key.remove_prefix(1);
    item.key = key.empty() ? "data" : std::string(key);
    const bool scratch = key.starts_with("l1buffer.") || key.starts_with("space.");
    const std::string extension = scratch ? ".bin" : job.is_overflow ? ".json" : target.extension;
    const std::string own = key.empty() ? stem : stem + "." + safe_file_name(key, ".");
    item.output = is_archive && !scratch ? archive : names.give(directory, own, extension);
  }
}

}  // namespace

Result<ConvertTarget> target_from(const std::string& name) {
  if (name == "npy") return ConvertTarget{io::format_by_name("npy"), ".npy", false};
  if (name == "bin") return ConvertTarget{io::format_by_name("raw"), ".bin", false};
  if (name == "npz") return ConvertTarget{io::format_by_name("npz"), ".npz", true};
  if (name == "safetensors")
    return ConvertTarget{io::format_by_name("safetensors"), ".safetensors", true};
  const std::vector<std::string> names{"npy", "npz", "bin", "safetensors"};
  return Error{"cannot write '" + name + "'", "--format " + name,
               did_you_mean(name, names) + "npy, npz, bin and safetensors can be written"};
}

Result<ConvertOrder> order_from(const std::string& layout) {
  ConvertOrder wanted;
  if (layout == "plain") return wanted;
  if (layout == "stored") {
    wanted.order.stored = true;
    return wanted;
  }
  const auto known = layout_from_name(layout);
  if (!known) {
    auto names = layout_names();
    names.insert(names.end(), {"plain", "stored"});
    return Error{"unknown layout '" + layout + "'", "--layout " + layout,
                 did_you_mean(layout, names) + "`plumb formats` lists the layouts"};
  }
  if (is_plain(*known))
    wanted.order.axes = layout;
  else
    wanted.device = known;
  return wanted;
}

fs::path OutputNames::give(const fs::path& directory, const std::string& stem,
                           const std::string& extension) {
  for (int i = 0;; ++i) {
    const std::string full = i == 0 ? stem + extension : fmt::format("{}_{}{}", stem, i, extension);
    const bool is_long = full.size() >= kLongestName;
    const std::string name = is_long ? uuid3_hex(full) + extension : full;
    if (!taken_.insert(directory / name).second) continue;
    if (is_long) mapping_[directory] += name + "," + full + "\n";
    return directory / name;
  }
}

Result<void> OutputNames::write_mappings(const fs::path& output) const {
  for (const auto& [directory, lines] : mapping_) {
    const fs::path path = output / directory / "mapping.csv";
    std::string text;
    if (std::ifstream old(path, std::ios::binary); old)
      text.assign(std::istreambuf_iterator<char>(old), {});
    if (text.find(lines) != std::string::npos) continue;
    if (auto done = write_file(path, text + lines); !done) return done;
  }
  return {};
}

std::vector<ConvertJob> plan_jobs(const dump::DumpSet& set, const Request& request,
                                  const ConvertTarget& target, OutputNames& names) {
  std::vector<ConvertJob> jobs;
  std::map<std::string, size_t> job_of;
  for (const dump::Entry& entry : set.entries) {
    if (!request.selection.wants(entry)) continue;
    for (const dump::TensorRef& part : entry.parts) {
      const auto [at, is_new] = job_of.try_emplace(part.file, jobs.size());
      if (is_new) jobs.push_back({&set, part, entry.operator_name == io::kOverflowOperator, {}});
      jobs[at->second].items.push_back({part.tensor.str(), {}, {}});
    }
  }
  for (const dump::Entry& entry : set.entries)
    for (size_t i = 1; i < entry.parts.size(); ++i)
      if (const auto job = job_of.find(entry.parts[i].file); job != job_of.end())
        add_inputs_of_slice(entry, request, jobs[job->second]);
  for (ConvertJob& job : jobs) name_outputs(job, target, names);
  return jobs;
}

}  // namespace plumb::scan
