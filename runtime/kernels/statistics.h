// Statistics of the elements of a tensor: sum of squares, extremes, zeros.
#ifndef CLEAVE_RUNTIME_KERNELS_STATISTICS_H_
#define CLEAVE_RUNTIME_KERNELS_STATISTICS_H_

#include <cstdint>
#include <limits>

namespace cleave::runtime {

// Of no elements, `least` is infinity and `most` is -infinity. A NaN among the elements makes `squares`, `least` and
// `most` NaN.
struct Statistics {
  double count = 0;
  double squares = 0;  // Their sum.
  double zeros = 0;    // How many there are.
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  // Adds those of other elements.
  void Add(const Statistics& other) {
    count += other.count;
    squares += other.squares;
    zeros += other.zeros;
    if (other.least < least || other.least != other.least) least = other.least;
    if (other.most > most || other.most != other.most) most = other.most;
  }
};

// Of elements where tensors lie. They are added up in double, in an order that depends on `count` alone. T is float,
// BFloat16 or int32_t. Waits for the work of the current stream.
template <typename T>
Statistics StatisticsOf(const T* values, int64_t count);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_STATISTICS_H_
