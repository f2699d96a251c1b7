// For the tests of collectives: the job that was started, tensors where collectives work on them, and numbers.
#ifndef CLEAVE_RUNTIME_COMM_ON_EVERY_RANK_H_
#define CLEAVE_RUNTIME_COMM_ON_EVERY_RANK_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/memory.h"
#include "runtime/device/workspace.h"
#include "runtime/mesh/mesh.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

constexpr unsigned kSeed = 11;

inline Mesh MeshOf(int ranks) {
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

// The number of ranks that mpirun, or the test of another launch, has started.
inline int StartedRanks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "WORLD_SIZE", "CLEAVE_WORKERS"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 1;
}

// Each thread joins once: processes cannot join a job twice.
inline Comm& Job() {
  static thread_local Watch watch("collectives.model");
  static thread_local Result<std::unique_ptr<Comm>> comm = Comm::Start(MeshOf(StartedRanks()), watch);
  if (!comm.ok()) std::_Exit(static_cast<int>(comm.error().code));
  return *comm.value();
}

// Runs the body of a test on every rank of this process.
inline void OnEveryRank(const std::function<void()>& body) {
  RunRanks(MeshOf(StartedRanks()), [&] {
    body();
    return 0;
  });
}

// A tensor where collectives work on it, which may be the memory of a GPU.
template <typename T>
class Tensor {
 public:
  explicit Tensor(const std::vector<T>& values)
      : count_(static_cast<int64_t>(values.size())), data_(static_cast<T*>(TakeWorkspace(Bytes()))) {
    CopyToDevice(values.data(), data_, Bytes());
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  Tensor(Tensor&& other) noexcept
      : count_(std::exchange(other.count_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  ~Tensor() {
    if (data_ != nullptr) GiveWorkspace(data_, Bytes());
  }

  T* data() const { return data_; }

  std::vector<T> values() const {
    if (count_ == 0) return {};
    const T* const values = OnHost(data_, count_);
    return {values, values + count_};
  }

 private:
  int64_t Bytes() const { return count_ * static_cast<int64_t>(sizeof(T)); }

  int64_t count_;
  T* data_;
};

// A tensor for results, filled with a value that no result has.
template <typename T>
Tensor<T> Blank(size_t count) {
  return Tensor<T>(std::vector<T>(count, T{77}));
}

// Who may send to whom.
enum class Ways { kNone, kAll };

// Every group that the mesh has, once, also with its axes in another order.
inline std::vector<Group> AllGroups(Ways between = Ways::kNone) {
  std::vector<Group> groups;
  std::vector<int> axes(Job().mesh().size());
  std::iota(axes.begin(), axes.end(), 0);
  do {
    for (size_t count = 0; count <= axes.size(); ++count) {
      const std::vector<int> own(axes.begin(), axes.begin() + static_cast<int64_t>(count));
      const int size = Job().CreateGroup(own).size;
      std::vector<Way> ways;
      for (int from = 0; from < size; ++from) {
        for (int to = 0; to < size; ++to) {
          if (from != to && between == Ways::kAll) ways.push_back({from, to});
        }
      }
      const Group group = Job().CreateGroup(own, ways);
      const auto is_group = [&](const Group& other) { return other.id == group.id; };
      if (std::none_of(groups.begin(), groups.end(), is_group)) groups.push_back(group);
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
  return groups;
}

// Element `i` of what `member` contributes in round `round`: small whole numbers, so that sums are exact in any order
// and in any element type.
template <typename T>
T Value(int64_t round, int64_t member, int64_t i) {
  return static_cast<T>((round * 31 + member * 17 + i * 7) % 61 - 30);
}

template <typename T>
std::vector<T> Contribution(int64_t round, int64_t member, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = Value<T>(round, member, i);
  return values;
}

inline std::vector<int64_t> RandomShape(std::mt19937& random, size_t least_rank) {
  std::vector<int64_t> shape(least_rank + random() % 3);
  for (int64_t& size : shape) size = static_cast<int64_t>(random() % 7);  // 0 too.
  return shape;
}

using ElementTypes = testing::Types<float, double, int32_t, BFloat16, Float16>;

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_ON_EVERY_RANK_H_
