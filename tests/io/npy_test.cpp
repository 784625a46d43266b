// SPDX-License-Identifier: Apache-2.0
#include "io/npy.h"

#include <random>

#include "io/archive_testing.h"

namespace plumb::io {
namespace {

using namespace std::string_literals;

const Format& npy() { return *format_by_name("npy"); }

// A file of version `major` with this header text, unpadded, and this data.
std::vector<std::byte> npy_file(int major, const std::string& header, const std::string& data) {
  std::string file = "\x93NUMPY"s + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes_of(file + header + data);
}

// numpy wrote the files (make_npy.py): versions, types, byte orders, Fortran order, empty ones.
TEST(Npy, ReadsWhatNumpyWrote) { check_manifest("npy", "npy"); }

// ... and ours are the same, byte for byte, where numpy has but one way to write them.
TEST(Npy, WritesWhatNumpyWrites) {
  size_t compared = 0;
  for (const Json& entry : read_json(test_data("npy/manifest.json"))) {
    if (!entry["canonical"]) continue;
    SCOPED_TRACE(entry["file"]);
    const auto file = file_bytes(test_data("npy") / entry["file"]);
    auto listing = npy().list(file, {});
    ASSERT_TRUE(listing.ok());
    const TensorInfo& info = listing->tensors[0];
    auto elements = elements_of(npy(), file, info);
    ASSERT_TRUE(elements.ok());
    auto again = written(npy(), {item("", info.dtype, info.shape, *elements)});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(as_text(*again), as_text(file));
    ++compared;
  }
  EXPECT_EQ(compared, 19u);
}

struct Accepted {
  const char* name;
  int version;
  std::string header;
  std::string data;
  DType dtype;
  Shape shape;
};

const Accepted kAccepted[] = {
    {"other order of keys",
     1,
     "{'shape': (1,), 'fortran_order': False, 'descr': '<f4'}",
     "abcd",
     DType::kFloat32,
     {1}},
    {"double quotes, no spaces, no final comma",
     1,
     R"({"descr":"<f4","fortran_order":False,"shape":(1,)})",
     "abcd",
     DType::kFloat32,
     {1}},
    {"spaces everywhere",
     1,
     " { 'descr' : '<f4' ,\n'fortran_order'\t: False , 'shape' : ( 1 , ) , } \n ",
     "abcd",
     DType::kFloat32,
     {1}},
    {"Python 2 long integers",
     1,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 1L), }",
     "abcd",
     DType::kFloat32,
     {1, 1}},
    {"native order",
     1,
     "{'descr': '=i2', 'fortran_order': False, 'shape': (2,), }",
     "abcd",
     DType::kInt16,
     {2}},
    {"no order",
     1,
     "{'descr': '|i2', 'fortran_order': False, 'shape': (2,), }",
     "abcd",
     DType::kInt16,
     {2}},
    {"no order sign",
     1,
     "{'descr': 'i2', 'fortran_order': False, 'shape': (2,), }",
     "abcd",
     DType::kInt16,
     {2}},
    {"question mark",
     1,
     "{'descr': '|?', 'fortran_order': False, 'shape': (2,), }",
     "\1\2",
     DType::kBool,
     {2}},
    {"bfloat16 as void",
     1,
     "{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }",
     "abcd",
     DType::kBFloat16,
     {2}},
    {"bfloat16 by name",
     1,
     "{'descr': 'bfloat16', 'fortran_order': False, 'shape': (2,), }",
     "abcd",
     DType::kBFloat16,
     {2}},
    {"float8 by name",
     1,
     "{'descr': 'float8_e4m3fn', 'fortran_order': False, 'shape': (2,), }",
     "ab",
     DType::kFloat8E4M3Fn,
     {2}},
    {"unknown float8",
     1,
     "{'descr': '|V1', 'fortran_order': False, 'shape': (2,), }",
     "ab",
     DType::kOpaque,
     {2}},
    {"text of no characters",
     1,
     "{'descr': '|S0', 'fortran_order': True, 'shape': (2, 3), }",
     "",
     DType::kOpaque,
     {2, 3, 0}},
    {"version 2",
     2,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
     "abcd",
     DType::kFloat32,
     {1}},
    {"version 3",
     3,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
     "abcd",
     DType::kFloat32,
     {1}},
    {"a key twice, the last one counts",
     1,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 7), 'shape': (1,)}",
     "abcd",
     DType::kFloat32,
     {1}},
    {"empty, whatever the other sizes",
     1,
     "{'descr': '<f4', 'fortran_order': True, 'shape': (1000000, 0, 1000000), }",
     "",
     DType::kFloat32,
     {1000000, 0, 1000000}},
    {"more data than needed",
     1,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
     "abcdef",
     DType::kFloat32,
     {}},
};

TEST(Npy, AcceptsOtherWritersHeaders) {
  for (const Accepted& each : kAccepted) {
    SCOPED_TRACE(each.name);
    const auto file = npy_file(each.version, each.header, each.data);
    auto listing = npy().list(file, {});
    ASSERT_TRUE(listing.ok()) << listing.error().what << listing.error().where;
    const TensorInfo& info = listing->tensors.at(0);
    EXPECT_EQ(info.dtype, each.dtype);
    EXPECT_EQ(info.shape, each.shape);
    auto elements = elements_of(npy(), file, info);
    ASSERT_TRUE(elements.ok()) << elements.error().what;
    const auto size = static_cast<size_t>(*byte_count(info.dtype, *element_count(info.shape)));
    EXPECT_EQ(as_text(*elements), each.data.substr(0, size));
  }
}

TEST(Npy, TakesTheUsersWordForOneByteFloats) {
  const auto file = npy_file(1, "{'descr': '|V1', 'fortran_order': False, 'shape': (2,), }", "ab");
  ReadHints hints;
  hints.fp8 = DType::kHiFloat8;
  auto listing = npy().list(file, hints);
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(listing->tensors[0].dtype, DType::kHiFloat8);
}

// numpy.save twice into one open file. What else may follow the data is a note.
TEST(Npy, RefusesASecondArrayBehindTheFirst) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  const auto one = npy_file(1, header, "abcd");
  auto both = one;
  both.insert(both.end(), one.begin(), one.end());
  auto listing = npy().list(both, {});
  ASSERT_TRUE(listing.ok());
  ASSERT_EQ(listing->tensors.size(), 1u);
  ASSERT_TRUE(listing->tensors[0].error);
  expect_error(*listing->tensors[0].error,
               "a second array follows in the file, only one per file is read");
  EXPECT_EQ(listing->tensors[0].error->where,
            fmt::format("byte {}: another npy header, {} bytes are left", one.size(), one.size()));
  EXPECT_FALSE(elements_of(npy(), both, listing->tensors[0]).ok());

  const auto padded = npy_file(1, header, "abcd\x93NUMP");
  listing = npy().list(padded, {});
  ASSERT_TRUE(listing.ok());
  EXPECT_FALSE(listing->tensors[0].error);
  EXPECT_EQ(listing->tensors[0].notes.size(), 1u);
}

struct RefusedHeader {
  const char* name;
  std::string header;
  const char* what;
  const char* where;
};

const RefusedHeader kRefused[] = {
    {"empty header", "", "npy header is damaged", "byte 10: expected '{'"},
    {"no dictionary", "(1, 2)", "npy header is damaged", "byte 10: expected '{'"},
    {"empty dictionary", "{}", "npy header is damaged",
     "byte 12: expected descr, fortran_order and shape"},
    {"open dictionary", "{'descr': '<f4'", "npy header is damaged", "byte 25: expected ',' or '}'"},
    {"key without quotes", "{descr: '<f4'}", "npy header is damaged",
     "byte 11: expected a quoted key and ':'"},
    {"open quote", "{'descr", "npy header is damaged", "byte 11: expected a quoted key and ':'"},
    {"no colon", "{'descr' '<f4'}", "npy header is damaged",
     "byte 19: expected a quoted key and ':'"},
    {"missing shape", "{'descr': '<f4', 'fortran_order': False}", "npy header is damaged",
     "byte 50: expected descr, fortran_order and shape"},
    {"number as type", "{'descr': 4, 'fortran_order': False, 'shape': ()}", "npy header is damaged",
     "byte 20: expected a quoted type"},
    {"order in lower case", "{'descr': '<f4', 'fortran_order': false, 'shape': ()}",
     "npy header is damaged", "byte 44: expected True or False"},
    {"shape as list", "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
     "npy header is damaged", "byte 60: expected a tuple of sizes"},
    {"negative size", "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
     "npy header is damaged", "byte 61: expected a tuple of sizes"},
    {"size beyond 64 bits",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
     "npy header is damaged", "byte 61: expected a tuple of sizes"},
    {"fraction", "{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}",
     "npy header is damaged", "byte 62: expected a tuple of sizes"},
    {"open tuple", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2",
     "npy header is damaged", "byte 65: expected a tuple of sizes"},
    {"text after it", "{'descr': '<f4', 'fortran_order': False, 'shape': (), } x",
     "npy header is damaged", "byte 66: expected nothing but spaces after the dictionary"},
    {"unknown key", "{'descr': '<f4', 'order': 'C', 'shape': ()}", "npy header has an unknown key",
     "byte 35: 'order'"},
    {"product overflows",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
     "npy shape is impossibly large", "byte 10: shape [4294967296, 4294967296]"},
    {"bytes overflow", "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}",
     "npy shape is impossibly large", "byte 10: shape [2305843009213693952]"},
    {"overflows before the zero",
     "{'descr': '<f4', 'fortran_order': True, 'shape': (4294967296, 4294967296, 0)}",
     "npy shape is impossibly large", "byte 10: shape [4294967296, 4294967296, 0]"},
    {"more than there is", "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000,)}",
     "npy file holds less data than its header promises",
     "byte 80: float32 [1000000000000000] needs 4000000000000000 bytes, 0 are left"},
    {"records", "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (), }",
     "npy file holds records, not a plain tensor", "byte 20: descr is a list of fields"},
    {"records as tuple", "{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (), }",
     "npy file holds records, not a plain tensor", "byte 20: descr is a list of fields"},
    {"objects", "{'descr': '|O', 'fortran_order': False, 'shape': (), }",
     "npy file holds Python objects", "byte 10: descr is '|O'"},
    {"text without a size", "{'descr': '<U', 'fortran_order': False, 'shape': (), }",
     "npy file holds a type that is not known", "byte 10: descr is '<U'"},
    {"text of a negative size", "{'descr': '|S-5', 'fortran_order': False, 'shape': (), }",
     "npy file holds a type that is not known", "byte 10: descr is '|S-5'"},
    {"text too long", "{'descr': '<U2147483648', 'fortran_order': False, 'shape': (), }",
     "npy file holds a type that is not known", "byte 10: descr is '<U2147483648'"},
    {"much text", "{'descr': '<U2147483647', 'fortran_order': True, 'shape': (4294967296, 2), }",
     "npy shape is impossibly large", "byte 10: shape [4294967296, 2, 8589934588]"},
    {"date of four bytes", "{'descr': '<M4[s]', 'fortran_order': False, 'shape': (), }",
     "npy file holds a type that is not known", "byte 10: descr is '<M4[s]'"},
    {"open unit", "{'descr': '<M8[s', 'fortran_order': False, 'shape': (), }",
     "npy file holds a type that is not known", "byte 10: descr is '<M8[s'"},
    {"long double", "{'descr': '<f16', 'fortran_order': False, 'shape': (), }",
     "npy file holds long doubles, which differ from machine to machine",
     "byte 10: descr is '<f16'"},
    // Our own short name for float16 means a long double to numpy.
    {"long double without order", "{'descr': 'f16', 'fortran_order': False, 'shape': (), }",
     "npy file holds long doubles, which differ from machine to machine",
     "byte 10: descr is 'f16'"},
    // ... and its float is a float64.
    {"float", "{'descr': 'float', 'fortran_order': False, 'shape': (), }",
     "npy file holds a type that is not known", "byte 10: descr is 'float'"},
    {"unknown size", "{'descr': '<f3', 'fortran_order': False, 'shape': (), }",
     "npy file holds a type that is not known", "byte 10: descr is '<f3'"},
    {"no type", "{'descr': '', 'fortran_order': False, 'shape': (), }",
     "npy file holds a type that is not known", "byte 10: descr is ''"},
    {"void cut short", "{'descr': '|V8', 'fortran_order': False, 'shape': (), }",
     "npy file holds less data than its header promises",
     "byte 65: V8 [8] needs 8 bytes, 0 are left"},
};

TEST(Npy, SaysWhatIsWrongWithAHeader) {
  for (const RefusedHeader& each : kRefused) {
    SCOPED_TRACE(each.name);
    auto listing = npy().list(npy_file(1, each.header, ""), {});
    ASSERT_FALSE(listing.ok());
    expect_error(listing.error(), each.what);
    EXPECT_EQ(listing.error().where, each.where);
  }
}

TEST(Npy, RefusesStrangeStarts) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "not an npy file"},
      {"NUMPY", "not an npy file"},
      {"\x93NUMPY", "npy header is cut off or too long"},
      {"\x93NUMPY\0\0\x10\0"s, "npy version is not known"},
      {"\x93NUMPY\4\0\x10\0\0\0"s, "npy version is not known"},
      {"\x93NUMPY\1\0\xff\xff"s, "npy header is cut off or too long"},
      {"\x93NUMPY\2\0\xff\xff\xff\xff"s, "npy header is cut off or too long"},
      {"\x93NUMPY\3\0\xff\xff\xff\x7f"s + std::string(100, ' '),
       "npy header is cut off or too long"},
  };
  for (const auto& [file, what] : cases) {
    auto listing = npy().list(as_bytes(file), {});
    ASSERT_FALSE(listing.ok()) << file;
    expect_error(listing.error(), what);
  }
  // A megabyte of header is more than any array needs.
  auto listing = npy().list(npy_file(2, std::string((1 << 20) + 1, ' '), ""), {});
  ASSERT_FALSE(listing.ok());
  expect_error(listing.error(), "npy header is cut off or too long");
}

TEST(Npy, RefusesAFileCutOffAnywhere) {
  const auto file = file_bytes(test_data("npy/f4_little.npy"));
  for (size_t size = 0; size < file.size(); ++size) {
    auto listing = npy().list(Bytes(file).first(size), {});
    ASSERT_FALSE(listing.ok()) << size;
    EXPECT_FALSE(listing.error().where.empty());
  }
}

TEST(Npy, RefusesMoreAxesThanAnyoneHas) {
  std::string shape = "(";
  for (int i = 0; i < 65; ++i) shape += "1,";
  const auto file =
      npy_file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ")}", "a");
  auto listing = npy().list(file, {});
  ASSERT_TRUE(listing.ok());
  auto elements = elements_of(npy(), file, listing->tensors[0]);
  ASSERT_FALSE(elements.ok());
  expect_error(elements.error(), "tensor has too many axes");
}

TEST(Npy, WritesExactlyOneTensor) {
  auto file = written(npy(), {});
  ASSERT_FALSE(file.ok());
  expect_error(file.error(), "an npy file holds exactly one tensor");
}

// The second format version begins where the header passes 64 KiB.
TEST(Npy, WritesHeadersOfAnyLength) {
  for (size_t axes : {size_t{1}, size_t{20}, size_t{64}, size_t{21000}, size_t{22000}}) {
    const std::string header = npy_header(DType::kFloat32, Shape(axes, 1));
    EXPECT_EQ(header.size() % 64, 0u);
    auto info = parse_npy_header(as_bytes(header), {});
    ASSERT_TRUE(info.ok()) << info.error().where;
    EXPECT_EQ(info->shape, Shape(axes, 1));
    EXPECT_EQ(info->offset_bytes, header.size());
    EXPECT_EQ(npy_header_end(as_bytes(header).first(kNpyPrefixBytes)), header.size());
  }
}

// For any tensor: written and read again, it is the same.
TEST(Npy, ReadsWhatItWrites) {
  std::mt19937 random(7);
  for (const DTypeInfo& type : dtypes()) {
    if (!npy().writable(type.dtype)) continue;
    for (int round = 0; round < 20; ++round) {
      Shape shape(random() % 5);
      for (int64_t& size : shape) size = random() % 10 == 0 ? 0 : 1 + random() % 6;
      std::vector<std::byte> elements(
          static_cast<size_t>(*byte_count(type.dtype, *element_count(shape))));
      for (std::byte& each : elements) each = static_cast<std::byte>(random());
      SCOPED_TRACE(fmt::format("{} {}", type.name, to_string(shape)));
      auto file = written(npy(), {item("", type.dtype, shape, elements)});
      ASSERT_TRUE(file.ok());
      auto listing = npy().list(*file, {});
      ASSERT_TRUE(listing.ok());
      EXPECT_EQ(listing->tensors[0].dtype, type.dtype);
      EXPECT_EQ(listing->tensors[0].shape, shape);
      EXPECT_TRUE(listing->tensors[0].notes.empty());
      auto again = elements_of(npy(), *file, listing->tensors[0]);
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(*again, elements);
    }
  }
}

}  // namespace
}  // namespace plumb::io
