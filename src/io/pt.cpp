// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's .pt and .pth files: a pickle that describes objects, with the elements of their tensors
// beside it. Since PyTorch 1.6 a zip archive, before that pickles and storages one after the other.
// Described by torch/serialization.py and docs/source/notes/serialization.rst of PyTorch.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/checked.h"
#include "io/inflate.h"
#include "io/npy.h"
#include "io/pt_objects.h"
#include "io/zip.h"

namespace plumb::io {
namespace {

// The end of the pickled magic number 0x1950a86a20f9469cfc6c that opens the older form.
constexpr std::string_view kLegacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr uint64_t kMaxPickleGrowth = 100;  // the text of a pickle packs ten- or twentyfold

bool is_legacy(Bytes head) {
  const std::string_view start = as_text(head.first(std::min<size_t>(head.size(), 64)));
  return start.starts_with('\x80') && start.find(kLegacyMagic) != start.npos;
}

// PyTorch 0.1 wrote tar archives of these members.
bool is_tar(Bytes head) {
  const std::string_view text = as_text(head);
  if (text.size() < 512 || text.substr(257, 5) != "ustar") return false;
  const std::string_view name = text.substr(0, text.find('\0'));
  return name == "sys_info" || name == "pickle" || name == "tensors" || name == "storages";
}

// A zip archive whose first member lies in a folder, is called as PyTorch calls its members, and is
// no array: some debuggers write arrays under names with slashes and without an extension.
bool is_zip(Bytes head) {
  constexpr uint16_t kDeflated = 8;
  constexpr std::string_view kMembers[] = {
      "data.pkl", "version", "byteorder", "constants.pkl", ".format_version", ".storage_alignment"};
  constexpr std::string_view kFolders[] = {"data/", ".data/", "code/", "constants/", "extra/"};
  ByteReader reader(head);
  if (as_text(reader.take(4)) != "PK\3\4") return false;
  reader.skip(4);
  const uint16_t method = reader.u16();
  reader.skip(16);
  const size_t size = reader.u16(), extra = reader.u16();
  const std::string_view name = as_text(reader.take(std::min(size, reader.left())));
  const std::string_view inner = name.substr(std::min(name.size(), name.find('/') + 1));
  const auto lies_in = [&](std::string_view folder) { return inner.starts_with(folder); };
  if (inner.size() == name.size() ||  // at the top
      (std::find(std::begin(kMembers), std::end(kMembers), inner) == std::end(kMembers) &&
       std::none_of(std::begin(kFolders), std::end(kFolders), lies_in)))
    return false;
  reader.skip(std::min(extra, reader.left()));
  Bytes data = reader.take(reader.left());
  std::array<std::byte, kNpyPrefixBytes> unpacked;
  if (method == kDeflated && Inflater(data).read(unpacked.data(), unpacked.size())) data = unpacked;
  return !is_npy(data) && !name.ends_with(".npy");
}

bool probe_pt(Bytes head, uint64_t) { return is_zip(head) || is_legacy(head) || is_tar(head); }

struct Archive {
  std::vector<ZipMember> members;
  std::string top;  // the folder that holds everything, with its slash

  const ZipMember* find(std::string_view name) const {
    for (const ZipMember& member : members)
      if (member.name.starts_with(top) && member.name.substr(top.size()) == name) return &member;
    return nullptr;
  }
};

Result<Archive> open_archive(Bytes file) {
  auto members = list_zip(file);
  if (!members) return members.error();
  Archive archive{std::move(*members), ""};
  for (ZipMember& member : archive.members) {
    // Saved with torch.utils.serialization.config.save.compute_crc32 off: no checksums.
    if (member.crc32 == 0u) member.crc32.reset();
    const size_t slash = member.name.find('/');
    if (slash == member.name.npos || member.name.substr(slash) != "/data.pkl") continue;
    if (!archive.top.empty())
      return Error{"archive holds several PyTorch files",
                   fmt::format("members '{}data.pkl' and '{}'", archive.top, member.name),
                   kSavePtAgain};
    archive.top = member.name.substr(0, slash + 1);
  }
  if (archive.top.empty())
    return Error{"zip archive is not a PyTorch file",
                 fmt::format("byte 0: none of its {} members is data.pkl", archive.members.size()),
                 "name a file written by torch.save, or an archive of arrays (npz)"};
  if (archive.find("constants.pkl") != nullptr)
    return Error{"this is a TorchScript program, not a file of tensors",
                 fmt::format("member '{}constants.pkl'", archive.top),
                 "load it with torch.jit.load and torch.save its state_dict()"};
  return archive;
}

// A member that holds a word, such as the version; empty if there is none.
Result<std::string> read_word(Bytes file, const Archive& archive, std::string_view name) {
  const ZipMember* member = archive.find(name);
  if (member == nullptr) return std::string();
  Buffer scratch;
  auto data = zip_member_data(file, *member, kMaxPickleGrowth, scratch);
  if (!data) return data.error();
  std::string_view word = as_text(*data);
  if (word.ends_with('\n')) word.remove_suffix(1);
  if (word.size() <= 20) return std::string(word);
  return Error{"archive's description is damaged",
               fmt::format("member '{}': {} bytes", member->name, word.size()), kCopyPtAgain};
}

Result<Listing> list_archive(Bytes file) {
  auto archive = open_archive(file);
  if (!archive) return archive.error();
  auto version = read_word(file, *archive, "version");
  if (!version) return version.error();
  auto order = read_word(file, *archive, "byteorder");  // since PyTorch 2.1
  if (!order) return order.error();
  if (!order->empty() && *order != "little" && *order != "big")
    return Error{"byte order is not known",
                 fmt::format("member '{}byteorder': '{}'", archive->top, *order), kCopyPtAgain};
  Listing listing;
  if (!version->empty()) listing.properties.emplace_back("version", *version);

  const ZipMember& pickled = *archive->find("data.pkl");
  Buffer scratch;
  auto data = zip_member_data(file, pickled, kMaxPickleGrowth, scratch);
  if (!data) return data.error();
  const std::string where = fmt::format("member '{}'", pickled.name);
  auto objects = Pickle::parse(*data);
  if (!objects) return std::move(objects.error()).in(where);

  StoragePlaces places;
  const std::string folder = archive->top + "data/";
  for (const ZipMember& member : archive->members)
    if (member.name.starts_with(folder))
      places.emplace(
          member.name.substr(folder.size()),
          StoragePlace{member.deflated ? Packing::kDeflated : Packing::kPlain, member.offset_bytes,
                       member.packed_bytes, member.size_bytes, member.crc32, member.error});
  auto listed = list_tensors(*objects, places, *order == "big", file.size(), listing);
  if (!listed) return std::move(listed.error()).in(where);
  return listing;
}

// The storages follow the pickles: a count and so many elements for each key. How long an element
// is only the pickled objects say.
StoragePlaces legacy_places(Bytes file, uint64_t start, const Pickle& objects, const Pickle& keys) {
  const auto item_bytes = storage_item_bytes(objects);
  StoragePlaces places;
  ByteReader reader(file);
  reader.skip(start);
  std::optional<Error> lost;
  for (const Pickle::Ref ref : keys.items(keys.root())) {
    const std::string_view key = keys.text(ref).substr(0, 100);  // it is a number
    StoragePlace place;
    if (!lost) {
      const uint64_t at = reader.position();
      const int64_t count = reader.i64();
      const auto known = item_bytes.find(key);
      const int64_t item = known == item_bytes.end() ? 0 : known->second;
      const auto size = checked_mul(count, item);
      place.offset_bytes = reader.position();
      place.size_bytes = place.packed_bytes = static_cast<uint64_t>(size.value_or(0));
      if (!reader.ok() || count < 0 || item == 0 || !size || place.size_bytes > reader.left())
        lost = Error{item == 0 ? "storage's type is not known" : "storage is cut off",
                     fmt::format("byte {}: storage '{}' of {} elements of {} bytes, {} are left",
                                 at, key, count, item, reader.left()),
                     kCopyPtAgain};
      else
        reader.skip(place.size_bytes);
    }
    place.error = lost;
    places.emplace(key, std::move(place));
  }
  return places;
}

Result<Listing> list_legacy(Bytes file) {
  // Magic number, protocol version, description of the machine, objects, keys of the storages. The
  // elements are little-endian whatever the machine was.
  std::vector<Pickle> pickles;
  uint64_t at = 0;
  for (int i = 0; i < 5; ++i) {
    auto pickle = Pickle::parse(file.subspan(at));
    if (!pickle)
      return std::move(pickle.error()).in(fmt::format("pickle {} at byte {}", i + 1, at));
    at += pickle->size_bytes();
    pickles.push_back(std::move(*pickle));
  }
  if (const int64_t version = pickles[1].integer(pickles[1].root()); version != 1001)
    return Error{"PyTorch file is of an unknown version", fmt::format("version {}", version),
                 kSavePtAgain};
  Listing listing;
  listing.properties.emplace_back("version", "1001");
  const StoragePlaces places = legacy_places(file, at, pickles[3], pickles[4]);
  auto collected = list_tensors(pickles[3], places, false, file.size(), listing);
  if (!collected) return collected.error();
  return listing;
}

Result<Listing> list_pt(Bytes file, const ReadHints&) {
  if (is_legacy(file)) return list_legacy(file);
  if (is_tar(file))
    return Error{"PyTorch files of version 0.1 are not read", "byte 257: a tar archive",
                 "load it with an older PyTorch and save it again"};
  return list_archive(file);
}

bool is_pt_name(std::string_view name) { return name.ends_with(".pt") || name.ends_with(".pth"); }

}  // namespace

extern constexpr Format kPt{
    "pt",     "PyTorch tensors saved with torch.save; nothing in them is run",
    probe_pt, list_pt,
    nullptr,  nullptr,
    nullptr,  is_pt_name};

}  // namespace plumb::io
