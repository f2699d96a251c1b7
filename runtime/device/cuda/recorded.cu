#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/state.cuh"
#include "runtime/device/recorded.h"
#include "runtime/device/streams.h"

namespace cleave::runtime {

struct Recorded::Recording {
  bool called = false;
  cudaGraphExec_t graph = nullptr;

  ~Recording() {
    if (graph != nullptr) cudaGraphExecDestroy(graph);
  }
};

Recorded::Recorded() : recording_(std::make_unique<Recording>()) {}
Recorded::~Recorded() = default;

Ran Recorded::Run(const std::function<void()>& work) {
  const cudaStream_t stream = ComputeStream();
  if (recording_->graph != nullptr) {
    CheckCuda(cudaGraphLaunch(recording_->graph, stream), "cudaGraphLaunch");
    return Ran::kReplayed;
  }
  if (!recording_->called) {
    recording_->called = true;
    work();
    AwaitAllCommunication();
    return Ran::kCalled;
  }
  // Only this thread's calls are captured: other ranks may be threads of the process, and may allocate meanwhile.
  CheckCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  work();
  AwaitAllCommunication();
  cudaGraph_t graph = nullptr;
  CheckCuda(cudaStreamEndCapture(stream, &graph), "recording a phase of the step");
  // Collectives keep the priority of the stream that they were recorded on.
  CheckCuda(cudaGraphInstantiate(&recording_->graph, graph, cudaGraphInstantiateFlagUseNodePriority),
            "cudaGraphInstantiate");
  CheckCuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  CheckCuda(cudaGraphLaunch(recording_->graph, stream), "cudaGraphLaunch");
  return Ran::kRecorded;
}

}  // namespace cleave::runtime
