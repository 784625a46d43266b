// SPDX-License-Identifier: Apache-2.0
//
// Runs models over samples with their engines alone, in this process: what `plumb run` is measured
// against. Prints the seconds that loading the engines, opening the models and running them took;
// the samples are read before.
#include <chrono>
#include <ctime>

#include <fmt/format.h>

#include "engine/model.h"
#include "input/sample_options.h"

namespace {

using namespace plumb;

int fail(const Error& error) {
  fmt::print(stderr, "error: {}\n  where: {}\n", error.what, error.where);
  return 2;
}

double cpu_seconds() {
  timespec time;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Result<std::vector<engine::Inputs>> read_samples(const std::string& directory,
                                                 const std::vector<engine::Port>& ports) {
  input::SampleOptions options;
  options.inputs = {directory};
  auto samples = input::open_samples(options, ports);
  if (!samples) return samples.error();
  std::vector<engine::Inputs> all;
  for (size_t i = 0; i < samples->size(); ++i) {
    auto sample = samples->load(i);
    if (!sample) return sample.error();
    all.push_back(std::move(sample->inputs));
  }
  return all;
}

Result<void> run_model(const engine::LoadedModel& model, std::string_view engine_name,
                       const std::vector<engine::Inputs>& samples) {
  auto engine = engine::open_engine(engine_name);
  if (!engine) return engine.error();
  auto session = (*engine)->open(model.view(), {});
  if (!session) return session.error();
  for (const engine::Inputs& inputs : samples) {
    const auto ignore = [](const engine::Output&) -> Result<void> { return {}; };
    if (auto run = (*session)->run(inputs, ignore); !run) return run;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_engines SAMPLES MODEL...\n");
    return 2;
  }
  double wall = 0, cpu = 0;
  for (int i = 2; i < argc; ++i) {
    auto model = engine::LoadedModel::open({argv[i], {}, {}});
    if (!model) return fail(model.error());
    auto samples = read_samples(argv[1], model->inputs());
    if (!samples) return fail(samples.error());
    const double cpu_before = cpu_seconds();
    const auto before = std::chrono::steady_clock::now();
    const char* const engine = model->is_caffe() ? "opencv" : "onnxruntime";
    if (auto run = run_model(*model, engine, *samples); !run) return fail(run.error());
    wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    cpu += cpu_seconds() - cpu_before;
  }
  fmt::print("{{\"wall\": {:.6f}, \"cpu\": {:.6f}}}\n", wall, cpu);
}
