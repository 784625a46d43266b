// SPDX-License-Identifier: Apache-2.0
//
// Tensors as the comparison handles them: where their elements are, and views that say in which
// order and how far they are read. Converting a layout and cutting off its padding are both
// properties of a view; the session reads them as it streams, nothing is copied.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dialect/msaccucmp/code.h"
#include "dump/dump.h"
#include "plumb/run_context.h"

namespace plumb::msaccucmp {

// A tensor that can be read, described by its header.
struct Tensor {
  std::shared_ptr<const dump::Entry> entry;             // its files, by whole paths
  std::shared_ptr<const std::vector<std::byte>> owned;  // behind an entry in memory
  DType dtype = DType::kFloat32;                        // one element per whole byte(s)
  DType stored_dtype = DType::kFloat32;  // in the file; differs for packed bits and nibbles
  Layout layout;
  Shape shape;     // as stored
  Shape original;  // before the device layout; empty if not recorded
  uint64_t address = 0;
  int64_t count = 0;

  bool is_empty() const { return count == 0; }
};
// What the entries of tensors are relative to: no directory.
const dump::DumpSet& anywhere();

// A device tensor comes as stored, others (npy, h5) in row-major order.
Outcome<Tensor> load_tensor(const io::TensorFile& file, const TensorInfo& info);
// The same of real numbers, which alone are compared.
Outcome<Tensor> load_comparable(const io::TensorFile& file, const TensorInfo& info);
// ... of an operator whose slices lie in several files.
Outcome<Tensor> load_joined(const dump::DumpSet& set, const dump::Entry& entry);
// The only tensor of a file, e.g. an npy; comparable.
Outcome<Tensor> load_only_tensor(const std::filesystem::path& path);
Outcome<io::TensorFile> open_file(const std::filesystem::path& path);

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

// All elements, in the view's order.
Outcome<std::vector<std::byte>> read_elements(const View& view);

// YES, NO, or NaN for other types than float16: does an element reach the end of its range?
std::string overflow_cell(const Tensor& tensor, const RunContext& context);

}  // namespace plumb::msaccucmp
