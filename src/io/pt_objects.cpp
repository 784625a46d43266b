// SPDX-License-Identifier: Apache-2.0
#include "io/pt_objects.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "io/npy.h"

namespace plumb::io {
namespace {

using Kind = Pickle::Kind;
using Ref = Pickle::Ref;

constexpr size_t kMaxDepth = 1000;
constexpr size_t kMaxTensorNameBytes = 4096;

// Walks what a pickle describes and lists the tensors in it by their path. A pickle may refer to
// the same object many times, and to itself, so the walk is bounded by the size of the file.
class Collector {
 public:
  Collector(const Pickle& pickle, const StoragePlaces& places, bool big_endian, uint64_t file_size,
            Listing& listing)
      : pickle_(pickle),
        places_(places),
        big_endian_(big_endian),
        listing_(listing),
        on_path_(pickle.node_count()),
        visits_left_(8 * pickle.node_count() + (1 << 20)),
        memory_left_(64 * file_size + (1 << 20)),
        elements_left_(1024 * file_size + (uint64_t{4} << 30)) {}

  Result<void> run() {
    visit(pickle_.root());
    if (error_) return *error_;
    if (others_ > 0) listing_.properties.emplace_back("other_values", std::to_string(others_));
    if (circles_ > 0)
      listing_.warnings.push_back(fmt::format("{} objects contain themselves", circles_));
    return {};
  }

 private:
  void fail(std::string what, std::string where) {
    if (!error_) error_ = Error{std::move(what), std::move(where), kSavePtAgain};
  }

  // Called for every step of the walk, however small: what a pickle shares it can share endlessly.
  bool may_go_on() {
    if (visits_left_ == 0)
      fail("pickle refers to the same objects too often",
           fmt::format("{} values in the file", pickle_.node_count()));
    else
      --visits_left_;
    return !error_;
  }

  void fail_depth() {
    fail("pickle is nested too deeply",
         fmt::format("'{}...' is {} levels down", path_.substr(0, 80), depth_));
  }

  // Visits `ref` one step further down, as `step` of the path.
  void descend(std::string_view step, Ref ref) {
    const size_t length = path_.size();
    const bool fits = length + step.size() < kMaxTensorNameBytes;
    if (fits) {
      if (!path_.empty()) path_ += '.';
      path_ += step;
    }
    steps_left_out_ += !fits;  // only a tensor's name matters
    visit(ref);
    steps_left_out_ -= !fits;
    path_.resize(length);
  }

  void visit(Ref ref) {
    if (!may_go_on()) return;
    if (on_path_[ref]) {  // its tensors are listed where it came first
      ++circles_;
      return;
    }
    if (depth_ == kMaxDepth) return fail_depth();
    on_path_[ref] = true;
    ++depth_;
    switch (pickle_.kind(ref)) {
      case Kind::kTuple:
      case Kind::kList: visit_elements(ref); break;
      case Kind::kSet:
        visit_making([&] { visit_elements(ref); });  // its numbers have no order
        break;
      case Kind::kDict: visit_entries(ref, false); break;
      case Kind::kObject: visit_object(ref); break;
      case Kind::kPersistent: add_storage(ref); break;
      case Kind::kNone:
      case Kind::kGlobal: break;
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kFloat:
      case Kind::kOther:
        if (is_data_)
          add_numbers({&ref, 1}, {});
        else
          ++others_;
        break;
      default: ++others_;
    }
    --depth_;
    on_path_[ref] = false;
  }

  void visit_elements(Ref ref) {
    if (!may_go_on()) return;
    const auto items = pickle_.items(ref);
    const bool is_ordered = pickle_.kind(ref) == Kind::kList || pickle_.kind(ref) == Kind::kTuple;
    if (is_data_ && is_ordered && !items.empty() && are_numbers(items))
      return add_numbers(items, {std::ssize(items)});
    for (size_t i = 0; i < items.size() && !error_; ++i) descend(std::to_string(i), items[i]);
  }

  bool are_numbers(std::span<const Ref> items) const {
    return std::all_of(items.begin(), items.end(), [&](Ref ref) {
      const Kind kind = pickle_.kind(ref);
      return kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kFloat;
    });
  }

  // Python's numbers as a tensor of the type that NumPy would give them.
  void add_numbers(std::span<const Ref> items, Shape shape) {
    if (visits_left_ < items.size()) visits_left_ = 0;
    if (!may_go_on()) return;
    visits_left_ -= std::min<uint64_t>(visits_left_, items.size());
    TensorInfo info;
    const auto is_all = [&](Kind kind) {
      return std::all_of(items.begin(), items.end(),
                         [&](Ref ref) { return pickle_.kind(ref) == kind; });
    };
    const auto has_float = std::any_of(items.begin(), items.end(),
                                       [&](Ref ref) { return pickle_.kind(ref) == Kind::kFloat; });
    info.dtype = is_all(Kind::kBool) ? DType::kBool : has_float ? DType::kFloat64 : DType::kInt64;
    info.shape = std::move(shape);
    if (is_all(Kind::kOther)) {
      info.error = Error{"an integer beyond 64 bits is not read",
                         fmt::format("'{}'", path_.substr(0, 80)), "save it as a float"};
      return add(std::move(info));
    }
    std::vector<std::byte> values;
    const auto append = [&](auto number) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&number);
      values.insert(values.end(), bytes, bytes + sizeof number);
    };
    for (const Ref ref : items) {
      if (info.dtype == DType::kBool)
        append(static_cast<uint8_t>(pickle_.integer(ref)));
      else if (info.dtype == DType::kInt64)
        append(pickle_.integer(ref));
      else
        append(pickle_.real(ref));
    }
    add_values(std::move(info), std::move(values));
  }

  void add_values(TensorInfo info, std::vector<std::byte> values) {
    info.packing = Packing::kValues;
    info.size_bytes = values.size();
    info.values = std::make_shared<const std::vector<std::byte>>(std::move(values));
    add(std::move(info));
  }

  // ---- arrays of NumPy, whose elements are in the pickle itself ----

  // As bytes, or as the older protocols have it: encode(text, 'latin1').
  std::optional<std::vector<std::byte>> raw_bytes(Ref ref) const {
    if (pickle_.kind(ref) == Kind::kBytes) {
      const Bytes bytes = as_bytes(pickle_.text(ref));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    if (pickle_.kind(ref) != Kind::kObject) return std::nullopt;
    const Pickle::Object object = pickle_.object(ref);
    const auto args = pickle_.items(object.args);
    const Pickle::Global function = pickle_.global(object.callable);
    if (function == Pickle::Global{"__builtin__", "bytes"} && args.empty())
      return std::vector<std::byte>();
    if (function != Pickle::Global{"_codecs", "encode"} || args.size() != 2) return std::nullopt;
    const std::string_view text = pickle_.text(args[0]);
    std::vector<std::byte> bytes;
    bytes.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {  // UTF-8 of the first 256 characters
      auto code = static_cast<uint8_t>(text[i]);
      if (code >= 0x80) {
        if ((code != 0xc2 && code != 0xc3) || i + 1 == text.size()) return std::nullopt;
        code = static_cast<uint8_t>(code << 6 | (static_cast<uint8_t>(text[++i]) & 0x3f));
      }
      bytes.push_back(std::byte{code});
    }
    return bytes;
  }

  // dtype('f4') with its byte order in its state: (3, '<', ...).
  std::string descr_of(Ref ref) const {
    if (pickle_.kind(ref) != Kind::kObject) return {};
    const Pickle::Object object = pickle_.object(ref);
    const auto args = pickle_.items(object.args);
    if (pickle_.global(object.callable).name != "dtype" || args.empty()) return {};
    const std::string code(pickle_.text(args[0]));
    const auto state =
        object.state == Pickle::kNothing ? std::span<const Ref>() : pickle_.items(object.state);
    const std::string_view order = state.size() > 1 ? pickle_.text(state[1]) : "|";
    return std::string(order.substr(0, 1)) + code;
  }

  // `shape` is kNothing for a single number.
  void add_array(Ref dtype, Ref shape, Ref elements, bool is_fortran) {
    TensorInfo info;
    const auto refuse = [&](std::string_view why) {
      info.error = Error{"numpy array inside is of a kind that is not read", std::string(why),
                         "save it as a tensor: torch.from_numpy(x)"};
      add(std::move(info));
    };
    const auto sizes = shape == Pickle::kNothing ? Shape() : read_pickled_shape(pickle_, shape);
    if (!sizes) return refuse("its shape is not understood");
    info.shape = *sizes;
    if (auto read = read_npy_descr(descr_of(dtype), {}, info); !read)
      return refuse(read.error().what);
    auto bytes = raw_bytes(elements);
    const auto count = element_count(info.shape);
    const auto needed = count ? byte_count(info.dtype, *count) : std::nullopt;
    if (!bytes || !needed || std::ssize(*bytes) != *needed)
      return refuse(fmt::format("{} {} and its elements do not fit together", dtype_text(info),
                                to_string(info.shape)));
    if (is_fortran && sizes->size() > 1 && *count > 0) info.strides = column_major_strides(*sizes);
    add_values(std::move(info), std::move(*bytes));
  }

  // True if the object is an array or a number of NumPy.
  bool add_numpy(const Pickle::Object& object) {
    const Pickle::Global function = pickle_.global(object.callable);
    if (!function.module.starts_with("numpy")) return false;
    const auto args = pickle_.items(object.args);
    if (function.name == "scalar" && args.size() == 2) {
      add_array(args[0], Pickle::kNothing, args[1], false);
      return true;
    }
    if (function.name == "_frombuffer" && args.size() == 4) {
      add_array(args[1], args[2], args[0], pickle_.text(args[3]) == "F");
      return true;
    }
    if (function.name != "_reconstruct") return false;
    const auto state =
        object.state == Pickle::kNothing ? std::span<const Ref>() : pickle_.items(object.state);
    if (state.size() == 5) {
      add_array(state[2], state[1], state[4], pickle_.integer(state[3]) != 0);
    } else {
      TensorInfo info;
      info.error = Error{"numpy array inside is described in a way that is not understood",
                         fmt::format("'{}'", path_.substr(0, 80)),
                         "save it as a tensor: torch.from_numpy(x)"};
      add(std::move(info));
    }
    return true;
  }

  // Visits the parts of how an object is made, whose numbers are no data.
  template <class Visit>
  void visit_making(Visit&& use) {
    const bool was_data = std::exchange(is_data_, false);
    use();
    is_data_ = was_data;
  }

  // A module keeps its tensors and its parts in three dictionaries that state_dict() leaves out of
  // the names; so do we.
  void visit_entries(Ref ref, bool of_object) {
    if (!may_go_on()) return;
    const auto items = pickle_.items(ref);
    for (size_t i = 0; i + 1 < items.size() && !error_; i += 2) {
      const std::string_view text = pickle_.text(items[i]);
      if (of_object && (text == "_parameters" || text == "_buffers" || text == "_modules")) {
        visit(items[i + 1]);
      } else {
        visit_entry(items[i], items[i + 1], i / 2);
      }
    }
  }
  void visit_entry(Ref key, Ref value, size_t position) {
    if (const std::string_view text = pickle_.text(key); !text.empty()) return descend(text, value);
    if (pickle_.kind(key) == Kind::kInt)
      return descend(std::to_string(pickle_.integer(key)), value);
    descend(fmt::format("<key {}>", position), value);
  }

  void visit_object(Ref ref) {
    const Pickle::Object object = pickle_.object(ref);
    if (add_numpy(object)) return;
    visit_call(object.callable, object.args);
    if (object.elements != Pickle::kNothing) visit_elements(object.elements);
    if (object.entries != Pickle::kNothing) visit_entries(object.entries, false);
    if (object.state != Pickle::kNothing) visit_making([&] { visit_state(object.state); });
  }

  // An object's state is its attributes, or a pair of those kept in a dictionary and those in
  // slots.
  void visit_state(Ref state) {
    if (pickle_.kind(state) == Kind::kDict) return visit_entries(state, true);
    if (pickle_.kind(state) != Kind::kTuple) return visit(state);
    for (const Ref part : pickle_.items(state)) {
      if (error_) return;
      if (pickle_.kind(part) == Kind::kDict) {
        visit_entries(part, true);
      } else {
        visit(part);
      }
    }
  }

  void visit_call(Ref callable, Ref args_ref) {
    const Pickle::Global function = pickle_.global(callable);
    const auto args = pickle_.items(args_ref);
    if (gives_first_argument(function)) {
      if (!args.empty()) visit(args[0]);
      if (args.size() > 3) visit_making([&] { visit_state(args[3]); });
    } else if (function == Pickle::Global{"torch._tensor", "_rebuild_from_type_v2"} &&
               args.size() == 4) {  // a subclass, or with attributes: (function, type, args, state)
      if (depth_ == kMaxDepth) return fail_depth();
      ++depth_;
      visit_call(args[0], args[2]);
      --depth_;
      visit_making([&] { visit_state(args[3]); });
    } else if (function.name.find("_rebuild") != function.name.npos &&
               function.name.find("tensor") != function.name.npos) {
      add_tensor(function, args);
    } else if (function == Pickle::Global{"collections", "OrderedDict"} && args.size() == 1) {
      const auto pairs = pickle_.items(args[0]);  // written by Python 2
      for (size_t i = 0; i < pairs.size() && !error_; ++i) {
        if (const auto pair = pickle_.items(pairs[i]); pair.size() == 2) {
          visit_entry(pair[0], pair[1], i);
        } else {
          descend(std::to_string(i), pairs[i]);
        }
      }
    } else if (function.name == "complex" && args.size() == 2 && are_numbers(args) && is_data_) {
      add_complex(args);
    } else {
      visit_making([&] { visit_elements(args_ref); });
    }
  }

  void add_complex(std::span<const Ref> parts) {
    TensorInfo info;
    info.dtype = DType::kComplex128;
    const std::array number{pickle_.real(parts[0]), pickle_.real(parts[1])};
    const auto bytes = std::as_bytes(std::span(number));
    add_values(std::move(info), {bytes.begin(), bytes.end()});
  }

  static bool gives_first_argument(const Pickle::Global& function) {
    if (function.module == "torch.nn.parameter")
      return function.name == "Parameter" || function.name == "Buffer";
    return function.module == "torch._utils" &&
           (function.name.starts_with("_rebuild_parameter") ||
            function.name == "_rebuild_device_tensor_from_cpu_tensor");
  }

  // Vendors have functions of their own, which start with the same four arguments.
  void add_tensor(const Pickle::Global& function, std::span<const Ref> args) {
    auto view = function.name == "_rebuild_qtensor" ? std::nullopt : read_pt_view(pickle_, args);
    if (!view) {
      TensorInfo info;
      info.error = Error{"tensor is of a kind that is not read",
                         fmt::format("made by {}.{}", function.module, function.name),
                         "convert it to a plain dense tensor before saving"};
      return add(std::move(info));
    }
    if (args.size() > 6 && function.name == "_rebuild_tensor_v3") {  // its storage counts in bytes
      view->storage.type = torch_type(pickle_.global(args[6]).name);
      view->storage.count /= std::max<int64_t>(view->storage.type.item_bytes, 1);
    }
    TensorInfo info = tensor_of_view(*view, places_, big_endian_);
    const size_t metadata = function.name == "_rebuild_tensor_v3" ? 7 : 6;
    if (const auto lazy = args.size() > metadata ? lazy_bit(args[metadata]) : std::string_view();
        !lazy.empty() && !info.error)
      info.error =
          Error{"tensor is a lazy view, whose elements are stored unchanged",
                fmt::format("its '{}' bit is set", lazy), "save x.resolve_conj().resolve_neg()"};
    add(std::move(info));
  }

  // "conj" or "neg" if the metadata {name: True} of a tensor say that its elements stand for
  // others.
  std::string_view lazy_bit(Ref metadata) const {
    const auto items = pickle_.items(metadata);
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      for (const std::string_view bit : {"conj", "neg"})
        if (pickle_.text(items[i]) == bit && pickle_.integer(items[i + 1]) != 0) return bit;
    return {};
  }

  // A storage saved by itself reads as a vector.
  void add_storage(Ref ref) {
    const auto storage = read_pt_storage(pickle_, ref);
    if (storage)
      return add(tensor_of_view({*storage, 0, {storage->count}, {1}}, places_, big_endian_));
    TensorInfo info;
    info.error = Error{"storage is described in a way that is not understood", "", kSavePtAgain};
    add(std::move(info));
  }

  // Neither names nor elements that repeat may add up to more than the file can justify.
  void add(TensorInfo info) {
    info.name = path_;
    if (steps_left_out_ > 0)
      info.error = Error{
          "tensor's name is too long",
          fmt::format("more than {} bytes below '{}...'", kMaxTensorNameBytes, path_.substr(0, 80)),
          "use shorter keys"};
    uint64_t memory = sizeof info + info.name.size() + info.dtype_name.size() +
                      8 * (info.shape.size() + info.strides.size()) +
                      (info.values == nullptr ? 0 : info.values->size());
    if (info.error) memory += info.error->what.size() + info.error->where.size();
    if (memory > memory_left_)
      return fail("pickle names more tensors than its size allows",
                  fmt::format("{} tensors", listing_.tensors.size()));
    memory_left_ -= memory;
    const auto count = info.error ? std::nullopt : element_count(info.shape);
    const auto bytes = static_cast<uint64_t>(count ? *byte_count(info.dtype, *count) : 0);
    if (bytes > elements_left_)
      info.error =
          Error{"tensor repeats its elements too often",
                fmt::format("shape {}, strides {}", to_string(info.shape), to_string(info.strides)),
                "save its contiguous part"};
    if (!info.error) elements_left_ -= bytes;
    listing_.tensors.push_back(std::move(info));
  }

  const Pickle& pickle_;
  const StoragePlaces& places_;
  bool big_endian_;
  Listing& listing_;
  std::string path_;
  std::vector<bool> on_path_;
  size_t depth_ = 0;
  size_t steps_left_out_ = 0;  // of the path, since it would have become too long
  uint64_t visits_left_, memory_left_, elements_left_;
  uint64_t others_ = 0, circles_ = 0;
  bool is_data_ = true;  // what is visited is data, not part of how an object is made
  std::optional<Error> error_;
};

}  // namespace

Result<void> list_tensors(const Pickle& objects, const StoragePlaces& places, bool big_endian,
                          uint64_t file_size, Listing& listing) {
  return Collector(objects, places, big_endian, file_size, listing).run();
}

}  // namespace plumb::io
