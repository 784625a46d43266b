// SPDX-License-Identifier: Apache-2.0
//
// Dumps after volume reduction: what is left of a dump file is the smallest and largest value of
// each tensor, as TorchAir's script writes it: NAME_min_max.npz with rows [min, max] in the arrays
// `inputs` and `outputs`, or for an FX array STEM_min_max.npy, which is [min, max]. Ours hold more,
// where numpy does not look: the members `plumb.json` (all statistics) and `plumb.sketch/SLOT` (see
// metrics/sketch.h) of the archive. Behind an npy array stands an archive of only these: numpy does
// not read on after the array, and an archive is read from its end. So each dump file has exactly
// one file in its place, and it appears in one piece.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_sink.h"
#include "dump/dump.h"
#include "dump/tree.h"

namespace plumb::dump {

struct ReducedTensor {
  Slot slot;
  std::optional<double> min, max;      // as in the arrays, if it is there and has elements
  std::optional<FullStatistics> full;  // only of our own files
  std::vector<std::byte> sketch;       // to be written; empty for none
  bool has_sketch = false;             // was read
};

struct ReducedFile {
  std::string op_name;  // as the dump's header had it; empty if it had none
  // Of the dump file, to know it again if both are there.
  uint64_t source_bytes = 0;
  int64_t source_time_ns = 0;
  std::vector<ReducedTensor> tensors;
  bool is_ours = false;  // has full statistics
};

// The name of what a dump file is reduced to; nothing for names that are not those of dump files.
// Overflow records are no tensors and keep their names.
std::optional<std::string> reduced_name(std::string_view name);
// True for what reduced_name gives.
bool is_reduced_name(std::string_view name);

// True if the dump file that a reduced file stands for is there, too: it says more.
inline constexpr std::string_view kHasOriginal = "statistics of a dump that is there";
bool has_original(const Tree& tree, const TreeFile& file);

// True for an npy file, by its first bytes, that an archive follows: what is left of an FX array.
// Of npz archives io tells it, by the property "reduced".
bool is_reduced_npy(Bytes head, uint64_t file_size);

// True for an entry of a reduced file that is ours.
bool is_reduced(const Entry& entry);

// Which type numpy gives an array of numbers of these types; float64 if there are none.
DType common_dtype(std::span<const DType> dtypes);

// `as_npy`: the only tensor as an npy array, else an npz archive. Full statistics must be there.
Result<void> write_reduced(FileSink& out, const ReducedFile& file, bool as_npy);

// Ours or the script's. Errors name the path; what was never reduced is kNotReduced.
inline constexpr std::string_view kNotReduced = "not a reduced file";
Result<ReducedFile> read_reduced(const std::filesystem::path& path);
Result<std::vector<std::byte>> read_sketch(const std::filesystem::path& path, const Slot& slot);

// Entries get operator_name, type, timestamp and so on from `model`, of an npy file also the slot.
// `record` is the path relative to the dump's.
Result<std::vector<Entry>> list_reduced(const std::filesystem::path& path, std::string_view record,
                                        const Entry& model);

}  // namespace plumb::dump
