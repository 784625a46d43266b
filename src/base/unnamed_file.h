// SPDX-License-Identifier: Apache-2.0
//
// A file that no directory lists: for what must be a file because others read or write it as one.
// It is gone with its last user, even if that crashes.
#pragma once

#include <string>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb {

class UnnamedFile {
 public:
  static Result<UnnamedFile> in_memory();
  static Result<UnnamedFile> on_disk();  // where temporary files go (TMPDIR)
  UnnamedFile(UnnamedFile&& other) noexcept;
  UnnamedFile& operator=(UnnamedFile&&) = delete;
  ~UnnamedFile();

  // By which this process and its children open it, as long as this object lives.
  std::string path() const;
  Result<void> append(Bytes data);
  int descriptor() const { return descriptor_; }

 private:
  explicit UnnamedFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace plumb
