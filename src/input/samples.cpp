// SPDX-License-Identifier: Apache-2.0
#include "input/samples.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/nearest.h"
#include "base/nearest_path.h"
#include "base/safe_file_name.h"
#include "engine/dump_model.h"
#include "input/lint.h"
#include "input/open_axes.h"
#include "input/random.h"

namespace plumb::input {

namespace fs = std::filesystem;

namespace {

using engine::Port;

std::string stem_of(const Source& source) {
  std::string stem = fs::path(source.name()).stem().string();
  if (const fs::path inner(stem); fs::path(source.name()).extension() == ".gz")
    stem = inner.stem().string();
  return source.index ? fmt::format("{}#{}", stem, *source.index) : stem;
}

// The regular files of a directory, by name; hidden ones are left out.
Result<std::vector<fs::path>> files_in(const fs::path& directory) {
  std::error_code code;
  std::vector<fs::path> files;
  for (fs::directory_iterator at(directory, code), end; !code && at != end; at.increment(code)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && !at->path().filename().string().starts_with("."))
      files.push_back(at->path());
  }
  if (code)
    return Error{"the directory cannot be read", directory.string() + ": " + code.message(),
                 "check its name and permissions"};
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> folders_in(const fs::path& directory) {
  std::vector<fs::path> folders;
  std::error_code code;
  for (fs::directory_iterator at(directory, code), end; !code && at != end; at.increment(code))
    if (std::error_code ignored;
        at->is_directory(ignored) && !at->path().filename().string().starts_with("."))
      folders.push_back(at->path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

Result<std::vector<std::string>> lines_of(const fs::path& list) {
  std::ifstream file(list);
  if (!file) return Error{"the list of files cannot be read", list.string(), "check its name"};
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const fs::path path(line);
    lines.push_back(path.is_absolute() ? line : (list.parent_path() / path).string());
  }
  if (file.bad()) return Error{"the list of files cannot be read", list.string(), "copy it again"};
  return lines;
}

// Only such files hold several pictures; all others need not be opened to be counted.
bool may_hold_many(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return name.ends_with(".gz") || name.find("idx") != name.npos || name.find("ubyte") != name.npos;
}

// Two decoders may differ in the last bits of a pixel: which one it was stays beside the stages.
Result<void> note_decoder(const fs::path& directory) {
  const fs::path path = directory / "decoder.txt";
  std::error_code ignored;
  auto codec = image_codec();
  if (!codec || fs::exists(path, ignored)) return {};
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(fmt::format("{}\n", (*codec)->version));
  return sink->commit(false);
}

}  // namespace

std::string file_name_of(std::string_view tensor) { return safe_file_name(tensor); }

class SampleBuilder {
 public:
  explicit SampleBuilder(Samples& samples)
      : request_(samples.request_), ports_(samples.ports_), samples_(samples) {
    for (const Port& port : ports_) port_names_.push_back(port.name);
    samples_.feeds_.resize(ports_.size());
  }

  Result<void> build() {
    if (auto shaped = settle_shapes(); !shaped) return shaped;
    for (const std::string& word : request_.inputs)
      if (auto added = add(word); !added) return added;
    for (const NamedTensor& tensor : request_.tensors)
      if (auto added = add_tensor(tensor); !added) return added;
    if (auto fed = check_fed(); !fed) return fed;
    if (auto paired = pair(); !paired) return paired;
    draw();
    return {};
  }

 private:
  Result<void> settle_shapes() {
    for (const auto& [name, shape] : request_.shapes) {
      if (name.empty() && ports_.size() != 1)
        return Error{"which input has this shape?", fmt::format("--shape {}", join(shape, ",")),
                     fmt::format("name it: --shape {}:{}", ports_.empty() ? "NAME" : ports_[0].name,
                                 join(shape, ","))};
      auto port = name.empty() ? Result<size_t>(size_t{0}) : port_named(name, "--shape " + name);
      if (!port) return port.error();
      Shape& own = ports_[*port].shape;
      bool agrees = own.size() == shape.size();
      for (size_t i = 0; agrees && i < own.size(); ++i)
        agrees = (own[i] < 0 || own[i] == shape[i]) && shape[i] >= 0;
      if (!agrees)
        return Error{"the model's input has another shape",
                     fmt::format("--shape {}, input '{}' takes {}", to_string(shape),
                                 ports_[*port].name, to_string(own)),
                     "give sizes to the axes that are -1, and the model's own to the others"};
      own = shape;
    }
    return {};
  }

  Result<size_t> port_named(std::string_view name, std::string where) const {
    for (size_t i = 0; i < ports_.size(); ++i)
      if (ports_[i].name == name) return i;
    return Error{fmt::format("the model has no input '{}'", name), std::move(where),
                 did_you_mean(name, port_names_) +
                     fmt::format("its inputs are: {}", fmt::join(port_names_, ", "))};
  }

  // The port before '=', if there is one: names of tensors may have that sign inside, too.
  Result<void> add(const std::string& word) {
    std::optional<size_t> port;
    for (size_t i = 0; i < ports_.size(); ++i)
      if (word.starts_with(ports_[i].name + "=") &&
          (!port || ports_[i].name.size() > ports_[*port].name.size()))
        port = i;
    if (port) return add_to(*port, word.substr(ports_[*port].name.size() + 1));
    std::error_code ignored;
    const size_t sign = word.find('=');
    if (sign != word.npos && !word.starts_with("@") &&
        !fs::exists(source_from_text(word).path, ignored)) {
      auto found = port_named(word.substr(0, sign), request_.option + " " + word);
      if (!found) return found.error();
    }
    if (ports_.size() != 1) return add_to_all(word);
    // A directory with a file of the input's own name is one sample, whatever else lies there:
    // expected outputs, for one.
    if (fs::is_directory(word, ignored)) {
      if (add_case(word)) return {};
      if (auto files = files_in(word); files && files->empty()) return add_folders(word);
    }
    return add_to(0, word);
  }

  Result<void> add_tensor(const NamedTensor& tensor) {
    const bool is_only = tensor.op.empty() && ports_.size() == 1;
    auto port = is_only ? Result<size_t>(size_t{0}) : port_named(tensor.op, "in memory");
    if (!port) return port.error();
    samples_.feeds_[*port].sources.push_back(source_in_memory(tensor));
    return {};
  }

  Result<void> add_to(size_t port, const std::string& text) {
    Samples::Feed& feed = samples_.feeds_[port];
    if (text.starts_with("@")) {
      auto lines = lines_of(text.substr(1));
      if (!lines) return lines.error();
      for (const std::string& line : *lines)
        if (auto added = add_file(feed, line); !added) return added;
      return {};
    }
    std::error_code ignored;
    if (!fs::is_directory(text, ignored))
      return fs::is_regular_file(text, ignored) && is_archive(text) ? add_archive(feed, text)
                                                                    : add_file(feed, text);
    auto files = files_in(text);
    if (!files) return files.error();
    feed.from_directory = true;
    const size_t before = feed.sources.size();
    std::vector<std::string> left_out;
    for (const fs::path& file : *files) {
      if (!may_be_input(file.string())) {
        left_out.push_back(file.filename().string());
        continue;
      }
      if (auto added = add_file(feed, file.string()); !added) return added;
    }
    if (feed.sources.size() == before)
      return Error{
          "the directory holds no file that could be an input",
          fmt::format("{}: {} file{}{}", text, files->size(), files->size() == 1 ? "" : "s",
                      left_out.empty() ? "" : ", e.g. " + left_out[0]),
          "pass the directory of the inputs itself"};
    warn_left_out(text, left_out);
    return {};
  }

  void warn_left_out(const std::string& where, const std::vector<std::string>& left_out) {
    if (left_out.empty()) return;
    samples_.warnings_.push_back(
        fmt::format("{}: {} left out, no tensor and no picture: {}{}", where,
                    left_out.size() == 1 ? "1 file" : fmt::format("{} files", left_out.size()),
                    left_out[0], left_out.size() > 1 ? ", ..." : ""));
  }

  // Every file of an archive is a sample, by name, as those of a directory are.
  Result<void> add_archive(Samples::Feed& feed, const std::string& path) {
    auto archive = Archive::open(path);
    if (!archive) return archive.error();
    std::vector<Source> sources;
    std::vector<std::string> left_out;
    const auto& entries = (*archive)->entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      if (fs::path(entries[i].name).filename().string().starts_with(".")) continue;
      if (is_called_like_input(entries[i].name))
        sources.push_back({path, {}, {}, *archive, i, entries[i].name});
      else
        left_out.push_back(entries[i].name);
    }
    if (sources.empty())
      return Error{"the archive holds no file that could be an input",
                   fmt::format("{}: {} files{}", path, entries.size(),
                               left_out.empty() ? "" : ", e.g. " + left_out[0]),
                   "pack pictures, .npy or .bin files"};
    std::sort(sources.begin(), sources.end(),
              [](const Source& a, const Source& b) { return a.name() < b.name(); });
    std::move(sources.begin(), sources.end(), std::back_inserter(feed.sources));
    feed.from_directory = true;
    warn_left_out(path, left_out);
    return {};
  }

  Result<void> add_file(Samples::Feed& feed, const std::string& text) {
    std::error_code ignored;
    Source source = source_from_text(text);
    if (source.index && fs::exists(text, ignored)) source = {text, {}, {}};
    if (!fs::exists(source.path, ignored))
      return Error{
          "there is no such file", text,
          did_you_mean_path(source.path) + "check the name that " + request_.option + " gives"};
    if (source.index || !may_hold_many(source.path)) {
      feed.sources.push_back(std::move(source));
      return {};
    }
    auto count = count_inputs(source.path, samples_.cache_);
    if (!count) return count.error();
    if (*count == 1) {
      feed.sources.push_back(std::move(source));
      return {};
    }
    for (int64_t i = 0; i < *count; ++i) feed.sources.push_back({source.path, i, {}});
    return {};
  }

  // A file or directory for several inputs: a container with their names, or files named like them.
  Result<void> add_to_all(const std::string& text) {
    std::error_code ignored;
    if (fs::is_directory(text, ignored)) return add_case_directory(text);
    const auto names = member_names(text);
    const bool knows_all = std::all_of(ports_.begin(), ports_.end(), [&](const Port& port) {
      return std::find(names.begin(), names.end(), port.name) != names.end();
    });
    if (!knows_all)
      return Error{
          "which input is this file for?", request_.option + " " + text,
          fmt::format("the model has {}: {}; write {} {}={}", ports_.size(),
                      fmt::join(port_names_, ", "), request_.option, port_names_[0], text)};
    for (size_t i = 0; i < ports_.size(); ++i)
      samples_.feeds_[i].sources.push_back({text, {}, ports_[i].name});
    return {};
  }

  // <tensor>.npy or .bin for each input, or input_0.pb, input_1.pb, ...; or directories of such.
  Result<void> add_case_directory(const fs::path& directory) {
    if (add_case(directory)) return {};
    const std::vector<fs::path> cases = folders_in(directory);
    for (const fs::path& inner : cases)
      if (!add_case(inner))
        return Error{"the directory does not hold a file for each input", inner.string(),
                     fmt::format("write {}.npy and so on, one for each of: {}",
                                 file_name_of(port_names_[0]), fmt::join(port_names_, ", "))};
    if (!cases.empty()) return {};
    if (std::error_code ignored; fs::is_empty(directory, ignored))
      return Error{"the directory is empty", request_.option + " " + directory.string(),
                   "name one that holds samples: pictures, npy or .bin files"};
    return Error{"the directory does not hold a file for each input", directory.string(),
                 fmt::format("write {}.npy and so on, one for each of: {}",
                             file_name_of(port_names_[0]), fmt::join(port_names_, ", "))};
  }

  // Directories of one directory: a sample each, or, if none has a file of the input's name,
  // folders of samples, one for each class as a rule.
  Result<void> add_folders(const std::string& directory) {
    const std::vector<fs::path> folders = folders_in(directory);
    const bool is_of_cases = std::any_of(folders.begin(), folders.end(), [&](const fs::path& each) {
      const size_t before = samples_.names_.size();
      if (!add_case(each)) return false;
      samples_.names_.resize(before);
      samples_.feeds_[0].sources.pop_back();
      return true;
    });
    if (folders.empty() || is_of_cases) return add_case_directory(directory);
    for (const fs::path& folder : folders)
      if (auto added = add_to(0, folder.string()); !added) return added;
    return {};
  }

  bool add_case(const fs::path& directory) {
    std::vector<Source> sources;
    std::set<std::string> used;
    for (size_t i = 0; i < ports_.size(); ++i) {
      const std::string numbered = fmt::format("input_{}", i);
      for (const std::string& stem : {file_name_of(ports_[i].name), numbered})
        for (const char* extension : {".npy", ".pb", ".bin"}) {
          const fs::path path = directory / (stem + extension);
          std::error_code ignored;
          if (sources.size() == i && fs::is_regular_file(path, ignored))
            sources.push_back({path.string(), {}, {}});
        }
      // Two names that look the same as files would both get the same one.
      if (sources.size() == i || !used.insert(sources.back().path).second) return false;
    }
    for (size_t i = 0; i < ports_.size(); ++i)
      samples_.feeds_[i].sources.push_back(std::move(sources[i]));
    samples_.names_.push_back(directory.filename().string());
    return true;
  }

  Result<void> check_fed() {
    std::vector<std::string> hungry;
    for (size_t i = 0; i < ports_.size(); ++i)
      if (samples_.feeds_[i].sources.empty() && !request_.seed) hungry.push_back(ports_[i].name);
    if (!hungry.empty())
      return Error{
          hungry.size() == ports_.size() ? "what should the model be fed?"
                                         : "some inputs are fed nothing",
          fmt::format("no file for: {}", fmt::join(hungry, ", ")),
          fmt::format("{} {}=FILE, or --seed 0 for random values", request_.option, hungry[0])};
    for (size_t i = 0; i < ports_.size(); ++i) {
      Port& port = ports_[i];
      if (!samples_.feeds_[i].sources.empty() || !is_open(port)) continue;
      if (has_open_batch(port)) port.shape[0] = 1;
      if (is_open(port)) return random_input(port, 0).error();  // it asks for --shape
    }
    return {};
  }

  Result<void> pair() {
    size_t most = 1;
    const Samples::Feed* longest = nullptr;
    for (const Samples::Feed& feed : samples_.feeds_)
      if (feed.sources.size() > most || (longest == nullptr && !feed.sources.empty())) {
        most = std::max(most, feed.sources.size());
        longest = &feed;
      }
    for (size_t i = 0; i < ports_.size(); ++i) {
      Samples::Feed& feed = samples_.feeds_[i];
      if (feed.sources.size() <= 1 || &feed == longest) continue;  // one file is for all samples
      if (auto paired = pair_with(feed, *longest, ports_[i].name); !paired) return paired;
    }
    if (samples_.names_.size() == most) return {};  // directories gave them names
    samples_.names_.clear();
    for (size_t i = 0; i < most; ++i)
      samples_.names_.push_back(longest == nullptr ? "random" : stem_of(longest->sources[i]));
    number_equal_names();
    return {};
  }

  // By name where the names are the same, else one after the other; files that were found in a
  // directory have no order but their names.
  Result<void> pair_with(Samples::Feed& feed, const Samples::Feed& longest,
                         const std::string& name) const {
    std::map<std::string, const Source*> by_name;
    for (const Source& source : feed.sources) by_name[stem_of(source)] = &source;
    std::vector<Source> ordered;
    std::string missing;
    for (const Source& source : longest.sources) {
      const auto found = by_name.find(stem_of(source));
      if (found == by_name.end()) {
        missing = stem_of(source);
        break;
      }
      ordered.push_back(*found->second);
    }
    if (feed.sources.size() == longest.sources.size()) {
      if (missing.empty() && by_name.size() == feed.sources.size()) {
        feed.sources = std::move(ordered);
        return {};
      }
      if (!feed.from_directory && !longest.from_directory) return {};
    }
    return Error{"the files of the inputs do not belong together",
                 fmt::format("input '{}' has {} file{}, another {}{}", name, feed.sources.size(),
                             feed.sources.size() == 1 ? "" : "s", longest.sources.size(),
                             missing.empty() ? "" : fmt::format("; '{}' is missing", missing)),
                 "give each input as many files, with the same names for the same sample"};
  }

  void number_equal_names() {
    std::map<std::string, int> seen;
    for (std::string& name : samples_.names_)
      if (const int times = ++seen[name]; times > 1) name += fmt::format("_{}", times);
  }

  // Leaves as many samples as were asked for.
  void draw() {
    samples_.found_ = samples_.names_.size();
    if (!request_.most) return;
    const auto places = drawn_places(samples_.found_, *request_.most, request_.seed.value_or(0));
    const auto keep = [&](auto& list) {
      if (list.size() <= 1) return;  // one file is for all samples
      std::decay_t<decltype(list)> kept;
      for (const size_t place : places) kept.push_back(std::move(list[place]));
      list = std::move(kept);
    };
    keep(samples_.names_);
    for (Samples::Feed& feed : samples_.feeds_) keep(feed.sources);
  }

  const SampleRequest& request_;
  std::vector<Port>& ports_;
  Samples& samples_;
  std::vector<std::string> port_names_;
};

Result<Samples> Samples::open(SampleRequest request, std::vector<Port> ports) {
  Samples samples;
  samples.request_ = std::move(request);
  samples.ports_ = std::move(ports);
  samples.warnings_ = samples.request_.warnings;
  if (auto built = SampleBuilder(samples).build(); !built) return built.error();
  for (size_t i = 0; i < samples.ports_.size(); ++i) {
    const auto& sources = samples.feeds_[i].sources;
    if (sources.empty() || !(sources[0].index || is_picture(sources[0]))) continue;
    const Preprocess& how = samples.preprocess_for(samples.ports_[i]);
    for (const auto& doubt : {channel_doubt(how), scale_doubt(how, samples.ports_[i])})
      if (doubt) samples.warnings_.push_back(*doubt);
  }
  return samples;
}

const Preprocess& Samples::preprocess_for(const Port& port) const {
  const auto own = request_.preprocess_of.find(port.name);
  return own == request_.preprocess_of.end() ? request_.preprocess : own->second;
}

std::vector<std::string> Samples::files(size_t sample) const {
  std::vector<std::string> files;
  for (const Feed& feed : feeds_)
    if (!feed.sources.empty())
      files.push_back(to_string(feed.sources[feed.sources.size() == 1 ? 0 : sample]));
  return files;
}

Result<Sample> Samples::load(size_t sample) {
  Sample made{names_[sample], {}};
  int64_t random_bytes = 0;
  for (size_t i = 0; i < ports_.size(); ++i) {
    const Port& port = ports_[i];
    const Feed& feed = feeds_[i];
    if (feed.sources.empty()) {
      auto tensor = random_input(port, *request_.seed, random_bytes);
      if (!tensor) return tensor.error();
      random_bytes += std::ssize(tensor->bytes);
      made.inputs.emplace(port.name, std::move(*tensor));
      continue;
    }
    LoadContext context{&cache_, {}};
    if (!request_.dump_directory.empty())
      context.sink = [&](std::string_view stage, const engine::Tensor& tensor) -> Result<void> {
        const fs::path directory = fs::path(request_.dump_directory) / file_name_of(made.name);
        std::error_code code;
        fs::create_directories(directory, code);
        if (code)
          return Error{"the directory cannot be made", directory.string() + ": " + code.message(),
                       "choose another after --dump-pre"};
        if (auto noted = note_decoder(request_.dump_directory); !noted) return noted;
        const std::string file = fmt::format("{}.{}.npy", file_name_of(port.name), stage);
        if (auto written = engine::write_npy(directory / file, tensor.view()); !written)
          return written.error();
        return {};
      };
    auto tensor = load_input(feed.sources[feed.sources.size() == 1 ? 0 : sample], port,
                             preprocess_for(port), context);
    if (!tensor) return tensor.error();
    made.inputs.emplace(port.name, std::move(*tensor));
  }
  return made;
}

}  // namespace plumb::input
