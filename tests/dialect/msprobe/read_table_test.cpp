// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/read_table.h"

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "io/zip.h"

namespace plumb::msprobe {
namespace {

// "a|b/c": cells and rows; what went wrong behind a '!'.
std::string flat(Result<void> (*read)(std::string_view, const OnRow&), std::string_view text) {
  std::string rows;
  const auto done = read(text, [&](std::span<const std::string> cells) {
    if (!rows.empty()) rows += '/';
    for (size_t i = 0; i < cells.size(); ++i) rows += (i > 0 ? "|" : "") + cells[i];
  });
  return done ? rows : rows + "!" + done.error().where;
}

TEST(TableFile, Csv) {
  const struct {
    const char *what, *text, *rows;
  } cases[] = {
      {"nothing", "", ""},
      {"one cell", "a", "a"},
      {"a last line without an end", "a,b\nc,d", "a|b/c|d"},
      {"ends of both kinds", "a,b\r\nc,d\n", "a|b/c|d"},
      {"empty cells", ",\n,b,\n", "|/|b|"},
      {"an empty cell at the end", "a,", "a|"},
      {"commas and lines in quotes", "\"a,b\",\"c\nd\"\n", "a,b|c\nd"},
      {"quotes in quotes", "\"say \"\"a\"\"\",b\n", "say \"a\"|b"},
      {"a byte order mark",
       "\xEF\xBB\xBF"
       "a\n",
       "a"},
      {"a quote that does not end", "a\nb,\"c\n", "a!byte 4: a quote that does not end"},
  };
  for (const auto& c : cases) EXPECT_EQ(flat(read_csv, c.text), c.rows) << c.what;
}

// A workbook of one sheet, and texts that it shares.
std::string sheet(std::string_view rows, std::string_view strings = "") {
  const std::string path = testing::TempDir() + "plumb_read_table.xlsx";
  auto sink = FileSink::create(path);
  EXPECT_TRUE(sink.ok());
  io::ZipWriter zip(*sink, io::ZipWriter::Packing::kDeflated);
  EXPECT_TRUE(zip.begin("xl/worksheets/sheet1.xml").ok());
  zip.write(as_bytes("<worksheet><sheetData>" + std::string(rows) + "</sheetData></worksheet>"));
  EXPECT_TRUE(zip.begin("xl/sharedStrings.xml").ok());
  zip.write(as_bytes("<sst>" + std::string(strings) + "</sst>"));
  zip.finish();
  EXPECT_TRUE(sink->commit().ok());
  auto file = MappedFile::open(path);
  EXPECT_TRUE(file.ok());
  return std::string(as_text(file->bytes()));
}

Result<void> read_book(std::string_view text, const OnRow& on_row) {
  return read_table(as_bytes(text), on_row);
}

TEST(TableFile, Workbooks) {
  const struct {
    const char *what, *rows, *flat;
  } cases[] = {
      {"nothing", "", ""},
      {"numbers", R"(<row r="1"><c r="A1"><v>1.5</v></c><c r="B1"><v>-2</v></c></row>)", "1.5|-2"},
      {"texts in place", R"(<row><c t="inlineStr"><is><t>a</t><t> b</t></is></c></row>)", "a b"},
      {"shared texts", R"(<row><c t="s"><v>1</v></c><c t="s"><v>0</v></c></row>)", "two|one <&>"},
      {"truth values", R"(<row><c t="b"><v>1</v></c><c t="b"><v>0</v></c></row>)", "True|False"},
      {"cells left out", R"(<row><c r="C1"><v>3</v></c></row><row/><row></row>)", "||3//"},
      {"empty cells", R"(<row><c r="A1" s="6"/><c r="B1"><v>2</v></c></row>)", "|2"},
      {"entities", R"(<row><c t="str"><v>&lt;&#65;&#x20AC;&quot;&no;&</v></c></row>)",
       "<A\u20AC\"&no;&"},
      {"with a namespace", R"(<x:row><x:c r="A1"><x:v>7</x:v></x:c></x:row>)", "7"},
      {"a text that is not there", R"(<row><c t="s"><v>2</v></c></row>)",
       "!byte 0: text 2 of 2 wanted"},
      {"cells in disorder", R"(<row><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>)",
       "!byte 0: cell 'A1' out of place"},
      {"a tag that does not end", "<row><c r=\"A1\"><v>1</v></c></row><row", "1"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(
        flat(read_book, sheet(c.rows, "<si><t>one &lt;&amp;&gt;</t></si><si><t>two</t></si>")),
        c.flat)
        << c.what;
}

TEST(TableFile, OtherArchivesAreRefused) {
  EXPECT_EQ(flat(read_book, "PK\x05\x06" + std::string(18, '\0')),
            "!byte 0: a zip archive without xl/worksheets/sheet1.xml");
  EXPECT_TRUE(flat(read_book, "PK\x03\x04").starts_with("!byte "));
}

}  // namespace
}  // namespace plumb::msprobe
