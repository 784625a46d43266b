// SPDX-License-Identifier: Apache-2.0
//
// The files of the MNIST digits: a magic number, big-endian sizes, then bytes. Described on the
// page of the MNIST database; often packed by gzip.
#pragma once

#include <memory>

#include "input/image.h"

namespace plumb::input {

struct IdxImages {
  int64_t count = 0;
  Size size;
  std::vector<uint8_t> pixels;  // one gray picture after the other

  Result<Image> at(int64_t index) const;
};

// True if the first bytes, unpacked if need be, are those of pictures of 8 bits.
bool is_idx_images(Bytes file);

// All pictures of a file, unpacked by gzip if it is packed.
Result<IdxImages> read_idx_images(Bytes file);

}  // namespace plumb::input
