// Streams, events and graphs are orders of tasks (schedule.h). A stream knows its last task, after which comes what it
// is given next; so does an event, from the moment in which it is recorded. A stream that is being captured collects
// nodes of a graph instead, and knows those that the next node comes after; each launch makes tasks of them.
//
// The default stream comes after all work of the device's streams that were not created as cudaStreamNonBlocking, and
// their next work comes after it; others it leaves alone.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "block.h"
#include "cuda_runtime.h"
#include "memory.h"
#include "schedule.h"

namespace stand_in {

using TaskRun = std::function<HasEnded()>;

// Numbers of nodes.
using Frontier = std::set<size_t>;

}  // namespace stand_in

struct StandInNode {
  stand_in::TaskRun run;
  cudaGraphNodeType type = cudaGraphNodeTypeKernel;
  int64_t lane = 0;
  stand_in::Frontier after;
};

namespace stand_in {

using Node = StandInNode;

struct Capture {
  cudaStream_t origin = nullptr;
  std::vector<Node> nodes;
  std::map<cudaStream_t, Frontier> streams;  // All captured streams, and what their next nodes come after.
  bool valid = true;
  bool ended = false;
};

// Filled when the work before it has ended.
using Moment = std::shared_ptr<std::chrono::steady_clock::time_point>;

}  // namespace stand_in

struct StandInStream {
  int device = 0;
  int64_t number = 0;     // Among all.
  int64_t of_device = 0;  // Among those of the device; the default stream is number 0.
  bool blocking = true;   // Ordered with the default stream.
  stand_in::Task last;
  std::shared_ptr<stand_in::Capture> capture;
};

struct StandInEvent {
  int device = 0;
  bool has_time = true;
  bool recorded = false;
  stand_in::Moment time;
  stand_in::Task last;                         // Of the stream, when it was recorded.
  std::shared_ptr<stand_in::Capture> capture;  // In which it was recorded.
  stand_in::Frontier frontier;
};

struct StandInGraph {
  std::vector<stand_in::Node> nodes;
  stand_in::Task last;      // Of the last launch: a graph does not run beside itself.
  bool is_spoiled = false;  // By an update that failed, until one succeeds.
};

namespace stand_in {
namespace {

// Captures that the thread has begun and not ended.
thread_local int captures = 0;

// The streams that are ordered with the default stream of their device, and the last task of that. The lock is not held
// while tasks are added: a device's default stream is used by one thread at a time.
struct DefaultStreams {
  std::mutex mutex;
  int64_t streams = 0;                // Created.
  std::map<int, int64_t> of_devices;  // The same, by device.
  std::map<int, Task> last;
  std::map<int, std::set<cudaStream_t>> blocking;
};

DefaultStreams& TheDefaultStreams() {
  static auto& streams = *new DefaultStreams;
  return streams;
}

int CurrentDevice() {
  int device = 0;
  cudaGetDevice(&device);
  return device;
}

// Adds a task to a stream that is not being captured; `also` comes before it, too.
Task Append(cudaStream_t stream, TaskRun run, const std::vector<Task>& also = {}, bool is_queued = true) {
  DefaultStreams& defaults = TheDefaultStreams();
  TaskRequest request;
  if (is_queued) request.queue = stream == nullptr ? 0 : stream->of_device;
  request.run = std::move(run);
  request.after = also;
  request.device = stream == nullptr ? CurrentDevice() : stream->device;
  request.lane = stream == nullptr ? -1 - request.device : stream->number;
  if (stream == nullptr || stream->blocking) {
    const std::lock_guard<std::mutex> lock(defaults.mutex);
    request.after.push_back(defaults.last[request.device]);
    if (stream == nullptr) {
      for (const cudaStream_t blocking : defaults.blocking[request.device]) request.after.push_back(blocking->last);
    }
  }
  if (stream != nullptr) request.after.push_back(stream->last);
  const int device = request.device;
  const Task task = AddTask(std::move(request));
  const std::lock_guard<std::mutex> lock(defaults.mutex);
  return (stream == nullptr ? defaults.last[device] : stream->last) = task;
}

Task LastOf(cudaStream_t stream) {
  if (stream != nullptr) return stream->last;
  return Append(nullptr, nullptr);
}

bool IsCaptured(cudaStream_t stream) { return stream != nullptr && stream->capture != nullptr; }

size_t AddNode(cudaStream_t stream, TaskRun run, cudaGraphNodeType type) {
  Capture& capture = *stream->capture;
  Frontier& frontier = capture.streams[stream];
  const size_t number = capture.nodes.size();
  capture.nodes.push_back({std::move(run), type, stream->number, std::move(frontier)});
  frontier = {number};
  return number;
}

// Whether the stream that was captured first comes after all work of the others.
bool IsJoined(const Capture& capture) {
  Frontier leaves;
  for (size_t i = 0; i < capture.nodes.size(); ++i) leaves.insert(i);
  for (const Node& node : capture.nodes) {
    for (const size_t first : node.after) leaves.erase(first);
  }
  const Frontier& joined = capture.streams.at(capture.origin);
  return std::includes(joined.begin(), joined.end(), leaves.begin(), leaves.end());
}

// A call that waits for the work itself cannot be captured, and makes the capture invalid.
cudaError_t Spoil(const std::shared_ptr<Capture>& capture) {
  capture->valid = false;
  return Failed(cudaErrorStreamCaptureUnsupported);
}

cudaError_t Enqueue(cudaStream_t stream, TaskRun run, cudaGraphNodeType type = cudaGraphNodeTypeKernel) {
  if (InKernel()) Refuse("a kernel asks for work of a stream");
  if (const cudaError_t error = FindDevice(); error != cudaSuccess) return Failed(error);
  // The default stream waits for all others.
  if (stream == nullptr && ThreadCaptures()) return Failed(cudaErrorStreamCaptureUnsupported);
  if (!IsCaptured(stream)) {
    Append(stream, std::move(run));
    return cudaSuccess;
  }
  if (!stream->capture->valid) return Failed(cudaErrorStreamCaptureInvalidated);
  AddNode(stream, std::move(run), type);
  return cudaSuccess;
}

// Blocks of a grid run in an order of the seed, which is another one in each launch.
void RunGrid(const dim3& grid, const dim3& block, size_t shared_bytes, const std::function<void()>& thread) {
  const uint64_t chosen = BeginLaunch();
  gridDim = grid;
  blockDim = block;
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  const uint64_t first = chosen % blocks;
  for (uint64_t k = 0; k < blocks; ++k) {
    const uint64_t i = Reversed() ? (first + blocks - k) % blocks : (first + k) % blocks;
    blockIdx = {static_cast<unsigned>(i % grid.x), static_cast<unsigned>(i / grid.x % grid.y),
                static_cast<unsigned>(i / grid.x / grid.y)};
    RunBlock(block, shared_bytes, thread);
  }
}

}  // namespace

bool ThreadCaptures() { return captures > 0; }

}  // namespace stand_in

using stand_in::Failed;
using stand_in::IsCaptured;

cudaError_t StandInEnqueue(cudaStream_t stream, std::function<void()> work, cudaGraphNodeType type) {
  const auto run = [work = std::move(work)] {
    work();
    return stand_in::HasEnded();
  };
  return stand_in::Enqueue(stream, run, type);
}

cudaError_t StandInBegin(cudaStream_t stream, std::function<std::function<bool()>()> begin) {
  return stand_in::Enqueue(stream, std::move(begin));
}

void StandInLaunchThreads(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                          std::function<void()> thread) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const bool possible = threads > 0 && threads <= 1024 && block.z <= 64 && grid.x > 0 && grid.x <= 0x7FFFFFFFu &&
                        grid.y > 0 && grid.y <= 0xFFFFu && grid.z > 0 && grid.z <= 0xFFFFu;
  if (!possible) {
    Failed(cudaErrorInvalidConfiguration);
    return;
  }
  if (shared_bytes > stand_in::AllowedSharedBytes(kernel)) {
    Failed(cudaErrorInvalidValue);
    return;
  }
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) return;
  if (stream != nullptr && stream->device != stand_in::CurrentDevice()) {
    Failed(cudaErrorInvalidResourceHandle);
    return;
  }
  const auto run = [grid, block, shared_bytes, thread = std::move(thread)] {
    stand_in::RunGrid(grid, block, shared_bytes, thread);
    return stand_in::HasEnded();
  };
  stand_in::Enqueue(stream, run);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return Failed(error);
  auto* const made = new StandInStream;
  made->device = stand_in::CurrentDevice();
  made->blocking = (flags & cudaStreamNonBlocking) == 0;
  stand_in::DefaultStreams& defaults = stand_in::TheDefaultStreams();
  const std::lock_guard<std::mutex> lock(defaults.mutex);
  made->number = defaults.streams++;
  made->of_device = ++defaults.of_devices[made->device];
  if (made->blocking) defaults.blocking[made->device].insert(made);
  *stream = made;
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

// What it was given is done all the same.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr) return Failed(cudaErrorInvalidResourceHandle);
  {
    stand_in::DefaultStreams& defaults = stand_in::TheDefaultStreams();
    const std::lock_guard<std::mutex> lock(defaults.mutex);
    defaults.blocking[stream->device].erase(stream);
  }
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (IsCaptured(stream)) return stand_in::Spoil(stream->capture);
  if (stream == nullptr && stand_in::ThreadCaptures()) return Failed(cudaErrorStreamCaptureUnsupported);
  stand_in::AwaitTask(stand_in::LastOf(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (IsCaptured(stream)) return stand_in::Spoil(stream->capture);
  if (stream == nullptr && stand_in::ThreadCaptures()) return Failed(cudaErrorStreamCaptureUnsupported);
  return stand_in::LookAtTask(stand_in::LastOf(stream)) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event == nullptr) return Failed(cudaErrorInvalidResourceHandle);
  if (event->capture == nullptr) {
    // Work of no capture cannot come before work of one.
    if (IsCaptured(stream)) return event->recorded ? Failed(cudaErrorStreamCaptureIsolation) : cudaSuccess;
    if (event->last != nullptr) stand_in::Append(stream, nullptr, {event->last});
    return cudaSuccess;
  }
  if (event->capture->ended) return Failed(cudaErrorCapturedEvent);
  if (stream == nullptr || (stream->capture != nullptr && stream->capture != event->capture))
    return Failed(cudaErrorStreamCaptureUnsupported);
  if (!event->capture->valid) return Failed(cudaErrorStreamCaptureInvalidated);
  stream->capture = event->capture;
  stream->capture->streams[stream].insert(event->frontier.begin(), event->frontier.end());
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return Failed(error);
  *event = new StandInEvent;
  (*event)->device = stand_in::CurrentDevice();
  (*event)->has_time = (flags & cudaEventDisableTiming) == 0;
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
  if (event->device != (stream == nullptr ? stand_in::CurrentDevice() : stream->device))
    return Failed(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->capture = nullptr;
  event->last = nullptr;
  if (IsCaptured(stream)) {
    event->capture = stream->capture;
    event->frontier = stream->capture->streams[stream];
    return cudaSuccess;
  }
  const stand_in::Moment time = event->time = std::make_shared<stand_in::Moment::element_type>();
  event->last = stand_in::Append(stream, [time] {
    *time = std::chrono::steady_clock::now();
    return stand_in::HasEnded();
  });
  return cudaSuccess;
}

namespace stand_in {
namespace {

// For calls that ask whether an event has come to pass.
cudaError_t WithoutCapture(cudaEvent_t event) {
  if (event == nullptr) return Failed(cudaErrorInvalidResourceHandle);
  // A thread that captures may not ask for any event.
  if (event->capture == nullptr) return ThreadCaptures() ? Failed(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
  return event->capture->ended ? Failed(cudaErrorCapturedEvent) : Spoil(event->capture);
}

}  // namespace
}  // namespace stand_in

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t error = stand_in::WithoutCapture(event); error != cudaSuccess) return error;
  stand_in::AwaitTask(event->last);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = stand_in::WithoutCapture(event); error != cudaSuccess) return error;
  return stand_in::LookAtTask(event->last) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  for (const cudaEvent_t event : {begin, end}) {
    if (!event->recorded || !event->has_time || event->capture != nullptr)
      return Failed(cudaErrorInvalidResourceHandle);
    if (!stand_in::LookAtTask(event->last)) return cudaErrorNotReady;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *begin->time).count();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (stand_in::ThreadCaptures()) return Failed(cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return error;
  stand_in::AwaitDevice(stand_in::CurrentDevice());
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
  const std::vector<stand_in::Node> nodes = std::move(capture->nodes);
  if (!capture->valid) return Failed(cudaErrorStreamCaptureInvalidated);
  capture->nodes = nodes;
  const bool joined = stand_in::IsJoined(*capture);
  capture->nodes.clear();  // Events may outlive it, and must not keep what nodes hold.
  if (!joined) return Failed(cudaErrorStreamCaptureUnjoined);
  *graph = new StandInGraph{nodes};
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

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || (nodes != nullptr && *count < graph->nodes.size())) return Failed(cudaErrorInvalidValue);
  *count = graph->nodes.size();
  for (size_t i = 0; nodes != nullptr && i < graph->nodes.size(); ++i) nodes[i] = &graph->nodes[i];
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  *type = node->type;
  return cudaSuccess;
}

// Nodes stay what they are and keep their order; what a kernel, a copy or a collective has as arguments may change.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo*) {
  if (exec == nullptr || graph == nullptr) return Failed(cudaErrorInvalidValue);
  const bool is_alike = std::equal(
      exec->nodes.begin(), exec->nodes.end(), graph->nodes.begin(), graph->nodes.end(),
      [](const stand_in::Node& a, const stand_in::Node& b) { return a.type == b.type && a.after == b.after; });
  exec->is_spoiled = !is_alike;
  if (!is_alike) return Failed(cudaErrorGraphExecUpdateFailure);
  exec->nodes = graph->nodes;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (exec == nullptr || exec->is_spoiled) return Failed(cudaErrorInvalidValue);
  if (stand_in::ThreadCaptures()) return Failed(cudaErrorNotSupported);
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return Failed(error);
  const int device = stream == nullptr ? stand_in::CurrentDevice() : stream->device;
  const stand_in::Task begin = stand_in::Append(stream, nullptr, {exec->last});
  std::vector<stand_in::Task> tasks;
  for (const stand_in::Node& node : exec->nodes) {
    stand_in::TaskRequest request;
    request.device = device;
    request.lane = node.lane;
    request.run = node.run;
    for (const size_t first : node.after) request.after.push_back(tasks[first]);
    if (node.after.empty()) request.after.push_back(begin);
    tasks.push_back(stand_in::AddTask(std::move(request)));
  }
  exec->last = stand_in::Append(stream, nullptr, tasks, /*is_queued=*/false);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
// CUDA keeps what a launch still needs.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
