// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/serve.h"

#include "engine/worker/wire.h"

namespace plumb::engine {
namespace {

class Server {
 public:
  Server(Engine& engine, int socket) : engine_(engine), socket_(socket) {}

  void serve() {
    for (Message request; receive_message(socket_, request, wait_for_ever);) {
      if (request.kind == kClose) {
        sessions_.erase(ByteReader(request.body.bytes).u32());
        continue;
      }
      auto answered = answer(request);
      if (answered && *answered) continue;
      if (answered) return;  // nobody listens any more
      FieldWriter failure;
      write_error(failure, answered.error());
      if (!send_message(socket_, kFailed, failure.bytes(), {}, wait_for_ever)) return;
    }
  }

 private:
  struct Opened {
    OwnedBytes graph, weights;  // borrowed by the session
    std::unique_ptr<Session> session;
  };

  Result<bool> answer(const Message& request) try {
    return request.kind == kOpen ? open(request) : run(request);
  } catch (const std::exception& exception) {
    return Error{"the engine failed", exception.what(), "check the model and its inputs"};
  }

  Result<bool> open(const Message& request) {
    ByteReader fields(request.body.bytes);
    OpenRequest wanted = read_open(fields);
    if (!fields.ok() || request.files.empty()) return nonsense();
    Opened opened;
    auto graph = map_shared(request.files[0].get(), wanted.graph.offset, wanted.graph.size);
    if (!graph) return graph.error();
    opened.graph = std::move(*graph);
    if (request.files.size() > 1) {
      auto weights = map_shared(request.files[1].get(), wanted.weights.offset, wanted.weights.size);
      if (!weights) return weights.error();
      opened.weights = std::move(*weights);
    }
    auto session = engine_.open(
        {opened.graph.bytes, opened.weights.bytes, {wanted.directory, {}}, wanted.inputs},
        wanted.options);
    if (!session) return session.error();
    FieldWriter answer;
    answer.number(++last_);
    write_ports(answer, (*session)->inputs());
    write_ports(answer, (*session)->outputs());
    opened.session = std::move(*session);
    sessions_[last_] = std::move(opened);
    return send_message(socket_, kDone, answer.bytes(), {}, wait_for_ever);
  }

  Result<bool> run(const Message& request) {
    ByteReader fields(request.body.bytes);
    const auto opened = sessions_.find(fields.u32());
    if (request.kind != kRun || opened == sessions_.end()) return nonsense();
    auto sent = read_tensors(fields, request);
    if (!sent) return sent.error();
    InputViews inputs;
    for (const SentTensor& input : sent->tensors)
      if (input.tensor) inputs[input.name] = *input.tensor;
    const bool has_room = fields.u8() != 0 && !request.files.empty();
    TensorWriter outputs(has_room ? request.files.back().get() : -1);
    const Port* first = opened->second.session->outputs().data();
    auto ran = opened->second.session->run_on(inputs, [&](const Output& output) {
      return outputs.add(
          {"", static_cast<uint32_t>(&output.port - first), output.problem, output.tensor});
    });
    if (!ran) return ran.error();
    FieldWriter answer;
    auto memory = outputs.finish(answer);
    if (!memory) return memory.error();
    const int file = memory->get();
    return send_message(socket_, kDone, answer.bytes(),
                        std::span<const int>(&file, *memory ? 1 : 0), wait_for_ever);
  }

  static Error nonsense() {
    return {"the program asked for something that makes no sense", "", "install plumb again"};
  }

  Engine& engine_;
  const int socket_;
  uint32_t last_ = 0;
  std::map<uint32_t, Opened> sessions_;
};

}  // namespace

void serve_engine(Engine& engine, int socket) { Server(engine, socket).serve(); }

}  // namespace plumb::engine
