// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a table of layers and their precisions, in the form of whatever tool.
#include <cstdlib>

#include "quant/layer_requests.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto requests = quant::requests_from_table(text, "table", {});
  if (requests)
    for (const quant::LayerRequest& request : *requests)
      if (request.where.empty()) std::abort();
  return 0;
}
