// Copies between two tensors with different layouts in memory: all movements are made of them. Private to movement.cu.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_WALK_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_WALK_CUH_

#include <cstdint>

#include "runtime/device/cuda/cuda.h"

namespace cleave::runtime {

constexpr int kMostDimensions = 8;

// Dimensions of a walk through both tensors: sizes, and distances between neighbours, in elements or bytes.
struct Walk {
  int rank = 0;
  int64_t size[kMostDimensions] = {};
  int64_t from[kMostDimensions] = {};
  int64_t to[kMostDimensions] = {};

  int64_t Count() const {
    int64_t count = 1;
    for (int d = 0; d < rank; ++d) count *= size[d];
    return count;
  }
};

struct WalkPlaces {
  int64_t from = 0;
  int64_t to = 0;
};

// The places of element number `index` of the walk. Index: uint32_t where that suffices, as divisions cost less.
template <typename Index>
__device__ inline WalkPlaces PlacesAt(const Walk& walk, Index index) {
  WalkPlaces places;
  for (int d = walk.rank - 1; d >= 0; --d) {
    const Index size = static_cast<Index>(walk.size[d]);
    const Index rest = index / size;
    const int64_t at = static_cast<int64_t>(index - rest * size);
    places.from += at * walk.from[d];
    places.to += at * walk.to[d];
    index = rest;
  }
  return places;
}

// One thread per element.
template <typename Unit, typename Index>
__global__ void CopyUnits(const Unit* source, Walk walk, int64_t count, Unit* target) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const WalkPlaces places = PlacesAt(walk, static_cast<Index>(i));
    target[places.to] = source[places.from];
  }
}

// Two dimensions that change places: one of `rows` elements that are neighbours in the source, and one of `columns`
// elements that are neighbours in the target.
struct TileExchange {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t from_column = 1;  // The distance between neighbours along the columns in the source,
  int64_t to_row = 1;       // and along the rows in the target.
  Walk others;
};

constexpr int kTile = 32;
constexpr int kTileThreads = 256;

// A block moves tiles through shared memory, so that neighbouring threads read and write neighbouring elements.
template <typename Unit>
__global__ void ExchangeTiles(const Unit* source, TileExchange exchange, int64_t matrices, Unit* target) {
  constexpr int kRowsAtOnce = kTileThreads / kTile;
  __shared__ Unit
      tile[kTile][kTile + 1];  // One column more than needed, so that the elements of a column lie in different banks.
  const int along = static_cast<int>(threadIdx.x) % kTile;
  const int across = static_cast<int>(threadIdx.x) / kTile;
  const int64_t tile_rows = (exchange.rows + kTile - 1) / kTile;
  const int64_t tile_columns = (exchange.columns + kTile - 1) / kTile;
  for (int64_t block = blockIdx.x; block < matrices * tile_rows * tile_columns; block += gridDim.x) {
    const int64_t row = block % tile_rows * kTile;
    const int64_t column = block / tile_rows % tile_columns * kTile;
    const WalkPlaces places = PlacesAt(exchange.others, block / tile_rows / tile_columns);
    for (int i = across; i < kTile; i += kRowsAtOnce) {
      if (row + along < exchange.rows && column + i < exchange.columns) {
        tile[i][along] = source[places.from + (column + i) * exchange.from_column + row + along];
      }
    }
    __syncthreads();
    for (int i = across; i < kTile; i += kRowsAtOnce) {
      if (row + i < exchange.rows && column + along < exchange.columns) {
        target[places.to + (row + i) * exchange.to_row + column + along] = tile[along][i];
      }
    }
    __syncthreads();  // All have read the tile, which is written again.
  }
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_WALK_CUH_
