// SPDX-License-Identifier: Apache-2.0
//
// What a model is fed, run by run: the files of the command line, told to the inputs they are for
// and to samples, without opening them. A sample is loaded when its turn comes.
#pragma once

#include <map>
#include <set>

#include "input/source.h"

namespace plumb::input {

struct SampleRequest {
  std::vector<std::string> inputs;  // "[NAME=]FILE", FILE a directory or @list.txt too
  std::string option = "--input";   // that they were given by
  // By input; one that comes several times is fed sample after sample.
  std::vector<NamedTensor> tensors;
  std::map<std::string, Shape, std::less<>> shapes;  // of inputs with axes of any size; "" for all
  std::optional<uint64_t> seed;                      // inputs without a file are random
  std::optional<int64_t> most;  // samples: so many are drawn, the same for the same seed
  Preprocess preprocess;        // of inputs not named below
  std::map<std::string, Preprocess, std::less<>> preprocess_of;
  std::vector<std::string> warnings;  // of whoever made the request, to be told with the others
  std::vector<std::string> notes;
  std::string dump_directory;  // stages of pictures are written here, if named
};

struct Sample {
  std::string name;  // of its first file, without extension; "random"
  engine::Inputs inputs;
};

class Samples {
 public:
  // Ports keep their order; what cannot be fed is an error that says which input and what to pass.
  static Result<Samples> open(SampleRequest request, std::vector<engine::Port> ports);

  size_t size() const { return names_.size(); }
  const std::string& name(size_t sample) const { return names_[sample]; }
  // The files of a sample, as the user would write them; for messages and reports.
  std::vector<std::string> files(size_t sample) const;
  Result<Sample> load(size_t sample);  // by one thread at a time

  size_t found() const { return found_; }  // before some were drawn

  // What is odd but no error: files that were left out, for one.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // What matters less: that they are random.
  const std::vector<std::string>& notes() const { return request_.notes; }
  bool is_random(size_t port) const { return feeds_[port].sources.empty(); }
  // The inputs as they will be fed: axes of any size settled by --shape.
  const std::vector<engine::Port>& ports() const { return ports_; }

 private:
  // One file, or one for each sample; nothing: random.
  struct Feed {
    std::vector<Source> sources;
    bool from_directory = false;
  };
  friend class SampleBuilder;

  const Preprocess& preprocess_for(const engine::Port& port) const;

  SampleRequest request_;
  std::vector<engine::Port> ports_;
  std::vector<Feed> feeds_;  // by port
  std::vector<std::string> names_;
  size_t found_ = 0;
  std::vector<std::string> warnings_;
  SourceCache cache_;
};

// The name of a tensor as a file: characters outside [A-Za-z0-9_-] become '_'.
std::string file_name_of(std::string_view tensor);

}  // namespace plumb::input
