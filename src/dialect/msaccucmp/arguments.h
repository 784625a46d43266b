// SPDX-License-Identifier: Apache-2.0
//
// Command lines as Python's argparse reads them, since scripts rely on it: long options may be cut
// to a prefix that is still unique, values follow after a blank or '=', and options of one dash may
// have several letters.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/result.h"

namespace plumb::msaccucmp {

struct OptionSpec {
  std::string_view short_name;  // "-m"
  std::string_view long_name;   // "--my_dump_path", or empty
  std::string_view value;       // its name in the help; empty for a flag
  std::string_view help;
  bool is_required = false;
  bool is_integer = false;
  bool takes_integers = false;  // two or more integers after it belong to it: "-alg 1 4"
  bool value_is_optional = false;
};

class Arguments {
 public:
  // Errors are what argparse would end the program for, with status 2.
  static Result<Arguments> parse(std::span<const OptionSpec> specs,
                                 std::span<const std::string_view> words);

  bool has(std::string_view short_name) const { return values_.contains(short_name); }
  std::string text(std::string_view short_name, std::string_view otherwise = {}) const;
  int64_t integer(std::string_view short_name, int64_t otherwise) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;  // by short name, or long without one
};

// "  -m, --my_dump_path PATH  what it is" for each.
std::string help_of(std::span<const OptionSpec> specs);

}  // namespace plumb::msaccucmp
