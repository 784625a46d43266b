// SPDX-License-Identifier: Apache-2.0
//
// Values of metrics as programs read them: the same digits on every machine, which read back to the
// same double.
#pragma once

#include <string>

#include "metrics/metric.h"

namespace plumb::result {

// A defined number: the shortest digits that read back to it, counts without a fraction, checksums
// in hexadecimal, "nan", "inf", "-inf".
std::string exact_text(const metrics::Metric& metric, double number);
void append_exact(std::string& text, const metrics::Metric& metric, double number);
// Writes the same and returns its end; kShortestRoom characters may be written to.
char* write_exact(char* out, const metrics::Metric& metric, double number);

// Why an undefined value has no number: "golden is all zeros", "at most 0.012: ...".
std::string undefined_text(const metrics::Value& value);

}  // namespace plumb::result
