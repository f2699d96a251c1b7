#include "ir/tensor/types/tensor.h"

#include <algorithm>

#include "base/check/check.h"

namespace cleave::ir {
namespace {

// Calls `copy(offset in the tensor, offset in the box, length)` for every contiguous row of the box.
template <typename Copy>
void ForEachRow(const Shape& shape, const Shape& begin, const Shape& size, Copy copy) {
  CLEAVE_CHECK(shape.size() == begin.size() && shape.size() == size.size()) << "box of another rank";
  for (size_t d = 0; d < shape.size(); ++d) {
    CLEAVE_CHECK(begin[d] >= 0 && size[d] >= 0 && begin[d] + size[d] <= shape[d])
        << "box [" << begin[d] << ", " << begin[d] + size[d] << ") lies outside of dimension " << d << " of "
        << shape[d];
  }
  if (ElementCount(size) == 0) return;
  if (shape.empty()) {
    copy(0, 0, 1);
    return;
  }
  const Shape strides = Strides(shape);
  const size_t last = shape.size() - 1;
  const int64_t rows = ElementCount(size) / size[last];
  Shape index(shape.size(), 0);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    for (size_t d = 0; d <= last; ++d) offset += (begin[d] + index[d]) * strides[d];
    copy(offset, row * size[last], size[last]);
    for (size_t d = last; d-- > 0;) {
      if (++index[d] < size[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

Tensor Zeros(const Shape& shape) {
  return Tensor{.shape = shape, .values = std::vector<double>(static_cast<size_t>(ElementCount(shape)), 0.0)};
}

Tensor Box(const Tensor& tensor, const Shape& begin, const Shape& size) {
  Tensor box = Zeros(size);
  ForEachRow(tensor.shape, begin, size, [&](int64_t in_tensor, int64_t in_box, int64_t length) {
    std::copy_n(tensor.values.begin() + in_tensor, length, box.values.begin() + in_box);
  });
  return box;
}

void PasteBox(const Tensor& piece, const Shape& begin, Tensor& tensor) {
  ForEachRow(tensor.shape, begin, piece.shape, [&](int64_t in_tensor, int64_t in_box, int64_t length) {
    std::copy_n(piece.values.begin() + in_box, length, tensor.values.begin() + in_tensor);
  });
}

std::vector<int64_t> Strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace cleave::ir
