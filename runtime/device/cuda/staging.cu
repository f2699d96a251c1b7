#include <algorithm>
#include <utility>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/memory.h"
#include "runtime/device/staging.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kAlignment = 256;

}  // namespace

struct Staging::Copies {
  std::vector<int64_t> offsets;  // Of the targets, in the host's sets and in the device's copy.
  int64_t bytes = 0;
  char* host[2] = {nullptr, nullptr};
  cudaEvent_t sent[2] = {nullptr, nullptr};  // One for each set: it has been sent.
  char* device = nullptr;
  cudaEvent_t delivered = nullptr;  // The values have left the device's copy, which may be sent to again.
  cudaStream_t stream = nullptr;    // The stream that sends.
  int set = 0;                      // The set that Next gave.
};

Staging::Staging(std::vector<Target> targets, Writing)
    : targets_(std::move(targets)), copies_(std::make_unique<Copies>()) {
  Copies& copies = *copies_;
  for (const Target& target : targets_) {
    copies.offsets.push_back(copies.bytes);
    copies.bytes += (target.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  copies.bytes = std::max<int64_t>(copies.bytes, kAlignment);  // Pieces may all be empty; memory may not.
  for (int set : {0, 1}) {
    CheckCuda(cudaHostAlloc(&copies.host[set], static_cast<size_t>(copies.bytes), cudaHostAllocDefault),
              "cudaHostAlloc of the inputs");
    copies.sent[set] = NewEvent();
  }
  copies.device = static_cast<char*>(TakeWorkspace(copies.bytes));
  copies.delivered = NewEvent();
  CheckCuda(cudaStreamCreateWithFlags(&copies.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  // What used the device's copy before it was taken must have ended.
  CheckCuda(cudaEventRecord(copies.delivered, ComputeStream()), "cudaEventRecord");
}

Staging::~Staging() {
  Copies& copies = *copies_;
  CheckCuda(cudaStreamSynchronize(copies.stream), "waiting for the inputs");
  for (int set : {0, 1}) {
    cudaFreeHost(copies.host[set]);
    cudaEventDestroy(copies.sent[set]);
  }
  cudaEventDestroy(copies.delivered);
  cudaStreamDestroy(copies.stream);
  GiveWorkspace(copies.device, copies.bytes);
}

std::vector<void*> Staging::Next() {
  Copies& copies = *copies_;
  copies.set = 1 - copies.set;
  CheckCuda(cudaEventSynchronize(copies.sent[copies.set]), "waiting for the inputs");
  std::vector<void*> places;
  for (const int64_t offset : copies.offsets) places.push_back(copies.host[copies.set] + offset);
  return places;
}

void Staging::Send() {
  Copies& copies = *copies_;
  CheckCuda(cudaStreamWaitEvent(copies.stream, copies.delivered, 0), "cudaStreamWaitEvent");
  CheckCuda(cudaMemcpyAsync(copies.device, copies.host[copies.set], static_cast<size_t>(copies.bytes),
                            cudaMemcpyHostToDevice, copies.stream),
            "sending the inputs");
  CheckCuda(cudaEventRecord(copies.sent[copies.set], copies.stream), "cudaEventRecord");
}

void Staging::Deliver() {
  Copies& copies = *copies_;
  CheckCuda(cudaStreamWaitEvent(ComputeStream(), copies.sent[copies.set], 0), "cudaStreamWaitEvent");
  for (size_t i = 0; i < targets_.size(); ++i) {
    CopyBytes(copies.device + copies.offsets[i], targets_[i].values, targets_[i].bytes);
  }
  CheckCuda(cudaEventRecord(copies.delivered, ComputeStream()), "cudaEventRecord");
}

}  // namespace cleave::runtime
