// How images lie in memory: channel by channel, or in blocks of channels, as libraries convolve them.
//
//   x [samples, channels, rows, columns]                    ordinary
//   x [samples, channels / 16, rows, columns, 16]           in blocks, on CPUs
//   x [samples, rows, columns, channels]                    on GPUs: one block of all channels
#ifndef CLEAVE_RUNTIME_MESH_IMAGE_BLOCKS_H_
#define CLEAVE_RUNTIME_MESH_IMAGE_BLOCKS_H_

#include <cstdint>

namespace cleave::runtime {

// On CPUs images in blocks have a multiple of so many channels.
inline constexpr int64_t kBlockChannels = 16;

// Of the functions from images x to results y, and of their gradients: how many channels there are in a block of
// either, and of all that has its shape; 0: it lies in the ordinary order. On CPUs 16, on GPUs all.
struct ImageBlocks {
  int64_t x = 0;
  int64_t y = 0;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MESH_IMAGE_BLOCKS_H_
