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
#include <unistd.h>

#include "io/file.h"
#include "json_file.h"

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

inline std::string text_of(const Error& e) { return e.what + " | " + e.where + " | " + e.remedy; }

inline const Format& raw() { return *format_by_name("raw"); }

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
void check_manifest(const std::string& format_name, const std::string& folder,
                    const std::string& manifest = "manifest.json");

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
