// SPDX-License-Identifier: Apache-2.0
//
// One file as one input of a model, whatever kind of file it is: npy, npz and other tensor files,
// ONNX test data, bare bytes, pictures, digits of MNIST. Content decides; the name only tells bare
// bytes (.bin) and bare pixels (.nv12) from each other.
#pragma once

#include <memory>

#include "input/archive.h"
#include "input/idx.h"
#include "input/preprocess.h"

namespace plumb::input {

struct Source {
  std::string path;
  std::optional<int64_t> index;  // of a picture in a file of many, counted from 0
  std::string member;  // of a container; empty: the one named like the input, or the only one
  std::shared_ptr<const Archive> archive = nullptr;  // that it is a file of, not one of the disk
  size_t entry = 0;                                  // there
  std::string unpacked_name = {};  // what a file was called in its archive; empty: it is in none
  std::shared_ptr<const NamedTensor> memory = nullptr;  // a tensor instead of a file

  const std::string& name() const { return unpacked_name.empty() ? path : unpacked_name; }
};
// "digits.gz#3"
Source source_from_text(std::string_view text);
std::string to_string(const Source& source);

// Opened files that are asked again and again.
struct SourceCache {
  std::string path;
  std::shared_ptr<const IdxImages> images;
};

struct LoadContext {
  SourceCache* cache = nullptr;
  StageSink sink;
};

// A tensor that the caller has; `path` says so in messages.
Source source_in_memory(NamedTensor tensor);

// The tensor for `port`. Sizes that the port leaves open come from the data; everything else must
// agree: a wrong number of elements is an error with both shapes, never cut or repeated.
Result<engine::Tensor> load_input(const Source& source, const engine::Port& port,
                                  const Preprocess& preprocess, const LoadContext& context = {});

// How many inputs a file holds: the pictures of an MNIST file, 1 for all others.
Result<int64_t> count_inputs(const std::string& path, SourceCache& cache);

bool is_picture(const Source& source);  // a file that has to be decoded
// True if a file found in a directory can be an input at all: lists and notes lie there, too.
bool may_be_input(const std::string& path);
bool is_called_like_input(const std::string& path);  // ... by its name alone

// The names inside a container of tensors; empty if it is none.
std::vector<std::string> member_names(const std::string& path);

}  // namespace plumb::input
