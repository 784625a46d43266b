// SPDX-License-Identifier: Apache-2.0
//
// Steps that several conventions share on the way from a tree to a DumpSet.
#pragma once

#include <map>

#include "base/parallel.h"
#include "dump/tree.h"

namespace plumb::dump {

// How many of a hundred files are ours, rounded up; files that are no tensors anyway (nullopt) do
// not count. Of a large tree every n-th file is looked at.
template <class IsOurs>
int percent_of(const Tree& tree, IsOurs&& is_ours) {
  constexpr size_t kSample = 4096;
  size_t ours = 0, all = 0;
  const size_t step = tree.files.size() / kSample + 1;
  for (size_t i = 0; i < tree.files.size(); i += step) {
    const std::optional<bool> answer = is_ours(tree.files[i]);
    all += answer.has_value();
    ours += answer.value_or(false);
  }
  return all == 0 ? 0 : static_cast<int>((100 * ours + all - 1) / all);
}

// Why a file that often lies beside dumps is no tensor; nothing if it might be one.
std::optional<std::string_view> companion_reason(std::string_view name);

// True if the whole name, or how it starts, is that of a companion: a list of numbers may be one.
bool is_known_companion(std::string_view name);

// True for names that promise a tensor: .npy, .pt, ...
bool has_tensor_extension(std::string_view name);

Skipped skip(const TreeFile& file, std::string_view reason);
Skipped skip_damaged(const TreeFile& file, Error error);
Skipped skip_empty(const Tree& tree, const TreeFile& file);
// A companion by its reason, an empty file that should hold a tensor, or `otherwise`. Foreign
// unless it is damaged.
Skipped skip_unknown(const Tree& tree, const TreeFile& file, std::string_view otherwise);

// Why headerless data was left out, if nobody said what it is: it is not damaged.
inline constexpr std::string_view kNoHeader = "raw data says nothing about itself";

// Headerless data that cannot be used: nobody said what it is, or an npy file of that name says it
// all.
std::optional<Skipped> skip_raw(const Tree& tree, const TreeFile& file, const io::ReadHints& hints);

// The tensors in `files` of the tree, whatever their names: operators are paths. What any directory
// of tensors is listed by, and what a convention does not know in its own.
DumpSet list_plain(const Tree& tree, std::span<const TreeFile> files, const io::ReadHints& hints);

// The first bytes, up to io::kProbeBytes; fewer or none if they cannot be read.
std::string head_of(const Tree& tree, const TreeFile& file);
// A tensor that an engine could not give, in the place that `plumb dump` would have given it.
Skipped skip_not_given(std::string_view op, const Slot& slot, int64_t timestamp,
                       const std::string& problem);

// The format these first bytes of a file look like; null if no format claims them.
const io::Format* probe_format(std::string_view head, uint64_t file_size);
// The format the first bytes look like; null if no format claims them or they cannot be read.
const io::Format* probe_format(const Tree& tree, const TreeFile& file);

// Where tensors are files, each has its own time of writing. Gives all tensors of one execution of
// an operator the first of these; a tensor that comes again belongs to the next execution.
void unify_timestamps(std::vector<Entry>& entries);

// Clears `graph` where a rank has one only.
void drop_single_graphs(std::vector<Entry>& entries);

// Adds what was odd about single files: the first twenty remarks, and how many more there are.
void add_warnings(std::vector<std::string> of_files, DumpSet& set);

// What many entries share, each made once.
class Places {
 public:
  const Shared<const Place>& of(Place place);

 private:
  std::map<Place, Shared<const Place>> places_;
  Shared<const Place> last_;
};

// Texts of entries that are the same, of other steps and ranks as a rule, become one.
class EntryTexts {
 public:
  void share(Entry& entry);

 private:
  SharedTexts operators_, others_;
};

void sort_entries(std::vector<Entry>& entries);

}  // namespace plumb::dump
