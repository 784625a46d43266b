// SPDX-License-Identifier: Apache-2.0
#include "io/ascend_dump.h"

#include <cmath>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>

#include "base/proto_wire.h"
#include "io/ascend_vectors.h"
#include "scratch.h"

namespace plumb::io {
namespace {

using std::string_literals::operator""s;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const Format& ascend_dump() { return *format_by_name("ascend-dump"); }

TensorFile open_vector(std::string_view file) {
  auto opened = open_tensor_file(vectors() / file);
  if (!opened) {
    ADD_FAILURE() << opened.error().what << ": " << opened.error().where;
    return {};
  }
  return std::move(*opened);
}

// ---- dumps made in memory ----

struct Made {
  uint64_t type = 1;    // FLOAT
  uint64_t format = 2;  // ND
  std::optional<Shape> shape = {};
  std::optional<Shape> original = {};
  std::optional<uint64_t> size = {};  // default: of the payload
  uint64_t address = 0;
  std::string payload = {};
  std::string data = {};  // inside the header
  int64_t sub_format = 0;
};

ProtoWriter shape_message(const Shape& shape) {
  ProtoWriter message;
  message.packed(1, shape);
  return message;
}

ProtoWriter output_message(const Made& made) {
  ProtoWriter record;
  record.varint(1, made.type);
  record.varint(2, made.format);
  if (made.shape) record.message(3, shape_message(*made.shape));
  record.text(5, made.data);
  record.varint(6, made.size.value_or(made.payload.size()));
  if (made.original) record.message(7, shape_message(*made.original));
  record.varint(8, static_cast<uint64_t>(made.sub_format));
  record.varint(9, made.address);
  return record;
}

std::string with_length(const std::string& header) {
  std::string file;
  const uint64_t length = header.size();
  file.append(reinterpret_cast<const char*>(&length), sizeof length);
  return file + header;
}

// A dump with these outputs and `extra` fields in its header.
std::string dump_of(const std::vector<Made>& outputs, const std::string& extra = {}) {
  ProtoWriter header;
  header.text(1, "2.0");
  std::string payload;
  for (const Made& made : outputs) {
    header.message(3, output_message(made));
    payload += made.payload;
  }
  return with_length(header.bytes() + extra) + payload;
}

Array read_listed(const std::string& file, const TensorInfo& info, const ReadOrder& order = {}) {
  auto reader = TensorReader::open(ascend_dump(), as_bytes(file), info, order);
  if (!reader) {
    ADD_FAILURE() << reader.error().what << ": " << reader.error().where;
    return {};
  }
  return read_array(std::move(*reader));
}

std::string numbers(int count, char first = 1) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(first + i);
  return bytes;
}

// ---- the vectors: what the reference tool decodes ----

const std::set<std::pair<std::string, std::string>> kSavedAsOneElement{
    // The reference saves scalars with shape (1,).
    {"06-int64-bool", "input.1"},
    {"12-empty-and-unset-shape", "input.1"},
};

void correct_reference(const std::string& id, const std::string& tensor, Array& expected) {
  if (kSavedAsOneElement.contains({id, tensor}) && expected.shape == Shape{1}) expected.shape = {};
  // The reference makes every empty tensor float64; the header says float32.
  if (id == "12-empty-and-unset-shape" && tensor == "input.0") expected.dtype = DType::kFloat32;
}

TEST(AscendDump, ReadsEveryVectorAsStored) {
  int compared = 0;
  for (const char* folder : {"dumps/", "bad/"})
    for (const auto& one : cases(folder)) {
      const std::string id = one["id"];
      if (id == "08-fp8-all-codes") continue;  // the reference decodes these wrongly, see below
      for (const auto& run : one["runs"]) {
        if (run["label"] != "npy" || run["outputs"].empty()) continue;
        const std::string name = one["file"];
        const TensorFile file = open_vector(name);
        for (const auto& output : run["outputs"]) {
          const std::filesystem::path path = vectors() / output["file"].get<std::string>();
          const std::string base = std::filesystem::path(name).filename().string() + ".";
          const std::string tensor = path.filename().stem().string().substr(base.size());
          SCOPED_TRACE(id + " " + tensor);
          const Array actual = read_tensor(file, tensor, kAsStored);
          Array expected;
          if (path.extension() == ".bin") {  // buffers and workspaces
            expected.elements = slurp(path);
            expected.dtype = DType::kUint8;
            expected.shape = {static_cast<int64_t>(expected.elements.size())};
          } else {
            expected = load_npy(path);
            correct_reference(id, tensor, expected);
          }
          expect_equal(actual, expected);
          ++compared;
        }
      }
    }
  EXPECT_EQ(compared, 62);
}

TEST(AscendDump, ReadsEightBitFloatsByTheirDefinition) {
  const TensorFile file = open_vector("dumps/Cast.cast_fp8.10.7.1700000000000008");
  for (const TensorInfo& info : file.listing.tensors) {
    const Array table = load_npy(vectors() / "tables" / (dtype_text(info) + ".npy"));
    const Array actual = read_tensor(file, info.name, {});
    EXPECT_EQ(actual.elements.size(), 1024u);
    for (size_t code = 0; code < 256; ++code) {
      const auto value = load_le<float>(actual.elements.data() + 4 * code);
      const auto expected = load_le<float>(table.elements.data() + 4 * code);
      if (std::isnan(expected))  // which NaN the table does not say
        EXPECT_TRUE(std::isnan(value)) << dtype_text(info) << " " << code;
      else
        EXPECT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << code;
    }
  }
  EXPECT_EQ(file.listing.tensors.size(), 3u);
}

// The leading block that two arrays of equal rank have in common.
Array leading_block(const Array& array, const Shape& other) {
  Array block{array.dtype, {}, {}};
  for (size_t i = 0; i < array.shape.size(); ++i)
    block.shape.push_back(std::min(array.shape[i], other.at(i)));
  const Shape strides = row_major_strides(array.shape);
  const size_t item = static_cast<size_t>(bits_of(array.dtype) / 8);
  std::vector<int64_t> index(block.shape.size());
  for (int64_t k = 0; k < *element_count(block.shape); ++k) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
    block.elements += array.elements.substr(static_cast<size_t>(at) * item, item);
    for (size_t i = index.size(); i-- > 0 && ++index[i] == block.shape[i];) index[i] = 0;
  }
  return block;
}

// What `convert -f` gets wrong. It trims to the original shape without looking at the order of its
// axes, so that only the leading block of the two arrays can be compared.
const std::set<std::pair<std::string, std::string>> kTrimmedInAnotherOrder{
    {"03-conv-5hd f-NHWC", "input.0"},  {"03-conv-5hd f-NHWC", "output.0"},
    {"03-conv-5hd f-HWCN", "input.0"},  {"03-conv-5hd f-HWCN", "output.0"},
    {"11-plain-4d f-NHWC", "output.0"}, {"11-plain-4d f-HWCN", "input.0"},
};

TEST(AscendDump, ReadsEveryVectorInLogicalOrder) {
  int compared = 0;
  for (const auto& one : cases("dumps/"))
    for (const auto& run : one["runs"]) {
      const std::string label = run["label"];
      if (!label.starts_with("f-") || label == "f-FRACTAL_Z") continue;  // see the writer's tests
      const std::string id = one["id"], name = one["file"];
      ReadOrder order;
      for (size_t i = 0; i + 1 < run["args"].size(); ++i) {
        const std::string value = run["args"][i + 1];
        if (run["args"][i] == "-f") order.axes = value;
        if (run["args"][i] == "-s") order.logical = shape_from_text(value);
      }
      const TensorFile file = open_vector(name);
      for (const auto& output : run["outputs"]) {
        const std::filesystem::path path = vectors() / output["file"].get<std::string>();
        // <name>.input.0.<shape>.npy
        const size_t start = std::filesystem::path(name).filename().string().size() + 1;
        const std::string rest = path.filename().string().substr(start);
        const std::string tensor = rest.substr(0, rest.find('.', rest.find('.') + 1));
        SCOPED_TRACE(id + " " + label + " " + tensor);
        Array actual = read_tensor(file, tensor, order);
        Array expected = load_npy(path);
        if (kTrimmedInAnotherOrder.contains({id + " " + label, tensor})) {
          EXPECT_NE(actual.shape, expected.shape) << "no exception is needed";
          const Shape shape = actual.shape;
          actual = leading_block(actual, expected.shape);
          expected = leading_block(expected, shape);
        }
        expect_equal(actual, expected);
        ++compared;
      }
    }
  EXPECT_EQ(compared, 30);
}

TEST(AscendDump, ReadsEveryVectorAsTorchairDoes) {
  // It converts 4-D tensors to NCHW and leaves those with a depth or with groups as they are.
  const std::set<std::pair<std::string, std::string>> left_alone{
      {"10-6hd", "input.0"}, {"10-6hd", "output.0"}, {"20-group-fz", "input.0"}};
  int compared = 0;
  for (const auto& one : cases("dumps/"))
    for (const auto& run : one["runs"]) {
      if (run["label"] != "torchair") continue;
      const std::string id = one["id"], name = one["file"];
      const TensorFile file = open_vector(name);
      for (const auto& output : run["outputs"]) {
        const std::filesystem::path path = vectors() / output["file"].get<std::string>();
        const std::string tensor = path.stem().string();
        SCOPED_TRACE(id + " " + tensor);
        ReadOrder order;
        order.stored = left_alone.contains({id, tensor});
        const TensorInfo* info = find(file.listing, tensor);
        ASSERT_NE(info, nullptr);
        if (info->logical_shape && info->logical_shape->size() == 4) order.axes = "NCHW";
        Array expected = load_npy(path);
        correct_reference(id, tensor, expected);
        expect_equal(read_tensor(file, tensor, order), expected);
        ++compared;
      }
    }
  EXPECT_EQ(compared, 49);
}

TEST(AscendDump, ListsWhatTheHeaderSays) {
  const TensorFile file = open_vector("dumps/TopKD.topk_1.9.7.1700000000000007");
  std::vector<std::string> names;
  for (const TensorInfo& info : file.listing.tensors) names.push_back(info.name);
  EXPECT_THAT(names, ElementsAre("input.0", "input.1", "input.2", "output.0", "output.1",
                                 "l1buffer.0", "space.0", "space.1"));
  EXPECT_EQ(dtype_text(file.listing.tensors[5]), "buffer");
  EXPECT_EQ(dtype_text(file.listing.tensors[6]), "workspace");
  EXPECT_THAT(file.listing.tensors[0].notes, ElementsAre("32 bytes of padding ignored"));
  EXPECT_THAT(file.listing.properties, Contains(Pair("version", "2.0")));
  EXPECT_THAT(file.listing.properties, Contains(Pair("dump_time", "1700000000000007")));
  EXPECT_THAT(file.listing.properties, Contains(Pair("op_name", "topk_1")));
  EXPECT_THAT(file.listing.properties, Contains(Pair("dfx_message", testing::_)));
  EXPECT_THAT(file.listing.warnings, IsEmpty());
}

TEST(AscendDump, ListsOriginalOperatorsAndAttributes) {
  const TensorFile add = open_vector("dumps/Add.add_fp32.3.7.1700000000000001");
  EXPECT_THAT(add.listing.properties, Contains(Pair("output.0.original_op", "add_fp32:0:NCHW")));
  const TensorFile odd = open_vector("bad/Add.attr.1.1.1700000000000110");
  EXPECT_THAT(odd.listing.properties, Contains(Pair("attr.kernel", "not json")));
}

TEST(AscendDump, KeepsTheOperatorNameAsItIs) {
  const TensorFile file = open_vector("dumps/MatMulV2.mm_nz.4.7.1700000000000002");
  std::map<std::string, std::string> properties(file.listing.properties.begin(),
                                                file.listing.properties.end());
  EXPECT_THAT(properties["op_name"], HasSubstr("/"));
}

TEST(AscendDump, WarnsAboutBytesAfterTheData) {
  const TensorFile file = open_vector("dumps/Const.c.16.7.1700000000000014");
  EXPECT_THAT(file.listing.warnings, ElementsAre("8 bytes after the last record ignored"));
}

// ---- damaged files: the message each deserves ----

TEST(AscendDump, SaysWhatIsWrongWithADamagedFile) {
  struct Case {
    const char* file;
    const char* what;
    const char* where;
  };
  const Case all[] = {
      {"Add.empty.1.1.1700000000000101", "dump file is empty", "byte 0: no header, no data"},
      {"Add.only8.1.1.1700000000000102", "dump file ends before its header",
       "byte 8: a dump has 8 bytes of length and a header after it, the file has 8 bytes"},
      {"Add.hdrcut.1.1.1700000000000103", "dump header is longer than its file",
       "byte 0: header of 116 bytes, 58 are left"},
      {"Add.hdrhuge.1.1.1700000000000104", "dump header is longer than its file",
       "byte 0: header of 1099511627776 bytes, 188 are left"},
      {"Add.garbage.1.1.1700000000000105", "dump header is damaged",
       "byte 8: field 1 has wire type 3, which is not used"},
      {"Add.paycut.1.1.1700000000000106", "dump holds less data than its header promises",
       "byte 172: output.0 needs 24 bytes, 14 are left"},
  };
  for (const Case& c : all) {
    const auto path = vectors() / "bad" / c.file;
    const auto file = open_tensor_file(path);
    ASSERT_FALSE(file.ok()) << c.file;
    EXPECT_EQ(file.error().what, c.what);
    EXPECT_EQ(file.error().where, path.string() + ", " + c.where);
    EXPECT_FALSE(file.error().remedy.empty());
  }
}

TEST(AscendDump, EmptyHeaderIsWorthAWarning) {
  const TensorFile file = open_vector("bad/Add.hdrzero.1.1.1700000000000113");
  EXPECT_THAT(file.listing.tensors, IsEmpty());
  EXPECT_THAT(file.listing.warnings, ElementsAre("4 bytes after the last record ignored",
                                                 "the dump header lists no tensors"));
}

TEST(AscendDump, OneShortRecordDoesNotHideTheOthers) {
  const TensorFile vector = open_vector("bad/Add.short.1.1.1700000000000109");
  ASSERT_EQ(vector.listing.tensors.size(), 1u);
  const auto reader = vector.open(vector.listing.tensors[0]);
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().what, "dump record is smaller than its shape needs");
  EXPECT_THAT(reader.error().where,
              HasSubstr("byte 38: output.0, float32 [8], needs 32 bytes, the record has 16"));

  const std::string file = dump_of({{.shape = Shape{2, 2}, .payload = numbers(15)},
                                    {.type = 4, .shape = Shape{3}, .payload = "abc"}});
  const Listing listing = listed(ascend_dump(), file);
  ASSERT_EQ(listing.tensors.size(), 2u);
  EXPECT_TRUE(listing.tensors[0].error.has_value());
  EXPECT_EQ(read_listed(file, listing.tensors[1]).elements, "abc");
}

TEST(AscendDump, ReadsInt4LowNibbleFirst) {
  const TensorFile file = open_vector("bad/Add.int4.1.1.1700000000000107");  // 12 34 56 78
  const Array array = read_tensor(file, "output.0", {});
  EXPECT_EQ(array.dtype, DType::kInt8);
  EXPECT_EQ(array.shape, (Shape{8}));
  EXPECT_EQ(array.elements, "\x02\x01\x04\x03\x06\x05\xF8\x07"s);
  EXPECT_THAT(file.listing.tensors[0].notes, Contains(HasSubstr("nibble")));
}

TEST(AscendDump, ReadsALayoutWithoutANameInTheReference) {
  const TensorFile file = open_vector("bad/Add.fmt47.1.1.1700000000000108");
  EXPECT_EQ(file.listing.tensors[0].layout.number, 47);
  expect_equal(read_tensor(file, "output.0", {}), read_tensor(file, "output.0", kAsStored));
}

TEST(AscendDump, RefusesALogicalShapeThatDoesNotFit) {
  const TensorFile file = open_vector("bad/MatMulV2.nzbad.1.1.1700000000000112");
  const auto reader = file.open(file.listing.tensors[0]);
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().what, "logical shape does not fit the stored one");
}

TEST(AscendDump, ReadsGroupedWeights) {
  const TensorFile file = open_vector("bad/Conv2D.fzg.1.1.1700000000000114");
  EXPECT_EQ(file.listing.tensors[0].layout, (Layout{4, 2}));
  const Array stored = read_tensor(file, "output.0", kAsStored);  // (1, 1, 16, 16)
  const Array logical = read_tensor(file, "output.0", {});
  ASSERT_EQ(logical.shape, (Shape{8, 4, 1, 1}));
  for (size_t n = 0; n < 8; ++n)  // the groups lie along the diagonal
    for (size_t c = 0; c < 4; ++c)
      EXPECT_EQ(logical.elements.substr((n * 4 + c) * 2, 2),
                stored.elements.substr((n * 16 + n / 4 * 4 + c) * 2, 2));
}

TEST(AscendDump, ReadsBlocksOf32) {
  const TensorFile file = open_vector("bad/MatMulV2.nzc32.1.1.1700000000000118");
  const Array stored = read_tensor(file, "output.0", kAsStored);  // (2, 2, 16, 32)
  const Array logical = read_tensor(file, "output.0", {});
  ASSERT_EQ(logical.shape, (Shape{17, 40}));
  for (size_t m = 0; m < 17; ++m)
    for (size_t n = 0; n < 40; ++n)
      EXPECT_EQ(logical.elements[m * 40 + n],
                stored.elements[((n / 32 * 2 + m / 16) * 16 + m % 16) * 32 + n % 32]);
}

TEST(AscendDump, SaysThatTheDeviceLeftOutTensorsWithoutAnAddress) {
  const std::string file = dump_of({{.shape = Shape{2}, .size = 8, .address = 0},
                                    {.shape = Shape{2}, .address = 64, .payload = numbers(8)}});
  const Error error = refused(ascend_dump(), file);
  EXPECT_EQ(error.what, "dump holds less data than its header promises");
  EXPECT_THAT(error.where, HasSubstr("output.1 needs 8 bytes, 0 are left; the payload is 8 bytes "
                                     "short, and output.0 has address 0"));
  // Without any address in the file, 0 means nothing.
  EXPECT_THAT(refused(ascend_dump(), dump_of({{.shape = Shape{2}, .size = 8}})).where,
              testing::Not(HasSubstr("address")));
}

TEST(AscendDump, SurvivesAbsurdNumbers) {
  // Sizes near 2^64 alone and in sum.
  EXPECT_EQ(refused(ascend_dump(), dump_of({{.shape = Shape{2}, .size = UINT64_MAX}})).what,
            "dump holds less data than its header promises");
  EXPECT_EQ(
      refused(ascend_dump(), dump_of({{.size = UINT64_MAX}, {.size = UINT64_MAX, .address = 1}}))
          .what,
      "dump holds less data than its header promises");
  // Header lengths near 2^64.
  for (uint64_t length : {UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 8, uint64_t{1} << 63}) {
    std::string file = dump_of({{.shape = Shape{1}, .payload = numbers(4)}});
    std::memcpy(file.data(), &length, sizeof length);
    EXPECT_EQ(refused(ascend_dump(), file).what, "dump header is longer than its file");
  }
  // Dimensions near 2^63, dynamic ones (-1), and products that overflow, also with a zero among
  // them.
  for (const Shape& shape : {Shape{INT64_MAX}, Shape{INT64_MIN}, Shape{-1}, Shape{INT64_MAX, 2},
                             Shape{1LL << 32, 1LL << 32}, Shape{0, INT64_MAX, 2}, Shape{0, -1}}) {
    const std::string file = dump_of({{.shape = shape, .original = shape, .payload = numbers(4)},
                                      {.shape = Shape{1}, .payload = numbers(4)}});
    const Listing listing = listed(ascend_dump(), file);
    ASSERT_EQ(listing.tensors.size(), 2u);
    EXPECT_TRUE(listing.tensors[0].error.has_value()) << to_string(shape);
    EXPECT_FALSE(TensorReader::open(ascend_dump(), as_bytes(file), listing.tensors[0]).ok());
    EXPECT_EQ(read_listed(file, listing.tensors[1]).elements, numbers(4));
  }
}

TEST(AscendDump, BoundsWhatAHeaderCanCost) {
  std::string records;
  for (int i = 0; i < 70000; ++i) records += "\x1A\x00"s;
  EXPECT_THAT(refused(ascend_dump(), with_length(records)).where,
              HasSubstr("more than 65536 records"));
  EXPECT_THAT(
      refused(ascend_dump(), dump_of({{.shape = Shape(65, 1), .payload = numbers(4)}})).where,
      HasSubstr("more than 64 numbers"));
}

TEST(AscendDump, RefusesTextThatIsNotUtf8) {
  ProtoWriter name;
  name.text(6, "conv\xFF");
  const Error error = refused(ascend_dump(), dump_of({}, name.bytes()));
  EXPECT_EQ(error.what, "dump header is damaged");
  EXPECT_EQ(error.where, "byte 15: text of field 6 is not UTF-8");
}

TEST(AscendDump, RefusesFieldsOfAnotherKind) {
  ProtoWriter number, text, nested;
  number.varint(6, 5);
  text.text(2, "now");
  nested.text(1, "float");
  ProtoWriter record;
  record.message(3, nested);
  for (const ProtoWriter& damage : {number, text, record})
    EXPECT_EQ(refused(ascend_dump(), dump_of({}, damage.bytes())).what, "dump header is damaged");
}

// ---- element types ----

TEST(AscendDump, KeepsTypesItCannotDecodeAsBytes) {
  struct Case {
    uint64_t type;
    std::string name;
  };
  for (const Case& c : {Case{13, "STRING"}, Case{14, "DUAL_SUB_INT8"}, Case{26, "VARIANT"},
                        Case{30, "INT2"}, Case{32, "COMPLEX32"}, Case{36, "FLOAT8_E8M0"},
                        Case{42, "HIFLOAT4_SCALE"}, Case{43, "type 43"}, Case{999, "type 999"}}) {
    const std::string file = dump_of({{.type = c.type, .shape = Shape{2, 2}, .payload = "abcde"}});
    const Listing listing = listed(ascend_dump(), file);
    ASSERT_EQ(listing.tensors.size(), 1u);
    EXPECT_EQ(listing.tensors[0].dtype, DType::kOpaque);
    EXPECT_EQ(dtype_text(listing.tensors[0]), c.name);
    EXPECT_EQ(listing.tensors[0].shape, (Shape{5}));
    EXPECT_EQ(read_listed(file, listing.tensors[0]).elements, "abcde");
  }
}

TEST(AscendDump, ReadsQuantizedTypesAsIntegers) {
  const std::pair<uint64_t, DType> all[] = {{18, DType::kInt8},
                                            {19, DType::kInt16},
                                            {20, DType::kInt32},
                                            {21, DType::kUint8},
                                            {22, DType::kUint16}};
  for (auto [type, dtype] : all) {
    const Listing listing =
        listed(ascend_dump(), dump_of({{.type = type, .shape = Shape{2}, .payload = numbers(8)}}));
    EXPECT_EQ(listing.tensors[0].dtype, dtype);
    EXPECT_THAT(listing.tensors[0].notes, Contains("quantized type read as plain integers"));
  }
}

TEST(AscendDump, ReadsAsManyBitsAsTheShapeHas) {
  const std::string file =
      dump_of({{.type = 29, .shape = Shape{11}, .payload = "\xA5\xE0 padding"}});
  const Array array = read_listed(file, listed(ascend_dump(), file).tensors[0]);
  EXPECT_EQ(array.elements, "\1\0\1\0\0\1\0\1\1\1\1"s);
}

TEST(AscendDump, RecordsWithoutAShape) {
  // No shape at all: one element, and a word about the rest; or nothing if there is nothing.
  Listing listing = listed(ascend_dump(), dump_of({{.payload = numbers(8)}, {}}));
  EXPECT_EQ(listing.tensors[0].shape, Shape{});
  EXPECT_THAT(listing.tensors[0].notes,
              ElementsAre("no shape in the header: one element read, 4 bytes ignored"));
  EXPECT_EQ(listing.tensors[1].shape, Shape{0});
  // An empty shape is a scalar, whatever the original shape's message holds.
  const std::string scalar = dump_of({{.shape = Shape{}, .original = Shape{}, .payload = "abcd"}});
  listing = listed(ascend_dump(), scalar);
  EXPECT_EQ(listing.tensors[0].shape, Shape{});
  EXPECT_EQ(listing.tensors[0].logical_shape, std::nullopt);
  EXPECT_EQ(read_listed(scalar, listing.tensors[0]).elements, "abcd");
}

TEST(AscendDump, SplitsTheFormatWord) {
  const uint64_t word = 5u << 24 | 3u << 8 | 4;  // C0 of 16, three groups, FRACTAL_Z
  EXPECT_EQ(
      listed(ascend_dump(), dump_of({{.format = word, .shape = Shape{1}, .payload = numbers(4)}}))
          .tensors[0]
          .layout,
      (Layout{4, 3}));
  EXPECT_EQ(
      listed(ascend_dump(),
             dump_of({{.format = word, .shape = Shape{1}, .payload = numbers(4), .sub_format = 2}}))
          .tensors[0]
          .layout,
      (Layout{4, 2}));
  EXPECT_EQ(
      listed(ascend_dump(),
             dump_of({{.format = 29, .shape = Shape{1}, .payload = numbers(4), .sub_format = -1}}))
          .tensors[0]
          .layout,
      (Layout{29, 1}));
}

// ---- data inside the header ----

TEST(AscendDump, UsesDataInTheHeaderIfThereIsNoPayload) {
  const Made inside{.shape = Shape{2}, .size = 8, .data = numbers(8)};
  for (const std::string& file : {
           dump_of({inside}), dump_of({{.shape = Shape{2}, .size = 0, .data = numbers(8)}}),
           dump_of({inside}).substr(8),  // no length word either
       }) {
    const Listing listing = listed(ascend_dump(), file);
    EXPECT_THAT(listing.warnings, IsEmpty());
    EXPECT_EQ(read_listed(file, listing.tensors[0]).elements, numbers(8));
    EXPECT_EQ(*detect_format(as_bytes(file), {}), &ascend_dump());
  }
}

TEST(AscendDump, PrefersThePayloadToDataInTheHeader) {
  const std::string file =
      dump_of({{.shape = Shape{2}, .payload = numbers(8, 50), .data = numbers(8)}});
  const Listing listing = listed(ascend_dump(), file);
  EXPECT_THAT(listing.warnings, ElementsAre(HasSubstr("data in the header ignored")));
  EXPECT_EQ(read_listed(file, listing.tensors[0]).elements, numbers(8, 50));
}

TEST(AscendDump, AMessageWithoutLengthWordMustHaveData) {
  EXPECT_EQ(refused(ascend_dump(), dump_of({{.shape = Shape{2}, .size = 8}}).substr(8)).what,
            "dump header is longer than its file");
}

// ---- FFTS+ ----

std::string with_attribute(const std::string& name, const std::string& value) {
  ProtoWriter attribute, header;
  attribute.text(1, name);
  attribute.text(2, value);
  header.message(7, attribute);
  return header.bytes();
}

TEST(AscendFfts, DescribesTheSlices) {
  const std::string automatic =
      slurp(vectors() / "dumps/Mul.ffts_mul.17.7.1700000000000016.4.3.1.0");
  auto slices = ffts_slices(as_bytes(automatic));
  ASSERT_TRUE(slices.ok() && slices->has_value());
  EXPECT_TRUE((*slices)->automatic);
  EXPECT_EQ((*slices)->instances, 2);
  EXPECT_THAT((*slices)->output_cuts, ElementsAre(ElementsAre(2, 1)));
  ASSERT_EQ((*slices)->outputs.size(), 2u);
  EXPECT_EQ((*slices)->outputs[1][0][0].lower, 2);
  EXPECT_EQ((*slices)->outputs[1][0][0].higher, 4);

  const std::string manual = slurp(
      vectors() / "dumps/Relu.part0_sgt_graph_0_ffts_relu_lxslice1.18.7.1700000000000018.4.5.0.0");
  slices = ffts_slices(as_bytes(manual));
  ASSERT_TRUE(slices.ok() && slices->has_value());
  EXPECT_FALSE((*slices)->automatic);
  EXPECT_THAT((*slices)->output_cuts, ElementsAre(ElementsAre(1, 2)));

  for (const char* whole :
       {"dumps/Add.add_fp32.3.7.1700000000000001", "bad/Add.attr.1.1.1700000000000110",
        "dumps/MatMul.nano_mm.0.0.1700000000000026"}) {
    const std::string file = slurp(vectors() / whole);
    slices = ffts_slices(as_bytes(file));
    EXPECT_TRUE(slices.ok() && !slices->has_value()) << whole;
  }
  EXPECT_FALSE(ffts_slices({}).ok());
}

TEST(AscendFfts, SlicesHaveNoLogicalShape) {
  for (const auto& one : cases("dumps/")) {
    const std::string id = one["id"], file = one["file"];
    if (id.find("ffts") == std::string::npos) continue;
    const TensorFile slice = open_vector(file);
    for (const TensorInfo& info : slice.listing.tensors)
      EXPECT_EQ(info.logical_shape, std::nullopt) << id;
  }
}

// The slices of the two operators, joined along the axis that was cut, give what the reference
// joins.
TEST(AscendFfts, SlicesJoinToTheWhole) {
  const auto read = [](const std::string& file) {
    return read_tensor(open_vector("dumps/" + file), "output.0", {});
  };
  const Array rows0 = read("Mul.ffts_mul.17.7.1700000000000015.4.3.0.0");
  const Array rows1 = read("Mul.ffts_mul.17.7.1700000000000016.4.3.1.0");
  const Array by_rows = load_npy(vectors() / "expect/merged/15-ffts-auto.output.0.npy");
  EXPECT_EQ(rows0.elements + rows1.elements, by_rows.elements);

  const std::string relu = "Relu.part0_sgt_graph_0_ffts_relu_lxslice";
  const Array left = read(relu + "0.18.7.1700000000000017.4.5.0.0");
  const Array right = read(relu + "1.18.7.1700000000000018.4.5.0.0");
  const Array by_columns = load_npy(vectors() / "expect/merged/16-ffts-manual.output.0.npy");
  std::string joined;
  for (size_t row = 0; row < 3; ++row)
    joined += left.elements.substr(row * 16, 16) + right.elements.substr(row * 16, 16);
  EXPECT_EQ(joined, by_columns.elements);
}

constexpr const char* kTwoThreads =
    R"({"threadMode": 1, "slice_instance_num": 2, "outputCutList": [[2]], "output_tensor_slice":
        [[[{"lower": 0, "higher": 3}]], [[{"lower": 3, "higher": 5}]]]})";

TEST(AscendFfts, TakesTheThreadFromTheFileName) {
  // The header has the first slice's shape; the second is shorter.
  const std::string file =
      dump_of({{.shape = Shape{3}, .original = Shape{5}, .payload = numbers(12)}},
              with_attribute("any name", kTwoThreads));
  EXPECT_EQ(listed(ascend_dump(), file, "Mul.m.1.2.1700000000000001.4.3.0.0").tensors[0].shape,
            Shape{3});
  EXPECT_EQ(listed(ascend_dump(), file, "Mul.m.1.2.1700000000000001.4.3.1.0").tensors[0].shape,
            Shape{2});
  const Error error = refused(ascend_dump(), file, "Mul.m.1.2.1700000000000001.4.3.2.0");
  EXPECT_EQ(error.what, "FFTS+ slice description does not fit the dump");
  EXPECT_EQ(error.where,
            "byte 31: attribute 'any name', thread 2 is wanted, output slices are described for 2 "
            "threads");

  const Listing renamed = listed(ascend_dump(), file, "renamed");
  EXPECT_EQ(renamed.tensors[0].shape, Shape{3});
  EXPECT_EQ(renamed.tensors[0].logical_shape, std::nullopt);
  EXPECT_THAT(renamed.warnings, ElementsAre(HasSubstr("does not tell its thread")));
}

TEST(AscendFfts, RefusesTablesThatDoNotFit) {
  const std::string file = dump_of(
      {{.shape = Shape{3}, .payload = numbers(12)}, {.shape = Shape{3}, .payload = numbers(12)}},
      with_attribute("a", kTwoThreads));
  EXPECT_EQ(refused(ascend_dump(), file, "Mul.m.1.2.1700000000000001.4.3.0.0").where,
            "byte 39: attribute 'a', thread 0 has 1 output slices, the dump has 2 output records");
}

TEST(AscendFfts, ManualSlicesOfDeviceLayoutsKeepAShapeThatFits) {
  const std::string manual =
      with_attribute("a", R"({"threadMode": false, "outputCutList": [[1, 2]]})");
  const Made nz{
      .type = 2, .format = 29, .shape = Shape{2, 1, 16, 16}, .payload = std::string(1024, 'x')};
  Made whole = nz, slice = nz;
  whole.original = {10, 20};
  slice.original = {10, 40};
  const Listing listing = listed(ascend_dump(), dump_of({whole, slice}, manual));
  EXPECT_EQ(listing.tensors[0].logical_shape, (Shape{10, 20}));
  EXPECT_EQ(listing.tensors[1].logical_shape, std::nullopt);
}

TEST(AscendFfts, TellsDescriptionsFromOtherAttributes) {
  for (const char* text :
       {"", "threadMode", "[\"threadMode\"]", "{\"threadMode\": ", "\"threadMode\"",
        "{\"threadMode\": \"on\"}", "{\"other\": {\"threadMode\": true}}", "{\"x\": 1}"}) {
    const auto slices = ffts_slices_from_json(text);
    EXPECT_TRUE(slices.ok() && !slices->has_value()) << text;
  }
  for (const char* text :
       {R"({"threadMode": true, "outputCutList": 1})",
        R"({"threadMode": true, "outputCutList": [1]})",
        R"({"threadMode": true, "outputCutList": [["a"]]})",
        R"({"threadMode": true, "slice_instance_num": "2"})",
        R"({"threadMode": true, "input_tensor_slice": [[[{"lower": 0}]]]})",
        R"({"threadMode": true, "input_tensor_slice": [[[{"lower": -1, "higher": 2}]]]})",
        R"({"threadMode": true, "output_tensor_slice": [[[{"lower": 3, "higher": 2}]]]})",
        R"({"threadMode": 0, "output_tensor_slice": [[[3]]]})"}) {
    const auto slices = ffts_slices_from_json(text);
    ASSERT_FALSE(slices.ok()) << text;
    EXPECT_EQ(slices.error().what, "FFTS+ slice description is damaged");
    const Error error = refused(ascend_dump(), dump_of({}, with_attribute("cut", text)));
    EXPECT_THAT(error.where, testing::StartsWith("byte 13: attribute 'cut', member '"));
  }
}

// ---- detection ----

TEST(AscendDump, IsDetectedByContent) {
  for (const char* folder : {"dumps/", "bad/"})
    for (const auto& one : cases(folder)) {
      const std::string id = one["id"];
      const std::string file = slurp(vectors() / one["file"].get<std::string>());
      const bool is_nano = id.find("nano") != std::string::npos || id == "b15-name-short";
      // Nothing in these says what they were.
      const bool is_lost = id == "b01-empty" || id == "b02-8bytes" || id == "b04-header-len-huge" ||
                           id == "b05-header-garbage" || id == "b13-header-zero";
      const auto found = detect_format(as_bytes(file), named("renamed.bin"));
      if (is_lost) {
        EXPECT_FALSE(found.ok()) << id;
      } else {
        ASSERT_TRUE(found.ok()) << id;
        EXPECT_EQ((*found)->name, is_nano ? "ascend-nano" : "ascend-dump") << id;
      }
    }
}

TEST(AscendDump, LeavesOtherFilesAlone) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string file(12 + random() % 300, '\0');
    for (char& c : file) c = static_cast<char>(random());
    // The worst case: the length is possible.
    if (round % 2 == 0) {
      const uint64_t length = 1 + random() % (file.size() - 8);
      std::memcpy(file.data(), &length, sizeof length);
    }
    EXPECT_FALSE(ascend_dump().probe(as_bytes(file), file.size())) << round;
  }
  // Small integers, the likeliest content of a headerless file that starts with a possible length.
  for (int64_t first = 0; first < 40; ++first)
    for (int64_t second = 0; second < 400; ++second) {
      std::vector<int64_t> values{first, second, second + 1, 7, 8, 9, 10, 11};
      const auto bytes = std::as_bytes(std::span(values));
      EXPECT_FALSE(ascend_dump().probe(bytes, bytes.size())) << first << " " << second;
      std::vector<int32_t> narrow{static_cast<int32_t>(first),
                                  0,
                                  static_cast<int32_t>(second),
                                  0,
                                  1,
                                  2,
                                  3,
                                  4,
                                  5,
                                  6,
                                  7,
                                  8,
                                  9,
                                  10};
      const auto narrow_bytes = std::as_bytes(std::span(narrow));
      EXPECT_FALSE(ascend_dump().probe(narrow_bytes, narrow_bytes.size()))
          << first << " " << second;
    }
  for (
      const std::string& other :
      {"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False}"s, "PK\x03\x04 and so on"s,
       "\x28\0\0\0\0\0\0\0{\"weight\":{\"dtype\":\"F32\",\"shape\":[2]}}    12345678"s,  // safetensors
       "\x08\x07\x12\x07pytorch\x3A\x05graph"s,                                          // ONNX
       std::string(64, '\0'), std::string(64, '\xFF'), std::string(64, 'Z')})
    EXPECT_FALSE(ascend_dump().probe(as_bytes(other), other.size()));
}

TEST(AscendDump, DetectionSurvivesCutHeads) {
  for (const auto& one : cases("dumps/")) {
    const std::string file = slurp(vectors() / one["file"].get<std::string>());
    if (is_nano_dump(as_bytes(file))) continue;
    // A probe that sees only the start of the file must come to the same answer.
    for (size_t size = 24; size <= file.size(); ++size)
      EXPECT_TRUE(ascend_dump().probe(as_bytes(file).first(size), file.size()))
          << one["id"] << " " << size;
  }
}

TEST(AscendDump, KnowsItsNames) {
  for (const char* name :
       {"Add.add_fp32.3.7.1700000000000001", "Add.add.3.1700000000000001",
        "Mul.ffts_mul.17.7.1700000000000015.4.3.0.0", "Opdebug.Node_OpDebug.19.7.1700000000000020",
        "Opdebug.Node_OpDebug.19.1700000000000020.4.3.0.0", "MatMul.a.dotted.name.3.7.1682931245",
        "Conv2D.conv1.3.17.1682931245", "Conv2D.c.3.1682931245.4.3.0"})
    EXPECT_TRUE(is_ascend_dump_name(name)) << name;
  for (const char* name :
       {"", "a", "...", "1.2.3.4", "Transpose.4.1682148295048447", "Add.add.3.7.170000000",
        "Add.add.3.7.1700000000000001.csv", "Add.add.3.7.1700000000000001.output.0.npy", "x.bin",
        "add.0.1700000000000001.npy", "12345678901234567890", "Add.add.1700000000000001",
        "Add..3.7.1700000000000001", ".x.3.7.1700000000000001"})
    EXPECT_FALSE(is_ascend_dump_name(name)) << name;
}

TEST(AscendDump, ThreadIsTheLastFieldButOne) {
  EXPECT_EQ(ffts_thread("Mul.m.17.7.1700000000000015.4.3.12.0"), 12);
  for (const char* name :
       {"", ".", "..", "x.1", "x.y.1", "a.-1.0", "a.1x.0", "a.99999999999999999999.0"})
    EXPECT_EQ(ffts_thread(name), std::nullopt) << name;
}

// ---- hostile bytes: an error or a fine read, never more ----

void read_everything(const std::string& file, std::string_view name) {
  auto listing = ascend_dump().list(as_bytes(file), named(name));
  if (!listing) {
    EXPECT_FALSE(listing.error().what.empty() || listing.error().where.empty());
    return;
  }
  for (const TensorInfo& info : listing->tensors)
    for (const ReadOrder& order : {kAsStored, ReadOrder{}}) {
      auto reader = TensorReader::open(ascend_dump(), as_bytes(file), info, order);
      if (!reader) continue;
      ASSERT_LE(reader->count(), static_cast<int64_t>(file.size() * 8));
      EXPECT_TRUE(reader->read(0, reader->count()).ok());
    }
}

TEST(AscendDump, SurvivesTruncationAtEveryByte) {
  for (const auto& one : cases("dumps/")) {
    const std::string path = one["file"], file = slurp(vectors() / path);
    if (is_nano_dump(as_bytes(file))) continue;
    for (size_t size = 0; size < file.size(); ++size) {
      const std::string cut = file.substr(0, size);
      const auto listing = ascend_dump().list(as_bytes(cut), named(path));
      if (one["id"] == "14-trailing" && size >= file.size() - 8) continue;
      EXPECT_FALSE(listing.ok()) << path << " cut to " << size;
    }
  }
}

TEST(AscendDump, SurvivesDamageAtEveryByte) {
  for (const auto& one : cases("dumps/")) {
    const std::string path = one["file"];
    std::string file = slurp(vectors() / path);
    if (is_nano_dump(as_bytes(file))) continue;
    const size_t header_end = 8 + static_cast<size_t>(load_le<uint64_t>(file.data()));
    for (size_t at = 0; at < header_end; ++at)
      for (int damage : {0x01, 0x80, 0xFF}) {
        file[at] = static_cast<char>(file[at] ^ damage);
        read_everything(file, path);
        file[at] = static_cast<char>(file[at] ^ damage);
      }
  }
}

// ---- writing ----

WriteItem dump_item(std::string name, DType dtype, Shape shape, const std::string& elements) {
  return {std::move(name), dtype, shape, [=] {
            const Bytes bytes = as_bytes(elements);
            return Result(TensorReader::from_memory(dtype, shape, {bytes.begin(), bytes.end()}));
          }};
}

Result<TensorFile> written_dump(const Scratch& scratch, std::string_view op_name,
                                std::span<const AscendItem> items) {
  const auto path = scratch.path() / "dump";
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  if (auto done = write_ascend_dump(*sink, op_name, items); !done) return done.error();
  if (auto done = sink->commit(false); !done) return done.error();
  return open_tensor_file(path);
}

TEST(AscendDumpWriter, WhatIsWrittenReadsBack) {
  const Scratch scratch;
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<WriteItem> items;
    std::map<std::string, std::string> expected;
    for (const char* kind : {"output", "input", "l1buffer", "space"})
      for (int i = static_cast<int>(random() % 3); i-- > 0;) {  // backwards: the writer sorts
        const bool is_memory = kind[0] == 'l' || kind[0] == 's';
        DType dtype = DType::kUint8;
        Shape shape;
        do {
          dtype = dtypes()[random() % dtypes().size()].dtype;
        } while (!ascend_dump().writable(dtype));
        if (is_memory) dtype = DType::kOpaque;
        for (size_t rank = is_memory ? 1 : random() % 5; rank-- > 0;) shape.push_back(random() % 6);
        std::string elements(
            static_cast<size_t>(*element_count(shape)) * static_cast<size_t>(bits_of(dtype)) / 8,
            '\0');
        for (char& c : elements) c = static_cast<char>(random());
        const std::string name = std::string(kind) + "." + std::to_string(i);
        items.push_back(dump_item(name, dtype, shape, elements));
        expected[name] = elements;
      }
    const auto path = scratch.path() / "Op.op.1.1.1700000000000001";
    auto sink = FileSink::create(path);
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE(ascend_dump().write(*sink, items).ok());
    ASSERT_TRUE(sink->commit(false).ok());
    auto file = open_tensor_file(path);
    ASSERT_TRUE(file.ok()) << file.error().what << file.error().where;
    EXPECT_EQ(file->format, &ascend_dump());
    ASSERT_EQ(file->listing.tensors.size(), items.size());
    for (const WriteItem& one : items) {
      const TensorInfo* info = find(file->listing, one.name);
      ASSERT_NE(info, nullptr);
      EXPECT_EQ(info->dtype, one.dtype);
      EXPECT_EQ(info->shape, one.shape);
      EXPECT_THAT(info->notes, IsEmpty());
      auto reader = file->open(*info);
      ASSERT_TRUE(reader.ok()) << reader.error().what;
      EXPECT_EQ(as_text(*reader->read(0, reader->count())), expected[one.name]);
    }
  }
}

TEST(AscendDumpWriter, StoresDeviceLayouts) {
  const Scratch scratch;
  struct Case {
    const char* layout;
    const char* axes;
    DType dtype;
    Shape logical;
    Shape stored;
  };
  const Case all[] = {
      {"NC1HWC0", "", DType::kFloat16, {1, 20, 3, 4}, {1, 2, 3, 4, 16}},
      {"NC1HWC0", "NHWC", DType::kInt8, {2, 3, 4, 20}, {2, 1, 3, 4, 32}},
      {"FRACTAL_NZ", "", DType::kFloat16, {20, 33}, {3, 2, 16, 16}},
      {"FRACTAL_NZ", "", DType::kInt8, {2, 17, 40}, {2, 2, 2, 16, 32}},
      {"FRACTAL_NZ", "", DType::kFloat16, {5, 16}, {1, 1, 16, 16}},  // padding only at the end
      {"FRACTAL_Z", "NCHW", DType::kFloat16, {8, 20, 3, 3}, {18, 1, 16, 16}},
      {"NDC1HWC0", "", DType::kFloat32, {2, 9, 1, 2, 2}, {2, 1, 2, 2, 2, 8}},
      {"NHWC", "NCHW", DType::kFloat32, {2, 3, 4, 5}, {2, 4, 5, 3}},
      {"NCHW", "", DType::kFloat32, {2, 3, 4, 5}, {2, 3, 4, 5}},
  };
  std::mt19937 random(3);
  for (const Case& c : all) {
    SCOPED_TRACE(c.layout);
    std::string elements(
        static_cast<size_t>(*element_count(c.logical)) * static_cast<size_t>(bits_of(c.dtype)) / 8,
        '\0');
    for (char& byte : elements) byte = static_cast<char>(random());
    const AscendItem items[] = {
        {dump_item("output.0", c.dtype, c.logical, elements), *layout_from_name(c.layout), c.axes}};
    auto file = written_dump(scratch, "model/conv1", items);
    ASSERT_TRUE(file.ok()) << file.error().what << ": " << file.error().where;
    EXPECT_THAT(file->listing.properties, Contains(Pair("op_name", "model/conv1")));
    const TensorInfo& info = file->listing.tensors[0];
    EXPECT_EQ(info.shape, c.stored);
    EXPECT_EQ(info.logical_shape, c.logical);
    auto reader = file->open(info);
    ASSERT_TRUE(reader.ok()) << reader.error().what << ": " << reader.error().where;
    EXPECT_EQ(reader->shape(), c.logical);
    EXPECT_TRUE(as_text(*reader->read(0, reader->count())) == elements);
  }
}

// Grouped weights to FRACTAL_Z: the one conversion in this direction that the reference gets right.
TEST(AscendDumpWriter, StoresGroupsAsTheReferenceDoes) {
  const TensorFile weights = open_vector("dumps/Conv2D.gconv.20.7.1700000000000027");
  const Array plain = read_tensor(weights, "output.0", {});
  const Layout layout{4, weights.listing.tensors[1].layout.groups};
  const AscendItem items[] = {
      {dump_item("output.0", plain.dtype, plain.shape, plain.elements), layout, "NCHW", 16}};
  const Scratch scratch;
  auto file = written_dump(scratch, "gconv", items);
  ASSERT_TRUE(file.ok()) << file.error().what;
  EXPECT_EQ(file->listing.tensors[0].layout, layout);
  expect_equal(read_tensor(*file, "output.0", kAsStored),
               load_npy(vectors() / "expect/20-group-fz/f-FRACTAL_Z" /
                        "Conv2D.gconv.20.7.1700000000000027.output.0.4x1x16x16.npy"));
}

// Byte for byte what the vector holds, but for the time, which the writer does not invent.
TEST(AscendDumpWriter, WritesTheWorkedExample) {
  const TensorFile example = open_vector("dumps/Const.c.16.7.1700000000000014");
  const Array array = read_tensor(example, "output.0", {});
  const AscendItem items[] = {{dump_item("output.0", array.dtype, array.shape, array.elements)}};
  const Scratch scratch;
  ASSERT_TRUE(written_dump(scratch, "c", items).ok());
  std::string bytes = slurp(vectors() / "dumps/Const.c.16.7.1700000000000014");
  bytes.resize(bytes.size() - 8);  // trailing bytes
  bytes.erase(13, 9);              // dump_time
  bytes[0] = static_cast<char>(bytes[0] - 9);
  EXPECT_EQ(slurp(scratch.path() / "dump"), bytes);
}

TEST(AscendDumpWriter, RefusesWhatADumpCannotHold) {
  const Scratch scratch;
  const auto refusal = [&](const AscendItem& one) {
    const auto file = written_dump(scratch, "", std::span(&one, 1));
    return file.ok() ? "accepted" : file.error().what;
  };
  const std::string four = numbers(4);
  EXPECT_EQ(refusal({dump_item("", DType::kFloat32, {}, four)}), "accepted");  // the only output
  EXPECT_EQ(refusal({dump_item("weight", DType::kFloat32, {}, four)}),
            "an Ascend dump has no place for a tensor of this name");
  EXPECT_EQ(refusal({dump_item("output.x", DType::kFloat32, {}, four)}),
            "an Ascend dump has no place for a tensor of this name");
  EXPECT_EQ(refusal({dump_item("output.1", DType::kFloat32, {}, four)}),
            "tensors of an Ascend dump must be numbered from 0 without gaps");
  EXPECT_EQ(refusal({dump_item("output.0", DType::kOpaque, {4}, four)}),
            "Ascend dumps have no such element type");
  EXPECT_EQ(refusal({dump_item("output.0", DType::kFloat32, {2}, four)}),
            "tensor is not what it was announced to be");
  EXPECT_EQ(refusal({dump_item("output.0", DType::kFloat32, {1}, four), Layout{3}}),
            "tensor cannot be stored in this layout");
  EXPECT_EQ(refusal({dump_item("output.0", DType::kFloat32, {1}, four), Layout{40}}),
            "layout RESERVED cannot be converted");
}

}  // namespace
}  // namespace plumb::io
