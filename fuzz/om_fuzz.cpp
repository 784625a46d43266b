// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an Ascend offline model.
#include "read_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read_graph({reinterpret_cast<const std::byte*>(data), size}, plumb::graph::is_om,
             plumb::graph::graph_from_om);
  return 0;
}
