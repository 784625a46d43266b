// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file name, a directory, a mapping.csv and a statistics table. What a parser finds
// must lie inside what it was given.
#include "dump/levels.h"
#include "dump/mapping_csv.h"
#include "dump/names.h"
#include "dump/statistics_csv.h"
#include "must_hold.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb::dump;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view half = text.substr(0, size / 2), rest = text.substr(size / 2);
  if (const auto device = parse_device_name(text)) {
    must_hold(!device->op.empty() && device->type.size() + device->op.size() < size);
    if (const auto slice = parse_manual_slice(device->op)) must_hold(slice->op.size() < size);
  }
  if (const auto golden = parse_golden_name(text))
    must_hold(!golden->op.empty() && golden->index >= 0 && text.starts_with(golden->op));
  if (const auto fx = parse_fx_name(text))
    must_hold(fx->slot.index >= 0 && text.starts_with(fx->op));
  must_hold(!(natural_less(half, rest) && natural_less(rest, half)));
  slot_from_tensor_name(text);
  parse_manual_slice(text);
  parse_levels(half, rest);
  for (const auto& [stored, real] : parse_mapping_csv(text).real_names)
    must_hold(!stored.empty() && !real.empty() && real.find('/') == std::string::npos);
  const auto statistics = parse_statistics_csv(text);
  must_hold(statistics.ok() || !statistics.error().where.empty());
  return 0;
}
