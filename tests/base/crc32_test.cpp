// SPDX-License-Identifier: Apache-2.0
#include "base/crc32.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

namespace plumb {
namespace {

TEST(Crc32, KnownValues) {
  EXPECT_EQ(crc32(0, {}), 0U);
  EXPECT_EQ(crc32(0, as_bytes(std::string_view("123456789"))), 0xCBF43926U);
  EXPECT_EQ(crc32(0x12345678, {}), 0x12345678U);  // nothing more
}

// Of any length, at any address, in any pieces: around the sizes where another way is taken.
TEST(Crc32, IsWhatZlibSays) {
  std::mt19937_64 random(1);
  std::vector<std::byte> data(70'000);
  for (std::byte& b : data) b = static_cast<std::byte>(random());
  for (const size_t size : {1, 15, 64, 255, 256, 257, 4095, 4096, 4097, 4351, 4352, 8191, 65'537}) {
    for (const size_t start : {0, 1, 7, 63}) {
      const Bytes bytes = Bytes(data).subspan(start, size);
      const auto* plain = reinterpret_cast<const Bytef*>(bytes.data());
      const auto expected =
          static_cast<uint32_t>(::crc32(0, plain, static_cast<uInt>(bytes.size())));
      EXPECT_EQ(crc32(0, bytes), expected) << size << " at " << start;
      const size_t half = size / 3;
      EXPECT_EQ(crc32(crc32(0, bytes.first(half)), bytes.subspan(half)), expected);
      Checksum parts, later;
      parts.add(bytes.first(half));
      later.add(bytes.subspan(half));
      parts.append(later);
      EXPECT_EQ(parts.value(), expected);
    }
  }
}

}  // namespace
}  // namespace plumb
