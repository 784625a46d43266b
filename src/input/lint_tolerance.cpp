// SPDX-License-Identifier: Apache-2.0
//
// The rule about tolerances, and the values that they are for.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "input/lint_rules.h"
#include "io/file.h"
#include "tensor/decode.h"

namespace plumb::input {

void check_tolerance(const LintRule& rule, const LintInput& input, LintReport& report) {
  if (input.tolerance == nullptr) return;
  const Tolerance& tolerance = *input.tolerance;
  const auto tell = [&](std::string what, std::string evidence, std::string fix) {
    report.findings.push_back({rule.id, rule.severity,
                               input.config == nullptr ? "" : input.config->file, 0,
                               std::move(what), std::move(evidence), std::move(fix)});
  };
  if (tolerance.relative && *tolerance.relative >= 1)
    tell("the relative tolerance accepts zeros",
         fmt::format("rtol {}: a difference of 100 % passes", *tolerance.relative),
         "use 0.01 or less");
  if (!tolerance.absolute) return;
  if (!tolerance.has_golden) {
    report.not_checked.push_back({rule.id, "--golden, to know how large the values are"});
    return;
  }
  size_t drowned = 0;
  const Tolerance::Signal* largest = nullptr;
  for (const Tolerance::Signal& signal : tolerance.golden) {
    drowned += *tolerance.absolute > signal.largest;
    if (largest == nullptr || signal.largest > largest->largest) largest = &signal;
  }
  if (drowned == 0) return;
  tell("the tolerance exceeds the signal",
       fmt::format(
           "atol {}; in {} of {} golden tensors no value is larger, the largest of all is {} "
           "in {}",
           *tolerance.absolute, drowned, tolerance.golden.size(), largest->largest, largest->name),
       "any result would pass; use 0.01, or `plumb compare`, which judges by the tensors' own "
       "range");
}

Result<std::vector<Tolerance::Signal>> read_signals(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code code;
  if (fs::is_directory(path, code)) {
    for (fs::recursive_directory_iterator at(path, code), end; !code && at != end;
         at.increment(code))
      if (std::error_code ignored; at->is_regular_file(ignored))
        files.push_back(at->path().string());
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  std::vector<Tolerance::Signal> signals;
  for (const std::string& name : files) {
    auto file = io::open_tensor_file(name);
    if (!file) {
      if (files.size() == 1) return file.error();
      continue;  // a directory holds other files, too
    }
    for (const TensorInfo& info : file->listing.tensors) {
      if (kind_of(info.dtype) == DKind::kComplex || kind_of(info.dtype) == DKind::kOpaque) continue;
      auto reader = file->open(info);
      if (!reader) return reader.error();
      Tolerance::Signal signal{info.name.empty() ? name : name + ", " + info.name, 0};
      std::vector<double> values;
      auto read = io::for_each_piece(*reader, [&](Bytes piece, int64_t, int64_t count) {
        values.resize(static_cast<size_t>(count));
        decode_double(reader->dtype(), piece.data(), count, values.data());
        for (const double value : values)
          if (std::abs(value) > signal.largest) signal.largest = std::abs(value);
      });
      if (!read) return std::move(read.error()).in(name);
      signals.push_back(std::move(signal));
    }
  }
  if (signals.empty())
    return Error{"there is no tensor to read", path, "pass the dump of the reference model"};
  return signals;
}

}  // namespace plumb::input
