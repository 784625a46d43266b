// SPDX-License-Identifier: Apache-2.0
#include "dump/dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/mapped_file.h"
#include "dump/listing.h"
#include "dump/tree.h"

namespace plumb::dump {

using plumb::to_string;  // of shapes, beside that of slots

namespace {

constexpr std::string_view kPlainName = "plain";

Result<const Convention*> choose(const Tree& tree, std::string_view wanted) {
  const Convention* best = nullptr;
  int best_score = 0;
  std::string names;
  for (const Convention& convention : conventions()) {
    if (convention.name == wanted) return &convention;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", convention.name);
    const int score = wanted.empty() ? convention.match(tree) : 0;
    if (score <= best_score) continue;
    best = &convention;
    best_score = score;
  }
  if (best == nullptr)
    return Error{"unknown dump convention", fmt::format("'{}'", wanted), "use one of " + names};
  return best;
}

Error nothing_in(const Tree& tree) {
  std::string where = tree.root.string() + ": no files";
  if (!tree.skipped.empty())
    where += fmt::format("; {}: {}", tree.skipped[0].file, tree.skipped[0].reason);
  return {"there is nothing to read", std::move(where),
          "check the path, and that the run which should have written there did write"};
}

// Where several dumps lie in one directory, the files of all but one kind go by their paths. Says
// which sub-directories to look at instead: those without a tensor of the chosen kind that are a
// dump of their own.
void add_other_dumps(const Tree& tree, DumpSet& set) {
  std::set<std::string_view> listed;  // directories with tensors of the set below them
  const auto add_directory = [&](std::string_view directory) {
    while (!directory.empty() && listed.insert(directory).second)
      directory = directory.substr(0, std::min(directory.rfind('/'), directory.size()));
  };
  const auto add_below = [&](std::string_view file) {
    if (const size_t slash = file.rfind('/'); slash != file.npos)
      add_directory(file.substr(0, slash));
  };
  for (const Entry& entry : set.entries) {
    add_below(entry.record.str());
    for (const TensorRef& part : entry.parts) add_directory(part.file.directory());
  }
  constexpr size_t kMostLookedAt = 16;
  std::map<std::string, Tree> others;
  for (const Skipped& skipped : set.skipped) {
    const TreeFile* file = skipped.error ? nullptr : tree.find(skipped.file);
    if (file == nullptr || file->size_bytes == 0 || companion_reason(file->name())) continue;
    const std::string path = file->path;
    size_t slash = path.find('/');
    while (slash != std::string::npos && listed.contains(path.substr(0, slash)))
      slash = path.find('/', slash + 1);
    if (slash == std::string::npos) continue;
    const std::string directory = path.substr(0, slash);
    if (others.size() == kMostLookedAt && !others.contains(directory)) continue;
    Tree& other = others[directory];
    other.root = tree.root / directory;
    other.files.push_back({path.substr(slash + 1), file->size_bytes});
  }
  for (const auto& [directory, other] : others) {
    const auto chosen = choose(other, {});
    const bool is_dump = chosen && (*chosen)->name != set.convention &&
                         ((*chosen)->name != kPlainName || probe_format(other, other.files[0]));
    if (!is_dump) continue;
    set.warnings.push_back(fmt::format(
        "{} in {}: a dump of another kind ({}), listed by path; see `plumb inspect {}`",
        counted(other.files.size(), "file"), directory, (*chosen)->name, other.root.string()));
  }
}

// A tensor is a row wherever it lies: of the files that the convention does not know, those that
// hold tensors are listed by their paths. No two tensors of the set get the same name.
void add_foreign(const Tree& tree, const io::ReadHints& hints, DumpSet& set) {
  std::vector<TreeFile> files;
  for (const Skipped& skipped : set.skipped) {
    if (!skipped.is_foreign) continue;
    std::error_code gone;
    const auto size = std::filesystem::file_size(tree.root / skipped.file, gone);
    files.push_back({skipped.file, gone ? 0 : size});
  }
  if (files.empty()) return;
  DumpSet found = list_plain(tree, files, hints);
  std::set<std::string> taken, names;  // files; operators of the convention
  int64_t last = 0;
  for (const Entry& entry : set.entries) {
    names.insert(entry.operator_name);
    last = std::max(last, entry.timestamp);
  }
  std::erase_if(found.skipped, [](const Skipped& skipped) { return !skipped.error; });
  for (const Skipped& skipped : found.skipped) taken.insert(skipped.file);
  for (Entry& entry : found.entries) {
    const std::string file = entry.file();
    taken.insert(file);
    entry.is_beside = true;
    entry.timestamp = last == 0 ? 0 : last + 1;
    if (names.contains(entry.operator_name)) {
      const std::string inside = entry.parts.empty() ? "" : entry.parts.front().tensor.str();
      entry.operator_name = file + (inside.empty() ? "" : "/") + inside;
    }
  }
  std::erase_if(set.skipped, [&](const Skipped& skipped) { return taken.contains(skipped.file); });
  std::move(found.entries.begin(), found.entries.end(), std::back_inserter(set.entries));
  std::move(found.skipped.begin(), found.skipped.end(), std::back_inserter(set.skipped));
  std::move(found.warnings.begin(), found.warnings.end(), std::back_inserter(set.warnings));
}

}  // namespace

const std::string& Entry::dtype_text() const {
  static const std::string none;
  return statistics ? statistics->dtype : none;
}

const std::optional<Shape>& Entry::recorded_shape() const {
  static const std::optional<Shape> none;
  return statistics ? statistics->shape : none;
}

const Place& Entry::its_place() const {
  static const Place none;
  return place ? *place : none;
}

bool is_same_place(const Entry& a, const Entry& b) {
  return a.place.get() == b.place.get() || a.its_place() == b.its_place();
}

std::string DumpSet::absolute(const FilePath& file) const {
  std::string path = root.native();
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(file.prefix()).append(file.name());
}

std::optional<std::string> DumpSet::own_graph() const {
  if (traits.graph_file.empty() || entries.empty() || entries.front().parts.empty()) return {};
  const FilePath& file = entries.front().parts.front().file;
  return absolute(std::string(file.prefix()).append(traits.graph_file));
}

Result<io::TensorFile> open_part(const DumpSet& set, const TensorRef& part, io::ReadHints hints) {
  hints.file_name = part.real_name;
  return io::open_tensor_file(set.absolute(part.file), hints);
}

Result<const TensorInfo*> find_tensor(const io::TensorFile& file, std::string_view name) {
  const std::vector<TensorInfo>& tensors = file.listing.tensors;
  if (name.empty() && tensors.size() == 1) return &tensors[0];
  for (const TensorInfo& info : tensors)
    if (info.name == name) return &info;
  return Error{
      name.empty() ? "the file should hold exactly one tensor" : "the tensor is not in the file",
      fmt::format("{}: {}{} in it", file.path,
                  name.empty() ? "" : fmt::format("'{}' wanted, ", name),
                  counted(tensors.size(), "tensor")),
      "list the dump again; the file may have changed"};
}

namespace {

// Copies `part` into `whole` as the slice that starts at `first` along `axis`.
Result<void> copy_slice(io::TensorReader& part, size_t axis, int64_t first, const Shape& whole,
                        std::byte* out) {
  const int64_t item = bits_of(part.dtype()) / 8;
  int64_t inner = item;  // bytes that lie together whatever the position along `axis`
  for (size_t i = axis + 1; i < whole.size(); ++i) inner *= whole[i];
  const int64_t run = part.shape()[axis] * inner, stride = whole[axis] * inner;
  int64_t done = 0;
  return for_each_piece(part, [&](Bytes piece, int64_t, int64_t) {
    while (!piece.empty()) {
      const int64_t row = done / run, in_row = done % run;
      const auto size = std::min(piece.size(), static_cast<size_t>(run - in_row));
      std::copy_n(piece.data(), size, out + row * stride + first * inner + in_row);
      piece = piece.subspan(size);
      done += static_cast<int64_t>(size);
    }
  });
}

struct Joined {
  TensorInfo info;  // of plain bytes from the start of `bytes`
  std::vector<std::byte> bytes;
};

// The slices in the layout they are stored in, as one tensor in that layout: only of the whole is
// the recorded logical shape true.
Result<Joined> join_parts(const Entry& entry, std::span<const TensorInfo* const> infos,
                          std::span<io::TensorReader> readers) {
  const size_t axis = entry.parts.join_axis;
  Shape whole = readers[0].shape();
  for (size_t i = 0; i < readers.size(); ++i) {
    Shape other = readers[i].shape();
    const bool fits = axis < whole.size() && other.size() == whole.size();
    std::optional<int64_t> length = fits ? std::optional(whole[axis]) : std::nullopt;
    if (fits && i > 0) length = checked_add(whole[axis], other[axis]);
    if (fits) other[axis] = whole[axis];
    if (!length || other != whole || readers[i].dtype() != readers[0].dtype())
      return Error{"slices of an operator do not fit together",
                   fmt::format("{} {}, joined along axis {}: {} {} and, in slice {}, {} {}",
                               entry.operator_name, to_string(entry.slot), axis,
                               dtype_text(*infos[0]), to_string(readers[0].shape()), i,
                               dtype_text(*infos[i]), to_string(readers[i].shape())),
                   "dump the operator again; its slices are from different runs"};
    whole[axis] = *length;
  }
  const auto count = element_count(whole);
  const auto bytes = count ? byte_count(readers[0].dtype(), *count) : std::nullopt;
  if (!bytes)
    return Error{"tensor is impossibly large", "shape " + to_string(whole), "dump it again"};
  Joined joined;
  joined.bytes.resize(static_cast<size_t>(*bytes));
  int64_t first = 0;
  for (io::TensorReader& reader : readers) {
    if (auto copied = copy_slice(reader, axis, first, whole, joined.bytes.data()); !copied)
      return copied.error();
    first += reader.shape()[axis];
  }
  joined.info.name = infos[0]->name;
  joined.info.dtype = readers[0].dtype();
  joined.info.dtype_name = infos[0]->dtype_name;
  joined.info.layout = infos[0]->layout;
  joined.info.shape = std::move(whole);
  joined.info.size_bytes = static_cast<uint64_t>(*bytes);
  return joined;
}

// The logical shape of all slices together, which Ascend dumps keep among their properties.
std::optional<Shape> whole_shape(const io::Listing& listing, const TensorInfo& info) {
  for (const auto& [key, value] : listing.properties)
    if (key == info.name + ".whole_shape") return shape_from_text(value);
  return info.logical_shape;
}

}  // namespace

namespace {
constexpr std::array<std::string_view, 5> kKinds{"input", "output", "parameter", "gradient",
                                                 "other"};
}  // namespace

std::string to_string(const Slot& slot) {
  std::string text(kKinds[static_cast<size_t>(slot.kind)]);
  text += ':';
  if (slot.index != kNamed) {
    const fmt::format_int digits(slot.index);
    text.append(digits.data(), digits.size());
    if (!slot.path.empty()) text += '.';
  }
  return text += slot.path.str();
}

std::optional<Slot> slot_from_text(std::string_view text) {
  const size_t colon = text.find(':');
  const auto kind = std::find(kKinds.begin(), kKinds.end(), text.substr(0, colon));
  if (colon == std::string_view::npos || colon + 1 == text.size() || kind == kKinds.end())
    return std::nullopt;
  Slot slot{static_cast<SlotKind>(kind - kKinds.begin()), kNamed, {}};
  std::string_view rest = text.substr(colon + 1);
  const char* const end = rest.data() + rest.size();
  int64_t index = 0;
  const auto [stop, failure] = std::from_chars(rest.data(), end, index);
  if (failure == std::errc() && index >= 0 && (stop == end || (*stop == '.' && stop + 1 < end))) {
    slot.index = index;
    rest.remove_prefix(std::min(rest.size(), static_cast<size_t>(stop - rest.data()) + 1));
  }
  slot.path = rest;
  return slot;
}

Result<DumpSet> open_dump(const std::filesystem::path& path, const io::ReadHints& hints,
                          std::string_view convention) {
  auto tree = walk(path);
  if (!tree) return tree.error();
  if (tree->files.empty()) return nothing_in(*tree);
  auto chosen = choose(*tree, convention);
  if (!chosen) return chosen.error();
  DumpSet set = (*chosen)->list(*tree, hints);
  set.root = tree->root;
  set.convention = (*chosen)->name;
  set.traits = (*chosen)->traits;
  set.is_single_file = tree->is_single_file;
  set.map = hints.map;
  if (tree->is_single_file && set.convention == kPlainName) {
    if (set.entries.empty() && !set.skipped.empty() && set.skipped[0].error)
      return *set.skipped[0].error;
    const io::Format* format = probe_format(*tree, tree->files[0]);
    set.convention = format != nullptr ? format->name : "raw";
    set.traits.is_device = set.convention.starts_with("ascend");
  }
  add_other_dumps(*tree, set);
  if ((*chosen)->name != kPlainName) add_foreign(*tree, hints, set);
  for (Skipped& skipped : tree->skipped) set.skipped.push_back(std::move(skipped));
  tree->files = {};  // of a large dump these take as much as a third of the entries
  sort_entries(set.entries);
  std::stable_sort(set.skipped.begin(), set.skipped.end(),
                   [](const Skipped& a, const Skipped& b) { return a.file < b.file; });
  return set;
}

Result<std::shared_ptr<const io::TensorFile>> FileCache::open(const DumpSet& set,
                                                              const TensorRef& part,
                                                              io::ReadHints hints, bool listed) {
  const std::string path = set.absolute(part.file);
  const bool holds_many = !part.tensor.empty();
  if (holds_many) {
    std::lock_guard lock(guard_);
    for (const auto& file : kept_)
      if (file->path == path && (!listed || !file->listing.tensors.empty())) return file;
  }
  hints.file_name = part.real_name;
  auto opened = listed ? io::open_tensor_file(path, hints) : io::open_unlisted(path, hints);
  if (!opened) return opened.error();
  auto file = std::make_shared<const io::TensorFile>(std::move(*opened));
  if (holds_many) {
    std::lock_guard lock(guard_);
    kept_.push_front(file);
    if (kept_.size() > kKept) kept_.pop_back();
  }
  return file;
}

std::shared_ptr<io::Kept> FileCache::spare() {
  std::lock_guard lock(guard_);
  for (const auto& spare : spares_) {
    if (spare.use_count() > 1) continue;
    spare->forget();
    return spare;
  }
  return spares_.emplace_back(std::make_shared<io::Kept>());
}

namespace {

// A tensor in memory, seen as a file that holds nothing else.
std::shared_ptr<const io::TensorFile> memory_file(const DumpSet& set, const Entry& entry) {
  struct Held {
    std::shared_ptr<const void> owner;
    io::TensorFile file;
  };
  const Bytes bytes(entry.memory, static_cast<size_t>(entry.info->size_bytes));
  auto held = std::make_shared<Held>(Held{set.memory,
                                          {entry.operator_name.str() + " (in memory)",
                                           MappedFile::of_memory(bytes),
                                           io::format_by_name("raw"),
                                           {}}});
  return {held, &held->file};
}

// Tools that decode a dump write its bytes as they lay on the device, and arrays have no word for
// that.
void tell_layout(const StoredAs& as, TensorInfo& info) {
  if (info.layout != kPlainLayout || info.logical_shape || info.shape == as.logical) return;
  const auto layout = as.layout ? as.layout : blocked_layout(info.shape, as.logical);
  if (!info.strides.empty() || !layout || !plain_map(*layout, info.shape, as.logical)) return;
  info.layout = *layout;
  info.logical_shape = as.logical;
}

}  // namespace

Result<EntryReader> EntryReader::open(const DumpSet& set, const Entry& entry,
                                      const io::ReadHints& hints, const io::ReadOrder& order,
                                      FileCache* cache) {
  if (entry.parts.empty())
    return Error{"only statistics of this tensor were recorded",
                 fmt::format("{}: {} {}", entry.record, entry.operator_name, to_string(entry.slot)),
                 "dump the tensor itself"};
  std::optional<FileCache> own;
  if (cache == nullptr) cache = &own.emplace();
  EntryReader opened;
  opened.order_ = order;
  if (order.map) opened.order_.kept = cache->spare();
  std::vector<const TensorInfo*> infos;
  for (const TensorRef& part : entry.parts) {
    const bool is_known = entry.info && entry.parts.size() == 1 && entry.info->name == part.tensor;
    if (entry.memory != nullptr) {
      opened.files_.push_back(memory_file(set, entry));
    } else {
      auto file = cache->open(set, part, hints, !is_known);
      if (!file) return file.error();
      opened.files_.push_back(std::move(*file));
    }
    if (is_known) {
      infos.push_back(&*entry.info);
      continue;
    }
    auto info = find_tensor(*opened.files_.back(), part.tensor);
    if (!info) return info.error();
    infos.push_back(*info);
  }
  if (entry.parts.size() == 1) {
    opened.info_ = *infos[0];
    if (entry.stored_as) tell_layout(*entry.stored_as, opened.info_);
    auto reader = opened.files_[0]->open(opened.info_, opened.order_);
    if (!reader) return reader.error();
    opened.reader_ = std::make_unique<io::TensorReader>(std::move(*reader));
    return opened;
  }
  std::vector<io::TensorReader> readers;
  for (size_t i = 0; i < infos.size(); ++i) {
    auto reader = opened.files_[i]->open(*infos[i], {.stored = true, .axes = {}, .logical = {}});
    if (!reader) return reader.error();
    readers.push_back(std::move(*reader));
  }
  auto joined = join_parts(entry, infos, readers);
  if (!joined) return joined.error();
  opened.info_ = std::move(joined->info);
  opened.info_.logical_shape = whole_shape(opened.files_[0]->listing, *infos[0]);
  opened.joined_ = std::make_shared<const std::vector<std::byte>>(std::move(joined->bytes));
  return opened.again();
}

Result<EntryReader> EntryReader::again() const {
  EntryReader other;
  other.files_ = files_;
  other.joined_ = joined_;
  other.info_ = info_;
  other.order_ = order_;
  if (joined_ == nullptr) {
    auto reader = files_[0]->open(info_, order_);
    if (!reader) return reader.error();
    other.reader_ = std::make_unique<io::TensorReader>(std::move(*reader));
    return other;
  }
  auto reader = io::TensorReader::open(*files_[0]->format, *joined_, info_, order_);
  if (!reader) return std::move(reader.error()).in(files_[0]->path);
  other.reader_ = std::make_unique<io::TensorReader>(std::move(*reader));
  return other;
}

namespace {

// `owner` is kept as long as the source; null if somebody else keeps the reader.
PieceSource source_of(EntryReader& entry, const std::shared_ptr<EntryReader>& owner) {
  PieceSource source = io::pieces_of(entry.reader());
  source.read = [&entry, owner](int64_t first, int64_t count) {
    auto piece = entry.reader().read(first, count);
    return piece ? piece : Result<Bytes>(std::move(piece.error()).in(entry.path()));
  };
  source.check = [&entry] { return entry.check_intact(); };
  if (!entry.reader().is_random_access()) return source;
  source.again = [&entry]() -> Result<PieceSource> {
    auto other = entry.again();
    if (!other) return other.error();
    const auto own = std::make_shared<EntryReader>(std::move(*other));
    return source_of(*own, own);
  };
  return source;
}

}  // namespace

PieceSource EntryReader::pieces() { return source_of(*this, nullptr); }

Result<void> EntryReader::check_intact() const {
  for (const auto& file : files_)
    if (auto checked = file->mapping.check(file->path); !checked) return checked;
  return {};
}

}  // namespace plumb::dump
