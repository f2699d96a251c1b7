#include "runtime/comm/packing.h"

#include <algorithm>
#include <utility>

#include "runtime/device/memory.h"

namespace cleave::runtime {
namespace {

// Elements between neighbours in each dimension of a row-major tensor.
std::vector<int64_t> Strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// The place of a region's first element in its tensor.
int64_t PlaceOf(const Region& region) {
  const std::vector<int64_t> strides = Strides(region.shape);
  int64_t place = 0;
  for (size_t i = 0; i < strides.size(); ++i) place += region.begin[i] * strides[i];
  return place;
}

std::vector<CopyLoop> LoopsOf(const std::vector<int64_t>& sizes, const std::vector<int64_t>& source_strides,
                              const std::vector<int64_t>& target_strides) {
  std::vector<CopyLoop> loops;
  for (size_t i = 0; i < sizes.size(); ++i) loops.push_back({sizes[i], source_strides[i], target_strides[i]});
  return loops;
}

// The loops in bytes, the innermost first, which is that of a run. Loops that continue each other become one.
std::vector<CopyLoop> Merged(const std::vector<CopyLoop>& loops, int64_t size) {
  std::vector<CopyLoop> merged = {{size, 1, 1}};
  for (size_t i = loops.size(); i-- > 0;) {
    if (loops[i].count == 1) continue;
    const CopyLoop loop = {loops[i].count, loops[i].source_stride * size, loops[i].target_stride * size};
    CopyLoop& inner = merged.back();
    if (loop.source_stride == inner.count * inner.source_stride &&
        loop.target_stride == inner.count * inner.target_stride) {
      inner.count *= loop.count;
    } else {
      merged.push_back(loop);
    }
  }
  return merged;
}

// Copies the elements of loops [0, outer).
void CopyNested(const std::byte* source, std::byte* target, const std::vector<CopyLoop>& loops, size_t outer,
                const Runs& runs) {
  if (outer == 0) return CopyRuns(source, target, runs);
  const CopyLoop& loop = loops[outer - 1];
  for (int64_t i = 0; i < loop.count; ++i) {
    CopyNested(source + i * loop.source_stride, target + i * loop.target_stride, loops, outer - 1, runs);
  }
}

}  // namespace

std::vector<int64_t> Begins(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> begins = {0};
  for (int64_t size : sizes) begins.push_back(begins.back() + size);
  return begins;
}

void CopyElements(const std::byte* source, std::byte* target, const std::vector<CopyLoop>& loops, int64_t size) {
  for (const CopyLoop& loop : loops) {
    if (loop.count == 0) return;
  }
  std::vector<CopyLoop> merged = Merged(loops, size);
  Runs runs = {merged.front().count, 1, 0, 0};
  merged.erase(merged.begin());
  const auto longest = std::max_element(merged.begin(), merged.end(),
                                        [](const CopyLoop& a, const CopyLoop& b) { return a.count < b.count; });
  if (longest != merged.end()) {
    runs = {runs.bytes, longest->count, longest->source_stride, longest->target_stride};
    merged.erase(longest);
  }
  CopyNested(source, target, merged, merged.size(), runs);
}

void Pack(const std::byte* tensor, const Region& region, int64_t size, std::byte* packed) {
  if (ElementCount(region.size) == 0) return;
  CopyElements(tensor + PlaceOf(region) * size, packed,
               LoopsOf(region.size, Strides(region.shape), Strides(region.size)), size);
}

void Unpack(const std::byte* packed, const Region& region, int64_t size, std::byte* tensor) {
  if (ElementCount(region.size) == 0) return;
  CopyElements(packed, tensor + PlaceOf(region) * size,
               LoopsOf(region.size, Strides(region.size), Strides(region.shape)), size);
}

void CopyRegion(const std::byte* source, const Region& from, int64_t size, const Region& to, std::byte* target) {
  if (ElementCount(from.size) == 0) return;
  CopyElements(source + PlaceOf(from) * size, target + PlaceOf(to) * size,
               LoopsOf(from.size, Strides(from.shape), Strides(to.shape)), size);
}

TwoDimensions::TwoDimensions(const std::vector<int64_t>& shape, int first, int second) : shape_(5, 1) {
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    const size_t part = i < first ? 0 : i == first ? 1 : i < second ? 2 : i == second ? 3 : 4;
    shape_[part] *= shape[static_cast<size_t>(i)];
  }
}

Region TwoDimensions::RegionOf(const Box& box) const {
  Region region = WholeRegion(shape_);
  region.begin[1] = box.first.begin;
  region.size[1] = box.first.size;
  region.begin[3] = box.second.begin;
  region.size[3] = box.second.size;
  return region;
}

void TwoDimensions::Pack(const std::byte* tensor, const Box& box, int64_t size, std::byte* packed) const {
  runtime::Pack(tensor, RegionOf(box), size, packed);
}

void TwoDimensions::Unpack(const std::byte* packed, const Box& box, int64_t size, std::byte* tensor) const {
  runtime::Unpack(packed, RegionOf(box), size, tensor);
}

}  // namespace cleave::runtime
