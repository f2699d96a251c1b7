// For collectives of runtime/comm: the order in which a message holds several tensors.
#ifndef CLEAVE_RUNTIME_COMM_PACKED_PARTS_H_
#define CLEAVE_RUNTIME_COMM_PACKED_PARTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/packing.h"
#include "runtime/device/memory.h"

namespace cleave::runtime {

// Whether all members have equally much of the tensor, one member's behind another's.
inline bool IsEven(const Comm::Part& part) {
  const std::vector<int64_t>& sizes = part.cut.sizes;
  return OneDimension(part.shape, part.cut.dimension).outer == 1 &&
         std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size == sizes.front(); });
}

// A message that holds, member after member, the member's pieces of all tensors.
class PackedParts {
 public:
  // `size`: bytes of an element.
  PackedParts(const std::vector<Comm::Part>& parts, int64_t size, const Group& group)
      : parts_(parts), size_(size), index_(static_cast<size_t>(group.index)), counts_(static_cast<size_t>(group.size)) {
    for (const Comm::Part& part : parts) {
      views_.emplace_back(part.shape, part.cut.dimension);
      const OneDimension& view = views_.back();
      elements_ += view.outer * view.size * view.inner;
      for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += view.outer * part.cut.sizes[i] * view.inner;
    }
  }

  int64_t elements() const { return elements_; }
  const std::vector<int64_t>& counts() const { return counts_; }  // Elements, by member.
  int64_t own_bytes() const { return counts_[index_] * size_; }
  // Whether the message is the tensor as it lies in memory.
  bool is_contiguous() const { return parts_.size() == 1 && views_[0].outer == 1; }

  // visit(part, place among this member's pieces, size), in bytes.
  template <typename Visit>
  void ForEachOwnPiece(const Visit& visit) const {
    int64_t at = 0;
    for (size_t p = 0; p < parts_.size(); ++p) {
      const int64_t bytes = views_[p].outer * parts_[p].cut.sizes[index_] * views_[p].inner * size_;
      visit(parts_[p], at, bytes);
      at += bytes;
    }
  }

  // visit(part, place in its tensor, place in the message, runs), in bytes, for every piece: in the message its runs
  // follow each other, in the tensor they are `source_pitch` apart.
  template <typename Visit>
  void ForEachPiece(const Visit& visit) const {
    int64_t at = 0;
    std::vector<int64_t> begins(parts_.size(), 0);  // Of the member's pieces, in their dimensions.
    for (size_t member = 0; member < counts_.size(); ++member) {
      for (size_t p = 0; p < parts_.size(); ++p) {
        const OneDimension& view = views_[p];
        const int64_t piece = parts_[p].cut.sizes[member];
        const int64_t run = piece * view.inner * size_;
        visit(parts_[p], begins[p] * view.inner * size_, at,
              Runs{run, view.outer, view.size * view.inner * size_, run});
        at += run * view.outer;
        begins[p] += piece;
      }
    }
  }

 private:
  const std::vector<Comm::Part>& parts_;
  int64_t size_;
  size_t index_;
  int64_t elements_ = 0;
  std::vector<int64_t> counts_;
  std::vector<OneDimension> views_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_PACKED_PARTS_H_
