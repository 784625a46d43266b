// SPDX-License-Identifier: Apache-2.0
//
// The quantization operators among the cases that ONNX ships (Debian: libonnx-testdata): the bytes
// that they expect are those of the arithmetic here. Integer products are computed as the
// simulation does, of numbers that lie on their grids.
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "io/reader.h"
#include "quant/affine.h"

namespace plumb::quant {
namespace {

const std::filesystem::path kCases = "/usr/share/libonnx-testdata/data/node";

struct Stored {
  Shape shape;
  std::string bytes;

  std::vector<float> floats() const {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<int32_t> integers() const {  // of uint8
    std::vector<int32_t> values;
    for (const char c : bytes) values.push_back(static_cast<uint8_t>(c));
    return values;
  }
};

Stored stored(const std::string& name, const std::string& tensor) {
  Stored made;
  auto file = io::open_tensor_file((kCases / name / "test_data_set_0" / (tensor + ".pb")).string());
  EXPECT_TRUE(file.ok()) << name;
  if (!file) return made;
  const TensorInfo& info = file->listing.tensors.at(0);
  made.shape = info.shape;
  auto reader = file->open(info);
  EXPECT_TRUE(reader.ok()) << name;
  if (!reader) return made;
  EXPECT_TRUE(io::for_each_piece(*reader, [&](Bytes b, int64_t, int64_t) {
                made.bytes += as_text(b);
              }).ok());
  return made;
}

std::vector<Grid> grids_of(const Stored& scale, const Stored& zero) {
  std::vector<Grid> grids;
  const auto scales = scale.floats();
  const auto zeros = zero.integers();
  for (size_t i = 0; i < scales.size(); ++i) grids.push_back({scales[i], zeros[i], 0, 255, false});
  return grids;
}

class OnnxCases : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(kCases))
      GTEST_SKIP() << "no cases in " << kCases << " (scripts/setup installs libonnx-testdata)";
  }
};

TEST_F(OnnxCases, QuantizeAndDequantizeLinear) {
  for (const std::string axis : {"", "_axis"}) {
    const std::string to = "test_quantizelinear" + axis, back = "test_dequantizelinear" + axis;
    for (const std::string& name : {to, back}) {
      const auto grids = grids_of(stored(name, "input_1"), stored(name, "input_2"));
      const Stored input = stored(name, "input_0"), wanted = stored(name, "output_0");
      const Channels channels =
          channels_of(input.shape, axis.empty() ? std::nullopt : std::optional<int64_t>(1));
      ASSERT_EQ(std::ssize(grids), channels.count) << name;
      if (name == to) {
        const QuantizedTensor made = quantized(input.floats(), channels, grids);
        EXPECT_EQ(made.integers, wanted.integers()) << name;
      } else {
        const QuantizedTensor given{input.integers(), grids, channels};
        EXPECT_EQ(given.numbers(), wanted.floats()) << name;
      }
    }
  }
}

TEST_F(OnnxCases, DynamicQuantizeLinear) {
  for (const std::string rest : {"", "_max_adjusted", "_min_adjusted"}) {
    const std::string name = "test_dynamicquantizelinear" + rest;
    const Stored input = stored(name, "input_0");
    const auto values = input.floats();
    const Grid grid =
        grid_of(ranges_of(values, channels_of(input.shape, std::nullopt)).at(0), {DType::kUint8});
    EXPECT_THAT(stored(name, "output_1").floats(), testing::ElementsAre(grid.scale)) << name;
    EXPECT_THAT(stored(name, "output_2").integers(), testing::ElementsAre(grid.zero)) << name;
    std::vector<int32_t> own;
    for (const float value : values) own.push_back(grid.quantized(value));
    EXPECT_EQ(own, stored(name, "output_0").integers()) << name;
  }
}

// a: [batch, rows, inner], b: [batch, inner, columns]
std::vector<double> product_of(const std::vector<float>& a, const std::vector<float>& b,
                               size_t batch, size_t rows, size_t inner, size_t columns) {
  std::vector<double> made(batch * rows * columns);
  for (size_t n = 0; n < batch; ++n)
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c)
        for (size_t k = 0; k < inner; ++k)
          made[(n * rows + r) * columns + c] +=
              double{a[(n * rows + r) * inner + k]} * b[(n * inner + k) * columns + c];
  return made;
}

TEST_F(OnnxCases, IntegerProducts) {
  const auto numbers = [](const std::string& name, const std::string& values,
                          const std::vector<Grid>& grids) {
    const Stored own = stored(name, values);
    return QuantizedTensor{own.integers(), grids, channels_of(own.shape, std::nullopt)}.numbers();
  };
  for (const std::string name :
       {"test_qlinearmatmul_2D", "test_qlinearmatmul_3D", "test_qlinearconv"}) {
    const auto grid = [&](const char* scale, const char* zero) {
      return grids_of(stored(name, scale), stored(name, zero));
    };
    const auto a = numbers(name, "input_0", grid("input_1", "input_2"));
    const auto b = numbers(name, "input_3", grid("input_4", "input_5"));
    const Shape left = stored(name, "input_0").shape, right = stored(name, "input_3").shape;
    // A convolution by one weight is a product by it.
    const bool is_conv = name == "test_qlinearconv";
    const auto size = [](const Shape& shape, size_t from_end) {
      return static_cast<size_t>(shape[shape.size() - from_end]);
    };
    const size_t batch = left.size() == 3 ? static_cast<size_t>(left[0]) : 1;
    const auto product =
        is_conv ? product_of(a, b, 1, a.size(), 1, 1)
                : product_of(a, b, batch, size(left, 2), size(left, 1), size(right, 1));
    std::vector<int32_t> own;
    for (const double value : product)
      own.push_back(grid("input_6", "input_7")[0].quantized(static_cast<float>(value)));
    EXPECT_EQ(own, stored(name, "output_0").integers()) << name;
  }
  // Integers less their zeros, which are numbers of scale 1.
  const std::string name = "test_matmulinteger";
  const auto less = [&](const char* values, const char* zero) {
    return numbers(name, values, {Grid{1, stored(name, zero).integers()[0], 0, 255, false}});
  };
  const Stored wanted = stored(name, "output_0");
  std::vector<int32_t> sums(wanted.bytes.size() / sizeof(int32_t));
  std::memcpy(sums.data(), wanted.bytes.data(), wanted.bytes.size());
  std::vector<int32_t> own;
  for (const double value :
       product_of(less("input_0", "input_2"), less("input_1", "input_3"), 1, 4, 3, 2))
    own.push_back(static_cast<int32_t>(value));
  EXPECT_EQ(own, sums);
}

}  // namespace
}  // namespace plumb::quant
