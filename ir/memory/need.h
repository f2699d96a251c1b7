// What one step needs beside the arena. Private to ir/memory.
#ifndef CLEAVE_IR_MEMORY_NEED_H_
#define CLEAVE_IR_MEMORY_NEED_H_

#include <algorithm>

#include "base/units/units.h"
#include "ir/program/program.h"

namespace cleave {

// What a step needs. Temporary memory is given back at the end of a call; the other pieces stay, each as large as the
// largest request.
struct Need {
  Bytes temporary{};
  Bytes send{};
  Bytes receive{};
  Bytes images{};
  Bytes filters{};
  Bytes results{};

  void Include(const Need& other) {
    for (const auto piece :
         {&Need::temporary, &Need::send, &Need::receive, &Need::images, &Need::filters, &Need::results})
      this->*piece = std::max(this->*piece, other.*piece);
  }
  Bytes total() const { return temporary + send + receive + images + filters + results; }
};

// Of the largest local piece.
inline int64_t LocalElements(const Program& program, ValueId value) {
  return ElementCount(LargestLocalShape(program, value));
}

inline Bytes LocalBytes(const Program& program, ValueId value) {
  return ElementSize(program.value(value).type.dtype) * LocalElements(program, value);
}

inline Bytes Floats(int64_t count) { return ElementSize(DType::kF32) * count; }

// What the kernel of an op needs.
Need NeedOf(const Program& program, const Compute& compute);

// What an einsum copies before or after its matrix product: nothing where all three tensors already lie as matrices, or
// where it is no product of two tensors and is summed element by element.
Bytes EinsumCopies(const Program& program, const Compute& compute);

}  // namespace cleave

#endif  // CLEAVE_IR_MEMORY_NEED_H_
