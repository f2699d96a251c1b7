// Failures between GPUs: one message must say where, the exit code must be right, and no rank may wait for ever. The
// collectives themselves are tested by collectives_test.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/device.h"
#include "runtime/device/memory.h"
#include "runtime/device/recorded.h"
#include "runtime/device/workspace.h"
#include "runtime/error/warning.h"
#include "runtime/mesh/mesh.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

const Mesh kThree = {{"m0", 3}};

// Four numbers on the rank's GPU.
float* Numbers() {
  const std::vector<float> numbers = {1, 2, 3, 4};
  float* const data = static_cast<float*>(TakeWorkspace(16));
  CopyToDevice(numbers.data(), data, 16);
  return data;
}

// Ends this process with the exit code of three ranks that join and run `body`.
template <typename Body>
[[noreturn]] void RunThree(const std::string& fault, int devices, const Body& body) {
  setenv("NCCL_STAND_IN_FAULT", fault.c_str(), 1);
  setenv("CUDA_STAND_IN_DEVICES", std::to_string(devices).c_str(), 1);
  setenv("CLEAVE_TIMEOUT", "0.5", 1);
  std::exit(RunRanks(kThree, [&] {
    Watch watch("nccl.model");
    Result<std::unique_ptr<Comm>> comm = Comm::Start(kThree, watch);
    if (!comm.ok()) return static_cast<int>(comm.error().code);
    HandleSignals(watch, comm.value()->rank());
    watch.StartWatchdog(comm.value()->rank(), 0.5);
    body(*comm.value(), watch);
    return 0;
  }));
}

void AddUp(Comm& comm, Watch& watch) {
  watch.Start("h1.matmul", 7);
  float* const data = Numbers();
  comm.AllReduce(data, 4, Reduction::kSum, comm.world());
  watch.Finish();
  const float* const sums = OnHost(data, 4);
  if (sums[3] != 12) std::abort();
}

class NcclDeathTest : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(NcclDeathTest, WithoutFaultsAllIsWell) { EXPECT_EXIT(RunThree("", 3, AddUp), testing::ExitedWithCode(0), "^$"); }

TEST_F(NcclDeathTest, VersionsThatDiffer) {
  EXPECT_EXIT(RunThree("version:1", 3, AddUp), testing::ExitedWithCode(5),
              "^error: the ranks have different versions of NCCL: rank 0 has 2.28.9, rank 1 has 2.27.3; they must be "
              "the same\n$");
}

TEST_F(NcclDeathTest, FewerGpusThanRanks) {
  EXPECT_EXIT(RunThree("", 2, AddUp), testing::ExitedWithCode(5),
              "^error: 3 ranks were started on a host that has 2 GPUs[^\n]*COMM=local[^\n]*\n$");
  EXPECT_EXIT(RunThree("", 1, AddUp), testing::ExitedWithCode(5),
              "^error: ranks 0 and 1 would share GPU 0 of host [^\n]*COMM=local[^\n]*\n$");
}

TEST_F(NcclDeathTest, NoDriver) {
  const auto run = [] {
    setenv("CUDA_STAND_IN_FAULT", "no_driver", 1);
    RunThree("", 3, AddUp);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(5), "^error: [^\n]*no NVIDIA driver[^\n]*\n$");
}

TEST_F(NcclDeathTest, ARankThatDoesNotConnectInTime) {
  EXPECT_EXIT(RunThree("absent:1", 3, AddUp), testing::ExitedWithCode(6),
              "^error: rank 0: connecting the GPUs of 3 ranks failed: NCCL is not done after 0.5 s\n$");
}

TEST_F(NcclDeathTest, ARankThatIsGoneInACollective) {
  EXPECT_EXIT(RunThree("gone:1", 3, AddUp), testing::ExitedWithCode(6),
              "^error: rank [02]: all_reduce for `h1.matmul` \\(nccl.model:7\\) failed: NCCL: remote process exited or "
              "there was a network error\n$");
}

TEST_F(NcclDeathTest, AFailureThatIsFoundWhileTheHostWaits) {
  EXPECT_EXIT(RunThree("broken:1", 3, AddUp), testing::ExitedWithCode(6),
              "^error: rank 1: [^\n]* failed: NCCL: unhandled system error\n$");
}

// Collectives in memory of the arena, which all ranks register; of a group that is made behind it, too.
void AddUpInArena(Comm& comm, Watch&) {
  const Arena arena(4096);
  auto* const data = arena.At<float>(1024);
  const std::vector<float> numbers = {1, 2, 3, 4};
  CopyToDevice(numbers.data(), data, 16);
  comm.AllReduce(data, 4, Reduction::kSum, comm.world());
  const Group again = comm.CreateGroup({0}, {}, 1);
  comm.AllReduce(data, 4, Reduction::kSum, again);
  if (OnHost(data, 4)[3] != 36) std::abort();
  const bool is_refused = std::string(std::getenv("NCCL_STAND_IN_FAULT")) == "register:1";
  if (Fallbacks().count("tensors_in_place") != (is_refused ? 1 : 0)) std::abort();
}

TEST_F(NcclDeathTest, TensorsAreWhereNcclTakesThem) {
  EXPECT_EXIT(RunThree("", 3, AddUpInArena), testing::ExitedWithCode(0), "^$");
  // One rank cannot, so none does.
  EXPECT_EXIT(RunThree("register:1", 3, AddUpInArena), testing::ExitedWithCode(0),
              "^(warning: NCCL does not take tensors where they lie \\(rank 1: NCCL: unhandled system error\\); "
              "it copies them to buffers of its own\n)+$");
}

// One id is made for each 128 ranks at most.
TEST_F(NcclDeathTest, ManyRanksFindEachOtherByManyIds) {
  const auto run = [] {
    const Mesh mesh = {{"m0", 130}};
    setenv("CUDA_STAND_IN_DEVICES", "130", 1);
    std::exit(RunRanks(mesh, [&] {
      Watch watch("nccl.model");
      const Result<std::unique_ptr<Comm>> comm = Comm::Start(mesh, watch);
      if (!comm.ok()) return static_cast<int>(comm.error().code);
      float* const data = Numbers();
      comm.value()->AllReduce(data, 4, Reduction::kSum, comm.value()->world());
      return OnHost(data, 4)[0] == 130 ? 0 : 1;
    }));
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "^$");
}

// A communicator cannot be closed while there is a graph in which its work is recorded.
void DestroyGraph(cudaGraph_t graph, cudaGraphExec_t exec) {
  CheckCuda(cudaGraphDestroy(graph), "destroying a graph");
  CheckCuda(cudaGraphExecDestroy(exec), "destroying a graph");
}

// Recorded, so that the host is in no collective while the GPU is.
void ReplayTwice(Comm& comm, Watch& watch) {
  float* const data = Numbers();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(ComputeStream(), cudaStreamCaptureModeThreadLocal);
  watch.Start("h1.matmul", 7);
  comm.AllReduce(data, 4, Reduction::kSum, comm.world());
  watch.Finish();
  cudaStreamEndCapture(ComputeStream(), &graph);
  CheckCuda(cudaGraphInstantiate(&exec, graph, 0), "instantiating");
  CheckCuda(cudaGraphLaunch(exec, ComputeStream()), "launching");
  CheckCuda(cudaGraphLaunch(exec, ComputeStream()), "launching");
  if (OnHost(data, 4)[0] != 9) std::abort();
  DestroyGraph(graph, exec);
}

TEST_F(NcclDeathTest, CollectivesCanBeRecorded) {
  EXPECT_EXIT(RunThree("", 3, ReplayTwice), testing::ExitedWithCode(0), "^$");
}

// One gradient is reduced while the next is made.
void ReplayOverlap(Comm& comm, Watch& watch) {
  if (!comm.IsRecordable()) std::abort();
  const auto work = [&](float* first, float* second) {
    CopyBytes(second, first, 16);
    Pending pending = comm.Overlap([&] { comm.AllReduce(first, 4, Reduction::kSum, comm.world()); });
    CopyBytes(second + 2, second, 8);
    Pending other = comm.Overlap([&] { comm.AllReduce(second, 4, Reduction::kMax, comm.world()); });
    comm.Finish(pending);
    comm.Finish(other);
  };
  watch.Start("gradients", 7);
  work(Numbers(), Numbers());  // Takes the workspaces that the recorded call takes again.
  float* const first = Numbers();
  float* const second = Numbers();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(ComputeStream(), cudaStreamCaptureModeThreadLocal);
  work(first, second);
  cudaStreamEndCapture(ComputeStream(), &graph);
  CheckCuda(cudaGraphInstantiate(&exec, graph, 0), "instantiating");
  CheckCuda(cudaGraphLaunch(exec, ComputeStream()), "launching");
  if (OnHost(first, 4)[3] != 12 || OnHost(second, 4)[0] != 3) std::abort();
  DestroyGraph(graph, exec);
}

TEST_F(NcclDeathTest, CollectivesThatOverlapCanBeRecorded) {
  EXPECT_EXIT(RunThree("", 3, ReplayOverlap), testing::ExitedWithCode(0), "^$");
}

// Each rank sends one way and takes from another, with collectives of its kernels between: also of several tensors, of
// which some are taken where they lie and others packed.
void PassOn(Comm& comm, Watch&) {
  const int next = (comm.rank() + 1) % 3, previous = (comm.rank() + 2) % 3;
  const std::vector<int64_t> uneven = PieceSizes(4, 3);
  std::vector<float*> pieces, wholes;
  for (int tensor = 0; tensor < 2; ++tensor) {
    pieces.push_back(Numbers());
    wholes.push_back(static_cast<float*>(TakeWorkspace(48)));
  }
  const Group group = comm.CreateGroup({0}, {{0, 1}, {1, 2}, {2, 0}});
  float* const data = Numbers();
  float* const sums = Numbers();
  const auto pass = [&] {
    if (!comm.BeginPass({Sends(next, 0, group), Takes(previous, group), Sends(next, 0, group)})) return;
    comm.Send(data, 4, next, 0, group);
    comm.AllReduce(sums, 4, Reduction::kSum, comm.world());
    comm.Receive(data, 4, previous, group);
    comm.AllReduce(sums, 4, Reduction::kMax, comm.world());
    comm.AllGather<float>({{data, wholes[0], {12}, {0, {4, 4, 4}}}, {sums, wholes[1], {4}, {0, uneven}}}, comm.world());
    comm.ReduceScatter<float>({{wholes[0], pieces[0], {12}, {0, {4, 4, 4}}}, {wholes[1], pieces[1], {4}, {0, uneven}}},
                              Reduction::kSum, comm.world());
    comm.Send(sums, 4, next, 0, group);
  };
  const auto take = [&] {
    if (!comm.BeginPass({Takes(previous, group)})) return;
    comm.Receive(sums, 4, previous, group);
  };
  const auto phase = [&] {
    pass();
    take();
  };
  Recorded recorded;
  const std::shared_ptr<const MessagePlan> plan = comm.Rehearse(phase);
  for (int run = 0; run < 4; ++run) {
    comm.BeginMessages(plan);
    recorded.Run([&] {
      phase();
      comm.EndMessages();
    });
  }
  if (OnHost(data, 4)[3] != 4 || OnHost(sums, 4)[0] != 81) std::abort();
  if (OnHost(wholes[0], 12)[11] != 4 || OnHost(wholes[1], 4)[0] != 81) std::abort();
  if (OnHost(pieces[0], 4)[3] != 12 || OnHost(pieces[1], 1)[0] != 243) std::abort();
}

// Messages and collectives are in one order, however many queues there are.
TEST_F(NcclDeathTest, FewQueues) {
  const auto run = [](const char* queues) {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", queues, 1);
    RunThree("", 3, PassOn);
  };
  EXPECT_EXIT(run("1"), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(run("32"), testing::ExitedWithCode(0), "^$");
}

TEST_F(NcclDeathTest, ACollectiveThatNeverEndsInRecordedWork) {
  const auto run = [](const char* fault_of_device) {
    setenv("CUDA_STAND_IN_FAULT", fault_of_device, 1);
    RunThree("late:1", 3, ReplayTwice);
  };
  // Where streams cannot write, kernels say how far the GPU is.
  for (const char* const fault : {"", "no_stream_writes"}) {
    EXPECT_EXIT(run(fault), testing::ExitedWithCode(6),
                "^error: rank [012] waits in all_reduce for `h1.matmul` \\(nccl.model:7\\) on its GPU since [^\n]*\n$");
  }
}

}  // namespace
}  // namespace cleave::runtime
