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

// Files that people name by mistake, or by a wrong idea of what a command takes.
struct OtherFile {
  std::string_view start, what, advice;
};
constexpr OtherFile kOtherFiles[] = {
    {"\x89PNG\r\n", "a picture is no tensor",
     "models are fed with it: `plumb run`, `plumb dump` and others take it as --input"},
    {"\xff\xd8\xff", "a picture is no tensor",
     "models are fed with it: `plumb run`, `plumb dump` and others take it as --input"},
    {"%PDF", "a PDF document is no tensor", "name a file or directory of tensors"},
};

// A document of ours: {"schema": "plumb.result/1", ...}
bool is_own_document(Bytes head) {
  const std::string_view text = as_text(head).substr(0, 80);
  return text.starts_with('{') && text.find("\"schema\"") != std::string_view::npos &&
         text.find("\"plumb.") != std::string_view::npos;
}

Error no_tensor_file(Bytes file) {
  const std::string where = "byte 0: starts with " + first_bytes(file);
  for (const OtherFile& other : kOtherFiles)
    if (as_text(file).starts_with(other.start))
      return {std::string(other.what), where, std::string(other.advice)};
  if (is_own_document(file))
    return {"a document that plumb wrote is no tensor", where,
            "a result is read by `plumb report`, `plumb diagnose` and --baseline"};
  return {"not a tensor file of a known format", where,
          "`plumb formats` lists what can be read; raw data needs --dtype and --shape of compare, "
          "convert or inspect"};
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
  return no_tensor_file(file);
}

}  // namespace plumb::io
