#include "runtime/math/precision.h"

namespace cleave::runtime {
namespace {

thread_local Precision thread_precision = Precision::kF32;

}  // namespace

void SetMatMulPrecision(Precision precision) { thread_precision = precision; }
Precision MatMulPrecision() { return thread_precision; }

}  // namespace cleave::runtime
