// SPDX-License-Identifier: Apache-2.0
#include "input/labels.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/mapped_file.h"
#include "base/number_from_text.h"
#include "input/gzip.h"
#include "io/inflate.h"

namespace plumb::input {
namespace {

constexpr size_t kLabelsHeaderBytes = 8;
constexpr std::string_view kLabelsMagic{"\0\0\x08\x01", 4};  // bytes, one axis

Result<Labels> labels_from_idx(Bytes header, Bytes classes) {
  uint32_t count = 0;
  for (size_t i = 4; i < kLabelsHeaderBytes; ++i)
    count = count << 8 | std::to_integer<uint32_t>(header[i]);
  if (count != classes.size())
    return Error{"the file of labels is cut off",
                 fmt::format("byte 4: {} labels are promised, {} are there", count, classes.size()),
                 "copy it again"};
  Labels labels;
  for (const std::byte one : classes) labels.by_place.push_back(std::to_integer<int64_t>(one));
  return labels;
}

Result<std::vector<std::byte>> unpacked(Bytes file) {
  auto stream = gzip_stream(file);
  if (!stream) return stream.error();
  // The last four bytes of such a file are its unpacked size; deflate packs at most 1032 to 1.
  const auto size = load_le<uint32_t>(file.data() + file.size() - 4);
  if (size > file.size() * 1032)
    return Error{"the packed file promises more than it can hold",
                 fmt::format("byte {}: {} bytes", file.size() - 4, size), "copy it again"};
  std::vector<std::byte> bytes(size);
  if (bytes.empty()) return bytes;
  io::Inflater inflater(*stream);
  if (auto read = inflater.read(bytes.data(), bytes.size()); !read) return read.error();
  return bytes;
}

std::string base_name(std::string_view path) {
  return std::filesystem::path(path).filename().string();
}

// A number, or a name of the list.
std::optional<int64_t> class_from(std::string_view word, const ClassNames* names) {
  if (const auto value = number_from_text<int64_t>(word)) return value;
  return names == nullptr ? std::nullopt : names->of(word);
}

// Between a file and its class; nothing if the line is a class only.
size_t separator_in(std::string_view line) {
  for (const char mark : {'\t', ','})
    if (const size_t at = line.find(mark); at != line.npos) return at;
  return line.rfind(' ');
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

struct LabelLine {
  std::string_view file;  // empty: it is of the sample at its place
  std::optional<int64_t> value;
};

LabelLine parsed(std::string_view line, const ClassNames* names) {
  if (const auto whole = class_from(line, names)) return {{}, whole};
  const size_t mark = separator_in(line);
  if (mark == line.npos) return {};
  std::string_view field = line.substr(mark + 1);
  const std::string_view file = trimmed(line.substr(0, mark));
  if (const auto value = class_from(trimmed(field), names)) return {file, value};
  field = field.substr(0, field.find(line[mark]));  // more columns
  return {file, class_from(trimmed(field), names)};
}

void add_stems(Labels& labels) {
  for (const auto& [file, value] : labels.by_file) {
    const auto [known, is_new] =
        labels.by_stem.try_emplace(std::filesystem::path(file).stem().string(), value);
    if (!is_new && known->second != value) known->second.reset();
  }
}

Result<Labels> labels_from_text(std::string_view text, const ClassNames* names) {
  Labels labels;
  size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    ++number;
    if (line.empty()) continue;
    const LabelLine read = parsed(line, names);
    if (!read.value && number == 1) continue;  // titles
    if (!read.value)
      return Error{names == nullptr ? "a label is no number"
                                    : "a label is neither a number nor one of the classes",
                   fmt::format("line {}: '{}'", number, line),
                   "write lines of CLASS or of FILE,CLASS"};
    if (read.file.empty()) {
      labels.by_place.push_back(*read.value);
      continue;
    }
    const std::string file = base_name(read.file);
    const auto known = labels.by_file.try_emplace(file, *read.value).first->second;
    if (known != *read.value)
      return Error{
          "a file has two labels",
          fmt::format("line {}: '{}' is {}, before it was {}", number, file, *read.value, known),
          "files are known by their names without directories: give each its own"};
  }
  add_stems(labels);
  return labels;
}

// The word of a path that tells its class.
std::string word_in(const std::string& file, LabelPlace place) {
  const std::filesystem::path path(file);
  if (place == LabelPlace::kFolder)
    return std::filesystem::absolute(path).lexically_normal().parent_path().filename().string();
  const std::string name = path.filename().string();
  return name.substr(0, name.find_first_of("_-."));
}

}  // namespace

Result<Labels> labels_from_bytes(Bytes file, const ClassNames* names) {
  if (file.size() >= kLabelsHeaderBytes && as_text(file).starts_with(kLabelsMagic))
    return labels_from_idx(file.first(kLabelsHeaderBytes), file.subspan(kLabelsHeaderBytes));
  return labels_from_text(as_text(file), names);
}

ClassNames ClassNames::from_text(std::string_view text) {
  ClassNames made;
  const auto add = [&](std::string_view word, int64_t place) {
    if (word.empty()) return;
    const auto [known, is_new] = made.places_.try_emplace(std::string(word), place);
    if (!is_new && known->second != place) known->second.reset();
  };
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    const auto place = static_cast<int64_t>(made.size_++);
    add(line, place);
    const size_t gap = line.find_first_of(" \t,");
    if (gap == line.npos) continue;
    add(line.substr(0, gap), place);
    add(trimmed(line.substr(gap + 1)), place);
  }
  return made;
}

Result<ClassNames> ClassNames::read(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  ClassNames names = from_text(as_text(file->bytes()));
  if (names.size() == 0)
    return Error{"the list of classes is empty", path, "write a line for each class"};
  return names;
}

std::optional<int64_t> ClassNames::of(std::string_view word) const {
  const auto found = places_.find(word);
  return found == places_.end() ? std::nullopt : found->second;
}

Result<PathLabels> labels_in_paths(const std::vector<std::string>& files, LabelPlace place,
                                   const ClassNames* names) {
  std::vector<std::string> words;
  for (const std::string& file : files) words.push_back(word_in(file, place));
  // Words of no list are classes in their order.
  std::map<std::string, int64_t> order;
  const bool are_known = std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return class_from(word, names).has_value();
  });
  if (!are_known && names == nullptr)
    for (const std::string& word : words) order.emplace(word, 0);
  for (int64_t next = 0; auto& [word, number] : order) number = next++;
  PathLabels made{{}, std::ssize(order)};
  for (size_t i = 0; i < words.size(); ++i) {
    const auto value =
        order.empty() ? class_from(words[i], names) : std::optional(order.at(words[i]));
    if (!value)
      return Error{"a label is neither a number nor one of the classes",
                   fmt::format("'{}' of {}", words[i], files[i]), "check --classes and --labels"};
    made.labels.push_back(*value);
  }
  return made;
}

std::optional<int64_t> Labels::of(size_t sample, const std::vector<std::string>& files) const {
  for (const std::string& file : files)
    if (const auto found = by_file.find(base_name(file)); found != by_file.end())
      return found->second;
  for (const std::string& file : files) {
    const std::string stem = std::filesystem::path(base_name(file)).stem().string();
    if (const auto found = by_stem.find(stem); found != by_stem.end()) return found->second;
  }
  if (by_file.empty() && sample < by_place.size()) return by_place[sample];
  return std::nullopt;
}

Result<Labels> read_labels(const std::string& path, const ClassNames* names) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  if (is_gzip(file->bytes())) {
    auto bytes = unpacked(file->bytes());
    if (!bytes) return std::move(bytes.error()).in(path);
    auto labels = labels_from_bytes(*bytes, names);
    return labels ? labels : std::move(labels.error()).in(path);
  }
  auto labels = labels_from_bytes(file->bytes(), names);
  return labels ? labels : std::move(labels.error()).in(path);
}

Result<SampleLabels> labels_of(const std::vector<std::string>& files, const std::string& labels,
                               const std::string& classes) {
  SampleLabels made;
  std::optional<ClassNames> names;
  if (!classes.empty()) {
    auto read = ClassNames::read(classes);
    if (!read) return read.error();
    names = std::move(*read);
  }
  const ClassNames* known = names ? &*names : nullptr;
  const bool in_folder = labels == "folder", in_name = labels == "name";
  std::error_code ignored;
  if ((in_folder || in_name) && !std::filesystem::exists(labels, ignored)) {
    auto found = labels_in_paths(files, in_folder ? LabelPlace::kFolder : LabelPlace::kName, known);
    if (!found) return found.error();
    made.labels.assign(found->labels.begin(), found->labels.end());
    made.words = found->words;
    return made;
  }
  const auto do_not_fit = [&](std::string_view where) {
    return Error{"the labels do not fit the samples", fmt::format("{}: {}", labels, where),
                 "give each sample a line FILE,CLASS, or one CLASS in the order of the samples"};
  };
  auto read = read_labels(labels, known);
  if (!read) return read.error();
  if (read->by_file.empty() && read->by_place.size() != files.size())
    return do_not_fit(fmt::format("{} labels for {} samples", read->by_place.size(), files.size()));
  for (size_t i = 0; i < files.size(); ++i) {
    made.labels.push_back(read->of(i, {files[i]}));
    if (!made.labels.back()) made.missing.push_back(i);
  }
  if (made.missing.size() == files.size())
    return do_not_fit(fmt::format("none of {} labels is of these samples, e.g. '{}'",
                                  read->by_file.size(), files[0]));
  return made;
}

}  // namespace plumb::input
