// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/output.h"

#include <fstream>

#include <fmt/format.h>

#include "base/uuid.h"
#include "io/npy.h"
#include "tensor/decode.h"

namespace plumb::msaccucmp {

namespace fs = std::filesystem;

std::optional<Fault> make_output_directory(const fs::path& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) return std::nullopt;
  const bool existed = fs::exists(path, code);
  if (!existed) fs::create_directories(path, code);
  if (existed || code)
    return Fault{Code::kInvalidPath, Error{"the output directory cannot be made",
                                           fmt::format("{}: {}", path.string(),
                                                       existed ? "it is a file" : code.message()),
                                           "choose another one with -out"}};
  fs::permissions(path, fs::perms::owner_all, code);
  return std::nullopt;
}

std::optional<Fault> write_text(const fs::path& path, std::string_view text) {
  return write_parts(path, [&](FileSink& sink) { sink.write(text); });
}

std::optional<Fault> write_parts(const fs::path& path,
                                 const std::function<void(FileSink&)>& write) {
  auto sink = FileSink::create(path);
  if (!sink) return Fault{Code::kWriteFile, std::move(sink.error())};
  write(*sink);
  if (auto done = sink->commit(/*sync=*/false); !done)
    return Fault{Code::kWriteFile, std::move(done.error())};
  return std::nullopt;
}

Outcome<DecodedArray> decoded(const View& view) {
  auto elements = read_elements(view);
  if (!elements) return std::move(elements.fault());
  DecodedArray array{view.tensor.dtype, view.shape, std::move(*elements)};
  if (view.count == 0) array.dtype = DType::kFloat64;  // numpy's type of nothing
  const DType dtype = view.tensor.dtype;
  const auto count = static_cast<size_t>(view.count);
  if (dtype == DType::kBFloat16) {
    std::vector<std::byte> wide(count * sizeof(float));
    decode_float(dtype, array.elements.data(), view.count, reinterpret_cast<float*>(wide.data()));
    array = {DType::kFloat32, std::move(array.shape), std::move(wide)};
  } else if (bits_of(dtype) == 8 && kind_of(dtype) == DKind::kFloat) {
    std::vector<std::byte> wide(count * sizeof(double));
    decode_double(dtype, array.elements.data(), view.count, reinterpret_cast<double*>(wide.data()));
    array = {DType::kFloat64, std::move(array.shape), std::move(wide)};
  }
  return array;
}

std::optional<Fault> write_npy(const fs::path& path, const DecodedArray& array) {
  return write_parts(path, [&](FileSink& sink) {
    sink.write(io::npy_header(array.dtype, array.shape));
    sink.write(array.elements);
  });
}

std::string short_name(const fs::path& directory, std::string_view mapping, const std::string& name,
                       std::string_view suffix) {
  constexpr size_t kTooLong = 255;
  if (name.size() < kTooLong) return name;
  const std::string given = uuid3_hex(name) + std::string(suffix);
  std::ofstream(directory / mapping, std::ios::app) << given << ',' << name << '\n';
  return given;
}

}  // namespace plumb::msaccucmp
