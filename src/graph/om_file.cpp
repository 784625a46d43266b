// SPDX-License-Identifier: Apache-2.0
#include "graph/om_file.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/proto_wire.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

constexpr std::string_view kMagic = "IMOD", kSmallDeviceMagic = "PICO", kZipMagic = "PK\3\4";
constexpr size_t kHeaderBytes = 256;
constexpr uint32_t kVersion1 = 0x10000000, kVersion2 = 0x20000000;
constexpr uint8_t kFlowModel = 3, kLiteModel = 4, kBundle = 5;  // kinds of model
constexpr uint32_t kGraphPart = 0, kFlowPart = 7, kBundledPart = 24;
constexpr uint32_t kMostPartitions = 4096;  // of one model; GE takes no more
constexpr size_t kMostModelsNamed = 16;     // models inside, in a message

struct Header {
  uint32_t version = 0;
  bool is_encrypted = false;
  uint8_t kind = 0;
  uint32_t models = 1;
  uint64_t body_bytes = 0;
  bool is_wide = false;  // tables have 64-bit sizes
};

Error damaged_om(std::string what, uint64_t at, std::string_view why) {
  return {std::move(what), fmt::format("byte {}: {}", at, why), kOmRemedy};
}

Error refused_om(std::string what, std::string where,
                 std::string remedy =
                     "give the json that atc makes of a model: atc --mode=1 --om=MODEL.om "
                     "--json=MODEL.json") {
  return {std::move(what), std::move(where), std::move(remedy)};
}

Result<Header> read_header(Bytes file) {
  if (file.size() < kHeaderBytes)
    return damaged_om("the offline model is cut off", file.size(),
                      fmt::format("its header has {} bytes", kHeaderBytes));
  const auto at = [&](size_t offset) { return file.data() + offset; };
  if (const auto size = load_le<uint32_t>(at(4)); size != kHeaderBytes)
    return damaged_om("not an offline model as ATC writes it", 4,
                      fmt::format("a header of {} bytes, not {}", size, kHeaderBytes));
  Header header;
  header.version = load_le<uint32_t>(at(8));
  if (header.version != kVersion1 && header.version < kVersion2)
    return damaged_om("not an offline model as ATC writes it", 8,
                      fmt::format("version {:#x} of the file is not known", header.version));
  header.is_encrypted = load_le<uint8_t>(at(80)) == 1;
  header.kind = load_le<uint8_t>(at(82));
  header.body_bytes = load_le<uint32_t>(at(76));
  if (header.version != kVersion1) {  // before, there is text in these places
    header.models = std::max<uint32_t>(1, load_le<uint32_t>(at(156)));
    if (const auto length = load_le<uint64_t>(at(184)); length != 0) {
      header.body_bytes = length;
      header.is_wide = true;
    }
  }
  header.is_wide = header.is_wide || header.kind == kFlowModel;
  return header;
}

struct Partition {
  uint32_t type = 0;
  uint64_t at = 0;  // in the file
  Bytes bytes;
};

// Walks through the tables, front to back, each of which tells where the next one starts.
class Walk {
 public:
  Walk(Bytes file, size_t end, bool is_wide) : file_(file.first(end)), is_wide_(is_wide) {}

  // The partitions of the next model. Their sizes say where they are, as for GE: `offset`, which
  // counts from the end of the table (in bundles: of the header), repeats it.
  Result<std::vector<Partition>> next() {
    const size_t entry_bytes = is_wide_ ? 24 : 12, head_bytes = is_wide_ ? 8 : 4;
    const size_t table = at_;
    if (left() < head_bytes) return too_short(table, head_bytes, "the table of a model");
    const auto count = load_le<uint32_t>(file_.data() + at_);
    at_ += head_bytes;
    if (count > kMostPartitions || count > left() / entry_bytes)
      return damaged_om("the offline model is damaged", table,
                        fmt::format("a table of {} partitions, {} bytes are left", count, left()));
    std::vector<Partition> parts(count);
    size_t entry = at_;
    at_ += count * entry_bytes;
    for (Partition& part : parts) {
      const std::byte* field = file_.data() + entry;
      part.type = load_le<uint32_t>(field);
      const uint64_t size = is_wide_ ? load_le<uint64_t>(field + 16) : load_le<uint32_t>(field + 8);
      if (size > left()) return too_short(entry, size, fmt::format("partition type {}", part.type));
      part.at = at_;
      part.bytes = file_.subspan(at_, static_cast<size_t>(size));
      at_ += static_cast<size_t>(size);
      entry += entry_bytes;
    }
    return parts;
  }

  void skip(size_t bytes) { at_ += bytes; }
  size_t left() const { return file_.size() - at_; }
  size_t position() const { return at_; }

 private:
  Error too_short(size_t at, uint64_t wanted, std::string_view what) const {
    return damaged_om("the offline model is damaged", at,
                      fmt::format("{} needs {} bytes, {} are left", what, wanted, left()));
  }

  Bytes file_;
  bool is_wide_;
  size_t at_ = 0;
};

// The zero-padded name in a header, for messages.
std::string header_name(Bytes model) {
  if (model.size() < kHeaderBytes || !as_text(model).starts_with(kMagic)) return "?";
  const std::string_view name = as_text(model.subspan(84, 32));
  const std::string_view text = name.substr(0, name.find('\0'));
  return text.empty() ? "?" : std::string(text);
}

std::string listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostModelsNamed);
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format("{}{}", fmt::join(first, ", "), shown < names.size() ? ", ..." : "");
}

Error refuse_bundle(Bytes file) {
  Walk walk(file, file.size(), true);
  walk.skip(kHeaderBytes);
  const auto parts = walk.next();
  if (!parts) return parts.error();
  std::vector<std::string> names;
  for (const Partition& part : *parts)
    if (part.type == kBundledPart) names.push_back(header_name(part.bytes));
  return refused_om(
      "the offline model is a bundle of several",
      fmt::format("byte 82: {}: {}", counted(names.size(), "model"), listed(names)),
      "give the offline model of the one that was dumped, from before they were bundled");
}

// "graph1 (NPU)" of an embedded model.
std::string flow_name(const Partition& part) {
  ProtoReader reader(part.bytes, part.at);
  ProtoField field;
  std::string name, kind;
  while (reader.next(field)) {
    if (field.number == 1) name = as_text(field.bytes);
    if (field.number == 2) kind = as_text(field.bytes);
  }
  return kind.empty() ? name : fmt::format("{} ({})", name, kind);
}

// Of the first model; that has all the graphs, and the others repeat one of them each.
Result<OmFile> find_graph(const std::vector<Partition>& parts) {
  const auto graph = std::find_if(parts.begin(), parts.end(),
                                  [](const Partition& part) { return part.type == kGraphPart; });
  if (graph == parts.end()) {
    std::vector<std::string> types;
    for (const Partition& part : parts) types.push_back(std::to_string(part.type));
    return refused_om("the offline model holds no operator graph",
                      fmt::format("byte {}: partitions of type {}", kHeaderBytes,
                                  types.empty() ? "none" : listed(types)));
  }
  if (graph->bytes.size() > size_t{std::numeric_limits<int32_t>::max()})
    return damaged_om(
        "the offline model is damaged", graph->at,
        fmt::format("a graph of {} bytes, more than a message can have", graph->bytes.size()));
  OmFile found{graph->bytes, graph->at, {}};
  std::vector<std::string> inner;
  for (const Partition& part : parts)
    if (part.type == kFlowPart) inner.push_back(flow_name(part));
  if (!inner.empty())
    found.warnings.push_back(fmt::format(
        "a flow of {}, of which only the graph around {} was read: {}",
        counted(inner.size(), "model"), inner.size() == 1 ? "it" : "them", listed(inner)));
  return found;
}

std::optional<Error> refuse_relative(Bytes file) {
  const std::string_view text = as_text(file);
  if (text.starts_with(kSmallDeviceMagic))
    return refused_om("an offline model for SVP processors (Hi35xx), which is another format",
                      "byte 0: starts with PICO");
  if (text.starts_with(kZipMagic))
    return refused_om("an offline model of the form OM2 (a zip archive), which cannot be read yet",
                      "byte 0: starts with PK; its graph is the member debug/ge_visual_*.json");
  if (!text.starts_with(kMagic))
    return damaged_om("not an offline model", 0, "does not start with IMOD");
  return {};
}

}  // namespace

// Its relatives, too, which `open_om` refuses by name.
bool is_om(Bytes head) {
  const std::string_view text = as_text(head);
  if (text.starts_with(kZipMagic))
    return text.find("manifest.json") != text.npos && text.find("om2") != text.npos;
  return text.starts_with(kMagic) || text.starts_with(kSmallDeviceMagic);
}

Result<OmFile> open_om(Bytes file) {
  if (auto error = refuse_relative(file)) return *std::move(error);
  const auto header = read_header(file);
  if (!header) return header.error();
  if (header->is_encrypted)
    return refused_om("the offline model is encrypted", "byte 80: 1 stands for encrypted",
                      "give the model from before it was encrypted, or the json of that: "
                      "atc --mode=1 --om=MODEL.om --json=MODEL.json");
  if (header->kind == kBundle) return refuse_bundle(file);
  if (header->kind == kLiteModel)
    return refused_om("the offline model holds no operator graph",
                      "byte 82: 4 stands for a model of small devices");
  const uint64_t there = file.size() - kHeaderBytes;
  if (header->body_bytes > there)
    return damaged_om(
        "the offline model is cut off", file.size(),
        fmt::format("{} bytes should follow the header, {} do", header->body_bytes, there));
  Walk walk(file, kHeaderBytes + static_cast<size_t>(header->body_bytes), header->is_wide);
  walk.skip(kHeaderBytes);
  if (header->models - 1 > header->body_bytes / 4)  // a table each
    return damaged_om(
        "the offline model is damaged", 156,
        fmt::format("{} in {} bytes", counted(header->models, "model"), header->body_bytes));
  const auto first = walk.next();
  if (!first) return first.error();
  auto found = find_graph(*first);
  if (!found) return found;
  for (uint32_t model = 1; model < header->models; ++model)
    if (const auto parts = walk.next(); !parts) return parts.error();
  if (const size_t more = file.size() - walk.position(); more > 0)
    found->warnings.push_back(fmt::format("{} bytes after the end of the offline model", more));
  return found;
}

}  // namespace plumb::graph
