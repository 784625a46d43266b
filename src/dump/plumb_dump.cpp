// SPDX-License-Identifier: Apache-2.0
//
// Dumps that `plumb dump` wrote: dump.json (schema "plumb.dump/1", see docs/dump.md) says exactly
// which file is which tensor of which operator. With several samples there is one such directory
// for each, sample_0, sample_1, ...
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/dump_schema.h"
#include "base/json_dom.h"
#include "base/mapped_file.h"
#include "dump/listing.h"
#include "dump/names.h"

namespace plumb::dump {
namespace {

namespace dom = simdjson::dom;
namespace field = dump_schema::field;

constexpr std::string_view kSample = "sample_";

bool is_plumb_index(const Tree& tree, const TreeFile& file) {
  return file.name() == dump_schema::kFile && dump_schema::is_index(head_of(tree, file));
}

int match_plumb_dump(const Tree& tree) {
  if (tree.is_single_file) return 0;
  const bool any = std::any_of(tree.files.begin(), tree.files.end(),
                               [&](const TreeFile& file) { return is_plumb_index(tree, file); });
  return any ? 95 : 0;
}

std::optional<int64_t> sample_of(std::string_view directory) {
  const std::string_view last = directory.substr(directory.rfind('/') + 1);
  if (!last.starts_with(kSample)) return std::nullopt;
  return number_from(last.substr(kSample.size()));
}

class IndexReader {
 public:
  IndexReader(const Tree& tree, const TreeFile& file, DumpSet& set, std::set<FilePath>& used)
      : tree_(tree), file_(file), set_(set), used_(used), step_(sample_of(file.directory())) {}

  void read() {
    used_.insert(file_.path);
    auto mapped = MappedFile::open(tree_.absolute(file_).string(), /*map=*/false);
    if (!mapped) return damaged(mapped.error());
    dom::parser parser;
    dom::element root;
    if (const auto error =
            parser.parse(as_text(mapped->bytes()).data(), mapped->bytes().size()).get(root))
      return damaged({"the index of the dump is damaged", simdjson::error_message(error),
                      "make the dump again with `plumb dump`"});
    if (const std::string graph = json_dom::text(root, field::kSavedGraph); !graph.empty())
      if (const TreeFile* saved = tree_.find(beside(graph))) used_.insert(saved->path);
    json_dom::each(root, field::kOperators, [&](dom::element op) {
      entry_ = {};
      entry_.operator_name = json_dom::text(op, field::kName);
      entry_.type = json_dom::text(op, field::kType);
      entry_.put_at({step_, {}, json_dom::text(op, field::kSubgraph)});
      entry_.timestamp = json_dom::number(op, field::kTimestamp).value_or(entry_.timestamp);
      add_tensors(op, field::kInputs, SlotKind::kInput);
      add_tensors(op, field::kOutputs, SlotKind::kOutput);
    });
  }

 private:
  std::string beside(const std::string& name) const {
    return fmt::format("{}{}{}", file_.directory(), file_.directory().empty() ? "" : "/", name);
  }

  void damaged(Error error) {
    set_.skipped.push_back(skip_damaged(file_, std::move(error).in(file_.path.str())));
  }

  void add_tensors(dom::element op, std::string_view key, SlotKind kind) {
    int64_t index = 0;
    json_dom::each(op, key, [&](dom::element item) { add_tensor(item, {kind, index++, {}}); });
  }

  void add_tensor(dom::element item, const Slot& slot) {
    const std::string name = json_dom::text(item, field::kDataFile),
                      problem = json_dom::text(item, field::kProblem);
    if (name.empty()) {  // was not to be dumped, or could not be
      if (!problem.empty()) skip_problem(slot, problem);
      return;
    }
    // A file beside the index, never a path. If it is gone, whoever opens it is told.
    std::string path = name;
    std::replace(path.begin(), path.end(), '/', '_');
    path = beside(path);
    const TreeFile* const data = tree_.find(path);
    if (data != nullptr) used_.insert(data->path);
    Entry& entry = set_.entries.emplace_back(entry_);
    entry.slot = slot;
    entry.parts.push_back(
        {data != nullptr ? data->path : FilePath(path), json_dom::text(item, field::kMember)});
    if (const auto layout = layout_from_name(json_dom::text(item, field::kLayout)))
      describe(entry, *layout);
  }

  // What the index knows of a tensor and its file does not. One that cannot be read is found out
  // when its elements are wanted.
  void describe(Entry& entry, Layout layout) const {
    const TensorRef& part = entry.parts.front();
    const auto file = io::open_tensor_file((tree_.root / part.file.str()).string(), {});
    if (!file) return;
    const auto info = find_tensor(*file, part.tensor);
    if (!info || (*info)->error) return;
    entry.info = **info;
    if (const Shape& stored = (*info)->shape;
        name_of(layout) == "NHWC" && stored.size() == 4 && element_count(stored)) {
      const Shape strides = row_major_strides(stored);  // a view in the order of the model
      entry.info->strides = {strides[0], strides[3], strides[1], strides[2]};
      entry.info->shape = {stored[0], stored[3], stored[1], stored[2]};
      return;
    }
    entry.info->layout = layout;
  }

  void skip_problem(const Slot& slot, const std::string& problem) {
    Skipped skipped = skip_not_given(entry_.operator_name, slot, entry_.timestamp, problem);
    skipped.file = beside(skipped.file);
    set_.skipped.push_back(std::move(skipped));
  }

  const Tree& tree_;
  const TreeFile& file_;
  DumpSet& set_;
  std::set<FilePath>& used_;
  std::optional<int64_t> step_;
  Entry entry_;  // what all tensors of one operator share
};

DumpSet list_plumb_dump(const Tree& tree, const io::ReadHints&) {
  DumpSet set;
  std::set<FilePath> used;
  for (const TreeFile& file : tree.files)
    if (is_plumb_index(tree, file)) IndexReader(tree, file, set, used).read();
  for (const TreeFile& file : tree.files)
    if (!used.contains(file.path))
      set.skipped.push_back(skip_unknown(tree, file, "not in the index of the dump"));
  return set;
}

}  // namespace

extern constexpr Convention kPlumbDump{
    "plumb-dump",
    "what `plumb dump` wrote: npy files and their index, dump.json",
    match_plumb_dump,
    list_plumb_dump,
    {.graph_file = dump_schema::kFile}};

}  // namespace plumb::dump
