// SPDX-License-Identifier: Apache-2.0
//
// Numbers written as text, as numpy.savetxt and inference tools write outputs: nothing but numbers,
// as many in each line, with commas, semicolons, tabs or blanks between them; lines that start with
// '#' are remarks. A table whose columns have names is a table, and no tensor.
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "io/format.h"

namespace plumb::io {
namespace {

constexpr std::string_view kBetween = " \t,;\r";

struct Number {
  double real = 0;
  int64_t integer = 0;
  bool is_integer = false;
};

// Digits first, or a sign and digits: "nan" and "inf" are numbers, "infinite" and "0x1" are not.
std::optional<Number> number_from_word(std::string_view word) {
  Number number;
  if (word.starts_with('+')) word.remove_prefix(1);
  const char* const end = word.data() + word.size();
  const auto whole = std::from_chars(word.data(), end, number.integer);
  number.is_integer = whole.ec == std::errc() && whole.ptr == end;
  const auto read = std::from_chars(word.data(), end, number.real);
  if (read.ptr != end || word.empty()) return {};
  if (read.ec == std::errc::result_out_of_range) {  // what no double holds
    const bool is_tiny = word.find("e-") != word.npos || word.find("E-") != word.npos ||
                         word.find_first_not_of("-0.") > word.find('.');
    const double size = is_tiny ? 0 : std::numeric_limits<double>::infinity();
    number.real = word.starts_with('-') ? -size : size;
  }
  return number;
}

// Calls use(number) for every number and line(count) for every line that has some; false at the
// first word that is none. `is_cut`: the text may end in the middle of a word, which is not asked.
template <class Use, class Line>
bool each_number(std::string_view text, bool is_cut, Use&& use, Line&& line) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.starts_with(','))  // numbers of columns, above an index that has none
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos && is_cut) return true;
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (rest.starts_with('#')) continue;
    int64_t count = 0;
    for (size_t at = rest.find_first_not_of(kBetween); at != rest.npos;
         at = rest.find_first_not_of(kBetween)) {
      rest.remove_prefix(at);
      const std::string_view word = rest.substr(0, rest.find_first_of(kBetween));
      const auto number = number_from_word(word);
      if (!number) return false;
      use(*number);
      ++count;
      rest.remove_prefix(word.size());
    }
    if (count > 0) line(count);
  }
  return true;
}

// One number alone (a version, a time) is no tensor.
bool probe_text(Bytes head, uint64_t file_size) {
  int64_t numbers = 0;
  bool is_cut = file_size > head.size();
  if (as_text(head).find('\n') == std::string_view::npos) {  // one long line
    const std::string_view text = as_text(head);
    const size_t last = is_cut ? text.find_last_of(kBetween) : text.size();
    if (last == text.npos) return false;
    head = head.first(last);
    is_cut = false;
  }
  return each_number(
             as_text(head), is_cut, [&](const Number&) { ++numbers; }, [](int64_t) {}) &&
         numbers >= 2;
}

Result<Listing> list_text(Bytes file, const ReadHints&) {
  int64_t rows = 0, columns = 0, ragged_at = 0;
  bool is_whole = true;
  const bool is_table = each_number(
      as_text(file), false, [&](const Number& number) { is_whole = is_whole && number.is_integer; },
      [&](int64_t count) {
        ++rows;
        if (columns == 0) columns = count;
        if (columns != count && ragged_at == 0) ragged_at = rows;
      });
  if (!is_table) return Listing();  // numbers first, and then words
  if (ragged_at != 0)
    return Error{"lines of numbers have different lengths",
                 fmt::format("byte 0: the first line has {} numbers, line {} another count",
                             columns, ragged_at),
                 "save it with numpy.save"};
  TensorInfo info;
  info.dtype = is_whole ? DType::kInt64 : DType::kFloat64;
  info.shape = rows == 1 ? Shape{columns} : columns == 1 ? Shape{rows} : Shape{rows, columns};
  info.packing = Packing::kFormat;
  info.size_bytes = file.size();
  return Listing{{std::move(info)}, {}, {}};
}

Result<Bytes> load_text(Bytes file, const TensorInfo& info, Buffer& scratch) {
  const auto count = static_cast<size_t>(element_count(info.shape).value_or(0));
  auto* const out = reinterpret_cast<double*>(scratch.reserve(count * sizeof(double)));
  auto* const whole = reinterpret_cast<int64_t*>(out);
  size_t at = 0;
  each_number(
      as_text(file), false,
      [&](const Number& number) {
        if (at == count) return;
        if (info.dtype == DType::kInt64)
          whole[at++] = number.integer;
        else
          out[at++] = number.real;
      },
      [](int64_t) {});
  return Bytes(reinterpret_cast<const std::byte*>(out), at * sizeof(double));
}

}  // namespace

extern constexpr Format kTextTable{
    "text",     "numbers as text, lines of equal length (.csv, .txt)",
    probe_text, list_text,
    load_text,  nullptr,
    nullptr,
};

}  // namespace plumb::io
