// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a GE graph in protobuf's text format.
#include "read_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read_graph({reinterpret_cast<const std::byte*>(data), size}, plumb::graph::is_ge_text,
             plumb::graph::graph_from_ge_text);
  return 0;
}
