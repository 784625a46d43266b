// SPDX-License-Identifier: Apache-2.0
//
// The files and the arrays expected of them are made by tests/data/onnx_tensor/make_onnx_tensor.py,
// which writes the messages field by field and has the onnx package check them.
#include "io/onnx_tensor.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>

#include "io/archive_testing.h"
#include "io/file.h"

namespace plumb::io {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kOnnxTensorData = PLUMB_TEST_DATA "/onnx_tensor";

Result<std::string> elements_in(const TensorFile& file, const TensorInfo& info) {
  auto reader = file.open(info);
  if (!reader) return reader.error();
  std::string all;
  auto done = for_each_piece(*reader, [&](Bytes b, int64_t, int64_t) { all += as_text(b); });
  if (!done) return done.error();
  return all;
}

const Format& onnx_tensor() { return *format_by_name("onnx-tensor"); }

bool probe(Bytes file) {
  return onnx_tensor().probe(file.first(std::min(file.size(), kProbeBytes)), file.size());
}

// numpy's word for what a type is saved as: it has no small floats.
DType saved_as(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16: return DType::kUint16;
    case DType::kFloat8E4M3Fn:
    case DType::kFloat8E5M2:
    case DType::kOpaque: return DType::kUint8;
    default: return info_of(dtype).unpacked;
  }
}

TEST(OnnxTensor, EveryTypeAndFieldReadsAsExpected) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kOnnxTensorData)) {
    if (entry.path().extension() != ".npy") continue;
    const std::string name = entry.path().stem().string();
    const auto expected = open_tensor_file(entry.path());
    ASSERT_TRUE(expected) << name;
    const auto file = open_tensor_file(kOnnxTensorData / (name + ".pb"));
    ASSERT_TRUE(file) << name << ": " << text_of(file.error());
    EXPECT_EQ(file->format->name, "onnx-tensor") << name;
    ASSERT_EQ(file->listing.tensors.size(), 1u) << name;
    const TensorInfo& info = file->listing.tensors[0];
    EXPECT_EQ(info.name, name == "packed_dims" ? "" : "x");
    EXPECT_EQ(info.shape, expected->listing.tensors[0].shape) << name;
    EXPECT_EQ(saved_as(info.dtype), expected->listing.tensors[0].dtype) << name;
    const auto wanted = elements_in(*expected, expected->listing.tensors[0]);
    const auto elements = elements_in(*file, info);
    ASSERT_TRUE(elements) << name << ": " << text_of(elements.error());
    EXPECT_TRUE(*elements == *wanted) << name;
    ++seen;
  }
  EXPECT_EQ(seen, 46);
}

TEST(OnnxTensor, TypesHaveTheirOwnNames) {
  const struct {
    const char* file;
    const char* type;
    Packing packing;
  } kCases[] = {
      {"raw_bfloat16", "bfloat16", Packing::kPlain},
      {"raw_float8_e4m3fn", "float8_e4m3fn", Packing::kPlain},
      {"raw_float8_e5m2", "float8_e5m2", Packing::kPlain},
      {"raw_float8_e4m3fnuz", "FLOAT8E4M3FNUZ", Packing::kPlain},
      {"raw_int4", "int4", Packing::kPlain},
      {"raw_uint4", "UINT4", Packing::kPlain},
      {"float_data", "float32", Packing::kPlain},
      {"float_data_complex", "complex64", Packing::kPlain},
      {"float_data_pieces", "float32", Packing::kFormat},
      {"int64_data", "int64", Packing::kFormat},
      {"int32_data_bfloat16", "bfloat16", Packing::kFormat},
  };
  for (const auto& [name, type, packing] : kCases) {
    const auto file = open_tensor_file(kOnnxTensorData / (std::string(name) + ".pb"));
    ASSERT_TRUE(file) << name;
    EXPECT_EQ(dtype_text(file->listing.tensors[0]), type) << name;
    EXPECT_EQ(file->listing.tensors[0].packing, packing) << name;
  }
}

TEST(OnnxTensor, WhatCannotBeReadIsRefusedWithAReason) {
  const struct {
    const char* file;
    const char* message;
  } kCases[] = {
      {"text", "holds text, not numbers | byte 2: data_type 8 (STRING)"},
      {"external", "keeps its data in another file | byte 4: the data are in 'weights.bin'"},
      {"undefined", "no known element type | byte 2: data_type 0"},
      {"unknown_type", "no known element type | byte 2: data_type 99"},
      {"too_short", "byte 2: FLOAT [3] needs 12 bytes, field 9 has 8"},
      {"too_few", "byte 2: INT8 [3] needs 3 bytes, field 5 has 2"},
      {"too_many", "field 5 has more than 2 numbers"},
      {"too_wide", "byte 2: INT8 [2] holds a number of more than 8 bits"},
      {"two_kinds", "byte 2: FLOAT [1] has data in fields 4 and 9"},
      {"wrong_field", "byte 2: INT64 [1] has data in field 5, which is not for its type"},
      {"negative_shape", "shape is impossible | byte 11: FLOAT [-1]"},
      {"huge_shape", "shape is impossible | byte 14: FLOAT [1099511627776, 1099511627776]"},
      {"not_sequence", "byte 5: field 3 of wire type 2 is not part of a tensor"},
  };
  for (const auto& [name, message] : kCases) {
    const auto bytes = file_bytes(kOnnxTensorData / (std::string(name) + ".pb"));
    const auto listing = onnx_tensor().list(bytes, {});
    if (!listing) {
      EXPECT_THAT(text_of(listing.error()), HasSubstr(message)) << name;
      EXPECT_FALSE(listing.error().remedy.empty()) << name;
      continue;
    }
    const auto reader = TensorReader::open(onnx_tensor(), bytes, listing->tensors[0]);
    ASSERT_FALSE(reader) << name;
    EXPECT_THAT(text_of(reader.error()), HasSubstr(message)) << name;
  }
}

// The user is told what such a file is, not just that it is unknown.
TEST(OnnxTensor, SequencesAndOptionalsAreCalledSo) {
  for (const char* name :
       {"not_sequence", "not_sequence_empty", "not_optional", "not_optional_sequence"}) {
    SCOPED_TRACE(name);
    const auto bytes = file_bytes(kOnnxTensorData / (std::string(name) + ".pb"));
    EXPECT_TRUE(is_onnx_sequence(bytes));
    const auto detected = detect_format(bytes, {});
    ASSERT_FALSE(detected);
    EXPECT_EQ(detected.error().what, "an ONNX sequence or optional, not a single tensor");
    EXPECT_THAT(detected.error().where, HasSubstr("byte 0"));
    EXPECT_FALSE(detected.error().remedy.empty());
  }
  // Its only tensor goes on behind the head.
  auto large = file_bytes(kOnnxTensorData / "not_optional.pb");
  large.resize(large.size() - 1);
  EXPECT_TRUE(is_onnx_sequence(large));
  for (const char* name : {"undefined", "raw_float32", "text", "long"})
    EXPECT_FALSE(is_onnx_sequence(file_bytes(kOnnxTensorData / (std::string(name) + ".pb"))))
        << name;
  EXPECT_FALSE(is_onnx_sequence({}));
  EXPECT_FALSE(is_onnx_sequence(as_bytes(std::string_view("\x12\x03yes"))));  // text for a type
}

TEST(OnnxTensor, OtherMessagesAreNotTakenForTensors) {
  for (const char* name :
       {"not_sequence", "not_sequence_empty", "not_optional", "not_optional_sequence", "undefined"})
    EXPECT_FALSE(probe(file_bytes(kOnnxTensorData / (std::string(name) + ".pb")))) << name;
  const std::string kOthers[] = {
      "",
      std::string(4096, '\0'),
      "\x93NUMPY",
      "PK\3\4",
      "# text that starts like no message",
      std::string("\x08\x08\x12\x05torch", 9),  // a ModelProto
      std::string("\x0a\x03"
                  "1.0\x10\x01",
                  7),  // an Ascend dump header: version, time
      std::string("\x2a\0\0\0\0\0\0\0\x0a\x03"
                  "1.0",
                  13),           // ... with its length before it
      std::string("\x10\1", 2),  // a type and nothing else
  };
  for (const std::string& other : kOthers) EXPECT_FALSE(probe(as_bytes(other))) << other;
}

TEST(OnnxTensor, CutOffFilesAreStillRecognized) {
  const auto whole = file_bytes(kOnnxTensorData / "long.pb");
  for (size_t size : {100ul, 4096ul, 4097ul, whole.size() - 10}) {
    const Bytes cut = Bytes(whole).first(size);
    ASSERT_TRUE(probe(cut)) << size;
    const auto listing = onnx_tensor().list(cut, {});
    ASSERT_FALSE(listing) << size;
    EXPECT_THAT(text_of(listing.error()),
                HasSubstr("ONNX tensor is damaged or cut off | byte 5: field 9 needs 6000 bytes"));
  }
}

TEST(OnnxTensor, DamagedFilesDoNoHarm) {
  for (const auto& entry : std::filesystem::directory_iterator(kOnnxTensorData)) {
    if (entry.path().extension() != ".pb" || entry.file_size() > 1000) continue;
    auto bytes = file_bytes(entry.path());
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (unsigned flip = 1; flip < 256; flip *= 2) {
        bytes[at] ^= static_cast<std::byte>(flip);
        probe(bytes);
        const auto listing = onnx_tensor().list(bytes, {});
        if (listing) {
          auto reader = TensorReader::open(onnx_tensor(), bytes, listing->tensors[0]);
          if (reader) for_each_piece(*reader, [](Bytes, int64_t, int64_t) {}).ok();
        }
        bytes[at] ^= static_cast<std::byte>(flip);
      }
    }
  }
}

TEST(OnnxTensor, WrittenTensorsReadBackTheSame) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "plumb_onnx_tensor_test.pb";
  const Shape kShapes[] = {{}, {0}, {3}, {2, 0}, {2, 300}};
  for (const DTypeInfo& dtype : dtypes()) {
    EXPECT_EQ(onnx_tensor().writable(dtype.dtype), dtype.unpacked == dtype.dtype &&
                                                       dtype.dtype != DType::kOpaque &&
                                                       dtype.dtype != DType::kHiFloat8)
        << dtype.name;
    if (!onnx_tensor().writable(dtype.dtype)) continue;
    for (const Shape& shape : kShapes) {
      std::vector<std::byte> elements(
          static_cast<size_t>(*byte_count(dtype.dtype, *element_count(shape))));
      for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::byte>(i * 37 + 1);
      const WriteItem item{"a name", dtype.dtype, shape, [&]() -> Result<TensorReader> {
                             return TensorReader::from_memory(dtype.dtype, shape, elements);
                           }};
      auto sink = FileSink::create(path);
      ASSERT_TRUE(sink);
      ASSERT_TRUE(onnx_tensor().write(*sink, std::span(&item, 1)));
      ASSERT_TRUE(sink->commit(false));
      const auto file = open_tensor_file(path);
      ASSERT_TRUE(file) << dtype.name << to_string(shape) << text_of(file.error());
      EXPECT_EQ(file->format->name, "onnx-tensor");
      const TensorInfo& info = file->listing.tensors[0];
      EXPECT_EQ(info.name, "a name");
      EXPECT_EQ(info.dtype, dtype.dtype) << dtype.name;
      EXPECT_EQ(info.shape, shape) << dtype.name;
      EXPECT_TRUE(*elements_in(*file, info) == as_text(elements)) << dtype.name << to_string(shape);
    }
  }
  std::filesystem::remove(path);
}

// The test data of the ONNX project; what they hold was counted and summed up by the onnx package:
// make_onnx_tensor.py /usr/share/libonnx-testdata
TEST(OnnxTensor, TestDataOfTheOnnxProject) {
  const std::filesystem::path root = "/usr/share/libonnx-testdata";
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root, none))
    if (entry.path().extension() == ".pb") paths.push_back(entry.path().string());
  if (paths.size() != 3205) GTEST_SKIP() << "needs libonnx-testdata 1.12.0";
  std::sort(paths.begin(), paths.end());
  int refused = 0;
  uint32_t crc = 0;
  for (const std::string& path : paths) {
    const auto file = open_tensor_file(path);
    if (!file) {
      EXPECT_FALSE(file.error().remedy.empty());
      ++refused;
      continue;
    }
    const TensorInfo& info = file->listing.tensors[0];
    const std::string text = std::string(name_of(info.dtype)) + to_string(info.shape);
    const auto elements = elements_in(*file, info);
    ASSERT_TRUE(elements) << path << ": " << text_of(elements.error());
    crc = libdeflate_crc32(crc, text.data(), text.size());
    crc = libdeflate_crc32(crc, elements->data(), elements->size());
  }
  EXPECT_EQ(refused, 83);
  EXPECT_EQ(fmt::format("{:08x}", crc), "42c52832");
}

}  // namespace
}  // namespace plumb::io
