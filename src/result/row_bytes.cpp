// SPDX-License-Identifier: Apache-2.0
#include "result/row_bytes.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "result/json_fields.h"

namespace plumb::result {
namespace {

// Room at the end of `out` is filled with zeros a row at a time, not for every member.
class RowPacker {
 public:
  explicit RowPacker(std::string& out) : out_(out), used_(out.size()) {}
  void finish() { out_.resize(used_); }

  void number(const auto& value) { numbers(value); }
  template <class... T>
  void numbers(const T&... values) {
    static_assert((std::is_trivially_copyable_v<T> && ...));
    char* at = more((sizeof values + ...));
    ((std::memcpy(at, &values, sizeof values), at += sizeof values), ...);
  }
  // Most are short.
  void size(size_t count) {
    *more(1) = static_cast<char>(count < 255 ? count : 255);
    if (count >= 255) number(static_cast<uint32_t>(count));
  }
  void text(const std::string& value) {
    size(value.size());
    if (!value.empty()) std::memcpy(more(value.size()), value.data(), value.size());
  }
  void word(const std::string_view& value) {
    size(value.size());
    if (!value.empty()) number(value.data());
  }
  // All numbers, then those that are undefined or bounds, which few are, by their places.
  void values(const std::vector<metrics::Value>& values) {
    size(values.size());
    char* at = more(sizeof(double) * values.size());
    size_t others = 0;
    for (const metrics::Value& value : values) {
      const double known = value.number();
      std::memcpy(at, &known, sizeof known);
      at += sizeof known;
      others += !value.is_defined();
    }
    size(others);
    for (uint32_t i = 0; others > 0 && i < values.size(); ++i)
      if (!values[i].is_defined()) numbers(i, values[i]);
  }
  void list(const auto& items, const auto& use) {
    size(items.size());
    for (const auto& item : items) use(item);
  }
  void maybe(const auto& item, const auto& use) {
    number(static_cast<bool>(item));
    if (item) use(*item);
  }

 private:
  // Room for so many bytes, to be filled at once.
  char* more(size_t count) {
    constexpr size_t kRoom = 1024;  // most rows take less
    if (out_.size() - used_ < count) out_.resize(used_ + std::max(count, kRoom));
    return out_.data() + std::exchange(used_, used_ + count);
  }

  std::string& out_;
  size_t used_;
};

struct RowUnpacker {
  const char* at;
  const char* end;
  bool is_good = true;

  bool has(size_t count) {
    is_good = is_good && count <= static_cast<size_t>(end - at);
    return is_good;
  }
  template <class T>
  void number(T& value) {
    if (!has(sizeof value)) return;
    std::memcpy(static_cast<void*>(&value), at, sizeof value);
    at += sizeof value;
  }
  void numbers(auto&... values) {
    if (!has((sizeof values + ...))) return;
    ((std::memcpy(static_cast<void*>(&values), at, sizeof values), at += sizeof values), ...);
  }
  size_t size() {
    uint8_t count = 0;
    number(count);
    if (count < 255) return count;
    uint32_t many = 0;
    number(many);
    return has(many) ? many : 0;  // nothing takes less than a byte
  }
  void text(std::string& value) {
    const size_t count = size();
    if (count == 0) return value.clear();
    if (!has(count)) return;
    if (value.size() != count) value.resize(count);  // that of the row before is often as long
    std::memcpy(value.data(), at, count);
    at += count;
  }
  void word(std::string_view& value) {
    const size_t count = size();
    const char* start = nullptr;
    if (count > 0) number(start);
    value = is_good ? std::string_view(start, count) : std::string_view();
  }
  void values(std::vector<metrics::Value>& values) {
    const size_t count = size();
    if (!has(sizeof(double) * count)) return;
    values.resize(count, metrics::Value::of(0));
    const char* from = at;
    for (metrics::Value& value : values) {
      double known = 0;
      std::memcpy(&known, from, sizeof known);
      value = metrics::Value::of(known);
      from += sizeof known;
    }
    at = from;
    for (size_t others = size(); others > 0 && is_good; --others) {
      uint32_t place = 0;
      number(place);
      is_good = is_good && place < count;
      if (is_good) number(values[place]);
    }
  }
  void list(auto& items, const auto& use) {
    items.resize(size());
    for (auto& item : items) use(item);
  }
  template <class T>
  void maybe(std::optional<T>& item, const auto& use) {
    bool is_there = false;
    number(is_there);
    if (!is_there) return item.reset();
    if (!item) item.emplace();
    use(*item);
  }
  template <class T>
  void maybe(std::shared_ptr<const T>& item, const auto& use) {
    bool is_there = false;
    number(is_there);
    item.reset();
    if (!is_there) return;
    auto own = std::make_shared<T>();
    use(*own);
    item = std::move(own);
  }
};

void side_members(auto& bytes, Any<Side> auto& side) {
  bytes.text(side.operator_name);
  bytes.text(side.type);
  bytes.text(side.slot);
  bytes.text(side.dtype);
  bytes.maybe(side.shape,
              [&](auto& shape) { bytes.list(shape, [&](auto& size) { bytes.number(size); }); });
  bytes.text(side.layout);
  bytes.text(side.file);
}

void judgement_members(auto& bytes, Any<Judgement> auto& judgement) {
  bytes.number(judgement.verdict);
  bytes.list(judgement.reasons, [&](auto& reason) { bytes.text(reason); });
  bytes.text(judgement.message);
  bytes.text(judgement.hint);
  bytes.number(judgement.suspicious);
}

void row_members(auto& bytes, Any<Row> auto& row) {
  const auto number = [&](auto& value) { bytes.number(value); };
  const auto judgement = [&](auto& value) { judgement_members(bytes, value); };
  bytes.numbers(row.index, row.is_model_output, row.node, row.verdict, row.suspicious,
                row.target_shows, row.bytes);
  bytes.maybe(row.step, number);
  bytes.maybe(row.rank, number);
  bytes.text(row.graph);
  for (auto* side : {&row.target, &row.golden})
    bytes.maybe(*side, [&](auto& value) { side_members(bytes, value); });
  bytes.word(row.pairing_rule);
  bytes.text(row.pairing_evidence);
  bytes.values(row.values);
  bytes.list(row.reasons, [&](auto& reason) { bytes.text(reason); });
  bytes.text(row.message);
  bytes.text(row.hint);
  bytes.maybe(row.in_16_bits, [&](auto& in) {
    bytes.maybe(in.float16, judgement);
    bytes.maybe(in.bfloat16, judgement);
  });
  bytes.maybe(row.if_inner, judgement);
  bytes.maybe(row.own_error, [&](auto& error) {
    bytes.number(error.value);
    bytes.number(error.inherited);
    bytes.number(error.measured);
  });
}

}  // namespace

void append_row_bytes(std::string& bytes, const Row& row) {
  RowPacker packer(bytes);
  row_members(packer, row);
  packer.finish();
}

bool read_row_bytes(std::string_view bytes, Row& row) {
  RowUnpacker unpacker{bytes.data(), bytes.data() + bytes.size()};
  row_members(unpacker, row);
  return unpacker.is_good && unpacker.at == unpacker.end;
}

}  // namespace plumb::result
