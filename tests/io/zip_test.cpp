// SPDX-License-Identifier: Apache-2.0
//
// What damage does to an archive is tested through npz (npz_test.cpp); here is the writer, and what
// the reader says of its members.
#include "io/zip.h"

#include "io/archive_testing.h"
#include "sample_of.h"

namespace plumb::io {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

std::filesystem::path temporary_file() {
  return std::filesystem::path(testing::TempDir()) / fmt::format("plumb-{}.zip", ::getpid());
}

std::vector<std::byte> zipped(const Members& members,
                              ZipWriter::Packing packing = ZipWriter::Packing::kStored) {
  auto sink = FileSink::create(temporary_file());
  EXPECT_TRUE(sink.ok());
  ZipWriter zip(*sink, packing);
  for (const auto& [name, data] : members) {
    EXPECT_TRUE(zip.begin(name).ok());
    for (size_t i = 0; i < data.size(); i += 7) zip.write(as_bytes(data.substr(i, 7)));
  }
  zip.finish();
  EXPECT_TRUE(sink->commit(false).ok());
  auto bytes = file_bytes(temporary_file());
  std::filesystem::remove(temporary_file());
  return bytes;
}

TEST(Zip, WritesAlignedMembersThatReadBack) {
  const Members members = {{"a", "hello"},
                           {"empty", ""},
                           {"größe", std::string(1000, 'x')},
                           {"not \xff utf-8", "y"},
                           {std::string(65535, 'n'), "longest name"}};
  const auto file = zipped(members);
  auto listed = list_zip(file);
  ASSERT_TRUE(listed.ok()) << listed.error().what;
  ASSERT_EQ(listed->size(), members.size());
  Buffer scratch;
  for (size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ((*listed)[i].name, members[i].first);
    EXPECT_EQ((*listed)[i].offset_bytes % 64, 0u);
    auto data = zip_member_data(file, (*listed)[i], 1, scratch);
    ASSERT_TRUE(data.ok()) << data.error().what;
    EXPECT_EQ(as_text(*data), members[i].second);
  }
}

TEST(Zip, WritesDeflatedMembersThatReadBack) {
  std::string noise;  // fills the packer's buffer several times
  for (uint32_t i = 0, x = 1; i < 300'000; ++i)
    noise += static_cast<char>((x = x * 69069 + 1) >> 24);
  const Members members = {
      {"a", "hello"}, {"empty", ""}, {"größe", std::string(1'000'000, 'x')}, {"noise", noise}};
  const auto file = zipped(members, ZipWriter::Packing::kDeflated);
  auto listed = list_zip(file);
  ASSERT_TRUE(listed.ok()) << listed.error().what;
  ASSERT_EQ(listed->size(), members.size());
  Buffer scratch;
  for (size_t i = 0; i < members.size(); ++i) {
    const ZipMember& member = (*listed)[i];
    EXPECT_EQ(member.name, members[i].first);
    EXPECT_TRUE(member.deflated);
    auto data = zip_member_data(file, member, 2000, scratch);
    ASSERT_TRUE(data.ok()) << data.error().what;
    EXPECT_EQ(as_text(*data), members[i].second);
  }
  EXPECT_LT((*listed)[2].packed_bytes, 10'000u);
  // No fields behind the names: the next header follows the data.
  EXPECT_EQ((*listed)[0].offset_bytes, 30u + 1);
  EXPECT_EQ((*listed)[1].offset_bytes, 31u + (*listed)[0].packed_bytes + 30 + 5);
}

TEST(Zip, RefusesNamesThatDoNotFit) {
  auto sink = FileSink::create(temporary_file());
  ASSERT_TRUE(sink.ok());
  ZipWriter zip(*sink);
  for (const std::string& name : {std::string(65536, 'n'), std::string("a\0b", 3)}) {
    auto begun = zip.begin(name);
    ASSERT_FALSE(begun.ok());
    expect_error(begun.error(), "name does not fit into a zip archive");
  }
}

// From 65535 members on, the count is in the zip64 record only.
TEST(Zip, CountsBeyondSixteenBits) {
  for (size_t count : {size_t{65534}, size_t{65535}}) {
    if (count == 65534 && sample_step(2) != 1) continue;
    Members members(count);
    for (size_t i = 0; i < count; ++i) members[i].first = std::to_string(i);
    const auto file = zipped(members);
    auto listed = list_zip(file);
    ASSERT_TRUE(listed.ok()) << listed.error().what << listed.error().where;
    EXPECT_EQ(listed->size(), count);
    EXPECT_EQ(listed->back().name, std::to_string(count - 1));
    EXPECT_FALSE(listed->back().error.has_value());
  }
}

TEST(Zip, UnpacksOnlyWhatMetadataMayGrowTo) {
  const auto file = file_bytes(test_data("npz/deflated.npz"));
  auto listed = list_zip(file);
  ASSERT_TRUE(listed.ok());
  Buffer scratch;
  const ZipMember& member = listed->front();
  EXPECT_TRUE(zip_member_data(file, member, 100, scratch).ok());
  ZipMember larger = member;
  larger.size_bytes = member.packed_bytes * 200;
  auto data = zip_member_data(file, larger, 100, scratch);
  ASSERT_FALSE(data.ok());
  expect_error(data.error(), "zip member unpacks to too much");
}

// Python's zipfile checks every header and checksum.
TEST(Zip, PythonReadsWhatWeWrite) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "needs /usr/bin/python3 with numpy";
  const Format& npz = *format_by_name("npz");
  auto file = written(npz, {item("a", DType::kInt16, {2, 2}, bytes_of("01234567")),
                            item("größe", DType::kFloat32, {}, bytes_of("abcd")),
                            item("empty", DType::kBool, {0, 2}, {})});
  ASSERT_TRUE(file.ok());
  const auto path = temporary_file();
  std::ofstream(path, std::ios::binary) << as_text(*file);
  const std::string script =
      "import numpy, sys, zipfile\n"
      "assert zipfile.ZipFile(sys.argv[1]).testzip() is None\n"
      "f = numpy.load(sys.argv[1])\n"
      "assert f.files == ['a', 'gr\\u00f6\\u00dfe', 'empty'], f.files\n"
      "assert f['a'].tobytes() == b'01234567' and f['a'].shape == (2, 2)\n"
      "assert f['gr\\u00f6\\u00dfe'].tobytes() == b'abcd' and f['gr\\u00f6\\u00dfe'].dtype == "
      "'f4'\n"
      "assert f['empty'].shape == (0, 2) and f['empty'].dtype == bool\n";
  const std::string command = fmt::format("/usr/bin/python3 -c \"{}\" '{}'", script, path.string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace plumb::io
