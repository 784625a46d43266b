// SPDX-License-Identifier: Apache-2.0
//
// The parts of the npy format that npz shares: an archive member is a whole npy file.
#pragma once

#include "io/format.h"

namespace plumb::io {

bool is_npy(Bytes head);

// Where the header ends and the data starts, told from the first kNpyPrefixBytes of a file; not
// more than a header may have. 0 if it is not npy.
inline constexpr size_t kNpyPrefixBytes = 12;
size_t npy_header_end(Bytes head);

// Reads magic, version and header from the start of `head`, which may end before the data does.
// The result's offset_bytes is where the data starts; size_bytes is what dtype and shape need.
Result<TensorInfo> parse_npy_header(Bytes head, const ReadHints& hints);

// Sets dtype and byte order from a descr such as "<f4". A type that cannot be decoded is counted in
// bytes: its shape gets one more axis.
Result<void> read_npy_descr(std::string_view descr, const ReadHints& hints, TensorInfo& info);

// Magic to the final newline of the header, a multiple of 64 bytes long. `dtype` must be portable.
std::string npy_header(DType dtype, const Shape& shape);

// Appends the elements of `item` to `out`; errors of the source and of reading come back.
Result<void> write_elements(FileSink& out, const WriteItem& item);

}  // namespace plumb::io
