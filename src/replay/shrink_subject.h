// SPDX-License-Identifier: Apache-2.0
//
// The model that is shrunk, and what an engine tells about the tensors inside it: a part of a model
// is a model only if its inputs have types.
#pragma once

#include "base/mapped_file.h"
#include "engine/record_tensors.h"
#include "input/sample_options.h"
#include "replay/shrink_record.h"

namespace plumb::replay {

struct Subject {
  std::string path;
  MappedFile file;
  std::string inlined;  // with external data inside; empty: there were none
  graph::OnnxModel model;
  FileMark mark;
  engine::Recorded recorded;  // `known` borrows from it
  Known known;
  std::shared_ptr<engine::Engine> engine;  // loads the model; nullptr: none does
  bool is_fed = false;                     // there is an input that it can be run with

  Bytes bytes() const { return inlined.empty() ? file.bytes() : as_bytes(inlined); }
};
Result<Subject> open_subject(const std::string& path);

struct LearnOptions {
  WorkerLimits limits;        // of the engine
  bool uses_engine = true;    // else types are those in the file: the engine might crash
  bool keeps_values = false;  // of all tensors, not only of constants
  input::SampleOptions inputs;
};

// What is to be told, whatever came of it.
struct Remarks {
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // matter less, and come after the warnings
};

// Loads the model and runs it once. What that tells beats the file, except about the model's own
// outputs. After an error what was learnt until then stays.
Result<void> learn(Subject& subject, const LearnOptions& options, Remarks& remarks);

// The same for a search, which can do with less: an error only if it was asked for more.
Result<void> learn_if_possible(Subject& subject, const LearnOptions& options, Remarks& remarks);

}  // namespace plumb::replay
