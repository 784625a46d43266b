// SPDX-License-Identifier: Apache-2.0
#include "dump/saved_listing.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::dump {
namespace {

std::string saved(const DumpSet& set) {
  std::string bytes;
  save_listing(set, bytes);
  return bytes;
}

// Real dumps of every kind: what is read back is what was written, and every tensor can be read.
TEST(SavedListing, OfEveryConventionIsReadBack) {
  for (const char* name : {"msprobe", "ascend-dump", "npz", "safetensors", "pt", "npy", "reduced",
                           "msaccucmp", "archive", "dump"}) {
    SCOPED_TRACE(name);
    const auto set = open_dump(std::filesystem::path(PLUMB_TEST_DATA) / name);
    if (!set) continue;
    const std::string bytes = saved(*set) + "more";
    Bytes from = as_bytes(bytes);
    const auto read = read_listing(from, {});
    ASSERT_TRUE(read.ok()) << read.error().what << read.error().where;
    EXPECT_EQ(as_text(from), "more");
    EXPECT_EQ(saved(*read) + "more", bytes);
    ASSERT_EQ(read->entries.size(), set->entries.size());
    EXPECT_EQ(read->own_graph(), set->own_graph());
    for (size_t i = 0; i < set->entries.size(); ++i) {
      const Entry &before = set->entries[i], &after = read->entries[i];
      ASSERT_EQ(before.info.has_value(), after.info.has_value());
      if (before.info) {
        EXPECT_EQ(before.info->shape, after.info->shape);
        EXPECT_EQ(before.info->packing, after.info->packing);
        EXPECT_EQ(before.info->offset_bytes, after.info->offset_bytes);
      }
      EXPECT_EQ(EntryReader::open(*set, before).ok(), EntryReader::open(*read, after).ok());
    }
  }
}

TEST(SavedListing, NothingLeavesTheRoot) {
  for (const char* file : {"../secret.npy", "/etc/passwd", "a/../../b.npy"}) {
    DumpSet set;
    set.entries.emplace_back().parts.push_back({file, {}});
    const std::string bytes = saved(set);
    Bytes from = as_bytes(bytes);
    EXPECT_FALSE(read_listing(from, {}).ok()) << file;
  }
}

// Of a packed tensor the description is read from its file: there has to be one.
TEST(SavedListing, APackedTensorHasAFile) {
  DumpSet set;
  Entry& entry = set.entries.emplace_back();
  entry.statistics.emplace();
  entry.record = "dump.json";
  const std::string sound = saved(set);
  Bytes from = as_bytes(sound);
  EXPECT_TRUE(read_listing(from, {}).ok());
  entry.info.emplace().packing = Packing::kFormat;
  const std::string bytes = saved(set);
  from = as_bytes(bytes);
  EXPECT_FALSE(read_listing(from, {}).ok());
}

TEST(SavedListing, AnyBytesAreReadOrRefused) {
  const auto set = open_dump(std::filesystem::path(PLUMB_TEST_DATA) / "msprobe");
  ASSERT_TRUE(set.ok());
  const std::string bytes = saved(*set);
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    std::string changed = bytes.substr(0, random() % (bytes.size() + 1));
    for (int k = 0; k < 3 && !changed.empty(); ++k)
      changed[random() % changed.size()] = static_cast<char>(random());
    Bytes from = as_bytes(changed);
    (void)read_listing(from, {}).ok();
  }
}

}  // namespace
}  // namespace plumb::dump
