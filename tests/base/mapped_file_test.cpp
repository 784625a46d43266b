// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "scratch.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

std::string pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

// Sizes around the switch from reading to mapping, and around a page.
TEST(MappedFile, HoldsTheBytesOfTheFile) {
  const Scratch scratch;
  for (size_t size : {0u, 1u, 4095u, 4097u, 131071u, 131072u, 131073u, 1000003u}) {
    const fs::path path = scratch.path() / std::to_string(size);
    const std::string expected = pattern(size);
    std::ofstream(path, std::ios::binary) << expected;
    auto file = MappedFile::open(path);
    ASSERT_TRUE(file) << size;
    EXPECT_EQ(as_text(file->bytes()), expected);
    file->release(file->bytes());  // released pages read the same again
    EXPECT_EQ(as_text(file->bytes()), expected);
    EXPECT_TRUE(file->intact());
  }
}

// Reading a page that is gone would be a SIGBUS; it must be an error the reader can see instead.
TEST(MappedFile, SurvivesTruncationWhileMapped) {
  const Scratch scratch;
  const fs::path path = scratch.path() / "shrinking";
  std::ofstream(path, std::ios::binary) << pattern(1 << 20);
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  fs::resize_file(path, 5000);
  const Bytes bytes = file->bytes();
  const auto last = bytes.subspan(bytes.size() - 100000);
  EXPECT_EQ(std::count(last.begin(), last.end(), std::byte{0}), 100000);
  EXPECT_FALSE(file->intact());
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const Scratch scratch;
  EXPECT_EQ(MappedFile::open(scratch.path()).error().what, "expected a file, found a directory");
  EXPECT_NE(MappedFile::open(scratch.path() / "missing").error().where.find("No such file"),
            std::string::npos);
  const fs::path pipe = scratch.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(pipe).error().what, "not a regular file");  // and does not hang
}

// Only what happens between opening and the last look counts.
TEST(MappedFile, SeesThatAFileWasWrittenToWhileItWasRead) {
  struct Case {
    const char* name;
    void (*change)(const std::string& path);
    bool is_harmless = false;
  };
  const Case kCases[] = {
      {"nothing", [](const std::string&) {}, true},
      {"a byte in the middle",
       [](const std::string& path) {
         std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
         file.seekp(1000).put('!');
       }},
      {"longer", [](const std::string& path) { std::ofstream(path, std::ios::app) << "more"; }},
      {"shorter", [](const std::string& path) { fs::resize_file(path, 100); }},
      {"the same bytes again, and the time set back",
       [](const std::string& path) {
         const auto time = fs::last_write_time(path);
         std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).put('x');
         fs::last_write_time(path, time);
       }},
      {"another file in its place",
       [](const std::string& path) {
         std::ofstream(path + ".new") << "other";
         fs::rename(path + ".new", path);
       },
       true},  // we have the old one, whole
      {"removed", [](const std::string& path) { fs::remove(path); }, true},
  };
  const Scratch scratch;
  for (const size_t size : {size_t{5000}, size_t{1} << 20})
    for (const bool map : {true, false})
      for (const Case& c : kCases) {
        SCOPED_TRACE(c.name + std::string(map ? ", mapped, " : ", read, ") + std::to_string(size));
        const std::string path = scratch.path() / "file";
        fs::remove(path);
        std::ofstream(path, std::ios::binary) << std::string(size, 'x');
        // The clock that stamps files goes in steps of some milliseconds.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const bool is_mapped = map && size > 131072;
        auto file = MappedFile::open(path, map, is_mapped ? nullptr : c.change);
        if (is_mapped) {
          ASSERT_TRUE(file);
          EXPECT_TRUE(file->check(path));
          c.change(path);
        }
        const auto checked = file ? file->check(path) : Result<void>(file.error());
        EXPECT_EQ(checked.ok(), c.is_harmless);
        if (checked) continue;
        EXPECT_EQ(checked.error().what, "the file changed while it was read");
        EXPECT_EQ(checked.error().where.find(path), 0u);
        EXPECT_EQ(checked.error().remedy, "wait until its writer has finished");
      }
}

// Handlers of SIGBUS; each test runs in a process of its own, in which nothing was mapped before.
class BusErrors : public testing::Test {
 protected:
  BusErrors() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // As a host would: a mapping that is not ours, of a file that gets shorter.
  static int fault_elsewhere() {
    const Scratch scratch;
    const fs::path path = scratch.path() / "shrinking";
    std::ofstream(path, std::ios::binary) << pattern(1 << 16);
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    void* at = ::mmap(nullptr, 1 << 16, PROT_READ, MAP_SHARED, descriptor, 0);
    fs::resize_file(path, 0);
    return static_cast<volatile char*>(at)[5000];
  }

  static void open_large(bool map = true) {
    const Scratch scratch;
    const fs::path path = scratch.path() / "large";
    std::ofstream(path, std::ios::binary) << pattern(1 << 20);
    const auto file = MappedFile::open(path, map);
    if (!file || as_text(file->bytes()) != pattern(1 << 20)) std::_Exit(1);
    fs::resize_file(path, 5000);  // ours is handled by us, whoever was there before
    if (map && (file->bytes().back() != std::byte{0} || file->intact())) std::_Exit(2);
  }

  static void handle(void (*handler)(int)) { std::signal(SIGBUS, handler); }
};

TEST_F(BusErrors, ThatAreNotOursGoToTheHandlerBefore) {
  EXPECT_EXIT(
      {
        handle([](int) { std::_Exit(42); });
        open_large();
        fault_elsewhere();
      },
      testing::ExitedWithCode(42), "");
  EXPECT_EXIT(
      {
        struct sigaction action = {};
        action.sa_flags = SA_SIGINFO;
        action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
          std::_Exit(signal == SIGBUS && info->si_addr != nullptr && context != nullptr ? 43 : 1);
        };
        ::sigaction(SIGBUS, &action, nullptr);
        open_large();
        fault_elsewhere();
      },
      testing::ExitedWithCode(43), "");
}

TEST_F(BusErrors, ThatAreNotOursEndTheProcessAsBefore) {
  const auto then_fault = [](void (*handler)(int)) {
    handle(handler);
    open_large();
    fault_elsewhere();
  };
  EXPECT_EXIT(then_fault(SIG_DFL), testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(then_fault(SIG_IGN), testing::KilledBySignal(SIGBUS), "");
  const auto then_send = [](void (*handler)(int)) {
    handle(handler);
    open_large();
    std::raise(SIGBUS);
    std::_Exit(7);
  };
  EXPECT_EXIT(then_send(SIG_DFL), testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(then_send(SIG_IGN), testing::ExitedWithCode(7), "");
}

TEST_F(BusErrors, AreNobodysBusinessWithoutMappings) {
  EXPECT_EXIT(
      {
        struct sigaction before = {};  // sanitizers have a handler of their own
        struct sigaction now = {};
        ::sigaction(SIGBUS, nullptr, &before);
        open_large(false);
        ::sigaction(SIGBUS, nullptr, &now);
        std::_Exit(now.sa_handler == before.sa_handler ? 9 : 1);
      },
      testing::ExitedWithCode(9), "");
}

}  // namespace
}  // namespace plumb
