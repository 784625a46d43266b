// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/proxy.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "engine/worker/wire.h"
#include "graph/onnx_external.h"
#include "graph/readers.h"

namespace plumb::engine {
namespace {

// What an engine says if an allocation failed.
bool is_about_memory(std::string_view text) {
  constexpr std::string_view kWords[] = {"bad_alloc", "allocate memory", "nsufficient memory",
                                         "out of memory", "cannot allocate"};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// The worker, and a new one whenever it was lost. One caller at a time.
class EngineWorker {
 public:
  EngineWorker(std::string name, const WorkerLimits& limits)
      : name_(std::move(name)), limits_(limits) {}

  Result<void> start() {
    if (worker_) return {};
    auto started = Worker::start(name_, limits_);
    if (!started) return started.error();
    worker_.emplace(std::move(*started));
    ++generation_;
    return {};
  }

  const std::string& greeting() const { return worker_->greeting(); }
  uint64_t generation() const { return worker_ ? generation_ : 0; }

  // `doing`: "loaded the model", for an error.
  Result<Message> ask(Kind kind, Bytes body, std::span<const int> files, std::string_view doing) {
    Message answer;
    if (!worker_->send(kind, body, files) || !worker_->receive(answer)) return lost(doing);
    if (answer.kind == kDone) return answer;
    ByteReader fields(answer.body.bytes);
    Error error = read_error(fields);
    if (answer.kind != kFailed || !fields.ok()) return lost(doing);
    return is_about_memory(error.where) ? too_much_memory(doing, error.where) : error;
  }

  void tell(Kind kind, Bytes body) {
    if (worker_ && !worker_->send(kind, body, {})) worker_.reset();
  }

  std::mutex mutex;
  std::string engine = "the engine";  // for errors, once it is known

 private:
  Error lost(std::string_view doing) {
    const WorkerEnd end = worker_->end();
    worker_.reset();
    const std::string words =
        end.last_words.empty() ? "" : fmt::format("; its last words: {}", end.last_words);
    if (end.cancelled) return {"interrupted", "", "run the command again"};
    if (end.timed_out)
      return {
          fmt::format("{} took too long", engine),
          fmt::format("no answer within {} s while it {}{}", limits_.timeout_seconds, doing, words),
          "give it more time with --engine-timeout SECONDS"};
    const char* look =
        "look for odd attributes in the model; `plumb shrink` finds the part of it "
        "that does this";
    if (end.is_garbled)
      return {fmt::format("{} gave an answer that makes no sense", engine),
              fmt::format("while it {}{}", doing, words), look};
    if (is_about_memory(end.last_words)) return too_much_memory(doing, end.last_words);
    if (end.signal != 0)
      return {fmt::format("{} crashed: {}", engine, text_of_signal(end.signal)),
              fmt::format("while it {}{}", doing, words), look};
    return {fmt::format("{} ended without an answer", engine),
            fmt::format("exit status {} while it {}{}", end.status, doing, words), look};
  }

  Error too_much_memory(std::string_view doing, std::string_view told) const {
    const uint64_t limit =
        limits_.memory_bytes == 0 ? default_worker_memory() : limits_.memory_bytes;
    return {fmt::format("{} needs more memory than it may use", engine),
            fmt::format("more than {} MiB while it {}: {}", limit >> 20, doing, told),
            "allow more with --engine-memory SIZE, or use a smaller input or batch"};
  }

  const std::string name_;
  const WorkerLimits limits_;
  std::optional<Worker> worker_;
  uint64_t generation_ = 0;  // of the last worker
};

// A session there. It is opened again in a new worker when the old one was lost.
class WorkerSession : public Session {
 public:
  WorkerSession(std::shared_ptr<EngineWorker> worker, Model model, SessionOptions options)
      : worker_(std::move(worker)), model_(std::move(model)), options_(std::move(options)) {}

  ~WorkerSession() override {
    const std::lock_guard lock(worker_->mutex);
    if (generation_ == 0 || worker_->generation() != generation_) return;
    FieldWriter request;
    request.number(id_);
    worker_->tell(kClose, request.bytes());
  }

  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }

  Result<void> open() {
    const std::lock_guard lock(worker_->mutex);
    return open_now();
  }

  Result<void> run_on(const InputViews& inputs, const Take& take) override {
    auto sent = ask_for_outputs(inputs);
    if (!sent) return sent.error();
    for (const SentTensor& output : sent->tensors)
      if (auto taken = take({outputs_[output.place], output.tensor, output.problem, sent->owner});
          !taken)
        return taken;
    return {};
  }

 private:
  Result<void> open_now() {
    if (auto started = worker_->start(); !started) return started;
    auto graph = share(model_.graph);
    if (!graph) return graph.error();
    OpenRequest wanted{
        options_, model_.data.directory, model_.inputs, {graph->offset, graph->size}, {}};
    Descriptor weights;
    if (!model_.weights.empty()) {
      auto shared = share(model_.weights);
      if (!shared) return shared.error();
      wanted.weights = {shared->offset, shared->size};
      weights = std::move(shared->file);
    }
    FieldWriter request;
    write_open(request, wanted);
    const int files[] = {graph->file.get(), weights.get()};
    auto answer =
        worker_->ask(kOpen, request.bytes(), std::span(files, weights ? 2 : 1), "loaded the model");
    if (!answer) return answer.error();
    ByteReader fields(answer->body.bytes);
    id_ = fields.u32();
    inputs_ = read_ports(fields);
    outputs_ = read_ports(fields);
    generation_ = worker_->generation();
    options_.saved_graph.clear();  // it is there: only the first worker writes it
    if (fields.ok()) return {};
    return Error{"the process that runs the model gave an answer that makes no sense",
                 "the list of inputs and outputs", "install plumb again"};
  }

  Result<SentTensors> ask_for_outputs(const InputViews& inputs) {
    const std::lock_guard lock(worker_->mutex);
    if (generation_ == 0 || worker_->generation() != generation_)
      if (auto opened = open_now(); !opened) return opened.error();
    FieldWriter request;
    request.number(id_);
    TensorWriter fed;
    for (const auto& [name, tensor] : inputs)
      if (auto added = fed.add({name, 0, "", tensor}); !added) return added.error();
    auto memory = fed.finish(request);
    if (!memory) return memory.error();
    const std::shared_ptr<const Room> room = room_for_outputs();
    request.number(uint8_t{room != nullptr});
    std::vector<int> files;
    if (*memory) files.push_back(memory->get());
    if (room) files.push_back(room->file.get());
    auto answer = worker_->ask(kRun, request.bytes(), files, "ran the model");
    if (!answer) return answer.error();
    ByteReader fields(answer->body.bytes);
    auto sent = read_tensors(fields, *answer, room);
    if (sent) room_bytes_ = sent->mapped_bytes;
    if (sent && std::any_of(sent->tensors.begin(), sent->tensors.end(),
                            [&](const SentTensor& one) { return one.place >= outputs_.size(); }))
      return Error{"the process that runs the model gave an answer that makes no sense",
                   "an output that the model does not have", "install plumb again"};
    return sent;
  }

  // From the second run on: memory of a run before, when nobody reads it any more. New memory costs
  // the system more than what is written to it.
  std::shared_ptr<const Room> room_for_outputs() {
    constexpr size_t kMost = 16;
    constexpr uint64_t kMostBytes = 512 << 20;  // of all: they stay until the session ends
    if (room_bytes_ == 0) return nullptr;
    const auto is_free = [](const auto& room) { return room.use_count() == 1; };
    std::erase_if(rooms_, [&](const auto& room) {
      const uint64_t bytes = room->memory.bytes.size();
      return is_free(room) && (bytes < room_bytes_ || bytes / 2 > room_bytes_);
    });
    if (const auto free = std::find_if(rooms_.begin(), rooms_.end(), is_free);
        free != rooms_.end()) {
      std::atomic_thread_fence(std::memory_order_acquire);  // after its last reader
      return *free;
    }
    uint64_t bytes = room_bytes_;
    for (const auto& room : rooms_) bytes += room->memory.bytes.size();
    if (rooms_.size() == kMost || bytes > kMostBytes) return nullptr;
    auto made = new_room(room_bytes_);
    return made ? rooms_.emplace_back(std::move(*made)) : nullptr;
  }

  const std::shared_ptr<EngineWorker> worker_;
  const Model model_;  // borrows
  SessionOptions options_;
  uint32_t id_ = 0;
  uint64_t generation_ = 0;  // of the worker that has it; 0: none yet
  std::vector<Port> inputs_, outputs_;
  std::vector<std::shared_ptr<const Room>> rooms_;
  uint64_t room_bytes_ = 0;  // that the outputs of the last run took
};

class WorkerEngine : public Engine {
 public:
  WorkerEngine(std::string name, std::shared_ptr<EngineWorker> worker)
      : name_(std::move(name)), worker_(std::move(worker)), version_(worker_->greeting()) {
    worker_->engine = version_;
  }

  std::string version() const override { return version_; }

  Result<std::unique_ptr<Session>> open(const Model& model,
                                        const SessionOptions& options) override {
    Model checked = model;
    // OpenCV reads no data in other files; a Caffe network has none.
    if (name_ == "onnxruntime" || graph::is_onnx(model.graph)) {
      auto directory = graph::check_external(model.graph, model.data);
      if (!directory) return directory.error();
      checked.data.directory = std::move(*directory);
    }
    auto session = std::make_unique<WorkerSession>(worker_, std::move(checked), options);
    if (auto opened = session->open(); !opened) return opened.error();
    return std::unique_ptr<Session>(std::move(session));
  }

 private:
  const std::string name_;
  std::shared_ptr<EngineWorker> worker_;
  std::string version_;
};

}  // namespace

Result<std::shared_ptr<Engine>> start_engine(const std::string& name, const WorkerLimits& limits) {
  auto worker = std::make_shared<EngineWorker>(name, limits);
  if (auto started = worker->start(); !started) return started.error();
  return std::shared_ptr<Engine>(std::make_shared<WorkerEngine>(name, std::move(worker)));
}

}  // namespace plumb::engine
