// SPDX-License-Identifier: Apache-2.0
//
// What a PyTorch pickle says of a tensor's elements: their type, the storage that holds them, and
// how the tensor lies in it.
#pragma once

#include <optional>
#include <span>
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

struct TorchType {
  DType dtype = DType::kOpaque;
  std::string_view name;   // PyTorch's word
  int64_t item_bytes = 0;  // 0: not known
};

// By the name of a torch.dtype or of a storage class, whatever module it is in.
TorchType torch_type(std::string_view name);

// What a pickle says of a storage it refers to: ('storage', class, key, device, count[, view]).
struct PtStorage {
  TorchType type;
  std::string_view key;
  int64_t first = 0;  // of the elements it may use ...
  int64_t count = 0;  // ... so many
};

std::optional<PtStorage> read_pt_storage(const Pickle& pickle, Pickle::Ref ref);

// A tuple, a list or a torch.Size of numbers.
std::optional<Shape> read_pickled_shape(const Pickle& pickle, Pickle::Ref ref);

// The arguments (storage, first element, sizes, strides) that all rebuilding functions start with.
struct PtView {
  PtStorage storage;
  int64_t first = 0;
  Shape shape, strides;
};

std::optional<PtView> read_pt_view(const Pickle& pickle, std::span<const Pickle::Ref> args);

// Says where the view lies in the file, or why it cannot be read.
TensorInfo tensor_of_view(const PtView& view, const StoragePlaces& places, bool big_endian);

}  // namespace plumb::io
