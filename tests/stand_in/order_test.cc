// Tests that programs which forget to wait get wrong numbers, and that those which wait get the right ones in every
// order.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

// Two streams of the device, two numbers there, and two of pinned memory.
class Order : public testing::Test {
 protected:
  static constexpr int kTries = 100;

  void SetUp() override {
    for (cudaStream_t* stream : {&first_, &second_}) cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
    cudaMalloc(&values_, 2 * sizeof(int));
    cudaHostAlloc(&pinned_, 2 * sizeof(int), cudaHostAllocDefault);
  }
  void TearDown() override {
    for (const cudaStream_t stream : {first_, second_}) {
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
    cudaEventDestroy(event_);
    cudaFree(values_);
    cudaFreeHost(pinned_);
  }

  // A kernel that writes to the first number, and one that copies it to the second.
  void Write(cudaStream_t stream, int value) {
    StandInEnqueue(stream, [values = values_, value] { values[0] = value; });
  }
  void Copy(cudaStream_t stream) {
    StandInEnqueue(stream, [values = values_] { values[1] = values[0]; });
  }
  int Result(cudaStream_t stream) {
    cudaMemcpyAsync(pinned_ + 1, values_ + 1, sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    return pinned_[1];
  }

  // How often a program that should return its argument does.
  template <typename Program>
  int Right(const Program& program) {
    int right = 0;
    for (int i = 0; i < kTries; ++i) right += program(i) == i ? 1 : 0;
    return right;
  }

  cudaStream_t first_ = nullptr;
  cudaStream_t second_ = nullptr;
  cudaEvent_t event_ = nullptr;
  int* values_ = nullptr;
  int* pinned_ = nullptr;
};

TEST_F(Order, AStreamDoesNotWaitForAnotherByItself) {
  const auto program = [&](bool waits) {
    return Right([&](int value) {
      Write(first_, value);
      if (waits) {
        cudaEventRecord(event_, first_);
        cudaStreamWaitEvent(second_, event_);
      }
      Copy(second_);
      return Result(second_);
    });
  };
  EXPECT_EQ(program(true), kTries);
  EXPECT_LT(program(false), kTries - 10);
}

// What was read must have been read before it is overwritten.
TEST_F(Order, AWriteDoesNotWaitForReadersByItself) {
  const auto program = [&](bool waits) {
    return Right([&](int value) {
      Write(first_, value);
      cudaEventRecord(event_, first_);
      cudaStreamWaitEvent(second_, event_);
      Copy(second_);
      cudaEventRecord(event_, second_);
      if (waits) cudaStreamWaitEvent(first_, event_);
      Write(first_, -1);
      cudaStreamSynchronize(first_);
      return Result(second_);
    });
  };
  EXPECT_EQ(program(true), kTries);
  EXPECT_LT(program(false), kTries - 10);
}

TEST_F(Order, AnEventIsWhereItWasRecorded) {
  EXPECT_LT(Right([&](int value) {
              cudaEventRecord(event_, first_);  // Too early.
              Write(first_, value);
              cudaStreamWaitEvent(second_, event_);
              Copy(second_);
              return Result(second_);
            }),
            kTries - 10);
}

TEST_F(Order, GraphsRunInAnyOrderOfTheirEdges) {
  cudaEvent_t joined = nullptr;
  cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
  const auto program = [&](bool waits) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(first_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    if (!waits) cudaEventRecord(event_, first_);
    StandInEnqueue(first_, [values = values_] { values[0] = values[1] + 1; });
    if (waits) cudaEventRecord(event_, first_);
    cudaStreamWaitEvent(second_, event_);
    Copy(second_);
    cudaEventRecord(joined, second_);
    cudaStreamWaitEvent(first_, joined);
    EXPECT_EQ(cudaStreamEndCapture(first_, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    cudaMemsetAsync(values_, 0, 2 * sizeof(int), first_);
    for (int i = 0; i < kTries; ++i) cudaGraphLaunch(exec, first_);
    const int result = Result(first_);
    cudaGraphDestroy(graph);
    cudaGraphExecDestroy(exec);
    return result;
  };
  EXPECT_EQ(program(true), kTries);
  EXPECT_LT(program(false), kTries);
  cudaEventDestroy(joined);
}

TEST_F(Order, PinnedMemoryIsReadLate) {
  const auto program = [&](bool waits) {
    return Right([&](int value) {
      pinned_[0] = value;
      cudaMemcpyAsync(values_, pinned_, sizeof(int), cudaMemcpyHostToDevice, first_);
      if (waits) cudaStreamSynchronize(first_);
      pinned_[0] = -1;
      Copy(first_);
      return Result(first_);
    });
  };
  EXPECT_EQ(program(true), kTries);
  EXPECT_LT(program(false), kTries - 10);
}

TEST_F(Order, OtherMemoryOfTheHostIsStaged) {
  EXPECT_EQ(Right([&](int value) {
              int host = value;
              cudaMemcpyAsync(values_, &host, sizeof(int), cudaMemcpyHostToDevice, first_);
              host = -1;
              Copy(first_);
              cudaMemcpyAsync(&host, values_ + 1, sizeof(int), cudaMemcpyDeviceToHost, first_);
              return host;  // The host has waited.
            }),
            kTries);
}

TEST_F(Order, TheDefaultStreamWaitsForStreamsThatBlockOnly) {
  cudaStream_t blocking = nullptr;
  cudaStreamCreate(&blocking);
  const auto program = [&](cudaStream_t stream) {
    return Right([&](int value) {
      Write(stream, value);
      Copy(nullptr);
      return Result(nullptr);
    });
  };
  EXPECT_EQ(program(blocking), kTries);
  EXPECT_LT(program(first_), kTries - 10);
  cudaStreamDestroy(blocking);
}

TEST_F(Order, AFreedPinnedBufferIsFound) {
  const auto free_early = [&] {
    for (int i = 0; i < kTries; ++i) {
      int* buffer = nullptr;
      cudaHostAlloc(&buffer, sizeof(int), cudaHostAllocDefault);
      cudaMemcpyAsync(buffer, values_, sizeof(int), cudaMemcpyDeviceToHost, first_);
      cudaFreeHost(buffer);
    }
    cudaDeviceSynchronize();
  };
  EXPECT_DEATH(free_early(), "memory was freed before it was copied");
}

TEST_F(Order, WritesOutsideOfAnAllocationAreFound) {
  EXPECT_DEATH(
      (StandInEnqueue(first_, [values = values_] { values[2] = 1; }), cudaDeviceSynchronize(), cudaFree(values_)),
      "behind the end of an allocation");
  EXPECT_DEATH((StandInEnqueue(first_, [values = values_] { values[-1] = 1; }), cudaDeviceSynchronize(), std::exit(0)),
               "before the beginning of an allocation");
}

TEST_F(Order, QueriesSayWhatIsPending) {
  bool may_end = false;
  EXPECT_EQ(cudaStreamQuery(first_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);  // Nothing was recorded.
  StandInBegin(first_, [&] { return [&] { return may_end; }; });
  cudaEventRecord(event_, first_);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(cudaStreamQuery(first_), cudaErrorNotReady);
    EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  may_end = true;
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(first_), cudaSuccess);
}

// Work of the first stream waits for what the second does, which the program says too late for one queue.
TEST_F(Order, StreamsThatShareAQueueStopEachOther) {
  const bool is_shared = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS") != nullptr;
  bool second_has_run = false;
  StandInBegin(first_, [&] { return [&] { return second_has_run; }; });
  Copy(first_);
  StandInEnqueue(second_, [&] { second_has_run = true; });
  cudaError_t state = cudaErrorNotReady;
  for (int i = 0; i < 200 && state == cudaErrorNotReady; ++i) state = cudaStreamQuery(first_);
  EXPECT_EQ(state, is_shared ? cudaErrorNotReady : cudaSuccess);
  second_has_run = true;
  cudaStreamSynchronize(first_);
  cudaStreamSynchronize(second_);
}

}  // namespace
