// SPDX-License-Identifier: Apache-2.0
#include "scan/inspect.h"

#include <algorithm>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "base/threads.h"

namespace plumb::scan {
namespace {

// Slices count as the one tensor they are parts of.
Result<void> add_slices(const dump::DumpSet& set, const dump::Entry& entry,
                        const io::ReadHints& hints, TensorInfo& info) {
  const size_t axis = entry.parts.join_axis;
  for (size_t i = 1; i < entry.parts.size(); ++i) {
    auto file = dump::open_part(set, entry.parts[i], hints);
    if (!file) return file.error();
    auto part = dump::find_tensor(*file, entry.parts[i].tensor);
    if (!part) return part.error();
    if (axis < info.shape.size() && axis < (*part)->shape.size())
      info.shape[axis] += (*part)->shape[axis];
    info.size_bytes += (*part)->size_bytes;
  }
  return {};
}

void read_header(const dump::DumpSet& set, const io::ReadHints& hints, InspectedTensor& tensor) {
  const dump::Entry& entry = *tensor.entry;
  if (entry.info) tensor.info = *entry.info;
  if (!tensor.info && !entry.parts.empty()) {
    const dump::TensorRef& ref = entry.parts.front();
    auto file = dump::open_part(set, ref, hints);
    auto info =
        file ? dump::find_tensor(*file, ref.tensor) : Result<const TensorInfo*>(file.error());
    if (!info) {
      tensor.error = info.error();
      return;
    }
    tensor.info = **info;
  }
  if (!tensor.info) return;
  if (auto joined = add_slices(set, entry, hints, *tensor.info); !joined)
    tensor.error = joined.error();
  if (!tensor.info->error) return;
  tensor.error = std::move(*tensor.info->error).in(set.absolute(entry.parts.front().file));
  // An archive's member whose header cannot be read is a name and a problem, nothing else.
  if (tensor.info->size_bytes == 0 && tensor.info->shape.empty()) tensor.info.reset();
}

// Puts the tensor's name behind the file's, where the error is about one tensor of several.
Error name_tensor(Error error, const dump::DumpSet& set, const dump::Entry& entry) {
  const dump::TensorRef& part = entry.parts.front();
  const std::string file = set.absolute(part.file) + ", ";
  const std::string tensor = fmt::format("tensor '{}'", part.tensor);
  if (part.tensor.empty() || !error.where.starts_with(file)) return error;
  error.where.erase(0, file.size());
  if (!error.where.starts_with(tensor)) error = std::move(error).in(tensor);
  error.where.insert(0, file);
  return error;
}

// Nothing of the set is listed: because of the selection, or because there is nothing.
Result<void> check_found(const std::string& path, const Inspection& inspection,
                         const dump::Selection& selection) {
  const auto& skipped = inspection.set->skipped;
  if (!inspection.tensors.empty()) return {};
  const dump::DumpSet* const sets[] = {inspection.set.get()};
  if (auto known = selection.check(sets); !known) return known;
  if (!inspection.set->entries.empty())
    return Error{"no tensor matches", path,
                 "check --op, --slot, --step and --rank; without them `plumb inspect` shows all"};
  if (std::any_of(skipped.begin(), skipped.end(), [](const auto& s) { return s.error; })) return {};
  const std::string left_out =
      skipped.empty()
          ? ""
          : fmt::format(": {} file{} left out, the first is {} ({})", skipped.size(),
                        skipped.size() == 1 ? "" : "s", skipped[0].file, skipped[0].reason);
  return Error{"there is no tensor in it", path + left_out,
               "`plumb formats` lists what can be read; raw data needs --dtype and --shape"};
}

}  // namespace

const Shape* InspectedTensor::shape() const {
  if (measured) return &measured->shape;
  if (info) return info->logical_shape ? &*info->logical_shape : &info->shape;
  return entry->recorded_shape() ? &*entry->recorded_shape() : nullptr;
}

std::string InspectedTensor::dtype() const {
  return info ? dtype_text(*info) : entry->dtype_text();
}

int64_t InspectedTensor::stored_bytes() const {
  return info ? static_cast<int64_t>(info->size_bytes) : 0;
}

int64_t Inspection::stored_bytes() const {
  int64_t bytes = 0;
  for (const InspectedTensor& tensor : tensors) bytes += tensor.stored_bytes();
  return bytes;
}

size_t Inspection::damaged() const {
  size_t damaged = 0;
  for (const InspectedTensor& tensor : tensors) damaged += tensor.error.has_value();
  for (const dump::Skipped& skipped : set->skipped) damaged += skipped.error.has_value();
  return damaged;
}

Result<Inspection> inspect(const std::string& path, const Request& request,
                           const RunContext& context) {
  return on_threads_of(context, [&]() -> Result<Inspection> {
    auto set = dump::open_dump(path, request.hints, request.convention);
    if (!set) return set.error();
    Inspection found{std::make_unique<dump::DumpSet>(std::move(*set)), {}};
    for (const dump::Entry& entry : found.set->entries)
      if (request.selection.wants(entry)) found.tensors.emplace_back().entry = &entry;
    if (auto any = check_found(path, found, request.selection); !any) return any.error();
    tbb::parallel_for(size_t{0}, found.tensors.size(), [&](size_t i) {
      if (!context.cancelled) read_header(*found.set, request.hints, found.tensors[i]);
    });
    return found;
  });
}

void measure(Inspection& inspection, const io::ReadHints& hints, const RunContext& context) {
  on_threads_of(context, [&] {
    tbb::parallel_for(size_t{0}, inspection.tensors.size(), [&](size_t i) {
      InspectedTensor& tensor = inspection.tensors[i];
      if (tensor.error || tensor.entry->parts.empty() || context.cancelled) return;
      auto measured = measure(*inspection.set, *tensor.entry, hints, context);
      if (measured)
        tensor.measured = std::move(*measured);
      else
        tensor.error = name_tensor(measured.error(), *inspection.set, *tensor.entry);
    });
  });
}

}  // namespace plumb::scan
