// SPDX-License-Identifier: Apache-2.0
#include "input/random.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "input/open_axes.h"
#include "tensor/encode.h"

namespace plumb::input {
namespace {

uint64_t hash_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void put_random(DType dtype, uint64_t bits, std::byte* at) {
  switch (dtype) {
    case DType::kFloat64: return put(at, static_cast<double>(bits >> 11) * 0x1p-53);
    case DType::kFloat32: return put(at, static_cast<float>(bits >> 40) * 0x1p-24f);
    case DType::kFloat16:
      return put(at, half_from_float(static_cast<float>(bits >> 53) * 0x1p-11f));
    case DType::kBFloat16:
      return put(at, bfloat16_from_float(static_cast<float>(bits >> 56) * 0x1p-8f));
    case DType::kBool: return put(at, static_cast<uint8_t>(bits >> 63));
    default: put(at, static_cast<uint8_t>(bits >> 61));  // the other bytes are zero
  }
}

}  // namespace

uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::vector<size_t> drawn_places(size_t samples, int64_t count, uint64_t seed) {
  std::vector<size_t> places(samples);
  for (size_t i = 0; i < samples; ++i) places[i] = i;
  if (count < 0 || static_cast<uint64_t>(count) >= samples) return places;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    std::swap(places[i], places[i + next_random(seed) % (samples - i)]);
  places.resize(static_cast<size_t>(count));
  std::sort(places.begin(), places.end());
  return places;
}

Result<engine::Tensor> random_input(const engine::Port& port, uint64_t seed, int64_t taken) {
  const std::string where = fmt::format("input '{}' takes {}", port.name, to_string(port.shape));
  if (!port.dtype || kind_of(*port.dtype) == DKind::kComplex || bits_of(*port.dtype) % 8 != 0 ||
      *port.dtype == DType::kFloat8E4M3Fn || *port.dtype == DType::kFloat8E5M2 ||
      *port.dtype == DType::kHiFloat8)
    return Error{"there are no random values of this type",
                 fmt::format("input '{}' is {}", port.name,
                             port.dtype ? std::string(name_of(*port.dtype)) : port.kind),
                 "pass a file: --input NAME=FILE"};
  if (is_open(port)) return Error{"how large should the input be?", where, shape_advice(port)};
  const auto count = element_count(port.shape);
  const auto bytes = count ? byte_count(*port.dtype, *count) : std::nullopt;
  if (!bytes || *bytes > kMostRandomBytes - taken)
    return Error{
        "the model asks for larger inputs than are made at random",
        fmt::format("{}: {}at most {} MiB for all inputs", where,
                    bytes ? fmt::format("{} bytes, ", *bytes) : "", kMostRandomBytes >> 20),
        fmt::format(
            "pass a file: --input {}=FILE, or a smaller --shape if the model leaves it open",
            port.name)};
  engine::Tensor tensor{*port.dtype, port.shape, {}};
  tensor.bytes.resize(static_cast<size_t>(*bytes));
  const auto item = static_cast<size_t>(bits_of(*port.dtype) / 8);
  uint64_t state = seed ^ hash_of(port.name);
  for (size_t at = 0; at < tensor.bytes.size(); at += item)
    put_random(*port.dtype, next_random(state), tensor.bytes.data() + at);
  return tensor;
}

}  // namespace plumb::input
