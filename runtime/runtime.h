// Everything that a generated program uses. A program has only those of these lines that it needs: the headers that
// declare something it names.
#ifndef CLEAVE_RUNTIME_RUNTIME_H_
#define CLEAVE_RUNTIME_RUNTIME_H_

#include "runtime/chat/template_chat.h"            // IWYU pragma: export
#include "runtime/comm/comm.h"                     // IWYU pragma: export
#include "runtime/data/csv.h"                      // IWYU pragma: export
#include "runtime/data/custom.h"                   // IWYU pragma: export
#include "runtime/data/data.h"                     // IWYU pragma: export
#include "runtime/data/digits.h"                   // IWYU pragma: export
#include "runtime/data/image_folders.h"            // IWYU pragma: export
#include "runtime/data/mixture.h"                  // IWYU pragma: export
#include "runtime/data/mnist.h"                    // IWYU pragma: export
#include "runtime/data/npy.h"                      // IWYU pragma: export
#include "runtime/data/synthetic.h"                // IWYU pragma: export
#include "runtime/data/tensor_files.h"             // IWYU pragma: export
#include "runtime/data/token_files.h"              // IWYU pragma: export
#include "runtime/data/tokens.h"                   // IWYU pragma: export
#include "runtime/device/device.h"                 // IWYU pragma: export
#include "runtime/device/layers.h"                 // IWYU pragma: export
#include "runtime/device/recorded.h"               // IWYU pragma: export
#include "runtime/einsum/einsum.h"                 // IWYU pragma: export
#include "runtime/generate/generate.h"             // IWYU pragma: export
#include "runtime/kernels/attention.h"             // IWYU pragma: export
#include "runtime/kernels/dropout.h"               // IWYU pragma: export
#include "runtime/kernels/elementwise.h"           // IWYU pragma: export
#include "runtime/kernels/indexing.h"              // IWYU pragma: export
#include "runtime/kernels/initialize.h"            // IWYU pragma: export
#include "runtime/kernels/losses.h"                // IWYU pragma: export
#include "runtime/kernels/movement.h"              // IWYU pragma: export
#include "runtime/kernels/neighbors.h"             // IWYU pragma: export
#include "runtime/kernels/partners.h"              // IWYU pragma: export
#include "runtime/kernels/pooling.h"               // IWYU pragma: export
#include "runtime/kernels/ranking.h"               // IWYU pragma: export
#include "runtime/kernels/reduce.h"                // IWYU pragma: export
#include "runtime/kernels/rows.h"                  // IWYU pragma: export
#include "runtime/kernels/scan.h"                  // IWYU pragma: export
#include "runtime/kernels/segments.h"              // IWYU pragma: export
#include "runtime/kernels/sequences.h"             // IWYU pragma: export
#include "runtime/kernels/show.h"                  // IWYU pragma: export
#include "runtime/kernels/totals.h"                // IWYU pragma: export
#include "runtime/math/convolution.h"              // IWYU pragma: export
#include "runtime/math/grouped.h"                  // IWYU pragma: export
#include "runtime/math/math.h"                     // IWYU pragma: export
#include "runtime/math/scaled.h"                   // IWYU pragma: export
#include "runtime/mesh/mesh.h"                     // IWYU pragma: export
#include "runtime/npy/npy.h"                       // IWYU pragma: export
#include "runtime/random/random.h"                 // IWYU pragma: export
#include "runtime/sampling/sampling.h"             // IWYU pragma: export
#include "runtime/tokenizer/bpe/tokenizer_json.h"  // IWYU pragma: export
#include "runtime/tokenizer/byte_tokenizer.h"      // IWYU pragma: export
#include "runtime/tokenizer/number_tokenizer.h"    // IWYU pragma: export
#include "runtime/trace/trace.h"                   // IWYU pragma: export
#include "runtime/train/train.h"                   // IWYU pragma: export

#endif  // CLEAVE_RUNTIME_RUNTIME_H_
