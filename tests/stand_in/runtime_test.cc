// Tests the stand-in's memory, streams, events and graphs, and what they refuse.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

// Four numbers on the device.
float* Four() {
  float* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
  return memory;
}

std::vector<float> Read(const float* memory) {
  std::vector<float> values(4);
  EXPECT_EQ(cudaMemcpy(values.data(), memory, 16, cudaMemcpyDeviceToHost), cudaSuccess);
  return values;
}

TEST(Memory, IsNotANumberAtFirst) {
  float* const memory = Four();
  for (const float value : Read(memory)) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

TEST(Memory, CopiesSayWhereTheyGo) {
  float* const memory = Four();
  std::vector<float> host = {1, 2, 3, 4};
  EXPECT_EQ(cudaMemcpy(memory, host.data(), 16, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(Read(memory), host);
  EXPECT_EQ(cudaMemcpy(memory, host.data(), 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), memory, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), host.data(), 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cudaFree(memory);
}

TEST(Memory, CopiesStayInOneAllocation) {
  float* const memory = Four();
  float* const other = Four();
  EXPECT_EQ(cudaMemcpy(other + 1, memory, 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(other, memory + 1, 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(other, memory + 1, 12, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2DAsync(other, 8, memory, 8, 4, 2, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2DAsync(other, 8, memory, 8, 4, 3, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DAsync(other, 8, memory, 2, 4, 2, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  cudaFree(memory);
  cudaFree(other);
}

TEST(Memory, EndsWhereATestSaysSo) {
  setenv("CUDA_STAND_IN_MEMORY", "4096", 1);
  void* first = nullptr;
  void* second = nullptr;
  EXPECT_EQ(cudaMalloc(&first, 3000), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 2000), cudaErrorMemoryAllocation);
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(total, 4096u);
  EXPECT_EQ(free, 1096u);
  cudaFree(first);
  EXPECT_EQ(cudaMalloc(&second, 2000), cudaSuccess);
  cudaFree(second);
  unsetenv("CUDA_STAND_IN_MEMORY");
}

TEST(Devices, AreWhatATestSays) {
  int count = -1;
  setenv("CUDA_STAND_IN_DEVICES", "2", 1);
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  // Each thread has its own current device.
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  std::thread([] {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
  }).join();
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  setenv("CUDA_STAND_IN_DEVICES", "0", 1);
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 1), cudaErrorNoDevice);
  unsetenv("CUDA_STAND_IN_DEVICES");
  setenv("CUDA_STAND_IN_FAULT", "no_driver", 1);
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
  setenv("CUDA_STAND_IN_FAULT", "old_device", 1);
  StandInLaunch(nullptr, 1, 1, 0, nullptr, [] { FAIL() << "a kernel that the device has no code of"; });
  EXPECT_EQ(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
  unsetenv("CUDA_STAND_IN_FAULT");
}

// Two streams, of which the first is captured.
class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&join_, cudaEventDisableTiming);
    ASSERT_EQ(cudaStreamBeginCapture(main_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  }
  void TearDown() override {
    cudaStreamDestroy(main_);
    cudaStreamDestroy(side_);
    cudaEventDestroy(fork_);
    cudaEventDestroy(join_);
    cudaGetLastError();
  }

  void Add(cudaStream_t stream, char letter) {
    EXPECT_EQ(StandInEnqueue(stream, [this, letter] { done_ += letter; }), cudaSuccess);
  }
  void Fork() {
    EXPECT_EQ(cudaEventRecord(fork_, main_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(side_, fork_), cudaSuccess);
  }
  void Join() {
    EXPECT_EQ(cudaEventRecord(join_, side_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(main_, join_), cudaSuccess);
  }
  cudaError_t End() { return cudaStreamEndCapture(main_, &graph_); }

  cudaStream_t main_, side_;
  cudaEvent_t fork_, join_;
  cudaGraph_t graph_ = nullptr;
  std::string done_;
};

TEST_F(Graphs, DoAtEachLaunchWhatWasCaptured) {
  Add(main_, 'a');
  Fork();
  Add(side_, 's');
  Add(main_, 'b');
  Join();
  Add(main_, 'c');
  EXPECT_EQ(done_, "");
  ASSERT_EQ(End(), cudaSuccess);
  EXPECT_EQ(done_, "");
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph_), cudaSuccess);
  cudaGraphDestroy(graph_);
  // In any order of the streams the fork and the join are respected.
  std::set<std::string> orders;
  for (int launch = 0; launch < 200; ++launch) {
    done_ = "";
    EXPECT_EQ(cudaGraphLaunch(exec, main_), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, main_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(main_), cudaSuccess);
    ASSERT_EQ(done_.size(), 8u);
    orders.insert(done_.substr(0, 4));
    orders.insert(done_.substr(4));
  }
  EXPECT_EQ(orders, (std::set<std::string>{"absc", "asbc"}));
  cudaGraphExecDestroy(exec);
  // Neither stream is captured any more.
  done_ = "";
  Add(side_, 'x');
  EXPECT_EQ(cudaStreamSynchronize(side_), cudaSuccess);
  EXPECT_EQ(done_, "x");
}

TEST_F(Graphs, RefuseWorkThatNothingWaitsFor) {
  Fork();
  Add(side_, 's');
  EXPECT_EQ(End(), cudaErrorStreamCaptureUnjoined);
}

TEST_F(Graphs, RefuseWorkAfterTheJoin) {
  Fork();
  Add(side_, 's');
  Join();
  Add(side_, 't');
  EXPECT_EQ(End(), cudaErrorStreamCaptureUnjoined);
}

TEST_F(Graphs, RefuseToAllocate) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaHostAlloc(&memory, 16, cudaHostAllocDefault), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(End(), cudaSuccess);
  cudaGraphDestroy(graph_);
}

TEST_F(Graphs, DoNotWaitForWhatIsNotCaptured) {
  EXPECT_EQ(cudaEventRecord(join_, side_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(join_), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamWaitEvent(main_, join_), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(End(), cudaSuccess);
  cudaGraphDestroy(graph_);
}

TEST_F(Graphs, AreSpoiltByWaiting) {
  EXPECT_EQ(cudaStreamSynchronize(main_), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(StandInEnqueue(main_, [] {}), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(End(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Graphs, DoNotReadMemoryThatIsNotPinned) {
  std::vector<float> host(4);
  ASSERT_EQ(End(), cudaSuccess);
  cudaGraphDestroy(graph_);
  float* const memory = Four();
  ASSERT_EQ(cudaStreamBeginCapture(main_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(memory, host.data(), 16, cudaMemcpyHostToDevice, main_), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(End(), cudaSuccess);
  cudaGraphDestroy(graph_);
  cudaFree(memory);
}

TEST_F(Graphs, TheirEventsMeanNothingAfterwards) {
  Fork();
  Join();
  ASSERT_EQ(End(), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(side_, fork_), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaEventRecord(fork_, side_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(main_, fork_), cudaSuccess);
  cudaGraphDestroy(graph_);
}

}  // namespace
