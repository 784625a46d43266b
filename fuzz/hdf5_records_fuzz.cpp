// SPDX-License-Identifier: Apache-2.0
//
// The HDF5 plug-in's answer, as a plug-in that a hostile file has taken over might give it. The
// first four bytes are the size of the file it talks about.
#include "io/hdf5_records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  ByteReader input(std::as_bytes(std::span(data, size)));
  const uint32_t file_size = input.u32();
  const auto listing = io::hdf5::listing_from_records(input.take(input.left()), file_size);
  if (!listing) return 0;
  for (const TensorInfo& info : listing->tensors)
    if (info.packing == Packing::kPlain && info.offset_bytes + info.size_bytes > file_size)
      __builtin_trap();
  return 0;
}
