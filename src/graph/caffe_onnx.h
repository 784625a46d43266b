// SPDX-License-Identifier: Apache-2.0
//
// A Caffe network as an ONNX model that computes the same at inference, blob by blob. The node that
// gives what a layer gives has the layer's name; a tensor has the name of its blob, except that of
// versions which a later layer overwrites in place: those are called "layer/blob". Sizes are those
// of the prototxt, batch included. Only operators are used whose meaning and form are the same in
// the operator sets 13 to 21, so that a quantizer may raise the version.
#pragma once

#include <filesystem>

#include "graph/model_content.h"
#include "graph/onnx_model.h"

namespace plumb::graph {

// Told by content.
bool is_caffe_network(const std::filesystem::path& path);

struct CaffeTranslation {
  // A BatchNorm that only a Scale reads becomes one node with it, of the Scale's name, as ONNX
  // models have it: one that folds into a convolution. The blob between them is no more.
  bool merges_scale = true;
};

// The model keeps all it needs; the content may go. A layer that has no translation is an error
// that names it.
Result<OnnxModel> translate_caffe(const ModelContent& content, const CaffeTranslation& how = {});

// The same of files; `weights` empty: those beside the prototxt (see find_caffe_weights).
Result<OnnxModel> translate_caffe(const std::filesystem::path& prototxt,
                                  const std::filesystem::path& weights = {},
                                  const CaffeTranslation& how = {});

// What `plumb diff` compares, of the translation.
Result<ModelContent> translated_content(const std::filesystem::path& prototxt,
                                        const std::filesystem::path& weights = {});

}  // namespace plumb::graph
