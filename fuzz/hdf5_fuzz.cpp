// SPDX-License-Identifier: Apache-2.0
//
// Whole HDF5 files, through the plug-in and its sandbox: what the library does to itself is no
// finding, what reaches the program is. Slow, since each input costs a few processes. The plug-in
// is looked for as always; PLUMB_PLUGIN_DIR helps. Good seeds: tests/data/hdf5/*.h5.
#include "io/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  const Bytes file = std::as_bytes(std::span(data, size));
  const io::Format& format = *io::format_by_name("hdf5");
  const auto listing = format.list(file, {});
  if (!listing) return 0;
  for (const TensorInfo& info : listing->tensors) {
    auto reader = io::TensorReader::open(format, file, info);
    if (reader) (void)io::for_each_piece(*reader, [](Bytes, int64_t, int64_t) {});
  }
  return 0;
}
