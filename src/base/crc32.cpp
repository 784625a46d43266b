// SPDX-License-Identifier: Apache-2.0
#include "base/crc32.h"

#include <libdeflate.h>
#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace plumb {
namespace {

#ifdef __x86_64__

// The remainder of x^n by the polynomial of CRC-32, as it is multiplied here: bits reversed, 33 of
// them.
constexpr uint64_t power_of_x(int n) {
  uint32_t remainder = 1;
  for (int i = 0; i < n; ++i) remainder = remainder << 1 ^ (remainder >> 31 != 0 ? 0x04C11DB7 : 0);
  uint64_t reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= uint64_t{remainder >> i & 1} << (32 - i);
  return reversed;
}
static_assert(power_of_x(4 * 128 + 32) == 0x154442BD4 && power_of_x(4 * 128 - 32) == 0x1C6E41596);

constexpr size_t kBlock = 256;  // bytes: four of the widest registers

// Debian 12's libdeflate multiplies 16 bytes at a time, newer processors can do 64. A block is
// folded into the next by multiplying it by x^(its bits), which does not change the remainder of
// the whole; what is left in the end is a block again, and that one is libdeflate's. Described in
// Intel's "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction".
__attribute__((target("avx512f,vpclmulqdq"))) uint32_t fold(uint32_t crc, const std::byte* data,
                                                            size_t blocks) {
  constexpr int kBits = 8 * kBlock;
  constexpr auto kLow = static_cast<int64_t>(power_of_x(kBits + 32));
  constexpr auto kHigh = static_cast<int64_t>(power_of_x(kBits - 32));
  const __m512i factors = _mm512_set4_epi64(kHigh, kLow, kHigh, kLow);
  __m512i folded[4];
  for (int i = 0; i < 4; ++i) folded[i] = _mm512_loadu_si512(data + 64 * i);
  const __m512i before = _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~crc)));
  folded[0] = _mm512_xor_si512(folded[0], before);
  while (--blocks > 0) {
    data += kBlock;
    for (int i = 0; i < 4; ++i) {
      _mm_prefetch(data + 4096 + 64 * i, _MM_HINT_T0);
      const __m512i low = _mm512_clmulepi64_epi128(folded[i], factors, 0x00);
      const __m512i high = _mm512_clmulepi64_epi128(folded[i], factors, 0x11);
      constexpr int kXor = 0x96;  // of three
      folded[i] = _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(data + 64 * i), kXor);
    }
  }
  std::byte rest[kBlock];
  for (int i = 0; i < 4; ++i) _mm512_storeu_si512(rest + 64 * i, folded[i]);
  return libdeflate_crc32(~uint32_t{0}, rest, kBlock);  // what stands for a CRC of nothing yet
}

uint32_t crc32_of(uint32_t crc, Bytes more) {
  constexpr size_t kWorthIt = 16 * kBlock;
  static const bool can_fold =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
  if (can_fold && more.size() >= kWorthIt) {
    const size_t blocks = more.size() / kBlock;
    crc = fold(crc, more.data(), blocks);
    more = more.subspan(blocks * kBlock);
  }
  // libdeflate takes a null pointer as "start over", even in the middle.
  return more.empty() ? crc : libdeflate_crc32(crc, more.data(), more.size());
}

#else

uint32_t crc32_of(uint32_t crc, Bytes more) {
  return more.empty() ? crc : libdeflate_crc32(crc, more.data(), more.size());
}

#endif

}  // namespace

uint32_t crc32(uint32_t crc, Bytes more) { return crc32_of(crc, more); }

void Checksum::add(Bytes more) {
  crc_ = crc32(crc_, more);
  size_ += std::ssize(more);
}

void Checksum::append(const Checksum& later) {
  crc_ = static_cast<uint32_t>(::crc32_combine(crc_, later.crc_, later.size_));
  size_ += later.size_;
}

}  // namespace plumb
