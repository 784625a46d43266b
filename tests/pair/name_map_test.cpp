// SPDX-License-Identifier: Apache-2.0
#include "pair/name_map.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/tensors.h"

namespace plumb::pair {
namespace {

using compare::sample;
using compare::Tensors;

using testing::HasSubstr;
using testing::StartsWith;

// "a=b c=d", by target; an error as "what; where".
std::string text_of(const Result<NameMap>& map) {
  if (!map) {
    EXPECT_FALSE(map.error().remedy.empty());
    return map.error().what + "; " + map.error().where;
  }
  std::vector<std::string> pairs;
  for (const auto& [target, golden] : map->operators) pairs.push_back(target + "=" + golden);
  for (const auto& [target, golden] : map->tensors)
    pairs.push_back(target + "=" + tensor_text(golden.op, golden.slot));
  std::sort(pairs.begin(), pairs.end());
  std::string text;
  for (const std::string& pair : pairs) text += (text.empty() ? "" : " ") + pair;
  return text;
}

struct MapCase {
  const char* what;
  std::string_view text;
  std::string_view expected;
};

TEST(NameMap, Csv) {
  using namespace std::string_view_literals;
  const MapCase cases[] = {
      {"nothing", "", ""},
      {"one", "a,b", "a=b"},
      {"header", "target,golden\na,b\n", "a=b"},
      {"header alone", "target,golden\n", ""},
      {"header after comments", "# mine\n\ntarget,golden\na,b\n", "a=b"},
      {"header in quotes", "\"target\",\"golden\"\na,b\n", "a=b"},
      {"header only once", "a,b\ntarget,golden\n", "a=b target=golden"},
      {"byte order mark", "\xEF\xBB\xBFtarget,golden\r\na,b\r\n", "a=b"},
      {"CRLF and blank lines", "a,b\r\n\r\nc,d\r\n", "a=b c=d"},
      {"no line end", "a,b\nc,d", "a=b c=d"},
      {"comments", "# x,y\na,b\n#\n", "a=b"},
      {"a name that starts like a comment", "\"#a\",b\n", "#a=b"},
      {"quotes", "\"a,1\",\"say \"\"b\"\"\"\n", "a,1=say \"b\""},
      {"quotes inside are themselves", "a\"b,c\n", "a\"b=c"},
      {"names as tools write them", "net/conv:0,net.conv_0\n", "net/conv:0=net.conv_0"},
      {"empty third cell", "a,b,\n", "a=b"},
      {"swapped names", "a,b\nb,a\n", "a=b b=a"},
      {"a tensor", "a,b,output:1,input:0\n", "a output:1=b input:0"},
      {"a golden tensor may be read twice", "a,c,output:0,output:0\nb,c,input:0,output:0\n",
       "a output:0=c output:0 b input:0=c output:0"},
      {"a target tensor twice", "a,c,output:0,output:0\na,d,output:0,output:0\n",
       "a target tensor is in two pairs of the map; line 2: a output:0"},
      {"no slot", "a,b,output:0,exit:0\n", "a pair of the map is not complete; line 1"},
      {"five cells", "a,b,output:0,output:0,x\n",
       "a line of the map has more than four cells; line 1"},
      {"any bytes", "a\0b,\xff\n"sv, "a\0b=\xff"sv},

      {"one cell", "a,b\nc\n", "a pair of the map is not complete; line 2"},
      {"no golden", "a,\n", "a pair of the map is not complete; line 1"},
      {"no target", "\n,b\n", "a pair of the map is not complete; line 2"},
      {"empty quotes", "\"\",b\n", "a pair of the map is not complete; line 1"},
      {"three cells", "a,b\r\n# c\r\nc,d,e\r\n", "a pair of the map is not complete; line 3"},
      {"open quote", "a,b\n\"c,d\ne,f\n", "a quoted cell of the map is not closed; line 2"},
      {"text behind a quote", "\"a\"b,c\n", "a quoted cell of the map is not closed; line 1"},
      {"text behind a quote, no comma", "\"a\"b\n",
       "a quoted cell of the map is not closed; line 1"},
      {"target twice", "a,b\na,c\n", "a target operator is in two pairs of the map; line 2: a"},
      {"golden twice", "a,c\n\nb,c\n", "a golden operator is in two pairs of the map; line 3: c"},
      {"pair twice", "a,b\na,b\n", "a golden operator is in two pairs of the map; line 2: b"},
  };
  for (const MapCase& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(text_of(parse_name_map_csv(c.text)), c.expected);
  }
}

TEST(NameMap, Toml) {
  const MapCase cases[] = {
      {"empty table", "[pairs]\n", ""},
      {"pairs", "[pairs]\n\"net/a\" = \"b\"\nc = 'd'  # comment\n", "c=d net/a=b"},
      {"inline", "pairs = {a = \"b\"}", "a=b"},
      {"byte order mark", "\xEF\xBB\xBF[pairs]\r\na = \"b\"\r\n", "a=b"},

      {"nothing", "", "the map should hold the tables [pairs] and [tensors]; line 1"},
      {"other table", "[map]\na = \"b\"\n",
       "the map should hold the tables [pairs] and [tensors]; line 1"},
      {"more tables", "[pairs]\na = \"b\"\n[more]\n",
       "the map should hold the tables [pairs] and [tensors]; line 1"},
      {"no table", "pairs = 3", "the map should hold the tables [pairs] and [tensors]; line 1"},
      {"number", "[pairs]\na = \"b\"\nc = 3\n",
       "a pair of the map is not complete; line 3, column 1"},
      {"dots without quotes", "[pairs]\nnet.a = \"b\"\n",
       "a pair of the map is not complete; line 2, column 1"},
      {"empty", "[pairs]\na = \"\"\n", "a pair of the map is not complete; line 2, column 1"},
      {"golden twice", "[pairs]\na = \"c\"\nb = \"c\"\n",
       "a golden operator is in two pairs of the map; line 3, column 1: c"},
  };
  for (const MapCase& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(text_of(parse_name_map_toml(c.text)), c.expected);
  }
  EXPECT_THAT(text_of(parse_name_map_toml("[pairs]\na = \"b\"\na = \"c\"\n")),
              StartsWith("file is not TOML; line 3"));
  EXPECT_THAT(text_of(parse_name_map_toml("[pairs]\na = b\n")),
              StartsWith("file is not TOML; line 2"));
}

// Law: what is written reads back, whatever the names.
TEST(NameMap, WriteThenRead) {
  const dump::Slot output{dump::SlotKind::kOutput, 0, {}}, input{dump::SlotKind::kInput, 1, {}};
  const std::vector<TensorPair> pairs = {{{"conv1", output}, {"relu1", output}},
                                         {{"#a", input}, {"say \"b\", c", output}},
                                         {{"=1\r", output}, {" ", input}}};
  EXPECT_EQ(name_map_csv(pairs),
            "target,golden,target slot,golden slot\nconv1,relu1,output:0,output:0\n"
            "\"#a\",\"say \"\"b\"\", c\",input:1,output:0\n\"=1\r\", ,output:0,input:1\n");
  const auto map = parse_name_map_csv(name_map_csv(pairs));
  ASSERT_TRUE(map.ok()) << map.error().where;
  EXPECT_EQ(map->tensors.size(), pairs.size());
  for (const auto& [target, golden] : pairs)
    EXPECT_EQ(map->tensors.at(tensor_text(target.op, target.slot)), golden);
}

TEST(NameMap, FilesByExtension) {
  EXPECT_EQ(text_of(load_name_map(sample("name_map/pairs.csv"))),
            "conv1relu1=relu1 net/fc=fc, last");
  EXPECT_EQ(text_of(load_name_map(sample("name_map/quoted.csv"))), "a \"b\"=c d=e");
  EXPECT_EQ(text_of(load_name_map(sample("name_map/pairs.toml"))),
            "conv1relu1=relu1 net/fc=fc plain=golden.plain");

  const Tensors dir;
  EXPECT_EQ(text_of(load_name_map(dir.write("empty.csv", "# nothing\n"))),
            "the map is empty; " + (dir.path() / "empty.csv").string());
  EXPECT_EQ(text_of(load_name_map(dir.write("bad.csv", "a,b\na,c\n"))),
            "a target operator is in two pairs of the map; " + (dir.path() / "bad.csv").string() +
                ", line 2: a");
  EXPECT_THAT(text_of(load_name_map(dir.write("bad.toml", "a,b"))), HasSubstr("bad.toml, line 1"));
  EXPECT_THAT(text_of(load_name_map(dir.path() / "gone.csv")), HasSubstr("gone.csv"));
}

dump::DumpSet set_of_names(const std::vector<std::string>& names) {
  dump::DumpSet set;
  for (const std::string& name : names) set.entries.emplace_back().operator_name = name;
  return set;
}

TEST(NameMap, OperatorsHaveToExist) {
  const dump::DumpSet target = set_of_names({"conv1", "conv2"}),
                      golden = set_of_names({"relu1", "relu2"});
  EXPECT_TRUE(check_name_map({}, target, golden));
  EXPECT_TRUE(check_name_map({{{"conv1", "relu2"}}, {}}, target, golden));
  const auto no_target = check_name_map({{{"covn1", "relu1"}}, {}}, target, golden);
  ASSERT_FALSE(no_target);
  EXPECT_EQ(no_target.error().what, "the map names an operator that target does not have");
  EXPECT_EQ(no_target.error().where, "covn1");
  EXPECT_THAT(no_target.error().remedy, StartsWith("did you mean 'conv1'? "));
  const auto no_golden = check_name_map({{{"conv1", "softmax"}}, {}}, target, golden);
  ASSERT_FALSE(no_golden);
  EXPECT_EQ(no_golden.error().what, "the map names an operator that golden does not have");
  EXPECT_EQ(no_golden.error().remedy, "`plumb inspect` lists the operators");
  // Those of single tensors, too, and slots may be called anything.
  const auto tensors = parse_name_map_csv("conv1,relu1,input:my key,input:0\n");
  ASSERT_TRUE(tensors.ok());
  EXPECT_TRUE(check_name_map(*tensors, target, golden));
  const auto unknown = check_name_map(*tensors, set_of_names({"conv2"}), golden);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().where, "conv1");
  // The sides are not mixed up.
  EXPECT_FALSE(check_name_map({{{"relu1", "conv1"}}, {}}, target, golden));
}

// A file that is no map may have a "name" of megabytes; looking for one like it takes no time.
TEST(NameMap, AbsurdNamesAreNotSearchedFor) {
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) names.push_back("operator" + std::to_string(i));
  const auto checked = check_name_map({{{std::string(10'000'000, 'x'), "a"}}, {}},
                                      set_of_names(names), set_of_names({"a"}));
  EXPECT_FALSE(checked);
}

}  // namespace
}  // namespace plumb::pair
