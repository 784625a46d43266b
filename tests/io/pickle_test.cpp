// SPDX-License-Identifier: Apache-2.0
#include "io/pickle.h"

#include "io/archive_testing.h"

namespace plumb::io {
namespace {

using Ref = Pickle::Ref;
using namespace std::string_literals;

std::string describe(const Pickle& pickle, Ref ref);

std::string described_items(const Pickle& pickle, std::span<const Ref> items) {
  std::string text;
  for (Ref item : items) text += (text.empty() ? "" : ", ") + describe(pickle, item);
  return text;
}

std::string described_entries(const Pickle& pickle, std::span<const Ref> items) {
  std::string text;
  for (size_t i = 0; i < items.size(); i += 2)
    text +=
        (i == 0 ? "" : ", ") + describe(pickle, items[i]) + ": " + describe(pickle, items[i + 1]);
  return text;
}

// As make_pickles.py describes the values that it pickled.
std::string describe(const Pickle& pickle, Ref ref) {
  const auto items = pickle.items(ref);
  switch (pickle.kind(ref)) {
    case Pickle::Kind::kNone: return "None";
    case Pickle::Kind::kBool: return pickle.integer(ref) != 0 ? "True" : "False";
    case Pickle::Kind::kInt: return std::to_string(pickle.integer(ref));
    case Pickle::Kind::kFloat: return "float";
    case Pickle::Kind::kText: return fmt::format("'{}'", pickle.text(ref));
    case Pickle::Kind::kBytes: return fmt::format("b'{}'", pickle.text(ref));
    case Pickle::Kind::kTuple: return "(" + described_items(pickle, items) + ")";
    case Pickle::Kind::kList: return "[" + described_items(pickle, items) + "]";
    case Pickle::Kind::kSet: return "{" + described_items(pickle, items) + "}";
    case Pickle::Kind::kDict: return "{" + described_entries(pickle, items) + "}";
    case Pickle::Kind::kGlobal: {
      const auto [module, name] = pickle.global(ref);
      return fmt::format("{}.{}", module, name);
    }
    case Pickle::Kind::kObject: {
      const Pickle::Object object = pickle.object(ref);
      std::string text = describe(pickle, object.callable) + "(" +
                         described_items(pickle, pickle.items(object.args)) + ")";
      for (Ref part : {object.elements, object.entries})
        if (part != Pickle::kNothing) text += describe(pickle, part);
      if (object.state != Pickle::kNothing) text += " with " + describe(pickle, object.state);
      return text;
    }
    case Pickle::Kind::kPersistent: return "id " + describe(pickle, items[0]);
    case Pickle::Kind::kOther: return "other";
  }
  return "?";
}

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

TEST(Pickle, ReadsWhatPythonPickled) {
  const Json cases = read_json(test_data("pt/pickles.json"));
  ASSERT_GT(cases.size(), 200u);
  for (const Json& entry : cases) {
    const auto bytes = from_hex(entry["hex"]);
    auto pickle = Pickle::parse(bytes);
    ASSERT_TRUE(pickle.ok()) << entry << pickle.error().where;
    EXPECT_EQ(pickle->size_bytes(), bytes.size());
    EXPECT_EQ(describe(*pickle, pickle->root()), entry["value"]) << entry["protocol"];
  }
}

struct PickleCase {
  const char* name;
  std::string pickle;
  std::string value;  // or, after "error: ", the end of `where`
};

const PickleCase kPickleCases[] = {
    {"nothing", ""s, "error: it ends in the middle"},
    {"no stop", "N"s, "error: it ends in the middle"},
    {"only stop", "."s, "error: 0 values are left at its end"},
    {"two values left", "NN."s, "error: 2 values are left at its end"},
    {"open mark", "N(."s, "error: 1 values are left at its end"},
    {"protocol 6", "\x80\6N."s, "error: its protocol is not known"},
    {"more follows", "N.N."s, "None"},
    {"frame", "\x80\4\x95\2\0\0\0\0\0\0\0N."s, "None"},
    {"frame cut off", "\x95\2\0"s, "error: it ends in the middle"},
    {"unknown opcode", "\xffN."s, "error: this opcode is not known"},
    {"pop",
     "NK\1"
     "0."s,
     "None"},
    {"pop mark", "N(0."s, "None"},
    {"pop to mark",
     "N(K\1K\2"
     "1."s,
     "None"},
    {"pop from nothing", "0."s, "error: the stack is empty"},
    {"pop below mark",
     "N(K\1"
     "00"
     "0."s,
     "error: 0 values are left at its end"},
    {"tuple below mark", "N(\x85."s, "error: the stack is empty"},
    {"tuple of too few", "N\x86."s, "error: the stack is empty"},
    {"tuple without mark", "Nt."s, "error: a mark is missing"},
    {"dup", "N2\x86."s, "(None, None)"},
    {"dup of nothing", "2."s, "error: the stack is empty"},
    {"integer text", "I-12\n."s, "-12"},
    {"true as text", "I01\n."s, "True"},
    {"long text", "L-12L\n."s, "-12"},
    {"long text beyond 64 bits", "L123456789012345678901L\n."s, "other"},
    {"no integer", "Ix\n."s, "error: this is no integer"},
    {"integer with a tail", "I1x\n."s, "error: this is no integer"},
    {"line without end", "I1"s, "error: it ends in the middle"},
    {"empty long", "\x8a\0."s, "0"},
    {"negative long", "\x8a\2\0\xff."s, "-256"},
    {"longest long", "\x8a\x8\0\0\0\0\0\0\0\x80."s, "-9223372036854775808"},
    {"long beyond", "\x8a\x9\0\0\0\0\0\0\0\x80\0."s, "other"},
    {"long4", "\x8b\1\0\0\0\7."s, "7"},
    {"long4 cut off", "\x8b\xff\xff\xff\xff\7."s, "error: it ends in the middle"},
    {"float text", "F1.5\n."s, "float"},
    {"quoted", "S'ab'\n."s, "'ab'"},
    {"not quoted", "Sab\n."s, "error: a text lacks its quotes"},
    {"one quote", "S'\n."s, "error: a text lacks its quotes"},
    {"Python 2 text", "T\2\0\0\0ab."s, "'ab'"},
    {"short Python 2 text", "U\2ab."s, "'ab'"},
    {"text of 2^32 - 1 bytes", "X\xff\xff\xff\xffx."s, "error: it ends in the middle"},
    {"text of 2^64 - 1 bytes", "\x8d\xff\xff\xff\xff\xff\xff\xff\xffx."s,
     "error: it ends in the middle"},
    {"bytearray", "\x96\1\0\0\0\0\0\0\0x."s, "b'x'"},
    {"list by mark", "(K\1K\2l."s, "[1, 2]"},
    {"dictionary by mark",
     "(K\1K\2"
     "d."s,
     "{1: 2}"},
    {"dictionary by mark, odd", "(K\1d."s, "error: a key has no value"},
    {"set item", "}K\1K\2s."s, "{1: 2}"},
    {"set items, odd", "}(K\1u."s, "error: a key has no value"},
    {"append to nothing", "K\1a."s, "error: the stack is empty"},
    {"append to a number", "NK\1a."s, "error: it adds items to something that is no container"},
    {"append to a tuple", ")K\1a."s, "error: it adds items to something that is no container"},
    {"append to a dictionary", "}K\1a."s, "error: it adds items to something that is no container"},
    {"set item of a list", "]K\1K\1s."s, "error: it adds items to something that is no container"},
    {"append across a mark", "](K\1a."s, "error: the stack is empty"},
    {"memo",
     "K\7q\3"
     "0h\3."s,
     "7"},
    {"memo by text", "K\7p3\n0g3\n."s, "7"},
    {"memo by four bytes",
     "K\7r\3\0\0\0"
     "0j\3\0\0\0."s,
     "7"},
    {"memoize",
     "K\7\x94"
     "0h\0."s,
     "7"},
    {"memo never filled", "h\3."s, "error: memo 3 was never filled"},
    {"memo skipped", "Nq\3h\2."s, "error: memo 2 was never filled"},
    {"memo number too large", "Nr\xff\xff\xff\xff."s, "error: a memo number is too large"},
    {"memo number is text", "Npx\n."s, "error: a memo number is too large"},
    {"memo of nothing", "q\3."s, "error: the stack is empty"},
    {"global", "cos\nsystem\n."s, "os.system"},
    {"global cut off", "cos\nsystem"s, "error: it ends in the middle"},
    {"stack global", "\x8c\2os\x8c\6system\x93."s, "os.system"},
    {"stack global of numbers", "K\1K\2\x93."s, "."},
    {"call", "cos\nsystem\n(X\4\0\0\0exittR."s, "os.system('exit')"},
    {"call of a number", "K\1)R."s, "1()"},
    {"call without arguments", "cos\nsystem\nR."s, "error: the stack is empty"},
    {"new object", "cm\nC\n)\x81."s, "m.C()"},
    {"new object with keywords", "cm\nC\n)}\x92."s, "m.C() with {}"},
    {"new object from nothing", "\x92."s, "error: the stack is empty"},
    {"state", "cm\nC\n)R}b."s, "m.C() with {}"},
    {"state of a number", "K\1}b."s, "error: it gives a state to a plain value"},
    {"state of nothing", "}b."s, "error: the stack is empty"},
    {"list subclass", "cm\nC\n)R(K\1K\2e."s, "m.C()[1, 2]"},
    {"dictionary subclass", "cm\nC\n)RK\1K\2s."s, "m.C(){1: 2}"},
    {"both", "cm\nC\n)RK\1K\2sK\3a}b."s, "m.C()[3]{1: 2} with {}"},
    {"persistent id", "K\5Q."s, "id 5"},
    {"persistent id of nothing", "Q."s, "error: the stack is empty"},
    // Opcodes that no torch.save writes, and that need code or other files to be understood.
    {"instance", "(im\nC\n."s, "error: this opcode is not known"},
    {"extension", "\x82\1."s, "error: this opcode is not known"},
    {"out-of-band buffer", "\x97."s, "error: this opcode is not known"},
};

TEST(Pickle, FollowsTheProtocolAndStopsWhereItIsBroken) {
  for (const PickleCase& each : kPickleCases) {
    SCOPED_TRACE(each.name);
    auto pickle = Pickle::parse(as_bytes(each.pickle));
    if (!each.value.starts_with("error: ")) {
      ASSERT_TRUE(pickle.ok()) << pickle.error().where;
      EXPECT_EQ(describe(*pickle, pickle->root()), each.value);
      continue;
    }
    ASSERT_FALSE(pickle.ok());
    expect_error(pickle.error(), "pickle is damaged or of an unknown kind");
    EXPECT_TRUE(pickle.error().where.ends_with(each.value.substr(7))) << pickle.error().where;
  }
}

TEST(Pickle, SharesInsteadOfCopying) {
  auto pickle = Pickle::parse(as_bytes("]q\0h\0a."s));
  ASSERT_TRUE(pickle.ok());
  EXPECT_EQ(pickle->items(pickle->root())[0], pickle->root());
}

}  // namespace
}  // namespace plumb::io
