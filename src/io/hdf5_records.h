// SPDX-License-Identifier: Apache-2.0
//
// What the HDF5 plug-in (hdf5_plugin.cpp) says to the program (hdf5.cpp), and the reader of its
// listing. The plug-in works in a sandbox on hostile files, so its answer is hostile as well: the
// program checks it like any other file.
//
// An answer is a sequence of records: a byte that names the record, then its fields as listed
// below, integers little-endian, text as a 32-bit length and bytes.
#pragma once

#include <cstdint>

#include "io/format.h"

namespace plumb::io::hdf5 {

inline constexpr const char* kPluginFile = "libplumb_hdf5.so";
inline constexpr const char* kServeSymbol = "plumb_hdf5_serve_1";  // changes with the records

// The plug-in's only function: lists the file or, given the path of a dataset, sends its elements
// as they are stored. Writes records to `out`; returns when kEnd or kError is written.
using Serve = void (*)(const void* file, uint64_t size, const char* dataset, int out);

enum class Record : uint8_t {
  // Listing: path, DType u8, big-endian u8, item bytes u32, name of the type, Storage u8, offset
  // u64,
  // stored bytes u64, is-null u8, rank u8, sizes u64..., count u8 of attributes: name, count u8,
  // i64...
  kDataset = 1,
  kRemark = 2,  // Remark u8, path, detail
  // Elements: stored bytes u64, unpacked bytes u64; then all of these in kData: count u64, bytes.
  kSize = 3,
  kData = 4,
  kError = 5,  // Fault u8, number u64, what the library said
  kEnd = 6,
};

enum class Storage : uint8_t {
  kPlain,     // in one piece at `offset`
  kPacked,    // in chunks, compressed, or nowhere because nothing was written: the library reads it
  kExternal,  // in other files
  kVirtual,   // put together from other datasets
  kIndirect,  // the elements are references to values elsewhere: text of any length, lists
};

enum class Remark : uint8_t {
  kSoftLink,
  kExternalLink,
  kAgain,  // another name of an object already listed
  kTooDeep,
  kUnreadable,  // detail: what the library said
};

enum class Fault : uint8_t {
  kOpen,     // not an HDF5 file after all, or damaged
  kDataset,  // the dataset cannot be opened
  kFilter,   // packed by a filter, `number`, which the library does not have
  kRead,     // its elements cannot be read
};

inline constexpr int kMaxDepth = 64;
inline constexpr size_t kMaxRank = 32;  // of HDF5

// What the records of a listing say about a file of `file_size` bytes.
Result<Listing> listing_from_records(Bytes records, uint64_t file_size);

// The error in a kError record whose first byte has been read.
Error read_fault(ByteReader& records);

// Why a dataset that needs `unpacked` bytes from `stored` ones is not worth believing, if so.
std::optional<Error> implausible(uint64_t unpacked, uint64_t stored, uint64_t file_size);

}  // namespace plumb::io::hdf5
