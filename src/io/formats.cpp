// SPDX-License-Identifier: Apache-2.0
//
// The table of all tensor file formats: a new one is a line here and a file beside this one.
#include <array>

#include <fmt/format.h>

#include "io/format.h"
#include "io/onnx_tensor.h"

namespace plumb::io {

extern const Format kAscendDump;
extern const Format kAscendNano;
extern const Format kAtb;
extern const Format kGzip;
extern const Format kHdf5;
extern const Format kNpy;
extern const Format kNpz;
extern const Format kOnnxTensor;
extern const Format kPt;
extern const Format kRaw;
extern const Format kSafetensors;
extern const Format kTar;
extern const Format kTextTable;

namespace {

std::string first_bytes(Bytes file) {
  std::string text;
  for (std::byte b : file.first(std::min<size_t>(file.size(), 8)))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned>(b));
  return text;
}

}  // namespace

// Most specific probe first; raw comes last and is never guessed. Made at the first call: whoever
// asks while the program is being started must not find it empty.
std::span<const Format> formats() {
  static const std::array kFormats{
      kNpy,        kHdf5,
      kPt,  // a zip archive, too, or a tar archive: before npz and tar
      kNpz,        kSafetensors, kGzip, kTar, kAscendNano, kAtb,
      kAscendDump,  // has no magic number
      kOnnxTensor, kTextTable,   kRaw,
  };
  return kFormats;
}

const Format* format_by_name(std::string_view name) {
  for (const Format& format : formats())
    if (format.name == name) return &format;
  return nullptr;
}

Result<const Format*> detect_format(Bytes file, const ReadHints& hints) {
  const Bytes head = file.first(std::min(file.size(), kProbeBytes));
  for (const Format& format : formats())
    if (format.probe(head, file.size())) return &format;
  for (const Format& format : formats())
    if (format.owns_name != nullptr && format.owns_name(hints.file_name)) return &format;
  if (hints.dtype) return &kRaw;
  if (file.empty()) return Error{"the file is empty", "byte 0", "write or copy it again"};
  if (is_onnx_sequence(head))
    return Error{kOnnxSequence, "byte 0: starts with " + first_bytes(file),
                 "save each tensor to a file of its own, e.g. with onnx.numpy_helper.from_array"};
  return Error{"not a tensor file of a known format", "byte 0: starts with " + first_bytes(file),
               "`plumb formats` lists what can be read; raw data needs --dtype and --shape"};
}

}  // namespace plumb::io
