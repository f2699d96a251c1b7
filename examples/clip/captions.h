// Pictures of one figure, and what they show in four words: its size, color, form and place. Each of the 625 captions
// stands once: the first 500 are trained, in an order in which neighbours differ, and the others tested.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/custom/view.h"

// Word `place` of a sample, from 0 to 4.
inline int64_t WordOf(int64_t sample, bool is_test, int64_t place) {
  const int64_t divisors[] = {1, 5, 25, 125};
  return (is_test ? sample + 500 : sample) * 387 % 625 / divisors[place] % 5;
}

// Whether a figure of this form covers a point so far from its middle, measured in its size.
inline bool IsCovered(int64_t form, float x, float y) {
  const float longer = std::max(std::abs(x), std::abs(y)), shorter = std::min(std::abs(x), std::abs(y));
  const float squares = x * x + y * y;
  if (form == 0) return longer < 0.9f;                     // A square.
  if (form == 1) return squares < 1;                       // A disc.
  if (form == 2) return longer + shorter < 1.2f;           // A diamond.
  if (form == 3) return longer < 1.1f && shorter < 0.35f;  // A cross.
  return squares < 1.2f && squares > 0.4f;                 // A ring.
}

// In one of five mixtures of red, green and blue.
inline void image(int64_t sample, bool is_test, View<float> values) {
  const float reach = 0.12f + 0.03f * static_cast<float>(WordOf(sample, is_test, 0));
  const int64_t color = WordOf(sample, is_test, 1) + 1, form = WordOf(sample, is_test, 2);
  const float turn = 1.2566f * static_cast<float>(WordOf(sample, is_test, 3));
  const float middle_row = 0.5f + 0.25f * std::sin(turn), middle_column = 0.5f + 0.25f * std::cos(turn);
  const int64_t columns = values.dimension(2), pixels = values.dimension(1) * columns;
  for (int64_t i = 0; i < values.size(); ++i) {
    const int64_t channel = values.begin[0] + i / pixels;
    const auto row = static_cast<float>(values.begin[1] + i % pixels / columns);
    const auto column = static_cast<float>(values.begin[2] + i % columns);
    const float y = (row + 0.5f) / static_cast<float>(values.whole[1]) - middle_row;
    const float x = (column + 0.5f) / static_cast<float>(values.whole[2]) - middle_column;
    values[i] = (color >> channel & 1) == 1 && IsCovered(form, x / reach, y / reach) ? 1.0f : -1.0f;
  }
}

// Five words for each place.
inline void tokens(int64_t sample, bool is_test, View<int32_t> values) {
  for (int64_t i = 0; i < values.size(); ++i) {
    const int64_t place = values.begin[0] + i;
    values[i] = static_cast<int32_t>(5 * place + WordOf(sample, is_test, place));
  }
}
