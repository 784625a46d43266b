// SPDX-License-Identifier: Apache-2.0
//
// Which instruction sets this machine has, for Highway's run-time dispatch. Highway ships the same
// in a shared library, but merely loading that one costs 3 ms: a timer in it calibrates itself
// before main(). We use its headers and answer the questions they leave open here.
#include <atomic>

#include <hwy/targets.h>

namespace hwy {
namespace {

std::atomic<int64_t> for_test{0};  // 0 = ask the processor

int64_t targets_of_processor() {
  int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("ssse3")) targets |= HWY_SSSE3;
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
      __builtin_cpu_supports("aes"))
    targets |= HWY_SSE4;
  // What AVX2 kernels may also use (F16C, LZCNT) came with the same processors.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
    targets |= HWY_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd"))
      targets |= HWY_AVX3;
  }
#endif
  return targets;
}

}  // namespace

// What its headers call in builds with assertions.
void Abort(const char*, int, const char*, ...) { __builtin_trap(); }

int64_t SupportedTargets() {
  static const int64_t targets = targets_of_processor();
  const int64_t wished = for_test;
  return wished == 0 ? targets : wished;
}

void SetSupportedTargetsForTest(int64_t targets) {
  for_test = targets;
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
