// Tests what the stand-in for NCCL refuses: calls with which NCCL would hang, or compute nonsense.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <functional>
#include <thread>
#include <vector>

namespace {

// A rank in its thread, with a communicator that blocks.
struct Rank {
  int number = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  float* values = nullptr;  // Eight, of which all are `number`.

  void Reduce(size_t count = 4, ncclDataType_t type = ncclFloat32, ncclRedOp_t operation = ncclSum) const {
    EXPECT_EQ(ncclAllReduce(values, values, count, type, operation, communicator, stream), ncclSuccess);
  }
  void Broadcast(size_t count = 4) const {
    EXPECT_EQ(ncclBroadcast(values, values, count, ncclFloat32, 0, communicator, stream), ncclSuccess);
  }
  void Finish() const { EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess); }
};

void RunTwo(const std::function<void(const Rank&)>& body) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<std::thread> threads;
  for (int number : {0, 1}) {
    threads.emplace_back([&body, id, number] {
      Rank rank;
      rank.number = number;
      cudaSetDevice(number);
      cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking);
      cudaMalloc(&rank.values, 8 * sizeof(float));
      const std::vector<float> values(8, static_cast<float>(number));
      cudaMemcpyAsync(rank.values, values.data(), 8 * sizeof(float), cudaMemcpyHostToDevice, rank.stream);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 1;
      EXPECT_EQ(ncclCommInitRankConfig(&rank.communicator, 2, id, number, &config), ncclSuccess);
      body(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class Nccl : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

#define EXPECT_REFUSED(body, why) EXPECT_DEATH(RunTwo([](const Rank& rank) body), why)

TEST_F(Nccl, WhatIsRightIsDone) {
  RunTwo([](const Rank& rank) {
    rank.Reduce();
    rank.Broadcast(2);
    ncclGroupStart();
    const int other = 1 - rank.number;
    ncclSend(rank.values, 2, ncclFloat32, other, rank.communicator, rank.stream);
    ncclRecv(rank.values + 4, 2, ncclFloat32, other, rank.communicator, rank.stream);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    rank.Finish();
    std::vector<float> values(8);
    cudaMemcpy(values.data(), rank.values, 32, cudaMemcpyDeviceToHost);
    const auto number = static_cast<float>(rank.number);
    EXPECT_EQ(values, (std::vector<float>{1, 1, 1, 1, 1, 1, number, number}));
    EXPECT_EQ(ncclCommFinalize(rank.communicator), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(rank.communicator), ncclSuccess);
  });
}

TEST_F(Nccl, RanksMakeTheSameCalls) {
  constexpr char kWhy[] = "the ranks of a communicator make different calls";
  EXPECT_REFUSED(
      {
        rank.Reduce(rank.number == 0 ? 4 : 3);
        rank.Finish();
      },
      kWhy);
  EXPECT_REFUSED(
      {
        rank.Reduce(4, rank.number == 0 ? ncclFloat32 : ncclInt32);
        rank.Finish();
      },
      kWhy);
  EXPECT_REFUSED(
      {
        rank.Reduce(4, ncclFloat32, rank.number == 0 ? ncclSum : ncclMax);
        rank.Finish();
      },
      kWhy);
  EXPECT_REFUSED(
      {
        if (rank.number == 0) rank.Reduce();
        rank.Broadcast();
        if (rank.number == 1) rank.Reduce();
        rank.Finish();
      },
      kWhy);
}

TEST_F(Nccl, MessagesHaveOneSize) {
  EXPECT_REFUSED(
      {
        if (rank.number == 0) {
          ncclSend(rank.values, 3, ncclFloat32, 1, rank.communicator, rank.stream);
        } else {
          ncclRecv(rank.values, 4, ncclFloat32, 0, rank.communicator, rank.stream);
        }
        rank.Finish();
      },
      "another count or type than it is received with");
}

TEST_F(Nccl, MemoryIsRegisteredOnAllRanksOrOnNone) {
  EXPECT_REFUSED(
      {
        void* handle = nullptr;
        if (rank.number == 0) ncclCommRegister(rank.communicator, rank.values, 32, &handle);
        rank.Reduce();
        rank.Finish();
      },
      "the memory of some ranks is registered, and that of others is not");
  EXPECT_REFUSED(
      {
        void* handle = nullptr;
        ncclCommRegister(rank.communicator, rank.values, 32, &handle);
        ncclMemFree(rank.values);
      },
      "memory is freed that is registered");
}

// Nobody receives the second message.
TEST_F(Nccl, ASendWaitsForItsReceive) {
  EXPECT_EXIT(RunTwo([](const Rank& rank) {
                if (rank.number == 1) {
                  ncclRecv(rank.values, 1, ncclFloat32, 0, rank.communicator, rank.stream);
                  return rank.Finish();
                }
                ncclSend(rank.values, 1, ncclFloat32, 1, rank.communicator, rank.stream);
                rank.Finish();
                ncclSend(rank.values, 1, ncclFloat32, 1, rank.communicator, rank.stream);
                for (int i = 0; i < 20; ++i) EXPECT_EQ(cudaStreamQuery(rank.stream), cudaErrorNotReady);
                std::_Exit(HasFailure() ? 1 : 7);
              }),
              testing::ExitedWithCode(7), "");
}

TEST_F(Nccl, MemoryIsTheDevicesAndInPlaceWhereNcclSaysSo) {
  constexpr char kWhy[] = "overlap, and not in place";
  EXPECT_REFUSED(
      { ncclAllReduce(rank.values, rank.values + 1, 4, ncclFloat32, ncclSum, rank.communicator, rank.stream); }, kWhy);
  EXPECT_REFUSED({ ncclAllGather(rank.values, rank.values, 4, ncclFloat32, rank.communicator, rank.stream); }, kWhy);
  EXPECT_REFUSED(
      { ncclReduceScatter(rank.values, rank.values, 4, ncclFloat32, ncclSum, rank.communicator, rank.stream); }, kWhy);
  EXPECT_REFUSED(
      {
        ncclGroupStart();
        ncclRecv(rank.values, 2, ncclFloat32, 1 - rank.number, rank.communicator, rank.stream);
        ncclSend(rank.values + 1, 2, ncclFloat32, 1 - rank.number, rank.communicator, rank.stream);
        ncclGroupEnd();
      },
      "calls of one group use the same memory");
  EXPECT_REFUSED({ rank.Reduce(9); }, "memory that is not the device's");
  EXPECT_REFUSED(
      {
        std::vector<float> host(4);
        ncclAllReduce(host.data(), host.data(), 4, ncclFloat32, ncclSum, rank.communicator, rank.stream);
      },
      "memory that is not the device's");
  RunTwo([](const Rank& rank) {
    float* const own = rank.values + 4 * rank.number;
    EXPECT_EQ(ncclAllGather(own, rank.values, 4, ncclFloat32, rank.communicator, rank.stream), ncclSuccess);
    EXPECT_EQ(ncclReduceScatter(rank.values, own, 4, ncclFloat32, ncclSum, rank.communicator, rank.stream),
              ncclSuccess);
    rank.Finish();
  });
}

TEST_F(Nccl, ACommunicatorIsNotUsedWhenItIsDestroyed) {
  EXPECT_REFUSED(
      {
        ncclCommFinalize(rank.communicator);
        ncclCommDestroy(rank.communicator);
        rank.Reduce();
      },
      "a communicator is used that there is not");
}

TEST_F(Nccl, WorkOfACommunicatorIsInOneOrder) {
  EXPECT_REFUSED(
      {
        Rank other = rank;
        cudaStreamCreateWithFlags(&other.stream, cudaStreamNonBlocking);
        cudaMalloc(&other.values, 8 * sizeof(float));
        rank.Reduce();
        other.Reduce();
        rank.Finish();
        other.Finish();
      },
      "nothing orders two pieces of work of a communicator");
}

TEST_F(Nccl, AGraphOutlivesNoCommunicator) {
  EXPECT_REFUSED(
      {
        cudaGraph_t graph = nullptr;
        cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal);
        rank.Reduce();
        cudaStreamEndCapture(rank.stream, &graph);
        ncclCommFinalize(rank.communicator);
      },
      "while there is a graph with work of it");
}

// Without blocking, the stream has the work only when NCCL says so.
TEST_F(Nccl, ACallIsAskedAbout) {
  EXPECT_DEATH(RunTwo([](const Rank& rank) {
                 ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
                 config.blocking = 0;
                 Rank part = rank;
                 ncclCommSplit(rank.communicator, 0, rank.number, &part.communicator, &config);
                 for (ncclResult_t state = ncclInProgress; state == ncclInProgress;) {
                   ncclCommGetAsyncError(part.communicator, &state);
                 }
                 ncclAllReduce(part.values, part.values, 4, ncclFloat32, ncclSum, part.communicator, part.stream);
                 ncclAllReduce(part.values, part.values, 4, ncclFloat32, ncclSum, part.communicator, part.stream);
               }),
               "before the one before it is no longer in progress");
}

}  // namespace
