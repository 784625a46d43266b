// SPDX-License-Identifier: Apache-2.0
#include "input/source.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/number_from_text.h"
#include "dump/memory.h"
#include "input/open_axes.h"
#include "io/file.h"

namespace plumb::input {
namespace {

using engine::Port;
using engine::Tensor;

std::string port_text(const Port& port) {
  return fmt::format("input '{}' takes {} {}", port.name,
                     port.dtype ? std::string(name_of(*port.dtype)) : port.kind,
                     to_string(port.shape));
}

std::string extension_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  std::string extension(dot == name.npos ? "" : name.substr(dot + 1));
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return extension;
}

bool is_called_like_picture(std::string_view path) {
  const std::string extension = extension_of(path);
  return extension == "jpg" || extension == "jpeg" || extension == "png" || extension == "bmp";
}

bool is_tensor_file(Bytes file, std::string_view path) {
  io::ReadHints hints;
  hints.file_name = path.substr(path.rfind('/') + 1);
  return io::detect_format(file, hints).ok();
}

// The port's shape for data of this shape: open axes take the data's sizes. Axes of length 1 may be
// there on one side only, as in `plumb compare`.
std::optional<Shape> fitted_shape(const Shape& data, const Shape& port) {
  if (data.size() == port.size()) {
    for (size_t i = 0; i < data.size(); ++i)
      if (port[i] >= 0 && port[i] != data[i]) return std::nullopt;
    return data;
  }
  const Shape bare = squeezed(data);
  Shape shape = port;
  size_t next = 0;
  size_t open = static_cast<size_t>(
      std::count_if(port.begin(), port.end(), [](int64_t size) { return size != 1; }));
  for (int64_t& size : shape) {
    if (size == 1) continue;
    // An axis of any size may be one of length 1 that the data leaves out.
    if (size < 0 && open > bare.size() - next) {
      size = 1;
      --open;
      continue;
    }
    if (next == bare.size() || (size >= 0 && size != bare[next])) return std::nullopt;
    size = bare[next++];
    --open;
  }
  if (next != bare.size()) return std::nullopt;
  return shape;
}

// The size of a single open axis follows from that of the file; a batch without one is 1.
Shape shape_for_raw(const Port& port, size_t file_bytes) {
  Shape shape = port.shape;
  const auto open =
      std::count_if(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
  if (open > 1 && has_open_batch(port)) shape[0] = 1;
  const auto axis = std::find_if(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
  if (axis == shape.end()) return shape;
  *axis = 1;
  const auto count = element_count(shape);
  const auto bytes = count ? byte_count(*port.dtype, *count) : std::nullopt;
  const auto size = static_cast<int64_t>(file_bytes);
  *axis = bytes.value_or(0) > 0 && size > 0 && size % *bytes == 0 ? size / *bytes : -1;
  return shape;
}

Result<Tensor> tensor_from_raw(Bytes file, const Port& model_port) {
  Port port = model_port;
  port.shape = shape_for_raw(model_port, file.size());
  if (is_open(port))
    return Error{
        "how large should the input be?",
        fmt::format("{}; the file has {} bytes and no header", port_text(model_port), file.size()),
        shape_advice(model_port)};
  const auto count = element_count(port.shape);
  const auto bytes = count ? byte_count(*port.dtype, *count) : std::nullopt;
  if (!bytes || static_cast<uint64_t>(*bytes) != file.size())
    return Error{"the file does not hold what the model takes",
                 fmt::format("byte {}: {}, {} bytes; the file has {}", file.size(), port_text(port),
                             bytes.value_or(-1), file.size()),
                 "write exactly the elements of the input, little-endian, without a header"};
  Tensor tensor{*port.dtype, port.shape, {}};
  tensor.bytes.assign(file.begin(), file.end());
  return tensor;
}

// ---- tensor files ----

Result<const TensorInfo*> chosen(const io::TensorFile& file, const Source& source,
                                 const Port& port) {
  const auto& tensors = file.listing.tensors;
  std::vector<std::string> names;
  const std::string& wanted = source.member.empty() ? port.name : source.member;
  for (const TensorInfo& info : tensors) {
    if (info.name == wanted) return &info;
    names.push_back(info.name);
  }
  if (tensors.size() == 1 && source.member.empty()) return &tensors.front();
  if (tensors.empty()) return Error{"the file holds no tensor", source.path, "write it again"};
  return Error{fmt::format("the file has no tensor '{}'", wanted),
               fmt::format("{}: {}, e.g. '{}'", source.path, counted(tensors.size(), "tensor"),
                           names.front()),
               did_you_mean(wanted, names) + "name its tensors like the model's inputs"};
}

// All elements of `reader`, as the port takes them.
Result<Tensor> tensor_from_reader(io::TensorReader& reader, const Source& source, const Port& port,
                                  bool cast) {
  const std::string& where = source.path;
  const char* noun = source.memory ? "array" : "file";
  const std::string data_text =
      fmt::format("the {} has {} {}", noun, name_of(reader.dtype()), to_string(reader.shape()));
  const auto shape = fitted_shape(reader.shape(), port.shape);
  if (!shape)
    return Error{fmt::format("the {} does not hold what the model takes", noun),
                 fmt::format("{}: {}, {}", where, port_text(port), data_text),
                 fmt::format("{} an array of the model's shape", source.memory ? "pass" : "save")};
  Tensor tensor{reader.dtype(), *shape, {}};
  const auto bytes = byte_count(reader.dtype(), reader.count());
  if (!bytes) return Error{"the tensor is impossibly large", where, "write it again"};
  try {
    tensor.bytes.resize(static_cast<size_t>(*bytes));
  } catch (const std::bad_alloc&) {
    return Error{"not enough memory for the tensor", fmt::format("{}: {}", where, data_text),
                 "use a machine with more memory"};
  }
  const auto item = static_cast<size_t>(bits_of(reader.dtype()) / 8);
  auto read = io::for_each_piece(reader, [&](Bytes piece, int64_t first, int64_t) {
    std::memcpy(tensor.bytes.data() + static_cast<size_t>(first) * item, piece.data(),
                piece.size());
  });
  if (!read) return std::move(read.error()).in(where);
  auto made = converted(std::move(tensor), *port.dtype, cast);
  if (!made) return std::move(made.error()).in(where);
  return made;
}

Result<Tensor> tensor_from_file(const Source& source, const Port& port, bool cast) {
  auto file = io::open_tensor_file(source.path);
  if (!file) return file.error();
  auto info = chosen(*file, source, port);
  if (!info) return info.error();
  auto reader = file->open(**info);
  if (!reader) return reader.error();
  auto tensor = tensor_from_reader(*reader, source, port, cast);
  if (auto checked = file->mapping.check(source.path); !checked) return checked.error();
  return tensor;
}

Result<Tensor> tensor_from_memory(const Source& source, const Port& port, bool cast) {
  auto set = dump::dump_of_tensors(std::span(source.memory.get(), 1));
  if (!set) return set.error();
  auto opened = dump::EntryReader::open(*set, set->entries.front());
  if (!opened) return opened.error();
  return tensor_from_reader(opened->reader(), source, port, cast);
}

// ---- bare pixels ----

ColorSpace color_by_name(const Source& source, const Preprocess& how) {
  const std::string extension = extension_of(source.name());
  for (const ColorSpace space :
       {ColorSpace::kNv12, ColorSpace::kNv21, ColorSpace::kYuyv, ColorSpace::kUyvy,
        ColorSpace::kBgr, ColorSpace::kRgb, ColorSpace::kGray, ColorSpace::kBgr0})
    if (color_space_from_name(extension) == space) return space;
  return how.source_color;
}

Result<Image> image_from_raw(Bytes file, ColorSpace space, const Port& port,
                             const Preprocess& how) {
  std::optional<Size> size = how.source_size;
  if (!size) {
    auto axes = picture_axes(port, how.layout);
    if (!axes) return axes.error();
    if (axes->width && axes->height) {
      const bool planar = how.color == ColorSpace::kNv12 || how.color == ColorSpace::kNv21;
      size = Size{*axes->width, planar ? *axes->height / 3 * 2 : *axes->height};
    }
  }
  if (!size)
    return Error{"how large is the picture?",
                 fmt::format("byte 0: bare {} pixels have no header", name_of(space)),
                 "say it: --source-size 640x480"};
  const auto bytes = image_bytes(space, *size);
  if (!bytes || static_cast<uint64_t>(*bytes) != file.size())
    return Error{"the file is not a picture of this size",
                 fmt::format("byte {}: {} of {} takes {} bytes, the file has {}", file.size(),
                             name_of(space), to_string(*size), bytes.value_or(-1), file.size()),
                 "pass the size of the picture: --source-size 640x480"};
  Image image{*size, space, {}};
  const auto* first = reinterpret_cast<const uint8_t*>(file.data());
  image.bytes.assign(first, first + file.size());
  return image;
}

// ---- files of many pictures ----

Result<std::shared_ptr<const IdxImages>> idx_images(const std::string& path, Bytes file,
                                                    SourceCache* cache) {
  if (cache != nullptr && cache->path == path && cache->images) return cache->images;
  auto images = read_idx_images(file);
  if (!images) return std::move(images.error()).in(path);
  auto kept = std::make_shared<const IdxImages>(std::move(*images));
  if (cache != nullptr) *cache = {path, kept};
  return kept;
}

bool is_raw_name(std::string_view path) {
  const std::string extension = extension_of(path);
  return extension == "bin" || extension == "raw";
}

}  // namespace

Source source_from_text(std::string_view text) {
  const size_t mark = text.rfind('#');
  if (mark == text.npos || mark + 1 == text.size()) return {std::string(text), {}, {}};
  const auto index = number_from_text<int64_t>(text.substr(mark + 1));
  if (!index || *index < 0) return {std::string(text), {}, {}};
  return {std::string(text.substr(0, mark)), *index, {}};
}

Source source_in_memory(NamedTensor tensor) {
  Source source;
  source.path = "memory";
  source.memory = std::make_shared<const NamedTensor>(std::move(tensor));
  return source;
}

std::string to_string(const Source& source) {
  if (source.archive) return fmt::format("{}: {}", source.path, source.name());
  return source.index ? fmt::format("{}#{}", source.path, *source.index) : source.name();
}

Result<Tensor> load_input(const Source& source, const Port& port, const Preprocess& how,
                          const LoadContext& context) {
  if (!port.dtype)
    return Error{"no file can be fed to this input", port_text(port),
                 "inputs that are no tensors of numbers are not supported"};
  if (source.memory) return tensor_from_memory(source, port, how.cast);
  if (source.archive) {
    auto file = source.archive->unpacked(source.entry);
    if (!file) return std::move(file.error()).in(to_string(source));
    Source inner{file->path(), {}, {}};
    inner.unpacked_name = source.unpacked_name;
    auto tensor = load_input(inner, port, how, {nullptr, context.sink});
    if (!tensor) return std::move(tensor.error()).in(source.path);
    return tensor;
  }
  const auto fed = [&](const Result<Image>& image) -> Result<Tensor> {
    if (!image) return Error(image.error()).in(to_string(source));
    auto tensor = apply(how, *image, port, context.sink);
    if (!tensor) return std::move(tensor.error()).in(to_string(source));
    return tensor;
  };
  if (context.cache != nullptr && context.cache->images && context.cache->path == source.path)
    return fed(context.cache->images->at(source.index.value_or(0)));
  auto mapping = MappedFile::open(source.path);
  if (!mapping) return mapping.error();
  const Bytes file = mapping->bytes();
  const auto from_image = [&](const Result<Image>& image) -> Result<Tensor> {
    if (auto checked = mapping->check(source.path); !checked) return checked.error();
    return fed(image);
  };
  if (is_idx_images(file)) {
    auto images = idx_images(source.path, file, context.cache);
    if (!images) return images.error();
    return from_image((*images)->at(source.index.value_or(0)));
  }
  if (source.index)
    return Error{"only files of many pictures have numbers", to_string(source),
                 "leave out the number"};
  if (is_image_file(file)) return from_image(decode_image(file));
  const ColorSpace space = color_by_name(source, how);
  const std::string extension = extension_of(source.name());
  if (space != ColorSpace::kAuto && color_space_from_name(extension))
    return from_image(image_from_raw(file, space, port, how));
  if (is_raw_name(source.name()) && !as_text(file).starts_with("\x93NUMPY")) {
    auto tensor = tensor_from_raw(file, port);
    // Pixels, if that is what the colours given mean; the tensor itself if it is exactly that.
    if (space != ColorSpace::kAuto) {
      auto image = image_from_raw(file, space, port, how);
      if (image || !tensor) return from_image(std::move(image));
    }
    if (!tensor) return std::move(tensor.error()).in(source.path);
    return tensor;
  }
  if (is_called_like_picture(source.name()) && !is_tensor_file(file, source.path))
    return from_image(decode_image(file));
  return tensor_from_file(source, port, how.cast);
}

Result<int64_t> count_inputs(const std::string& path, SourceCache& cache) {
  auto mapping = MappedFile::open(path);
  if (!mapping) return mapping.error();
  if (!is_idx_images(mapping->bytes())) return 1;
  auto images = idx_images(path, mapping->bytes(), &cache);
  if (!images) return images.error();
  return (*images)->count;
}

bool is_picture(const Source& source) {
  if (source.memory) return false;
  std::optional<Result<UnnamedFile>> unpacked;
  if (source.archive) unpacked.emplace(source.archive->unpacked(source.entry));
  if (unpacked && !*unpacked) return false;
  auto mapping = MappedFile::open(unpacked ? (**unpacked).path() : source.path);
  return mapping && is_image_file(mapping->bytes());
}

bool is_called_like_input(const std::string& path) {
  if (is_called_like_picture(path)) return true;
  const std::string extension = extension_of(path);
  for (const char* known : {"npy", "npz", "pb", "bin", "raw"})
    if (extension == known) return true;
  return color_space_from_name(extension).has_value();
}

bool may_be_input(const std::string& path) {
  if (is_called_like_input(path)) return true;
  auto mapping = MappedFile::open(path);
  if (!mapping) return true;  // its turn will say why
  return is_image_file(mapping->bytes()) || is_idx_images(mapping->bytes()) ||
         is_tensor_file(mapping->bytes(), path);
}

std::vector<std::string> member_names(const std::string& path) {
  auto mapping = MappedFile::open(path);
  if (!mapping || is_image_file(mapping->bytes()) || is_raw_name(path)) return {};
  auto file = io::open_tensor_file(path);
  if (!file) return {};
  std::vector<std::string> names;
  for (const TensorInfo& info : file->listing.tensors)
    if (!info.name.empty()) names.push_back(info.name);
  return names;
}

}  // namespace plumb::input
