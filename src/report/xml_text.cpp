// SPDX-License-Identifier: Apache-2.0
#include "report/xml_text.h"

#include "base/utf8.h"

namespace plumb::report {

std::string xml_text(std::string_view text) {
  std::string escaped;
  const std::string valid = valid_utf8(text);
  for (size_t i = 0; i < valid.size(); ++i) {
    const auto code = static_cast<unsigned char>(valid[i]);
    const std::string_view rest = std::string_view(valid).substr(i);
    if (code == '\t' || code == '\n' || code == '\r') {
      escaped += ' ';
    } else if (code < 0x20 || code == 0x7F) {
      continue;
    } else if (code == 0xC2 && static_cast<unsigned char>(rest[1]) < 0xA0) {
      i += 1;
    } else if (rest.starts_with("\uFFFE") || rest.starts_with("\uFFFF")) {
      i += 2;
    } else if (code == '&') {
      escaped += "&amp;";
    } else if (code == '<') {
      escaped += "&lt;";
    } else if (code == '>') {
      escaped += "&gt;";
    } else if (code == '"') {
      escaped += "&quot;";
    } else {
      escaped += valid[i];
    }
  }
  return escaped;
}

}  // namespace plumb::report
