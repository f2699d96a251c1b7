// The functions that instrumented code calls, and the table of accesses that they keep. A place of four bytes has a
// cell, which it shares with others; the last one that used it has it. A cell knows who wrote there last, and who has
// read.
#include "access.h"

#if defined(STAND_IN_CHECKS_ACCESS)

#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "block.h"
#include "cuda_runtime.h"
#include "memory.h"

namespace stand_in {
namespace {

constexpr uint32_t kNobody = 0xFFFFFFFF;
constexpr uint32_t kWarpLanes = 32;

struct Seen {
  uint32_t launch = 0;
  uint32_t block = 0;
  uint32_t barriers = 0;
  uint32_t warp_barriers = 0;
  uint32_t thread = kNobody;
  bool several = false;  // Threads, of one warp.
  bool several_warps = false;
};

struct Cell {
  uintptr_t place = 0;
  Seen written;
  Seen read;
};

constexpr size_t kCells = size_t{1} << 20;

Cell& CellOf(uintptr_t place) {
  static thread_local Cell* const cells = static_cast<Cell*>(std::calloc(kCells, sizeof(Cell)));
  Cell& cell = cells[(place ^ place >> 20) % kCells];
  if (cell.place != place) {
    cell = Cell();
    cell.place = place;
  }
  return cell;
}

enum class Kind { kDevice, kOfBlock, kForbidden };

struct Range {
  const char* begin = nullptr;
  const char* end = nullptr;
  Kind kind = Kind::kForbidden;

  bool Has(const char* place) const { return place >= begin && place < end; }
};

// Images of the program and of libraries, and variables of the calling thread.
int AddImage(dl_phdr_info* info, size_t, void* ranges) {
  auto& all = *static_cast<std::vector<Range>*>(ranges);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const auto* begin = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
    if (part.p_type == PT_TLS) begin = static_cast<const char*>(info->dlpi_tls_data);
    if ((part.p_type == PT_LOAD || part.p_type == PT_TLS) && begin != nullptr)
      all.push_back({begin, begin + part.p_memsz, Kind::kOfBlock});
  }
  return 0;
}

Range RangeOf(const char* place) {
  const Memory memory = FindMemory(place);
  if (memory.type != cudaMemoryTypeUnregistered) return {memory.begin, memory.begin + memory.bytes, Kind::kDevice};
  const auto* const shared = reinterpret_cast<const char*>(StandInDynamicShared());
  const Range of_block = {shared, shared + DynamicSharedBytes(), Kind::kOfBlock};
  if (of_block.Has(place)) return of_block;
  std::vector<Range> images;
  dl_iterate_phdr(AddImage, &images);
  for (const Range& image : images) {
    if (image.Has(place)) return image;
  }
  return {};
}

// Those of the last places, which hold until memory is allocated or freed, or another block runs.
Kind KindOf(const char* place) {
  static thread_local Range last[8];
  static thread_local uint64_t version = 0;
  static thread_local uint32_t block = 0;
  static thread_local unsigned next = 0;
  if (version != MemoryVersion() || block != in_block.block) {
    for (Range& range : last) range = Range();
    version = MemoryVersion();
    block = in_block.block;
  }
  for (const Range& range : last) {
    if (range.Has(place)) return range.kind;
  }
  const Range range = RangeOf(place);
  last[next++ % 8] = range;
  return range.kind;
}

// Whether nothing orders what was seen and what the calling thread does now.
bool Collides(const Seen& seen, bool is_of_block) {
  const InBlock& now = in_block;
  if (seen.thread == kNobody || seen.launch != now.launch) return false;
  if (seen.block != now.block) return !is_of_block;
  if (seen.barriers != now.barriers) return false;
  if (seen.several_warps) return true;
  if (seen.thread / kWarpLanes != now.thread / kWarpLanes) return true;
  return seen.warp_barriers == now.warp_barriers && (seen.several || seen.thread != now.thread);
}

[[noreturn]] void RefuseAccess(const void* place, size_t bytes, bool writes, const Seen* other, const char* what) {
  std::fprintf(stderr, "%s of %zu bytes at %p", writes ? "a write" : "a read", bytes, place);
  if (other != nullptr) std::fprintf(stderr, ", and thread %u of its block or another", other->thread);
  std::fprintf(stderr, "\n");
  Refuse(what);
}

void Look(const void* address, size_t bytes, bool writes, bool is_aligned) {
  static thread_local bool looking = false;  // Functions of libraries may be instrumented ones.
  const auto* const place = static_cast<const char*>(address);
  if (!in_block.is_running || looking) return;
  if (place >= in_block.stack && place < in_block.stack_end) return;
  if (place >= in_block.arguments && place < in_block.arguments_end) return;
  looking = true;
  if (is_aligned && reinterpret_cast<uintptr_t>(place) % bytes != 0)
    RefuseAccess(place, bytes, writes, nullptr, "an address is no multiple of what is moved");
  const Kind kind = KindOf(place);
  if (kind == Kind::kForbidden || KindOf(place + bytes - 1) == Kind::kForbidden)
    RefuseAccess(place, bytes, writes, nullptr, "a thread touches memory that no kernel may touch");
  const bool is_of_block = kind == Kind::kOfBlock;
  const Seen now = {in_block.launch, in_block.block, in_block.barriers, in_block.warp_barriers, in_block.thread,
                    false,           false};
  const auto first = reinterpret_cast<uintptr_t>(place);
  for (uintptr_t four = first / 4; four <= (first + bytes - 1) / 4; ++four) {
    // Parts of four bytes are places of their own.
    Cell& cell = CellOf(bytes >= 4 ? four : (uintptr_t{1} << 63 | first));
    if (Collides(cell.written, is_of_block))
      RefuseAccess(place, bytes, writes, &cell.written,
                   "a thread uses what another one writes, with no barrier between");
    if (writes) {
      if (Collides(cell.read, is_of_block))
        RefuseAccess(place, bytes, writes, &cell.read,
                     "a thread writes what another one reads, with no barrier between");
      cell.written = now;
      cell.read = Seen();
      continue;
    }
    Seen& read = cell.read;
    const bool is_same =
        read.thread != kNobody && read.launch == now.launch && read.block == now.block && read.barriers == now.barriers;
    if (!is_same) {
      read = now;
    } else if (read.thread / kWarpLanes != now.thread / kWarpLanes) {
      read.several_warps = true;
    } else if (read.warp_barriers != now.warp_barriers) {
      const bool several_warps = read.several_warps;
      read = now;
      read.several_warps = several_warps;
    } else if (read.thread != now.thread) {
      read.several = true;
    }
  }
  looking = false;
}

}  // namespace
}  // namespace stand_in

using stand_in::Look;

// The names and arguments are those of the compiler's instrumentation.
#define STAND_IN_ACCESSES(N)                                                   \
  void __tsan_read##N(void* place) { Look(place, N, false, true); }            \
  void __tsan_write##N(void* place) { Look(place, N, true, true); }            \
  void __tsan_read_write##N(void* place) { Look(place, N, true, true); }       \
  void __tsan_unaligned_read##N(void* place) { Look(place, N, false, false); } \
  void __tsan_unaligned_write##N(void* place) { Look(place, N, true, false); } \
  void __tsan_unaligned_read_write##N(void* place) { Look(place, N, true, false); }

#define STAND_IN_ATOMIC_OPERATION(N, T, name)                          \
  T __tsan_atomic##N##_fetch_##name(volatile T* place, T value, int) { \
    return __atomic_fetch_##name(place, value, __ATOMIC_SEQ_CST);      \
  }
#define STAND_IN_ATOMICS_OF(N, T)                                                                                      \
  T __tsan_atomic##N##_load(const volatile T* place, int) { return __atomic_load_n(place, __ATOMIC_SEQ_CST); }         \
  void __tsan_atomic##N##_store(volatile T* place, T value, int) { __atomic_store_n(place, value, __ATOMIC_SEQ_CST); } \
  T __tsan_atomic##N##_exchange(volatile T* place, T value, int) {                                                     \
    return __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST);                                                        \
  }                                                                                                                    \
  int __tsan_atomic##N##_compare_exchange_strong(volatile T* place, T* expected, T value, int, int) {                  \
    return __atomic_compare_exchange_n(place, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
  }                                                                                                                    \
  int __tsan_atomic##N##_compare_exchange_weak(volatile T* place, T* expected, T value, int, int) {                    \
    return __atomic_compare_exchange_n(place, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
  }                                                                                                                    \
  T __tsan_atomic##N##_compare_exchange_val(volatile T* place, T expected, T value, int, int) {                        \
    __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
    return expected;                                                                                                   \
  }                                                                                                                    \
  STAND_IN_ATOMIC_OPERATION(N, T, add)                                                                                 \
  STAND_IN_ATOMIC_OPERATION(N, T, sub)                                                                                 \
  STAND_IN_ATOMIC_OPERATION(N, T, and)                                                                                 \
  STAND_IN_ATOMIC_OPERATION(N, T, or)                                                                                  \
  STAND_IN_ATOMIC_OPERATION(N, T, xor)                                                                                 \
  STAND_IN_ATOMIC_OPERATION(N, T, nand)

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_read_range(void* place, size_t bytes) { Look(place, bytes, false, false); }
void __tsan_write_range(void* place, size_t bytes) { Look(place, bytes, true, false); }
void __tsan_atomic_thread_fence(int) { std::atomic_thread_fence(std::memory_order_seq_cst); }
void __tsan_atomic_signal_fence(int) {}
STAND_IN_ACCESSES(1)
STAND_IN_ACCESSES(2)
STAND_IN_ACCESSES(4)
STAND_IN_ACCESSES(8)
STAND_IN_ACCESSES(16)
STAND_IN_ATOMICS_OF(8, uint8_t)
STAND_IN_ATOMICS_OF(16, uint16_t)
STAND_IN_ATOMICS_OF(32, uint32_t)
STAND_IN_ATOMICS_OF(64, uint64_t)
}

#endif  // STAND_IN_CHECKS_ACCESS
