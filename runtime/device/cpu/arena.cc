#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/device/device.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// A size of pages that processors for Linux have. Of a large arena each of the usual pages would be a fault.
constexpr int64_t kHugePage = int64_t{1} << 21;

// In huge pages where the system has them and the memory fills one. nullptr where there is not as much.
void* Allocate(int64_t bytes) {
  const int64_t alignment = bytes < kHugePage ? Arena::kAlignment : kHugePage;
  const int64_t whole = bytes / kHugePage * kHugePage;
  void* const memory = std::aligned_alloc(static_cast<size_t>(alignment),
                                          static_cast<size_t>((bytes + alignment - 1) / alignment * alignment));
  if (memory != nullptr && whole > 0) madvise(memory, static_cast<size_t>(whole), MADV_HUGEPAGE);
  return memory;
}

}  // namespace

int64_t AvailableMemory() {
  std::FILE* file = std::fopen("/proc/meminfo", "r");
  if (file == nullptr) return -1;
  int64_t kibibytes = -1;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "MemAvailable: %" SCNd64, &kibibytes) == 1) break;
  }
  std::fclose(file);
  return kibibytes < 0 ? -1 : kibibytes * 1024;
}

// All of the memory is the host's.
Arena::Arena(int64_t bytes, int64_t peak, int64_t) : bytes_((bytes + kAlignment - 1) / kAlignment * kAlignment) {
  if (bytes_ == 0) return;
  const int64_t available = AvailableMemory();
  const int64_t needed = std::max(bytes_, peak);
  const bool fits = available < 0 || needed <= available;
  if (fits) data_ = static_cast<std::byte*>(Allocate(bytes_));
  if (data_ == nullptr) {
    Die(ExitCode::kFailed,
        Format("out of memory: asked for %" PRId64 " bytes; the plan predicts that this rank needs %" PRId64
               ", the machine has %" PRId64 " left",
               bytes_, needed, available));
  }
  // Touches every page here, so that the first step is not slower than the others.
#pragma omp parallel for if (bytes_ > kHugePage)
  for (int64_t begin = 0; begin < bytes_; begin += kHugePage) {
    std::memset(data_ + begin, 0, static_cast<size_t>(std::min(kHugePage, bytes_ - begin)));
  }
}

Arena::~Arena() { std::free(data_); }

}  // namespace cleave::runtime
