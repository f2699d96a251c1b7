// Training graphs of networks on images.
#ifndef CLEAVE_SEARCH_TESTING_IMAGE_MODELS_H_
#define CLEAVE_SEARCH_TESTING_IMAGE_MODELS_H_

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"

namespace cleave::search::testing {

struct ResNetShape {
  int64_t batch = 16;
  int64_t size = 32;                     // Of the square images; a multiple of 2 to the power of blocks.size() + 1.
  int64_t channels = 16;                 // Of the first group of blocks, doubled by each further one.
  std::vector<int64_t> blocks = {2, 2};  // Residual blocks per group.
  int64_t classes = 10;
};

// A residual network: a strided stem with max pooling, groups of blocks of two 3 x 3 convolutions (He et al. 2016,
// without normalisation), a mean over the image, a dense layer, cross entropy, momentum.
ir::Graph ResNet(const ResNetShape& shape);

struct UNetShape {
  int64_t batch = 4;
  int64_t size = 32;     // Of the square images; a multiple of 2 to the power of `levels`.
  int64_t channels = 8;  // Of the first level, doubled by each further one.
  int levels = 2;
};

// An encoder and a decoder with skip connections (Ronneberger et al. 2015): convolutions and max pooling on the way
// down, pixel shuffles and concatenation on the way up. It has one channel in and out, mean squared error, and AdamW.
ir::Graph UNet(const UNetShape& shape);

}  // namespace cleave::search::testing

#endif  // CLEAVE_SEARCH_TESTING_IMAGE_MODELS_H_
