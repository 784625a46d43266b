// SPDX-License-Identifier: Apache-2.0
//
// Real photos and digits, which are not ours to ship: looked for in PLUMB_SHARED, or in shared/
// beside this clone.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "input/expected.h"
#include "input/samples.h"

namespace plumb::input {
namespace {

namespace fs = std::filesystem;

fs::path shared(const std::string& name) {
  const char* given = std::getenv("PLUMB_SHARED");
  const fs::path root =
      given != nullptr ? fs::path(given) : fs::path(PLUMB_TEST_DATA) / "../../../shared";
  return root / name;
}

TEST(Photos, ShortSideAndCropAsOpenCvDoes) {
  const fs::path directory = shared("data/imagenet_samples");
  if (!fs::is_directory(directory))
    GTEST_SKIP() << "no labelled photos: " << directory << " is absent (PLUMB_SHARED names it)";
  SKIP_WITHOUT_CODEC();
  SampleRequest request;
  request.preprocess.resize = *resize_from_text("short:256+crop");
  std::ifstream means(data_file("photo_means.csv"));
  std::vector<std::array<double, 3>> wanted;
  for (std::string line; std::getline(means, line);) {
    std::istringstream fields(line);
    std::string name, number;
    std::getline(fields, name, ',');
    request.inputs.push_back((directory / name).string());
    wanted.emplace_back();
    for (double& mean : wanted.back()) {
      std::getline(fields, number, ',');
      mean = std::stod(number);
    }
  }
  ASSERT_EQ(wanted.size(), 100u);
  auto samples = Samples::open(request, {port_of("data", DType::kFloat32, {1, 3, 227, 227})});
  ASSERT_TRUE(samples) << why(samples.error());
  for (size_t i = 0; i < samples->size(); ++i) {
    auto sample = samples->load(i);
    ASSERT_TRUE(sample) << why(sample.error());
    const auto values = values_of<float>(sample->inputs.at("data"));
    ASSERT_EQ(values.size(), 3u * 227 * 227);
    for (size_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (size_t p = 0; p < 227 * 227; ++p) sum += static_cast<double>(values[c * 227 * 227 + p]);
      // Decoders may differ in the last bit of a pixel, not in the mean.
      EXPECT_NEAR(sum / (227 * 227), wanted[i][c], 0.05) << samples->name(i) << " channel " << c;
    }
  }
}

TEST(Photos, TenThousandDigits) {
  const fs::path file = shared("data/mnist/t10k-images-idx3-ubyte.gz");
  if (!fs::exists(file))
    GTEST_SKIP() << "no digits: " << file << " is absent (PLUMB_SHARED names it)";
  SampleRequest request;
  request.inputs = {file.string()};
  auto samples = Samples::open(request, {port_of("x", DType::kFloat32, {1, 1, 28, 28})});
  ASSERT_TRUE(samples) << why(samples.error());
  ASSERT_EQ(samples->size(), 10000u);
  double sum = 0;
  for (size_t i = 0; i < samples->size(); ++i) {
    auto sample = samples->load(i);
    ASSERT_TRUE(sample) << why(sample.error());
    for (const float value : values_of<float>(sample->inputs.at("x")))
      sum += static_cast<double>(value);
  }
  EXPECT_NEAR(sum / 10000 / 784 / 255, 0.1325, 0.0001);  // as everybody finds it
}

}  // namespace
}  // namespace plumb::input
