#include "mma.h"

#include "block.h"

namespace nvcuda::wmma {

void StandInCheckPlace(const void* first, unsigned row_bytes) {
  if (reinterpret_cast<uintptr_t>(first) % 32 != 0) stand_in::Refuse("a fragment begins at no multiple of 32 bytes");
  if (row_bytes % 16 != 0) stand_in::Refuse("rows of a fragment are no multiple of 16 bytes apart");
}

StandInFactors& StandInFactorsOfWarp() {
  constexpr int kWarps = 32;  // The most that a block has.
  static thread_local StandInFactors factors[kWarps];
  return factors[threadIdx.x / 32];
}

}  // namespace nvcuda::wmma
