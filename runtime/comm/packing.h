// Where the members' pieces of a tensor lie, and copies between a tensor and its pieces packed one after another:
// message passing sends contiguous memory, and a piece of an inner dimension is not contiguous. Copies are made where
// tensors lie.
#ifndef CLEAVE_RUNTIME_COMM_PACKING_H_
#define CLEAVE_RUNTIME_COMM_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// Where each member's part begins, and at the end the sum of all.
std::vector<int64_t> Begins(const std::vector<int64_t>& sizes);

// A tensor's sizes seen from one dimension: everything before it, the dimension, everything after it.
struct OneDimension {
  OneDimension(const std::vector<int64_t>& shape, int dimension) {
    for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
      (i < dimension ? outer : i == dimension ? size : inner) *= shape[static_cast<size_t>(i)];
    }
  }
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
};

// A loop of a copy: the number of its elements or inner loops, and their distances in elements.
struct CopyLoop {
  int64_t count = 1;
  int64_t source_stride = 1;
  int64_t target_stride = 1;
};

// Copies elements of `size` bytes, the innermost loop last, by as few runs as the strides allow: a run is a call of
// memcpy on a CPU and work of its own on a GPU.
void CopyElements(const std::byte* source, std::byte* target, const std::vector<CopyLoop>& loops, int64_t size);

// Copies a region of a tensor to contiguous memory, and back; `size` is that of an element, in bytes.
void Pack(const std::byte* tensor, const Region& region, int64_t size, std::byte* packed);
void Unpack(const std::byte* packed, const Region& region, int64_t size, std::byte* tensor);

// Copies a region of one tensor to one of the same size of another.
void CopyRegion(const std::byte* source, const Region& from, int64_t size, const Region& to, std::byte* target);

// A box of a tensor in two of its dimensions; the others are whole.
struct Box {
  Range first;   // In the outer of the two dimensions.
  Range second;  // In the inner one.
};

// A tensor's sizes seen from two dimensions.
class TwoDimensions {
 public:
  // REQUIRES: first < second.
  TwoDimensions(const std::vector<int64_t>& shape, int first, int second);

  int64_t Elements(const Box& box) const { return ElementCount(RegionOf(box).size); }

  // Elements are copied as they are; `size` is that of one, in bytes.
  void Pack(const std::byte* tensor, const Box& box, int64_t size, std::byte* packed) const;
  void Unpack(const std::byte* packed, const Box& box, int64_t size, std::byte* tensor) const;

 private:
  Region RegionOf(const Box& box) const;

  std::vector<int64_t> shape_;  // Before the first, the first, between the two, the second, after it.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_PACKING_H_
