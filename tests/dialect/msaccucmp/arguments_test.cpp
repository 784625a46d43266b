// SPDX-License-Identifier: Apache-2.0
//
// What Python's argparse does with the same words.
#include "dialect/msaccucmp/arguments.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::msaccucmp {
namespace {

constexpr std::array kSpecs{
    OptionSpec{"-m", "--my_dump_path", "PATH", "", true},
    OptionSpec{"-map", "--mapping", "", ""},
    OptionSpec{"-max", "--max_cmp_size", "N", "", false, true},
    OptionSpec{"-o", "--output_tensor", "K", ""},
    OptionSpec{"-out", "--output", "DIR", ""},
    OptionSpec{"-alg", "--algorithm", "LIST", "", false, false, true},
    OptionSpec{"-advisor", "", "", ""},
};

// "-m=a -map=" for what was given; the error otherwise.
std::string parsed(std::vector<std::string_view> words) {
  auto arguments = Arguments::parse(kSpecs, words);
  if (!arguments) return "error: " + arguments.error().what;
  std::string text;
  for (const OptionSpec& spec : kSpecs)
    if (arguments->has(spec.short_name))
      text += std::string(spec.short_name) + "=" + arguments->text(spec.short_name) + " ";
  return text;
}

TEST(Arguments, AsArgparseReadsThem) {
  struct Case {
    std::vector<std::string_view> words;
    const char* expected;
  };
  const Case kCases[] = {
      {{"-m", "a"}, "-m=a "},
      {{"--my_dump_path", "a"}, "-m=a "},
      {{"--my_dump_path=a=b"}, "-m=a=b "},
      {{"--my", "a"}, "-m=a "},
      {{"--my=a"}, "-m=a "},
      {{"-m=a"}, "-m=a "},
      {{"-m", "a", "--output", "d"}, "-m=a -out=d "},
      {{"-m", "a", "--outp", "d"}, "error: option '--outp' is ambiguous"},
      {{"-m", "a", "-map"}, "-m=a -map= "},
      {{"-m", "a", "--map"}, "-m=a -map= "},
      {{"-m", "a", "-map=1"}, "error: -map takes no value"},
      {{"-m", "a", "-ad"}, "-m=a -advisor= "},
      {{"-m", "a", "-max", "-1"}, "-m=a -max=-1 "},
      {{"-m", "a", "-max", "x"}, "error: -max takes a number, not 'x'"},
      {{"-m", "a", "-alg", "1", "4"}, "-m=a -alg=1,4 "},
      {{"-m", "a", "-alg", "all"}, "-m=a -alg=all "},
      {{"-m", "a", "-alg", "1", "x"}, "error: unexpected argument 'x'"},
      {{"-m", "a", "-m", "b"}, "-m=b "},
      {{"-o", "0"}, "error: -m is required"},
      {{"-m"}, "error: -m needs a value"},
      {{"-m", "-map"}, "error: -m needs a value"},
      {{"-m", "a", "-zzz"}, "error: unknown option '-zzz'"},
      {{"-m", "a", "b"}, "error: unexpected argument 'b'"},
  };
  for (const Case& c : kCases) EXPECT_EQ(parsed(c.words), c.expected) << c.words.back();
}

}  // namespace
}  // namespace plumb::msaccucmp
