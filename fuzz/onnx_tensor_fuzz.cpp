// SPDX-License-Identifier: Apache-2.0
//
// ONNX tensor files: the probe, the listing and every element. Good seeds: tests/data/onnx_tensor.
#include <algorithm>

#include "io/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  const Bytes file = std::as_bytes(std::span(data, size));
  const io::Format& format = *io::format_by_name("onnx-tensor");
  format.probe(file.first(std::min(size, io::kProbeBytes)), size);
  const auto listing = format.list(file, {});
  if (!listing) return 0;
  for (const TensorInfo& info : listing->tensors) {
    auto reader = io::TensorReader::open(format, file, info);
    if (reader) (void)io::for_each_piece(*reader, [](Bytes, int64_t, int64_t) {});
  }
  return 0;
}
