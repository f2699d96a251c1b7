// Every collective on the ranks that were started, against what it means: each rank can compute the whole tensor and
// every member's contribution, so it knows what it must get. The
// collectives_test.sh of each implementation starts this on 1 to 8 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/kernels/neighbors.h"
#include "runtime/mesh/mesh.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr unsigned kSeed = 11;

Mesh MeshOf(int ranks) {
  switch (ranks) {
    case 1:
      return {};
    case 4:
      return {{"m0", 2}, {"m1", 2}};
    case 6:
      return {{"m0", 3}, {"m1", 2}};
    case 8:
      return {{"m0", 2}, {"m1", 2}, {"m2", 2}};
    default:
      return {{"m0", ranks}};
  }
}

// By mpirun, or as the tests of other launches say.
int StartedRanks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "WORLD_SIZE", "CLEAVE_WORKERS"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 1;
}

// Joined once per process: a job cannot be joined twice.
Comm& Job() {
  static Watch watch("collectives.model");
  static Result<std::unique_ptr<Comm>> comm = Comm::Start(MeshOf(StartedRanks()), watch);
  if (!comm.ok()) std::_Exit(static_cast<int>(comm.error().code));
  return *comm.value();
}

// Every group that the mesh has, also with its axes in another order.
std::vector<Group> AllGroups() {
  std::vector<Group> groups;
  std::vector<int> axes(Job().mesh().size());
  std::iota(axes.begin(), axes.end(), 0);
  do {
    for (size_t count = 0; count <= axes.size(); ++count) {
      groups.push_back(Job().CreateGroup({axes.begin(), axes.begin() + static_cast<int64_t>(count)}));
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
  return groups;
}

// Element `i` of what `member` contributes in round `round`: small whole numbers, so that sums are exact in any order.
template <typename T>
T Value(int64_t round, int64_t member, int64_t i) {
  return static_cast<T>((round * 31 + member * 17 + i * 7) % 101 - 50);
}

template <typename T>
std::vector<T> Contribution(int64_t round, int64_t member, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = Value<T>(round, member, i);
  return values;
}

template <typename T>
std::vector<T> Reduced(int64_t round, const Group& group, int64_t count, Reduction reduction) {
  std::vector<T> result = Contribution<T>(round, 0, count);
  for (int member = 1; member < group.size; ++member) {
    for (int64_t i = 0; i < count; ++i) {
      T& value = result[static_cast<size_t>(i)];
      const T other = Value<T>(round, member, i);
      value = reduction == Reduction::kSum   ? value + other
              : reduction == Reduction::kMax ? std::max(value, other)
                                             : std::min(value, other);
    }
  }
  return result;
}

// The part of a tensor that `begin` and `size` give in one dimension.
template <typename T>
std::vector<T> Part(const std::vector<T>& whole, const std::vector<int64_t>& shape, const Cut& cut, int member) {
  Region region = WholeRegion(shape);
  const size_t d = static_cast<size_t>(cut.dimension);
  region.begin[d] = std::accumulate(cut.sizes.begin(), cut.sizes.begin() + member, int64_t{0});
  region.size[d] = cut.sizes[static_cast<size_t>(member)];
  std::vector<T> part;
  ForEachRun(region, [&](int64_t global, int64_t, int64_t count) {
    part.insert(part.end(), whole.begin() + global, whole.begin() + global + count);
  });
  return part;
}

// Sizes, the same on all members, of `members` pieces of `elements` elements: usual pieces, all in one, or anything.
std::vector<int64_t> RandomSizes(std::mt19937& random, int64_t elements, int members) {
  switch (random() % 3) {
    case 0:
      return PieceSizes(elements, members);
    case 1: {
      std::vector<int64_t> sizes(static_cast<size_t>(members), 0);
      sizes[random() % sizes.size()] = elements;
      return sizes;
    }
    default: {
      std::vector<int64_t> sizes(static_cast<size_t>(members), 0);
      for (int64_t i = 0; i < elements; ++i) ++sizes[random() % sizes.size()];
      return sizes;
    }
  }
}

std::vector<int64_t> RandomShape(std::mt19937& random, size_t least_rank) {
  std::vector<int64_t> shape(least_rank + random() % 3);
  for (int64_t& size : shape) size = static_cast<int64_t>(random() % 7);  // 0 too.
  return shape;
}

template <typename T>
class Collectives : public testing::Test {};
using ElementTypes = testing::Types<float, double, int32_t>;
TYPED_TEST_SUITE(Collectives, ElementTypes);

TYPED_TEST(Collectives, AllReduce) {
  for (const Group& group : AllGroups()) {
    for (const int64_t count : {0, 1, 2, 13, 1000, 300007}) {
      if (count > 1000 && group.id != Job().world().id) continue;  // Large ones take long where ranks share a core.
      for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) {
        std::vector<TypeParam> data = Contribution<TypeParam>(count, group.index, count);
        Job().AllReduce(data.data(), count, reduction, group);
        EXPECT_EQ(data, Reduced<TypeParam>(count, group, count, reduction));
      }
    }
  }
}

TYPED_TEST(Collectives, AllReduceOfProducts) {
  // Powers of two: exact in every element type.
  const auto factor = [](int64_t member, int64_t i) { return static_cast<TypeParam>(1 + (member + i) % 2); };
  for (const Group& group : AllGroups()) {
    for (const int64_t count : {0, 1, 2, 13, 1000}) {
      std::vector<TypeParam> data;
      std::vector<TypeParam> expected;
      for (int64_t i = 0; i < count; ++i) {
        data.push_back(factor(group.index, i));
        expected.push_back(1);
        for (int member = 0; member < group.size; ++member) expected.back() *= factor(member, i);
      }
      Job().AllReduce(data.data(), count, Reduction::kProd, group);
      EXPECT_EQ(data, expected);
    }
  }
}

TYPED_TEST(Collectives, AllReducesThatOverlap) {
  for (const Group& group : AllGroups()) {
    std::vector<std::vector<TypeParam>> data;
    for (int64_t round = 0; round < 3; ++round) data.push_back(Contribution<TypeParam>(round, group.index, 1001));
    std::vector<Pending> pending;
    for (std::vector<TypeParam>& values : data) {
      pending.push_back(Job().StartAllReduce(values.data(), 1001, Reduction::kSum, group));
    }
    for (size_t i = pending.size(); i-- > 0;) Job().Finish(pending[i]);
    for (int64_t round = 0; round < 3; ++round) {
      EXPECT_EQ(data[static_cast<size_t>(round)], Reduced<TypeParam>(round, group, 1001, Reduction::kSum));
    }
  }
}

TYPED_TEST(Collectives, AllGatherAndReduceScatter) {
  std::mt19937 random(kSeed);
  for (const Group& group : AllGroups()) {
    for (int64_t round = 0; round < 20; ++round) {
      SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", group " << group.id << ", round " << round);
      const std::vector<int64_t> shape = RandomShape(random, 1);
      const int dimension = static_cast<int>(random() % shape.size());
      const Cut cut = {dimension, RandomSizes(random, shape[static_cast<size_t>(dimension)], group.size)};
      const int64_t count = ElementCount(shape);

      const std::vector<TypeParam> whole = Contribution<TypeParam>(round, 99, count);
      const std::vector<TypeParam> piece = Part(whole, shape, cut, group.index);
      std::vector<TypeParam> gathered(whole.size(), TypeParam{77});
      Job().AllGather(piece.data(), gathered.data(), shape, cut, group);
      EXPECT_EQ(gathered, whole);

      for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) {
        const std::vector<TypeParam> mine = Contribution<TypeParam>(round, group.index, count);
        std::vector<TypeParam> scattered(piece.size(), TypeParam{77});
        Job().ReduceScatter(mine.data(), scattered.data(), shape, cut, reduction, group);
        EXPECT_EQ(scattered, Part(Reduced<TypeParam>(round, group, count, reduction), shape, cut, group.index));
      }
    }
  }
}

TYPED_TEST(Collectives, SeveralTensorsInOneCall) {
  std::mt19937 random(kSeed);
  for (const Group& group : AllGroups()) {
    for (int64_t round = 0; round < 20; ++round) {
      SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", group " << group.id << ", round " << round);
      const size_t tensors = 2 + random() % 4;
      std::vector<std::vector<TypeParam>> wholes, mine, pieces, gathered, scattered, expected;
      std::vector<std::vector<int64_t>> shapes;
      std::vector<Cut> cuts;
      int64_t elements = 0;
      for (size_t i = 0; i < tensors; ++i) {
        shapes.push_back(RandomShape(random, 1));
        const int dimension = static_cast<int>(random() % shapes[i].size());
        cuts.push_back({dimension, RandomSizes(random, shapes[i][static_cast<size_t>(dimension)], group.size)});
        const int64_t count = ElementCount(shapes[i]);
        const auto number = round * 10 + static_cast<int64_t>(i);
        elements += count;
        wholes.push_back(Contribution<TypeParam>(number, 99, count));
        mine.push_back(Contribution<TypeParam>(number, group.index, count));
        pieces.push_back(Part(wholes[i], shapes[i], cuts[i], group.index));
        expected.push_back(
            Part(Reduced<TypeParam>(number, group, count, Reduction::kSum), shapes[i], cuts[i], group.index));
        gathered.emplace_back(wholes[i].size(), TypeParam{77});
        scattered.emplace_back(pieces[i].size(), TypeParam{77});
      }
      std::vector<Gathered<TypeParam>> to_gather;
      std::vector<Scattered<TypeParam>> to_scatter;
      for (size_t i = 0; i < tensors; ++i) {
        to_gather.push_back({pieces[i].data(), gathered[i].data(), shapes[i], cuts[i]});
        to_scatter.push_back({mine[i].data(), scattered[i].data(), shapes[i], cuts[i]});
      }
      const int64_t calls = Job().traffic()[static_cast<size_t>(CollectiveKind::kAllGather)].count;
      Job().AllGather(to_gather, group);
      Job().ReduceScatter(to_scatter, Reduction::kSum, group);
      EXPECT_EQ(gathered, wholes);
      EXPECT_EQ(scattered, expected);
      EXPECT_EQ(Job().traffic()[static_cast<size_t>(CollectiveKind::kAllGather)].count - calls,
                group.size > 1 && elements > 0 ? 1 : 0);
    }
  }
}

TYPED_TEST(Collectives, AllToAll) {
  std::mt19937 random(kSeed);
  for (const Group& group : AllGroups()) {
    for (int64_t round = 0; round < 30; ++round) {
      SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", group " << group.id << ", round " << round);
      const std::vector<int64_t> shape = RandomShape(random, 2);
      const int first = static_cast<int>(random() % shape.size());
      const int second =
          static_cast<int>((static_cast<size_t>(first) + 1 + random() % (shape.size() - 1)) % shape.size());
      const Cut from = {first, RandomSizes(random, shape[static_cast<size_t>(first)], group.size)};
      const Cut to = {second, RandomSizes(random, shape[static_cast<size_t>(second)], group.size)};
      const std::vector<TypeParam> whole = Contribution<TypeParam>(round, 5, ElementCount(shape));
      const std::vector<TypeParam> source = Part(whole, shape, from, group.index);
      const std::vector<TypeParam> expected = Part(whole, shape, to, group.index);
      std::vector<TypeParam> target(expected.size(), TypeParam{77});
      Job().AllToAll(source.data(), target.data(), shape, from, to, group);
      EXPECT_EQ(target, expected);
    }
  }
}

TYPED_TEST(Collectives, PermuteWithSizesThatDiffer) {
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
      const std::vector<TypeParam> source = Contribution<TypeParam>(round, group.index, count(group.index));
      std::vector<TypeParam> target(static_cast<size_t>(count(origin)));
      Job().Permute(source.data(), count(group.index), destination, target.data(), count(origin), origin, group);
      EXPECT_EQ(target, Contribution<TypeParam>(round, origin, count(origin)));
    }
  }
}

TYPED_TEST(Collectives, PermuteWithMembersThatOnlySendOrReceive) {
  const Group& group = Job().world();
  if (group.size < 2) GTEST_SKIP() << "needs two ranks";
  const bool sends = group.index == 0;
  const bool receives = group.index == group.size - 1;
  const std::vector<TypeParam> source = Contribution<TypeParam>(1, 0, sends ? 9 : 0);
  std::vector<TypeParam> target(receives ? 9 : 0);
  Job().Permute(source.data(), sends ? 9 : 0, sends ? group.size - 1 : -1, target.data(), receives ? 9 : 0,
                receives ? 0 : -1, group);
  if (receives) {
    EXPECT_EQ(target, Contribution<TypeParam>(1, 0, 9));
  }
}

// Every rank holds the pieces and gets the windows of a tensor in which each element says where it is.
TYPED_TEST(Collectives, NeighborExchangeOfWindows) {
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
    const std::vector<TypeParam> source = part(false);
    const std::vector<TypeParam> expected = part(true);
    std::vector<TypeParam> target(expected.size(), TypeParam{-1});
    Job().NeighborExchange(source.data(), target.data(), exchange, Job().CreateGroup(group_axes));
    EXPECT_EQ(target, expected);
  }
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
    const std::vector<T> source = Source(group.index);
    std::vector<T> target(static_cast<size_t>(Elements(receives[me])), T{77});
    Job().SendReceive(kind, source.data(), sends[me], target.data(), receives[me], group);
    EXPECT_EQ(target, Expected(group.index));
  }
};

TYPED_TEST(Collectives, SendReceiveBetweenAnyMembers) {
  std::mt19937 random(kSeed);
  for (const Group& group : AllGroups()) {
    for (int round = 0; round < 20; ++round) {
      SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", group " << group.id << ", round " << round);
      MessageTest<TypeParam> test(group.size);
      const int parts = static_cast<int>(random() % 12);
      for (int part = 0; part < parts; ++part) {
        // To itself and to nobody too, and several between the same two.
        const auto member = [&] { return static_cast<int>(random() % static_cast<unsigned>(group.size + 1)) - 1; };
        const int sender = member();
        test.Add(sender, member(), static_cast<int64_t>(random() % 5));
      }
      test.Run(CollectiveKind::kNeighborExchange, group);
    }
  }
}

TYPED_TEST(Collectives, SendReceiveAlongARing) {
  const Group& group = Job().world();
  for (const int64_t count : {0, 1, 13, 100003}) {
    MessageTest<TypeParam> test(group.size);
    // To the left and to the right; of two members both neighbours are the same, of one it is itself.
    for (int member = 0; member < group.size; ++member) {
      test.Add(member, (member + group.size - 1) % group.size, count);
      test.Add(member, (member + 1) % group.size, count + 1);
    }
    test.Run(CollectiveKind::kNeighborExchangeV2, group);
  }
}

TEST(SendReceive, IsCountedUnderItsKind) {
  const Group& group = Job().world();
  const size_t kind = static_cast<size_t>(CollectiveKind::kSendReceive);
  const Traffic before = Job().traffic()[kind];
  const int next = (group.index + 1) % group.size;
  const int previous = (group.index + group.size - 1) % group.size;
  const std::vector<float> source(10, 1);
  std::vector<float> target(12);
  // What stays, and what is zero, is not sent.
  Job().SendReceive(CollectiveKind::kSendReceive, source.data(), {{next, 8}, {group.index, 2}}, target.data(),
                    {{previous, 8}, {group.index, 2}, {-1, 2}}, group);
  const Traffic after = Job().traffic()[kind];
  EXPECT_EQ(after.count - before.count, group.size > 1 ? 1 : 0);
  EXPECT_EQ(after.bytes - before.bytes, group.size > 1 ? 32 : 0);
  EXPECT_EQ(after.sent_bytes - before.sent_bytes, group.size > 1 ? 32 : 0);
  EXPECT_EQ(target[10], 0);
  EXPECT_EQ(target[11], 0);
}

TYPED_TEST(Collectives, BroadcastFromEveryMember) {
  for (const Group& group : AllGroups()) {
    for (int root = 0; root < group.size; ++root) {
      std::vector<TypeParam> data = Contribution<TypeParam>(3, group.index, 100);
      Job().Broadcast(data.data(), 100, root, group);
      EXPECT_EQ(data, Contribution<TypeParam>(3, root, 100));
    }
  }
}

TEST(Group, MembersAreNumberedRowMajorOverTheAxesAsGiven) {
  std::vector<int> axes(Job().mesh().size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  const Group group = Job().CreateGroup(axes);
  EXPECT_EQ(group.size, MeshSize(Job().mesh()));
  EXPECT_EQ(group.index, IndexOnAxes(Job().mesh(), Job().rank(), axes));
  EXPECT_EQ(Job().CreateGroup(axes).id, group.id);
  std::vector<int32_t> ranks(static_cast<size_t>(group.size));
  const int32_t rank = Job().rank();
  Job().AllGather(&rank, ranks.data(), {group.size}, {0, PieceSizes(group.size, group.size)}, group);
  for (int i = 0; i < group.size; ++i) EXPECT_EQ(ranks[static_cast<size_t>(i)], RankAt(Job().mesh(), 0, axes, i));
}

TEST(GatherText, GivesEveryRankTheTextsOfAll) {
  const std::vector<std::string> texts = Job().GatherText(std::string(static_cast<size_t>(Job().rank()), 'x'));
  ASSERT_EQ(texts.size(), static_cast<size_t>(Job().world().size));
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], std::string(i, 'x'));
}

TEST(Traffic, CountsCallsAndBytesWhileItIsOn) {
  const Group& group = Job().world();
  const size_t kind = static_cast<size_t>(CollectiveKind::kAllReduce);
  const Traffic before = Job().traffic()[kind];
  std::vector<float> data(1000);
  Job().AllReduce(data.data(), 1000, Reduction::kSum, group);
  Job().CountTraffic(false);
  Job().AllReduce(data.data(), 1000, Reduction::kSum, group);
  Job().CountTraffic(true);
  const Traffic after = Job().traffic()[kind];
  EXPECT_EQ(after.count - before.count, group.size > 1 ? 1 : 0);
  EXPECT_EQ(after.bytes - before.bytes, group.size > 1 ? 4000 : 0);
  EXPECT_NEAR(after.sent_bytes - before.sent_bytes, 2.0 * (group.size - 1) / group.size * 4000, 1e-6);
}

TEST(CountsDeathTest, MoreElementsThanAreCountedAreRefused) {
  if (Job().world().size < 2) GTEST_SKIP() << "one rank communicates nothing";
  // Refused before any communication, so that the child need not be part of the job.
  testing::FLAGS_gtest_death_test_style = "fast";
  float value = 0;
  EXPECT_EXIT(Job().AllReduce(&value, int64_t{1} << 31, Reduction::kSum, Job().world()), testing::ExitedWithCode(6),
              "all_reduce for no op has 2147483648 elements; counts of messages end at 2147483647");
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cleave::runtime::Comm& job = cleave::runtime::Job();
  // One rank tells how it went; a failure anywhere makes all fail.
  if (job.rank() != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  int32_t failed = RUN_ALL_TESTS();
  for (const std::string& text : job.GatherText(failed != 0 ? "failed" : "")) failed |= text.empty() ? 0 : 1;
  return failed;
}
