#include "runtime/kernels/initialize.h"

namespace cleave::runtime {

void InitializeUniform(const Stream& stream, const Region& piece, float low, float high, float* values) {
  FillUniform(stream, piece, low, high, values);
}

void InitializeNormal(const Stream& stream, const Region& piece, float mean, float deviation, float* values) {
  FillNormal(stream, piece, mean, deviation, values);
}

}  // namespace cleave::runtime
