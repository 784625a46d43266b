// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/wire.h"

#include <random>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace plumb::engine {
namespace {

std::string numbers(size_t count) {
  std::string bytes(4 * count, '\0');
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

struct Sent {
  FieldWriter fields;
  Descriptor memory;
};

Sent sent(const std::vector<std::pair<Shape, std::string>>& tensors, int room = -1) {
  Sent made;
  TensorWriter writer(room);
  uint32_t place = 0;
  for (const auto& [shape, bytes] : tensors)
    EXPECT_TRUE(writer.add({"t" + std::to_string(place), place++, "",
                            TensorView{DType::kFloat32, shape, as_bytes(bytes)}}));
  EXPECT_TRUE(writer.add({"none", place, "a sequence", std::nullopt}));
  auto memory = writer.finish(made.fields);
  EXPECT_TRUE(memory);
  made.memory = std::move(*memory);
  return made;
}

Message as_message(Bytes body, int memory) {
  Message message;
  auto* at = static_cast<std::byte*>(std::aligned_alloc(64, (body.size() / 64 + 1) * 64));
  std::copy(body.begin(), body.end(), at);
  message.body = {Bytes(at, body.size()), std::shared_ptr<void>(at, std::free)};
  if (memory >= 0) message.files.emplace_back(::fcntl(memory, F_DUPFD_CLOEXEC, 0));
  return message;
}

TEST(Wire, TensorsArriveAsTheyWereSent) {
  for (const size_t count : {0, 1, 3, 16, 17, 1000, 100'000}) {  // in the message, and beside it
    const std::string a = numbers(count), b = numbers(5);
    const auto size = static_cast<int64_t>(count);
    const Sent made = sent({{{size}, a}, {{5, 1}, b}, {{}, b.substr(0, 4)}});
    const Message message = as_message(made.fields.bytes(), made.memory.get());
    ByteReader fields(message.body.bytes);
    const auto read = read_tensors(fields, message);
    ASSERT_TRUE(read) << read.error().where;
    ASSERT_EQ(read->tensors.size(), 4u);
    EXPECT_EQ(as_text(read->tensors[0].tensor->bytes), a);
    EXPECT_EQ(as_text(read->tensors[1].tensor->bytes), b);
    EXPECT_EQ(read->tensors[1].tensor->shape, (Shape{5, 1}));
    EXPECT_EQ(read->tensors[1].name, "t1");
    EXPECT_EQ(read->tensors[2].tensor->bytes.size(), 4u);
    EXPECT_FALSE(read->tensors[3].tensor);
    EXPECT_EQ(read->tensors[3].problem, "a sequence");
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(reinterpret_cast<uintptr_t>(read->tensors[i].tensor->bytes.data()) % 64, 0u);
    EXPECT_EQ(made.memory ? 1 : 0, count == 100'000 ? 1 : 0);
  }
}

TEST(Wire, ARoomIsUsedAgainIfItIsLargeEnough) {
  for (const uint64_t size : {64u << 10, 200u << 10, 400'064u, 400'128u, 1u << 20}) {
    auto room = new_room(size);
    ASSERT_TRUE(room);
    for (const size_t first : {60'000, 100'000, 3, 90'000}) {  // 240 KB in all, 400 KB, few, 360 KB
      const std::string a = numbers(first), b = numbers(5);
      const Sent made = sent({{{static_cast<int64_t>(first)}, a}, {{5}, b}}, (*room)->file.get());
      const Message message = as_message(made.fields.bytes(), made.memory.get());
      ByteReader fields(message.body.bytes);
      const auto read = read_tensors(fields, message, *room);
      ASSERT_TRUE(read) << read.error().where;
      EXPECT_EQ(as_text(read->tensors[0].tensor->bytes), a);
      EXPECT_EQ(as_text(read->tensors[1].tensor->bytes), b);
      const uint64_t bytes = first * 4 + 64;
      EXPECT_EQ(read->owner == *room, first > 3 && bytes <= size) << first << " in " << size;
      EXPECT_EQ(bool{made.memory}, first > 3 && bytes > size);
      EXPECT_EQ(read->mapped_bytes, first > 3 ? bytes : 0);
      if (read->owner != *room) continue;
      ByteReader again(message.body.bytes);
      EXPECT_FALSE(read_tensors(again, message)) << "nobody gave it one";
    }
  }
}

// Whatever a worker says: no tensor that is not there.
TEST(Wire, DamagedTensorsAreRefusedOrInside) {
  std::mt19937 random(1);
  const auto room = new_room(161'000);
  ASSERT_TRUE(room);
  for (const auto& [count, use] : {std::pair{7, -1}, {40'000, -1}, {40'000, (*room)->file.get()}}) {
    const Sent made =
        sent({{{count}, numbers(static_cast<size_t>(count))}, {{2, 2}, numbers(4)}}, use);
    const std::string good(as_text(made.fields.bytes()));
    for (int i = 0; i < 4000; ++i) {
      std::string bad = good;
      const size_t list = std::min<size_t>(good.size(), 120);  // where the fields are
      if (i % 4 == 0)
        bad.resize(random() % good.size());
      else
        for (unsigned k = 0; k <= random() % 3; ++k)
          bad[random() % list] = static_cast<char>(random() % 3 == 0 ? 255 : random());
      const Message message = as_message(as_bytes(bad), made.memory.get());
      ByteReader fields(message.body.bytes);
      const auto read = read_tensors(fields, message, *room);
      if (!read) continue;
      size_t zeros = 0, bytes = 0;  // readable to the last byte
      for (const SentTensor& one : read->tensors)
        for (const std::byte byte : one.tensor ? one.tensor->bytes : Bytes()) {
          zeros += byte == std::byte{0} ? 1 : 0;
          ++bytes;
        }
      EXPECT_LE(zeros, bytes);
    }
  }
}

TEST(Wire, MemoryThatCouldShrinkIsRefused) {
  const Sent made = sent({{{40'000}, numbers(40'000)}});
  const Descriptor soft(::memfd_create("soft", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(soft.get(), 1 << 20), 0);
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (const int memory : {-1, soft.get(), null.get()}) {
    const Message message = as_message(made.fields.bytes(), memory);
    ByteReader fields(message.body.bytes);
    EXPECT_FALSE(read_tensors(fields, message));
  }
}

TEST(Wire, RequestsComeBackAsTheyWere) {
  OpenRequest request;
  request.options.optimization = Optimization::kExtended;
  request.options.threads = 3;
  request.options.captured = {{"conv", 1, "t"}, {"", 0, ""}};
  request.options.saved_graph = "/a/b.onnx";
  request.directory = "models";
  request.inputs = {{"x", DType::kFloat16, {1, -1}, {"", "n"}, ""}, {"s", {}, {}, {}, "text"}};
  request.graph = {7, 8};
  request.weights = {9, 10};
  FieldWriter fields;
  write_open(fields, request);
  ByteReader reader(fields.bytes());
  const OpenRequest read = read_open(reader);
  EXPECT_TRUE(reader.ok() && reader.at_end());
  EXPECT_EQ(read.options.optimization, Optimization::kExtended);
  EXPECT_EQ(read.options.threads, 3);
  ASSERT_EQ(read.options.captured.size(), 2u);
  EXPECT_EQ(read.options.captured[0].tensor, "t");
  EXPECT_EQ(read.options.captured[0].output, 1);
  EXPECT_EQ(read.options.saved_graph, "/a/b.onnx");
  EXPECT_EQ(read.directory, "models");
  ASSERT_EQ(read.inputs.size(), 2u);
  EXPECT_EQ(read.inputs[0].shape, (Shape{1, -1}));
  EXPECT_EQ(read.inputs[0].axes[1], "n");
  EXPECT_FALSE(read.inputs[1].dtype);
  EXPECT_EQ(read.inputs[1].kind, "text");
  EXPECT_EQ(read.weights.size, 10u);
}

}  // namespace
}  // namespace plumb::engine
