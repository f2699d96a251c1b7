// Marks functions of one element that run wherever tensors lie: in the loops of a CPU and in the kernels of a GPU.
//
//   CLEAVE_PORTABLE inline float Maximum(float x, float y) { return x < y || y != y ? y : x; }
//
// Such a function uses no memory but its arguments, no static variables and no function that is not portable.
#ifndef CLEAVE_RUNTIME_DEVICE_PORTABLE_H_
#define CLEAVE_RUNTIME_DEVICE_PORTABLE_H_

#ifdef __CUDACC__
#define CLEAVE_PORTABLE __host__ __device__
#else
#define CLEAVE_PORTABLE
#endif

#endif  // CLEAVE_RUNTIME_DEVICE_PORTABLE_H_
