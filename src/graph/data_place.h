// SPDX-License-Identifier: Apache-2.0
//
// Where a model's data in other files may be. A model comes from anywhere, so it does not decide
// alone which files are read.
#pragma once

#include <filesystem>

namespace plumb::graph {

// Where the data of a model may be: looked for in `directory`, but nothing is read that is not
// below `root` once all links are followed.
struct DataPlace {
  std::filesystem::path directory,
      root;  // root empty: `directory`, and nothing if that is empty too
};
// Of a model file: its directory, and that of the file which it is a link to. So a cache works in
// which models and their data are links into one directory.
DataPlace data_place_of(const std::filesystem::path& model);

}  // namespace plumb::graph
