// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file of versions, as a list of them, and as a saved environment, which must read
// back as it was written.
#include "base/bytes.h"
#include "scan/env.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)scan::read_env_lines(text);
  (void)scan::names_version(text, "V100R001C21SPC002B220");
  (void)scan::names_version("[V100R001C15,V100R001C18],[24.1,24.1.]", text);
  scan::Environment environment;
  scan::add_devices(text, environment);
  if (const auto read = scan::environment_from_json(text)) {
    const std::string written = to_json(*read);
    const auto again = scan::environment_from_json(written);
    if (!again || to_json(*again) != written) __builtin_trap();
  }
  return 0;
}
