// SPDX-License-Identifier: Apache-2.0
//
// NumPy's npz files: a zip archive of npy files, one per array, stored or deflated.
// Described in the NumPy manual under `numpy.savez`.
#include <algorithm>

#include <fmt/format.h>

#include "io/archive_member.h"
#include "io/npy.h"
#include "io/reader.h"
#include "io/zip.h"

namespace plumb::io {
namespace {

bool probe_npz(Bytes head, uint64_t) {
  const std::string_view text = as_text(head);
  return text.starts_with("PK\3\4") || text.starts_with("PK\5\6");  // the latter holds nothing
}

// Statistics and sketches that dump/reduced.h puts beside the arrays.
bool is_detail_of_reduced(std::string_view name) {
  return name == "plumb.json" || (name.starts_with("plumb.sketch/") && !name.ends_with(kNpySuffix));
}

Result<Listing> list_npz(Bytes file, const ReadHints& hints) {
  auto members = list_zip(file);
  if (!members) return members.error();
  Listing listing;
  for (const ZipMember& member : *members) {
    if (member.name.ends_with('/') && member.size_bytes == 0) continue;  // a directory
    if (is_detail_of_reduced(member.name)) {
      listing.properties.emplace_back("reduced", member.name);
      continue;
    }
    auto info = read_member(file, member, hints);
    if (info && !*info) {
      listing.warnings.push_back(fmt::format("member '{}' is not an npy file", member.name));
      continue;
    }
    TensorInfo& tensor = listing.tensors.emplace_back();
    if (info) {
      tensor = std::move(**info);
    } else {
      tensor.error = std::move(info.error());
    }
    tensor.name = member.name;
    if (member.name.ends_with(kNpySuffix))
      tensor.name.resize(member.name.size() - kNpySuffix.size());
  }
  if (listing.tensors.empty() && !listing.warnings.empty())
    return Error{"zip archive holds no npy file",
                 fmt::format("byte 0: {} members, the first is '{}'", members->size(),
                             members->front().name),
                 "name an archive written by numpy.savez, or unpack this one"};
  return listing;
}

// The only tensor of a file may have no name; numpy would call it so.
std::string_view name_in_archive(const WriteItem& item) {
  return item.name.empty() ? "arr_0" : std::string_view(item.name);
}

Result<void> write_npz(FileSink& out, std::span<const WriteItem> items) {
  ZipWriter zip(out);
  std::vector<std::string_view> names;
  for (const WriteItem& item : items) names.push_back(name_in_archive(item));
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return Error{"two tensors of the same name", fmt::format("'{}'", *twice),
                 "rename one, or write separate files"};
  for (const WriteItem& item : items) {
    auto begun = zip.begin(fmt::format("{}{}", name_in_archive(item), kNpySuffix));
    if (!begun) return begun.error();
    zip.write(as_bytes(npy_header(item.dtype, item.shape)));
    auto source = item.open();
    if (!source) return source.error();
    auto written =
        for_each_piece(*source, [&](Bytes piece, int64_t, int64_t) { zip.write(piece); });
    if (!written) return written.error();
  }
  zip.finish();
  return {};
}

bool writable_in_npz(DType dtype) { return info_of(dtype).portable == dtype; }

bool is_npz_name(std::string_view name) { return name.ends_with(".npz"); }

}  // namespace

extern constexpr Format kNpz{"npz",           "NumPy archive of arrays, stored or deflated",
                             probe_npz,       list_npz,
                             nullptr,         write_npz,
                             writable_in_npz, is_npz_name};

}  // namespace plumb::io
