// SPDX-License-Identifier: Apache-2.0
#include "graph/proto_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace plumb::graph {
namespace {

// The fields one after the other, messages in braces, or what is wrong.
void print(ProtoTextReader& reader, std::string& out) {
  ProtoTextField field;
  while (reader.next(field)) {
    out += field.name;
    if (field.kind == ProtoTextField::Kind::kMessage) {
      reader.enter();
      out += "{";
      print(reader, out);
      out += "}";
    } else {
      out += "=" + field.text() + ";";
    }
  }
}

std::string read_fields(std::string_view text) {
  ProtoTextReader reader(text);
  std::string out;
  print(reader, out);
  return reader.ok() ? out : reader.where();
}

std::string read_top(std::string_view text) {
  ProtoTextReader reader(text);
  ProtoTextField field;
  std::string out;
  while (reader.next(field)) out += std::string(field.name) + " ";
  return reader.ok() ? out : reader.where();
}

struct FieldsCase {
  const char* name;
  std::string text;
  std::string expected;
};

const FieldsCase kFieldsCases[] = {
    {"empty", "", ""},
    {"blank", " \t\r\n", ""},
    {"comment", "# a: 1", ""},
    {"comment ends with its line", "# a: 1\nb: 2", "b=2;"},
    {"words", "a: 1 b:-2 c: 1e-5 d: DT_FLOAT e: true", "a=1;b=-2;c=1e-5;d=DT_FLOAT;e=true;"},
    {"minus stands apart", "a: - 2 b: 1", "a=- 2;b=1;"},
    {"separators", "a: 1, b: 2; c: 3,", "a=1;b=2;c=3;"},
    {"messages", "a { b: 1 } c: { } d < e: 2 >", "a{b=1;}c{}d{e=2;}"},
    {"lists", "a: [1, 2] b [3] c: [] d: 4", "a=1;a=2;b=3;d=4;"},
    {"lists of messages", "a: [{ b: 1 }, < b: [2, 3] >] c: 4", "a{b=1;}a{b=2;b=3;}c=4;"},
    {"extension", "[a.b/c]: 1 d: 2", "[a.b/c]=1;d=2;"},
    {"quotes", R"(a: "x'y" b: 'x"y')", "a=x'y;b=x\"y;"},
    {"adjacent texts", "a: \"x\" # between\n 'y'\"\" b: 1", "a=xy;b=1;"},
    {"escapes", R"(a: "\n\t\\\"\'\?\101\x41\x4g\7!\u00e9\U0001F600")",
     "a=\n\t\\\"'?AA\4g\7!\xC3\xA9\xF0\x9F\x98\x80;"},
    {"braces in texts", R"(a { b: "}}{" } c: 1)", "a{b=}}{;}c=1;"},
    {"value missing", "a:", "line 1, column 3: field 'a' has no value"},
    {"value missing before brace", "x {\n  a: }", "line 2, column 6: field 'a' has no value"},
    {"colon missing", "a 1", "line 1, column 1: field 'a' has no value"},
    {"no name", "\n  = 1", "line 2, column 3: a field name was expected"},
    {"closed twice", "a { } }", "line 1, column 7: '}' closes nothing that is open"},
    {"closed by the other", "a { >", "line 1, column 5: '>' closes nothing that is open"},
    {"not closed", "a {\n b: 1",
     "line 2, column 6: the file ends inside the message opened in line 1, column 3"},
    {"list not closed", "a: [1,", "line 1, column 7: the file ends inside list 'a'"},
    {"text not closed", "a: \"b", "line 1, column 4: a quoted text does not end in its line"},
    {"text not closed in its line", "a: 'b\n'",
     "line 1, column 4: a quoted text does not end in its line"},
    {"backslash at the end", "a: \"b\\",
     "line 1, column 4: a quoted text does not end in its line"},
    {"binary", std::string("\x08\x07", 2), "line 1, column 1: a field name was expected"},
};

TEST(ProtoText, Table) {
  for (const FieldsCase& c : kFieldsCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(read_fields(c.text), c.expected);
  }
}

TEST(ProtoText, UnwantedMessagesAreSteppedOver) {
  EXPECT_EQ(read_top("a { b { c: '}' # }\n } } d: 1 e < f {} >"), "a d e ");
  EXPECT_EQ(read_top("a {\n b {"),
            "line 2, column 5: the file ends inside the message opened in line 1, column 3");
  EXPECT_EQ(read_top("a { b: \"}"), "line 1, column 8: a quoted text does not end in its line");
}

TEST(ProtoText, DepthIsBounded) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a{";
  EXPECT_EQ(read_fields(deep), "line 1, column 202: messages are nested more than 100 deep");
  const std::string closed = deep + std::string(100000, '}');
  EXPECT_EQ(read_top(closed), "a ");
}

TEST(ProtoText, NumbersAreWholeOrNothing) {
  const auto first = [](std::string_view text) {
    ProtoTextReader reader(text);
    ProtoTextField field;
    reader.next(field);
    return field;
  };
  EXPECT_EQ(first("a: 12").integer(), 12);
  EXPECT_EQ(first("a: -9223372036854775808").integer(), INT64_MIN);
  EXPECT_FALSE(first("a: 9223372036854775808").integer());
  EXPECT_FALSE(first("a: 1.5").integer());
  EXPECT_FALSE(first("a: \"1\"").integer());
  EXPECT_EQ(first("a: 1.5f").number(), 1.5);
  EXPECT_EQ(first("a: -2e3").number(), -2000);
  EXPECT_FALSE(first("a: x").number());
  EXPECT_EQ(first("a: true").boolean(), true);
  EXPECT_EQ(first("a: 0").boolean(), false);
  EXPECT_FALSE(first("a: maybe").boolean());
}

}  // namespace
}  // namespace plumb::graph
