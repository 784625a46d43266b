// SPDX-License-Identifier: Apache-2.0
//
// Python pickles read as plain data. A pickle is a program that builds objects by calling functions
// it names; here nothing is ever called: a call becomes a node that says what would have been
// called with what. The opcodes are described in Python's `pickletools` module.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::io {

// Nodes refer to each other by number, and may do so several times or in circles: whoever walks
// them must bound the walk.
class Pickle {
 public:
  using Ref = uint32_t;
  static constexpr Ref kNothing = UINT32_MAX;

  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,
    kBytes,
    kTuple,
    kList,
    kSet,
    kDict,        // items are key, value, key, value, ...
    kGlobal,      // items are the texts module and name
    kObject,      // see `Object`
    kPersistent,  // something kept outside the pickle; its only item is the id
    kOther,       // an integer beyond 64 bits
  };

  // What a call would have made. Absent parts are kNothing.
  struct Object {
    Ref callable, args;
    Ref state;     // would have been given to it afterwards
    Ref elements;  // a kList: would have been appended
    Ref entries;   // a kDict: would have been set as items
  };

  struct Global {
    std::string_view module, name;
    bool operator==(const Global&) const = default;
  };

  // The first pickle in `data`; others may follow. Texts borrow from `data`. Memory stays below a
  // small multiple of its size.
  static Result<Pickle> parse(Bytes data);

  uint64_t size_bytes() const { return size_bytes_; }
  size_t node_count() const { return nodes_.size(); }
  Ref root() const { return root_; }

  Kind kind(Ref ref) const { return nodes_[ref].kind; }
  int64_t integer(Ref ref) const;             // of kInt and kBool, else 0
  double real(Ref ref) const;                 // of kFloat, kInt and kBool, else 0
  std::string_view text(Ref ref) const;       // of kText and kBytes, else empty
  std::span<const Ref> items(Ref ref) const;  // of containers, kGlobal and kPersistent, else empty
  Object object(Ref ref) const;               // of kObject
  Global global(Ref ref) const;               // of kGlobal, else empty; also if absurdly long

 private:
  class Machine;

  struct Node {
    Kind kind;
    uint32_t size;  // of a text, or of the items of a kind whose items are fixed
    union {
      int64_t integer;
      double real;
      const char* text;
      uint64_t first;  // in fixed_, or the number of the list in growing_
    };
  };
  static_assert(sizeof(Node) == 16);

  std::vector<Node> nodes_;
  std::vector<Ref> fixed_;                 // items of tuples, globals, objects, persistent ids
  std::vector<std::vector<Ref>> growing_;  // items of lists, sets, dictionaries
  Ref root_ = kNothing;
  uint64_t size_bytes_ = 0;
};

}  // namespace plumb::io
