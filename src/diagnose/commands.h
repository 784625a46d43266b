// SPDX-License-Identifier: Apache-2.0
//
// The commands that findings name next: with the real paths, so that they work when pasted. What
// needs the result in a file writes it first, if nobody has.
#pragma once

#include <string>

#include "plumb/row.h"

namespace plumb::diagnose {

// ONNX models and Caffe networks behind the sides, as far as the result names them and they are
// there: those that were run, or the graphs that were given.
struct ModelPaths {
  std::string target, golden;
};

// How the run came about.
struct Invocation {
  // The command that made it, for a shell, without what it writes and which layers it shows; empty:
  // not known.
  std::string again;
  std::string result;       // the file with the result; empty: there is none yet
  ModelPaths models = {};   // those that were named, if the result does not
  bool is_ranking = false;  // who loses most is what it shows
};

ModelPaths models_of(const result::Run& run);

class Commands {
 public:
  Commands(const result::Run& run, Invocation invocation);

  // Look at an operator of the target alone: replay it where the original model is known, else show
  // its tensors. Empty if there is nothing to look at.
  std::string look_at(std::string_view op) const;
  std::string show(std::string_view op) const;  // its tensors in the target
  std::string rank_all() const;                 // who loses most; empty without the original model
  std::string diff() const;                     // of the two models; empty if one is not known
  std::string all_layers() const;
  std::string compare_all() const;  // of two dumps, what a selection left out as well
  // What the converter needs to leave the operator as it was, as files.
  std::string write_config() const;
  bool has_converter() const;  // the target was made by atc

 private:
  // `command` with the result's path in place of {}.
  std::string on_result(std::string_view command, bool with_tensors) const;
  std::string model_option() const;

  const result::Run& run_;
  const Invocation invocation_;
  ModelPaths models_;
};

}  // namespace plumb::diagnose
