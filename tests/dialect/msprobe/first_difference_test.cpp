// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/first_difference.h"

#include <string>

#include <gtest/gtest.h>

#include "dialect/msprobe/difference_files.h"

namespace plumb::msprobe {
namespace {

Call call(const char* name, bool differs = false) {
  Call call;
  call.name = name;
  call.differs = differs;
  return call;
}

Call send(const char* name, int64_t to, bool differs = false) {
  Call sent = call(name, differs);
  sent.destination = to;
  return sent;
}

Call receive(const char* name, int64_t from, bool differs = false) {
  Call received = call(name, differs);
  received.source = from;
  return received;
}

// "0:relu 1:add", ranks numbered by their place.
std::string found(const std::vector<std::vector<Call>>& calls) {
  std::vector<RankCalls> ranks;
  for (const auto& each : calls) ranks.push_back({static_cast<int64_t>(ranks.size()), each});
  std::string text;
  for (const auto& [rank, index] : first_differences(ranks)) {
    const std::string name(ranks[rank].calls[index].name);
    const size_t begin = name.find('.') + 1;
    text += (text.empty() ? "" : " ") + std::to_string(rank) + ":" +
            name.substr(begin, name.find('.', begin) - begin);
  }
  return text;
}

TEST(FirstDifference, NothingToFind) {
  EXPECT_EQ(found({}), "");
  EXPECT_EQ(found({{}}), "");
  EXPECT_EQ(found({{call("Torch.add.0.forward")}, {call("Distributed.barrier.0.forward")}}), "");
  EXPECT_EQ(found({{call("Torch.empty.0.forward", true)}}), "");
}

TEST(FirstDifference, BeforeCommunicationCountsFirst) {
  const Call all = call("Distributed.all_reduce.0.forward");
  EXPECT_EQ(found({{call("Torch.add.0.forward", true), call("Torch.mul.0.forward", true)},
                   {all, call("Torch.sub.0.forward", true)}}),
            "0:add");
  EXPECT_EQ(found({{call("Torch.add.0.forward", true)}, {call("Torch.mul.0.forward", true), all}}),
            "0:add 1:mul");
}

// What a rank sends is wrong before what the other makes of it.
TEST(FirstDifference, FollowsWhatIsSent) {
  const std::vector<Call> sender = {call("Distributed.all_reduce.0.forward"),
                                    call("Torch.add.0.forward"), call("Torch.mul.0.forward", true),
                                    send("Distributed.send.0.forward", 1, true)};
  const std::vector<Call> receiver = {call("Distributed.all_reduce.0.forward"),
                                      receive("Distributed.recv.0.forward", 0, true),
                                      call("Torch.sub.0.forward", true)};
  EXPECT_EQ(found({sender, receiver}), "1:recv");  // nothing ran before it on rank 1
  std::vector<Call> later = receiver;
  later.insert(later.begin() + 1, {call("Torch.a.0.forward"), call("Torch.b.0.forward")});
  EXPECT_EQ(found({sender, later}), "0:mul");
}

// Rank 1 waits for rank 0, whose message comes after another round.
TEST(FirstDifference, RoundsAreThoseOfTheEarlierRank) {
  EXPECT_EQ(found({{call("Distributed.all_reduce.0.forward"),
                    call("Distributed.all_reduce.1.forward", true),
                    send("Distributed.send.0.forward", 1)},
                   {receive("Distributed.recv.0.forward", 0, true)}}),
            "0:all_reduce");
}

TEST(FirstDifference, BehindCommunicationComesLast) {
  EXPECT_EQ(found({{call("Distributed.broadcast.0.forward"), call("Torch.add.0.forward"),
                    call("Torch.mul.0.forward", true)},
                   {call("Distributed.broadcast.0.forward"), call("Torch.sub.0.forward", true)}}),
            "0:mul 1:sub");
}

TEST(FirstDifference, KnowsCommunicationByItsName) {
  EXPECT_TRUE(is_communication("Distributed._reduce_scatter_base.0.forward"));
  EXPECT_TRUE(is_communication("MintDistributed.all_to_all_single.0.forward"));
  EXPECT_FALSE(is_communication("Distributed.barrier.0.forward"));
  EXPECT_FALSE(is_communication("Torch.gather.0.forward"));
}

TEST(FirstDifference, RanksOfAGroup) {
  EXPECT_EQ(group_ranks("group_ranks=[0, 1], group_id=tp"), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(group_ranks("group_ranks=[\n12\n], group_id=tp"), std::vector<int64_t>{12});
  for (const char* none : {"", "None", "group_ranks=[]", "group_ranks=[0", "group_ranks=]["})
    EXPECT_TRUE(group_ranks(none).empty()) << none;
}

}  // namespace
}  // namespace plumb::msprobe
