// SPDX-License-Identifier: Apache-2.0
//
// Golden data of Caffe, TensorFlow and ONNX runs: one npy file for each output, named
// operator.output.timestamp.npy. Names too long for the file system are numbers, see mapping.csv.
#include "dump/levels.h"
#include "dump/listing.h"
#include "dump/mapping_csv.h"
#include "dump/names.h"

namespace plumb::dump {
namespace {

constexpr std::string_view kInputPrefix = "input_";

// The array itself, or an archive of it alone, as `plumb convert` writes it.
constexpr std::string_view kGoldenEnds[] = {".npy", ".npz", ".safetensors"};

std::optional<GoldenName> golden_name(std::string_view name) {
  if (parse_fx_name(name)) return {};
  for (const std::string_view end : kGoldenEnds)
    if (name.ends_with(end)) return parse_golden_name(name.substr(0, name.size() - end.size()));
  return {};
}

// The name of the only tensor in an archive; nothing if there are others.
std::optional<std::string> only_member(const Tree& tree, const TreeFile& file) {
  const auto opened = io::open_tensor_file(tree.absolute(file).string(), {});
  if (!opened || opened->listing.tensors.size() != 1) return {};
  return opened->listing.tensors.front().name;
}

// ONNX runs save the model's inputs as input_<name>. A number after it is Keras' own name, input_1.
bool is_model_input(std::string_view op) {
  return op.starts_with(kInputPrefix) && op.size() > kInputPrefix.size() &&
         !is_digits(op.substr(kInputPrefix.size()));
}

int match_named_npy(const Tree& tree) {
  if (tree.is_single_file) return 0;
  const RealNames real_names(tree);
  const int percent = percent_of(tree, [&](const TreeFile& file) -> std::optional<bool> {
    const auto name = real_names.of(file);
    if (!name || companion_reason(*name)) return {};
    return golden_name(*name).has_value();
  });
  return percent == 0 ? 0 : 20 + 60 * percent / 100;
}

DumpSet list_named_npy(const Tree& tree, const io::ReadHints&) {
  DumpSet set;
  const RealNames real_names(tree);
  set.warnings = real_names.warnings();
  set.entries.reserve(tree.files.size());
  EntryTexts texts;
  size_t unnamed = 0;
  for (const TreeFile& file : tree.files) {
    const auto name = real_names.of(file);
    const auto golden = name ? golden_name(*name) : std::nullopt;
    const bool is_archive = golden && !name->ends_with(kGoldenEnds[0]);
    const auto member = is_archive ? only_member(tree, file) : std::string();
    if (!name) {
      ++unnamed;
      set.skipped.push_back(skip_unknown(tree, file, kUnnamed));
    } else if (!golden || !member) {
      set.skipped.push_back(skip_unknown(tree, file, "name is not operator.output.timestamp.npy"));
    } else if (file.size_bytes == 0) {
      set.skipped.push_back(skip_empty(tree, file));
    } else {
      Entry& entry = set.entries.emplace_back();
      const bool is_input = is_model_input(golden->op);
      entry.operator_name = is_input ? golden->op.substr(kInputPrefix.size()) : golden->op;
      entry.slot = {is_input ? SlotKind::kInput : SlotKind::kOutput, golden->index, {}};
      entry.timestamp = golden->timestamp;
      entry.parts.push_back(part_of(file, *name, *member));
      texts.share(entry);
    }
  }
  if (unnamed > 0) set.warnings.push_back(unnamed_warning(unnamed));
  place_entries(tree.root, set.entries);
  unify_timestamps(set.entries);
  return set;
}

}  // namespace

extern constexpr Convention kNamedNpy{
    "named-npy", "golden npy files named operator.output.timestamp.npy (Caffe, TensorFlow, ONNX)",
    match_named_npy, list_named_npy};

}  // namespace plumb::dump
