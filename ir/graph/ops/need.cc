#include "ir/graph/ops/need.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cleave::ir {
namespace {

constexpr int64_t kBlock = 4096;              // Elements of a row that are reduced at a time.
constexpr int64_t kColumns = 256;             // Columns that one thread takes at a time.
constexpr int64_t kParallelElements = 16384;  // Of runtime/kernels/cpu/parallel.h.

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The intermediate results of reducing [outer, reduced, inner] to [outer, inner].
int64_t PartsOf(int64_t outer, int64_t reduced, int64_t inner) {
  if (outer != 1) return 0;
  if (inner == 1) return reduced > 4 * kBlock ? DivideUp(reduced, kBlock) : 0;
  if (inner == 0 || inner > kColumns || reduced * inner < 2 * kParallelElements) return 0;
  return DivideUp(reduced, std::max<int64_t>(1, kParallelElements / inner)) * inner;
}

}  // namespace

Need ReductionNeed(const Shape& shape, const std::vector<bool>& reduced) {
  Shape sizes = shape;
  int64_t source = 0;  // Elements of the two tensors between runs, which only grow.
  int64_t target = 0;
  int64_t most = 0;
  for (size_t end = shape.size();;) {
    while (end > 0 && !reduced[end - 1]) --end;
    size_t begin = end;
    while (begin > 0 && reduced[begin - 1]) --begin;
    const auto product = [&](size_t from, size_t to) {
      int64_t elements = 1;
      for (size_t d = from; d < to; ++d) elements *= sizes[d];
      return elements;
    };
    const int64_t outer = product(0, begin);
    const int64_t inner = product(end, sizes.size());
    const auto first = reduced.begin();
    const auto last = first + static_cast<std::ptrdiff_t>(begin);
    const bool is_last = std::find(first, last, true) == last;
    if (!is_last) target = std::max(target, outer * inner);
    most = std::max(most, source + target + PartsOf(outer, product(begin, end), inner));
    if (is_last) return {.temporary = ElementSize(DType::kF32) * most};
    std::swap(source, target);
    std::fill(sizes.begin() + static_cast<std::ptrdiff_t>(begin), sizes.begin() + static_cast<std::ptrdiff_t>(end), 1);
    end = begin;
  }
}

}  // namespace cleave::ir
