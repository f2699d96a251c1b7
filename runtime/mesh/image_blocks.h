// How images lie in memory: channel by channel, or in blocks of channels, as oneDNN convolves them.
//
//   x [samples, channels, rows, columns]                    ordinary
//   x [samples, channels / 16, rows, columns, 16]           in blocks
#ifndef CLEAVE_RUNTIME_MESH_IMAGE_BLOCKS_H_
#define CLEAVE_RUNTIME_MESH_IMAGE_BLOCKS_H_

#include <cstdint>

namespace cleave::runtime {

// Images in blocks have a multiple of so many channels.
inline constexpr int64_t kBlockChannels = 16;

// Of the functions from images x to results y, and of their gradients: which of the two, with all that has its shape,
// lies in blocks. Only the functions of CPUs take blocks.
struct ImageBlocks {
  bool x = false;
  bool y = false;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MESH_IMAGE_BLOCKS_H_
