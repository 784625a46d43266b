// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch calls the APIs of MindSpore. Most functions of mindspore.ops live in torch itself
// under the same name, some in torch.nn.functional, and methods of tensors are methods of tensors;
// only what changes is listed.
#include <algorithm>

#include "dialect/msprobe/mapping.h"

namespace plumb::msprobe {
namespace {

// Functional.abs is Torch.abs, and so on.
constexpr std::string_view kInTorch =
    " "
    "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv angle arange arccos "
    "arccosh arcsinh arctan arctanh argmax asin asinh atan atan2 atanh baddbmm "
    "bartlett_window bincount bitwise_and bitwise_or bitwise_xor blackman_window ceil "
    "cholesky_solve clamp clip column_stack conj cosh cross cumprod diag_embed diagflat "
    "diagonal digamma dist div divide einsum erf erfc exp exp2 expm1 eye flip fliplr flipud "
    "floor_divide fmax fmod full full_like gcd geqrf greater greater_equal hamming_window "
    "hann_window heaviside histc hsplit hstack hypot i0 igamma igammac imag inner inverse "
    "is_nonzero is_tensor isinf isneginf isposinf isreal kaiser_window kron lcm lerp log1p "
    "logaddexp logaddexp2 logdet logical_and logical_not logical_or logical_xor logit "
    "logspace lt lu_solve lu_unpack masked_select matmul mm moveaxis movedim msort mul "
    "multiply nan_to_num nansum neg negative nextafter nonzero not_equal numel ones_like "
    "orgqr outer permute polar pow rand rand_like randn randn_like ravel real reciprocal "
    "remainder reshape roll rot90 round row_stack rsqrt searchsorted sgn sign signbit sin "
    "sinc sinh slogdet square subtract sum swapdims t tan topk trace trapz tril tril_indices "
    "triu_indices true_divide trunc unbind unsqueeze vander view_as_real vsplit where xlogy "
    "zeros_like ";

constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"Functional.bidense", "Functional.bilinear"},
    {"Functional.dense", "Functional.linear"},
    {"Functional.equal", "Torch.eq"},
    {"Functional.swapaxes", "Torch.transpose"},
    {"Tensor.asnumpy", "Tensor.numpy"},
    {"Tensor.cauchy", "Tensor.cauchy_"},
    {"Tensor.equal", "Tensor.eq"},
    {"Tensor.fill_diagonal", "Tensor.fill_diagonal_"},
    {"Tensor.gather_elements", "Tensor.gather"},
    {"Tensor.swapaxes", "Tensor.transpose"},
};

}  // namespace

std::string pytorch_name(std::string_view call) {
  const size_t dot = std::min(call.find('.'), call.size());
  const std::string_view type = call.substr(0, dot);
  if (type == "Mint") return "Torch" + std::string(call.substr(dot));
  if (type == "MintFunctional") return "Functional" + std::string(call.substr(dot));
  if (dot == call.size()) return std::string(call);
  const size_t end = std::min(call.find('.', dot + 1), call.size());
  for (const auto& [from, to] : kRenamed)
    if (call.substr(0, end) == from) return std::string(to) + std::string(call.substr(end));
  std::string word = " " + std::string(call.substr(dot + 1, end - dot - 1)) + " ";
  const bool is_word = word.find(' ', 1) == word.size() - 1;
  if (type == "Functional" && is_word && kInTorch.find(word) != std::string_view::npos)
    return "Torch" + std::string(call.substr(dot));
  return std::string(call);
}

}  // namespace plumb::msprobe
