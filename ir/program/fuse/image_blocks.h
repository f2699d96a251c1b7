// Which images lie in blocks of channels in memory, as convolutions want them, instead of [n, c, h, w]: on CPUs [n, c /
// 16, h, w, 16]; on GPUs [n, h, w, c], which is one block of all channels of the rank, where products are made by
// matrix units.
//
//   conv1.conv2d, conv1.add, conv1.relu   in blocks: a convolution writes them, loops and a pooling read them
//   conv1.max_pool                        in blocks: a convolution reads it
//   conv2.max_pool                        not: it is flattened
//
// An image lies in blocks if everything that writes or reads it takes them so, and if a convolution is among that, or
// writes or reads an image that must lie like it. What takes blocks, so that nothing is ever reordered for them alone:
//   convolution, pooling   each of their images as it lies (ImageSides, ir/graph/ops/kernel_call.h)
//   sum over all places    its input (StoredSizes)
//   elementwise op         all its images lie alike; other inputs have no places, or no channels
//   reshape                from one image to another of the same samples and channels, which lie alike
// Collectives, slices, looks, copies, sources, updates, loss and metrics take none. The places of an image may be one
// dimension, or any number of them.
//
// Blocks are of local pieces: every rank has the same number of channels, with blocks of 16 a multiple of that, and all
// places.
#ifndef CLEAVE_IR_PROGRAM_FUSE_IMAGE_BLOCKS_H_
#define CLEAVE_IR_PROGRAM_FUSE_IMAGE_BLOCKS_H_

#include "ir/program/program.h"
#include "ir/program/value_set.h"

namespace cleave::ir {

enum class ImageOrder {
  kPlanes,        // [n, c, h, w]: no image lies in blocks.
  kBlocks,        // [n, c / 16, h, w, 16]
  kChannelsLast,  // [n, 1, h, w, c]
};

// Nearly linear in steps.
ValueSet FindImagesInBlocks(const Program& program, ImageOrder order);

// The channels of a block of an image of these local sizes.
int64_t ChannelsOfBlock(ImageOrder order, const Shape& local);

// The local sizes of an image in blocks, as it lies: [n, c / 16, h, w, 16].
Shape SizesInBlocks(ImageOrder order, const Shape& local);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_IMAGE_BLOCKS_H_
