// SPDX-License-Identifier: Apache-2.0
//
// The tensors among the objects of a PyTorch pickle. Where their elements lie depends on the form
// of the file (pt.cpp); what the objects mean does not.
#pragma once

#include "io/format.h"
#include "io/pickle.h"
#include "io/pt_view.h"

namespace plumb::io {

// Lists the tensors, named by their path from the outermost object, as in "layer.weight" and
// "list.0". One that cannot be read is listed with its error. Other values are counted in a
// property. Fails if the objects add up to more than a file of this size can mean.
Result<void> list_tensors(const Pickle& objects, const StoragePlaces& places, bool big_endian,
                          uint64_t file_size, Listing& listing);

}  // namespace plumb::io
