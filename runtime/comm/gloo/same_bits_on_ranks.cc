// Sums whose last bits depend on the order of the additions: all members must get the same bits, also in a second run.
// collectives_test.sh starts this on some ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/mesh/mesh.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

Comm& Job() {
  static Watch watch("same_bits.model");
  static Result<std::unique_ptr<Comm>> comm =
      Comm::Start({{"pairs", 2}, {"others", std::atoi(std::getenv("CLEAVE_WORKERS")) / 2}}, watch);
  if (!comm.ok()) std::_Exit(static_cast<int>(comm.error().code));
  return *comm.value();
}

// Numbers of very different sizes and of both signs.
template <typename T>
std::vector<T> Uneven(int64_t count) {
  std::mt19937 random(static_cast<unsigned>(Job().rank()));
  std::uniform_real_distribution<T> fraction(-1, 1);
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(std::ldexp(fraction(random), static_cast<int>(random() % 30) - 15));
  }
  return values;
}

// What each member has, one after another.
template <typename T>
std::vector<T> OfAll(const std::vector<T>& mine, const Group& group) {
  const int64_t count = static_cast<int64_t>(mine.size());
  std::vector<T> all(mine.size() * static_cast<size_t>(group.size));
  Job().AllGather(mine.data(), all.data(), {count * group.size},
                  {0, std::vector<int64_t>(static_cast<size_t>(group.size), count)}, group);
  return all;
}

template <typename T>
class SameBits : public testing::Test {};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(SameBits, ElementTypes);

TYPED_TEST(SameBits, OfReducedTensors) {
  for (const std::vector<int>& axes : std::vector<std::vector<int>>{{0, 1}, {0}, {1}, {1, 0}}) {
    const Group group = Job().CreateGroup(axes);
    for (const int64_t count : {1, 2, 7, 1000, 300007}) {
      for (const Reduction reduction : {Reduction::kSum, Reduction::kProd}) {
        SCOPED_TRACE(testing::Message() << "group " << group.id << ", " << count << " elements");
        std::vector<TypeParam> first = Uneven<TypeParam>(count);
        std::vector<TypeParam> second = first;
        Job().AllReduce(first.data(), count, reduction, group);
        Job().CommunicateOnThread();
        Pending pending = Job().Overlap([&] { Job().AllReduce(second.data(), count, reduction, group); });
        Job().Finish(pending);
        const std::vector<TypeParam> all = OfAll(first, group);
        const size_t bytes = first.size() * sizeof(TypeParam);
        EXPECT_EQ(std::memcmp(first.data(), second.data(), bytes), 0);
        for (size_t member = 0; member < static_cast<size_t>(group.size); ++member) {
          EXPECT_EQ(std::memcmp(first.data(), all.data() + member * first.size(), bytes), 0) << "member " << member;
        }
      }
    }
  }
}

// A sum in the order of members.
TYPED_TEST(SameBits, OfScatteredSums) {
  const Group& group = Job().world();
  constexpr int64_t kCount = 1000;
  const std::vector<TypeParam> whole = Uneven<TypeParam>(kCount);
  const std::vector<TypeParam> all = OfAll(whole, group);
  const Cut cut = {0, PieceSizes(kCount, group.size)};
  const size_t size = static_cast<size_t>(cut.sizes[static_cast<size_t>(group.index)]);
  const size_t begin = static_cast<size_t>(Piece(kCount, group.size, group.index).begin);
  std::vector<TypeParam> piece(size);
  Job().ReduceScatter(whole.data(), piece.data(), {kCount}, cut, Reduction::kSum, group);
  for (size_t i = 0; i < size; ++i) {
    TypeParam sum = 0;
    for (size_t member = 0; member < static_cast<size_t>(group.size); ++member) sum += all[member * kCount + begin + i];
    EXPECT_EQ(piece[i], sum);
  }
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int32_t failed = RUN_ALL_TESTS();
  // A failure on any rank makes all ranks fail.
  cleave::runtime::Comm& job = cleave::runtime::Job();
  job.AllReduce(&failed, 1, cleave::runtime::Reduction::kMax, job.world());
  return failed;
}
