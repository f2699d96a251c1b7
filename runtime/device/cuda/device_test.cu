#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/loop_batch.cuh"
#include "runtime/device/cuda/step_numbers.h"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/device/device.h"
#include "runtime/device/device_vector.h"
#include "runtime/device/memory.h"
#include "runtime/device/recorded.h"
#include "runtime/device/staging.h"
#include "runtime/device/streams.h"
#include "runtime/device/workspace.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// A setting of the stand-in, which lasts until the test ends.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }

 private:
  const char* const name_;
};

std::string OpenError(const DeviceRequest& request) {
  std::string text;
  // A rank is a thread, so this rank is a new one.
  std::thread([&] {
    const std::optional<Error> error = OpenDevice(request);
    if (!error.has_value()) return;
    EXPECT_EQ(error->code, ExitCode::kEnvironment);
    text = error->message;
  }).join();
  return text;
}

TEST(OpenDevice, GivesEachRankItsOwn) {
  const Setting devices("CUDA_STAND_IN_DEVICES", "4");
  std::vector<std::string> identities;
  for (int rank = 0; rank < 4; ++rank) {
    std::thread([&] {
      ASSERT_FALSE(OpenDevice({rank, 4}).has_value());
      identities.push_back(DeviceIdentity());
    }).join();
  }
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_NE(identities[static_cast<size_t>(rank)].find(" GPU " + std::to_string(rank) + " of host "),
              std::string::npos);
    for (int other = 0; other < rank; ++other)
      EXPECT_NE(identities[static_cast<size_t>(rank)], identities[static_cast<size_t>(other)]);
  }
}

TEST(OpenDevice, RanksOfOneProcessMayShareOne) {
  const Setting devices("CUDA_STAND_IN_DEVICES", "1");
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(OpenError({.local_rank = rank, .ranks_on_host = 3, .shared = true}), "");
}

TEST(OpenDevice, SaysWhatIsMissing) {
  {
    const Setting fault("CUDA_STAND_IN_FAULT", "no_driver");
    EXPECT_NE(OpenError({}).find("the machine has no NVIDIA driver"), std::string::npos);
  }
  {
    const Setting devices("CUDA_STAND_IN_DEVICES", "0");
    EXPECT_NE(OpenError({}).find("none can be seen (CUDA_VISIBLE_DEVICES may hide them)"), std::string::npos);
  }
  {
    const Setting devices("CUDA_STAND_IN_DEVICES", "3");
    EXPECT_EQ(
        OpenError({.local_rank = 0, .ranks_on_host = 4}),
        "4 ranks were started on a host that has 3 GPUs: a rank needs a GPU of its own (`make COMM=local` builds a "
        "program whose ranks share one)");
  }
  const Setting fault("CUDA_STAND_IN_FAULT", "old_device");
  EXPECT_EQ(
      OpenError({}),
      "the program was not built for GPU 0 (a stand-in for a GPU, architecture 6.0): build it with `make clean all "
      "ARCHS=60`");
}

TEST(ArenaTest, IsOneAllocationOfZeros) {
  const Arena arena(1000);
  EXPECT_EQ(arena.bytes(), 1024);
  const float* const values = OnHost(arena.At<float>(0), 250);
  for (int i = 0; i < 250; ++i) EXPECT_EQ(values[i], 0.0f);
}

TEST(ArenaDeathTest, TooLargeEndsTheProgramWithNumbers) {
  const Setting memory("CUDA_STAND_IN_MEMORY", "100000");
  EXPECT_EXIT(
      Arena(200000), testing::ExitedWithCode(6),
      "out of memory: asked for 200000 bytes; the plan predicts that this rank needs 200000, the GPU has 100000 "
      "left");
  EXPECT_EXIT(Arena(1024, 150000), testing::ExitedWithCode(6),
              "asked for 1024 bytes; the plan predicts that this rank needs 150000, the GPU has 100000 left");
  EXPECT_EXIT(TakeWorkspace(200000), testing::ExitedWithCode(6),
              "a call needs 200000 bytes beside the arena, the GPU has 100000 left");
}

TEST(Workspace, IsTakenAgainAndCounted) {
  std::thread([] {  // A rank that has taken nothing yet.
    void* const first = TakeWorkspace(1000);
    void* const second = TakeWorkspace(1000);
    EXPECT_NE(first, second);
    EXPECT_EQ(WorkspaceBytes().peak, 2048);
    GiveWorkspace(first, 1000);
    EXPECT_EQ(TakeWorkspace(1000), first);
    GiveWorkspace(first, 1000);
    // Work of the other stream may run while that of this one still uses the memory.
    BeginCommunication();
    void* const other = TakeWorkspace(1000);
    EXPECT_NE(other, first);
    GiveWorkspace(other, 1000);
    AwaitCommunication(EndCommunication());
    GiveWorkspace(second, 1000);
    EXPECT_EQ(WorkspaceBytes().peak, 3072);
  })
      .join();
}

// Tries each unit by which runs can be moved, one row and many, and runs that lie together.
TEST(Memory, CopiesRunsAsTheCpuDoes) {
  std::vector<uint8_t> values(4096);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 7 + i / 256);
  const DeviceVector<uint8_t> source(values);
  struct Case {
    int64_t from, to;
    Runs runs;
  };
  for (const Case& test : {Case{0, 0, {16, 20, 48, 32}}, Case{64, 16, {32, 7, 32, 32}}, Case{4, 8, {8, 30, 16, 12}},
                           Case{2, 6, {6, 11, 10, 8}}, Case{3, 1, {5, 13, 7, 9}}, Case{1, 2, {100, 1, 0, 0}},
                           Case{0, 16, {16, 9, 16, 48}}, Case{8, 0, {4, 0, 8, 4}}, Case{16, 0, {0, 5, 8, 4}}}) {
    const DeviceVector<uint8_t> target(std::vector<uint8_t>(2048, 255));
    CopyRuns(source.get() + test.from, target.get() + test.to, test.runs);
    std::vector<uint8_t> expected(2048, 255);
    for (int64_t row = 0; row < test.runs.rows; ++row) {
      for (int64_t i = 0; i < test.runs.bytes; ++i) {
        expected[static_cast<size_t>(test.to + row * test.runs.target_pitch + i)] =
            values[static_cast<size_t>(test.from + row * test.runs.source_pitch + i)];
      }
    }
    EXPECT_EQ(target.Values(), expected) << test.runs.bytes << " bytes, " << test.runs.rows << " rows";
  }
}

// Each unit by which pieces are copied, pieces of different sizes and empty ones, rows, and numbers that take 64 bits.
TEST(Memory, PacksPiecesAsTheyAreCut) {
  struct Case {
    int64_t rows, size, inner, pieces, pitch;
  };
  constexpr Case kCases[] = {{1, 10, 16, 4, 48}, {3, 7, 32, 3, 288}, {5, 2, 8, 3, 40},       {2, 9, 4, 8, 16},
                             {4, 33, 2, 5, 56},  {7, 5, 1, 2, 21},   {1, 12, 16, 3, 64},     {3, 10, 24, 1, 720},
                             {1, 0, 4, 2, 4},    {2, 6, 0, 2, 4},    {1, 70000, 1, 70000, 1}};
  std::deque<DeviceVector<uint8_t>> tensors, packed, back;
  std::vector<std::vector<uint8_t>> values, expected;
  std::vector<Pieces> all, all_back;
  for (const Case& test : kCases) {
    std::vector<uint8_t> whole(static_cast<size_t>(test.rows * test.size * test.inner) + 16);
    for (size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<uint8_t>(i * 7 + i / 256);
    std::vector<uint8_t> message(static_cast<size_t>(test.pieces * test.pitch) + 16, 255);
    const std::vector<int64_t> sizes = PieceSizes(test.size, test.pieces);
    int64_t begin = 0;
    for (size_t piece = 0; piece < sizes.size(); ++piece) {
      const int64_t run = sizes[piece] * test.inner;
      for (int64_t row = 0; row < test.rows; ++row) {
        std::copy_n(whole.begin() + (row * test.size + begin) * test.inner, run,
                    message.begin() + static_cast<int64_t>(piece) * test.pitch + row * run);
      }
      begin += sizes[piece];
    }
    tensors.emplace_back(whole);
    packed.emplace_back(std::vector<uint8_t>(message.size(), 255));
    back.emplace_back(whole);
    const auto at = [](const DeviceVector<uint8_t>& vector) { return reinterpret_cast<std::byte*>(vector.get()); };
    const Pieces pieces = {at(tensors.back()), at(packed.back()), test.rows,   test.size * test.inner,
                           test.size,          test.inner,        test.pieces, test.pitch};
    all.push_back(pieces);
    all_back.push_back(pieces);
    all_back.back().tensor = at(back.back());
    values.push_back(std::move(whole));
    expected.push_back(std::move(message));
  }
  PackPieces(all);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(packed[i].Values(), expected[i]) << i;
    ZeroBytes(back[i].get(), static_cast<int64_t>(values[i].size()) - 16);
  }
  UnpackPieces(all_back);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(back[i].Values(), values[i]) << i;
}

TEST(Memory, CopiesAndZeroesBytes) {
  const DeviceVector<float> source({1.0f, 2.0f, 3.0f});
  const DeviceVector<float> target({0.0f, 0.0f, 0.0f});
  CopyBytes(source.get() + 1, target.get(), 8);
  EXPECT_EQ(target.Values(), (std::vector<float>{2.0f, 3.0f, 0.0f}));
  ZeroBytes(target.get(), 4);
  EXPECT_EQ(target.Values(), (std::vector<float>{0.0f, 3.0f, 0.0f}));
  CopyBytes(source.get(), target.get(), 0);
  ZeroBytes(target.get() + 1, 0);
  EXPECT_EQ(target.Values(), (std::vector<float>{0.0f, 3.0f, 0.0f}));
}

__global__ void AddTo(float* x, const float* number, const uint64_t* step) {
  if (threadIdx.x == 0) *x += *number * static_cast<float>(*step);
}

TEST(Recorded, IsCalledTwiceAndReadsTheNumbersOfItsStep) {
  const DeviceVector<float> x({0.0f});
  StepNumbers numbers(2);
  Recorded recorded;
  std::vector<Ran> ran;
  int calls = 0;
  float expected = 0;
  for (uint64_t step = 1; step <= 5; ++step) {
    const float number = 0.5f * static_cast<float>(step);
    numbers.Set(step, {-1.0f, number});
    ran.push_back(recorded.Run([&] {
      ++calls;
      Launch(AddTo, {1, 32}, x.get(), numbers.number(1), numbers.step());
    }));
    expected += number * static_cast<float>(step);
    EXPECT_EQ(x.Values()[0], expected) << step;
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(ran, (std::vector<Ran>{Ran::kCalled, Ran::kRecorded, Ran::kReplayed, Ran::kReplayed, Ran::kReplayed}));
}

__global__ void AddOne(int64_t count, const float* from, float* to) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) to[i] = from[i] + 1.0f;
}

// Two collectives, each of which reads what kernels before it write and is read by those after it.
TEST(Recorded, KeepsTheOrderOfTheTwoStreams) {
  const DeviceVector<float> a({1.0f}), b({0.0f}), c({0.0f});
  const auto add_one = [](const DeviceVector<float>& from, float* to) {
    Launch(AddOne, {1, 32}, int64_t{1}, static_cast<const float*>(from.get()), to);
  };
  Recorded recorded;
  for (int run = 0; run < 4; ++run) {
    recorded.Run([&] {
      add_one(c, a.get());
      for (int collective = 0; collective < 2; ++collective) {
        BeginCommunication();
        // Scratch memory, which must not be allocated while the phase is recorded.
        float* const scratch = static_cast<float*>(TakeWorkspace(4));
        add_one(a, scratch);
        CopyBytes(scratch, b.get(), 4);
        GiveWorkspace(scratch, 4);
        AwaitCommunication(EndCommunication());
        add_one(b, collective == 0 ? a.get() : c.get());
      }
    });
    EXPECT_EQ(c.Values()[0], 5.0f * static_cast<float>(run + 1));
  }
}

// A value waits on the host while its memory is used for another one.
TEST(Recorded, KeepsTheOrderOfHostCopies) {
  const Arena arena(256, 0, 128);
  EXPECT_EQ(arena.host_bytes(), 128);
  float* const value = arena.At<float>(0);
  float* const sum = arena.At<float>(64);
  float* const on_host = arena.OnHost<float>(64);
  const auto add_one = [](const float* from, float* to) { Launch(AddOne, {1, 32}, int64_t{1}, from, to); };
  Recorded recorded;
  for (int run = 0; run < 4; ++run) {
    recorded.Run([&] {
      add_one(sum, value);
      const Pending out = CopyBeside([&] { CopyToHost(value, 1, on_host); });
      add_one(sum, sum);
      AwaitCommunication(out.id);
      ZeroBytes(value, 4);
      const Pending back = CopyBeside([&] { CopyFromHost(on_host, 1, value); });
      AwaitCommunication(back.id);
      add_one(value, sum);
    });
    EXPECT_EQ(*OnHost(value, 1), 1.0f + 2.0f * static_cast<float>(run));
  }
}

// One phase begins a communication and the next one awaits it.
TEST(Recorded, AwaitsWhatItLeavesBehind) {
  const DeviceVector<float> a({0.0f}), b({0.0f});
  Recorded first;
  Recorded second;
  Recorded other;
  int64_t number = -1;
  const auto begin = [&] {
    BeginCommunication();
    Launch(AddOne, {1, 32}, int64_t{1}, static_cast<const float*>(b.get()), a.get());
    number = EndCommunication();
  };
  for (int run = 0; run < 6; ++run) {
    // The third run is of another phase, which is called while its successor is already replayed.
    (run == 2 ? other : first).Run(begin);
    second.Run([&] {
      AwaitCommunication(number);
      Launch(AddOne, {1, 32}, int64_t{1}, static_cast<const float*>(a.get()), b.get());
    });
    EXPECT_EQ(b.Values()[0], 2.0f * static_cast<float>(run + 1)) << run;
  }
}

// Graphs that differ in arguments, and one that has other nodes, with work of the host between some of them.
TEST(Recorded, KeepsSeveralGraphs) {
  const DeviceVector<float> parts({0.0f, 10.0f, 20.0f, 30.0f}), sums({0.0f, 0.0f});
  const auto add_one = [](const float* from, float* to) { Launch(AddOne, {1, 32}, int64_t{1}, from, to); };
  Recorded recorded;
  int between = 0;
  for (int run = 0; run < 5; ++run) {
    recorded.Run([&] {
      for (int part = 0; part < 4; ++part) {
        Recorded::NextGraph();
        add_one(parts.get() + part, parts.get() + part);
        BeginCommunication();
        CopyBytes(parts.get() + part, sums.get() + part % 2, 4);
        const int64_t number = EndCommunication();
        if (part == 1) add_one(parts.get(), parts.get());
        if (part == 2) {
          Recorded::Between([&] {
            ++between;
            add_one(sums.get(), sums.get());
          });
        }
        AwaitCommunication(number);
      }
      Recorded::NextGraph();
    });
    const float runs = static_cast<float>(run + 1);
    EXPECT_EQ(parts.Values(), (std::vector<float>{2 * runs, 10 + runs, 20 + runs, 30 + runs}));
    EXPECT_EQ(sums.Values(), (std::vector<float>{21 + runs, 30 + runs}));
    EXPECT_EQ(between, run + 1);
  }
}

TEST(RecordedDeathTest, RefusesToLookAtValues) {
  EXPECT_EXIT(
      {
        const DeviceVector<float> x({0.0f});
        Recorded recorded;
        for (int run = 0; run < 2; ++run) recorded.Run([&] { OnHost(x.get(), 1); });
      },
      testing::ExitedWithCode(6), "operation not permitted when stream is capturing");
}

TEST(StagingTest, DeliversWhatWasSentLast) {
  const DeviceVector<float> image({-1.0f, -1.0f, -1.0f});
  const DeviceVector<int32_t> label({-1});
  Staging staging({{image.get(), 12}, {label.get(), 4}}, Staging::Writing::kDuringSteps);
  const auto send = [&](int step) {
    const std::vector<void*> places = staging.Next();
    for (int i = 0; i < 3; ++i) static_cast<float*>(places[0])[i] = static_cast<float>(10 * step + i);
    *static_cast<int32_t*>(places[1]) = step;
    staging.Send();
  };
  send(0);
  for (int step = 0; step < 5; ++step) {
    staging.Deliver();
    send(step + 1);
    const float first = static_cast<float>(10 * step);
    EXPECT_EQ(image.Values(), (std::vector<float>{first, first + 1, first + 2}));
    EXPECT_EQ(label.Values()[0], step);
  }
}

// x[0] becomes 31 x[0] + y[0], so that each step counts, and its place.
__global__ void Append(const int32_t* y, uint32_t* x) {
  if (threadIdx.x == 0) *x = *x * 31 + static_cast<uint32_t>(*y);
}

// The host is steps ahead of the device: it waits for nothing but a set of its memory.
TEST(StagingTest, TheHostMayRunAhead) {
  constexpr int kSteps = 100;
  const DeviceVector<int32_t> label({-1});
  const DeviceVector<uint32_t> all({0});
  Staging staging({{label.get(), 4}}, Staging::Writing::kDuringSteps);
  uint32_t expected = 0;
  for (int step = 0; step <= kSteps; ++step) {
    if (step > 0) {
      staging.Deliver();
      Launch(Append, {1, 32}, static_cast<const int32_t*>(label.get()), all.get());
      expected = expected * 31 + static_cast<uint32_t>(step - 1);
    }
    *static_cast<int32_t*>(staging.Next()[0]) = step;
    staging.Send();
  }
  EXPECT_EQ(all.Values()[0], expected);
}

// Two of them in turn, whose memory is the same workspace.
TEST(StagingTest, WaitsForWhatUsedItsMemory) {
  const DeviceVector<int32_t> label({-1});
  const DeviceVector<uint32_t> all({0});
  uint32_t expected = 0;
  for (int step = 0; step < 100; ++step) {
    Staging staging({{label.get(), 4}}, Staging::Writing::kDuringSteps);
    *static_cast<int32_t*>(staging.Next()[0]) = step;
    staging.Send();
    staging.Deliver();
    Launch(Append, {1, 32}, static_cast<const int32_t*>(label.get()), all.get());
    expected = expected * 31 + static_cast<uint32_t>(step);
  }
  EXPECT_EQ(all.Values()[0], expected);
}

struct AddLoop {
  int64_t count;
  const float* x;
  float* y;
};

template <int kWidth>
__global__ void AddTo(LoopBatch<AddLoop> batch, float factor) {
  const BatchPart part = PartOfBlock<kWidth>(batch);
  const AddLoop of = batch.loops[part.loop];
  for (int64_t i = part.begin; i < part.end; i += part.stride) {
    const auto x = Load<kWidth>(of.x + i);
    auto y = Load<kWidth>(of.y + i);
    for (int v = 0; v < kWidth; ++v) y[v] += factor * x[v];
    Store(y, of.y + i);
  }
}

// Sizes of all kinds, more loops than one launch takes, and loops without elements.
TEST(LoopBatchTest, AddsEachElementOnce) {
  std::vector<int64_t> counts = {0, 1, 3, 2048, 2049, 100003, 0};
  while (counts.size() < 3 * LoopBatch<AddLoop>::kMost / 2) counts.push_back(static_cast<int64_t>(counts.size()) % 7);
  counts.push_back(4097);
  std::vector<int64_t> begins = {0};
  for (const int64_t count : counts)
    begins.push_back(begins.back() + (count + 15) / 16 * 16);  // Multiples of 64 bytes.
  const std::vector<float> zeros(static_cast<size_t>(begins.back()));
  std::vector<float> numbers = zeros;
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1000);
  const DeviceVector<float> x(numbers), y(zeros);
  std::vector<AddLoop> loops;
  for (size_t i = 0; i < counts.size(); ++i) loops.push_back({counts[i], x.get() + begins[i], y.get() + begins[i]});
  LaunchBatch(AddTo<4>, loops, 2.0f);
  const std::vector<float> result = y.Values();
  for (size_t loop = 0; loop < counts.size(); ++loop) {
    for (int64_t i = begins[loop]; i < begins[loop] + counts[loop]; ++i)
      ASSERT_EQ(result[static_cast<size_t>(i)], 2 * numbers[static_cast<size_t>(i)]) << loop << " " << i;
  }
}

}  // namespace
}  // namespace cleave::runtime
