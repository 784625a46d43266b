// SPDX-License-Identifier: Apache-2.0
//
// What a model does to its engine costs one run.
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <sys/wait.h>

#include "base/proto_wire.h"
#include "engine/engine.h"

namespace plumb::engine {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ProtoWriter value(std::string_view name) {
  ProtoWriter dim, shape, tensor, type, made;
  dim.text(2, "n");
  shape.message(1, dim);
  tensor.varint(1, 6);  // int32
  tensor.message(2, shape);
  type.message(1, tensor);
  made.text(1, name);
  made.message(2, type);
  return made;
}

// y = a / b of whole numbers: a crash if b is 0.
std::string division() {
  ProtoWriter node, graph, opset, model;
  node.text(1, "a");
  node.text(1, "b");
  node.text(2, "y");
  node.text(4, "Div");
  graph.message(1, node);
  graph.text(2, "g");
  graph.message(11, value("a"));
  graph.message(11, value("b"));
  graph.message(12, value("y"));
  opset.varint(2, 14);
  model.varint(1, 8);
  model.message(7, graph);
  model.message(8, opset);
  return std::move(model).take();
}

Inputs operands(int32_t a, int32_t b, size_t count = 1) {
  const auto tensor = [&](int32_t number) {
    Tensor made{DType::kInt32, {static_cast<int64_t>(count)}, std::vector<std::byte>(4 * count)};
    for (size_t i = 0; i < count; ++i) std::memcpy(made.bytes.data() + 4 * i, &number, 4);
    return made;
  };
  return {{"a", tensor(a)}, {"b", tensor(b)}};
}

class WorkerEngine : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = load_engine("onnxruntime", limits_);
    if (!loaded) GTEST_SKIP() << loaded.error().what << ": " << loaded.error().where;
    engine_ = *loaded;
  }
  std::unique_ptr<Session> open() {
    auto session = engine_->open({as_bytes(file_), {}, {}, {}}, {});
    EXPECT_TRUE(session) << session.error().what << session.error().where;
    return session ? std::move(*session) : nullptr;
  }
  // The quotient, or what went wrong.
  static std::string divide(Session& session, int32_t a, int32_t b) {
    std::string told;
    auto ran = session.run(operands(a, b), [&](const Output& output) -> Result<void> {
      told = std::to_string(load_le<int32_t>(output.tensor->bytes.data()));
      return {};
    });
    return ran ? told : ran.error().what + "; " + ran.error().where;
  }

  std::atomic<bool> cancelled_{false};
  WorkerLimits limits_{0, 600, &cancelled_};
  const std::string file_ = division();
  std::shared_ptr<Engine> engine_;
};

TEST_F(WorkerEngine, ACrashCostsOneRun) {
  auto session = open(), other = open();
  ASSERT_TRUE(session && other);
  EXPECT_EQ(divide(*session, 6, 3), "2");
  EXPECT_EQ(divide(*other, 8, 2), "4");
  const std::string crashed = divide(*session, 1, 0);
  EXPECT_THAT(crashed, StartsWith("ONNX Runtime"));
  EXPECT_THAT(crashed, HasSubstr(" crashed: an invalid division (SIGFPE); while it ran the model"));
  EXPECT_EQ(divide(*session, 9, 3), "3");
  EXPECT_EQ(divide(*other, 8, 4), "2");  // it was in the same process
  EXPECT_THAT(divide(*other, 1, 0), HasSubstr("SIGFPE"));
  EXPECT_THAT(divide(*other, 1, 0), HasSubstr("SIGFPE"));
  EXPECT_EQ(divide(*session, 12, 3), "4");
}

TEST_F(WorkerEngine, TensorsOutliveTheSessionForWhoKeepsTheirOwner) {
  auto session = open();
  ASSERT_TRUE(session);
  TensorView view;
  std::shared_ptr<const void> owner;
  ASSERT_TRUE(session->run(operands(35, 5), [&](const Output& output) -> Result<void> {
    view = *output.tensor;
    owner = output.owner;
    return {};
  }));
  EXPECT_EQ(divide(*session, 1, 1), "1");
  session.reset();
  engine_.reset();
  EXPECT_EQ(load_le<int32_t>(view.bytes.data()), 7);
}

// Memory that a run before gave back is used again; what somebody still reads is left alone.
TEST_F(WorkerEngine, LargeTensorsStayAsTheyWereWhileTheyAreKept) {
  constexpr size_t kMany = 100'000;
  const auto session = open();
  struct Kept {
    int32_t value;
    TensorView tensor;
    std::shared_ptr<const void> owner;
  };
  std::vector<Kept> kept;
  const auto check = [](const Kept& one) {
    ASSERT_EQ(one.tensor.bytes.size(), 4 * kMany);
    for (size_t i = 0; i < kMany; ++i)
      ASSERT_EQ(load_le<int32_t>(&one.tensor.bytes[4 * i]), one.value);
  };
  for (int32_t i = 1; i <= 60; ++i) {
    ASSERT_TRUE(session->run(operands(6 * i, 3, kMany), [&](const Output& output) -> Result<void> {
      kept.push_back({2 * i, *output.tensor, output.owner});
      return {};
    }));
    for (const Kept& one : kept) check(one);
    if (i > 20) kept.erase(kept.begin());  // twenty at a time, more than are made to be used again
    if (i == 40) kept.clear();
  }
}

TEST_F(WorkerEngine, CtrlCEndsIt) {
  auto session = open();
  ASSERT_TRUE(session);
  cancelled_ = true;
  EXPECT_THAT(divide(*session, 6, 3), StartsWith("interrupted"));
  cancelled_ = false;
  EXPECT_EQ(divide(*session, 6, 3), "2");
}

TEST_F(WorkerEngine, ManyThreadsMayUseOne) {
  auto session = open();
  ASSERT_TRUE(session);
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 1; i < 50; ++i) EXPECT_EQ(divide(*session, t * i, i), std::to_string(t));
    });
  for (std::thread& thread : threads) thread.join();
}

// A program that forks, as Python's multiprocessing does: the child has no worker, but is not hurt.
TEST_F(WorkerEngine, IsOfTheProcessThatStartedItOnly) {
  auto session = open();
  ASSERT_TRUE(session);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(divide(*session, 6, 3) == "2" ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(divide(*session, 6, 3), "2") << "the child disturbed it";
}

TEST_F(WorkerEngine, NoProcessIsLeft) {
  auto session = open();
  session.reset();
  engine_.reset();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace plumb::engine
