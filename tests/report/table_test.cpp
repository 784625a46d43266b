// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <sstream>

#include <gtest/gtest.h>

namespace plumb::report {
namespace {

Table sample() {
  Table table;
  table.columns = {
      {"name", false, 9, true, 10}, {"n", true}, {"least", false, 1}, {"less", false, 2}, {"none"}};
  table.rows = {{"a", "1", "xxxxx", "yyyy", ""},
                {"a_long_name_of_an_operator", "1000", "", "", ""}};
  return table;
}

TEST(Table, FitsItsWidth) {
  const std::pair<size_t, const char*> kCases[] = {
      {0,
       "name                           n  least  less\n"
       "a                              1  xxxxx  yyyy\n"
       "a_long_name_of_an_operator  1000\n"},
      {40,  // names are shortened first, in the middle
       "name                      n  least  less\n"
       "a                         1  xxxxx  yyyy\n"
       "a_long…of_an_operator  1000\n"},
      {22,  // then the least important column goes
       "name           n  less\n"
       "a              1  yyyy\n"
       "a_l…erator  1000\n"},
      {16,
       "name           n\n"
       "a              1\n"
       "a_l…erator  1000\n"},
      {12,  // nothing left to drop
       "name       n\n"
       "a          1\n"
       "a…ator  1000\n"},
  };
  for (const auto& [width, expected] : kCases) EXPECT_EQ(sample().render(width), expected) << width;
}

TEST(Table, WideCharacters) {
  Table table;
  table.columns = {{"name", false, 9, true, 6}, {"n"}};
  table.rows = {{"卷积", "1"}, {"卷积卷积卷积卷积", "2"}, {"abcdefgh", "3"}};
  EXPECT_EQ(table.render(11),
            "name      n\n"
            "卷积      1\n"
            "卷…卷积   2\n"
            "abcdefgh  3\n");
}

TEST(Table, ColoursTheFirstCell) {
  Table table = sample();
  table.colours = {"31", "32"};
  EXPECT_EQ(table.render(16),
            "\033[2mname           n\033[0m\n"
            "\033[31ma         \033[0m     1\n"
            "\033[32ma_l…erator\033[0m  1000\n");
}

TEST(Table, NoRows) {
  Table table = sample();
  table.rows.clear();
  EXPECT_EQ(table.render(0), "name  n  least  less  none\n");
}

}  // namespace
}  // namespace plumb::report
