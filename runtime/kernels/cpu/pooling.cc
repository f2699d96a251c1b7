// Sixteen planes at a time, each place of which is one vector: all functions are sums or maxima of vectors, whatever
// the kernel. Images in blocks of channels lie that way; others are transposed into such a block, and back.
//
// Every element of a result is collected from the elements of the other side that it is linked with: a place from what
// the kernel sees there, an element of a gradient from the places that see it.
#include "runtime/kernels/pooling.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/cpu/vectors.h"

namespace cleave::runtime {
namespace {

static_assert(kBlockChannels % kLanes == 0);

// What an element along one dimension is linked with: an element of the other side, and the tap between them.
struct Link {
  int64_t other = 0;
  uint32_t tap = 0;
};

// All links of a tap: neighbours here, or on the other side, are linked with elements `stride` apart.
struct LinksOfTap {
  uint32_t tap = 0;
  int64_t count = 0;
  int64_t begin = 0;
  int64_t step = 1;
  int64_t other_begin = 0;
  int64_t other_step = 1;
};

// The links between a plane and that on the other side: of each row, and of the columns by taps.
struct PlaneLinks {
  std::vector<std::vector<Link>> rows;
  std::vector<LinksOfTap> columns;
  int64_t width = 0;
  int64_t other_width = 0;
  uint32_t kernel_width = 0;
};

// Of the places of results with what the kernel sees.
PlaneLinks LinksOfPlaces(const Sliding& rows, const Sliding& columns) {
  PlaneLinks links = {std::vector<std::vector<Link>>(static_cast<size_t>(rows.output.size)),
                      {},
                      columns.output.size,
                      columns.input.size,
                      static_cast<uint32_t>(columns.kernel)};
  for (int64_t i = 0; i < rows.output.size; ++i) {
    for (int64_t tap = 0; tap < rows.kernel; ++tap) {
      const int64_t row = rows.At(i, tap);
      if (row < 0 || row >= rows.input.size) continue;
      links.rows[static_cast<size_t>(i)].push_back({row, static_cast<uint32_t>(tap)});
    }
  }
  for (int64_t tap = 0; tap < columns.kernel; ++tap) {
    const Range places = columns.PlacesOf(tap);
    links.columns.push_back(
        {static_cast<uint32_t>(tap), places.size, places.begin, 1, columns.At(places.begin, tap), columns.stride});
  }
  return links;
}

// Of the elements of images with the places that see them, in the order of the places.
PlaneLinks LinksOfElements(const Sliding& rows, const Sliding& columns) {
  const PlaneLinks places = LinksOfPlaces(rows, columns);
  PlaneLinks links = {std::vector<std::vector<Link>>(static_cast<size_t>(rows.input.size)), places.columns,
                      places.other_width, places.width, places.kernel_width};
  for (size_t i = 0; i < places.rows.size(); ++i) {
    for (const Link& link : places.rows[i]) {
      links.rows[static_cast<size_t>(link.other)].push_back({static_cast<int64_t>(i), link.tap});
    }
  }
  for (LinksOfTap& tap : links.columns) {
    std::swap(tap.begin, tap.other_begin);
    std::swap(tap.step, tap.other_step);
  }
  return links;
}

// Planes of one tensor: `size` elements each.
template <typename T>
struct Planes {
  T* values = nullptr;
  int64_t size = 0;
  bool in_blocks = false;
};

// to[j * to_step + i] = from[i * from_step + j] for i < rows, j < columns.
void Transpose(const uint32_t* from, int64_t from_step, int64_t rows, int64_t columns, uint32_t* to, int64_t to_step) {
  const int64_t square_rows = rows / kLanes * kLanes;
  const int64_t square_columns = columns / kLanes * kLanes;
  for (int64_t i = 0; i < square_rows; i += kLanes) {
    for (int64_t j = 0; j < square_columns; j += kLanes) {
      TransposeSquare(from + i * from_step + j, from_step, to + j * to_step + i, to_step);
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i < square_rows ? square_columns : 0; j < columns; ++j)
      to[j * to_step + i] = from[i * from_step + j];
  }
}

// Sixteen planes of a tensor, as a block: where they lie, or in a copy. The last planes of a tensor may be fewer; what
// the block holds beside them is not used.
template <typename T>
class PlaneBlock {
 public:
  explicit PlaneBlock(const Planes<T>& planes)
      : planes_(planes), copy_(static_cast<size_t>(planes.in_blocks ? 0 : planes.size * kBlockChannels)) {}

  // Null where planes have no elements.
  T* At(int64_t plane, int64_t lane) {
    if (planes_.size == 0) return nullptr;
    return (planes_.in_blocks ? planes_.values + plane * planes_.size : reinterpret_cast<T*>(copy_.data())) + lane;
  }

  // Before `count` planes are read.
  void Fetch(int64_t plane, int64_t count) {
    if (planes_.in_blocks) return;
    const void* const from = planes_.values + plane * planes_.size;
    Transpose(static_cast<const uint32_t*>(from), planes_.size, count, planes_.size, copy_.data(), kBlockChannels);
  }

  // After they were written.
  void Deliver(int64_t plane, int64_t count) {
    if (planes_.in_blocks) return;
    void* const to = planes_.values + plane * planes_.size;
    Transpose(copy_.data(), kBlockChannels, planes_.size, count, static_cast<uint32_t*>(to), planes_.size);
  }

 private:
  const Planes<T> planes_;
  std::vector<uint32_t> copy_;
};

// Collects every element of a plane of vectors from those that it is linked with, row by row. Neighbours do not wait
// for each other: the innermost loop is over them.
template <typename Collector, typename T, typename... Others>
void CollectPlane(const PlaneLinks& links, const Collector& nothing, std::vector<Collector>& row, T* to,
                  const Others*... others) {
  for (const std::vector<Link>& of_row : links.rows) {
    std::fill(row.begin(), row.end(), nothing);
    for (const Link& link : of_row) {
      for (const LinksOfTap& columns : links.columns) {
        const uint32_t tap = link.tap * links.kernel_width + columns.tap;
        const int64_t begin = (link.other * links.other_width + columns.other_begin) * kBlockChannels;
        if (columns.count == 0) continue;  // The row may have no elements, and nowhere to be.
        const int64_t step = columns.step, other_step = columns.other_step * kBlockChannels, count = columns.count;
        Collector* const collectors = row.data() + columns.begin;
        for (int64_t i = 0; i < count; ++i) {
          Collector collector = collectors[i * step];
          collector.Take(tap, Load(others + begin + i * other_step)...);
          collectors[i * step] = collector;
        }
      }
    }
    for (const Collector& collector : row) {
      Store(collector.result(), to);
      to += kBlockChannels;
    }
  }
}

template <typename Collector, typename T, typename... Others>
void Collect(int64_t planes, const PlaneLinks& links, const Collector& nothing, const Planes<T>& to,
             const Planes<const Others>&... others) {
  const int64_t blocks = (planes + kBlockChannels - 1) / kBlockChannels;
#pragma omp parallel if (planes * (to.size + (others.size + ...)) >= kParallelElements)
  {
    PlaneBlock<T> result(to);
    std::vector<Collector> row(static_cast<size_t>(links.width), nothing);
    std::tuple<PlaneBlock<const Others>...> sources(PlaneBlock<const Others>{others}...);
#pragma omp for
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t plane = i * kBlockChannels;
      const int64_t count = std::min(kBlockChannels, planes - plane);
      const auto collect = [&](auto&... source) {
        (source.Fetch(plane, count), ...);
        for (int64_t lane = 0; lane < kBlockChannels; lane += kLanes) {
          CollectPlane(links, nothing, row, result.At(plane, lane), source.At(plane, lane)...);
        }
      };
      std::apply(collect, sources);
      result.Deliver(plane, count);
    }
  }
}

// A NaN is larger than all other values, and the first of equals counts.
class Largest {
 public:
  void Take(uint32_t, Floats x) { largest_ = IsLarger(x, largest_) ? x : largest_; }
  Floats result() const { return largest_; }

  static Bits IsLarger(Floats x, Floats largest) {
    return reinterpret_cast<Bits>(~(x <= largest) & (largest == largest));
  }

 private:
  Floats largest_ = Floats{} - std::numeric_limits<float>::infinity();
};

class TapOfLargest {
 public:
  void Take(uint32_t tap, Floats x) {
    tap_ = Largest::IsLarger(x, largest_.result()) ? Bits{} + tap : tap_;
    largest_.Take(tap, x);
  }
  Bits result() const { return tap_; }

 private:
  Largest largest_;
  Bits tap_ = {};
};

// Of the gradients of places, those whose largest element is this one.
class FromLargest {
 public:
  void Take(uint32_t tap, Floats dy, Bits index) { sum_ += index == tap ? dy : Floats{}; }
  Floats result() const { return sum_; }

 private:
  Floats sum_ = {};
};

class Part {
 public:
  explicit Part(float part) : part_(part) {}
  void Take(uint32_t, Floats x) { sum_ += x; }
  Floats result() const { return sum_ * part_; }

 private:
  float part_;
  Floats sum_ = {};
};

Part OneOf(const Sliding& rows, const Sliding& columns) {
  return Part(1.0f / static_cast<float>(rows.kernel * columns.kernel));
}

// The planes of images and of results.
template <typename T>
Planes<T> PlanesOfX(T* x, const Sliding& rows, const Sliding& columns, const ImageBlocks& blocks) {
  return {x, rows.input.size * columns.input.size, blocks.x > 0};
}
template <typename T>
Planes<T> PlanesOfY(T* y, const Sliding& rows, const Sliding& columns, const ImageBlocks& blocks) {
  return {y, rows.output.size * columns.output.size, blocks.y > 0};
}

}  // namespace

void MaxPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y,
             const ImageBlocks& blocks) {
  Collect(planes, LinksOfPlaces(rows, columns), Largest(), PlanesOfY(y, rows, columns, blocks),
          PlanesOfX(x, rows, columns, blocks));
}

void MaxPoolIndex(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, int32_t* index,
                  const ImageBlocks& blocks) {
  auto* const taps = reinterpret_cast<uint32_t*>(index);
  Collect(planes, LinksOfPlaces(rows, columns), TapOfLargest(), PlanesOfY(taps, rows, columns, blocks),
          PlanesOfX(x, rows, columns, blocks));
}

void MaxPoolGradient(const float* dy, const int32_t* index, int64_t planes, const Sliding& rows, const Sliding& columns,
                     float* dx, const ImageBlocks& blocks) {
  const auto* const taps = reinterpret_cast<const uint32_t*>(index);
  Collect(planes, LinksOfElements(rows, columns), FromLargest(), PlanesOfX(dx, rows, columns, blocks),
          PlanesOfY(dy, rows, columns, blocks), PlanesOfY(taps, rows, columns, blocks));
}

void AvgPool(const float* x, int64_t planes, const Sliding& rows, const Sliding& columns, float* y,
             const ImageBlocks& blocks) {
  Collect(planes, LinksOfPlaces(rows, columns), OneOf(rows, columns), PlanesOfY(y, rows, columns, blocks),
          PlanesOfX(x, rows, columns, blocks));
}

void AvgPoolGradient(const float* dy, int64_t planes, const Sliding& rows, const Sliding& columns, float* dx,
                     const ImageBlocks& blocks) {
  Collect(planes, LinksOfElements(rows, columns), OneOf(rows, columns), PlanesOfX(dx, rows, columns, blocks),
          PlanesOfY(dy, rows, columns, blocks));
}

}  // namespace cleave::runtime
