// SPDX-License-Identifier: Apache-2.0
//
// Every sample file of every format, cut off after each byte and with each byte changed: whatever
// comes out, it is an error or a listing whose tensors can be read or say why not, and it takes no
// more memory than the file can justify.
#include <atomic>
#include <cstdlib>
#include <new>

#include "io/archive_testing.h"
#include "sample_of.h"

// The largest block asked for since the last reset, by any means of allocation in C++.
static std::atomic<size_t> largest_block = 0;

// A sanitizer has its own allocator, and says more about misuse with it.
#ifdef PLUMB_SANITIZED
constexpr int kFlips[] = {0xff};  // the fuzzers do the rest
#else
constexpr int kFlips[] = {0x01, 0x20, 0x80, 0xff};

static void* allocate(size_t size, size_t alignment) noexcept {
  if (size > largest_block) largest_block = size;
  void* block = nullptr;
  const int failed =
      ::posix_memalign(&block, std::max(alignment, sizeof(void*)), std::max<size_t>(size, 1));
  return failed == 0 ? block : nullptr;
}
static void* allocate_or_throw(size_t size, size_t alignment) {
  void* block = allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
static constexpr size_t kAlignment = alignof(std::max_align_t);

void* operator new(size_t size) { return allocate_or_throw(size, kAlignment); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, kAlignment);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<size_t>(alignment));
}
void operator delete(void* block) noexcept { ::free(block); }
void operator delete(void* block, size_t) noexcept { ::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { ::free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { ::free(block); }
#endif

namespace plumb::io {
namespace {

// Lists the file and reads up to a megabyte of each tensor.
void use(const Format& format, Bytes file) {
  auto listing = format.list(file, {});
  if (!listing) {
    ASSERT_FALSE(listing.error().what.empty());
    ASSERT_FALSE(listing.error().where.empty()) << listing.error().what;
    return;
  }
  for (const TensorInfo& info : listing->tensors) {
    auto reader = TensorReader::open(format, file, info);
    if (!reader) continue;
    const int64_t items = (1 << 20) / (bits_of(reader->dtype()) / 8);
    for (int64_t first = 0; first < std::min(reader->count(), items);) {
      const int64_t count = std::min<int64_t>(4096, reader->count() - first);
      auto piece = reader->read(first, count);
      if (!piece) break;
      ASSERT_EQ(piece->size(), static_cast<size_t>(count * (bits_of(reader->dtype()) / 8)));
      first += count;
    }
  }
}

class Hostile : public testing::TestWithParam<const char*> {
 protected:
  // Calls `each` for every small file of the format.
  void for_each_sample(const std::function<void(const std::vector<std::byte>&)>& each) {
    size_t samples = 0;
    for (const auto& entry : std::filesystem::directory_iterator(test_data(GetParam()))) {
      if (entry.path().extension() != std::string(".") + GetParam()) continue;
      if (entry.file_size() > 8000) continue;
      SCOPED_TRACE(entry.path().filename());
      each(file_bytes(entry.path()));
      ++samples;
    }
    EXPECT_GT(samples, 5u);
  }
  const Format& format() const { return *format_by_name(GetParam()); }

  void use_within_limits(Bytes file) {
    // On the heap at its exact size, so that a sanitizer sees a byte too far.
    const std::vector<std::byte> copy(file.begin(), file.end());
    largest_block = 0;
    use(format(), copy);
    ASSERT_LT(largest_block, (1 << 20) + 2000 * file.size());
  }
};

TEST_P(Hostile, SurvivesBeingCutOff) {
  for_each_sample([&](const std::vector<std::byte>& file) {
    for (size_t size = 0; size < file.size(); ++size) {
      SCOPED_TRACE(size);
      use_within_limits(Bytes(file).first(size));
    }
  });
}

TEST_P(Hostile, SurvivesChangedBytes) {
  for_each_sample([&](const std::vector<std::byte>& file) {
    std::vector<std::byte> changed = file;
    for (size_t at = 0; at < file.size(); at += static_cast<size_t>(sample_step(5))) {
      SCOPED_TRACE(at);
      for (int flip : kFlips) {
        changed[at] = file[at] ^ static_cast<std::byte>(flip);
        use_within_limits(changed);
      }
      changed[at] = file[at];
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Formats, Hostile, testing::Values("npy", "npz", "pt", "safetensors"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace plumb::io
