// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the index of a dump of `plumb dump`. Good seeds: tests/data/dump_index.
#include "read_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read_graph({reinterpret_cast<const std::byte*>(data), size}, plumb::graph::is_dump_index,
             plumb::graph::graph_from_dump_index);
  return 0;
}
