// SPDX-License-Identifier: Apache-2.0
//
// The values of a file or a picture in the type that a model takes.
#include "tensor/convert.h"

#include <fmt/format.h>

#include "input/preprocess.h"

namespace plumb::input {

Result<engine::Tensor> converted(engine::Tensor tensor, DType to, bool cast) {
  const DType from = tensor.dtype;
  if (from == to) return tensor;
  const std::string save_as = fmt::format("save the values as {}", name_of(to));
  if (!can_convert(from, to))
    return Error{fmt::format("{} cannot be converted to {}", name_of(from), name_of(to)),
                 fmt::format("the data is {}, the model takes {}", name_of(from), name_of(to)),
                 save_as};
  const size_t count = tensor.bytes.size() / static_cast<size_t>(bits_of(from) / 8);
  engine::Tensor made{to, tensor.shape, {}};
  made.bytes.resize(count * static_cast<size_t>(bits_of(to) / 8));
  const auto misfit = convert(from, tensor.bytes, to, cast, made.bytes);
  if (!misfit) return made;
  return Error{fmt::format("{} values do not all fit {}", name_of(from), name_of(to)),
               fmt::format("element {}: {} is {}", misfit->element, misfit->value,
                           misfit->nearest ? fmt::format("nearest to {}", *misfit->nearest)
                                           : "out of range"),
               misfit->nearest ? save_as + ", or pass --cast to round them" : save_as};
}

}  // namespace plumb::input
