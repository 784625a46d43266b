// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/yaml_text.h"

#include <gtest/gtest.h>

namespace plumb::msprobe {
namespace {

TEST(Yaml, TextsListsAndTables) {
  const auto yaml =
      parse_yaml("# comment\na.b: 'c: d'\nlist: [0, x, true]\nsub:\n  deep: 1\nnone:\n");
  ASSERT_TRUE(yaml);
  EXPECT_EQ(yaml->kind, Yaml::Kind::kTable);
  EXPECT_EQ(yaml->find("a.b")->text, "c: d");
  ASSERT_EQ(yaml->find("list")->items.size(), 3u);
  EXPECT_EQ(yaml->find("list")->items[0].text, "0");
  EXPECT_EQ(yaml->find("list")->items[2].text, "true");
  EXPECT_EQ(yaml->find("sub")->find("deep")->line, 5);
  EXPECT_EQ(yaml->find("none")->text, "");
  EXPECT_EQ(yaml->find("missing"), nullptr);
}

TEST(Yaml, NothingIsAnEmptyText) {
  for (std::string_view text : {"", "# only a comment\n", "---\n"}) {
    SCOPED_TRACE(text);
    const auto yaml = parse_yaml(text);
    ASSERT_TRUE(yaml);
    EXPECT_EQ(yaml->kind, Yaml::Kind::kText);
    EXPECT_EQ(yaml->text, "");
  }
}

TEST(Yaml, WhatIsRefused) {
  struct Case {
    std::string text, what, where;
  };
  const Case cases[] = {
      {"a: 1\nb: [\n", "this is no YAML", "line "},
      {"a: 1\n b: 2: 3\n", "this is no YAML", "line "},
      {"a: &x [1]\nb: *x\n", "anchors are not read in mapping files", "line 1"},
      {"a: 1\nb: 2\na: 3\n", "a name is in the mapping twice", "line 3: a"},
      {"{[1]: 2}", "a name of the mapping is no text", "line 1"},
      {std::string(100000, '['), "", "line 1"},
      {std::string(17, '[') + std::string(17, ']'), "the mapping is nested too deeply", "line 1"},
      {std::string(100000, '{'), "", "line 1"},
      {"? " + std::string(100000, '?'), "", "line "},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text.substr(0, 40));
    const auto yaml = parse_yaml(c.text);
    if (c.what.empty() && yaml) continue;  // any answer will do, if there is one
    ASSERT_FALSE(yaml);
    EXPECT_TRUE(c.what.empty() || yaml.error().what == c.what) << yaml.error().what;
    EXPECT_TRUE(yaml.error().where.starts_with(c.where)) << yaml.error().where;
  }
}

// Levels written by dashes and by indentation are levels, too.
TEST(Yaml, DeepNestingInAnyForm) {
  std::string dashes, indented;
  for (int i = 0; i < 5000; ++i) {
    dashes += "- ";
    indented += std::string(static_cast<size_t>(i % 200), ' ') + "a:\n";
  }
  for (const std::string& text : {dashes + "x", indented, std::string(5000, '-')}) {
    const auto yaml = parse_yaml(text);
    EXPECT_TRUE(yaml || !yaml.error().where.empty());
  }
  EXPECT_FALSE(parse_yaml(dashes + "x"));
}

}  // namespace
}  // namespace plumb::msprobe
