#include "runtime/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace cleave::runtime {
namespace {

constexpr int kFractionBits = 22;
constexpr int32_t kHalf = 1 << (kFractionBits - 1);

// For each place of the result the first place of the image that it is made of, and the weights from there on.
struct Weights {
  struct Place {
    int64_t first = 0;
    int64_t count = 0;
  };
  std::vector<Place> places;
  int64_t most = 0;              // Weights of a place.
  std::vector<int32_t> weights;  // `most` for each place.

  const int32_t* Of(int64_t place) const { return weights.data() + place * most; }
};

// Of the places from `first` to `first + count` when `from` places become `to`.
Weights WeightsOf(int64_t from, int64_t to, int64_t first, int64_t count) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(scale, 1.0);
  Weights all;
  all.most = static_cast<int64_t>(std::ceil(reach)) * 2 + 1;
  all.weights.resize(static_cast<size_t>(count * all.most));
  std::vector<double> own(static_cast<size_t>(all.most));
  for (int64_t place = 0; place < count; ++place) {
    const double center = (static_cast<double>(first + place) + 0.5) * scale;
    const auto begin = std::max<int64_t>(0, static_cast<int64_t>(center - reach + 0.5));
    const auto end = std::min(from, static_cast<int64_t>(center + reach + 0.5));
    double sum = 0;
    for (int64_t i = 0; i < end - begin; ++i) {
      const double distance = (static_cast<double>(begin + i) - center + 0.5) * (1.0 / reach);
      own[static_cast<size_t>(i)] = std::max(0.0, 1.0 - std::abs(distance));
      sum += own[static_cast<size_t>(i)];
    }
    for (int64_t i = 0; i < end - begin; ++i) {
      const double weight = sum == 0 ? 0 : own[static_cast<size_t>(i)] / sum;
      all.weights[static_cast<size_t>(place * all.most + i)] =
          static_cast<int32_t>(0.5 + weight * (int32_t{1} << kFractionBits));
    }
    all.places.push_back({begin, end - begin});
  }
  return all;
}

uint8_t Byte(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255)); }

// One row, its columns from `left` on.
template <int kChannels>
void ResizeColumns(const uint8_t* row, const Weights& weights, uint8_t* result) {
  const auto columns = static_cast<int64_t>(weights.places.size());
  for (int64_t column = 0; column < columns; ++column) {
    const auto [first, count] = weights.places[static_cast<size_t>(column)];
    const int32_t* const own = weights.Of(column);
    int32_t sums[kChannels];
    for (int32_t& sum : sums) sum = kHalf;
    const uint8_t* pixel = row + first * kChannels;
    for (int64_t i = 0; i < count; ++i, pixel += kChannels) {
      for (int channel = 0; channel < kChannels; ++channel) sums[channel] += pixel[channel] * own[i];
    }
    for (int channel = 0; channel < kChannels; ++channel) result[column * kChannels + channel] = Byte(sums[channel]);
  }
}

}  // namespace

ImageSize WithShorterSide(ImageSize size, int64_t side) {
  const auto longer = [&](int64_t long_side, int64_t short_side) {
    return static_cast<int64_t>(static_cast<double>(side * long_side) / static_cast<double>(short_side));
  };
  if (size.rows <= size.columns) return {side, longer(size.columns, size.rows)};
  return {longer(size.rows, size.columns), side};
}

ImagePart MiddleOf(ImageSize size, int64_t rows, int64_t columns) {
  const auto half = [](int64_t number) { return number / 2 + (number % 4 == 3 ? 1 : 0); };
  return {half(size.rows - rows), half(size.columns - columns), rows, columns};
}

Image ResizedPart(const Image& image, ImageSize size, ImagePart part) {
  const int64_t channels = image.channels, width = part.columns * channels;
  Image result = {part.rows, part.columns, channels, {}};
  result.pixels.resize(static_cast<size_t>(part.rows * width));
  const bool keeps_rows = size.rows == image.rows, keeps_columns = size.columns == image.columns;
  const Weights of_columns = WeightsOf(image.columns, size.columns, part.left, part.columns);
  const Weights of_rows = WeightsOf(image.rows, size.rows, part.top, part.rows);
  // The image's rows that the part needs, in the part's columns.
  const int64_t first = keeps_rows ? part.top : of_rows.places.front().first;
  const int64_t end = keeps_rows ? part.top + part.rows : of_rows.places.back().first + of_rows.places.back().count;
  std::vector<uint8_t> rows(static_cast<size_t>((end - first) * width));
  for (int64_t row = first; row < end; ++row) {
    const uint8_t* const from = image.pixels.data() + row * image.columns * channels;
    uint8_t* const to = rows.data() + (row - first) * width;
    if (keeps_columns) {
      std::memcpy(to, from + part.left * channels, static_cast<size_t>(width));
    } else if (channels == 1) {
      ResizeColumns<1>(from, of_columns, to);
    } else {
      ResizeColumns<3>(from, of_columns, to);
    }
  }
  if (keeps_rows) {
    result.pixels = std::move(rows);
    return result;
  }
  std::vector<int32_t> sums(static_cast<size_t>(width));
  for (int64_t row = 0; row < part.rows; ++row) {
    std::fill(sums.begin(), sums.end(), kHalf);
    const Weights::Place place = of_rows.places[static_cast<size_t>(row)];
    for (int64_t i = 0; i < place.count; ++i) {
      const int32_t weight = of_rows.Of(row)[i];
      const uint8_t* const from = rows.data() + (place.first + i - first) * width;
      for (int64_t at = 0; at < width; ++at) sums[static_cast<size_t>(at)] += from[at] * weight;
    }
    uint8_t* const to = result.pixels.data() + row * width;
    for (int64_t at = 0; at < width; ++at) to[at] = Byte(sums[static_cast<size_t>(at)]);
  }
  return result;
}

}  // namespace cleave::runtime
