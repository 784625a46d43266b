// SPDX-License-Identifier: Apache-2.0
#include "io/archive_testing.h"
#include "tensor/decode.h"

namespace plumb::io {
namespace {

const Format& pt() { return *format_by_name("pt"); }

std::vector<double> decoded(const TensorInfo& info, Bytes elements) {
  std::vector<double> values(static_cast<size_t>(*element_count(info.shape)));
  decode_double(info.dtype, elements.data(), static_cast<int64_t>(values.size()), values.data());
  return values;
}

// PyTorch 1.13 wrote these, and numpy the expected values (bfloat16 as float32).
TEST(Pt, ReadsWhatPyTorchWrote) {
  const Json cases = read_json(test_data("pt/manifest.json"));
  ASSERT_EQ(cases.size(), 12u);
  for (const Json& entry : cases) {
    SCOPED_TRACE(entry.dump());
    const auto file = file_bytes(test_data("pt") / entry["file"]);
    auto detected = detect_format(file, {});
    ASSERT_TRUE(detected && *detected == &pt());
    auto listing = pt().list(file, {});
    ASSERT_TRUE(listing.ok()) << listing.error().what << listing.error().where;
    const auto info =
        std::find_if(listing->tensors.begin(), listing->tensors.end(),
                     [&](const TensorInfo& each) { return each.name == entry["key"]; });
    ASSERT_NE(info, listing->tensors.end());
    EXPECT_EQ("torch." + dtype_text(*info), entry["dtype"]);
    EXPECT_EQ(info->shape, entry["shape"].get<Shape>());
    auto elements = elements_of(pt(), file, *info);
    ASSERT_TRUE(elements.ok()) << elements.error().what;

    const Format& npy = *format_by_name("npy");
    const auto expected = file_bytes(test_data("pt") / entry["expected"]);
    auto expected_listing = npy.list(expected, {});
    ASSERT_TRUE(expected_listing.ok());
    auto expected_elements = elements_of(npy, expected, expected_listing->tensors[0]);
    ASSERT_TRUE(expected_elements.ok());
    EXPECT_EQ(decoded(*info, *elements), decoded(expected_listing->tensors[0], *expected_elements));
  }
}

// make_pt.py wrote these with Python's own pickler.
TEST(Pt, ReadsViewsTypesAndObjectsAndNamesWhatIsDamaged) {
  check_manifest("pt", "pt", "made.json");
}

TEST(Pt, CountsWhatIsNoTensor) {
  for (const Json& entry : read_json(test_data("pt/made.json"))) {
    if (!entry.contains("other_values")) continue;
    SCOPED_TRACE(entry["file"]);
    auto listing = pt().list(file_bytes(test_data("pt") / entry["file"]), {});
    ASSERT_TRUE(listing.ok());
    EXPECT_EQ(listing->properties.back(),
              std::pair(std::string("other_values"), std::to_string(int(entry["other_values"]))));
  }
}

TEST(Pt, KeepsStoredStoragesInPlace) {
  const auto file = file_bytes(test_data("pt/made_views.pt"));
  auto listing = pt().list(file, {});
  ASSERT_TRUE(listing.ok());
  for (const TensorInfo& info : listing->tensors) {
    EXPECT_EQ(info.packing, Packing::kPlain) << info.name;
    const bool strided =
        info.name == "transposed" || info.name == "column" || info.name == "expanded";
    EXPECT_EQ(!info.strides.empty(), strided) << info.name;
  }
}

// ---- hostile pickles ----

// A file of the older form around one pickled object, without storages.
std::vector<std::byte> legacy_file(const std::string& object) {
  using namespace std::string_literals;
  return bytes_of("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s +
                  "\x80\x02M\xe9\x03."s + "\x80\x02}."s + object + "\x80\x02]."s);
}

std::string repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

// A tensor over storage 'k' of no elements.
std::string tensor_pickle() {
  using namespace std::string_literals;
  return "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"s +
         "X\1\0\0\0kX\3\0\0\0cpuK\0NtQK\0))\x89}tRq\7"s;
}

struct HostilePickle {
  const char* name;
  std::string pickle;
  const char* what;  // nullptr: fine
  size_t tensors = 0;
};

TEST(Pt, BoundsWhatPicklesDescribe) {
  using namespace std::string_literals;
  const std::string tensor = tensor_pickle();
  // Each level holds the one below ten times over.
  std::string bomb = tensor;
  for (int i = 0; i < 12; ++i) bomb = "]q\x01("s + bomb + "222222222e";
  std::string memo_bomb = "]q\0("s + tensor + "e0";
  for (int i = 1; i < 30; ++i)
    memo_bomb += "]q"s + char(i) + "(h" + char(i - 1) + "h" + char(i - 1) + "e0";
  const std::string long_key = "X\0\x0f\0\0"s + std::string(0x0f00, 'k') + "q\2";
  const char* deep = "pickle is nested too deeply";
  const HostilePickle cases[] = {
      {"one tensor", "\x80\x02"s + tensor + ".", nullptr, 1},
      {"list that holds itself", "]q\0h\0a."s, nullptr, 0},
      {"list that holds itself and a tensor", "]q\0(h\0"s + tensor + "h\0e."s, nullptr, 1},
      {"dictionary that holds itself", "}q\0(X\1\0\0\0ah\0X\1\0\0\0b"s + tensor + "u.", nullptr, 1},
      {"list subclass that holds itself", "cm\nf\n]R2a."s, nullptr, 0},
      {"arguments that hold the call", "cm\nf\n]q\0Rq\1h\0h\1a0."s, nullptr, 0},
      {"subclass of itself",
       "ctorch._tensor\n_rebuild_from_type_v2\nq\0]q\1(h\0h\0h\1Ne00h\0h\1R."s, deep},
      {"999 tuples", tensor + repeated("\x85", 999) + ".", nullptr, 1},
      {"1000 tuples", tensor + repeated("\x85", 1000) + ".", deep},
      {"100000 tuples", tensor + repeated("\x85", 100000) + ".", deep},
      {"1000 objects", repeated("cm\nf\n", 1000) + ")" + repeated("\x85R", 1000) + ".", deep},
      {"doubled tensors", bomb + ".", "pickle names more tensors than its size allows"},
      {"doubled lists", memo_bomb + "h\x1d.", "pickle names more tensors than its size allows"},
      {"doubled nothing", repeated("]", 1) + repeated("2\x86", 40) + ".",
       "pickle refers to the same objects too often"},
      {"shared state",
       "cm\nf\n)R(}"s + repeated("2", 20000) +
           "tbq\1"
           "0](" +
           repeated("h\1", 20000) + "e.",
       "pickle refers to the same objects too often"},
      {"shared pairs",
       "ccollections\nOrderedDict\n](N"s + repeated("2", 20000) +
           "e\x85Rq\1"
           "0](" +
           repeated("h\1", 20000) + "e.",
       "pickle refers to the same objects too often"},
      {"long path", "}"s + long_key + "}h\2}h\2" + tensor + "sss.", nullptr, 1},
  };
  for (const HostilePickle& each : cases) {
    SCOPED_TRACE(each.name);
    auto listing = pt().list(legacy_file(each.pickle), {});
    if (each.what != nullptr) {
      ASSERT_FALSE(listing.ok());
      expect_error(listing.error(), each.what);
    } else {
      ASSERT_TRUE(listing.ok()) << listing.error().what << "; " << listing.error().where;
      EXPECT_EQ(listing->tensors.size(), each.tensors);
    }
  }
}

// Other values may have keys of any length.
TEST(Pt, ListsATensorWhoseNameIsTooLong) {
  using namespace std::string_literals;
  const std::string key = "X\0\x20\0\0"s + std::string(0x2000, 'k');
  const auto file = legacy_file("}(" + key + "NX\1\0\0\0a"s + "}" + key + tensor_pickle() + "su.");
  auto listing = pt().list(file, {});
  ASSERT_TRUE(listing.ok()) << listing.error().where;
  ASSERT_EQ(listing->tensors.size(), 1u);
  EXPECT_EQ(listing->tensors[0].name, "a");
  ASSERT_TRUE(listing->tensors[0].error.has_value());
  expect_error(*listing->tensors[0].error, "tensor's name is too long");
}

}  // namespace
}  // namespace plumb::io
