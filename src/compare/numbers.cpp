// SPDX-License-Identifier: Apache-2.0
#include "compare/numbers.h"

#include <algorithm>

#include "tensor/decode.h"

namespace plumb::compare {

Result<std::vector<double>> numbers_of(dump::EntryReader& tensor, int64_t most) {
  io::TensorReader& reader = tensor.reader();
  if (kind_of(reader.dtype()) != DKind::kFloat && kind_of(reader.dtype()) != DKind::kInteger)
    return Error{"the elements are no numbers", tensor.path(), "look at another operator"};
  std::vector<double> values(static_cast<size_t>(std::min(reader.count(), most)));
  const int64_t size = bits_of(reader.dtype()) / 8;
  const int64_t step = std::max<int64_t>(1, (int64_t{1} << 20) / size);
  for (int64_t first = 0; first < std::ssize(values); first += step) {
    const int64_t count = std::min(step, std::ssize(values) - first);
    auto bytes = reader.read(first, count);
    if (!bytes) return bytes.error();
    decode_double(reader.dtype(), bytes->data(), count, values.data() + first);
  }
  if (auto intact = tensor.check_intact(); !intact) return intact.error();
  return values;
}

}  // namespace plumb::compare
