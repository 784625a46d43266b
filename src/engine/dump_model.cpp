// SPDX-License-Identifier: Apache-2.0
#include "engine/dump_model.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/safe_file_name.h"
#include "base/unnamed_file.h"
#include "engine/bodies.h"
#include "engine/channel_blocks.h"
#include "engine/dump_index.h"
#include "engine/fusion_origins.h"
#include "graph/scores.h"
#include "io/npy.h"
#include "io/reader.h"
#include "tensor/decode.h"

namespace plumb::engine {

// File names that do not clash, in the order they are asked for.
class FileNames {
 public:
  std::string name(std::string_view op, std::string_view slot, int64_t timestamp) {
    constexpr size_t kLongest = 180;
    const std::string safe = safe_file_name(op.substr(0, kLongest));
    for (int copy = 1;; ++copy) {
      std::string file = copy == 1 ? fmt::format("{}.{}.{}.npy", safe, slot, timestamp)
                                   : fmt::format("{}_{}.{}.{}.npy", safe, copy, slot, timestamp);
      if (used_.insert(file).second) return file;
    }
  }

 private:
  std::set<std::string> used_;
};

// What stays from one run to the next.
struct Prepared {
  LoadedModel& model;
  DumpWishes wishes;
  const OpenBodies* bodies = nullptr;         // what was done to bring bodies to the surface
  std::shared_ptr<const graph::Graph> graph;  // as it is run; null: nothing is prepared yet
  std::optional<LoadedModel> optimised = {};  // what the engine made of the model, if that is run
  std::unique_ptr<Session> plain = nullptr;   // the model as the engine optimises it
  std::unique_ptr<Session> whole = nullptr;   // gives all that is wanted at once
  std::vector<int64_t> timestamps = {};       // of operators: in which order they run
  std::vector<DumpedTensor> tensors = {};     // what there is to dump, still without data
  std::vector<size_t> wanted = {};            // places among these of what the engine gives
  int64_t block = 0;                          // channels of one, where they lie in blocks
  FileNames names = {};
};

namespace {

namespace fs = std::filesystem;

constexpr const char* kNotGiven = "the engine does not give it";

bool is_input(const graph::Operator& op) { return op.type == "Data" || op.type == "Input"; }

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Bytes this process may still use without pushing others out.
int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;)
    if (int64_t kib = 0; word == "MemAvailable:" && file >> kib) return kib * 1024;
  return int64_t{2} << 30;
}

int64_t size_of(const Port& port, int64_t unknown) {
  int64_t bytes = port.dtype ? std::max(bits_of(*port.dtype) / 8, 1) : 4;
  for (const int64_t size : port.shape) {
    if (size < 0) return unknown;
    bytes *= std::max<int64_t>(size, 1);
  }
  return bytes;
}

class Dumper {
 public:
  Dumper(Prepared& prepared, const Inputs& inputs, const fs::path& directory, bool in_memory,
         const RunContext& context)
      : prepared_(prepared),
        model_(prepared.model),
        inputs_(inputs),
        wishes_(prepared.wishes),
        directory_(directory),
        in_memory_(in_memory),
        in_files_(!directory.empty()),
        context_(context) {}

  Result<Dump> dump() {
    if (in_files_)
      if (auto made = make_directory(); !made) return made.error();
    if (prepared_.graph == nullptr)
      if (auto ready = prepare(); !ready) return ready.error();
    dump_.graph = prepared_.graph;
    dump_.timestamps = prepared_.timestamps;
    dump_.tensors = prepared_.tensors;
    if (prepared_.plain)
      if (auto ran = run_plainly(); !ran) return ran.error();
    if (auto saved = save_inputs(); !saved) return saved.error();
    if (auto done = capture(); !done) return done.error();
    if (prepared_.optimised) compare_outputs();
    if (wishes_.as_npz)
      if (auto packed = pack(); !packed) return packed.error();
    if (wishes_.inputs) link_inputs();
    if (!in_files_) return std::move(dump_);
    if (auto written = write_index(directory_, dump_, model_, wishes_.optimization, input_files_,
                                   wishes_.synced);
        !written)
      return written.error();
    return std::move(dump_);
  }

 private:
  Result<void> make_directory() const {
    std::error_code error;
    fs::create_directories(directory_, error);
    if (!error) return {};
    return Error{"the directory cannot be made",
                 fmt::format("{}: {}", directory_.string(), error.message()),
                 "name another one with -o"};
  }

  // Asking for inner tensors prevents fusion: the engine first saves the graph that it makes of the
  // model as it is, and that graph is run.
  Result<void> prepare() {
    graph::Graph graph = prepared_.bodies ? prepared_.bodies->graph : model_.graph();
    if (wishes_.optimization != Optimization::kDisabled && !wishes_.outputs_only &&
        model_.can_save_graph()) {
      if (auto saved = in_files_ ? save_graph(directory_ / kSavedGraph) : save_graph(); !saved)
        return saved;
      graph = with_tensor_origins(prepared_.optimised->graph(), model_.graph());
    }
    if (has_channel_blocks(graph)) {
      auto block = channels_of_block(model_.engine());
      if (!block) return block.error();
      prepared_.block = *block;
    }
    prepared_.graph = std::make_shared<const graph::Graph>(std::move(graph));
    list_tensors();
    return {};
  }

  Result<void> save_graph() {
    const auto file = UnnamedFile::in_memory();
    return file ? save_graph(file->path()) : file.error();
  }

  Result<void> save_graph(const fs::path& path) {
    SessionOptions options;
    options.optimization = wishes_.optimization;
    options.threads = wishes_.threads;
    options.saved_graph = path;
    auto session = model_.engine().open(model_.view(), options);
    if (!session) return std::move(session.error()).in(model_.path());
    prepared_.plain = std::move(*session);
    // Weights in other files stay where they are.
    auto saved = LoadedModel::open(
        {path, {}, "onnxruntime", {}, model_.shared_engine(), model_.view().data});
    if (!saved) return saved.error();
    prepared_.optimised = std::move(*saved);
    dump_.has_saved_graph = in_files_;
    return {};
  }

  Result<void> run_plainly() {
    auto ran = prepared_.plain->run(inputs_, [&](const Output& output) -> Result<void> {
      if (output.tensor)
        plain_outputs_[output.port.name] = Tensor{
            output.tensor->dtype, output.tensor->shape,
            std::vector<std::byte>(output.tensor->bytes.begin(), output.tensor->bytes.end())};
      return {};
    });
    if (!ran) return std::move(ran.error()).in(model_.path());
    return {};
  }

  void list_tensors() {
    const graph::Graph& graph = *prepared_.graph;
    const int64_t start = now_us();
    std::set<std::string_view> given;  // by the model
    std::unordered_map<std::string_view, const graph::Operator*> by_name = graph.by_name();
    const auto tensor_at = [&](const graph::Edge& edge) -> std::string_view {
      const auto producer = by_name.find(edge.producer);
      const bool is_there = producer != by_name.end() && edge.output >= 0 &&
                            edge.output < std::ssize(producer->second->outputs);
      return is_there ? producer->second->outputs[static_cast<size_t>(edge.output)].name
                      : std::string_view();
    };
    std::map<std::string_view, std::string_view> as_read;  // scores, as they are rounded
    for (const graph::Edge& edge : graph.outputs) {
      given.insert(tensor_at(edge));
      if (const auto scores = graph::scores_behind(graph, edge); scores && wishes_.scores) {
        const std::string_view made = tensor_at(graph::before_rounding(graph, *scores));
        as_read.emplace(made, tensor_at(*scores));
        given.insert(made);
      }
    }
    for (const graph::Operator& op : graph.operators) {
      prepared_.timestamps.push_back(start + std::ssize(prepared_.timestamps));
      for (size_t k = 0; k < op.outputs.size(); ++k) {
        const std::string& tensor = op.outputs[k].name;
        DumpedTensor& listed = prepared_.tensors.emplace_back();
        listed.op = op.name;
        listed.output = static_cast<int64_t>(k);
        listed.tensor = tensor;
        listed.layout = op.outputs[k].layout;
        if (!op.subgraph.empty() && is_input(op)) continue;  // what the loop hands to its body
        if (wishes_.wants && !wishes_.wants(op.name)) continue;
        if (!op.subgraph.empty()) {
          const auto out = prepared_.bodies == nullptr
                               ? std::map<std::string, std::string>::const_iterator()
                               : prepared_.bodies->in_loops.find(op.subgraph + "\n" + tensor);
          if (prepared_.bodies == nullptr || out == prepared_.bodies->in_loops.end()) {
            listed.problem = "inside the body of " + op.subgraph.substr(0, op.subgraph.rfind('.'));
            continue;
          }
          listed.tensor = out->second;
        }
        if (listed.tensor.empty() || (wishes_.outputs_only && !given.contains(tensor))) continue;
        if (const auto rounded = as_read.find(tensor); rounded != as_read.end())
          listed.tensor = rounded->second;
        listed.file = prepared_.names.name(op.name, fmt::to_string(k), prepared_.timestamps.back());
        if (!is_input(op)) prepared_.wanted.push_back(prepared_.tensors.size() - 1);
      }
    }
  }

  Result<void> save_inputs() {
    for (const graph::Operator& op : dump_.graph->operators) {
      if (!is_input(op) || !op.subgraph.empty()) continue;
      for (size_t k = 0; k < op.outputs.size(); ++k) {
        const auto given = inputs_.find(op.outputs[k].name);
        for (DumpedTensor& tensor : dump_.tensors) {
          if (tensor.op != op.name || tensor.output != static_cast<int64_t>(k)) continue;
          if (given == inputs_.end()) {
            tensor.file.clear();
            tensor.problem = "was not fed";
          } else if (!tensor.file.empty()) {
            if (auto saved = save(tensor, given->second.view(), nullptr); !saved) return saved;
          }
        }
      }
    }
    return {};
  }

  // `owner`: keeps the view alive, if there is one.
  Result<void> save(DumpedTensor& tensor, TensorView view,
                    const std::shared_ptr<const void>& owner) {
    if (auto blocked = blocked_shape(view.shape, prepared_.block);
        blocked && tensor.layout == graph::kBlockedChannels)
      view.shape = std::move(*blocked);
    else if (tensor.layout != graph::kChannelsLast || view.shape.size() != 4)
      tensor.layout.clear();
    tensor.dtype = info_of(info_of(view.dtype).unpacked).portable;
    tensor.shape = view.shape;
    if (in_files_)
      if (auto written = write_npy(directory_ / tensor.file, view); !written)
        return written.error();
    if (in_memory_)
      if (auto kept = keep(tensor, view, owner); !kept) return kept;
    ++dump_.written;
    dump_.bytes += std::ssize(view.bytes);
    context_.advance(1);
    return {};
  }

  // A large network has more than memory holds: the rest is mapped from files.
  Result<void> keep(DumpedTensor& tensor, const TensorView& view,
                    const std::shared_ptr<const void>& owner) {
    constexpr int64_t kAlwaysKept = int64_t{64} << 20;
    kept_bytes_ += std::ssize(view.bytes);
    if (kept_bytes_ > kAlwaysKept && memory_ == 0) memory_ = available_memory() / 4;
    const bool fits = kept_bytes_ <= (wishes_.kept_bytes > 0 ? wishes_.kept_bytes
                                                             : std::max(kAlwaysKept, memory_));
    if (fits && owner && tensor.dtype == view.dtype) {
      tensor.bytes = view.bytes;
      tensor.owner = owner;
      return {};
    }
    auto kept = std::make_shared<const Tensor>(portable(view));
    if (fits) {
      tensor.bytes = kept->bytes;
      tensor.owner = kept;
      return {};
    }
    auto unnamed = UnnamedFile::on_disk();
    if (!unnamed) return unnamed.error();
    if (auto written = unnamed->append(kept->bytes); !written) return written;
    auto file = MappedFile::open(unnamed->path());
    if (!file) return file.error();
    auto mapped = std::make_shared<const MappedFile>(std::move(*file));
    tensor.bytes = mapped->bytes();
    tensor.owner = mapped;
    return {};
  }

  // Captures everything that is wanted, in as many runs as memory asks for.
  Result<void> capture() {
    const std::vector<size_t>& wanted = prepared_.wanted;
    if (prepared_.whole) return capture_batch(*prepared_.whole, wanted);
    for (std::span<const size_t> left = wanted; !left.empty();) {
      if (context_.cancelled) return interrupted();
      size_t count = wishes_.batch_outputs > 0
                         ? std::min(left.size(), static_cast<size_t>(wishes_.batch_outputs))
                         : left.size();
      auto session = open_session(left.first(count));
      if (!session) return session.error();
      if (wishes_.batch_outputs == 0) {
        const size_t fits = std::min(how_many_fit((*session)->outputs()), count);
        if (fits < count) {
          session->reset();
          session = open_session(left.first(count = fits));
          if (!session) return session.error();
        }
      }
      if (auto done = capture_batch(**session, left.first(count)); !done) return done;
      if (count == wanted.size()) prepared_.whole = std::move(*session);
      left = left.subspan(count);
    }
    return {};
  }

  Result<std::unique_ptr<Session>> open_session(std::span<const size_t> wanted) {
    LoadedModel& run = prepared_.optimised ? *prepared_.optimised : model_;
    SessionOptions options;
    options.optimization = prepared_.optimised ? Optimization::kDisabled : wishes_.optimization;
    options.threads = wishes_.threads;
    for (const size_t place : wanted) {
      const DumpedTensor& tensor = dump_.tensors[place];
      options.captured.push_back({tensor.op, tensor.output, tensor.tensor});
    }
    auto session = run.engine().open(run.view(), options);
    if (!session) return std::move(session.error()).in(model_.path());
    return session;
  }

  Result<void> capture_batch(Session& session, std::span<const size_t> wanted) {
    ++dump_.runs;
    size_t index = 0;
    auto ran = session.run(inputs_, [&](const Output& output) -> Result<void> {
      if (context_.cancelled) return interrupted();
      // Engines hand out what was asked for in its order, but may leave some out.
      while (index < wanted.size() && dump_.tensors[wanted[index]].tensor != output.port.name)
        missing(dump_.tensors[wanted[index++]], kNotGiven);
      if (index == wanted.size()) return {};
      DumpedTensor& tensor = dump_.tensors[wanted[index++]];
      if (!output.tensor) {
        missing(tensor, output.problem);
        return {};
      }
      return save(tensor, *output.tensor, output.owner);
    });
    if (!ran) return std::move(ran.error()).in(model_.path());
    while (index < wanted.size()) missing(dump_.tensors[wanted[index++]], kNotGiven);
    return {};
  }

  Error interrupted() const { return {"interrupted", model_.path(), "run the command again"}; }

  void missing(DumpedTensor& tensor, std::string why) {
    tensor.file.clear();
    tensor.problem = std::move(why);
    context_.advance(1);
  }

  // At least one. What the engine cannot tell the size of counts as much larger than the input.
  size_t how_many_fit(const std::vector<Port>& outputs) const {
    int64_t largest = 1 << 20;
    for (const auto& [name, tensor] : inputs_)
      largest = std::max(largest, std::ssize(tensor.bytes));
    const int64_t budget = available_memory() / 4;
    int64_t sum = 0;
    size_t count = 0;
    for (const Port& port : outputs) {
      sum += size_of(port, 8 * largest);
      if (sum > budget && count > 0) break;
      ++count;
    }
    return outputs.empty() ? 1 : count;
  }

  // The graph that was saved must compute what the engine computes: else its tensors explain
  // nothing.
  void compare_outputs() {
    int64_t differing = 0;
    std::string first;
    for (const DumpedTensor& tensor : dump_.tensors) {
      const auto plain = plain_outputs_.find(tensor.tensor);
      if (plain == plain_outputs_.end() || tensor.file.empty()) continue;
      if (is_same(plain->second, tensor)) continue;
      if (++differing == 1) first = tensor.tensor;
    }
    if (differing > 0)
      dump_.doubts.push_back(fmt::format(
          "{} of the saved graph {} from the engine's own run, the first is {}: its inner tensors "
          "are near what the engine computed, no more",
          counted(static_cast<size_t>(differing), "output"), differing == 1 ? "differs" : "differ",
          first));
  }

  bool is_same(const Tensor& plain, const DumpedTensor& dumped) const {
    if (plain.shape != dumped.shape) return false;
    if (plain.dtype != dumped.dtype) return info_of(plain.dtype).portable == dumped.dtype;
    if (in_memory_)
      return std::equal(plain.bytes.begin(), plain.bytes.end(), dumped.bytes.begin(),
                        dumped.bytes.end());
    const auto file = MappedFile::open((directory_ / dumped.file).string());
    if (!file || file->bytes().size() < plain.bytes.size()) return false;
    const Bytes data = file->bytes().last(plain.bytes.size());
    return std::equal(data.begin(), data.end(), plain.bytes.begin());
  }

  // A file for each input, which is that of its producer by another name.
  void link_inputs() {
    std::unordered_map<std::string, const DumpedTensor*> of_output;
    for (const DumpedTensor& tensor : dump_.tensors)
      of_output.try_emplace(fmt::format("{}:{}", tensor.op, tensor.output), &tensor);
    FileNames names = prepared_.names;
    input_files_.resize(dump_.graph->operators.size());
    for (size_t i = 0; i < dump_.graph->operators.size(); ++i) {
      const graph::Operator& op = dump_.graph->operators[i];
      if (!op.subgraph.empty() || (wishes_.wants && !wishes_.wants(op.name))) continue;
      for (size_t k = 0; k < op.inputs.size(); ++k) {
        InputFile& input = input_files_[i].emplace_back();
        const auto found =
            of_output.find(fmt::format("{}:{}", op.inputs[k].producer, op.inputs[k].output));
        if (found == of_output.end() || found->second->file.empty()) continue;
        if (wishes_.as_npz) {
          input = {found->second->file, found->second->member};
          continue;
        }
        input.file = names.name(op.name, fmt::format("input.{}", k), dump_.timestamps[i]);
        const fs::path from = directory_ / found->second->file, to = directory_ / input.file;
        std::error_code error;
        fs::create_hard_link(from, to, error);
        if (error) fs::copy_file(from, to, error);
        if (error) input.file.clear();
      }
    }
  }

  // All tensors as one archive, in which they are called as their files were.
  Result<void> pack() {
    constexpr const char* kArchive = "tensors.npz";
    std::vector<io::WriteItem> items;
    for (DumpedTensor& tensor : dump_.tensors) {
      if (tensor.file.empty()) continue;
      tensor.member = tensor.file.substr(0, tensor.file.size() - 4);
      items.push_back({tensor.member, tensor.dtype, tensor.shape, [this, file = tensor.file]() {
                         return open_npy((directory_ / file).string());
                       }});
    }
    auto sink = FileSink::create(directory_ / kArchive);
    if (!sink) return sink.error();
    if (auto written = io::format_by_name("npz")->write(*sink, items); !written) return written;
    if (auto done = sink->commit(); !done) return done;
    for (DumpedTensor& tensor : dump_.tensors) {
      if (tensor.file.empty()) continue;
      std::error_code ignored;
      fs::remove(directory_ / tensor.file, ignored);
      tensor.file = kArchive;
    }
    return {};
  }

  static Result<io::TensorReader> open_npy(const std::string& path) {
    auto file = MappedFile::open(path);
    if (!file) return file.error();
    auto info = io::parse_npy_header(file->bytes(), {});
    if (!info) return std::move(info.error()).in(path);
    const Bytes data = file->bytes().subspan(static_cast<size_t>(info->offset_bytes));
    return io::TensorReader::from_memory(info->dtype, info->shape,
                                         std::vector<std::byte>(data.begin(), data.end()));
  }

  Prepared& prepared_;
  LoadedModel& model_;
  const Inputs& inputs_;
  const DumpWishes& wishes_;
  const fs::path& directory_;
  const bool in_memory_, in_files_;
  const RunContext& context_;
  int64_t kept_bytes_ = 0, memory_ = 0;  // so far, and how many may be; 0: not asked yet
  Dump dump_;
  std::unordered_map<std::string, Tensor> plain_outputs_;
  std::vector<std::vector<InputFile>> input_files_;  // by operator
};

}  // namespace

Tensor portable(const TensorView& tensor) {
  const DTypeInfo& type = info_of(tensor.dtype);
  Tensor made{
      info_of(type.unpacked).portable, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}};
  if (made.dtype == tensor.dtype) return made;
  const int64_t count = element_count(tensor.shape).value_or(0);
  if (type.unpacked != tensor.dtype) {
    made.bytes.resize(static_cast<size_t>(count));
    unpack(tensor.dtype, tensor.bytes.data(), 0, count, made.bytes.data());
  }
  if (made.dtype == DType::kFloat32) {
    std::vector<float> wide(static_cast<size_t>(count));
    decode_float(type.unpacked, made.bytes.data(), count, wide.data());
    const Bytes bytes = std::as_bytes(std::span(wide));
    made.bytes.assign(bytes.begin(), bytes.end());
  }
  return made;
}

Result<DType> write_npy(const fs::path& path, const TensorView& tensor) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  const DType written = info_of(info_of(tensor.dtype).unpacked).portable;
  sink->write(io::npy_header(written, tensor.shape));
  if (written == tensor.dtype)
    sink->write(tensor.bytes);
  else
    sink->write(Bytes(portable(tensor).bytes));
  if (auto done = sink->commit(false); !done) return done.error();
  return written;
}

int64_t count_tensors(const LoadedModel& model) {
  int64_t count = 0;
  for (const graph::Operator& op : model.graph().operators) count += std::ssize(op.outputs);
  return count;
}

struct ModelDumper::State : Prepared {};

ModelDumper::ModelDumper(LoadedModel& model, DumpWishes wishes)
    : state_(new State{{model, std::move(wishes), nullptr, nullptr}}) {}
ModelDumper::~ModelDumper() = default;
ModelDumper::ModelDumper(ModelDumper&&) noexcept = default;

Result<Dump> ModelDumper::dump(const Inputs& inputs, const fs::path& directory,
                               const RunContext& context) {
  return run(inputs, directory, false, context);
}

Result<Dump> ModelDumper::keep(const Inputs& inputs, const fs::path& directory,
                               const RunContext& context) {
  return run(inputs, directory, true, context);
}

Result<Dump> ModelDumper::run(const Inputs& inputs, const fs::path& directory, bool in_memory,
                              const RunContext& context) {
  if (!has_bodies(state_->model) || state_->wishes.outputs_only)
    return Dumper(*state_, inputs, directory, in_memory, context).dump();
  // Which branch is taken differs from input to input, so nothing stays from run to run.
  for (const bool with_loops : {true, false}) {
    auto open = open_bodies(state_->model, inputs, state_->wishes.threads, with_loops);
    if (!open) return open.error();
    Prepared prepared{open->model, state_->wishes, &*open, nullptr};
    auto dump = Dumper(prepared, inputs, directory, in_memory, context).dump();
    if (!dump && with_loops && !open->in_loops.empty() && !context.cancelled) {
      std::error_code ignored;
      if (!directory.empty()) fs::remove_all(directory, ignored);  // what the first try wrote
      continue;
    }
    if (dump && open->branches > 0)
      dump->notes.push_back(
          fmt::format("{} of If taken and laid open; {} not taken",
                      open->branches == 1 ? "1 branch" : fmt::format("{} branches", open->branches),
                      counted(static_cast<size_t>(open->not_taken), "operator")));
    return dump;
  }
  return Error{"the model could not be run", state_->model.path(), "check its inputs"};
}

}  // namespace plumb::engine
