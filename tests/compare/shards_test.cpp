// SPDX-License-Identifier: Apache-2.0
//
// Rows that were made elsewhere: shares of a plan, parts, journals and saved plans give the very
// run that one process makes.
#include "compare/shards.h"

#include <fstream>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "compare/json_testing.h"
#include "compare/saved_plan.h"
#include "compare/tensors.h"

namespace plumb::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Tensors of all fates and of very different sizes.
struct ShardDumps {
  Tensors target, golden, other;

  ShardDumps() {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (int i = 0; i < 40; ++i) {
      std::vector<float> values(static_cast<size_t>(10 + i * i * i % 5003));
      for (float& value : values) value = normal(random);
      golden.npy(name(i), values);
      if (i % 5 == 1) values[3] += 0.5F;
      if (i % 7 == 2) values.pop_back();
      if (i % 11 == 3) values[5] = std::numeric_limits<float>::quiet_NaN();
      for (float& value : values)
        if (i > 20) value *= 1.0015F;
      if (i % 13 != 4) target.npy(name(i), values);
    }
    target.write(name(50), "no tensor");
    golden.npy(name(50), {1, 2});
    const std::string half = "op20b.0.1700000000000205.npy";
    target.npy(half, DType::kFloat16, {2}, std::vector<uint16_t>{0x3C00, 0x4000});
    golden.npy(half, {1, 2});
  }

  static std::string name(int i) {
    return "op" + std::to_string(i) + ".0." + std::to_string(1700000000000000 + 10 * i) + ".npy";
  }

  Spec spec() const {
    Spec spec;
    spec.target.path = target.path().string();
    spec.golden.path = golden.path().string();
    spec.details = true;
    return spec;
  }
};

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Compared {
  explicit Compared(Spec spec)
      : session(or_throw(Session::open(std::move(spec), context))),
        stamps(stamps_of(session.state(), all_rows(session.state()))),
        whole(json_of(or_throw(compare_all(session, context)))) {}

  std::unique_ptr<RowStore> store() const {
    return or_throw(RowStore::temporary(session.state(), digests_of(stamps)));
  }
  std::vector<RowId> share(int64_t number, int64_t of) const {
    return rows_of_shard(session.state(), stamps, {number, of});
  }

  RunContext context;
  Session session;
  std::vector<Stamp> stamps;
  std::string whole;
};

TEST(RowStore, GivesBackWhatOneProcessHas) {
  const ShardDumps dumps;
  Compared compared(dumps.spec());
  const auto store = compared.store();
  ASSERT_TRUE(
      compared.session.stream(all_rows(compared.session.state()), *store, compared.context));
  ASSERT_TRUE(store->finish_writing());
  EXPECT_EQ(json_of(or_throw(finish_stored(compared.session, *store))), compared.whole);
  EXPECT_THAT(compared.whole, HasSubstr("judged as float16"));
}

TEST(RowStore, WhatNeverCameIsInterrupted) {
  const ShardDumps dumps;
  Compared compared(dumps.spec());
  const auto store = compared.store();
  const result::Run run = or_throw(finish_stored(compared.session, *store));
  EXPECT_TRUE(run.interrupted);
  EXPECT_EQ(run.summary().pass, 0);
}

// Hours of comparing whose rows go nowhere are not worth waiting for.
TEST(RowStore, AFullDiskEndsTheRun) {
  const ShardDumps dumps;
  Compared compared(dumps.spec());
  const auto path = dumps.other.path() / "rows.journal";
  const auto store =
      or_throw(RowStore::journal(compared.session.state(), digests_of(compared.stamps), path));
  store->cancel_on_error(compared.context);
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{std::filesystem::file_size(path) + 2000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  const auto streamed =
      compared.session.stream(all_rows(compared.session.state()), *store, compared.context);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(streamed.ok());
  EXPECT_TRUE(compared.context.cancelled);
  const auto finished = store->finish_writing();
  ASSERT_FALSE(finished.ok());
  EXPECT_THAT(finished.error().remedy, HasSubstr("goes on where it stopped"));
}

TEST(Shards, EveryRowIsInOneShareAndSharesAreAlikeInBytes) {
  const ShardDumps dumps;
  const Compared compared(dumps.spec());
  for (const int64_t of : {1, 2, 7, 100}) {
    SCOPED_TRACE(of);
    std::vector<RowId> all;
    std::vector<int64_t> loads;
    int64_t largest = 0;
    for (int64_t k = 1; k <= of; ++k) {
      int64_t load = 0;
      for (const RowId id : compared.share(k, of)) {
        const int64_t cost = compared.stamps[static_cast<size_t>(id)].bytes + (32 << 10);
        load += cost;
        largest = std::max(largest, cost);
        all.push_back(id);
      }
      loads.push_back(load);
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, compared.store()->missing(all_rows(compared.session.state())));
    // What the largest-first rule promises.
    const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
    EXPECT_LE(*most - *least, largest);
  }
}

TEST(Shards, RowsOfOneTensorStayTogether) {
  SessionState state;
  state.target.entries.resize(4);
  state.golden.entries.resize(4);
  state.rows.resize(4);
  for (size_t i = 0; i < 4; ++i) {
    state.rows[i].target = &state.target.entries[i];
    state.rows[i].golden = &state.golden.entries[i];
  }
  state.rows[3].golden = state.rows[1].golden;
  const std::vector<Stamp> stamps(4, Stamp{1, 1000});
  const auto share = [&](int64_t number) { return rows_of_shard(state, stamps, {number, 4}); };
  EXPECT_THAT(share(1), ElementsAre(1, 3));  // the largest
  EXPECT_THAT(share(2), ElementsAre(0));
  EXPECT_THAT(share(3), ElementsAre(2));
  EXPECT_THAT(share(4), IsEmpty());
}

TEST(Shards, TextOfAShare) {
  EXPECT_EQ(*shard_from_text("2/7"), (Shard{2, 7}));
  for (const char* text : {"", "/", "1", "0/2", "3/2", "1/2 ", " 1/2", "1/0", "-1/2", "1/99999999"})
    EXPECT_FALSE(shard_from_text(text).ok()) << text;
}

class PartTest : public testing::Test {
 protected:
  // Of all rows, or those of a share.
  std::filesystem::path write(int64_t number, int64_t of) {
    const auto store = compared_.store();
    const auto share = compared_.share(number, of);
    EXPECT_TRUE(compared_.session.stream(share, *store, compared_.context));
    EXPECT_TRUE(store->finish_writing());
    const auto path = dumps_.other.path() / ("part-" + std::to_string(number) + ".json");
    const PartHead head{identity_of(compared_.session.state()), {number, of}, {"compare"}, "/"};
    EXPECT_TRUE(write_part(path, head, *store, share));
    return path;
  }

  ShardDumps dumps_;
  Compared compared_{dumps_.spec()};
};

TEST_F(PartTest, TogetherTheyAreTheRun) {
  const auto store = compared_.store();
  for (const int64_t k : {3, 1, 2}) {
    const Part part = or_throw(Part::open(write(k, 3)));
    EXPECT_EQ(part.head().shard, (Shard{k, 3}));
    EXPECT_EQ(part.head().comparison, identity_of(compared_.session.state()));
    ASSERT_TRUE(part.each([&](std::string_view line) { return store->add(line); }));
    EXPECT_FALSE(part.each([&](std::string_view line) { return store->add(line); }));  // twice
  }
  ASSERT_TRUE(store->finish_writing());
  EXPECT_EQ(json_of(or_throw(finish_stored(compared_.session, *store))), compared_.whole);
}

TEST_F(PartTest, IsWrittenWholeOrNotAtAll) {
  const auto store = compared_.store();  // without rows
  const auto path = dumps_.other.path() / "part-1.json";
  const PartHead head{identity_of(compared_.session.state()), {1, 1}, {"compare"}, "/"};
  EXPECT_FALSE(write_part(path, head, *store, compared_.share(1, 1)));
  EXPECT_FALSE(std::filesystem::exists(path));
}

// Cut off or changed anywhere, it is refused before any row is believed.
TEST_F(PartTest, DamageIsFound) {
  const std::string whole = content_of(write(7, 9));
  size_t rows = 0;
  const auto count = [&](std::string_view) -> Result<void> {
    ++rows;
    return {};
  };
  ASSERT_TRUE(read_part(whole, count).ok());
  ASSERT_GT(rows, 0u);
  rows = 0;
  for (size_t size = 0; size < whole.size(); size += 1 + size / 7)
    EXPECT_FALSE(read_part(whole.substr(0, size), count).ok()) << size;
  for (size_t at = 0; at < whole.size(); at += 1 + at / 29) {
    std::string changed = whole;
    changed[at] ^= 1;
    EXPECT_FALSE(read_part(changed, count).ok()) << at;
  }
  EXPECT_EQ(rows, 0u);
}

TEST(Journal, OfRowsIsResumed) {
  const ShardDumps dumps;
  Compared compared(dumps.spec());
  const auto path = dumps.other.path() / "rows.journal";
  const SessionState& state = compared.session.state();
  const auto open = [&] { return RowStore::journal(state, digests_of(compared.stamps), path); };
  const auto ids = compared.share(1, 1);
  {
    const auto store = or_throw(open());
    ASSERT_TRUE(compared.session.stream(std::span(ids).first(11), *store, compared.context));
    ASSERT_TRUE(store->finish_writing());
    EXPECT_FALSE(open().ok());  // it is in use
  }
  {
    // A file that changed is compared anew.
    compared.stamps[static_cast<size_t>(ids[4])].digest ^= 1;
    const auto store = or_throw(open());
    const auto missing = store->missing(ids);
    EXPECT_EQ(missing.size(), ids.size() - 10);
    EXPECT_EQ(missing.front(), ids[4]);
    ASSERT_TRUE(compared.session.stream(missing, *store, compared.context));
    ASSERT_TRUE(store->finish_writing());
  }
  const auto store = or_throw(open());
  EXPECT_TRUE(store->missing(ids).empty());
  EXPECT_EQ(json_of(or_throw(finish_stored(compared.session, *store))), compared.whole);
}

TEST(SavedPlan, OpensTheSameSession) {
  const ShardDumps dumps;
  Compared compared(dumps.spec());
  const std::string text = plan_text(compared.session.state(), compared.stamps);
  SavedPlan plan = or_throw(plan_from_text(text, {}, false));
  ASSERT_EQ(plan.stamps.size(), compared.stamps.size());
  Spec spec = dumps.spec();
  spec.target.dump = plan.target;
  spec.golden.dump = plan.golden;
  RunContext context;
  const Session session = or_throw(Session::open(spec, context));
  ASSERT_TRUE(check_plan(plan, session.state()));
  EXPECT_EQ(json_of(or_throw(compare_all(session, context))), compared.whole);
  EXPECT_EQ(plan_text(session.state(), plan.stamps), text);
  ASSERT_TRUE(check_files(session.state(), plan.stamps, all_rows(session.state())));

  spec.profile = "exact";
  const Session other = or_throw(Session::open(spec, context));
  EXPECT_THAT(check_plan(plan, other.state()).error().where, HasSubstr("other options"));
  dumps.golden.npy(ShardDumps::name(9), {1, 2, 3});  // another size
  const auto changed = check_files(session.state(), plan.stamps, all_rows(session.state()));
  EXPECT_THAT(changed.error().where, HasSubstr("op9"));
  dumps.target.npy("new.0.1700000000000000.npy", {1});
  EXPECT_THAT(plan_from_text(text, {}, false).error().where, HasSubstr("came or went"));
  EXPECT_TRUE(plan_from_text(text, {}, true).ok());
}

TEST(SavedPlan, DamageIsFound) {
  const ShardDumps dumps;
  Compared compared(dumps.spec());
  const std::string text = plan_text(compared.session.state(), compared.stamps);
  for (size_t size = 0; size < text.size(); size += 1 + size / 7)
    EXPECT_FALSE(plan_from_text(text.substr(0, size), {}, true).ok()) << size;
  for (size_t at = 0; at < text.size(); at += 1 + at / 29) {
    std::string changed = text;
    changed[at] ^= 4;
    EXPECT_FALSE(plan_from_text(changed, {}, true).ok()) << at;
  }
}

}  // namespace
}  // namespace plumb::compare
