#include "codegen/source/buckets.h"

namespace cleave::codegen {
namespace {

const ir::BufferPlan::Buffer& BufferOfRoot(const Emission& emission, ir::ValueId root) {
  return *emission.storage.buffers.Find(root);
}

}  // namespace

std::set<ir::ValueId> RootsInBuckets(const ir::Storage& storage) {
  std::set<ir::ValueId> roots;
  for (const auto& [step, bucket] : storage.buckets) roots.insert(bucket.begin(), bucket.end());
  return roots;
}

int64_t BucketBytes(const Emission& emission, int step) {
  const ir::Bucket& bucket = emission.storage.buckets.at(step);
  const ir::BufferPlan::Buffer& last = BufferOfRoot(emission, bucket.back());
  return last.offset + last.size.value() - BufferOfRoot(emission, bucket.front()).offset;
}

}  // namespace cleave::codegen
