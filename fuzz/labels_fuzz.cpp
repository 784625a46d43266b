// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file of labels, and as the list of classes that its words are looked up in.
#include "input/labels.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const input::ClassNames names = input::ClassNames::from_text(as_text(bytes));
  for (const input::ClassNames* known : {static_cast<const input::ClassNames*>(nullptr), &names}) {
    const auto labels = input::labels_from_bytes(bytes, known);
    if (labels) (void)labels->of(0, {"a.png"});
  }
  return 0;
}
