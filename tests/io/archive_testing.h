// SPDX-License-Identifier: Apache-2.0
//
// What the tests of tensor files share: reading sample files, comparing what a format finds in them
// with a manifest that other software wrote, and writing through memory.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "io/file.h"

namespace plumb::io {

using Json = nlohmann::json;

inline std::filesystem::path test_data(const std::string& name) {
  return std::filesystem::path(PLUMB_TEST_DATA) / name;
}

inline std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const Bytes bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const Bytes bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

inline std::string hex(Bytes bytes) {
  std::string text;
  for (std::byte b : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(b));
  return text;
}

// All elements, in pieces of a few bytes so that nothing depends on reading them at once.
inline Result<std::vector<std::byte>> elements_of(const Format& format, Bytes file,
                                                  const TensorInfo& info,
                                                  const ReadOrder& order = {}) {
  auto reader = TensorReader::open(format, file, info, order);
  if (!reader) return reader.error();
  std::vector<std::byte> all;
  auto read = for_each_piece(
      *reader,
      [&](Bytes piece, int64_t, int64_t) { all.insert(all.end(), piece.begin(), piece.end()); },
      24);
  if (!read) return read.error();
  return all;
}

inline void expect_error(const Error& error, const std::string& what) {
  EXPECT_EQ(error.what, what) << error.where;
  EXPECT_FALSE(error.where.empty()) << error.what;
  EXPECT_FALSE(error.remedy.empty()) << error.what;
}

// Compares each file that the manifest names with what it says.
inline void check_manifest(const std::string& format_name, const std::string& folder,
                           const std::string& manifest = "manifest.json") {
  const Format& format = *format_by_name(format_name);
  std::ifstream in(test_data(folder) / manifest);
  const Json cases = Json::parse(in);
  ASSERT_FALSE(cases.empty());
  for (const Json& entry : cases) {
    SCOPED_TRACE(entry["file"]);
    const auto file = file_bytes(test_data(folder) / entry["file"]);
    auto listing = format.list(file, {});
    if (entry.contains("error")) {
      EXPECT_FALSE(listing.ok());
      if (!listing) expect_error(listing.error(), entry["error"]);
      continue;
    }
    auto detected = detect_format(file, {});
    EXPECT_TRUE(detected && (*detected)->name == format.name);
    if (!listing) {
      ADD_FAILURE() << listing.error().what << "; " << listing.error().where;
      continue;
    }
    EXPECT_EQ(listing->warnings.size(), entry.value("warnings", 0));
    const Json properties = entry.value("properties", Json::object());
    for (const auto& [key, value] : properties.items())
      EXPECT_NE(std::find(listing->properties.begin(), listing->properties.end(),
                          std::pair(key, value.get<std::string>())),
                listing->properties.end());
    EXPECT_EQ(listing->tensors.size(), entry["tensors"].size());
    for (size_t i = 0; i < std::min(listing->tensors.size(), entry["tensors"].size()); ++i) {
      const Json& expected = entry["tensors"][i];
      const TensorInfo& info = listing->tensors[i];
      SCOPED_TRACE(expected["name"]);
      EXPECT_EQ(info.name, expected["name"]);
      auto elements = elements_of(format, file, info);
      if (expected.contains("error")) {
        EXPECT_FALSE(elements.ok());
        if (!elements) expect_error(elements.error(), expected["error"]);
        continue;
      }
      EXPECT_EQ(dtype_text(info), expected["dtype"]);
      EXPECT_EQ(info.shape, expected["shape"].get<Shape>());
      if (elements) {
        EXPECT_EQ(hex(*elements), expected["hex"]);
      } else {
        ADD_FAILURE() << elements.error().what << "; " << elements.error().where;
      }
    }
  }
}

inline WriteItem item(std::string name, DType dtype, Shape shape, std::vector<std::byte> elements) {
  return {std::move(name), dtype, shape,
          [=] { return Result<TensorReader>(TensorReader::from_memory(dtype, shape, elements)); }};
}

// The bytes of a file that holds these items.
inline Result<std::vector<std::byte>> written(const Format& format,
                                              const std::vector<WriteItem>& items) {
  const auto path = std::filesystem::path(testing::TempDir()) /
                    fmt::format("plumb-{}-{}", ::getpid(), format.name);
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  if (auto done = format.write(*sink, items); !done) return done.error();
  if (auto done = sink->commit(false); !done) return done.error();
  auto bytes = file_bytes(path);
  std::filesystem::remove(path);
  return bytes;
}

}  // namespace plumb::io
