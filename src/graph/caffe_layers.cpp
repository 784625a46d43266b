// SPDX-License-Identifier: Apache-2.0
//
// The table of Caffe layers with a translation: a new one is a function and a line here, and its
// defaults are lines in caffe_content.cpp.
#include "graph/caffe_layer.h"

namespace plumb::graph {

std::span<const CaffeLayerKind> caffe_layer_kinds() {
  using namespace caffe_layers;
  static constexpr std::array kKinds{
      CaffeLayerKind{"AbsVal", abs_val},
      CaffeLayerKind{"BatchNorm", batch_norm},
      CaffeLayerKind{"Bias", bias},
      CaffeLayerKind{"BNLL", bnll},
      CaffeLayerKind{"Concat", concat},
      CaffeLayerKind{"Convolution", convolution},
      CaffeLayerKind{"ConvolutionDepthwise", convolution},
      CaffeLayerKind{"Crop", crop},
      CaffeLayerKind{"Deconvolution", deconvolution},
      CaffeLayerKind{"DepthwiseConvolution", convolution},
      CaffeLayerKind{"Dropout", dropout},
      CaffeLayerKind{"Eltwise", eltwise},
      CaffeLayerKind{"ELU", elu},
      CaffeLayerKind{"Exp", caffe_layers::exp},
      CaffeLayerKind{"Flatten", flatten},
      CaffeLayerKind{"InnerProduct", inner_product},
      CaffeLayerKind{"Log", caffe_layers::log},
      CaffeLayerKind{"LRN", lrn},
      CaffeLayerKind{"MVN", mvn},
      CaffeLayerKind{"Normalize", normalize},
      CaffeLayerKind{"Permute", permute},
      CaffeLayerKind{"Pooling", pooling},
      CaffeLayerKind{"Power", power},
      CaffeLayerKind{"PReLU", prelu},
      CaffeLayerKind{"ReLU", relu},
      CaffeLayerKind{"ReLU6", relu6},
      CaffeLayerKind{"Reshape", reshape},
      CaffeLayerKind{"Scale", scale},
      CaffeLayerKind{"ShuffleChannel", shuffle_channel},
      CaffeLayerKind{"Sigmoid", sigmoid},
      CaffeLayerKind{"Silence", silence},
      CaffeLayerKind{"Slice", slice},
      CaffeLayerKind{"Softmax", softmax},
      CaffeLayerKind{"Split", split},
      CaffeLayerKind{"TanH", caffe_layers::tanh},
  };
  return kKinds;
}

}  // namespace plumb::graph
