// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a Caffe network: the text up to the first zero byte, the weights behind it. What can
// be translated must be a model that reads back.
#include <cstdlib>
#include <string_view>

#include "graph/caffe_onnx.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view text = all.substr(0, all.find('\0'));
  const std::string_view weights = all.substr(std::min(all.size(), text.size() + 1));
  const auto content = graph::content_from_caffe(as_bytes(text), as_bytes(weights));
  if (!content) return 0;
  const auto model = graph::translate_caffe(*content);
  if (!model) return 0;
  const std::string bytes = graph::write_onnx(*model);
  if (!graph::read_onnx(as_bytes(bytes))) std::abort();
  return 0;
}
