// operator new and delete for the programs that link this: small blocks come from free lists, one for each size.
//
// A compile makes and drops millions of small vectors and strings, and ends soon. The general allocator joins
// neighbours and looks for the best fit, which takes a third of the time of a compile of a large model; a free list
// takes a few instructions, and memory that it holds is used again by the next block of that size.
//
// One range of addresses is reserved and given out in chunks; each chunk has blocks of one size, so that an address
// tells the size of its block. Blocks that are larger than kLargest, and all blocks where the range cannot be reserved
// or is used up, are malloc's. Lists are per thread: a block may be deleted by another thread than that which made it.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

// Sanitizers see every block only in their own allocator.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

constexpr size_t kStep = 16;  // Also the alignment of every block.
constexpr size_t kLargest = 1024;
constexpr size_t kSizes = kLargest / kStep + 1;
constexpr size_t kChunkBytes = size_t{1} << 16;
constexpr size_t kChunks = size_t{1} << 20;  // 64 GiB of addresses; memory is taken where it is written.

struct Block {
  Block* next;
};

struct OneSize {
  Block* free = nullptr;
  char* begin = nullptr;  // Of the part of the present chunk that was never given out.
  char* end = nullptr;
};

thread_local constinit std::array<OneSize, kSizes> sizes = {};
constinit std::atomic<size_t> chunks_taken = 0;
constinit std::array<uint8_t, kChunks> size_of_chunk = {};

char* Reserve() {
  void* const range =
      mmap(nullptr, kChunks * kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  madvise(range, kChunks * kChunkBytes,
          MADV_HUGEPAGE);  // Fewer misses of the address cache, where the system has them.
  return static_cast<char*>(range);
}

// Null where it cannot be reserved.
char* Range() {
  static char* const range = Reserve();
  return range;
}

void* Large(size_t bytes) {
  for (;;) {
    if (void* const block = std::malloc(bytes)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

// The slow way: the list is empty.
void* FromChunk(size_t size) {
  OneSize& own = sizes[size];
  if (own.begin == own.end) {
    char* const range = Range();
    const size_t chunk = range == nullptr ? kChunks : chunks_taken.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= kChunks) return Large(size * kStep);
    size_of_chunk[chunk] = static_cast<uint8_t>(size);
    own.begin = range + chunk * kChunkBytes;
    own.end = own.begin + kChunkBytes / (size * kStep) * (size * kStep);
  }
  void* const block = own.begin;
  own.begin += size * kStep;
  return block;
}

inline void* New(size_t bytes) {
  const size_t size = bytes == 0 ? 1 : (bytes + kStep - 1) / kStep;
  if (size >= kSizes) return Large(bytes);
  OneSize& own = sizes[size];
  if (own.free == nullptr) return FromChunk(size);
  Block* const block = own.free;
  own.free = block->next;
  __builtin_prefetch(own.free);  // The next block of this size was perhaps not touched for long.
  return block;
}

inline void Delete(void* block) {
  static const uintptr_t range = reinterpret_cast<uintptr_t>(Range());
  const uintptr_t offset = reinterpret_cast<uintptr_t>(block) - range;
  if (range == 0 || offset >= kChunks * kChunkBytes) return std::free(block);
  OneSize& own = sizes[size_of_chunk[offset / kChunkBytes]];
  own.free = new (block) Block{own.free};
}

}  // namespace

void* operator new(size_t bytes) { return New(bytes); }
void* operator new[](size_t bytes) { return New(bytes); }
void operator delete(void* block) noexcept { Delete(block); }
void operator delete[](void* block) noexcept { Delete(block); }
void operator delete(void* block, size_t) noexcept { Delete(block); }
void operator delete[](void* block, size_t) noexcept { Delete(block); }

#endif  // No sanitizer.
