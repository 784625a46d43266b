// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <utility>

#include <gtest/gtest.h>

namespace plumb {
namespace {

template <void (*append)(std::string&, std::string_view)>
std::string cell(std::string_view text) {
  std::string line;
  append(line, text);
  return line;
}

TEST(Csv, Cells) {
  const struct {
    const char *what, *text, *plain, *safe;
  } cases[] = {
      {"empty", "", "", ""},
      {"a name", "conv1/relu#1 %2", "conv1/relu#1 %2", "conv1/relu#1 %2"},
      {"a comma", "a,b", "\"a,b\"", "\"a,b\""},
      {"quotes", "say \"a\"", "\"say \"\"a\"\"\"", "\"say \"\"a\"\"\""},
      {"only a quote", "\"", "\"\"\"\"", "\"\"\"\""},
      {"ends of lines", "a\r\nb", "\"a\r\nb\"", "\"a\r\nb\""},
      {"a sum", "=1+1", "=1+1", "'=1+1"},
      {"a sum with a comma", "=SUM(1,2)", "\"=SUM(1,2)\"", "\"'=SUM(1,2)\""},
      {"a call", "@x", "@x", "'@x"},
      {"a sign alone", "-", "-", "'-"},
      {"a name with a sign", "-conv", "-conv", "'-conv"},
      {"a difference", "-1-1", "-1-1", "'-1-1"},
      {"a negative number", "-1.5", "-1.5", "-1.5"},
      {"a positive number", "+1.5e3", "+1.5e3", "+1.5e3"},
      {"no number of ours", "-1e999", "-1e999", "-1e999"},
      {"minus infinity", "-inf", "-inf", "-inf"},
      {"a wide equals sign", "＝1", "＝1", "'＝1"},
      {"a wide plus sign", "＋1", "＋1", "'＋1"},
      {"a wide minus sign", "－1", "－1", "'－1"},
      {"a wide at sign", "＠x", "＠x", "'＠x"},
      {"another wide sign", "％x", "％x", "％x"},
      {"the first byte of a wide sign", "\xEF", "\xEF", "\xEF"},
      {"behind a blank", " =1", " =1", " =1"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(cell<append_csv>(c.text), c.plain);
    EXPECT_EQ(cell<append_csv_text>(c.text), c.safe);
    // What is written reads back as it was.
    CsvReader reader(c.plain);
    EXPECT_EQ(reader.next(), c.plain[0] != '\0');
    if (c.plain[0] != '\0') {
      EXPECT_EQ(reader.cells(), std::vector<std::string>{c.text});
    }
    EXPECT_FALSE(reader.next());
  }
  EXPECT_EQ(cell<append_csv_quoted>("a"), "\"a\"");
}

// "a|b/c": cells and records; '!' where a quote is never closed, '?' where one closes early.
std::string flat(std::string_view text) {
  std::string records;
  bool is_first = true;
  for (CsvReader reader(text); reader.next();) {
    if (!std::exchange(is_first, false)) records += '/';
    for (size_t i = 0; i < reader.cells().size(); ++i)
      records += (i > 0 ? "|" : "") + reader.cells()[i];
    if (reader.open_quote()) records += "!" + std::to_string(*reader.open_quote());
    if (reader.closes_early()) records += "?";
  }
  return records;
}

TEST(Csv, Records) {
  using namespace std::string_view_literals;
  const struct {
    const char* what;
    std::string_view text, records;
  } cases[] = {
      {"nothing", "", ""},
      {"a byte order mark alone", "\xEF\xBB\xBF", ""},
      {"one cell", "a", "a"},
      {"a last line without an end", "a,b\nc,d", "a|b/c|d"},
      {"ends of three kinds", "a\r\nb\nc\rd\r\n", "a/b/c/d"},
      {"empty lines", "\na\n\n", "/a/"},
      {"empty cells", ",\n,b,\n", "|/|b|"},
      {"an empty cell at the end", "a,", "a|"},
      {"commas and lines in quotes", "\"a,b\",\"c\r\nd\"\ne", "a,b|c\r\nd/e"},
      {"quotes in quotes", "\"say \"\"a\"\"\",\"\"\"\"\n\"\"", "say \"a\"|\"/"},
      {"quotes inside are themselves", "a\"b,\"c\"\n", "a\"b|c"},
      {"text behind a quote", "\"a\"b,c\nd\n", "ab|c?/d"},
      {"an open quote", "a\nb,\"c\nd", "a/b|c\nd!4"},
      {"an open quote behind doubled ones", "\"a\"\"b", "a\"b!0"},
      {"an open quote at the end", "a,\"", "a|!2"},
      {"a byte order mark", "\xEF\xBB\xBF\"a\"\n", "a"},
      {"any bytes", "a\0b,\xff\n"sv, "a\0b|\xff"sv},
  };
  for (const auto& c : cases) EXPECT_EQ(flat(c.text), c.records) << c.what;
}

TEST(Csv, Lines) {
  std::string_view text = "a\r\n\nb\rc\n\rd\r";
  for (const char* line : {"a", "", "b\rc", "\rd"}) EXPECT_EQ(take_line(text), line);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(take_line(text), "");
}

}  // namespace
}  // namespace plumb
