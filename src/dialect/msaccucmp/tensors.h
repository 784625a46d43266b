// SPDX-License-Identifier: Apache-2.0
//
// Tensors as the comparison handles them: the stored elements, usually a view into the mapped file,
// and views that say in which order and how far they are read. Converting a layout and cutting off
// its padding are both properties of a view; nothing is copied.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dialect/msaccucmp/algorithms.h"
#include "dialect/msaccucmp/code.h"
#include "io/file.h"

namespace plumb::msaccucmp {

using SharedFile = std::shared_ptr<const io::TensorFile>;

struct Tensor {
  SharedFile file;  // keeps `elements` alive, unless they are `owned`
  std::shared_ptr<std::vector<std::byte>> owned;
  Bytes elements;                        // one element per whole byte(s), storage order
  DType dtype = DType::kFloat32;         // of `elements`
  DType stored_dtype = DType::kFloat32;  // in the file; differs for packed bits and nibbles
  Layout layout;
  Shape shape;     // as stored
  Shape original;  // before the device layout; empty if not recorded
  uint64_t address = 0;
  int64_t count = 0;

  bool is_empty() const { return count == 0; }
};

// Opens and lists; nobody else opens files here.
Outcome<SharedFile> open_file(const std::filesystem::path& path);

// A device tensor comes as stored, others (npy, h5) in row-major order.
Outcome<Tensor> load_tensor(const SharedFile& file, const TensorInfo& info);
// The same of real numbers, which alone are compared.
Outcome<Tensor> load_comparable(const SharedFile& file, const TensorInfo& info);
// The only tensor of a file, e.g. an npy; comparable.
Outcome<Tensor> load_only_tensor(const std::filesystem::path& path);

// Of the type after decoding as numpy knows it: bfloat16 becomes float32, 8-bit floats float64, and
// the type of nothing is float64.
std::string decoded_type_name(const Tensor& tensor);
std::string stored_type_name(const Tensor& tensor);

struct View {
  Tensor tensor;
  std::optional<IndexMap> map;  // nullopt: storage order
  Shape shape;
  int64_t count = 0;  // of elements; those of `shape`
};
View whole_view(Tensor tensor, Shape shape);  // in storage order
View flat_view(Tensor tensor);

// Elements [first, first + count) as float32, by way of `scratch`.
void read_floats(const View& view, int64_t first, int64_t count, Buffer& scratch, float* out);
// The elements themselves, in the view's order.
std::vector<std::byte> read_elements(const View& view);

// The first `limit` pairs of two views of equal length (0: all). They must outlive the result.
Pairs pairs_of(const View& target, const View& golden, int64_t limit);

// YES, NO, or NaN for other types than float16: does an element reach the end of its range?
std::string overflow_cell(const Tensor& tensor);

}  // namespace plumb::msaccucmp
