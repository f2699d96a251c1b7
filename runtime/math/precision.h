// How exactly products of f32 numbers are made.
//
//   SetMatMulPrecision(Precision::kTf32);   // Before the first product of the thread.
#ifndef CLEAVE_RUNTIME_MATH_PRECISION_H_
#define CLEAVE_RUNTIME_MATH_PRECISION_H_

namespace cleave::runtime {

enum class Precision {
  kF32,
  kTf32,  // Factors are rounded to 11 significant bits where the device has faster instructions for it; sums are f32.
};

// For the matrix products and convolutions of the calling thread; kF32 until it is called.
void SetMatMulPrecision(Precision precision);
Precision MatMulPrecision();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_PRECISION_H_
