// Private to runtime/comm/nccl: NCCL's maxima and minima of real numbers leave out NaNs. Those of integers leave out
// nothing, so real numbers are compared as integers ("keys") in the same order, in which a NaN comes last for a maximum
// and first for a minimum.
#ifndef CLEAVE_RUNTIME_COMM_NCCL_EXTREMES_H_
#define CLEAVE_RUNTIME_COMM_NCCL_EXTREMES_H_

#include <cstddef>
#include <cstdint>

#include "runtime/comm/transport.h"

namespace cleave::runtime {

// Whether a reduction is one of keys: that of real numbers to their maximum or minimum.
bool IsByKeys(Transport::ElementType type, Reduction reduction);

// The keys of `count` numbers, in a workspace: 64 bits for each double, 32 for each other number. Whatever is done with
// them is work on the current stream. REQUIRES: IsByKeys(type, reduction).
class Keys {
 public:
  Keys(Transport::ElementType type, const void* numbers, int64_t count, Reduction reduction);
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  std::byte* get() const { return keys_; }
  int64_t size() const { return type_ == Transport::ElementType::kDouble ? 8 : 4; }  // Bytes of one.

  // Writes the numbers of keys [first, first + count) to `numbers`.
  void ToNumbers(int64_t first, int64_t count, void* numbers) const;

 private:
  const Transport::ElementType type_;
  const int64_t bytes_;
  std::byte* const keys_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_NCCL_EXTREMES_H_
