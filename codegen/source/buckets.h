// The buffers of a merged collective that lie one after another in the arena, so that one call sends them all.
//
//   float* const gradients_bucket = arena.At<float>(155648);    // 5696 bytes for gradients.all_reduce
//   float* const logits_bias_grad = gradients_bucket;           // f32[40]
//   float* const logits_weight_grad = gradients_bucket + 48;    // f32[40, 32]
//
// Each buffer begins at a multiple of 64 bytes; what lies between them is sent as well.
#ifndef CLEAVE_CODEGEN_SOURCE_BUCKETS_H_
#define CLEAVE_CODEGEN_SOURCE_BUCKETS_H_

#include <set>

#include "codegen/source/emission.h"

namespace cleave::codegen {

// The roots of the values that lie in a bucket.
std::set<ir::ValueId> RootsInBuckets(const ir::Storage& storage);

// From the beginning of the first buffer to the end of the last. REQUIRES: step `step` has a bucket.
int64_t BucketBytes(const Emission& emission, int step);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_BUCKETS_H_
