// SPDX-License-Identifier: Apache-2.0
//
// What archives of any kind (npz, tar, gzip) share: a member that is a whole npy file is read where
// it lies, stored or deflated. Tensors of other formats inside an archive are told, not read.
#pragma once

#include <optional>

#include "io/format.h"
#include "io/zip.h"

namespace plumb::io {

inline constexpr std::string_view kNpySuffix = ".npy";  // of the names of members that are arrays

// The format that the first bytes claim by a magic word or a text of numbers; null if they claim
// none. Formats that are told by the likes of their fields are not asked: anything might look so.
const Format* claimed_format(Bytes head);

// The first bytes of what a member unpacks to, up to kProbeBytes, and all of an npy header.
Result<Bytes> member_head(Bytes file, const ZipMember& member, std::vector<std::byte>& scratch);

// Describes the array that `member` is; nullopt if it is no tensor. An error also for a tensor of
// another format, which cannot be read from inside an archive.
Result<std::optional<TensorInfo>> read_member(Bytes file, const ZipMember& member,
                                              const ReadHints& hints);

}  // namespace plumb::io
