// SPDX-License-Identifier: Apache-2.0
//
// What the program (proxy.cpp) and the worker that runs its models (serve.cpp) say to each other.
// A request is answered by kDone or by kFailed with an Error. Numbers as in memory: both ends are
// one machine's.
#pragma once

#include "base/message.h"
#include "engine/engine.h"

namespace plumb::engine {

enum Kind : uint32_t {
  kOpen = 20,   // OpenRequest; the file of the graph, and of the weights if there are some
  kRun = 21,    // session u32, tensors by name, u8: 1 if the last file is a room for the answer
  kClose = 22,  // session u32; no answer
  kDone = 23,   // to kOpen: session u32, inputs, outputs; to kRun: tensors by the place of outputs
  kFailed = 24,
};

struct OpenRequest {
  SessionOptions options;
  std::filesystem::path directory;
  std::vector<Port> inputs;
  struct Place {
    uint64_t offset = 0, size = 0;
  } graph, weights;
};
void write_open(FieldWriter& fields, const OpenRequest& request);
OpenRequest read_open(ByteReader& fields);

void write_ports(FieldWriter& fields, const std::vector<Port>& ports);
std::vector<Port> read_ports(ByteReader& fields);

// Tensors of a message: a few bytes travel in it, more in memory that both ends map.
struct SentTensor {
  std::string name;     // of an input
  uint32_t place = 0;   // of an output
  std::string problem;  // why there is no tensor
  std::optional<TensorView> tensor;
};
class TensorWriter {
 public:
  // `room`: memory of the other end, to be used if it is large enough; -1: there is none.
  explicit TensorWriter(int room = -1);
  Result<void> add(const SentTensor& sent);  // copies
  // After the fields so far. The memory to send along, if any is needed.
  Result<Descriptor> finish(FieldWriter& fields);

 private:
  Result<void> store(Bytes bytes);

  const int room_;
  const uint64_t room_bytes_;
  FieldWriter listed_;
  uint32_t count_ = 0;
  uint64_t size_ = 0;
  std::string small_;  // the bytes, as long as they are few
  bool is_in_room_ = false;
  Descriptor large_;
};

struct SentTensors {
  std::vector<SentTensor> tensors;
  std::shared_ptr<const void> owner;  // of their bytes
  uint64_t mapped_bytes = 0;          // in memory that both ends map
};
// Checks everything: types, shapes against sizes, sizes against what there is. `room`: that the
// other end was given for them, if any.
Result<SentTensors> read_tensors(ByteReader& fields, const Message& message,
                                 const std::shared_ptr<const Room>& room = nullptr);

}  // namespace plumb::engine
