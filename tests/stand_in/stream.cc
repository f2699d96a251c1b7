// Streams do their work when it is given to them, and what others must help to end when somebody waits for it. A stream
// that is being captured keeps it for the graph.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "block.h"
#include "cuda_runtime.h"
#include "guard.h"
#include "memory.h"

namespace stand_in {

// For each stream, the amount of its work that comes before something.
using Clock = std::map<cudaStream_t, int64_t>;

struct CapturedWork {
  std::function<void()> work;
  cudaStream_t stream = nullptr;
  Clock clock;  // The work that comes before it, and itself.
};

struct Capture {
  cudaStream_t origin = nullptr;
  std::vector<CapturedWork> work;         // In the order in which it was given.
  std::map<cudaStream_t, Clock> streams;  // All captured streams, with the work that they have waited for.
  bool valid = true;
  bool ended = false;
};

// Work of a stream that others must help to end. One thread waits for it.
class Unfinished {
 public:
  Unfinished(std::shared_ptr<Unfinished> before, std::function<void()> await)
      : before_(std::move(before)), await_(std::move(await)) {}

  void Await() {
    if (await_ == nullptr) return;
    if (before_ != nullptr) before_->Await();
    await_();
    before_ = nullptr;
    await_ = nullptr;
  }

 private:
  std::shared_ptr<Unfinished> before_;
  std::function<void()> await_;  // Null when the work has ended.
};

}  // namespace stand_in

struct StandInStream {
  std::shared_ptr<stand_in::Capture> capture;
  std::shared_ptr<stand_in::Unfinished> last;  // Null where nothing was begun that others must help to end.
};

struct StandInEvent {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
  std::shared_ptr<stand_in::Capture> capture;  // The capture in which it was recorded.
  stand_in::Clock clock;
  std::shared_ptr<stand_in::Unfinished> last;  // As that of the stream, when it was recorded.
};

struct StandInGraph {
  std::vector<std::function<void()>> work;
};

namespace stand_in {
namespace {

// Captures that the thread has begun and not ended.
thread_local int captures = 0;

void Merge(const Clock& from, Clock& into) {
  for (const auto& [stream, count] : from) into[stream] = std::max(into[stream], count);
}

// Whether the stream that was captured first comes after all work of the others.
bool IsJoined(const Capture& capture) {
  const Clock& origin = capture.streams.at(capture.origin);
  for (const auto& [stream, clock] : capture.streams) {
    const auto seen = origin.find(stream);
    const auto done = clock.find(stream);
    if (done != clock.end() && (seen == origin.end() || seen->second < done->second)) return false;
  }
  return true;
}

bool IsReady(const CapturedWork& work, const Clock& done) {
  for (const auto& [stream, count] : work.clock) {
    const auto found = done.find(stream);
    const int64_t before = stream == work.stream ? count - 1 : count;
    if (before > 0 && (found == done.end() || found->second < before)) return false;
  }
  return true;
}

// The work in an order that the graph allows: the order in which it was given, or the one that always continues with
// the work that was given last. In the second order, a stream that should wait for another one, and does not, runs
// before the other's work is done.
std::vector<std::function<void()>> Ordered(const Capture& capture) {
  std::vector<std::function<void()>> ordered;
  std::vector<const CapturedWork*> left;
  for (const CapturedWork& work : capture.work) left.push_back(&work);
  Clock done;
  while (!left.empty()) {
    size_t next = Reversed() ? left.size() - 1 : 0;
    while (!IsReady(*left[next], done)) next = Reversed() ? next - 1 : next + 1;
    ++done[left[next]->stream];
    ordered.push_back(left[next]->work);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
  }
  return ordered;
}

bool IsCaptured(cudaStream_t stream) { return stream != nullptr && stream->capture != nullptr; }

void AwaitAll(cudaStream_t stream) {
  if (stream == nullptr || stream->last == nullptr) return;
  stream->last->Await();
  stream->last = nullptr;
}

// A call that waits for the work itself cannot be captured, and makes the capture invalid.
cudaError_t Spoil(const std::shared_ptr<Capture>& capture) {
  capture->valid = false;
  return Failed(cudaErrorStreamCaptureUnsupported);
}

}  // namespace

bool ThreadCaptures() { return captures > 0; }

}  // namespace stand_in

using stand_in::Failed;
using stand_in::IsCaptured;

cudaError_t StandInEnqueue(cudaStream_t stream, std::function<void()> work) {
  if (stand_in::InKernel()) stand_in::Refuse("a kernel asks for work of a stream");
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return Failed(error);
  // The default stream waits for all others.
  if (stream == nullptr && stand_in::ThreadCaptures()) return Failed(cudaErrorStreamCaptureUnsupported);
  if (!IsCaptured(stream)) {
    stand_in::AwaitAll(stream);
    const stand_in::DeviceWork device_work;
    work();
    return cudaSuccess;
  }
  stand_in::Capture& capture = *stream->capture;
  if (!capture.valid) return Failed(cudaErrorStreamCaptureInvalidated);
  ++capture.streams[stream][stream];
  capture.work.push_back({std::move(work), stream, capture.streams[stream]});
  return cudaSuccess;
}

cudaError_t StandInBegin(cudaStream_t stream, std::function<std::function<void()>()> begin) {
  if (stream == nullptr || IsCaptured(stream)) return StandInEnqueue(stream, [begin] { begin()(); });
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return Failed(error);
  const stand_in::DeviceWork device_work;
  stream->last = std::make_shared<stand_in::Unfinished>(stream->last, begin());
  return cudaSuccess;
}

void StandInLaunch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, std::function<void()> thread) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const bool possible = threads > 0 && threads <= 1024 && block.z <= 64 && grid.x > 0 && grid.x <= 0x7FFFFFFFu &&
                        grid.y > 0 && grid.y <= 0xFFFFu && grid.z > 0 && grid.z <= 0xFFFFu &&
                        shared_bytes <= stand_in::kMostSharedBytes;
  if (!possible) {
    Failed(cudaErrorInvalidConfiguration);
    return;
  }
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, static_cast<const void*>(nullptr)) != cudaSuccess) return;
  StandInEnqueue(stream, [grid, block, shared_bytes, thread = std::move(thread)] {
    gridDim = grid;
    blockDim = block;
    for (uint64_t i = 0; i < uint64_t{grid.x} * grid.y * grid.z; ++i) {
      blockIdx = {static_cast<unsigned>(i % grid.x), static_cast<unsigned>(i / grid.x % grid.y),
                  static_cast<unsigned>(i / grid.x / grid.y)};
      stand_in::RunBlock(block, shared_bytes, thread);
    }
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return Failed(error);
  *stream = new StandInStream;
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr) return Failed(cudaErrorInvalidResourceHandle);
  stand_in::AwaitAll(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (IsCaptured(stream)) return stand_in::Spoil(stream->capture);
  stand_in::AwaitAll(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event == nullptr) return Failed(cudaErrorInvalidResourceHandle);
  if (event->capture == nullptr) {
    // What the stream does from now on is done when it is given to it.
    if (event->last != nullptr) event->last->Await();
    return cudaSuccess;
  }
  if (event->capture->ended) return Failed(cudaErrorCapturedEvent);
  if (stream == nullptr || (stream->capture != nullptr && stream->capture != event->capture))
    return Failed(cudaErrorStreamCaptureUnsupported);
  if (!event->capture->valid) return Failed(cudaErrorStreamCaptureInvalidated);
  stream->capture = event->capture;
  stand_in::Merge(event->clock, stream->capture->streams[stream]);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return Failed(error);
  *event = new StandInEvent;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return Failed(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event == nullptr) return Failed(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  event->capture = nullptr;
  event->last = stream != nullptr ? stream->last : nullptr;
  if (!IsCaptured(stream)) return cudaSuccess;
  event->capture = stream->capture;
  event->clock = stream->capture->streams[stream];
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event == nullptr) return Failed(cudaErrorInvalidResourceHandle);
  if (event->capture == nullptr) {
    if (event->last != nullptr) event->last->Await();
    return cudaSuccess;
  }
  return event->capture->ended ? Failed(cudaErrorCapturedEvent) : stand_in::Spoil(event->capture);
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (!begin->recorded || !end->recorded || begin->capture != nullptr || end->capture != nullptr)
    return Failed(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr || IsCaptured(stream)) return Failed(cudaErrorStreamCaptureUnsupported);
  stream->capture = std::make_shared<stand_in::Capture>();
  stream->capture->origin = stream;
  stream->capture->streams[stream];
  ++stand_in::captures;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!IsCaptured(stream) || stream->capture->origin != stream) return Failed(cudaErrorStreamCaptureUnmatched);
  const std::shared_ptr<stand_in::Capture> capture = stream->capture;
  for (const auto& captured : capture->streams) captured.first->capture = nullptr;
  capture->ended = true;
  --stand_in::captures;
  if (!capture->valid) return Failed(cudaErrorStreamCaptureInvalidated);
  if (!stand_in::IsJoined(*capture)) return Failed(cudaErrorStreamCaptureUnjoined);
  *graph = new StandInGraph{stand_in::Ordered(*capture)};
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = !IsCaptured(stream)      ? cudaStreamCaptureStatusNone
            : stream->capture->valid ? cudaStreamCaptureStatusActive
                                     : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (graph == nullptr) return Failed(cudaErrorInvalidValue);
  *exec = new StandInGraph(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (exec == nullptr) return Failed(cudaErrorInvalidValue);
  if (stand_in::ThreadCaptures()) return Failed(cudaErrorNotSupported);
  return StandInEnqueue(stream, [exec] {
    for (const std::function<void()>& work : exec->work) work();
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
