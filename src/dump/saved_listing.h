// SPDX-License-Identifier: Apache-2.0
//
// What opening a dump found, as bytes, so that others need not look into a million files again. The
// bytes are checked like any file. Of tensors that do not lie plainly in their file (packed ones,
// say) the description is not kept but read again from there.
#pragma once

#include <string>

#include "base/bytes.h"
#include "dump/dump.h"

namespace plumb::dump {

// Appends to `out`.
void save_listing(const DumpSet& set, std::string& out);

// Takes the bytes of one listing off the front of `from`. Nothing of the set is in memory, and no
// file of it lies outside its root.
Result<DumpSet> read_listing(Bytes& from, const io::ReadHints& hints);

}  // namespace plumb::dump
