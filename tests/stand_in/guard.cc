#include "guard.h"

#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <mutex>

namespace stand_in {
namespace {

struct Guarded {
  std::mutex mutex;
  std::map<void*, size_t> pages;  // Beginnings and bytes.
  int working = 0;
};

// Null if the guard is not wanted. Never destroyed, as memory may be freed at the end of the process.
Guarded* TheGuarded() {
  static Guarded* const guarded = std::getenv("CUDA_STAND_IN_GUARD") == nullptr ? nullptr : new Guarded;
  return guarded;
}

void Allow(const Guarded& guarded, int access) {
  for (const auto& [begin, bytes] : guarded.pages) mprotect(begin, bytes, access);
}

}  // namespace

void* TakeMemory(size_t bytes) {
  Guarded* const guarded = TheGuarded();
  constexpr size_t kAlignment = 256;  // As cudaMalloc's.
  if (guarded == nullptr) return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  const std::lock_guard<std::mutex> lock(guarded->mutex);
  const int access = guarded->working > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* const memory = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  guarded->pages[memory] = bytes;
  return memory;
}

void GiveMemory(void* memory, size_t bytes) {
  Guarded* const guarded = TheGuarded();
  if (guarded == nullptr) return std::free(memory);
  const std::lock_guard<std::mutex> lock(guarded->mutex);
  guarded->pages.erase(memory);
  munmap(memory, bytes);
}

DeviceWork::DeviceWork() {
  Guarded* const guarded = TheGuarded();
  if (guarded == nullptr) return;
  const std::lock_guard<std::mutex> lock(guarded->mutex);
  if (guarded->working++ == 0) Allow(*guarded, PROT_READ | PROT_WRITE);
}

DeviceWork::~DeviceWork() {
  Guarded* const guarded = TheGuarded();
  if (guarded == nullptr) return;
  const std::lock_guard<std::mutex> lock(guarded->mutex);
  if (--guarded->working == 0) Allow(*guarded, PROT_NONE);
}

}  // namespace stand_in
