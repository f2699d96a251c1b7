// Local tensor functions of generated programs, apart from matrix products (runtime/math). Results do not depend on the
// number of threads or on timing.
#ifndef CLEAVE_RUNTIME_KERNELS_KERNELS_H_
#define CLEAVE_RUNTIME_KERNELS_KERNELS_H_

#include "runtime/kernels/attention.h"    // IWYU pragma: export
#include "runtime/kernels/dropout.h"      // IWYU pragma: export
#include "runtime/kernels/elementwise.h"  // IWYU pragma: export
#include "runtime/kernels/indexing.h"     // IWYU pragma: export
#include "runtime/kernels/initialize.h"   // IWYU pragma: export
#include "runtime/kernels/losses.h"       // IWYU pragma: export
#include "runtime/kernels/movement.h"     // IWYU pragma: export
#include "runtime/kernels/neighbors.h"    // IWYU pragma: export
#include "runtime/kernels/partners.h"     // IWYU pragma: export
#include "runtime/kernels/pooling.h"      // IWYU pragma: export
#include "runtime/kernels/ranking.h"      // IWYU pragma: export
#include "runtime/kernels/reduce.h"       // IWYU pragma: export
#include "runtime/kernels/rows.h"         // IWYU pragma: export
#include "runtime/kernels/sequences.h"    // IWYU pragma: export
#include "runtime/kernels/show.h"         // IWYU pragma: export

#endif  // CLEAVE_RUNTIME_KERNELS_KERNELS_H_
