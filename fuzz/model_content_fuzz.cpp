// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an ONNX model whose attributes and weights are read and compared with themselves,
// and as the weights of a Caffe network.
#include "graph/data_place.h"
#include "graph/model_content.h"
#include "pair/model_alignment.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  constexpr std::string_view kNet =
      "layer { name: \"c\" type: \"Convolution\" bottom: \"x\" top: \"c\" "
      "convolution_param { num_output: 2 kernel_size: 3 } }";
  (void)graph::content_from_caffe(as_bytes(kNet), bytes);
  const auto content = graph::content_from_onnx(bytes, {"/nonexistent", {}});
  if (!content) return 0;
  const auto alignment = pair::align_models(content->graph, content->graph);
  (void)to_json(graph::diff_models(*content, *content, alignment), {"a", "b"});
  return 0;
}
