// For collectives of runtime/comm: a message that holds pieces of several tensors.
#ifndef CLEAVE_RUNTIME_COMM_PACKED_PARTS_H_
#define CLEAVE_RUNTIME_COMM_PACKED_PARTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/packing.h"
#include "runtime/device/memory.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// Whether the members' pieces lie one behind another.
inline bool IsContiguous(const Comm::Part& part) { return OneDimension(part.shape, part.cut.dimension).outer == 1; }

// The same, and all members have equally much of the tensor.
inline bool IsEven(const Comm::Part& part) {
  const std::vector<int64_t>& sizes = part.cut.sizes;
  return IsContiguous(part) &&
         std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size == sizes.front(); });
}

// A message of equal parts, one for each member, which hold the member's pieces of all tensors. Each tensor has its
// place in a part, as long as its largest piece; behind smaller ones the message has numbers that no one reads. So
// libraries that only divide messages evenly take it, whatever the tensors are.
class PackedParts {
 public:
  // `size`: bytes of an element.
  PackedParts(const std::vector<Comm::Part>& parts, int64_t size, const Group& group)
      : parts_(parts), size_(size), group_(group) {
    for (const Comm::Part& part : parts) {
      const OneDimension view(part.shape, part.cut.dimension);
      const int64_t most = *std::max_element(part.cut.sizes.begin(), part.cut.sizes.end());
      places_.push_back(part_bytes_);
      part_bytes_ += (view.outer * most * view.inner * size + kAlignment - 1) / kAlignment * kAlignment;
    }
  }

  int64_t part_bytes() const { return part_bytes_; }
  int64_t bytes() const { return part_bytes_ * group_.size; }
  std::vector<int64_t> counts() const {  // Elements, by member.
    return std::vector<int64_t>(static_cast<size_t>(group_.size), part_bytes_ / size_);
  }

  // The tensors, given by `tensor_of`, and their pieces in the message.
  template <typename TensorOf>
  std::vector<Pieces> AllPieces(const TensorOf& tensor_of, std::byte* message) const {
    std::vector<Pieces> all;
    for (size_t p = 0; p < parts_.size(); ++p) {
      const OneDimension view(parts_[p].shape, parts_[p].cut.dimension);
      const std::vector<int64_t>& sizes = parts_[p].cut.sizes;
      const int64_t inner = view.inner * size_;
      Pieces pieces{static_cast<std::byte*>(tensor_of(parts_[p])),
                    message + places_[p],
                    view.outer,
                    view.size * inner,
                    view.size,
                    inner,
                    static_cast<int64_t>(sizes.size()),
                    part_bytes_};
      if (sizes == PieceSizes(view.size, pieces.pieces)) {
        all.push_back(pieces);
        continue;
      }
      // Part of an uneven cut into more pieces: the members' ones are copied one by one.
      pieces.pieces = 1;
      for (const int64_t size : sizes) {
        pieces.size = size;
        all.push_back(pieces);
        pieces.tensor += size * inner;
        pieces.packed += part_bytes_;
      }
    }
    return all;
  }

  // This member's pieces, given by `piece_of`, and the part of the message that holds them.
  template <typename PieceOf>
  std::vector<Pieces> OwnPieces(const PieceOf& piece_of, std::byte* own_part) const {
    std::vector<Pieces> own;
    for (size_t p = 0; p < parts_.size(); ++p) {
      const OneDimension view(parts_[p].shape, parts_[p].cut.dimension);
      const int64_t bytes = view.outer * parts_[p].cut.sizes[static_cast<size_t>(group_.index)] * view.inner * size_;
      own.push_back({static_cast<std::byte*>(piece_of(parts_[p])), own_part + places_[p], 1, bytes, /*size=*/1, bytes});
    }
    return own;
  }

 private:
  static constexpr int64_t kAlignment = 16;  // Bytes: what kernels copy at once.

  const std::vector<Comm::Part>& parts_;
  const int64_t size_;
  const Group& group_;
  int64_t part_bytes_ = 0;
  std::vector<int64_t> places_;  // By tensor, in a part.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_PACKED_PARTS_H_
