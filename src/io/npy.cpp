// SPDX-License-Identifier: Apache-2.0
//
// NumPy's npy files, versions 1.0 to 3.0: a magic, a Python dictionary literal, the elements.
// Described in the NumPy manual under "NPY format".
#include "io/npy.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "io/reader.h"

namespace plumb::io {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kMaxNpyHeaderBytes = 1 << 20;

// The dictionary literal, read by recursive descent over just what numpy writes.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, size_t offset) : text_(text), offset_(offset) {}

  std::string_view descr;
  bool fortran_order = false;
  Shape shape;
  bool has_descr = false, has_order = false, has_shape = false;

  Result<void> parse() {
    if (!accept('{')) return fail("'{'");
    while (!accept('}')) {
      std::string_view key;
      if (!quoted(key) || !accept(':')) return fail("a quoted key and ':'");
      if (key == "descr") {
        if (peek() == '[' || peek() == '(') return structured();
        has_descr = quoted(descr);
        if (!has_descr) return fail("a quoted type");
      } else if (key == "fortran_order") {
        has_order = boolean(fortran_order);
        if (!has_order) return fail("True or False");
      } else if (key == "shape") {
        has_shape = tuple(shape);
        if (!has_shape) return fail("a tuple of sizes");
      } else {
        return Error{"npy header has an unknown key", fmt::format("{}: '{}'", where(), key),
                     "save the array again with numpy.save"};
      }
      if (!accept(',') && peek() != '}') return fail("',' or '}'");
    }
    if (!has_descr || !has_order || !has_shape) return fail("descr, fortran_order and shape");
    spaces();
    if (at_ < text_.size()) return fail("nothing but spaces after the dictionary");
    return {};
  }

 private:
  // Eight at a time first: headers end in as many spaces as the rest of them has letters.
  void spaces() {
    if (at_ < text_.size() && text_[at_] > ' ') return;
    constexpr uint64_t kEight = 0x2020'2020'2020'2020;
    while (at_ + 8 <= text_.size() && load_le<uint64_t>(text_.data() + at_) == kEight) at_ += 8;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  char peek() {
    spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool quoted(std::string_view& out) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return false;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }
  bool boolean(bool& out) {
    spaces();
    for (auto [word, value] : {std::pair{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += std::string_view(word).size();
      out = value;
      return true;
    }
    return false;
  }
  bool tuple(Shape& out) {
    if (!accept('(')) return false;
    out.clear();
    out.reserve(8);  // once for nearly all of them
    while (!accept(')')) {
      spaces();
      int64_t dim = 0;
      const char* begin = text_.data() + at_;
      auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), dim);
      if (code != std::errc() || dim < 0) return false;
      at_ += static_cast<size_t>(end - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
      out.push_back(dim);
      if (!accept(',') && peek() != ')') return false;
    }
    return true;
  }
  std::string where() const { return fmt::format("byte {}", offset_ + at_); }
  Error fail(std::string_view expected) const {
    return {"npy header is damaged", fmt::format("{}: expected {}", where(), expected),
            "save the array again with numpy.save"};
  }
  Error structured() const {
    return {"npy file holds records, not a plain tensor", where() + ": descr is a list of fields",
            "save each field as an array of its own"};
  }

  std::string_view text_;
  size_t offset_;
  size_t at_ = 0;
};

struct Code {
  std::string_view code;  // kind and size
  DType dtype;
};
constexpr Code kCodes[] = {
    {"f4", DType::kFloat32},   {"f2", DType::kFloat16},     {"f8", DType::kFloat64},
    {"b1", DType::kBool},      {"i1", DType::kInt8},        {"u1", DType::kUint8},
    {"i2", DType::kInt16},     {"u2", DType::kUint16},      {"i4", DType::kInt32},
    {"u4", DType::kUint32},    {"i8", DType::kInt64},       {"u8", DType::kUint64},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
};

// Bytes of an element of a type that is none of numbers: text, dates, durations, void. Dates are
// not read as the integers they are stored as: the unit is part of the value, and so is "no date".
std::optional<int64_t> opaque_item_bytes(std::string_view code) {
  constexpr size_t kLongestCode = 40;  // "M8[25s]" has room
  if (code.size() < 2 || code.size() > kLongestCode) return {};
  const char kind = code.front();
  int64_t size = 0;
  const char* end = code.data() + code.size();
  const auto [at, failed] = std::from_chars(code.data() + 1, end, size);
  if (failed != std::errc() || size < 0 || size > INT32_MAX) return {};
  if (kind == 'M' || kind == 'm') {
    const bool has_unit = at != end && *at == '[' && code.back() == ']';
    return size == 8 && (at == end || has_unit) ? std::optional(size) : std::nullopt;
  }
  if (at != end) return {};
  if (kind == 'U') return 4 * size;
  return kind == 'S' || kind == 'a' || kind == 'V' ? std::optional(size) : std::nullopt;
}

bool probe_npy(Bytes head, uint64_t) { return is_npy(head); }

Result<Listing> list_npy(Bytes file, const ReadHints& hints) {
  auto info = parse_npy_header(file, hints);
  if (!info) return info.error();
  const uint64_t left = file.size() - info->offset_bytes;
  if (left < info->size_bytes)
    return Error{"npy file holds less data than its header promises",
                 fmt::format("byte {}: {} {} needs {} bytes, {} are left", info->offset_bytes,
                             dtype_text(*info), to_string(info->shape), info->size_bytes, left),
                 "copy or save the file again; it is truncated"};
  const uint64_t end = info->offset_bytes + info->size_bytes;
  if (is_npy(file.subspan(end)))  // numpy.save into a file that was still open
    info->error =
        Error{"a second array follows in the file, only one per file is read",
              fmt::format("byte {}: another npy header, {} bytes are left", end, file.size() - end),
              "save each array to a file of its own, or all of them with numpy.savez"};
  else if (left > info->size_bytes)
    info->notes.push_back(fmt::format("{} bytes after the data ignored", left - info->size_bytes));
  Listing listing;
  listing.tensors.push_back(std::move(*info));
  return listing;
}

bool writable_in_npy(DType dtype) { return info_of(dtype).portable == dtype; }

Result<void> write_npy(FileSink& out, std::span<const WriteItem> items) {
  if (items.size() != 1)
    return Error{"an npy file holds exactly one tensor",
                 fmt::format("{} were to be written", items.size()), "write npz or one file each"};
  out.write(npy_header(items[0].dtype, items[0].shape));
  return write_elements(out, items[0]);
}

}  // namespace

extern constexpr Format kNpy{
    "npy", "NumPy array, versions 1 to 3", probe_npy, list_npy, nullptr, write_npy, writable_in_npy,
};

bool is_npy(Bytes head) { return as_text(head).starts_with(kNpyMagic); }

Result<void> read_npy_descr(std::string_view descr, const ReadHints& hints, TensorInfo& info) {
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    return Error{std::string(what), fmt::format("byte 10: descr is '{}'", descr),
                 std::string(remedy)};
  };
  std::string_view code = descr;
  if (!code.empty() && std::string_view("<>=|").find(code.front()) != std::string_view::npos) {
    info.big_endian = code.front() == '>';
    code.remove_prefix(1);
  }
  for (const Code& known : kCodes) {
    if (known.code != code) continue;
    info.dtype = known.dtype;
    if (bits_of(info.dtype) == 8) info.big_endian = false;
    return {};
  }
  // ml_dtypes: "bfloat16". Full names only: numpy's f16 is a long double, its float a float64.
  for (const DTypeInfo& named : dtypes()) {
    if (named.name != descr || named.dtype != named.unpacked || named.dtype == DType::kOpaque)
      continue;
    info.dtype = named.dtype;
    return {};
  }
  if (code == "?") {
    info.dtype = DType::kBool;
    return {};
  }
  if (code == "V2") {  // how numpy saves ml_dtypes' bfloat16
    info.dtype = DType::kBFloat16;
    info.notes.push_back("two-byte void type read as bfloat16");
    return {};
  }
  if (code == "V1") {
    if (hints.fp8) {
      info.dtype = *hints.fp8;
      return {};
    }
    info.dtype = DType::kOpaque;
    info.dtype_name = "V1";
    info.notes.push_back("one-byte void type: --fp8 e4m3fn, e5m2 or hif8 says which float it is");
    return {};
  }
  if (const auto item_bytes = opaque_item_bytes(code)) {
    info.dtype = DType::kOpaque;
    info.dtype_name = code;
    info.big_endian = false;
    if (*item_bytes != 1) info.shape.push_back(*item_bytes);
    return {};
  }
  if (code.starts_with("O"))
    return refuse("npy file holds Python objects", "pickles are never run; save numbers instead");
  if (code == "f16" || code == "g" || code == "c32")
    return refuse("npy file holds long doubles, which differ from machine to machine",
                  "save the array as float64");
  return refuse("npy file holds a type that is not known", "save the array as a plain number type");
}

size_t npy_header_end(Bytes head) {
  if (!is_npy(head)) return 0;
  ByteReader reader(head);
  reader.skip(kNpyMagic.size());
  const bool wide = reader.u8() != 1;
  reader.u8();
  const size_t size = wide ? reader.u32() : reader.u16();
  return reader.position() + std::min(size, kMaxNpyHeaderBytes);
}

Result<TensorInfo> parse_npy_header(Bytes head, const ReadHints& hints) {
  if (!is_npy(head))
    return Error{"not an npy file", "byte 0: the magic word is missing",
                 "save the array again with numpy.save"};
  ByteReader reader(head);
  reader.skip(kNpyMagic.size());
  const uint8_t major = reader.u8();
  reader.u8();
  if (reader.ok() && (major < 1 || major > 3))
    return Error{"npy version is not known", fmt::format("byte 6: version {}", major),
                 "save the array again with numpy.save"};
  const uint64_t size = major == 1 ? reader.u16() : reader.u32();
  const size_t start = reader.position();
  const Bytes header = reader.take(size);
  if (!reader.ok() || size > kMaxNpyHeaderBytes)
    return Error{"npy header is cut off or too long",
                 fmt::format("byte {}: header of {} bytes, {} are left", start, size,
                             head.size() - std::min(start, head.size())),
                 "copy or save the file again; it is truncated"};
  HeaderParser parser(as_text(header), start);
  if (auto parsed = parser.parse(); !parsed) return parsed.error();

  TensorInfo info;
  const size_t axes = parser.shape.size();
  info.shape = std::move(parser.shape);
  if (auto type = read_npy_descr(parser.descr, hints, info); !type) return type.error();
  const auto count = element_count(info.shape);
  const auto bytes = count ? byte_count(info.dtype, *count) : std::nullopt;
  if (!bytes)
    return Error{"npy shape is impossibly large",
                 fmt::format("byte {}: shape {}", start, to_string(info.shape)),
                 "save the array again; the header is damaged"};
  if (parser.fortran_order && axes > 1 && *count > 0) {
    const auto first = info.shape.begin();
    info.strides = column_major_strides(Shape(first, first + static_cast<ptrdiff_t>(axes)));
    if (info.shape.size() > axes) {  // the bytes of an element lie together
      for (int64_t& stride : info.strides) stride *= info.shape.back();
      info.strides.push_back(1);
    }
  }
  info.offset_bytes = reader.position();
  info.size_bytes = static_cast<uint64_t>(*bytes);
  return info;
}

std::string npy_header(DType dtype, const Shape& shape) {
  std::string_view code;
  for (const Code& known : kCodes)
    if (known.dtype == dtype) code = known.code;
  assert(!code.empty());
  const char order = bits_of(dtype) == 8 ? '|' : '<';
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 order, code, join(shape, ", "), shape.size() == 1 ? "," : "");
  const bool wide = dict.size() + 128 > 0xFFFF;
  const size_t prefix = wide ? 12 : 10;
  dict.append(63 - (prefix + dict.size()) % 64, ' ');
  dict += '\n';
  std::string header(kNpyMagic);
  header += wide ? '\2' : '\1';
  header += '\0';
  for (size_t i = 0; i < prefix - 8; ++i)
    header += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  return header + dict;
}

Result<void> write_elements(FileSink& out, const WriteItem& item) {
  auto source = item.open();
  if (!source) return source.error();
  assert(source->dtype() == item.dtype);
  return for_each_piece(*source, [&](Bytes piece, int64_t, int64_t) { out.write(piece); });
}

}  // namespace plumb::io
