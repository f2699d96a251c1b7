// How much a rank has computed, counted by the calls that know it: products, convolutions and attention. For profiles.
//
//   CountFlops(2.0 * m * n * k);
//   …
//   const double flops = CountedFlops();  // All so far.
#ifndef CLEAVE_RUNTIME_DEVICE_WORK_H_
#define CLEAVE_RUNTIME_DEVICE_WORK_H_

namespace cleave::runtime {

// Of the calling thread, which is the rank's.
inline double& CountedFlops() {
  static thread_local double flops = 0;
  return flops;
}

// Floating-point operations: an addition or a multiplication each, so two for each product that is added up.
inline void CountFlops(double flops) { CountedFlops() += flops; }

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_WORK_H_
