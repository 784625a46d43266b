// SPDX-License-Identifier: Apache-2.0
#include "io/pickle.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace plumb::io {
namespace {

// Every opcode makes at most three nodes, so that a short pickle cannot make many; a long one that
// makes more than this is no list of tensors.
constexpr size_t kMaxValues = size_t{1} << 24;

constexpr size_t kObjectParts = 5;
constexpr size_t kMaxGlobalBytes = 256;  // one long name must not be compared over and over

}  // namespace

// The stack machine of the pickle protocols, 0 to 5 as far as torch.save uses them.
class Pickle::Machine {
 public:
  explicit Machine(Bytes data) : reader_(data), data_(data) {}

  Result<Pickle> run() {
    while (true) {
      start_ = reader_.position();
      const uint8_t opcode = reader_.u8();
      if (reader_.ok() && opcode == '.') break;
      if (reader_.ok()) step(opcode);
      if (!reader_.ok()) fail("it ends in the middle");
      if (std::max({pickle_.nodes_.size(), stack_.size(), marks_.size(), memo_.size()}) >
          kMaxValues)
        fail("it makes too many values");
      if (error_) return *error_;
    }
    if (stack_.size() != 1 || !marks_.empty()) {
      fail(fmt::format("{} values are left at its end", stack_.size()));
      return *error_;
    }
    pickle_.root_ = stack_[0];
    pickle_.size_bytes_ = reader_.position();
    return std::move(pickle_);
  }

 private:
  void step(uint8_t opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (reader_.u8() > 5) fail("its protocol is not known");
        break;
      case 0x95: reader_.skip(8); break;  // FRAME
      case '(': marks_.push_back(stack_.size()); break;
      case '0':  // POP, also of a mark
        if (!marks_.empty() && marks_.back() == stack_.size()) {
          marks_.pop_back();
        } else {
          pop();
        }
        break;
      case '1': pop_to_mark(); break;
      case '2': push(top()); break;

      case 'N': push_node(Kind::kNone); break;
      case 0x88: push_int(1, Kind::kBool); break;
      case 0x89: push_int(0, Kind::kBool); break;
      case 'I': push_decimal(line()); break;
      case 'L': push_decimal(line()); break;
      case 'J': push_int(reader_.i32()); break;
      case 'K': push_int(reader_.u8()); break;
      case 'M': push_int(reader_.u16()); break;
      case 0x8a: push_long(reader_.take(reader_.u8())); break;
      case 0x8b: push_long(reader_.take(reader_.u32())); break;
      case 'F': push_float(real_from(line())); break;
      case 'G': push_float(real_from(reader_.take(8))); break;

      case 'S': push_quoted(line()); break;
      case 'V': push_text(line()); break;
      case 'T':
      case 'X': push_text(take_text(reader_.u32())); break;
      case 'U':
      case 0x8c: push_text(take_text(reader_.u8())); break;
      case 0x8d: push_text(take_text(reader_.u64())); break;
      case 'B': push_text(take_text(reader_.u32()), Kind::kBytes); break;
      case 'C': push_text(take_text(reader_.u8()), Kind::kBytes); break;
      case 0x8e:
      case 0x96: push_text(take_text(reader_.u64()), Kind::kBytes); break;

      case ')': push_popped(Kind::kTuple, 0); break;
      case 't': push_popped(Kind::kTuple, stack_.size() - pop_mark()); break;
      case 0x85: push_popped(Kind::kTuple, 1); break;
      case 0x86: push_popped(Kind::kTuple, 2); break;
      case 0x87: push_popped(Kind::kTuple, 3); break;
      case ']': push(growing(Kind::kList)); break;
      case '}': push(growing(Kind::kDict)); break;
      case 0x8f: push(growing(Kind::kSet)); break;
      case 'l': push_filled(Kind::kList); break;
      case 'd': push_filled(Kind::kDict); break;
      case 0x91: push_filled(Kind::kSet); break;  // FROZENSET
      case 'a': append(1); break;
      case 'e':
      case 0x90: append(stack_.size() - pop_mark()); break;
      case 's': set_items(2); break;
      case 'u': set_items(stack_.size() - pop_mark()); break;

      case 'p': put(number(line())); break;
      case 'q': put(reader_.u8()); break;
      case 'r': put(reader_.u32()); break;
      case 0x94: put(memo_.size()); break;  // MEMOIZE
      case 'g': get(number(line())); break;
      case 'h': get(reader_.u8()); break;
      case 'j': get(reader_.u32()); break;

      case 'c': {
        const Ref module = text_node(line());
        push(fixed(Kind::kGlobal, {module, text_node(line())}));
        break;
      }
      case 0x93: push_popped(Kind::kGlobal, 2); break;
      case 'R':
      case 0x81: {  // REDUCE, NEWOBJ
        const Ref args = pop(), callable = pop();
        push_object(callable, args);
        break;
      }
      case 0x92: {  // NEWOBJ_EX: keyword arguments come like a later state
        const Ref keywords = pop(), args = pop(), callable = pop();
        push_object(callable, args);
        set_part(top(), &Object::state, keywords);
        break;
      }
      case 'b': {
        const Ref state = pop(), object = top();
        if (error_) break;
        if (kind(object) != Kind::kObject) return fail("it gives a state to a plain value");
        set_part(object, &Object::state, state);
        break;
      }
      case 'Q': push_popped(Kind::kPersistent, 1); break;
      default: fail("this opcode is not known");
    }
  }

  // ---- failing ----

  void fail(std::string_view why) {
    if (error_) return;
    const unsigned opcode = start_ < data_.size() ? static_cast<unsigned>(data_[start_]) : 0;
    error_ = Error{"pickle is damaged or of an unknown kind",
                   fmt::format("byte {}: opcode {:#04x}: {}", start_, opcode, why),
                   "save the tensors again with torch.save"};
  }

  // ---- the stack ----

  void push(Ref ref) { stack_.push_back(ref); }
  // How many values lie above the last mark: what an opcode may take.
  size_t height() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  Ref top() {
    if (height() > 0) return stack_.back();
    fail("the stack is empty");
    return kNothing;
  }
  Ref pop() {
    const Ref ref = top();
    if (ref != kNothing) stack_.pop_back();
    return ref;
  }
  // Forgets the last mark and says where it was.
  size_t pop_mark() {
    if (marks_.empty()) {
      fail("a mark is missing");
      return stack_.size();
    }
    const size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  void pop_to_mark() { stack_.resize(pop_mark()); }
  std::span<const Ref> last(size_t count) {
    if (!error_ && count <= height()) return std::span(stack_).last(count);
    fail("the stack is empty");
    return {};
  }

  // ---- nodes ----

  Kind kind(Ref ref) const { return pickle_.nodes_[ref].kind; }
  Ref add(Kind kind, uint64_t size, uint64_t first) {
    Node node;
    node.kind = kind;
    node.size = static_cast<uint32_t>(size);
    node.first = first;
    pickle_.nodes_.push_back(node);
    return static_cast<Ref>(pickle_.nodes_.size() - 1);
  }
  Ref fixed(Kind kind, std::initializer_list<Ref> items) {
    return fixed(kind, std::span(items.begin(), items.size()));
  }
  Ref fixed(Kind kind, std::span<const Ref> items) {
    const uint64_t first = pickle_.fixed_.size();
    pickle_.fixed_.insert(pickle_.fixed_.end(), items.begin(), items.end());
    return add(kind, items.size(), first);
  }
  Ref growing(Kind kind) {
    pickle_.growing_.emplace_back();
    return add(kind, 0, pickle_.growing_.size() - 1);
  }
  std::vector<Ref>& growing_items(Ref ref) { return pickle_.growing_[pickle_.nodes_[ref].first]; }
  Ref text_node(std::string_view text, Kind kind = Kind::kText) {
    if (text.size() > UINT32_MAX) fail("it holds a text beyond 4 GB");
    const Ref ref = add(kind, text.size(), 0);
    pickle_.nodes_[ref].text = text.data();
    return ref;
  }

  void push_node(Kind kind) { push(add(kind, 0, 0)); }
  void push_text(std::string_view text, Kind kind = Kind::kText) { push(text_node(text, kind)); }
  void push_int(int64_t value, Kind kind = Kind::kInt) {
    push(add(kind, 0, static_cast<uint64_t>(value)));
  }
  void push_float(double value) {
    const Ref ref = add(Kind::kFloat, 0, 0);
    pickle_.nodes_[ref].real = value;
    push(ref);
  }
  void push_popped(Kind kind, size_t count) {
    const auto items = last(count);
    if (error_) return;
    const Ref ref = fixed(kind, items);
    stack_.resize(stack_.size() - count);
    push(ref);
  }
  void push_filled(Kind kind) {
    const size_t count = stack_.size() - pop_mark();
    const auto items = last(count);
    if (error_) return;
    if (kind == Kind::kDict && count % 2 != 0) return fail("a key has no value");
    const Ref ref = growing(kind);
    growing_items(ref).assign(items.begin(), items.end());
    stack_.resize(stack_.size() - count);
    push(ref);
  }
  void push_object(Ref callable, Ref args) {
    if (error_) return;
    static_assert(sizeof(Object) == kObjectParts * sizeof(Ref));
    push(fixed(Kind::kObject, {callable, args, kNothing, kNothing, kNothing}));
  }

  // ---- filling containers ----

  void append(size_t count) { extend(count, Kind::kList, &Object::elements); }
  void set_items(size_t count) {
    if (count % 2 != 0) return fail("a key has no value");
    extend(count, Kind::kDict, &Object::entries);
  }

  // Moves `count` values from the stack into the container below them. A list subclass is an object
  // that gets its elements that way; a set takes elements, too.
  void extend(size_t count, Kind container, Ref Object::*part) {
    const auto items = last(count);
    if (error_) return;
    if (height() == count) return fail("the stack is empty");
    Ref target = stack_[stack_.size() - count - 1];
    if (kind(target) == Kind::kObject) target = part_of(target, part, container);
    if (kind(target) != container && !(container == Kind::kList && kind(target) == Kind::kSet))
      return fail("it adds items to something that is no container");
    auto& into = growing_items(target);
    into.insert(into.end(), items.begin(), items.end());
    stack_.resize(stack_.size() - count);
  }

  Ref& slot(Ref object, Ref Object::*part) {
    Object layout{0, 1, 2, 3, 4};
    return pickle_.fixed_[pickle_.nodes_[object].first + layout.*part];
  }
  void set_part(Ref object, Ref Object::*part, Ref value) {
    if (!error_) slot(object, part) = value;
  }
  Ref part_of(Ref object, Ref Object::*part, Kind container) {
    if (slot(object, part) == kNothing) {
      const Ref made = growing(container);
      slot(object, part) = made;
    }
    return slot(object, part);
  }

  // ---- memo ----

  // Picklers number what they memoize from 0, so that no number exceeds the bytes read so far.
  void put(uint64_t index) {
    const Ref ref = top();
    if (error_) return;
    if (index > reader_.position()) return fail("a memo number is too large");
    if (index >= memo_.size()) memo_.resize(index + 1, kNothing);
    memo_[index] = ref;
  }
  void get(uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kNothing)
      return fail(fmt::format("memo {} was never filled", index));
    push(memo_[index]);
  }

  // ---- reading arguments ----

  std::string_view take_text(uint64_t size) { return as_text(reader_.take(size)); }
  std::string_view line() {
    const std::string_view rest = as_text(data_.subspan(reader_.position()));
    const size_t end = rest.find('\n');
    if (end == rest.npos) {
      fail("it ends in the middle");
      return {};
    }
    reader_.skip(end + 1);
    return rest.substr(0, end);
  }
  uint64_t number(std::string_view text) {
    uint64_t value = UINT64_MAX;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  static double real_from(std::string_view text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  static double real_from(Bytes big_endian) {
    uint64_t bits = 0;
    for (const std::byte b : big_endian) bits = bits << 8 | static_cast<uint64_t>(b);
    return std::bit_cast<double>(bits);
  }
  // Protocol 0 writes False and True as 00 and 01, and Python 2 ended its long integers in L.
  void push_decimal(std::string_view text) {
    if (text == "00" || text == "01") return push_int(text == "01", Kind::kBool);
    if (text.ends_with('L')) text.remove_suffix(1);
    int64_t value = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc::result_out_of_range) return push_node(Kind::kOther);
    if (code != std::errc() || end != text.data() + text.size()) return fail("this is no integer");
    push_int(value);
  }
  void push_long(Bytes bytes) {
    if (bytes.size() > sizeof(int64_t)) return push_node(Kind::kOther);
    uint64_t value = !bytes.empty() && (bytes.back() & std::byte{0x80}) != std::byte{0} ? ~0ull : 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint64_t>(bytes[i]);
    push_int(static_cast<int64_t>(value));
  }
  // Escapes stay as they are written: no tensor's name was ever saved this way.
  void push_quoted(std::string_view text) {
    if (text.size() < 2 || text.front() != text.back()) return fail("a text lacks its quotes");
    push_text(text.substr(1, text.size() - 2));
  }

  ByteReader reader_;
  Bytes data_;
  Pickle pickle_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::vector<Ref> memo_;
  size_t start_ = 0;  // of the current opcode
  std::optional<Error> error_;
};

Result<Pickle> Pickle::parse(Bytes data) { return Machine(data).run(); }

int64_t Pickle::integer(Ref ref) const {
  const Node& node = nodes_[ref];
  return node.kind == Kind::kInt || node.kind == Kind::kBool ? node.integer : 0;
}

double Pickle::real(Ref ref) const {
  return kind(ref) == Kind::kFloat ? nodes_[ref].real : static_cast<double>(integer(ref));
}

std::string_view Pickle::text(Ref ref) const {
  const Node& node = nodes_[ref];
  if (node.kind != Kind::kText && node.kind != Kind::kBytes) return {};
  return {node.text, node.size};
}

std::span<const Pickle::Ref> Pickle::items(Ref ref) const {
  const Node& node = nodes_[ref];
  switch (node.kind) {
    case Kind::kTuple:
    case Kind::kGlobal:
    case Kind::kPersistent: return std::span(fixed_).subspan(node.first, node.size);
    case Kind::kList:
    case Kind::kSet:
    case Kind::kDict: return growing_[node.first];
    default: return {};
  }
}

Pickle::Object Pickle::object(Ref ref) const {
  const Ref* parts = fixed_.data() + nodes_[ref].first;
  return {parts[0], parts[1], parts[2], parts[3], parts[4]};
}

Pickle::Global Pickle::global(Ref ref) const {
  if (kind(ref) != Kind::kGlobal) return {};
  const Global global{text(items(ref)[0]), text(items(ref)[1])};
  return global.module.size() + global.name.size() <= kMaxGlobalBytes ? global : Global{};
}

}  // namespace plumb::io
