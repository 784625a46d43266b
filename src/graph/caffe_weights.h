// SPDX-License-Identifier: Apache-2.0
//
// A .caffemodel with other numbers in some of its blobs (implemented where they are read, in
// caffe_content.cpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::graph {

// By layer and place of the blob.
using CaffeBlobValues = std::map<std::pair<std::string, size_t>, std::vector<float>>;

// The same file with these numbers, as float32; shapes and all that is not named stay what they
// are. A blob that the file does not have, or has in another size, is an error.
Result<std::string> with_blobs(Bytes caffemodel, const CaffeBlobValues& values);

}  // namespace plumb::graph
