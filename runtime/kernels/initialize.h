// Initial values of parameters, made where the tensors lie: the numbers of FillUniform and FillNormal (runtime/random).
//
//   const Region piece = {.shape = {512, 784}, .begin = {0, 392}, .size = {512, 392}};
//   InitializeUniform({seed, "h1.weight"}, piece, -0.087f, 0.087f, h1_weight);
//
// Uniform numbers are the same bits on every device; normal ones are computed in double and rounded once, from
// functions that devices' libraries round differently in the last place of a double. Values of 16 bits are those of
// f32, rounded.
#ifndef CLEAVE_RUNTIME_KERNELS_INITIALIZE_H_
#define CLEAVE_RUNTIME_KERNELS_INITIALIZE_H_

#include "runtime/device/reals.h"
#include "runtime/mesh/mesh.h"
#include "runtime/random/random.h"

namespace cleave::runtime {

// Uniform in [low, high).
void InitializeUniform(const Stream& stream, const Region& piece, float low, float high, Reals values);

void InitializeNormal(const Stream& stream, const Region& piece, float mean, float deviation, Reals values);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_INITIALIZE_H_
