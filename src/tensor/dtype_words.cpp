// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype_words.h"

namespace plumb {

std::string plain_dtype(std::string_view text) {
  std::string word(text.substr(text.rfind('.') + 1));
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (word.starts_with("dt_")) word.erase(0, 3);
  const auto known = dtype_from_name(word);
  return known ? std::string(name_of(*known)) : word;
}

std::optional<DType> recorded_dtype(std::string_view text) {
  return dtype_from_name(plain_dtype(text));
}

}  // namespace plumb
