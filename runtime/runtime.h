// Everything that a generated program uses.
#ifndef CLEAVE_RUNTIME_RUNTIME_H_
#define CLEAVE_RUNTIME_RUNTIME_H_

#include "runtime/comm/comm.h"        // IWYU pragma: export
#include "runtime/data/data.h"        // IWYU pragma: export
#include "runtime/device/device.h"    // IWYU pragma: export
#include "runtime/einsum/einsum.h"    // IWYU pragma: export
#include "runtime/kernels/kernels.h"  // IWYU pragma: export
#include "runtime/math/convolution.h"  // IWYU pragma: export
#include "runtime/math/math.h"        // IWYU pragma: export
#include "runtime/mesh/mesh.h"        // IWYU pragma: export
#include "runtime/npy/npy.h"          // IWYU pragma: export
#include "runtime/random/random.h"    // IWYU pragma: export
#include "runtime/trace/trace.h"      // IWYU pragma: export
#include "runtime/train/train.h"      // IWYU pragma: export

#endif  // CLEAVE_RUNTIME_RUNTIME_H_
