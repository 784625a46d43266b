// SPDX-License-Identifier: Apache-2.0
//
// The tensors among the objects of a PyTorch pickle. Where their elements lie depends on the form
// of the file (pt.cpp); what the objects mean does not.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "io/format.h"
#include "io/pickle.h"

namespace plumb::io {

// What to do about a file that is not understood, and about one that is damaged.
inline constexpr const char* kSavePtAgain = "save it again with torch.save";
inline constexpr const char* kCopyPtAgain = "copy or save the file again; it is damaged";

// Where the elements of a storage lie.
struct StoragePlace {
  Packing packing = Packing::kPlain;
  uint64_t offset_bytes = 0;
  uint64_t packed_bytes = 0;
  uint64_t size_bytes = 0;
  std::optional<uint32_t> crc32;
  std::optional<Error> error;
};
using StoragePlaces = std::unordered_map<std::string_view, StoragePlace>;  // by the storage's key

// How many bytes an element takes in each storage that the objects use, by its key; 0 if unknown.
std::unordered_map<std::string_view, int64_t> storage_item_bytes(const Pickle& objects);

// Lists the tensors, named by their path from the outermost object, as in "layer.weight" and
// "list.0". One that cannot be read is listed with its error. Other values are counted in a
// property. Fails if the objects add up to more than a file of this size can mean.
Result<void> list_tensors(const Pickle& objects, const StoragePlaces& places, bool big_endian,
                          uint64_t file_size, Listing& listing);

}  // namespace plumb::io
