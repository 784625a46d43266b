// SPDX-License-Identifier: Apache-2.0
#include "cli/engine_options.h"

#include <charconv>

#include "base/checked.h"
#include "base/number_from_text.h"

namespace plumb::cli {
namespace {

// "512M", "8G", "1048576".
std::optional<uint64_t> bytes_from_text(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || value <= 0) return std::nullopt;
  const std::string_view unit(read.ptr, static_cast<size_t>(end - read.ptr));
  constexpr std::string_view kUnits[] = {"", "K", "M", "G", "T"};
  for (size_t i = 0; i < std::size(kUnits); ++i) {
    if (unit != kUnits[i]) continue;
    const auto bytes = checked_mul(value, int64_t{1} << (10 * i));
    return bytes ? std::optional(static_cast<uint64_t>(*bytes)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void EngineOptions::declare(Options& options) {
  options.text("--engine-memory", "SIZE", memory,
               "memory an engine may use, e.g. 8G (default: three\nquarters of the machine's)");
  options.text("--engine-timeout", "SECONDS", timeout,
               "time an engine may take for a sample (default: 600)");
}

Result<WorkerLimits> EngineOptions::limits(const RunContext& context) const {
  WorkerLimits limits;
  limits.cancelled = &context.cancelled;
  const auto seconds = number_from_text<decltype(limits.timeout_seconds)>(timeout);
  if (!seconds || *seconds == 0)
    return Error{"this is no number of seconds", "--engine-timeout " + timeout, "write e.g. 600"};
  limits.timeout_seconds = *seconds;
  if (memory.empty()) return limits;
  const auto bytes = bytes_from_text(memory);
  constexpr uint64_t kLeast = 64ull << 20;  // the engines' libraries themselves
  if (!bytes || *bytes < kLeast)
    return Error{"this is no amount of memory that an engine could work with",
                 "--engine-memory " + memory, "write e.g. 512M or 8G, at least 64M"};
  limits.memory_bytes = *bytes;
  return limits;
}

}  // namespace plumb::cli
