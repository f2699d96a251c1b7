#include "runtime/device/memory.h"

#include <cstring>

namespace cleave::runtime {

void CopyRuns(const void* source, void* target, const Runs& runs) {
  if (runs.bytes == 0) return;
  const char* from = static_cast<const char*>(source);
  char* to = static_cast<char*>(target);
  for (int64_t row = 0; row < runs.rows; ++row, from += runs.source_pitch, to += runs.target_pitch) {
    std::memcpy(to, from, static_cast<size_t>(runs.bytes));
  }
}

void ZeroBytes(void* target, int64_t bytes) {
  if (bytes > 0) std::memset(target, 0, static_cast<size_t>(bytes));
}

void CopyToHost(const void* tensor, void* host, int64_t bytes) { CopyBytes(tensor, host, bytes); }
void CopyFromHost(const void* host, void* tensor, int64_t bytes) { CopyBytes(host, tensor, bytes); }

void FinishWork() {}

bool TensorsAreOnHost() { return true; }

void CopyToDevice(const void* host, void* target, int64_t bytes) { CopyBytes(host, target, bytes); }

const void* OnHost(const void* values, int64_t) { return values; }

}  // namespace cleave::runtime
