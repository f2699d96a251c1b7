// Runs every collective on the ranks that were started and checks the results: each rank can compute the whole tensor
// and every member's contribution, so it knows what it must get. The collectives_test.sh of each implementation starts
// this on 1 to 8 ranks, as processes or as threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/on_every_rank.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

template <typename T>
std::vector<T> Reduced(int64_t round, const Group& group, int64_t count, Reduction reduction) {
  std::vector<T> result = Contribution<T>(round, 0, count);
  for (int member = 1; member < group.size; ++member) {
    for (int64_t i = 0; i < count; ++i) {
      T& value = result[static_cast<size_t>(i)];
      const T other = Value<T>(round, member, i);
      value = reduction == Reduction::kSum   ? static_cast<T>(value + other)
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

// Sizes of `members` pieces of `elements` elements, the same on all members: usual pieces, everything in one piece, or
// random sizes.
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

template <typename T>
class Collectives : public testing::Test {};
TYPED_TEST_SUITE(Collectives, ElementTypes);

TYPED_TEST(Collectives, AllReduce) {
  OnEveryRank([] {
    for (const Group& group : AllGroups()) {
      for (const int64_t count : {0, 1, 2, 13, 1000, 300007}) {
        if (count > 1000 && group.id != Job().world().id) continue;  // Large ones take long where ranks share a core.
        for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) {
          const Tensor<TypeParam> data(Contribution<TypeParam>(count, group.index, count));
          Job().AllReduce(data.data(), count, reduction, group);
          EXPECT_EQ(data.values(), Reduced<TypeParam>(count, group, count, reduction));
        }
      }
    }
  });
}

// Each member has a NaN in another place. All members must find all of them, and numbers beside them.
TYPED_TEST(Collectives, KeepNans) {
  if (std::is_integral_v<TypeParam>) return;
  OnEveryRank([] {
    for (const Group& group : AllGroups()) {
      for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin, Reduction::kProd}) {
        std::vector<TypeParam> values(static_cast<size_t>(group.size) + 1, static_cast<TypeParam>(-1.0f));
        values[static_cast<size_t>(group.index)] =
            static_cast<TypeParam>(group.index % 2 == 0 ? std::nanf("") : -std::nanf(""));
        const auto is_nan = [](TypeParam value) { return std::isnan(static_cast<double>(value)); };

        const Tensor<TypeParam> data(values);
        Job().AllReduce(data.data(), group.size + 1, reduction, group);
        const std::vector<TypeParam> reduced = data.values();
        EXPECT_TRUE(std::all_of(reduced.begin(), reduced.end() - 1, is_nan));
        EXPECT_FALSE(is_nan(reduced.back()));

        const Tensor<TypeParam> whole(values);
        Cut cut{.dimension = 0, .sizes = std::vector<int64_t>(static_cast<size_t>(group.size), 1)};
        ++cut.sizes.back();  // The last member takes the number, too.
        const int64_t taken = cut.sizes[static_cast<size_t>(group.index)];
        const Tensor<TypeParam> piece = Blank<TypeParam>(taken);
        Job().ReduceScatter(whole.data(), piece.data(), {group.size + 1}, cut, reduction, group);
        const std::vector<TypeParam> scattered = piece.values();
        EXPECT_TRUE(is_nan(scattered.front()));
        EXPECT_EQ(is_nan(scattered.back()), taken == 1);
      }
    }
  });
}

TYPED_TEST(Collectives, AllReduceOfProducts) {
  OnEveryRank([] {
    // Powers of two: exact in every element type.
    const auto factor = [](int64_t member, int64_t i) { return static_cast<TypeParam>(1 + (member + i) % 2); };
    for (const Group& group : AllGroups()) {
      for (const int64_t count : {0, 1, 2, 13, 1000}) {
        std::vector<TypeParam> factors;
        std::vector<TypeParam> expected;
        for (int64_t i = 0; i < count; ++i) {
          factors.push_back(factor(group.index, i));
          expected.push_back(TypeParam{1});
          for (int member = 0; member < group.size; ++member) {
            expected.back() = static_cast<TypeParam>(expected.back() * factor(member, i));
          }
        }
        const Tensor<TypeParam> data(factors);
        Job().AllReduce(data.data(), count, Reduction::kProd, group);
        EXPECT_EQ(data.values(), expected);
      }
    }
  });
}

// The test that starts the ranks knows it of those that have others.
TEST(Thread, PaysWhereTheTransportSaysIt) {
  OnEveryRank([] {
    const bool has_others = Job().world().size > 1;
    EXPECT_EQ(Job().GainsByThread(), has_others && std::getenv("CLEAVE_GAINS_BY_THREAD") != nullptr);
  });
}

// Also with a thread that communicates, on every other rank.
TYPED_TEST(Collectives, Overlap) {
  OnEveryRank([] {
    std::vector<Group> groups = AllGroups();
    const size_t in_place = groups.size();
    groups.insert(groups.end(), groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(in_place));
    for (size_t g = 0; g < groups.size(); ++g) {
      const Group group = groups[g];
      if (g >= in_place && Job().rank() % 2 == 0) Job().CommunicateOnThread();
      std::vector<Tensor<TypeParam>> wholes;
      std::vector<Tensor<TypeParam>> scattered;
      std::vector<Tensor<TypeParam>> received;
      std::vector<Tensor<TypeParam>> sums;
      std::vector<Tensor<TypeParam>> gathered;
      std::vector<Pending> pending;
      const Tensor<TypeParam> mine(Contribution<TypeParam>(4, group.index, 3));
      for (int64_t round = 0; round < 3; ++round) {
        sums.emplace_back(Contribution<TypeParam>(round, group.index, 1001));
        gathered.push_back(Blank<TypeParam>(static_cast<size_t>(3 * group.size)));
        pending.push_back(Job().Overlap([&] {
          Job().AllReduce(sums.back().data(), 1001, Reduction::kSum, group);
          // What describes the tensors ends with the call.
          const Cut cut = {0, std::vector<int64_t>(static_cast<size_t>(group.size), 3)};
          Job().AllGather(mine.data(), gathered.back().data(), {3 * group.size}, cut, group);
        }));
        scattered.push_back(Blank<TypeParam>(3));
        received.push_back(Blank<TypeParam>(3));
        wholes.emplace_back(Contribution<TypeParam>(round, group.index, 3 * group.size));
        pending.push_back(Job().Overlap([&] {
          const Cut cut = {0, std::vector<int64_t>(static_cast<size_t>(group.size), 3)};
          Job().ReduceScatter(wholes.back().data(), scattered.back().data(), {3 * group.size}, cut, Reduction::kSum,
                              group);
          Job().Permute(scattered.back().data(), 3, (group.index + 1) % group.size, received.back().data(), 3,
                        (group.index + group.size - 1) % group.size, group);
        }));
      }
      // Collectives may be finished in any order, and others may run before they are finished.
      Job().AllReduce(Tensor<TypeParam>(Contribution<TypeParam>(5, group.index, 7)).data(), 7, Reduction::kSum, group);
      for (size_t i = pending.size(); i-- > 0;) Job().Finish(pending[i]);
      for (Pending& finished : pending) Job().Finish(finished);  // Nothing is left to be done.
      for (int64_t round = 0; round < 3; ++round) {
        const size_t i = static_cast<size_t>(round);
        EXPECT_EQ(sums[i].values(), Reduced<TypeParam>(round, group, 1001, Reduction::kSum));
        const std::vector<TypeParam> sum = Reduced<TypeParam>(round, group, 3 * group.size, Reduction::kSum);
        const auto piece = sum.begin() + 3 * ((group.index + group.size - 1) % group.size);
        EXPECT_EQ(received[i].values(), std::vector<TypeParam>(piece, piece + 3));
        const std::vector<TypeParam> all = gathered[i].values();
        for (int member = 0; member < group.size; ++member) {
          EXPECT_EQ(std::vector<TypeParam>(all.begin() + 3 * member, all.begin() + 3 * member + 3),
                    Contribution<TypeParam>(4, member, 3));
        }
      }
    }
  });
}

TYPED_TEST(Collectives, AllGatherAndReduceScatter) {
  OnEveryRank([] {
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
        const Tensor<TypeParam> gathered = Blank<TypeParam>(whole.size());
        const Tensor<TypeParam> gathers(piece);
        Job().AllGather(gathers.data(), gathered.data(), shape, cut, group);
        EXPECT_EQ(gathered.values(), whole);

        for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) {
          const Tensor<TypeParam> mine(Contribution<TypeParam>(round, group.index, count));
          const Tensor<TypeParam> scattered = Blank<TypeParam>(piece.size());
          Job().ReduceScatter(mine.data(), scattered.data(), shape, cut, reduction, group);
          EXPECT_EQ(mine.values(), Contribution<TypeParam>(round, group.index, count));
          EXPECT_EQ(scattered.values(),
                    Part(Reduced<TypeParam>(round, group, count, reduction), shape, cut, group.index));
        }
      }
    }
  });
}

TYPED_TEST(Collectives, SeveralTensorsInOneCall) {
  OnEveryRank([] {
    std::mt19937 random(kSeed);
    for (const Group& group : AllGroups()) {
      for (int64_t round = 0; round < 20; ++round) {
        SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", group " << group.id << ", round " << round);
        const size_t tensors = 2 + random() % 4;
        std::vector<std::vector<TypeParam>> wholes, expected;
        std::vector<Tensor<TypeParam>> mine, pieces, gathered, scattered;
        std::vector<std::vector<int64_t>> shapes;
        std::vector<Cut> cuts;
        int64_t elements = 0;
        for (size_t i = 0; i < tensors; ++i) {
          shapes.push_back(RandomShape(random, 1));
          const int dimension = static_cast<int>(random() % shapes[i].size());
          cuts.push_back({dimension, RandomSizes(random, shapes[i][static_cast<size_t>(dimension)], group.size)});
          if (random() % 2 == 0) {  // As much for each member, one member's behind another's.
            const auto rows = static_cast<int64_t>(random() % 4);
            shapes[i][0] = rows * group.size;
            cuts[i] = {0, std::vector<int64_t>(static_cast<size_t>(group.size), rows)};
          }
          const int64_t count = ElementCount(shapes[i]);
          const auto number = round * 10 + static_cast<int64_t>(i);
          elements += count;
          wholes.push_back(Contribution<TypeParam>(number, 99, count));
          mine.emplace_back(Contribution<TypeParam>(number, group.index, count));
          pieces.emplace_back(Part(wholes[i], shapes[i], cuts[i], group.index));
          expected.push_back(
              Part(Reduced<TypeParam>(number, group, count, Reduction::kSum), shapes[i], cuts[i], group.index));
          gathered.push_back(Blank<TypeParam>(wholes[i].size()));
          scattered.push_back(Blank<TypeParam>(expected[i].size()));
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
        for (size_t i = 0; i < tensors; ++i) {
          EXPECT_EQ(gathered[i].values(), wholes[i]);
          EXPECT_EQ(scattered[i].values(), expected[i]);
        }
        EXPECT_EQ(Job().traffic()[static_cast<size_t>(CollectiveKind::kAllGather)].count - calls,
                  group.size > 1 && elements > 0 ? 1 : 0);
      }
    }
  });
}

TYPED_TEST(Collectives, AllToAll) {
  OnEveryRank([] {
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
        const Tensor<TypeParam> source(Part(whole, shape, from, group.index));
        const std::vector<TypeParam> expected = Part(whole, shape, to, group.index);
        const Tensor<TypeParam> target = Blank<TypeParam>(expected.size());
        Job().AllToAll(source.data(), target.data(), shape, from, to, group);
        EXPECT_EQ(target.values(), expected);
      }
    }
  });
}

TYPED_TEST(Collectives, BroadcastFromEveryMember) {
  OnEveryRank([] {
    for (const Group& group : AllGroups()) {
      for (int root = 0; root < group.size; ++root) {
        const Tensor<TypeParam> data(Contribution<TypeParam>(3, group.index, 100));
        Job().Broadcast(data.data(), 100, root, group);
        EXPECT_EQ(data.values(), Contribution<TypeParam>(3, root, 100));
      }
    }
  });
}

TEST(Group, MembersAreNumberedRowMajorOverTheAxesAsGiven) {
  OnEveryRank([] {
    std::vector<int> axes(Job().mesh().size());
    std::iota(axes.rbegin(), axes.rend(), 0);
    const Group group = Job().CreateGroup(axes);
    EXPECT_EQ(group.size, MeshSize(Job().mesh()));
    EXPECT_EQ(group.index, IndexOnAxes(Job().mesh(), Job().rank(), axes));
    EXPECT_EQ(Job().CreateGroup(axes).id, group.id);
    const Tensor<int32_t> rank({Job().rank()});
    const Tensor<int32_t> gathered = Blank<int32_t>(static_cast<size_t>(group.size));
    Job().AllGather(rank.data(), gathered.data(), {group.size}, {0, PieceSizes(group.size, group.size)}, group);
    const std::vector<int32_t> ranks = gathered.values();
    for (int i = 0; i < group.size; ++i) EXPECT_EQ(ranks[static_cast<size_t>(i)], RankAt(Job().mesh(), 0, axes, i));
  });
}

TEST(GatherText, GivesEveryRankTheTextsOfAll) {
  OnEveryRank([] {
    const std::vector<std::string> texts = Job().GatherText(std::string(static_cast<size_t>(Job().rank()), 'x'));
    ASSERT_EQ(texts.size(), static_cast<size_t>(Job().world().size));
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], std::string(i, 'x'));
  });
}

TEST(Traffic, CountsCallsAndBytesWhileItIsOn) {
  OnEveryRank([] {
    const Group& group = Job().world();
    const size_t kind = static_cast<size_t>(CollectiveKind::kAllReduce);
    const Traffic before = Job().traffic()[kind];
    const Tensor<float> data(std::vector<float>(1000, 1));
    Job().AllReduce(data.data(), 1000, Reduction::kSum, group);
    Job().CountTraffic(false);
    Job().AllReduce(data.data(), 1000, Reduction::kSum, group);
    Job().CountTraffic(true);
    const Traffic after = Job().traffic()[kind];
    EXPECT_EQ(after.count - before.count, group.size > 1 ? 1 : 0);
    EXPECT_EQ(after.bytes - before.bytes, group.size > 1 ? 4000 : 0);
    EXPECT_NEAR(after.sent_bytes - before.sent_bytes, 2.0 * (group.size - 1) / group.size * 4000, 1e-6);
  });
}

TEST(CountsDeathTest, MoreElementsThanAreCountedAreRefused) {
  OnEveryRank([] {
    if (Job().world().size < 2) GTEST_SKIP() << "one rank communicates nothing";
    if (Job().rank() != 0) return;  // Threads must not fork at the same time.
    // The call is refused before any communication, so the child need not be part of the job.
    testing::FLAGS_gtest_death_test_style = "fast";
    float value = 0;
    EXPECT_EXIT(Job().AllReduce(&value, int64_t{1} << 31, Reduction::kSum, Job().world()), testing::ExitedWithCode(6),
                "all_reduce for no op has 2147483648 elements; counts of messages end at 2147483647");
  });
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) {
  using namespace cleave::runtime;  // NOLINT: this file's.
  testing::InitGoogleTest(&argc, argv);
  // Only one process prints results; a failure on any rank makes all ranks fail.
  if (RankFromEnvironment().value_or(0) != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int failed = RUN_ALL_TESTS();
  return RunRanks(MeshOf(StartedRanks()), [&] {
    int failed_anywhere = failed;
    for (const std::string& text : Job().GatherText(failed != 0 ? "failed" : ""))
      failed_anywhere |= text.empty() ? 0 : 1;
    return failed_anywhere;
  });
}
