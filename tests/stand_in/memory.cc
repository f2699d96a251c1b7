// Allocations are in a registry, by which every address is known to be the device's, pinned, or neither. Around those
// of the device are fences, which are looked at when memory is freed and when the process ends. Copies are checked when
// they are asked for, and again when the stream comes to them.
#include "memory.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "block.h"
#include "cuda_runtime.h"
#include "guard.h"
#include "schedule.h"

namespace stand_in {
namespace {

// Allocations by their beginnings. Ranks may be threads: several allocate at a time.
struct Registry {
  std::mutex mutex;
  std::map<const char*, Memory> memories;
  std::map<int, size_t> taken;  // Bytes of each device.
  std::atomic<uint64_t> version{0};
};

Registry& TheRegistry() {
  static Registry* const registry = new Registry;  // Never destroyed: other static objects may free memory at the end.
  return *registry;
}

// Fills memory that has not been written, or was freed, with bytes that are NaN as float, double and bfloat16.
void Spoil(void* memory, size_t bytes) {
  const DeviceWork work;
  std::memset(memory, 0xFF, bytes);
}

// Around each allocation of the device, so that a kernel which writes outside is found.
constexpr size_t kFence = 256;
constexpr int kFenceByte = 0xFE;

bool IsIntact(const char* fence) {
  return std::all_of(fence, fence + kFence, [](char byte) { return byte == static_cast<char>(kFenceByte); });
}

void CheckFences(const Memory& memory) {
  if (memory.type != cudaMemoryTypeDevice) return;
  const DeviceWork work;
  if (!IsIntact(memory.begin - kFence)) Refuse("something was written before the beginning of an allocation");
  if (!IsIntact(memory.begin + memory.bytes)) Refuse("something was written behind the end of an allocation");
}

char* TakeFenced(size_t bytes) {
  auto* const begin = static_cast<char*>(TakeMemory(bytes + 2 * kFence));
  if (begin == nullptr) return nullptr;
  const DeviceWork work;
  std::memset(begin, kFenceByte, bytes + 2 * kFence);
  return begin + kFence;
}

void CheckAllFences() {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  for (const auto& [begin, memory] : registry.memories) CheckFences(memory);
}

cudaError_t Allocate(void** memory, size_t bytes, cudaMemoryType type) {
  *memory = nullptr;
  if (const cudaError_t error = FindDevice(); error != cudaSuccess) return Failed(error);
  if (ThreadCaptures()) return Failed(cudaErrorStreamCaptureUnsupported);
  if (bytes == 0) return cudaSuccess;
  int device = 0;
  cudaGetDevice(&device);
  if (type == cudaMemoryTypeDevice && (bytes > DeviceBytes() || TakenBytes(device) > DeviceBytes() - bytes))
    return Failed(cudaErrorMemoryAllocation);
  static const int at_exit = std::atexit(CheckAllFences);
  static_cast<void>(at_exit);
  char* const begin = static_cast<char*>(type == cudaMemoryTypeDevice ? TakeFenced(bytes) : std::malloc(bytes));
  if (begin == nullptr) return Failed(cudaErrorMemoryAllocation);
  Spoil(begin, bytes);
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.memories[begin] = {begin, bytes, type, device};
  ++registry.version;
  if (type == cudaMemoryTypeDevice) registry.taken[device] += bytes;
  *memory = begin;
  return cudaSuccess;
}

cudaError_t Free(void* memory, cudaMemoryType type) {
  if (memory == nullptr) return cudaSuccess;
  if (ThreadCaptures()) return Failed(cudaErrorStreamCaptureUnsupported);
  const Memory known = FindMemory(memory);
  if (known.begin != memory || known.type != type) return Failed(cudaErrorInvalidValue);
  // Pinned memory may be freed while it is in use, and a copy that comes late finds that.
  if (type == cudaMemoryTypeDevice) AwaitDevice(known.device);
  CheckFences(known);
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  if (type == cudaMemoryTypeDevice) registry.taken[known.device] -= known.bytes;
  registry.memories.erase(known.begin);
  ++registry.version;
  Spoil(memory, known.bytes);
  type == cudaMemoryTypeDevice ? GiveMemory(known.begin - kFence, known.bytes + 2 * kFence) : std::free(memory);
  return cudaSuccess;
}

// Whether `bytes` bytes from `place` on are memory of the device, or of the host, as `on_device` says. If they begin in
// an allocation, all must be in it.
bool IsAsSaid(const void* place, size_t bytes, bool on_device) {
  const Memory memory = FindMemory(place);
  if (on_device != (memory.type == cudaMemoryTypeDevice)) return false;
  if (memory.type == cudaMemoryTypeUnregistered) return true;
  return static_cast<size_t>(memory.begin + memory.bytes - static_cast<const char*>(place)) >= bytes;
}

struct Copy {
  void* target;
  size_t target_pitch;
  const void* source;
  size_t source_pitch;
  size_t width;
  size_t height;
  cudaMemcpyKind kind;
};

bool FromDevice(cudaMemcpyKind kind) { return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice; }
bool ToDevice(cudaMemcpyKind kind) { return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice; }

cudaError_t Check(const Copy& copy) {
  if (copy.height > 1 && (copy.width > copy.target_pitch || copy.width > copy.source_pitch))
    return cudaErrorInvalidValue;
  if (copy.kind == cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  const size_t rows = copy.height - 1;
  const bool fits = IsAsSaid(copy.source, rows * copy.source_pitch + copy.width, FromDevice(copy.kind)) &&
                    IsAsSaid(copy.target, rows * copy.target_pitch + copy.width, ToDevice(copy.kind));
  return fits ? cudaSuccess : cudaErrorInvalidValue;
}

void Do(const Copy& copy) {
  for (size_t row = 0; row < copy.height; ++row) {
    std::memcpy(static_cast<char*>(copy.target) + row * copy.target_pitch,
                static_cast<const char*>(copy.source) + row * copy.source_pitch, copy.width);
  }
}

// The copy, when the stream comes to it. What it copies must still be there.
void DoLate(const Copy& copy, cudaMemoryType source, cudaMemoryType target) {
  if (FindMemory(copy.source).type != source || FindMemory(copy.target).type != target)
    Refuse("memory was freed before it was copied");
  Do(copy);
}

// What the host writes later to memory that is not pinned is not copied.
Copy Staged(const Copy& copy) {
  auto* const bytes = static_cast<char*>(std::malloc(copy.width * copy.height));
  const Copy staged = {bytes, copy.width, copy.source, copy.source_pitch, copy.width, copy.height, copy.kind};
  Do(staged);
  return {copy.target, copy.target_pitch, bytes, copy.width, copy.width, copy.height, copy.kind};
}

cudaError_t Enqueue(const Copy& copy, cudaStream_t stream) {
  if (copy.width == 0 || copy.height == 0) return cudaSuccess;
  if (const cudaError_t error = Check(copy); error != cudaSuccess) return Failed(error);
  // A copy between the device and memory that is not pinned cannot be part of a graph.
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &status);
  const cudaMemoryType source = FindMemory(copy.source).type;
  const cudaMemoryType target = FindMemory(copy.target).type;
  const bool pinned = source != cudaMemoryTypeUnregistered && target != cudaMemoryTypeUnregistered;
  if (status != cudaStreamCaptureStatusNone && !pinned) return Failed(cudaErrorStreamCaptureUnsupported);
  if (source == cudaMemoryTypeUnregistered) {
    const Copy staged = Staged(copy);
    const auto copy_staged = [staged, target] {
      DoLate(staged, cudaMemoryTypeUnregistered, target);
      std::free(const_cast<void*>(staged.source));
    };
    return StandInEnqueue(stream, copy_staged, cudaGraphNodeTypeMemcpy);
  }
  const cudaError_t error = StandInEnqueue(
      stream, [=] { DoLate(copy, source, target); }, cudaGraphNodeTypeMemcpy);
  // The host waits for what is copied to memory that is not pinned.
  return error == cudaSuccess && target == cudaMemoryTypeUnregistered ? cudaStreamSynchronize(stream) : error;
}

}  // namespace

Memory FindMemory(const void* place) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const char* const at = static_cast<const char*>(place);
  auto after = registry.memories.upper_bound(at);
  if (after == registry.memories.begin()) return {};
  const Memory& memory = std::prev(after)->second;
  return at < memory.begin + memory.bytes ? memory : Memory();
}

uint64_t MemoryVersion() { return TheRegistry().version; }

bool IsOfDevice(const void* place, size_t bytes) {
  const Memory memory = FindMemory(place);
  return memory.type != cudaMemoryTypeUnregistered &&
         static_cast<size_t>(memory.begin + memory.bytes - static_cast<const char*>(place)) >= bytes;
}

void CheckOfDevice(const void* place, size_t bytes, const char* what) {
  if (bytes == 0 || IsOfDevice(place, bytes)) return;
  std::fprintf(stderr, "%s: %zu bytes from %p on\n", what, bytes, place);
  Refuse("a call of a library has memory that is not in one allocation of the device");
}

bool RefusesAtRandom(uint64_t what) { return Seed() != 0 && Mixed(what) % 4 == 0; }

size_t TakenBytes(int device) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  return registry.taken[device];
}

}  // namespace stand_in

using stand_in::Failed;

cudaError_t cudaMalloc(void** memory, size_t bytes) { return stand_in::Allocate(memory, bytes, cudaMemoryTypeDevice); }
cudaError_t cudaFree(void* memory) { return stand_in::Free(memory, cudaMemoryTypeDevice); }
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return stand_in::Allocate(memory, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaFreeHost(void* memory) { return stand_in::Free(memory, cudaMemoryTypeHost); }

cudaError_t cudaHostGetDevicePointer(void** on_device, void* memory, unsigned) {
  *on_device = memory;
  return stand_in::FindMemory(memory).type == cudaMemoryTypeHost ? cudaSuccess : Failed(cudaErrorInvalidValue);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  const stand_in::Memory found = stand_in::FindMemory(memory);
  *attributes = {found.type, found.device};
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return Failed(error);
  int device = 0;
  cudaGetDevice(&device);
  *total = stand_in::DeviceBytes();
  *free = *total - stand_in::TakenBytes(device);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return stand_in::Enqueue({target, target_pitch, source, source_pitch, width, height, kind}, stream);
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return stand_in::Enqueue({target, bytes, source, bytes, bytes, 1, kind}, stream);
}

cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  if (stand_in::ThreadCaptures()) return Failed(cudaErrorStreamCaptureUnsupported);
  const cudaError_t error = cudaMemcpyAsync(target, source, bytes, kind, nullptr);
  // The host waits only for what is copied from or to its memory, and not for what was staged.
  const bool waits = kind == cudaMemcpyDeviceToHost || stand_in::FindMemory(source).type == cudaMemoryTypeHost;
  return error == cudaSuccess && waits ? cudaStreamSynchronize(nullptr) : error;
}

cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (!stand_in::IsAsSaid(target, bytes, true)) return Failed(cudaErrorInvalidValue);
  const auto set = [=] {
    if (!stand_in::IsAsSaid(target, bytes, true)) stand_in::Refuse("memory was freed before it was set");
    std::memset(target, value, bytes);
  };
  return StandInEnqueue(stream, set, cudaGraphNodeTypeMemset);
}

cudaError_t cudaMemset(void* target, int value, size_t bytes) {
  if (stand_in::ThreadCaptures()) return Failed(cudaErrorStreamCaptureUnsupported);
  return cudaMemsetAsync(target, value, bytes, nullptr);
}
