// SPDX-License-Identifier: Apache-2.0
//
// Dump directories: which file is which operator, slot, step and rank. Every convention yields the
// same neutral list, so that nothing after this folder knows how a tool names its files.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/boxed_optional.h"
#include "base/shared_text.h"
#include "dump/file_path.h"
#include "io/file.h"
#include "plumb/result.h"
#include "tensor/statistics.h"

namespace plumb::dump {

enum class SlotKind : uint8_t { kInput, kOutput, kParameter, kParameterGradient, kOther };

inline constexpr int64_t kNamed = -1;

// Which tensor of an operator. Nested arguments (a list of tensors as input 1) add a path ("2",
// "0.key"). What has a name instead of a position (keyword arguments, parameters) has it in `path`.
struct Slot {
  SlotKind kind = SlotKind::kOutput;
  int64_t index = 0;  // or kNamed
  SharedText path;
  auto operator<=>(const Slot&) const = default;
};
std::string to_string(const Slot& slot);  // "output:0", "input:1.2", "parameter:weight"
std::optional<Slot> slot_from_text(std::string_view text);

// A tensor in a file; `tensor` is its name there (TensorInfo::name), empty for the only one.
struct TensorRef {
  FilePath file;  // relative to DumpSet::root, with '/'; empty in memory
  SharedText tensor;
  // What the writer meant to call the file, where it is stored under a number (see
  // dump/mapping_csv.h): some formats keep in the name what is nowhere else. Else empty.
  SharedText real_name = {};
};

// Nearly always one: it needs no room elsewhere.
class Parts {
 public:
  Parts() = default;
  Parts(TensorRef only) : count_(1), one_(std::move(only)) {}

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  TensorRef* begin() { return several_ ? several_->data() : &one_; }
  const TensorRef* begin() const { return several_ ? several_->data() : &one_; }
  TensorRef* end() { return begin() + count_; }
  const TensorRef* end() const { return begin() + count_; }
  TensorRef& front() { return *begin(); }
  const TensorRef& front() const { return *begin(); }
  TensorRef& operator[](size_t i) { return begin()[i]; }
  const TensorRef& operator[](size_t i) const { return begin()[i]; }

  void push_back(TensorRef part) {
    if (count_ == 0) {
      one_ = std::move(part);
    } else {
      if (!several_) several_.emplace(1, std::move(one_));
      several_->push_back(std::move(part));
    }
    ++count_;
  }

  uint32_t join_axis = 0;  // of the stored shape, where there are several

 private:
  uint32_t count_ = 0;
  TensorRef one_;
  BoxedOptional<std::vector<TensorRef>> several_;  // all of them
};

// Which run of a model a tensor belongs to: many thousand belong to the same.
struct Place {
  std::optional<int64_t> step;  // iteration, token or run
  std::optional<int64_t> rank;
  std::string graph = {};  // model or sub-graph of the operator, empty if there is one only
  auto operator<=>(const Place&) const = default;
};

// How a model keeps a tensor on the device, as far as its graph says.
struct StoredAs {
  std::optional<Layout> layout;
  Shape logical;
};

struct Entry {
  SharedText operator_name;  // as exact as the dump has it: the header's name before the file's
  SharedText type;           // operator type, empty if the convention has none
  Slot slot;
  Shared<const Place> place;  // see step(), rank() and graph()
  // Order of execution where the convention has it, one for all tensors of one execution of an
  // operator; units are the tool's.
  int64_t timestamp = 0;
  // Usually one; several FFTS+ slices; none if only statistics exist.
  Parts parts;
  BoxedOptional<TensorInfo> info;  // of parts[0], if listing had to read the header anyway
  // A file without a layout of its own is read so, if its shape fits.
  BoxedOptional<StoredAs> stored_as;
  BoxedOptional<Statistics> statistics;  // recorded instead of, or beside, the data
  SharedText record;                     // the file they come from, relative to DumpSet::root
  // A tensor in memory (see dump/memory.h) instead of a file: the bytes that `info` describes, kept
  // alive by DumpSet::memory. It has one part, which no file need hold.
  const std::byte* memory = nullptr;
  // Position among the tensors of one execution, where the convention lists them in an order that
  // slots do not tell: named arguments stand as they were written.
  uint32_t order = 0;
  bool is_beside = false;  // no part of the dump it was found in: goes by its path alone

  const std::optional<int64_t>& step() const { return its_place().step; }
  const std::optional<int64_t>& rank() const { return its_place().rank; }
  const std::string& graph() const { return its_place().graph; }
  const Place& its_place() const;
  void put_at(Place at) { place = Shared<const Place>::make(std::move(at)); }

  // The file of the data, or of the statistics if there is none.
  std::string file() const { return parts.empty() ? record.str() : parts.front().file.str(); }

  // As recorded, in the tool's words; empty if they are not.
  const std::string& dtype_text() const;
  const std::optional<Shape>& recorded_shape() const;
};
bool is_same_place(const Entry& a, const Entry& b);

// A file or record that is not in the list, or only as a problem. Nothing is dropped in silence.
struct Skipped {
  std::string file;            // relative to DumpSet::root; empty for the root itself
  std::string reason;          // plain words
  std::optional<Error> error;  // set if it is damaged (it costs a row), unset if it is no tensor
  bool is_foreign = false;     // unknown to the convention, which says nothing of its content
  bool is_not_given =
      false;  // ... nor is it damaged: the engine that ran the model has no such tensor
};

// What a convention means to later stages. They ask for these, never for its name.
struct Traits {
  bool is_device = false;            // tensors of a converted model, dumped on the device
  bool has_numbered_calls = false;   // operators are calls of an API, numbered as they were made
  bool is_torchair_ge = false;       // what TorchAir's graph engine ran ...
  bool is_torchair_fx = false;       // ... and the FX graph it was made from
  std::string_view graph_file = {};  // beside the tensors: the model as it was run
};

struct DumpSet {
  std::filesystem::path root;
  std::string convention;  // to be shown: Convention::name, or the format's for a single file
  Traits traits;
  bool is_single_file = false;
  bool map = true;  // ReadHints::map when it was opened
  std::vector<Entry>
      entries;  // in order of rank, step, graph, timestamp, name, slot; a2 before a10
  std::vector<Skipped> skipped;
  std::vector<std::string> warnings;
  std::shared_ptr<const void> memory;  // behind the entries that are in memory

  std::string absolute(const FilePath& file) const;  // that is relative to `root`
  std::optional<std::string> own_graph() const;      // path of the graph the dump brings along
};

struct Tree;  // the files below the path given, see dump/tree.h

struct Convention {
  std::string_view name;     // "ascend-dump", "named-npy", ...
  std::string_view summary;  // one line for `plumb formats`
  // How sure this convention is that the tree is its own, from names and the odd header only: 0 =
  // no, 100 = certain. The highest wins; ties go to the earlier line of the table.
  int (*match)(const Tree& tree);
  // Puts every file of the tree into an entry or among the skipped ones; any order will do. What it
  // does not know it skips as foreign: a tensor among these becomes an entry by its path.
  DumpSet (*list)(const Tree& tree, const io::ReadHints& hints);
  Traits traits = {};
};

std::span<const Convention> conventions();

// Any file or directory. A single file lists its own tensors. Fails only if the path itself cannot
// be read or holds nothing at all; a damaged file inside a directory becomes a Skipped with its
// error.
Result<DumpSet> open_dump(const std::filesystem::path& path, const io::ReadHints& hints = {},
                          std::string_view convention = {});

// The file of one part of an entry.
Result<io::TensorFile> open_part(const DumpSet& set, const TensorRef& part, io::ReadHints hints);
// What `name` is in it; the only tensor if the name is empty.
Result<const TensorInfo*> find_tensor(const io::TensorFile& file, std::string_view name);

// Files that hold many tensors, kept open from one tensor to the next: mapping and listing a
// container anew for each of its tensors would be quadratic. For any number of threads.
class FileCache {
 public:
  // What is in the file is told only if it is to be `listed`.
  Result<std::shared_ptr<const io::TensorFile>> open(const DumpSet& set, const TensorRef& part,
                                                     io::ReadHints hints, bool listed = true);
  // Room for what is brought into another order, which nobody uses any more.
  std::shared_ptr<io::Kept> spare();

 private:
  static constexpr size_t kKept = 8;
  std::mutex guard_;
  std::deque<std::shared_ptr<const io::TensorFile>> kept_;  // the latest first
  std::vector<std::shared_ptr<io::Kept>> spares_;           // in use, if others know them, too
};

// The elements of an entry, slices joined. Keeps the files it reads from open.
class EntryReader {
 public:
  static Result<EntryReader> open(const DumpSet& set, const Entry& entry,
                                  const io::ReadHints& hints = {}, const io::ReadOrder& order = {},
                                  FileCache* cache = nullptr);
  io::TensorReader& reader() { return *reader_; }
  const TensorInfo& info() const { return info_; }  // of the (joined) tensor

  // The (first) file, for messages.
  std::string path() const { return files_.front()->path; }

  // For whoever knows no dumps. Borrows this reader.
  PieceSource pieces();

  // Another reader of the same tensor, so that several threads may each read a part.
  Result<EntryReader> again() const;

  // An error if a file shrank while it was read. To be asked after the last use of what was read:
  // bytes that are gone read as zero.
  Result<void> check_intact() const;

 private:
  EntryReader() = default;

  std::vector<std::shared_ptr<const io::TensorFile>> files_;
  std::shared_ptr<const std::vector<std::byte>> joined_;
  TensorInfo info_;
  io::ReadOrder order_;
  std::unique_ptr<io::TensorReader> reader_;
};

}  // namespace plumb::dump
