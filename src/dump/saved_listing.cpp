// SPDX-License-Identifier: Apache-2.0
//
// Fields go through one list for both directions, so that what is written is what is read. Numbers
// are varints; texts share their beginning with the text that stood in the same field before, since
// entries are sorted: a listing takes some forty bytes for a tensor.
#include "dump/saved_listing.h"

#include <algorithm>
#include <array>
#include <bit>

#include "dump/listing.h"

namespace plumb::dump {
namespace {

constexpr size_t kMostExpanded = 64;  // bytes of text for each byte that was read

// Texts that resemble the one before them in the same field.
enum Field : size_t { kOperator, kType, kPath, kGraph, kFile, kTensor, kRecord, kOther, kFields };

class Saver {
 public:
  static constexpr bool kReads = false;
  explicit Saver(std::string& out) : out_(out) {}

  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void text(Field field, const std::string& value) {
    std::string& last = last_[field];
    const auto shared = static_cast<size_t>(
        std::mismatch(last.begin(), last.end(), value.begin(), value.end()).first - last.begin());
    number(shared);
    number(value.size() - shared);
    out_.append(value, shared);
    last = value;
  }
  size_t count(size_t value) {
    number(value);
    return value;
  }

 private:
  std::string& out_;
  std::array<std::string, kFields> last_;
};

class Loader {
 public:
  static constexpr bool kReads = true;
  explicit Loader(Bytes bytes) : bytes_(bytes), room_(bytes.size() * kMostExpanded) {}

  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = bytes_.u8();
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }
  void text(Field field, std::string& value) {
    std::string& last = last_[field];
    const uint64_t shared = number();
    const Bytes rest = bytes_.take(number());
    const uint64_t size = shared + rest.size();
    if (!ok() || shared > last.size() || size > room_) return void(failed_ = true);
    room_ -= size;
    last.resize(shared);
    last += as_text(rest);
    value = last;
  }
  // Each takes a byte at least.
  size_t count(size_t) {
    const uint64_t value = number();
    if (value > bytes_.left()) failed_ = true;
    return failed_ ? 0 : static_cast<size_t>(value);
  }
  SharedText shared(const std::string& value) { return texts_.of(value); }
  bool ok() const { return bytes_.ok() && !failed_; }
  void fail() { failed_ = true; }
  size_t position() const { return bytes_.position(); }

  FilePaths paths;
  Places places;

 private:
  SharedTexts texts_;
  ByteReader bytes_;
  uint64_t room_;
  std::array<std::string, kFields> last_;
  bool failed_ = false;
};

// Signed numbers near 0 are short.
void integer(Saver& to, int64_t value) {
  to.number((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}
void integer(Loader& from, int64_t& value) {
  const uint64_t code = from.number();
  value = static_cast<int64_t>(code >> 1) ^ -static_cast<int64_t>(code & 1);
}

template <class T>
void whole(Saver& to, const T& value) {
  integer(to, static_cast<int64_t>(value));
}
template <class T>
void whole(Loader& from, T& value) {
  int64_t number = 0;
  integer(from, number);
  value = static_cast<T>(number);
  if (static_cast<int64_t>(value) != number) from.fail();
}
void real(Saver& to, double value) { to.number(std::bit_cast<uint64_t>(value)); }
void real(Loader& from, double& value) { value = std::bit_cast<double>(from.number()); }

void flag(Saver& to, bool value) { to.number(value ? 1 : 0); }
void flag(Loader& from, bool& value) { value = from.number() != 0; }

void text(auto& archive, Field field, std::string& value) { archive.text(field, value); }
void text(auto& archive, Field field, SharedText& value) {
  std::string plain = value;
  archive.text(field, plain);
  if constexpr (std::remove_reference_t<decltype(archive)>::kReads) value = archive.shared(plain);
}

// A member that may be missing, of either kind of optional.
template <class Archive, class Optional, class Use>
void maybe(Archive& archive, Optional& value, const Use& use) {
  bool has = value.has_value();
  flag(archive, has);
  if (!has) return;
  if constexpr (Archive::kReads) value.emplace();
  use(*value);
}

template <class Archive, class T, class Use>
void each(Archive& archive, std::vector<T>& list, const Use& use) {
  const size_t count = archive.count(list.size());
  if constexpr (Archive::kReads) list.resize(count);
  for (T& item : list) use(item);
}

template <class Archive>
void shape(Archive& archive, Shape& value) {
  each(archive, value, [&](int64_t& axis) { whole(archive, axis); });
}

void place_fields(auto& archive, Place& at) {
  maybe(archive, at.step, [&](int64_t& step) { whole(archive, step); });
  maybe(archive, at.rank, [&](int64_t& rank) { whole(archive, rank); });
  text(archive, kGraph, at.graph);
}

void fields(auto& archive, Slot& slot) {
  whole(archive, slot.kind);
  whole(archive, slot.index);
  text(archive, kPath, slot.path);
}

void fields(auto& archive, Error& error) {
  text(archive, kOther, error.what);
  text(archive, kOther, error.where);
  text(archive, kOther, error.remedy);
}

void fields(auto& archive, Statistics& s) {
  text(archive, kOther, s.dtype);
  maybe(archive, s.shape, [&](Shape& value) { shape(archive, value); });
  for (std::optional<double>* number : {&s.min, &s.max, &s.mean, &s.l2, &s.std})
    maybe(archive, *number, [&](double& value) { real(archive, value); });
  for (std::optional<int64_t>* number : {&s.nan_count, &s.inf_count, &s.zeros})
    maybe(archive, *number, [&](int64_t& value) { whole(archive, value); });
  maybe(archive, s.requires_grad, [&](bool& value) { flag(archive, value); });
  text(archive, kOther, s.checksum);
  text(archive, kOther, s.text);
  flag(archive, s.has_sketch);
}

// What can be checked against any file: see TensorReader::open.
bool lies_plainly(const TensorInfo& info) {
  return info.packing == Packing::kPlain && info.strides.empty() && info.first_element == 0 &&
         !info.crc32 && !info.values;
}

void fields(auto& archive, TensorInfo& info) {
  text(archive, kTensor, info.name);
  whole(archive, info.dtype);
  text(archive, kOther, info.dtype_name);
  flag(archive, info.big_endian);
  shape(archive, info.shape);
  whole(archive, info.layout.number);
  whole(archive, info.layout.groups);
  maybe(archive, info.logical_shape, [&](Shape& value) { shape(archive, value); });
  whole(archive, info.offset_bytes);
  whole(archive, info.size_bytes);
  each(archive, info.notes, [&](std::string& note) { text(archive, kOther, note); });
  maybe(archive, info.error, [&](Error& error) { fields(archive, error); });
}

void path(Saver& to, const FilePath& value) { to.text(kFile, value); }
void path(Loader& from, FilePath& value) {
  std::string whole;
  from.text(kFile, whole);
  value = from.paths.add(whole);
}

void place(Saver& to, const Shared<const Place>& value) {
  Place at = value ? *value : Place();
  place_fields(to, at);
}
void place(Loader& from, Shared<const Place>& value) {
  Place at;
  place_fields(from, at);
  value = from.places.of(std::move(at));
}

void fields(auto& archive, TensorRef& part) {
  path(archive, part.file);
  text(archive, kTensor, part.tensor);
  bool has_name = !part.real_name.empty();
  flag(archive, has_name);
  if (has_name) text(archive, kOther, part.real_name);
}

void parts(Saver& to, Parts& value) {
  to.number(value.size());
  for (TensorRef& part : value) fields(to, part);
}
void parts(Loader& from, Parts& value) {
  for (size_t left = from.count(0); left > 0; --left) {
    TensorRef part;
    fields(from, part);
    value.push_back(std::move(part));
  }
}

void fields(auto& archive, Entry& entry) {
  text(archive, kOperator, entry.operator_name);
  text(archive, kType, entry.type);
  fields(archive, entry.slot);
  place(archive, entry.place);
  whole(archive, entry.timestamp);
  parts(archive, entry.parts);
  whole(archive, entry.parts.join_axis);
  bool is_packed = entry.info && !lies_plainly(*entry.info);
  flag(archive, is_packed);
  if constexpr (std::remove_reference_t<decltype(archive)>::kReads) {
    if (is_packed) entry.info.emplace().packing = Packing::kFormat;  // until it is read again
  }
  if (is_packed)
    text(archive, kTensor, entry.info->name);
  else
    maybe(archive, entry.info, [&](TensorInfo& info) { fields(archive, info); });
  maybe(archive, entry.statistics, [&](Statistics& s) { fields(archive, s); });
  text(archive, kRecord, entry.record);
  flag(archive, entry.is_beside);
  whole(archive, entry.order);
}

void fields(auto& archive, Skipped& skipped) {
  text(archive, kFile, skipped.file);
  text(archive, kOther, skipped.reason);
  maybe(archive, skipped.error, [&](Error& error) { fields(archive, error); });
  flag(archive, skipped.is_foreign);
  flag(archive, skipped.is_not_given);
}

void fields(auto& archive, DumpSet& set, std::string& root, std::string& graph_file) {
  text(archive, kOther, root);
  text(archive, kOther, set.convention);
  Traits& traits = set.traits;
  for (bool* trait : {&traits.is_device, &traits.has_numbered_calls, &traits.is_torchair_ge,
                      &traits.is_torchair_fx, &set.is_single_file})
    flag(archive, *trait);
  text(archive, kOther, graph_file);
  each(archive, set.entries, [&](Entry& entry) { fields(archive, entry); });
  each(archive, set.skipped, [&](Skipped& skipped) { fields(archive, skipped); });
  each(archive, set.warnings, [&](std::string& warning) { text(archive, kOther, warning); });
}

bool is_below(std::string_view file) {
  const auto names = components(file);
  return !file.starts_with('/') && file.find('\0') == file.npos &&
         std::find(names.begin(), names.end(), "..") == names.end();
}

// That later stages can believe what they would have made themselves.
bool is_sound(const Entry& entry) {
  const auto has_kind = entry.slot.kind <= SlotKind::kOther;
  const bool has_data = !entry.parts.empty() || (entry.statistics && !entry.record.empty());
  const bool is_typed = !entry.info || entry.info->dtype <= DType::kOpaque;
  const bool has_file = !entry.info || !entry.parts.empty();  // of which the description is
  return has_kind && has_data && is_typed && has_file && is_below(entry.record) &&
         std::all_of(entry.parts.begin(), entry.parts.end(),
                     [](const TensorRef& part) { return is_below(part.file.str()); });
}

// What was not kept.
Result<void> describe_packed(DumpSet& set, const io::ReadHints& hints) {
  FileCache files;
  for (Entry& entry : set.entries) {
    if (!entry.info || entry.info->packing == Packing::kPlain) continue;
    auto file = files.open(set, entry.parts.front(), hints);
    if (!file) return file.error();
    const std::string name = entry.info->name;
    auto info = find_tensor(**file, name);
    if (!info) return info.error();
    entry.info = **info;
  }
  return {};
}

Error damaged(size_t position) {
  return {"the saved listing of a dump is damaged", "byte " + std::to_string(position),
          "delete the plan file and start anew"};
}

}  // namespace

void save_listing(const DumpSet& set, std::string& out) {
  Saver saver(out);
  // Nothing is changed: the same list of fields reads and writes.
  auto& same = const_cast<DumpSet&>(set);
  std::string root = set.root.string(), graph_file(set.traits.graph_file);
  fields(saver, same, root, graph_file);
}

Result<DumpSet> read_listing(Bytes& from, const io::ReadHints& hints) {
  Loader loader(from);
  DumpSet set;
  std::string root, graph_file;
  fields(loader, set, root, graph_file);
  loader.paths.finish();
  if (!loader.ok() || !std::all_of(set.entries.begin(), set.entries.end(), is_sound))
    return damaged(loader.position());
  set.root = root;
  set.map = hints.map;
  for (const Convention& convention : conventions())
    if (convention.traits.graph_file == graph_file)
      set.traits.graph_file = convention.traits.graph_file;
  from = from.subspan(loader.position());
  if (auto described = describe_packed(set, hints); !described) return described.error();
  return set;
}

}  // namespace plumb::dump
