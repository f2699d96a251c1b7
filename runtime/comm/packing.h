// Where the members' pieces of a tensor lie, and copies between a tensor and its pieces one after another: message
// passing sends contiguous memory, a piece of an inner dimension is not.
#ifndef CLEAVE_RUNTIME_COMM_PACKING_H_
#define CLEAVE_RUNTIME_COMM_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// Where each member's part begins, and at the end the sum of all.
inline std::vector<int64_t> Begins(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> begins = {0};
  for (int64_t size : sizes) begins.push_back(begins.back() + size);
  return begins;
}

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

// Copies a region of a tensor to contiguous memory, and back; `size` is that of an element, in bytes.
inline void Pack(const std::byte* tensor, const Region& region, int64_t size, std::byte* packed) {
  ForEachRun(region, [&](int64_t at, int64_t packed_at, int64_t count) {
    std::memcpy(packed + packed_at * size, tensor + at * size, static_cast<size_t>(count * size));
  });
}

inline void Unpack(const std::byte* packed, const Region& region, int64_t size, std::byte* tensor) {
  ForEachRun(region, [&](int64_t at, int64_t packed_at, int64_t count) {
    std::memcpy(tensor + at * size, packed + packed_at * size, static_cast<size_t>(count * size));
  });
}

// Copies a region of one tensor to one of the same size of another.
inline void CopyRegion(const std::byte* source, const Region& from, int64_t size, const Region& to, std::byte* target) {
  // Both are walked row by row, and regions of one size have the same rows.
  std::vector<int64_t> places;
  ForEachRun(to, [&](int64_t at, int64_t, int64_t) { places.push_back(at); });
  size_t run = 0;
  ForEachRun(from, [&](int64_t at, int64_t, int64_t count) {
    std::memcpy(target + places[run++] * size, source + at * size, static_cast<size_t>(count * size));
  });
}

// A box of a tensor in two of its dimensions; the others are whole.
struct Box {
  Range first;   // In the outer of the two dimensions.
  Range second;  // In the inner one.
};

// A tensor's sizes seen from two dimensions.
class TwoDimensions {
 public:
  // REQUIRES: first < second.
  TwoDimensions(const std::vector<int64_t>& shape, int first, int second) {
    for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
      int64_t& part = i < first ? outer_ : i == first ? first_ : i < second ? middle_ : i == second ? second_ : inner_;
      part *= shape[static_cast<size_t>(i)];
    }
  }

  int64_t Elements(const Box& box) const { return outer_ * box.first.size * middle_ * box.second.size * inner_; }

  // Elements are copied as they are; `size` is that of one, in bytes.
  void Pack(const std::byte* tensor, const Box& box, int64_t size, std::byte* packed) const {
    ForEachRun(box, [&](int64_t at, int64_t packed_at, int64_t count) {
      std::memcpy(packed + packed_at * size, tensor + at * size, static_cast<size_t>(count * size));
    });
  }

  void Unpack(const std::byte* packed, const Box& box, int64_t size, std::byte* tensor) const {
    ForEachRun(box, [&](int64_t at, int64_t packed_at, int64_t count) {
      std::memcpy(tensor + at * size, packed + packed_at * size, static_cast<size_t>(count * size));
    });
  }

 private:
  template <typename Visit>
  void ForEachRun(const Box& box, Visit visit) const {
    const int64_t run = box.second.size * inner_;
    if (run == 0) return;
    int64_t packed_at = 0;
    for (int64_t outer = 0; outer < outer_; ++outer) {
      for (int64_t first = box.first.begin; first < box.first.begin + box.first.size; ++first) {
        for (int64_t middle = 0; middle < middle_; ++middle, packed_at += run) {
          visit((((outer * first_ + first) * middle_ + middle) * second_ + box.second.begin) * inner_, packed_at, run);
        }
      }
    }
  }

  int64_t outer_ = 1;
  int64_t first_ = 1;
  int64_t middle_ = 1;
  int64_t second_ = 1;
  int64_t inner_ = 1;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_PACKING_H_
