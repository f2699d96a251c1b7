// Messages between members, checked as in collectives_on_ranks.cc: permutations, exchanges with neighbours, sends and
// receives.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/on_every_rank.h"
#include "runtime/kernels/neighbors.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

template <typename T>
class Messages : public testing::Test {};
TYPED_TEST_SUITE(Messages, ElementTypes);

TYPED_TEST(Messages, PermuteWithSizesThatDiffer) {
  OnEveryRank([] {
    std::mt19937 random(kSeed);
    for (const Group& group : AllGroups()) {
      for (int64_t round = 0; round < 10; ++round) {
        std::vector<int> destinations(static_cast<size_t>(group.size));
        std::iota(destinations.begin(), destinations.end(), 0);
        std::shuffle(destinations.begin(), destinations.end(), random);
        const int destination = destinations[static_cast<size_t>(group.index)];
        const int origin =
            static_cast<int>(std::find(destinations.begin(), destinations.end(), group.index) - destinations.begin());
        const auto count = [&](int member) { return (member * 5 + round) % 8; };
        const Tensor<TypeParam> source(Contribution<TypeParam>(round, group.index, count(group.index)));
        const Tensor<TypeParam> target = Blank<TypeParam>(static_cast<size_t>(count(origin)));
        Job().Permute(source.data(), count(group.index), destination, target.data(), count(origin), origin, group);
        EXPECT_EQ(target.values(), Contribution<TypeParam>(round, origin, count(origin)));
      }
    }
  });
}

TYPED_TEST(Messages, PermuteWithMembersThatOnlySendOrReceive) {
  OnEveryRank([] {
    const Group& group = Job().world();
    if (group.size < 2) GTEST_SKIP() << "needs two ranks";
    const bool sends = group.index == 0;
    const bool receives = group.index == group.size - 1;
    const Tensor<TypeParam> source(Contribution<TypeParam>(1, 0, sends ? 9 : 0));
    const Tensor<TypeParam> target = Blank<TypeParam>(receives ? 9 : 0);
    Job().Permute(source.data(), sends ? 9 : 0, sends ? group.size - 1 : -1, target.data(), receives ? 9 : 0,
                  receives ? 0 : -1, group);
    if (receives) {
      EXPECT_EQ(target.values(), Contribution<TypeParam>(1, 0, 9));
    }
  });
}

// Every rank holds the pieces and gets the windows of a tensor in which each element says where it is.
TYPED_TEST(Messages, NeighborExchangeOfWindows) {
  OnEveryRank([] {
    std::mt19937 random(kSeed);
    const Mesh& mesh = Job().mesh();
    for (int round = 0; round < 40; ++round) {
      SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round);
      const std::vector<int64_t> shape = RandomShape(random, 2);
      AxisLists axes(shape.size());
      std::vector<int> group_axes;
      for (int axis = 0; axis < static_cast<int>(mesh.size()); ++axis) {
        axes[random() % 2].push_back(axis);
        group_axes.push_back(axis);
      }
      std::vector<WindowedDimension> windows;
      for (int d = 0; d < 2; ++d) {
        const int64_t first = static_cast<int64_t>(random() % 5) - 2;
        windows.push_back({d, Window{shape[static_cast<size_t>(d)], static_cast<int64_t>(random() % 9),
                                     1 + static_cast<int64_t>(random() % 2), 1 + static_cast<int64_t>(random() % 2),
                                     first, first + static_cast<int64_t>(random() % 3)}});
      }
      const Exchange exchange = FindNeighbors(mesh, Job().rank(), group_axes, shape, axes, windows);
      const auto part = [&](bool windowed) {
        Region region = WholeRegion(shape);
        for (size_t d = 0; d < 2; ++d) {
          int64_t pieces = 1;
          for (const int axis : axes[d]) pieces *= mesh[static_cast<size_t>(axis)].size;
          const int64_t index = IndexOnAxes(mesh, Job().rank(), axes[d]);
          const Window& window = windows[d].window;
          const Range range = windowed ? window.Of(Piece(window.outer, pieces, index)) : Piece(shape[d], pieces, index);
          region.begin[d] = range.begin;
          region.size[d] = range.size;
        }
        std::vector<TypeParam> values;
        ForEachRun(region, [&](int64_t global, int64_t, int64_t count) {
          for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<TypeParam>(global + i));
        });
        return values;
      };
      const Tensor<TypeParam> source(part(false));
      const std::vector<TypeParam> expected = part(true);
      const Tensor<TypeParam> target(std::vector<TypeParam>(expected.size(), TypeParam{-1}));
      Job().NeighborExchange(source.data(), target.data(), exchange, Job().CreateGroup(group_axes));
      EXPECT_EQ(target.values(), expected);
    }
  });
}

// What every member sends, and what this one must receive: part after part.
template <typename T>
struct MessageTest {
  std::vector<std::vector<Message>> sends;     // By member.
  std::vector<std::vector<Message>> receives;  // By member; from nobody: zeros.

  explicit MessageTest(int members) : sends(static_cast<size_t>(members)), receives(static_cast<size_t>(members)) {}

  void Add(int sender, int receiver, int64_t count) {
    if (sender >= 0) sends[static_cast<size_t>(sender)].push_back({receiver, count});
    if (receiver >= 0) receives[static_cast<size_t>(receiver)].push_back({sender, count});
  }

  static int64_t Elements(const std::vector<Message>& messages) {
    int64_t elements = 0;
    for (const Message& message : messages) elements += message.count;
    return elements;
  }

  std::vector<T> Source(int member) const {
    return Contribution<T>(4, member, Elements(sends[static_cast<size_t>(member)]));
  }

  std::vector<T> Expected(int member) const {
    std::vector<T> expected;
    std::vector<size_t> taken(sends.size(), 0);
    for (const Message& message : receives[static_cast<size_t>(member)]) {
      if (message.member < 0) {
        expected.insert(expected.end(), static_cast<size_t>(message.count), T{0});
        continue;
      }
      const std::vector<Message>& sent = sends[static_cast<size_t>(message.member)];
      size_t number = taken[static_cast<size_t>(message.member)]++;
      int64_t begin = 0;
      for (const Message& part : sent) {
        if (part.member == member && number-- == 0) break;
        begin += part.count;
      }
      const std::vector<T> source = Source(message.member);
      expected.insert(expected.end(), source.begin() + begin, source.begin() + begin + message.count);
    }
    return expected;
  }

  void Run(CollectiveKind kind, const Group& group) const {
    const size_t me = static_cast<size_t>(group.index);
    const Tensor<T> source(Source(group.index));
    const Tensor<T> target = Blank<T>(static_cast<size_t>(Elements(receives[me])));
    Job().SendReceive(kind, source.data(), sends[me], target.data(), receives[me], group);
    EXPECT_EQ(target.values(), Expected(group.index));
  }
};

TYPED_TEST(Messages, SendReceiveBetweenAnyMembers) {
  OnEveryRank([] {
    std::mt19937 random(kSeed);
    for (const Group& group : AllGroups()) {
      for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", group " << group.id << ", round " << round);
        MessageTest<TypeParam> test(group.size);
        const int parts = static_cast<int>(random() % 12);
        for (int part = 0; part < parts; ++part) {
          // Messages to itself and to nobody too, and several between the same two members.
          const auto member = [&] { return static_cast<int>(random() % static_cast<unsigned>(group.size + 1)) - 1; };
          const int sender = member();
          test.Add(sender, member(), static_cast<int64_t>(random() % 5));
        }
        test.Run(CollectiveKind::kNeighborExchange, group);
      }
    }
  });
}

TYPED_TEST(Messages, SendReceiveAlongARing) {
  OnEveryRank([] {
    const Group& group = Job().world();
    for (const int64_t count : {0, 1, 13, 100003}) {
      MessageTest<TypeParam> test(group.size);
      // Sends to the left and to the right. With two members both neighbours are the same; with one member it is its
      // own neighbour.
      for (int member = 0; member < group.size; ++member) {
        test.Add(member, (member + group.size - 1) % group.size, count);
        test.Add(member, (member + 1) % group.size, count + 1);
      }
      test.Run(CollectiveKind::kNeighborExchangeV2, group);
    }
  });
}

// Every member sends to every other one from several boxes, more than once, before anyone takes anything but the first
// of each.
TYPED_TEST(Messages, SendsDoNotWaitForOtherBoxes) {
  OnEveryRank([] {
    constexpr int kBoxes = 3;
    constexpr int kRounds = 4;
    for (const Group& group : AllGroups(Ways::kAll)) {
      const auto count = [](int round, int box) { return int64_t{1} + 700 * round + 9000 * box; };
      std::vector<MessageEvent> sends, takes;
      for (int member = 0; member < group.size; ++member) {
        for (int box = 0; box < kBoxes && member != group.index; ++box) {
          sends.push_back(Sends(member, box, group));
          takes.push_back(Takes(member, group));
        }
      }
      const auto send = [&](int round) {
        if (!Job().BeginPass(sends)) return;
        for (int member = 0; member < group.size; ++member) {
          if (member == group.index) continue;
          for (int box = 0; box < kBoxes; ++box) {
            // What was sent may be overwritten at once.
            const Tensor<TypeParam> source(Contribution<TypeParam>(round, group.index + box, count(round, box)));
            Job().Send(source.data(), count(round, box), member, box, group);
          }
        }
      };
      const auto take = [&](int round) {
        if (!Job().BeginPass(takes)) return;
        std::vector<Tensor<TypeParam>> targets;
        for (int member = 0; member < group.size; ++member) {
          if (member == group.index) continue;
          for (int box = 0; box < kBoxes; ++box) {
            targets.push_back(Blank<TypeParam>(static_cast<size_t>(count(round, box))));
            Job().Receive(targets.back().data(), count(round, box), member, group);
          }
        }
        for (size_t i = 0; i < targets.size(); ++i) {
          const int box = static_cast<int>(i) % kBoxes;
          const int other = static_cast<int>(i) / kBoxes;
          const int member = other < group.index ? other : other + 1;
          EXPECT_EQ(targets[i].values(), Contribution<TypeParam>(round, member + box, count(round, box)));
        }
      };
      const auto phase = [&] {
        send(0);
        for (int round = 0; round < kRounds; ++round) {
          take(round);
          if (round + 1 < kRounds) send(round + 1);
        }
      };
      Job().BeginMessages(Job().Rehearse(phase));
      phase();
      Job().EndMessages();
    }
  });
}

TEST(SendReceive, IsCountedUnderItsKind) {
  OnEveryRank([] {
    const Group& group = Job().world();
    const size_t kind = static_cast<size_t>(CollectiveKind::kSendReceive);
    const Traffic before = Job().traffic()[kind];
    const int next = (group.index + 1) % group.size;
    const int previous = (group.index + group.size - 1) % group.size;
    const Tensor<float> source(std::vector<float>(10, 1));
    const Tensor<float> target = Blank<float>(12);
    // Elements that stay, and zeros, are not sent.
    Job().SendReceive(CollectiveKind::kSendReceive, source.data(), {{next, 8}, {group.index, 2}}, target.data(),
                      {{previous, 8}, {group.index, 2}, {-1, 2}}, group);
    const Traffic after = Job().traffic()[kind];
    EXPECT_EQ(after.count - before.count, group.size > 1 ? 1 : 0);
    EXPECT_EQ(after.bytes - before.bytes, group.size > 1 ? 32 : 0);
    EXPECT_EQ(after.sent_bytes - before.sent_bytes, group.size > 1 ? 32 : 0);
    EXPECT_EQ(target.values()[10], 0);
    EXPECT_EQ(target.values()[11], 0);
  });
}

}  // namespace
}  // namespace cleave::runtime
