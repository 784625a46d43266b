// SPDX-License-Identifier: Apache-2.0
//
// Protobuf's text format, read field by field without a schema. Nothing is copied or built: what
// the caller does not ask for is stepped over, which matters as graphs of hundreds of megabytes
// consist mostly of constants. Described at protobuf.dev under "Text Format Language".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/result.h"
#include "tensor/shape.h"

namespace plumb::graph {

struct ProtoTextField {
  enum class Kind : uint8_t { kText, kWord, kMessage };

  std::string_view name;
  Kind kind = Kind::kWord;
  std::string_view value;  // as written: quoted texts, a number, a name; borrowed from the file
  size_t position = 0;     // of the name, or of the element in a list

  // The unquoted text; for a word the word itself. Empty for a message.
  std::string text() const;
  std::optional<int64_t> integer() const;
  std::optional<double> number() const;
  std::optional<bool> boolean() const;
};

// Hands out the fields of a message in the order of the file. `name: [1, 2]` is the same as two
// fields. The first failure sticks; ask `ok` when `next` ends.
class ProtoTextReader {
 public:
  explicit ProtoTextReader(std::string_view text) : text_(text), frames_(1) {}

  // False at the end of the message, which is then left, and on failure.
  bool next(ProtoTextField& field);

  // Into the message that `next` has just handed out; without this, it is stepped over.
  void enter();

  // What a field has to be; anything else is a failure.
  bool is_message(const ProtoTextField& field);
  int64_t integer(const ProtoTextField& field);
  // Into a shape that was handed out: the numbers of its fields `dim`.
  Shape dims();

  // For the caller: what it read makes no sense. The first failure wins.
  void fail(size_t position, std::string problem);

  bool ok() const { return problem_.empty(); }
  std::string where() const;  // "line 3, column 7: ..."; meaningful if not ok()

 private:
  struct Frame {
    char close = '\0';           // what ends it; nothing ends the file but its end
    size_t opened = 0;           // position
    bool in_list = false;        // inside `name: [`
    std::string_view list_name;  // the name
  };

  void skip_blank();
  bool read_field(ProtoTextField& field);
  bool read_value(ProtoTextField& field);
  bool read_texts(ProtoTextField& field);
  bool skip_text();
  void skip_message();
  std::string place(size_t position) const;

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Frame> frames_;
  bool has_message_ = false;  // the last field was a message that nobody has entered
  std::string problem_;
  size_t failed_at_ = 0;
};

}  // namespace plumb::graph
