// SPDX-License-Identifier: Apache-2.0
//
// The right classes of samples: a text file with lines of CLASS, by sample, or of FILE,CLASS (or a
// tab or a space between them), or the labels of MNIST (idx1-ubyte, often packed by gzip). Or they
// are in the names of the files or of their folders. A class is a number from 0 on, or a word that
// a list of classes has.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::input {

// A line for each class, in order: "n01440764 tench, Tinca tinca".
class ClassNames {
 public:
  static Result<ClassNames> read(const std::string& path);
  static ClassNames from_text(std::string_view text);

  size_t size() const { return size_; }
  // Known by its whole line, its first word or what follows that; not if several classes have it.
  std::optional<int64_t> of(std::string_view word) const;

 private:
  std::map<std::string, std::optional<int64_t>, std::less<>> places_;
  size_t size_ = 0;
};

struct Labels {
  std::vector<int64_t> by_place;
  std::map<std::string, int64_t> by_file;                 // base name
  std::map<std::string, std::optional<int64_t>> by_stem;  // ... without its extension; not if two

  // Of a sample that was read from these files. By name where files have labels: with their
  // extension, else without.
  std::optional<int64_t> of(size_t sample, const std::vector<std::string>& files) const;
};

// Words are classes if there are `names`; a number is one in any case.
Result<Labels> read_labels(const std::string& path, const ClassNames* names = nullptr);
Result<Labels> labels_from_bytes(Bytes file, const ClassNames* names = nullptr);

// Labels in the paths of files themselves: the folder that a file is in, or its name up to the
// first '_', '-' or '.'. Without `names` words stand for their place among all such words, in
// order; that makes sense only if every class has one.
enum class LabelPlace : uint8_t { kFolder, kName };
struct PathLabels {
  std::vector<int64_t> labels;  // by file
  int64_t words = 0;            // that stand for their place; 0: all are known
};
Result<PathLabels> labels_in_paths(const std::vector<std::string>& files, LabelPlace place,
                                   const ClassNames* names);

// The labels of samples, by the first file of each: from a file, or "folder" or "name" (see above)
// unless a file is called so.
struct SampleLabels {
  std::vector<std::optional<int64_t>> labels;  // by sample
  int64_t words = 0;                           // see PathLabels
  std::vector<size_t> missing;                 // samples without a label; never all of them
};
// `classes` is a file with the names of the classes; empty: none.
Result<SampleLabels> labels_of(const std::vector<std::string>& files, const std::string& labels,
                               const std::string& classes);

}  // namespace plumb::input
