// SPDX-License-Identifier: Apache-2.0
//
// Compares two sets of arrays in memory with the library: what a layer computes in float32, and in
// double precision as golden. Prints each row and the verdict, and ends as `plumb compare` does: 0
// agreement, 1 difference, 2 trouble. With the argument "broken" one channel of the layer is wrong.
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <plumb/session.h>

namespace {

constexpr int64_t kChannels = 8, kPixels = 256;

struct Tensors {
  std::vector<float> dense, relu;
};

// A value for each channel and pixel: a scale and a bias by channel, then a ReLU.
template <class Number>
Tensors compute(Number scale_of_channel_3) {
  Tensors out;
  for (int64_t channel = 0; channel < kChannels; ++channel) {
    const Number scale = channel == 3 ? scale_of_channel_3 : Number(1) / Number(channel + 1);
    for (int64_t pixel = 0; pixel < kPixels; ++pixel) {
      const Number input = std::sin(Number(pixel) / Number(7));
      const Number value = scale * input + Number(channel) / Number(10);
      out.dense.push_back(float(value));
      out.relu.push_back(value > 0 ? float(value) : 0.0F);
    }
  }
  return out;
}

// Nothing is copied: `values` has to outlive the session.
plumb::NamedTensor tensor(std::string name, const std::vector<float>& values) {
  plumb::NamedTensor named;
  named.op = std::move(name);
  named.shape = {1, kChannels, kPixels};
  named.bytes = std::as_bytes(std::span(values));
  return named;
}

std::vector<plumb::NamedTensor> all_of(const Tensors& tensors) {
  return {tensor("dense", tensors.dense), tensor("relu", tensors.relu)};
}

int trouble(const plumb::Error& error) {
  std::fprintf(stderr, "error: %s\n  where: %s\n  try:   %s\n", error.what.c_str(),
               error.where.c_str(), error.remedy.c_str());
  return 2;
}

void print_row(const plumb::result::Run& run, const plumb::result::Row& row) {
  const std::string verdict(plumb::result::name_of(row.verdict));
  std::printf("%-5s %-6s %-9s", verdict.c_str(), row.any_side().operator_name.c_str(),
              row.any_side().slot.c_str());
  for (const char* name : {"cosine", "rel_euclid", "max_abs"}) {
    const plumb::metrics::Value value = run.value(row, name);
    if (value.is_defined()) std::printf("  %s %.6g", name, value.number());
  }
  std::printf("\n");
  if (row.verdict != plumb::result::Verdict::kPass) std::printf("      %s\n", row.message.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const bool broken = argc > 1 && std::string_view(argv[1]) == "broken";
  const Tensors ours = compute<float>(broken ? 0.375F : 0.25F);
  const Tensors reference = compute<double>(0.25);

  plumb::Spec spec;
  spec.target.tensors = all_of(ours);
  spec.golden.tensors = all_of(reference);
  plumb::RunContext context;
  auto session = plumb::Session::open(std::move(spec), context);
  if (!session) return trouble(session.error());
  auto run = plumb::compare_all(*session, context);
  if (!run) return trouble(run.error());

  for (const plumb::result::Row& row : run->rows) print_row(*run, row);
  const plumb::result::Summary summary = run->summary();
  std::printf("%s: %lld of %lld tensors agree\n",
              std::string(plumb::result::name_of(summary.verdict)).c_str(),
              static_cast<long long>(summary.pass), static_cast<long long>(summary.rows));
  return summary.verdict == plumb::result::Verdict::kPass ? 0 : 1;
}
